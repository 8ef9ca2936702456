"""Answers from a release of a hierarchy, for groups at any of its levels, at coarser ones and across them.

Promise: a question is a product of conditions on single attributes. Its answer is what the fitted hierarchy
has in its cells. The interval holds for the true answer, whatever absent nodes hold (`bounds`).
Cost: follows the nodes that groups hold in part (`walking`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.cells import cell_answer
from hushtable.answers.estimation.groups import MOST_GROUPS
from hushtable.answers.estimation.law import Assumption, PublishedLaw
from hushtable.answers.estimation.notes import groups_note
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.hierarchies.asked import Covered, check_beside, covered
from hushtable.answers.hierarchies.bounds import bounded
from hushtable.answers.hierarchies.walking import walked
from hushtable.answers.nodes.boxes import FEWER_GROUPS
from hushtable.answers.pruned.answering import Weighted
from hushtable.answers.question import Question
from hushtable.answers.synthetic.levels import positions, whole_levels
from hushtable.answers.synthetic.rows import SyntheticRows, number_of_rows
from hushtable.conditions.selection import Selection
from hushtable.domain.items import Item
from hushtable.errors import BadQuery
from hushtable.laws.acceptance import LARGEST_NOISY
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.hierarchy import HierarchySpace

_PROMISE = (
    "Nodes with noisy counts below {:,.10g} are not in this file. The interval covers the true answer of any "
    "group, whatever they hold. The estimate spreads what they hold evenly over their cells."
)
_ROWS = (
    "These rows are synthetic: none of them is a person. They add up to the whole numbers of every published "
    "level. What a level does not show is spread evenly over the cells below it. The noise is in them: use "
    "answers with intervals where it matters how sure a count is."
)
_COMPLETE = "The interval covers the true answer."
_AT_ONCE = 1 << 12  # groups


class HierarchyAnswers(Answerer):
    """The rows of a release whose rows are nodes of a hierarchy, ready to answer."""

    def __init__(self, release: Weighted, nodes: HierarchySpace) -> None:
        self._release, self._nodes, self._tree = release, nodes, nodes.tree
        self._law = PublishedLaw(release.terms)

    @cached_property
    def _fit(self) -> Fit:
        release, terms = self._release, self._release.terms
        numbers, cutoff = release.codes[:, 0], terms.cutoff or 1.0
        laws = [terms.law_at(share) for share in self._tree.shares]
        fit = fitted(self._tree, numbers, release.counts, laws=laws, cutoff=cutoff)
        return fit.with_own(release.weights)  # what is published answers, whichever version fitted it

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells."""
        self._law.kind(corrected, assume)
        _check(selection)
        if not selection.cells:
            return Answered(Answers(*np.zeros((4, 1))), _COMPLETE)
        axes = self._axes(selection, ())
        found = next(self._answers(axes, [np.zeros(1, dtype=np.int64) for _ in axes], chance))
        return Answered(found, self._promise)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection, by its own noisy count if that is published."""
        codes = [selection.codes(place).all() for place in range(len(selection.domain.shape))]
        if self._nodes.finest:
            leaf = self._tree.offsets[-1] + self._tree.of(np.stack(codes, axis=1), self._nodes.places)
            rows = np.flatnonzero(self._release.codes[:, 0] == leaf)
            if rows.size and self._tree.staying < self._tree.levels:
                return cell_answer(self._law, int(self._release.counts[rows[0]]), chance=chance)
        return self.total(selection, chance=chance, corrected=None)

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group, at the level of each attribute that is asked for."""
        selection, items = question.selection, question.items
        self._law.kind(question.corrected, question.assume)
        _check(selection)
        if not selection.cells:
            empty = Answers(*np.zeros((4, 0)))
            return GroupsAnswered(np.zeros((0, len(items)), dtype=np.int64), empty, self._promise, 0)
        axes = self._axes(selection, items)
        at = [self._nodes.places.index(item.place) for item in items]
        shape = [axes[axis].codes.size for axis in at]
        number = int(np.prod(np.array(shape, dtype=object)))
        if number > MOST_GROUPS:
            fact = f"there are {number:,} groups, and at most {MOST_GROUPS:,} can be listed"
            raise BadQuery(fact, FEWER_GROUPS)
        index = np.unravel_index(np.arange(number), shape)
        sets = [np.zeros(number, dtype=np.int64) for _ in axes]
        for axis, mine in zip(at, index, strict=True):
            sets[axis] = mine.astype(np.int64)
        parts = list(self._answers(axes, sets, question.chance_of_one(number)))
        found = Answers(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Answers))
        )
        codes = np.stack([axes[axis].codes[mine] for axis, mine in zip(at, index, strict=True)], axis=1)
        words = groups_note(self._promise, question, groups=number)
        return GroupsAnswered(codes, found, words, number)

    def whole(self) -> NDArray[np.int64]:
        """Return whole numbers for all rows of the release, which add up."""
        total = self._total
        if total > LARGEST_NOISY:  # no count is larger, and numbers of 64 bits hold it
            fact = f"the total of this release is {total:.3g}, and no count can be so large"
            raise BadQuery(fact, "Ask whoever made it.")
        return np.concatenate([level.numbers for level in whole_levels(self._fit, total=round(total))])

    def rows(self, names: Sequence[str] | None, *, count: int | None) -> SyntheticRows:
        """Return synthetic rows: those that the whole numbers count."""
        if names is not None:
            fact = "synthetic rows of a hierarchy have all of its attributes"
            raise BadQuery(fact, "Leave the names out.")
        total = number_of_rows(self._total, count)
        tree, levels = self._tree, whole_levels(self._fit, total=total)
        starts, numbers = np.unique(positions(tree, self._fit, levels), return_counts=True)
        ranks, _ = tree.boxes(starts, tree.levels - 1)
        codes = [chain.codes(chain.finest, ranks[:, axis]) for axis, chain in enumerate(tree.chains)]
        items = tuple(
            Item(place, chain.levels[-1])
            for place, chain in zip(self._nodes.places, tree.chains, strict=True)
        )
        note = _ROWS if count is None else f"{_ROWS} Their number was asked for: {count:,}."
        domain = self._release.domain
        return SyntheticRows(domain, items, np.stack(codes, axis=1), numbers.astype(np.int64), note)

    @property
    def _total(self) -> float:
        """The fitted count of the root; a file that somebody made up may say less than nothing."""
        return max(float(self._fit.masses[0][0]), 0.0)

    def _axes(self, selection: Selection, items: Sequence[Item]) -> list[Covered]:
        levels = {item.place: item.level for item in items}
        for place in range(len(selection.domain.shape)):
            if place not in self._nodes.places:
                check_beside(selection, place, grouped=place in levels)
        return [
            covered(selection, chain, place, levels.get(place))
            for chain, place in zip(self._tree.chains, self._nodes.places, strict=True)
        ]

    def _answers(
        self, axes: Sequence[Covered], sets: Sequence[NDArray[np.int64]], chance: float
    ) -> Iterator[Answers]:
        """Yield estimates for groups, some at a time."""
        terms = self._release.terms
        laws = [terms.law_at(share) for share in self._tree.shares]
        cutoff = terms.cutoff or 1.0
        cutoffs = [self._tree.cutoff_at(level, cutoff) for level in range(self._tree.levels)]
        for start in range(0, sets[0].size, _AT_ONCE):
            found = walked(self._tree, self._fit, axes, [each[start : start + _AT_ONCE] for each in sets])
            yield bounded(found, laws=laws, cutoffs=cutoffs, chance=chance)

    @property
    def _promise(self) -> str:
        if self._tree.staying == self._tree.levels:
            return _COMPLETE
        return _PROMISE.format(self._release.terms.cutoff or 1.0)


def _check(selection: Selection) -> None:
    if not selection.is_product:
        fact = "a hierarchy answers products of conditions, one for each attribute"
        raise BadQuery(fact, "Join conditions by AND; of an OR, ask for parts that do not overlap.")
