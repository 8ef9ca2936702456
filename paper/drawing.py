"""One look for all figures.

Promise: a method has the same colour and marker wherever it is drawn; colours are those of Okabe and Ito,
which all eyes tell apart, and markers and lines tell them apart in print. Error bars are two standard errors.
The same numbers give the same files: no dates, and ids that depend on nothing but the drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from paper.measuring import SURE, Measured

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _RED, _PINK, _GREY, _BROWN = "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F", "#8C5A2B"
_WINE, _PURPLE, _INDIGO = "#882255", "#AA4499", "#332288"

_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "hushtable",
    "figure.constrained_layout.use": True,
}


@dataclass(frozen=True, slots=True)
class Look:
    """How a method is drawn."""

    colour: str
    marker: str
    line: str = "-"


LOOKS: dict[str, Look] = {
    "geometric": Look(_BLACK, "s"),
    "geometric, NumPy": Look(_GREY, "s", "--"),
    "geometric, dyadic": Look(_BLACK, "s", "--"),
    "filter": Look(_BLUE, "o"),
    "filter, one-sided": Look(_SKY, "v"),
    "filter of the same size": Look(_SKY, "o"),
    "filter, consistent": Look(_BLUE, "o", "--"),
    "filter, with noisy total": Look(_BLUE, "o", ":"),
    "priority": Look(_ORANGE, "^"),
    "threshold": Look(_BROWN, "x"),
    "filter-threshold": Look(_BROWN, "+", "--"),
    "filter-priority": Look(_GREEN, "D"),
    "filter-priority, density 0.1": Look(_GREEN, "D"),
    "filter-priority, density 0.03": Look(_GREEN, "o", "--"),
    "filter-priority, density 0.01": Look(_GREEN, "v", ":"),
    "filter, checked": Look(_BLUE, "o", "-."),
    "filter-priority, checked": Look(_GREEN, "D", "-."),
    "filter-priority, twice the size": Look(_GREEN, "D", "-."),
    "filter-priority, with noisy total": Look(_GREEN, "D", ":"),
    "uniform sample": Look(_GREY, "x", ":"),
    "Haar, everything": Look(_RED, "P", "--"),
    "Haar, filter": Look(_RED, "P"),
    "pruned tree": Look(_PINK, "p"),
    "resampling": Look(_WINE, "h", "-."),
    "resampling, prior taken off": Look(_WINE, "h", ":"),
    "sketch, one row": Look(_PURPLE, "*"),
    "sketch, mean of rows": Look(_PURPLE, "*"),
    "sketch, median of rows": Look(_INDIGO, "d"),
    "sketch, median of three rows": Look(_INDIGO, "d"),
    "sketch of the noisy table, mean": Look(_PURPLE, "x", ":"),
    "sharing of buckets": Look(_SKY, "v"),
    "noise": Look(_GREY, "x"),
    "by the formula": Look(_BLACK, "None", ":"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a panel: points along x, each with its error bar."""

    name: str
    xs: Sequence[float]
    ys: Sequence[Measured]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = True
    log_y: bool = True
    percent: bool = False  # y is a share
    ticks: Sequence[float] = ()  # of x, where powers of ten would say little


@dataclass(frozen=True, slots=True)
class Dots:
    """One pair of axes with a dot for each value, and the range that the paper gives behind them."""

    title: str
    x: str
    values: Mapping[str, float]
    stated: tuple[float, float]


def drawing(panels: Sequence[Panel | Dots], *, columns: int | None = None) -> Figure:
    """Return panels side by side, with one legend below."""
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    with plt.rc_context(_STYLE):
        figure, grid = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.3 * rows + 0.6), squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, panels, strict=False):
            if isinstance(panel, Dots):
                _draw_dots(axes, panel)
            else:
                _draw_lines(axes, panel)
        shown: dict[str, Artist] = {}
        for axes in grid.flat:
            handles, labels = axes.get_legend_handles_labels()
            shown |= dict(zip(labels, handles, strict=True))
        if shown:
            legend_rows = -(-len(shown) // (2 + 2 * columns))
            figure.legend(
                list(shown.values()),
                list(shown),
                loc="outside lower center",
                ncols=-(-len(shown) // legend_rows),
            )
    return figure


def _draw_lines(axes: Axes, panel: Panel) -> None:
    factor = 100 if panel.percent else 1
    for line in panel.lines:
        look = LOOKS[line.name]
        means = [factor * y.mean for y in line.ys]
        # On log axes a bar must not reach 0.
        down = [min(factor * SURE * y.error, 0.9 * abs(mean)) for y, mean in zip(line.ys, means, strict=True)]
        up = [factor * SURE * y.error for y in line.ys]
        bars = [down, up] if all(value < float("inf") for value in up) else None
        axes.errorbar(
            line.xs,
            means,
            bars,
            label=line.name,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            capsize=2,
            elinewidth=0.8,
        )
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.log_x:
        axes.set_xscale("log")
        _plain(axes.xaxis)
    if panel.log_y:
        axes.set_yscale("log")
        _plain(axes.yaxis)
    if panel.ticks:
        axes.set_xticks(list(panel.ticks))


def _draw_dots(axes: Axes, panel: Dots) -> None:
    names = list(panel.values)
    axes.plot(list(panel.values.values()), names, "o", color=_BLUE, markersize=8, label="measured")
    low, high = panel.stated
    axes.axvspan(
        low / 1.02, high * 1.02, color=_ORANGE, alpha=0.5, label="the paper says", linewidth=0, zorder=0
    )
    axes.set_xscale("log")
    axes.set(title=panel.title, xlabel=panel.x)
    axes.margins(y=0.3)
    axes.invert_yaxis()
    _plain(axes.xaxis)


def _plain(axis: Axis) -> None:
    """Write the numbers of a log axis as they are; few decades have room for 2 and 5."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _number(value)))
    axis.set_minor_formatter(NullFormatter())


def _number(value: float) -> str:
    """Return the text of a number on an axis.

    >>> _number(0.05), _number(20_000), _number(1e12)
    ('0.05', '20,000', '10¹²')
    """
    power = round(log10(value)) if value > 0 else 0
    if 1e-4 < value < 1e6 or abs(value / 10.0**power - 1) > 1e-9:
        return f"{value:,g}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(_STYLE):
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")  # once is enough for both files
        figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
