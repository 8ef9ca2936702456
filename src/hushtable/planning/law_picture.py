"""The picture of laws of noise side by side: the smallest count that each shows.

Promise: two panels on one scale of counts, in colours that people with any colour vision tell apart, each
line with a mark of its own. The file tells no time and no host.
Cost: about a second, most of it for loading matplotlib.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hushtable.planning.laws import CHOICES
from hushtable.planning.picture import COLOURS, MARKS, check_picture
from hushtable.planning.wording import number
from hushtable.plots.page import add_words, blank_page, grow, look, save
from hushtable.plots.words import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from hushtable.planning.comparing import LawComparison, LawPoint


def draw(found: LawComparison, output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write the picture of a comparison as PNG or SVG, by the end of the file's name."""
    check_picture(output, overwrite=overwrite)
    title = one_line(
        f"The smallest count that is shown, by law of noise{': ' * bool(found.title)}{found.title}"
    )
    one = found.declared
    caption = (
        f"A table of cells alone, {found.cost.said}, size {found.size:,}. "
        f"Left: {number(one.cells_total)} cells. Right: units in up to {one.cells_a_unit:,}. "
        "The dotted line marks what is declared. Geometric and "
        "Gaussian noise also let some rows through that are noise alone."
    )
    with look([title, caption], asked="plan --laws -o"):
        figure = blank_page()
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, found.by_cells_a_unit, [float(each.cells_a_unit) for each in found.by_cells_a_unit])
        _panel(right, found.by_cells_total, [float(each.cells_total) for each in found.by_cells_total])
        left.axvline(one.cells_a_unit, color="#666666", lw=0.8, ls=":", zorder=1)
        right.axvline(float(one.cells_total), color="#666666", lw=0.8, ls=":", zorder=1)
        left.set_xlabel("cells that a unit may be in")
        right.set_xlabel("cells of the domain")
        left.set_ylabel("smallest count that is shown")
        right.legend(title="law of noise", loc="upper left", bbox_to_anchor=(1, 1))
        add_words(figure, title=title, caption=caption)
        grow(figure, height=2.8)
    save(figure, output, overwrite=overwrite)


def _panel(axes: Axes, points: Sequence[LawPoint], places: list[float]) -> None:
    """Draw the cutoff of each law."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for law, colour, mark in zip(CHOICES, COLOURS, MARKS, strict=False):
        known = [
            (place, each.cutoffs[law])
            for place, each in zip(places, points, strict=True)
            if law in each.cutoffs
        ]
        if known:
            xs, ys = zip(*known, strict=True)
            axes.plot(xs, ys, mark, ls="-", lw=1.3, ms=4.5, color=colour, label=law, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True)
    axes.set_xticks(places, [number(each) for each in places], rotation=45)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
