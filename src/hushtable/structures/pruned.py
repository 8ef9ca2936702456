"""A tree that is published from the root down, to where noise hides the counts.

Promise: every published node comes with all nodes above it; weights add up to the total.
Cost: nothing is listed; numbers follow from the sizes of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace, ascending
from hushtable.errors import BadChoice, BadRelease, BadTable, InternalError, shown
from hushtable.laws.law import NoiseLaw
from hushtable.structures.addresses import MOST_BITS, Addresses, LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.halving import own_masses
from hushtable.structures.intervals import Intervals, check_codes, codes_in, columns_of
from hushtable.structures.orders import (
    MORTON,
    in_order,
    line_of,
    listed,
    order_entry,
    ordered_places,
    places_of_codes,
    store_order,
)
from hushtable.structures.pruning import PrunedStructure
from hushtable.structures.structure import HINT, Codes, Column, Entry, NodeSpace

if TYPE_CHECKING:
    import pyarrow as pa

_LARGEST_SHARE = 1000
_LEAST_DEVIATION = 1e-100  # in place of 0, where it divides
_BRANCHINGS = tuple(1 << bits for bits in range(1, 11))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree(PrunedStructure):
    """A tree of ranges, up to `branching` children per node, published down to where noise hides counts.

    `order` names attributes, as in `Dyadic`; `order="morton"` halves all attributes in turn instead, so that
    nodes are boxes: for questions about several attributes at once. `shares` says how levels share epsilon,
    the root first; left out, the root has a fixed part, and its noisy count decides over the rest. A release
    has the shares that it was drawn with.

    >>> Tree(order="morton")
    Tree(branching=16, order='morton')
    """

    name: ClassVar[str] = "tree"

    branching: int = 16
    order: Sequence[str] | str | None = None
    # What a release was drawn with does not make it another tree than the one that was asked for.
    shares: Sequence[int] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if type(self.branching) is not int or self.branching not in _BRANCHINGS:
            hint = f"Give a power of 2: {', '.join(map(str, _BRANCHINGS))}."
            raise BadChoice(f"branching={shown(self.branching)} is not allowed", hint)
        if self.order != MORTON:
            store_order(self, self.order)
        if self.shares is not None:
            shares = self.shares if type(self.shares) in (list, tuple) else ()
            if not shares or not all(type(each) is int and 0 < each <= _LARGEST_SHARE for each in shares):
                hint = (
                    f"Give whole numbers from 1 to {_LARGEST_SHARE:,}, one for each level, the root's first."
                )
                raise BadChoice(f"shares={shown(self.shares)} is not allowed", hint)
            object.__setattr__(self, "shares", tuple(self.shares))

    def __repr__(self) -> str:
        shares = "" if self.shares is None else f", shares={self.shares!r}"
        return f"Tree(branching={self.branching}, order={self.order!r}{shares})"

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a pruned tree"

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> PrunedSpace:
        """Return the nodes over a domain."""
        return self._over(domain.shape, ordered_places(self.order, domain))

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> PrunedSpace:
        """Return the nodes over attributes of these sizes."""
        return self._over(shape, places_of_codes(self.order, shape))

    def _over(self, shape: Sequence[int], places: Sequence[int]) -> PrunedSpace:
        if self.order != MORTON:
            addresses: Addresses = LineAddresses(line_of(shape, places, name=self.name))
        else:
            addresses = MortonAddresses(shape)
            if addresses.bits > MOST_BITS:
                fact = f"the codes of the attributes have {addresses.bits} bits, and z-order takes up to "
                hint = "Declare fewer or coarser attributes, or leave the structure out."
                raise BadChoice(f"{fact}{MOST_BITS}", hint)
        tree = BranchingTree(addresses, branching=self.branching)
        if self.shares is not None:
            if len(self.shares) != tree.levels:
                fact = f"shares={shown(self.shares)} does not fit a tree of {tree.levels} levels"
                raise BadChoice(fact, "Give a share for each level, the root's first, or leave shares out.")
            tree = BranchingTree(addresses, branching=self.branching, shares=self.shares)
        return PrunedSpace(self, tree)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        shares = {} if self.shares is None else {"shares": list(self.shares)}
        return {"order": order_entry(self.order), "branching": self.branching} | shares

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(
            order=entry("order", list | str | None),
            branching=entry("branching", int),
            shares=entry("shares", list | None),
        )


@dataclass(frozen=True, eq=False, slots=True)
class PrunedSpace(NodeSpace):
    """The nodes of a tree that is published from the root down, over cells with addresses."""

    structure: Tree = field()
    tree: BranchingTree

    @cached_property
    def space(self) -> KeySpace:
        """Nodes as cells; some numbers are of padding, and never published."""
        return KeySpace([self.tree.nodes_total])

    @property
    def nodes_total(self) -> int:
        """The number of nodes that have cells."""
        return sum(map(self.tree.addresses.prefixes, self.tree.shifts))

    @property
    def per_cell(self) -> int:
        """The number of nodes that hold one cell, each multiplied by the share of its level."""
        return sum(self.tree.shares)

    @property
    def share(self) -> int:
        """The share of a level, the root's excepted."""
        return self.tree.least_share

    def shared_by(self, root: float, law_at: Callable[[int], NoiseLaw]) -> PrunedSpace:
        """Return the nodes with shares of the levels that suit the noisy count of the root: public."""
        if self.structure.shares is not None:
            return self
        tree = self.tree.shared_by(root / max(sqrt(law_at(self.per_cell).floats.variance), _LEAST_DEVIATION))
        if tree.shares[0] != self.tree.shares[0] or sum(tree.shares) != self.per_cell or min(tree.shares) < 1:
            raise InternalError("the shares of the levels cost another epsilon than was paid")
        return PrunedSpace(replace(self.structure, shares=tree.shares), tree)

    @property
    def levels(self) -> int:
        """The number of nodes that hold one cell, each counted once."""
        return self.tree.levels

    @property
    def rooted_tree(self) -> BranchingTree:
        """The tree."""
        return self.tree

    def named(self, domain: Domain) -> str:
        """Return what is published in place of cells, over which attributes."""
        order, zigzag = self.structure.order, ", in z-order," * (self.structure.order == MORTON)
        said = f"a pruned tree of branching {self.structure.branching}{zigzag}"
        return f"{said} over {listed(in_order(order, domain.names))}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the level of a node, and the values at its first and last cell."""
        columns = [Column("level", "level")]
        for place, name in enumerate(domain.names):
            columns += [Column(name, "first", place), Column(f"{name}_last", "last", place)]
        return columns

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the columns of rows with these codes."""
        check_codes(self.space, codes)
        if not self.have_cells(codes):
            raise BadTable("codes of nodes are of padding", "They come from another domain or structure.")
        return columns_of(self, domain, codes)

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes that columns of a file say: a tree with its root, without gaps."""
        codes = codes_in(self, domain, table)
        if ascending(self.space.pack(codes)) and not self.are_rooted(codes):
            raise BadRelease("its rows are a tree without its root, or without a node above another", HINT)
        return codes

    def weights(
        self,
        codes: Codes,
        counts: NDArray[np.int64],
        *,
        law_at: Callable[[int], NoiseLaw],
        cutoff: float | None,
        threshold: float | None,
    ) -> NDArray[np.float64]:
        """Return the mass of each node that it does not give to a published child."""
        laws = [law_at(share) for share in self.tree.shares]
        return own_masses(self.tree, codes[:, 0], counts, laws=laws, cutoff=cutoff or 1.0)

    def intervals(self, codes: Codes) -> Intervals:
        """Return the intervals of nodes: ranges of the line, or boxes."""
        nodes, addresses = codes[:, 0], self.tree.addresses
        levels = self.tree.level_of(nodes)
        ends = np.empty((2, len(nodes), addresses.dimensions), dtype=np.int64)
        for level, (shift, offset) in enumerate(zip(self.tree.shifts, self.tree.offsets, strict=True)):
            rows = np.flatnonzero(levels == level)
            ends[:, rows] = addresses.boxes(nodes[rows] - offset, shift)
        firsts, lasts = addresses.codes(ends[0]), addresses.codes(np.maximum(ends[1] - 1, ends[0]))
        return Intervals(levels[:, np.newaxis].astype(np.int32), firsts, lasts)

    def nodes_at(self, levels: NDArray[np.int32], firsts: Codes) -> Codes:
        """Return the nodes that begin with these cells, or any others where none does."""
        level = np.clip(levels, 0, self.tree.levels - 1)
        shifts, offsets = np.array(self.tree.shifts)[level], np.array(self.tree.offsets)[level]
        found: Codes = (self.tree.addresses.of(firsts)[:, np.newaxis] >> shifts) + offsets
        return found

    def have_cells(self, codes: Codes) -> bool:
        """Return whether none of these nodes is padding."""
        nodes, levels = codes[:, 0], self.tree.level_of(codes[:, 0])
        return all(
            self.tree.cells_of(nodes[levels == level] - offset, level).all()
            for level, offset in enumerate(self.tree.offsets)
        )

    def are_rooted(self, codes: Codes) -> bool:
        """Return whether ascending nodes have the root among them, and each the node above it."""
        nodes = codes[:, 0]
        levels = self.tree.level_of(nodes)
        above = [self.tree.parents(nodes[levels == level], level) for level in range(1, self.tree.levels)]
        return bool(np.isin(np.concatenate([np.zeros(1, dtype=np.int64), *above]), nodes).all())
