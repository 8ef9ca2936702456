"""What a session of Spark Connect says of itself: by its public words alone, and without Java.

Promise: an error of the server is replaced, not chained, nor printed. What reads a folder of Delta or its
like as plain files is refused, as far as the server's plan tells; where it cannot tell, as of tables of
Hive, it is refused too.
Cost: a question to the server for each hundred folders that plain files lie in or below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import groupby
from posixpath import dirname
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from hushtable.engines.sliced.versions import MARKS, check_versions, with_folders_above
from hushtable.engines.spark.jobs import replaced_job, unprinted
from hushtable.engines.spark.sources import as_it_is
from hushtable.errors import BadData, HushtableError
from hushtable.noise import KeyStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_T = TypeVar("_T")

_PLAIN = re.compile(r"\b(InMemoryFileIndex|CatalogFileIndex)\b")  # what lists whatever is in a folder
_AT_ONCE = 100  # folders of one question
# What failed, by words in the report that only a session of Connect has; the first that fits is taken.
_CAUSES = (
    (
        r"Total size of serialized results",
        "what the workers counted is more than Spark gives back at once",
        "Raise spark.driver.maxResultSize where the server is started, or declare fewer cells.",
    ),
    (
        r"No module named 'hushtable|PYTHON_VERSION_MISMATCH",
        "workers lack hushtable",
        "Their Python must have hushtable, of the client's version of Python: send an archive by "
        "spark.addArtifacts(..., archive=True), and name its Python in spark.sql.execution.pyspark.python. "
        "A server on this machine takes that of PYSPARK_PYTHON.",
    ),
    (
        r"StatusCode\.UNAVAILABLE|failed to connect|Connection refused|RESPONSE_ALREADY_RECEIVED|"
        r"INVALID_HANDLE|NO_ACTIVE_SESSION|Socket closed",
        "the Spark Connect server is gone, or has lost this session",
        "Start a new session, and publish again.",
    ),
)


def asked(action: Callable[[], _T]) -> _T:
    """Ask the server something."""
    try:
        with unprinted():
            return action()
    except (HushtableError, MemoryError):
        raise
    except Exception as error:  # whatever it is, it may repeat what the server said
        text = str(error)
    raise _replaced(text)


def _replaced(text: str) -> BadData:
    for pattern, fact, hint in _CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return BadData(fact, hint)
    return replaced_job(text)


@contextmanager
def under_a_tag(spark: SparkSession) -> Iterator[None]:
    """Have what is asked of a session end with the block."""
    tag = f"hushtable-{KeyStream().words(1).tobytes().hex()}"
    spark.addTag(tag)
    try:
        yield
    except BaseException:
        with suppress(BadData):  # what went wrong first is told
            asked(partial(spark.interruptTag, tag))
        raise
    finally:
        spark.removeTag(tag)


def remote_paths(frame: DataFrame) -> list[str]:
    """Return the local files that a DataFrame reads, as far as the server names them, and their folders.

    Which folder was named is not said: it may be the one with the files, or one above folders such as
    `year=2024`. If the server is on another machine, they are its own, and are not found here.
    """
    files: list[str] = []
    with suppress(BadData):  # a server may keep them to itself
        files = [file.removeprefix("file:") for file in _files(frame) if file.startswith("file:")]
    return [*files, *dict.fromkeys(re.sub(r"(/[^/=]+=[^/]*)+$", "", dirname(file)) for file in files)]


def check_remote(frame: DataFrame) -> None:
    """Raise if a DataFrame reads a table of Delta or its like as plain files, or where nobody can tell."""
    plan = asked(lambda: frame._explain_string(extended=True))
    if "HiveTableRelation" in plan:
        fact = "this DataFrame reads a table of Hive, and Spark Connect does not say where its files are"
        raise BadData(fact, "Publish it from a program that runs on the cluster, as by spark-submit.")
    plain = _PLAIN.search(plan)
    if plain and "InMemoryRelation" in plan:
        fact = "this DataFrame was cached, and Spark Connect does not say which files it was read from"
        raise BadData(fact, "Publish it as it was before `cache` or `persist`, or after `unpersist`.")
    if not plain and "Location: " in plan:  # where no listing is named, a text that was cut off may hide one
        return
    spark, files = frame.sparkSession, _files(frame)
    folders = sorted({folder for file in files for folder in with_folders_above(file)} - set(files))
    some = [folders[begin : begin + _AT_ONCE] for begin in range(0, len(folders), _AT_ONCE)]
    # All at once, as it mostly is, and one by one only where there is more to say.
    none = all(_is_there(spark, group, MARKS) is False for group in some)
    check_versions(files, (lambda folder: []) if none else partial(_marks, spark))


def _files(frame: DataFrame) -> list[str]:
    return [re.sub("^file:/+", "file:/", unquote(path)) for path in asked(frame.inputFiles)]


def _marks(spark: SparkSession, folder: str) -> list[str]:
    """Return the marks of a table with versions that are in a folder; none of one that may not be listed."""
    if not _is_there(spark, [folder], MARKS):
        return []
    found = [mark for mark in MARKS if _is_there(spark, [folder], [mark])]
    return [f"{folder.rstrip('/')}/{mark.replace('*', '-')}" for mark in found]


def _is_there(spark: SparkSession, folders: Sequence[str], marks: Iterable[str]) -> bool | None:
    """Return whether one of some marks is in one of some folders, None where the server does not say."""
    from pyspark.errors import PySparkException

    paths = []
    for root, group in groupby(sorted(folders, key=_root), key=_root):
        inside = [as_it_is(folder[len(root) :].strip("/")) for folder in group]
        each = [f"{folder}/{mark}".strip("/") for folder in inside for mark in marks]
        paths.append(f"{root}/{{{','.join(each)}}}")
    found: bool | None = False
    for path in paths:
        try:
            with unprinted():
                _ = spark.read.format("binaryFile").load(path).schema
            return True
        except PySparkException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                found = None
    return found


def _root(path: str) -> str:
    """Return the scheme and host that a path begins with."""
    found = re.match(r"[a-zA-Z][\w+.-]*:(//[^/]*)?|", path)
    return "" if found is None else found[0]
