"""The page of a picture: a title, panels in a row and a caption below, each with the room it needs.

Promise: nothing overlaps and nothing is cut off, however long a title or a caption is: the page grows.
Cost: the panels are laid out three times, because labels need room and room decides which labels there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushtable.plots.text import Lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = Lettering(size=12, bold=True)
NAMES = Lettering(size=9)
LABELS = Lettering(size=8)
CAPTION = Lettering(size=7.5)
INK, GREY, GRID = "#222222", "#666666", "#e4e4e4"

DPI = 200
_MARGIN = 0.25
_GAP = 0.18  # between panels, and between them and the texts
_NARROWEST = 0.6
_SPARE = 0.96  # letters are a little wider in some formats than in others

# What differs from matplotlib's own settings, in whatever way a user has changed those.
LOOK: dict[str, Any] = {
    "figure.dpi": DPI,
    "figure.facecolor": "white",
    "font.size": LABELS.size,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelsize": NAMES.size,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": LABELS.size,
    "ytick.labelsize": LABELS.size,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.fontsize": LABELS.size,
    "legend.title_fontsize": LABELS.size,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "path",  # letters as shapes: no font is needed to read the file
    "svg.hashsalt": "hushtable",  # the same picture is the same file
    "pdf.fonttype": 42,
}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Axes in the row; `fit` chooses labels for a width and a height in inches. Width None: what is left."""

    axes: Axes
    fit: Callable[[float, float], None]
    width: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """Panels beside each other, all of one height, on a page of that width, in inches."""

    panels: Sequence[Panel]
    height: float
    page_width: float = 8.0


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What labels take beyond the axes of a panel, in inches."""

    left: float
    right: float
    below: float
    above: float


def set_page(figure: Figure, row: Row, *, title: str, caption: Sequence[str]) -> None:
    """Give the page its size, and everything its place."""
    width = (row.page_width - 2 * _MARGIN) * _SPARE
    head = [line for part in title.splitlines() for line in TITLE.wrapped(part, width)]
    foot = [line for part in caption for line in CAPTION.wrapped(part, width)]
    above = len(head) * TITLE.height + _GAP if title.strip() else 0.0
    below = len(foot) * CAPTION.height + _GAP
    rooms = [_Room(left=0.6, right=0.1, below=0.5, above=0.1) for _ in row.panels]
    for _ in range(2):
        page = _place(figure, row, rooms, above=above, below=below)
        rooms = [_room(figure, panel) for panel in row.panels]
    page = _place(figure, row, rooms, above=above, below=below)
    style: dict[str, Any] = {"va": "top", "ha": "left", "parse_math": False, "linespacing": 1.3}
    left = _MARGIN / row.page_width
    if title.strip():
        top = 1 - _MARGIN / page
        figure.text(left, top, "\n".join(head), size=TITLE.size, weight="bold", gid="title", **style)
    bottom = (_MARGIN + len(foot) * CAPTION.height) / page
    figure.text(left, bottom, "\n".join(foot), size=CAPTION.size, color=GREY, gid="caption", **style)


def _place(figure: Figure, row: Row, rooms: Sequence[_Room], *, above: float, below: float) -> float:
    """Place the panels, each with the room its labels take; return the height of the page."""
    lowest = _MARGIN + below + max(room.below for room in rooms)
    page = lowest + row.height + max(room.above for room in rooms) + above + _MARGIN
    figure.set_size_inches(row.page_width, page)
    taken = sum(room.left + room.right + (panel.width or 0.0) for panel, room in _pairs(row, rooms))
    free = row.page_width - 2 * _MARGIN - taken - _GAP * (len(rooms) - 1)
    share = max(free / sum(panel.width is None for panel in row.panels), _NARROWEST)
    left = _MARGIN
    for panel, room in _pairs(row, rooms):
        left += room.left
        width = share if panel.width is None else panel.width
        panel.axes.set_position(
            (left / row.page_width, lowest / page, width / row.page_width, row.height / page)
        )
        panel.fit(width, row.height)
        left += width + room.right + _GAP
    return page


def _pairs(row: Row, rooms: Sequence[_Room]) -> list[tuple[Panel, _Room]]:
    return list(zip(row.panels, rooms, strict=True))


def _room(figure: Figure, panel: Panel) -> _Room:
    """Return how far a panel's labels reach beyond its axes."""
    inner = panel.axes.get_window_extent()
    outer = panel.axes.get_tightbbox() or inner
    dpi = figure.dpi
    return _Room(
        left=max(inner.x0 - outer.x0, 0) / dpi,
        right=max(outer.x1 - inner.x1, 0) / dpi,
        below=max(inner.y0 - outer.y0, 0) / dpi,
        above=max(outer.y1 - inner.y1, 0) / dpi,
    )
