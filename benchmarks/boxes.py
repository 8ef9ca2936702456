"""Sums over boxes of two attributes, on real tables: what each structure is worth.

Commuters of Rhode Island between block groups (LODES), and the histograms of DPBench (Hay et al. 2016). The
data are in ../shared/data and stay there; without them, the sheet says so.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import dense, pruned
from benchmarks.report import Figure, Say, Sheet
from hushtable.laws.geometric import Geometric
from hushtable.methods.tuning import auto_cutoff
from hushtable.noise import KeyStream, two_sided_geometric
from hushtable.structures.trees import DyadicTree, HaarTree

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_DATA = Path(__file__).parents[2] / "shared" / "data"
_FILES = {
    "LODES RI": ("lodes_ri_main_2019.cells0", (815, 815), 100_000),
    **{
        name: (f"dpbench/{name}", (256, 256), 10_000)
        for name in ("ADULT-2D", "BEIJING-CABS-E", "BEIJING-CABS-S", "LOAN-FUNDED-INCOME", "STROKE")
    },
}
_EPSILONS = Fraction(1, 10), Fraction(1)
_SHARES = {"0.1 %": 0.001, "1 %": 0.01, "10 %": 0.1}
_BOXES, _RELEASES = 300, 5
_TOTAL_SHARE = Fraction(1, 50)


class Boxes(NamedTuple):
    """Codes from `starts` to below `stops`, of shape (boxes, 2)."""

    starts: Counts
    stops: Counts

    @classmethod
    def by_chance(cls, shape: tuple[int, int], share: float, random: np.random.Generator) -> "Boxes":
        """Choose boxes of a share of the domain, from narrow to wide ones, anywhere."""
        turn = random.random((_BOXES, 1))
        sides = share ** np.concatenate([turn, 1 - turn], axis=1) * shape
        widths = np.clip(np.rint(sides), 1, shape).astype(np.int64)
        starts = (random.random((_BOXES, 2)) * (np.array(shape) - widths + 1)).astype(np.int64)
        return cls(starts, starts + widths)

    @property
    def cells(self) -> Array:
        """How many cells each has."""
        return np.asarray(np.prod(self.stops - self.starts, axis=1), dtype=np.float64)

    def sums(self, grid: Array) -> Array:
        """Return the sum of what the cells of each box have."""
        before = np.zeros((grid.shape[0] + 1, grid.shape[1] + 1))
        before[1:, 1:] = grid.cumsum(axis=0).cumsum(axis=1)
        (top, left), (bottom, right) = self.starts.T, self.stops.T
        found: Array = before[bottom, right] - before[top, right] - before[bottom, left] + before[top, left]
        return found

    def crossed(self, trees: tuple[DyadicTree | HaarTree, ...], values: Array) -> Array:
        """Return the sums from values of all pairs of nodes of two trees."""
        parts = []
        for axis, tree in enumerate(trees):
            owners, nodes, factors = tree.combination(self.starts[:, axis], self.stops[:, axis])
            edges = np.searchsorted(owners, np.arange(1, _BOXES))
            parts.append(zip(np.split(nodes, edges), np.split(factors, edges), strict=True))
        return np.array(
            [
                left @ values[np.ix_(rows, columns)] @ right
                for (rows, left), (columns, right) in zip(*parts, strict=True)
            ]
        )


class Grid:
    """The true counts of all cells of two attributes."""

    def __init__(self, name: str) -> None:
        file, self.shape, self.size = _FILES[name]
        columns = pq.read_table(_DATA / f"{file}.parquet").columns
        *codes, counts = (np.asarray(each.to_numpy(), dtype=np.int64) for each in columns)
        self.codes = np.stack(codes, axis=1)
        self.sparse = ht.SparseTable(shape=self.shape, codes=self.codes, counts=counts)
        self.counts = np.zeros(self.shape)
        self.counts[tuple(self.codes.T)] = counts

    @cached_property
    def every(self) -> Counts:
        """The codes of all cells."""
        return np.stack(np.unravel_index(np.arange(prod(self.shape)), self.shape), axis=1)


Errors = Callable[[Boxes], Array]  # by which boxes are off, in one release
Release = Callable[[Grid, Fraction], Errors]


def _sampled(grid: Grid, epsilon: Fraction) -> Errors:
    """Draw what `ht.publish` does, and a noisy total: what rows miss of it is spread over absent cells."""
    for_total, rate = epsilon * _TOTAL_SHARE, epsilon * (1 - _TOTAL_SHARE)
    cutoff = auto_cutoff(grid.size, cells=prod(grid.shape), law=Geometric(rate), two_sided=True)
    found = ht.summarize(grid.sparse, ht.FilterPriority(cutoff=cutoff, size=grid.size), epsilon=rate)
    total = grid.counts.sum() + two_sided_geometric(for_total, KeyStream(), count=1)[0]
    values, absent = np.zeros(grid.shape), np.ones(grid.shape)
    values[tuple(found.codes.T)], absent[tuple(found.codes.T)] = found.weights, 0.0
    values += absent * ((total - found.weights.sum()) / max(absent.sum(), 1.0))
    return lambda boxes: boxes.sums(values - grid.counts)


def _product_dyadic(grid: Grid, epsilon: Fraction) -> Errors:
    """Draw the largest pairs of ranges."""
    trees = tuple(map(DyadicTree, grid.shape))
    found = ht.summarize(
        grid.sparse, ht.Filter(size=grid.size), epsilon=epsilon, structure=ht.ProductDyadic()
    )
    values = np.zeros([tree.nodes_total for tree in trees])
    values[tuple(found.codes.T)] = found.weights
    return lambda boxes: boxes.crossed(trees, values) - boxes.sums(grid.counts)


def _product_haar(grid: Grid, epsilon: Fraction) -> Errors:
    """Draw noise on all pairs of Haar coefficients, which is all that answers from them are off by."""
    trees = tuple(map(HaarTree, grid.shape))
    sizes = [tree.nodes_total for tree in trees]
    rate = epsilon / prod(tree.levels for tree in trees)
    noise = two_sided_geometric(rate, KeyStream(), count=prod(sizes)).reshape(sizes).astype(np.float64)
    return lambda boxes: boxes.crossed(trees, noise)


def _tree(structure: ht.Tree, grid: Grid, epsilon: Fraction) -> Errors:
    """Draw a pruned tree."""
    nodes = pruned.over(grid.shape, structure)
    masses = pruned.drawn(grid.sparse, nodes, epsilon=epsilon, size=grid.size).cells()
    values = masses[nodes.tree.addresses.of(grid.every)].reshape(grid.shape)
    return lambda boxes: boxes.sums(values - grid.counts)


_WAYS: dict[str, Release] = {
    "cells,\nsampled": _sampled,
    "product\ndyadic": _product_dyadic,
    "product\nHaar, all": _product_haar,
    "tree 16,\nline": partial(_tree, ht.Tree()),
    "tree 16,\nz-order": partial(_tree, ht.Tree(order="morton")),
    "tree 4,\nz-order": partial(_tree, ht.Tree(branching=4, order="morton")),
}


def two_dimensions(say: Say) -> Sheet:
    """Measure sums over boxes of two attributes."""
    sheet = Sheet(
        title="Mean size of the error of sums over boxes of two attributes",
        columns=("table", "epsilon", "boxes", "mean sum", "cells,\nall", *_WAYS, "least"),
        note=(
            "LODES: commuters of Rhode Island, 815 x 815 block groups, size 100,000; the others: 256 x 256, "
            f"size 10,000. {_BOXES} boxes of each share of the domain, from narrow to wide; {_RELEASES} "
            "releases. Cells, all: noise on every cell, in closed form. Sampled: filter-priority with the "
            "cutoff that ht.publish chooses, and a noisy total. Product dyadic: the largest nodes. Product "
            "Haar: noise on all pairs of coefficients (Privelet in two dimensions). Line: the first "
            "attribute's values in order, then the second's."
        ),
    )
    for name in _FILES:
        if not (_DATA / f"{_FILES[name][0]}.parquet").exists():
            sheet.add(name, "the data are not there", *[""] * (len(sheet.columns) - 2))
            continue
        grid = Grid(name)
        random = np.random.default_rng(11)
        boxes = [Boxes.by_chance(grid.shape, share, random) for share in _SHARES.values()]
        for epsilon in _EPSILONS:
            means = dict(_means(say, name, grid, epsilon, boxes))
            for row, (label, some) in enumerate(zip(_SHARES, boxes, strict=True)):
                found = {way: float(errors[row]) for way, errors in means.items()}
                least = " ".join(min(found, key=lambda way: found[way]).split())
                sums = Figure(float(some.sums(grid.counts).mean()))
                sheet.add(name, f"{float(epsilon):g}", label, sums, *map(Figure, found.values()), least)
    return sheet


def _means(
    say: Say, name: str, grid: Grid, epsilon: Fraction, boxes: list[Boxes]
) -> Iterator[tuple[str, Array]]:
    """Yield the mean sizes of errors of each way, for each share of the domain."""
    # Of so many cells the noise is as good as normal.
    squares = [dense.mean_square(each.cells, epsilon) for each in boxes]
    roots = [np.sqrt(each.cells / each.cells.mean()).mean() for each in boxes]
    yield "cells,\nall", np.sqrt(2 / np.pi * np.array(squares)) * roots
    for way, release in _WAYS.items():
        say(f"{name}, epsilon {float(epsilon):g}, {' '.join(way.split())}")
        found = [release(grid, epsilon) for _ in range(_RELEASES)]
        yield way, np.array([np.mean([np.abs(each(some)) for each in found]) for some in boxes])
