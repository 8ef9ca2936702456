"""A picture of an answer by one or two attributes, fit to be published.

Promise: every group is drawn, with its interval or, on a map, with whether that includes 0; what cannot be
read is refused. The same answer gives the same file, which tells no time and no host.
Cost: about a second, half of it for loading matplotlib; up to four for hundreds of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute, Bins, Integers
from hushtable.errors import BadOutput, BadQuery, MissingPackage, shown
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import is_picture
from hushtable.plots.caption import Published, caption_of, title_of
from hushtable.plots.heat import draw_map
from hushtable.plots.page import LOOK, Row, set_page
from hushtable.plots.scales import (
    Amounts,
    Groups,
    amounts_of,
    codes_of,
    groups_of,
    labels_of,
)
from hushtable.plots.shapes import (
    COLOURS,
    MOST_BARS,
    MOST_LISTED,
    draw_bars,
    draw_columns,
    draw_lines,
    draw_steps,
)
from hushtable.plots.text import families, one_line, quiet_about_letters

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

_MOST_GROUPS = 5_000
_MOST_LINES = 600  # rows or columns of a map
_BETWEEN = " \N{MIDDLE DOT} "
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": "hushtable"},
    ".svg": {"Creator": "hushtable", "Date": None},
    ".pdf": {"Creator": "hushtable", "Producer": None, "CreationDate": None},
}


def draw(
    release: Published,
    groups: pa.Table,
    names: tuple[str, ...],
    *,
    where: Mapping[str, object] | str | None,
    title: str | None,
    total_groups: int,
) -> Figure:
    """Return a picture of what `release.by(names, ...)` answered; `total_groups` is how many it chose from.

    ====================================  =============================================================
    groups                                picture
    ====================================  =============================================================
    of one attribute, in no order of its  bars from the top; beyond 40 in columns beside each other;
    own, or the largest of one or two     beyond 400 a line of steps
    bins; more than 40 whole numbers      columns as wide as the bins; beyond 400 a line of steps
    times; up to 8 groups over time       lines with bands
    of two attributes                     a map of coloured cells
    none, too many, or of more than two   `BadQuery`
    ====================================  =============================================================
    """
    _need_matplotlib()
    _check(groups, names)
    sides, picture = _chosen(release, groups, names, total_groups)
    heading = title_of(release, names) if title is None else "\n".join(map(one_line, title.splitlines()))
    caption = caption_of(release, groups, where=where, total_groups=total_groups)
    texts = [heading, *caption]
    for each in sides:
        texts += [each.name, *each.labels]
    with _look(texts):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure()
        FigureCanvasAgg(figure)
        set_page(figure, picture(figure), title=heading, caption=caption)
    return figure


def save(figure: Figure, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a picture as the file that the end of `path` names: .png, .svg or .pdf."""
    kind = Path(path).suffix.lower()
    if kind not in _METADATA:
        hint = f"Give it a name that ends in {', '.join(_METADATA)}."
        raise BadOutput("its name does not say which format it is to have", hint, file=str(path))
    check = only(is_picture(kind), f"a picture by hushtable as {kind[1:]}")
    with new_file(Path(path), overwrite=overwrite, check=check) as file, _look():
        figure.savefig(file, format=kind[1:], dpi="figure", metadata=_METADATA[kind])


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackage("plot", "matplotlib") from None


@contextmanager
def _look(texts: Iterable[str] = ()) -> Iterator[None]:
    """Draw with our settings and fonts for these texts, whatever a user's own settings are."""
    from matplotlib import rc_context, rcdefaults, rcParams

    with rc_context():
        rcdefaults()
        rcParams.update(cast("Any", LOOK))
        rcParams["font.family"] = families(texts)
        with quiet_about_letters():
            yield


def _check(groups: pa.Table, names: tuple[str, ...]) -> None:
    """Raise where no picture shows these groups."""
    if not 1 <= len(names) <= 2:
        fact = f"a picture shows groups of one or two attributes, not of {len(names)}"
        raise BadQuery(fact, "Name one or two, and select values of the others with a condition (`where`).")
    if not len(groups):
        raise BadQuery("no group meets the condition", "Without a group there is no picture: widen `where`.")
    for name in names:
        many = len(groups) if len(names) == 1 else len(groups.column(name).unique())
        if many > _MOST_GROUPS:
            raise _too_many(f"{many:,} groups of {shown(name)}", f"{_MOST_GROUPS:,}")


def _too_many(what: str, most: str) -> BadQuery:
    hint = "Show the largest, as in top=40 (`--top 40`), or fewer by a condition (`where`)."
    return BadQuery(f"a picture of {what} cannot be read; it shows at most {most}", hint)


_Picture: TypeAlias = "Callable[[Figure], Row]"


def _chosen(
    release: Published, answer: pa.Table, names: tuple[str, ...], total_groups: int
) -> tuple[list[Groups], _Picture]:
    """Return the groups along the axes, and what draws them."""
    attributes = [release.domain.attribute(name) for name in names]
    codes = [codes_of(each, answer.column(each.name)) for each in attributes]
    amounts = amounts_of(release.terms.measure, answer)
    found = [np.unique(each, return_inverse=True) for each in codes]
    sides = [groups_of(each, values) for each, (values, _) in zip(attributes, found, strict=True)]
    places = np.ravel_multi_index([places for _, places in found], [len(each) for each in sides])
    # The largest stand by size, wherever they lie.
    if total_groups > len(answer) or bool((places[1:] < places[:-1]).any()):
        listed = _listed(attributes, codes)
        return [listed], _picture_of_one(listed, amounts)
    if len(sides) == 1:
        return sides, _picture_of_one(sides[0], amounts)
    return sides, _picture_of_two(sides, amounts, places)


def _listed(attributes: Sequence[Attribute], codes: Sequence[NDArray[np.int64]]) -> Groups:
    """Return groups of one or more attributes as one list."""
    if len(codes[0]) > _MOST_GROUPS:
        raise _too_many(f"{len(codes[0]):,} groups", f"{_MOST_GROUPS:,}")
    labels = [labels_of(each.values, column.tolist()) for each, column in zip(attributes, codes, strict=True)]
    texts = [_BETWEEN.join(group) for group in zip(*labels, strict=True)]
    name = _BETWEEN.join(one_line(each.name) for each in attributes)
    return Groups(kind=attributes[0].values, name=name, labels=texts, spans=None)


def _picture_of_one(groups: Groups, amounts: Amounts) -> _Picture:
    """Return the picture of groups in one order."""
    if groups.timed:
        return lambda figure: draw_lines(figure, groups, [("", amounts)])
    regular = groups.spans is not None and not (isinstance(groups.kind, Integers) and groups.gaps.size)
    many = len(groups)
    if regular and (isinstance(groups.kind, Bins) or many > MOST_LISTED):
        chosen = draw_columns if many <= MOST_BARS else draw_steps
        return lambda figure: chosen(figure, groups, amounts)
    chosen = draw_bars if many <= MOST_BARS else draw_steps
    return lambda figure: chosen(figure, groups.listed(), amounts)


def _picture_of_two(sides: list[Groups], amounts: Amounts, places: NDArray[np.intp]) -> _Picture:
    """Return the picture of a grid; time runs from left to right."""
    rows, columns = sides
    if rows.timed and not columns.timed:
        at_row, at_column = np.divmod(places, len(columns))
        rows, columns, places = columns, rows, at_column * len(rows) + at_row
    if columns.timed and not rows.timed and len(rows) <= len(COLOURS):
        series = _series(rows, amounts, places, len(columns))
        return lambda figure: draw_lines(figure, columns, series, name=rows.name)
    if max(len(rows), len(columns)) > _MOST_LINES:
        what = f"{len(rows):,} by {len(columns):,} groups"
        raise _too_many(what, f"{_MOST_LINES:,} by {_MOST_LINES:,}")
    return lambda figure: draw_map(figure, rows, columns, amounts, places=places)


def _series(
    rows: Groups, amounts: Amounts, places: NDArray[np.intp], columns: int
) -> list[tuple[str, Amounts]]:
    """Return the amounts of each row of a grid, with nothing where there is no group."""
    grids = []
    for numbers in (amounts.estimate, amounts.low, amounts.high):
        grid = np.full((len(rows), columns), np.nan)
        grid.flat[places] = numbers
        grids.append(grid)
    return [
        (label, amounts.but(estimate=estimate, low=low, high=high))
        for label, estimate, low, high in zip(rows.labels, *grids, strict=True)
    ]
