"""A thinned summary has the law of the one that would have been asked for at first: equal, in fractions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction

import pytest

import hushtable as ht
from hushtable.methods.settings import Method
from hushtable.structures.cells import Cells
from hushtable.structures.structure import Structure
from hushtable.summaries.draws import nodes_of
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from hushtable.summaries.thinning import above_cutoff, at_threshold, of_size
from tests.audit.drawing import outcome, table_of
from tests.harness.branching import Branching, Law, law_of

Thin = Callable[[Summary, Branching], Summary]


def law(method: Method, structure: Structure, thin: Thin | None, most: int) -> Law:
    table = table_of((0, 1, 0) if isinstance(method, ht.Filter) and structure == Cells() else (0, 1))

    def run(source: Branching) -> Hashable:
        nodes, _ = nodes_of(structure, table, method, source)
        per_cell = 1 if nodes is None else nodes.per_cell
        drawn = draw_summary(
            table,
            method,
            epsilon=Fraction(per_cell),
            sensitivity=Fraction(per_cell),
            entropy=source,
            nodes=nodes,
        )
        return outcome(drawn if thin is None else thin(drawn, source))

    return law_of(run, most=most)[0]


def to_size(size: int) -> Thin:
    return lambda drawn, bits: of_size(drawn, size, bits)


def by_way_of_size(size: int, thin: Thin) -> Thin:
    return lambda drawn, bits: thin(of_size(drawn, size, bits), bits)


def to_cutoff(cutoff: int) -> Thin:
    return lambda drawn, bits: above_cutoff(drawn, Fraction(cutoff))


def to_threshold(threshold: int) -> Thin:
    return lambda drawn, bits: at_threshold(drawn, Fraction(threshold), bits)


def one_sided(size: int) -> ht.Filter:
    return ht.Filter(size=size, two_sided=False)


CASES: list[tuple[Method, Method, Structure, Thin, int]] = [
    (ht.Filter(size=2), ht.Filter(size=1), Cells(), to_size(1), 1),
    (one_sided(3), one_sided(1), Cells(), by_way_of_size(2, to_size(1)), 2),
    (one_sided(3), one_sided(2), ht.Dyadic(consistent=True), to_size(2), 2),
    (one_sided(3), one_sided(2), ht.Tree(branching=2), to_size(2), 1),
    (ht.Filter(cutoff=1), ht.Filter(cutoff=2), Cells(), to_cutoff(2), 2),
    (ht.Threshold(threshold="3/2"), ht.Threshold(threshold=2), Cells(), to_threshold(2), 1),
]


@pytest.mark.parametrize(("wide", "narrow", "structure", "thin", "most"), CASES)
def test_thinning(wide: Method, narrow: Method, structure: Structure, thin: Thin, most: int) -> None:
    asked_for = law(narrow, structure, None, most)

    assert law(wide, structure, thin, most) == asked_for
    assert law(wide, structure, None, most) != asked_for
