"""The truth of a formula on classes of codes.

An attribute's codes fall into classes, within which all conditions on it agree; on the grid of the classes of
all its attributes a formula is one small array of truths.

Promise: cells are counted exactly, as sums of products of class sizes, for any formula and size of domain.
Cost: the points of the grid, of which there are at most 10^6, and the runs of codes; never the cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.formulas import And, Formula, Leaf, leaves_of
from hushtable.conditions.ranges import Runs, distinct, fresh, worth_a_table
from hushtable.errors import BadQuery

LARGEST_GRID = 10**6


class ClassAxis:
    """The codes of one attribute in pieces, each of one class; `starts` are the first codes of the pieces."""

    def __init__(self, place: int, size: int, sets: Sequence[Runs]) -> None:
        self.place, self.size = place, size
        bounds = [bound for each in sets for bound in (each.starts, each.stops)]
        starts = distinct(np.concatenate([np.zeros(1, dtype=np.int64), *bounds]))
        self.starts = starts[starts < size]
        truths = np.stack([each.holds(self.starts, size=size) for each in sets], axis=1)
        words = np.packbits(truths, axis=1)
        order = np.lexsort(words.T[::-1])
        first = fresh(words[order])  # of each class
        self.classes = np.empty(order.size, dtype=np.intp)
        self.classes[order] = np.cumsum(first) - 1
        self.samples = self.starts[order[first]]  # one code of each class
        self.sizes = np.zeros(self.samples.size, dtype=np.int64)
        np.add.at(self.sizes, self.classes, np.diff(self.starts, append=size))

    def class_of(self, codes: NDArray[Any]) -> NDArray[np.intp]:
        """Return the class of each code."""
        if worth_a_table(self.size, looked_up=len(codes)):
            return self.class_of_all().take(codes)
        # Brought to the type of `codes`, so that a large column is not copied.
        pieces = np.searchsorted(self.starts.astype(codes.dtype), codes, side="right")
        return self.classes.take(pieces - 1)

    def class_of_all(self) -> NDArray[np.intp]:
        """Return the class of every code of the attribute, in order."""
        return np.repeat(self.classes, np.diff(self.starts, append=self.size))

    def runs(self, accepted: NDArray[np.bool_]) -> Runs:
        """Return the codes whose class is accepted."""
        changes = np.diff(accepted[self.classes].astype(np.int8), prepend=0, append=0)
        ends = np.append(self.starts, self.size)
        return Runs(ends[changes == 1], ends[changes == -1])


class Grid:
    """A formula as truths on the classes of its attributes: `truth` has one axis for each, by place."""

    def __init__(self, formula: Formula, shape: Sequence[int]) -> None:
        sets: dict[int, list[Runs]] = {}
        for leaf in leaves_of(formula):
            sets.setdefault(leaf.place, []).append(leaf.codes)
        axes = [ClassAxis(place, shape[place], sets[place]) for place in sorted(sets)]
        lengths = [len(axis.samples) for axis in axes]
        if prod(lengths) > LARGEST_GRID:
            fact = f"the condition cuts the attributes into {' x '.join(map(str, lengths))} classes of cells"
            hint = f"At most {LARGEST_GRID} can be counted. Ask for fewer combinations at a time."
            raise BadQuery(fact, hint)
        truth = np.broadcast_to(_truth(formula, axes), lengths)
        # An attribute along which nothing changes does not matter.
        for number in reversed(range(len(axes))):
            first = truth.take([0], axis=number)
            if np.array_equal(np.broadcast_to(first, truth.shape), truth):
                truth = first.squeeze(axis=number)
                del axes[number]
        self.axes, self.truth = axes, truth

    def moved(self, places: Mapping[int, int]) -> Grid:
        """Return the grid with its attributes at other places, in the same order."""
        made = copy(self)
        made.axes = [copy(axis) for axis in self.axes]
        for axis in made.axes:
            axis.place = places[axis.place]
        return made

    @cached_property
    def alone(self) -> list[NDArray[np.bool_]]:
        """For each attribute, which of its classes occur among the cells selected."""
        axes = range(self.truth.ndim)
        others = [tuple(other for other in axes if other != axis) for axis in axes]
        return [np.asarray(self.truth.any(axis=other)) for other in others]

    @cached_property
    def is_product(self) -> bool:
        """Whether the cells selected are all those that each attribute allows by itself."""
        allowed = prod(int(np.count_nonzero(accepted)) for accepted in self.alone)
        return allowed == int(np.count_nonzero(self.truth))

    def truth_at(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return the truth for rows; `columns` holds the codes of each of the grid's attributes."""
        point = np.zeros(1, dtype=np.intp)
        for axis, length, column in zip(self.axes, self.truth.shape, columns, strict=True):
            point = point * length + axis.class_of(column)
        return self.truth.ravel().take(point)

    def cells(self, places: Collection[int]) -> NDArray[Any]:
        """Return exact counts of cells, of the grid's attributes alone, by class of those among `places`.

        The counts are int64 where all fit, else Python's ints.
        """
        whole = np.int64 if prod(axis.size for axis in self.axes) < 1 << 63 else object
        counts = self.truth.astype(whole)
        for number, axis in reversed(list(enumerate(self.axes))):
            if axis.place not in places:
                counts = np.asarray(np.moveaxis(counts, number, -1) @ axis.sizes.astype(whole))
        return counts


def _truth(formula: Formula, axes: Sequence[ClassAxis]) -> NDArray[np.bool_]:
    """Return the truth of the formula on the grid of classes, in a shape that broadcasts to it."""
    if isinstance(formula, Leaf):
        number = next(number for number, axis in enumerate(axes) if axis.place == formula.place)
        shape = [1] * len(axes)
        shape[number] = -1
        return formula.codes.holds(axes[number].samples, size=axes[number].size).reshape(shape)
    combine: Any = np.logical_and if isinstance(formula, And) else np.logical_or
    truth = np.full([1] * len(axes), isinstance(formula, And))
    for part in formula.parts:
        truth = combine(truth, _truth(part, axes))
    return truth
