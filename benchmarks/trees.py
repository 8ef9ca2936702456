"""Pruned trees: what they are worth beside the paper's methods and noise on everything, and what they cost.

Tables, ranges and the paper's methods are those of `ranges`. Answers of a tree are sums of its own masses,
spread over cells; one published release is asked by `release.total`, and must agree.
Cost: some three minutes.
"""

from functools import cache, partial
from math import log, sqrt
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import boxes, dense
from benchmarks.dense import Ranges
from benchmarks.pruned import Drawn, drawn, over
from benchmarks.ranges import (
    CELLS,
    COLUMNS,
    EPSILON,
    SIZE,
    WAYS,
    WIDTHS,
    Arm,
    Table,
    arms,
    chosen,
    clustered_table,
    uniform_table,
)
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.tables import made_up
from benchmarks.timing import best
from benchmarks.worker import fresh
from hushtable.answers.estimation.tails import normal_reach
from hushtable.answers.nodes.ranges import Ranges as Asked
from hushtable.answers.pruned.coverage import LineCoverage
from hushtable.answers.pruned.walking import walked
from hushtable.noise import KeyStream
from hushtable.structures.fitting import fitted
from hushtable.structures.pruned import PrunedSpace

Array = NDArray[np.float64]

_RANGES = 500
_RELEASES, _MORE = 10, 100  # the latter of what figures with a bar rest on


class Errors(NamedTuple):
    """Mean sizes of errors, a row for each release and a column for each R."""

    kind: str
    name: str
    errors: Array
    cutoff: float
    rows: float

    @property
    def means(self) -> Array:
        """The mean over releases."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def spreads(self) -> Array:
        """The standard errors of the means, as parts of them."""
        return np.asarray(self.errors.std(axis=0, ddof=1) / sqrt(len(self.errors)) / self.means)

    @property
    def figures(self) -> tuple[str | Figure, ...]:
        """What a sheet shows of it."""
        cutoff, rows = f"{self.cutoff:.0f}" if self.cutoff else "", f"{self.rows:,.0f}"
        means = map(Figure, self.means.tolist())
        return cutoff, rows, *means, f"{len(self.errors)}", Figure(100 * float(self.spreads.max()))


class Asking(NamedTuple):
    """A table, and ranges of each R with their true sums."""

    table: Table
    ranges: Ranges
    truths: Array

    @classmethod
    def about(cls, table: Table, *, number: int = _RANGES) -> "Asking":
        """Choose ranges, the same for every table."""
        random = np.random.default_rng(7)
        parts = [chosen(width, number, random) for width in WIDTHS.values()]
        ranges = Ranges(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        return cls(table, ranges, table.truths(ranges))

    def errors(self, answers: Array) -> Array:
        """Return the mean size of the error for each R."""
        sizes = np.abs(answers - self.truths).reshape(len(WIDTHS), -1)
        return np.asarray(sizes.mean(axis=1))

    def of_cells(self, values: Array) -> Array:
        """Return the errors if cells have these values."""
        return self.errors(WAYS["cells"].answers(values, self.ranges))


class Compared(NamedTuple):
    """Pruned trees, and what they are compared with, on one table."""

    asking: Asking
    tree: Errors
    others: list[Errors]
    least_squares: Errors

    def summaries(self, kind: str) -> list[Errors]:
        """Return the summaries of a kind; everything is none."""
        return [each for each in self.others if each.kind == kind and each.name != "everything"]


_TABLES = {"uniform": uniform_table, "clustered": clustered_table}
_COMPARED: dict[str, Compared] = {}  # measured once, shown in several sheets


def _compared(placement: str, say: Say) -> Compared:
    """Measure pruned trees beside everything else."""
    if placement not in _COMPARED:
        asking, nodes = Asking.about(_TABLES[placement]()), over((CELLS,), ht.Tree())
        (tree,) = _tree_errors(say, placement, asking, nodes, {"filter": False})
        others = [_arm_errors(say, placement, asking, arm) for arm in arms() if arm.structure is not None]
        _COMPARED[placement] = Compared(asking, tree, others, _dense_errors(say, placement, asking))
    return _COMPARED[placement]


def uniform(say: Say) -> Sheet:
    """Measure errors beside the paper's methods, occupied cells being anywhere."""
    say("asking a published release")
    _check_answers()
    return _against_the_paper(say, "uniform")


def clustered(say: Say) -> Sheet:
    """Measure errors beside the paper's methods, occupied cells being close together."""
    return _against_the_paper(say, "clustered")


def _against_the_paper(say: Say, placement: str) -> Sheet:
    sheet = Sheet(
        title=(
            f"Mean size of the error of sums over R cells, {placement} placement: m = 2^20, density 0.1, "
            f"N(100, 20), epsilon 0.1, size {SIZE:,}"
        ),
        columns=("noised", "summary", "cutoff", "rows", *COLUMNS, "releases", "± %"),
        note=(
            f"Tables and ranges of the group `ranges`: {_RANGES} ranges of each R, the same for all. ± %: "
            "the largest standard error of the row, over releases. Everything: noise on all nodes, without a "
            "summary. Least squares: all nodes of a tree of 16, made consistent (Hay et al. 2010)."
        ),
    )
    found = _compared(placement, say)
    sums = (Figure(float(each.mean())) for each in found.asking.truths.reshape(len(WIDTHS), -1))
    sheet.add("", "the mean sum itself", "", "", *sums, "", "")
    for each in (found.tree, *found.others, found.least_squares):
        sheet.add(each.kind, each.name, *each.figures)
    return sheet


def ratios(say: Say) -> Sheet:
    """Compare errors with the best of others."""
    sheet = Sheet(
        title="How many times the error of the pruned tree others have, from the sheets above",
        columns=("placement", "the best of", *COLUMNS, "± %"),
        note=(
            "The best: for each R by itself. Everything is no summary. ± %: the standard error of the ratio, "
            "at its largest. Least squares have a bar on data that can be pruned."
        ),
    )
    for placement in _TABLES:
        found = _compared(placement, say)
        prunable = Bar(">=", 1) if placement == "clustered" else None
        for label, compared, bar in (
            ("dyadic summaries", found.summaries("dyadic"), Bar(">=", 3)),
            ("Haar summaries", found.summaries("Haar"), None),
            ("least squares, all nodes", [found.least_squares], prunable),
        ):
            means = np.array([each.means for each in compared])
            spreads = np.array([each.spreads for each in compared])
            least, columns = means.argmin(axis=0), np.arange(len(WIDTHS))
            both = np.hypot(spreads[least, columns], found.tree.spreads)
            figures = (Figure(ratio, bar) for ratio in (means[least, columns] / found.tree.means).tolist())
            sheet.add(placement, label, *figures, Figure(100 * float(both.max())))
    return sheet


def _arm_errors(say: Say, placement: str, asking: Asking, arm: Arm) -> Errors:
    """Measure one of the paper's methods; the best of them more often."""
    consistent = isinstance(arm.structure, ht.Dyadic) and arm.structure.consistent
    releases = _MORE if consistent and isinstance(arm.method, ht.Filter) else _RELEASES
    errors, rows, cutoffs = [], 0.0, 0.0
    for number in range(releases):
        say(f"{placement}, {arm.kind}, {arm.name}: release {number + 1} of {releases}")
        weights, published, cutoff = asking.table.released(arm)
        errors.append(asking.errors(WAYS[arm.kind].answers(weights, asking.ranges)))
        rows, cutoffs = rows + published / releases, cutoffs + (cutoff or 0) / releases
    return Errors(arm.kind, arm.name, np.array(errors), cutoffs, rows)


def _dense_errors(say: Say, placement: str, asking: Asking) -> Errors:
    """Measure noise on all nodes of a tree, made consistent."""
    way = dense.ConsistentTree(5, branching=16)
    values, errors = way.values(asking.table.counts), []
    for number in range(_MORE):
        say(f"{placement}, least squares: release {number + 1} of {_MORE}")
        noisy = dense.noisy(values, EPSILON / way.levels, KeyStream())
        errors.append(asking.errors(way.answers(noisy, asking.ranges)))
    return Errors("tree of 16", "everything, least squares", np.array(errors), 0.0, values.size)


def _tree_errors(
    say: Say, placement: str, asking: Asking, nodes: PrunedSpace, kinds: dict[str, bool]
) -> list[Errors]:
    """Measure pruned trees: the same ones for each kind of fit."""
    label = f"tree of {nodes.tree.branching}"
    errors: dict[str, list[Array]] = {name: [] for name in kinds}
    rows, cutoffs = 0.0, 0.0
    for number in range(_MORE):
        say(f"{placement}, {label}: release {number + 1} of {_MORE}")
        tree = drawn(asking.table.sparse, nodes, epsilon=EPSILON, size=SIZE)
        rows, cutoffs = rows + tree.rows / _MORE, cutoffs + tree.cutoff / _MORE
        for name, squares in kinds.items():
            errors[name].append(asking.of_cells(tree.cells(squares=squares)))
    return [Errors(label, name, np.array(found), cutoffs, rows) for name, found in errors.items()]


_FITS = {"by halves": False, "least squares": True}
_BRANCHINGS = 4, 8, 32, 64
_SHARES = {"equal shares": (1,) * 6, "root 1/8": (1, *(8,) * 5), "root 1/4, next 3/4": (1, 3, 4, 4, 4, 4)}


def parts(say: Say) -> Sheet:
    """Measure what the parts of a fit are worth, and other choices of the tree."""
    sheet = Sheet(
        title=f"What parts of a pruned tree are worth: m = 2^20, epsilon 0.1, size {SIZE:,}",
        columns=("placement", "tree", "fit", "cutoff", "rows", *COLUMNS, "releases", "± %"),
        note=(
            "Tables and ranges as above. The first two rows of a placement are of the same releases: what "
            "is published, and what least squares alone make of it. If nothing else is said, the root has a "
            "quarter of another level's share of epsilon."
        ),
    )
    for placement, table in _TABLES.items():
        measure = partial(_tree_errors, say, placement, Asking.about(table()))
        found = measure(over((CELLS,), ht.Tree()), _FITS)
        for label, shares in _SHARES.items():
            found += measure(over((CELLS,), ht.Tree(), shares=shares), {label: False})
        for branching in _BRANCHINGS:
            found += measure(over((CELLS,), ht.Tree(branching=branching)), {"by halves": False})
        for each in found:
            sheet.add(placement, each.kind, each.name, *each.figures)
    return sheet


_ASKED, _ASKED_RELEASES, _CHANCE = 300, 20, 0.05
_REACH = max(-log(_CHANCE) / sqrt(2), normal_reach(_CHANCE))  # as `_check_answers` makes sure


@cache
def _skewed() -> Table:
    """Return a table with few large counts and many small ones, anywhere."""
    random = np.random.default_rng(6)
    occupied = random.choice(CELLS, CELLS // 10, replace=False)
    return Table(occupied, np.ceil(random.lognormal(3, 1.5, occupied.size)))


def coverage(say: Say) -> Sheet:
    """Measure how often intervals hold the truth."""
    sheet = Sheet(
        title="Coverage of nominal 95 % intervals of sums over R cells, in %: trees of 16, epsilon 0.1",
        columns=("placement", "counts", *COLUMNS, "median of\nwidth/RMSE"),
        note=(
            f"{_ASKED} ranges of each R, {_ASKED_RELEASES} releases. RMSE: of ranges of the same R; the "
            "ideal ratio is 3.92."
        ),
    )
    nodes = over((CELLS,), ht.Tree())
    for placement, counts, table in (
        ("uniform", "N(100, 20)", uniform_table()),
        ("clustered", "N(100, 20)", clustered_table()),
        ("uniform", "lognormal(3, 1.5)", _skewed()),
    ):
        asking = Asking.about(table, number=_ASKED)
        held, squares, widths = [], [], []
        for number in range(_ASKED_RELEASES):
            say(f"{placement}, {counts}: release {number + 1} of {_ASKED_RELEASES}")
            value, low, high = _answered(
                drawn(table.sparse, nodes, epsilon=EPSILON, size=SIZE), asking.ranges
            )
            held.append((low <= asking.truths) & (asking.truths <= high))
            squares.append((value - asking.truths) ** 2)
            widths.append(high - low)
        shares = 100 * np.mean(held, axis=0).reshape(len(WIDTHS), -1).mean(axis=1)
        errors = np.sqrt(np.mean(squares, axis=0).reshape(len(WIDTHS), -1).mean(axis=1))
        typical = np.median(np.array(widths).reshape(_ASKED_RELEASES, len(WIDTHS), -1), axis=(0, 2))
        figures = (Figure(share, Within(93, 99)) for share in shares.tolist())
        sheet.add(placement, counts, *figures, Figure(float(np.median(typical / errors))))
    return sheet


def _answered(tree: Drawn, ranges: Ranges) -> tuple[Array, Array, Array]:
    """Return estimates and their intervals."""
    numbers = np.arange(ranges.starts.size)
    asked = LineCoverage(Asked(numbers, ranges.starts, ranges.stops, numbers.size))
    value, free, variance = walked(tree.tree, tree.fit, asked)
    reach = _REACH * np.sqrt(variance)
    return value, np.maximum(np.minimum(free - reach, value), 0.0), np.maximum(free + reach, value)


def _check_answers() -> None:
    """Raise unless a published release answers as this benchmark takes it to."""
    ranges = chosen(5000, 20, np.random.default_rng(9))
    with TemporaryDirectory() as folder:
        release = uniform_table().published(Arm(ht.Tree(), ht.Filter(size=SIZE)), folder)
    terms, tree = release.terms, over((CELLS,), ht.Tree()).tree
    cutoff = terms.cutoff or 1.0
    laws = [terms.law_at(share) for share in tree.shares]
    squares = fitted(tree, release.codes[:, 0], release.counts, laws=laws, cutoff=cutoff)
    found = Drawn(tree, squares.with_own(release.weights), cutoff, squares)
    sums = WAYS["cells"].answers(found.cells(), ranges)
    for start, stop, sum_, value, low, high in zip(*ranges, sums, *_answered(found, ranges), strict=True):
        asked = release.total(cell=ht.between(int(start), int(stop)), assume="even")
        if not np.allclose((asked.value, sum_, asked.low, asked.high), (value, value, low, high)):
            raise AssertionError("a release of a pruned tree does not answer as this benchmark takes it to")


_MANY_CELLS = 10**6


def speed(say: Say) -> Sheet:
    """Measure drawing a tree against the flat summary."""
    sheet = Sheet(
        title="Time of summarising: n = 10^6, m = 2^40, s = 10^5, in one process",
        columns=("noised", "epsilon", "flat s", "tree s", "rows", "ratio"),
        note=(
            "Flat: the largest cells above 0. Both start from the table, which is in the order of the line, "
            "not in z-order. Counts as flows. Best of 5. The bar is for the line."
        ),
    )
    method = ht.Filter(size=SIZE, two_sided=False)
    for label, shape, structure, bar in (
        ("line of 2^40", (1 << 40,), ht.Tree(), Bar("<=", 5)),
        ("z-order, 2^20 x 2^20", (1 << 20, 1 << 20), ht.Tree(order="morton"), None),
    ):
        codes, counts = made_up(shape, _MANY_CELLS)
        table = ht.SparseTable(shape=shape, codes=codes, counts=counts)
        del codes, counts
        for epsilon in ("0.1", "1", "10"):
            say(f"{label}, epsilon {epsilon}")
            jobs = [
                partial(ht.summarize, table, method, epsilon=epsilon, structure=each)
                for each in (None, structure)
            ]
            rows = len(jobs[1]())
            flat, tree = best(jobs, rounds=5)
            sheet.add(label, epsilon, Figure(flat), Figure(tree), f"{rows:,}", Figure(tree / flat, bar))
    return sheet


def longest(say: Say) -> Sheet:
    """Measure the longest line, and the most attributes."""
    sheet = Sheet(
        title="The largest domains: n = 10^6, m = 2^60, s = 10^5, a process for each",
        columns=("noised", "branching", "s", "rows", "process\npeak GiB"),
        note="Seconds of `ht.summarize` alone. The peak is that of the whole process.",
    )
    settings = "Filter", {"size": SIZE, "two_sided": False}
    shapes = {"line of 2^60": (1 << 60,), "z-order of 30 attributes of 4 values": (4,) * 30}
    for label, shape in shapes.items():
        for branching in (16, 4):
            say(f"{label}, branching {branching}")
            order = None if len(shape) == 1 else "morton"
            structure = "Tree", {"branching": branching, "order": order}
            run = fresh("summary", shape=shape, cells=_MANY_CELLS, method=settings, structure=structure)
            peak = Figure(run["peak"] / 2**30, Bar("<=", 8))
            sheet.add(label, f"{branching}", Figure(run["summarize"]), f"{run['rows']:,}", peak)
    return sheet


SHEETS = (uniform, clustered, ratios, coverage, boxes.two_dimensions, parts, speed, longest)
