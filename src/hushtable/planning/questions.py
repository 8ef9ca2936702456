r"""Which tables to publish for the questions that people will ask, and how they share epsilon.

Promise: the choice follows from the questions and from public sizes alone, so it costs nothing and tells
nothing. Every question that whole tables can answer is answered by all of them, fitted together; its error is
known beforehand, exactly (`structures.lattice`).
The measure: the weighted geometric mean, over the questions, of the root mean square error of a group. It is
that of relative errors too, since the counts that one expects only scale it; and a question of large groups
counts as much as one of small ones. Where the shares are best, every table has as large a share of epsilon as
it contributes to the answers; so they are found by giving each what it contributes, again and again.
Cost: milliseconds for tens of tables, seconds for hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, items_of, label_of
from hushtable.domain.kinds import plain
from hushtable.errors import BadChoice, shown
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import as_positive
from hushtable.planning.wording import aligned, number, paragraph, percent
from hushtable.structures.lattice import MOST_FITTED, Depths, LevelChain, TableLattice, components
from hushtable.structures.tables import Tables

_STEPS = 1000  # shares are whole numbers of this many parts
_ROUNDS = 500
_CLOSE = 1e-5
_WORTH = 0.004  # a smaller share is not worth a table
_MOST_TABLES = 300  # of a default: with more, each would get next to nothing
_CELLS_OF_TWO = 0.8  # the share of the cells of two attributes, whose own questions are the paper's
_CELLS_OF_MORE = 0.15
_TRIES = 30
_LISTED = 60  # questions, or tables, on a page
# A table of so many times as many cells as a size is published whole: that hides nothing, and a file of
# several tables is little larger for it.
_WHOLE = 3
_AT_MOST = 0.92  # of the variance that a table of all cells would have, so that no question is worse off
_AT_MOST_OF_CELLS = 1.21


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """How many, by these items; questions with twice the weight count twice."""

    items: tuple[Item, ...]
    weight: Fraction = Fraction(1)


class Budget(NamedTuple):
    """What all tables may spend together: epsilon, for what one unit changes in a table, by a law."""

    epsilon: Fraction
    sensitivity: int
    law: type[NoiseLaw] = Geometric

    def variance(self, share: float) -> float:
        """Return the variance of the noise in a table with a share of epsilon."""
        own = self.epsilon * Fraction(max(share, 1e-9)).limit_denominator(10**9)
        return self.law.calibrated(epsilon=own, l1=Fraction(self.sensitivity)).floats.variance


@dataclass(frozen=True, eq=False, repr=False)
class QuestionPlan:
    """Tables for questions: what they are, and the error to expect for each question. Public.

    Made by `ht.plan` with `ask`, or without any assumption about the table.

    >>> import hushtable as ht
    >>> visits = ht.Domain.from_dict({"attribute": [{"name": "town", "integers": {"low": 0, "high": 9}}]})
    >>> ht.plan(visits, epsilon=1, size=100, ask=["town"]).structure
    Tables('town', shares=('1000',))
    """

    domain: Domain
    budget: Budget
    questions: tuple[AskedQuestion, ...]
    tables: tuple[tuple[Item, ...], ...]
    shares: tuple[int, ...]
    size: int

    def __repr__(self) -> str:
        return _text(self)

    @property
    def whole(self) -> int:
        """Up to how many cells a table is published whole."""
        return _WHOLE * self.size

    @property
    def structure(self) -> Tables:
        """The tables as a structure to publish."""
        labels = [self.label(items) for items in self.tables]
        return Tables(*labels, shares=list(self.shares))

    def label(self, items: Iterable[Item]) -> str:
        """Return what a table or a question is called."""
        return ",".join(_quoted(self.domain, item) for item in items)

    def is_whole(self, items: tuple[Item, ...]) -> bool:
        """Return whether a table is published whole."""
        return _is_whole(self.domain, items, self.size)

    @property
    def any_whole(self) -> bool:
        """Whether any table is published whole: then they tell the total, and none is bought."""
        return any(map(self.is_whole, self.tables))

    @cached_property
    def _fit(self) -> tuple[_Lattice, TableLattice]:
        """The whole tables with the variances of their noise."""
        whole = [each for each, items in enumerate(self.tables) if self.is_whole(items)]
        made, total = _Lattice(self.domain, [self.tables[each] for each in whole]), sum(self.shares)
        return made, made.at([self.budget.variance(self.shares[each] / total) for each in whole])

    def error(self, question: object) -> float | None:
        """Return the root mean square error to expect for a group of a question.

        None where no whole table knows it: then the error depends on counts that nobody knows yet.
        """
        return self._error(items_of(self.domain, question))

    def _error(self, items: tuple[Item, ...]) -> float | None:
        made, lattice = self._fit
        depths = made.depths(items)
        if depths is None or not lattice.knows(depths):
            return None
        # A question at a level that no table has adds up values of a finer one.
        finer = prod(
            lattice.chains[place].sizes[depth] / attribute_at(self.domain, item).size
            for (place, depth), item in zip(depths, sorted(items), strict=True)
        )
        return sqrt(lattice.mean_variance(depths) * finer)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        total = sum(self.shares)
        return {
            "tables": [
                {
                    "table": self.label(items),
                    "cells": _cells(self.domain, items),
                    "epsilon": str(self.budget.epsilon * share / total),
                    "whole": self.is_whole(items),
                }
                for items, share in zip(self.tables, self.shares, strict=True)
            ],
            "questions": [
                {
                    "question": self.label(each.items),
                    "groups": _cells(self.domain, each.items),
                    "error": self._error(each.items),
                }
                for each in self.questions
            ],
        }


def _text(plan: QuestionPlan) -> str:
    """Return the page: questions with the error to expect, then the tables that answer them."""
    asked, total = [["question", "groups", "error to expect"]], sum(plan.shares)
    for each in plan.questions[:_LISTED]:
        error = plan._error(each.items)
        said = "depends on the counts: a cutoff hides small ones" if error is None else f"± {number(error)}"
        asked.append([plan.label(each.items), f"{_cells(plan.domain, each.items):,}", said])
    tables = [["table", "cells", "share of epsilon", "published"]]
    for items, share in list(zip(plan.tables, plan.shares, strict=True))[:_LISTED]:
        kind = "whole" if plan.is_whole(items) else f"up to {plan.size:,} rows"
        cells = _cells(plan.domain, items)
        shown_cells = f"{cells:,}" if cells < 10**15 else number(float(cells))
        tables.append([plan.label(items), shown_cells, percent(share / total), kind])
    lead = (
        f"With epsilon = {plain(plan.budget.epsilon)}, answers to these questions will be off by about so "
        "much (one standard deviation, in a group):"
    )
    parts = [paragraph(lead), aligned(asked), paragraph("They come from these tables:"), aligned(tables)]
    if len(plan.questions) > _LISTED or len(plan.tables) > _LISTED:
        parts.append("Only the first are listed; `to_dict()` and --json have all.")
    return "\n\n".join(parts)


def asked_questions(domain: Domain, ask: object) -> tuple[AskedQuestion, ...]:
    """Return the questions that an owner names, or raise `BadChoice` with the nearest names."""
    entries = [ask] if isinstance(ask, str | Mapping) else list(ask) if isinstance(ask, Iterable) else []
    if not entries:
        hint = 'Name attributes, as in ask=["town", "town,job", "month(day),diagnosis"].'
        raise BadChoice(f"ask={shown(ask)} names no questions", hint)
    found: dict[tuple[Item, ...], Fraction] = {}
    for entry in entries:
        weight, said = Fraction(1), entry
        if isinstance(entry, Mapping) and "ask" in entry and set(entry) <= {"ask", "weight"}:
            hint = "Weights say how much a question counts: 2 for twice as much as 1."
            weight = as_positive(entry.get("weight", 1), name="weight", hint=hint)
            said = entry["ask"]
        items = items_of(domain, said)
        if items in found:
            raise BadChoice(f"the question {shown(said)} is named twice", "Name it once; give it a weight.")
        found[items] = weight
    return tuple(AskedQuestion(items, weight) for items, weight in found.items())


def planned_for(
    domain: Domain, questions: Sequence[AskedQuestion], *, size: int, budget: Budget
) -> QuestionPlan:
    """Return the tables for these questions, of up to `size` rows each."""
    candidates = [question.items for question in questions]
    # What a table with a cutoff hides is estimated from whole tables of its attributes.
    for items in list(candidates):
        if not _is_whole(domain, items, size):
            candidates += [(item,) for item in items if len(items) > 1]
    weights = [float(question.weight) for question in questions]
    extra = _extra(domain, questions, candidates, size)
    found = _shared(
        domain,
        [*(question.items for question in questions), *extra],
        [*weights, *[0.1 * sum(weights) / len(weights)] * len(extra)],
        list(dict.fromkeys(candidates)),
        size=size,
        budget=budget,
    )
    return QuestionPlan(domain, budget, tuple(questions), *found, size)


def _extra(
    domain: Domain, questions: Sequence[AskedQuestion], candidates: Sequence[tuple[Item, ...]], size: int
) -> list[tuple[Item, ...]]:
    """Return candidates that nobody asked about, which complete others."""
    asked = {question.items for question in questions}
    whole = [items for items in asked if _is_whole(domain, items, size)]
    return [
        items
        for items in dict.fromkeys(candidates)
        if items not in asked and not any(_knows(each, items) for each in whole)
    ]


def planned_by_default(domain: Domain, *, size: int, budget: Budget) -> QuestionPlan | None:
    """Return the tables for what people usually ask: by one attribute, by two, and the cells.

    None where that is the cells alone: of a single attribute without levels that a size has no room for, or
    of so many attributes that each table would get next to nothing.
    """
    attributes, everything = len(domain.names), tuple(Item(place) for place in range(len(domain.names)))
    singles: list[tuple[Item, ...]] = [
        (Item(place, level),)
        for place, attribute in enumerate(domain.attributes)
        for level in range(len(attribute.levels), -1, -1)
    ]
    tables = singles + [pair for pair in _pairs(domain, size) if pair != everything]
    if len(tables) > _MOST_TABLES:
        tables = singles
    if len(tables) > _MOST_TABLES:
        return None
    tables = [each for each in dict.fromkeys(tables) if each != everything]
    if _is_whole(domain, everything, size):
        tables.append(everything)
        found, shares = _shared(domain, tables, [1.0] * len(tables), tables, size=size, budget=budget)
    elif not tables:
        return None
    else:
        cells = _CELLS_OF_TWO if attributes <= 2 else _CELLS_OF_MORE
        found, shares = _shared(
            domain, tables, [1.0] * len(tables), tables, size=size, budget=budget, reserved=cells
        )
        found, shares = (*found, everything), (*shares, max(1, round(cells * _STEPS)))
    return QuestionPlan(domain, budget, tuple(map(AskedQuestion, tables)), found, shares, size)


def _pairs(domain: Domain, size: int) -> Iterable[tuple[Item, ...]]:
    """Yield pairs of attributes: at their own values, and at coarser levels that make a whole table."""
    for one, two in combinations(range(len(domain.names)), 2):
        depths = [len(domain.attributes[place].levels) for place in (one, two)]
        for level in range(max(depths), 0, -1):
            pair = (Item(one, min(level, depths[0])), Item(two, min(level, depths[1])))
            if _cells(domain, pair) <= _WHOLE * size:
                yield pair
        yield (Item(one), Item(two))


def _is_whole(domain: Domain, items: tuple[Item, ...], size: int) -> bool:
    """Return whether a table is published whole, and has few enough attributes to be fitted."""
    return len(items) <= MOST_FITTED and _cells(domain, items) <= _WHOLE * size


def _cells(domain: Domain, items: Sequence[Item]) -> int:
    return prod(attribute_at(domain, item).size for item in items)


class _Lattice:
    """Tables over chains of the levels in use, of which sizes alone matter."""

    def __init__(self, domain: Domain, tables: Sequence[tuple[Item, ...]]) -> None:
        used: dict[int, set[int]] = {}
        for items in tables:
            for place, level in items:
                used.setdefault(place, set()).add(level)
        self._levels = {place: sorted(levels, reverse=True) for place, levels in used.items()}
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
        return TableLattice(self._chains, self.tables, variances)

    def depths(self, items: Sequence[Item]) -> Depths | None:
        """Return items as depths: at the coarsest level in use that is fine enough; None where none is."""
        found = []
        for place, level in sorted(items):
            fine = [depth for depth, own in enumerate(self._levels.get(place, ()), start=1) if own <= level]
            if not fine:
                return None
            found.append((place, fine[0]))
        return tuple(found)


def _shared(
    domain: Domain,
    questions: Sequence[tuple[Item, ...]],
    weights: Sequence[float],
    candidates: Sequence[tuple[Item, ...]],
    *,
    size: int,
    budget: Budget,
    reserved: float = 0.0,
) -> tuple[tuple[tuple[Item, ...], ...], tuple[int, ...]]:
    """Return the candidates that are worth a table, and their shares; `reserved` is for others.

    No question is to have a larger error than from a table of all cells with all of epsilon, as far as that
    can be: those that would count more, until they have not.
    """
    tables = list(candidates)
    of_cells = budget.variance(1.0)
    sizes = np.array([float(_cells(domain, items)) for items in questions])
    allowed = np.where(sizes == domain.cells_total, _AT_MOST_OF_CELLS, _AT_MOST)
    allowed = allowed * of_cells * (float(domain.cells_total) / sizes)
    while True:
        whole = [items for items in tables if _is_whole(domain, items, size)]
        sparse = [items for items in tables if items not in whole]
        made = _Lattice(domain, whole)
        depths = [made.depths(items) for items in questions]
        model = _Model(made.at([1.0] * len(whole)), depths, budget, reserved)
        asked = {items: place for place, items in enumerate(questions)}
        tried = np.array(weights, dtype=np.float64)
        for _ in range(_TRIES):
            extra = [tried[asked[items]] if items in asked else 0.1 for items in sparse]
            shares, variances = model.best(tried, extra=extra)
            times = np.nan_to_num(variances, nan=0.0) / allowed
            worse = times > 1.0
            if not worse.any():
                break
            tried = np.where(worse, tried * np.maximum(np.sqrt(times), 1.05), tried)
        everyone = [*whole, *sparse]
        kept = [items for items, share in zip(everyone, shares, strict=True) if share >= _WORTH]
        answered = all(
            any(_knows(items, each) for items in kept) for each in questions if _is_whole(domain, each, size)
        )
        if len(kept) == len(tables) or not answered:
            break
        tables = kept
    everything = tuple(Item(place) for place in range(len(domain.names)))
    if whole and worse.any() and _is_whole(domain, everything, size):
        return (everything,), (1,)
    parts = [max(1, round(float(share) * _STEPS)) for share in shares]
    order = sorted(range(len(everyone)), key=lambda each: (len(everyone[each]), everyone[each]))
    return tuple(everyone[each] for each in order), tuple(parts[each] for each in order)


def _knows(table: tuple[Item, ...], question: tuple[Item, ...]) -> bool:
    """Return whether a whole table has all items of a question, at their levels or at finer ones."""
    levels = dict(table)
    return all(place in levels and levels[place] <= level for place, level in question)


class _Model:
    """Variances of questions as a function of the shares of whole tables."""

    def __init__(
        self,
        lattice: TableLattice,
        questions: Sequence[Depths | None],
        budget: Budget,
        reserved: float,
    ) -> None:
        self._tables, self._variance, self._room = len(lattice.tables), budget.variance, 1 - reserved
        known = [each if each is not None and lattice.knows(each) else None for each in questions]
        found = sorted({part for each in known if each is not None for part in components(each)})
        places = {part: place for place, part in enumerate(found)}
        self._precision = np.zeros((self._tables, len(found)))
        for row, table in enumerate(lattice.tables):
            for part in components(table):
                if part in places:
                    self._precision[row, places[part]] = 1 / lattice.merged(table, part)
        self._parts = np.zeros((len(questions), len(found)))
        for row, each in enumerate(known):
            for part in components(each) if each is not None else ():
                self._parts[row, places[part]] = lattice.part(each, part)  # type: ignore[arg-type]
        self._known = np.array([each is not None for each in known])

    def best(
        self, weights: NDArray[np.float64], *, extra: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the best shares, of tables and then of further ones with `extra` weights of their own.

        A further table answers a question that no whole table knows, with an error that goes with 1 / share.
        With the shares come the variances of the questions, not known of those.
        """
        known = weights * self._known
        total = known.sum() + sum(extra)
        own = self._room * np.array(extra, dtype=np.float64) / total
        room = self._room - own.sum()
        shares = np.full(self._tables, room / max(self._tables, 1))
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

    def _precisions(self, shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return 1 / variance at each share, and how fast it grows: 2 where noise is wide, faster below."""
        found = np.array([1 / self._variance(share) for share in shares])
        more = np.array([1 / self._variance(share * 1.01) for share in shares])
        return found, np.log(more / found) / np.log(1.01)


def _quoted(domain: Domain, item: Item) -> str:
    """Return an item as a text that names it again."""
    label, name = label_of(domain, item), domain.names[item.place]
    if not set(',()":').intersection(name) and name == name.strip():
        return label
    inner = '"' + name.replace('"', '""') + '"'
    return inner if not item.level else label[: -len(name) - 1] + inner + ")"
