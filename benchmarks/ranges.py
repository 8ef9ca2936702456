"""Sums over ranges: what trees are worth beside cells, whether errors are as theory says, time, intervals.

Releases are drawn by `ht.summarize` and answered as a recipient would: by the fewest nodes, or the splits on
the paths to both ends. One published release of each structure is asked by `release.total` for the same
ranges, and must agree. Baselines that noise everything are those of `dense`.
Cost: some four minutes.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import dense
from benchmarks.dense import Ranges
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.tables import made_up
from benchmarks.timing import best
from benchmarks.worker import fresh
from hushtable.laws.geometric import Geometric
from hushtable.methods.tuning import auto_cutoff
from hushtable.noise import KeyStream, Replay
from hushtable.structures.trees import DyadicTree, HaarTree

Array = NDArray[np.float64]
Structure: TypeAlias = ht.Dyadic | ht.Haar | ht.Tree | None  # None: cells
Filtering: TypeAlias = ht.Filter | ht.FilterThreshold | ht.FilterPriority
Method: TypeAlias = ht.Everything | ht.Threshold | ht.Priority | Filtering

EPSILON = Fraction(1, 10)
CELLS, SIZE = 1 << 20, 100_000
WIDTHS = {"10^2": 100, "10^3": 1000, "10^4": 10_000, "10^5": 100_000, "5 10^5": 500_000}
COLUMNS = tuple(f"R = {label}" for label in WIDTHS)
_RANGES, _RELEASES = 500, 10
_FLAT_CUTOFF = 40  # of the paper
_LOW_CUTOFF = 420  # of trees: two units of noise, so that there is something left to sample

WAYS: dict[str, dense.Cells | dense.Nodes] = {
    "cells": dense.Cells(CELLS),
    "dyadic": dense.Nodes(DyadicTree(CELLS)),
    "Haar": dense.Nodes(HaarTree(CELLS)),
}


class Arm(NamedTuple):
    """One way to publish a table."""

    structure: Structure
    method: Method

    @property
    def kind(self) -> str:
        """What gets noise."""
        if self.structure is None:
            return "cells"
        return "Haar" if isinstance(self.structure, ht.Haar) else "dyadic"

    @property
    def name(self) -> str:
        """What a sheet calls the summary."""
        consistent = isinstance(self.structure, ht.Dyadic) and self.structure.consistent
        one_sided = not getattr(self.method, "two_sided", True)
        return f"{self.method.name}{', consistent' if consistent else ', one-sided' * one_sided}"


def arms() -> Iterator[Arm]:
    """Yield every method of every structure."""
    combined = partial(ht.FilterPriority, size=SIZE)
    yield Arm(None, ht.Everything())
    yield Arm(None, ht.Filter(size=SIZE))
    yield Arm(None, ht.Priority(size=SIZE))
    yield Arm(None, combined(cutoff=_FLAT_CUTOFF))
    for structure in (ht.Dyadic(), ht.Haar()):
        way = WAYS[Arm(structure, ht.Everything()).kind]
        yield Arm(structure, ht.Everything())
        yield Arm(structure, ht.Filter(size=SIZE))
        yield Arm(structure, ht.Priority(size=SIZE))
        yield Arm(structure, combined(cutoff=_LOW_CUTOFF))
        yield Arm(structure, combined(cutoff=_auto_cutoff(way.values_total, way.levels)))
        if isinstance(structure, ht.Dyadic):
            yield Arm(structure, ht.Threshold(size=SIZE))
            yield Arm(structure, ht.FilterThreshold(cutoff=_LOW_CUTOFF, size=SIZE))
            for each in (structure, ht.Dyadic(consistent=True)):
                yield Arm(each, ht.Filter(size=SIZE, two_sided=False))
                yield Arm(each, combined(cutoff=_LOW_CUTOFF, two_sided=False))


def _auto_cutoff(values: int, levels: int) -> int:
    """Return the cutoff that `ht.publish` chooses."""
    return auto_cutoff(SIZE, cells=values, law=Geometric(EPSILON / levels), two_sided=True)


class Table:
    """The true count of every cell of a line, a tenth of which are occupied."""

    def __init__(self, occupied: NDArray[np.int64], counts: Array) -> None:
        self.counts = np.zeros(CELLS, dtype=np.int64)
        self.counts[occupied] = np.maximum(np.rint(counts), 0)
        self.some = np.flatnonzero(self.counts)
        self.sparse = ht.SparseTable(shape=(CELLS,), codes=self.some, counts=self.counts[self.some])

    def truths(self, ranges: Ranges) -> Array:
        """Return the true answers."""
        return WAYS["cells"].answers(self.counts, ranges)

    def released(self, arm: Arm) -> tuple[Array, int, float | None]:
        """Draw a release; return the weight of every cell or node, how many rows, and the cutoff."""
        way = WAYS[arm.kind]
        if isinstance(arm.method, ht.Everything):
            values = dense.noisy(way.values(self.counts), EPSILON / way.levels, KeyStream())
            return values.astype(np.float64), values.size, None
        drawn = ht.summarize(self.sparse, arm.method, epsilon=EPSILON, structure=arm.structure)
        return _spread(way, drawn.codes, drawn.weights), len(drawn), drawn.cutoff

    def published(self, arm: Arm, folder: str) -> ht.Release:
        """Publish a release, and read its rows."""
        cells = {"name": "cell", "integers": {"low": 0, "high": CELLS - 1}}
        release = ht.publish(
            pa.table({"cell": self.some, "people": self.counts[self.some]}),
            domain=ht.Domain.from_dict({"attribute": [cells]}),
            epsilon=EPSILON,
            count_column="people",
            summary=arm.method,
            structure=arm.structure,
            output=Path(folder) / "released.parquet",
            overwrite=True,
            ledger=False,
        )
        release.to_arrow()  # before the file is replaced
        return release


@cache
def uniform_table() -> Table:
    """Return the paper's table: any cell may be occupied, all alike."""
    random = np.random.default_rng(6)
    occupied = random.choice(CELLS, CELLS // 10, replace=False)
    return Table(occupied, random.normal(100, 20, occupied.size))


@cache
def clustered_table() -> Table:
    """Return a table whose occupied cells lie around 100 centres."""
    random = np.random.default_rng(6)
    centres = random.integers(CELLS, size=100)
    found = np.empty(0, dtype=np.int64)
    while found.size < CELLS // 10:
        drawn = random.choice(centres, 10_000) + np.rint(random.laplace(0, 500, 10_000)).astype(np.int64)
        found = np.union1d(found, drawn % CELLS)
    occupied = random.choice(found, CELLS // 10, replace=False)
    return Table(occupied, random.normal(100, 20, occupied.size))


def _spread(way: dense.Cells | dense.Nodes, codes: NDArray[np.int64], weights: Array) -> Array:
    """Return the weight of every cell or node, 0 where it is absent."""
    found = np.zeros(way.values_total)
    found[codes[:, 0]] = weights
    return found


def chosen(width: int, ranges: int, random: np.random.Generator) -> Ranges:
    """Return ranges of a width, anywhere in the line."""
    starts = random.integers(CELLS - width + 1, size=ranges)
    return Ranges(starts, starts + width)


def uniform(say: Say) -> Sheet:
    """Measure errors of sums over ranges, occupied cells being anywhere."""
    for structure in (None, ht.Dyadic(), ht.Haar()):
        say("asking a published release")
        _check_answers(Arm(structure, ht.Priority(size=SIZE)))
    return _errors(say, "uniform", uniform_table(), "Occupied cells: any, all alike.")


def clustered(say: Say) -> Sheet:
    """Measure errors of sums over ranges, occupied cells being close together."""
    empty = (clustered_table().counts.reshape(-1, 1024).sum(axis=1) == 0).mean()
    how = (
        "Occupied cells: each around one of 100 centres by chance, at a Laplace distance of scale 500; "
        f"{100 * empty:.0f} % of the dyadic ranges of 1,024 cells are empty."
    )
    return _errors(say, "clustered", clustered_table(), how)


def _errors(say: Say, placement: str, table: Table, how: str) -> Sheet:
    sheet = Sheet(
        title=(
            f"Mean size of the error of sums over R cells, {placement} placement: m = 2^20, density 0.1, "
            f"N(100, 20), epsilon 0.1, size {SIZE:,}"
        ),
        columns=("noised", "summary", "cutoff", "rows", *COLUMNS, "± %"),
        note=(
            f"{how} {_RANGES} ranges by chance of each R, the same for all; {_RELEASES} releases of each. "
            "Answers are sums of weights; there is no noisy total. ± %: the largest standard error of the "
            "row, over releases. Everything: the geometric mechanism. Nodes lie on 21 levels; of their two "
            f"cutoffs for filter-priority, {_LOW_CUTOFF} is two units of noise, the other is what ht.publish "
            "chooses."
        ),
    )
    random = np.random.default_rng(7)
    ranges = [chosen(width, _RANGES, random) for width in WIDTHS.values()]
    truths = [table.truths(each) for each in ranges]
    sheet.add("", "the mean sum itself", "", "", *(Figure(float(each.mean())) for each in truths), "")
    for arm in arms():
        errors, rows, cutoffs = np.empty((_RELEASES, len(WIDTHS))), 0.0, 0.0
        for number in range(_RELEASES):
            say(f"{placement}, {arm.kind}, {arm.name}: release {number + 1} of {_RELEASES}")
            weights, published, cutoff = table.released(arm)
            rows, cutoffs = rows + published / _RELEASES, cutoffs + (cutoff or 0) / _RELEASES
            for place, (some, true) in enumerate(zip(ranges, truths, strict=True)):
                errors[number, place] = np.abs(WAYS[arm.kind].answers(weights, some) - true).mean()
        means = errors.mean(axis=0)
        spread = errors.std(axis=0, ddof=1) / sqrt(_RELEASES) / means
        cut = f"{cutoffs:.0f}" if cutoffs else ""
        figures = *map(Figure, means.tolist()), Figure(100 * float(spread.max()))
        sheet.add(arm.kind, arm.name, cut, f"{rows:,.0f}", *figures)
    return sheet


def _check_answers(arm: Arm) -> None:
    """Raise unless a published release answers as this benchmark takes it to."""
    ranges, way = chosen(5000, 20, np.random.default_rng(9)), WAYS[arm.kind]
    with TemporaryDirectory() as folder:
        release = uniform_table().published(arm, folder)
    answers = way.answers(_spread(way, release.codes, release.weights), ranges)
    for start, stop, answer in zip(*ranges, answers, strict=True):
        asked = release.total(cell=ht.between(int(start), int(stop))).value
        if abs(asked - answer) > 1e-6 * max(1, abs(asked)):
            raise AssertionError(f"a release of {arm.kind} does not answer as this benchmark takes it to")


_CHECKED = {"cells": 300, "dyadic": 1000, "Haar": 1000}  # releases


def closed_form(say: Say) -> Sheet:
    """Measure noise on everything against its error in closed form."""
    sheet = Sheet(
        title="Noise on everything against its error in closed form: m = 2^20, epsilon 0.1",
        columns=("noised", "error", "R", "terms", "measured", "in closed\nform", "off by standard\nerrors"),
        note=(
            f"The uniform table, {_RANGES} ranges of each R. Ranges of a release share its noise, so the "
            f"standard error is that over releases: {_CHECKED['cells']:,} of cells, {_CHECKED['dyadic']:,} "
            "of trees. Mean size: E|S| of a sum of K noises, exactly, for the K of each range. Root mean "
            "square: sqrt(variance x F), F being the sum of squared factors. Terms: K or F, on average. "
            "Bits of one seed."
        ),
    )
    entropy, random = Replay(8), np.random.default_rng(8)
    for kind, way in WAYS.items():
        rate = EPSILON / way.levels
        for label, width in WIDTHS.items():
            say(f"{kind}, R = {label}")
            ranges = chosen(width, _RANGES, random)
            powers = way.powers(ranges)
            errors = _drawn_errors(way, ranges, rate, entropy, releases=_CHECKED[kind])
            squared = kind == "Haar"
            each = (errors**2 if squared else np.abs(errors)).mean(axis=1)
            measured = float(each.mean())
            expected = (dense.mean_square if squared else dense.mean_size)(powers, rate)
            off = (measured - expected) / (float(each.std(ddof=1)) / sqrt(each.size))
            name = "mean size"
            if squared:
                name, measured, expected = "root mean square", sqrt(measured), sqrt(expected)
            figures = Figure(float(powers.mean())), Figure(measured), Figure(expected)
            sheet.add(kind, name, label, *figures, Figure(off, Within(-3, 3)))
    return sheet


def _drawn_errors(
    way: dense.Cells | dense.Nodes, ranges: Ranges, rate: Fraction, entropy: Replay, *, releases: int
) -> Array:
    """Return the errors for all ranges, one row for each release."""
    values, truths = way.values(uniform_table().counts), uniform_table().truths(ranges)
    if isinstance(way, dense.Cells):
        return np.stack(
            [way.answers(dense.noisy(values, rate, entropy), ranges) - truths for _ in range(releases)]
        )
    owners, nodes, factors = way.tree.combination(*ranges)
    used, places = np.unique(nodes, return_inverse=True)  # noise of other nodes is never seen
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.stack(
        [
            np.add.reduceat(factors * dense.noisy(values[used], rate, entropy)[places], firsts) - truths
            for _ in range(releases)
        ]
    )


_MANY_CELLS = 10**6


def speed(say: Say) -> Sheet:
    """Measure lifting and summarising against the flat summary."""
    sheet = Sheet(
        title="Time of lifting and summarising: n = 10^6, m = 2^40, s = 10^5, in one process",
        columns=("noised", "summary", "flat\ncutoff", "tree\ncutoff", "rows", "flat\ns", "tree\ns", "ratio"),
        note=(
            "Flat: the summary of the cells by the same method. Both start from the table. Of the two pairs "
            "of cutoffs, one is five units of noise, the other is what ht.publish chooses, which few cells "
            "or nodes pass. Cells anywhere, counts as flows. Best of 3."
        ),
    )
    say("a table of 2^40 cells")
    cells, levels = 1 << 40, 41
    codes, counts = made_up((cells,), _MANY_CELLS)
    table = ht.SparseTable(shape=(cells,), codes=codes, counts=counts)
    del codes, counts
    autos = _auto_cutoff(cells, 1), _auto_cutoff(2 * cells - 1, levels)
    largest, sample = ht.Filter(size=SIZE), ht.Priority(size=SIZE)
    positive = ht.Filter(size=SIZE, two_sided=False)
    cases: list[tuple[Structure, Sequence[Method]]] = [
        (ht.Dyadic(), (largest, largest)),
        (ht.Dyadic(), (sample, sample)),
        *(
            (ht.Dyadic(), [ht.FilterPriority(cutoff=cutoff, size=SIZE) for cutoff in cutoffs])
            for cutoffs in ((50, 50 * levels), autos)
        ),
        (ht.Dyadic(consistent=True), (positive, positive)),
        (ht.Haar(), (largest, largest)),
        (ht.Haar(), (sample, sample)),
    ]
    for structure, methods in cases:
        arm = Arm(structure, methods[1])
        say(f"{arm.kind}, {arm.name}")
        jobs = [
            partial(ht.summarize, table, method, epsilon=EPSILON, structure=each)
            for each, method in zip((None, structure), methods, strict=True)
        ]
        rows = len(jobs[1]())
        flat, tree = best(jobs, rounds=3)
        cutoffs = ("" if not (cut := getattr(method, "cutoff", None)) else f"{cut}" for method in methods)
        times = Figure(flat), Figure(tree), Figure(tree / flat, Bar("<=", 25))
        sheet.add(arm.kind, arm.name, *cutoffs, f"{rows:,}", *times)
    return sheet


def longest(say: Say) -> Sheet:
    """Measure the longest line that there is."""
    sheet = Sheet(
        title="The longest line: n = 10^6, m = 2^60, s = 10^5, a process for each",
        columns=("noised", "summary", "s", "rows", "process\npeak GiB"),
        note="Seconds of `ht.summarize` alone. The peak is that of the whole process.",
    )
    for structure in ("dyadic", "haar"):
        for method in ("Filter", "Priority"):
            say(f"2^60 cells, {structure}, {method}")
            settings = method, {"size": SIZE}
            run = fresh("summary", shape=(1 << 60,), cells=_MANY_CELLS, method=settings, structure=structure)
            peak = Figure(run["peak"] / 2**30, Bar("<=", 8))
            sheet.add(structure, method.lower(), Figure(run["summarize"]), Figure(run["rows"]), peak)
    return sheet


_ASKED_RELEASES, _ASKED = 15, 20  # so 300 ranges of each width


def coverage(say: Say) -> Sheet:
    """Measure how often intervals of answers hold the truth."""
    sheet = Sheet(
        title="Coverage of nominal 95 % intervals of sums over R cells, the true answer: the uniform table",
        columns=("noised", "summary", "all\n%", *COLUMNS, "median of\nwidth/RMSE"),
        note=(
            f"{_ASKED_RELEASES} releases of each, epsilon 0.1, {_ASKED} ranges of each R of each release, "
            "asked by release.total. Without a cutoff intervals should hold as often as they say; the bar "
            "goes up to 98, because noise is whole numbers and ranges have few nodes. With a cutoff they "
            "allow for whatever lies below it. RMSE: of ranges of the same R; the ideal ratio is 3.92."
        ),
    )
    for arm in arms():
        if arm.structure is not None:
            held, ratio = _asked(arm, say)
            bar = Bar(">=", 93) if isinstance(arm.method, Filtering) else Within(93, 98)
            all_in_all = Figure(100 * float(held.mean()), bar)
            each = (Figure(100 * share) for share in held.mean(axis=1).tolist())
            sheet.add(arm.kind, arm.name, all_in_all, *each, Figure(ratio))
    return sheet


def _asked(arm: Arm, say: Say) -> tuple[NDArray[np.bool_], float]:
    """Return which intervals held, a row for each width, and how wide they were for their errors."""
    random, table = np.random.default_rng(10), uniform_table()
    found = np.empty((len(WIDTHS), _ASKED_RELEASES, _ASKED, 4))  # low, value, high, and the truth
    with TemporaryDirectory() as folder:
        for number in range(_ASKED_RELEASES):
            say(f"{arm.kind}, {arm.name}: release {number + 1} of {_ASKED_RELEASES}")
            release = table.published(arm, folder)
            for row, width in enumerate(WIDTHS.values()):
                ranges = chosen(width, _ASKED, random)
                asked = [
                    release.total(cell=ht.between(int(start), int(stop)))
                    for start, stop in zip(*ranges, strict=True)
                ]
                found[row, number, :, :3] = [(each.low, each.value, each.high) for each in asked]
                found[row, number, :, 3] = table.truths(ranges)
    low, value, high, true = np.moveaxis(found.reshape(len(WIDTHS), -1, 4), 2, 0)
    ratios = np.median(high - low, axis=1) / np.sqrt(((value - true) ** 2).mean(axis=1))
    return (low <= true) & (true <= high), float(np.median(ratios))


SHEETS = (uniform, clustered, closed_form, speed, longest, coverage)
