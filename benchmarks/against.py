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
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import peers, pruned
from benchmarks.report import Bar, Figure, Say, Sheet
from hushtable.answers.pruned.bounds import TreeBounds
from hushtable.answers.pruned.coverage import Places
from hushtable.answers.pruned.walking import walked
from hushtable.laws.geometric import Geometric

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
_RELEASES = 2 if QUICK else 5
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


class Compared(NamedTuple):
    """Mean sizes of errors by method and kind, and how often our intervals held."""

    errors: dict[str, Array]
    held: dict[str, NDArray[np.bool_]]  # kind by kind, a row for each release
    common: Array  # which questions are about more people than the median of their kind


_COMPARED: dict[tuple[str, str, Fraction], Compared] = {}  # measured once, shown in two sheets


def compared(name: str, scale: str, epsilon: Fraction) -> Compared:
    """Measure ours and all others."""
    key = name, scale, epsilon
    if key not in _COMPARED:
        asked, random = table(name, _SCALES[scale]), np.random.default_rng(8)
        truths = asked.questions.sums(asked.counts)
        ours, held = _ours(asked, truths, epsilon)
        errors = {"ours": asked.sizes(ours)}
        for method, peer in (_OF_LINES if asked.counts.ndim == 1 else _OF_SQUARES).items():
            found = [peer(asked.counts, float(epsilon), random) for _ in range(_RELEASES)]
            errors[method] = asked.sizes(np.array([asked.questions.sums(each) - truths for each in found]))
        rows = random.choice(truths.size, _TUNED, replace=False)
        dawa = peers.Dawa(asked.counts, asked.questions.masks(asked.counts.shape, rows))
        found = dawa.releases(float(epsilon), random, number=_RELEASES)
        errors["DAWA"] = asked.sizes(np.array([asked.questions.sums(each) - truths for each in found]))
        by_kind = {kind: held[:, part] for kind, part in asked.kinds.items()}
        common = np.array([truths[part] > np.median(truths[part]) for part in asked.kinds.values()])
        _COMPARED[key] = Compared(errors, by_kind, common)
    return _COMPARED[key]


def _ours(asked: Table, truths: Array, epsilon: Fraction) -> tuple[Array, NDArray[np.bool_]]:
    """Return what our releases are off by, and whether intervals held."""
    nodes, sparse = pruned.over(asked.counts.shape, asked.structure), asked.sparse
    groups = _Asked(asked.questions)
    errors, held = [], []
    for _ in range(_RELEASES):
        drawn = pruned.drawn(sparse, nodes, epsilon=epsilon, size=SIZE)
        tree, root = drawn.tree, float(drawn.fit.levels[0].counts[0])
        laws = [Geometric(epsilon * share / nodes.per_cell) for share in tree.shares]
        cutoffs = [tree.cutoff_at(level, drawn.cutoff) for level in range(tree.levels)]
        bounds = TreeBounds(truths.size, root=root, laws=laws, cutoffs=cutoffs)
        value = walked(tree, drawn.fit, groups, bounds=bounds).value
        low, high = bounds.limits(_CHANCE)
        errors.append(value - truths)
        held.append((np.minimum(low, value) <= truths) & (truths <= np.maximum(high, value)))
    return np.array(errors), np.array(held)


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
            f"often. {_ASKED} questions of each kind, the same for all; {_RELEASES} releases."
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
    """Measure how often our intervals hold."""
    sheet = Sheet(
        title="Coverage of nominal 95 % intervals of our answers, in %",
        columns=("table", "places", "16 cells\nor 0.1 %", "128\n1 %", "1,024\n10 %", "any"),
        note=(
            "The releases of the sheets above, all scales and epsilons together. Common places: questions "
            "about more people than the median of their kind."
        ),
    )
    for name, (file, _) in (_LINES | _SQUARES).items():
        if not (_DATA / f"{file}.parquet").exists():
            sheet.add(name, "the data are not there", *[""] * (len(sheet.columns) - 2))
            continue
        every, common = [], []
        for scale in _SCALES:
            for epsilon in _EPSILONS:
                say(f"{name}, scale {scale}, epsilon {float(epsilon):g}")
                found = compared(name, scale, epsilon)
                kinds = list(zip(found.held.values(), found.common, strict=True))
                every.append([held.mean() for held, _ in kinds])
                common.append([held[:, some].mean() if some.any() else np.nan for held, some in kinds])
        for places, shares in (("all", every), ("common", common)):
            means = 100 * np.nanmean(shares, axis=0)
            sheet.add(name, places, *(Figure(share, Bar(">=", 93)) for share in means.tolist()))
    return sheet


SHEETS = lines, squares, coverage
