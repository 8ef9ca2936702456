"""What a page says of guesses is a bound: no guesser, however clever, is right more often."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, cast

import pytest

import hushtable as ht
from hushtable.laws.gaussian import Gaussian
from hushtable.pages import facts
from hushtable.release.terms import Terms


def odds(**cost: Any) -> dict[str, Any]:
    """What is said of a cost; nothing else of the terms matters."""
    return facts.odds(cast(Terms, SimpleNamespace(cost=ht.Cost(**cost))))


@pytest.mark.parametrize(
    ("cost", "out", "verdict"),
    [
        ({"epsilon": "0.1"}, 48, "strong protection"),
        ({"epsilon": "1/2"}, 38, "strong protection"),
        ({"epsilon": 1}, 27, "commonly use"),
        ({"epsilon": 3}, 5, "commonly use"),
        ({"epsilon": 8}, 0, "little protection"),
        ({"epsilon": "1/2", "delta": "1e-9"}, 38, "strong protection"),
        ({"epsilon": 1, "delta": "0.5"}, 13, "commonly use"),
        ({"rho": "0.01"}, 46, "strong protection"),
        ({"rho": "0.5"}, 25, "commonly use"),
        ({"rho": 3}, 1, "little protection"),
    ],
)
def test_guesses_are_misled_as_often_as_the_cost_says(cost: dict[str, Any], out: int, verdict: str) -> None:
    said = odds(**cost)

    assert (said["out"], said["in"]) == (out, 100 - out)
    assert verdict in said["verdict"]


def test_what_each_kind_of_cost_means_is_said() -> None:
    assert "at most a factor of 2.72." in odds(epsilon=1)["also"]
    assert (
        "apart from a chance of at most delta = 1e-7 that the result tells more."
        in odds(epsilon=1, delta="1e-7")["also"]
    )
    assert "factor" not in odds(rho="0.1")["also"]


@pytest.mark.parametrize("rho", ["0.001", "0.05", "0.5", "2", "5"])
def test_the_best_guess_from_gaussian_noise_errs_no_less_than_is_said(rho: str) -> None:
    # Noise of this deviation costs this rho; the best guess errs as often on either side.
    deviation = sqrt(Gaussian.calibrated(budget=Fraction(rho), change=Fraction(1)).variance)
    errs = 100 * NormalDist().cdf(-1 / (2 * deviation))

    assert odds(rho=rho)["out"] <= errs + 0.5
    if float(rho) <= 0.5:  # and it is no idle bound
        assert odds(rho=rho)["out"] >= 0.75 * errs


def test_the_best_guess_from_a_noisy_answer_errs_as_often_as_is_said() -> None:
    # An answer that is true with chance e^epsilon / (1 + e^epsilon), and given away with chance delta.
    delta = 0.2
    errs = (1 - delta) / (1 + exp(1))

    assert odds(epsilon=1, delta="0.2")["out"] == round(100 * errs)
