"""Sums over the published rows of a release, for one set of cells or for many groups at once.

Promise: all that an estimate and its error need from the rows. A row is certain where its count reaches the
threshold, and sampled below it: then it stands for threshold/|count| cells and weighs as much as the
threshold.
Cost: two passes over the selected rows, three with a cutoff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.sampling import Sampled
from hushtable.conditions.selection import Selection
from hushtable.domain.domain import Domain
from hushtable.release.terms import Terms

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice
ALL = slice(None)

_FEWER = 16  # rows for each combination from which on it pays to add them up by all

_KINDS = 5
_ZERO, _CERTAIN_UP, _CERTAIN_DOWN, _SAMPLED_UP, _SAMPLED_DOWN = range(_KINDS)


@dataclass(frozen=True, slots=True)
class Sums:
    """One entry for each group of rows."""

    rows: Array  # published rows whose count is not 0
    weight: Array
    up: Array  # of the sampled rows above 0: the sum of weights, and of the counts themselves
    up_seen: Array
    down: Array  # of the sampled rows below 0, in size
    down_seen: Array
    threshold: float
    reached: Array  # estimated number of cells that reached the cutoff, sampled away or not

    @property
    def sampled(self) -> tuple[Sampled, Sampled]:
        """The sampled rows above 0, and those below.

        A count v stands for threshold/v ones, each of them kept or not: so their variance is estimated.
        """
        up = np.maximum(self.threshold * (self.up - self.up_seen), 0)
        down = np.maximum(self.threshold * (self.down - self.down_seen), 0)
        return Sampled(self.up, self.up_seen, up), Sampled(self.down, self.down_seen, down)

    @property
    def seen(self) -> Array:
        """The sum of the published counts themselves."""
        return self.weight - (self.up - self.up_seen) + (self.down - self.down_seen)

    @property
    def variance(self) -> Array:
        """The estimated variance of the weight, by sampling alone."""
        up, down = self.sampled
        return up.variance + down.variance

    def taken(self, places: NDArray[np.intp]) -> Sums:
        """Return the sums of some groups."""
        return self._mapped(lambda name: getattr(self, name)[places])

    def added(self, places: Rows) -> Sums:
        """Return the sums of some groups together."""
        return self._mapped(lambda name: getattr(self, name)[places].sum(keepdims=True))

    def without(self, others: Sums) -> Sums:
        """Return the sums over the rows that are not among `others`, which are some of these."""
        return self._mapped(lambda name: getattr(self, name) - getattr(others, name))

    def _mapped(self, change: Callable[[str], Array]) -> Sums:
        names = (each.name for each in fields(self) if each.name != "threshold")
        return Sums(threshold=self.threshold, **{name: change(name) for name in names})


class Opened(Protocol):
    """What answers need of a release."""

    @property
    def terms(self) -> Terms: ...  # noqa: D102
    @property
    def domain(self) -> Domain: ...  # noqa: D102
    @property
    def codes(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def counts(self) -> NDArray[np.int64]: ...  # noqa: D102


class PublishedRows:
    """The rows of a release as columns to search and add up."""

    def __init__(self, release: Opened) -> None:
        self.threshold = release.terms.threshold or 0.0
        self.counts = release.counts
        self._codes = release.codes
        self._shape = release.domain.shape
        self._by: dict[tuple[int, ...], Sums | None] = {}  # by the attributes that were asked about

    @cached_property
    def columns(self) -> list[NDArray[np.unsignedinteger]]:
        """The codes of each attribute, in the smallest type that holds them."""
        return [
            column.astype(np.min_scalar_type(size - 1))
            for column, size in zip(self._codes.T, self._shape, strict=True)
        ]

    @cached_property
    def _sizes(self) -> Array:
        return np.abs(self.counts.astype(np.float64))

    @cached_property
    def _kinds(self) -> NDArray[np.uint8]:
        sampled = self._sizes < self.threshold
        kinds = np.where(self.counts > 0, _CERTAIN_UP, _CERTAIN_DOWN) + np.where(sampled, 2, 0)
        return np.where(self.counts == 0, _ZERO, kinds).astype(np.uint8)

    @cached_property
    def stands_for(self) -> Array:
        """How many cells a row stands for."""
        cells = np.maximum(1.0, self.threshold / np.maximum(self._sizes, 1.0))
        return np.where(self.counts == 0, 0.0, cells)

    @cached_property
    def weights(self) -> Array:
        """The weights, as in the file."""
        return np.copysign(np.maximum(self._sizes, self.threshold), self.counts) * np.sign(self._sizes)

    @cached_property
    def all(self) -> Sums:
        """The sums over all rows."""
        return self.sums(ALL)

    def selected(self, selection: Selection) -> Sums:
        """Add up the rows of a selection.

        Where questions about the same attributes come again, rows are added up by these attributes, once, if
        they have far fewer combinations than there are rows.
        """
        places = selection.attributes
        if not places:
            return self.all
        shape = [self._shape[place] for place in places]
        if _FEWER * prod(shape) > len(self.counts):
            return self.sums(selection.rows(self.columns))
        if places not in self._by:
            self._by[places] = None  # one question alone does not pay for more
            return self.sums(selection.rows(self.columns))
        found = self._by[places]
        if found is None:
            groups = np.zeros(len(self.counts), dtype=np.intp)
            for place, size in zip(places, shape, strict=True):
                groups = groups * size + self.columns[place]
            self._by[places] = found = self.sums(ALL, groups, number=prod(shape))
        codes = np.unravel_index(np.arange(prod(shape)), shape)
        own = dict(zip(places, codes, strict=True))
        columns = [own.get(place, codes[0]).astype(np.int64) for place in range(len(self._shape))]
        return found.added(selection.rows(columns))

    def sums(self, rows: Rows, groups: NDArray[np.intp] | None = None, *, number: int = 1) -> Sums:
        """Add up the rows, for each of `number` groups if `groups` says where each row belongs."""
        sizes = self._sizes[rows]
        kinds = self._kinds[rows] if groups is None else groups * _KINDS + self._kinds[rows]
        many = np.bincount(kinds, minlength=number * _KINDS).reshape(number, _KINDS).T
        size = np.bincount(kinds, weights=sizes, minlength=number * _KINDS).reshape(number, _KINDS).T
        tau = self.threshold
        up, down = (tau * many[kind] for kind in (_SAMPLED_UP, _SAMPLED_DOWN))
        sampled = many[_SAMPLED_UP] + many[_SAMPLED_DOWN]
        reached = (many[_CERTAIN_UP] + many[_CERTAIN_DOWN]).astype(np.float64)
        if sampled.any():
            cells = self.stands_for[rows]
            if groups is None:
                reached = np.array([cells.sum()])
            else:
                reached = np.bincount(groups, weights=cells, minlength=number)
        return Sums(
            rows=(many.sum(axis=0) - many[_ZERO]).astype(np.float64),
            weight=size[_CERTAIN_UP] - size[_CERTAIN_DOWN] + up - down,
            up=up,
            up_seen=size[_SAMPLED_UP],
            down=down,
            down_seen=size[_SAMPLED_DOWN],
            threshold=tau,
            reached=reached,
        )
