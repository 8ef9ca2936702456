"""Worlds as files and objects: what the owner hands to the door."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from tests.engines.door.stored import Stored
from tests.engines.door.worlds import Part, Row, World, quoted

_ENDINGS = {
    "parquet": ".parquet",
    "parquet by duckdb": ".parquet",
    "parquet by polars": ".parquet",
    "parquet by pandas": ".pq",
    "ipc": ".arrow",
    "ipc stream": ".arrows",
    "csv": ".csv",
    "csv by pandas": ".csv",
    "tsv": ".tsv",
    "csv gz": ".csv.gz",
    "csv zst": ".csv.zst",
    "json": ".jsonl",
    "json gz": ".ndjson.gz",
    "duckdb": ".duckdb",
    "sqlite": ".db",
}
# What DuckDB, Polars and pandas store as it is; other types they would change on the way.
_KEPT = ("whole", "decimal", "float", "text", "day", "clock", "instant", "bool")


def written(world: World, folder: Path) -> Any:
    """Write a world into an empty folder and return what is handed to the door."""
    if world.form not in _ENDINGS:
        return _object(world)
    paths = []
    for number, part in enumerate(world.parts):
        inside = folder.joinpath(*(f"{name}={value}" for name, value in part.folders))
        if "iceberg" in world.hazards:
            inside = folder / "data"
        inside.mkdir(parents=True, exist_ok=True)
        path = inside / f"part-{number}{_ENDINGS[world.form]}"
        _file(world, part, path)
        paths.append(path)
    return _given(world, folder, paths)


def _given(world: World, folder: Path, paths: list[Path]) -> Any:
    """Return how the files are named: a path, a list, a folder or a pattern."""
    first = paths[0]
    other = first.with_name(f"other-{first.name}")
    if "hard link" in world.hazards:
        os.link(first, other)
        return [str(path) for path in (*paths, other)]
    if "symbolic link" in world.hazards:
        other.symlink_to(first.name)
        return [str(path) for path in (*paths, other)]
    if "second spelling" in world.hazards:
        return [*map(str, paths), f"{first.parent}/../{first.parent.name}/{first.name}"]
    if "delta" in world.hazards:
        (folder / "_delta_log").mkdir()
        (folder / "_delta_log" / f"{0:020}.json").write_text('{"commitInfo": {}}\n')
        return str(folder)
    if "hudi" in world.hazards:
        (folder / ".hoodie").mkdir()
        (folder / ".hoodie" / "hoodie.properties").write_text("hoodie.table.version=6\n")
        return str(folder)
    if "iceberg" in world.hazards:
        (folder / "metadata").mkdir()
        (folder / "metadata" / "v1.metadata.json").write_text('{"format-version": 2}\n')
        return str(folder / "data" if world.style & 1 else folder)
    if len(paths) == 1 and world.style & 1:
        return str(first)
    if world.form in ("duckdb", "sqlite"):
        return first
    if any(part.folders for part in world.parts) or world.style & 2:
        return str(folder)
    if world.style & 4:
        return f"{folder}/*{_ENDINGS[world.form]}"
    return [str(path) for path in paths]


def table_of(world: World, part: Part) -> Any:
    """Return the rows of a part as a table of Arrow."""
    arrays = [part.types[at].array([row.cells[at] for row in part.rows]) for at in part.order]
    return pa.Table.from_arrays(arrays, names=[world.columns[at] for at in part.order])


def _object(world: World) -> Any:
    table = table_of(world, world.parts[0])
    if world.form == "reader":
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=5))
    if world.form == "pandas":
        import pandas as pd

        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if world.form == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def _file(world: World, part: Part, path: Path) -> None:
    form = world.form
    if form.startswith(("csv", "tsv")):
        _csv(world, part, path)
    elif form.startswith("json"):
        _json(world, part, path)
    elif form == "sqlite":
        _sqlite(world, part, path)
    elif form == "parquet":
        kind = "snappy" if world.style & 8 else "none"
        pq.write_table(table_of(world, part), path, compression=kind, store_schema=bool(world.style & 16))
    elif form == "parquet by polars":
        import polars as pl

        pl.from_arrow(table_of(world, part)).write_parquet(path)  # type: ignore[union-attr]
    elif form == "parquet by pandas":
        import pandas as pd

        table_of(world, part).to_pandas(types_mapper=pd.ArrowDtype).to_parquet(path)
    elif form in ("ipc", "ipc stream"):
        table = table_of(world, part)
        make = pa.ipc.new_file if form == "ipc" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table)
    else:
        _duckdb(world, part, path)


def _duckdb(world: World, part: Part, path: Path) -> None:
    table = table_of(world, part)
    # Numbered on the way: a table of DuckDB's takes no two names that differ in case alone.
    numbered = table.rename_columns([f"c{place}" for place in range(len(part.order))])
    columns = ", ".join(
        f"c{place}{f'::{part.types[at].sql}' if part.types[at].sql else ''} AS {quoted(world.columns[at])}"
        for place, at in enumerate(part.order)
    )
    if world.form == "parquet by duckdb":
        with closing(_writer().cursor()) as cursor:
            cursor.register("numbered", numbered)
            cursor.execute(f"COPY (SELECT {columns} FROM numbered) TO '{path}' (FORMAT parquet)").fetchall()
        return
    with duckdb.connect(str(path)) as file:
        file.register("numbered", numbered)
        file.execute(f"CREATE TABLE {quoted(world.table)} AS SELECT {columns} FROM numbered").fetchall()


@cache
def _writer() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def _csv(world: World, part: Part, path: Path) -> None:
    text = io.StringIO(newline="")
    delimiter = "\t" if world.form == "tsv" else ","
    names = [world.columns[at] for at in part.order]
    rows = [[row.cells[at] for at in part.order] for row in part.rows]
    if world.form == "csv by pandas":
        import pandas as pd

        pd.DataFrame(rows, columns=names, dtype=object).to_csv(path, index=False)
        return
    quoting: Literal[0, 1] = csv.QUOTE_ALL if world.style & 8 else csv.QUOTE_MINIMAL
    ending = "\r\n" if world.style & 16 else "\n"
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ending)
    writer.writerow(names)
    writer.writerows(rows)
    data = text.getvalue().encode()
    if world.style & 96 == 96:
        data = b"\xef\xbb\xbf" + data
    if world.form == "csv gz":
        data = gzip.compress(data, mtime=0)
    if world.form == "csv zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)


def _json(world: World, part: Part, path: Path) -> None:
    lines = []
    for row in part.rows:
        told = [at for at in part.order if not (world.style & 8 and row.cells[at] == "null")]
        lines.append(
            "{" + ", ".join(f"{json.dumps(world.columns[at])}: {row.cells[at]}" for at in told) + "}\n"
        )
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if world.form == "json gz" else data)


def _sqlite(world: World, part: Part, path: Path) -> None:
    kinds = [part.types[at].sql for at in part.order]
    strict = " STRICT" if any(kind.endswith(" strict") for kind in kinds) else ""
    declared = ", ".join(
        f"{quoted(world.columns[at])} {kind.removesuffix(' strict')}"
        for at, kind in zip(part.order, kinds, strict=True)
    )
    with closing(sqlite3.connect(path)) as lite, lite:
        lite.execute("PRAGMA synchronous = OFF")
        lite.execute("PRAGMA journal_mode = MEMORY")
        lite.execute(f"CREATE TABLE {quoted(world.table)} ({declared}){strict}")
        marks = ", ".join("?" * len(kinds))
        rows = [tuple(row.cells[at] for at in part.order) for row in part.rows]
        lite.executemany(f"INSERT INTO {quoted(world.table)} VALUES ({marks})", rows)


def can_write(form: str, kind: Stored) -> bool:
    """Return whether a form of input stores all raws of a type as they are."""
    if form in ("polars", "parquet by duckdb", "parquet by polars", "duckdb") and kind.family not in _KEPT:
        return False
    if "polars" in form and pa.types.is_decimal256(kind.arrow):
        return False  # Polars panics
    rows = tuple(Row(number, (raw,)) for number, raw in enumerate((*kind.raws, None)))
    world = World(
        form=form,
        columns=("x",),
        parts=(Part((kind,), rows, (0,)),),
        attributes=(),
        places=(),
        measure={},
        style=1,
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            written(world, Path(folder))
        except Exception:
            return False
    return True
