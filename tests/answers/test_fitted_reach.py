"""How far answers from whole tables reach: against the exact law of sums of noise, wide and sharp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hushtable as ht
from hushtable.answers.tables.whole import WholeTable, WholeTables
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


def test_wide_noise_of_many_cells_is_close_to_normal() -> None:
    (reach,) = tables(0.1).reach(np.array([400 * 200.0]), 0.05)
    assert reach == pytest.approx(1.96 * (400 * 200.0) ** 0.5, rel=0.01)
