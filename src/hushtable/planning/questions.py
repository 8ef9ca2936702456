"""Which tables to publish for the questions that people will ask, and the error to expect of each.

Promise: the choice follows from the questions and from public sizes alone, so it costs nothing and tells
nothing. Every question that whole tables can answer is answered by all of them, fitted together; its error is
known beforehand, exactly (`structures.lattice`). The measure by which tables share epsilon (`sharing`) is
that of relative errors too, since the counts that one expects only scale it; and a question of large groups
counts as much as one of small ones.
Cost: that of the shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import log, prod, sqrt
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, attribute_at, is_as_fine, items_and_ranges, label_of, levels_of
from hushtable.domain.wording import is_ordered
from hushtable.errors import BadChoice, shown
from hushtable.laws.rationals import as_positive
from hushtable.planning.profile import Profile
from hushtable.planning.sharing import (
    STEPS,
    WHOLE,
    Budget,
    PlannedLattice,
    Sought,
    cells_of,
    everything,
    is_whole,
    knows,
    parts_of,
    shared,
)
from hushtable.planning.wording import aligned, number, paragraph, percent
from hushtable.structures.lattice import TableLattice
from hushtable.structures.structure import Structure
from hushtable.structures.tables import Tables

_MOST_TABLES = 300  # of a default: with more, each would get next to nothing
_CELLS_OF_TWO = 0.8  # the share of the cells of two attributes, whose own questions are the paper's
_CELLS_OF_MORE = 0.1
_TOTAL = 0.2  # how much the total counts beside a question: it is asked for, and completes what is hidden
_SHOWN = 12  # questions, at first
_LISTED = 60  # questions, or tables, on a page
_NAMED = 5  # in a sentence
_EVERYBODY = "total"  # the table over no attribute


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """How many, by these items, those at the places of `ranges` in any range of their values.

    Questions with twice the weight count twice.
    """

    items: tuple[Item, ...]
    weight: Fraction = Fraction(1)
    ranges: frozenset[int] = frozenset()

    @property
    def sought(self) -> Sought:
        """What tables share epsilon for."""
        return Sought(self.items, float(self.weight), self.ranges)


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
    tree: Structure | None = None  # what is published instead of tables
    profile: Profile | None = None  # what the table is assumed to look like, if that was said

    def __repr__(self) -> str:
        return _brief(self)

    @property
    def details(self) -> str:
        """The whole page: all questions, and the tables that answer them with their shares."""
        return _full(self)

    @property
    def whole(self) -> int:
        """Up to how many cells a table is published whole."""
        return WHOLE * self.size

    @property
    def structure(self) -> Structure:
        """The tables as a structure to publish, or a tree."""
        if self.tree is not None:
            return self.tree
        # Shares of a structure say how wide noise is. The table of all cells may have less for the same cost.
        change = Fraction(self.budget.change)
        less = {everything(self.domain): change / Fraction(self.budget.in_cells.change)}
        named = {self.label(items): share * less.get(items, 1) for items, share in self._of_all if items}
        return Tables(*named, shares=list(named.values()))

    @property
    def total_share(self) -> Fraction | None:
        """The share of epsilon that buys a noisy total: none where whole tables tell it well enough.

        None is the usual share, where no table is whole.
        """
        bought = dict(self._of_all).get(())
        if bought is not None:
            return Fraction(bought, sum(self.shares))
        return Fraction(0) if any(map(self.is_whole, self.tables)) else None

    @property
    def _of_all(self) -> list[tuple[tuple[Item, ...], int]]:
        """The tables, each with its share."""
        return list(zip(self.tables, self.shares, strict=True))

    def label(self, items: Iterable[Item]) -> str:
        """Return what a table or a question is called; without items, it is about everybody together."""
        return ",".join(_quoted(self.domain, item) for item in items)

    def asked(self, question: AskedQuestion) -> str:
        """Return what a question is called: as it may be asked."""
        return named(self.domain, question)

    def groups(self, question: AskedQuestion) -> int:
        """Return how many groups a question has, each with any range."""
        return cells_of(self.domain, [each for each in question.items if each.place not in question.ranges])

    def is_whole(self, items: tuple[Item, ...]) -> bool:
        """Return whether a table is published whole."""
        return is_whole(self.domain, items, self.size)

    @cached_property
    def _fit(self) -> tuple[PlannedLattice, TableLattice]:
        """The whole tables with the variances of their noise."""
        whole = [each for each, items in enumerate(self.tables) if self.is_whole(items)]
        made = PlannedLattice(self.domain, [self.tables[each] for each in whole])
        return made, made.at([self._variances[each] for each in whole])

    @cached_property
    def _variances(self) -> list[float]:
        """The variance of the noise in a cell of each table."""
        total, finest, budget = sum(self.shares), everything(self.domain), self.budget
        return [
            (budget.in_cells if items == finest else budget).variance(share / total)
            for items, share in self._of_all
        ]

    def error(self, question: object) -> float | None:
        """Return the root mean square error to expect for a group of a question, or for a range of any ends.

        None where no whole table knows it: then the error depends on counts that nobody knows yet.
        """
        return self._error(*items_and_ranges(self.domain, question))

    def _error(self, items: tuple[Item, ...], ranges: frozenset[int]) -> float | None:
        made, lattice = self._fit
        depths = made.depths(items)
        if depths is None or not lattice.knows(depths):
            return None
        if ranges:
            parts = parts_of(made, lattice, depths, ranges)
            return sqrt(sum(lattice.variance(each) * part for each, part in parts.items()))
        # A question at a level that no table has adds up values of a finer one.
        finer = prod(
            lattice.chains[place].sizes[depth] / attribute_at(self.domain, item).size
            for (place, depth), item in zip(depths, sorted(items), strict=True)
        )
        return sqrt(lattice.mean_variance(depths) * finer)

    @property
    def noise(self) -> float:
        """How noisy answers are, to compare laws by: the weighted mean of the logarithms of their errors.

        Where no whole table answers, the noise counts in the cells of the table that does; and the table of
        all cells is one more question.
        """
        finest, questions = everything(self.domain), list(self.questions)
        if finest in self.tables and all(each.items != finest for each in questions):
            questions.append(AskedQuestion(finest))
        found = [(float(each.weight), self._noise(each)) for each in questions]
        return sum(weight * noise for weight, noise in found) / sum(weight for weight, _ in found)

    def _noise(self, question: AskedQuestion) -> float:
        """Return the logarithm of the error of a question, or of the noise in it where that is unknown."""
        error = self._error(question.items, question.ranges)
        if error is None:
            domain, groups = self.domain, cells_of(self.domain, question.items)
            error = sqrt(
                min(
                    variance * (cells_of(domain, items) / groups)
                    for items, variance in zip(self.tables, self._variances, strict=True)
                    if knows(domain, items, question.items)
                )
            )
        return log(max(error, 1e-100))

    def held(self, question: AskedQuestion) -> float | None:
        """Return what a group of a question, or a range, holds on average, if there is an assumption."""
        if self.profile is None:
            return None
        return self.profile.people * question.sought.cells(self.domain) / self.domain.cells_total

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        total = sum(self.shares)
        assumed = {} if self.profile is None else {"assumed": self.profile.words}
        return assumed | {
            "tables": [
                {
                    "table": self.label(items) or _EVERYBODY,
                    "cells": cells_of(self.domain, items),
                    self.budget.word: str(self.budget.amount * share / total),
                    "whole": self.is_whole(items),
                }
                for items, share in self._of_all
            ],
            "questions": [
                {
                    "question": self.asked(each),
                    "groups": self.groups(each),
                    "error": self._error(each.items, each.ranges),
                }
                | ({} if self.profile is None else {"held": self.held(each)})
                for each in self.questions
            ],
        }


def _brief(plan: QuestionPlan) -> str:
    """Return the answer first, then the questions with the error to expect of each."""
    shown = plan.questions[:_SHOWN]
    parts = [*_lead(plan), _asked(plan, shown)]
    more = len(plan.questions) - len(shown)
    others = f"{more:,} more questions, and the" if more else "The"
    parts.append(f"{others} tables that answer them: --details, or `plan.details` in Python.")
    return "\n\n".join(parts)


def _full(plan: QuestionPlan) -> str:
    """Return the page: questions with the error to expect, then the tables that answer them."""
    parts = [*_lead(plan), _asked(plan, plan.questions[:_LISTED])]
    if plan.tree is None:
        tables, total = [["table", "cells", f"share of {plan.budget.word}", "published"]], sum(plan.shares)
        for items, share in plan._of_all[:_LISTED]:
            kind = "whole" if plan.is_whole(items) else f"up to {plan.size:,} rows"
            cells = cells_of(plan.domain, items)
            shown_cells = f"{cells:,}" if cells < 10**15 else number(float(cells))
            tables.append([plan.label(items) or _EVERYBODY, shown_cells, percent(share / total), kind])
        parts += ["These tables answer the questions:", aligned(tables)]
    if len(plan.questions) > _LISTED or len(plan.tables) > _LISTED:
        parts.append("Only the first are listed; `to_dict()` and --json have all.")
    return "\n\n".join(parts)


def _asked(plan: QuestionPlan, questions: Sequence[AskedQuestion]) -> str:
    """Return some questions with the error to expect of each."""
    lines = [["question", "groups", "error to expect"]]
    if plan.profile is not None:
        lines[0] += ["a group holds", "of that"]
    for each in questions:
        error, held = plan._error(each.items, each.ranges), plan.held(each)
        said = "depends on the counts: small ones are left out" if error is None else f"± {number(error)}"
        lines.append([plan.asked(each), f"{plan.groups(each):,}", said])
        if held is not None:
            lines[-1] += [number(held), "" if error is None else percent(error / held)]
    return aligned(lines)


def _lead(plan: QuestionPlan) -> list[str]:
    """Return what to expect, whether it is worth it, and what to do, in a few sentences."""
    if plan.tree is not None:
        told = "There are too many cells for whole tables, so publish a tree for these ranges. "
        told += f"In Python, that is structure=ht.{plan.tree!r}. The error depends on the counts."
        return [paragraph(told)]
    errors = [plan._error(each.items, each.ranges) for each in plan.questions]
    known = sorted(error for error in errors if error is not None)
    ranges = [bool(each.ranges) for each in plan.questions]
    of = "a range" if all(ranges) else "a group or a range" if any(ranges) else "a group"
    said = []
    if not known:
        said.append(
            f"With {plan.budget.said}, no error can be told beforehand: all tables are too large to be "
            "published whole, so their small counts are left out. Plan with an assumption about the "
            "table, such as --like FILE, raise --size, or ask at coarser levels."
        )
    else:
        ends = [number(known[0]), number(known[-1])]
        by = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        said.append(
            f"With {plan.budget.said}, the count of {of} will typically be off by {by} (one standard "
            "deviation)."
        )
        if len(known) < len(errors):
            said.append(
                f"That holds for {len(known):,} of {len(errors):,} questions; the others need a table "
                "that leaves small counts out, so their error depends on the counts."
            )
        said += _worth(plan, known[-1], of)
    return [paragraph(" ".join(said))]


def _worth(plan: QuestionPlan, worst: float, of: str) -> list[str]:
    """Return whether answers are worth it: by what groups hold, or by what they would have to hold."""
    if plan.profile is None:
        return [
            f"For counts of {number(10 * worst)} or more, the error is below 10 %. If most of your "
            "counts are smaller, the release is hardly worth publishing: ask at coarser levels, ask "
            "fewer questions, or spend more."
        ]
    assumed = f"The plan assumes {plan.profile.words}, and uses nothing from the private table."
    return [_lost(plan), f"{assumed} What {of} holds is an average, and many hold less."]


def _lost(plan: QuestionPlan) -> str:
    """Return which questions have more noise than a group holds."""
    errors = [(each, plan._error(each.items, each.ranges), plan.held(each)) for each in plan.questions]
    told = [(each, error > held) for each, error, held in errors if error and held is not None]
    lost = [plan.asked(each) for each, is_lost in told if is_lost]
    if not lost:
        return "That is worth publishing: for each of these questions, the error is smaller than the count."
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    named = f"{'; '.join(lost[:_NAMED])}{more}"
    help_ = "Ask at coarser levels, or spend more."
    if len(lost) == len(told):
        return f"That is not worth publishing as it is: all answers are lost in noise. {help_}"
    return f"That is worth publishing, but some answers are lost in noise: {named}. {help_}"


def asked_questions(domain: Domain, ask: object) -> tuple[AskedQuestion, ...]:
    """Return the questions that an owner names, or raise `BadChoice` with the nearest names."""
    entries = [ask] if isinstance(ask, str | Mapping) else list(ask) if isinstance(ask, Iterable) else []
    if not entries:
        hint = 'Name attributes, as in ask=["town", "town,job", "month(day),diagnosis"].'
        raise BadChoice(f"ask={shown(ask)} names no questions", hint)
    found: dict[tuple[tuple[Item, ...], frozenset[int]], Fraction] = {}
    for entry in entries:
        weight, said = Fraction(1), entry
        if isinstance(entry, Mapping) and "ask" in entry and set(entry) <= {"ask", "weight"}:
            hint = "Weights say how much a question counts: 2 for twice as much as 1."
            weight = as_positive(entry.get("weight", 1), name="weight", hint=hint)
            said = entry["ask"]
        items, ranges = items_and_ranges(domain, said)
        for place in ranges:
            if not is_ordered(domain.attributes[place].values):
                fact = f"{shown(domain.names[place])} has categories, which have no order and no ranges"
                raise BadChoice(fact, "Leave `:ranges` out, or ask at one of its levels.")
        if (items, ranges) in found:
            raise BadChoice(f"the question {shown(said)} is named twice", "Name it once; give it a weight.")
        found[items, ranges] = weight
    return tuple(AskedQuestion(items, weight, ranges) for (items, ranges), weight in found.items())


def weighed_groups(domain: Domain, ask: object) -> list[tuple[tuple[Item, ...], Fraction]]:
    """Return questions for groups, each with its weight; ranges are refused, which a hierarchy is not for."""
    questions = asked_questions(domain, ask)
    if any(question.ranges for question in questions):
        fact = "the questions ask for ranges, and a hierarchy answers only groups"
        raise BadChoice(fact, "Leave `:ranges` out; a level of runs serves ranges, as in 16(day).")
    return [(question.items, question.weight) for question in questions]


def planned_for(
    domain: Domain, questions: Sequence[AskedQuestion], *, size: int, budget: Budget
) -> QuestionPlan:
    """Return the tables for these questions, of up to `size` rows each."""
    candidates = list(dict.fromkeys(question.items for question in questions))
    # What a table with a cutoff hides is estimated from whole tables of its attributes.
    for items in list(candidates):
        if not is_whole(domain, items, size):
            candidates += [(item,) for item in items if len(items) > 1]
    extra = _extra(domain, questions, candidates, size)
    for question in questions:
        if question.ranges and not is_whole(domain, question.items, size):
            tree = _tree(domain, questions, size)
            return QuestionPlan(domain, budget, tuple(questions), (), (), size, tree)
        candidates += _coarser(domain, question)
    little = 0.1 * float(sum(each.weight for each in questions)) / len(questions)
    found = shared(
        domain,
        [*(question.sought for question in questions), *(Sought(items, little) for items in extra)],
        list(dict.fromkeys(candidates)),
        size=size,
        budget=budget,
    )
    return QuestionPlan(domain, budget, tuple(questions), *found, size)


def _coarser(domain: Domain, question: AskedQuestion) -> list[tuple[Item, ...]]:
    """Return tables of runs of the values that are asked for in ranges, from which few cells make a range."""
    choices: list[list[tuple[Item, ...]]] = []
    for item in question.items:
        attribute = domain.attributes[item.place]
        levels = range(len(levels_of(attribute)) + 1)
        coarser = [
            Item(item.place, level) for level in levels if is_as_fine(domain, item, Item(item.place, level))
        ]
        choices.append([(), *((each,) for each in coarser)] if item.place in question.ranges else [(item,)])
    return [sum(each, ()) for each in product(*choices)] if question.ranges else []


def _tree(domain: Domain, questions: Sequence[AskedQuestion], size: int) -> Structure:
    """Return the tree for ranges in more cells than a whole table may have: for one question about all."""
    question = next(each for each in questions if each.ranges and not is_whole(domain, each.items, size))
    if len(questions) > 1 or question.items != everything(domain):
        cells = cells_of(domain, question.items)
        fact = f"ranges are asked for in {cells:,} cells, and whole tables have up to {WHOLE * size:,}"
        longer = _in_longer_runs(domain, question, size)
        instead = (
            "" if longer is None else f"Ask for ranges of runs, as in {shown(named(domain, longer))}. Or "
        )
        rest = "ask at a coarser level, raise the size, or publish a tree alone: structure=ht.Tree()."
        hint = instead + (rest if instead else rest[0].upper() + rest[1:])
        raise BadChoice(fact, hint)
    from hushtable.structures.pruned import Tree

    if len(question.ranges) > 1:
        return Tree(order="morton")
    names = sorted(domain.names, key=lambda name: domain.places[name] in question.ranges)
    return Tree(order=names if len(names) > 1 else None)


def _in_longer_runs(domain: Domain, question: AskedQuestion, size: int) -> AskedQuestion | None:
    """Return the question with ranges of the shortest runs that whole tables have room for, if there are."""
    items = sorted(question.items)
    while not is_whole(domain, tuple(items), size):
        found = []
        for axis, item in enumerate(items):
            levels = range(1, len(levels_of(domain.attributes[item.place])) + 1)
            for coarser in (Item(item.place, level) for level in levels):
                if item.place in question.ranges and cells_of(domain, [coarser]) < cells_of(domain, [item]):
                    found.append((cells_of(domain, [coarser]), axis, coarser))
        if not found:
            return None
        _, axis, coarser = max(found)
        items[axis] = coarser
    return AskedQuestion(tuple(items), question.weight, question.ranges)


def _extra(
    domain: Domain, questions: Sequence[AskedQuestion], candidates: Sequence[tuple[Item, ...]], size: int
) -> list[tuple[Item, ...]]:
    """Return candidates that nobody asked about, which complete others."""
    asked = {question.items for question in questions}
    whole = [items for items in asked if is_whole(domain, items, size)]
    return [
        items
        for items in dict.fromkeys(candidates)
        if items not in asked and not any(knows(domain, each, items) for each in whole)
    ]


def planned_by_default(
    domain: Domain, *, size: int, budget: Budget, whole_only: bool = False
) -> QuestionPlan | None:
    """Return the tables for what people usually ask: by one attribute, by two, and the cells.

    With `whole_only`, tables but the cells are those that are published whole: where the cells are elsewhere,
    one machine has room for the sums of these.

    None where that is the cells alone: of a single attribute without levels that a size has no room for, or
    of so many attributes that each table would get next to nothing.
    """
    attributes, finest = len(domain.names), everything(domain)
    singles: list[tuple[Item, ...]] = [
        (Item(place, level),)
        for place, attribute in enumerate(domain.attributes)
        for level in range(len(attribute.levels), -1, -1)
    ]
    tables = singles + [pair for pair in _pairs(domain, size) if pair != finest]
    if len(tables) > _MOST_TABLES:
        tables = singles
    if len(tables) > _MOST_TABLES:
        return None
    tables = [each for each in dict.fromkeys(tables) if each != finest]
    tables = [each for each in tables if not whole_only or is_whole(domain, each, size)]
    if is_whole(domain, finest, size):
        tables.append(finest)
        cells = 0.0
    elif not tables:
        return None
    else:
        cells = _CELLS_OF_TWO if attributes <= 2 else _CELLS_OF_MORE
        # Where other tables are dearer than the cells for the same noise, these leave them more of the cost.
        own, others = cells * float(budget.in_cells.change), (1 - cells) * float(budget.change)
        cells = max(own / (own + others), _CELLS_OF_MORE)
    asked = [*map(Sought, tables), Sought((), _TOTAL)]
    found, shares = shared(domain, asked, [*tables, ()], size=size, budget=budget, reserved=cells)
    if cells:
        found, shares = (*found, finest), (*shares, max(1, round(cells * STEPS)))
    return QuestionPlan(domain, budget, tuple(map(AskedQuestion, tables)), found, shares, size)


def _pairs(domain: Domain, size: int) -> Iterable[tuple[Item, ...]]:
    """Yield pairs of attributes: at their own values, and at coarser levels that make a whole table."""
    for one, two in combinations(range(len(domain.names)), 2):
        depths = [len(domain.attributes[place].levels) for place in (one, two)]
        for level in range(max(depths), 0, -1):
            pair = (Item(one, min(level, depths[0])), Item(two, min(level, depths[1])))
            if cells_of(domain, pair) <= WHOLE * size:
                yield pair
        yield (Item(one), Item(two))


def named(domain: Domain, question: AskedQuestion) -> str:
    """Return a question as it may be asked."""
    return ",".join(
        _quoted(domain, item) + ":ranges" * (item.place in question.ranges) for item in question.items
    )


def _quoted(domain: Domain, item: Item) -> str:
    """Return an item as a text that names it again."""
    label, name = label_of(domain, item), domain.names[item.place]
    if not set(',()":').intersection(name) and name == name.strip():
        return label
    inner = '"' + name.replace('"', '""') + '"'
    return inner if not item.level else label[: -len(name) - 1] + inner + ")"
