"""The pictures of one attribute, and of a few groups over time: bars, columns, steps and lines.

Promise: every group that is given is drawn with its interval, and 0 is always in sight.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.plots.page import ABOVE, GREY, INK
from hushtable.plots.scales import Along, Amounts
from hushtable.plots.ticks import label_amounts, label_groups
from hushtable.plots.words import cut, range_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# Paul Tol's "bright" and Okabe and Ito's colours: told apart by people with any kind of colour vision.
_FILL, _LINE = "#77aadd", "#33689f"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#555555", "#9b8a00")
_MOST_COLUMNS = 120
_HEIGHT = 3.6
_FEW_BARS, _FEW_POINTS = 24, 40
_LONGEST = 36  # characters in a line of a label


def draw_bars(axes: Axes, groups: Along, amounts: Amounts) -> float:
    """Draw a bar for each group, the first on top; return the height that takes."""
    many = len(groups)
    labels = cut(groups.labels, 2 * _LONGEST - 8 if many <= _FEW_BARS else _LONGEST)
    labels = [textwrap.fill(label, _LONGEST) for label in labels]
    lines = 1 + max(label.count("\n") for label in labels)
    pitch = max(0.3 if many <= _FEW_BARS / 2 else 0.22 if many <= _FEW_BARS else 0.16, 0.15 * lines)
    places = np.arange(many)
    estimate, low, high = amounts.numbers
    end = many - 0.4
    if groups.hidden:
        end = _draw_rest(axes, groups.hidden, many, amounts)
    axes.barh(places, estimate, height=0.72, color=_FILL)
    axes.hlines(places, low, high, color=INK, linewidth=0.9)
    axes.set_yticks(places, labels=labels)
    axes.set_ylim(end, -0.6)
    axes.set_ylabel(groups.name)
    axes.tick_params("y", length=0)
    axes.spines["left"].set_visible(False)
    label_amounts(axes.xaxis, amounts)
    return max(end + 0.4, 2) * pitch


def _draw_rest(axes: Axes, hidden: int, place: int, amounts: Amounts) -> float:
    """Draw what all other groups have together, with its number in words; return where the axes may end.

    A bar that is much longer than all others ends where they do: its number stands below it.
    """
    more = f"{hidden:,} more {'group is' if hidden == 1 else 'groups are'} not shown"
    if amounts.rest is not None:
        more = f"all others together: {range_text(*(amounts.rest * amounts.unit).tolist())}"
    if amounts.has_rest and amounts.rest is not None:
        value, low, high = amounts.rest.tolist()
        if amounts.rest_is_cut:
            reach = 1.03 * float(np.abs(amounts.numbers).max())
            ends = (-reach if low < 0 else 0.0, reach if high > 0 else 0.0)
            axes.set_xlim(*ends)
            value, low, high = np.clip([value, low, high], *np.multiply(ends, 1.1)).tolist()
        axes.barh(place, value, height=0.72, color="white", edgecolor=_LINE, linewidth=0.8, linestyle="--")
        axes.hlines(place, low, high, color=INK, linewidth=0.9)
        place += 1
    axes.text(0.01, place, more, transform=axes.get_yaxis_transform(), va="center", color=GREY)
    return place + 0.6


def draw_columns(axes: Axes, groups: Along, amounts: Amounts) -> float:
    """Draw columns as wide as the groups are on their line of numbers; very many as steps with a band."""
    spans = groups.line
    estimate, low, high = amounts.numbers
    if len(groups) <= _MOST_COLUMNS:
        widths = spans[:, 1] - spans[:, 0]
        axes.bar(spans[:, 0], estimate, width=widths, align="edge", color=_FILL, edgecolor="white")
        axes.vlines(spans.mean(axis=1), low, high, color=INK, linewidth=0.9)
    else:
        numbers = [spans.ravel(), *amounts.numbers.repeat(2, axis=1)]
        x, estimate, low, high = (np.insert(each, 2 * groups.gaps, np.nan) for each in numbers)
        axes.fill_between(x, low, high, color=_FILL, alpha=0.5, linewidth=0)
        axes.plot(x, estimate, color=_LINE, linewidth=0.6 if len(groups) > 400 else 1)
    return _upright(axes, groups, amounts)


def draw_line(axes: Axes, times: Along, amounts: Amounts) -> float:
    """Draw a line with a band over time."""
    _line_with_band(axes, times, amounts.numbers, colour=_LINE, alpha=0.3)
    return _upright(axes, times, amounts)


def draw_lines(axes: Axes, series: Along, times: Along, amounts: Amounts) -> float:
    """Draw such a line for each row of a grid, and name them above, in as many columns as fit."""
    rows = zip(COLOURS, amounts.numbers.swapaxes(0, 1), strict=False)
    lines = [_line_with_band(axes, times, row, colour=colour, alpha=0.15) for colour, row in rows]
    for columns in (4, 2, 1):
        legend = axes.legend(lines, ["?"] * len(lines), title=series.name, ncols=columns, **ABOVE)
        # Set here and not above, because matplotlib leaves out labels that start with an underscore.
        for text, label in zip(legend.get_texts(), cut(series.labels, _LONGEST), strict=True):
            text.set_text(label)
        if legend.get_window_extent().width < axes.get_window_extent().width:
            break
    return _upright(axes, times, amounts)


def _line_with_band(
    axes: Axes, times: Along, row: NDArray[np.float64], *, colour: str, alpha: float
) -> Line2D:
    """Draw one line, which breaks where groups are missing; a group between two gaps is a point."""
    starts = times.line[:, 0]
    x, estimate, low, high = (np.insert(each, times.gaps, np.nan) for each in (starts, *row))
    missing = np.isnan(np.pad(estimate, 1, constant_values=np.nan))
    alone = ~missing[1:-1] & missing[:-2] & missing[2:]
    axes.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0)
    (line,) = axes.plot(x, estimate, color=colour, linewidth=1.2)
    marked = alone if len(times) > _FEW_POINTS else ~missing[1:-1]
    axes.plot(x[marked], estimate[marked], "o", color=colour, markersize=3.5)
    axes.vlines(x[alone], low[alone], high[alone], color=colour, linewidth=0.9)
    return line


def _upright(axes: Axes, groups: Along, amounts: Amounts) -> float:
    """Set axes with groups from left to right and amounts upwards; return their height."""
    axes.set_xlim(groups.line[0, 0], groups.line[-1, 1])
    label_groups(axes.xaxis, groups, length=7.0, longest=_LONGEST)
    label_amounts(axes.yaxis, amounts)
    return _HEIGHT
