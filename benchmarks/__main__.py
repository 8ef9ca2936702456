"""`python -m benchmarks`: measure, print tables, and fail if a bar is missed.

`python -m benchmarks noise` measures one group only. Bars are those of the design and hold for ratios
within one run, or for times far above what a busy machine could add.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.status import Status

from benchmarks import (
    against,
    answers,
    counting,
    cubes,
    hierarchies,
    imports,
    laws,
    libraries,
    noise,
    planning,
    postgres,
    publishing,
    questions,
    ranges,
    sketches,
    spark,
    speed,
    summaries,
    trees,
)
from benchmarks.report import Say, Sheet

GROUPS: dict[str, tuple[Callable[[Say], Sheet], ...]] = {
    "imports": imports.SHEETS,
    "speed": speed.SHEETS,
    "noise": noise.SHEETS,
    "laws": laws.SHEETS,
    "summaries": summaries.SHEETS,
    "counting": counting.SHEETS,
    "publishing": publishing.SHEETS,
    "answers": answers.SHEETS,
    "planning": planning.SHEETS,
    "ranges": (*against.SHEETS, *ranges.SHEETS),
    "trees": trees.SHEETS,
    "cubes": cubes.SHEETS,
    "hierarchies": hierarchies.SHEETS,
    "questions": questions.SHEETS,
    "sketches": sketches.SHEETS,
    "postgres": postgres.SHEETS,
    "spark": spark.SHEETS,
    "libraries": libraries.SHEETS,
}
_ELSEWHERE = ("postgres", "spark", "libraries")  # need a server, or an environment of their own

_WIDTH = 150


def main() -> int:
    """Measure the groups named on the command line, or all; return how the process should exit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure against the bars.")
    parser.add_argument(
        "groups", nargs="*", help=f"of {', '.join(GROUPS)}; all but {', '.join(_ELSEWHERE)} if left out"
    )
    chosen = parser.parse_args().groups or [name for name in GROUPS if name not in _ELSEWHERE]
    for name in chosen:
        if name not in GROUPS:
            parser.error(f"there is no group {name!r}. Choose from: {', '.join(GROUPS)}.")

    console = Console(highlight=False)
    console = Console(highlight=False, width=max(console.width, _WIDTH))  # sheets must not lose figures
    console.print(
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"NumPy {np.__version__}. Ratios are of times in this run; below 1 is faster than the yardstick.\n"
    )
    start = perf_counter()
    sheets = []
    for name in chosen:
        for measure in GROUPS[name]:
            with console.status(name) as status:  # shown on a terminal only
                sheet = measure(_say(status, name))
            console.print(sheet)
            sheets.append(sheet)

    bars = [bar for sheet in sheets for bar in sheet.barred()]
    missed = [(place, figure) for place, figure in bars if figure.missed]
    console.print(f"{len(bars) - len(missed)} of {len(bars)} bars met in {perf_counter() - start:.0f} s.")
    for place, figure in missed:
        console.print(f"Missed: {place} is {figure.number}, the bar is {figure.bar}.", style="bold red")
    if missed:
        console.print(
            "Measure again while the machine is idle. A bar that stays missed is a bug:\n"
            "find what became slower before you merge."
        )
    return 1 if missed else 0


def _say(status: Status, name: str) -> Say:
    return lambda what: status.update(f"{name}: {what}")


if __name__ == "__main__":
    sys.exit(main())
