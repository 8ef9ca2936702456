"""Publishing rows end to end against what DuckDB takes to group them into a file, by the bars of the design.

Every time is that of a whole fresh process: interpreter, imports, domain, counting, drawing, and the file.
Cost: some five minutes on two busy cores, 2 GB of memory and 1 GB of disk.
"""

from functools import partial
from pathlib import Path

from benchmarks.counting import AMPLE, LITTLE, MIB, ROUNDS, Run, group, made_up, pair
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.rows import Files
from benchmarks.worker import fresh

_BARS = {
    "uniform": Bar("<=", 0.8),
    "gravity": Bar("<=", 0.8),
    "text": Bar("<=", 1.0),
    "repeats": Bar("<=", 2.5),
}
_SIZE = 100_000


def in_memory(say: Say) -> Sheet:
    """Measure publishing with as much memory as it likes."""
    sheet = Sheet(
        title=f"Publishing 2 10^7 rows of Parquet, size {_SIZE:,}, memory={AMPLE}, in a fresh process",
        columns=("rows", "s", "DuckDB\ns", "ratio", "peak\nMiB", "DuckDB\nMiB"),
        note=(
            "From rows to a release of epsilon 0.1, by filter-priority with automatic cutoff. DuckDB: COPY "
            "(SELECT *, count(*) ... GROUP BY ALL) TO Parquet. Whole processes, imports included on both "
            f"sides. Medians of {ROUNDS} times, and of the ratios of neighbours; the worst peaks."
        ),
    )
    for name, bar in _BARS.items():
        with made_up(say, name) as files:
            say(f"{name} rows in memory, and DuckDB")
            found = pair(_publish(files, AMPLE), group(files, None))
        peaks = (Figure(peak / MIB) for peak in found.peaks)
        sheet.add(name, *map(Figure, found.seconds), Figure(found.ratio, bar), *peaks)
    return sheet


def little_memory(say: Say) -> Sheet:
    """Measure publishing within 256 MiB."""
    sheet = Sheet(
        title=f"Publishing 2 10^7 rows of Parquet, memory={LITTLE}, in a fresh process",
        columns=("rows", "size", "s", "peak\nMiB"),
        note="The bar is 256 MiB and 32 bytes for each row asked for. The worst of 4.",
    )
    for name in _BARS:
        with made_up(say, name) as files:
            for size in (_SIZE, 20 * _SIZE) if name == "gravity" else (_SIZE,):
                say(f"{name} rows in little memory, {size} rows out")
                run = _publish(files, LITTLE, size=size)
                found = pair(run, run, rounds=2)
                bar = Bar("<=", round(256 + 32 * size / MIB, 1))
                sheet.add(name, f"{size:,}", Figure(found.seconds[0]), Figure(max(found.peaks) / MIB, bar))
    return sheet


def _publish(files: Files, memory: str, *, size: int = _SIZE) -> Run:
    output = str(Path(files.rows).parent / "released.parquet")
    arguments = {"rows": files.rows, "domain": files.domain, "size": size, "memory": memory}
    return partial(fresh, "publish", output=output, **arguments)


SHEETS = (in_memory, little_memory)
