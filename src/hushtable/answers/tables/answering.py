"""Answers from a release of several tables, or a data cube: from all of them together.

Promise: what whole tables know is answered by all of them, fitted to one another: right on average, with an
interval that rests on noise alone. What only a table with a cutoff knows is answered from its rows, completed
by the whole tables (`raked`), with bounds that hold whatever is hidden. What no table knows, a model answers
if it is asked to, and claims nothing. Which tables answer follows from public facts, never from rows. The
note says where numbers come from.
Cost: that of the tables that answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.estimation.answers import Answering
from hushtable.answers.estimation.bounds import Around
from hushtable.answers.estimation.cells import CellAnswers
from hushtable.answers.estimation.groups import MOST_GROUPS
from hushtable.answers.estimation.law import Assumption, PublishedLaw, check_choices
from hushtable.answers.estimation.notes import groups_note
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.estimation.sums import Opened
from hushtable.answers.estimation.tails import noise
from hushtable.answers.noise_share import sure_from
from hushtable.answers.question import Question
from hushtable.answers.tables.grouping import PartGroups
from hushtable.answers.tables.raked import MOST_COMBINATIONS, Margin, on_grid, raked, sets_of_axes
from hushtable.answers.tables.totals import with_total
from hushtable.answers.tables.whole import MOST_CODES, AskedAlong, WholeTable, WholeTables, allowed_codes
from hushtable.conditions.conditions import selected
from hushtable.conditions.selection import Selection
from hushtable.domain.domain import Domain
from hushtable.domain.items import (
    Item,
    attribute_at,
    codes_at,
    is_as_fine,
    items_of,
    label_of,
    parents_between,
)
from hushtable.errors import BadQuery, BadRelease, shown
from hushtable.methods.weights import weights_of
from hushtable.release.terms import Terms
from hushtable.structures.lattice import Asked
from hushtable.structures.structure import HINT
from hushtable.structures.table_space import Marginal, TableSpace

if TYPE_CHECKING:
    from hushtable.answers.synthetic.rows import SyntheticRows

_SHOWN_TABLES = 12
WHOLE = "whole tables"  # where numbers come from, if these know them
_ROWS = (
    "These rows are synthetic: none of them is a person. They follow what the published tables say together, "
    "as nearly as whole rows can, and what these leave open is filled in as evenly as they allow. The noise "
    "is in them: use answers with intervals where it matters how sure a count is."
)
_FITTED = "The estimate combines all tables that are published whole"
_CUT = (
    "The condition cuts through values that these tables do not tell apart. The interval covers the true "
    "answer, whatever lies on either side; the estimate spreads the counts evenly."
)
_BY_MODEL = "model"  # where numbers come from, if no table has what is asked for
_UNMEASURED = "No table has what is asked for, so there is no estimate and no interval."
_MODEL = (
    "The column `model` holds the most even numbers that agree with the whole tables; nothing says how close "
    "they are to the truth."
)


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one table, as a release of cells."""

    marginal: Marginal
    items: tuple[Item, ...]
    terms: Terms
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def domain(self) -> Domain:
        return self.terms.domain

    @cached_property
    def answers(self) -> CellAnswers:
        return CellAnswers(self)

    @cached_property
    def answering(self) -> Answering:
        return Answering(self)

    @cached_property
    def law(self) -> PublishedLaw:
        return PublishedLaw(self.terms)

    @property
    def hides(self) -> str:
        """What does not show, in words."""
        if self.law.cutoff is None:
            return "leaves out noisy counts below 0"
        return f"leaves out noisy counts below {self.law.cutoff:,.10g}"

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return weights_of(self.counts, self.terms.threshold)

    @cached_property
    def sure_weights(self) -> NDArray[np.float64]:
        """The weights of rows that are no noise, 0 for all others: with many rows of noise a sum is worse."""
        if self.law.negative:
            return self.weights
        return np.where(self.counts >= sure_from(self.terms, self.counts), self.weights, 0.0)

    @property
    def noise(self) -> float:
        """The logarithm of the noise that an answer about everybody has."""
        size, cells = self.terms.method.size, self.domain.cells_total
        sampled = log(cells) - log(size) if size and size < cells else 0.0
        return log(max(noise(self.terms.law).variance, 1e-300)) + log(cells) + sampled

    def column(self, domain: Domain, item: Item) -> NDArray[np.int64] | None:
        """Return the codes of an item in all rows, None where the table does not have it as fine."""
        for place, own in enumerate(self.items):
            if is_as_fine(domain, own, item):
                attribute = domain.attributes[item.place]
                if own.level == item.level:
                    return self.codes[:, place]
                if not own.level:
                    return codes_at(attribute, item.level, self.codes[:, place])
                return parents_between(attribute, own.level, item.level)[self.codes[:, place]]
        return None


class TableAnswers(Answerer):
    """The rows of several tables, ready to answer."""

    def __init__(self, release: Opened, space: TableSpace) -> None:
        self._space, self._release = space, release
        self._domain, self._rows = space.domain, space.rows(release.codes)
        self._parts: dict[int, _Part] = {}
        self._totalled: dict[str, _Part] = {}

    @cached_property
    def _whole(self) -> WholeTables:
        """The tables that are published whole, and the noisy total if one was bought."""
        found = []
        for number in range(len(self._space.marginals)):
            part = self._part(number)
            if part.terms.method.complete:
                if len(part.codes) != part.domain.cells_total:  # before as many are allocated
                    fact = f"its table of {shown(part.marginal.label)} is said to be whole, and is not"
                    raise BadRelease(fact, HINT)
                counts = np.zeros(part.domain.shape)
                counts[tuple(part.codes.T)] = part.counts
                found.append(WholeTable(part.items, part.terms.law, counts))
        terms = self._release.terms
        if terms.total_law is not None and terms.total is not None:
            found.append(WholeTable((), terms.total_law, np.array(float(terms.total))))
        return WholeTables(self._domain, found)

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a set of cells."""
        found = self.groups(Question(selection, (), chance=chance, corrected=corrected, assume=assume))
        return Answered(found.answers, found.note, found.assumes)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Estimate the only cell of a selection: by the whole tables, or by its own published count."""
        whole = self._answered(Question(selection, (), chance=chance))
        if whole is not None:
            return Answered(whole, f"{_FITTED}. It is unbiased, and the interval covers the true count.")
        finest = [Item(place) for place in range(len(self._domain.names))]
        for part in self._sparse(finest):
            within = selection.within(part.domain, range(len(finest)))
            return part.answers.cell(within, chance=chance)
        raise self._refused(finest)

    def rows(self, names: Sequence[str] | None, *, count: int | None) -> SyntheticRows:
        """Return synthetic rows of the attributes of all tables, or of some."""
        from hushtable.answers.synthetic.rows import SyntheticRows, number_of_rows
        from hushtable.answers.synthetic.tables import agreeing, rounded

        finest: dict[int, Item] = {}
        for item in self._space.items:
            if item.place not in finest or is_as_fine(self._domain, item, finest[item.place]):
                finest[item.place] = item
        if names is None:
            items = [finest[place] for place in sorted(finest)]
        else:
            items = list(items_of(self._domain, list(names)))
        shape = tuple(attribute_at(self._domain, item).size for item in items)
        if prod(shape) > MOST_GROUPS:
            fact = f"these attributes have {prod(shape):,} combinations, more than the {MOST_GROUPS:,} that "
            fact += "synthetic rows are made for"
            raise BadQuery(fact, "Name fewer attributes, or coarser levels, as in month(day).")
        if self._negative:
            raise BadQuery("amounts may be below 0 in this release, and rows cannot", "Ask it instead.")
        question = Question(selected(self._domain, None), items, chance=0.05)
        known = self._answered(question, self._codes(question)) is not None
        if not known and next(self._sparse(items), None) is None:
            question = replace(question, model=True)
        found = self.groups(question)
        values = found.beside["model"] if question.model else found.answers.value
        # Axes in the order of the domain, as margins have them.
        order = np.argsort([item.place for item in items], kind="stable")
        axes = [items[axis] for axis in order]
        margins = list(self._margins(axes, above=True)) if self._whole.lattice.tables else []
        grid = agreeing(values.reshape(shape).transpose(order), margins)
        values = grid.transpose(np.argsort(order)).ravel()
        total = number_of_rows(float(values.sum()), count)
        numbers = rounded(found.codes, values, shape, total=total)
        some = np.flatnonzero(numbers)
        note = _ROWS if count is None else f"{_ROWS} Their number was asked for: {count:,}."
        return SyntheticRows(self._domain, tuple(items), found.codes[some], numbers[some], note)

    def groups(self, question: Question) -> GroupsAnswered:
        """Estimate the sum for each group."""
        if not question.selection.cells:
            nothing = np.zeros(1 if not question.items else 0)
            none = np.zeros((len(nothing), len(question.items)), dtype=np.int64)
            return GroupsAnswered(none, Answers(*[nothing] * 4), "No cell meets the condition.", len(nothing))
        if self._groups_at_most(question) > MOST_GROUPS:
            return self._many(question)
        codes = self._codes(question)
        check_choices(question.corrected, question.assume)
        modelled = self._modelled(question, codes) if question.model else None
        made = self._measured(question, codes, modelled is not None)
        if modelled is None:
            return made
        return replace(made, beside={**made.beside, "model": modelled}, note=f"{made.note} {_MODEL}")

    def _measured(
        self, question: Question, codes: Sequence[NDArray[np.int64]], modelled: bool
    ) -> GroupsAnswered:
        """Return what tables say of each group; what none says is not known where a model says something."""
        number = prod(len(each) for each in codes)
        chance = question.chance_of_one(number)
        answers = self._answered(question, codes, chance)
        if answers is not None:
            about, source = f"{_FITTED}. It is unbiased, and the interval covers the true answer.", WHOLE
        elif next(self._sparse(_axes(question)), None) is None and (
            (bounded := self._bounded(question, codes, chance)) is not None
        ):
            answers, about, source = bounded, f"{_FITTED}. {_CUT}", WHOLE
        elif modelled and next(self._sparse(_axes(question)), None) is None:
            answers, about, source = Answers(*[np.full(number, np.nan)] * 4), _UNMEASURED, _BY_MODEL
        else:
            found = self._completed(question, codes, chance)
            if isinstance(found, GroupsAnswered):
                return found
            answers, about, source = found
        listed = np.zeros((1, 0), dtype=np.int64)
        if codes:
            listed = np.stack([each.ravel() for each in np.meshgrid(*codes, indexing="ij")], axis=1)
        note = groups_note(about, question, groups=number) if codes and source != _BY_MODEL else about
        beside = {"nonnegative": self._above(question, codes, answers)} if question.nonnegative else {}
        made = GroupsAnswered(listed, answers, note, number, beside=beside, source=source)
        if question.selection.is_product:
            return made
        some = np.flatnonzero(self._cells(question, listed) > 0)  # of all combinations, those with a cell
        return replace(made.taken(some), number=len(some))

    def _cells(self, question: Question, listed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many cells each group has."""
        if not question.items:
            return np.ones(1)
        if not any(item.level for item in question.items):
            return question.selection.cells_of(question.places, listed)
        sizes = [self._domain.shape[place] for place in question.places]
        if prod(sizes) > MOST_CODES:
            fact = f"the condition ties attributes of {prod(sizes):,} combinations of values together"
            raise BadQuery(fact, "Group by fewer attributes, or by their own values.")
        own = [np.arange(size, dtype=np.int64) for size in sizes]
        grid = np.stack([each.ravel() for each in np.meshgrid(*own, indexing="ij")], axis=1)
        found = question.selection.cells_of(question.places, grid)
        sums: dict[tuple[int, ...], float] = {}
        for number, (place, level) in enumerate(question.items):
            grid[:, number] = codes_at(self._domain.attributes[place], level, grid[:, number])
        for code, cells in zip(map(tuple, grid.tolist()), found.tolist(), strict=True):
            sums[code] = sums.get(code, 0.0) + cells
        return np.array([sums.get(tuple(code), 0.0) for code in listed.tolist()])

    # Whole tables.

    def _groups_at_most(self, question: Question) -> int:
        """Return how many groups there may be; nothing is listed yet."""
        sizes = []
        for item in question.items:
            size = attribute_at(self._domain, item).size
            own = question.selection.codes(item.place).size
            sizes.append(min(size, own) if item.place in question.selection.attributes else size)
            if item.place in question.selection.attributes and item.level and own > MOST_CODES:
                raise BadQuery(f"the condition allows {own:,} values", "Ask about fewer at a time.")
        return prod(sizes)

    def _codes(self, question: Question) -> list[NDArray[np.int64]]:
        """Return the codes of the groups along each item asked for: those that a condition leaves."""
        found = []
        for place, level in question.items:
            attribute, runs = self._domain.attributes[place], question.selection.codes(place)
            size = attribute_at(self._domain, Item(place, level)).size
            if place not in question.selection.attributes:
                found.append(np.arange(size, dtype=np.int64))
            else:
                found.append(np.unique(codes_at(attribute, level, runs.all())))
        return found

    def _along(
        self, question: Question, codes: Sequence[NDArray[np.int64]], places: Sequence[int] | None = None
    ) -> list[AskedAlong]:
        """Return what a question adds up along each attribute, or along some of them."""
        selection = question.selection
        levels = dict(question.items)
        groups = dict(zip(question.places, codes, strict=True))
        wanted = sorted({*groups, *selection.attributes}) if places is None else places
        nothing = np.zeros(0, dtype=np.int64)
        return [
            AskedAlong(place, levels.get(place), groups.get(place, nothing), allowed_codes(selection, place))
            for place in wanted
        ]

    def _answered(
        self,
        question: Question,
        codes: Sequence[NDArray[np.int64]] = (),
        chance: float | None = None,
    ) -> Answers | None:
        """Return answers from whole tables; None where they do not know what is asked for."""
        chance = question.chance if chance is None else chance
        if not question.selection.is_product:
            return self._scattered(question, codes, chance)
        found = self._whole.answers(self._along(question, codes), chance=chance)
        return found if found is None else self._in_order(question, codes, found)

    def _bounded(
        self, question: Question, codes: Sequence[NDArray[np.int64]], chance: float
    ) -> Answers | None:
        """Return answers from whole tables of coarser values than a condition tells apart."""
        if not question.selection.is_product or self._negative:
            return None
        found = self._whole.bounded(self._along(question, codes), chance=chance)
        return found if found is None else self._in_order(question, codes, found)

    @property
    def _negative(self) -> bool:
        """Whether what is added up may be below 0."""
        clamp = self._release.terms.measure.clamp
        return clamp is not None and clamp[0] < 0

    def _in_order(self, question: Question, codes: Sequence[NDArray[np.int64]], found: Answers) -> Answers:
        """Return answers in the order of the groups: they come with attributes in the domain's order."""
        each = (found.value, found.standard_error, found.low, found.high)
        return Answers(*(_moved(question, codes, values) for values in each))

    def _above(
        self, question: Question, codes: Sequence[NDArray[np.int64]], found: Answers
    ) -> NDArray[np.float64]:
        """Return estimates that are 0 or more: of whole tables, such that they still add up."""
        if question.selection.is_product:
            above = self._whole.nonnegative(self._along(question, codes))
            if above is not None:
                return _moved(question, codes, above)
        return np.maximum(found.value, 0.0)

    def _scattered(
        self, question: Question, codes: Sequence[NDArray[np.int64]], chance: float
    ) -> Answers | None:
        """Return answers for a condition that is no product of ones on single attributes.

        Their variance is at most that of the best table by itself.
        """
        selection = question.selection
        places = sorted({*selection.attributes, *(item.place for item in question.items)})
        sizes = [self._domain.shape[place] for place in places]
        if max(sizes) > MOST_CODES:
            return None  # no whole table has so many
        every = [
            AskedAlong(place, 0, np.arange(size, dtype=np.int64), None)
            for place, size in zip(places, sizes, strict=True)
        ]
        known = self._whole.resolved(every)
        if known is None:
            return None
        value = self._whole.fitted.table(known[0])
        columns = [each.ravel().astype(np.uint64) for each in np.indices(value.shape)]
        within = selection.within(self._domain.of(places), places)
        kept = within.rows(columns)
        index = np.zeros(1, dtype=np.intp)
        for (place, level), each in zip(question.items, codes, strict=True):
            own = columns[places.index(place)][kept].astype(np.int64)
            found = codes_at(self._domain.attributes[place], level, own)
            index = index * len(each) + np.searchsorted(each, found)
        number = prod(len(each) for each in codes)
        index = np.broadcast_to(index, value.ravel()[kept].shape)
        sums = np.bincount(index, weights=value.ravel()[kept], minlength=number).astype(np.float64)
        cells = np.bincount(index, minlength=number) / max(len(value.ravel()[kept]), 1)
        deviation = np.sqrt(cells) * self._whole.raw(places, selection)
        reach = self._whole.reach(deviation**2, chance)
        return Answers(sums, deviation, sums - reach, sums + reach)

    # Tables with a cutoff.

    def _completed(
        self, question: Question, codes: Sequence[NDArray[np.int64]], chance: float
    ) -> GroupsAnswered | tuple[Answers, str, str]:
        """Return answers from a table with a cutoff, completed by the whole ones, with bounds."""
        selection, axes = question.selection, _axes(question)
        if not selection.is_product:  # cells are then told apart one by one
            axes = [Item(item.place) for item in axes]
        part = next(self._sparse(axes), None)
        if part is None:
            raise self._refused(axes)
        shape = [attribute_at(self._domain, item).size for item in axes]
        hopeless = prod(shape) > MOST_COMBINATIONS
        if not selection.is_product:
            hopeless = hopeless or any(item.level for item in part.items)
        if hopeless or not part.law.biased or not self._whole.lattice.tables or question.assume is not None:
            return self._alone(part, question)
        columns = [part.column(self._domain, item) for item in axes]
        grid = on_grid([each for each in columns if each is not None], part.sure_weights, shape)
        margins = list(self._margins(axes))
        completed = grid + raked(grid, margins)
        if not selection.is_product:
            completed *= _truth(selection, axes)
        for axis, each in enumerate(self._asked(item, question, codes) for item in axes):
            completed = each.added(completed, axis)
        groups = PartGroups(part, self._domain, question, codes)
        sets = [tuple(axes[axis].place for axis in margin.axes) for margin in margins]
        around = list(self._around(groups, sets))
        sums, cells = groups.of(groups.places)
        value = _moved(question, codes, completed.ravel())
        found = part.answering.bounds.answers(value, sums, cells, around=around, chance=chance)
        about = (
            f"The estimate comes from the table of {part.marginal.label}, which {part.hides}; what is "
            "left out is estimated from the whole tables. The interval covers the true answer of any "
            "group, whatever is left out."
        )
        return found, about, part.marginal.label

    def _around(self, groups: PartGroups, sets: Sequence[tuple[int, ...]]) -> Iterator[Around]:
        """Yield what whole tables say of all that each group is part of."""
        own, own_cells = groups.of(groups.places)
        question, codes = groups.question, groups.codes
        for places in (each for each in sets if not any(set(each) < set(other) for other in sets)):
            known = self._whole.answers(self._along(question, codes, sorted(places)), chance=0.05)
            if known is None:
                continue
            larger, cells = groups.of(places)
            rest = larger.without(own)
            value = groups.spread(places, known.value)
            draws = groups.spread(places, known.standard_error) ** 2
            rest_cells = np.maximum(cells - own_cells, rest.rows)
            yield Around(value, self._whole.noise, draws, rest, rest_cells)

    def _modelled(self, question: Question, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the most even numbers that agree with the whole tables, none of them below 0.

        They are those of greatest entropy: where tables leave open how attributes go together, they do so as
        little as the tables allow.
        """
        if self._negative:
            fact = "amounts may be below 0 in this release, and a model has no negative numbers"
            raise BadQuery(fact, "Leave `model` out.")
        if not question.selection.is_product:
            fact = (
                "the condition ties attributes together, and a model takes only conditions on single "
                "attributes"
            )
            raise BadQuery(fact, "Leave `model` out, or join conditions on single attributes by AND.")
        known = self._whole.nonnegative(self._along(question, codes))
        if known is None:
            axes = _axes(question)
            shape = [attribute_at(self._domain, item).size for item in axes]
            if prod(shape) > MOST_COMBINATIONS:
                fact = f"a model is put together of up to {MOST_COMBINATIONS:,} combinations of values"
                raise BadQuery(f"{fact}, and these are {prod(shape):,}", "Ask about fewer attributes.")
            margins = list(self._margins(axes, above=True))
            told = {axis for margin in margins for axis in margin.axes}
            if unknown := [item for axis, item in enumerate(axes) if axis not in told]:
                names = ", ".join(shown(label_of(self._domain, item)) for item in unknown)
                fact = f"no table that is published whole has {names}, so a model knows nothing of it"
                raise BadQuery(fact, "Leave `model` out, or ask about other attributes.")
            known = raked(np.zeros(shape), margins)
            for axis, each in enumerate(self._asked(item, question, codes) for item in axes):
                known = each.added(known, axis)
        return _moved(question, codes, known.ravel())

    def _asked(self, item: Item, question: Question, codes: Sequence[NDArray[np.int64]]) -> Asked:
        """Return what is added up along an axis of the grid."""
        place, level = item
        groups = dict(zip((each.place for each in question.items), codes, strict=True))
        levels = dict(question.items)
        allowed = allowed_codes(question.selection, place)
        attribute = self._domain.attributes[place]
        weights = np.ones(attribute_at(self._domain, item).size) if allowed is None else allowed.astype(float)
        if place not in groups:
            return Asked(weights=weights[np.newaxis])
        if levels[place] == level:
            return Asked(codes=groups[place])
        coarser = codes_at(attribute, levels[place], np.arange(attribute.size, dtype=np.int64))
        return Asked(weights=(coarser[np.newaxis] == groups[place][:, np.newaxis]) * weights)

    def _margins(self, axes: Sequence[Item], *, above: bool = False) -> Iterator[Margin]:
        """Yield what whole tables say of some of the axes; `above`: without numbers below 0."""
        tables = self._whole.above if above else self._whole.fitted
        for some in sets_of_axes(len(axes)):
            along = [
                AskedAlong(place, level, np.arange(attribute_at(self._domain, Item(place, level)).size), None)
                for place, level in (axes[axis] for axis in some)
            ]
            known = self._whole.resolved(along)
            if known is not None:
                table, asked = known
                sums = tables.table(table)
                for axis, each in enumerate(asked):
                    sums = each.added(sums, axis)
                yield Margin(some, sums)

    def _with_total(self, part: _Part) -> _Part:
        """Return a table with the total that the whole tables tell, as if it had been bought with it."""
        if part.terms.total is not None or not self._whole.lattice.tables:
            return part
        if part.marginal.label not in self._totalled:
            value, variance = self._whole.total
            terms = with_total(part.terms, value, variance)
            self._totalled[part.marginal.label] = replace(part, terms=terms)
        return self._totalled[part.marginal.label]

    def _alone(self, part: _Part, question: Question) -> GroupsAnswered:
        """Return answers from one table by itself, and the total."""
        label, part = part.marginal.label, self._with_total(part)
        if question.items:
            found = part.answers.groups(self._within(part, question))
        else:
            within = question.selection.within(part.domain, [item.place for item in part.items])
            alone = part.answers.total(
                within, chance=question.chance, corrected=question.corrected, assume=question.assume
            )
            nothing = np.zeros((1, 0), dtype=np.int64)
            found = GroupsAnswered(nothing, alone.answers, alone.note, 1, alone.assumes)
        beside = {"nonnegative": np.maximum(found.answers.value, 0.0)} if question.nonnegative else {}
        note = f"The estimate comes from the table of {label}. {found.note}"
        return replace(found, note=note, source=label, beside=beside)

    def _many(self, question: Question) -> GroupsAnswered:
        """Return the groups that have rows, where there are too many to list."""
        if question.model:
            fact = f"a model answers for up to {MOST_GROUPS:,} groups, and the question has more"
            raise BadQuery(fact, "Ask about fewer attributes, or leave `model` out.")
        axes = [*question.items, *(Item(place) for place in question.selection.attributes)]
        part = next(self._sparse(axes), None)
        if part is None:
            raise self._refused(axes)
        return self._alone(part, question)

    def _within(self, part: _Part, question: Question) -> Question:
        """Return the question as one about a table by itself."""
        places = [Item(self._place_in(part, item)) for item in question.items]
        within = question.selection.within(part.domain, [item.place for item in part.items])
        return replace(question, selection=within, items=places)

    def _place_in(self, part: _Part, item: Item) -> int:
        if item not in part.items:
            label = label_of(self._domain, item)
            raise BadQuery(
                f"there are too many groups to add up {shown(label)}", "Ask about fewer attributes."
            )
        return part.items.index(item)

    def _sparse(self, axes: Sequence[Item]) -> Iterator[_Part]:
        """Yield the tables that have all these items: unbiased ones first, then by noise."""
        parts = [self._part(number) for number in range(len(self._space.marginals))]
        has = [part for part in parts if all(part.column(self._domain, item) is not None for item in axes)]
        yield from sorted(has, key=lambda part: (part.law.biased, part.noise))

    def _part(self, number: int) -> _Part:
        if number not in self._parts:
            release, rows, marginal = self._release, self._rows[number], self._space.marginals[number]
            codes = self._space.own_codes(number, release.codes[rows])
            items = tuple(self._space.items[place] for place in marginal.places)
            self._parts[number] = _Part(
                marginal, items, release.terms.part(number), codes, release.counts[rows]
            )
        return self._parts[number]

    def _refused(self, wanted: Sequence[Item]) -> BadQuery:
        names = ", ".join(shown(label_of(self._domain, item)) for item in wanted)
        labels = [f"({each.label})" for each in self._space.marginals[:_SHOWN_TABLES]]
        more = len(self._space.marginals) - len(labels)
        labels += [f"{more:,} more"] * bool(more)
        together = " together" * (len(wanted) > 1)
        fact = f"no {self._space.structure.part} of this release has {names}{together}"
        hint = f"Ask about the attributes of one of {', '.join(labels)}"
        if all(any(margin.axes for margin in self._margins([item])) for item in wanted):
            hint += (
                ". For groups, `hushtable query --model` and `release.by(..., model=True)` add what these "
                "tables suggest, without an interval"
            )
        return BadQuery(fact, f"{hint}.")


def _axes(question: Question) -> list[Item]:
    """Return all that a question tells apart: its items, and values on which there are conditions."""
    levels = dict(question.items)
    for place in question.selection.attributes:
        levels[place] = 0  # a condition is on the attribute's own values
    return [Item(place, level) for place, level in sorted(levels.items())]


def _truth(selection: Selection, axes: Sequence[Item]) -> NDArray[np.bool_]:
    """Return which combinations of the attributes' own values are selected."""
    places = [item.place for item in axes]
    domain = selection.domain.of(places)
    truth = np.zeros(domain.shape, dtype=np.bool_)
    columns = [each.ravel().astype(np.uint64) for each in np.indices(domain.shape)]
    truth.ravel()[selection.within(domain, places).rows(columns)] = True
    return truth


def _moved(
    question: Question, codes: Sequence[NDArray[np.int64]], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values of groups in the order of the question; they come in that of the domain."""
    order = np.argsort([item.place for item in question.items], kind="stable")
    shape = [len(codes[place]) for place in order]
    return values.reshape(shape).transpose(np.argsort(order, kind="stable")).ravel()
