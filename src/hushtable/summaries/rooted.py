"""Trees from the root down: a node is looked at only if its parent is kept.

A node's *rank* is the smallest noisy count on the path from the root to it, itself included (of a pruned
tree, the root's is above all, and counts are weighed by their levels' shares of epsilon, so that all have the
same noise). The nodes whose ranks reach a cutoff are those that filtering all nodes would
leave, without the ones that have an absent ancestor. A tree of `size` nodes has those of the largest ranks;
among equal ranks the node nearer to the root comes first, and chance decides between equal levels.

Promise: the law of adding noise to every node of the whole tree and taking the same nodes of it
(`laborious.rooted`, `largest_rooted`), whatever cutoffs are tried on the way. Nodes keep the noise that they
got when they were looked at; none is drawn twice. Proof: PROOF.md here, steps 10 to 13.
Cost: time and memory follow `branching` times the nodes kept, plus one pass over the occupied cells.
Source: Cormode, Procopiuc, Srivastava, Tran, section 3, "Consistency Checks for Dyadic Ranges".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import ascending, sorting_order
from hushtable.laws.acceptance import LARGEST_NOISY
from hushtable.laws.law import NoiseLaw
from hushtable.noise import BitSource
from hushtable.structures.addresses import Numbers
from hushtable.structures.branching import BranchingTree
from hushtable.structures.paths import LARGEST_RANK, PrunableTree, weighed_counts
from hushtable.summaries.candidates import noisy
from hushtable.summaries.largest import largest_counts
from hushtable.table.sparse import SparseTable

_FEW = 4  # occupied cells a child up to which they are looked at one by one


class Occupied:
    """Occupied cells in the order of their addresses, and sums over ranges of them. Private."""

    def __init__(self, addresses: Numbers, counts: Numbers) -> None:
        if not ascending(addresses.view(np.uint64)[np.newaxis]):
            order = sorting_order(addresses.view(np.uint64)[np.newaxis])
            addresses, counts = addresses[order], counts[order]
        self.addresses = addresses
        # Two halves, so that no sum wraps; one, where it cannot.
        sizes = max(int(counts.max(initial=0)), -int(counts.min(initial=0))) * counts.size
        halves = (counts >> 32, counts & 0xFFFFFFFF) if sizes >> 60 else (counts,)
        self._running = [np.zeros(counts.size + 1, dtype=np.int64) for _ in halves]
        for running, half in zip(self._running, halves, strict=True):
            np.cumsum(half, out=running[1:])

    @classmethod
    def of_packed(cls, packed: Numbers, *, bits: int) -> Occupied:
        """Return cells that come as addresses with counts of so many bits behind them; the array is used up.

        Sorting such numbers takes neither time nor memory for places.
        """
        packed.sort()
        running = np.zeros(packed.size + 1, dtype=np.int64)
        np.bitwise_and(packed, (1 << bits) - 1, out=running[1:])
        if int(running.max()) * packed.size >> 60:
            return cls(packed >> bits, running[1:])
        found = cls.__new__(cls)
        packed >>= bits
        found.addresses, found._running = packed, [np.cumsum(running, out=running)]
        return found

    def edges(
        self, firsts: Numbers, owners: NDArray[np.intp], begins: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return where the cells of children begin and end, of shape (children, 2).

        Children are given by their first addresses, node by node, with the place of the node above each; of
        these it is known where their cells begin and end.
        """
        found = np.empty((firsts.size, 2), dtype=np.intp)
        found[:, 0] = begins[owners]
        some = np.flatnonzero((begins < ends)[owners])
        found[some, 0] = np.searchsorted(self.addresses, firsts[some])
        # A child ends where the next one begins, and the last one with the node above it.
        last = np.append(owners[1:] != owners[:-1], np.ones(min(owners.size, 1), dtype=np.bool_))
        found[:-1, 1] = found[1:, 0]
        found[last, 1] = ends[owners[last]]
        return found

    @property
    def total(self) -> Numbers:
        """The sum of all counts."""
        return self.sums(np.array([0]), np.array([self.addresses.size]))

    def bounds(
        self, prefixes: Numbers, begins: NDArray[np.intp], ends: NDArray[np.intp], *, shift: int, width: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return where the cells of the children of nodes begin, and where they end, node by node."""
        lengths = ends - begins
        number = int(lengths.sum())
        if number > _FEW * prefixes.size * width:
            found = np.repeat(begins[:, np.newaxis], width + 1, axis=1)
            some = np.flatnonzero(lengths)
            edges = (prefixes[some, np.newaxis] * width + np.arange(1, width)) << shift
            found[some, 1:-1] = np.searchsorted(self.addresses, edges)
            found[:, -1] = ends
            return found[:, :-1].ravel(), found[:, 1:].ravel()
        # About as many cells as children: each finds its child, which is quicker than searching for it.
        gaps = begins - (np.cumsum(lengths) - lengths)
        cells = np.repeat(gaps, lengths) + np.arange(number)
        child = (self.addresses[cells] >> shift) & (width - 1)
        child += np.repeat(np.arange(0, prefixes.size * width, width), lengths)
        numbers = np.bincount(child, minlength=prefixes.size * width)
        last = np.cumsum(numbers)
        last += np.repeat(gaps, width)
        return last - numbers, last

    def sums(self, begins: NDArray[np.intp], ends: NDArray[np.intp]) -> Numbers:
        """Return the sums of counts from each beginning to the end beside it, saturated at 2^60."""
        found = np.zeros(begins.size, dtype=np.int64)
        some = np.flatnonzero(begins != ends)  # of deep trees, next to none
        first, last = begins[some], ends[some]
        differences = [running[last] - running[first] for running in self._running]
        if len(differences) == 1:
            found[some] = differences[0]
            return found
        high, low = differences
        high += low >> 32
        low &= 0xFFFFFFFF
        most = 1 << 28
        found[some] = np.where(high >= most, 1 << 60, np.where(high < -most, -(1 << 60), (high << 32) + low))
        return found

    def __repr__(self) -> str:
        return "Occupied(counts=<private>)"


def occupied_in(table: SparseTable, tree: BranchingTree) -> Occupied:
    """Return the occupied cells of a table as a tree has them."""
    return Occupied(tree.addresses.of(table.space.unpack(table.keys)), table.counts)


class Nodes(NamedTuple):
    """Nodes of one level, with their noisy counts and ranks, and the occupied cells that they hold."""

    prefixes: Numbers
    counts: Numbers
    ranks: Numbers
    begins: NDArray[np.intp]
    ends: NDArray[np.intp]

    def only(self, rows: NDArray[np.intp]) -> Nodes:
        """Return the chosen ones."""
        return Nodes(*(each[rows] for each in self))


def _joined(parts: list[Nodes]) -> Nodes:
    return Nodes(*(np.concatenate(each) for each in zip(_NONE, *parts, strict=True)))


_NONE = Nodes(*(np.empty(0, dtype=np.int64) for _ in range(5)))


def known_cutoff(counts: Numbers, rank: float, *, weight: int = 1) -> float:
    """Return what bounds the absent nodes of a pruned tree: of size 1, nothing but what the root has.

    It is given as a rank, in which a count of 1 has this weight.
    """
    return max(1.0, float(counts[0])) if counts.size == 1 and rank >= LARGEST_NOISY else rank / weight


class Rooted(NamedTuple):
    """Nodes of a tree with all their ancestors, in the order of their numbers, with their noisy counts.

    The cutoff is the smallest rank of `size` nodes; None where no more than that reach the cutoff asked for.
    """

    numbers: Numbers
    counts: Numbers
    cutoff: int | None


def rooted_tree(
    occupied: Occupied,
    tree: PrunableTree,
    noised: Callable[[int, Numbers, Numbers], Numbers],
    entropy: BitSource,
    *,
    cutoff: int,
    size: int | None = None,
    root_stays: bool = False,
    examine: Callable[[Nodes, int], Nodes] | None = None,
) -> Rooted:
    """Draw the nodes of a tree whose ranks reach `cutoff`; with a size, the first so many of them.

    `noised` gives noise to the counts of nodes of a level, which it is told by their prefixes; it is asked
    for each node at most once. `examine` returns children of nodes of a level, and may leave those out whose
    ranks are below `cutoff`; where it is not given, all of them get noise.
    """
    examined: list[list[Nodes]] = [[] for _ in range(tree.levels)]
    kept: list[list[Nodes]] = [[] for _ in range(tree.levels)]
    examined[0].append(_root(occupied, noised, stays=root_stays))
    before, tried = LARGEST_RANK + 1, cutoff

    def look(parents: Nodes, level: int) -> Nodes:
        if examine is not None:
            return examine(parents, level)
        return children_of(parents, level, occupied, tree, noised, root_stays=root_stays)

    if size is not None:
        # If the root is right, no cutoff above this one keeps so many: each level shares what there is.
        tried = max(cutoff, tree.levels * max(tree.weights) * int(examined[0][0].counts[0]) // size)
    while True:
        for level, parts in enumerate(examined):
            # Ranks fall from parent to child, so what was reached before has no part in this round.
            reached = [np.flatnonzero((part.ranks >= tried) & (part.ranks < before)) for part in parts]
            fresh = _joined([part.only(rows) for part, rows in zip(parts, reached, strict=True)])
            if fresh.ranks.size:
                kept[level].append(fresh)
                if level + 1 < tree.levels:
                    examined[level + 1].append(look(fresh, level))
        number = sum(part.ranks.size for parts in kept for part in parts)
        if size is None or number > size or tried == cutoff:
            break
        before, tried = tried, max(cutoff, _lower(examined, tried, missing=size + 1 - number, size=size))
    by_level = [_joined(parts) for parts in kept]
    numbers = np.concatenate(
        [nodes.prefixes + offset for nodes, offset in zip(by_level, tree.offsets, strict=True)]
    )
    counts = np.concatenate([nodes.counts for nodes in by_level])
    order = np.argsort(numbers, kind="stable")
    if size is None or number <= size:
        return Rooted(numbers[order], counts[order], None)
    levels = np.repeat(np.arange(tree.levels), [nodes.ranks.size for nodes in by_level])
    ranks = np.concatenate([nodes.ranks for nodes in by_level])
    rows, cut = largest_paths(ranks[order], levels[order], entropy, size=size)
    return Rooted(numbers[order[rows]], counts[order[rows]], cut)


def _lower(examined: list[list[Nodes]], tried: int, *, missing: int, size: int) -> int:
    """Return a lower cutoff, half of the last or more; any would do.

    As many as are missing reach it, of those that did not reach the last; where many are missing, half as
    many, since their children may be kept too. Too many nodes cost more than a step more does.
    """
    low = tried // 2
    parts = [part.ranks for parts in examined for part in parts]
    ranks = np.concatenate([each[(each >= low) & (each < tried)] for each in parts])
    wanted = missing if 4 * missing < size else -(-missing // 2)
    if ranks.size <= wanted:
        return low
    return int(np.partition(ranks, ranks.size - wanted)[ranks.size - wanted])


def _root(occupied: Occupied, noised: Callable[[int, Numbers, Numbers], Numbers], *, stays: bool) -> Nodes:
    bounds, prefix = np.array([0, occupied.addresses.size]), np.zeros(1, dtype=np.int64)
    count = noised(0, prefix, occupied.total)
    rank = np.array([LARGEST_RANK]) if stays else count
    return Nodes(prefix, count, rank, bounds[:1], bounds[1:])


def children_of(
    parents: Nodes,
    level: int,
    occupied: Occupied,
    tree: PrunableTree,
    noised: Callable[[int, Numbers, Numbers], Numbers],
    *,
    root_stays: bool,
) -> Nodes:
    """Examine the children of nodes: noise for each, occupied or not."""
    if tree.width(level) is not None:  # all have as many
        return _even_children(parents, level, occupied, cast(BranchingTree, tree), noised)
    prefixes, owners = tree.family(parents.prefixes, level)
    firsts = tree.first_addresses(prefixes, level + 1)
    bounds = occupied.edges(firsts, owners, parents.begins, parents.ends)
    counts = noised(level + 1, prefixes, occupied.sums(bounds[:, 0], bounds[:, 1]))
    ranks = np.full(counts.size, LARGEST_RANK)
    if not root_stays or level + 1 >= tree.staying:
        weighed = weighed_counts(counts, tree.weights[level + 1])
        ranks = np.minimum(parents.ranks[owners], weighed)
    return Nodes(prefixes, counts, ranks, bounds[:, 0], bounds[:, 1])


def _even_children(
    parents: Nodes,
    level: int,
    occupied: Occupied,
    tree: BranchingTree,
    noised: Callable[[int, Numbers, Numbers], Numbers],
) -> Nodes:
    """Examine the children of nodes that all have as many, padding included: that is quicker."""
    width = tree.width(level)
    prefixes, real = tree.children(parents.prefixes, level)
    begins, ends = occupied.bounds(
        parents.prefixes, parents.begins, parents.ends, shift=tree.shifts[level + 1], width=width
    )
    counts = occupied.sums(begins, ends)
    ranks = np.repeat(parents.ranks, width)
    if real.size < prefixes.size:
        prefixes, counts, begins, ends, ranks = (
            each[real] for each in (prefixes, counts, begins, ends, ranks)
        )
    counts = noised(level + 1, prefixes, counts)
    weighed = weighed_counts(counts, tree.weights[level + 1])
    return Nodes(prefixes, counts, np.minimum(ranks, weighed, out=ranks), begins, ends)


def largest_paths(
    minima: NDArray[np.int64], levels: NDArray[np.intp], entropy: BitSource, *, size: int
) -> tuple[NDArray[np.intp], int | None]:
    """Return which `size` nodes have the largest smallest counts, and the smallest of those.

    Of nodes with equal ones, those nearer to the root come first; of these, every set has the same chance. So
    no node comes before its ancestors. All of them, and None, if there are no more than `size`.
    """
    if minima.size <= size:
        return np.arange(minima.size), None
    cut = int(np.partition(minima, minima.size - size)[minima.size - size])
    above, ties = np.flatnonzero(minima > cut), np.flatnonzero(minima == cut)
    chosen, _ = largest_counts(-levels[ties], entropy, size=size - above.size)
    return np.sort(np.concatenate([above, ties[chosen]])), cut


def rooted_sums(
    table: SparseTable,
    tree: BranchingTree,
    laws: Sequence[NoiseLaw],
    entropy: BitSource,
    *,
    cutoff: int,
    size: int | None,
    root_stays: bool = False,
) -> Rooted:
    """Draw a tree from the root down, with noise of its own law on each level."""

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, laws[level], entropy)

    occupied = occupied_in(table, tree)
    return rooted_tree(occupied, tree, noised, entropy, cutoff=cutoff, size=size, root_stays=root_stays)
