"""How far answers from whole tables reach: against the exact law of sums of noise, wide and sharp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hushtable as ht
from hushtable.answers.tables.whole import AskedAlong, WholeTable, WholeTables
from hushtable.domain.items import Item
from hushtable.laws.geometric import Geometric

FAR = 400
DOMAIN = ht.Domain.from_dict({"attribute": [{"name": "a", "integers": {"low": "0", "high": "9"}}]})


def tables(*rates: float) -> WholeTables:
    laws = [Geometric(Fraction(rate).limit_denominator(1000)) for rate in rates]
    return WholeTables(DOMAIN, [WholeTable((Item(0),), law, np.zeros(10)) for law in laws])


def missed(rate: float, cells: int, reach: float) -> float:
    """The chance that the noise of so many cells together lies farther out, by adding up its law."""
    places = np.arange(-FAR, FAR + 1)
    one = np.exp(-rate * np.abs(places)) * np.tanh(rate / 2)
    law = np.where(places == 0, 1.0, 0.0)
    for _ in range(cells):
        law = np.convolve(law, one)[FAR:-FAR]
    return float(law[np.abs(places) > reach + 1e-9].sum())


@pytest.mark.parametrize("chance", [0.5, 0.05, 0.001])
@pytest.mark.parametrize("rate", [0.1, 1, 2.5, 3.7, 5, 8])
@pytest.mark.parametrize("others", [(), (0.2, 4.0)], ids=["alone", "beside others"])
def test_an_interval_fails_no_more_often_than_it_says(
    rate: float, chance: float, others: tuple[float, ...]
) -> None:
    made = tables(rate, *others)
    variance = Geometric(Fraction(rate).limit_denominator(1000)).floats.variance
    for cells in (1, 2, 3, 6, 12, 40):
        (reach,) = made.reach(np.array([cells * variance]), chance)
        assert missed(rate, cells, float(reach)) <= 1.03 * chance


@pytest.mark.parametrize("beside", [0.5, 1.0])
@pytest.mark.parametrize("rate", [0.6, 1.0, 1.4, 1.8, 2.2, 2.4, 2.6, 3.2])
def test_intervals_of_fitted_tables_hold_where_noise_is_mostly_none(rate: float, beside: float) -> None:
    sizes, random = (40, 6), np.random.default_rng(int(10 * rate + beside))
    declared = [{"name": f"a{i}", "integers": {"low": 0, "high": size - 1}} for i, size in enumerate(sizes)]
    laws = [Geometric(Fraction(each).limit_denominator(100)) for each in (rate * beside, rate * beside, rate)]
    shapes = [sizes[:1], sizes[1:], sizes]
    items = [(Item(0),), (Item(1),), (Item(0), Item(1))]
    zeros = [WholeTable(*each) for each in zip(items, laws, map(np.zeros, shapes), strict=True)]
    made = WholeTables(ht.Domain.from_dict({"attribute": declared}), zeros)
    known = made.resolved([AskedAlong(i, 0, np.arange(size), None) for i, size in enumerate(sizes)])
    assert known is not None
    variances = made.lattice.spread(*known)
    reach = made.reach(variances.ravel(), 0.05).reshape(sizes)

    def noise(law: Geometric, shape: tuple[int, ...]) -> np.ndarray:
        up, down = (random.geometric(-np.expm1(-float(law.rate)), shape) for _ in range(2))
        return (up - down).astype(np.float64)

    rounds, held = 200, 0
    for _ in range(rounds):
        errors = made.lattice.fitted(list(map(noise, laws, shapes))).table(known[0])
        held += int((np.abs(errors) <= reach).sum())
    assert held / (rounds * variances.size) > 0.95


def test_wide_noise_of_many_cells_is_close_to_normal() -> None:
    (reach,) = tables(0.1).reach(np.array([400 * 200.0]), 0.05)
    assert reach == pytest.approx(1.96 * (400 * 200.0) ** 0.5, rel=0.01)
