"""Counting rows against what DuckDB takes to group them into a file, and against the bars of the design.

Every time is that of a whole fresh process: interpreter, imports, opening the domain, and the work. Ours ends
when all slices are counted; writing nothing, it has to stay below the bars of publishing, of which it is a
part. Counts are compared with DuckDB's before they are timed.
Cost: some ten minutes on two busy cores, 2 GB of memory and 1 GB of disk.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.rows import Files, files_of
from benchmarks.timing import interleaved
from benchmarks.worker import Numbers, fresh

Run: TypeAlias = Callable[[], Numbers]  # a fresh process

_ROWS = 2 * 10**7
ROUNDS, _FEW_ROUNDS = 5, 3
AMPLE, LITTLE = "8GB", "256MiB"
_DUCKDBS_LITTLE = "256MB"
MIB = 1 << 20
_TOTALS = ("cells", "sum", "squares")

_BARS = {
    "uniform": Bar("<=", 0.8),
    "gravity": Bar("<=", 0.8),
    "text": Bar("<=", 1.0),
    "repeats": Bar("<=", 2.5),
}


class _Pair(NamedTuple):
    """What two processes took that ran in turns: medians of seconds and of the ratio, and worst peaks."""

    seconds: tuple[float, float]
    ratio: float
    peaks: tuple[float, float]


def in_memory(say: Say) -> Sheet:
    """Measure counting with as much memory as it likes."""
    sheet = Sheet(
        title=f"Counting 2 10^7 rows of Parquet, memory={AMPLE}, in a fresh process",
        columns=("rows", "M cells", "s", "DuckDB\ns", "ratio", "peak\nMiB", "DuckDB\nMiB"),
        note=(
            "Two integers, uniform on 10^6 values each; the same, with work near home; two texts of 1000 "
            "values and an integer of 51; two integers of 300. Whole processes, imports included on both "
            "sides. DuckDB: COPY (SELECT *, count(*) ... GROUP BY ALL) TO Parquet, which writes; ours ends "
            f"when all is counted. Medians of {ROUNDS} times, and of the ratios of neighbours; the worst "
            "peaks. Cells, sum and sum of squares of the counts equal DuckDB's."
        ),
    )
    for name, bar in _BARS.items():
        with made_up(say, name) as files:
            totals = _compared(say, files, AMPLE)
            say(f"{name} rows in memory, and DuckDB")
            found = pair(_count(files, AMPLE), group(files, None))
        seconds, peaks = map(Figure, found.seconds), (Figure(peak / MIB) for peak in found.peaks)
        sheet.add(name, Figure(totals["cells"] / 1e6), *seconds, Figure(found.ratio, bar), *peaks)
    return sheet


def little_memory(say: Say) -> Sheet:
    """Measure counting within 256 MiB."""
    sheet = Sheet(
        title=f"Counting 2 10^7 rows of Parquet, memory={LITTLE}, in a fresh process",
        columns=("rows", "s", "DuckDB\ns", "ratio", "peak\nMiB", "DuckDB\nMiB", "DuckDB's limit"),
        note=(
            "As above. Peaks are those of the whole process as the system sees it; DuckDB's limit does not "
            f"cover all that it takes. Where it fails at {_DUCKDBS_LITTLE}, it is timed without a limit. "
            f"Medians of {_FEW_ROUNDS}."
        ),
    )
    for name in _BARS:
        with made_up(say, name) as files:
            _compared(say, files, LITTLE)
            limit = None if group(files, _DUCKDBS_LITTLE)()["failed"] else _DUCKDBS_LITTLE
            say(f"{name} rows in little memory, and DuckDB")
            found = pair(_count(files, LITTLE), group(files, limit), rounds=_FEW_ROUNDS)
        ours, duckdbs = (peak / MIB for peak in found.peaks)
        sheet.add(
            name,
            *map(Figure, found.seconds),
            Figure(found.ratio),
            Figure(ours, Bar("<=", 256)),
            Figure(duckdbs),
            limit or "none: fails",
        )
    return sheet


def doubling(say: Say) -> Sheet:
    """Measure that time follows the rows."""
    sheet = Sheet(
        title=f"Rows grow from 10^7 to 2 10^7: m = 10^12, memory={AMPLE}, in a fresh process",
        columns=("rows", "10^7\ns", "2 10^7\ns", "ratio"),
        note=f"Medians of {ROUNDS}; imports included, which do not grow.",
    )
    with made_up(say, "uniform", rows=_ROWS // 2) as half, made_up(say, "uniform") as whole:
        say("doubling the rows")
        found = pair(_count(whole, AMPLE), _count(half, AMPLE))
    sheet.add("uniform", *map(Figure, reversed(found.seconds)), Figure(found.ratio, Bar("<=", 2.3)))
    return sheet


def domain(say: Say) -> Sheet:
    """Measure that the size of the domain does not matter."""
    sheet = Sheet(
        title=f"The domain grows from m = 10^10 to 10^30: 2 10^7 rows, d = 5, memory={AMPLE}",
        columns=("rows at 10^30", "10^10\ns", "10^30\ns", "ratio"),
        note=(
            "Integers of 100 values, one word a key; then of 10^6 values, two words. First the very same "
            "file read with the larger domain: 20 rows share a first word. Then a file whose values are "
            f"uniform on the larger domain: it is 4.5 times as long. Medians of {ROUNDS}, fresh processes."
        ),
    )
    with made_up(say, "hundreds") as small, made_up(say, "millions") as large:
        for label, wide in {"the same file": Files(small.rows, large.domain), "uniform": large}.items():
            _compared(say, wide, AMPLE)
            say(f"10^10 and 10^30 cells, {label}")
            found = pair(_count(wide, AMPLE), _count(small, AMPLE))
            sheet.add(label, *map(Figure, reversed(found.seconds)), Figure(found.ratio, Bar("<=", 1.5)))
    return sheet


@contextmanager
def made_up(say: Say, name: str, *, rows: int = _ROWS) -> Iterator[Files]:
    """Give made-up rows for as long as the block lasts."""
    with TemporaryDirectory(prefix="hushtable-bench-") as folder:
        say(f"making {name} rows")
        fresh("write_rows", name=name, rows=rows, folder=folder)
        yield files_of(name, Path(folder))


def _compared(say: Say, files: Files, memory: str) -> Numbers:
    """Return totals of the counts, or raise if DuckDB's differ. All files are in the system's cache then."""
    say(f"comparing counts with DuckDB's, {memory}")
    ours, duckdbs = _count(files, memory, totals=True)(), group(files, None, totals=True)()
    for total in _TOTALS:
        if ours[total] != duckdbs[total]:
            fact = f"{files.rows}, memory={memory}: {total} is {ours[total]}, DuckDB has {duckdbs[total]}"
            raise ValueError(f"{fact}. The count is wrong: mend it before you measure.")
    return ours


def _count(files: Files, memory: str, *, totals: bool = False) -> Run:
    return partial(fresh, "count", rows=files.rows, domain=files.domain, memory=memory, totals=totals)


def group(files: Files, memory: str | None, *, totals: bool = False) -> Run:
    """Return the process in which DuckDB groups the rows of a file into another."""
    folder = str(Path(files.rows).parent)
    return partial(fresh, "group", rows=files.rows, folder=folder, memory=memory, totals=totals)


def pair(one: Run, other: Run, *, rounds: int = ROUNDS) -> _Pair:
    """Run two processes in turns, each round in the reverse order of the one before."""
    peaks: tuple[list[float], list[float]] = ([], [])
    jobs = [partial(_noted, run, into) for run, into in zip((one, other), peaks, strict=True)]
    ours, others = interleaved(jobs, rounds=rounds)
    ratio = median(first / second for first, second in zip(ours, others, strict=True))
    return _Pair((median(ours), median(others)), ratio, (max(peaks[0]), max(peaks[1])))


def _noted(run: Run, peaks: list[float]) -> None:
    found = run()
    if found.get("failed"):
        raise ValueError("DuckDB ran out of memory while it was timed, and not before: measure again.")
    peaks.append(found["peak"])


SHEETS = (in_memory, little_memory, doubling, domain)
