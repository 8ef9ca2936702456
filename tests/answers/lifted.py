"""Trees of known tables, by the slow way: every node, its noise, and the summary as it is defined."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.methods.settings import Everything, FilterPriority, Method, Priority
from hushtable.release.terms import Terms
from hushtable.structures.axes import Axis, AxisSpace
from hushtable.structures.axes import Ordered as Structured
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.trees import DyadicTree, HaarTree
from tests.harness.nodes import node_space
from tests.release.examples import tree_terms


class Lifted(NamedTuple):
    """What answers need of a release."""

    terms: Terms
    domain: Domain
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


def matrix(axis: Axis) -> NDArray[np.int64]:
    """How much of each cell (columns) goes into each node (rows)."""
    tree, cells = axis.tree, np.arange(axis.line.cells)
    nodes = np.arange(tree.nodes_total)
    firsts, lasts = tree.firsts(nodes)[:, np.newaxis], tree.lasts(nodes)[:, np.newaxis]
    inside = ((firsts <= cells) & (cells <= lasts)).astype(np.int64)
    if isinstance(tree, HaarTree):
        halves = firsts + np.array(tree.widths)[tree.level_of(nodes)][:, np.newaxis] // 2
        inside[1:] *= np.where(cells < halves, 1, -1)[1:]
    return inside


def true_values(nodes: AxisSpace, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value of each node, in the order of node codes, of a table given cell by cell."""
    places = [place for axis in nodes.axes for place in axis.line.places]
    values = counts.transpose(places).reshape([axis.line.cells for axis in nodes.axes])
    for number, axis in enumerate(nodes.axes):
        values = np.moveaxis(np.tensordot(matrix(axis), values, axes=(1, number)), 0, number)
    return values.ravel()


def exactly(structure: Structured, domain: Domain, counts: NDArray[np.int64]) -> Lifted:
    """A release of every node with its true value, and so large an epsilon that there is no noise."""
    nodes = node_space(structure, domain)
    made = tree_terms(structure, domain, method=Everything(), cutoff=None, epsilon=Fraction(10**9))
    codes = np.stack(np.unravel_index(np.arange(nodes.nodes_total), nodes.space.shape), axis=1)
    return Lifted(made, domain, codes.astype(np.int64), true_values(nodes, counts))


def passed(nodes: AxisSpace, reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The nodes that reached the cutoff together with all nodes above them."""
    tree = nodes.axes[0].tree
    assert isinstance(tree, DyadicTree)
    kept = reached.copy()
    for level in range(1, tree.levels):
        here = np.arange(tree.counts[level]) + tree.offsets[level]
        kept[here] &= kept[tree.parents(here, level)]
    return kept


def simulated(
    made: Terms, values: NDArray[np.int64], random: np.random.Generator, *, rate: float | None = None
) -> Lifted:
    """A release on these terms: their cutoff, and their threshold or that of a priority sample of its size.

    `rate` is that of the noise, if it is another one than the terms say.
    """
    nodes, method = made.nodes, made.method
    assert nodes is not None
    two_sided = not method.nonnegative if isinstance(method, Everything) else method.two_sided
    decay = np.exp(-(float(made.rate) if rate is None else rate))
    noise = random.geometric(1 - decay, len(values)) - random.geometric(1 - decay, len(values))
    noisy = values + noise
    size = np.abs(noisy) if two_sided else np.maximum(noisy, 0)
    if isinstance(method, Everything):
        kept = np.ones(len(values), dtype=np.bool_)
        noisy = noisy if two_sided else size
    else:
        kept = size >= max(1.0, made.cutoff or 0.0)
    if isinstance(nodes.structure, Dyadic) and nodes.structure.consistent:
        kept = passed(nodes, kept)  # type: ignore[arg-type]
    threshold = made.threshold
    if threshold or isinstance(method, Priority | FilterPriority):
        priorities = np.where(kept, size / (1 - random.random(len(values))), 0.0)
        if isinstance(method, Priority | FilterPriority):
            threshold = float(np.sort(priorities)[-method.size - 1])
        kept = priorities > (threshold or 0.0)
    rows = np.flatnonzero(kept)
    codes = np.stack(np.unravel_index(rows, nodes.space.shape), axis=1).astype(np.int64)
    said = {name: getattr(made, name) for name in made.__dataclass_fields__} | {"threshold": threshold}
    return Lifted(Terms(**said), made.domain, codes, noisy[rows])


def terms_of(structure: Structured, domain: Domain, method: Method, **said: object) -> Terms:
    """Terms with the cutoff and the threshold of the method."""
    numbers = {name: getattr(method, name, None) for name in ("cutoff", "threshold")}
    plain = {name: None if value is None else float(value) for name, value in numbers.items()}
    return tree_terms(structure, domain, method=method, rule=None, **plain | said)
