"""What an axis says: its name, and as many labels as there is room for.

Promise: numbers and times stand at round places; of a long list, every 2nd, 5th, 10th, ... has its label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.plots.page import INK
from hushtable.plots.scales import Along, Amounts, number_text
from hushtable.plots.words import cut

if TYPE_CHECKING:
    from matplotlib.axis import Axis


def label_groups(axis: Axis, groups: Along, *, length: float, longest: int) -> None:
    """Label an axis that is about so many inches long; labels have at most so many characters."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_label_text(groups.name)
    if groups.timed:
        _label_times(axis, most=int(length / 0.75))
    elif groups.spans is not None:
        label_numbers(axis, most=10, whole=groups.whole)
    else:
        labels, places = cut(groups.labels, longest), range(len(groups))
        fits = int(length / 0.15)
        most = fits if axis is axis.axes.yaxis or len(labels) <= fits else 8  # upright letters, or in a row
        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(
            FuncFormatter(lambda place, _: labels[round(place)] if round(place) in places else "")
        )


def _label_times(axis: Axis, *, most: int) -> None:
    """Label an axis whose name says the first and the last time in full, so that labels can be short."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # without types
    locator = dates.AutoDateLocator(minticks=min(4, most), maxticks=most)
    formats = ["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"]
    starts = ["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"]  # of years, months, ...
    axis.set_major_locator(locator)
    axis.set_major_formatter(
        dates.ConciseDateFormatter(locator, formats=formats, zero_formats=starts, show_offset=False)
    )


def label_amounts(axis: Axis, amounts: Amounts) -> None:
    """Label an axis, with a light grid and a line at 0 that is always in sight."""
    axis.set_label_text(amounts.name)
    sideways = axis is axis.axes.xaxis
    label_numbers(axis, most=6 if sideways else 8, plain_below=0)
    axis.set_tick_params(length=0)
    axis.grid(visible=True)
    style: dict[str, Any] = {"color": INK, "linewidth": 0.8}
    axes = axis.axes
    if sideways:
        axes.axvline(0, **style).sticky_edges.x.append(0)  # no room is added beyond it
        axes.margins(x=0.03)
    else:
        axes.axhline(0, **style).sticky_edges.y.append(0)
        axes.margins(y=0.03)


def label_numbers(axis: Axis, *, most: int, plain_below: float = 10**4, whole: bool = False) -> None:
    """Label an axis with at most so many round numbers; a logarithmic one with powers of 10."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    if axis.get_scale() == "log":
        axis.set_minor_formatter(NullFormatter())
    else:
        least = 1 if whole else 2  # there may be no second whole number
        axis.set_major_locator(
            MaxNLocator(nbins=most, integer=whole, min_n_ticks=least, steps=[1, 2, 2.5, 5, 10])
        )
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: number_text(float(value), plain_below=plain_below))
    )
