"""Releases to test with: one of every kind of attribute, and random ones."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadChoice
from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.methods.weights import weights_of
from hushtable.release.assumed import Assumption
from hushtable.release.bounds import most_rows
from hushtable.release.record import Terms, write_release
from hushtable.release.terms import Part
from hushtable.release.writing import rows_of_parts
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.cells import Cells
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.marginals import Marginals, cube_space
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.pruned import PrunedSpace, Tree
from hushtable.structures.sketch import CountSketch
from hushtable.structures.structure import Structure as Hierarchy
from hushtable.structures.table_space import TableSpace
from tests.domain.examples import attributes, lines
from tests.harness.nodes import check_named, node_space

METHODS: list[Method] = [
    Everything(),
    Everything(nonnegative=True),
    Filter(cutoff="7/3"),
    Filter(size=10, two_sided=False),
    Threshold(threshold="190.5"),
    Threshold(size=1000),
    Priority(size=100_000),
    FilterThreshold(cutoff=20, threshold=100),
    FilterThreshold(cutoff=20, size=10, two_sided=False),
    FilterPriority(cutoff=20, size=1000),
]
MEASURES = [
    Measure(),
    Measure(count_column="S000"),
    Measure(sum_column="amount", clamp=(-5, 100)),
    Measure(unit=Unit("person_id", max_rows=3)),
    Measure(sum_column="amount", clamp=(0, 1 << 5), unit=Unit("person_id", max_rows=1 << 4)),
    Measure(unit=Unit("person_id", max_cells=10)),
    Measure(sum_column="amount", clamp=(-3, 1), unit=Unit("person_id", max_cells=3, max_per_cell=2)),
]
PLAN = Assumption(
    rule="plan-1", assumed="as in söuth", size=1000, counts=(1.0, 20.0, 300.0), cells=(5e3, 1 / 3, 1e200)
)
PEOPLE = """
title = "People"
[[attribute]]
name = "region"
categories = { values = ["north", "söuth", "o'<b>\\"x"], labels = ["N", "S", "O"] }
missing = { other = "unknown" }
[[attribute]]
name = "person.age"
integers = { low = -5, high = 120 }
outside = "clamp"
[[attribute]]
name = "hours"
bins = { start = 0, stop = 1, step = 0.1 }
[[attribute]]
name = "income"
bins = { edges = [0, 100, 5000] }
[[attribute]]
name = "day"
times = { start = "1969-12-01", stop = "2025-01-01", every = "1 month" }
[[attribute]]
name = "minute"
times = { start = "2024-01-01", stop = "2024-01-02", every = "15 minutes", timezone = "Europe/Berlin" }
"""
PEOPLE_DOMAIN = Domain.from_dict(tomllib.loads(PEOPLE))
PEOPLE_CODES = np.array(
    [[0, 0, 3, 0, 0, 0], [0, 125, 9, 1, 660, 95], [1, 7, 0, 1, 1, 4], [3, 5, 7, 0, 300, 4]]
)
PEOPLE_COUNTS = np.array([-30, 500, 0, 25])

TRIPS = """
title = "Trips"
[[attribute]]
name = "home"
categories = { values = ["n", "s", "e"], labels = ["north", "south", "east"] }
[[attribute]]
name = "hour"
integers = { low = 6, high = 12 }
"""
TRIPS_DOMAIN = Domain.from_dict(tomllib.loads(TRIPS))
STRUCTURES: list[Lifted] = [
    Dyadic(),
    Dyadic(order=["hour"]),
    Dyadic(consistent=True),
    Haar(),
    Haar(order=["hour", "home"]),
    ProductDyadic(),
    ProductDyadic(order=["hour"]),
]
PRUNED = [
    Tree(),
    Tree(branching=2, order=["hour"]),
    Tree(branching=4, order="morton"),
    Tree(branching=2, order="morton"),
]
CUBES = [
    Marginals(["home"]),
    Marginals("all-1"),
    Marginals(["hour", "home"], ["hour"], weights=["1/2", 3]),
    Marginals("all-2", "all-1", weights=[2, 1]),
]
SKETCH_KEYS = ("000102030405060708090a0b0c0d0e0f", "f0e0d0c0b0a090807060504030201000", "5a" * 16)


class Rows(NamedTuple):
    """What `write_release` takes beside the terms."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]


def terms(domain: Domain = PEOPLE_DOMAIN, **changes: Any) -> Terms:
    """Return terms, by default a filter-priority sample of rows with a noisy total."""
    said: dict[str, Any] = {
        "domain": domain,
        "measure": Measure(),
        "rows_are_units": False,
        "where": None,
        "query": None,
        "epsilon": Fraction(1, 10),
        "total_budget": Fraction(1, 500),
        "structure": Cells(),
        "method": FilterPriority(cutoff=20, size=1000),
        "rule": "auto-cutoff-1",
        "cutoff": 20.0,
        "threshold": 123.5,
        "total": 10_023,
        "version": "0.1.0",
    }
    said |= changes
    return Terms(**{"sensitivity": said["measure"].sensitivity} | said)


def tree_terms(structure: Hierarchy, domain: Domain = TRIPS_DOMAIN, **changes: Any) -> Terms:
    """Return terms of a tree, by default a filter of its nodes."""
    per_cell = node_space(structure, domain).per_cell
    said: dict[str, Any] = {
        "total_budget": Fraction(0),
        "total": None,
        "structure": structure,
        "sensitivity": changes.get("measure", Measure()).sensitivity * per_cell,
        "method": Filter(
            cutoff=20,
            two_sided=not (getattr(structure, "consistent", False) or isinstance(structure, Tree)),
        ),
        "threshold": None,
    }
    return terms(domain, **said | changes)


def cube_terms(
    structure: Marginals, domain: Domain = TRIPS_DOMAIN, parts: list[Part] | None = None, **changes: Any
) -> Terms:
    """Return terms of a data cube; by default marginals are whole, but the largest a sample."""
    cube = cube_space(structure, domain)
    sampled = Part(
        method=FilterPriority(cutoff=20, size=1000), rule="auto-cutoff-1", cutoff=20.0, threshold=40.5
    )
    if parts is None:
        parts = [Part(method=Everything(), rule="whole-1")] * len(cube.marginals)
        parts[cube.largest] = sampled
    largest = parts[cube.largest]
    said: dict[str, Any] = {
        "structure": structure,
        "sensitivity": changes.get("measure", Measure()).sensitivity * cube.per_cell,
        "method": largest.method,
        "rule": largest.rule,
        "cutoff": largest.cutoff,
        "threshold": largest.threshold,
        "parts": tuple(parts),
    }
    return terms(domain, **said | changes)


def all_cells(made: Terms) -> Rows:
    """Return every cell of every marginal of a small cube, with counts that are all different."""
    assert isinstance(made.nodes, TableSpace)
    codes = [
        made.nodes.codes(number, np.array(list(product(*map(range, each.domain.shape)))))
        for number, each in enumerate(made.nodes.marginals)
    ]
    every = np.concatenate(codes)
    return rows(made, every, 20 + np.arange(len(every)))


def sketch_terms(structure: CountSketch, domain: Domain = TRIPS_DOMAIN, **changes: Any) -> Terms:
    """Return terms of a sketch."""
    said: dict[str, Any] = {
        "structure": structure,
        "sensitivity": changes.get("measure", Measure()).sensitivity * structure.depth,
        "method": Everything(),
        "rule": None,
        "cutoff": None,
        "threshold": None,
        "keys": SKETCH_KEYS[: structure.depth],
    }
    return terms(domain, **said | changes)


def all_buckets(made: Terms) -> Rows:
    """Return every bucket of a sketch, with counts of both signs that are all different."""
    codes = np.array(list(product(*map(range, made.space.shape))))
    return rows(made, codes, np.arange(len(codes)) - 3)


def all_nodes(made: Terms) -> Rows:
    """Return every node of a small tree, with counts that are all different; none of padding."""
    codes = np.array(list(product(*map(range, made.space.shape))))
    if isinstance(made.nodes, PrunedSpace):
        found = made.nodes.intervals(codes)
        again = made.nodes.nodes_at(found.levels, np.minimum(found.firsts, np.array(made.domain.shape) - 1))
        codes = codes[codes[:, 0] == again[:, 0]]
    return rows(made, codes, 20 + np.arange(len(codes)))


def rows(made: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Rows:
    """Return rows with the weights that follow from their counts."""
    return Rows(codes, counts, weights_by(made, codes, counts))


def people(**changes: Any) -> tuple[Terms, Rows]:
    """Return a small release with an attribute of every kind."""
    made = terms(**changes)
    return made, rows(made, PEOPLE_CODES, PEOPLE_COUNTS)


def write(
    path: Path, made: Terms, given: Rows, *, overwrite: bool = False, rows_in_a_file: int | None = None
) -> str:
    """Write a release; return its digest."""
    return write_release(path, made, **given._asdict(), overwrite=overwrite, rows_in_a_file=rows_in_a_file)


names = st.text(min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name.lower() not in ("count", "weight", "level")
)

sql = st.lists(lines(), max_size=3).map("\n\t".join)


@st.composite
def _settings(draw: st.DrawFn) -> dict[str, Any]:
    """Return all of any terms that goes with every structure."""
    number = st.none() | st.floats(0, 1e300)
    return {
        "measure": draw(st.sampled_from(MEASURES)),
        "rows_are_units": draw(st.booleans()),
        "where": draw(st.none() | sql),
        "query": draw(st.none() | sql),
        "epsilon": draw(st.fractions(Fraction(1, 10**4), 100)),
        "rule": draw(st.none() | lines()),
        "cutoff": draw(number),
        "threshold": draw(number),
        "version": draw(lines(max_size=9)),
    }


@st.composite
def plans(draw: st.DrawFn) -> Assumption:
    """Return what any plan may have assumed."""
    counts = sorted(draw(st.sets(st.floats(1, 1e15), min_size=1, max_size=5)))
    number = st.floats(0, 1e300, exclude_min=True)
    return Assumption(
        rule=draw(lines(min_size=1, max_size=9)),
        assumed=draw(lines(min_size=1)),
        size=draw(st.integers(1, 10**9)),
        counts=tuple(counts),
        cells=tuple(draw(st.lists(number, min_size=len(counts), max_size=len(counts)))),
    )


@st.composite
def random_terms(draw: st.DrawFn) -> Terms:
    """Return any terms of cells, over a domain of one to four attributes of any kind."""
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    domain = Domain(attributes=tuple(draw(attributes(name)) for name in chosen), title=draw(lines()))
    said = draw(_settings())
    share = draw(st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3)]))
    return terms(
        domain,
        **said,
        total_budget=said["epsilon"] * share,
        total=draw(st.integers(-(2**80), 2**80)) if share else None,
        method=draw(st.sampled_from(METHODS)),
        plan=draw(st.none() | plans()),
    )


@st.composite
def random_tree_terms(draw: st.DrawFn) -> Terms:
    """Return any terms of a tree, over a domain of one to three attributes of any kind."""
    chosen = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    domain = Domain(attributes=tuple(draw(attributes(name)) for name in chosen), title=draw(lines()))
    order = draw(st.none() | st.permutations(chosen).map(lambda all_names: all_names[:2]))
    branching = draw(st.sampled_from([2, 16, 1024]))
    kinds: list[Hierarchy] = [
        Dyadic(order=order),
        Dyadic(consistent=True, order=order),
        Haar(order=order),
        Tree(branching=branching, order=order),
        Tree(branching=branching, order="morton"),
    ]
    structure = draw(st.sampled_from([*kinds, ProductDyadic(order=order)] if len(chosen) == 2 else kinds))
    said = draw(_settings())
    methods = [method for method in METHODS if go_together(structure, method, domain, said["measure"])]
    assume(methods)
    return tree_terms(structure, domain, **said, method=draw(st.sampled_from(methods)))


@st.composite
def random_cube_terms(draw: st.DrawFn) -> Terms:
    """Return any terms of a data cube, over a domain of one to four attributes of any kind."""
    chosen = draw(st.lists(names.filter(lambda name: name.lower() != "marginal"), min_size=1, max_size=4))
    assume(len(set(chosen)) == len(chosen))
    domain = Domain(attributes=tuple(draw(attributes(name)) for name in chosen), title=draw(lines()))
    sets = [each for size in range(1, len(chosen) + 1) for each in combinations(chosen, size)]
    named = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=4, unique=True))
    weights = st.lists(st.fractions(Fraction(1, 99), 99), min_size=len(named), max_size=len(named))
    structure = Marginals(
        *(draw(st.permutations(each)) for each in named), weights=draw(st.none() | st.just("auto") | weights)
    )
    try:
        cube_space(structure, domain)
    except BadChoice:  # labels that are alike
        assume(False)
    said = draw(_settings())
    number = st.none() | st.floats(0, 1e300)
    parts = [
        Part(
            method=draw(st.sampled_from(METHODS)),
            rule=draw(st.none() | lines()),
            cutoff=draw(number),
            threshold=draw(number),
        )
        for _ in named
    ]
    share = draw(st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3)]))
    general = {key: said[key] for key in said.keys() - {"rule", "cutoff", "threshold"}}
    return cube_terms(
        structure,
        domain,
        parts,
        **general,
        total_budget=said["epsilon"] * share,
        total=draw(st.integers(-(2**80), 2**80)) if share else None,
        plan=draw(st.none() | plans()),
    )


@st.composite
def random_cubes(draw: st.DrawFn) -> tuple[Terms, Rows]:
    """Return any terms of a cube with a few rows of each marginal, or none."""
    made = draw(random_cube_terms())
    assert isinstance(made.nodes, TableSpace)
    codes = [np.empty((0, 1 + len(made.domain.names)), dtype=np.int64)]
    for number, each in enumerate(made.nodes.marginals):
        code = [st.sampled_from([0, size - 1]) | st.integers(0, size - 1) for size in each.domain.shape]
        if cells := sorted(draw(st.sets(st.tuples(*code), max_size=4))):
            codes.append(made.nodes.codes(number, np.array(cells)))
    every = np.concatenate(codes)
    count = st.integers(-(2**62), 2**62) | st.integers(-300, 300)
    counts = draw(st.lists(count, min_size=len(every), max_size=len(every)))
    return made, rows(made, every, np.array(counts, dtype=np.int64))


def go_together(structure: Hierarchy, method: Method, domain: Domain, measure: Measure | None = None) -> bool:
    """Return whether these can be published together."""
    try:
        structure.check_method(method, measure or Measure())
        check_named(structure, domain)
        node_space(structure, domain)
    except BadChoice:
        return False
    return True


@st.composite
def random_releases(draw: st.DrawFn, made: st.SearchStrategy[Terms] | None = None) -> tuple[Terms, Rows]:
    """Return any terms with a few rows, the first and the last cell or node among the likely ones."""
    chosen = draw(random_terms() if made is None else made)
    code = [
        st.sampled_from([0, size - 1, size // 2]) | st.integers(0, size - 1) for size in chosen.space.shape
    ]
    cells = sorted(
        draw(
            _rooted(chosen.nodes)
            if isinstance(chosen.nodes, PrunedSpace)
            else st.sets(st.tuples(*code), max_size=9)
        )
    )
    assume(len(cells) <= most_rows(chosen))
    count = st.integers(-(2**62), 2**62) | st.integers(-300, 300)
    counts = draw(st.lists(count, min_size=len(cells), max_size=len(cells)))
    codes = np.array(cells, dtype=np.int64).reshape(len(cells), len(code))
    return chosen, rows(chosen, codes, np.array(counts, dtype=np.int64))


@st.composite
def _rooted(draw: st.DrawFn, nodes: PrunedSpace) -> set[tuple[int]]:
    """Return the root and a few more nodes, each with all nodes above it."""
    tree = nodes.tree
    leaf = st.tuples(st.integers(1, max(1, tree.levels - 1)), st.integers(0, (1 << tree.addresses.bits) - 1))
    found = {(0,)}
    for deepest, address in draw(st.lists(leaf, max_size=3)):
        for level in range(min(deepest, tree.levels - 1) + 1):
            prefix = address >> tree.shifts[level]
            if tree.cells_of(np.array([prefix]), level)[0] == 0:
                break
            found.add((prefix + tree.offsets[level],))
    return found


def weights_by(terms: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what the format says that the weights are."""
    if not terms.parts:
        met = {"cutoff": terms.cutoff, "threshold": terms.threshold}
        return terms.nodes.weights(codes, counts, law_at=terms.law_at, **met)
    weights = np.empty(len(counts))
    for rows, part in zip(rows_of_parts(terms, codes), terms.parts, strict=True):
        weights[rows] = weights_of(counts[rows], part.threshold)
    return weights
