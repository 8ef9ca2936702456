"""The page of a picture and its file: our look, a title above, a caption below, and axes between them.

Promise: nothing is cut off, because matplotlib's constrained layout gives everything its room and the page
grows until the axes have theirs. The same picture is the same file, which tells no time and no host. A user's
own settings neither matter nor change. Only a picture of ours is ever replaced.
Cost: the page is laid out twice.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hushtable.errors import BadOutput, MissingPackage
from hushtable.files.exchanging import Check
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import is_picture
from hushtable.plots.fonts import families

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

INK, GREY = "#222222", "#666666"
ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left", "borderpad": 0}
_DPI, _WIDTH, _MARGIN = 200, 8.0, 0.2
_TALL = 12.0  # a page on which even the longest labels leave room for axes
_SHORTEST, _APART = 0.8, 0.05  # a name, and the distance of labels
_LOOK: dict[str, Any] = {
    "figure.constrained_layout.w_pad": _MARGIN, "figure.constrained_layout.h_pad": _MARGIN / 2,
    "figure.dpi": _DPI, "font.size": 8, "text.color": INK, "text.parse_math": False, "legend.frameon": False,
    "axes.labelsize": 9, "axes.labelcolor": INK, "axes.edgecolor": GREY, "axes.linewidth": 0.6,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "grid.color": "#e4e4e4", "grid.linewidth": 0.6,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "svg.fonttype": "path",  # letters as shapes: no font is needed to read the file
    "svg.hashsalt": "hushtable",  # the same picture is the same file
    "pdf.fonttype": 42,
}  # fmt: skip
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "hushtable"},
    ".svg": {"Creator": "hushtable", "Date": None},
    ".pdf": {"Creator": "hushtable", "Producer": None, "CreationDate": None},
}


@contextmanager
def look(texts: Iterable[str] = (), *, asked: str = "plot") -> Iterator[None]:
    """Draw with our settings and fonts for these texts; `asked` is what needs matplotlib."""
    try:
        from matplotlib import rc_context, rcdefaults, rcParams
    except ImportError:
        raise MissingPackage(asked, "matplotlib") from None
    with rc_context(), warnings.catch_warnings():
        rcdefaults()
        rcParams.update(cast("Any", _LOOK))
        rcParams["font.family"] = families(texts)
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def blank_page() -> Figure:
    """Return an empty page, for a block of `look`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _TALL), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def add_words(figure: Figure, *, title: str, caption: str) -> None:
    """Write the title above and the caption below, in as many lines as they take."""
    width = _WIDTH - 2 * _MARGIN
    style: dict[str, Any] = {"x": _MARGIN / _WIDTH, "ha": "left"}
    _wrap(figure.suptitle(title, size=12, weight="bold", gid="title", **style), width)
    _wrap(figure.supxlabel(caption, size=7.5, color=GREY, gid="caption", **style), width)


def grow(figure: Figure, *, height: float) -> None:
    """Give the page the height at which its axes have theirs, in inches, and texts the room there is."""
    layout: Any = figure.get_layout_engine()
    for _ in range(2):  # the second time with texts that were broken or turned
        layout.execute(figure)
        for axes in figure.axes:
            width = axes.get_window_extent().width
            _wrap(axes.xaxis.label, width / _DPI, lines=3)
            _wrap(axes.yaxis.label, max(height, _SHORTEST), lines=3)
            labels = [text.get_window_extent().width for text in axes.get_xticklabels() if text.get_text()]
            if len(labels) * (max(labels, default=0) + _APART * _DPI) > width:
                axes.tick_params("x", rotation=90)
    figure.set_figheight(_TALL + height - figure.axes[0].get_window_extent().height / _DPI)


def _wrap(text: Text, inches: float, *, lines: int | None = None) -> None:
    """Break a text into lines that are not longer than that, as matplotlib measures them."""
    paragraphs = text.get_text().splitlines()
    most = max(map(len, paragraphs), default=0)
    length = inf
    while length > inches and most > 1:
        style: Any = {"break_on_hyphens": False, "max_lines": lines, "placeholder": "…"}
        text.set_text("\n".join(textwrap.fill(each, most, **style) for each in paragraphs))
        box = text.get_window_extent()
        length = (box.height if text.get_rotation() else box.width) / _DPI
        most = min(most - 1, int(most * inches / length))


def check_of(path: str | PathLike[str], *, formats: str = ", ".join(_METADATA)) -> Check:
    """Return the check that lets only a picture of ours be replaced; raise unless `formats` names its end."""
    kind = Path(path).suffix.lower()
    if kind not in _METADATA or kind not in formats:
        hint = f"Give it a name that ends in {formats}."
        raise BadOutput("its name does not end in a known format", hint, file=str(path))
    return only(is_picture(kind), f"a picture by hushtable as {kind[1:]}")


def save(figure: Figure, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a picture as the file that the end of `path` names: .png, .svg or .pdf."""
    kind = Path(path).suffix.lower()
    with new_file(Path(path), overwrite=overwrite, check=check_of(path)) as file, look():
        figure.savefig(file, format=kind[1:], dpi="figure", metadata=_METADATA[kind])
