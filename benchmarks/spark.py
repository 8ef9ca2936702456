"""Publishing on Spark against Spark's own GROUP BY, and what the driver holds. `make bench-spark` runs it.

Each job has a process of its own, with a fresh session: the times are those of whole jobs, start included.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.timing import interleaved

_ROWS = 50_000_000
_ROUNDS = 2
_OWN = "Spark's groupBy and count"
_SUMMARIES: dict[str, list[object]] = {
    "filter, cutoff 22": ["Filter", {"cutoff": 22}],
    "filter-priority, cutoff 10, size 10^6": ["FilterPriority", {"cutoff": 10, "size": 1_000_000}],
}
Numbers = dict[str, float]


def against_grouping(say: Say) -> Sheet:
    """Measure whole publications against Spark's own group-by and count."""
    sheet = Sheet(
        title="5 10^7 rows in some 3 10^7 of 10^12 cells, Spark on two cores: seconds of whole jobs",
        columns=("job", "seconds", "of Spark's own", "rows that come out"),
        note=(
            "Spark's own: groupBy of the four columns, count, to a sink that drops what comes. Ours: count, "
            "draw, write the\nrelease. local[2], 4 GiB of Java heap; the faster of two cold runs, in turns."
        ),
    )
    with TemporaryDirectory() as folder:
        say("writing rows")
        fresh("write", folder=folder, rows=_ROWS)
        found: dict[str, Numbers] = {}

        def run(name: str, summary: list[object] | None) -> None:
            say(name)
            settings = {"folder": folder, "master": "local[2]", "heap": "4g"}
            if summary is None:
                found[name] = fresh("group", **settings)
            else:
                found[name] = fresh("publish", **settings, summary=summary)

        names: dict[str, list[object] | None] = {_OWN: None, **_SUMMARIES}
        jobs = [partial(run, name, summary) for name, summary in names.items()]
        own, *ours = (min(times) for times in interleaved(jobs, rounds=_ROUNDS))
        sheet.add(_OWN, Figure(own), "", f"{found[_OWN]['cells']:,}")
        for name, seconds in zip(_SUMMARIES, ours, strict=True):
            ratio = Figure(seconds / own, Bar("<=", 1.5))
            sheet.add(name, Figure(seconds), ratio, f"{found[name]['rows']:,}")
    return sheet


def driver_memory(say: Say) -> Sheet:
    """Measure the peak memory of the driver, which works on a cluster of two processes beside it."""
    sheet = Sheet(
        title="What the driver holds, MiB at its peak: filter-priority of 10^6 rows",
        columns=("rows", "Python", "Java", "both, of a fourth of the rows"),
        note="local-cluster[2,1,3072]: executors are other processes. The driver's Java has a heap of 1 GiB.",
    )
    before = None
    for rows in (_ROWS // 4, _ROWS):
        with TemporaryDirectory() as folder:
            say(f"{rows:,} rows")
            fresh("write", folder=folder, rows=rows)
            master, summary = "local-cluster[2,1,3072]", _SUMMARIES["filter-priority, cutoff 10, size 10^6"]
            held = fresh("publish", folder=folder, master=master, heap="1g", summary=summary)
        both = held["python"] + held["java"]
        ratio = "" if before is None else Figure(both / before, Bar("<=", 1.2))
        sheet.add(f"{rows:,}", Figure(held["python"]), Figure(held["java"]), ratio)
        before = both
    return sheet


def fresh(job: str, **arguments: object) -> Numbers:
    """Return what a job prints that runs in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.spark", job, json.dumps(arguments)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    numbers: Numbers = json.loads(done.stdout.splitlines()[-1])
    return numbers


def write(folder: str, rows: int) -> Numbers:
    """Write rows over four columns of 1000 values: about 0.6 cells a row, in 20 files."""
    import duckdb

    pool = int(rows * 0.88)  # cells that rows are drawn from
    Path(folder, "rows").mkdir()
    with duckdb.connect() as engine:
        for part in range(20):
            numbers = f"range({rows // 20 * part}, {rows // 20 * (part + 1)}) AS numbers(i)"
            cells = f"SELECT hash(hash(i) % {pool} + {rows}) % 1000000000000 AS x FROM {numbers}"
            columns = ", ".join(
                f"CAST(x // {1000**k} % 1000 AS INTEGER) AS {'dcba'[k]}" for k in (3, 2, 1, 0)
            )
            file = f"{folder}/rows/{part:02}.parquet"
            engine.execute(f"COPY (SELECT {columns} FROM ({cells})) TO '{file}'").fetchall()
    return {}


def group(folder: str, master: str, heap: str) -> Numbers:
    """Let Spark group and count."""
    from pyspark.sql import Observation, functions

    cells = Observation()
    frame = _session(folder, master, heap).read.parquet(f"{folder}/rows")
    grouped = frame.groupBy("a", "b", "c", "d").count()
    counted = grouped.observe(cells, functions.count(functions.lit(1)).alias("number"))
    counted.write.mode("overwrite").format("noop").save()
    frame.sparkSession.stop()
    return {"cells": cells.get["number"]}


def publish(folder: str, master: str, heap: str, summary: list[object]) -> Numbers:
    """Publish with our engine."""
    import hushtable as ht
    from benchmarks.worker import as_method, peak_bytes
    from hushtable.domain.attributes import Attribute, Integers

    spark = _session(folder, master, heap)
    values = Integers(low=0, high=999)
    domain = ht.Domain(attributes=tuple(Attribute(name=name, values=values) for name in "abcd"))
    release = ht.publish(
        spark.read.parquet(f"{folder}/rows"),
        domain=domain,
        epsilon=1,
        summary=as_method(summary),
        output=f"{folder}/release.parquet",
        overwrite=True,
    )
    status = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/status").read_text()
    java = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    spark.stop()
    return {"rows": len(release), "python": peak_bytes() / 2**20, "java": java / 1024}


def _session(folder: str, master: str, heap: str) -> Any:
    """Return a new session, as Spark makes it but for its memory and where its files go."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_WORKER_DIR"] = f"{folder}/workers"
    settings = {
        "spark.driver.memory": heap,
        "spark.local.dir": f"{folder}/local",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


SHEETS = (against_grouping, driver_memory)

if __name__ == "__main__":
    JOBS: dict[str, Callable[..., Numbers]] = {"write": write, "group": group, "publish": publish}
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
