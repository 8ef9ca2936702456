"""Laws of noise beside each other: the cutoffs they need, their draws, and a release at its real size.

Times are of the processor, by one thread: what others do on a shared machine is no part of them.
Cost: some five minutes, half of them for one table of accepted values at deviation 5,000.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import asinh, prod, sqrt
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.libraries import kept_keys
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.tables import made_up
from benchmarks.timing import Job, best, interleaved
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.curves import gaussian_rho
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw, at_law
from hushtable.laws.thresholds import GaussianStability, ThresholdLaw, TruncatedGeometric
from hushtable.methods.tuning import auto_cutoff
from hushtable.noise import KeyStream, accepted_noise, binomial, cell_noise
from hushtable.noise.samplers import sampler_of
from hushtable.summaries.flat import summarize_table

_EPSILON, _DELTA = Fraction(1), Fraction(1, 10**6)
_FABRICATED = 1_000
_EXPONENTS = (6, 8, 12, 30)
# Smallest published counts by cells a person, found by exact sums that share no code with the package:
# geometric and discrete Gaussian noise at 10^6, 10^8, 10^12, 10^30 cells; then the two laws of thresholds.
_CUTOFFS = {
    1: ((7, 12, 21, 62), (14, 19, 26, 47), (22, 15)),
    3: ((20, 33, 61, 185), (24, 32, 45, 80), (38, 41)),
    10: ((63, 109, 201, 616), (42, 58, 81, 146), (72, 133)),
    28: ((175, 304, 562, 1_722), (70, 96, 135, 244), (123, 369)),
    100: ((622, 1_083, 2_004, 6_149), (132, 181, 254, 459), (239, 1_314)),
}
_THRESHOLDS: tuple[type[ThresholdLaw], ...] = (GaussianStability, TruncatedGeometric)

_DRAWS = 10**7
_ROUNDS = 5
_DEVIATIONS = (5, 50, 5_000)

_TRIALS = 10**30
_EXPECTED = 10**5
_COUNT_DRAWS = 100

_KEYS = (2_500, 250, 200)  # pages, countries, projects: 1.25 10^8
_OCCUPIED = 10**6
_CHUNK = 1 << 20  # keys that NumPy noises at a time, so that they stay in the cache
_EVERY_ROUNDS = 3

_generator = np.random.default_rng()


def cutoffs(say: Say) -> Sheet:
    """Compute the smallest count that each law lets a table publish."""
    say("cutoffs")
    sheet = Sheet(
        title=f"Smallest published count at epsilon 1, delta 10^-6, {_FABRICATED:,} fabricated rows",
        columns=("cells a person", "law", *(f"m = 10^{exponent}" for exponent in _EXPONENTS)),
        note=(
            "Each within 1 of what exact sums outside of the package gave. Gaussian noise is calibrated by "
            "its exact privacy curve."
        ),
    )
    for cells, (geometric, gaussian, _) in _CUTOFFS.items():
        rho = gaussian_rho(_EPSILON, delta=_DELTA, cells=cells)
        laws = {Geometric(_EPSILON / cells): geometric, Gaussian(cells / (2 * rho)): gaussian}
        for law, known in laws.items():
            found = [_cutoff(law, 10**exponent, _FABRICATED) for exponent in _EXPONENTS]
            sheet.add(str(cells), law.name, *map(_within_1, found, known))
    return sheet


def thresholds(say: Say) -> Sheet:
    """Compute the smallest count that laws without a declared domain let a table publish."""
    say("thresholds")
    sheet = Sheet(
        title="Smallest published count at epsilon 1, delta 10^-6, any m, no fabricated rows",
        columns=("cells a person", *(kind.name for kind in _THRESHOLDS)),
        note="Each within 1 of what exact sums outside of the package gave.",
    )
    for cells, (*_, known) in _CUTOFFS.items():
        settings = {"budget": _EPSILON, "change": Fraction(cells), "delta": _DELTA}
        found = [kind.calibrated(**settings).least_cutoff or 0 for kind in _THRESHOLDS]
        sheet.add(str(cells), *map(_within_1, found, known))
    return sheet


def noise(say: Say) -> Sheet:
    """Measure discrete Gaussian noise of a cell."""
    sheet = Sheet(
        title="Discrete Gaussian noise, 10^7 draws",
        columns=("deviation", "ns a\ndraw", "NumPy\nns", "ratio", "build\nms"),
        note=f"NumPy: rint(normal). Best of {_ROUNDS}; the table of a law is built once, and kept.",
    )
    for deviation in _DEVIATIONS:
        say(f"noise of deviation {deviation:,}")
        law = Gaussian(Fraction(deviation**2))
        build = _seconds(partial(sampler_of, law))
        jobs: list[Job] = [_noise(law), _numpy_noise(deviation)]
        ours, numpys = best(jobs, rounds=_ROUNDS, clock=process_time)
        ratio = Figure(ours / numpys, Bar("<=", 1.5))
        sheet.add(f"{deviation:,}", _per_draw(ours), _per_draw(numpys), ratio, Figure(build * 1e3))
    return sheet


def passing_counts(say: Say) -> Sheet:
    """Measure how many of 10^30 empty cells pass, under both laws."""
    sheet = Sheet(
        title=f"Binomial(10^30, p), some 10^5 expected, {_COUNT_DRAWS} draws one by one",
        columns=("deviation", "geometric\nms a draw", "Gaussian\nms a draw", "ratio", "first draw's\nms"),
        note="p: that an empty cell reaches a cutoff. Medians. The first draw of a Gaussian adds up tails.",
    )
    for deviation in _DEVIATIONS:
        say(f"binomial counts of deviation {deviation:,}")
        jobs = [_passing(law) for law in _alike(deviation)]
        first = _seconds(jobs[1])
        geometric, gaussian = map(median, interleaved(jobs, rounds=_COUNT_DRAWS, clock=process_time))
        ratio = Figure(gaussian / geometric, Bar("<=", 2))
        times = Figure(geometric * 1e3), Figure(gaussian * 1e3), ratio, Figure(first * 1e3)
        sheet.add(f"{deviation:,}", *times)
    return sheet


def accepted_values(say: Say) -> Sheet:
    """Measure the values of empty cells that passed, under both laws."""
    sheet = Sheet(
        title="Values of accepted empty cells, m = 10^30, 10^7 draws",
        columns=(
            "deviation",
            "geometric\nns a draw",
            "Gaussian\nns a draw",
            "ratio",
            "geometric\nbuild ms",
            "Gaussian\nbuild ms",
        ),
        note=f"Cutoffs that some 10^5 of 10^30 empty cells reach. Best of {_ROUNDS}; tables are built once.",
    )
    for deviation in _DEVIATIONS:
        say(f"accepted values of deviation {deviation:,}")
        laws = _alike(deviation)
        builds = [_seconds(partial(sampler_of, law, _passes(law).pieces)) for law in laws]
        geometric, gaussian = best([_accepted(law) for law in laws], rounds=_ROUNDS, clock=process_time)
        ratio = Figure(gaussian / geometric, Bar("<=", 2))
        built = [Figure(build * 1e3) for build in builds]
        sheet.add(f"{deviation:,}", _per_draw(geometric), _per_draw(gaussian), ratio, *built)
    return sheet


def page_views(say: Say) -> Sheet:
    """Measure the two designs of a daily release of page views against noise on every key."""
    sheet = Sheet(
        title="Page views of a day: m = 1.25 10^8 keys, 10^6 occupied",
        columns=(
            "design",
            "rows",
            "NumPy, every\nkey, s",
            "ours\nms",
            "times as\nfast",
            "first draw\nms",
            "times as\nfast",
            "with the\ntable, ms",
            "times as\nfast",
        ),
        note=(
            "From sorted keys and counts to what is published. NumPy: laplace or normal for every key, in "
            f"chunks, filtered; only what is left is rounded. Best of {_ROUNDS} and of {_EVERY_ROUNDS}. The "
            "first draw builds the tables of its law. With the table: codes in no order are sorted first."
        ),
    )
    say("a table of page views")
    codes, counts = made_up(_KEYS, _OCCUPIED)
    table = ht.SparseTable(shape=_KEYS, codes=codes, counts=counts)
    places = np.ravel_multi_index(tuple(codes.T), _KEYS)
    order = np.argsort(places)
    places, ordered = places[order], counts[order]
    for name, design in _DESIGNS.items():
        say(name)
        draw = partial(design.drawn, table)
        first = _seconds(draw)
        jobs = [draw, partial(design.drawn_from_codes, codes, counts)]
        ours, whole = best(jobs, rounds=_ROUNDS, clock=process_time)
        every = partial(design.every_key, places, ordered)
        (numpys,) = best([every], rounds=_EVERY_ROUNDS, clock=process_time)
        sheet.add(
            name,
            Figure(len(draw())),
            Figure(numpys),
            Figure(ours * 1e3),
            Figure(numpys / ours, Bar(">=", 50)),
            Figure(first * 1e3),
            Figure(numpys / first),
            Figure(whole * 1e3),
            Figure(numpys / whole),
        )
    return sheet


@dataclass(frozen=True, kw_only=True)
class _Design:
    """A one-sided filter with noise of a law: by the short way, and by NumPy on every key."""

    law: type[NoiseLaw]
    budget: Fraction
    change: Fraction
    cutoff: int
    floats: Callable[[int], NDArray[np.float64]]  # as much of NumPy's noise

    def drawn(self, table: ht.SparseTable) -> ht.Summary:
        return summarize_table(
            table,
            ht.Filter(cutoff=self.cutoff, two_sided=False),
            epsilon=self.budget,
            sensitivity=self.change,
            entropy=KeyStream(),
            law=self.law,
        )

    def drawn_from_codes(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> ht.Summary:
        return self.drawn(ht.SparseTable(shape=_KEYS, codes=codes, counts=counts))

    def every_key(
        self, places: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the keys that reach the cutoff and their counts, chunk by chunk."""
        keys, values = [], []
        total = prod(_KEYS)
        for start in range(0, total, _CHUNK):
            noisy = self.floats(min(_CHUNK, total - start))
            here = slice(*np.searchsorted(places, [start, start + noisy.size]))
            noisy[places[here] - start] += counts[here]
            left = np.flatnonzero(noisy >= self.cutoff - 0.5)  # what rounds to the cutoff, or to more
            keys.append(left + start)
            values.append(np.rint(noisy[left]).astype(np.int64))
        return np.concatenate(keys), np.concatenate(values)


_DESIGNS = {
    "pure: scale 300, cutoff 3,500": _Design(
        law=Geometric,
        budget=Fraction(1),
        change=Fraction(300),
        cutoff=3_500,
        floats=lambda size: _generator.laplace(0, 300, size),
    ),
    "Gaussian: rho 0.015, 10 pages, cutoff 90": _Design(
        law=Gaussian,
        budget=Fraction("0.015"),
        change=Fraction(10),
        cutoff=90,
        floats=lambda size: _generator.normal(0, sqrt(10 / (2 * 0.015)), size),
    ),
}


def _alike(deviation: int) -> tuple[NoiseLaw, NoiseLaw]:
    """Return geometric and Gaussian noise of one deviation."""
    # The variance of geometric noise is 1 / (2 sinh(rate / 2)^2).
    rate = Fraction(2 * asinh(1 / (sqrt(2) * deviation))).limit_denominator(10**6)
    return Geometric(rate), Gaussian(Fraction(deviation**2))


def _cutoff(law: NoiseLaw, cells: int, expected: int) -> int:
    """Return the smallest cutoff that at most so many of the empty cells reach, on average."""
    return auto_cutoff(10 * expected, cells=cells, law=law, two_sided=False)


def _passes(law: NoiseLaw) -> Acceptance:
    return Acceptance(cutoff=_cutoff(law, _TRIALS, _EXPECTED), two_sided=False)


def _passing(law: NoiseLaw) -> Job:
    return partial(binomial, _TRIALS, at_law(_passes(law).pass_probability, law), KeyStream())


def _accepted(law: NoiseLaw) -> Job:
    rule = _passes(law)
    return lambda: accepted_noise(rule, law, KeyStream(), count=_DRAWS)


def _noise(law: NoiseLaw) -> Job:
    return lambda: cell_noise(law, KeyStream(), count=_DRAWS)


def _numpy_noise(deviation: int) -> Job:
    return lambda: np.rint(_generator.normal(0, deviation, _DRAWS)).astype(np.int64)


def _seconds(job: Job) -> float:
    """Return the time of one call, which builds what later ones find."""
    (seconds,) = best([job], rounds=1, clock=process_time)
    return seconds


def _within_1(found: int, known: int) -> Figure:
    return Figure(found, Within(known - 1, known + 1))


def _per_draw(seconds: float) -> Figure:
    return Figure(seconds / _DRAWS * 1e9)


SHEETS = (cutoffs, thresholds, noise, passing_counts, accepted_values, page_views, kept_keys)
