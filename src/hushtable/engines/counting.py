"""Counting rows, wherever they are: the engine that takes them counts.

Promise: that of `sliced.counting`, by every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from os import PathLike
from typing import Any

from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.local.addresses import located
from hushtable.engines.registry import engine_of
from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.paths import check_categories
from hushtable.errors import BadChoice, shown, within_memory
from hushtable.noise import KeyStream
from hushtable.table.sparse import SparseTable


@within_memory
def count(
    data: Any,
    *,
    domain: Domain | Mapping[str, Any] | str | PathLike[str],
    where: str | None = None,
    query: str | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    unit: Unit | None = None,
    rows_are_units: bool = False,
    table: str | None = None,
    memory: int | str | None = None,
) -> SparseTable:
    """Count the rows of `data` in the cells of `domain`. The table is private.

    The table knows how much one unit can change in it (`table.sensitivity`), and `ht.summarize` draws noise
    for that.

    =============================  =====================================================================
    data                           read as
    =============================  =====================================================================
    a path, a list, a pattern      Parquet, CSV, TSV, JSON lines, Arrow; of a folder, all such files in it
    a DuckDB or SQLite file        its only table, or what `query` selects
    a URL, as postgresql://...     `table` of that database, or what `query` selects
    a data frame or relation       any object with the Arrow PyCapsule interface: pyarrow, pandas, Polars,
                                   DuckDB, ibis; frames of narwhals, and lazy ones of Polars
    a DataFrame of Spark           by its workers; the table comes to the driver
    =============================  =====================================================================

    `where` keeps the rows for which a condition on their own columns holds. `query` selects, renames and
    computes columns of one table row by row; it calls the rows of files and objects `data`. Any other
    query needs `rows_are_units`: then a release protects each row of the query's result.

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> ht.count(pa.table({"age": [34, 34, 61]}), domain=ht.Domain(age=ht.integers(0, 120)))
    SparseTable(shape=(121,), counts=<private>)
    """
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    declared = as_domain(domain)
    if declared.unlisted:
        name = shown(declared.names[declared.unlisted[0]])
        fact = f"{name} may hold any text, so its values cannot be numbered"
        raise BadChoice(fact, "Publish with `ht.publish`, an epsilon and a delta; or declare categories.")
    request = CountRequest(
        domain=declared,
        measure=measure,
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        memory=memory,
        entropy=KeyStream(),
    )
    with counted_rows(located(data, table), request) as counted:
        return quiet(counted.table)


def counted_rows(data: Any, request: CountRequest) -> AbstractContextManager[Counted]:
    """Count rows where they are. What does not fit in memory lives in files until the block ends."""
    engine = engine_of(data)
    check_categories(request.domain, partial(engine.inputs, data))
    return engine.counted(data, request)
