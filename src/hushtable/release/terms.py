"""The terms of a release: all that is public about how it was made.

Promise: terms are checked once, and say in one plain sentence who is protected, against what and how well.
They hold what the owner declared and what was paid for with epsilon, never a fact of the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite

from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.kinds import plain
from hushtable.domain.limits import LARGEST_RATE, LARGEST_SETTING, LARGEST_TOTAL, LONGEST_SQL, LONGEST_TEXT
from hushtable.domain.measure import Measure, Unit
from hushtable.domain.wording import bounds_in_words
from hushtable.errors import BadChoice, BadRelease, printable, shown
from hushtable.laws.law import NoiseLaw
from hushtable.laws.registry import DEFAULT_LAW, law_named
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
    "epsilon": (Fraction, "an exact number"),
    "total_epsilon": (Fraction, "an exact number"),
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
}

TOTAL_ALONE = "its noisy total does not fit what was spent on it"
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

    `epsilon` is all that was spent; `total_epsilon` is the part of it that buys `total`, the noisy total (0:
    none is bought; until it is drawn, the total is None). `rule` names an automatic choice of settings, and
    `plan` is what a plan that chose or judged them assumed. `cutoff` and `threshold` are those that the
    published rows met, None where there is none. `keys` are those of a sketch's hashing. Of a data cube,
    `parts` say these things for each marginal, and `method`, `rule`, `cutoff` and `threshold` are those of
    its largest one. `law_name` is the name of the law of the noise. `recipe` is what the owner asked for, as
    JSON of some words of `ht.publish`; None in older releases, and where a release was thinned.
    """

    domain: Domain
    measure: Measure
    rows_are_units: bool
    where: str | None
    query: str | None
    epsilon: Fraction
    total_epsilon: Fraction
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

    def __post_init__(self) -> None:
        for name, (kind, wanted) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
                raise BadRelease(f"its {name} is {shown(value)}", f"It must be {wanted}.")
        if not is_structure(self.structure):
            raise BadRelease(f"its structure is {shown(self.structure)}", "It must be a structure.")
        self._check_lengths()
        law_named(self.law_name)
        if not self.domain.reviewed:
            raise BadRelease("its domain is a draft", "Review the domain file, then take `reviewed` out.")
        if not 0 <= self.total_epsilon < self.epsilon:
            fact = (
                f"it spends {as_text(self.total_epsilon)} of epsilon = {as_text(self.epsilon)} on the total"
            )
            raise BadRelease(fact, "The total's part must be 0 or more, and less than all.")
        if self.total is not None and not self.total_epsilon:
            raise BadRelease(TOTAL_ALONE, "Give both or neither.")
        try:
            self.structure.check_method(self.method, self.measure)
            if self.keys and not self.structure.key_words:
                raise BadChoice("only a sketch has keys of hashing", "Leave them out.")
            check_names(self.nodes, self.domain)
            most = self.measure.sensitivity * self.nodes.per_cell
        except BadChoice as error:
            raise BadRelease(f"its structure does not fit: {error.fact}", error.hint) from None
        if self.total_epsilon and not self.structure.takes_total:
            fact = "it has a noisy total beside its structure"
            raise BadRelease(fact, "The root of a structure is its total; buy no other.")
        if self.sensitivity != most:
            fact = f"its sensitivity is {shown(self.sensitivity)}"
            raise BadRelease(fact, f"One unit changes what is published by up to {most}.")
        for name in ("cutoff", "threshold"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise BadRelease(f"its {name} is {shown(value)}", "It must be finite, and 0 or more.")
        for rate in (self.rate, self.total_rate):
            if rate is not None and not 1 <= rate * LARGEST_RATE <= LARGEST_RATE**2:
                fact = "its noise has a rate, epsilon / sensitivity, that is not within 2^-64 to 2^64"
                raise BadRelease(fact, "Typical values lie between 0.0001 and 10.")
        self._check_parts()

    def _check_lengths(self) -> None:
        """Raise where a number or a text is longer than anybody needs: whoever opens the file meets it."""
        settings = [getattr(self.method, name, None) for name in ("cutoff", "threshold")]
        for number in (self.epsilon, self.total_epsilon, *settings):
            if isinstance(number, Fraction) and max(map(abs, number.as_integer_ratio())) >> _LONGEST:
                raise BadRelease("it has a number of thousands of digits", "Take a shorter one.")
        if any(isinstance(number, Fraction) and number > LARGEST_SETTING for number in settings):
            raise BadRelease("its cutoff or threshold is above 10^300", "No count is so large.")
        if self.total is not None and abs(self.total) >= LARGEST_TOTAL:
            fact = "its noisy total does not fit 128 bits"
            raise BadRelease(fact, "No sum of 64-bit counts is so large: ask who made it.")
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
                raise BadRelease(fact, f"Take a shorter one; {most:,} are allowed.")

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
        part, marginal = self.parts[number], self.nodes.marginals[number]
        own = (self.epsilon - self.total_epsilon) * marginal.share / self.nodes.per_cell
        return replace(
            self,
            domain=marginal.domain,
            structure=Cells(),
            epsilon=own + self.total_epsilon,
            sensitivity=self.measure.sensitivity,
            method=part.method,
            rule=part.rule,
            cutoff=part.cutoff,
            threshold=part.threshold,
            plan=None,
            parts=(),
            recipe=None,
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
    def rate(self) -> Fraction:
        """The rate of the noise in a cell or node: its epsilon divided by the sensitivity.

        Of a data cube, that of the marginals with the most noise.
        """
        return (self.epsilon - self.total_epsilon) * self.nodes.share / self.sensitivity

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise in a cell or node; of a data cube, of the marginals with the most noise."""
        return self.law_at(self.nodes.share)

    def law_at(self, share: int) -> NoiseLaw:
        """Return the law of the noise in nodes with a share of epsilon, in which levels of a tree differ."""
        epsilon, l1 = (self.epsilon - self.total_epsilon) * share, Fraction(self.sensitivity)
        return law_named(self.law_name).calibrated(epsilon=epsilon, l1=l1)

    @property
    def total_law(self) -> NoiseLaw | None:
        """The law of the noisy total's noise, if there is one."""
        if not self.total_epsilon:
            return None
        kind, l1 = law_named(self.law_name), Fraction(self.measure.sensitivity)
        return kind.calibrated(epsilon=self.total_epsilon, l1=l1)

    @property
    def total_rate(self) -> Fraction | None:
        """The rate of the noisy total's noise, if there is one."""
        return self.total_epsilon / self.measure.sensitivity if self.total_epsilon else None

    @property
    def guarantee(self) -> str:
        """One plain sentence: who is protected, against what, and how well; with what it leaves open."""
        who, change, several = self._protected()
        rest = "what one person adds to that table is not bounded by this release"
        if not self.rows_are_units:
            rest = f"a person {several} is protected with k times that epsilon" if several else ""
        text = f"{who} is protected with epsilon = {as_text(self.epsilon)} "
        text += f"({self.law.privacy}, adding or removing {change}){'; ' * bool(rest)}{rest}."
        strict = [each.name for each in self.domain.attributes if "error" in (each.missing, each.outside)]
        if strict:
            text += " It does not cover that a release appeared at all: "
            text += f"the owner stops at rows that break a rule of {', '.join(strict)}."
        return text

    def _protected(self) -> tuple[str, str, str]:
        """Return who is protected, the change that is hidden, and who is protected less."""
        unit, counted, clamp = self.measure.unit, self.measure.count_column, self.measure.clamp
        table = ""
        if self.rows_are_units:
            table = " of the owner's prepared table" + ", a query" * (self.query is not None)
        summed = printable(self.measure.sum_column or "")
        values = f", its {summed} clamped to {clamp[0]}..{clamp[1]}" if clamp else ""
        if unit is not None:
            rows = f"all rows{table} with one value of that column, {self._counted_of(unit)}"
            if clamp:
                rows += f", their {summed} clamped to {clamp[0]}..{clamp[1]}"
            named = printable(unit.column)
            # It may compute whose row it is; whether it does is not for a reader of the file to find out.
            computed = ", as the query computes it" * (self.query is not None)
            return f"Each {named}{computed} ({rows})", f"all rows of one {named}", ""
        if counted is not None:
            return (
                f"Each counted person (one unit of column {printable(counted)}{table})",
                "one person",
                "counted k times",
            )
        about = f"{table}{values}".removeprefix(" ").removeprefix(", ")
        return f"Each row ({about})" if about else "Each row", "one row", "with k rows"

    def _counted_of(self, unit: Unit) -> str:
        """Return how much of a unit counts, as what follows a comma."""
        if unit.max_rows is not None:
            return f"of which at most {unit.max_rows} count"
        summed = self.measure.clamp is not None
        return f"counted in {bounds_in_words(unit, rows=summed, cells_of=' of the finest table')}"


def as_text(value: Fraction) -> str:
    """Return a number as people write it: 0.1, or 1/3."""
    try:
        return plain(value)
    except OverflowError:
        return str(value)
