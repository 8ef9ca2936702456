"""Jobs of Spark: run with our settings, and with errors that quote no rows.

Promise: the owner's session is as it was when the work is done. What Spark says of a failed job is replaced,
not chained, nor printed by pyspark: it repeats what a reader or a function of the owner's said of a row.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock, get_ident
from typing import TYPE_CHECKING, TypeVar

from hushtable.errors import BadData, HushtableError
from hushtable.noise import KeyStream

if TYPE_CHECKING:
    from logging import LogRecord

    from pyspark.sql import SparkSession

_T = TypeVar("_T")

_GONE = "the Java process of Spark is gone"
# What failed, by words in Spark's report; the first that fits is taken.
_CAUSES = (
    (r"a task of hushtable stopped at (MemoryError|ArrowMemoryError)", "a worker ran out of memory"),
    (r"java\.lang\.OutOfMemoryError|Total size of serialized results", "Spark ran out of memory"),
    (r"No space left on device", "a disk of Spark's temporary files is full"),
    (r"ModuleNotFoundError: No module named 'hushtable|PYTHON_VERSION_MISMATCH", "workers lack hushtable"),
    (r"a task of hushtable stopped at (\w+)", "a task of hushtable failed on a worker"),
    (r"FileNotFoundException|FAILED_READ_FILE|PATH_NOT_FOUND", "a file of the data is gone or damaged"),
    (r"cancell?ed", "the job was cancelled"),
    # A call that Java failed at goes on to say why.
    (r"\AAn error occurred while calling \S+\Z|Connection refused", _GONE),
)
_LOGS = "Spark's logs say more, and may quote rows; the command shows them with HUSHTABLE_DEBUG=1."
# pyspark's own, of what fails in a plan, and of what a server said.
_PRINTING = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
_HINTS = {
    "a worker ran out of memory": "Give workers more memory, or fewer cores each.",
    "Spark ran out of memory": "Raise spark.executor.memory, or spark.driver.memory with a local master.",
    "a disk of Spark's temporary files is full": "Set spark.local.dir to a folder on a larger disk.",
    _GONE: "Start a new session. Java's own log may say why it ended.",
    "workers lack hushtable": "Their Python must have hushtable[spark], of the driver's version of Python: "
    "see spark.archives and spark.pyspark.python.",
}


def ran(action: Callable[[], _T]) -> _T:
    """Run something that starts jobs."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        with unprinted():
            return action()
    except HushtableError:
        raise
    except (Py4JNetworkError, ConnectionError):  # refused, reset or cut off, by when it ended
        instead = BadData(_GONE, _HINTS[_GONE])
    except (PySparkException, Py4JError, OSError, EOFError) as error:
        instead = replaced_job(str(error))
    raise instead


@contextmanager
def unprinted() -> Iterator[None]:
    """Keep what pyspark says of errors in this thread from being printed: it quotes rows."""
    from pyspark.logger import PySparkLogger

    here = get_ident()

    def is_of_others(record: LogRecord) -> bool:
        return record.thread != here

    loggers = [PySparkLogger.getLogger(name) for name in _PRINTING]
    for logger in loggers:
        logger.addFilter(is_of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_others)


def undone(action: Callable[[], object]) -> bool:
    """Undo something that was asked of Spark; return False if its Java process is gone, and cannot."""
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        action()
    except Py4JJavaError as error:  # it is there, and says no
        instead = replaced_job(str(error))
    except (Py4JError, ConnectionError):
        return False
    else:
        return True
    raise instead


def replaced_job(text: str) -> BadData:
    """Return an error in the place of one of Spark's."""
    for pattern, fact in _CAUSES:
        if re.search(pattern, text, re.IGNORECASE):
            return BadData(fact, _HINTS.get(fact, _LOGS))
    return BadData("a job of Spark failed", _LOGS)


_WANTED = {
    # Rows of ours hold an array each, and what is handed to Python at once must stay below 2 GiB.
    "spark.sql.execution.arrow.maxBytesPerBatch": f"{64 << 20}b",
    # Rows that are shuffled by unit and kept are of as many parts as their size asks for.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}
_lock = Lock()
_at_work: dict[int, int] = {}  # how many publications a session works for
_taken_back: dict[int, list[Callable[[], object]]] = {}  # what makes it as it was before the first


@contextmanager
def at_work(spark: SparkSession) -> Iterator[str]:
    """Have the session as our jobs need it, and give their tag; they end with the block."""
    context, session = spark.sparkContext, id(spark)
    tag = f"hushtable-{KeyStream().words(1).tobytes().hex()}"
    with _lock:
        if not _at_work.get(session):
            _taken_back[session] = _prepared(spark)
        _at_work[session] = _at_work.get(session, 0) + 1
    try:
        context.addJobTag(tag)
        yield tag
    except BaseException:
        with suppress(BadData):  # what went wrong first is told
            undone(partial(context.cancelJobsWithTag, tag))
        raise
    finally:
        undone(partial(context.removeJobTag, tag))
        with _lock:
            _at_work[session] -= 1
            if not _at_work[session]:
                del _at_work[session]
                for action in _taken_back.pop(session):
                    undone(action)


def _prepared(spark: SparkSession) -> list[Callable[[], object]]:
    """Set what our jobs need, and return what takes it back."""
    context = spark.sparkContext
    actions: list[Callable[[], object]] = [partial(setattr, context, "pythonExec", context.pythonExec)]
    if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # Spark takes the first `python3` there is, which may be another one than this, without hushtable.
        context.pythonExec = sys.executable
    for name, value in _WANTED.items():
        before = spark.conf.get(name, None)
        actions.append(
            partial(spark.conf.unset, name) if before is None else partial(spark.conf.set, name, before)
        )
        spark.conf.set(name, value)
    return actions
