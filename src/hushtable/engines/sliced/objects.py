"""Objects of Python that hold rows: tables, data frames and relations, lazy or not.

Promise: whatever the Arrow PyCapsule interface hands over is read, as it is; frames of narwhals are read as
what they wrap, lazy ones are collected. A type that an object would hand over with a loss is refused where
it is used, and left out where it is not. What an object says when it fails is not passed on: it may quote
rows.
Cost: streams are read once and never held as a whole; what is collected is in memory.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hushtable.engines.sliced.arrow import registered
from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.paths import check_once
from hushtable.engines.sliced.versions import check_local_versions
from hushtable.errors import BadData, shown

if TYPE_CHECKING:
    import duckdb

# What DuckDB's Arrow has no exact type for: numbers lose their top bit, times of day their offset.
_LOSSY = re.compile(r"\bUHUGEINT\b|TIME WITH TIME ZONE|TIMETZ")
_CLOCKED = "TIMESTAMP WITH TIME ZONE"  # which is exact, and has the other's words in it


def object_rows(
    data: Any, connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, whole: bool
) -> tuple[str, bool]:
    """Return SQL for the rows of an object, and whether it can be read twice."""
    import pyarrow as pa

    kind, failed, rows = type(data).__name__, "", None
    try:
        data = _native(data)
        rows = _arrow(_exact(data, names))
    except BadData:
        raise
    except Exception as error:
        failed = type(error).__name__  # raised below: what it says may quote rows, and so would the chain
    if rows is not None:
        return registered(rows, connection, names, whole=whole), isinstance(rows, pa.Table)
    if failed:
        hint = (
            "Values of different types in a column, or one name for two columns, are frequent causes. "
            "pyarrow.table(data) says what it is, and may quote rows."
        )
        raise BadData(f"this {kind} cannot be given as a table of Arrow ({failed})", hint)
    hint = (
        "Pass a path, a list of paths, a pyarrow, pandas, Polars or narwhals frame, a DuckDB relation, or "
        "any object with the Arrow PyCapsule interface."
    )
    if isinstance(data, list | dict):
        maker = "pyarrow.Table.from_pylist(data)" if isinstance(data, list) else "pyarrow.table(data)"
        hint = f"{hint} Rows in a {kind} become one by {maker}."
    raise BadData(f"data is of type {kind}, which holds no rows", hint)


def _native(data: Any) -> Any:
    """Return what a frame of narwhals wraps, and what a lazy frame of Polars collects; else `data`."""
    if _package(data) == "narwhals" and hasattr(data, "to_native"):
        data = data.to_native()
        if _package(data) == "pyspark":
            raise BadData("this narwhals frame wraps one of Spark", "Pass that: frame.to_native().")
    if _package(data) == "polars" and type(data).__name__ == "LazyFrame":
        data = data.collect()
    return data


def _package(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _arrow(data: Any) -> Any:
    """Return rows as a table or a stream of Arrow; None where the object holds none."""
    import pyarrow as pa

    if isinstance(data, pa.Table):
        return data
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.Dataset):
        files = dataset_files(data)
        check_once(files)
        check_local_versions(files)
        return data.scanner().to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(data)])
    if hasattr(data, "to_pyarrow_batches"):  # tables of ibis before they had a stream
        return data.to_pyarrow_batches()
    return None


def dataset_files(dataset: Any) -> list[str]:
    """Return the files of this machine that a dataset of Arrow reads."""
    if hasattr(dataset, "children"):
        return [file for each in dataset.children for file in dataset_files(each)]
    here = hasattr(dataset, "files") and dataset.filesystem.type_name == "local"
    return list(dataset.files) if here else []


def _exact(data: Any, names: Sequence[str]) -> Any:
    """Return a relation of DuckDB without columns that it would hand over with a loss, if none is used."""
    import duckdb

    if not isinstance(data, duckdb.DuckDBPyRelation):
        return data
    types = dict(zip(data.columns, map(str, data.types), strict=True))
    lossy = {name: kind for name, kind in types.items() if _LOSSY.search(kind.replace(_CLOCKED, ""))}
    used = set(map(folded, names))
    for name, kind in lossy.items():
        if folded(name) in used:
            held = kind.partition("(")[0]
            fact = f"column {shown(name)} holds {held}, which a relation does not hand over exactly"
            raise BadData(fact, "Cast it to text in the relation, as in CAST(x AS VARCHAR).")
    kept = [duckdb.ColumnExpression(name) for name in types if name not in lossy]
    return data.select(*kept) if lossy and kept else data
