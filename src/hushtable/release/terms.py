"""The terms of a release: all that is public about how it was made.

Promise: terms are checked once, and say in one plain sentence who is protected, against what and how well.
They hold what the owner declared and what was paid for with epsilon, never a fact of the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.kinds import plain
from hushtable.domain.limits import LARGEST_RATE, LARGEST_SETTING, LARGEST_TOTAL, LONGEST_SQL, LONGEST_TEXT
from hushtable.domain.measure import Measure, Unit
from hushtable.domain.wording import bounds_in_words
from hushtable.errors import BadChoice, BadNumber, BadRelease, printable, shown
from hushtable.laws.conversions import exponential, rho_to_epsilon, rounded
from hushtable.laws.costs import Cost, amount
from hushtable.laws.law import NoiseLaw
from hushtable.laws.registry import DEFAULT_LAW, law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import METHODS, Method
from hushtable.release.assumed import Assumption
from hushtable.release.layout import check_names
from hushtable.structures.cells import Cells
from hushtable.structures.registry import is_structure
from hushtable.structures.structure import NodeSpace, Structure
from hushtable.structures.table_space import largest_of

_KINDS: dict[str, tuple[object, str]] = {
    "domain": (Domain, "a Domain"),
    "measure": (Measure, "a Measure"),
    "rows_are_units": (bool, "true or false"),
    "where": (str | None, "text or nothing"),
    "query": (str | None, "text or nothing"),
    "epsilon": (Fraction | None, "an exact number or nothing"),
    "rho": (Fraction | None, "an exact number or nothing"),
    "delta": (Fraction, "an exact number"),
    "total_budget": (Fraction, "an exact number"),
    "sensitivity": (int, "a whole number"),
    "method": (tuple(METHODS.values()), "a summary method"),
    "rule": (str | None, "text or nothing"),
    "cutoff": (float | None, "a float or nothing"),
    "threshold": (float | None, "a float or nothing"),
    "total": (int | None, "a whole number or nothing"),
    "version": (str, "text"),
    "plan": (Assumption | None, "an Assumption or nothing"),
    "keys": (tuple, "texts"),
    "parts": (tuple, "parts"),
    "law_name": (str, "text"),
    "recipe": (str | None, "text or nothing"),
    "left_out_budget": (Fraction, "an exact number"),
    "left_out": (tuple | None, "two whole numbers or nothing"),
}

_GROUPS = {
    "pure": "k times that epsilon",
    "zcdp": "k^2 times that rho",
    "approximate": "k times that epsilon, and a delta that grows faster",
}
_EXAMPLE_DELTA = Fraction(1, 10**6)  # at which a rho is told as an epsilon
TOTAL_ALONE = "its noisy total does not fit what was spent on it"
LEFT_OUT_ALONE = "its counts of who is left out do not fit what was spent on them"
_LARGEST_POWER = 12  # of e that people read as a number
_LONGEST = 8192  # bits of a number: what Python is willing to write and read as text


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """How the rows of one marginal of a data cube were chosen; fields are as in `Terms`."""

    method: Method
    rule: str | None
    cutoff: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a release says about itself. Public.

    All that was spent is `epsilon`, `rho`, or `epsilon` and `delta`; Gaussian noise for an epsilon and a
    delta has a `rho` too. `total_budget` is the part of `budget` that buys `total`, the noisy total (0: none
    is bought; until it is drawn, the total is None). `left_out_budget` is the part that buys `left_out`, the
    noisy counts of units with a row that was counted, and of units with none. `rule` names an automatic
    choice of settings, and `plan` is what a plan that chose or judged them assumed. `cutoff` and `threshold`
    are those that the published rows met, None where there is none. `keys` are those of a sketch's hashing.
    Of a data cube, `parts` say these things for each marginal, and `method`, `rule`, `cutoff` and `threshold`
    are those of its largest one. `law_name` is the name of the law of the noise. `recipe` is what the owner
    asked for, as JSON of some words of `ht.publish`; None in older releases, and where a release was thinned.
    """

    domain: Domain
    measure: Measure
    rows_are_units: bool
    where: str | None
    query: str | None
    epsilon: Fraction | None
    total_budget: Fraction
    sensitivity: int
    structure: Structure
    method: Method
    rule: str | None
    cutoff: float | None
    threshold: float | None
    total: int | None
    version: str
    plan: Assumption | None = None
    keys: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    law_name: str = DEFAULT_LAW
    recipe: str | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)
    left_out_budget: Fraction = Fraction(0)
    left_out: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, (kind, wanted) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
                raise BadRelease(f"its {name} is {shown(value)}", f"It must be {wanted}.")
        if not is_structure(self.structure):
            raise BadRelease(f"its structure is {shown(self.structure)}", "It must be a structure.")
        self._check_lengths()
        self._check_cost()
        if not self.domain.reviewed:
            raise BadRelease("its domain is a draft", "Review the domain file, then take `reviewed` out.")
        if not 0 <= self.total_budget < self.budget:
            fact = f"it spends {as_text(self.total_budget)} of {as_text(self.budget)} on the total"
            raise BadRelease(fact, "The total's part must be 0 or more, and less than all.")
        if self.total is not None and not self.total_budget:
            raise BadRelease(TOTAL_ALONE, "Give both or neither.")
        self._check_left_out()
        try:
            self.structure.check_method(self.method, self.measure)
            if self.keys and not self.structure.key_words:
                raise BadChoice("only a sketch has keys of hashing", "Leave them out.")
            check_names(self.nodes, self.domain)
            most = self.measure.sensitivity * self.nodes.per_cell
        except BadChoice as error:
            raise BadRelease(f"its structure does not fit: {error.fact}", error.hint) from None
        if self.total_budget and not self.structure.takes_total:
            fact = "it has a noisy total beside its structure"
            raise BadRelease(fact, "The root of a structure is its total; buy no other.")
        if self.sensitivity != most:
            fact = f"its sensitivity is {shown(self.sensitivity)}"
            raise BadRelease(fact, f"One unit changes what is published by up to {most}.")
        self._check_threshold()
        for name in ("cutoff", "threshold"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise BadRelease(f"its {name} is {shown(value)}", "It must be finite, and 0 or more.")
        bought = [each for each in (self.total_law, self.left_out_law) if each is not None]
        for rate in (self.rate, *(each.loss(change=Fraction(1)) for each in bought)):
            if not 1 <= rate * LARGEST_RATE <= LARGEST_RATE**2:
                fact = (
                    "its noise has a rate, what it costs for a change of 1, that is not within 2^-64 to 2^64"
                )
                raise BadRelease(fact, "Typical values lie between 0.0001 and 10.")
        self._check_parts()

    def _check_cost(self) -> None:
        """Raise unless what was spent is what noise of this law is paid with."""
        kind = law_named(self.law_name)
        try:
            cost = self.cost
        except (BadChoice, BadNumber) as error:
            raise BadRelease(f"its cost makes no sense: {error}", "Ask whoever made it.") from None
        paid = {"pure": cost.currency == "pure", "zcdp": cost.rho is not None}
        if not paid.get(kind.currency, cost.currency == "approximate" and cost.rho is None):
            fact = f"it spends {cost.said}, with noise of the law {kind.name!r}"
            raise BadRelease(fact, "That is not what such noise is paid with.")

    def _check_left_out(self) -> None:
        """Raise unless what was spent on telling who is left out fits what is told."""
        if self.left_out_budget < 0 or self.rows_budget <= 0:
            fact = f"it spends {as_text(self.left_out_budget)} of {as_text(self.budget)} on who is left out"
            raise BadRelease(fact, "That part must be 0 or more, and leave something for the rows.")
        if self.left_out is None:
            return
        told: tuple[object, ...] = self.left_out
        whole = all(type(each) is int and abs(each) < LARGEST_TOTAL for each in told)
        if not self.left_out_budget or len(told) != 2 or not whole:
            raise BadRelease(LEFT_OUT_ALONE, "Give both or neither.")

    def _check_threshold(self) -> None:
        """Raise where noise in occupied cells alone comes with anything but a filter of cells."""
        if law_named(self.law_name).noises_empty:
            if self.domain.unlisted:
                fact = "it has values that nobody can list, and noise in cells that are empty"
                raise BadRelease(fact, "Ask whoever made it.")
            return
        try:
            least = self.law.least_cutoff or 0
        except BadChoice as error:
            raise BadRelease(f"its law does not fit: {error.fact}", error.hint) from None
        rule = self.method.rule if self.method.filters else None
        met = None if rule is None else rule.cutoff or self.cutoff  # the largest rows of a filter met its own
        fits = rule is not None and not rule.two_sided and met is not None and met >= least
        alone = self.structure == Cells() and not self.total_budget and not self.left_out_budget
        if not fits or not alone or self.measure.sum_column is not None:
            fact = f"noise of the law {self.law_name!r} comes without a filter of cells from {least:,} on"
            raise BadRelease(fact, "Ask whoever made it.")

    def _check_lengths(self) -> None:
        """Raise where a number or a text is longer than anybody needs: whoever opens the file meets it."""
        settings = [getattr(self.method, name, None) for name in ("cutoff", "threshold")]
        parts = (self.total_budget, self.left_out_budget)
        for number in (self.epsilon, self.rho, self.delta, *parts, *settings):
            if isinstance(number, Fraction) and max(map(abs, number.as_integer_ratio())) >> _LONGEST:
                raise BadRelease("it has a number of thousands of digits", "Use a shorter one.")
        if any(isinstance(number, Fraction) and number > LARGEST_SETTING for number in settings):
            raise BadRelease("its cutoff or threshold is above 10^300", "No count is so large.")
        if self.total is not None and abs(self.total) >= LARGEST_TOTAL:
            fact = "its noisy total does not fit 128 bits"
            raise BadRelease(fact, "No sum of 64-bit counts is so large: ask whoever made it.")
        unit = self.measure.unit
        texts = {
            "row filter": (self.where, LONGEST_SQL),
            "query": (self.query, LONGEST_SQL),
            "rule": (self.rule, LONGEST_TEXT),
            "version": (self.version, LONGEST_TEXT),
            "recipe": (self.recipe, LONGEST_SQL),
            "column of counts": (self.measure.count_column, LONGEST_TEXT),
            "column of sums": (self.measure.sum_column, LONGEST_TEXT),
            "column of units": (None if unit is None else unit.column, LONGEST_TEXT),
        }
        for name, (text, most) in texts.items():
            if text is not None and len(text) > most:
                fact = f"its {name} has {len(text):,} characters"
                raise BadRelease(fact, f"Use a shorter one; {most:,} are allowed.")

    def _check_parts(self) -> None:
        """Raise unless every marginal of a cube has a part that makes sense, and nothing else has one."""
        marginals = len(self.nodes.marginals)
        if len(self.parts) != marginals or not all(isinstance(part, Part) for part in self.parts):
            raise BadRelease("its parts are not one for each marginal", f"It must have {marginals}.")
        for number in range(marginals):
            self.part(number)
        if self.parts:
            largest = self.parts[largest_of(self.nodes.marginals)]
            own = Part(method=self.method, rule=self.rule, cutoff=self.cutoff, threshold=self.threshold)
            if own != largest:
                fact = "its summary is not that of its largest marginal"
                raise BadRelease(fact, "State them alike.")

    def part(self, number: int) -> Terms:
        """Return the terms of one marginal of a data cube: those of a release of cells."""
        part, marginal, kind = self.parts[number], self.nodes.marginals[number], law_named(self.law_name)
        measure = self.measure if self.nodes.is_finest(number) else self.measure.added_up()
        own = self.rows_budget * marginal.share * kind.change(measure.sensitivities) / self.change
        return self.spending(
            own,
            domain=marginal.domain,
            measure=measure,
            structure=Cells(),
            sensitivity=self.measure.sensitivity,
            method=part.method,
            rule=part.rule,
            cutoff=part.cutoff,
            threshold=part.threshold,
            plan=None,
            parts=(),
            recipe=None,
            left_out_budget=Fraction(0),
            left_out=None,
        )

    @cached_property
    def nodes(self) -> NodeSpace:
        """What got noise: cells, nodes of a tree, buckets or the cells of marginals."""
        return self.structure.over(self.domain, keys=self.keys)

    @property
    def units_total(self) -> int:
        """How many cells, nodes or buckets were noised."""
        return self.nodes.nodes_total

    @property
    def space(self) -> KeySpace:
        """The cells, nodes or buckets as keys: rows are in their order."""
        return self.nodes.space

    @property
    def cost(self) -> Cost:
        """What the release cost one of its units."""
        return Cost(epsilon=self.epsilon, rho=self.rho, delta=self.delta)

    @property
    def budget(self) -> Fraction:
        """What was spent, in the currency of the law, in which the parts of a release add up."""
        return law_named(self.law_name).budget(self.cost)

    @property
    def rows_budget(self) -> Fraction:
        """What is left of it for the rows, without the noisy total and who is left out."""
        return self.budget - self.total_budget - self.left_out_budget

    def spending(self, rows: Fraction, **others: Any) -> Terms:
        """Return terms that spend so much on rows, and are else the same, but for `others`."""
        beside = (others.get(name, getattr(self, name)) for name in ("total_budget", "left_out_budget"))
        spent = rows + sum(beside)
        word = "rho" if law_named(self.law_name).currency == "zcdp" else "epsilon"
        return replace(self, **{word: spent}, **others)

    @cached_property
    def change(self) -> Fraction:
        """What one unit changes in all that got noise, as the law measures it."""
        return self.nodes.change(law_named(self.law_name), self.measure.sensitivities)

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise in a cell or node; of a data cube, of the marginals with the most noise."""
        return self.law_at(self.nodes.share)

    def law_at(self, share: int) -> NoiseLaw:
        """Return the law of the noise in nodes with a share of epsilon, in which levels of a tree differ."""
        kind = law_named(self.law_name)
        return kind.calibrated(budget=self.rows_budget * share, change=self.change, delta=self.delta)

    @property
    def total_law(self) -> NoiseLaw | None:
        """The law of the noisy total's noise, if there is one."""
        if not self.total_budget:
            return None
        kind = law_named(self.law_name)
        change = kind.change(self.measure.sensitivities.added_up())
        return kind.calibrated(budget=self.total_budget, change=change)

    @property
    def left_out_law(self) -> NoiseLaw | None:
        """The law of the noise in each of the two counts `left_out`, of which one unit changes one by 1."""
        if not self.left_out_budget:
            return None
        kind = law_named(self.law_name)
        return kind.calibrated(budget=self.left_out_budget, change=kind.change(Sensitivities.of_rows(1)))

    @property
    def rate(self) -> Fraction:
        """What the noise in a cell or node costs for a change of 1: of geometric noise, its rate."""
        return self.law.loss(change=Fraction(1))

    @property
    def total_rate(self) -> Fraction | None:
        """The same of the noisy total, if there is one."""
        return None if self.total_law is None else self.total_law.loss(change=Fraction(1))

    @property
    def guarantee(self) -> str:
        """Who is protected, against what and how well, in plain sentences; with what that leaves open."""
        who, several = self._protected()
        cost = self.cost
        text = f"Including or leaving out any one {who} changes the probability of any published result "
        text += f"by at most a factor of {self._factor}."
        if several and not self.rows_are_units:
            text += f" A person {several} is protected with {_GROUPS[cost.currency]}."
        if self.rows_are_units:
            text += " This release does not limit how much one person adds to that table."
        strict = [each.name for each in self.domain.attributes if "error" in (each.missing, each.outside)]
        if strict:
            text += " The guarantee does not cover the fact that this release exists: "
            text += f"the owner publishes nothing if a row breaks a rule of {', '.join(strict)}."
        return text

    @property
    def _factor(self) -> str:
        """How far probabilities may lie apart, rounded up, with the numbers that say so."""
        cost = self.cost
        if cost.epsilon is not None:
            beside = f", plus {amount(cost.delta)}" if cost.delta else ""
            return f"{factor_in_words(cost.epsilon)}{beside} ({cost.privacy} with {cost.paid})"
        assert cost.rho is not None
        epsilon = rounded(rho_to_epsilon(cost.rho, delta=_EXAMPLE_DELTA), digits=3)
        return (
            f"{factor_in_words(epsilon)}, plus one in a million ({cost.privacy} with {cost.paid}, "
            f"which is at least as good as epsilon = {as_text(epsilon)} and delta = 1e-6)"
        )

    def _protected(self) -> tuple[str, str]:
        """Return who is protected, and which people are protected less."""
        unit, counted, clamp = self.measure.unit, self.measure.count_column, self.measure.clamp
        table = ""
        if self.rows_are_units:
            table = (
                " of the table that the owner's query makes"
                if self.query
                else " of the owner's prepared table"
            )
        summed = printable(self.measure.sum_column or "")
        if unit is not None:
            named = printable(unit.column)
            # It may compute whose row it is; whether it does is not for a reader of the file to find out.
            computed = ", as the query computes it" * (self.query is not None)
            rows = f"all rows{table} with that value; {self._counted_of(unit)}"
            if clamp:
                rows += f"; their {summed} is clamped to {clamp[0]}..{clamp[1]}"
            return f"{named}{computed} ({rows})", ""
        if counted is not None:
            return f"person counted in column {printable(counted)}{table}", "counted k times"
        values = f" (its {summed} clamped to {clamp[0]}..{clamp[1]})" if clamp else ""
        return f"row{table}{values}", "with k rows"

    def _counted_of(self, unit: Unit) -> str:
        """Return how much of a unit counts, as a clause about its rows."""
        if unit.max_rows is not None:
            return f"at most {unit.max_rows} of them {'counts' if unit.max_rows == 1 else 'count'}"
        summed = self.measure.clamp is not None
        return f"counted in {bounds_in_words(unit, rows=summed, cells_of=' of the finest table')}"


def factor_in_words(epsilon: Fraction) -> str:
    """Return e^epsilon, rounded up, as a number that people grasp.

    >>> [factor_in_words(Fraction(text)) for text in ("0.001", "0.1", "0.5", "1", "3", "8", "100")]
    ['1.0011', '1.11', '1.65', '2.72', '20.1', '2,990', 'e^100']
    """
    if epsilon > _LARGEST_POWER:
        return f"e^{as_text(epsilon)}"
    factor = exponential(epsilon)
    nearest = min(rounded(factor, digits=3), 1 + rounded(factor - 1, digits=2))
    return f"{int(nearest):,}" if nearest.denominator == 1 else as_text(nearest)


def as_text(value: Fraction) -> str:
    """Return a number as people write it: 0.1, or 1/3."""
    try:
        return plain(value)
    except OverflowError:
        return str(value)
