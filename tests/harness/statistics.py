"""Does a sample follow a law? Rigorous p-values, so that an alarm rate is a number and not a hope.

`fits` joins two bounds that hold for every law and sample size, without any limit theorem:
Dvoretzky-Kiefer-Wolfowitz with Massart's constant for the whole CDF, and Chernoff's for the count of
each likely value. `fits(...) <= ALARM` therefore happens to a correct sampler with chance at most ALARM.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.balls import working_precision
from hushtable.laws.integers import IntegerLaw, LawFamily
from hushtable.laws.law import NoiseLaw
from hushtable.laws.powers import ExponentialPowers
from hushtable.noise import Replay
from hushtable.noise.lazy import smallest

ALARM = 1e-9  # chance that a correct sampler fails one assertion
SEED = int(os.environ.get("HUSHTABLE_TEST_SEED", "0"))
LONG = "HUSHTABLE_TEST_SEED" in os.environ

POINTS = 500  # of a sample with more different values, at which its distribution is compared with a law's

asked = 0  # how many assertions of this run a correct sampler could fail by chance


@dataclass(frozen=True)
class FloatLaw:
    """A law as floats; `lowest` and `highest` bound the support."""

    mass: Callable[[int], float]
    cdf: Callable[[int], float]
    lowest: float = -inf
    highest: float = inf


def replay(number: int) -> Replay:
    """Return the stream of one test: fixed in `make test`, fresh for each run of `make test-long`."""
    return Replay(SEED * 10_000 + number)


def draws(count: int) -> int:
    """Return how many draws a statistical test takes: five times as many in `make test-long`."""
    return count * (5 if LONG else 1)


def runs(count: int) -> int:
    """Return how often a test repeats what takes a millisecond: eight times as often in `make test-long`."""
    return count * (8 if LONG else 1)


def tries(count: int) -> int:
    """Return on how many examples a property is tried: all in `make test-long`, else a twelfth or 8."""
    return count if LONG else max(min(count, 8), count // 12)


def law_at(family: LawFamily, rate: Fraction) -> FloatLaw:
    """Return a law of the package at a rate, as floats."""
    return as_floats(lambda: family(ExponentialPowers(rate)))


def accepted_at(rule: Acceptance | Band, law: NoiseLaw) -> FloatLaw:
    """Return the law of the size of noise that a rule accepted, as floats."""
    return as_floats(lambda: rule.magnitude(law.exact()))


def as_floats(make: Callable[[], IntegerLaw]) -> FloatLaw:
    """Return a law as floats, given what makes it at the working precision."""
    precision = 1024
    with working_precision(precision):
        law = make()

    def as_float(function: Callable[[int], object]) -> Callable[[int], float]:
        def evaluate(x: int) -> float:
            with working_precision(precision):
                return float(function(x))  # type: ignore[arg-type]

        return evaluate

    lowest = -inf if law.lowest is None else law.lowest
    highest = inf if law.highest is None else law.highest
    return FloatLaw(as_float(law.mass), as_float(law.cdf), lowest, highest)


def from_masses(masses: Mapping[int, Fraction | float]) -> FloatLaw:
    """Return a finite law as floats."""
    values = sorted(masses)
    sums = np.cumsum([float(masses[x]) for x in values])

    def cdf(x: int) -> float:
        below = int(np.searchsorted(values, x, side="right"))
        return float(sums[below - 1]) if below else 0.0

    return FloatLaw(lambda x: float(masses.get(x, 0)), cdf, values[0], values[-1])


def noise_from(law: NoiseLaw, least: int) -> tuple[float, FloatLaw]:
    """Return the chance that noise is `least` or more, and its law then, up to the largest noise there is."""
    last = least + 2_000 if law.highest is None else law.highest
    with working_precision(128):
        noise = law.exact()
        masses = {x: float(noise.mass(abs(x)).mid()) for x in range(least, last + 1)}
    chance = sum(masses.values())
    return chance, from_masses({x: mass / chance for x, mass in masses.items() if mass})


def follows(sample: Iterable[int] | NDArray[np.integer], law: FloatLaw) -> float:
    """Return `fits`, and count one assertion that a correct sampler fails with chance `ALARM`."""
    global asked
    asked += 1
    return fits(sample, law)


def fits(sample: Iterable[int] | NDArray[np.integer], law: FloatLaw) -> float:
    """Return an upper bound on the chance that draws from `law` look at least this unlike it."""
    array = sample if isinstance(sample, np.ndarray) else np.array(list(sample), dtype=object)
    values, counts = np.unique(array, return_counts=True)
    if values[0] < law.lowest or values[-1] > law.highest:
        return 0.0
    size = int(counts.sum())
    below = np.cumsum(counts) / size
    distance = 0.0
    for i in _compared(below):
        value, before = int(values[i]), below[i - 1] if i else 0.0
        distance = max(distance, abs(below[i] - law.cdf(value)), abs(before - law.cdf(value - 1)))
    whole = 2 * exp(-2 * size * distance**2)
    likely = likely_values(law, size)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    single = min((chernoff(seen.get(x, 0), size, mass) for x, mass in likely.items()), default=1.0)
    return min(1.0, 2 * min(whole, max(len(likely), 1) * single))


def _compared(below: NDArray[np.float64]) -> Iterable[int]:
    """Return which values to compare, given each one's share of the sample up to it.

    All, or of very many those at `POINTS` even ranks: both curves rise, so the largest distance at these is
    no larger than that at all (the bound holds), and less than 1 / POINTS smaller (nothing large is missed).
    """
    if below.size <= POINTS:
        return range(below.size)
    found: list[int] = np.unique(np.searchsorted(below, (np.arange(POINTS) + 0.5) / POINTS)).tolist()
    return found


def likely_values(law: FloatLaw, size: int) -> dict[int, float]:
    """Return up to 300 values that the law expects at least 10 times, with their masses.

    They lie at its low end and around its median.

    They are chosen by the law alone: a choice that looked at the sample would void the bound.
    """
    low = None if law.lowest == -inf else int(law.lowest)
    high = None if law.highest == inf else int(law.highest)
    median = smallest(lambda x: law.cdf(x) >= 0.5, low=low, high=high)
    candidates = {*range(median - 100, median + 100), *(() if low is None else range(low, low + 100))}
    inside = (x for x in sorted(candidates) if law.lowest <= x <= law.highest)
    masses = {x: law.mass(x) for x in inside}
    return {x: mass for x, mass in masses.items() if size * mass >= 10}


def chernoff(count: int, size: int, chance: float) -> float:
    """Return a bound on the chance that a Binomial(size, chance) is at least as far off as `count`."""
    if not 0 <= count <= size:
        return 0.0
    share = count / size
    if chance in (0.0, 1.0):
        return 1.0 if share == chance else 0.0

    def term(x: float, y: float) -> float:
        return x * log(x / y) if x else 0.0

    return min(1.0, 2 * exp(-size * (term(share, chance) + term(1 - share, 1 - chance))))


def chernoff_follows(count: int, size: int, chance: float) -> float:
    """Return `chernoff`, and count one assertion that a correct sampler fails with chance `ALARM`."""
    global asked
    asked += 1
    return chernoff(count, size, chance)
