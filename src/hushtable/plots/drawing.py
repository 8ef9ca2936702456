"""A picture of an answer by one or two attributes, fit to be published.

Promise: each group is drawn with its interval or, on a map, with whether that includes 0. Of a list that is
too long to read the largest are drawn, with one bar for all others together, and the caption says how many
there are; what else cannot be read is refused.
Cost: about a second, half of it for loading matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.items import attribute_named
from hushtable.errors import BadQuery, shown
from hushtable.plots.heat import draw_map
from hushtable.plots.page import add_words, blank_page, grow, look
from hushtable.plots.scales import Along, Amounts, Ranged, along, amounts_of, codes_of, labels_of
from hushtable.plots.shapes import COLOURS, draw_bars, draw_columns, draw_line, draw_lines
from hushtable.plots.words import one_line, title_and_caption
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

_MOST_LISTED, _MOST_ASKED = 60, 400  # bars; and where so many are asked for
_FEW_WHOLE = 40  # whole numbers that are a list
_MOST_GROUPS = 5_000  # on a line of numbers or times
_MOST_LINES = 600  # rows or columns of a map
_BETWEEN = " \N{MIDDLE DOT} "


class Picture(NamedTuple):
    """What draws groups along one or two sides and returns the height that takes."""

    paint: Callable[..., float]
    sides: Sequence[Along]
    amounts: Amounts


def draw(
    terms: Terms,
    groups: pa.Table,
    names: tuple[str, ...],
    *,
    where: Mapping[str, object] | str | None,
    title: str | None,
    total_groups: int,
    others: Callable[[int], Ranged | None],
) -> Figure:
    """Return a picture of what `release.by(names, ...)` answered; `total_groups` is how many it chose from.

    `others` returns the estimate of all groups but so many of the largest, or None where there is none.

    ====================================  =============================================================
    groups                                picture
    ====================================  =============================================================
    of one attribute, in no order of its  bars from the top; of more than 60 the 60 largest, or up to 400
    own, or the largest of one or two     where so many are asked for, and one for all others
    bins; more than 40 whole numbers      columns as wide as the bins; beyond 120 steps with a band
    times; up to 8 groups over time       lines with bands
    of two attributes                     a map of coloured cells
    none, too many, or of more than two   `BadQuery`
    ====================================  =============================================================
    """
    with look():  # without matplotlib, nothing else matters
        picture = _chosen(terms, groups, names, total_groups, others)
    drawn = int(np.isfinite(picture.amounts.numbers[0]).sum())
    heading, caption = title_and_caption(
        terms, names, groups.schema.metadata or {}, where=where, title=title,
        groups=(drawn, len(groups), total_groups), is_map=picture.paint is draw_map,
        rest=picture.amounts.rest_words,
    )  # fmt: skip
    texts = [heading, caption, *(text for side in picture.sides for text in (side.name, *side.labels))]
    with look(texts):
        figure = blank_page()
        height = picture.paint(figure.add_subplot(), *picture.sides, picture.amounts)
        add_words(figure, title=heading, caption=caption)
        grow(figure, height=height)
    return figure


def _chosen(
    terms: Terms,
    groups: pa.Table,
    names: Sequence[str],
    total_groups: int,
    others: Callable[[int], Ranged | None],
) -> Picture:
    """Return the picture that shows these groups best."""
    if not 1 <= len(names) <= 2:
        fact = f"a picture shows groups of one or two attributes, not of {len(names)}"
        raise BadQuery(fact, "Name one or two, and select values of the others with a condition (`where`).")
    if not len(groups):
        raise BadQuery("no group meets the condition", "Without a group there is no picture: widen `where`.")
    attributes = [attribute_named(terms.domain, name) for name in names]
    codes = [codes_of(each, groups.column(place)) for place, each in enumerate(attributes)]
    amounts = amounts_of(terms, groups)
    found = [np.unique(each, return_inverse=True) for each in codes]
    sides = [along(each, values) for each, (values, _) in zip(attributes, found, strict=True)]
    places = [places for _, places in found]
    order = np.ravel_multi_index(places, [len(side) for side in sides])
    if total_groups > len(groups) or bool((order[1:] < order[:-1]).any()):
        # The largest, wherever they lie.
        return _list(attributes, codes, amounts, most=_MOST_ASKED, there=total_groups, others=others)
    for name, side in zip(names, sides, strict=True):
        if len(side) > _MOST_GROUPS and side.spans is not None:
            raise _too_many(f"{len(side):,} groups of {shown(name)}", f"{_MOST_GROUPS:,}")
    if len(sides) == 2:
        return _picture_of_two(sides, places, amounts)
    (side,) = sides
    scattered = isinstance(side.kind, Integers) and (len(side) <= _FEW_WHOLE or side.gaps.size)
    if side.spans is None or scattered:
        return _list(attributes, codes, amounts, most=_MOST_LISTED, there=total_groups, others=others)
    return Picture(draw_line if side.timed else draw_columns, sides, amounts)


def _list(
    attributes: Sequence[Attribute],
    codes: Sequence[NDArray[np.int64]],
    amounts: Amounts,
    *,
    most: int,
    there: int,
    others: Callable[[int], Ranged | None],
) -> Picture:
    """Return groups of one or two attributes as one list of bars, or the largest of them."""
    if len(codes[0]) > most:
        largest = np.argsort(-amounts.numbers[0], kind="stable")[:most]
        codes, amounts = [each[largest] for each in codes], amounts.at(largest)
    if len(codes[0]) < there:
        amounts = amounts.with_rest(others(len(codes[0])))
    labels = [labels_of(each, column) for each, column in zip(attributes, codes, strict=True)]
    side = Along(
        kind=attributes[0].values,
        name=_BETWEEN.join(one_line(each.name) for each in attributes),
        labels=[_BETWEEN.join(group) for group in zip(*labels, strict=True)],
        hidden=there - len(codes[0]),
    )
    return Picture(draw_bars, [side], amounts)


def _picture_of_two(sides: Sequence[Along], places: Sequence[NDArray[np.intp]], amounts: Amounts) -> Picture:
    """Return the picture of a grid; time runs from left to right."""
    if sides[0].timed and not sides[1].timed:
        sides, places = sides[::-1], places[::-1]
    rows, columns = sides
    over_time = columns.timed and not rows.timed and len(rows) <= len(COLOURS)
    if not over_time and max(len(rows), len(columns)) > _MOST_LINES:
        raise _too_many(f"{len(rows):,} by {len(columns):,} groups", f"{_MOST_LINES:,} by {_MOST_LINES:,}")
    return Picture(draw_lines if over_time else draw_map, sides, amounts.grid(*places))


def _too_many(what: str, most: str) -> BadQuery:
    hint = "Show the largest, as in top=40 (`--top 40`), or fewer by a condition (`where`)."
    return BadQuery(f"a picture of {what} cannot be read; it shows at most {most}", hint)
