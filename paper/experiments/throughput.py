"""Time: occupied cells a second as density falls, for cells and for dyadic ranges (figure "throughput")."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import TypeAlias

import numpy as np

import hushtable as ht
from paper.claims import Claim, Verdict, above, below, judged, within
from paper.data import Table, synthetic
from paper.drawing import Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, Value, measured
from paper.releasing import real, whole
from paper.report import Picture

TITLE = "Throughput as density falls"
ALONE = True

_DENSITIES = (0.1, 0.01, 0.001)
_ARMS = {
    "cells": (
        "geometric, NumPy",
        "geometric",
        "filter",
        "threshold",
        "filter-threshold",
        "priority",
        "filter-priority",
    ),
    "dyadic": ("geometric", "filter", "priority", "filter-priority"),
    "wide": ("filter", "threshold", "priority", "filter-priority"),
}
_SUMMARIES = ("filter", "threshold", "priority", "filter-priority")
_EPSILON = "0.1"
_Method: TypeAlias = (
    ht.Everything | ht.Filter | ht.Threshold | ht.FilterThreshold | ht.Priority | ht.FilterPriority
)


def missing() -> str | None:
    """Return why it cannot run: it always can."""
    return None


def _cells(quick: bool) -> int:
    return 100_000 if quick else 1_000_000


def _domains(quick: bool) -> tuple[int, ...]:
    return (10**5, 10**9) if quick else (10**6, 10**9, 10**12, 10**15)


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work: each measures all methods, in turns."""
    cells = _cells(quick)
    found: list[Setting] = []
    rounds, runs = (3, 3) if quick else (7, 10)
    for kind in ("cells", "dyadic"):
        for density in _DENSITIES:
            base: dict[str, Value] = {"figure": kind, "cells": cells, "density": density, "rounds": rounds}
            found += [base | {"run": run} for run in range(runs)]
    for domain in _domains(quick):
        base = {"figure": "wide", "cells": domain, "density": cells * 0.01 / domain, "rounds": rounds}
        found += [base | {"run": run} for run in range(runs)]
    return found


def run(setting: Setting) -> dict[str, float]:
    """Measure every method, in turns; return the median seconds of each."""
    cells, kind = whole(setting, "cells"), str(setting["figure"])
    occupied = round(cells * real(setting, "density"))
    table = _scattered(cells, occupied) if kind == "wide" else _synthetic(cells, occupied)
    jobs = _jobs(table, occupied, kind)
    for job in jobs.values():
        job()  # builds the tables of its law, which later calls find
    times: dict[str, list[float]] = {arm: [] for arm in jobs}
    order = list(jobs)
    for _ in range(whole(setting, "rounds")):
        for arm in order:
            start = perf_counter()
            jobs[arm]()
            times[arm].append(perf_counter() - start)
        order.reverse()
    found = {f"seconds, {arm}": median(each) for arm, each in times.items()}
    return found | {f"throughput, {arm}": occupied / median(each) for arm, each in times.items()}


def _synthetic(cells: int, occupied: int) -> Table:
    return synthetic(cells=cells, density=occupied / cells, mean=100, sd=20)


def _scattered(cells: int, occupied: int) -> Table:
    """Return a table of any number of cells."""
    random = np.random.default_rng(6)
    places = np.unique(random.integers(cells, size=occupied))
    counts = np.maximum(np.rint(random.normal(100, 20, places.size)), 1).astype(np.int64)
    return Table(cells, places, counts)


def _jobs(table: Table, size: int, kind: str) -> dict[str, Callable[[], object]]:
    """Return every method as a job, set so that about `size` rows are published."""
    random = np.random.default_rng(1)
    chance = -np.expm1(-0.1)
    structure = ht.Dyadic() if kind == "dyadic" else None
    largest = ht.summarize(table.sparse, ht.Filter(size=size), epsilon=_EPSILON, structure=structure)
    sample = ht.summarize(table.sparse, ht.Priority(size=size), epsilon=_EPSILON, structure=structure)
    threshold = max(1, round(sample.threshold or 1))
    low = {"cells": 40, "dyadic": 420, "wide": 10}[kind]
    methods: dict[str, _Method] = {
        "geometric": ht.Everything(),
        "filter": ht.Filter(cutoff=max(1, round(largest.cutoff or 1))),
        "threshold": ht.Threshold(threshold=threshold),
        "filter-threshold": ht.FilterThreshold(cutoff=low, threshold=threshold),
        "priority": ht.Priority(size=size),
        "filter-priority": ht.FilterPriority(cutoff=low, size=size),
    }

    def noise_in_numpy() -> object:
        noisy = random.geometric(chance, table.cells) - random.geometric(chance, table.cells)
        noisy[table.places] += table.counts
        return noisy

    def ours(arm: str) -> Callable[[], object]:
        return lambda: ht.summarize(table.sparse, methods[arm], epsilon=_EPSILON, structure=structure)

    return {arm: noise_in_numpy if arm == "geometric, NumPy" else ours(arm) for arm in _ARMS[kind]}


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    return (
        f"m = {_cells(quick):,} cells, N(100, 20), epsilon 0.1, as many rows as occupied cells; "
        "`ht.summarize` alone, from a table in memory, one process; medians of rounds in which all methods "
        f"take turns, over {len(results.where(figure='cells', density=0.1))} runs. Cutoffs and thresholds "
        "are those at which as many rows come out; filter-priority has the cutoff 40 (of nodes 420, in "
        "wide domains 10). *Geometric* is hushtable's own, exact noise on every cell; NumPy's two "
        "geometric draws for each are beside it. The paper names no machine: only ratios can be compared. "
        f"In the wide domains a hundredth of {_cells(quick):,} cells are occupied, whatever m is."
    )


def _ratio(results: Results, one: str, other: str) -> Measured:
    """Return the ratio of the seconds of two methods, measured in the same runs."""
    pairs = zip(results.values(f"seconds, {one}"), results.values(f"seconds, {other}"), strict=True)
    return measured([a / b for a, b in pairs])


def tables(results: Results, quick: bool) -> list[str]:
    """Return milliseconds."""
    lines = ["| noised | method | " + " | ".join(f"density {each}" for each in _DENSITIES) + " |"]
    lines.append("|---" * (2 + len(_DENSITIES)) + "|")
    for kind in ("cells", "dyadic"):
        for arm in _ARMS[kind]:
            times = [
                results.where(figure=kind, density=each).values(f"seconds, {arm}") for each in _DENSITIES
            ]
            shown = " | ".join(f"{1000 * median(each):.3g}" for each in times)
            lines.append(f"| {kind} | {arm} | {shown} |")
    return ["Milliseconds of one summary:\n\n" + "\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return throughput against density, of cells and of dyadic ranges, and time against m."""
    panels = [
        Panel(
            f"{kind}, m = {_cells(quick):,}",
            "density",
            "occupied cells a second",
            [
                Line(
                    arm if kind == "cells" or arm != "geometric" else "geometric, dyadic",
                    _DENSITIES,
                    [results.of(f"throughput, {arm}", figure=kind, density=each) for each in _DENSITIES],
                )
                for arm in _ARMS[kind]
            ],
        )
        for kind in ("cells", "dyadic")
    ]
    domains = _domains(quick)
    wide = [
        Line(arm, domains, [results.of(f"seconds, {arm}", figure="wide", cells=each) for each in domains])
        for arm in _ARMS["wide"]
    ]
    panels.append(Panel("the same occupied cells in wider domains", "cells m of the domain", "seconds", wide))
    caption = "Occupied cells summarised a second as density falls, and time as the domain grows."
    return [Picture("throughput", caption, drawing(panels), results)]


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    where = "Figure 4"
    by_density = {each: results.where(figure="cells", density=each) for each in _DENSITIES}
    dyadic = {each: results.where(figure="dyadic", density=each) for each in _DENSITIES}
    fastest = {
        density: {arm: _ratio(some, arm, "priority") for arm in ("filter", "threshold")}
        for density, some in by_density.items()
    }
    dense = _ratio(by_density[0.1], "priority", "geometric")
    gains = {
        (arm, density): _ratio(by_density[density], "geometric", arm)
        for arm in _SUMMARIES
        for density in _DENSITIES[1:]
    }
    against_numpy = {
        (arm, density): _ratio(by_density[density], "geometric, NumPy", arm)
        for arm in _SUMMARIES
        for density in _DENSITIES[1:]
    }
    trees = {
        (arm, density): _ratio(dyadic[density], "geometric", arm)
        for arm in _ARMS["dyadic"][1:]
        for density in _DENSITIES
    }
    domains = _domains(quick)
    growth = {
        arm: [
            measured(
                [
                    b / a
                    for a, b in zip(
                        results.where(figure="wide", cells=domains[0]).values(f"seconds, {arm}"),
                        results.where(figure="wide", cells=domain).values(f"seconds, {arm}"),
                        strict=True,
                    )
                ]
            )
            for domain in domains[1:]
        ]
        for arm in _ARMS["wide"]
    }
    most = max((value for each in growth.values() for value in each), key=lambda value: value.mean)
    numpy_cell = median(by_density[0.1].values("seconds, geometric, NumPy")) / _cells(quick)
    hours = numpy_cell * 10**12 / 3600
    return [
        Claim(
            where,
            "filtering and threshold sampling are the fastest",
            "Their time as a part of priority's: "
            + "; ".join(
                f"density {density}: {each['filter'].mean:.2f} and {each['threshold'].mean:.2f}"
                for density, each in fastest.items()
            )
            + ".",
            judged(below(value, 1) for each in fastest.values() for value in each.values()),
            "surely less time than priority at each density.",
        ),
        Claim(
            where,
            "at density 0.1, priority sampling takes about as long as the geometric mechanism",
            f"{dense} times as long.",
            within(dense, 0.5, 2),
            "within a factor of 2.",
        ),
        Claim(
            where,
            "on sparser data all techniques are faster than the geometric mechanism, by orders of magnitude",
            "Times as fast: "
            + "; ".join(f"{arm} at {density}: {value.mean:.3g}" for (arm, density), value in gains.items())
            + ". Against NumPy's noise: "
            + "; ".join(
                f"{arm} at {density}: {value.mean:.3g}" for (arm, density), value in against_numpy.items()
            )
            + ".",
            judged(above(value, 10 if density > 0.001 else 100) for (_, density), value in gains.items()),
            "10 times as fast at density 0.01, and 100 times at 0.001, against hushtable's own noise on "
            "every cell.",
        ),
        Claim(
            "Section 1",
            "running time is proportional to the output, and independent of the size of the table",
            f"In a domain of 10^{len(str(domains[-1])) - 1} cells instead of 10^{len(str(domains[0])) - 1}, "
            "with the same occupied cells and rows: "
            + "; ".join(f"{arm}: {each[-1]}" for arm, each in growth.items())
            + f" times as long; {most.mean:.2f} at most for any domain.",
            judged(below(value, 2) for each in growth.values() for value in each),
            "less than twice as long, for every method.",
        ),
        Claim(
            "Section 1, example 1",
            "10^12 cells take terabytes, and drawing noise for all of them is extremely slow",
            "8 terabytes at 8 bytes a cell; NumPy's noise, at the rate measured here, would take "
            f"{hours:.0f} hours.",
            Verdict.HOLDS if hours >= 1 else Verdict.DOES_NOT,
            "an hour or more.",
        ),
        Claim(
            "Section 4.4",
            "with dyadic ranges, sampling and filtering are always faster than the geometric mechanism",
            "Times as fast: "
            + "; ".join(f"{arm} at {density}: {value}" for (arm, density), value in trees.items())
            + ".",
            judged(above(value, 1) for value in trees.values()),
            "surely faster at each density.",
        ),
        Claim(
            "Section 4.4",
            "there the gain at smaller densities is only 2 to 4 times, since all build the dyadic ranges",
            "; ".join(f"{arm} at {d}: {value}" for (arm, d), value in trees.items() if d < 0.1)
            + " times as fast.",
            judged(within(value, 2, 4) for (_, density), value in trees.items() if density < 0.1),
            "between 2 and 4 times as fast at densities below 0.1. More is better, but is not what was "
            "claimed.",
        ),
    ]
