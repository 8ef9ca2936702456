"""Hierarchies of a fixed size: the law of noise on every node, exactly, however their cutoff is lowered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import combinations, product
from math import inf

import numpy as np
import pytest

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.structures.hierarchy import HierarchySpace
from hushtable.structures.refining import growing_at
from hushtable.summaries.laborious import Node, ranked_levels
from tests.audit.cases import CROSSED, LEVELS, STEPS, Case, _named, audited, law_under
from tests.audit.drawing import Counts
from tests.harness.branching import Branching, Law, law_of, noisy_counts


def long_way_law(case: Case, counts: Counts) -> Law:
    """Noise on every node; rank by the smallest weighed count on the way down, then by depth, then chance."""
    nodes = _named(case.structure, case.shape)  # type: ignore[arg-type]
    assert isinstance(nodes, HierarchySpace)
    assert isinstance(case.method, ht.Filter)
    tree, size, complete = nodes.tree, case.method.size, nodes.structure.complete
    assert size is not None
    assert complete is not None
    ways: dict[str, list[Callable[[Node], Node]]] = {
        "pair(a)": [_everything, lambda cell: (cell[0] // 2,), _itself],
        "a": [_everything, lambda cell: cell[:1], _itself],
    }
    levels = ways[nodes.structure.levels[0]][: tree.levels]
    cells: dict[Node, int] = dict(zip(product(*map(range, case.shape)), counts, strict=True))
    # 1 is what is paid for a share of 1; the audit's epsilon makes all rates whole.
    laws = [Geometric(Fraction(share)) for share in tree.shares]
    lowest = growing_at(tree, laws)

    def run(source: Branching) -> Hashable:
        sums: dict[Node, int] = {}
        for level, at in enumerate(levels):
            for cell, count in cells.items():
                sums[level, *at(cell)] = sums.get((level, *at(cell)), 0) + count

        def noise(node: Node) -> int:
            return source.choose(noisy_counts(Fraction(tree.shares[node[0]]), sums[node], case.most))

        values, ranks = ranked_levels(cells, levels, tree.weights, noise, complete=complete)
        seen = [node for node in ranks if ranks[node] >= lowest]
        chosen, cutoff = seen, lowest / tree.unit
        if len(seen) > size:
            last = sorted((-ranks[node], node[0]) for node in seen)[size - 1]
            before = [node for node in seen if (-ranks[node], node[0]) < last]
            ties = [node for node in seen if (-ranks[node], node[0]) == last]
            sets = list(combinations(ties, size - len(before)))
            chosen = [*before, *source.choose([(some, Fraction(1, len(sets))) for some in sets])]
            cutoff = -last[0] / tree.unit if last[0] > -inf else max(1.0, float(values[seen[0]]))
        # Nodes in the order of their levels and values, which here is that of their numbers.
        places = {node: number for number, node in enumerate(sorted(values))}
        numbers = [0]
        for level in range(tree.levels - 1):
            here = np.array([each - tree.offsets[level] for each in numbers if each // tree.cells == level])
            numbers += (tree.family(here, level)[0] + tree.offsets[level + 1]).tolist()
        kept = sorted((numbers[places[node]], values[node]) for node in chosen)
        return tuple((number,) for number, _ in kept), tuple(value for _, value in kept), None, cutoff

    return law_of(run, most=case.most)[0]


def _everything(cell: Node) -> Node:
    return ()


def _itself(cell: Node) -> Node:
    return cell


CASES = [
    (Case(ht.Filter(size=2, two_sided=False), ht.Hierarchy("a", shares=[1, 2], complete=1), (2,), 2), (0, 1)),
    (Case(ht.Filter(size=3, two_sided=False), ht.Hierarchy("a", shares=[1, 1], complete=2), (2,), 2), (1, 1)),
    (Case(ht.Filter(size=3, two_sided=False), ht.Hierarchy("a", shares=[1, 1], complete=2), (2,), 2), (0, 1)),
]
DEEP = [
    (Case(ht.Filter(size=3, two_sided=False), LEVELS, (4,), 1), (0, 1, 0, 0)),
    (Case(ht.Filter(size=4, two_sided=False), CROSSED, (2, 2), 1), (0, 1, 0, 0)),
]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(
    ("case", "counts"), [*CASES, *(pytest.param(*each, marks=pytest.mark.long) for each in DEEP)]
)
def test_the_law_is_that_of_the_long_way(case: Case, counts: Counts, steps: str) -> None:
    law, _ = law_under(case, counts, steps)

    assert law == long_way_law(case, counts)


def test_too_much_for_a_level_is_above_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where noise of a level were for twice its share, the audit would tell."""
    case = Case(ht.Filter(size=2, two_sided=False), CASES[0][0].structure, (2,), 1)
    assert audited(case).holds
    own = HierarchySpace.per_cell.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(HierarchySpace, "per_cell", property(lambda self: own(self) - 1))

    assert not audited(case).holds
