"""Plans of data cubes and of count sketches against drawn ones.

Marginals and the full table are drawn with a noisy total, and answered as a recipient would: by weights, and
with a cutoff by an even share of what they miss of the total.
Cost: about a minute. Adult is read from ../shared/data; without it, its rows are left out, as the sheet says.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import commuters
from benchmarks.drawn import Array, absent
from benchmarks.report import Figure, Say, Sheet, Within
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Method
from hushtable.noise import KeyStream, two_sided_geometric
from hushtable.planning.plan import Plan
from hushtable.planning.sketches import SketchErrors
from hushtable.structures.marginals import cube_space
from hushtable.structures.table_space import TableSpace
from hushtable.summaries.cubes import draw_marginals
from hushtable.summaries.draws import TableHere
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from hushtable.table.sparse import SparseTable

_ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.cells0.parquet"
_CUBE = ht.Marginals("all-1", "all-2")
_RELEASES = 40
_SKETCHES = 200


class _Cube(NamedTuple):
    """A table over several attributes, and how it is published."""

    name: str
    shape: tuple[int, ...]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    size: int
    by_chance: bool

    @property
    def domain(self) -> ht.Domain:
        sizes = enumerate(self.shape)
        each = [{"name": f"a{i}", "integers": {"low": 0, "high": size - 1}} for i, size in sizes]
        return ht.Domain.from_dict({"attribute": each})


def _profiles() -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield counts of occupied cells."""
    yield "uniform", np.repeat(np.arange(1, 101), 20)
    yield "Zipf", np.maximum(4000 // np.arange(1, 3001), 1)


def _tables() -> Iterator[_Cube]:
    """Yield tables whose occupied cells lie by chance, and a real one."""
    random, shape = np.random.default_rng(10), (60, 50, 40)
    for name, counts in _profiles():
        places = random.choice(int(np.prod(shape)), counts.size, replace=False)
        codes = np.stack(np.unravel_index(places, shape), axis=1)
        yield _Cube(name, shape, codes, counts.astype(np.int64), 2100, by_chance=True)
    if _ADULT.exists():
        rows = pq.read_table(_ADULT)
        codes = np.stack([rows[name].to_numpy() for name in rows.column_names[:-1]], axis=1).astype(np.int64)
        yield _Cube("Adult", (9, 16, 7, 15, 6, 5, 2), codes, rows["count"].to_numpy(), 1000, by_chance=False)


def cubes(say: Say) -> Sheet:
    """Measure errors of cells of marginals, from a cube and from the full table, against a plan."""
    sheet = Sheet(
        title="Cubes of all 1- and 2-way marginals, epsilon 1: mean error of a cell, measured and predicted",
        columns=(
            "table",
            "marginals",
            "cube\nmeasured",
            "cube\npredicted",
            "ratio",
            "full table\nmeasured",
            "even\npredicted",
            "ratio",
            "clustered\npredicted",
            "ratio",
        ),
        note=(
            f"Geometric means over marginals of the mean size of the error of a cell, {_RELEASES} releases. "
            "Predicted from how many cells hold which count. Full table: sums over the recommended release "
            "of all attributes with the same epsilon; even: if occupied cells lie by chance; clustered: if "
            "what the cutoff left out is missing where people are. The cells of Adult are clustered, those "
            "of the others lie by chance. Sizes are 1,000 of Adult, 2,100 of the others."
        ),
    )
    for table in _tables():
        profile = commuters.profile(table.counts, "true counts")
        plan = ht.plan(table.domain, epsilon=1, size=table.size, profile=profile)
        said, cube = plan.cube(_CUBE), cube_space(_CUBE, table.domain)
        errors = np.zeros((2, len(cube.marginals)))
        for number in range(_RELEASES):
            say(f"{table.name}: release {number + 1} of {_RELEASES}")
            methods = [each.prediction.method for each in said.marginals]
            errors += _marginal_errors(table, plan, cube, methods) / _RELEASES
        own, full = errors
        ways = np.array([len(each.places) for each in cube.marginals])
        exact = Within(0.95, 1.05)
        for way in (1, 2):
            some = np.flatnonzero(ways == way)
            listed = [said.marginals[place] for place in some]
            cube_said = _mean([each.error for each in listed])
            even = _mean([each.from_even for each in listed])
            clustered = _mean([each.from_clustered for each in listed])
            cube_found, full_found = _mean(own[some]), _mean(full[some])
            sheet.add(
                table.name,
                f"{some.size}, {way}-way",
                Figure(cube_found),
                Figure(cube_said),
                Figure(cube_found / cube_said, exact if table.by_chance else None),
                Figure(full_found),
                Figure(even),
                Figure(full_found / even, exact if table.by_chance else None),
                Figure(clustered),
                Figure(full_found / clustered),
            )
    if not _ADULT.exists():
        sheet.add("Adult is missing", f"{_ADULT}", *[""] * 7)
    return sheet


def _mean(errors: Sequence[float] | Array) -> float:
    return float(np.exp(np.log(errors).mean()))


def _marginal_errors(table: _Cube, plan: Plan, cube: TableSpace, methods: list[Method]) -> Array:
    """Draw a cube and the full table; return the mean errors of a cell of each marginal by both."""
    sparse = SparseTable(shape=table.shape, codes=table.codes, counts=table.counts)
    entropy, spent = KeyStream(), plan.budget - plan.total_budget
    total = int(table.counts.sum()) + int(two_sided_geometric(plan.total_budget, entropy, count=1)[0])
    settings: dict[str, Any] = {"epsilon": spent, "sensitivity": Fraction(1), "entropy": entropy}
    drawn = draw_marginals(TableHere(sparse), cube, methods, **settings)
    best = plan.recommended.method
    whole = draw_summary(sparse, best, **settings)
    true = _dense(table.codes, table.counts, table.shape, 0.0)
    off = _answers(whole, table.shape, best, total) - true
    own, full = [], []
    for part, method, marginal in zip(drawn, methods, cube.marginals, strict=True):
        others = tuple(set(range(len(table.shape))).difference(marginal.places))
        answers = _answers(part, marginal.domain.shape, method, total)
        own.append(float(np.abs(answers - true.sum(axis=others)).mean()))
        full.append(float(np.abs(off.sum(axis=others)).mean()))
    return np.array([own, full])


def _answers(drawn: Summary, shape: tuple[int, ...], method: Method, total: int) -> Array:
    """Return what a recipient makes of each cell."""
    spread = isinstance(method, ht.Filter | ht.FilterPriority)
    others = absent(total, drawn.weights, int(np.prod(shape))) if spread else 0.0
    return _dense(drawn.codes, drawn.weights, shape, others)


def _dense(codes: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...], others: float) -> Array:
    made = np.full(shape, others)
    made[tuple(codes.T)] = values
    return made


def sketches(say: Say) -> Sheet:
    """Measure errors of sums of estimates from count sketches against a plan, beside cells."""
    sheet = Sheet(
        title="Count sketches of 10^5 cells, epsilon 1, measured / predicted: errors of sums of R estimates",
        columns=(
            "counts",
            "width x depth",
            "R",
            "standard error\nmeasured",
            "predicted",
            "ratio",
            "mean error\nmeasured",
            "predicted",
            "ratio",
            "of cells\npredicted",
        ),
        note=(
            f"{_SKETCHES} sketches, hashed by numbers drawn for each. Estimates are means over the rows of a "
            "sketch. Of cells: the mean error of the recommended cells with as many rows, for the same sets."
        ),
    )
    domain = ht.Domain.from_dict({"attribute": [{"name": "a", "integers": {"low": 0, "high": 10**5 - 1}}]})
    sizes, exact = (1, 100, 1000, 10_000), Within(0.95, 1.05)
    for name, counts in _profiles():
        plan = ht.plan(domain, epsilon=1, size=2000, profile=commuters.profile(counts, "true"), total_share=0)
        for width, depth in ((2000, 1), (400, 5)):
            say(f"{name}: {width} x {depth}")
            structure = ht.CountSketch(width=width, depth=depth)
            said = plan.sketch(structure)
            errors = SketchErrors(
                plan.profile, structure, cells_total=10**5, law=Geometric(plan.rate / depth)
            )
            squares, means = _sketch_errors(counts, structure, plan.rate / depth, sizes)
            for place, size in enumerate(sizes):
                standard, mean = errors.standard_error(size), errors.mean_error(size)
                sheet.add(
                    name,
                    f"{width:,} x {depth}",
                    f"{size:,}",
                    Figure(squares[place] ** 0.5),
                    Figure(standard),
                    Figure(squares[place] ** 0.5 / standard, exact),
                    Figure(means[place]),
                    Figure(mean),
                    Figure(means[place] / mean, exact),
                    Figure(said.cells.errors[size]),
                )
    return sheet


def _sketch_errors(
    counts: NDArray[np.int64], structure: ht.CountSketch, rate: Fraction, sizes: tuple[int, ...]
) -> Array:
    """Return mean squares and mean sizes of errors of sums of estimates."""
    random, width, depth = np.random.default_rng(10), structure.width, structure.depth
    table = np.append(counts, np.zeros(10**5 - counts.size))
    found = np.zeros((2, len(sizes)))
    for _ in range(_SKETCHES):
        off = -table
        for _ in range(depth):
            buckets, signs = random.integers(width, size=table.size), random.choice([-1.0, 1.0], table.size)
            noise = two_sided_geometric(rate, KeyStream(), count=width)
            held = np.bincount(buckets, weights=signs * table, minlength=width) + noise
            off = off + signs * held[buckets] / depth
        for place, size in enumerate(sizes):
            sums = random.permutation(off).reshape(-1, size).sum(axis=1)
            found[:, place] += np.mean(sums**2) / _SKETCHES, np.abs(sums).mean() / _SKETCHES
    return found
