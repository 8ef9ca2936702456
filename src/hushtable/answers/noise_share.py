"""How much of a release is noise: how many rows noise alone would have produced.

A summary shows empty cells whose noise was large. How many is known from public numbers alone: the cells
there are, times the chance that noise passes the rule that the rows met. Rows beyond that are of occupied
cells. Of a table that is published whole, the counts themselves tell: their mean square is that of the noise,
and more if there is anything in them.

Promise: what is said follows from the release alone, so it costs nothing and holds for whoever reads it.
Cost: none for a table with a cutoff; one pass over the counts of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.answers.estimation.sums import Opened
from hushtable.conditions.ranges import distinct
from hushtable.release.terms import Terms

_NOISE = 0.5  # below this share of real rows, a table is called noise
_FEW_ROWS = 20
_LARGEST = 10**300  # cells, as a float counts them
_SURE = 4.0  # standard deviations by which a whole table must exceed its noise
_NOISY_AT_MOST = 0.05  # which share of the rows that are sure to be occupied may be noise, about


@dataclass(frozen=True, slots=True)
class TableNoise:
    """One table: its rows, how many of them noise alone would give, and whether it is no better than that."""

    label: str
    rows: int
    expected: float
    is_noise: bool
    whole: bool

    @property
    def real_share(self) -> float:
        """About which share of the rows is of occupied cells."""
        return max(0.0, 1 - self.expected / self.rows) if self.rows else 0.0

    @property
    def sentence(self) -> str:
        """What to know of it, in a sentence."""
        about = f"the table of {self.label}" if self.label else "the table"
        if self.whole:
            return f"{about} is {'no better than noise' if self.is_noise else 'published whole'}"
        share = min(round(self.expected), self.rows)
        rows = f"noise alone would give about {share:,} of its {self.rows:,} rows"
        return f"{about} is mostly noise: {rows}" if self.is_noise else f"{about}: {rows}"


@dataclass(frozen=True, slots=True)
class NoiseShare:
    """What noise has to do with a release: of each of its tables."""

    tables: tuple[TableNoise, ...]

    @property
    def is_noise(self) -> bool:
        """Whether no table is better than noise."""
        return bool(self.tables) and all(each.is_noise for each in self.tables)

    @property
    def warnings(self) -> list[str]:
        """What to tell a reader first: which tables are noise, and what may help; nothing where none is."""
        noise = [each for each in self.tables if each.is_noise]
        if not noise:
            return []
        help_ = "Coarser levels, fewer attributes or more epsilon would help."
        if self.is_noise and len(self.tables) > 1:
            return [f"This release is noise: none of its {len(self.tables)} tables is better. {help_}"]
        if self.is_noise:
            said = noise[0].sentence
            return [f"This release is noise: {said}. {help_}"]
        first = noise[0].sentence
        more = {1: "", 2: ", and so is 1 other"}.get(len(noise), f", and so are {len(noise) - 1} others")
        return [f"{first[0].upper()}{first[1:]}{more}. {help_}"]

    def about(self, source: str) -> list[str]:
        """Return warnings for answers from a table: that the table is noise, if it is."""
        if self.is_noise:
            return self.warnings
        noise = [each for each in self.tables if each.is_noise and each.label == source]
        return [f"{each.sentence[0].upper()}{each.sentence[1:]}." for each in noise]


class Sized(Opened, Protocol):
    """A release that knows how many rows it has before they are read."""

    def __len__(self) -> int: ...


def noise_share(release: Sized) -> NoiseShare:
    """Return how much of a release is noise; of no table where it is of other nodes than cells."""
    terms, nodes = release.terms, release.terms.nodes
    if terms.parts:
        rows = release.codes[:, 0]  # the number of the table
        return NoiseShare(
            tuple(
                _judged(terms.part(number), release.counts[rows == number], marginal.label)
                for number, marginal in enumerate(nodes.marginals)
            )
        )
    if nodes.named(terms.domain) is not None:
        return NoiseShare(())
    if terms.method.complete:
        return NoiseShare((_whole(terms, release.counts, ""),))
    return NoiseShare((_sparse(terms, len(release), ""),))


def _judged(terms: Terms, counts: NDArray[np.int64], label: str) -> TableNoise:
    """Return how much of one table of cells is noise."""
    return _whole(terms, counts, label) if terms.method.complete else _sparse(terms, counts.size, label)


def _whole(terms: Terms, counts: NDArray[np.int64], label: str) -> TableNoise:
    """Return whether the counts of a table that is published whole say more than noise does."""
    squares, variance = counts.astype(np.float64) ** 2, terms.law.floats.variance
    mean = float(squares.mean()) if counts.size else 0.0
    # Squares of noise vary by some times their mean; few cells tell little.
    spread = sqrt(6 / max(counts.size, 1)) * variance
    return TableNoise(label, counts.size, float(counts.size), mean <= variance + _SURE * spread, True)


def _sparse(terms: Terms, rows: int, label: str) -> TableNoise:
    """Return how many of so many rows noise alone would give; they need not be read for it."""
    if not terms.law.noises_empty:
        return TableNoise(label, rows, 0.0, False, False)
    sides = 2 if terms.method.two_sided else 1
    expected = sides * float(_noise_rows(terms, np.array([max(terms.cutoff or 1.0, 1.0)]))[0])
    found = TableNoise(label, rows, expected, False, False)
    # Of few rows nothing is said; nor where there are far fewer than noise alone gives, as none was drawn so.
    enough = rows >= max(_FEW_ROWS, expected - 6 * sqrt(expected))
    return TableNoise(label, rows, expected, enough and found.real_share < _NOISE, False)


def _noise_rows(terms: Terms, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many empty cells are published with these counts or larger ones, on average."""
    floats, cells = terms.law.floats, float(min(terms.domain.cells_total, _LARGEST))
    starts, threshold = np.ceil(sizes), terms.threshold or 0.0
    if threshold <= starts.min(initial=np.inf):
        return cells * floats.tail(starts)
    sure = np.maximum(starts, np.ceil(threshold))
    sampled = floats.tail(starts, 1) - floats.tail(sure, 1)
    return cells * (floats.tail(sure) + sampled / threshold)


def sure_from(terms: Terms, counts: NDArray[np.int64]) -> float:
    """Return the count from which on hardly a row is noise: noise alone would give a twentieth of such rows.

    It is infinite where no rows stand out from noise.
    """
    if not terms.law.noises_empty:
        return 0.0
    seen = np.sort(counts[counts > 0])
    sizes = distinct(seen)
    rows = np.diff(np.searchsorted(seen, sizes), append=seen.size)
    as_large = np.cumsum(rows[::-1])[::-1]
    doubtful = np.flatnonzero(_noise_rows(terms, sizes.astype(np.float64)) > _NOISY_AT_MOST * as_large)
    if doubtful.size == 0:
        return 0.0
    return float(sizes[doubtful[-1] + 1]) if doubtful[-1] + 1 < sizes.size else np.inf
