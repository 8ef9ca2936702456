"""Exact against requested laws: what was asked of each sampler, beside what its draws showed.

Promise: the requested numbers are computed from the laws, in certified arithmetic, never from a draw.
Cost: some seconds; no data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hushtable.laws.acceptance import Acceptance
from hushtable.laws.balls import nearest_float
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import Binomial, TwoSidedGeometric, WeightedGeometric
from hushtable.laws.law import at_law
from hushtable.laws.powers import ExponentialPowers, Number, Powers
from hushtable.noise import KeyStream, accepted_noise, binomial, two_sided_geometric, uniform_below

DRAWS = 1_000_000
COUNTS = 5_000  # a count out of 10^12 is drawn on its own, in about half a millisecond
RATE = Fraction(1, 10)
CELLS = 10**12
DOUBTFUL = 5.0  # of some twenty differences, one so large has chance 1 in 100,000


@dataclass(frozen=True, slots=True)
class Line:
    """One number of a law, as requested and as drawn."""

    what: str
    requested: float
    drawn: float
    error: float  # one standard error of `drawn`

    @property
    def sigmas(self) -> float:
        """The difference in standard errors."""
        return (self.drawn - self.requested) / self.error


def noise() -> Iterator[Line]:
    """The noise that every cell gets."""
    values = two_sided_geometric(RATE, KeyStream(), count=DRAWS)
    yield _share("P(X = 0)", _at_rate(lambda a: TwoSidedGeometric(a).mass(0)), values == 0)
    yield _share("P(|X| >= 50)", _at_rate(lambda a: 2 * TwoSidedGeometric(a).cdf(-50)), abs(values) >= 50)
    mean = _at_rate(lambda a: TwoSidedGeometric(a).mean())
    variance = _at_rate(lambda a: TwoSidedGeometric(a).variance())
    yield from _moments("", values, mean, variance)


def accepted(rule: Acceptance, edge: int) -> Iterator[Line]:
    """The noise of the empty cells that a summary accepts: the others are never drawn."""
    values = accepted_noise(rule, Geometric(RATE), KeyStream(), count=DRAWS)
    yield _share("P(V > 0)", 1 / 2, values > 0)
    law = partial(WeightedGeometric, rule.pieces)
    yield _share(f"P(|V| >= {edge})", _at_rate(lambda a: law(a).tail(edge)), abs(values) >= edge)
    mean = _at_rate(lambda a: law(a).mean())
    variance = _at_rate(lambda a: law(a).variance())
    yield from _moments(" of |V|", abs(values), mean, variance)


def passing(rule: Acceptance) -> Iterator[Line]:
    """How many of CELLS empty cells a summary accepts."""
    chance = at_law(rule.pass_probability, Geometric(RATE))
    entropy = KeyStream()
    values = np.array([binomial(CELLS, chance, entropy) for _ in range(COUNTS)])
    yield _share("P(K = 5)", nearest_float(lambda bits: Binomial(CELLS, chance(bits)).mass(5)), values == 5)
    mean = nearest_float(lambda bits: Binomial(CELLS, chance(bits)).mean())
    variance = nearest_float(lambda bits: Binomial(CELLS, chance(bits)).variance())
    yield from _moments("", values, mean, variance)


def die() -> Iterator[Line]:
    """A fair die."""
    values = uniform_below(6, KeyStream(), count=DRAWS)
    yield _share("P(U = 0)", 1 / 6, values == 0)
    yield from _moments("", values, 5 / 2, 35 / 12)


def main() -> None:
    """Print the table and how to read it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("law")
    for column in ("requested", "drawn", "difference"):
        table.add_column(column, justify="right")
    console = Console(highlight=False)
    laws = {
        "Noise of a cell, X: rate 1/10": noise(),
        "Empty cells that pass, V: cutoff 50": accepted(Acceptance(cutoff=50), 70),
        "... threshold 42.5": accepted(Acceptance(threshold="42.5"), 43),
        "... cutoff 25 and threshold 42.5": accepted(Acceptance(cutoff=25, threshold="42.5"), 43),
        "How many of 10^12 pass, K: cutoff 260": passing(Acceptance(cutoff=260)),
        "Whole numbers below 6, U": die(),
    }
    lines = []
    with console.status("drawing"):
        for name, law in laws.items():
            table.add_row(Text(name, style="bold"))
            for line in law:
                lines.append(line)
                table.add_row(*_cells(line))
            table.add_section()
    worst = max(abs(line.sigmas) for line in lines)
    console.print("What was asked of the noise, and what its draws showed", style="bold")
    console.print(table)
    console.print(
        "Requested: computed from the law. Drawn: what exact draws from a secure source\n"
        f"showed, {DRAWS:,} of each law ({COUNTS:,} of K). Sigma is a standard error of\n"
        "the draws: if both agree, about two differences in three lie within 1 sigma and\n"
        f"nearly all within 3. The largest of these {len(lines)} is {worst:.1f} sigma."
    )
    if worst > DOUBTFUL:
        console.print(
            "That is too much for chance: please report it as a bug, with this table.", style="bold red"
        )
    console.print("\nNext: README.md has five lines of Python to try; `make bench` measures speed.")


def _at_rate(formula: Callable[[Powers], Number]) -> float:
    """Return what a formula gives at RATE, correct to the last bit or the one before."""
    return nearest_float(lambda precision: formula(ExponentialPowers(RATE)))


def _share(what: str, requested: float, hits: NDArray[np.bool_]) -> Line:
    """Return how often something happened."""
    return Line(what, requested, float(hits.mean()), sqrt(requested * (1 - requested) / hits.size))


def _moments(of: str, values: NDArray[np.integer], mean: float, variance: float) -> Iterator[Line]:
    """Return mean and standard deviation; the error of the latter comes from the draws' fourth moment."""
    squares = (values - mean) ** 2
    yield Line(f"mean{of}", mean, float(values.mean()), sqrt(variance / values.size))
    error = float(squares.std()) / (2 * sqrt(variance * values.size))
    yield Line(f"standard deviation{of}", sqrt(variance), float(values.std()), error)


def _cells(line: Line) -> tuple[Text, ...]:
    digits = 5 if abs(line.requested) < 1 else 4
    colour = "green" if abs(line.sigmas) <= DOUBTFUL else "bold red"
    return (
        Text(f"  {line.what}"),
        Text(f"{line.requested:.{digits}f}"),
        Text(f"{line.drawn:.{digits}f}"),
        Text(f"{line.sigmas:+.1f} sigma", style=colour),
    )


if __name__ == "__main__":
    main()
