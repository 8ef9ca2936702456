"""Pictures of a report: bars with intervals, or a line with a band over time, as SVG of our own.

Promise: every group is drawn with its own estimate and interval, as `release.by` gave them; of many groups
the largest are there, in their order, and one bar for all others together. Colours come from the report's
style, so that they fit paper and dark screens. Nothing is summed, and nothing is rounded but for drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Times
from hushtable.domain.wording import is_ordered
from hushtable.pages.encoding import decimals_of, distinct_labels
from hushtable.pages.views import View
from hushtable.plots.scales import LONGER
from hushtable.plots.words import cut, range_text

MOST_BARS, _MOST_POINTS, _FEW_TIMES = 20, 400, 14
_WIDTH, _LABELS, _NUMBERS, _ROW, _PLOT = 720, 190, 90, 22, 220  # units of the picture
_LONGEST = 30  # characters of a label
_BETWEEN = " \N{MIDDLE DOT} "


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Groups as they are drawn: numbers are an estimate, a low and a high end; texts how they are written."""

    labels: Sequence[str]
    numbers: NDArray[np.float64]
    texts: Sequence[Sequence[str]]
    unclear: NDArray[np.bool_]
    over_time: bool
    rest: tuple[float, float, float] | None = None  # of all groups that are not drawn, together
    rest_text: str = ""

    @property
    def rest_is_cut(self) -> bool:
        """Whether the bar of the rest would make the others too short, and so ends where they do."""
        if self.rest is None:
            return False
        return bool(np.abs(self.rest).max() > LONGER * np.abs(self.numbers).max())

    @property
    def has_rest(self) -> bool:
        """Whether the rest has a bar: its estimate lies in its interval, which has two ends."""
        return self.rest is not None and self.rest[1] <= self.rest[0] <= self.rest[2] < inf

    def to_svg(self, title: str, text: Callable[[str], str]) -> Iterator[str]:
        """Yield the picture; `text` makes markup of text."""
        height = _PLOT + 40 if self.over_time else _ROW * (len(self.labels) + self.has_rest) + 26
        yield f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{text(title)}">'
        yield from self._line(text) if self.over_time else self._bars(text)
        yield "</svg>"

    def _bars(self, text: Callable[[str], str]) -> Iterator[str]:
        scaled = self.numbers
        if self.rest is not None and self.has_rest and not self.rest_is_cut:
            scaled = np.column_stack([scaled, self.rest])
        at, ticks = _scale(scaled, _LABELS, _WIDTH - _NUMBERS)
        bottom = _ROW * (len(self.labels) + self.has_rest)
        for tick in ticks:
            yield f'<line class="grid" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="0" y2="{bottom}"/>'
            yield f'<text class="tick" x="{at(tick):.1f}" y="{bottom + 16}">{_number(tick)}</text>'
        kinds = ["unclear" if each else "bar" for each in self.unclear]
        bars = [
            *zip(kinds, self.labels, self.numbers.T.tolist(), (each[0] for each in self.texts), strict=True)
        ]
        if self.rest is not None and self.has_rest:
            bars.append(("rest", "all others together", list(self.rest), self.rest_text.split(" ")[0]))
        for row, (kind, label, numbers, number) in enumerate(bars):
            value, low, high = map(at, numbers)
            zero, top, middle = at(0.0), row * _ROW, row * _ROW + _ROW / 2
            left, wide = min(zero, value), abs(value - zero)
            yield f'<text class="label" x="{_LABELS - 8}" y="{middle + 4}">{text(label)}</text>'
            sides = f'x="{left:.1f}" y="{top + 4}" width="{wide:.1f}" height="{_ROW - 8}"'
            yield f'<rect class="{kind}" {sides}/>'
            yield f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
            yield f'<text class="number" x="{_WIDTH}" y="{middle + 4}">{text(number)}</text>'
        yield f'<line class="zero" x1="{at(0.0):.1f}" x2="{at(0.0):.1f}" y1="0" y2="{bottom}"/>'

    def _line(self, text: Callable[[str], str]) -> Iterator[str]:
        up, ticks = _scale(self.numbers, _PLOT, 8)
        many = max(len(self.labels) - 1, 1)
        places = [70 + (_WIDTH - 90) * place / many for place in range(len(self.labels))]
        for tick in ticks:
            yield f'<line class="grid" x1="70" x2="{_WIDTH - 20}" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>'
            yield f'<text class="number" x="62" y="{up(tick) + 4:.1f}">{_number(tick)}</text>'
        value, low, high = ([up(each) for each in row] for row in self.numbers.tolist())
        band = [f"{x:.1f},{y:.1f}" for x, y in zip(places, high, strict=True)]
        band += [f"{x:.1f},{y:.1f}" for x, y in zip(places[::-1], low[::-1], strict=True)]
        yield f'<polygon class="band" points="{" ".join(band)}"/>'
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, value, strict=True))
        yield f'<polyline class="curve" points="{points}"/>'
        yield f'<line class="zero" x1="70" x2="{_WIDTH - 20}" y1="{up(0.0):.1f}" y2="{up(0.0):.1f}"/>'
        for place in sorted({0, len(places) // 2, len(places) - 1}):
            side = "start" if place == 0 else "end" if place == len(places) - 1 else "middle"
            where = f'x="{places[place]:.1f}" y="{_PLOT + 28}"'
            yield f'<text class="tick {side}" {where}>{text(self.labels[place])}</text>'


def bars_or_line(view: View) -> Drawn:
    """Return a view as it is drawn."""
    kind = view.items[0].attribute.values
    timed = len(view.items) == 1 and isinstance(kind, Times) and view.complete
    over_time = timed and _FEW_TIMES < len(view.codes[0]) <= _MOST_POINTS
    shown = view if over_time else view.largest(MOST_BARS)
    numbers = shown.numbers
    order = np.arange(numbers.shape[1])
    if not is_ordered(kind) or len(view.items) > 1 or len(shown.codes[0]) < view.groups:
        order = np.argsort(-numbers[0], kind="stable")
    labels = [
        distinct_labels(each.attribute, codes[order])
        for each, codes in zip(shown.items, shown.codes, strict=True)
    ]
    decimals = decimals_of(view.numbers)
    numbers = numbers[:, order]
    return Drawn(
        labels=cut([_BETWEEN.join(each) for each in zip(*labels, strict=True)], _LONGEST),
        numbers=numbers,
        texts=[[_written(each, decimals) for each in column] for column in numbers.T.tolist()],
        unclear=shown.unclear[order],
        over_time=over_time,
        rest=shown.others,
        rest_text="" if shown.others is None else range_text(*shown.others),
    )


def _scale(
    numbers: NDArray[np.float64], start: float, stop: float
) -> tuple[Callable[[float], float], list[float]]:
    """Return where a number stands between two places, and round numbers along the way; 0 is among them."""
    finite = numbers[np.isfinite(numbers)]
    low, high = min(0.0, float(finite.min(initial=0))), max(0.0, float(finite.max(initial=0)))
    span = high - low or 1.0
    step = 10.0 ** floor(log10(span))
    step = next(step * part for part in (0.1, 0.2, 0.25, 0.5, 1, 2) if span / (step * part) <= 6)
    ticks = [step * place for place in range(ceil(low / step - 1e-9), floor(high / step) + 1)]

    def at(value: float) -> float:
        inside = min(max(value, low), high) if isfinite(value) else (high if value > 0 else low)
        return start + (stop - start) * (inside - low) / span

    return at, ticks or [0.0]


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}").replace("inf", "no limit")


def _number(value: float) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")
