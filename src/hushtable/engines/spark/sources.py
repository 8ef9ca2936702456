"""What the command names, as a DataFrame: Parquet or ORC files wherever Spark reaches, or tables.

Promise: the types of columns are those that files and tables declare. None is guessed, neither from rows nor
from the names of folders. No row is counted twice because its file or table was named twice. No message tells
the value in the name of a folder such as `person=...`, or what a reader says of a file.
Cost: the footers of files are read, to see whether their columns agree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hushtable.engines.sliced.naming import folded
from hushtable.engines.sliced.paths import check_once
from hushtable.engines.sliced.versions import MARKS, check_local_versions, check_versions
from hushtable.engines.spark.jobs import ran
from hushtable.engines.spark.sessions import files_are_here
from hushtable.errors import BadData, HushtableError, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KNOWN = "Parquet (.parquet) and ORC (.orc) files, and tables by their names"
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".orc": "orc"}
_OTHERS = re.compile(r"\.(csv|tsv|txt|jsonl?|ndjson|xml)(\.\w+)?$", re.IGNORECASE)
_NO_CATALOG = "HiveException|MetaException|metastore"
_GUESSED = "spark.sql.sources.partitionColumnTypeInference.enabled"
_PLAIN = "org.apache.spark.sql.execution.datasources."  # classes that list whatever is in a folder
_ONE_KIND = "Give one kind at a time."


def frame_of(spark: SparkSession, data: Sequence[str], *, rows_are_units: bool = False) -> DataFrame:
    """Return the rows of paths, folders and patterns, or of tables."""
    failed = ""
    try:
        paths = [name for name in data if _is_path(name)]
        if not paths:
            return _tables(spark, data, rows_are_units=rows_are_units)
        if len(paths) < len(data):
            raise BadData("paths and tables are given together", _ONE_KIND)
        return _files(spark, [root for path in paths for root in _roots(spark, path)])
    except HushtableError:
        raise
    except Exception as error:  # raised below: what Spark says may quote a file, and so would the chain
        failed = str(error)
    raise _replaced(failed)


def check_named(data: Sequence[str]) -> None:
    """Raise for what names alone, and this machine's files, tell without Spark."""
    for name in data:
        if not _is_path(name):
            continue
        if _OTHERS.search(name):
            _checked_format(name)
        if ":" in name or not files_are_here():
            continue
        if not _is_pattern(name) and not os.path.exists(name):
            raise BadData(f"there is no file {_said(name)}", "Check the path.")


def local_paths(frame: DataFrame) -> list[str]:
    """Return the files and folders of this machine that a DataFrame reads, as far as its plan names them."""
    # Planning may compute what the owner's expressions say of a row, and quote it.
    found = [unquote(path) for path in ran(frame.inputFiles)]
    found += [root for _, roots in _locations(frame) for root in roots]
    local = re.compile(r"^file:/+")
    return [local.sub("/", path) for path in found if local.match(path)]


def check_frame(frame: DataFrame) -> None:
    """Raise if a DataFrame reads a table of Delta or its like as plain files, by a path or by a table's name.

    What reads such a table by its log lists its files itself, and not as Spark lists those of a folder.
    """
    plain = [root for kind, roots in _locations(frame) if kind.startswith(_PLAIN) for root in roots]
    ran(lambda: _check_versions(frame.sparkSession, plain))


def _locations(frame: DataFrame) -> list[tuple[str, list[str]]]:
    """Return what lists the files that a DataFrame reads, and the files and folders that were named to it."""
    from py4j.protocol import Py4JError

    found = []
    leaves = ran(lambda: frame._jdf.queryExecution().analyzed().collectLeaves())
    for number in range(leaves.size()):
        leaf = leaves.apply(number)
        try:
            location = leaf.relation().location()
            roots = location.rootPaths()
            paths = [roots.apply(place).toString() for place in range(roots.size())]
            found.append((location.getClass().getName(), paths))
        except Py4JError:
            with suppress(Py4JError):  # a table of Hive; or rows that are not of files
                found.append((_PLAIN, [leaf.tableMeta().location().toString()]))
    return found


def _is_path(name: str) -> bool:
    """Return whether something is a path, by its form or because it is there; else it is a table."""
    formed = "/" in name or _is_pattern(name) or _OTHERS.search(name) or _format(name)
    return bool(formed) or os.path.exists(name)


def _is_pattern(name: str) -> bool:
    return re.search(r"[*?\[\]{}]", name) is not None


def _format(name: str) -> str | None:
    """Return the format that a file's name says."""
    return _FORMATS.get(os.path.splitext(name)[1].lower())


def _said(path: str) -> str:
    """Return a path for a message.

    >>> _said("file:/trips/person=Jane Roe")
    "'/trips/person=...'"
    """
    return repr(re.sub(r"=[^/]*", "=...", path.removeprefix("file:")))


def _roots(spark: SparkSession, name: str) -> Iterator[Any]:
    """Yield the files and folders that a path or a pattern names, as Hadoop describes them."""
    path = spark._jvm.org.apache.hadoop.fs.Path(name)
    files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    if files.exists(path):
        yield files.getFileStatus(path)
        return
    if not _is_pattern(name):
        raise BadData(f"there is no file {_said(name)}", "Check the path.")
    found = files.globStatus(path)
    if not found:
        raise BadData(f"no file matches {_said(name)}", "Check the pattern; put it in quotes in a shell.")
    yield from found


def _files(spark: SparkSession, roots: Sequence[Any]) -> DataFrame:
    """Return the rows of files and of folders."""
    paths = [root.getPath().toString() for root in roots]
    _check_once(paths)
    _check_versions(spark, paths)
    # As bytes: only the names of files are asked for, whatever is in them.
    as_bytes = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    files = _data_files(spark, [as_bytes.load([as_it_is(path) for path in paths])])
    _check_files(files)
    _check_versions(spark, files)
    examples = [
        path if root.isFile() else _first_file(spark, root) for path, root in zip(paths, roots, strict=True)
    ]
    formats = {_checked_format(example) for example in examples}
    if len(formats) > 1:
        raise BadData(f"the files are of several kinds: {', '.join(sorted(formats))}", _ONE_KIND)
    kind = formats.pop()
    reader = spark.read.format(kind).option("mergeSchema", "true")
    # Folders such as year=2024 are columns, from the first of them on.
    named = [re.search(r"/[^/=]+=[^/]*/", example) for example in examples]
    bases = {found.string[: found.start()] for found in named if found}
    if not bases:
        reader = reader.option("recursiveFileLookup", "true")  # else Spark leaves folders in folders out
    elif len(bases) == 1 and all(named):
        reader = reader.option("basePath", bases.pop())
    else:
        hint = "Give one of them at a time, or the folder above."
        raise BadData("the paths do not have the same columns in the names of folders", hint)
    escaped = [as_it_is(path) for path in paths]
    before = spark.conf.get(_GUESSED)
    spark.conf.set(_GUESSED, "false")  # their values are text, as they are on one machine
    try:
        frame = reader.load(escaped)
    finally:
        spark.conf.set(_GUESSED, before)
    if any(named):  # whose values would take the place of the files' own
        inside = spark.read.format(kind).options(mergeSchema="true", recursiveFileLookup="true").load(escaped)
        own = set(map(folded, inside.columns))
        folders = [name for each in examples for name in re.findall("/([^/=]+)=[^/]*(?=/)", each)]
        for name in folders:
            if folded(unquote(name)) in own:
                fact = f"the files have a column {shown(name)}, and lie in a folder that names it too"
                raise BadData(fact, "Rename the folder, or leave the column out of the files.")
    return frame


def as_it_is(path: str) -> str:
    """Return a path for a reader that would take it for a pattern."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def _check_once(paths: Sequence[str]) -> None:
    """Raise if a file or folder is given twice, or lies in another one: its rows would count twice."""
    real = [os.path.realpath(_local(path)) if _is_local(path) else path for path in paths]
    given: set[str] = set()
    for path in sorted(real):
        above = (path[: found.start()] for found in re.finditer("/", path))
        if path in given or not given.isdisjoint(above):
            raise BadData(f"the file {_said(path)} is given twice", "Give each file once.")
        given.add(path)


def _check_files(files: Sequence[str]) -> None:
    """Raise if a data file is read twice. On this machine's disks, links and mounts of it are seen too."""
    check_once(_local(file) for file in files if _is_local(file) and os.path.exists(_local(file)))
    seen: set[str] = set()
    for file in files:
        if file in seen:
            raise BadData(f"the file {_said(file)} is given twice", "Give each file once.")
        seen.add(file)


def _data_files(spark: SparkSession, frames: Sequence[DataFrame]) -> list[str]:
    """Return the files that frames read, those of a frame all at once: to ask Java for each takes long."""
    join = spark._jvm.org.apache.hadoop.util.StringUtils.join
    joined = [join("\n", frame._jdf.inputFiles()) for frame in frames]
    return [unquote(file) for files in joined for file in files.split("\n") if file]


def _is_local(path: str) -> bool:
    return re.match(r"file:/", path) is not None


def _local(path: str) -> str:
    """Return a path of this machine as Python has it."""
    return re.sub(r"^file:/+", "/", path)


def _check_versions(spark: SparkSession, paths: Sequence[str]) -> None:
    """Raise if files or folders belong to a table of which they also hold rows that were deleted."""
    check_local_versions(_local(path) for path in paths if _is_local(path))
    jvm, settings = spark._jvm, spark.sparkContext._jsc.hadoopConfiguration()
    wanted = "{" + ",".join(MARKS) + "}"

    def marks(folder: str) -> list[str]:
        from py4j.protocol import Py4JJavaError

        base = folder.rstrip("/")
        try:
            pattern = jvm.org.apache.hadoop.fs.Path(f"{as_it_is(base)}/{wanted}")
            found = pattern.getFileSystem(settings).globStatus(pattern) or []
        except Py4JJavaError:
            return []  # it may not be listed: a folder above those that were given
        names = [(str(each.getPath().getParent().getName()), str(each.getPath().getName())) for each in found]
        nested = {mark.split("/")[0] for mark in MARKS if "/" in mark}
        return [f"{base}/{above}/{name}" if above in nested else f"{base}/{name}" for above, name in names]

    check_versions([path for path in paths if not _is_local(path)], marks)


def _first_file(spark: SparkSession, root: Any) -> str:
    """Return the first file of a folder that holds data."""
    folder, top = root.getPath(), root.getPath().toString()
    files = folder.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    inside = files.listFiles(folder, True)
    while inside.hasNext():
        path: str = inside.next().getPath().toString()
        if not any(part.startswith((".", "_")) for part in path[len(top) :].split("/")):
            return path
    raise BadData(f"the folder {_said(top)} holds no files", f"On Spark, hushtable reads {_KNOWN}.")


def _checked_format(file: str) -> str:
    """Return the format of a file, if it is one that declares the types of columns."""
    if _OTHERS.search(file):
        raise BadData(
            f"{_said(file)} is text, in which no column has a type: Spark would guess it from the rows, "
            "or read values otherwise than hushtable does",
            "Publish it without --engine spark. Or, in Python, read it by spark.read with a schema of yours, "
            "and pass the DataFrame to ht.publish.",
        )
    kind = _format(file)
    if kind is None:
        hint = f"On Spark, hushtable reads {_KNOWN}."
        raise BadData(f"the name of {_said(file)} does not say what is in it", hint)
    return kind


def _tables(spark: SparkSession, names: Sequence[str], *, rows_are_units: bool) -> DataFrame:
    """Return the rows of tables that have the same columns."""
    frames, seen = [], set()
    for name in names:
        if not _is_table(spark, name):
            hint = "Check the name, with backquotes as in `my-tables`.people; a path has a `/` in it."
            raise BadData(f"there is no table {shown(name)} that Spark knows, and no file of this name", hint)
        table = spark.catalog.getTable(name)
        full = (table.catalog, *(table.namespace or ()), table.name)
        if full in seen:  # each of its rows would count twice
            raise BadData(f"the table {shown(name)} is given twice", "Give each table once.")
        seen.add(full)
        if table.tableType in ("VIEW", "TEMPORARY") and not rows_are_units:
            hint = "Name the table behind it; or give --rows-are-units if its rows are what is protected."
            raise BadData(f"{shown(name)} is a view, which may join or group", hint)
        frames.append(spark.table(name))
    first, *others = frames
    for name, other in zip(names[1:], others, strict=True):
        if _columns(other) != _columns(first):
            raise BadData(
                f"the tables {shown(names[0])} and {shown(name)} have different columns", "Give only one."
            )
        first = first.unionByName(other)
    if len(frames) > 1:
        _check_files(_data_files(spark, frames))  # two names of tables may be of the same files
    return first


def _is_table(spark: SparkSession, name: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        return bool(spark.catalog.tableExists(name))
    except PySparkException as error:
        if re.search(_NO_CATALOG, str(error)):
            raise
        return False  # such a name cannot be, or it is of a catalog that is not there


def _columns(frame: DataFrame) -> dict[str, str]:
    return {field.name.lower(): field.dataType.simpleString() for field in frame.schema.fields}


def _replaced(text: str) -> BadData:
    """Return an error in the place of one of Spark's."""
    if found := re.search(r'No FileSystem for scheme "(\w+)"|Class org\.apache\.hadoop\.fs\.(\w+)', text):
        hint = "Name what reads it in spark.jars.packages, such as org.apache.hadoop:hadoop-aws for s3a."
        return BadData(f"Spark as it is installed cannot read from {found[1] or found[2]}", hint)
    if re.search(r"AccessControlException|AccessDenied|Permission denied|Forbidden", text):
        return BadData("a file or a table may not be read by you", "Ask its owner.")
    if re.search(r"CANNOT_MERGE_SCHEMA|CANNOT_MERGE_INCOMPATIBLE", text):
        return BadData("a column has not the same type in all files", "Write it with one type in all files.")
    if re.search(r"UnknownHost|ConnectException|ConnectTimeout", text):
        return BadData("the machine that has the data does not answer", "Check the address.")
    if re.search(_NO_CATALOG, text):
        return BadData("the catalog of tables cannot be read", "Check hive-site.xml, and that it runs.")
    hint = "It may be damaged or of another format; spark.read says more, and may quote rows."
    return BadData("a file or a table cannot be read by Spark", hint)
