"""Ranges and boxes beside the best published methods, on real tables at several scales.

The histograms of DPBench (Hay et al. 2016), and commuters: of a line, by where they live; of a square, by
where they live and work. As in DPBench, a table of another scale is drawn from the shape of the true one.
Ours is what `ht.Tree()` does for a line and `ht.Tree(order="morton")` for a square, nothing chosen
afterwards; the others are `peers`. All answer the same questions. `QUICK=1` takes fewer releases and
questions.

The data are in ../shared/data and stay there; without them, the sheets say so.
Cost: some ten minutes, or one with `QUICK=1`.
"""

import os
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import drawn, peers, pruned
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from hushtable.answers.pruned.bounds import TreeBounds
from hushtable.answers.pruned.coverage import Places
from hushtable.answers.pruned.walking import covered_share, walked
from hushtable.laws.geometric import Geometric
from hushtable.planning.judging import CLEARLY

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

QUICK = bool(os.environ.get("QUICK"))
_DATA = Path(__file__).parents[2] / "shared" / "data"
_LINES = {
    **{
        name: (f"dpbench/{name}", 4096)
        for name in ("ADULT", "HEPTH", "INCOME", "LC-REQ-ALL", "MEDCOST", "PATENT", "SEARCHLOGS")
    },
    "LODES RI homes": ("lodes_ri_main_2019.cells0", 1024),
    "county homes": ("acs_county_flows_2011_2015.cells0", 4096),
}
_SQUARES = {
    **{
        name: (f"dpbench/{name}", 256)
        for name in ("ADULT-2D", "BEIJING-CABS-E", "BEIJING-CABS-S", "LOAN-FUNDED-INCOME", "STROKE")
    },
    "LODES RI": ("lodes_ri_main_2019.cells0", 256),
    "LODES DC": ("lodes_dc_main_2023.cells0", 256),
}
_SCALES = {"10^3": 10**3, "10^5": 10**5, "10^7": 10**7}
_EPSILONS = Fraction(1, 10), Fraction(1)
_RANGES = {"16": 16, "128": 128, "1,024": 1024, "any": 0}  # cells; any: between two ends by chance
_BOXES = {"0.1 %": 0.001, "1 %": 0.01, "10 %": 0.1, "any": 0.0}
_ASKED = 60 if QUICK else 200
_RELEASES = {1: 2, 2: 2} if QUICK else {1: 20, 2: 5}  # of lines, and of squares
_SOME = 500  # answers, from which on a share of them is given
_PLANNED = 10 if QUICK else 40  # releases: errors of one release go together
_SIZES = 1_000, 100_000
_TUNED = 100  # questions that DAWA's shares of epsilon are chosen for
SIZE = 100_000
_CHANCE = 0.05


class Questions(NamedTuple):
    """Ranges or boxes: codes from `starts` to below `stops`, of shape (questions, dimensions)."""

    starts: Numbers
    stops: Numbers

    def sums(self, cells: Array) -> Array:
        """Return what each question has."""
        before = np.pad(cells, 1)[(slice(None, -1),) * cells.ndim]
        for axis in range(cells.ndim):
            before = before.cumsum(axis=axis)
        if cells.ndim == 1:
            return np.asarray(before[self.stops[:, 0]] - before[self.starts[:, 0]])
        (top, left), (bottom, right) = self.starts.T, self.stops.T
        found = before[bottom, right] - before[top, right] - before[bottom, left] + before[top, left]
        return np.asarray(found)

    def masks(self, shape: tuple[int, ...], rows: Places) -> NDArray[np.bool_]:
        """Return the cells of some questions."""
        found = np.zeros((rows.size, *shape), dtype=np.bool_)
        for each, row in zip(found, rows, strict=True):
            each[tuple(map(slice, self.starts[row], self.stops[row]))] = True
        return found


class _Asked:
    """Questions as groups of a tree's answers."""

    def __init__(self, questions: Questions) -> None:
        self.number, self.questions = len(questions.starts), questions

    def cells(self, groups: Places, starts: Numbers, stops: Numbers) -> Numbers:
        """Return how many cells of each question lie in the box beside it."""
        low = np.maximum(starts, self.questions.starts[groups])
        high = np.minimum(stops, self.questions.stops[groups])
        return np.asarray(np.prod(np.maximum(high - low, 0), axis=1))


class Table(NamedTuple):
    """A table of some scale, what is asked of it, and which questions are of which kind."""

    counts: Array
    questions: Questions
    kinds: dict[str, slice]
    structure: ht.Tree

    @property
    def sparse(self) -> ht.SparseTable:
        """What gets summarised."""
        codes = np.argwhere(self.counts > 0)
        counts = self.counts[self.counts > 0].astype(np.int64)
        return ht.SparseTable(shape=self.counts.shape, codes=codes, counts=counts)

    def sizes(self, errors: Array) -> Array:
        """Return the mean sizes of errors, kind by kind."""
        return np.array([np.abs(errors[..., part]).mean() for part in self.kinds.values()])


@cache
def _shape(name: str) -> Array:
    """Return the true counts."""
    file, side = (_LINES | _SQUARES)[name]
    columns = pq.read_table(_DATA / f"{file}.parquet").columns
    *codes, counts = (np.asarray(each.to_numpy(), dtype=np.int64) for each in columns)
    codes = codes[: 1 if name in _LINES else 2]
    found = np.zeros((side,) * len(codes))
    step = max(int(each.max()) // side + 1 for each in codes)  # neighbours that go together, if too many
    np.add.at(found, tuple(each // step for each in codes), counts)
    return found


def table(name: str, scale: int) -> Table:
    """Return a table of a scale, and its questions: the same whenever it is asked for."""
    shape, random = _shape(name), np.random.default_rng([7, scale])
    counts = random.multinomial(scale, (shape / shape.sum()).ravel()).reshape(shape.shape)
    parts = [*_asked_of(shape.shape, random)]
    kinds = _RANGES if shape.ndim == 1 else _BOXES
    some = {kind: slice(_ASKED * place, _ASKED * (place + 1)) for place, kind in enumerate(kinds)}
    questions = Questions(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    structure = ht.Tree() if shape.ndim == 1 else ht.Tree(order="morton")
    return Table(counts.astype(np.float64), questions, some, structure)


def _asked_of(shape: tuple[int, ...], random: np.random.Generator) -> Iterator[Questions]:
    """Choose questions of all kinds, anywhere."""
    for size in _RANGES.values() if len(shape) == 1 else _BOXES.values():
        if not size:
            ends = np.sort(random.integers(0, np.array(shape) + 1, (2, _ASKED, len(shape))), axis=0)
            yield Questions(np.minimum(ends[0], np.array(shape) - 1), np.maximum(ends[1], ends[0] + 1))
            continue
        turn = random.random((_ASKED, 1))
        sides = size ** np.hstack([turn, 1 - turn]) * shape if len(shape) == 2 else np.full((_ASKED, 1), size)
        most = np.array(shape) // (2 if len(shape) == 1 else 1)  # all of a line would be its total
        widths = np.clip(np.rint(sides), 1, most).astype(np.int64)
        starts = (random.random(widths.shape) * (np.array(shape) - widths + 1)).astype(np.int64)
        yield Questions(starts, starts + widths)


_OF_LINES: dict[str, peers.Method] = {
    "identity": peers.identity,
    "uniform": peers.uniform,
    "Privelet": peers.privelet,
    "HB": peers.hierarchy,
    "PrivTree": peers.privtree,
}
_OF_SQUARES = {**_OF_LINES, "uniform grid": peers.uniform_grid, "adaptive grid": peers.adaptive_grid}


class Intervals(NamedTuple):
    """Our intervals of nominal 95 %, a row for each release."""

    held: NDArray[np.bool_]
    complete: NDArray[np.bool_]  # nothing that was looked at is hidden, so that nothing had to be bounded
    widths: Array
    errors: Array

    def only(self, part: slice) -> "Intervals":
        """Return those of some questions."""
        held, complete, widths, errors = self
        return Intervals(held[:, part], complete[:, part], widths[:, part], errors[:, part])

    @property
    def ratio(self) -> float:
        """The median width, as a multiple of the root mean square error."""
        error = sqrt(max(float((self.errors**2).mean()), 1e-9))
        return float(np.median(self.widths)) / error


class Compared(NamedTuple):
    """Mean sizes of errors by method and kind, and how often our intervals held."""

    errors: dict[str, Array]
    intervals: dict[str, Intervals]  # kind by kind
    common: NDArray[np.bool_]  # which questions are about more people than the median of their kind


_COMPARED: dict[tuple[str, str, Fraction], Compared] = {}  # measured once, shown in two sheets


def compared(name: str, scale: str, epsilon: Fraction) -> Compared:
    """Measure ours and all others."""
    key = name, scale, epsilon
    if key not in _COMPARED:
        asked, random = table(name, _SCALES[scale]), np.random.default_rng(8)
        truths = asked.questions.sums(asked.counts)
        ours = _ours(asked, truths, epsilon)
        errors = {"ours": asked.sizes(ours.errors)}
        for method, peer in (_OF_LINES if asked.counts.ndim == 1 else _OF_SQUARES).items():
            found = [peer(asked.counts, float(epsilon), random) for _ in range(_RELEASES[asked.counts.ndim])]
            errors[method] = asked.sizes(np.array([asked.questions.sums(each) - truths for each in found]))
        rows = random.choice(truths.size, _TUNED, replace=False)
        dawa = peers.Dawa(asked.counts, asked.questions.masks(asked.counts.shape, rows))
        found = dawa.releases(float(epsilon), random, number=_RELEASES[asked.counts.ndim])
        errors["DAWA"] = asked.sizes(np.array([asked.questions.sums(each) - truths for each in found]))
        by_kind = {kind: ours.only(part) for kind, part in asked.kinds.items()}
        common = np.array([truths[part] > np.median(truths[part]) for part in asked.kinds.values()])
        _COMPARED[key] = Compared(errors, by_kind, common)
    return _COMPARED[key]


def _ours(asked: Table, truths: Array, epsilon: Fraction) -> Intervals:
    """Return what our releases are off by, and whether intervals held."""
    nodes, sparse = pruned.over(asked.counts.shape, asked.structure), asked.sparse
    groups = _Asked(asked.questions)
    found = []
    for _ in range(_RELEASES[asked.counts.ndim]):
        drawn = pruned.drawn(sparse, nodes, epsilon=epsilon, size=SIZE)
        tree, root = drawn.tree, float(drawn.fit.levels[0].counts[0])
        laws = [Geometric(epsilon * share / nodes.per_cell) for share in tree.shares]
        cutoffs = [tree.cutoff_at(level, drawn.cutoff) for level in range(tree.levels)]
        bounds = TreeBounds(covered_share(tree, groups), root=root, laws=laws, cutoffs=cutoffs)
        value = walked(tree, drawn.fit, groups, bounds=bounds).value
        low, high = bounds.limits(_CHANCE)
        low, high = np.minimum(low, value), np.maximum(high, value)
        held = (low <= truths) & (truths <= high)
        found.append(Intervals(held, bounds.complete, high - low, value - truths))
    return Intervals(*map(np.array, zip(*found, strict=True)))


def lines(say: Say) -> Sheet:
    """Compare errors of ranges."""
    return _errors(say, "ranges of lines", _LINES)


def squares(say: Say) -> Sheet:
    """Compare errors of boxes."""
    return _errors(say, "boxes of squares", _SQUARES)


def _errors(say: Say, what: str, names: dict[str, tuple[str, int]]) -> Sheet:
    cases = [(f"{scale}", epsilon) for scale in _SCALES for epsilon in _EPSILONS]
    sheet = Sheet(
        title=f"Errors of {what}: how many times those of others ours have",
        columns=("table", "of", *(f"{scale}\n{float(epsilon):g}" for scale, epsilon in cases), "together"),
        note=(
            "By scale and epsilon: geometric means over kinds of questions "
            f"({', '.join(_RANGES if names is _LINES else _BOXES)}) of ratios of mean sizes of errors. Best: "
            "of all others, picked for each kind, scale and epsilon afterwards; below it, which it is most "
            f"often. {_ASKED} questions of each kind, the same for all; "
            f"{_RELEASES[1 if names is _LINES else 2]} releases."
        ),
    )
    all_ratios: dict[str, list[Array]] = {"DAWA": [], "best": []}
    for name in names:
        if not (_DATA / f"{names[name][0]}.parquet").exists():
            sheet.add(name, "the data are not there", *[""] * (len(sheet.columns) - 2))
            continue
        ratios: dict[str, list[Array]] = {"DAWA": [], "best": []}
        which = []
        for scale, epsilon in cases:
            say(f"{name}, scale {scale}, epsilon {float(epsilon):g}")
            errors = dict(compared(name, scale, epsilon).errors)
            ours, others = errors.pop("ours"), np.array(list(errors.values()))
            ratios["DAWA"].append(np.log(ours / errors["DAWA"]))
            ratios["best"].append(np.log(ours / others.min(axis=0)))
            best = [list(errors)[place] for place in others.argmin(axis=0)]
            which.append(max(set(best), key=best.count))
        for kind, found in ratios.items():
            bar = Bar("<=", 1.25) if kind == "best" else None
            each = (Figure(float(np.exp(some.mean()))) for some in found)
            sheet.add(name, kind, *each, Figure(float(np.exp(np.mean(found))), bar))
            all_ratios[kind].append(np.array(found))
        sheet.add("", "best is", *which, "")
    for kind, limit in (("DAWA", 0.9), ("best", 1.0)):
        if all_ratios[kind]:
            together = np.array(all_ratios[kind])
            each = (Figure(float(np.exp(some))) for some in together.mean(axis=(0, 2)))
            sheet.add("all", kind, *each, Figure(float(np.exp(together.mean())), Bar("<=", limit)))
    return sheet


def coverage(say: Say) -> Sheet:
    """Measure how often our intervals hold, and how wide they are."""
    sheet = Sheet(
        title="Coverage of nominal 95 % intervals of our answers, in %, and their widths",
        columns=("table", "places", "16 cells\nor 0.1 %", "128\n1 %", "1,024\n10 %", "any"),
        note=(
            "The releases of the sheets above, all scales and epsilons together. Common places: questions "
            "about more people than the median of their kind. Complete: all nodes that a question meets are "
            f"published, so that no bound had to step in; given from {_SOME} answers on. Width: that of an "
            "interval over the root mean square error, medians over questions, then over scales and "
            "epsilons; 3.92 would be that of a normal law."
        ),
    )
    for name, (file, _) in (_LINES | _SQUARES).items():
        if not (_DATA / f"{file}.parquet").exists():
            sheet.add(name, "the data are not there", *[""] * (len(sheet.columns) - 2))
            continue
        each = []
        for scale in _SCALES:
            for epsilon in _EPSILONS:
                say(f"{name}, scale {scale}, epsilon {float(epsilon):g}")
                each.append(compared(name, scale, epsilon))
        rows: dict[str, list[Figure | str]] = {"all": [], "common": [], "complete": [], "width": []}
        for place, kind in enumerate(each[0].intervals):
            ours = [(one.intervals[kind], one.common[place]) for one in each]
            rows["all"].append(_percent([some.held for some, _ in ours], Bar(">=", 93)))
            rows["common"].append(_percent([some.held[:, common] for some, common in ours], Bar(">=", 93)))
            whole = [some.held[some.complete] for some, _ in ours]
            known = sum(map(len, whole)) >= _SOME
            rows["complete"].append(_percent(whole, Within(93, 99)) if known else "")
            rows["width"].append(Figure(float(np.median([some.ratio for some, _ in ours]))))
        for places, found in rows.items():
            sheet.add(name, places, *found)
    return sheet


def _percent(held: list[NDArray[np.bool_]], bar: Bar | Within) -> Figure:
    """Return how many hold, each case counting by its answers."""
    return Figure(100 * float(np.concatenate([each.ravel() for each in held]).mean()), bar)


def planned(say: Say) -> Sheet:
    """Compare the errors of ranges that a plan predicts with those of releases, and its choice."""
    cases = [(scale, epsilon) for scale in _SCALES for epsilon in _EPSILONS]
    sheet = Sheet(
        title="Plans of ranges: measured / predicted errors, and cells or a tree",
        columns=("table", "size", "of", *(f"{scale}\n{float(epsilon):g}" for scale, epsilon in cases)),
        note=(
            "Planned from how many cells hold which count, which is true here, but not from where they lie. "
            "Trees: the ratio that is farthest from 1, of ranges of 100 and 1,000 cells. Choice: what a plan "
            "takes, and the errors of the tree over those of the recommended cells. It is wrong where the "
            f"other is better by a tenth. {_PLANNED} releases, {_ASKED} ranges each."
        ),
    )
    ratios: list[Array] = []
    wrong = 0
    for name, (file, _) in _LINES.items():
        if not (_DATA / f"{file}.parquet").exists():
            sheet.add(name, "", "the data are not there", *[""] * len(cases))
            continue
        for size in _SIZES:
            rows: tuple[list[Figure | str], list[Figure | str]] = ([], [])
            for scale, epsilon in cases:
                say(f"plan of {name}, size {size:,}, scale {scale}, epsilon {float(epsilon):g}")
                made = _planned(table(name, _SCALES[scale]).counts, epsilon, size)
                ratios.append(made.ratios)
                wrong += made.wrong
                rows[0].append(Figure(float(made.ratios[np.abs(np.log(made.ratios)).argmax()])))
                rows[1].append(f"{made.taken}{' (wrong)' * made.wrong} {made.against:.2f}")
            for kind, found in zip(("tree", "choice"), rows, strict=True):
                sheet.add(name, f"{size:,}", kind, *found)
    if ratios:
        every = np.concatenate(ratios)
        within = float((np.abs(np.log(every)) <= np.log(1.5)).mean())
        empty = [""] * (len(cases) - 1)
        sheet.add("all", "", "within 1.5", Figure(within, Bar(">=", 0.9)), *empty)
        sheet.add("all", "", "wrong choices", Figure(float(wrong), Bar("<=", 0)), *empty)
    return sheet


class _Planned(NamedTuple):
    """What became of a plan of ranges."""

    ratios: Array  # of errors of the tree: measured over predicted
    against: float  # errors of the tree over those of the recommended cells
    taken: str

    @property
    def wrong(self) -> bool:
        """Whether what was not taken is clearly better."""
        return (self.against if self.taken == "tree" else 1 / self.against) > 1 / CLEARLY


def _planned(counts: Array, epsilon: Fraction, size: int) -> _Planned:
    """Plan a line, and measure what was planned."""
    cells, random = counts.size, np.random.default_rng(9)
    held, number = np.unique(counts[counts > 0], return_counts=True)
    domain = ht.Domain.from_dict({"attribute": [{"name": "a", "integers": {"low": 0, "high": cells - 1}}]})
    profile = ht.Profile(counts=held, cells=number, words="true counts")
    plan = ht.plan(domain, epsilon=epsilon, size=size, profile=profile)
    nodes = pruned.over((cells,), ht.Tree())
    some = np.flatnonzero(counts)
    true = drawn.Table(cells, some, counts[some].astype(np.int64))
    widths = list(plan.zero_errors)
    errors = np.zeros((2, len(widths)))
    for _ in range(_PLANNED):
        tree = pruned.drawn(true.sparse, nodes, epsilon=epsilon, size=size).cells()[:cells]
        places, weights, others = true.released(plan.recommended.method, epsilon)
        answers = np.full(cells, others)
        answers[places] = weights
        off = np.array([tree, answers]) - counts
        before = np.pad(off.cumsum(axis=1), ((0, 0), (1, 0)))
        for place, width in enumerate(widths):
            starts = random.integers(cells - width + 1, size=_ASKED)
            errors[:, place] += np.abs(before[:, starts + width] - before[:, starts]).mean(axis=1)
    errors /= _PLANNED
    assert plan.tree is not None
    predicted = np.array(list(plan.tree.errors.values()))
    return _Planned(
        errors[0] / predicted, float(np.exp(np.log(errors[0] / errors[1]).mean())), plan.structure
    )


SHEETS = lines, squares, coverage, planned
