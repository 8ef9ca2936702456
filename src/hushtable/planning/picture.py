"""The picture of a sweep: errors against epsilon, and against the size.

Promise: two panels on one scale of errors, in colours that people with any colour vision tell apart, each
line with a mark of its own. The file tells no time and no host.
Cost: about a second, most of it for loading matplotlib.
"""

from __future__ import annotations

import os
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hushtable.errors import BadOutput, MissingPackage
from hushtable.files.exchanging import Check
from hushtable.files.placing import check_output, new_file, only
from hushtable.files.recognising import is_picture
from hushtable.planning.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hushtable.planning.sweep import Sweep

# Okabe and Ito's colours, in an order of falling contrast.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_MARKS = ("o", "s", "^", "D", "v")
_LOOK: dict[str, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#666666",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "hushtable",  # the same picture is the same file
}
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "hushtable"},
    ".svg": {"Creator": "hushtable", "Date": None},
}
_TITLE, _CAPTION = 80, 150  # characters in a line
_FLOOR = 1e-6  # errors below are none


def check_picture(output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise where a picture could not be written under this name."""
    if Path(output).suffix.lower() not in _METADATA:
        hint = f"Give it a name that ends in {' or '.join(_METADATA)}."
        raise BadOutput("its name does not say which format it is to have", hint, file=str(output))
    check_output(output, overwrite=overwrite, check=_ours(output))


def _ours(output: str | os.PathLike[str]) -> Check:
    """Return the check that lets a picture of ours be replaced, and nothing else."""
    kind = Path(output).suffix.lower()
    return only(is_picture(kind), f"a picture by hushtable as {kind[1:]}")


def draw(sweep: Sweep, output: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write the picture of a sweep as PNG or SVG, by the end of the file's name."""
    check_picture(output, overwrite=overwrite)
    kind = Path(output).suffix.lower()
    try:
        from matplotlib import rc_context, rcdefaults, rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage("plan --sweep -o", "matplotlib") from None
    plan = sweep.plan
    with rc_context():
        rcdefaults()
        rcParams.update(cast("Any", _LOOK))
        figure = Figure(figsize=(8, 4.2), dpi=200, layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, sweep, [float(each.epsilon) for each in sweep.by_epsilon], "epsilon")
        _panel(right, sweep, [float(each.size) for each in sweep.by_size], "size")
        left.set_ylabel("error, as a share of what the cells hold")
        right.legend(title="cells in a set", loc="upper left", bbox_to_anchor=(1, 1))
        about = f"What a release would be worth{': ' * bool(plan.title)}{plan.title}"
        title = textwrap.shorten(about, _TITLE, placeholder=" ...")
        figure.suptitle(title, x=0.01, ha="left", size=11, weight="bold", parse_math=False)
        words = (
            f"{number(plan.cells_total)} cells. Assumed: {plan.profile.words}. Each point: the recommended "
        )
        words += "summary there, hollow where it is not worth its epsilon. The dotted line marks the plan."
        caption = textwrap.fill(words, _CAPTION)
        figure.supxlabel(caption, x=0.01, ha="left", size=7, color="#666666", parse_math=False)
        with (
            new_file(Path(output), overwrite=overwrite, check=_ours(output)) as file,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UserWarning)  # of letters that the font does not have
            figure.savefig(file, format=kind[1:], metadata=_METADATA[kind])


def _panel(axes: Axes, sweep: Sweep, places: list[float], name: str) -> None:
    """Draw errors against epsilon or size."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    plans = sweep.by_epsilon if name == "epsilon" else sweep.by_size
    given = float(sweep.plan.epsilon) if name == "epsilon" else float(sweep.plan.size)
    for size, colour, mark in zip(sweep.plan.zero_errors, _COLOURS, _MARKS, strict=False):
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
