"""Hierarchies of declared levels, on real tables: commuters (LODES, ACS) and flights.

Errors are mean absolute errors over all nodes of a level, published or not. Beside them stand dense noise in
the nodes of that level alone, with all of the budget, and a dense top-down release with the same shares, and
with the same noise on complete levels (`benchmarks.topdown`). The data are in ../shared/data and stay there;
without them, sheets say so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.real import DATA, MISSING
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.topdown import top_down
from benchmarks.worker import fresh
from hushtable.answers.synthetic.levels import whole_levels
from hushtable.domain.items import attribute_at, codes_at, label_of
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.noise import KeyStream, cell_noise
from hushtable.structures.fitting import Fit, fitted
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.structures.refining import RefinedTree
from hushtable.summaries.hierarchies import draw_hierarchy
from hushtable.summaries.summary import Summary

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

_RELEASES = 3
_OF_LEVELS = 8  # releases whose errors are averaged: some levels have few nodes
_BIASED = ("LODES RI, block groups", "flights")
_CLASSES = (("0", 0, 0), ("1 to 9", 1, 9), ("10 to 99", 10, 99), ("100 and more", 100, 10**12))
_CELLS, _MANY = 1_000_000, 10_000_000
_MOST_DENSE = 1_000_000  # nodes of a level that are listed
_MOST_ASKED = 100_000  # groups
_ENOUGH = 1_000  # for a bar: what chance takes from fewer is more than the bar leaves room for


class Cost(NamedTuple):
    """What a release may cost, and the law of its noise."""

    name: str
    law: type[NoiseLaw]
    budget: Fraction


COSTS = [
    Cost("epsilon 0.1", Geometric, Fraction(1, 10)),
    Cost("epsilon 1", Geometric, Fraction(1)),
    Cost("epsilon 3", Geometric, Fraction(3)),
    Cost("rho 0.005", Gaussian, Fraction(1, 200)),
    Cost("rho 0.5", Gaussian, Fraction(1, 2)),
]


@dataclass(frozen=True, eq=False)
class Levelled:
    """A table with declared levels, and the hierarchy over it."""

    name: str
    domain: ht.Domain
    codes: Numbers
    counts: Numbers
    structure: ht.Hierarchy
    size: int

    def nodes(self) -> HierarchySpace:
        """The hierarchy, with the levels that are complete at this size, and the shares."""
        return self.structure.sized(self.domain, self.size).over(self.domain)


@cache
def tables() -> tuple[Levelled, ...]:
    """Return all tables of the sheets."""
    return tuple(_tables())


def _tables() -> Iterator[Levelled]:
    blocks = pq.read_table(DATA / "codebooks" / "ri_blocks_2010.parquet").column(0).to_pylist()
    for name, length, size in (("LODES RI, block groups", 12, 250_000), ("LODES RI, blocks", 15, 100_000)):
        values = sorted({str(block)[:length] for block in blocks})
        levels = {"block group": 12, "tract": 11, "county": 5}
        levels = {level: keep for level, keep in levels.items() if keep < length}
        place = ht.categories(values, levels=levels)
        rows = pq.read_table(DATA / "lodes_ri_main_2019.parquet")
        number = {value: code for code, value in enumerate(values)}
        ends = [
            [number.get(each[:length], -1) for each in rows[side].to_pylist()]
            for side in ("h_geocode", "w_geocode")
        ]
        finer = [f"{level}(home), {level}(work)" for level in reversed(levels)]
        structure = ht.Hierarchy(*finer, "home, work")
        codes, counts = _added(np.array(ends).T, rows["S000"].to_numpy())
        yield Levelled(name, ht.Domain(home=place, work=place), codes, counts, structure, size)
    cells = pq.read_table(DATA / "acs_county_flows_2011_2015.cells0.parquet")
    counties = json.loads((DATA / "acs_county_flows_2011_2015.domain.json").read_text())["home,work"]
    county = ht.categories(counties, levels={"state": 2})
    columns = [cells[name].to_numpy() for name in cells.column_names]
    structure = ht.Hierarchy("state(home), state(work)", "home, work")
    domain = ht.Domain(home=county, work=county)
    yield Levelled("ACS counties", domain, np.stack(columns[:2], axis=1), columns[2], structure, 100_000)
    flights = pq.read_table(DATA / "flights_3m.parquet")
    yield _flights(flights)


def _flights(flights: Any) -> Levelled:
    airports = sorted(set(json.loads((DATA / "flights_3m.domain.json").read_text())["airports"]))
    days = ht.times("2001-01-01", "2001-07-01", every="1 day", levels=["1 month"])
    start = np.datetime64("2001-01-01", "D")
    number = (flights["date"].to_numpy().astype("datetime64[D]") - start).astype(np.int64)
    origin = pc.fill_null(
        pc.index_in(flights["origin"].cast(pa.string()), value_set=pa.array(airports)), -1
    ).to_numpy()
    codes = np.stack([number, origin.astype(np.int64)], axis=1)
    inside = (codes >= 0).all(axis=1) & (codes[:, 0] < 181)
    domain = ht.Domain(day=days, origin=ht.categories(airports))
    some, counts = _added(codes[inside], np.ones(int(inside.sum()), dtype=np.int64))
    structure = ht.Hierarchy("month(day)", "origin", "day")
    return Levelled("flights", domain, some, counts, structure, 20_000)


def _added(codes: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Return different codes, and the sums of their counts."""
    some, places = np.unique(codes[(codes >= 0).all(axis=1)], axis=0, return_inverse=True)
    return some, np.bincount(places.ravel(), weights=counts[(codes >= 0).all(axis=1)]).astype(np.int64)


def drawn(table: Levelled, cost: Cost) -> Summary:
    """Draw the hierarchy of a table."""
    cells = ht.SparseTable(shape=table.domain.shape, codes=table.codes, counts=table.counts)
    nodes = table.nodes()
    return draw_hierarchy(
        cells,
        nodes,
        ht.Filter(size=table.size, two_sided=False),
        epsilon=cost.budget,
        sensitivity=nodes.change(cost.law, Sensitivities.of_rows(1)),
        entropy=KeyStream(),
        law=cost.law,
    )


def fit_of(summary: Summary, cost: Cost) -> Fit:
    """Return the fitted hierarchy, as answers have it."""
    nodes = summary.nodes
    assert isinstance(nodes, HierarchySpace)
    laws = level_laws(nodes, cost)
    cutoff = summary.cutoff or 1.0
    found = fitted(nodes.tree, summary.codes[:, 0], summary.counts, laws=laws, cutoff=cutoff)
    return found.with_own(summary.weights)


def level_laws(nodes: HierarchySpace, cost: Cost) -> list[NoiseLaw]:
    """Return the law of the noise on each level."""
    change = nodes.change(cost.law, Sensitivities.of_rows(1))
    return [cost.law.calibrated(budget=cost.budget * share, change=change) for share in nodes.tree.shares]


def estimates(tree: RefinedTree, fit: Fit, level: int, positions: Numbers) -> Array:
    """Return what the fit has in nodes of a level, published or not."""
    found = np.full(positions.size, np.nan)
    for above in range(level, -1, -1):
        some = np.flatnonzero(np.isnan(found))
        here = tree.holding(positions[some], above)
        own = fit.levels[above]
        rows = np.searchsorted(own.prefixes, here).clip(max=max(own.prefixes.size - 1, 0))
        kept = own.prefixes[rows] == here if own.prefixes.size else np.zeros(some.size, dtype=np.bool_)
        rows, some = rows[kept], some[kept]
        if above == level:
            found[some] = fit.masses[level][rows]
        else:
            share = tree.cells_of(positions[some], level) / np.maximum(own.absent_cells[rows], 1.0)
            found[some] = fit.own[above][rows] * share
    return found


def error(table: Levelled, tree: RefinedTree, fit: Fit, level: int) -> float:
    """Return the mean absolute error over all nodes of a level."""
    mine = tree.holding(tree.of(table.codes, range(2)), level)
    some = np.union1d(mine, fit.levels[level].prefixes)
    truth = np.bincount(np.searchsorted(some, mine), weights=table.counts, minlength=some.size)
    found = estimates(tree, fit, level, some)
    elsewhere = max(float(fit.masses[0][0]) - float(found.sum()), 0.0)  # in nodes that hold nothing
    return (float(np.abs(found - truth).sum()) + elsewhere) / tree.nodes_at[level]


def dense_errors(
    table: Levelled, tree: RefinedTree, laws: list[NoiseLaw], beside: Summary | None = None
) -> list[float]:
    """Return the same of a dense top-down release, as far as its levels can be listed.

    Complete levels have the noise that they have in the release beside it.
    """
    entropy = KeyStream()
    levels = None if beside is None else tree.level_of(beside.codes[:, 0])
    positions, parents = [np.zeros(1, dtype=np.int64)], []
    while len(positions) < tree.levels and tree.nodes_at[len(positions)] <= _MOST_DENSE:
        children, owners = tree.family(positions[-1], len(positions) - 1)
        positions.append(children)
        parents.append(owners)
    cells = tree.of(table.codes, range(2))
    truth: list[Array] = []
    noisy: list[Array] = []
    for level, here in enumerate(positions):
        places = np.searchsorted(here, tree.holding(cells, level))
        truth.append(np.bincount(places, weights=table.counts, minlength=here.size).astype(np.float64))
        if beside is not None and level < tree.staying:
            noisy.append(beside.counts[levels == level].astype(np.float64))
            continue
        noise = cell_noise(laws[level], entropy, count=here.size)
        noisy.append(truth[-1] + noise.astype(np.float64))
    found = top_down(noisy, parents)
    return [float(np.abs(one - two).mean()) for one, two in zip(found, truth, strict=True)]


def mean_noise(law: NoiseLaw) -> float:
    """Return the mean size of noise."""
    return 2 * float(law.floats.tail(np.array([1.0]), 1)[0])


def levels(say: Say) -> Sheet:
    """Error at each level, beside dense noise and a dense top-down release."""
    sheet = Sheet(
        "hierarchies: mean absolute error at each level",
        (
            "table",
            "level",
            "nodes",
            "cost",
            "error",
            "to noise there alone",
            "to dense top-down",
            "whole numbers, to it",
            "false rows, %",
        ),
        "Noise there alone has the whole budget. Bars at the two coarsest levels below the total.",
    )
    if MISSING:
        sheet.add(MISSING, *("",) * 8)
        return sheet
    for table in tables():
        for cost in COSTS:
            say(f"{table.name}, {cost.name}")
            for row in _rows(table, cost):
                sheet.add(*row)
    return sheet


def _rows(table: Levelled, cost: Cost) -> Iterator[tuple[str | Figure, ...]]:
    nodes = table.nodes()
    tree, laws = nodes.tree, level_laws(nodes, cost)
    alone = mean_noise(
        cost.law.calibrated(budget=cost.budget, change=cost.law.change(Sensitivities.of_rows(1)))
    )
    summaries = [drawn(table, cost) for _ in range(_OF_LEVELS)]
    fits = [fit_of(each, cost) for each in summaries]
    wholes = [_whole(fit) for fit in fits]
    dense = np.mean([dense_errors(table, tree, laws, each) for each in summaries], axis=0).tolist()
    for level in range(1, tree.levels):
        own = float(np.mean([error(table, tree, fit, level) for fit in fits]))
        rounded = float(np.mean([error(table, tree, fit, level) for fit in wholes]))
        bars = Bar("<=", 2.5) if level <= 2 else None
        against, in_whole = (
            Figure(each / dense[level], Bar("<=", 1.0)) if level < len(dense) else "not dense"
            for each in (own, rounded)
        )
        false: str | Figure = ""
        if level == tree.levels - 1:
            occupied = tree.of(table.codes, range(2))
            shares = [
                float(np.mean(~np.isin(fit.levels[level].prefixes, occupied)))
                for fit in fits
                if fit.levels[level].prefixes.size
            ]
            false = Figure(100 * float(np.mean(shares))) if shares else "no rows"
        yield (
            table.name,
            nodes.labels[level],
            f"{tree.nodes_at[level]:,}",
            cost.name,
            Figure(own),
            Figure(own / alone, bars),
            against,
            in_whole,
            false,
        )


def _whole(fit: Fit) -> Fit:
    """Return the whole numbers of a release in place of its masses."""
    levels = whole_levels(fit, total=round(float(fit.masses[0][0])))
    numbers, rest = ([each.astype(np.float64) for each in some] for some in zip(*levels, strict=True))
    return replace(fit, masses=numbers, own=rest)


def held(say: Say) -> Sheet:
    """How many intervals of 95 % hold, for groups of each level that can be listed, common and rare apart."""
    sheet = Sheet(
        "hierarchies: intervals of 95 % that hold, %",
        ("table", "level", "cost", "groups", "common", "rare"),
        "Of two releases. Common groups hold more than half of the groups that hold somebody do.",
    )
    if MISSING:
        sheet.add(MISSING, *("",) * 5)
        return sheet
    for table in tables():
        nodes, cells = table.nodes(), pa.table(table.domain.decode(table.codes))
        rows = cells.append_column("people", pa.array(table.counts))
        tree = nodes.tree
        for cost in COSTS:
            say(f"{table.name}, {cost.name}")
            found: dict[int, list[tuple[float, float]]] = {}
            for _ in range(2):
                with TemporaryDirectory() as folder:
                    release = _published(table, rows, cost, Path(folder) / "out.parquet")
                    for level in range(1, tree.levels):
                        if tree.nodes_at[level] <= _MOST_ASKED:
                            found.setdefault(level, []).append(_held(release, nodes, level, table))
            for level, each in found.items():
                common, rare = np.nanmean(each, axis=0).tolist()
                number = f"{tree.nodes_at[level]:,}"
                bar = Bar(">=", 93.0) if tree.nodes_at[level] >= _ENOUGH else None
                sheet.add(
                    table.name, nodes.labels[level], cost.name, number, Figure(common, bar), Figure(rare, bar)
                )
    return sheet


def _published(table: Levelled, rows: Any, cost: Cost, output: Path) -> ht.Release:
    """Publish a table as its owner would."""
    budget: Any = {"epsilon" if cost.law is Geometric else "rho": cost.budget}
    return ht.publish(
        rows,
        domain=table.domain,
        count_column="people",
        size=table.size,
        structure=table.structure,
        ledger=False,
        output=output,
        **budget,
    )


def _held(release: ht.Release, nodes: HierarchySpace, level: int, table: Levelled) -> tuple[float, float]:
    """Return which part of the intervals of a level hold, of common groups and of rare ones."""
    asked = [label_of(nodes.domain, item) for item in nodes.items[level]]
    groups = release.by(asked)
    low, high = (groups[name].to_numpy() for name in ("low", "high"))
    # Groups come in the order of their codes: truths are added up in the same.
    codes = [
        codes_at(nodes.domain.attributes[item.place], item.level, table.codes[:, item.place])
        for item in nodes.items[level]
    ]
    sizes = [attribute_at(nodes.domain, item).values.size for item in nodes.items[level]]
    truth = np.bincount(
        np.ravel_multi_index(codes, sizes), weights=table.counts, minlength=int(np.prod(sizes))
    )
    right = (low <= truth) & (truth <= high)
    common = truth > np.median(truth[truth > 0])
    return 100 * float(right[common].mean()), 100 * float(right[~common].mean())


def bias(say: Say) -> Sheet:
    """What whole numbers are off by on average, by what is true; and the noisy counts beside them."""
    sheet = Sheet(
        "hierarchies: what whole numbers are off by on average, epsilon 1",
        ("table", "level", "true counts", "nodes", "whole numbers", "noisy counts"),
        "Published nodes of complete levels, and of the lowest one, whose rows were chosen for being large.",
    )
    if MISSING:
        sheet.add(MISSING, *("",) * 5)
        return sheet
    cost = COSTS[1]
    for table in (each for each in tables() if each.name in _BIASED):
        nodes = table.nodes()
        tree, cells = nodes.tree, nodes.tree.of(table.codes, range(2))
        say(table.name)
        found: dict[tuple[int, str], list[tuple[float, float, int]]] = {}
        for _ in range(_RELEASES):
            fit = fit_of(drawn(table, cost), cost)
            whole = whole_levels(fit, total=round(float(fit.masses[0][0])))
            for level in range(1, tree.levels):
                if tree.staying <= level < tree.levels - 1:
                    continue
                some, mine = fit.levels[level].prefixes, tree.holding(cells, level)
                places = np.searchsorted(some, mine).clip(max=some.size - 1)
                kept = some[places] == mine
                truth = np.bincount(places[kept], weights=table.counts[kept], minlength=some.size)
                for label, low, high in _CLASSES:
                    rows = (truth >= low) & (truth <= high)
                    if rows.any():
                        off = (
                            whole[level].numbers[rows] - truth[rows],
                            fit.levels[level].counts[rows] - truth[rows],
                        )
                        one = float(off[0].mean()), float(off[1].mean()), int(rows.sum())
                        found.setdefault((level, label), []).append(one)
        for (level, label), each in found.items():
            means = np.mean(each, axis=0)
            sheet.add(
                table.name,
                nodes.labels[level],
                label,
                f"{means[2]:,.0f}",
                f"{means[0]:+.2f}",
                f"{means[1]:+.2f}",
            )
    return sheet


def times(say: Say) -> Sheet:
    """Publishing 10^6 occupied cells of 10^12: a hierarchy beside a flat summary of cells."""
    sheet = Sheet(
        "hierarchies: publishing 10^6 occupied cells of 10^12",
        ("what", "rows", "processor time, s", "to cells"),
        "From rows in memory to the file, 100,000 rows asked for, epsilon 1; the least of three.",
    )
    random = np.random.default_rng(0)
    homes = (random.pareto(1.0, _CELLS) * 200).astype(np.int64) % 10**6
    rows = pa.table({"home": homes, "work": (homes + random.integers(0, 10**5, _CELLS)) % 10**6})
    place = ht.bins(0, 10**6, step=1, levels=[100, 10_000])
    domain = ht.Domain(home=place, work=place)
    levels_of = [f"{step}(home), {step}(work)" for step in (10_000, 100)]
    found: dict[str, tuple[float, int]] = {}
    with TemporaryDirectory() as folder:
        for name, structure in (("cells", "cells"), ("hierarchy", ht.Hierarchy(*levels_of, "home, work"))):
            say(name)
            taken = []
            for _ in range(_RELEASES):
                began = process_time()
                release = ht.publish(
                    rows,
                    domain=domain,
                    epsilon=1,
                    size=100_000,
                    structure=structure,
                    ledger=False,
                    anyway=True,
                    output=Path(folder) / "out.parquet",
                    overwrite=True,
                )
                taken.append(process_time() - began)
            found[name] = min(taken), len(release)
    flat, _ = found["cells"]
    for name, (seconds, number) in found.items():
        bar = Bar("<=", 3.0) if name == "hierarchy" else None
        sheet.add(name, f"{number:,}", Figure(seconds), Figure(seconds / flat, bar))
    return sheet


def memory(say: Say) -> Sheet:
    """Publishing 10^7 occupied cells of 10^12 within 1 GB, in fresh processes: a hierarchy beside cells."""
    sheet = Sheet(
        "hierarchies: publishing 10^7 occupied cells of 10^12 with memory=1GB, in a fresh process",
        ("what", "rows", "processor time, s", "to cells", "peak, MB"),
        "From a Parquet file to a release, 100,000 rows asked for, epsilon 0.1; the least time of two.",
    )
    random = np.random.default_rng(0)
    homes = (random.pareto(1.0, 2 * _MANY) * 200).astype(np.int64) % 10**6
    works = (homes + random.integers(0, 10**6, homes.size)) % 10**6
    cells = random.permutation(np.unique(homes * 10**6 + works))[:_MANY]
    with TemporaryDirectory() as folder:
        rows, domain = Path(folder) / "rows.parquet", Path(folder) / "domain.toml"
        ends = (pa.array((each).astype(np.int32)) for each in np.divmod(cells, 10**6))
        pq.write_table(pa.table(dict(zip(("home", "work"), ends, strict=True))), rows)
        bins = "bins = { start = 0, stop = 1000000, step = 1, levels = [100, 10000] }"
        domain.write_text(
            'title = "Commuters"\n'
            + "".join(f'[[attribute]]\nname = "{name}"\n{bins}\n' for name in ("home", "work"))
        )
        flat = 0.0
        words: dict[str, Any] = {"rows": str(rows), "domain": str(domain), "size": 100_000, "memory": "1GB"}
        steps = "10000(home), 10000(work) > 100(home), 100(work) > home, work"
        for name, own in (("cells", {"structure": "cells"}), ("hierarchy", {"hierarchy": steps})):
            say(name)
            output = str(Path(folder) / "out.parquet")
            found = [fresh("publish", output=output, **words, **own) for _ in range(2)]
            seconds, peak = min(each["processor"] for each in found), max(each["peak"] for each in found)
            flat = flat or seconds
            bars = (Bar("<=", 3.0), Bar("<=", 1000.0)) if name == "hierarchy" else (None, None)
            number = f"{found[0]['rows']:,.0f}"
            sheet.add(
                name, number, Figure(seconds), Figure(seconds / flat, bars[0]), Figure(peak / 1e6, bars[1])
            )
    return sheet


SHEETS = (levels, held, bias, times, memory)
