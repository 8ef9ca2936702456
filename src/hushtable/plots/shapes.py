"""The pictures of one attribute, and of one over time: bars, columns, steps and lines, with their intervals.

Promise: every group is drawn, each with its interval, and 0 is always in sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.plots.page import INK, LABELS, Panel, Row
from hushtable.plots.scales import Amounts, Groups
from hushtable.plots.ticks import Side, axis_of, fit_amounts, fit_groups, fit_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Paul Tol's "bright" and Okabe and Ito's colours: told apart by people with any kind of colour vision.
FILL = "#77aadd"
LINE = "#33689f"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#9b8a00")
MOST_LISTED = 40
MOST_BARS = 400
_PANEL_ROWS = 50
_PANEL_WIDTH = 2.9
_PAGE = 8.0
_FEW_POINTS = 40


def draw_bars(figure: Figure, groups: Groups, amounts: Amounts) -> Row:
    """Draw a bar for each group, the first on top; many of them in columns beside each other."""
    total = len(groups)
    columns = 1 if total <= MOST_LISTED else min(max(ceil(total / _PANEL_ROWS), 2), 5)
    rows = ceil(total / columns)
    pitch = 0.3 if total <= 12 else 0.22 if columns == 1 else 0.15 if rows <= _PANEL_ROWS else 0.135
    longest = 2.8 if columns == 1 else 1.6 if columns == 2 else 1.25
    panels = []
    for first in range(0, total, rows):
        part = slice(first, first + rows)
        axes = figure.add_subplot()
        _bars(axes, groups.labels[part], amounts.at(part), longest=longest)
        axes.set_ylim(rows - 0.4, -0.6)
        _show_amounts(axes, "x", amounts)

        def fit(
            width: float, height: float, axes: Axes = axes, name: str = groups.name * (not first)
        ) -> None:
            fit_name(axes, "y", name, height)
            fit_amounts(axes, "x", amounts.name, width)

        panels.append(Panel(axes=axes, fit=fit))
    return Row(
        panels=panels, height=max(rows, 2) * pitch, page_width=max(_PAGE, 0.5 + columns * _PANEL_WIDTH)
    )


def _bars(axes: Axes, labels: Sequence[str], amounts: Amounts, *, longest: float) -> None:
    places = np.arange(len(labels))
    axes.barh(places, amounts.estimate, height=0.72, color=FILL)
    axes.hlines(places, amounts.low, amounts.high, color=INK, linewidth=0.9)
    axes.set_yticks(places, labels=LABELS.cut(labels, longest), parse_math=False)
    axes.tick_params("y", length=0)
    axes.spines["left"].set_visible(False)


def draw_columns(figure: Figure, groups: Groups, amounts: Amounts) -> Row:
    """Draw a column for each group, as wide as the group is on its line of numbers."""
    spans = _line(groups)
    axes = figure.add_subplot()
    widths = spans[:, 1] - spans[:, 0]
    many = len(groups) > 100
    axes.bar(
        spans[:, 0], amounts.estimate, width=widths, align="edge",
        color=FILL, edgecolor="white", linewidth=0.0 if many else 0.6,
    )  # fmt: skip
    axes.vlines(spans.mean(axis=1), amounts.low, amounts.high, color=INK, linewidth=0.5 if many else 0.9)
    axes.set_xlim(spans[0, 0], spans[-1, 1])
    return _upright(axes, groups, amounts)


def draw_steps(figure: Figure, groups: Groups, amounts: Amounts) -> Row:
    """Draw a line of steps with a band, for more groups than columns can be told apart."""
    places = np.arange(len(groups), dtype=np.float64)
    spans = np.stack([places - 0.5, places + 0.5], axis=1) if groups.spans is None else groups.spans
    axes = figure.add_subplot()
    gaps = 2 * groups.gaps + 2
    edges, estimate, low, high = (
        np.insert(each, gaps, np.nan)
        for each in (
            spans.ravel(), amounts.estimate.repeat(2), amounts.low.repeat(2), amounts.high.repeat(2)
        )
    )  # fmt: skip
    axes.fill_between(edges, low, high, color=FILL, alpha=0.5, linewidth=0)
    axes.plot(edges, estimate, color=LINE, linewidth=0.6, solid_joinstyle="miter")
    axes.set_xlim(spans[0, 0], spans[-1, 1])
    return _upright(axes, groups, amounts)


def draw_lines(
    figure: Figure, groups: Groups, series: Sequence[tuple[str, Amounts]], *, name: str | None = None
) -> Row:
    """Draw a line with a band for each series over time; `name` is what tells the series apart."""
    from matplotlib.dates import date2num

    axes = figure.add_subplot()
    spans = _line(groups)
    several = name is not None
    lines = [
        _line_with_band(axes, groups, amounts, colour=colour, several=several)
        for colour, (_, amounts) in zip(COLOURS if several else (LINE,), series, strict=False)
    ]
    room = 0.02 * (spans[-1, 1] - spans[0, 0])
    # The calendar of Python and matplotlib has no times outside these.
    first, last = date2num([datetime.min, datetime(9999, 12, 31, 23, 59, 59)])  # type: ignore[no-untyped-call]
    axes.set_xlim(max(spans[0, 0] - room, first), min(spans[-1, 1] + room, last))
    everything = series[0][1].but(
        estimate=np.concatenate([each.estimate for _, each in series]),
        low=np.concatenate([each.low for _, each in series]),
        high=np.concatenate([each.high for _, each in series]),
    )
    if name is not None:
        _add_legend(axes, name, lines, [label for label, _ in series])
    return _upright(axes, groups, everything)


def _line_with_band(axes: Axes, groups: Groups, amounts: Amounts, *, colour: str, several: bool) -> Line2D:
    """Draw one line, which breaks where groups are missing; a group between two gaps is a point."""
    starts = _line(groups)[:, 0]
    there = np.isfinite(amounts.estimate)
    broken = np.zeros(len(groups) + 1, dtype=bool)  # whether the line breaks before each group
    broken[groups.gaps + 1] = True
    broken[0] = broken[-1] = True
    alone = there & (broken[:-1] | ~np.roll(there, 1)) & (broken[1:] | ~np.roll(there, -1))
    marked = there if len(groups) <= _FEW_POINTS else alone
    gaps = groups.gaps + 1
    x, estimate, low, high = (
        np.insert(each, gaps, np.nan) for each in (starts, amounts.estimate, amounts.low, amounts.high)
    )
    axes.fill_between(x, low, high, color=colour, alpha=0.15 if several else 0.3, linewidth=0)
    (line,) = axes.plot(x, estimate, color=colour, linewidth=1.2)
    axes.plot(starts[marked], amounts.estimate[marked], "o", color=colour, markersize=3.5)
    axes.vlines(starts[alone], amounts.low[alone], amounts.high[alone], color=colour, linewidth=0.9)
    return line


def _add_legend(axes: Axes, name: str, lines: Sequence[Line2D], labels: Sequence[str]) -> None:
    """Name the series above the axes."""
    cut = LABELS.cut(labels, 2.8)
    columns = max(1, min(4, len(cut), int(7.0 / (LABELS.widest(cut) + 0.5))))
    legend = axes.legend(
        lines, ["?"] * len(cut), title=name, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1.01),
        alignment="left", borderaxespad=0, borderpad=0.2, handlelength=1.6, columnspacing=1.5,
    )  # fmt: skip
    # Set here and not above, because matplotlib leaves out labels that start with an underscore.
    for text, label in zip(legend.get_texts(), cut, strict=True):
        text.set_text(label)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def _upright(axes: Axes, groups: Groups, amounts: Amounts) -> Row:
    """Set axes with groups from left to right and amounts upwards."""
    _show_amounts(axes, "y", amounts)

    def fit(width: float, height: float) -> None:
        fit_groups(axes, "x", groups, width)
        fit_amounts(axes, "y", amounts.name, height)

    return Row(panels=[Panel(axes=axes, fit=fit)], height=3.6)


def _show_amounts(axes: Axes, side: Side, amounts: Amounts) -> None:
    """Give amounts their axis, with a light grid and a line at 0."""
    axis = axis_of(axes, side)
    axes.grid(visible=True, axis=side)
    if side == "x":
        axes.set_xlim(*amounts.limits)
        axes.axvline(0, color=INK, linewidth=0.8)
    else:
        axes.set_ylim(*amounts.limits)
        axes.axhline(0, color=INK, linewidth=0.8)
    axis.set_tick_params(length=0)


def _line(groups: Groups) -> NDArray[np.float64]:
    """Return the edges of groups that lie on a line."""
    if groups.spans is None:
        raise AssertionError("these groups are a list")
    return groups.spans
