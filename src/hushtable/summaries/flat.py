"""The one flow of every flat summary, of cells or of nodes: from slices to rows, by the short way.

Choose the rule, draw how many empty cells of each slice pass, draw the candidates of each slice, finish.

Promise: the summary has exactly the law of adding noise to every cell and summarising afterwards
(`laborious`, the slow reference), whatever the slices and wherever they are. Proof: PROOF.md here.
Cost: time and memory follow the occupied cells plus the rows published, never the size of the domain.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushtable.domain.keys import KeySpace, ascending, no_keys, sorting_order
from hushtable.errors import BadChoice, InternalError, TooManyCells, TooManyRows
from hushtable.laws.acceptance import Acceptance, Band, widens
from hushtable.laws.balls import nearest_float
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw, at_law, law_to_draw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import LARGEST_SIZE, Method
from hushtable.methods.tuning import cutoff_for, threshold_for
from hushtable.methods.weights import weights_of
from hushtable.noise import BitSource, binomial, empty_cells
from hushtable.summaries.candidates import draw_candidates, draw_everything
from hushtable.summaries.finishing import finish, finish_largest, finish_priorities
from hushtable.summaries.summary import Summary
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Candidates, Slices, SlicesHere, split
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:
    from hushtable.structures import structure as structured

LARGEST_FULL_TABLE = 100_000_000  # cells of a table that `Everything` publishes whole
_SLICE = 1 << 18  # cells of a slice: what a draw touches stays small, and a thread is worth its start
_FEW_SLICES = 16  # up to so many, a draw for each is quicker than one for all


def summarize_table(
    table: SparseTable,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw] = Geometric,
    threads: int = 1,
    slices: int | None = None,
    first_guess: Acceptance | None = None,
    progress: Progress = unheard,
) -> Summary:
    """Draw a summary of the cells of a table, in so many slices, or in as many as its work is worth."""
    check_changes(table.sensitivity, sensitivity, law)
    work = table.counts.size + (method.size or 0)
    return summarize_slices(
        SlicesHere(split(table, parts=slices or -(-work // _SLICE) or 1), threads, progress),
        table.space,
        method,
        epsilon=epsilon,
        sensitivity=sensitivity,
        entropy=entropy,
        law=law,
        first_guess=first_guess,
    )


def check_changes(
    known: Sensitivities | None,
    sensitivity: Fraction,
    law: type[NoiseLaw],
    nodes: structured.NodeSpace | None = None,
) -> None:
    """Raise where noise is to be drawn for less than one unit changes in cells or nodes, if that is known."""
    if known is None:
        return
    if sensitivity < (law.change(known) if nodes is None else nodes.change(law, known)):
        raise InternalError("noise was to be drawn for less than one unit changes in its table")


def summarize_slices(
    slices: Slices,
    space: KeySpace,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw] = Geometric,
    delta: Fraction = Fraction(0),
    first_guess: Acceptance | None = None,
) -> Summary:
    """Draw a summary of a table that comes in slices, wherever they are."""
    noise = law_to_draw(law, budget=epsilon, change=sensitivity, delta=delta)
    check_method(method, cells_total=space.cells_total, law=noise)
    found, cutoff, threshold = method.chosen_by(
        _Draw(slices, noise, entropy, cells_total=space.cells_total, first_guess=first_guess)
    )
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
        law_name=law.name,
    )


def check_method(method: Method, *, cells_total: int, law: NoiseLaw) -> None:
    """Raise where a method would publish too much: by public numbers, the same for every table of a shape.

    Not for consistent trees, which keep few empty nodes whatever the cutoff (`rooted`).
    """
    if not law.noises_empty:
        check_threshold(method, law)
        return
    method.chosen_by(_Checked(cells_total, law))


def check_threshold(method: Method, law: NoiseLaw) -> None:
    """Raise unless a method publishes nothing below the threshold of a law for occupied cells alone."""
    least, rule = law.least_cutoff or 0, method.rule if method.filters else None
    sampled = method.expected_rows is not None
    if rule is None or sampled or rule.two_sided or rule.cutoff is None or rule.cutoff < least:
        fact = f"noise of the law {law.name!r} takes a one-sided filter with a cutoff of {least:,} or more"
        raise BadChoice(fact, "Leave `summary` out: the cutoff follows from epsilon and delta.")


def expected_empty(method: Method, *, cells: int, law: NoiseLaw) -> float:
    """Return about how many empty cells a method draws: by public numbers."""
    if not law.noises_empty:
        return 0.0
    return method.chosen_by(_Expected(cells, law))


class _Expected(NamedTuple):
    """About how many empty cells are drawn, of so many."""

    cells: int
    law: NoiseLaw

    def everything(self, *, nonnegative: bool) -> float:
        return float(self.cells)

    def accepted(self, rule: Acceptance, *, expected: int | None) -> float:
        if expected is not None:
            rule = threshold_for(expected, cells=self.cells, law=self.law, rule=rule)
        return _expected(rule, self.cells, self.law)

    def largest(self, size: int, *, two_sided: bool) -> float:
        return min(float(size), float(self.cells))

    def priorities(self, size: int, rule: Acceptance) -> float:
        return min(float(size), float(self.cells))


class _Checked(_Expected):
    """The same, or a refusal where it is too many."""

    def everything(self, *, nonnegative: bool) -> float:
        if self.cells > LARGEST_FULL_TABLE:
            raise TooManyCells(cells_total=self.cells, limit=LARGEST_FULL_TABLE)
        return float(self.cells)

    def accepted(self, rule: Acceptance, *, expected: int | None) -> float:
        found = super().accepted(rule, expected=expected)
        if found > LARGEST_SIZE:
            raise TooManyRows(expected=found, limit=LARGEST_SIZE)
        return found


def _expected(rule: Acceptance | Band, cells: int, law: NoiseLaw) -> float:
    """Return how many of so many empty cells a rule accepts on average."""
    return nearest_float(at_law(lambda noise: rule.pass_probability(noise) * cells, law))


def acceptance_of(method: Method, *, cells_total: int, law: NoiseLaw) -> Acceptance:
    """Return the rule of a method. A threshold from a size uses the public number of cells, nothing else."""
    if method.expected_rows is None:
        return method.rule
    return threshold_for(method.expected_rows, cells=cells_total, law=law, rule=method.rule)


class _Found(NamedTuple):
    """The cells of a summary, and what they met."""

    cells: Candidates
    cutoff: Fraction | int | None = None
    threshold: float | None = None


class _Draw(NamedTuple):
    """One summary in the making: the slices, and what every step of it needs."""

    slices: Slices
    law: NoiseLaw
    entropy: BitSource
    cells_total: int
    first_guess: Acceptance | None

    @property
    def cells_empty(self) -> Sequence[int]:
        """How many empty cells of each slice get noise: none, of a law for occupied cells alone."""
        found = self.slices.cells_empty
        return found if self.law.noises_empty else [0] * len(found)

    def everything(self, *, nonnegative: bool) -> _Found:
        """Return all cells, each with noise."""
        task = partial(draw_everything, law=self.law)
        found = finish(self.slices.map_slices(task, [()] * len(self.slices.cells_empty), self.entropy))
        return _Found(found._replace(counts=np.maximum(found.counts, 0)) if nonnegative else found)

    def accepted(self, rule: Acceptance, *, expected: int | None) -> _Found:
        """Return the cells that a rule accepts."""
        sampled = rule.threshold is not None or expected is not None
        if expected is not None:  # by the public number of cells, nothing else
            rule = threshold_for(expected, cells=self.cells_total, law=self.law, rule=rule)
        counts = self._counts(self.cells_empty, rule)
        found = finish(self._candidates([rule], [[count] for count in counts]))
        return _Found(found, rule.cutoff, float(rule.threshold or 0) if sampled else None)

    def largest(self, size: int, *, two_sided: bool) -> _Found:
        """Return the `size` largest counts, and the smallest of them."""

        def rule_for(expected: int, cells: int) -> Acceptance:
            return cutoff_for(expected, cells=cells, law=self.law, two_sided=two_sided)

        rules, accepted = self._extended(size, rule_for)
        return _Found(*finish_largest(self._candidates(rules, accepted), rules, self.entropy, size=size))

    def priorities(self, size: int, rule: Acceptance) -> _Found:
        """Return a priority sample of the cells that the plain rule accepts, and its threshold."""

        def rule_for(expected: int, cells: int) -> Acceptance:
            return threshold_for(expected, cells=cells, law=self.law, rule=rule)

        rules, accepted = self._extended(size, rule_for)
        found, tau = finish_priorities(self._candidates(rules, accepted), rules, self.entropy, size=size)
        return _Found(found, rule.cutoff, float(tau))

    def _extended(
        self, size: int, rule_for: Callable[[int, int], Acceptance]
    ) -> tuple[list[Acceptance], list[list[int]]]:
        """Widen a rule until it accepts more than `size` empty cells, or all that it ever can.

        Returns the rules, and how many cells of each slice each band accepts. Only these numbers are drawn
        here, each band for the cells that no band before it accepted, so nothing is ever drawn twice. The
        first rule may know how many cells are empty: it changes the cost, not the law (PROOF.md, step 4).
        """
        left = self.cells_empty
        cells_empty = sum(left)
        expected = size + 1 + 6 * isqrt(size) + 10  # so that one band nearly always does
        widest = rule_for(cells_empty + 1, cells_empty)
        rules = [self.first_guess or rule_for(expected, cells_empty)]
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
        chance, total = at_law(rule.pass_probability, self.law), sum(left)
        expected = _expected(rule, total, self.law)
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
        task = partial(draw_candidates, rules=rules, law=self.law)
        return self.slices.map_slices(task, accepted, self.entropy)
