"""Texts that nobody can list, as codes of this run.

Equal rows are taken together by their texts, the distinct texts of each such attribute are numbered, and the
numbers take their place. From here on the table is one over attributes of known sizes.

Promise: texts are equal if all of their bytes are; a number stands for one text. The numbers are private to
this run: they follow from all rows, so nothing that a unit's rows are chosen by may know them (`bounding`,
which comes before), and no law may depend on them (laws/PROOF.md, "Values that nobody lists").
Cost: one GROUP BY of the rows, which DuckDB does in its own memory, and one of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.texts import KnownTexts, in_order
from hushtable.engines.sliced.coding import words_sql
from hushtable.engines.sliced.engine import fetched, quiet
from hushtable.engines.sliced.keying import Keyed
from hushtable.table.sparse import LARGEST_COUNT

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_TOGETHER = '"hushtable together"'


class Closed(NamedTuple):
    """Rows with keys over a space that holds the texts which occur. Private."""

    keyed: Keyed
    space: KeySpace
    texts: RunTexts


class RunTexts:
    """The texts behind the codes of a run, wherever they are. Private: many of them stay so.

    Of each attribute, by its place, `texts_of` returns the texts with these codes, in their order. Several
    codes may stand for one text, never one for several.
    """

    def __init__(self, texts_of: Mapping[int, Callable[[NDArray[np.int64]], pa.Array]]) -> None:
        self._texts_of = texts_of

    def listed(self, domain: Domain, codes: NDArray[np.int64]) -> tuple[Domain, NDArray[np.int64]]:
        """Return the domain in which the texts of these cells, and no others, have codes; and those codes.

        They are numbered by the order of their bytes, so nothing is left of the codes of the run.
        """
        again, known = codes.copy(), {}
        for place, texts_of in self._texts_of.items():
            own, back = np.unique(codes[:, place], return_inverse=True)
            known[place], ranks = _in_order(quiet(texts_of, own))
            again[:, place] = ranks[back]
        return domain.knowing(known), again

    def __repr__(self) -> str:
        return "RunTexts(<private>)"


def _in_order(texts: pa.Array) -> tuple[KnownTexts, NDArray[np.int64]]:
    """Return the texts, each once, in the order of their bytes, and which of them each one is."""
    import pyarrow.compute as pc

    once = in_order(texts)
    ranks = as_numbers(pc.index_in(texts, value_set=once)).astype(np.int64)
    return KnownTexts(lambda: once), ranks


def _texts_in(table: str, connection: duckdb.DuckDBPyConnection, own: NDArray[np.int64]) -> pa.Array:
    """Return the texts with these codes, which are the rows of a table."""
    import pyarrow as pa

    connection.register("hushtable published", pa.table({"code": as_column(own)}))
    sql = (
        f'SELECT texts.value FROM "hushtable published" AS own '
        f"JOIN {table} AS texts ON texts.rowid = own.code ORDER BY own.code"
    )
    found = connection.sql(sql).to_arrow_table().combine_chunks()
    connection.unregister("hushtable published")
    column = found.column("value")
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def closed(keyed: Keyed, domain: Domain, connection: duckdb.DuckDBPyConnection) -> Closed:
    """Return rows, bounded already, with numbers in place of the texts of attributes that are `unlisted`."""
    words, dropped = keyed.words, " OR ".join(f"{column} IS NULL" for column in keyed.columns)
    kept = [f"CASE WHEN NOT ({dropped}) THEN {word} END AS {word}" for word in words]
    beside = [f"least(sum(amount), {LARGEST_COUNT}) AS amount" if keyed.amounts else "count(*) AS amount"]
    beside += ["count(*) AS rows"]
    beside += ["max(broken) AS broken"] if "broken" in keyed.columns else []
    rows = ", ".join([*kept, *(column for column in keyed.columns if column not in words)])
    together = (
        f"SELECT {', '.join([*words, *beside])} FROM (SELECT {rows} FROM ({keyed.sql}) AS keyed) AS kept "
        f"GROUP BY {', '.join(words)}"
    )
    fetched(f"CREATE TEMP TABLE {_TOGETHER} AS {together}", connection)
    shape, codes, joins, tables = list(domain.shape), list(words), "", {}
    for place in domain.unlisted:
        tables[place] = f'"hushtable texts {place}"'
        once = f"SELECT DISTINCT {words[place]} AS value FROM {_TOGETHER} WHERE {words[place]} IS NOT NULL"
        fetched(f"CREATE TEMP TABLE {tables[place]} AS {once}", connection)
        ((last,),) = fetched(f"SELECT max(rowid) FROM {tables[place]}", connection)
        shape[place], codes[place] = 1 + (last or 0), f"t{place}.rowid"
        joins += f" LEFT JOIN {tables[place]} AS t{place} ON t{place}.value = {words[place]}"
    space = KeySpace(shape)
    columns = [f"k{word}" for word in range(len(space.bounds))]
    also = ["CAST(amount AS BIGINT) AS amount", "rows", *["broken"] * ("broken" in keyed.columns)]
    sql = f"SELECT {', '.join([*words_sql(codes, space), *also])} FROM {_TOGETHER} AS together{joins}"
    columns += ["amount", "rows", *["broken"] * ("broken" in keyed.columns)]
    texts = {place: partial(_texts_in, table, connection) for place, table in tables.items()}
    return Closed(Keyed(sql, columns), space, RunTexts(texts))


def forget_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Give up the rows that were taken together; their texts stay until the connection ends."""
    fetched(f"DROP TABLE {_TOGETHER}", connection)
