"""The owner's report on how rows stand to a domain: what it holds, as text and for scripts.

Promise: printed by accident, a report shows no number; `to_text` and `to_dict` show all of them, and say that
they are private.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hushtable.domain.attributes import Attribute, Categories
from hushtable.domain.measure import Unit
from hushtable.domain.wording import cells_in_words, many, rule_in_words
from hushtable.engines.sliced.rows import Unread
from hushtable.errors import printable, shown

# What columns are called that tell whose row it is.
IDENTIFIER = re.compile(
    r"(?i:(^|[^a-z])(id|ids|uuid|guid|ssn)([^a-z]|$))|[a-z0-9](Id|ID)([^a-z]|$)"
    r"|(?i:(person|people|user|patient|customer|client|member|account|employee|student|household|device)id$)"
)
NOTICE = "PRIVATE: true numbers, for the data owner only. Do not publish or pass on."
_NOT_READ = {
    "quotes": "with a quote that is not closed, or text after it",
    "fields": "with too many or too few values",
    "keys": "not one JSON object, or with a used key twice",
    "too_long": "longer than 8 MiB",
    "not_text": "not UTF-8",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Why a column cannot be read as declared."""

    fact: str
    hint: str


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Look:
    """How many rows have which fate at one attribute, or as amounts to be added. Private.

    `column_type` is empty where the data have no such column. With a `problem` nothing was counted. `stray`
    are the commonest values that cannot be read or are not declared, with their numbers of rows.
    """

    attribute: Attribute
    column_type: str
    problem: Problem | None = None
    inside: int = 0
    missing: int = 0
    unreadable: int = 0
    below: int = 0
    above: int = 0
    stray: tuple[tuple[str, int], ...] = ()

    @property
    def outside(self) -> int:
        """The rows with a value that is not declared; for categories all are `below`."""
        return self.below + self.above

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules that would stop a count."""
        return self._having("error")

    @property
    def dropping(self) -> tuple[str, ...]:
        """The rules that drop rows."""
        return self._having("drop")

    def _having(self, said: str) -> tuple[str, ...]:
        """Return the rules that say so and that some row meets."""
        rows = {"missing": self.missing + self.unreadable, "outside": self.outside}
        return tuple(rule for rule in rows if getattr(self.attribute, rule) == said and rows[rule])

    def __repr__(self) -> str:
        return f"Look({self.attribute.name!r}, rows=<private>)"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class UnitLook:
    """How many units there are in the rows that no rule drops, and what the bound cuts off. Private.

    `kept` tells for each bound from 1 to 10 on rows, or on cells, how many rows it would keep. With several
    rows to a cell, that is an average over the choice of cells, and so is `rows_beyond`.
    """

    unit: Unit
    column_type: str
    problem: Problem | None = None
    missing: int = 0
    units: int = 0
    above_bound: int = 0
    rows_beyond: int = 0
    kept: Mapping[int, int] = field(default_factory=dict)

    @property
    def beyond(self) -> str:
        """What rows beyond the bound are, in words."""
        if self.unit.max_rows is not None:
            return f"more than {self.unit.max_rows:,} of one unit"
        cells = many(self.unit.max_cells or 0, "cell", "cells")
        return f"more than {self.unit.max_per_cell:,} of one unit in a cell, or in more than {cells}"

    @property
    def above(self) -> str:
        """What units above the bound have, in words."""
        if self.unit.max_rows is not None:
            return f"more than {self.unit.max_rows:,} rows"
        return f"rows in more than {many(self.unit.max_cells or 0, 'cell', 'cells')}"

    @property
    def worth_naming(self) -> list[tuple[int, int]]:
        """The bounds and what they keep, up to the first that keeps as much as any."""
        most = max(self.kept.values(), default=0)
        return list(self.kept.items())[: 1 + sum(rows < most for rows in self.kept.values())]

    def __repr__(self) -> str:
        return f"UnitLook({self.unit!r}, rows=<private>)"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Report:
    """What a count of these rows would do. Private.

    A row that several rules drop counts once in `rows_dropped`. Where some column has a problem, it is not
    known which rows would be dropped: `rows_dropped` and `rows_counted` are None. `unreadable` are records
    of text files that were dropped before they were rows; no other number has them.
    """

    attributes: tuple[Look, ...]
    amount: Look | None
    unit: UnitLook | None
    unused: tuple[str, ...]
    by_row: bool  # whether one row is protected, whoever has it
    rows_read: int
    rows_dropped: int | None
    rows_counted: int | None
    reviewed: bool = True
    cells_total: int | None = 0  # None: not limited
    unreadable: Unread = field(default_factory=Unread)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems with columns."""
        looks: list[Look | UnitLook | None] = [*self.attributes, self.amount, self.unit]
        return tuple(look.problem for look in looks if look is not None and look.problem is not None)

    @property
    def broken(self) -> tuple[tuple[str, str], ...]:
        """The rules that would stop a count, each with its attribute."""
        return tuple((look.attribute.name, rule) for look in self.attributes for rule in look.broken)

    @property
    def fits(self) -> bool:
        """Whether a count would run."""
        return not self.problems and not self.broken

    @property
    def counts_nothing(self) -> bool:
        """Whether there are rows, or records that should be, and all of them are dropped."""
        return self.rows_counted == 0 < self.rows_read + self.unreadable.records

    @property
    def reasons(self) -> tuple[str, ...]:
        """All that would stop publishing, and what to mend."""
        broken = (
            f'attribute {name!r} has rows that its rule {rule} = "error" does not allow.'
            for name, rule in self.broken
        )
        return (*(f"{problem.fact}. {problem.hint}" for problem in self.problems), *broken)

    @property
    def verdict(self) -> tuple[str, ...]:
        """What publishing would do, in sentences."""
        return tuple(_verdict(self))

    def to_text(self) -> str:
        """Return the report as lines for the owner's eyes. Private."""
        return "\n".join(_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a document for JSON. Private."""
        return _document(self)

    def __repr__(self) -> str:
        return f"Report({len(self.attributes)} attributes, rows=<private>)"


def why_not_read(unread: Unread) -> str:
    """Return why records of text files could not be read, with numbers."""
    numbers = {reason: getattr(unread, reason) for reason in _NOT_READ}
    return "; ".join(f"{number:,} {_NOT_READ[reason]}" for reason, number in numbers.items() if number)


def _verdict(report: Report) -> Iterator[str]:
    for look in report.attributes:
        if look.problem is None and look.missing == report.rows_read > 0:
            yield f"No row has a value for attribute {look.attribute.name!r}: is its column's name right?"
        elif look.problem is None and not look.inside and report.rows_read:
            yield f"No row lies inside attribute {look.attribute.name!r}: is it declared as what it holds?"
    whose = [name for name in report.unused if IDENTIFIER.search(name)]
    if report.by_row and len(whose) == 1:
        unit = f"--unit {shlex.quote(printable(whose[0]))} --max-rows K"
        yield f"This protects one row. If people have several, protect each person: {unit}."
    if not report.fits:
        yield "Publishing would stop:"
    elif not report.reviewed:
        yield "The rows fit. Publishing refuses this domain until it is reviewed (reviewed = false)."
    elif report.counts_nothing:
        yield "Publishing would run, and publish noise alone: every row is dropped."
    elif report.rows_dropped or report.unreadable.records:
        yield "Publishing would run, without the rows that are dropped."
        for look in report.attributes:
            # The other kinds have no category to put such a row into.
            if isinstance(look.attribute.values, Categories):
                yield from (_kept_by_another(look.attribute.name, rule) for rule in look.dropping)
    else:
        yield "Publishing would run."


def _kept_by_another(name: str, rule: str) -> str:
    """Return how to keep rows that a rule drops, which no table counts."""
    kept = f'{rule} = {{ other = "unknown" }}'
    return f"Rows that {name!r} drops count in no table. A category keeps them: {kept}."


def _lines(report: Report) -> Iterator[str]:
    yield NOTICE
    for look in report.attributes:
        yield f"{look.attribute.name}: {_fates(look)}"
        yield from (f"  stray: {_cut(value)}, {rows:,} rows" for value, rows in look.stray)
    if report.amount is not None:
        yield f"(amounts): {_fates(report.amount)}"
    if report.unreadable.records:
        yield f"records not read: {report.unreadable.records:,}, {why_not_read(report.unreadable)}"
    yield f"rows read: {report.rows_read:,}"
    if report.rows_dropped is not None and report.rows_counted is not None:
        yield f"rows dropped: {report.rows_dropped:,}"
        yield f"rows counted: {report.rows_counted:,}"
        if (unit := report.unit) is not None:
            bound = f"{unit.above_bound:,} of them with {unit.above}"
            yield f"units in {unit.unit.column}: {unit.units:,}, {bound}"
            cells = " cells" * (unit.unit.max_cells is not None)
            yield from (f"  a bound of {most}{cells} keeps {rows:,} rows" for most, rows in unit.worth_naming)
    yield f"cells, occupied or not: {cells_in_words(report.cells_total)}"
    if report.unused:
        yield f"columns not used: {', '.join(map(printable, report.unused))}"
    yield from report.verdict
    yield from (f"- {reason}" for reason in report.reasons)


def _fates(look: Look) -> str:
    """Return what becomes of all rows at one attribute."""
    if look.problem is not None:
        return f"does not fit: {look.problem.fact}"
    missing, outside = rule_in_words(look.attribute.missing), rule_in_words(look.attribute.outside)
    fates = (
        (look.missing, "missing", missing),
        (look.unreadable, "unreadable", missing),
        (look.outside, "outside", outside),
    )
    said = [f"{rows:,} {what} ({rule})" for rows, what, rule in fates if rows]
    return ", ".join([f"{look.inside:,} inside", *said])


def _cut(value: str) -> str:
    """Return a stray value as it can be shown."""
    return shown(value if len(value) <= 60 else f"{value[:57]}...")


def _document(report: Report) -> dict[str, Any]:
    def looked(look: Look) -> dict[str, Any]:
        said: dict[str, Any] = {"column": look.attribute.column, "type": look.column_type or None}
        if look.problem is not None:
            return said | {"problem": f"{look.problem.fact}. {look.problem.hint}"}
        fates = ("inside", "missing", "unreadable", "below", "above")
        stray = [{"value": value, "rows": rows} for value, rows in look.stray]
        return said | {fate: getattr(look, fate) for fate in fates} | ({"stray": stray} if stray else {})

    document: dict[str, Any] = {
        "notice": NOTICE,
        "fits": report.fits,
        "reviewed": report.reviewed,
        "rows": {"read": report.rows_read, "dropped": report.rows_dropped, "counted": report.rows_counted},
        "records_not_read": asdict(report.unreadable),
        "cells": report.cells_total,
        "attributes": {look.attribute.name: looked(look) for look in report.attributes},
        "amount": None if report.amount is None else looked(report.amount),
        "unit": None,
        "broken_rules": [{"attribute": name, "rule": rule} for name, rule in report.broken],
        "columns_not_used": list(report.unused),
    }
    if report.unit is not None:
        document["unit"] = report.unit.unit.words
        if report.unit.problem is not None:
            document["unit"]["problem"] = f"{report.unit.problem.fact}. {report.unit.problem.hint}"
        elif not report.problems:
            numbers = ("missing", "units", "above_bound", "rows_beyond")
            document["unit"] |= {name: getattr(report.unit, name) for name in numbers}
            document["unit"]["rows_kept"] = {str(most): rows for most, rows in report.unit.kept.items()}
    return document
