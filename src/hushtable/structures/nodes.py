"""The nodes of a structure over a domain: how many there are, and what one row can change.

Promise: the one place where a structure meets a domain. `per_cell` is the largest number of nodes that hold
one cell, each of which changes by as much as the cell does: it multiplies the sensitivity of what is counted.
Cost: nothing is listed; numbers follow from the sizes of attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.errors import BadChoice, shown
from hushtable.structures.addresses import MOST_BITS, Addresses, LineAddresses, MortonAddresses
from hushtable.structures.branching import BranchingTree
from hushtable.structures.cubes import CubeSpace, cube_space
from hushtable.structures.lines import LARGEST_LINE, Line
from hushtable.structures.settings import (
    MORTON,
    STRUCTURES,
    Cells,
    CountSketch,
    Dyadic,
    Haar,
    Hierarchy,
    Lifted,
    Marginals,
    ProductDyadic,
    Structure,
    Tree,
    name_of,
)
from hushtable.structures.sketches import SketchSpace
from hushtable.structures.trees import DyadicTree, HaarTree

Codes = NDArray[np.int64]
_EXAMPLES = {"sketch": "ht.CountSketch(width=10_000)", "marginals": 'ht.Marginals("all-1", "all-2")'}
_BY_NAME = [name for name in STRUCTURES if name not in _EXAMPLES]


class Intervals(NamedTuple):
    """Of each row, the level along every axis, and the codes of every attribute at both ends."""

    levels: NDArray[np.int32]
    firsts: Codes
    lasts: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Cells in a line, and the tree over them."""

    line: Line
    tree: DyadicTree | HaarTree


@dataclass(frozen=True, eq=False)
class NodeSpace:
    """The nodes of a tree: one for each combination of nodes of its axes, of which there are one or two."""

    structure: Lifted
    axes: tuple[Axis, ...]

    @cached_property
    def space(self) -> KeySpace:
        """Nodes as cells: a code for each axis is the number of the axis's node."""
        return KeySpace([axis.tree.nodes_total for axis in self.axes])

    @property
    def nodes_total(self) -> int:
        """The number of nodes."""
        return self.space.cells_total

    @property
    def per_cell(self) -> int:
        """The largest number of nodes that hold one cell."""
        return prod(axis.tree.levels for axis in self.axes)

    @property
    def share(self) -> int:
        """The share of a level: all have the same."""
        return 1

    def intervals(self, codes: Codes) -> Intervals:
        """Return the intervals of nodes."""
        shape = len(codes), sum(len(axis.line.places) for axis in self.axes)
        levels = np.empty(codes.shape, dtype=np.int32)
        firsts, lasts = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        for number, axis in enumerate(self.axes):
            nodes, places = codes[:, number], list(axis.line.places)
            levels[:, number] = axis.tree.level_of(nodes)
            firsts[:, places] = axis.line.codes(axis.tree.firsts(nodes))
            lasts[:, places] = axis.line.codes(axis.tree.lasts(nodes))
        return Intervals(levels, firsts, lasts)

    def nodes_at(self, levels: NDArray[np.int32], firsts: Codes) -> Codes:
        """Return the nodes that begin with these cells, or any others where none does."""
        codes = np.empty(levels.shape, dtype=np.int64)
        for number, axis in enumerate(self.axes):
            level = np.clip(levels[:, number], 0, axis.tree.levels - 1)
            nodes = axis.tree.nodes_at(level, axis.line.positions(firsts))
            # Splits end before the line does where a right half would be padding.
            codes[:, number] = np.minimum(nodes, axis.tree.nodes_total - 1)
        return codes

    @property
    def consistent_tree(self) -> DyadicTree | None:
        """The tree, if its nodes are published only with all ranges that they lie in."""
        tree = self.axes[0].tree
        consistent = isinstance(self.structure, Dyadic) and self.structure.consistent
        return tree if consistent and isinstance(tree, DyadicTree) else None


@dataclass(frozen=True, eq=False)
class PrunedSpace:
    """The nodes of a tree that is published from the root down, over cells with addresses."""

    structure: Tree
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
        """The number of nodes that hold one cell, each times the share of its level."""
        return sum(self.tree.shares)

    @property
    def share(self) -> int:
        """The share of a level, the root's excepted."""
        return self.tree.shares[-1]

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


Nodes: TypeAlias = NodeSpace | PrunedSpace
Noised: TypeAlias = Nodes | SketchSpace | CubeSpace  # whatever is published in place of cells


def published_units(structure: Structure, domain: Domain) -> tuple[int, int]:
    """Return how many cells or nodes there are, and the largest number of them that one row changes."""
    if isinstance(structure, CountSketch):
        return structure.width * structure.depth, structure.depth
    noised = noised_space(structure, domain)
    return (domain.cells_total, 1) if noised is None else (noised.nodes_total, noised.per_cell)


def noised_space(structure: Structure, domain: Domain, *, keys: Sequence[str] = ()) -> Noised | None:
    """Return what a structure publishes of a domain, or None for its cells; a sketch hashes by the keys."""
    match structure:
        case Cells():
            return None
        case CountSketch():
            return SketchSpace(structure, domain.space, tuple(keys))
        case Marginals():
            return cube_space(structure, domain)
    return node_space(structure, domain)


def as_structure(choice: object) -> Structure:
    """Return the structure that is meant: an instance, a name, or None for cells.

    >>> as_structure("haar")
    Haar(order=None)
    """
    if choice is None:
        return Cells()
    if isinstance(choice, Structure):
        return choice
    if isinstance(choice, str) and choice in _BY_NAME:
        made: Structure = STRUCTURES[choice]()
        return made
    if isinstance(choice, str) and choice in _EXAMPLES:
        raise BadChoice(f"the structure {choice!r} needs settings", f"Give {_EXAMPLES[choice]}.")
    hint = f"Give ht.Tree(), ht.Dyadic(), {_EXAMPLES['sketch']}, or a name: {', '.join(_BY_NAME)}."
    raise BadChoice(f"there is no structure {shown(choice)}", hint)


@overload
def node_space(structure: Lifted, domain: Domain) -> NodeSpace: ...
@overload
def node_space(structure: Tree, domain: Domain) -> PrunedSpace: ...
def node_space(structure: Hierarchy, domain: Domain) -> Nodes:
    """Return the nodes of a structure over a domain, or raise `BadChoice` if they do not fit."""
    return nodes_over(structure, domain.shape, places=ordered_places(structure, domain))


@overload
def nodes_over(structure: Lifted, shape: Sequence[int], *, places: Sequence[int]) -> NodeSpace: ...
@overload
def nodes_over(structure: Tree, shape: Sequence[int], *, places: Sequence[int]) -> PrunedSpace: ...
def nodes_over(structure: Hierarchy, shape: Sequence[int], *, places: Sequence[int]) -> Nodes:
    """Return the nodes over attributes of these sizes, taken in the order of their places."""
    if isinstance(structure, Tree) and structure.order == MORTON:
        addresses: Addresses = MortonAddresses(shape)
        if addresses.bits > MOST_BITS:
            fact = (
                f"the codes of the attributes have {addresses.bits} bits, and z-order takes up to {MOST_BITS}"
            )
            raise BadChoice(fact, "Declare fewer or coarser attributes, or leave the structure out.")
        return PrunedSpace(structure, BranchingTree(addresses, branching=structure.branching))
    kind = HaarTree if isinstance(structure, Haar) else DyadicTree
    if isinstance(structure, ProductDyadic):
        if len(places) != 2:
            fact = f"the structure 'product-dyadic' needs two attributes, and the domain has {len(places)}"
            raise BadChoice(fact, "Take 'dyadic', or a domain of two attributes.")
        lines = [Line(shape, places=(place,)) for place in places]
    else:
        lines = [Line(shape, places=places)]
    for line in lines:
        if line.cells > LARGEST_LINE:
            fact = f"the structure {name_of(structure)!r} takes up to 2^60 cells in a line"
            raise BadChoice(fact, "Declare fewer or coarser attributes, or leave the structure out.")
    if isinstance(structure, Tree):
        return PrunedSpace(structure, BranchingTree(LineAddresses(lines[0]), branching=structure.branching))
    return NodeSpace(structure, tuple(Axis(line, kind(line.cells)) for line in lines))


def ordered_places(structure: Hierarchy, domain: Domain) -> tuple[int, ...]:
    """Return the places of all attributes: those that the order names first, then the others as declared."""
    named = () if structure.order is None or structure.order == MORTON else structure.order
    places = {name: place for place, name in enumerate(domain.names)}
    for name in named:
        if name not in places:
            fact = f"the order names {shown(name)}, which is no attribute"
            raise BadChoice(fact, f"There are {', '.join(map(shown, domain.names))}.")
    first = dict.fromkeys(places[name] for name in named)
    return (*first, *(place for place in range(len(domain.names)) if place not in first))
