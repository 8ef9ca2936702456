"""The picture of two attributes: a map of cells, coloured by their estimates.

Promise: colour is for cells whose interval leaves 0 out; others are one grey, so that noise is not read as
data. Where the truth cannot lie below 0, colours start there, and intervals below it have one colour.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import AnyText, Categories, Edges
from hushtable.plots.page import ABOVE, GREY
from hushtable.plots.scales import Along, Amounts
from hushtable.plots.ticks import label_groups, label_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

_UNCLEAR, _BELOW = "#e3e3e3", "#e8b4a0"
_SKEWED = 50  # the largest cell against the middle one: then equal steps of colour are equal factors
_LONGEST = 26  # characters of a label


def draw_map(axes: Axes, rows: Along, columns: Along, amounts: Amounts) -> float:
    """Draw a map of a grid of amounts; return the height it takes."""
    from matplotlib.colors import ListedColormap, LogNorm
    from matplotlib.patches import Patch

    rows, columns = (replace(each, spans=None) if each.gaps.size else each for each in (rows, columns))
    estimate, low, high = amounts.numbers
    coloured = (low > 0) | ((high < 0) & amounts.signed)
    plain = {
        _UNCLEAR: ((low <= 0) & (high >= 0), "the interval includes 0"),
        _BELOW: ((high < 0) & ~coloured, "the interval lies below 0"),
    }
    x, y = (np.append(each.line[:, 0], each.line[-1, 1]) for each in (columns, rows))
    for colour, (cells, _) in plain.items():
        axes.pcolormesh(x, y, np.where(cells, 0, np.nan), cmap=ListedColormap([colour]), rasterized=True)
    named = {colour: label for colour, (cells, label) in plain.items() if cells.any()}
    if np.isnan(estimate).any():
        named["white"] = "not selected"
    if named:
        keys = [Patch(fc=colour, ec=GREY, lw=0.4, label=label) for colour, label in named.items()]
        axes.legend(handles=keys, ncols=3, **ABOVE)
    # A list reads from the top; numbers grow upwards.
    from_top = rows.spans is None and isinstance(rows.kind, AnyText | Categories | Edges)
    axes.set(xlim=x[[0, -1]], ylim=y[[-1, 0]] if from_top else y[[0, -1]])
    height = min(max(0.28 * len(rows), 2.4), 6.0)
    label_groups(axes.xaxis, columns, length=5.8, longest=_LONGEST)
    label_groups(axes.yaxis, rows, length=height, longest=_LONGEST)
    if coloured.any():
        colours, scale = _colours(estimate[coloured], signed=amounts.signed)
        values = np.where(coloured, estimate, np.nan)
        mesh = axes.pcolormesh(x, y, values, cmap=colours, norm=scale, rasterized=True)
        bar: Any = axes.figure.colorbar(mesh, ax=axes, aspect=height / 0.16, pad=0.02)
        bar.outline.set_visible(False)
        bar.solids.set_rasterized(True)
        bar.ax.yaxis.set_label_text(amounts.name + ", logarithmic" * isinstance(scale, LogNorm))
        label_numbers(bar.ax.yaxis, most=8, plain_below=0)
    return height


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
