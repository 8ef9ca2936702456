"""What people ask, on real data: by one attribute, by two, and by levels. Errors, intervals, predictions.

Every data set of ../shared/data with three attributes or more, and commuters with levels, is published with
20,000 rows, once as the default does it and once for exactly the questions that are then asked. The data stay
there; without them, sheets say so.

Promise: one set of releases answers all sheets about real data, so that their figures belong together.
Cost: some five minutes, and three for the sheets about Adult, sets of cells and noise.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, exp, prod, sqrt
from pathlib import Path
from statistics import fmean, geometric_mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks import hopeless, sets, shares, threes
from benchmarks.grouped import MANY_GROUPS, SIZE, Measured, measured, published
from benchmarks.real import MISSING, NAMES, AskedTable, Item, Question, real_table
from benchmarks.report import Bar, Figure, Say, Sheet

_EPSILONS = Fraction(1, 10), Fraction(1), Fraction(3)
_ANSWERS = 1200  # to each question with many groups, at least: coverage is then known to 0.6 %
_MEANS = {"default": 0.3, "ask": 0.25}  # the bars of geometric means
_CLOSE, _ENOUGH = 0.2, 200  # a prediction that holds; answers that tell whether it does
_COARSE = 3.0  # noise from which on an interval need not be wide because counts are whole numbers
_MANY_ANSWERS = 5000  # that tell a root mean square error to 2 %, even of geometric noise
_ADULT_RELEASES = {2: 30, 3: 10}  # by the order of tables: those of three have more cells, and tell as much
_MODELLED = 5  # of them, whose models are compared
_STRONGEST = 7.1  # percent, of all tables of three, with the same epsilon and a delta of 10^-9
# Of tables of one and of two attributes, published for those of two; in percent.
_DISTANCES: dict[tuple[int, ...], Bar] = {(1,): Bar("<=", 0.45), (2,): Bar("<=", 2.2)}


class Arm(NamedTuple):
    """One table, published one way with one epsilon: what came of its questions."""

    table: str
    epsilon: Fraction
    way: str
    some: list[Measured]  # of fewer attributes than the domain has
    both: list[Measured]  # of all attributes, at levels

    @property
    def labels(self) -> tuple[str, str, str]:
        """How its rows begin."""
        return self.table, f"{float(self.epsilon):g}", self.way


_arms: list[Arm] = []  # those of the first sheet that asks serve all


def _measured(say: Say) -> list[Arm]:
    """Publish all tables in both ways, and ask; only once."""
    if not _arms:
        _arms.extend(_published_and_asked(say))
    return _arms


def _published_and_asked(say: Say) -> Iterator[Arm]:
    for name in NAMES:
        say(f"reading {name}")
        table = real_table(name)
        some, both = table.questions, table.whole_questions
        releases = ceil(_ANSWERS / min(each for each in map(table.groups, some) if each >= MANY_GROUPS))
        for epsilon in _EPSILONS:
            for way in _MEANS:
                say(f"{name}, epsilon {float(epsilon):g}, {way}")
                ask = None if way == "default" else [*some, *both]
                found = measured(table, [*some, *both], epsilon=epsilon, releases=releases, ask=ask)
                yield Arm(name, epsilon, way, found[: len(some)], found[len(some) :])


def errors(say: Say) -> Sheet:
    """Measure errors against those of noise on every cell."""
    sheet = Sheet(
        title="Questions by one and two attributes: error as a share of that of noise on every cell",
        columns=("table", "epsilon", "way", "questions", "largest", "by", "geometric mean"),
        note=(
            f"Root mean square over all groups of 5 to 12 releases of size {SIZE:,}. Noise on every cell: "
            "two-sided geometric, with all of epsilon,\nin closed form. Default: nothing but the size is "
            "given. Ask: published for exactly these questions. Both: questions by both\nattributes of a "
            "domain of two, at levels; the bar is for those published whole."
        ),
    )
    if MISSING:
        return _without_data(sheet)
    for arm in _measured(say):
        worst = max(arm.some, key=lambda each: each.ratio)
        mean = geometric_mean(each.ratio for each in arm.some)
        sheet.add(
            *arm.labels,
            f"{len(arm.some)}",
            Figure(worst.ratio, Bar("<=", 1)),
            str(worst.question),
            Figure(mean, Bar("<=", _MEANS[arm.way])),
        )
        for each in arm.both:
            bar = Bar("<=", 1.1) if each.whole else None
            sheet.add(*arm.labels, "both", Figure(each.ratio, bar), str(each.question), "")
    return sheet


def intervals(say: Say) -> Sheet:
    """Measure how often intervals of 95 % hold."""
    sheet = Sheet(
        title="The same: intervals of 95 %, in percent that hold the truth",
        columns=("table", "epsilon", "way", "all", "least", "by"),
        note=(
            "All: over all groups of all questions. Least: of one question with "
            f"{MANY_GROUPS} groups or more, over all groups and releases."
        ),
    )
    if MISSING:
        return _without_data(sheet)
    for arm in _measured(say):
        every = [*arm.some, *arm.both]
        held = 100 * sum(each.covered for each in every) / sum(each.answers for each in every)
        least = min((each for each in every if each.groups >= MANY_GROUPS), key=lambda each: each.coverage)
        bars = Bar(">=", 92), Bar(">=", 93)
        sheet.add(*arm.labels, Figure(held, bars[0]), Figure(least.coverage, bars[1]), str(least.question))
    return sheet


def widths(say: Say) -> Sheet:
    """Measure whether intervals are wider than they need to be, where whole tables answer."""
    sheet = Sheet(
        title="The same, where whole tables answer with a standard error of 3 or more: intervals of 95 %",
        columns=(
            "table",
            "epsilon",
            "way",
            "% that hold, most",
            "by",
            "width, widest",
            "by ",
            "noise",
        ),
        note=(
            f"Most: of one question with {MANY_GROUPS} groups or more. Width: the median over a question's "
            f"groups, divided by the root mean square error; of\nquestions with {_MANY_ANSWERS:,} answers or "
            "more, which tell that error to 2 %. Of less noise, intervals are wide because counts are whole."
            "\nA single count with a noise of 3.07 needs 7 on either side, 4.56 errors: 6 hold 94.99 %."
        ),
    )
    if MISSING:
        return _without_data(sheet)
    for arm in _measured(say):
        noisy = [each for each in (*arm.some, *arm.both) if each.whole and each.noise >= _COARSE]
        most = max((each for each in noisy if each.groups >= MANY_GROUPS), key=_coverage, default=None)
        wide = max((each for each in noisy if each.answers >= _MANY_ANSWERS), key=_width, default=None)
        sheet.add(
            *arm.labels,
            *((Figure(_coverage(most), Bar("<=", 99)), str(most.question)) if most else ("", "")),
            *((Figure(_width(wide), Bar("<=", 4.5)), str(wide.question)) if wide else ("", "")),
            Figure(wide.noise) if wide else "",
        )
    return sheet


def _coverage(found: Measured) -> float:
    return found.coverage


def _width(found: Measured) -> float:
    """Return how wide intervals are, in errors."""
    return found.width / found.error


def predictions(say: Say) -> Sheet:
    """Measure how many errors are as the planner predicts them."""
    sheet = Sheet(
        title="The same: errors as predicted from public facts",
        columns=("way", "questions", "of them, within 20 %", "measured well", "of them, within 20 % "),
        note=(
            "Percent of questions, of all tables and epsilons, whose measured error is within 20 % of the "
            f"predicted one. Measured well: by {_ENOUGH}\nanswers or more; the error of fewer is itself not "
            "known to 20 %."
        ),
    )
    if MISSING:
        return _without_data(sheet)
    for way in _MEANS:
        every = [each for arm in _measured(say) if arm.way == way for each in (*arm.some, *arm.both)]
        told = [each for each in every if each.predicted is not None]
        well = [each for each in told if each.answers >= _ENOUGH]
        if not told:
            sheet.add(way, "the planner predicts none", "", "", "")
            continue
        all_close, well_close = (100 * fmean(map(_close, some)) for some in (told, well))
        sheet.add(way, f"{len(told)}", Figure(all_close), f"{len(well)}", Figure(well_close, Bar(">=", 80)))
    return sheet


def _close(found: Measured) -> bool:
    """Return whether the error is within 20 % of the predicted one."""
    return found.predicted is not None and abs(found.error - found.predicted) <= _CLOSE * found.predicted


def adult(say: Say) -> Sheet:
    """Measure a fitted cube of Adult: distances of non-negative tables, and the noise of unbiased ones."""
    sheet = Sheet(
        title="Adult, epsilon 1, published for all tables of two or of three attributes, or of up to so many",
        columns=("asked", "tables of", "L1 distance, %", "noise of a cell", "least squares", "ratio"),
        note=(
            "L1 distance: of non-negative estimates to the truth, as shares of all people; mean over tables "
            f"and {_ADULT_RELEASES[2]} or {_ADULT_RELEASES[3]} releases. Noise: root\nmean square of "
            "standard errors, each table alike. "
            "Least squares: the same for equal shares of epsilon and no smaller tables,\nin closed form. "
            "Bars are for the tables that were asked for.\nModel: of tables that nobody asked for; the "
            "bar is what AIM is said to reach by choosing what it measures."
        ),
    )
    if MISSING:
        return _without_data(sheet)
    table = real_table("adult")
    modelled: list[float] = []
    for order, asked in ((2, (2,)), (2, (1, 2)), (3, (3,)), (3, (1, 2, 3))):
        found: dict[int, list[tuple[float, float]]] = {number: [] for number in range(1, order + 1)}
        said = "up to " * (len(asked) > 1) + str(order)
        with TemporaryDirectory() as folder:
            for number in range(_ADULT_RELEASES[order]):
                say(f"Adult, tables of {said}, release {number + 1} of {_ADULT_RELEASES[order]}")
                output = Path(folder) / "adult.parquet"
                ask = [each for many in asked for each in _all_of(table, many)]
                release = published(table, epsilon=Fraction(1), output=output, ask=ask)
                for many, pairs in found.items():
                    pairs += [_distance_and_variance(release, table, each) for each in _all_of(table, many)]
                if asked == (2,) and number < _MODELLED:
                    modelled += [_distance(release, table, each, "model") for each in _all_of(table, 3)]
        for orders in (*((many,) for many in found), tuple(found)):
            distance, variance = np.mean([pair for many in orders for pair in found[many]], axis=0)
            least = _fitted_noise(table.domain.shape, measured_order=order, orders=orders)
            bar = _DISTANCES.get(orders) if asked == (2,) else None
            sheet.add(
                f"all of {said}",
                " or ".join(map(str, orders)),
                Figure(100 * distance, bar),
                Figure(sqrt(variance)),
                Figure(least),
                Figure(sqrt(variance) / least, Bar("<=", 1.03) if orders == asked else None),
            )
    distance = Figure(100 * fmean(modelled), Bar("<=", _STRONGEST))
    sheet.add("all of 2", "3, by the model", distance, "", "", "")
    return sheet


def _all_of(table: AskedTable, order: int) -> list[Question]:
    """Return the questions by so many attributes."""
    return [Question(each) for each in combinations(map(Item, table.domain.names), order)]


def _distance_and_variance(release: Any, table: AskedTable, question: Question) -> tuple[float, float]:
    """Return how far non-negative answers are off in all, as a share of people, and the mean variance."""
    noise = release.by(question.names).column("standard_error").to_numpy()
    return _distance(release, table, question, "nonnegative"), float(np.mean(noise**2))


def _distance(release: Any, table: AskedTable, question: Question, column: str) -> float:
    """Return how far numbers of a column are off in all, as a share of people."""
    truth = table.truth(question)
    found = release.by(question.names, **{column: True}).column(column).to_numpy()
    return float(np.abs(found - truth).sum() / truth.sum())


def _fitted_noise(shape: Sequence[int], *, measured_order: int, orders: Sequence[int]) -> float:
    """Return the noise of a cell of tables of these orders, fitted to those of one order alone.

    The residual components of a set of attributes are known from every measured table that contains it, each
    with the variance of a sum over the others (ResidualPlanner, arXiv 2305.08175).
    """
    places = range(len(shape))
    tables = list(combinations(places, measured_order))
    base = exp(-1 / len(tables))
    variance = 2 * base / (1 - base) ** 2

    def component(held: tuple[int, ...]) -> float:
        larger = (set(each) - set(held) for each in tables if set(held) <= set(each))
        return 1 / sum(1 / (variance * prod(shape[place] for place in rest)) for rest in larger)

    def cell(asked: tuple[int, ...]) -> float:
        return sum(
            component(held)
            * prod(1 - 1 / shape[place] for place in held)
            / prod(shape[place] ** 2 for place in asked if place not in held)
            for many in range(len(asked) + 1)
            for held in combinations(asked, many)
        )

    return sqrt(np.mean([cell(asked) for many in orders for asked in combinations(places, many)]))


def _without_data(sheet: Sheet) -> Sheet:
    """Return the sheet with one row, which says that the data are not there."""
    sheet.add(str(MISSING), *[""] * (len(sheet.columns) - 1))
    return sheet


SHEETS = (
    errors,
    intervals,
    widths,
    predictions,
    threes.threes,
    shares.best,
    adult,
    sets.losses,
    hopeless.calls,
)
