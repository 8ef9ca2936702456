"""Count sketches: whether their variance is as theory says, what they cost, and what they are worth.

Sketches are drawn by `ht.summarize`, and cells estimated from their buckets by the published keys. "The
sketch of the noisy table" is another way: noise on every cell at all of epsilon, which is then sketched
without more noise.
Cost: some three minutes.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.timing import best
from hushtable.domain.keys import Keys, KeySpace
from hushtable.methods.settings import Method
from hushtable.noise import KeyStream, two_sided_geometric
from hushtable.structures.sketch import SketchSpace
from hushtable.summaries.summary import Summary

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

CELLS, OCCUPIED, SIZE = 1_000_000, 100_000, 100_000
EPSILON = Fraction(1, 10)
_CUTOFF = 40  # of the paper
_RELEASES, _MORE = 5, 200  # the latter of what figures with a bar rest on
_SUBSETS, _SUBSET = 2000, 100
_DEPTHS = (1, 2, 3, 5)


class Table(NamedTuple):
    """A table of counts over cells in a line."""

    places: Whole
    counts: Whole

    @property
    def sparse(self) -> ht.SparseTable:
        """The same, ready to be summarised."""
        return ht.SparseTable(shape=(CELLS,), codes=self.places[:, np.newaxis], counts=self.counts)

    @property
    def dense(self) -> Whole:
        """The counts of all cells."""
        found = np.zeros(CELLS, dtype=np.int64)
        found[self.places] = self.counts
        return found


@cache
def table_of(shape: str) -> Table:
    """Return a table of 10^7 people in a tenth of all cells: even, skewed, or in clusters."""
    random = np.random.default_rng(10)
    if shape == "clustered":
        starts = random.choice(CELLS // 1000, OCCUPIED // 1000, replace=False)
        places = (np.sort(starts)[:, np.newaxis] * 1000 + np.arange(1000)).ravel()
        scale = np.repeat(random.lognormal(0, 1, len(starts)), 1000)
        return Table(places, 1 + random.poisson(100 * scale / scale.mean()))
    places = np.sort(random.choice(CELLS, OCCUPIED, replace=False))
    if shape == "uniform":
        return Table(places, random.integers(50, 151, OCCUPIED))
    ranks = random.permutation(OCCUPIED) + 1
    return Table(places, np.maximum(827_000 / ranks, 1).astype(np.int64))


SHAPES = ("uniform", "Zipf", "clustered")


def drawn(table: ht.SparseTable, width: int, depth: int, epsilon: Fraction) -> Summary:
    """Draw a sketch."""
    return ht.summarize(
        table, ht.Everything(), epsilon=epsilon, structure=ht.CountSketch(width=width, depth=depth)
    )


def estimates(nodes: SketchSpace, buckets: Whole, cells: Whole) -> Array:
    """Return what each row says of each cell, of shape (rows, cells)."""
    keys = cells.astype(np.uint64)[np.newaxis]
    found = np.empty((nodes.structure.depth, cells.size))
    for row, counts in enumerate(buckets.reshape(nodes.space.shape)):
        places, signs = nodes.buckets(keys, row)
        found[row] = signs * counts[places]
    return found


# The variance, against the formula.

_SKETCHES = ((1000, 1, Fraction(1)), (5000, 1, Fraction(1, 200)), (1000, 3, Fraction(1)))


def variances(say: Say) -> Sheet:
    """Measure variances of estimates of the occupied cells."""
    sheet = Sheet(
        f"Variance of estimates of {OCCUPIED:,} occupied cells of {CELLS:,}",
        ("table", "sketch", "epsilon", "sharing", "noise", "measured", "measured / stated", "spread %"),
        "Stated: ((sum of squares of the other counts)/width + noise of a bucket)/depth, in parts `sharing` "
        f"and `noise`; measured over {_MORE} releases; spread: the standard error of the ratio.",
    )
    for shape in SHAPES:
        table = table_of(shape)
        sparse, counts = table.sparse, table.counts.astype(np.float64)
        for width, depth, epsilon in _SKETCHES:
            say(f"variance, {shape}, {width} x {depth}")
            decay = exp(-float(epsilon) / depth)
            noise = 2 * decay / (1 - decay) ** 2 / depth
            sharing = float(((counts**2).sum() - counts**2).mean()) / width / depth
            ratios = []
            for _ in range(_MORE):
                release = drawn(sparse, width, depth, epsilon)
                assert isinstance(release.nodes, SketchSpace)
                found = estimates(release.nodes, release.counts, table.places).mean(axis=0)
                ratios.append(float(((found - counts) ** 2).mean()) / (sharing + noise))
            mean = float(np.mean(ratios))
            sheet.add(
                shape,
                f"{width:,} x {depth}",
                str(epsilon),
                f"{sharing:,.0f}",
                f"{noise:,.0f}",
                f"{mean * (sharing + noise):,.0f}",
                Figure(mean, Within(0.95, 1.05)),
                Figure(100 * float(np.std(ratios, ddof=1)) / sqrt(_MORE)),
            )
    return sheet


# Time, by doubling.

_FIRST, _DOUBLINGS = 1 << 18, 3
_ROUNDS = 7


def times(say: Say) -> Sheet:
    """Measure what a sketch takes with more cells, more buckets and more rows."""
    sheet = Sheet(
        "Time of a sketch as cells, buckets and rows double",
        ("what doubles", "n", "width", "depth", "ms", "ratio to half"),
        "n occupied cells of 2^60; epsilon = 1. Proportional to (n + width) x depth at most.",
    )
    number, few = _FIRST, 1 << 12
    series = {
        "occupied cells": [(number << step, few, 1) for step in range(_DOUBLINGS + 1)],
        "width": [(few, number << step, 1) for step in range(_DOUBLINGS + 1)],
        "both": [(number << step, number << step, 1) for step in range(_DOUBLINGS + 1)],
        "depth": [(number, number, 1 << step) for step in range(_DOUBLINGS + 1)],
    }
    for what, sizes in series.items():
        say(f"time, {what}")
        jobs = [partial(drawn, _many(cells), width, depth, Fraction(1)) for cells, width, depth in sizes]
        before = 0.0
        for (cells, width, depth), seconds in zip(sizes, best(jobs, rounds=_ROUNDS), strict=True):
            ratio: str | Figure = Figure(seconds / before, Bar("<=", 2.3)) if before else ""
            sheet.add(what, f"{cells:,}", f"{width:,}", str(depth), Figure(1000 * seconds), ratio)
            before = seconds
    return sheet


@cache
def _many(cells: int) -> ht.SparseTable:
    random = np.random.default_rng(11)
    codes = np.unique(random.integers(0, 1 << 30, (2, cells)), axis=1).T
    return ht.SparseTable(shape=(1 << 30, 1 << 30), codes=codes, counts=random.integers(1, 100, len(codes)))


# What it is worth beside samples.

Asked = Callable[[], tuple[Array, Array]]  # draws a release; estimates of all cells for points, and for sums


def worth(say: Say) -> Sheet:
    """Measure errors of summaries of equal size."""
    sheet = Sheet(
        f"Mean size of errors of summaries of {SIZE:,} numbers, epsilon = {EPSILON}",
        ("summary", *(f"{shape}: {what}" for shape in SHAPES for what in ("cell", "set"))),
        f"Of {OCCUPIED:,} occupied cells one by one, and of {_SUBSETS:,} sets of {_SUBSET} cells chosen by "
        f"chance among {CELLS:,}; {_RELEASES} releases. The last row answers 0 to everything.",
    )
    found: dict[str, list[Figure]] = {}
    random = np.random.default_rng(12)
    subsets = random.integers(0, CELLS, (_SUBSETS, _SUBSET))
    for shape in SHAPES:
        table = table_of(shape)
        truth = table.dense
        for name, ask in _ways(table):
            say(f"worth, {shape}, {name}")
            errors = []
            for _ in range(_RELEASES):
                points, weights = ask()
                one = np.abs(points - truth)[table.places].mean()
                errors.append((one, np.abs((weights - truth)[subsets].sum(axis=1)).mean()))
            found.setdefault(name, []).extend(map(Figure, np.mean(errors, axis=0).tolist()))
    for name, figures in found.items():
        sheet.add(name, *figures)
    return sheet


def _ways(table: Table) -> Iterator[tuple[str, Asked]]:
    sparse = table.sparse
    yield "filter + priority", partial(_sampled, sparse, ht.FilterPriority(cutoff=_CUTOFF, size=SIZE))
    yield "priority", partial(_sampled, sparse, ht.Priority(size=SIZE))
    for noisy in (False, True):
        for depth in _DEPTHS:
            for combine in ("mean", "median") if depth > 2 else ("mean",):
                name = f"sketch{' of the noisy table' * noisy}, depth {depth}, {combine}"
                ask = _noisy_sketched if noisy else _sketched
                yield name, partial(ask, table, depth, np.median if combine == "median" else np.mean)
    yield "0", lambda: (np.zeros(CELLS), np.zeros(CELLS))


def _sampled(table: ht.SparseTable, method: Method) -> tuple[Array, Array]:
    release = ht.summarize(table, method, epsilon=EPSILON)
    points, weights = np.zeros(CELLS), np.zeros(CELLS)
    points[release.codes[:, 0]], weights[release.codes[:, 0]] = release.counts, release.weights
    return points, weights


def _sketched(table: Table, depth: int, combine: Callable[..., Array]) -> tuple[Array, Array]:
    release = drawn(table.sparse, SIZE // depth, depth, EPSILON)
    assert isinstance(release.nodes, SketchSpace)
    found = combine(estimates(release.nodes, release.counts, np.arange(CELLS)), axis=0)
    return found, found


def _noisy_sketched(table: Table, depth: int, combine: Callable[..., Array]) -> tuple[Array, Array]:
    """Put noise on every cell, and sketch what is there then."""
    keys = tuple(KeyStream().words(2).tobytes().hex() for _ in range(depth))
    nodes = SketchSpace(ht.CountSketch(width=SIZE // depth, depth=depth), KeySpace((CELLS,)), keys)
    noisy = table.dense + two_sided_geometric(EPSILON, KeyStream(), count=CELLS)
    buckets = np.zeros(nodes.space.shape, dtype=np.int64)
    cells: Keys = np.arange(CELLS, dtype=np.uint64)[np.newaxis]
    for row, own in enumerate(buckets):
        places, signs = nodes.buckets(cells, row)
        own += np.bincount(places, weights=signs * noisy, minlength=own.size).astype(np.int64)
    found = combine(estimates(nodes, buckets, np.arange(CELLS)), axis=0)
    return found, found


SHEETS = (variances, times, worth)
