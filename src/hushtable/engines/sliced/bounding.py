"""How much of one unit is counted, as SQL for DuckDB.

Promise: of each unit at most `max_rows` rows stay, or rows in at most `max_cells` cells and at most
`max_per_cell` in each. Which ones follows from that unit's rows and a salt drawn for this count, and from
nothing else: not from the order of rows, other units, or how common a cell is. Rows that are dropped by rule
take no place. Units are told apart by their values, never by a hash.
Cost: the rows are brought together by unit once, and ranked. To tell which units are left out, they are kept
in DuckDB's memory or files, and grouped by unit once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushtable.domain.measure import Unit
from hushtable.engines.sliced.engine import fetched
from hushtable.engines.sliced.keying import Keyed
from hushtable.noise import BitSource

if TYPE_CHECKING:
    import duckdb

_KEPT = '"hushtable kept"'


def drawn_salt(entropy: BitSource) -> str:
    """Draw what the choice of a unit's rows depends on."""
    return entropy.words(2).tobytes().hex()


def told_apart(keyed: Keyed, connection: duckdb.DuckDBPyConnection) -> tuple[Keyed, tuple[int, int]]:
    """Return the rows, read once and kept, and how many units have a row that counts, and how many have none.

    A unit is one of both, by its own rows alone. Bounds play no part: whoever has rows that count keeps one.
    """
    columns = _listed([*keyed.columns, "unit"])
    fetched(f"CREATE TEMP TABLE {_KEPT} AS SELECT {columns} FROM ({keyed.sql}) AS keyed", connection)
    kept = keyed._replace(sql=f"SELECT * FROM {_KEPT}")
    each = f"SELECT bool_or(NOT dropped) AS counts FROM ({_marked(kept)}) AS rows WHERE unit IS NOT NULL"
    both = "count(*) FILTER (WHERE counts), count(*) FILTER (WHERE NOT counts)"
    ((counted, left_out),) = fetched(f"SELECT {both} FROM ({each} GROUP BY unit) AS units", connection)
    return kept, (counted, left_out)


def bounded(keyed: Keyed, unit: Unit, *, salt: str) -> Keyed:
    """Return rows with the column `unit` without what is beyond the bounds of each unit.

    Rows that are dropped come out with a NULL, so that it is known that there were any.
    """
    rows = _marked(keyed)
    if unit.max_rows is not None:
        rows = _few_rows(rows, keyed, unit.max_rows, salt, within="")
    else:
        assert unit.max_cells is not None
        assert unit.max_per_cell is not None
        rows = _few_cells(rows, keyed, unit.max_cells, unit.max_per_cell, salt)
    first, *others = keyed.columns
    chosen = _listed([f"CASE WHEN unit IS NOT NULL THEN {first} END AS {first}", *others])
    return Keyed(f"SELECT {chosen} FROM ({rows}) AS bounded", keyed.columns)


def _marked(keyed: Keyed) -> str:
    """Return the rows, each with whether it is dropped."""
    dropped = " OR ".join(f"{column} IS NULL" for column in [*keyed.columns, "unit"])
    return f"SELECT {_listed(keyed.columns)}, unit, {dropped} AS dropped FROM ({keyed.sql}) AS keyed"


def _few_rows(rows: str, keyed: Keyed, most: int, salt: str, *, within: str) -> str:
    """Return at most so many rows of each unit, or of each unit `within` some columns.

    Equal rows of a unit are numbered, and each is ranked by itself and its number. Equal rows are alike, so
    how they come to be numbered does not change what is counted: it is the same in whatever order rows are
    read.
    """
    kept = _listed(keyed.columns)
    copy = f"row_number() OVER (PARTITION BY unit, dropped, {kept})"
    numbered = f"SELECT *, {copy} AS copy FROM ({rows}) AS rows"
    order = _shuffled(salt, [*keyed.columns, "copy"])
    place = f"row_number() OVER (PARTITION BY unit, dropped{within} ORDER BY {order})"
    ranked = f"SELECT *, {place} AS place FROM ({numbered}) AS numbered"
    return f"SELECT {kept}, unit, dropped FROM ({ranked}) AS ranked WHERE dropped OR place <= {most}"


def _few_cells(rows: str, keyed: Keyed, cells: int, each: int, salt: str) -> str:
    """Return rows of each unit in at most so many cells, and at most so many in each.

    How many rows a unit has in a cell plays no part in whether the cell is chosen. Without amounts, its rows
    in a cell are alike: any of them will do.
    """
    order = f"OVER (PARTITION BY unit, dropped ORDER BY {_shuffled(salt, keyed.words)})"
    copy = f"row_number() {order} - rank() {order} + 1"  # among the rows of a unit in a cell
    ranked = f"SELECT *, dense_rank() {order} AS cell, {copy} AS copy FROM ({rows}) AS rows"
    few = f"cell <= {cells}" if keyed.amounts else f"(cell <= {cells} AND copy <= {each})"
    kept = f"{_listed(keyed.columns)}, unit, dropped"
    chosen = f"SELECT {kept} FROM ({ranked}) AS ranked WHERE dropped OR {few}"
    if not keyed.amounts:
        return chosen
    return _few_rows(chosen, keyed, each, salt, within=f", {_listed(keyed.words)}")


def _shuffled(salt: str, columns: Sequence[str]) -> str:
    """Return what to order by for an order of a unit's own that favours nothing, and has no ties.

    What is hashed are the unit's own values: of an attribute that nobody can list the text itself, never a
    code, because codes of texts follow from the rows of all, and one person more would change which rows
    others keep. Texts whose hashes are equal are told apart by themselves.
    DuckDB's own `hash` of several columns is too regular: a rare row of a unit would be kept too often.
    """
    listed = _listed(columns)
    return f"md5_number(concat_ws('/', '{salt}', unit, {listed})), {listed}"


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns)
