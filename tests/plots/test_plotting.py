"""Pictures: what is drawn, that it can be read, and that files tell nothing but the picture."""

from __future__ import annotations

import re
import sys
from itertools import combinations, product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text

from hushtable.answers.estimation.estimate import Estimate
from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure
from hushtable.errors import BadOutput, BadQuery, MissingPackage
from hushtable.plots.drawing import draw
from hushtable.plots.fonts import families
from hushtable.plots.page import save
from hushtable.plots.words import one_line
from tests.harness.cases import chosen, few
from tests.release.examples import terms

NOTE = "The estimate is unbiased, and the interval covers the true answer."
HOMES = [f"place {place:03d}" for place in range(450)]
DAYS = {"start": "2024-01-01", "stop": "2025-01-01", "every": "1 day"}


def release(*attributes: dict[str, Any], title: str = "Commuters", **changes: Any) -> Any:
    """Return what `draw` needs of a release."""
    return terms(Domain.from_dict({"title": title, "attribute": list(attributes)}), **changes)


def categories(many: int, name: str = "home") -> dict[str, Any]:
    return {"name": name, "categories": [f"place {place:03d}" for place in range(many)]}


def answer(given: Any, codes: Any, estimates: Any, *, reach: float = 30) -> pa.Table:
    """Return what `by` answers for these codes: one row for each group."""
    codes = np.asarray(codes, dtype=np.int64).reshape(len(estimates), -1)
    columns = {
        each.name: each.values.decode(np.ascontiguousarray(column))
        for each, column in zip(given.domain.attributes, codes.T, strict=False)
    }
    middle = np.asarray(estimates, dtype=np.float64)
    columns |= {"estimate": middle, "standard_error": np.full(middle.size, reach / 2)}
    columns |= {"low": middle - reach, "high": middle + reach}
    return pa.table(columns).replace_schema_metadata({"note": NOTE, "confidence": "0.95"})


def no_others(most: int) -> None:
    """What is asked where no total can be had."""


def picture(given: Any, codes: Any = None, estimates: Any = None, **changes: Any) -> Figure:
    """Draw groups: by default all of the domain, with estimates that rise from below 0."""
    if codes is None:
        codes = np.stack(np.unravel_index(np.arange(given.domain.cells_total), given.domain.shape), axis=1)
    if estimates is None:
        estimates = 10.0 * np.arange(len(codes)) - 20
    names = given.domain.names[: np.asarray(codes).reshape(len(codes), -1).shape[1]]
    defaults = {"where": None, "title": None, "total_groups": len(codes), "others": no_others}
    options: dict[str, Any] = defaults | changes
    reach = options.pop("reach", 30)
    return draw(given, answer(given, codes, estimates, reach=reach), names, **options)


def tick_texts(axes: Axes, side: str) -> list[Text]:
    """Return the labels along an axis that are seen."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    inside = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    texts = [text for tick in inside for text in (tick.label1, tick.label2) if text.get_visible()]
    return [text for text in texts if text.get_text()]


def all_texts(figure: Figure) -> list[Text]:
    """Return every text on the page."""
    found = list(figure.texts)
    for axes in figure.axes:
        found += [*tick_texts(axes, "x"), *tick_texts(axes, "y"), axes.xaxis.label, axes.yaxis.label]
        legend = axes.get_legend()
        found += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    return [text for text in found if text.get_text().strip()]


def check_page(figure: Figure) -> None:
    """Fail where a text leaves the page or lies over another."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in all_texts(figure)]
    page = figure.bbox
    for said, box in boxes:
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, said
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, said
    for (one, first), (other, second) in combinations(boxes, 2):
        apart = (
            first.x1 <= second.x0 or second.x1 <= first.x0 or first.y1 <= second.y0 or second.y1 <= first.y0
        )
        # Boxes of lines hold the height of every letter, so neighbours may touch by a part of a point.
        near = min(first.y1, second.y1) - max(first.y0, second.y0) < 0.01 * figure.dpi
        assert apart or near, (one, other)


def labels(figure: Figure, side: str = "y") -> list[str]:
    return [text.get_text() for axes in figure.axes for text in tick_texts(axes, side)]


def bars(figure: Figure) -> list[Any]:
    return [patch for axes in figure.axes for patch in axes.patches]


def error_bars(figure: Figure) -> int:
    found = [each for axes in figure.axes for each in axes.collections if isinstance(each, LineCollection)]
    return sum(len(each.get_segments()) for each in found)


def said(figure: Figure, part: str) -> str:
    (text,) = (text.get_text() for text in figure.texts if text.get_gid() == part)
    return str(text)


@pytest.mark.parametrize("many", [1, 20, 41, 60])
def test_every_category_has_a_bar_an_interval_and_a_label(many: int) -> None:
    figure = picture(release(categories(many)))

    assert [bar.get_width() for bar in bars(figure)] == [10.0 * place - 20 for place in range(many)]
    assert error_bars(figure) == many
    assert labels(figure) == HOMES[:many]
    check_page(figure)


@pytest.mark.parametrize(
    ("last", "seen"), [(0, ["0"]), (2, ["0", "1", "2"]), (25, ["0", "5", "10", "15", "20", "25"])]
)
def test_between_whole_numbers_there_is_no_label(last: int, seen: list[str]) -> None:
    zone, home = (
        {"name": name, "integers": {"low": 0, "high": high}} for name, high in (("zone", last), ("home", 2))
    )
    squares = picture(release(zone, home))

    found = [text.get_text() for side in "xy" for text in tick_texts(squares.axes[0], side)]
    assert sorted(found) == sorted([*seen, "0", "1", "2"])


@pytest.mark.parametrize("many", chosen([61, 450, 1_500, 6_000], [0, 2]))
def test_of_very_many_groups_the_largest_are_shown_and_the_caption_says_so(many: int) -> None:
    figure = picture(release(categories(many)))

    largest = range(many - 1, many - 61, -1)
    assert [bar.get_width() for bar in bars(figure)] == [10.0 * place - 20 for place in largest]
    assert error_bars(figure) == 60
    assert labels(figure) == [f"place {place:03d}" for place in largest]
    caption = " ".join(said(figure, "caption").split())
    assert f"The picture shows the 60 largest of {many:,} groups. Groups picked for their size" in caption
    assert [text.get_text() for text in figure.axes[0].texts] == [
        f"{many - 60:,} more {'group is' if many == 61 else 'groups are'} not shown"
    ]
    check_page(figure)


@pytest.mark.parametrize(("asked", "drawn"), [(100, 100), (500, 400)])
def test_as_many_of_the_largest_are_shown_as_asked_for(asked: int, drawn: int) -> None:
    given = release(categories(1_500))
    figure = picture(given, codes=range(asked), estimates=np.arange(asked, 0, -1.0), total_groups=1_500)

    assert len(bars(figure)) == error_bars(figure) == drawn
    caption = " ".join(said(figure, "caption").split())
    assert f"The picture shows the {drawn} largest of 1,500 groups." in caption
    assert ("picked for their size" in caption) == (drawn < asked)  # else the answer's own note says so


@pytest.mark.parametrize(
    ("value", "low", "high", "text", "named"),
    chosen(
        [
            (40_000, 39_000, 41_500, "40,000 (39,000 to 41,500)", "white bar is"),
            (90_000, 89_960, 90_040, "90,000 (89,960 to 90,040)", "white bar, which is cut off, is"),
            (-70, 0, 4_321, "0 to 4,300", "last line is"),
            (500, 400, np.inf, "at least 400", "last line is"),
        ],
        taken=[1, 2],
    ),
)
def test_all_others_are_one_bar_or_one_line_with_their_number(
    value: float, low: float, high: float, text: str, named: str
) -> None:
    asked: list[int] = []

    def others(most: int) -> Estimate:
        asked.append(most)
        return Estimate(value=value, standard_error=1, low=low, high=high, confidence=0.95, note="")

    figure = picture(release(categories(4_500)), others=others)

    (axes,) = figure.axes
    assert asked == [60], "the question is about just those that are drawn"
    assert [each.get_text() for each in axes.texts] == [f"all others together: {text}"]
    caption = " ".join(said(figure, "caption").split())
    assert f"The {named} all others together. Its interval is stated on its own, and holds which" in caption
    rest, longest, end = bars(figure)[:-60], 10.0 * 4_499 - 20, axes.get_xlim()[1]
    assert max(bar.get_width() for bar in bars(figure)[-60:]) == longest
    assert len(rest) == ("bar" in named)
    assert "cut off" in named or [bar.get_width() for bar in rest] == [value][: len(rest)]
    assert ("cut off" in named) == any(bar.get_width() > end for bar in rest)
    assert longest < end < 1.2 * longest, "the groups keep their room"
    check_page(figure)


def test_the_first_bar_is_on_top_and_0_is_in_sight() -> None:
    figure = picture(release(categories(5)), estimates=[500, 400, 300, 200, 100])

    (axes,) = figure.axes
    bottom, top = axes.get_ylim()
    assert bottom > top
    assert axes.get_xlim()[0] == 0
    assert [line.get_xdata()[0] for line in axes.lines] == [0]  # type: ignore[index]


def test_the_caption_says_what_a_reader_must_know() -> None:
    given = release(categories(20))
    condition = "age >= 30\n AND  x = '$'"
    figure = picture(given, codes=[7, 3], estimates=[90, 80], total_groups=20, where=condition)

    caption = " ".join(said(figure, "caption").split())
    assert given.guarantee in caption
    assert f"Intervals have 95 % confidence. {NOTE} The picture shows the 2 largest of 20 groups." in caption
    assert said(figure, "title") == "Commuters: number of rows by home, where age >= 30 AND x = '$'"
    assert figure.axes[0].get_xlabel() == "number of rows (estimated)"
    assert figure.axes[0].get_ylabel() == "home"
    own = picture(given, codes=[7, 3], estimates=[90, 80], total_groups=20, where=condition, title="Mine")
    assert said(own, "title") == "Mine"
    assert "Only where age >= 30 AND x = '$'." in " ".join(said(own, "caption").split())


def test_the_caption_of_a_map_claims_no_intervals_that_are_not_drawn() -> None:
    caption = " ".join(said(picture(release(categories(2), categories(3, "work"))), "caption").split())

    assert caption.startswith(
        "Intervals are not drawn. A square is coloured if its interval of 95 % confidence leaves out 0. "
        + NOTE
    )
    assert "Intervals have" not in caption


def test_an_attribute_may_have_the_name_of_a_column_of_answers() -> None:
    given = release(categories(3, "estimate"))
    told = answer(release(categories(3)), [0, 1, 2], [5, 6, 7])
    told = told.rename_columns(["estimate", "estimate_", "standard_error", "low", "high"])
    figure = draw(given, told, ("estimate",), where=None, title=None, total_groups=3, others=no_others)

    assert [bar.get_width() for bar in bars(figure)] == [5, 6, 7]
    assert labels(figure) == HOMES[:3]


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (Measure(count_column="S000"), "number of people (estimated)"),
        (Measure(sum_column="pay $", clamp=(0, 9)), "sum of pay $ (estimated)"),
    ],
)
def test_the_axis_says_what_is_counted(measure: Measure, name: str) -> None:
    assert picture(release(categories(3), measure=measure)).axes[0].get_xlabel() == name


@pytest.mark.parametrize(
    ("largest", "unit", "shown"),
    [
        (9e6, "", "2,000,000"),
        (3e7, ", in millions", "10"),
        (5e9, ", in billions", "2"),
        (1e12, ", in billions", "200"),
        (6e12, ", in trillions", "2"),
        (4e300, ", in units of 10^300", "1"),
        (1.5e308, ", in units of 10^306", "50"),
    ],
)
def test_large_numbers_have_a_unit(largest: float, unit: str, shown: str) -> None:
    figure = picture(release(categories(3)), estimates=[largest, largest / 2, 0], reach=largest / 50)

    assert figure.axes[0].get_xlabel() == f"number of rows (estimated){unit}"
    assert shown in labels(figure, "x")
    check_page(figure)


@pytest.mark.parametrize("estimates", [[np.inf, 1, 2], [-np.inf, np.nan, 2]])
def test_what_is_infinite_is_not_drawn(estimates: list[float]) -> None:
    with pytest.raises(BadQuery, match="which is too large to draw"):
        picture(release(categories(3)), estimates=estimates)


def test_labels_of_categories_are_shown_and_long_ones_cut_where_they_differ() -> None:
    long = [
        f"Manufacture of motor vehicles, trailers and also semi-trailers, part {part}" for part in range(5)
    ]
    given = {"name": "industry", "categories": {"values": list("abcde"), "labels": long}}
    figure = picture(release(given))

    assert all("…" in label and label.endswith(f"part {part}") for part, label in enumerate(labels(figure)))
    assert all(label.startswith("Manufacture of motor vehicles") for label in labels(figure))
    check_page(figure)


def test_bins_are_as_wide_as_they_are() -> None:
    given = release({"name": "age", "bins": {"start": 0, "stop": 100, "step": 2.5}})
    figure = picture(given, codes=[0, 1, 39], estimates=[5, 6, 7])

    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in bars(figure)] == [
        (0, 2.5, 5),
        (2.5, 2.5, 6),
        (97.5, 2.5, 7),
    ]
    assert figure.axes[0].get_xlim() == (0, 100)
    check_page(figure)


def test_the_largest_bins_are_a_list() -> None:
    given = release({"name": "income", "bins": {"start": 0, "stop": 100_000, "step": 12_500}})
    figure = picture(given, codes=[7, 2], estimates=[9, 8], total_groups=8)

    assert labels(figure) == ["87,500 to <100,000", "25,000 to <37,500"]


def test_bins_between_edges_are_a_list() -> None:
    figure = picture(release({"name": "age", "bins": {"edges": [-1, 0, 18, 67.5]}}))

    assert labels(figure) == ["\N{MINUS SIGN}1 to <0", "0 to <18", "18 to <67.5"]


def test_whole_numbers_are_a_list_or_a_line() -> None:
    few = release({"name": "year", "integers": {"low": 1990, "high": 2000}})
    many = release({"name": "year", "integers": {"low": 1900, "high": 2000}})

    assert labels(picture(few)) == [str(year) for year in range(1990, 2001)]
    columns = picture(many)
    assert [bar.get_x() for bar in bars(columns)] == [year - 0.5 for year in range(1900, 2001)]
    assert {"1900", "1950", "2000"} & set(labels(columns, "x"))
    scattered = picture(many, codes=range(0, 100, 2), total_groups=50)
    assert labels(scattered) == [str(year) for year in range(1900, 2000, 2)]


@pytest.mark.parametrize("many", [450, 3_000])
def test_very_many_groups_are_steps_with_some_labels(many: int) -> None:
    figure = picture(release({"name": "id", "integers": {"low": 0, "high": many - 1}}))

    (axes,) = figure.axes
    assert len(axes.lines[0].get_xdata()) == 2 * many  # type: ignore[arg-type]
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert (band.min(), band.max()) == (-50, 10 * (many - 1) + 10)
    assert 5 <= len(labels(figure, "x")) <= 60
    check_page(figure)


def test_times_are_a_line_that_breaks_where_days_are_missing() -> None:
    days = [*range(100), 150, *range(200, 366)]
    figure = picture(release({"name": "day", "times": DAYS}), codes=days, total_groups=len(days))

    (axes,) = figure.axes
    line, points, _ = axes.lines
    assert np.isnan(np.asarray(line.get_xdata())).sum() == 2
    assert len(points.get_xdata()) == error_bars(figure) == 1  # type: ignore[arg-type]
    assert axes.get_xlabel() == "day (steps of 1 day, UTC), 2024-01-01 to 2024-12-31"
    assert {"2024", "Mar", "Jul"} <= set(labels(figure, "x"))
    check_page(figure)


@pytest.mark.parametrize(
    ("start", "stop", "every"),
    [
        ("2024-03-04", "2024-03-11", "1 hour"),
        ("2024-01-01", "2024-01-02", "15 minutes"),
        ("2024-01-01", "2024-01-01 00:00:01", "1 second"),
        ("1500-01-01", "2400-01-01", "10 years"),
        ("9990-01-01", "9999-12-01", "1 month"),
        ("0001-01-01", "0001-02-01", "1 day"),
    ],
)
def test_any_times_can_be_drawn(start: str, stop: str, every: str) -> None:
    times = {"name": "when", "times": {"start": start, "stop": stop, "every": every}}

    check_page(picture(release(times)))


def test_a_few_groups_over_time_are_lines() -> None:
    given = release({"name": "day", "times": DAYS}, categories(8))
    figure = picture(given)

    (axes,) = figure.axes
    drawn = [line for line in axes.lines if len(line.get_xdata()) == 366]  # type: ignore[arg-type]
    assert [np.asarray(line.get_ydata())[1] for line in drawn] == [80 + 10 * place - 20 for place in range(8)]
    assert len({line.get_color() for line in drawn}) == 8
    assert legend_of(figure) == HOMES[:8]
    check_page(figure)


def test_lines_have_their_names_whatever_these_are() -> None:
    names = ["_hidden", "$x^2$", "__"]
    figure = picture(release({"name": "day", "times": DAYS}, {"name": "$", "categories": names}))

    assert legend_of(figure) == names
    check_page(figure)


def cells_of(figure: Figure) -> list[np.ma.MaskedArray[Any, Any]]:
    """Return the grids of a map: cells around 0, cells below 0, and coloured cells."""
    meshes = [each for each in figure.axes[0].collections if isinstance(each, QuadMesh)]
    return [np.ma.masked_invalid(np.ma.asarray(mesh.get_array())) for mesh in meshes]


def legend_of(figure: Figure) -> list[str]:
    legend = figure.axes[0].get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_a_map_colours_what_is_clear() -> None:
    given = release(categories(2), categories(3, "work"))
    figure = picture(given, estimates=[100, 10, -10, -100, 60, 50])

    unclear, below, coloured = cells_of(figure)
    assert unclear.mask.tolist() == [[True, False, False], [True, True, True]]
    assert below.mask.tolist() == [[True, True, True], [False, True, True]]
    assert coloured.filled(0).tolist() == [[100, 0, 0], [0, 60, 50]]
    assert legend_of(figure) == ["the interval includes 0", "the interval lies below 0"]
    assert figure.axes[1].get_ylabel() == "number of rows (estimated)"
    assert labels(figure)[:2] == HOMES[:2]
    check_page(figure)


def test_a_map_of_sums_has_colours_on_both_sides_of_0() -> None:
    given = release(
        categories(2), categories(2, "work"), measure=Measure(sum_column="balance", clamp=(-5, 5))
    )
    figure = picture(given, estimates=[100, -60, 0, 50])

    *_, coloured = cells_of(figure)
    assert coloured.filled(0).tolist() == [[100, -60], [0, 50]]
    assert figure.axes[1].get_ylim() == (-100, 100)


def test_a_map_of_skewed_cells_has_a_logarithmic_scale() -> None:
    figure = picture(release(categories(2), categories(3, "work")), estimates=[40, 50, 60, 70, 80, 100_000])

    assert figure.axes[1].get_ylabel() == "number of rows (estimated),\nlogarithmic"
    assert "1,000" in labels(figure)


def test_a_map_leaves_out_what_is_not_selected_and_may_have_no_colour_at_all() -> None:
    given = release(categories(2), {"name": "age", "bins": {"start": 0, "stop": 10, "step": 5}})
    figure = picture(given, codes=[(0, 0), (0, 1), (1, 0)], estimates=[0, 0, 0])

    assert legend_of(figure) == ["the interval includes 0", "not selected"]
    assert len(figure.axes) == 1
    check_page(figure)


@pytest.mark.parametrize("shape", [(10, 10), (300, 60)])
def test_maps_can_be_read(shape: tuple[int, int]) -> None:
    check_page(picture(release(categories(shape[0]), categories(shape[1], "work"))))


def test_time_runs_from_left_to_right_in_a_map() -> None:
    figure = picture(release({"name": "day", "times": DAYS}, categories(9)))

    *_, coloured = cells_of(figure)
    assert coloured.shape == (9, 366)
    assert coloured[8, 1] == 10 * 17 - 20
    check_page(figure)


def test_the_largest_of_two_attributes_are_a_list() -> None:
    given = release(categories(60), categories(60, "work"))
    figure = picture(given, codes=[(7, 1), (2, 50)], estimates=[9, 8], total_groups=3600)

    assert labels(figure) == ["place 007 · place 001", "place 002 · place 050"]
    assert figure.axes[0].get_ylabel() == "home · work"


def test_nothing_is_drawn_of_too_much_or_of_nothing() -> None:
    given = release(categories(3), categories(3, "work"), categories(3, "sex"))
    with pytest.raises(BadQuery, match="one or two attributes, not of 3"):
        picture(given)
    nothing = answer(given, [0], [1]).slice(0, 0)
    with pytest.raises(BadQuery, match="no group meets the condition"):
        draw(given, nothing, ("home",), where="x", title=None, total_groups=0, others=no_others)
    integers = release({"name": "id", "integers": {"low": 0, "high": 9_999}}, categories(2))
    with pytest.raises(BadQuery, match=r"5,001 groups of 'id' cannot be read.*\n.*--top 40"):
        picture(integers, codes=range(5_001))
    with pytest.raises(BadQuery, match="5,001 groups of 'id' cannot be read"):
        picture(integers, codes=[(number, 0) for number in range(5_001)])
    with pytest.raises(BadQuery, match=r"601 by 2 groups cannot be read; it shows at most 600 by 600"):
        picture(integers, codes=[(number, place) for number in range(601) for place in range(2)])


@pytest.mark.filterwarnings("ignore:no font of this machine", "ignore:Glyph")
def test_text_is_shown_as_it_is() -> None:
    names = ["$x^2$", r"\frac", "a_{b}", "$", "<b>&amp;", "", "two\nlines", "Αθήνα", "東京", "القاهرة"]
    given = release({"name": "cost in $ or $", "categories": names}, title="From $1 to $2 $\\bad")
    figure = picture(given, where="a = '$\\undefined$'")

    assert labels(figure) == [*names[:5], "(empty)", "two lines", *names[7:]]
    title = "From $1 to $2 $\\bad: number of rows by cost in $ or $, where a = '$\\undefined$'"
    assert " ".join(said(figure, "title").split()) == title
    assert not any(text.get_parse_math() for text in all_texts(figure) if "$" in text.get_text())
    check_page(figure)


def test_letters_without_a_font_are_one_warning() -> None:
    with pytest.warns(UserWarning, match="no font of this machine has these letters") as found:
        families(["a\U0010fffd", "\U0010fffc"])

    assert len(found) == 1
    assert one_line("a\x1b[1m\u202eb") == r"a\x1b[1m\u202eb"


@pytest.mark.filterwarnings("ignore:no font of this machine", "ignore:Glyph")
def test_long_texts_are_wrapped_and_nothing_of_them_is_lost() -> None:
    title = "Some words and_one_that_is_far_too_long_for_any_line_of_this_page " * 5 + "W" * 400 + "語" * 200
    figure = picture(release(categories(3)), title=title)

    assert "".join(said(figure, "title").split()) == "".join(title.split())
    check_page(figure)


@pytest.mark.filterwarnings("ignore:no font of this machine", "ignore:Glyph")
@pytest.mark.parametrize(
    ("letter", "shape"), few(product("W語i", [(3,), (30,), (12, 12), (366, 8), (80, 80)]), every=4)
)
def test_labels_of_wide_and_narrow_letters_fit(shape: tuple[int, ...], letter: str) -> None:
    kinds: list[dict[str, Any]] = [
        {"name": f"{letter * 20} {side}", "categories": [f"{letter * 60}{place}" for place in range(many)]}
        for side, many in enumerate(shape)
    ]
    if shape == (366, 8):
        kinds[0] = {"name": "day", "times": DAYS}

    check_page(picture(release(*kinds)))


def test_a_page_grows_with_its_texts() -> None:
    given = release({"name": "n" * 200, "categories": ["c" * 300, "d"]}, title="A long title " * 30)
    figure = picture(given, where="a IN (" + ", ".join(map(str, range(2000))) + ")")

    check_page(figure)
    assert "characters)" in said(figure, "caption")
    assert said(picture(given, title="Mine\nalone"), "title") == "Mine\nalone"


@pytest.mark.parametrize(
    ("name", "start"), chosen([("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")], [0])
)
def test_the_same_answer_is_the_same_file(tmp_path: Path, name: str, start: bytes) -> None:
    given = release(categories(3), categories(3, "work"))
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save(picture(given), tmp_path / folder / name, overwrite=False)

    first, second = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
    assert first == second
    assert first.startswith(start)
    assert b"hushtable" in first
    assert not re.search(rb"20\d\d-\d\d-\d\d|D:20\d\d|matplotlib v", first)


def test_a_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    figure = picture(release(categories(3)))
    path = tmp_path / "a.svg"
    path.write_text("mine")

    with pytest.raises(BadOutput, match="--overwrite"):
        save(figure, path, overwrite=False)
    for name in ("a.svg", "a.png", "a.pdf"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(BadOutput, match="what is there is not a picture by hushtable"):
            save(figure, tmp_path / name, overwrite=True)
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
        save(figure, tmp_path / name, overwrite=False)
        save(figure, tmp_path / name, overwrite=True)
    assert path.read_text().startswith("<?xml")
    with pytest.raises(BadOutput, match=r"ends in \.png, \.svg, \.pdf"):
        save(figure, tmp_path / "a.jpg", overwrite=False)


def test_a_user_s_own_settings_neither_matter_nor_change(tmp_path: Path) -> None:
    given = release(categories(3))
    save(picture(given), tmp_path / "a.png", overwrite=False)
    odd: Any = {"font.size": 30.0, "axes.facecolor": "red", "savefig.bbox": "tight", "axes.grid": True}
    with mpl.rc_context(odd):
        save(picture(given), tmp_path / "b.png", overwrite=False)
        assert {name: mpl.rcParams[name] for name in odd} == odd

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_without_matplotlib_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingPackage, match="pip install matplotlib"):
        picture(release(categories(3)))
