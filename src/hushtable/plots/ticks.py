"""Which labels an axis shows: as many as there is room for, never one over another.

Promise: labels keep a distance of their own size; numbers and times stand at round places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import ceil
from typing import TYPE_CHECKING, Literal

from hushtable.domain.attributes import Times
from hushtable.plots.page import LABELS, NAMES
from hushtable.plots.scales import Groups, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Side = Literal["x", "y"]
_FEW = 6  # labels in a line are read more easily than upright ones, if there are so many of them
_APART = 0.12
_LONGEST_UPRIGHT = 1.3
_SHORTEST_NAME = 1.2
_MOST_LINES = 3


def axis_of(axes: Axes, side: Side) -> Axis:
    """Return one of the two."""
    return axes.xaxis if side == "x" else axes.yaxis


def fit_groups(axes: Axes, side: Side, groups: Groups, length: float, *, longest: float = 1.8) -> None:
    """Label groups along an axis of so many inches: by their edges on a line, or by their labels."""
    fit_name(axes, side, groups.name, length)
    if groups.spans is None:
        fit_list(axes, side, groups.labels, length, longest=longest)
    elif isinstance(groups.kind, Times):
        _fit_times(axes, side, length)
    else:
        _fit_numbers(axes, side, length, form=number_text)


def fit_amounts(axes: Axes, side: Side, name: str, length: float) -> None:
    """Label amounts along an axis of so many inches."""
    fit_name(axes, side, name, length)
    _fit_numbers(axes, side, length, form=amount_text)


def amount_text(value: float) -> str:
    """Return an amount for an axis."""
    return number_text(value, plain_below=0)


def fit_name(axes: Axes, side: Side, name: str, length: float) -> None:
    """Say what an axis shows, in lines that are not longer than it is."""
    width = max(length, _SHORTEST_NAME)
    lines = NAMES.wrapped(name, width)
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = NAMES.cut([" ".join(lines[_MOST_LINES - 1 :])], width)
    axis_of(axes, side).set_label_text("\n".join(lines), parse_math=False)


def fit_list(axes: Axes, side: Side, labels: Sequence[str], length: float, *, longest: float) -> None:
    """Label the places 0, 1, ...: all, or every 2nd, 5th, 10th, ... of them."""
    pitch = length / len(labels)
    upright = next(step for step in _steps() if step * pitch >= LABELS.height)
    every, rotation, shown = upright, 0, labels[::upright]
    if side == "x":
        in_line = (step for step in _steps() if step >= upright)
        every = next(step for step in in_line if LABELS.widest(labels[::step]) + _APART <= step * pitch)
        shown = labels[::every]
        if every > upright and len(shown) < _FEW:
            every, rotation, shown, longest = upright, 90, labels[::upright], _LONGEST_UPRIGHT
    axis_of(axes, side).set_ticks(
        range(0, len(labels), every), labels=LABELS.cut(shown, longest), rotation=rotation, parse_math=False
    )


def _steps() -> Iterator[int]:
    """Yield 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, ..."""
    yield from (1, 2, 5)
    for power in count(1):
        yield from (k * 10**power // 10 for k in (10, 20, 25, 50))


def _fit_numbers(axes: Axes, side: Side, length: float, *, form: Callable[[float], str]) -> None:
    """Label an axis with round numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axis_of(axes, side)
    low, high = sorted(axis.get_view_interval())
    wide = LABELS.widest([form(float(f"{end:.2g}")) for end in (low, high)])
    need = max(wide + 0.35, 0.55) if side == "x" else 0.45
    axis.set_major_locator(MaxNLocator(nbins=max(1, min(10, int(length / need))), steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(float(value))))


def _fit_times(axes: Axes, side: Side, length: float) -> None:
    """Label an axis with round times."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axis = axis_of(axes, side)
    most = max(3, ceil(length / (0.65 if side == "x" else 0.4)))
    locator = AutoDateLocator(minticks=min(4, most), maxticks=most)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    # The name of the axis says the first and the last time in full, so labels can be short.
    form = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%H:%M:%S"],
        zero_formats=["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
        show_offset=False,
    )
    axis.set_major_formatter(form)
