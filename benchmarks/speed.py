"""What people wait for: commands on small files, and large ones beside what DuckDB takes for the same rows.

Times are processor time of whole cold processes, the least of several that run in turns: on a shared machine
the time on the clock is mostly other people's. Two cores are the exception: there the clock decides.
Cost: some fifteen minutes, 4 GB of memory and 2 GB of disk.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from benchmarks.counting import AMPLE, LITTLE, MIB, made_up
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.rows import Files
from benchmarks.worker import Numbers, fresh

Job = Callable[[], Numbers]

_ROUNDS, _MANY_ROUNDS = 3, 8
_SIZE = 100_000
_LIMIT = "1GB"
_IMPORTS = "import numpy, pyarrow.parquet, duckdb"
_LOADED = ["numpy", "pyarrow.parquet", "duckdb", "flint", "hushtable.publishing.publish"]  # by a publication


class Spent(NamedTuple):
    """What processes of one kind took: the least processor time and time on the clock, and the worst peak."""

    processor: float
    clock: float
    peak: float


def spent(jobs: Sequence[Job], *, rounds: int = _ROUNDS) -> list[Spent]:
    """Run processes in turns."""
    found: list[list[Spent]] = [[] for _ in jobs]
    for _ in range(rounds):
        for job, into in zip(jobs, found, strict=True):
            before, start = _children(), perf_counter()
            numbers = job()
            into.append(Spent(_children() - before, perf_counter() - start, numbers.get("peak", 0.0)))
    return [
        Spent(
            min(each.processor for each in runs),
            min(each.clock for each in runs),
            max(each.peak for each in runs),
        )
        for runs in found
    ]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def starting(say: Say) -> Sheet:
    """Measure commands on three rows and on a small release."""
    sheet = Sheet(
        title="Small files: whole processes, and what they have to import",
        columns=("process", "ms", "ratio"),
        note=(
            f"The least processor time of {_MANY_ROUNDS}. Commands against numpy, pyarrow.parquet and "
            "duckdb, Python against numpy and pyarrow.parquet."
        ),
    )
    with TemporaryDirectory(prefix="hushtable-bench-") as folder:
        place = Path(folder)
        (place / "rows.csv").write_text("town,age\nA,1\nB,2\nA,3\n")
        (place / "rows.toml").write_text(
            '[[attribute]]\nname = "town"\ncategories = ["A", "B", "C"]\n'
            '[[attribute]]\nname = "age"\nintegers = { low = 0, high = 99 }\n'
        )
        hushtable = str(Path(sys.executable).parent / "hushtable")
        publish = [
            hushtable,
            "publish",
            "rows.csv",
            "--domain",
            "rows.toml",
            "--epsilon",
            "1",
            "--size",
            "20",
        ]
        publish += ["--no-ledger", "--anyway", "--output"]
        _run([*publish, "release.parquet"], place)
        commands = {
            _IMPORTS: [sys.executable, "-c", _IMPORTS],
            "import numpy, pyarrow.parquet": [sys.executable, "-c", "import numpy, pyarrow.parquet"],
            "hushtable publish": [*publish, "out.parquet"],
            "hushtable query --where": [hushtable, "query", "release.parquet", "--where", "age >= 10"],
            "hushtable query --by": [hushtable, "query", "release.parquet", "--by", "town"],
            "ht.open(...).total()": [
                sys.executable,
                "-c",
                "import hushtable as ht; ht.open('release.parquet').total()",
            ],
        }
        say("commands on small files")
        found = dict(
            zip(
                commands,
                spent([partial(_run, each, place) for each in commands.values()], rounds=_MANY_ROUNDS),
                strict=True,
            )
        )
    three, two = (found[name].processor for name in list(commands)[:2])
    for name, each in found.items():
        bar = (
            Bar("<=", 1.6)
            if name.startswith("hushtable")
            else Bar("<=", 1.2)
            if name.startswith("ht")
            else None
        )
        base = two if name.startswith("ht") else three
        sheet.add(name, Figure(1e3 * each.processor), Figure(each.processor / base, bar))
    return sheet


def _run(command: Sequence[str], folder: Path) -> Numbers:
    (folder / "out.parquet").unlink(missing_ok=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=kept)
    return {}


def large(say: Say) -> Sheet:
    """Measure publishing large files against DuckDB's COPY of GROUP BY."""
    sheet = Sheet(
        title=f"Publishing 2 10^7 rows, size {_SIZE:,}, beside DuckDB's COPY (... GROUP BY ALL)",
        columns=("rows", "s", "DuckDB\ns", "ratio", "clock\ns", "DuckDB's\nclock", "peak\nMiB"),
        note=(
            f"The least processor time of {_ROUNDS}, and the least time on the clock. Repeats: 10^7 rows, "
            "110 a cell, both without what each imports."
        ),
    )
    for name, bar in (("uniform", 0.6), ("gravity", 0.6), ("repeats", 1.5)):
        with made_up(say, name, rows=10**7 if name == "repeats" else 2 * 10**7) as files:
            say(f"{name} rows, and DuckDB")
            imports = [partial(fresh, "load", names=names) for names in (_LOADED, ["duckdb"])]
            ours, theirs, *loaded = spent([_publish(files), _group(files), *imports])
        off = [each.processor if name == "repeats" else 0.0 for each in loaded]
        ratio = (ours.processor - off[0]) / (theirs.processor - off[1])
        times = map(Figure, (ours.processor, theirs.processor))
        clocks = map(Figure, (ours.clock, theirs.clock))
        sheet.add(name, *times, Figure(ratio, Bar("<=", bar)), *clocks, Figure(ours.peak / MIB))
    return sheet


def people(say: Say) -> Sheet:
    """Measure what it costs to bound what people count."""
    sheet = Sheet(
        title="Publishing 2 10^7 rows with --unit person --max-rows 3, beside the same without a unit",
        columns=("rows", "memory", "s", "without\ns", "ratio", "peak\nMiB"),
        note=(
            f"5 10^6 people; or one person has half of the rows. The least processor time of {_ROUNDS}, the "
            "worst peak; its bar is 256 MiB and 32 bytes for each row asked for."
        ),
    )
    for name in ("people", "one person"):
        with made_up(say, name) as files:
            for memory in (AMPLE, LITTLE):
                say(f"{name}, memory {memory}")
                bounded, free = spent(
                    [_publish(files, memory=memory, max_rows=3), _publish(files, memory=memory)]
                )
                bar = Bar("<=", round(256 + 32 * _SIZE / MIB, 1)) if memory == LITTLE else None
                ratio = Figure(bounded.processor / free.processor, Bar("<=", 2.2))
                times = map(Figure, (bounded.processor, free.processor))
                sheet.add(name, memory, *times, ratio, Figure(bounded.peak / MIB, bar))
    return sheet


def several(say: Say) -> Sheet:
    """Measure several tables against DuckDB's GROUPING SETS."""
    sheet = Sheet(
        title="All 28 tables of one and two of 7 attributes, of 10^7 rows, beside DuckDB's GROUPING SETS",
        columns=("process", "s", "ratio", "clock\ns", "peak\nMiB"),
        note=f"The least processor time of {_ROUNDS}, and the least time on the clock.",
    )
    names = "abcdefg"
    sets = [[name] for name in names] + [list(pair) for pair in combinations(names, 2)]
    with made_up(say, "seven", rows=10**7) as files:
        say("several tables, and DuckDB")
        ours, theirs = spent([_publish(files, tables=sets), _group(files, sets=sets)])
    for name, each in (("hushtable", ours), ("DuckDB", theirs)):
        ratio = Figure(each.processor / theirs.processor, Bar("<=", 1.0) if each is ours else None)
        sheet.add(name, Figure(each.processor), ratio, Figure(each.clock), Figure(each.peak / MIB))
    return sheet


def structures(say: Say) -> Sheet:
    """Measure trees and cubes of many occupied cells."""
    sheet = Sheet(
        title=f"10^7 rows in as many cells, by structure, memory={_LIMIT}",
        columns=("structure", "s", "flat\ns", "ratio", "peak\nMiB"),
        note=(
            "Dyadic ranges and Haar wavelets: a line of 1.6 10^7 places. The least processor time of "
            f"{_ROUNDS}, the worst peak."
        ),
    )
    limit = Bar("<=", round(1e9 / MIB, 1))
    with made_up(say, "uniform", rows=10**7) as cells, made_up(say, "line", rows=10**7) as line:
        for name, files in (("tree", cells), ("cube", cells), ("dyadic", line), ("haar", line)):
            say(name)
            chosen = (
                {"tables": [["home"], ["work"], ["home", "work"]]} if name == "cube" else {"structure": name}
            )
            ours, flat = spent(
                [
                    _publish(files, memory=_LIMIT, **chosen),
                    _publish(files, memory=_LIMIT, structure="cells"),
                ]
            )
            ratio = Figure(ours.processor / flat.processor, Bar("<=", 3))
            times = map(Figure, (ours.processor, flat.processor))
            sheet.add(name, *times, ratio, Figure(ours.peak / MIB, limit))
    return sheet


def cores(say: Say) -> Sheet:
    """Measure what a second core is worth."""
    sheet = Sheet(
        title="Publishing 2 10^7 uniform rows on one core and on two",
        columns=("cores", "clock\ns", "s", "gain"),
        note=f"The least time on the clock of {_ROUNDS}: on a busy machine it says little.",
    )
    if len(os.sched_getaffinity(0)) < 2:
        sheet.add("there is only one", *[""] * 3)
        return sheet
    first, second = sorted(os.sched_getaffinity(0))[:2]
    with made_up(say, "uniform") as files:
        say("one core and two")
        one, two = spent(
            [partial(_on, {first}, _publish(files)), partial(_on, {first, second}, _publish(files))]
        )
    for number, each in ((1, one), (2, two)):
        gain = Figure(one.clock / each.clock, Bar(">=", 1.7) if each is two else None)
        sheet.add(f"{number}", Figure(each.clock), Figure(each.processor), gain)
    return sheet


def _on(some: set[int], job: Job) -> Numbers:
    """Run a process on some cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, some)
    try:
        return job()
    finally:
        os.sched_setaffinity(0, before)


def asking(say: Say) -> Sheet:
    """Measure questions about a release of a million rows."""
    sheet = Sheet(
        title="A release of 10^6 rows: questions beside DuckDB's sums of the same file",
        columns=("question", "s", "DuckDB\ns", "ratio", "peak\nMiB"),
        note=(
            "Whole processes: opening, checking, answering. Ours has an interval for each group, published "
            f"or not; DuckDB adds up the groups that have rows. The least processor time of {_ROUNDS}."
        ),
    )
    with made_up(say, "thousands", rows=10**7) as files:
        file = str(Path(files.rows).parent / "released.parquet")
        settings = {"memory": AMPLE, "output": file, "structure": "cells", "sampled": True}
        fresh("publish", rows=files.rows, domain=files.domain, size=10**6, **settings)
        questions: dict[str, dict[str, object]] = {
            "by home": {"by": ["home"], "totals": 0},
            "by home, age": {"by": ["home", "age"], "totals": 0},
            "1,000 totals": {"by": [], "totals": 1000},
        }
        for name, question in questions.items():
            say(name)
            ours, theirs = spent(
                [partial(fresh, job, file=file, **question) for job in ("ask", "ask_duckdb")]
            )
            ratio = Figure(ours.processor / theirs.processor, Bar("<=", 1.5))
            times = Figure(ours.processor, Bar("<", 3)), Figure(theirs.processor)
            sheet.add(name, *times, ratio, Figure(ours.peak / MIB))
    return sheet


def _publish(files: Files, *, memory: str = AMPLE, **settings: object) -> Job:
    output = str(Path(files.rows).parent / "released.parquet")
    known = {"rows": files.rows, "domain": files.domain, "size": _SIZE, "memory": memory, "output": output}
    return partial(fresh, "publish", **known, **settings)


def _group(files: Files, **settings: object) -> Job:
    folder = str(Path(files.rows).parent)
    return partial(fresh, "group", rows=files.rows, folder=folder, memory=None, totals=False, **settings)


SHEETS = (starting, large, people, several, structures, cores, asking)
