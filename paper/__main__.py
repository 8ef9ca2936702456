"""Run the paper's experiments: `python -m paper [--quick] [NAME ...]`."""

import argparse
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Protocol

from paper.claims import Claim
from paper.measuring import Results, Setting
from paper.report import Picture, Section, write
from paper.running import finished

# A new experiment is a module of `paper/experiments` and its name here.
EXPERIMENTS = (
    "parameters",
    "comparison",
    "throughput",
    "ranges",
    "commuting",
    "sketches",
    "competitor",
    "densities",
)
_HERE = Path(__file__).parent


class Experiment(Protocol):
    """What a module of `paper/experiments` offers."""

    TITLE: str
    ALONE: bool  # it measures time, so nothing else may run beside it

    def missing(self) -> str | None:
        """Return why it cannot run, if so."""

    def settings(self, quick: bool) -> list[Setting]:
        """Return all cells of work."""

    def run(self, setting: Setting) -> dict[str, float]:
        """Run one."""

    def about(self, results: Results, quick: bool) -> str:
        """Return what was set, in words."""

    def tables(self, results: Results, quick: bool) -> list[str]:
        """Return tables for the page, in Markdown."""

    def figures(self, results: Results, quick: bool) -> list[Picture]:
        """Return the figures."""

    def claims(self, results: Results, quick: bool) -> list[Claim]:
        """Return all claims with their verdicts."""


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run; all if none is named")
    parser.add_argument("--quick", action="store_true", help="small tables and few runs, into paper/quick")
    parser.add_argument("--fresh", action="store_true", help="start over: forget kept results of what runs")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one a core")
    parser.add_argument("--folder", type=Path, help="where to write; default: paper/, or paper/quick/")
    asked = parser.parse_args(arguments)
    if asked.list:
        for name in EXPERIMENTS:
            print(f"{name:12} {_module(name).TITLE}")
        return 0
    for name in asked.names:
        if name not in EXPERIMENTS:
            print(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}", file=sys.stderr)
            return 2
    folder = asked.folder or (_HERE / "quick" if asked.quick else _HERE)
    cache = folder / "results" / "cache"
    start = perf_counter()
    sections = []
    for name in asked.names or EXPERIMENTS:
        if asked.fresh:
            shutil.rmtree(cache / name, ignore_errors=True)
        sections.append(_section(name, cache, quick=asked.quick, processes=asked.processes))
    command = "make paper QUICK=1" if asked.quick else "make paper"
    if asked.names:
        # A page about some of them would take the place of the one about all.
        folder = folder / "results" / "some"
        command = f"python -m paper {' '.join(asked.names)}"
    page = write(sections, folder, command=command)
    print(f"{perf_counter() - start:.0f} s; see {os.path.relpath(page)}", file=sys.stderr)
    return 0


def _section(name: str, cache: Path, *, quick: bool, processes: int) -> Section:
    """Run an experiment, and put together what it has to say."""
    module = _module(name)
    lacking = module.missing()
    if lacking is not None:
        print(f"{name}: {lacking}", file=sys.stderr)
        return Section(name, module.TITLE, "", missing=lacking)
    settings = module.settings(quick)
    results, seconds = finished(name, settings, folder=cache, processes=processes, alone=module.ALONE)
    return Section(
        name,
        module.TITLE,
        module.about(results, quick),
        seconds=seconds,
        pictures=module.figures(results, quick),
        claims=module.claims(results, quick),
        tables=module.tables(results, quick),
    )


def _module(name: str) -> Experiment:
    found: Experiment = import_module(f"paper.experiments.{name}")
    return found


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nStopped. What is done is kept: the same command goes on from here.")
