"""A driver of Spark with two executors, real processes each, that does what tests ask of it and may die.

python -m tests.spark.driver FOLDER CONNECTION [MASTER]
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.counting import CountRequest
from hushtable.engines.spark import counting
from hushtable.noise import KeyStream, Replay
from tests.spark.dying import Death, Watch, draw_words
from tests.spark.processes import kill_executors
from tests.spark.serving import SERVING, connected_to

SLICES = 8
STEPS = ("read_runs", "read_units", "bound_units", "count_slices", "draw_slices")

# Spark runs no second attempt of a task on the host of the first, so each executor has an address of its own.
JAVA = """#!{python}
import os, sys
given = sys.argv[1:]
given[given.index("--hostname") + 1] = f"127.0.0.{{2 + int(given[given.index('--executor-id') + 1])}}"
os.execv({java!r}, [{java!r}, *given])
"""


def java_in(folder: Path) -> Path:
    """Make what starts Java for each executor under an address of its own."""
    java = Path(os.environ["JAVA_HOME"]) / "bin/java" if "JAVA_HOME" in os.environ else shutil.which("java")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/java").write_text(JAVA.format(python=sys.executable, java=str(java)))
    (folder / "bin/java").chmod(0o700)
    return folder


def session_in(folder: Path, master: str | None) -> SparkSession:
    """Start Spark, with all that it writes in one folder; a master that is named has executors of its own."""
    # Its workers write where Spark is installed. So it is installed here, by links.
    (folder / "home").mkdir()
    for name in ("bin", "jars", "python"):
        (folder / "home" / name).symlink_to(Path(pyspark.__file__).parent / name)
    os.environ |= {"SPARK_HOME": str(folder / "home"), "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ["PYSPARK_PYTHON"] = sys.executable  # which the server of Spark Connect takes for its workers
    if master is None:
        own = {"spark.executorEnv.JAVA_HOME": str(java_in(folder / "java"))}
    else:
        own = {"spark.checkpoint.dir": str(folder / "checkpoints")}
    (folder / "scratch").mkdir()
    # The quick compiler alone: executors are killed before what the other one makes is worth its time.
    quick = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={folder / 'scratch'}"
    builder = SparkSession.builder.master(master or "local-cluster[2,1,512]").config(
        map=SERVING
        | own
        | {
            "spark.deploy.maxExecutorRetries": "-1",
            "spark.driver.extraJavaOptions": quick,
            "spark.driver.memory": "512m",
            "spark.executor.extraJavaOptions": quick,
            "spark.executor.memory": "512m",
            "spark.local.dir": str(folder / "local"),
            "spark.locality.wait": "0",
            "spark.python.daemon.module": "tests.spark.daemon",
            "spark.shuffle.io.retryWait": "100ms",  # what a dead executor held is not waited for
            "spark.speculation": "true",
            "spark.speculation.minTaskRuntime": "2s",
            "spark.speculation.quantile": "0.5",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # as above: there is little to do
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.files.minPartitionNum": "4",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
    )
    return builder.getOrCreate()


@contextmanager
def watched(watch: Watch) -> Iterator[ExitStack]:
    """Have small data cut into many slices that are read back one by one, and tasks watched."""
    watch.folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        for name in STEPS:
            step = partial(watch.around, name.partition("_")[0], getattr(counting, name))
            stack.enter_context(patch.object(counting, name, step))
        stack.enter_context(patch.object(counting, "target_of", lambda work, *, workers: work / SLICES))
        stack.enter_context(patch.object(counting, "_READ_AT_ONCE", 1))
        yield stack


def publish(
    session: SparkSession,
    *,
    data: str,
    settings: dict[str, Any],
    folder: Path,
    deaths: Sequence[Death] = (),
    slow: int | None = None,
    kill_when: Sequence[str] = (),
    checkpoints: str | None = None,
    twice: bool = False,
    salt: str | None = None,
) -> dict[str, int]:
    """Publish; executors are killed when the ledger is "charged", or while the driver reads what is "staged".

    Return how many draws there were at both moments.
    """
    found: dict[str, int] = {}

    def passed(moment: str) -> None:
        found[moment] = len(list(folder.glob("draw-*.npz")))
        if moment in kill_when:
            kill_executors()

    def charge(ledger: ht.Ledger, *given: Any, real: Any = ht.Ledger.charge, **named: Any) -> int:
        number: int = real(ledger, *given, **named)
        passed("charged")
        return number

    def groups(sizes: Sequence[int], real: Any = counting._groups) -> Iterator[tuple[int, int]]:
        for number, group in enumerate(real(sizes)):
            if number == 1:
                passed("staged")
            yield group

    with watched(Watch(folder, tuple(deaths), slow, twice)) as stack:
        stack.enter_context(patch.object(ht.Ledger, "charge", charge))
        stack.enter_context(patch.object(counting, "_groups", groups))
        if checkpoints is not None:
            stack.enter_context(patch.object(SparkContext, "getCheckpointDir", lambda _: checkpoints))
        if salt is not None:
            stack.enter_context(patch.object(counting, "drawn_salt", lambda entropy: salt))
        ht.publish(session.read.parquet(data), **settings)
    return found


def count_again(
    session: SparkSession, *, data: str, domain: ht.Domain, unit: ht.Unit | None, folder: Path
) -> list[tuple[Any, Any]]:
    """Return a table as it was counted first, and as it is when all executors were killed."""
    frame, measure = session.read.parquet(data), Measure(unit=unit)
    with (
        watched(Watch(folder)),
        counted_rows(frame, CountRequest(domain=domain, measure=measure, entropy=Replay(7))) as counted,
    ):
        before = counted.table()
        kill_executors()
        after = counted.table()
    return [(table.keys, table.counts) for table in (before, after)]


def gather(
    session: SparkSession,
    *,
    data: str,
    domain: ht.Domain,
    unit: ht.Unit | None,
    query: str,
    folder: Path,
    deaths: Sequence[Death],
) -> tuple[Any, Any]:
    """Return a table as it was counted for a session of Spark Connect."""
    request = CountRequest(domain=domain, measure=Measure(unit=unit), query=query, entropy=Replay(7))
    remote = connected_to(session)
    with (
        watched(Watch(folder, tuple(deaths))),
        counted_rows(remote.read.parquet(data), request) as counted,
    ):
        table = counted.table()
    remote.stop()
    return table.keys, table.counts


def draw_many(session: SparkSession, *, tasks: int, folder: Path) -> tuple[list[int], Any]:
    """Return the processes that ran tasks, and the words that all of their attempts drew."""
    folder.mkdir()
    frame = session.range(tasks, numPartitions=tasks)
    session.sparkContext.pythonExec = sys.executable
    rows = frame.mapInArrow(partial(draw_words, folder, KeyStream()), "process long, words binary").collect()
    words = [bytes(row.words) for row in rows] + [path.read_bytes() for path in folder.glob("words-*")]
    return [row.process for row in rows], np.frombuffer(b"".join(words), dtype=np.uint64)


def answer(session: SparkSession, tests: Connection) -> None:
    """Do what is asked, until nobody asks any more."""
    tests.send("ready")
    while True:
        try:
            case, asked = tests.recv()
        except EOFError:
            return
        found: Callable[..., Any] = globals()[case]
        try:
            tests.send(found(session, **asked))
        except ht.HushtableError as error:
            tests.send(error)
        except Exception:
            tests.send(RuntimeError(traceback.format_exc()))


if __name__ == "__main__":
    session = session_in(Path(sys.argv[1]), sys.argv[3] if len(sys.argv) > 3 else None)
    session.sparkContext.setLogLevel("ERROR")
    answer(session, Connection(int(sys.argv[2])))
    session.stop()
