"""Answers from a release of a tree's nodes.

Promise: a question is a product of conditions on single attributes, answered from the nodes that make up its
ranges. Groups are all there are, published or not.
Cost: that of ranges and covers, and some operations on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property

import numpy as np

from hushtable.answers.answerer import Answered
from hushtable.answers.estimation.cells import cell_answer
from hushtable.answers.estimation.law import Assumption, Kind, PublishedLaw
from hushtable.answers.estimation.notes import about
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.nodes.boxes import BoxAnswers
from hushtable.answers.nodes.covers import Cover, PublishedNodes, leaf
from hushtable.answers.nodes.hidden import Hidden, hidden_alone, hidden_by_ancestors, hidden_by_sample
from hushtable.answers.nodes.intervals import NodeIntervals
from hushtable.answers.nodes.ranges import order_of_groups, ranges_of
from hushtable.answers.nodes.sums import NodeSums, sums_of
from hushtable.conditions.selection import Selection
from hushtable.structures.axes import AxisSpace


class NodeAnswers(BoxAnswers):
    """The rows of a release whose rows are nodes of a tree, ready to answer."""

    def __init__(self, release: Opened, nodes: AxisSpace) -> None:
        super().__init__(PublishedLaw(release.terms))
        self._differences, self._tree = nodes.differences, nodes.consistent_tree
        self._axes = nodes.axes
        self._codes = release.codes
        self._published = PublishedNodes(nodes.axes, release.codes)
        self._counts = release.counts

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection, by its own node if the tree has one for each cell."""
        found = [leaf(axis, ranges_of(selection, axis.line, places=())) for axis in self._axes]
        cover = self._published.cover(found)
        row = int(cover.rows[0])
        # What hides a node of a consistent tree may lie above it.
        if self._differences or (row < 0 and self._tree is not None):
            return Answered(self._answered(cover, chance), self._promise(None))
        return cell_answer(self._law, None if row < 0 else int(self._counts[row]), chance=chance)

    def _answers(
        self, selection: Selection, places: Sequence[int], chance: float, assumes: Assumption | None
    ) -> Answers:
        """Return estimates for all groups."""
        ranges = [ranges_of(selection, axis.line, places=places) for axis in self._axes]
        parts = [self._answered(cover, chance) for cover in self._published.covers(ranges)]
        found = Answers(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Answers))
        )
        order = [place for axis in self._axes for place in axis.line.places]
        return found.taken(order_of_groups(selection, order, places))

    def _answered(self, cover: Cover, chance: float) -> Answers:
        sums = sums_of(cover, self._counts, self._law.threshold)
        hidden = self._hidden(sums, cover)
        return NodeIntervals(self._law, sums, hidden, self._differences, chance).answers()

    @cached_property
    def _passed(self) -> PublishedNodes:
        """The nodes beyond the cutoff: all, unless ties at it may be absent."""
        if not self._law.ties or self._law.cutoff is None:
            return self._published
        return PublishedNodes(self._axes, self._codes[self._counts > self._law.cutoff])

    def _hidden(self, sums: NodeSums, cover: Cover) -> Hidden:
        if self._tree is None:
            return hidden_alone(sums)
        if self._law.threshold:
            return hidden_by_sample(sums, self._tree)
        return hidden_by_ancestors(sums, cover, self._tree, self._passed)

    def _promise(self, assumes: Assumption | None) -> str:
        """Return what an interval promises."""
        if not self._law.biased:
            return about(self._law, Kind.UNBIASED)
        what = "Differences of halves" if self._differences else "Ranges"
        lost = "noisy counts of 0 or less"
        if self._law.cutoff is not None:
            size = " in absolute value" * self._law.two_sided
            lost = f"noisy counts below {self._law.cutoff:,.10g}{size}"
        return (
            f"{what} with {lost} are not in this file. The interval covers the true answer, whatever "
            "they hold."
        )
