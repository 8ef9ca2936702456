"""From a private table to a public summary, by the short way.

The one flow of every flat summary: choose the rule, split the table, draw how many empty cells pass, draw
the candidates of each slice, finish.

Promise: the summary has exactly the law of adding noise to every cell and summarising afterwards
(`laborious`, the slow reference), whatever the number of slices and threads. Proof: PROOF.md here.
Cost: time and memory follow the occupied cells plus the rows published, never the size of the domain.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, isqrt
from typing import NamedTuple

import numpy as np

from hushtable.domain.keys import KeySpace, ascending, no_keys, sorting_order
from hushtable.errors import (
    BadChoice,
    BadMethod,
    BadNumber,
    BadTable,
    InternalError,
    TooManyCells,
    TooManyRows,
)
from hushtable.exact.balls import nearest_float
from hushtable.exact.laws import at_rate
from hushtable.exact.rationals import Rational, as_positive, as_rate
from hushtable.methods.acceptance import Acceptance, Band, widens
from hushtable.methods.settings import (
    LARGEST_SIZE,
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.methods.tuning import cutoff_for, threshold_for
from hushtable.noise import BitSource, KeyStream, binomial, empty_cells
from hushtable.release.layout import weights_of
from hushtable.release.terms import as_taken, check_together
from hushtable.structures.addresses import LineAddresses, Numbers
from hushtable.structures.branching import BranchingTree, least_cutoff
from hushtable.structures.fitting import own_masses
from hushtable.structures.nodes import Nodes, NodeSpace, PrunedSpace, as_structure, nodes_over
from hushtable.structures.settings import MORTON, Cells, CountSketch, Marginals, Structure
from hushtable.structures.sketches import WORDS_OF_A_KEY, SketchSpace, keys_of
from hushtable.summaries.candidates import accepts, draw_candidates, draw_everything, noisy
from hushtable.summaries.finishing import finish, finish_largest, finish_priorities
from hushtable.summaries.priorities import largest_priorities
from hushtable.summaries.rooted import Occupied, Rooted, known_cutoff, rooted_tree
from hushtable.summaries.summary import Summary
from hushtable.table.adding import sketched
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Candidates, Slices, SlicesHere, split
from hushtable.table.sparse import SparseTable

LARGEST_FULL_TABLE = 100_000_000  # cells of a table that `Everything` publishes whole
_SLICE = 1 << 18  # cells of a slice: what a draw touches stays small, and a thread is worth its start
_FEW_SLICES = 16  # up to so many, a draw for each is quicker than one for all


def summarize(
    table: SparseTable,
    method: Method,
    *,
    epsilon: Rational,
    sensitivity: Rational | None = None,
    structure: Structure | str | None = None,
) -> Summary:
    """Draw a private summary of `table`, or of the nodes of a structure over it.

    Guarantee: epsilon-differential privacy for tables whose counts differ by at most `sensitivity` in all
    (1 where it is left out: one row added or removed), pure, by exact arithmetic. A structure multiplies it
    by the number of nodes that hold a cell; the summary says by how much in all.

    =======================================  ==============================================
    case                                     result
    =======================================  ==============================================
    epsilon "0.1", 0.1, Fraction(1, 10)      the same exact number
    negative counts, no sensitivity          `BadTable`: say how much one person may change
    another kind of table or method          `BadMethod`
    structure "haar", ht.Dyadic(), ...       codes are numbers of nodes; cells are in the order of codes
    structure ht.CountSketch(...)            codes are rows and buckets; the method is `Everything()`
    a structure that does not fit            `BadChoice`
    `Everything()` above 10^8 cells          `TooManyCells`
    more than 10^9 rows expected             `TooManyRows`
    =======================================  ==============================================

    >>> import hushtable as ht
    >>> table = ht.SparseTable(shape=(1000, 1000), codes=[[3, 5], [7, 7]], counts=[120, 4])
    >>> summary = ht.summarize(table, ht.Priority(size=100), epsilon="0.1")
    >>> summary.codes.shape
    (100, 2)
    """
    if not isinstance(method, Method):
        raise BadMethod("method", type(method).__name__, "a summary method", "ht.Priority(size=100_000)")
    if not isinstance(table, SparseTable):
        example = "ht.SparseTable(shape=..., codes=..., counts=...)"
        raise BadMethod("table", type(table).__name__, "a SparseTable", example)
    noised, entropy = as_structure(structure), KeyStream()
    method = as_taken(noised, method)
    nodes = _noised_of(noised, table, method, entropy)
    if sensitivity is None and table.counts.size and table.counts.min() < 0:
        hint = "Pass `sensitivity`: the largest change in all counts together that one person can make."
        raise BadTable("counts below 0 need a sensitivity of their own", hint)
    most = as_positive(
        1 if sensitivity is None else sensitivity,
        name="sensitivity",
        hint="It is the largest change in all counts together that one person can make.",
    )
    return draw_summary(
        table,
        method,
        epsilon=as_positive(epsilon, name="epsilon", hint="Typical values lie between 0.01 and 10."),
        sensitivity=most if nodes is None else most * nodes.per_cell,
        entropy=entropy,
        threads=os.cpu_count() or 1,
        nodes=nodes,
    )


def _noised_of(
    structure: Structure, table: SparseTable, method: Method, entropy: BitSource
) -> Nodes | SketchSpace | None:
    """Return what a structure publishes of a table, whose attributes have no names."""
    if isinstance(structure, Cells):
        return None
    check_together(structure, method)
    if isinstance(structure, CountSketch):
        return SketchSpace(structure, table.space, drawn_keys(structure, entropy))
    if isinstance(structure, Marginals):
        fact = "a table of codes has no names of attributes, so there are no marginals of it"
        raise BadChoice(fact, "Publish rows with `ht.publish`, or add up the codes that you want.")
    if structure.order not in (None, MORTON):
        fact = "a table of codes has no names of attributes, so there is no order of them"
        raise BadChoice(fact, "Leave `order` out, and give codes in the order that you want.")
    return nodes_over(structure, table.shape, places=range(len(table.shape)))


def drawn_keys(structure: Structure, entropy: BitSource) -> tuple[str, ...]:
    """Draw the keys of a sketch, which are public; other structures have none."""
    if not isinstance(structure, CountSketch):
        return ()
    return keys_of(structure, entropy.words(WORDS_OF_A_KEY * structure.depth))


def draw_summary(
    table: SparseTable,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    threads: int = 1,
    slices: int | None = None,
    first_guess: Acceptance | None = None,
    nodes: Nodes | SketchSpace | None = None,
    progress: Progress = unheard,
) -> Summary:
    """Draw a summary from the given bits. Slices, threads and the first guess do not change its law.

    With `nodes`, of those; `sensitivity` is then what one person changes in all of them together.
    """
    if isinstance(nodes, SketchSpace):
        buckets = sketched(table, nodes)
        drawn = draw_summary(buckets, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy)
        return replace(drawn, nodes=nodes)
    if isinstance(nodes, PrunedSpace):
        return _summarize_pruned(
            table, nodes, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy
        )
    if isinstance(nodes, NodeSpace) and nodes.consistent_tree is not None:
        return _summarize_consistent(
            table, nodes, method, epsilon=epsilon, sensitivity=sensitivity, entropy=entropy
        )
    work = table.counts.size + (getattr(method, "size", None) or 0)
    parts = split(table, parts=slices or -(-work // _SLICE) or 1) if nodes is None else lifted(table, nodes)
    drawn = summarize_slices(
        SlicesHere(parts, threads, progress),
        table.space if nodes is None else nodes.space,
        method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        entropy=entropy,
        first_guess=first_guess,
    )
    return replace(drawn, nodes=nodes)


def summarize_slices(
    slices: Slices,
    space: KeySpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    first_guess: Acceptance | None = None,
) -> Summary:
    """Draw a summary of a table that comes in slices, wherever they are."""
    rate = as_rate(epsilon / sensitivity)
    check_method(method, cells_total=space.cells_total, rate=rate)
    draw = _Draw(slices, rate, entropy)
    threshold: float | None = None
    cutoff: Fraction | int | None = None
    match method:
        case Everything():
            found = draw.everything(method)
        case Filter(size=int(size)):
            found, cutoff = draw.largest(size, method.two_sided, first_guess)
        case Priority(size=size):
            found, threshold = draw.priorities(size, Acceptance(two_sided=method.two_sided), first_guess)
        case FilterPriority(size=size):
            rule = Acceptance(cutoff=method.cutoff, two_sided=method.two_sided)
            found, threshold = draw.priorities(size, rule, first_guess)
            cutoff = rule.cutoff
        case _:
            rule = acceptance_of(method, cells_total=space.cells_total, rate=rate)
            found = draw.accepted(rule)
            cutoff = rule.cutoff
            threshold = None if isinstance(method, Filter) else float(rule.threshold or 0)
    if not ascending(found.keys):
        found = found.only(sorting_order(found.keys))
    return Summary(
        shape=space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=space.unpack(found.keys),
        counts=found.counts,
        weights=weights_of(found.counts, threshold),
        threshold=threshold,
        cutoff=None if cutoff is None else float(cutoff),
    )


def _summarize_consistent(
    table: SparseTable,
    nodes: NodeSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
) -> Summary:
    """Draw a summary of a tree in which no node is kept without its ancestors."""
    if nodes.consistent_tree is None or not isinstance(method, Filter | FilterThreshold | FilterPriority):
        raise InternalError("no filter of a consistent tree was asked for")
    rate = as_rate(epsilon / sensitivity)
    (axis,) = nodes.axes
    rule = Acceptance(cutoff=method.cutoff, two_sided=False)
    if isinstance(method, FilterThreshold):
        rule = acceptance_of(method, cells_total=nodes.nodes_total, rate=rate)
    binary = BranchingTree(LineAddresses(axis.line), branching=2)  # the same nodes, with other numbers
    by_size = method.size if isinstance(method, Filter) else None
    found = _rooted(table, binary, [rate] * binary.levels, entropy, cutoff=rule.lowest, size=by_size)
    levels = binary.level_of(found.numbers)
    numbers = found.numbers - np.array(binary.offsets)[levels] + np.array(axis.tree.offsets)[levels]
    counts, threshold = found.counts, None
    cutoff = found.cutoff if by_size is not None else rule.cutoff
    # Sampling is of what the check left over, and sees nothing of where nodes lie.
    if isinstance(method, FilterThreshold):
        rows = np.flatnonzero(accepts(rule, counts, entropy))
        numbers, counts, threshold = numbers[rows], counts[rows], float(rule.threshold or 0)
    elif isinstance(method, FilterPriority):
        bands = np.full(counts.size, -1, dtype=np.int8)
        rows, tau = largest_priorities(counts, bands, [rule], entropy, size=method.size)
        numbers, counts, threshold = numbers[rows], counts[rows], float(tau)
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=numbers[:, np.newaxis],
        counts=counts,
        weights=weights_of(counts, threshold),
        threshold=threshold,
        cutoff=None if cutoff is None else float(cutoff),
        nodes=nodes,
    )


def _summarize_pruned(
    table: SparseTable,
    nodes: PrunedSpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
) -> Summary:
    """Draw a tree from the root down, as far as it matters."""
    if not isinstance(method, Filter):
        raise InternalError("no filter of a pruned tree was asked for")
    rates = [as_rate(epsilon * share / sensitivity) for share in nodes.tree.shares]
    check_cutoff(nodes, method, rate=rates[-1])
    least = least_cutoff(nodes.tree.branching, rates[-1])
    cutoff = Acceptance(cutoff=method.cutoff).cutoff
    lowest = least if cutoff is None else ceil(cutoff)
    found = _rooted(table, nodes.tree, rates, entropy, cutoff=lowest, size=method.size, root_stays=True)
    reached = known_cutoff(found.counts, float(lowest if found.cutoff is None else found.cutoff))
    return Summary(
        shape=nodes.space.shape,
        method=method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        codes=found.numbers[:, np.newaxis],
        counts=found.counts,
        weights=own_masses(nodes.tree, found.numbers, found.counts, rate=rates[-1], cutoff=reached),
        threshold=None,
        cutoff=reached,
        nodes=nodes,
    )


def _rooted(
    table: SparseTable,
    tree: BranchingTree,
    rates: Sequence[Fraction],
    entropy: BitSource,
    *,
    cutoff: int,
    size: int | None,
    root_stays: bool = False,
) -> Rooted:
    """Draw a tree from the root down, with noise of its own rate on each level."""

    def noised(level: int, prefixes: Numbers, counts: Numbers) -> Numbers:
        return noisy(counts, rates[level], entropy)

    addresses = tree.addresses.of(table.space.unpack(table.keys))
    occupied = Occupied(addresses, table.counts)
    return rooted_tree(occupied, tree, noised, entropy, cutoff=cutoff, size=size, root_stays=root_stays)


def check_cutoff(nodes: PrunedSpace, method: Filter, *, rate: Fraction) -> None:
    """Raise where noise alone would make a pruned tree grow: by public numbers."""
    least, cutoff = least_cutoff(nodes.tree.branching, rate), Acceptance(cutoff=method.cutoff).cutoff
    if cutoff is not None and cutoff < least:
        hint = f"Give {least:,} or more, a size instead, or more epsilon."
        said = str(cutoff)
        raise BadNumber(
            name="cutoff", value=said, allowed="is so low that noise makes a tree grow", hint=hint
        )


def check_method(method: Method, *, cells_total: int, rate: Fraction) -> None:
    """Raise where a method would publish too much: by public numbers, the same for every table of a shape.

    Not for consistent trees, which keep few empty nodes whatever the cutoff (`consistent`).
    """
    if isinstance(method, Everything):
        if cells_total > LARGEST_FULL_TABLE:
            raise TooManyCells(cells_total=cells_total, limit=LARGEST_FULL_TABLE)
    elif isinstance(method, Threshold | FilterThreshold) or (
        isinstance(method, Filter) and method.size is None
    ):
        rule = acceptance_of(method, cells_total=cells_total, rate=rate)
        expected = _expected(rule, cells_total, rate)
        if expected > LARGEST_SIZE:
            raise TooManyRows(expected=expected, limit=LARGEST_SIZE)


def expected_empty(method: Method, *, cells: int, rate: Fraction) -> float:
    """Return about how many empty cells a method draws: by public numbers."""
    if isinstance(method, Everything):
        return float(cells)
    if isinstance(method, Threshold | FilterThreshold) or (
        isinstance(method, Filter) and method.size is None
    ):
        return _expected(acceptance_of(method, cells_total=cells, rate=rate), cells, rate)
    return min(float(getattr(method, "size", 0)), float(cells))


def _expected(rule: Acceptance | Band, cells: int, rate: Fraction) -> float:
    """Return how many of so many empty cells a rule accepts on average."""
    return nearest_float(at_rate(lambda a: rule.pass_probability(a) * cells, rate))


def acceptance_of(
    method: Filter | Threshold | FilterThreshold, *, cells_total: int, rate: Fraction
) -> Acceptance:
    """Return the rule of a method. A threshold from a size uses the public number of cells, nothing else."""
    cutoff, threshold = getattr(method, "cutoff", None), getattr(method, "threshold", None)
    rule = Acceptance(cutoff=cutoff, threshold=threshold, two_sided=method.two_sided)
    if method.size is None:
        return rule
    return threshold_for(method.size, cells=cells_total, rate=rate, rule=rule)


class _Draw(NamedTuple):
    """One summary in the making: the slices, and what every step of it needs."""

    slices: Slices
    rate: Fraction
    entropy: BitSource

    def everything(self, method: Everything) -> Candidates:
        """Return all cells, each with noise."""
        task = partial(draw_everything, rate=self.rate)
        found = finish(self.slices.map_slices(task, [()] * len(self.slices.cells_empty), self.entropy))
        return found._replace(counts=np.maximum(found.counts, 0)) if method.nonnegative else found

    def accepted(self, rule: Acceptance) -> Candidates:
        """Return the cells that a rule accepts."""
        counts = self._counts(self.slices.cells_empty, rule)
        return finish(self._candidates([rule], [[count] for count in counts]))

    def largest(
        self, size: int, two_sided: bool, first_guess: Acceptance | None
    ) -> tuple[Candidates, int | None]:
        """Return the `size` largest counts, and the smallest of them."""

        def rule_for(expected: int, cells: int) -> Acceptance:
            return cutoff_for(expected, cells=cells, rate=self.rate, two_sided=two_sided)

        found = self._candidates(*self._extended(size, rule_for, first_guess))
        return finish_largest(found, self.entropy, size=size)

    def priorities(
        self, size: int, rule: Acceptance, first_guess: Acceptance | None
    ) -> tuple[Candidates, float]:
        """Return a priority sample of the cells that the plain rule accepts, and its threshold."""

        def rule_for(expected: int, cells: int) -> Acceptance:
            return threshold_for(expected, cells=cells, rate=self.rate, rule=rule)

        rules, accepted = self._extended(size, rule_for, first_guess)
        found, tau = finish_priorities(self._candidates(rules, accepted), rules, self.entropy, size=size)
        return found, float(tau)

    def _extended(
        self, size: int, rule_for: Callable[[int, int], Acceptance], first_guess: Acceptance | None
    ) -> tuple[list[Acceptance], list[list[int]]]:
        """Widen a rule until it accepts more than `size` empty cells, or all that it ever can.

        Returns the rules, and how many cells of each slice each band accepts. Only these numbers are drawn
        here, each band for the cells that no band before it accepted, so nothing is ever drawn twice. The
        first rule may know how many cells are empty: it changes the cost, not the law (PROOF.md, step 4).
        """
        left = self.slices.cells_empty
        cells_empty = sum(left)
        expected = size + 1 + 6 * isqrt(size) + 10  # so that one band nearly always does
        widest = rule_for(cells_empty + 1, cells_empty)
        rules = [first_guess or rule_for(expected, cells_empty)]
        bands = [self._counts(left, rules[0])]
        while sum(map(sum, bands)) <= size and rules[-1].pieces != widest.pieces:
            expected *= 2
            wider = rule_for(expected, cells_empty)
            if widens(wider, rules[-1]):
                band = Band(wider=wider, narrower=rules[-1])
                rules.append(wider)
                left = [cells - found for cells, found in zip(left, bands[-1], strict=True)]
                bands.append(self._counts(left, band))
        return rules, [list(counts) for counts in zip(*bands, strict=True)]

    def _counts(self, left: Sequence[int], rule: Acceptance | Band) -> list[int]:
        """Draw how many of the empty cells that are left in each slice a rule accepts."""
        chance, total = at_rate(rule.pass_probability, self.rate), sum(left)
        expected = _expected(rule, total, self.rate)
        if len(left) <= _FEW_SLICES or expected > _SLICE or total >> 64:
            return [binomial(cells, chance, self.entropy) for cells in left]
        # Of many slices with few each: how many in all, then which they are among all (PROOF.md, step 2).
        accepted = binomial(total, chance, self.entropy)
        places = empty_cells((total,), no_keys(1), self.entropy, count=accepted)[0]
        ends = np.array(list(accumulate(left, initial=0)), dtype=np.uint64)
        found: list[int] = np.diff(np.searchsorted(places, ends)).tolist()
        return found

    def _candidates(
        self, rules: Sequence[Acceptance], accepted: Sequence[Sequence[int]]
    ) -> Iterator[Candidates]:
        """Yield the accepted cells of each slice."""
        task = partial(draw_candidates, rules=rules, rate=self.rate)
        return self.slices.map_slices(task, accepted, self.entropy)
