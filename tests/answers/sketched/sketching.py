"""Sketches of known tables, by the slow way: a dictionary of buckets, and noise from NumPy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.methods.settings import Everything
from hushtable.release.terms import Terms
from hushtable.structures.sketch import CountSketch, SketchSpace
from tests.release.examples import terms


class Sketched(NamedTuple):
    """What answers need of a release, and its buckets."""

    terms: Terms
    domain: Domain
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    nodes: SketchSpace


def space(domain: Domain, width: int, depth: int, random: np.random.Generator) -> SketchSpace:
    keys = tuple(random.bytes(16).hex() for _ in range(depth))
    return SketchSpace(CountSketch(width=width, depth=depth), domain.space, keys)


def sketched(
    counts: NDArray[np.int64],
    nodes: SketchSpace,
    domain: Domain,
    *,
    rate: Fraction = Fraction(10**9),
    total: int | None = None,
    random: np.random.Generator | None = None,
) -> Sketched:
    """Return a release of a table given cell by cell; without `random` there is no noise.

    Its terms are those of cells with the same noise: answers take the rate and the noisy total from them.
    """
    buckets: Counter[tuple[int, int]] = Counter()
    for cell in product(*map(range, counts.shape)):
        for row in range(nodes.structure.depth):
            (bucket,), (sign,) = nodes.buckets(domain.space.pack(np.array([cell])), row)
            buckets[row, int(bucket)] += int(sign * counts[cell])
    rows, width = nodes.structure.depth, nodes.structure.width
    table = np.array([buckets[each] for each in product(range(rows), range(width))], dtype=np.int64)
    return released(table, nodes, domain, rate=rate, total=total, random=random)


def quickly(
    counts: NDArray[np.int64],
    nodes: SketchSpace,
    domain: Domain,
    *,
    rate: Fraction,
    random: np.random.Generator,
) -> Sketched:
    """Return the same for a larger table."""
    cells = np.argwhere(counts)
    keys, values = domain.space.pack(cells), counts[tuple(cells.T)]
    table = np.zeros(nodes.space.shape, dtype=np.int64)
    for row, own in enumerate(table):
        buckets, signs = nodes.buckets(keys, row)
        np.add.at(own, buckets, signs * values)
    return released(table.ravel(), nodes, domain, rate=rate, random=random)


def released(
    table: NDArray[np.int64],
    nodes: SketchSpace,
    domain: Domain,
    *,
    rate: Fraction,
    total: int | None = None,
    random: np.random.Generator | None = None,
) -> Sketched:
    """Return a release of these buckets."""
    if random is not None:
        chance = 1 - np.exp(-float(rate))
        table = table + random.geometric(chance, table.size) - random.geometric(chance, table.size)
    spent = Fraction(0) if total is None else Fraction(1)
    made = terms(
        domain,
        method=Everything(),
        rule=None,
        cutoff=None,
        threshold=None,
        epsilon=rate + spent,
        total_budget=spent,
        total=total,
    )
    codes = np.stack(np.unravel_index(np.arange(table.size), nodes.space.shape), axis=1)
    return Sketched(made, domain, codes.astype(np.int64), table, nodes)
