"""One run with a count sketch: draw it, read off what it says of cells, and compare with the truth.

A row of a sketch sends each cell to a bucket and gives it a sign. What it says of a cell is the bucket times
the sign; what it says of a set of cells is the sum of that. Rows are put together by the mean or the median
of what they say of the set, as `release.total` does it.

Promise: agrees with `release.by` and `release.total` on what is published with the same buckets. Only public
names of hushtable are used.
Cost: a row hashes every cell once, in some 70 ns.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from paper.data import Table, synthetic
from paper.measuring import Setting
from paper.releasing import drawn, real, sizes_of, subsets_of, whole

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

TENFOLD = "normal, ten times"
FEW = 1 << 12  # of what does not double
PEOPLE = 1000  # whose coming, going and moving is tried


class Row(NamedTuple):
    """Where one row of a sketch counts each cell, and with which sign."""

    buckets: Numbers
    signs: Numbers
    width: int

    def read(self, counts: Numbers | Array) -> Array:
        """Return what the buckets of this row say of every cell."""
        return np.asarray(self.signs * counts.take(self.buckets), dtype=np.float64)

    def fill(self, values: Numbers | Array) -> Array:
        """Return the buckets of this row for cells of such values, without noise."""
        found = np.bincount(self.buckets, weights=self.signs * values, minlength=self.width)
        return np.asarray(found, dtype=np.float64)


def rows_of(summary: ht.Summary, cells: int) -> list[Row]:
    """Return the rows of a sketch of so many cells in a line."""
    structure, nodes = summary.structure, summary.nodes
    if not isinstance(structure, ht.CountSketch) or nodes is None or not hasattr(nodes, "buckets"):
        raise ValueError("this summary is no sketch")
    keys = np.arange(cells, dtype=np.uint64)[np.newaxis]
    hashed = [nodes.buckets(keys, row) for row in range(structure.depth)]
    return [Row(buckets, signs, structure.width) for buckets, signs in hashed]


def buckets_of(summary: ht.Summary) -> Numbers:
    """Return the noisy buckets of a sketch, a line for each of its rows."""
    structure = summary.structure
    if not isinstance(structure, ht.CountSketch):
        raise ValueError("this summary is no sketch")
    return summary.counts.reshape(structure.depth, structure.width)


@lru_cache(maxsize=3)
def _table(kind: str, cells: int, density: float, mean: float, sd: float) -> Table:
    """Return the paper's table, the same with tenfold counts, or with as many people by Zipf's law."""
    normal = synthetic(cells=cells, density=density, mean=mean, sd=sd)
    if kind == "normal":
        return normal
    if kind == TENFOLD:
        return Table(cells, normal.places, 10 * normal.counts)
    ranks = np.random.default_rng([6, 2]).permutation(normal.places.size) + 1
    largest = mean * ranks.size / (1 / ranks).sum()
    return Table(cells, normal.places, np.maximum(np.rint(largest / ranks), 1).astype(np.int64))


def table_of(setting: Setting) -> Table:
    """Return the table that a setting names."""
    numbers = (real(setting, name) for name in ("density", "mean", "sd"))
    return _table(str(setting["table"]), whole(setting, "cells"), *numbers)


def _sketch(table: ht.SparseTable, width: int, depth: int, epsilon: Fraction) -> ht.Summary:
    structure = ht.CountSketch(width=width, depth=depth)
    return ht.summarize(table, ht.Everything(), epsilon=epsilon, structure=structure)


def _noise_variance(rate: float) -> float:
    """Return the variance of two-sided geometric noise."""
    decay = exp(-rate)
    return 2 * decay / (1 - decay) ** 2


def depth_run(setting: Setting) -> dict[str, float]:
    """Draw a sketch; return errors of the estimates of all cells, in parts, and what its buckets hold."""
    table, epsilon = table_of(setting), Fraction(str(setting["epsilon"]))
    width, depth = whole(setting, "width"), whole(setting, "depth")
    summary = _sketch(table.sparse, width, depth, epsilon)
    everything = ht.summarize(table.sparse, ht.Everything(), epsilon=epsilon).counts
    rows = rows_of(summary, table.cells)
    truth = table.values.astype(np.float64)
    shape = (depth, table.cells)
    sharing, noise, first = np.empty(shape), np.empty(shape), np.empty(shape)
    own, others = 0.0, 0.0
    for number, (row, counts) in enumerate(zip(rows, buckets_of(summary), strict=True)):
        exact = row.fill(truth)
        noisy = row.fill(everything)  # the first approach, with the same hash functions
        sharing[number] = row.read(exact) - truth
        noise[number] = row.read(counts - exact)
        first[number] = row.read(noisy) - truth
        own += float(((counts - exact) ** 2).mean()) / depth
        others += float(((noisy - exact) ** 2).mean()) / depth
    off = sharing + noise
    squares = float((truth**2).sum())
    found = {
        "rows": float(len(summary)),
        "sensitivity": float(summary.sensitivity),
        **_changes(setting, rows),
        "variance": _square(off.mean(axis=0)),
        "sharing": _square(sharing.mean(axis=0)),
        "noise": _square(noise.mean(axis=0)),
        "stated": (squares * (1 - 1 / table.cells) / width + _noise_variance(float(epsilon) / depth)) / depth,
        "printed": sqrt(squares) / (width * depth) + depth / float(epsilon) ** 2,
        "bias": float(off.mean(axis=0)[table.places].mean()),
        "error": _size_of(off.mean(axis=0)),
        "error of the first approach": _size_of(first.mean(axis=0)),
        "noise of a bucket": own,
        "noise of a bucket, first approach": others,
        "noise of a count": float(((everything - table.values) ** 2).mean()),
    }
    if depth > 2:  # of two rows the median is the mean
        found |= {
            "sharing of the median": _square(np.median(sharing, axis=0)),
            "error of the median": _size_of(np.median(off, axis=0)),
        }
    return found


def _square(values: Array) -> float:
    return float((values**2).mean())


def _size_of(values: Array) -> float:
    return float(np.abs(values).mean())


def _changes(setting: Setting, rows: Sequence[Row]) -> dict[str, float]:
    """Return the most that one of some people changes all buckets: who comes or goes, and who moves."""
    random = np.random.default_rng([whole(setting, "run"), 14])
    here, there = random.integers(whole(setting, "cells"), size=(2, PEOPLE))
    comes, moves = np.zeros(PEOPLE), np.zeros(PEOPLE)
    for row in rows:
        comes += np.abs(row.signs[here])
        same = row.buckets[here] == row.buckets[there]
        moves += np.where(same, np.abs(row.signs[here] - row.signs[there]), 2)
    return {"change by coming": float(comes.max()), "change by moving": float(moves.max())}


def subset_run(setting: Setting) -> dict[str, float]:
    """Draw a sketch or a summary of cells, and ask it for subsets, and for the occupied cells."""
    table, epsilon = table_of(setting), Fraction(str(setting["epsilon"]))
    asked = subsets_of(table, sizes_of(setting), whole(setting, "questions"), whole(setting, "run"))
    if setting.get("depth") is not None:
        summary = _sketch(table.sparse, whole(setting, "width"), whole(setting, "depth"), epsilon)
        read = [
            row.read(counts)
            for row, counts in zip(rows_of(summary, table.cells), buckets_of(summary), strict=True)
        ]
        answers = np.median([asked.sums(values) for values in read], axis=0)
        points = np.median([values[table.places] for values in read], axis=0)
    else:
        summary = drawn(table, setting, epsilon=epsilon)
        weights, counts = np.zeros(table.cells), np.zeros(table.cells)
        weights[summary.codes[:, 0]], counts[summary.codes[:, 0]] = summary.weights, summary.counts
        answers, points = asked.sums(weights), counts[table.places]
    found = {"rows": float(len(summary)), "error of an occupied cell": _size_of(points - table.counts)}
    for size, answer, truth in zip(asked.sizes, answers, asked.truths, strict=True):
        found[f"error {size}"] = _size_of(answer - truth)
        found[f"relative {size}"] = float(np.median(np.abs(answer - truth) / np.maximum(truth, 1)))
    return found


@lru_cache(maxsize=16)
def _scattered(cells: int, occupied: int) -> ht.SparseTable:
    """Return a table of any number of cells."""
    random = np.random.default_rng(15)
    places = np.unique(random.integers(cells, size=occupied))
    return ht.SparseTable(shape=(cells,), codes=places, counts=random.integers(1, 200, places.size))


def time_run(setting: Setting) -> dict[str, float]:
    """Measure sketches as something doubles, in turns; return the least seconds of each step."""
    first, steps = whole(setting, "first"), range(whole(setting, "steps") + 1)
    wide = 1 << 60
    jobs = {
        "occupied cells": [(wide, first << step, FEW, 1) for step in steps],
        "buckets": [(wide, FEW, first << step, 1) for step in steps],
        "both": [(wide, first << step, first << step, 1) for step in steps],
        "rows": [(wide, first, first, 1 << step) for step in steps],
        "cells": [(1 << (24 + 12 * step), first, first, 1) for step in steps],
    }[str(setting["doubled"])]
    tables = [_scattered(cells, occupied) for cells, occupied, _, _ in jobs]
    times: list[list[float]] = [[] for _ in jobs]
    order = list(steps)
    for number in range(whole(setting, "rounds") + 1):
        for step in order:
            _, _, width, depth = jobs[step]
            start = perf_counter()
            _sketch(tables[step], width, depth, Fraction(1, 10))
            if number:  # the first builds the tables of its law, which later calls find
                times[step].append(perf_counter() - start)
        order.reverse()
    return {f"seconds, step {step}": min(each) for step, each in enumerate(times)}
