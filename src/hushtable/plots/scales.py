"""What stands along the axes of a picture: groups of an attribute, and amounts with their intervals.

Promise: a group keeps the place and the width that the domain gives it, or is listed by its label. Amounts
are in a unit in which they are short, and the axis names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf, log10
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import AnyText, Attribute, Bins, Categories, Edges, Integers, Kind, Times
from hushtable.domain.columns import as_numbers
from hushtable.domain.kinds import FINEST, plain
from hushtable.errors import BadQuery
from hushtable.plots.words import measured, one_line
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {6: "millions", 9: "billions", 12: "trillions"}
LONGER = 1.5  # times the largest group: from there on the bar of the others is cut
_PLAIN = 10**4  # below it, groups have no separators: 1990 may be a year


class Ranged(Protocol):
    """A number with its interval."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end of its interval."""

    @property
    def high(self) -> float:
        """The upper end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Along:
    """The groups of one attribute along an axis, in order.

    `spans` has the lower and upper edge of each on a line of numbers (days, for times), or is None where
    they are a list: categories, bins of unequal width, and values that are not in ascending order.
    """

    kind: Kind
    name: str
    labels: list[str]
    hidden: int = 0  # groups of a list that are not among these
    spans: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def timed(self) -> bool:
        """Whether they lie on a line of times."""
        return isinstance(self.kind, Times) and self.spans is not None

    @property
    def whole(self) -> bool:
        """Whether they lie on a line of numbers, each of them a whole one."""
        return isinstance(self.kind, Integers) and self.spans is not None

    @property
    def line(self) -> NDArray[np.float64]:
        """The edges of each: on their line, or around 0, 1, ... in a list."""
        return np.arange(len(self))[:, None] + [-0.5, 0.5] if self.spans is None else self.spans

    @property
    def gaps(self) -> NDArray[np.intp]:
        """The places that follow a gap."""
        return np.flatnonzero(self.line[1:, 0] != self.line[:-1, 1]) + 1


def along(attribute: Attribute, codes: NDArray[np.int64]) -> Along:
    """Return the groups with these codes, which ascend."""
    kind, name = attribute.values, one_line(attribute.name)
    labels = labels_of(attribute, codes)
    if isinstance(kind, Times):
        name += f" (steps of {kind.step_text}, {kind.timezone}), {labels[0]} to {labels[-1]}"
    return Along(kind=kind, name=name, labels=labels, spans=_spans(kind, codes))


def codes_of(attribute: Attribute, column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the codes of a column of values."""
    encoded = column.combine_chunks().dictionary_encode()
    codes: Any = [attribute.values.code_of(value) for value in encoded.dictionary.to_pylist()]
    return np.array(codes, dtype=np.int64).take(as_numbers(encoded.indices))


def labels_of(attribute: Attribute, codes: NDArray[np.int64]) -> list[str]:
    """Return what people read for these codes; bins at the ends say if they hold all beyond them."""
    kind = attribute.values
    match kind:
        case Integers(low=low):
            return [number_text(low + code, plain_below=inf) for code in codes.tolist()]
        case Categories(values=texts, labels=labels):
            return [one_line((labels or texts)[code]) or "(empty)" for code in codes]
        case AnyText():
            return [one_line(text) or "(empty)" for text in kind.decode(codes).to_pylist()]
        case Bins(start=start, step=step):
            bins = [(start + code * step, start + (code + 1) * step) for code in codes.tolist()]
            return _bin_texts(attribute, codes, bins)
        case Edges(edges=edges):
            return _bin_texts(attribute, codes, [(edges[code], edges[code + 1]) for code in codes.tolist()])
        case Times():
            unit: Any = "D" if kind.whole_days else "s" if kind.every % 60 or kind.start.second else "m"
            return [text.replace("T", " ") for text in np.datetime_as_string(_starts(kind, codes), unit=unit)]


def _spans(kind: Kind, codes: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the lower and upper edges, where there is a line that they lie on."""
    edges = np.stack([codes, codes + 1], axis=1)
    match kind:
        case Integers(low=low, high=high) if max(abs(low), abs(high)) < FINEST:
            return edges + (low - 0.5)
        case Bins(grid=(first, width, shared)):
            return (first + edges * width) / shared
        case Times():
            from matplotlib.dates import date2num

            return np.asarray(date2num(_starts(kind, edges)), dtype=np.float64)  # type: ignore[no-untyped-call]
    return None


def _starts(times: Times, codes: NDArray[np.int64]) -> NDArray[np.datetime64]:
    """Return when intervals start; the one behind the last starts at the end of all."""
    starts = np.array(times.decode(codes.ravel()).to_pylist(), dtype="datetime64[us]")
    return starts.reshape(codes.shape)


def _bin_texts(
    attribute: Attribute, codes: NDArray[np.int64], bins: Sequence[tuple[Fraction, Fraction]]
) -> list[str]:
    """Return half-open bins in words."""
    last = attribute.values.size - 1
    clamped = attribute.outside == "clamp" and last > 0
    said = []
    for code, (low, high) in zip(codes.tolist(), bins, strict=True):
        if clamped and code == 0:
            said.append(f"below {_edge_text(high)}")
        elif clamped and code == last:
            said.append(f"{_edge_text(low)} and more")
        else:
            said.append(f"{_edge_text(low)} to <{_edge_text(high)}")
    return said


def _edge_text(edge: Fraction) -> str:
    """Return an edge of a bin as text."""
    text = number_text(int(edge)) if edge.denominator == 1 else plain(edge)
    return text.replace("-", "\N{MINUS SIGN}")


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
    """Estimates, lower and upper ends of their intervals, in the unit that `name` names.

    `signed`: the truth may lie below 0. A grid of two attributes has NaN where there is no group. `rest` are
    the three numbers of all groups that are not among these, together, where they are known.
    """

    name: str
    signed: bool
    numbers: NDArray[np.float64]
    unit: float = 1.0
    rest: NDArray[np.float64] | None = None

    @property
    def has_rest(self) -> bool:
        """Whether the rest can be drawn: its estimate lies in its interval, which has two ends."""
        if self.rest is None or not np.isfinite(self.rest).all():
            return False
        value, low, high = self.rest.tolist()
        return bool(low <= value <= high)

    @property
    def rest_is_cut(self) -> bool:
        """Whether the rest is so much larger than the groups that its bar would make theirs too short."""
        if self.rest is None or not self.has_rest:
            return False
        return bool(np.abs(self.rest).max() > LONGER * np.abs(self.numbers).max())

    @property
    def rest_words(self) -> str:
        """What the caption calls the rest; nothing where it is not known."""
        if self.rest is None:
            return ""
        if not self.has_rest:
            return "last line"
        return f"white bar{', which is cut off,' * self.rest_is_cut}"

    def at(self, places: NDArray[np.intp]) -> Amounts:
        """Return some of them."""
        return replace(self, numbers=self.numbers[:, places])

    def with_rest(self, rest: Ranged | None) -> Amounts:
        """Return them beside what all other groups have together."""
        if rest is None:
            return self
        return replace(self, rest=np.array([rest.value, rest.low, rest.high]) / self.unit)

    def grid(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Amounts:
        """Return them as a grid, each in its row and column."""
        numbers = np.full((3, rows.max() + 1, columns.max() + 1), np.nan)
        numbers[:, rows, columns] = self.numbers
        return replace(self, numbers=numbers)


def amounts_of(terms: Terms, groups: pa.Table) -> Amounts:
    """Return what an answer says, in a unit that keeps numbers short."""
    estimate, _, low, high = groups.columns[-4:]  # their names differ where attributes have them
    columns = [as_numbers(each.combine_chunks()) for each in (estimate, low, high)]
    numbers = np.array(columns, dtype=np.float64)
    if np.isinf(numbers).any():
        fact = "an estimate or the end of an interval is infinite, which is too large to draw"
        raise BadQuery(fact, "Leave that group out by `where`, or print the numbers in place of a picture.")
    largest = float(np.abs(numbers).max())
    power = 3 * floor(log10(largest / 2) / 3) if largest >= 10**7 else 0
    unit = f", in {_UNITS.get(power, f'units of 10^{power}')}" if power else ""
    clamp = terms.measure.clamp
    signed = clamp is not None and clamp[0] < 0
    name, scale = f"{measured(terms)} (estimated){unit}", 10.0**power
    return Amounts(name=name, signed=signed, numbers=numbers / scale, unit=scale)
