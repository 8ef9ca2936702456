"""The picture of two attributes: a map of cells, coloured by their estimates.

Promise: colour is for cells whose interval leaves 0 out; others are one grey, so that noise is not read as
data. Where the truth cannot lie below 0, colours start there, and intervals below it have one colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Categories, Edges
from hushtable.plots.page import GREY, Panel, Row
from hushtable.plots.scales import Amounts, Groups
from hushtable.plots.ticks import amount_text, fit_amounts, fit_groups, fit_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

_UNCLEAR, _BELOW = "#e3e3e3", "#e8b4a0"
_SKEWED = 50  # the largest cell against the middle one: then equal steps of colour are equal factors
_BAR_WIDTH = 0.16


def draw_map(
    figure: Figure, rows: Groups, columns: Groups, amounts: Amounts, *, places: NDArray[np.intp]
) -> Row:
    """Draw a map; `places` are the cells that the amounts belong to, by row and then column."""
    rows, columns = (each.listed() if each.gaps.size else each for each in (rows, columns))
    shape = len(rows), len(columns)
    edges = _edges(columns), _edges(rows)
    below = amounts.high < 0
    coloured = (amounts.low > 0) | (below & amounts.signed)
    unclear = ~coloured & ~below
    axes = figure.add_subplot()
    _set_sides(axes, rows, edges)
    plain = {
        _UNCLEAR: (unclear, "the interval includes 0"),
        _BELOW: (below & ~coloured, "the interval lies below 0"),
    }
    for colour, (cells, _) in plain.items():
        values = _spread(np.zeros(amounts.estimate.size), cells, places, shape)
        axes.pcolormesh(*edges, values, cmap=_one_colour(colour), rasterized=True)
    named = {colour: label for colour, (cells, label) in plain.items() if cells.any()}
    _add_legend(axes, named | {"white": "not selected"} if places.size < shape[0] * shape[1] else named)

    def fit(width: float, height: float) -> None:
        fit_groups(axes, "x", columns, width)
        fit_groups(axes, "y", rows, height)

    panels = [Panel(axes=axes, fit=fit)]
    if coloured.any():
        values = _spread(amounts.estimate, coloured, places, shape)
        panels.append(_coloured(figure, axes, edges, values, amounts))
    return Row(panels=panels, height=min(max(0.28 * shape[0], 2.4), 6.0))


def _spread(
    numbers: NDArray[np.float64], some: NDArray[np.bool_], places: NDArray[np.intp], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Return a grid that holds some of the numbers, each at its place, and NaN elsewhere."""
    grid = np.full(shape, np.nan)
    grid.flat[places[some]] = numbers[some]
    return grid


def _coloured(
    figure: Figure,
    axes: Axes,
    edges: tuple[NDArray[np.float64], NDArray[np.float64]],
    values: NDArray[np.float64],
    amounts: Amounts,
) -> Panel:
    """Colour the clear cells, and return the panel that says what colours mean."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, NullFormatter

    colours, scale = _colours(values[np.isfinite(values)], signed=amounts.signed)
    mesh = axes.pcolormesh(*edges, values, cmap=colours, norm=scale, rasterized=True)
    bar_axes = figure.add_subplot()
    bar: Any = figure.colorbar(mesh, cax=bar_axes)
    bar.outline.set_visible(False)
    bar.solids.set_rasterized(True)
    bar_axes.tick_params(length=2)

    def fit(_: float, height: float) -> None:
        if not isinstance(scale, LogNorm):
            fit_amounts(bar_axes, "y", amounts.name, height)
            return
        fit_name(bar_axes, "y", f"{amounts.name}, logarithmic", height)
        bar_axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: amount_text(float(value))))
        bar_axes.yaxis.set_minor_formatter(NullFormatter())

    return Panel(axes=bar_axes, fit=fit, width=_BAR_WIDTH)


def _colours(values: NDArray[np.float64], *, signed: bool) -> tuple[Colormap, Normalize]:
    """Return colours from light to dark; on both sides of 0 where there are values on both."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    largest = float(np.abs(values).max())
    if signed and values.min() < 0:
        return colormaps["RdBu"], Normalize(-largest, largest)
    blues = ListedColormap(colormaps["YlGnBu"](np.linspace(0.12, 1, 256)))
    if values.min() > 0 and largest > _SKEWED * float(np.median(values)):
        return blues, LogNorm(float(values.min()), largest)
    return blues, Normalize(0, largest)


def _one_colour(colour: str) -> Colormap:
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])


def _edges(groups: Groups) -> NDArray[np.float64]:
    """Return where one group ends and the next starts."""
    if groups.spans is None:
        return np.arange(len(groups) + 1, dtype=np.float64) - 0.5
    return np.append(groups.spans[:, 0], groups.spans[-1, 1])


def _set_sides(axes: Axes, rows: Groups, edges: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """Let the axes end where the cells do: a list reads from the top, numbers grow upwards."""
    from_top = rows.spans is None and isinstance(rows.kind, Categories | Edges)
    axes.set_xlim(edges[0][0], edges[0][-1])
    axes.set_ylim(*(edges[1][[-1, 0]] if from_top else edges[1][[0, -1]]))
    axes.tick_params(length=2)


def _add_legend(axes: Axes, named: Mapping[str, str]) -> None:
    """Say what is meant by colours that are no amounts."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, edgecolor=GREY, linewidth=0.4, label=label) for colour, label in named.items()
    ]
    if handles:
        axes.legend(
            handles=handles, ncols=len(handles), loc="lower left", bbox_to_anchor=(0, 1.01),
            borderaxespad=0, borderpad=0.2, handlelength=1.2, handleheight=0.9,
        )  # fmt: skip
