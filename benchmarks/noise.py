"""Exact, secure draws against NumPy's inexact, insecure ones, and against the bars of the design.

Cost: about a minute; 10^7 draws for most figures, at rates from common to very small.
"""

from fractions import Fraction
from functools import partial
from math import log
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.timing import Job, best, interleaved
from hushtable.domain.keys import Keys, KeySpace, no_keys
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.balls import Real, nearest_float, rational_real
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import Piece
from hushtable.laws.law import at_law
from hushtable.noise import (
    KeyStream,
    accepted_noise,
    bernoulli,
    binomial,
    empty_cells,
    kept,
    two_sided_geometric,
)
from hushtable.noise.blocks import GeometricSampler

_DRAWS = 10**7
_ROUNDS = 5
_RATES = {
    "1/10": (Fraction(1, 10), Bar("<=", 0.5)),
    "1/210": (Fraction(1, 210), Bar("<=", 0.5)),
    "10^-4": (Fraction(1, 10**4), Bar("<=", 1.5)),
    "10^-4/61": (Fraction(1, 61 * 10**4), None),
}
_BUILD_BAR = Bar("<", 200)

_CELLS = 10**6
_OCCUPIED = 10**7

_TRIALS = 10**30
_COUNT_RATE = Fraction(1, 1000)
_COUNT_DRAWS = 100

_generator = np.random.default_rng()


def plain_noise(say: Say) -> Sheet:
    """Measure the noise of a cell."""
    sheet = Sheet(
        title="Exact secure noise, 10^7 draws",
        columns=("rate", "ns a\ndraw", "NumPy\nns", "ratio", "first call's\nratio", "build\nms"),
        note="NumPy: geometric - geometric. Tables are built once a rate and kept; a first call builds.",
    )
    for text, (rate, bar) in _RATES.items():
        say(f"noise at rate {text}")
        build = _build_seconds(None, rate)
        ours, numpys = best([_noise(rate), _numpy_noise(rate)], rounds=_ROUNDS)
        ratios = Figure(ours / numpys, bar), Figure((ours + build) / numpys, bar)
        sheet.add(text, _per_draw(ours), _per_draw(numpys), *ratios, Figure(build * 1e3, _BUILD_BAR))
    return sheet


def accepted_values(say: Say) -> Sheet:
    """Measure the noise of empty cells that a summary accepted."""
    sheet = Sheet(
        title="Values of accepted empty cells, 10^7 draws",
        columns=("rate", "rule", "ns a\ndraw", "ratio", "first call's\nratio", "build\nms"),
        note=(
            "Ratio to NumPy's geometric - geometric at that rate: NumPy has no such law. Cutoff: 8 / rate. "
            "Threshold: 20 / rate + 1/2. Band: what a threshold of 10 / rate + 1/2 accepts beyond that one."
        ),
    )
    for text, (rate, _) in _RATES.items():
        cutoff, threshold = 8 / rate, 20 / rate + Fraction(1, 2)
        sample = Acceptance(threshold=threshold)
        rules: dict[str, Acceptance | Band] = {
            "filter": Acceptance(cutoff=cutoff),
            "threshold sample": sample,
            "filter + threshold": Acceptance(cutoff=cutoff, threshold=threshold),
            "band": Band(wider=Acceptance(threshold=threshold - 10 / rate), narrower=sample),
        }
        say(f"accepted values at rate {text}")
        *ours, numpys = best(
            [_accepted(rule, rate) for rule in rules.values()] + [_numpy_noise(rate)], rounds=_ROUNDS
        )
        for (name, rule), seconds in zip(rules.items(), ours, strict=True):
            build = _build_seconds(rule.pieces, rate)
            ratios = Figure(seconds / numpys), Figure((seconds + build) / numpys)
            sheet.add(text, name, _per_draw(seconds), *ratios, Figure(build * 1e3, _BUILD_BAR))
    return sheet


def passing_counts(say: Say) -> Sheet:
    """Measure how many of 10^30 empty cells pass."""
    say("binomial counts")
    sheet = Sheet(
        title=f"Binomial(10^30, p), {_COUNT_DRAWS} draws one by one",
        columns=("expected count", "p", "median\nms a draw", "slowest\nms"),
        note="All p but 1/2 are chances that an empty cell passes a filter: irrational numbers.",
    )
    goals = {"10^-9": 1e-9, "10^5": 1e5, "10^7": 1e7}
    bars = {"10^5": Bar("<", 20), "10^7": Bar("<", 400)}
    chances: dict[str, Real] = {name: _chance_near(goal / _TRIALS) for name, goal in goals.items()}
    chances["5 10^29"] = rational_real(Fraction(1, 2))
    jobs = [partial(binomial, _TRIALS, chance, KeyStream()) for chance in chances.values()]
    times = interleaved(jobs, rounds=_COUNT_DRAWS)
    for (name, chance), seconds in zip(chances.items(), times, strict=True):
        figures = Figure(median(seconds) * 1e3, bars.get(name)), Figure(max(seconds) * 1e3)
        sheet.add(name, f"{nearest_float(chance):.4g}", *figures)
    return sheet


def places(say: Say) -> Sheet:
    """Measure the choice of distinct empty cells."""
    sheet = Sheet(
        title="10^6 distinct empty cells, given 10^7 occupied",
        columns=("cells in the domain", "ns a cell", "ratio to\nNumPy", "ratio to\n10^12"),
        note="NumPy, out of 10^12: integers, unique, isin. Beyond 2^64 cells a key has more than one word.",
    )
    say("occupied cells to avoid")
    small, large = KeySpace([10**6] * 2), KeySpace([10**6] * 5)
    filled = {
        space: empty_cells(space.bounds, no_keys(len(space.bounds)), KeyStream(), count=_OCCUPIED)
        for space in (small, large)
    }
    say("distinct empty cells")
    jobs: list[Job] = [partial(_empty, space, occupied) for space, occupied in filled.items()]
    jobs.append(partial(_numpy_empty, small.cells_total, filled[small][0].astype(np.int64)))
    ours, ours_large, numpys = best(jobs, rounds=_ROUNDS)
    rows = {"10^12, 2 attributes": ours, "10^30, 5 attributes": ours_large, "10^12, NumPy": numpys}
    for name, seconds in rows.items():
        sheet.add(name, Figure(seconds / _CELLS * 1e9), Figure(seconds / numpys), Figure(seconds / ours))
    return sheet


def coins(say: Say) -> Sheet:
    """Measure coin flips and raw bits."""
    sheet = Sheet(
        title="Coins and raw bits, 10^7 draws",
        columns=("draw", "NumPy's way", "ns a\ndraw", "NumPy\nns", "ratio"),
        note="Ours come from AES-256 under a fresh key, NumPy's from PCG64, which can be predicted.",
    )
    irrational = at_law(Acceptance(cutoff=10).pass_probability, Geometric(Fraction(1, 10)))
    chance = nearest_float(irrational)
    magnitudes = abs(two_sided_geometric(Fraction(1, 10), KeyStream(), count=_DRAWS))
    threshold = Fraction(61, 2)
    raw = _generator.bit_generator.random_raw
    pairs: dict[tuple[str, str], tuple[Job, Job]] = {
        ("coin, chance 1/3", "random < 1/3"): (
            lambda: bernoulli(Fraction(1, 3), KeyStream(), count=_DRAWS),
            lambda: _generator.random(_DRAWS) < 1 / 3,
        ),
        ("coin, irrational chance", "random < p"): (
            lambda: bernoulli(irrational, KeyStream(), count=_DRAWS),
            lambda: _generator.random(_DRAWS) < chance,
        ),
        ("kept with chance x / 30.5", "random < x / 30.5"): (
            lambda: kept(magnitudes, threshold, KeyStream()),
            lambda: _generator.random(_DRAWS) < magnitudes / 30.5,
        ),
        ("64-bit word", "integers"): (
            lambda: KeyStream().words(_DRAWS),
            lambda: _generator.integers(0, 2**64, dtype=np.uint64, size=_DRAWS),
        ),
        ("64-bit word", "random_raw"): (lambda: KeyStream().words(_DRAWS), lambda: raw(_DRAWS)),
    }
    for (name, numpys_way), (ours_job, numpys_job) in pairs.items():
        say(name)
        ours, numpys = best([ours_job, numpys_job], rounds=_ROUNDS)
        sheet.add(name, numpys_way, _per_draw(ours), _per_draw(numpys), Figure(ours / numpys))
    return sheet


def _noise(rate: Fraction) -> Job:
    return lambda: two_sided_geometric(rate, KeyStream(), count=_DRAWS)


def _accepted(rule: Acceptance | Band, rate: Fraction) -> Job:
    return lambda: accepted_noise(rule, Geometric(rate), KeyStream(), count=_DRAWS)


def _numpy_noise(rate: Fraction) -> Job:
    chance = -np.expm1(-float(rate))
    return lambda: _generator.geometric(chance, _DRAWS) - _generator.geometric(chance, _DRAWS)


def _build_seconds(pieces: tuple[Piece, ...] | None, rate: Fraction) -> float:
    """Return the median time to build a sampler that is not in the cache, flint being loaded."""
    nearest_float(at_law(lambda noise: noise.tail(1), Geometric(rate)))
    return median(interleaved([partial(GeometricSampler, pieces, rate)], rounds=_ROUNDS)[0])


def _chance_near(goal: float) -> Real:
    """Return the chance of a filter whose whole cutoff brings it within 0.1 % of `goal`."""
    cutoff = round(-log(goal) / _COUNT_RATE)
    return at_law(Acceptance(cutoff=cutoff).pass_probability, Geometric(_COUNT_RATE))


def _empty(space: KeySpace, occupied: Keys) -> Keys:
    return empty_cells(space.bounds, occupied, KeyStream(), count=_CELLS)


def _numpy_empty(cells_total: int, occupied: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return distinct empty cells the obvious way: draw 1 % too many, clean, drop the surplus at random."""
    drawn = np.unique(_generator.integers(0, cells_total, size=_CELLS + _CELLS // 100))
    fresh = drawn[~np.isin(drawn, occupied, assume_unique=True)]
    return np.delete(fresh, _generator.choice(fresh.size, fresh.size - _CELLS, replace=False))


def _per_draw(seconds: float) -> Figure:
    return Figure(seconds / _DRAWS * 1e9)


SHEETS = (plain_noise, accepted_values, passing_counts, places, coins)
