"""The terms of a release: all that is public about how it was made.

Promise: terms are checked once, and say in one plain sentence who is protected, against what and how well.
They hold what the owner declared and what was paid for with epsilon, never a fact of the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from hushtable.domain.domain import Domain
from hushtable.domain.kinds import plain
from hushtable.domain.measure import Measure
from hushtable.errors import BadRelease, shown
from hushtable.methods.settings import Method

_KINDS: dict[str, tuple[object, str]] = {
    "domain": (Domain, "a Domain"),
    "measure": (Measure, "a Measure"),
    "rows_are_units": (bool, "true or false"),
    "where": (str | None, "text or nothing"),
    "query": (str | None, "text or nothing"),
    "epsilon": (Fraction, "an exact number"),
    "total_epsilon": (Fraction, "an exact number"),
    "sensitivity": (int, "a whole number"),
    "structure": (str, "text"),
    "method": (Method, "a summary method"),
    "rule": (str | None, "text or nothing"),
    "cutoff": (float | None, "a float or nothing"),
    "threshold": (float | None, "a float or nothing"),
    "total": (int | None, "a whole number or nothing"),
    "version": (str, "text"),
}

_LONGEST = 8192  # bits of a number: what Python is willing to write and read as text


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a release says about itself. Public.

    `epsilon` is all that was spent; `total_epsilon` is the part of it that bought `total`, the noisy total
    (0 and None: none was bought). `rule` names an automatic choice of settings. `cutoff` and `threshold`
    are those that the published rows met, None where there is none.
    """

    domain: Domain
    measure: Measure
    rows_are_units: bool
    where: str | None
    query: str | None
    epsilon: Fraction
    total_epsilon: Fraction
    sensitivity: int
    structure: str
    method: Method
    rule: str | None
    cutoff: float | None
    threshold: float | None
    total: int | None
    version: str

    def __post_init__(self) -> None:
        for name, (kind, wanted) in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
                raise BadRelease(f"its {name} is {shown(value)}", f"It must be {wanted}.")
        settings = (getattr(self.method, name, None) for name in ("cutoff", "threshold"))
        for number in (self.epsilon, self.total_epsilon, *settings):
            if isinstance(number, Fraction) and max(map(abs, number.as_integer_ratio())) >> _LONGEST:
                raise BadRelease("it has a number of thousands of digits", "Take a shorter one.")
        if not self.domain.reviewed:
            raise BadRelease("its domain is a draft", "Review the domain file, then take `reviewed` out.")
        if not 0 <= self.total_epsilon < self.epsilon:
            fact = (
                f"it spends {as_text(self.total_epsilon)} of epsilon = {as_text(self.epsilon)} on the total"
            )
            raise BadRelease(fact, "The total's part must be 0 or more, and less than all.")
        if (self.total is None) != (self.total_epsilon == 0):
            raise BadRelease("its noisy total does not fit what was spent on it", "Give both or neither.")
        if self.structure != "cells":
            hint = "This version of hushtable knows `cells` only; a newer one may know more."
            raise BadRelease(f"its structure is {shown(self.structure)}", hint)
        if self.sensitivity != self.measure.sensitivity:
            fact = f"its sensitivity is {shown(self.sensitivity)}"
            raise BadRelease(fact, f"One unit changes the cells by up to {self.measure.sensitivity}.")
        for name in ("cutoff", "threshold"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise BadRelease(f"its {name} is {shown(value)}", "It must be finite, and 0 or more.")

    @property
    def rate(self) -> Fraction:
        """The rate g of the cells' noise: a count was changed by x with chance proportional to exp(-g|x|)."""
        return (self.epsilon - self.total_epsilon) / self.sensitivity

    @property
    def total_rate(self) -> Fraction | None:
        """The rate of the noisy total's noise, if there is one."""
        return None if self.total is None else self.total_epsilon / self.measure.sensitivity

    @property
    def guarantee(self) -> str:
        """One plain sentence: who is protected, against what, and how well; with what it leaves open."""
        who, change, several = self._protected()
        rest = "what one person adds to that table is not bounded by this release"
        if not self.rows_are_units:
            rest = f"a person {several} is protected with k times that epsilon" if several else ""
        text = f"{who} is protected with epsilon = {as_text(self.epsilon)} "
        text += f"(pure differential privacy, adding or removing {change}){'; ' * bool(rest)}{rest}."
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
        values = f", its {self.measure.sum_column} clamped to {clamp[0]}..{clamp[1]}" if clamp else ""
        if unit is not None:
            rows = f"all rows{table} with one value of that column, of which at most {unit.max_rows} count"
            if clamp:
                rows += f", their {self.measure.sum_column} clamped to {clamp[0]}..{clamp[1]}"
            return f"Each {unit.column} ({rows})", f"all rows of one {unit.column}", ""
        if counted is not None:
            return (
                f"Each counted person (one unit of column {counted}{table})",
                "one person",
                "counted k times",
            )
        about = f"{table}{values}".removeprefix(" ").removeprefix(", ")
        return f"Each row ({about})" if about else "Each row", "one row", "with k rows"


def as_text(value: Fraction) -> str:
    """Return a number as people write it: 0.1, or 1/3."""
    try:
        return plain(value)
    except OverflowError:
        return str(value)
