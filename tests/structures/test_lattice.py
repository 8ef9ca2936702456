"""Tables fitted together: against least squares by brute force, on every table of small lattices."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.structures.lattice import Asked, Depths, LevelChain, TableLattice, components

EVEN = LevelChain((1, 2, 4), (np.zeros(2, dtype=np.intp), np.array([0, 1, 0, 1])))
UNEVEN = LevelChain((1, 2, 5), (np.zeros(2, dtype=np.intp), np.array([0, 1, 0, 1, 1])))
TABLES: list[Depths] = [
    ((0, 1), (1, 1)),
    ((1, 2),),
    ((0, 1), (2, 1)),
    ((1, 2), (2, 1)),
    ((2, 1),),
    (),
]
VARIANCES = [1.0, 2.0, 0.5, 3.0, 1.5, 10.0]
KNOWN: list[Depths] = [*TABLES, ((0, 1),), ((1, 1),), ((1, 1), (2, 1))]


class Dense:
    """All tables as matrices over the cells, and their fit by the normal equations."""

    def __init__(self, middle: LevelChain) -> None:
        self.chains = {0: LevelChain.alone(3), 1: middle, 2: LevelChain.alone(2)}
        self.lattice = TableLattice(self.chains, TABLES, VARIANCES)
        self.matrices = [self.matrix(table) for table in TABLES]
        self.stacked = np.vstack(self.matrices)
        self.precision = np.concatenate(
            [
                np.full(len(each), 1 / variance)
                for each, variance in zip(self.matrices, VARIANCES, strict=True)
            ]
        )
        inverse = np.linalg.pinv(self.stacked.T @ (self.precision[:, np.newaxis] * self.stacked))
        self.covariance = inverse
        self.solved = inverse @ self.stacked.T * self.precision

    def shape(self, table: Depths) -> list[int]:
        return [self.chains[place].sizes[depth] for place, depth in table]

    def matrix(self, table: Depths) -> NDArray[np.float64]:
        finest = [len(self.chains[place].sizes) - 1 for place in range(3)]
        cells = list(product(*(range(self.chains[place].sizes[finest[place]]) for place in range(3))))
        made = np.zeros((prod(self.shape(table)), len(cells)))
        for number, cell in enumerate(cells):
            code = 0
            for place, depth in table:
                ancestor = self.chains[place].ancestors(finest[place], depth)[cell[place]]
                code = code * self.chains[place].sizes[depth] + int(ancestor)
            made[code, number] = 1
        return made

    def operator(self, table: Depths) -> NDArray[np.float64]:
        """Return the fit of a table as a matrix over all published numbers."""
        ends = np.cumsum([len(each) for each in self.matrices])[:-1]
        columns = []
        for row in np.eye(len(self.stacked)):
            parts = [
                part.reshape(self.shape(own)) for part, own in zip(np.split(row, ends), TABLES, strict=True)
            ]
            columns.append(self.lattice.fitted(parts).table(table).ravel())
        return np.array(columns).T


@pytest.fixture(scope="module", params=["even", "uneven"])
def dense(request: pytest.FixtureRequest) -> Dense:
    return Dense(EVEN if request.param == "even" else UNEVEN)


@pytest.mark.parametrize("table", KNOWN)
def test_fitted_tables_are_right_on_average_and_state_their_variance(dense: Dense, table: Depths) -> None:
    weights = dense.operator(table)
    assert np.allclose(weights @ dense.stacked, dense.matrix(table))

    exact = (weights**2 / dense.precision).sum(axis=1)
    codes = [Asked(codes=np.arange(size)) for size in dense.shape(table)]
    rows = [Asked(weights=np.eye(size)) for size in dense.shape(table)]
    assert np.allclose(dense.lattice.spread(table, codes).ravel(), exact)
    assert np.allclose(dense.lattice.spread(table, rows).ravel(), exact)


@pytest.mark.parametrize("table", KNOWN)
def test_nothing_linear_is_better_where_levels_are_even(table: Depths) -> None:
    dense = Dense(EVEN)
    assert np.allclose(dense.operator(table), dense.matrix(table) @ dense.solved)
    asked = [Asked(codes=np.arange(size)) for size in dense.shape(table)]
    mean = dense.lattice.spread(table, asked).mean()
    assert dense.lattice.mean_variance(table) == pytest.approx(mean)


@pytest.mark.parametrize("table", KNOWN)
def test_uneven_levels_lose_little(table: Depths) -> None:
    dense = Dense(UNEVEN)
    matrix = dense.matrix(table)
    best = np.diag(matrix @ dense.covariance @ matrix.T)
    asked = [Asked(codes=np.arange(size)) for size in dense.shape(table)]
    found = dense.lattice.spread(table, asked).ravel()
    assert (found >= best * (1 - 1e-9)).all()
    assert (found <= best * 1.04).all()


def test_sums_over_a_table_state_their_variance_too(dense: Dense) -> None:
    table: Depths = ((0, 1), (1, 1))
    some, others = np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    weights = np.einsum("ai,bj,ijk->abk", some, others, dense.operator(table).reshape(3, 2, -1))
    exact = (weights**2 / dense.precision).sum(axis=2)
    found = dense.lattice.spread(table, [Asked(weights=some), Asked(weights=others)])
    assert np.allclose(found, exact)


def test_a_table_knows_what_is_coarser_and_nothing_else() -> None:
    lattice = Dense(EVEN).lattice
    assert set(components(((0, 1), (1, 2)))) == {
        (), ((0, 1),), ((1, 1),), ((1, 2),), ((0, 1), (1, 1)), ((0, 1), (1, 2))
    }  # fmt: skip
    assert lattice.knows(((1, 1), (2, 1)))
    assert not lattice.knows(((0, 1), (1, 2)))
    assert not lattice.knows(((0, 1), (1, 1), (2, 1)))
