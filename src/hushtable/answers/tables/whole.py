"""Answers from tables that are published whole, fitted together.

Promise: an answer is right on average, agrees with every other one of the same release, and its variance is
exact (`structures.lattice`). Its interval holds for whatever groups are asked for: it rests on noise alone.
Cost: fitting is done once; an answer costs the cells of the table that it adds up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.parts import Answers
from hushtable.answers.estimation.tails import SeenNoise, noise, normal_reach
from hushtable.answers.tables.nonnegative import NonnegativeTables
from hushtable.conditions.selection import Selection
from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, coarse_first, is_as_fine, parents_between
from hushtable.laws.law import NoiseLaw
from hushtable.structures.lattice import (
    MOST_FITTED,
    Array,
    Asked,
    Depths,
    FittedTables,
    LevelChain,
    TableLattice,
)

MOST_CODES = 1 << 24  # of an attribute in a condition that is looked at code by code
_MOST_COMPONENTS = 1 << 20
_NEXT = 1e-3  # no chances fall by half in less
_MOST_WEIGHTS = 1 << 24  # numbers that say what is added up along one attribute


Cut = Literal["inside", "around", "even"]  # what counts of values through which a condition cuts
CUTS: tuple[Cut, Cut, Cut] = ("inside", "around", "even")


class WholeTable(NamedTuple):
    """A table that is published whole: its items, the law of its noise, and its counts."""

    items: tuple[Item, ...]
    law: NoiseLaw
    counts: Array  # with an axis for each item


class AskedAlong(NamedTuple):
    """What a question adds up along one attribute: groups at a level, cells that a condition allows, or both.

    `level` is that of the groups, None where everything that is allowed is added up; `groups` are the codes
    there. `allowed` are codes of the attribute's own values, None where all are.
    """

    place: int
    level: int | None
    groups: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None


class WholeTables:
    """The whole tables of a release, ready to answer."""

    def __init__(self, domain: Domain, tables: Sequence[WholeTable]) -> None:
        self._domain = domain
        self._tables = list(_few_enough(tables))
        used: dict[int, set[int]] = {}
        for table in self._tables:
            for place, level in table.items:
                used.setdefault(place, set()).add(level)
        # From coarse to fine: the level at depth d is the one before d - 1.
        self._levels = {
            place: coarse_first(domain.attributes[place], levels) for place, levels in used.items()
        }

    @cached_property
    def lattice(self) -> TableLattice:
        """The tables and the variances of their noise."""
        chains = {place: self._chain(place) for place in self._levels}
        depths = [self.depths(each.items) for each in self._tables]
        return TableLattice(chains, depths, [noise(each.law).variance for each in self._tables])

    @cached_property
    def fitted(self) -> FittedTables:
        """The tables, fitted to one another."""
        return self.lattice.fitted([each.counts for each in self._tables])

    def _chain(self, place: int) -> LevelChain:
        attribute, levels = self._domain.attributes[place], self._levels[place]
        parents = [np.zeros(self._size(place, levels[0]), dtype=np.intp)]
        for coarse, fine in pairwise(levels):
            parents.append(parents_between(attribute, fine, coarse).astype(np.intp))
        return LevelChain((1, *(self._size(place, level) for level in levels)), tuple(parents))

    def _size(self, place: int, level: int) -> int:
        return attribute_at(self._domain, Item(place, level)).size

    def depths(self, items: Sequence[Item]) -> Depths:
        """Return items as depths of chains."""
        return tuple((place, 1 + self._levels[place].index(level)) for place, level in sorted(items))

    def resolved(
        self, question: Sequence[AskedAlong], *, cut: Cut | None = None
    ) -> tuple[Depths, list[Asked]] | None:
        """Return the fitted table that a question adds up, and what along each attribute; None if unknown."""
        places = sorted(along.place for along in question)
        ways = [self._ways(along, cut) for along in sorted(question, key=lambda each: each.place)]
        for found in product(*ways):
            table = tuple((place, depth) for place, (depth, _) in zip(places, found, strict=True))
            if self.lattice.knows(table):
                return table, [asked for _, asked in found]
        return None

    def _ways(self, along: AskedAlong, cut: Cut | None) -> list[tuple[int, Asked]]:
        """Return depths at which an attribute may be added up, the best first, and what is added up there."""
        asked = self._asked(along)
        if asked is not None:
            return [asked]
        return [] if cut is None else list(self._asked_of_runs(along, cut))

    def _asked(self, along: AskedAlong) -> tuple[int, Asked] | None:
        """Return the coarsest depth at which an attribute is fine enough, and what is added up there."""
        attribute, allowed = self._domain.attributes[along.place], along.allowed
        if allowed is not None and len(allowed) < attribute.size:
            return None
        for depth, level in enumerate(self._levels.get(along.place, ()), start=1):
            if along.level is not None and not is_as_fine(
                self._domain, Item(along.place, level), Item(along.place, along.level)
            ):
                continue
            weights = np.ones(self._size(along.place, level))
            if allowed is not None:
                parents = parents_between(attribute, 0, level)
                inside = np.bincount(parents[allowed], minlength=len(weights))
                if ((inside > 0) & (inside < np.bincount(parents, minlength=len(weights)))).any():
                    continue  # a condition that cuts through values of this level
                weights = (inside > 0).astype(np.float64)
            if along.level is None:
                return depth, Asked(weights=weights[np.newaxis])
            if along.level == level:
                return depth, Asked(codes=along.groups)  # groups are those that a condition allows
            if len(along.groups) * len(weights) > _MOST_WEIGHTS:
                return None
            coarser = parents_between(attribute, level, along.level)
            rows = (coarser[np.newaxis] == along.groups[:, np.newaxis]) * weights
            return depth, Asked(weights=rows)
        return None

    def _asked_of_runs(self, along: AskedAlong, cut: Cut) -> Iterator[tuple[int, Asked]]:
        """Yield the same from the finest depth on, where a condition cuts through values of each."""
        attribute, allowed, levels = self._domain.attributes[along.place], along.allowed, self._levels
        if allowed is None or len(allowed) < attribute.size:
            return
        for depth, level in reversed(list(enumerate(levels.get(along.place, ()), start=1))):
            size, parents = self._size(along.place, level), parents_between(attribute, 0, level)
            share = np.bincount(parents[allowed], minlength=size) / np.bincount(parents, minlength=size)
            weights = {"inside": np.floor(share), "around": np.ceil(share), "even": share}[cut][np.newaxis]
            if along.level is not None:
                item = Item(along.place, along.level)
                few = len(along.groups) * size <= _MOST_WEIGHTS
                if not few or not is_as_fine(self._domain, Item(along.place, level), item):
                    continue
                coarser = parents_between(attribute, level, along.level)
                weights = (coarser[np.newaxis] == along.groups[:, np.newaxis]) * weights
            yield depth, Asked(weights=weights)

    def bounded(self, question: Sequence[AskedAlong], *, chance: float) -> Answers | None:
        """Return answers where conditions cut through values of the tables, if no count is negative.

        The truth lies between the sums over the values that lie inside and over those around; the estimate
        gives each value what is allowed of it. None where that is unknown too.
        """
        inside, around, even = (self.answers(question, chance=chance, cut=cut) for cut in CUTS)
        if inside is None or around is None or even is None:
            return None
        value, low, high = even.value, np.maximum(inside.low, 0.0), np.maximum(around.high, 0.0)
        error = np.maximum(
            np.hypot(inside.standard_error, inside.value - value),
            np.hypot(around.standard_error, around.value - value),
        )
        return Answers(value, error, np.minimum(low, value), np.maximum(high, value))

    @cached_property
    def above(self) -> NonnegativeTables:
        """The same without numbers below 0."""
        return NonnegativeTables(self.fitted)

    def nonnegative(self, question: Sequence[AskedAlong]) -> Array | None:
        """Return estimates that are 0 or more and add up, as `answers` gives them."""
        known = self.resolved(question)
        if known is None:
            return None
        table, asked = known
        value = self.above.table(table)
        for axis, each in enumerate(asked):
            value = each.added(value, axis)
        return value.ravel()

    def answers(
        self, question: Sequence[AskedAlong], *, chance: float, cut: Cut | None = None
    ) -> Answers | None:
        """Return estimates with an axis for each attribute that has groups, flattened; None if unknown."""
        known = self.resolved(question, cut=cut)
        if known is None:
            return None
        table, asked = known
        value = self.fitted.table(table)
        for axis, each in enumerate(asked):
            value = each.added(value, axis)
        deviation = np.sqrt(self.lattice.spread(table, asked))
        value, deviation = value.ravel(), deviation.ravel()
        reach = self.reach(deviation**2, chance)
        return Answers(value, deviation, value - reach, value + reach)

    def reach(self, variances: Array, chance: float) -> Array:
        """Return how far answers of these variances may be off, with that chance.

        An answer adds up noise of many cells or of few. It is taken for a sum over as many cells of one table
        as have its variance, of the table for which that reaches farthest: where noise is wide, cells are
        few; where it is sharp, whole numbers that are mostly 0 reach farther than a normal law says.

        A sum of whole numbers passes the same limits from one of them up to the next. Other tables make an
        answer a little more or less than a whole number, so the middle is taken, and never less than whole:
        the middle of the chance, which is nearer to the lower one where noise is sharp.
        """
        found = normal_reach(chance) * np.sqrt(variances)
        for law in self._noises:
            cells = variances / law.variance
            one, rarer = (law.reach(np.maximum(cells, 1.0), each)[1] for each in (chance, chance / 2))
            half = np.maximum(rarer - one, _NEXT)  # the distance in which chances fall by half
            middle = half * (1 - np.log2(1 + np.exp2(-1 / half)))
            one = np.maximum(one - middle, np.floor(one)) * np.sqrt(np.minimum(cells, 1.0))
            found = np.maximum(found, one)
        return found

    @cached_property
    def _noises(self) -> list[SeenNoise]:
        """The noise of each table, each law once."""
        return [
            each for each in dict.fromkeys(noise(table.law) for table in self._tables) if each.variance > 0
        ]

    @cached_property
    def total(self) -> tuple[float, float]:
        """The fitted total, and its variance."""
        return float(self.fitted.table(())), self.lattice.variance(())

    @cached_property
    def noise(self) -> FittedNoise:
        """The noise of a fitted answer with a variance of 1."""
        return FittedNoise(self)

    def raw(self, places: Sequence[int], selection: Selection) -> float:
        """Return the smallest standard deviation with which one table by itself answers a condition."""
        found = []
        for table in self._tables:
            own = {item.place for item in table.items if not item.level}
            if own.issuperset(places):
                outside = prod(size for place, size in enumerate(self._domain.shape) if place not in own)
                levels = prod(self._size(*item) for item in table.items if item.level)
                found.append((selection.cells / outside * levels * noise(table.law).variance) ** 0.5)
        return float(min(found))


def _few_enough(tables: Sequence[WholeTable]) -> Iterator[WholeTable]:
    """Yield the tables that are fitted: of few attributes each, and of not too many components in all."""
    components = 0
    for table in sorted(tables, key=lambda each: len(each.items)):
        components += 1 << len(table.items)
        if len(table.items) <= MOST_FITTED and components <= _MOST_COMPONENTS:
            yield table


class FittedNoise:
    """Noise of fitted answers, by their variance: what `bounds` asks of noise."""

    variance = 1.0

    def __init__(self, tables: WholeTables) -> None:
        self._tables = tables

    def reach(self, variances: Array, chance: float) -> tuple[Array, Array]:
        """Return how far answers with these variances fall below, and rise above, the truth."""
        reach = self._tables.reach(variances, chance)
        return reach, reach


def allowed_codes(selection: Selection, place: int) -> NDArray[np.bool_] | None:
    """Return which codes of an attribute a condition allows, None where it allows all.

    Nothing is returned of an attribute that has too many: no whole table tells its values apart.
    """
    if place not in selection.attributes:
        return None
    size = selection.domain.shape[place]
    if size > MOST_CODES:
        return np.zeros(0, dtype=np.bool_)
    truth = np.zeros(size, dtype=np.bool_)
    truth[selection.codes(place).all()] = True
    return truth
