"""The methods that ours are measured against are what their papers say, by numbers that the papers print."""

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest

from benchmarks import peers

Array = peers.Array

# The example that runs through Li, Hay, Miklau, Wang (2014).
EXAMPLE = np.array([2, 3, 8, 1, 0, 2, 0, 4, 2, 4], dtype=np.float64)


def deviation(values: Array) -> float:
    return float(np.abs(values - values.mean()).sum())


def test_partitions_of_the_example_cost_what_the_paper_says() -> None:
    # Buckets of 2, 1, 4 and 3 cells deviate by 6.67 together. We leave the last out.
    apart = peers.deviations(EXAMPLE)

    assert apart[1][0] + apart[0][2] + apart[2][3] + deviation(EXAMPLE[7:]) == pytest.approx(6.67, abs=0.005)


def test_deviations_of_all_stretches() -> None:
    line = np.append(EXAMPLE, np.zeros(6))

    for bits, found in enumerate(peers.deviations(line)):
        stretches = np.lib.stride_tricks.sliding_window_view(line, 1 << bits)
        assert found == pytest.approx([deviation(each) for each in stretches])


def test_the_cheapest_partition_is_found() -> None:
    line = np.repeat([0.0, 9.0, 0.0, 50.0], [4, 2, 8, 2])
    costs = peers.noisy_costs(peers.deviations(line), 1e9, 1.0, np.random.default_rng(1), number=2)

    for edges in peers.partitions(costs):
        assert edges.tolist() == [0, 4, 6, 14, 16]


def test_levels_share_epsilon_as_the_error_tells() -> None:
    questions = np.zeros((40, 64))
    for place, each in enumerate(questions):
        each[place % 7 : 20 + place] = 1

    found = peers.level_shares(questions)

    def error(shares: Array) -> float:
        return float(np.mean([variance(shares, each) for each in questions]))

    assert found.sum() == pytest.approx(1)
    assert error(found) < 0.9 * error(np.full(7, 1 / 7))
    for place in range(7):
        other = found.copy()
        other[place] += 0.02
        assert error(other / other.sum()) > 0.9999 * error(found)


def variance(shares: Array, question: Array) -> float:
    """By the matrix of all nodes: what least squares leave."""
    nodes = [np.kron(np.eye(2**level), np.ones(64 // 2**level)) * share for level, share in enumerate(shares)]
    matrix = np.concatenate(nodes)
    return float(question @ np.linalg.inv(matrix.T @ matrix) @ question)


def test_least_squares_are_those_of_the_matrix() -> None:
    random = np.random.default_rng(2)
    levels, precisions = [random.normal(size=some) for some in (1, 4, 16)], [0.25, 1.0, 4.0]
    nodes = np.concatenate([np.kron(np.eye(some), np.ones((1, 16 // some))) for some in (1, 4, 16)])
    roots = np.repeat(np.sqrt(precisions), (1, 4, 16))
    expected = np.linalg.lstsq(nodes * roots[:, np.newaxis], np.concatenate(levels) * roots, rcond=None)[0]

    assert peers.consistent(levels, precisions) == pytest.approx(expected)


def test_the_best_branching_is_that_of_qardaji_yang_and_li() -> None:
    assert peers.best_branching(4096) == 16


@pytest.mark.parametrize(
    ("total", "epsilon", "side"), [(1_600_000, 1, 400), (1_600_000, 0.1, 127), (1_000_000, 0.1, 100)]
)
def test_grids_are_as_fine_as_their_paper_says(total: int, epsilon: float, side: int) -> None:
    # It prints 400, 126 and 100; we round up.
    assert peers.grid_side(total, epsilon) == side


def test_privelet_keeps_its_bound() -> None:
    # Theorem 3: at most (2 + log2 m)(2 + 2 log2 m)^2 / epsilon^2 where one row replaces another, which is two
    # changes of ours.
    zeros, random = np.zeros(256), np.random.default_rng(3)
    noise = np.stack([peers.privelet(zeros, 1.0, random) for _ in range(400)])
    bound = (2 + 8) * (2 + 2 * 8) ** 2 / 4

    assert (noise[:, 37:200].sum(axis=1) ** 2).mean() < bound
    assert (noise.sum(axis=1) ** 2).mean() == pytest.approx(2 * 9**2, rel=0.4)


@pytest.mark.parametrize("order", [peers.z_order, peers.hilbert_order])
def test_orders_are_curves(order: Callable[[int], peers.Places]) -> None:
    places = order(16)
    rows, columns = places // 16, places % 16
    steps = np.abs(np.diff(rows)) + np.abs(np.diff(columns))

    assert sorted(places) == list(range(256))
    assert steps.max() == (1 if order is peers.hilbert_order else 16)
    assert sorted(places[:4]) == [0, 1, 16, 17]  # a square of four comes first


@pytest.mark.parametrize("method", [peers.hierarchy, peers.privtree, peers.adaptive_grid, peers.uniform_grid])
def test_without_noise_dense_squares_come_back(method: peers.Method) -> None:
    random = np.random.default_rng(4)
    counts = random.integers(1000, 2000, (32, 32)).astype(np.float64)
    found = method(counts, 1e6, random)

    assert found == pytest.approx(counts, abs=0.1)


def test_dawa_is_ahead_where_counts_are_flat() -> None:
    random = np.random.default_rng(5)
    line = np.repeat([3.0, 40.0, 0.0, 12.0], 256)
    questions = np.zeros((30, 1024), dtype=bool)
    for place, each in enumerate(questions):
        each[17 * place : 17 * place + 300] = True
    truths = questions @ line

    def error(cells: Array) -> float:
        return sqrt(float(((questions @ cells - truths) ** 2).mean()))

    dawa = peers.Dawa(line, questions).releases(0.1, random, number=8)
    others = [peers.hierarchy(line, 0.1, random) for _ in range(8)]

    assert np.mean([error(each) for each in dawa]) < 0.5 * np.mean([error(each) for each in others])
