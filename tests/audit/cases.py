"""The largest ratio of the chances that neighbouring tables give to an output: computed, for small tables.

A case is a method on a structure over few cells, and the tables that are compared. Each table is given to
`ht.summarize`, or to `draw_marginals`, under every outcome of its draws (`tests.harness.branching`): what is
found is the exact law of what the product's own code publishes. With 2 in the place of e,
epsilon-differential privacy says that no ratio is above 2^epsilon.

A summary of fixed size may guess a rule from how many cells are empty. So each table is drawn with several
guesses, most of which stop in some cases and go on in others, and any two of them are compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from time import process_time
from typing import Any
from unittest.mock import patch

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.kinds import Categories
from hushtable.domain.levels import category_levels
from hushtable.errors import BadChoice
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.structures.cells import Cells
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.structures.structure import NodeSpace, Structure
from hushtable.structures.table_space import TableSpace
from hushtable.summaries import draws, rooted
from hushtable.summaries import summarize as door
from hushtable.summaries.cubes import draw_marginals
from hushtable.summaries.draws import TableHere
from hushtable.summaries.hierarchies import draw_hierarchy
from tests.audit.drawing import Counts, Guess, guessing, outcome, table_of
from tests.harness.branching import Branching, Law, law_of

Lower = Callable[..., int]

# How a tree from the root down lowers its cutoff: its own way, one by one, and to the least at once.
STEPS: dict[str, Lower] = {
    "own": rooted._lower,
    "by 1": lambda examined, tried, *, missing, size: tried - 1,
    "at once": lambda examined, tried, *, missing, size: 0,
}


@dataclass(frozen=True)
class Case:
    """A method on a structure, and how far its tables and noisy counts go."""

    method: Method
    structure: Structure
    shape: tuple[int, ...]
    most: int  # where noisy counts saturate
    total: int = 1  # people in a table, at most
    in_a_cell: int = 1
    guesses: Sequence[Guess] = ((),)
    key: str = "00" * 16  # of a sketch, which is public
    far: int = 1  # how many rows one person may have

    @property
    def name(self) -> str:
        """The method, as a row of the table says it."""
        sides = "" if getattr(self.method, "two_sided", True) else ", one-sided"
        shown = {
            name: value
            for name in ("nonnegative", "cutoff", "threshold", "size")
            if (value := getattr(self.method, name, None)) not in (None, False)
        }
        settings = ", ".join(f"{name}={value}" for name, value in shown.items())
        return f"{type(self.method).__name__}({settings}){sides}"

    @property
    def over(self) -> str:
        """The structure, as a row of the table says it."""
        own = self.structure.name
        if getattr(self.structure, "consistent", False):
            own = "consistent dyadic"
        if isinstance(self.structure, ht.Tree):
            own = f"tree of {self.structure.branching}"
        if isinstance(self.structure, ht.Hierarchy):
            own = f"hierarchy {' > '.join(self.structure.levels)}, {self.structure.complete} complete"
        if isinstance(self.structure, ht.CountSketch):
            own = f"sketch {self.structure.depth}x{self.structure.width}"
        if isinstance(self.structure, ht.Marginals):
            own = f"{len(self.structure.sets)} marginals"
        if isinstance(self.structure, ht.Tables):
            own = f"{len(self.structure.tables)} tables"
        return f"{own}, {'x'.join(map(str, self.shape))} cells"

    def tables(self) -> list[Counts]:
        """All tables that are compared."""
        counts = product(range(self.in_a_cell + 1), repeat=prod(self.shape))
        return [each for each in counts if sum(each) <= self.total]


@dataclass
class Finding:
    """What was found: the largest ratio, where, and what it may be."""

    epsilon: int
    outputs: int = 0
    walked: int = 0
    ratio: Fraction | None = Fraction(0)  # None: an output that a neighbour never gives
    where: tuple[Counts, Counts, Hashable] | None = None
    guesses: int = 1
    same_law: bool = True  # for all guesses
    seconds: float = 0.0
    laws: dict[tuple[Counts, int], Law] = field(default_factory=dict, repr=False)

    @property
    def bound(self) -> int:
        """What a ratio may be, with 2 in the place of e."""
        return 1 << self.epsilon

    @property
    def holds(self) -> bool:
        """Whether no ratio is above the bound."""
        return self.ratio is not None and self.ratio <= self.bound


def audited(case: Case) -> Finding:
    """Compute all laws of a case, and the largest ratio between neighbours."""
    began = process_time()
    found = Finding(epsilon_of(case), guesses=len(_guesses(case)))
    tables = case.tables()
    for counts in tables:
        for number, guess in enumerate(_guesses(case)):
            law, walked = law_under(case, counts, guess)
            found.laws[counts, number] = law
            found.walked += walked
            found.same_law &= law == found.laws[counts, 0]
    numbers = range(len(_guesses(case)))
    found.outputs = len({each for law in found.laws.values() for each in law})
    for one, other in product(tables, repeat=2):
        if 0 < sum(abs(x - y) for x, y in zip(one, other, strict=True)) <= case.far:
            for each in {each for number in numbers for each in found.laws[one, number]}:
                most = max(found.laws[one, number].get(each, Fraction(0)) for number in numbers)
                least = min(found.laws[other, number].get(each, Fraction(0)) for number in numbers)
                ratio = most / least if least else None
                if ratio is None or (found.ratio is not None and ratio > found.ratio):
                    found.ratio, found.where = ratio, (one, other, each)
    found.seconds = process_time() - began
    return found


def _guesses(case: Case) -> Sequence[Any]:
    from_the_root = isinstance(case.structure, ht.Tree | ht.Hierarchy)
    if not from_the_root and not getattr(case.structure, "consistent", False):
        return case.guesses
    return list(STEPS) if isinstance(case.method, ht.Filter) and case.method.size else ["own"]


def epsilon_of(case: Case) -> int:
    """So that all noise has a whole rate: what one person changes."""
    table = table_of((0,) * prod(case.shape), case.shape)
    if isinstance(case.structure, ht.Marginals | ht.Tables | ht.Hierarchy):
        return _named(case.structure, case.shape).per_cell * case.far
    with _fixed_keys(case):
        nodes, _ = draws.nodes_of(case.structure, table, case.method, Branching(case.most))
    if isinstance(case.structure, ht.CountSketch):
        return case.structure.depth * case.far
    return case.far * (1 if nodes is None else nodes.per_cell)


@cache
def _named(structure: ht.Marginals | ht.Tables | ht.Hierarchy, shape: tuple[int, ...]) -> NodeSpace:
    """The nodes over attributes a, b, and so on; that with four values has a level of pairs."""
    attributes = (_attribute(name, size) for name, size in zip("abcd", shape, strict=False))
    return structure.over(ht.Domain(attributes=tuple(attributes)))


def _attribute(name: str, size: int) -> Attribute:
    if size != 4:
        return Attribute(name=name, values=Integers(low=0, high=size - 1))
    values = Categories(values=("ax", "ay", "bx", "by"))
    return Attribute(name=name, values=values, levels=category_levels(values, {"pair": 1}))


def law_under(case: Case, counts: Counts, guess: Any) -> tuple[Law, int]:
    """Return the law of what is published of a table."""
    table, epsilon, run = table_of(counts, case.shape), epsilon_of(case), _by_summarize
    if isinstance(case.structure, ht.Marginals | ht.Tables):
        run = _by_marginals
    if isinstance(case.structure, ht.Hierarchy):
        run = _by_levels
    with ExitStack() as stack:
        stack.enter_context(_fixed_keys(case))
        if isinstance(guess, str):
            stack.enter_context(patch.object(rooted, "_lower", STEPS[guess]))
        else:
            stack.enter_context(guessing(guess, case.method))
        return law_of(lambda source: run(case, table, epsilon, source), most=case.most)


def _by_summarize(case: Case, table: ht.SparseTable, epsilon: int, source: Branching) -> Hashable:
    """Through the public door: only its source of bits is another, and it has one thread."""
    with patch.object(door, "KeyStream", lambda: source), patch.object(os, "cpu_count", lambda: 1):
        return outcome(
            ht.summarize(table, case.method, epsilon=epsilon, sensitivity=case.far, structure=case.structure)
        )


def _by_marginals(case: Case, table: ht.SparseTable, epsilon: int, source: Branching) -> Hashable:
    """By what `ht.publish` draws several tables with: `summarize` has no names of attributes."""
    assert isinstance(case.structure, ht.Marginals | ht.Tables)
    cube = _named(case.structure, case.shape)
    assert isinstance(cube, TableSpace)
    methods = [case.method] * len(cube.marginals)
    drawn = draw_marginals(
        TableHere(table),
        cube,
        methods,
        epsilon=Fraction(epsilon),
        sensitivity=Fraction(case.far),
        entropy=source,
    )
    return tuple(map(outcome, drawn))


def _by_levels(case: Case, table: ht.SparseTable, epsilon: int, source: Branching) -> Hashable:
    """By what `ht.publish` draws a hierarchy with: `summarize` has no names of attributes."""
    assert isinstance(case.structure, ht.Hierarchy)
    nodes = _named(case.structure, case.shape)
    assert isinstance(nodes, HierarchySpace)
    drawn = draw_hierarchy(
        table,
        nodes,
        case.method,
        epsilon=Fraction(epsilon),
        sensitivity=nodes.change(Geometric, Sensitivities.of_rows(case.far)),
        entropy=source,
        law=Geometric,
    )
    return outcome(drawn)


@contextmanager
def _fixed_keys(case: Case) -> Iterator[None]:
    """The keys of a sketch are public and drawn before a row is read: the law is that for given ones."""
    depth = getattr(case.structure, "depth", 0)
    keys = tuple(f"{number:02x}{case.key[2:]}" for number in range(depth))
    with patch.object(draws, "drawn_keys", lambda *_: keys):
        yield


def offered(structure: Structure, method: Method) -> str | None:
    """Return why a structure does not take a method, None if it does."""
    try:
        structure.check_method(structure.taken(method))
    except BadChoice as refusal:
        return str(refusal).splitlines()[0].split(". ")[0]
    return None


def _edge(cutoff: int, share: str = "1") -> Acceptance:
    return Acceptance(cutoff=cutoff, edge_chance=Fraction(share))


UNDECIDED: dict[type[Any], list[list[Acceptance]]] = {
    ht.Filter: [[_edge(1, "1/2")], [_edge(1, "1/16"), _edge(1, "1/4")]],
    ht.Priority: [[Acceptance(threshold=3)]],
    ht.FilterPriority: [[Acceptance(cutoff=1, threshold=3)]],
}


def guesses_for(method: Method) -> list[Guess]:
    """The product's own guess, and others that stop in some cases only."""
    if getattr(method, "size", None) is None or type(method) not in UNDECIDED:
        return [()]
    sides = {"two_sided": getattr(method, "two_sided", True)}
    return [
        (),
        *(
            [
                Acceptance(
                    cutoff=rule.cutoff, threshold=rule.threshold, edge_chance=rule.edge_chance, **sides
                )
                for rule in rules
            ]
            for rules in UNDECIDED[type(method)]
        ),
    ]


METHODS: list[Method] = [
    ht.Everything(),
    ht.Everything(nonnegative=True),
    ht.Filter(cutoff=1),
    ht.Filter(cutoff=1, two_sided=False),
    ht.Filter(size=1),
    ht.Filter(size=1, two_sided=False),
    ht.Threshold(threshold=3),
    ht.Threshold(threshold=3, two_sided=False),
    ht.Priority(size=1),
    ht.Priority(size=1, two_sided=False),
    ht.FilterThreshold(cutoff=1, threshold=3),
    ht.FilterThreshold(cutoff=1, threshold=3, two_sided=False),
    ht.FilterPriority(cutoff=1, size=1),
    ht.FilterPriority(cutoff=1, size=1, two_sided=False),
]

CUBE = ht.Marginals(["a"], ["b"])
# One table is of all cells, which is drawn in another way; one has twice as much of epsilon as the other.
TABLES = ht.Tables("a", "a,b", shares=[1, 2])
# Of four values, two and two; then by two attributes, one of which is refined first.
LEVELS = ht.Hierarchy("pair(a)", "a", shares=[1, 2, 2], complete=1)
CROSSED = ht.Hierarchy("a", "b", shares=[1, 1, 2], complete=2)


@dataclass(frozen=True)
class Reach:
    """How far tables of a structure go, by how many outcomes its methods have."""

    structure: Structure
    shape: tuple[int, ...]
    most: int
    total: int
    in_a_cell: int = 1
    only: Callable[[Method], bool] = lambda method: True
    guesses: int = 3  # at most


def is_priority(method: Method) -> bool:
    """Whether it is of the methods with the most outcomes."""
    return isinstance(method, ht.Priority | ht.FilterPriority)


def has_size(method: Method) -> bool:
    """Whether it has a fixed size."""
    return is_priority(method) or (isinstance(method, ht.Filter) and method.size is not None)


def is_one_sided(method: Method) -> bool:
    """Whether it sees counts above 0 only."""
    return not getattr(method, "two_sided", True)


REACHES: list[Reach] = [
    Reach(Cells(), (2,), 2, 4, 2),
    Reach(Cells(), (3,), 2, 3, 1, lambda method: not is_priority(method)),
    Reach(Cells(), (3,), 1, 3, 1, is_priority),
    Reach(Cells(), (4,), 1, 4, 1, lambda method: not has_size(method)),
    Reach(Cells(), (4,), 1, 2, 1, lambda method: has_size(method) and not is_priority(method), guesses=2),
    Reach(ht.Dyadic(), (2,), 2, 2, 1, lambda method: not is_priority(method)),
    Reach(ht.Dyadic(), (2,), 1, 1, 1, is_priority),
    Reach(
        ht.Dyadic(),
        (4,),
        1,
        1,
        1,
        lambda method: isinstance(method, ht.Everything | ht.Filter) and not has_size(method),
    ),
    Reach(
        ht.Dyadic(),
        (4,),
        1,
        1,
        1,
        lambda method: isinstance(method, ht.Threshold | ht.FilterThreshold) and is_one_sided(method),
    ),
    Reach(
        ht.Dyadic(),
        (4,),
        1,
        1,
        1,
        lambda method: isinstance(method, ht.Filter) and has_size(method) and is_one_sided(method),
        guesses=2,
    ),
    Reach(ht.Dyadic(consistent=True), (2,), 2, 2),
    Reach(ht.Dyadic(consistent=True), (4,), 1, 1, 1, lambda method: not is_priority(method)),
    Reach(ht.Haar(), (2,), 2, 2, 2, lambda method: not is_priority(method)),
    Reach(ht.Haar(), (2,), 1, 1, 1, is_priority),
    Reach(ht.Haar(), (4,), 1, 1, 1, lambda method: not is_priority(method), guesses=2),
    Reach(ht.ProductDyadic(), (2, 1), 1, 1),
    Reach(ht.ProductDyadic(), (2, 2), 1, 1, 1, lambda method: method == ht.Filter(cutoff=1, two_sided=False)),
    Reach(ht.Tree(branching=2), (2,), 2, 2, 2),
    Reach(ht.Tree(branching=2), (4,), 1, 1),
    Reach(ht.Tree(branching=4), (4,), 1, 1),
    Reach(ht.Hierarchy("a", shares=[1, 2], complete=1), (2,), 2, 2, 2, has_size),
    Reach(LEVELS, (4,), 1, 1, 1, has_size),
    Reach(CROSSED, (2, 2), 1, 1, 1, has_size),
    Reach(ht.CountSketch(width=2), (4,), 2, 2),
    Reach(ht.CountSketch(width=2, depth=2), (3,), 1, 1),
    Reach(CUBE, (2, 2), 1, 1, 1, lambda method: is_one_sided(method) or not is_priority(method), guesses=2),
    Reach(CUBE, (2, 2), 1, 1, 1, lambda method: is_priority(method) and not is_one_sided(method), guesses=1),
    Reach(TABLES, (2, 1), 1, 1, 1, guesses=2),
    Reach(TABLES, (2, 2), 1, 1, 1, lambda method: not has_size(method) and is_one_sided(method)),
]

# What is not enumerated, and why.
LEFT_OUT = [
    (
        "two-sided Threshold, FilterThreshold and Filter(size)",
        "dyadic, 4 cells",
        "7 nodes: some 10,000 outcomes a table, or more; 2 cells are in the table",
    ),
    (
        "Priority, FilterPriority",
        "cells, dyadic (consistent too) or haar, 4 cells",
        "some 10,000 outcomes a table and guess, or more; 2 or 3 cells are in the table",
    ),
    (
        "all but the one-sided Filter(cutoff)",
        "product-dyadic, 2x2 cells",
        "9 nodes: some 10,000 outcomes a table, or more; 2x1 cells are in the table",
    ),
    (
        "fixed sizes, and two-sided methods",
        "2 tables, 2x2 cells",
        "6 nodes: some 10,000 outcomes a table, or more; 2x1 cells are in the table",
    ),
    ("the keys", "sketches", "2^128 of them a row: the law is that for given keys, which are public"),
    ("the weights", "all structures", "not compared: they follow from the other columns"),
    (
        "thresholds of samples of a size",
        "all structures",
        "compared as rounded up to a power of 2, not to 40 bits; all above 2 are one",
    ),
]


def every_case() -> Iterator[Case]:
    """Yield all cases of `make audit`."""
    for reach in REACHES:
        for method in METHODS:
            if not reach.only(method):
                continue
            taken = reach.structure.taken(method)
            case = Case(
                taken,
                reach.structure,
                reach.shape,
                reach.most,
                reach.total,
                reach.in_a_cell,
                guesses_for(taken)[: reach.guesses],
            )
            if taken == method and offered(reach.structure, method) is None:
                yield case
    yield Case(ht.Filter(cutoff=1), Cells(), (3,), 2, 3, 2, far=2)
    yield Case(ht.Threshold(size=1), Cells(), (2,), 2, 4, 2)
    yield Case(ht.FilterThreshold(cutoff=1, size=1), Cells(), (2,), 2, 4, 2)
    yield Case(ht.Filter(cutoff=2), Cells(), (3,), 2, 3, 2)
    yield Case(ht.Filter(size=2), Cells(), (4,), 1, 1, 1, guesses_for(ht.Filter(size=2))[:2])
    yield Case(ht.Priority(size=2), Cells(), (3,), 1, 1, 1, guesses_for(ht.Priority(size=2)))
    yield Case(ht.Filter(size=3, two_sided=False), ht.Dyadic(consistent=True), (4,), 1, 1)
    yield Case(
        ht.Filter(cutoff=2, two_sided=False), ht.Hierarchy("a", shares=[1, 2], complete=1), (2,), 2, 2, 2
    )
    yield Case(ht.Filter(size=3, two_sided=False), ht.Tree(branching=2), (4,), 1, 1)


def not_offered() -> Iterator[tuple[str, str, str]]:
    """Yield which methods a structure does not take, and why."""
    for reach in {repr(reach.structure): reach for reach in REACHES}.values():
        refusals: dict[str, list[str]] = {}
        for method in METHODS:
            case = Case(reach.structure.taken(method), reach.structure, reach.shape, reach.most)
            refusal = offered(reach.structure, method)
            if refusal is not None:
                refusals.setdefault(refusal, []).append(case.name)
        for refusal, names in refusals.items():
            yield "; ".join(names), case.over.split(",")[0], f"not offered: {refusal}"


def quick_cases() -> list[Case]:
    """Cases for every run of the tests: each structure, and each method on cells."""
    return [
        *(
            Case(method, Cells(), (2,), 1, 1 if is_priority(method) else 2, 1, guesses_for(method))
            for method in METHODS
        ),
        TIES[0],
        Case(ht.Filter(cutoff=1), ht.Dyadic(), (2,), 1, 1),
        Case(ht.Filter(size=1, two_sided=False), ht.Dyadic(consistent=True), (2,), 1, 1),
        Case(ht.Everything(), ht.Haar(), (2,), 1, 1),
        Case(ht.Threshold(threshold=3, two_sided=False), ht.ProductDyadic(), (2, 1), 1, 1),
        Case(ht.Filter(size=2, two_sided=False), ht.Tree(branching=2), (2,), 1, 1),
        Case(
            ht.Filter(size=2, two_sided=False),
            ht.Hierarchy("a", shares=[1, 2], complete=1),
            (2,),
            1,
            1,
        ),
        Case(ht.Everything(), ht.CountSketch(width=2), (2,), 1, 1),
        Case(ht.Filter(cutoff=1), CUBE, (2, 2), 1, 1),
        Case(ht.Filter(cutoff=1), TABLES, (2, 1), 1, 1),
    ]


# Ties that forget their bands are found by these, the first of which is quick.
TIES = [
    Case(ht.Filter(size=1), Cells(), shape, 1, 1, 1, guesses_for(ht.Filter(size=1))[:2])
    for shape in ((3,), (4,))
]
