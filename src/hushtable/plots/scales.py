"""What stands along the axes of a picture: groups of an attribute, and amounts with their intervals.

Promise: a group keeps the place and the width that the domain gives it, or is listed by its label. Amounts
are shown in a unit in which they are short, and the axis names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from math import floor, inf, log10
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.columns import as_numbers
from hushtable.domain.kinds import FINEST, plain
from hushtable.domain.measure import Measure
from hushtable.errors import BadQuery, InternalError
from hushtable.plots.text import one_line

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {6: "millions", 9: "billions", 12: "trillions"}
_PLAIN = 10**4  # below it, groups have no separators: 1990 may be a year


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """The values of one attribute that a picture shows, in order.

    `spans` has the lower and upper edge of each on a line of numbers (days, for times), or is None where
    they are a list: categories, bins of unequal width, and values that are not in ascending order.
    """

    kind: Kind
    name: str
    labels: list[str]
    spans: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def timed(self) -> bool:
        """Whether they lie on a line of times."""
        return isinstance(self.kind, Times) and self.spans is not None

    @property
    def gaps(self) -> NDArray[np.intp]:
        """The places that are followed by a gap."""
        if self.spans is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self.spans[1:, 0] != self.spans[:-1, 1])

    def listed(self) -> Groups:
        """Return the same as a list."""
        return Groups(kind=self.kind, name=self.name, labels=self.labels, spans=None)


def codes_of(attribute: Attribute, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the codes of a column of values."""
    encoded = column.combine_chunks().dictionary_encode()
    codes = [attribute.values.code_of(value) for value in encoded.dictionary.to_pylist()]
    if not all(isinstance(code, int) for code in codes):
        raise InternalError(f"a group of {attribute.name!r} is no value of its domain")
    found: NDArray[np.int64] = np.array(codes, dtype=np.int64)[as_numbers(encoded.indices)]
    return found


def groups_of(attribute: Attribute, codes: NDArray[np.int64]) -> Groups:
    """Return the groups with these codes, in this order."""
    values = attribute.values
    ascending = bool((codes[1:] > codes[:-1]).all())
    name = one_line(attribute.name)
    listed = [int(code) for code in codes]
    labels = labels_of(values, listed)
    if isinstance(values, Times):
        name += f" (steps of {values.step_text}, {values.timezone}), {labels[0]} to {labels[-1]}"
    return Groups(
        kind=values,
        name=name,
        labels=labels,
        spans=_spans(values, listed) if ascending else None,
    )


def labels_of(values: Kind, codes: Sequence[int]) -> list[str]:
    """Return what people read for these codes."""
    match values:
        case Integers(low=low):
            return [number_text(low + code, plain_below=inf) for code in codes]
        case Categories(values=texts, labels=labels):
            return [one_line((labels or texts)[code]) or "(empty)" for code in codes]
        case Bins(start=start, step=step):
            return [_bin_text(start + code * step, start + (code + 1) * step) for code in codes]
        case Edges(edges=edges):
            return [_bin_text(edges[code], edges[code + 1]) for code in codes]
        case Times():
            cut = 10 if values.whole_days else 19 if values.every % 60 or values.start.second else 16
            return [_start(values, code).isoformat(sep=" ")[:cut] for code in codes]


def _spans(values: Kind, codes: Sequence[int]) -> NDArray[np.float64] | None:
    """Return the lower and upper edges, where there is a line that they lie on."""
    match values:
        case Integers(low=low, high=high) if max(abs(low), abs(high)) < FINEST:
            middles = np.array([low + code for code in codes], dtype=np.float64)
            return np.stack([middles - 0.5, middles + 0.5], axis=1)
        case Bins():
            first, width, shared = values.grid
            lows = [(first + code * width) / shared for code in codes]
            highs = [(first + (code + 1) * width) / shared for code in codes]
            return np.stack([lows, highs], axis=1)
        case Times():
            from matplotlib.dates import date2num

            edges = [(_start(values, code), _start(values, code + 1)) for code in codes]
            days: NDArray[np.float64] = date2num(edges)  # type: ignore[no-untyped-call]
            return days
    return None


def _start(values: Times, code: int) -> datetime:
    """Return the start of an interval; that of the one behind the last is the end of all."""
    if values.unit == "second":
        return values.start + timedelta(seconds=code * values.every)
    years, month = divmod(values.start.month - 1 + code * values.every, 12)
    return datetime(values.start.year + years, month + 1, 1)


def _bin_text(low: Fraction, high: Fraction) -> str:
    """Return a half-open bin in words."""
    return f"{_edge_text(low)} to <{_edge_text(high)}"


def _edge_text(edge: Fraction) -> str:
    whole = edge.denominator == 1
    return number_text(int(edge)) if whole else plain(edge).replace("-", "\N{MINUS SIGN}")


def number_text(value: float, *, plain_below: float = _PLAIN) -> str:
    """Return a number for an axis; below that size without separators.

    >>> number_text(1990), number_text(1990, plain_below=0), number_text(0.30000000000000004)
    ('1990', '1,990', '0.3')
    """
    separator = "," if abs(value) >= plain_below else ""
    text = f"{value:{separator}}" if isinstance(value, int) else f"{value:{separator}.10g}"
    return "0" if text == "-0" else text.replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Amounts:
    """Estimates with their intervals, in the unit that `name` names; `signed`: the truth may lie below 0."""

    name: str
    signed: bool
    estimate: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def at(self, places: slice) -> Amounts:
        """Return some of them."""
        return self.but(estimate=self.estimate[places], low=self.low[places], high=self.high[places])

    def but(
        self, *, estimate: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> Amounts:
        """Return other amounts of the same unit."""
        return replace(self, estimate=estimate, low=low, high=high)

    @property
    def limits(self) -> tuple[float, float]:
        """Where an axis starts and ends that shows 0 and all intervals with a little room."""
        low = float(np.nanmin([self.low, self.estimate], initial=0))
        high = float(np.nanmax([self.high, self.estimate], initial=0))
        if low == high:
            return 0.0, 1.0
        room = (high - low) * 0.03
        return low - room * (low < 0), high + room * (high > 0)


def amounts_of(measure: Measure, groups: pa.Table) -> Amounts:
    """Return what an answer says, in a unit that keeps numbers short."""
    raw = [
        as_numbers(groups.column(name).combine_chunks()).astype(np.float64)
        for name in ("estimate", "low", "high")
    ]
    if any(np.isinf(each).any() for each in raw):
        fact = "an estimate or the end of an interval is infinite, which is too large to draw"
        raise BadQuery(fact, "Leave that group out by `where`, or print the numbers in place of a picture.")
    name = f"{measured_in_words(measure)} (estimated)"
    largest = max(float(np.max(np.abs(each), initial=0)) for each in raw)
    power = 3 * floor(log10(largest / 2) / 3) if largest >= 10**7 else 0
    if power:
        name += f", in {_UNITS.get(power, f'units of 10^{power}')}"
    estimate, low, high = (each / 10**power for each in raw)
    signed = measure.clamp is not None and measure.clamp[0] < 0
    return Amounts(name=name, signed=signed, estimate=estimate, low=low, high=high)


def measured_in_words(measure: Measure) -> str:
    """Return what a cell counts."""
    if measure.sum_column is not None:
        return f"sum of {one_line(measure.sum_column)}"
    return "number of people" if measure.count_column is not None else "number of rows"
