"""Who one release protects, as one line of text that a ledger keeps and compares.

Promise: two releases have the same name only if they protect the same kind of unit: one row of the owner's
table, one person counted in a column, all rows with one value of a column. What a query computes, and what
the owner prepared, has a name of its own. Whatever a column is called, its name prints and is no other's.
Limit: a name tells kinds apart, not tables. What is said of `row` or `person_id` over several tables holds
for whoever has one row, or one value of `person_id`, in each of them.
"""

from __future__ import annotations

import re
from hashlib import sha256

from hushtable.domain.measure import Measure

_ROW = "row"
_COUNTED = "counted person"
_COLUMN = "column "

# All columns of one table as they are, filtered or not: what follows WHERE is checked where rows are read.
_ALL_COLUMNS = re.compile(r"\s*select\s+\*\s+from\s+(\w+|\"[^\"]+\")\s*(;\s*|\swhere\b.*)?", re.I | re.S)
# A column by its bare name, before all others.
_FIRST_COLUMN = re.compile(r"\s*select\s+(\w+)\s*(,|\sfrom\b)", re.I | re.A)


def unit_name(measure: Measure, *, rows_are_units: bool, query: str | None) -> str:
    """Return the name of the unit that a release protects.

    ===================================================  =====================================
    release                                              name
    ===================================================  =====================================
    rows, counted or summed                              `row`
    `count_column="people"`                              `counted person (people)`
    `unit=Unit("person_id", ...)`                        `person_id`
    the same, from a query that passes the column on     `person_id`
    the same, from a query that may compute the column   `person_id (query 2f1c...)`
    `rows_are_units`, each of the above                  `row (prepared table)`
    `rows_are_units` with a query                        `row (query 2f1c...)`
    ===================================================  =====================================

    The digits are the beginning of the SHA-256 digest of the query's text. A query passes the column on if it
    is `SELECT * FROM table`, with or without WHERE, or if it begins with the column and names it only once.

    >>> unit_name(Measure(count_column="people"), rows_are_units=False, query=None)
    'counted person (people)'
    >>> tidied = "SELECT people, lower(home) AS home FROM data"
    >>> unit_name(Measure(count_column="people"), rows_are_units=False, query=tidied)
    'counted person (people)'
    >>> unit_name(Measure(), rows_are_units=True, query="SELECT DISTINCT home, age FROM data")
    'row (query 9b1038b65cd3a10e)'
    """
    column = measure.count_column if measure.unit is None else measure.unit.column
    if column is None:
        name = _ROW
    elif measure.unit is None:
        name = f"{_COUNTED} ({_named(column)})"
    else:
        name = _named(column)
    if query is not None and (rows_are_units or (column is not None and not _passed_on(column, query))):
        return f"{name} (query {sha256(query.encode('utf-8', 'surrogatepass')).hexdigest()[:16]})"
    return f"{name} (prepared table)" if rows_are_units else name


def _passed_on(column: str, query: str) -> bool:
    """Return whether a query surely yields the table's own column under its own name."""
    if _ALL_COLUMNS.fullmatch(query):
        return True
    first = _FIRST_COLUMN.match(query)
    # A query gives the name to something else only if it writes it again, in SELECT or behind the table, or
    # makes the name without writing it, which needs one of these signs: `*`, or U&"..." of PostgreSQL.
    once = query.casefold().count(column.casefold()) == 1 and "*" not in query and "&" not in query
    return first is not None and first[1] == column and once


def _named(column: str) -> str:
    """Return a column's name; where it could be taken for another name or does not print, quoted."""
    # Plain names hold no bracket and do not begin with "column ", so that no other name ends or begins so.
    plain = column.isprintable() and column == column.strip() != "" and "(" not in column
    if plain and column not in (_ROW, _COUNTED) and not column.startswith(_COLUMN):
        return column
    return f"{_COLUMN}{column!r}"
