"""Trees of a fixed size: the law of noise on every node, exactly, however their cutoff is lowered."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import combinations
from math import gcd, inf, sqrt

import pytest

import hushtable as ht
from hushtable.laws.geometric import Geometric
from hushtable.structures.addresses import LineAddresses
from hushtable.structures.branching import BranchingTree, lowest_rank, shares_by
from hushtable.structures.lines import Line
from tests.audit.cases import STEPS, Case, epsilon_of, law_under
from tests.audit.drawing import Counts
from tests.harness.branching import Branching, Law, law_of, noisy_counts

CONSISTENT = ht.Dyadic(consistent=True)


def long_way_law(case: Case, counts: Counts) -> Law:
    """Noise on every node; rank by the smallest count on the way down, then by depth, then by chance."""
    tree = case.structure
    assert isinstance(case.method, ht.Filter)
    size = case.method.size
    assert size is not None
    pruned = isinstance(tree, ht.Tree)
    width = tree.branching if isinstance(tree, ht.Tree) else 2
    cells = BranchingTree(LineAddresses(Line((len(counts),), places=(0,))), branching=width)

    def run(source: Branching) -> Hashable:
        values, ranks, offset, nodes = dict[int, int](), dict[int, tuple[float, int]](), 0, 1
        above: list[int] = []
        # Of a pruned tree, the root has a quarter of what others have on average: it says how they share it.
        rates, step, unit = [1] * 9, 1, 1
        while nodes <= len(counts):
            level, each = len(above), len(counts) // nodes
            for node in range(nodes):
                number, total = offset + node, sum(counts[node * each : (node + 1) * each])
                values[number] = total + source.choose(noisy_counts(Fraction(rates[level]), total, case.most))
                if pruned and not level:
                    deviation = sqrt(Geometric(Fraction(sum(cells.shares))).floats.variance)
                    rates = list(shares_by(cells, values[0] / deviation))
                    step, unit = gcd(*rates[1:]), min(rates[1:]) // gcd(*rates[1:])
                rank = ranks[above[-1] + node // width][0] if level else inf
                own = inf if pruned and not level else values[number] * (rates[level] // step)
                ranks[number] = (min(rank, own), level)
            above.append(offset)
            offset, nodes = offset + nodes, nodes * width
        shared = BranchingTree(cells.addresses, branching=width, shares=rates[: cells.levels])
        laws = [Geometric(Fraction(rate)) for rate in shared.shares]
        lowest = lowest_rank(shared, laws) if pruned else 1
        seen = [number for number in values if ranks[number][0] >= lowest]
        chosen, cutoff = seen, lowest / unit if pruned else None
        if len(seen) > size:
            last = sorted((-ranks[number][0], ranks[number][1]) for number in seen)[size - 1]
            before = [number for number in seen if (-ranks[number][0], ranks[number][1]) < last]
            ties = [number for number in seen if (-ranks[number][0], ranks[number][1]) == last]
            sets = list(combinations(ties, size - len(before)))
            chosen = [*before, *source.choose([(some, Fraction(1, len(sets))) for some in sets])]
            cutoff = -last[0] / unit if last[0] > -inf else max(1.0, float(values[0]))
        chosen = sorted(chosen)
        return tuple((each,) for each in chosen), tuple(values[each] for each in chosen), None, cutoff

    return law_of(run, most=case.most)[0]


CASES = [
    (Case(ht.Filter(size=1, two_sided=False), CONSISTENT, (2,), 2), (1, 0)),
    (Case(ht.Filter(size=2, two_sided=False), CONSISTENT, (2,), 2), (1, 0)),
    (Case(ht.Filter(size=1, two_sided=False), ht.Tree(branching=2), (2,), 2), (0, 1)),
    (Case(ht.Filter(size=2, two_sided=False), ht.Tree(branching=2), (2,), 2), (0, 1)),
]
DEEP = [
    (Case(ht.Filter(size=size, two_sided=False), structure, (4,), 1), (0, 1, 0, 0))
    for size in (2, 3)
    for structure in (CONSISTENT, ht.Tree(branching=2), ht.Tree(branching=4))
]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize(
    ("case", "counts"), [*CASES, *(pytest.param(*each, marks=pytest.mark.long) for each in DEEP)]
)
def test_the_law_is_that_of_the_long_way(case: Case, counts: Counts, steps: str) -> None:
    law, _ = law_under(case, counts, steps)

    assert law == long_way_law(case, counts)


def test_all_rates_are_those_of_the_reference() -> None:
    """Of 9 parts of epsilon, a pruned tree of three levels gives 1 to the root and 4 to each other level."""
    assert [epsilon_of(case) for case, _ in DEEP] == [3, 9, 5, 3, 9, 5]


def test_a_law_of_other_ties_is_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first of all ties were taken, the comparison would tell."""
    case, counts = CASES[3]
    monkeypatch.setattr("tests.harness.branching._subset", lambda members, count, entropy: members[:count])

    law, _ = law_under(case, counts, "own")

    assert law != long_way_law(case, counts)
