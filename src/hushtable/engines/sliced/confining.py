"""A column of counts or sums is private, and is read for its amounts only.

Promise: of two tables that differ by one counted person, one amount differs by 1 and nothing else does. That
holds only if nothing else reads the column: a filter such as `people >= 1000` would drop or keep a thousand
people at once, and so would a cell or a unit computed from it. So neither filter nor query nor attribute nor
unit may read it; a query may pass it on unchanged, under any name.
"""

from __future__ import annotations

from collections.abc import Iterable

from hushtable.conditions.guard.expressions import Names
from hushtable.conditions.guard.statements import LocalQuery
from hushtable.engines.sliced.naming import folded
from hushtable.errors import BadData, BadQuery, shown

_ALONE = "It is private and only added up: no filter, query, attribute or unit may read it."
_PASS_ON = (
    f"{_ALONE} A query may pass it on unchanged. To compute amounts, prepare the table with a query and "
    "say so with `--rows-are-units` (`rows_are_units=True`); a row of the prepared table is then protected."
)


def check_confined(
    amount: str,
    *,
    readers: Iterable[str],
    query: LocalQuery | None,
    filtered: Names | None,
    table: str,
) -> None:
    """Raise unless nothing but the sum reads the column `amount` of what the query yields.

    `readers` are the columns of attributes and of the unit, `filtered` what the filter reads, `table` the
    word that stands for the whole row there.
    """
    private = {folded(amount)}
    if query is not None:
        private.add(_passed_on(amount, query))
    for name in readers:
        if folded(name) in private:
            fact = f"column {shown(name)} holds the amounts that are added up, and is read for something else"
            raise BadData(fact, f"{_ALONE} Name another column.")
    if filtered is not None and _reads(filtered, private, {folded(table)}):
        raise BadQuery(f"the row filter reads {shown(amount)}, the column of amounts", _ALONE)


def _passed_on(amount: str, query: LocalQuery) -> str:
    """Return the table's column that a query passes on as `amount`, folded; raise if it does more with it."""
    whole = {folded(word) for word in query.words}
    if query.renames_by_place:
        hint = f"Rename columns in SELECT, as in people AS n.\n{_PASS_ON}"
        raise BadQuery("the query renames columns by their places, and one holds amounts", hint)
    if any(item.before for item in query.items):
        # Of a struct, its fields: whatever reads the struct as a whole would read the amounts among them.
        hint = f"Write only *, or name the columns.\n{_PASS_ON}"
        raise BadQuery("the query has a word and a dot before *, and one column holds amounts", hint)
    if any(not item.name for item in query.items if not item.is_star):
        # DuckDB would name it by its expression, which could be the name of the amounts.
        raise BadQuery("the query computes a column without a name", "Name it, as in age // 10 AS decade.")
    given = {folded(amount)}
    named = [item for item in query.items if not item.is_star and folded(item.name) in given]
    renamed = [pair for item in query.items for pair in item.renamed]
    paths = [item.path for item in named] + [(source,) for source, name in renamed if folded(name) in given]
    if len(paths) > 1 or any(len(path) != 1 for path in paths):
        raise _computes(amount)
    own = folded(paths[0][0]) if paths else folded(amount)
    private = {own, *given}
    for item in query.items:
        # Under a second name, it would look like any other column; and a name that the query gives to
        # something else may itself be another name of the amounts, as in people AS p, p AS n.
        others = {folded(name) for name in item.replaced}
        others |= {folded(each) for pair in item.renamed if folded(pair[1]) not in given for each in pair}
        others |= set() if item.is_star or item in named else {folded(item.name)}
        if not private.isdisjoint(others) or (item not in named and _reads(item.reads, private, whole)):
            raise _computes(amount)
    if _reads(query.filtered, private, whole):
        raise _computes(amount)
    return own


def _reads(names: Names, private: set[str], whole: set[str]) -> bool:
    """Return whether names touch a private column, or the whole row by the name of its table."""
    paths = [tuple(map(folded, path)) for path in names]
    return any(not private.isdisjoint(path) or path[-1] in whole for path in paths)


def _computes(amount: str) -> BadQuery:
    """Return the error of a query that does more with amounts than pass them on."""
    return BadQuery(
        f"the query reads {shown(amount)}, the column of amounts, for more than passing it on", _PASS_ON
    )
