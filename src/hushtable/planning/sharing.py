"""How tables share epsilon, so that the questions that people will ask have the least error.

Promise: shares follow from public sizes alone. The measure is the weighted geometric mean, over the
questions, of the root mean square error of a group; where the shares are best, every table has as large a
share as it contributes to the answers, so they are found by giving each what it contributes, again and again.
No question by one or two attributes is to have a larger error than from noise on every cell, and no other one
of a tenth more; nor any of a tenth more where a unit changes sums by more than cells. Those that would, count
more, just until they do not.
Cost: tenths of a second for tens of tables, seconds for hundreds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import exp, log, prod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, coarse_first, is_as_fine, parents_between
from hushtable.laws.costs import amount
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.structures.lattice import MOST_FITTED, Depths, LevelChain, TableLattice, components

STEPS = 1000  # shares are whole numbers of this many parts
# A table of so many times as many cells as a size is published whole: that hides nothing, and a file of
# several tables is little larger for it.
WHOLE = 3
_RANGES = 48  # whose mean stands for all
_IRRATIONAL = 0.6180339887498949, 0.41421356237309503
_ROUNDS = 500
_NODES, _SMALLEST = 17, 1e-5  # of shares, for which variances are computed at first
_BEND = 4e-4  # what a line may err by: when it is cut in two, a quarter of that is left
_NO_NOISE = 1e-100  # a smaller variance is none
_CLOSE = 1e-5
_WORTH = 0.004  # a smaller share is not worth a table
_TRIES = 20
_FASTEST = 1.5  # by which a question may count more, or less, than in the try before
_LEAST = 0.02  # of an equal share, where a try starts: what is given in proportion never comes back from 0
# Of the variance that a table of all cells would have, so that no question by one or two is worse off. Tables
# of more have few such cells in each of theirs: to hold them to that as well costs all other questions.
_AT_MOST, _AT_MOST_OF_MORE, _FEW = 0.97, 1.21, 2
_MET, _NEAR = 1.005, 0.98  # of what is allowed, which leaves room for that

Items = tuple[Item, ...]
Array = NDArray[np.float64]


class Budget(NamedTuple):
    """What all tables may spend together, for what one unit changes in a table, as a law measures it."""

    amount: Fraction
    change: Fraction | int
    law: type[NoiseLaw] = Geometric
    cells: Fraction | int | None = None  # the change of the table of all cells, where that is another

    @classmethod
    def of(cls, amount: Fraction, one: Sensitivities, law: type[NoiseLaw]) -> Self:
        """Return what tables may spend, by what one unit changes in the cells.

        Its cells may meet in one cell of every other table: only that of all cells changes by less.
        """
        return cls(amount, law.change(one.added_up()), law, law.change(one))

    @property
    def in_cells(self) -> Budget:
        """The same for the table of all cells alone."""
        return self if self.cells is None else self._replace(change=self.cells, cells=None)

    @property
    def word(self) -> str:
        """What it is called."""
        return "rho" if self.law.currency == "zcdp" else "epsilon"

    @property
    def said(self) -> str:
        """The whole of it, in words."""
        return f"{self.word} = {amount(self.amount)}"

    def variance(self, share: float) -> float:
        """Return the variance of the noise in a table with a share of it."""
        own = self.amount * Fraction(max(share, 1e-9))
        return self.law.calibrated(budget=own, change=Fraction(self.change)).floats.variance


def everything(domain: Domain) -> Items:
    """Return the items of the table of all cells."""
    return tuple(Item(place) for place in range(len(domain.names)))


def is_whole(domain: Domain, items: Items, size: int) -> bool:
    """Return whether a table is published whole, and has few enough attributes to be fitted."""
    return len(items) <= MOST_FITTED and cells_of(domain, items) <= WHOLE * size


def cells_of(domain: Domain, items: Sequence[Item]) -> int:
    """Return how many cells a table has; the total is a table of one."""
    return prod(attribute_at(domain, item).size for item in items)


def knows(domain: Domain, table: Items, question: Items) -> bool:
    """Return whether a whole table has all items of a question, at their levels or at finer ones."""
    return all(any(is_as_fine(domain, own, item) for own in table) for item in question)


class Sought(NamedTuple):
    """A question: its items, how much it counts, and the places of those that are asked for in ranges."""

    items: Items
    weight: float = 1.0
    ranges: frozenset[int] = frozenset()

    def cells(self, domain: Domain) -> float:
        """Return how many cells of the domain an answer adds up, on average."""
        found = float(domain.cells_total)
        for item in self.items:
            size = attribute_at(domain, item).size
            found *= (
                float(np.diff(ranges_of(size), axis=1).mean()) / size
                if item.place in self.ranges
                else 1 / size
            )
        return found


def ranges_of(size: int) -> NDArray[np.int64]:
    """Return first values and ends of ranges as people may ask for them: any two ends, alike."""
    one, two = (np.arange(1, _RANGES + 1) * each % 1 for each in _IRRATIONAL)
    ends = np.stack([np.floor(one * size), np.floor(two * size)], axis=1).astype(np.int64)
    ends.sort(axis=1)
    ends[:, 1] += 1
    return ends


class PlannedLattice:
    """Tables over chains of the levels in use, of which sizes alone matter, but for ranges."""

    def __init__(self, domain: Domain, tables: Sequence[Items]) -> None:
        used: dict[int, set[int]] = {}
        for items in tables:
            for place, level in items:
                used.setdefault(place, set()).add(level)
        self._domain = domain
        self._levels = {
            place: coarse_first(domain.attributes[place], levels) for place, levels in used.items()
        }
        nothing = np.zeros(0, dtype=np.intp)
        self._chains = {
            place: LevelChain(
                (1, *(attribute_at(domain, Item(place, level)).size for level in levels)),
                (nothing,) * len(levels),
            )
            for place, levels in self._levels.items()
        }
        found = [self.depths(items) for items in tables]
        self.tables: list[Depths] = [each for each in found if each is not None]

    def at(self, variances: Sequence[float]) -> TableLattice:
        """Return the tables with the variances of their noise."""
        return TableLattice(self._chains, self.tables, variances)

    def parts_of_ranges(self, place: int, depth: int) -> Array:
        """Return by how much components of each depth count in the variance of a range, on average."""
        levels, attribute = self._levels[place], self._domain.attributes[place]
        parents = [np.zeros(self._chains[place].sizes[1], dtype=np.intp)]
        for coarse, fine in pairwise(levels[:depth]):
            parents.append(parents_between(attribute, fine, coarse).astype(np.intp))
        chain = LevelChain(self._chains[place].sizes[: depth + 1], tuple(parents))
        values = np.arange(chain.sizes[depth])
        ends = ranges_of(chain.sizes[depth])
        inside = (ends[:, :1] <= values) & (values < ends[:, 1:])
        return chain.parts(inside.astype(np.float64), depth)

    def depths(self, items: Sequence[Item]) -> Depths | None:
        """Return items as depths: at the coarsest level in use that is fine enough; None where none is."""
        found = []
        for item in sorted(items):
            fine = [
                depth
                for depth, own in enumerate(self._levels.get(item.place, ()), start=1)
                if is_as_fine(self._domain, Item(item.place, own), item)
            ]
            if not fine:
                return None
            found.append((item.place, fine[0]))
        return tuple(found)


def shared(
    domain: Domain,
    questions: Sequence[Sought],
    candidates: Sequence[Items],
    *,
    size: int,
    budget: Budget,
    reserved: float = 0.0,
) -> tuple[tuple[Items, ...], tuple[int, ...]]:
    """Return the candidates that are worth a table, and their shares; `reserved` is for others.

    A share is what a table costs, of what all of them cost.
    """
    tables, finest = list(candidates), everything(domain)
    cells = np.array([each.cells(domain) for each in questions])
    more = (cells <= 1.0) | np.array([len(each.items) > _FEW for each in questions])
    # A unit that changes sums by more than cells makes every other table dear: beside those of the cells,
    # none could be had without some more noise there.
    more |= budget.in_cells.change != budget.change
    allowed = np.where(more, _AT_MOST_OF_MORE, _AT_MOST) * budget.in_cells.variance(1.0) * cells
    while True:
        whole = [items for items in tables if is_whole(domain, items, size)]
        everyone = [*whole, *(items for items in tables if items not in whole)]
        made = PlannedLattice(domain, whole)
        model = _Model(made, questions, budget, reserved, cells=[items == finest for items in whole])
        shares, met = _met(model, questions, everyone[len(whole) :], allowed)
        kept = [items for items, share in zip(everyone, shares, strict=True) if share >= _WORTH]
        answered = all(
            any(knows(domain, items, each.items) for items in kept)
            for each in questions
            if is_whole(domain, each.items, size)
        )
        if len(kept) == len(tables) or not answered:
            break
        tables = kept
    if whole and not met and is_whole(domain, finest, size):
        if finest in candidates:
            return (finest,), (1,)
        # Nobody asked for the cells, but they may answer better than sums of them.
        return shared(domain, questions, [*candidates, finest], size=size, budget=budget, reserved=reserved)
    parts = [max(1, round(float(share) * STEPS)) for share in shares]
    order = sorted(range(len(everyone)), key=lambda each: (len(everyone[each]), everyone[each]))
    return tuple(everyone[each] for each in order), tuple(parts[each] for each in order)


def _met(
    model: _Model, questions: Sequence[Sought], sparse: Sequence[Items], allowed: Array
) -> tuple[Array, bool]:
    """Return shares with which no question has more than its allowed variance, and whether there are any.

    Questions that would have more count more, and less again where that was too much. Where that goes back
    and forth, as it may between two ways to share, they only count more.
    """
    asked = {each.items: place for place, each in enumerate(questions)}
    weights = np.array([each.weight for each in questions])
    tried, shares = weights.copy(), None
    best: tuple[float, Array] | None = None
    for number in range(2 * _TRIES):
        extra = [tried[asked[items]] if items in asked else 0.1 for items in sparse]
        shares, variances = model.best(tried, extra=extra, start=shares)
        known = ~np.isnan(variances)
        times = np.where(known, variances, 0.0) / allowed
        if times.max(initial=0.0) <= _MET:
            measure = float(weights[known] @ np.log(variances[known]))
            best = (measure, shares) if best is None or measure < best[0] else best
            # None counts for more than it must.
            if number >= _TRIES or (times[tried > 1.001 * weights] > _NEAR).all():
                break
        elif number >= _TRIES and best is not None:
            break
        least = 1 / _FASTEST if number < _TRIES else 1.0
        tried = np.maximum(tried * np.clip(times, least, _FASTEST), weights)
    assert shares is not None
    return (shares, False) if best is None else (best[1], True)


class _Model:
    """Variances of questions as a function of the shares of whole tables."""

    def __init__(
        self,
        made: PlannedLattice,
        questions: Sequence[Sought],
        budget: Budget,
        reserved: float,
        *,
        cells: Sequence[bool],
    ) -> None:
        self._tables, self._room = len(made.tables), 1 - reserved
        self._curve, self._curve_of_cells = _curve(budget._replace(cells=None)), _curve(budget.in_cells)
        self._cells = np.array(cells, dtype=np.bool_)  # which table is that of all cells
        lattice = made.at([1.0] * self._tables)
        depths = [made.depths(each.items) for each in questions]
        known = [each if each is not None and lattice.knows(each) else None for each in depths]
        found = sorted({part for each in known if each is not None for part in components(each)})
        places = {part: place for place, part in enumerate(found)}
        self._precision = np.zeros((self._tables, len(found)))
        for row, table in enumerate(lattice.tables):
            for part in components(table):
                if part in places:
                    self._precision[row, places[part]] = 1 / lattice.merged(table, part)
        self._parts = np.zeros((len(questions), len(found)))
        for row, (answered, question) in enumerate(zip(known, questions, strict=True)):
            if answered is not None:
                parts = parts_of(made, lattice, answered, question.ranges)
                self._parts[row, [places[part] for part in parts]] = list(parts.values())
        self._known = np.array([each is not None for each in known])

    def best(
        self, weights: Array, *, extra: Sequence[float], start: Array | None = None
    ) -> tuple[Array, Array]:
        """Return the best shares, of tables and then of further ones with `extra` weights of their own.

        A further table answers a question that no whole table knows, with an error that goes with 1 / share.
        With the shares come the variances of the questions, not known of those. `start` are shares nearby.
        """
        known = weights * self._known
        total = known.sum() + sum(extra)
        own = self._room * np.array(extra, dtype=np.float64) / total
        room = self._room - own.sum()
        shares = np.full(self._tables, room / max(self._tables, 1))
        if start is not None and self._tables:
            shares = np.maximum(start[: self._tables], _LEAST * shares)
            shares *= room / shares.sum()
        variances = np.full(len(weights), np.nan)
        for _ in range(_ROUNDS if self._tables else 0):
            precisions, gains = self._precisions(shares)
            inverse = 1 / (precisions @ self._precision)
            variances = np.where(self._known, self._parts @ inverse, np.nan)
            counted = np.where(self._known, known / np.where(self._known, variances, 1.0), 0.0)
            given = precisions * gains * (self._precision @ (inverse**2 * (self._parts.T @ counted)))
            # Half of the way, in proportion: the whole of it may go back and forth.
            new = np.sqrt(shares * given)
            new *= room / max(new.sum(), 1e-300)
            done = np.abs(new - shares).max(initial=0.0) < _CLOSE
            shares = new
            if done:
                break
        return np.concatenate([shares, own]), variances

    def _precisions(self, shares: Array) -> tuple[Array, Array]:
        """Return 1 / variance at each share, and how fast it grows: 2 where noise is wide, faster below."""
        places = np.log(np.maximum(shares, _SMALLEST))
        found = np.empty((2, len(shares)))
        for (nodes, precisions, gains), here in (
            (self._curve, ~self._cells),
            (self._curve_of_cells, self._cells),
        ):
            found[0, here] = np.exp(np.interp(places[here], nodes, precisions))
            found[1, here] = np.interp(places[here], nodes, gains)
        return found[0], found[1]


def parts_of(
    made: PlannedLattice, lattice: TableLattice, table: Depths, ranges: frozenset[int]
) -> dict[Depths, float]:
    """Return by how much the variance of each component counts in that of an answer, on average."""
    along = {
        place: made.parts_of_ranges(place, depth).tolist()
        if place in ranges
        else [lattice.part_along(place, depth, to) for to in range(depth + 1)]
        for place, depth in table
    }
    found = {}
    for component in components(table):
        to = dict(component)
        found[component] = prod(along[place][to.get(place, 0)] for place, _ in table)
    return found


@lru_cache(maxsize=16)
def _curve(budget: Budget) -> tuple[Array, Array, Array]:
    """Return logarithms of shares and of 1 / variance, and the slope: lines between err by some 10^-4.

    Where the curve is straight, as it is while noise is wide, a few nodes do: a law without formulas
    of its own takes tens of milliseconds for each.
    """

    def precision(node: float) -> float:
        return -log(max(budget.variance(exp(node)), _NO_NOISE))

    def between(left: float, right: float, narrowest: float) -> None:
        """Add nodes until the line between two of them is close to what lies in their middle."""
        middle = (left + right) / 2
        found[middle] = precision(middle)
        bend = abs(found[middle] - (found[left] + found[right]) / 2)
        if bend > _BEND and right - left > narrowest:
            between(left, middle, narrowest)
            between(middle, right, narrowest)

    coarse = np.linspace(log(_SMALLEST), 0.0, _NODES).tolist()
    found = {node: precision(node) for node in coarse}
    for left, right in pairwise(coarse):
        between(left, right, (right - left) / 32)
    nodes = np.array(sorted(found))
    precisions = np.array([found[node] for node in nodes.tolist()])
    # At the smallest rate that there is, noise gets no wider; a share is still worth something there.
    return nodes, precisions, np.maximum(np.gradient(precisions, nodes), 1.0)
