"""The picture of a sweep: errors against epsilon, and against the size.

Promise: two panels on one scale of errors, in colours that people with any colour vision tell apart, each
line with a mark of its own. The file tells no time and no host.
Cost: about a second, most of it for loading matplotlib.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hushtable.files.placing import check_output
from hushtable.planning.wording import number, percent
from hushtable.plots.page import add_words, blank_page, check_of, grow, look, save
from hushtable.plots.words import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hushtable.planning.sweep import Sweep

# Okabe and Ito's colours, in an order of falling contrast.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
MARKS = ("o", "s", "^", "D", "v")
_FLOOR = 1e-6  # errors below are none


def check_picture(output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise where a picture could not be written under this name."""
    check_output(output, overwrite=overwrite, check=check_of(output, formats=".png or .svg"))


def draw(sweep: Sweep, output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write the picture of a sweep as PNG or SVG, by the end of the file's name."""
    check_picture(output, overwrite=overwrite)
    plan = sweep.plan
    title = one_line(f"What a release would be worth{': ' * bool(plan.title)}{plan.title}")
    caption = (
        f"{number(plan.cells_total)} cells. Assumed: {plan.profile.words}. Each point: the recommended "
        "summary there, hollow where it is not worth its epsilon. The dotted line marks the plan."
    )
    with look([title, caption], asked="plan --sweep -o"):
        figure = blank_page()
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, sweep, [each.spent for each in sweep.by_epsilon], "epsilon")
        _panel(right, sweep, [float(each.size) for each in sweep.by_size], "size")
        left.set_ylabel("error, as a share of what the cells hold")
        right.legend(title="cells in a set", loc="upper left", bbox_to_anchor=(1, 1))
        add_words(figure, title=title, caption=caption)
        grow(figure, height=2.8)
    save(figure, output, overwrite=overwrite)


def _panel(axes: Axes, sweep: Sweep, places: list[float], name: str) -> None:
    """Draw errors against epsilon or size."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    plans = sweep.by_epsilon if name == "epsilon" else sweep.by_size
    given = sweep.plan.spent if name == "epsilon" else float(sweep.plan.size)
    for size, colour, mark in zip(sweep.plan.zero_errors, COLOURS, MARKS, strict=False):
        errors = [max(each.recommended.errors[size] / each.zero_errors[size], _FLOOR) for each in plans]
        axes.plot(places, errors, color=colour, lw=1.3, zorder=2)
        for place, error, each in zip(places, errors, plans, strict=True):
            fill = colour if each.worth else "white"
            axes.plot([place], [error], mark, ms=4.5, color=colour, mfc=fill, zorder=3)
        axes.plot([], [], mark, ls="-", lw=1.3, ms=4.5, color=colour, label=number(size))
    axes.axhline(1.0, color="#666666", lw=0.8, ls="--", zorder=1)
    axes.annotate(
        "answering 0", (1, 1), xycoords=("axes fraction", "data"), xytext=(-2, 3), textcoords="offset points",
        ha="right", size=7, color="#666666",
    )  # fmt: skip
    axes.axvline(given, color="#666666", lw=0.8, ls=":", zorder=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(True)
    axes.set_xlabel(name)
    axes.set_xticks(places, [number(each) for each in places], rotation=45 if name == "size" else 0)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
