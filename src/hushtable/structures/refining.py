"""A tree whose levels are those of attributes: a node is a product of values of some of them.

The root is everything. Each level refines some attributes by one stage (`chains`), in turn; the children of a
node are all products of the finer values, so they differ in number from node to node. Cells stand in a line,
in the order of the attributes as they are refined, so that every node of every level is a range of
neighbours. A node is known by its level and its first *position* in that line.

Promise: positions are 0 to m - 1, one for each cell of the finest level, without gaps. Every cell lies in one
node of each level. Nodes are numbered level by level, in the order of their positions.
Cost: some operations on arrays for each refinement of an attribute; nothing is listed but what `Chain` lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadChoice
from hushtable.laws.law import NoiseLaw
from hushtable.structures.chains import Chain, Numbers

MOST_NUMBERS = 1 << 62
_USUAL = 4  # the share of a level, where the root has 1
_PRECISION = 1000  # of weights: a part of the largest
_AT_ONCE = 1 << 14  # cells whose positions are found together: arrays so small are used again at once


class Step(NamedTuple):
    """An attribute that is refined: its axis, and the stage that it comes to."""

    axis: int
    stage: int


class Family(NamedTuple):
    """Children of nodes: their first positions, their parents' places, and their ranks along each axis."""

    positions: Numbers
    owners: NDArray[np.intp]
    starts: list[Numbers]
    stops: list[Numbers]


class RefinedTree:
    """A tree over chains of attributes; `levels` are the steps to each level below the root.

    >>> from hushtable.domain.attributes import Attribute
    >>> from hushtable.domain.kinds import Categories
    >>> from hushtable.domain.levels import category_levels
    >>> towns = Categories(values=("A-1", "A-2", "A-3", "B-1"))
    >>> home = Attribute(name="home", values=towns, levels=category_levels(towns, {"county": 1}))
    >>> tree = RefinedTree([Chain(home, (1, 0))], [[Step(0, 1)], [Step(0, 2)]])
    >>> tree.levels, tree.cells, tree.nodes_at
    (3, 4, (1, 2, 4))
    >>> [each.tolist() for each in tree.family(np.array([0, 3]), 1)]
    [[0, 1, 2, 3], [0, 0, 0, 1]]
    """

    def __init__(
        self,
        chains: Sequence[Chain],
        levels: Sequence[Sequence[Step]],
        *,
        shares: Sequence[int] | None = None,
        staying: int = 1,
    ) -> None:
        self.chains, self.steps = tuple(chains), tuple(map(tuple, levels))
        self.levels = 1 + len(self.steps)
        self.cells = prod(chain.size for chain in self.chains)
        if self.cells * self.levels > MOST_NUMBERS:
            fact = f"the finest level of the hierarchy has {self.cells:,} nodes"
            raise BadChoice(
                fact, f"Up to {MOST_NUMBERS // self.levels:,} are allowed: end at a coarser level."
            )
        self.offsets = tuple(level * self.cells for level in range(self.levels))
        self.nodes_total = self.levels * self.cells  # as numbers, of which few are nodes
        self.stages: list[tuple[int, ...]] = [(0,) * len(self.chains)]
        for steps in self.steps:
            stages = list(self.stages[-1])
            for step in steps:
                stages[step.axis] = step.stage
            self.stages.append(tuple(stages))
        # How many nodes there are on each level.
        self.nodes_at = tuple(
            prod(chain.sizes[stage] for chain, stage in zip(self.chains, stages, strict=True))
            for stages in self.stages
        )
        self.shares = (1, *(_USUAL,) * (self.levels - 1)) if shares is None else tuple(shares)
        self.staying = staying  # so many levels have all of their nodes

    def __repr__(self) -> str:
        return f"RefinedTree(levels={self.levels}, cells={self.cells})"

    @property
    def least_share(self) -> int:
        """The smallest share of epsilon that a level has, the root's excepted."""
        return min(self.shares[1:], default=self.shares[0])

    @cached_property
    def siblings(self) -> tuple[int, ...]:
        """How many children the parent of a node has on average over the nodes of a level, rounded up."""
        found = [1]
        for steps, before in zip(self.steps, self.stages[:-1], strict=True):
            own = 1
            for step in steps:
                chain, stage = self.chains[step.axis], before[step.axis]
                starts, stops = chain.bounds(stage, np.arange(chain.sizes[stage], dtype=np.int64))
                numbers = _held(chain, step.stage, starts, stops)
                # In Python's own integers: squares of large numbers are exact.
                squares = sum(int(each) ** 2 for each in numbers.tolist())
                own *= -(-squares // chain.sizes[step.stage])
            found.append(own)
        return tuple(found)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What counts of each level are multiplied by where they are compared.

        They are as the inverse of how far noise reaches that would make a level grow: a level with a larger
        share of epsilon, or with fewer children a node, has a lower cutoff.
        """
        parts = [share * 10**9 // _folds(own) for share, own in zip(self.shares, self.siblings, strict=True)]
        most = max(parts[1:], default=1)
        return (1, *(max(1, part * _PRECISION // most) for part in parts[1:]))

    @property
    def unit(self) -> int:
        """The smallest of the weights, the root's excepted."""
        return min(self.weights[1:], default=1)

    def cutoff_at(self, level: int, cutoff: float) -> float:
        """Return the cutoff of a level, where the largest is given."""
        return cutoff * self.unit / self.weights[level] if level else cutoff

    def level_of(self, nodes: Numbers) -> NDArray[np.intp]:
        """Return the level of each node, 0 at the root."""
        return (nodes // self.cells).astype(np.intp)

    def of(self, codes: NDArray[np.integer], places: Sequence[int]) -> Numbers:
        """Return the positions of cells by their codes, which the attributes at `places` of a domain have."""
        found = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), _AT_ONCE):
            part = codes[start : start + _AT_ONCE]
            ranks = [
                chain.ranks(part[:, place].astype(np.int64, copy=False))
                for chain, place in zip(self.chains, places, strict=True)
            ]
            found[start : start + _AT_ONCE] = self.positions(ranks, self.levels - 1)
        return found

    def positions(self, ranks: Sequence[Numbers], level: int) -> Numbers:
        """Return the first positions of the nodes of a level that hold these ranks."""
        found = np.zeros(ranks[0].size, dtype=np.int64)
        walk = _Walk(self.chains, found.size)
        for step in (step for steps in self.steps[:level] for step in steps):
            found += walk.to(step, self.chains[step.axis].values(step.stage, ranks[step.axis]))
        return found

    def boxes(self, positions: Numbers, level: int) -> tuple[Numbers, Numbers]:
        """Return where nodes of a level start and stop, in ranks of each axis, by any position in each."""
        walk, _ = self._walked(positions, level)
        return np.stack(walk.starts, axis=1), np.stack(walk.stops, axis=1)

    def _walked(self, positions: Numbers, level: int) -> tuple[_Walk, Numbers]:
        """Go down to nodes of a level; return them, and how far behind their first position each one lies."""
        rest, walk = positions.copy(), _Walk(self.chains, positions.size)
        for step in (step for steps in self.steps[:level] for step in steps):
            others = walk.others(step.axis)
            ranks = rest // others
            ranks += walk.starts[step.axis]
            rest -= walk.to(step, self.chains[step.axis].values(step.stage, ranks), others)
        return walk, rest

    def parents(self, nodes: Numbers, level: int) -> Numbers:
        """Return the parents of nodes of a level >= 1, by their numbers."""
        positions = nodes - self.offsets[level]
        _, rest = self._walked(positions, level - 1)
        found: Numbers = positions - rest + self.offsets[level - 1]
        return found

    def are_nodes(self, positions: Numbers, level: int) -> NDArray[np.bool_]:
        """Return which positions are the first of a node of a level."""
        _, rest = self._walked(positions, level)
        found: NDArray[np.bool_] = rest == 0
        return found

    def width(self, level: int) -> None:
        """Children of a node differ in number: there is no width."""
        return

    def family(self, positions: Numbers, level: int) -> tuple[Numbers, NDArray[np.intp]]:
        """Return the first positions of all children, node by node, and the places of their parents."""
        found = self.family_within(positions, level)
        return found.positions, found.owners

    def family_within(
        self, positions: Numbers, level: int, limits: Sequence[tuple[Numbers, Numbers]] | None = None
    ) -> Family:
        """Return the children of nodes that meet the ranks from and below these limits, one pair an axis."""
        walk, _ = self._walked(positions, level)
        owners = np.arange(positions.size)
        found = positions
        for step in self.steps[level]:
            chain = self.chains[step.axis]
            starts, stops = walk.starts[step.axis], walk.stops[step.axis]
            if limits is not None:
                low, high = limits[step.axis]
                starts, stops = np.maximum(starts, low[owners]), np.minimum(stops, high[owners])
            firsts = chain.values(step.stage, starts)
            numbers = chain.values(step.stage, stops - 1) - firsts + 1
            rows = np.repeat(np.arange(found.size), numbers)
            index = np.arange(rows.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
            walk = walk.taken(rows)
            found = found[rows] + walk.to(step, firsts[rows] + index)
            owners = owners[rows]
        return Family(found, owners, walk.starts, walk.stops)

    def holding(self, positions: Numbers, level: int) -> Numbers:
        """Return the first positions of the nodes of a level that hold these positions."""
        if level == self.levels - 1:
            return positions
        found = np.empty_like(positions)
        for start in range(0, positions.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            _, rest = self._walked(positions[part], level)
            found[part] = positions[part] - rest
        return found

    def places_among(self, positions: Numbers, level: int) -> Numbers:
        """Return which child each node below a level is, among all of its parent's, from 0 on."""
        walk, rest = self._walked(positions, level)
        found = np.zeros(positions.size, dtype=np.int64)
        for step in self.steps[level]:
            chain = self.chains[step.axis]
            start, stop = walk.starts[step.axis], walk.stops[step.axis]
            others, first = walk.others(step.axis), chain.values(step.stage, start)
            value = chain.values(step.stage, start + rest // others)
            found = found * (chain.values(step.stage, stop - 1) - first + 1) + value - first
            rest = rest - walk.to(step, value, others)
        return found

    def child_at(self, positions: Numbers, level: int, places: Numbers) -> Numbers:
        """Return the first positions of children of nodes, by their places among all of each node's."""
        walk, _ = self._walked(positions, level)
        numbers = [
            _held(self.chains[step.axis], step.stage, walk.starts[step.axis], walk.stops[step.axis])
            for step in self.steps[level]
        ]
        found, rest = positions.copy(), places
        for number, step in enumerate(self.steps[level]):
            below = np.ones(positions.size, dtype=np.int64)
            for each in numbers[number + 1 :]:
                below *= each
            digit, rest = np.divmod(rest, below)
            first = self.chains[step.axis].values(step.stage, walk.starts[step.axis])
            found += walk.to(step, first + digit)
        return found

    def first_addresses(self, positions: Numbers, level: int) -> Numbers:
        """Return the first positions of nodes: what they are known by."""
        return positions

    def branches(self, positions: Numbers, level: int) -> Numbers:
        """Return how many children each node has."""
        walk, _ = self._walked(positions, level)
        found = np.ones(positions.size, dtype=np.int64)
        for axis, stage in _last(self.steps[level]).items():
            found *= _held(self.chains[axis], stage, walk.starts[axis], walk.stops[axis])
        return found

    def cells_of(self, positions: Numbers, level: int) -> Numbers:
        """Return how many cells each node has."""
        starts, stops = self.boxes(positions, level)
        found: Numbers = np.prod(stops - starts, axis=1)
        return found


class _Walk:
    """The way down to nodes: for each axis, where their ranks start and stop."""

    def __init__(self, chains: Sequence[Chain], size: int) -> None:
        self._chains = chains
        self.starts = [np.zeros(size, dtype=np.int64) for _ in chains]
        self.stops = [np.full(size, chain.size, dtype=np.int64) for chain in chains]

    def others(self, axis: int) -> Numbers | int:
        """Return how many cells there are for each rank along an axis."""
        found: Numbers | int = 1
        for place, (start, stop) in enumerate(zip(self.starts, self.stops, strict=True)):
            if place != axis:
                found = stop - start if isinstance(found, int) else found * (stop - start)
        return found

    def to(self, step: Step, values: Numbers, others: Numbers | int | None = None) -> Numbers:
        """Go to these values of the axis that is refined; return how many cells lie before them."""
        start, stop = self._chains[step.axis].bounds(step.stage, values)
        before: Numbers = start - self.starts[step.axis]
        before *= self.others(step.axis) if others is None else others
        self.starts[step.axis], self.stops[step.axis] = start, stop
        return before

    def taken(self, rows: NDArray[np.intp]) -> _Walk:
        """Return some of the ways, perhaps several times."""
        found = _Walk(self._chains, 0)
        found.starts = [each[rows] for each in self.starts]
        found.stops = [each[rows] for each in self.stops]
        return found


def _held(chain: Chain, stage: int, starts: Numbers, stops: Numbers) -> Numbers:
    """Return how many values of a stage lie within these ranks, which are those of coarser values."""
    found: Numbers = chain.values(stage, stops - 1) - chain.values(stage, starts) + 1
    return found


def _last(steps: Sequence[Step]) -> dict[int, int]:
    """Return the stage that each axis comes to."""
    return {step.axis: step.stage for step in steps}


def _folds(siblings: int) -> int:
    """Return ln(b/2) + 2 for b children, and at least 2, in thousandths: from lengths of whole numbers alone.

    Everybody who reads a file must find the same weights, whatever their processor makes of a logarithm.
    """
    sixteenths = (max(siblings, 2) ** 16).bit_length() - 1
    return 2000 + max(sixteenths - 16, 0) * 693 // 16


def growing_at(tree: RefinedTree, laws: Sequence[NoiseLaw]) -> int:
    """Return the smallest weighed count at which noise alone makes no level grow: public.

    An empty node sends b P[X >= c] of its b children over a cutoff c on average: about 1/e^2 at a
    distance of ln(b/2) + 2 folds of the noise.
    """
    levels = zip(laws, tree.weights, tree.siblings, strict=True)
    found = [
        -int(-law.floats.distance(_folds(own) / 1000) * weight // 1)
        for level, (law, weight, own) in enumerate(levels)
        if level >= tree.staying
    ]
    return max(1, *found) if found else 1
