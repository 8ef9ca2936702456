"""What a release by one method will be worth, under a profile.

Promise: expectations by formula from the laws of noise and acceptance, under the stated profile; nothing is
drawn and nothing is private. A size becomes the cutoff or the threshold at which so many rows are expected.
Cost: a few milliseconds for each method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log2, sqrt

import numpy as np

from hushtable.errors import BadChoice
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.floats import Array
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Method
from hushtable.planning.moments import Outcomes, Rule
from hushtable.planning.profile import Profile
from hushtable.planning.sums import AlikeCells, Answer

_STEPS = 120
_CLOSE = 1e-7
_ALONE = 1e18  # a threshold that no count reaches
BYTES, _BYTES_A_ROW = 2_000, 1.0  # measured on releases of 10^2 to 10^6 rows; right within two fifths


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What is public about a release before it is made."""

    cells_total: int
    law: NoiseLaw
    total_law: NoiseLaw | None  # of the noisy total, if one is bought
    domain_bytes: int = 0  # of the description of the domain, which is part of the file


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What to expect of one method."""

    method: Method
    cutoff: int  # the smallest size of a noisy count that is published
    threshold: float  # below which noisy counts are sampled; 0 if none are
    rows_real: float  # of occupied cells
    rows_noise: float  # of empty ones
    suppressed: float  # occupied cells that are not published
    errors: dict[int, float]  # for sets of so many cells by chance: the mean size of the error
    truths: dict[int, float]  # what such sets hold on average, which is the error of answering 0
    bytes: float  # of the file, about

    @property
    def rows(self) -> float:
        """The rows to expect."""
        return self.rows_real + self.rows_noise

    @property
    def real_share(self) -> float:
        """The share of rows that are of occupied cells."""
        return self.rows_real / self.rows if self.rows > 0 else 0.0

    @property
    def score(self) -> float:
        """How errors compare with those of answering 0: the mean logarithm of their ratio."""
        return score(self.errors, self.truths)


def score(errors: dict[int, float], truths: dict[int, float]) -> float:
    """Return the mean logarithm of the ratio of errors to what is there."""
    return sum(log(max(errors[size] / truths[size], 1e-300)) for size in errors) / len(errors)


class Predictor:
    """A profile in its setting, ready to predict."""

    def __init__(self, profile: Profile, setting: Setting) -> None:
        self.profile, self.setting = profile, setting
        empty = max(float(setting.cells_total) - profile.occupied, 0.0)
        self.table = AlikeCells(np.append(0.0, profile.counts), np.append(empty, profile.cells))
        self.noise = setting.law.floats
        self.total = None if setting.total_law is None else setting.total_law.floats

    def predict(self, method: Method, *, sizes: Sequence[int], corrected: bool = True) -> Prediction:
        """Return what to expect of a method; answers are corrected by the noisy total where that is usual."""
        rule = self.rule_of(method)
        found = self._outcomes(rule)
        rows = self.table.cells * found.published
        answer = self._answer(found) if corrected else Answer()
        all_rows = float(rows.sum())
        row_bytes = _BYTES_A_ROW + log2(self.setting.cells_total) / 8
        return Prediction(
            method=method,
            cutoff=rule.cutoff,
            threshold=rule.threshold if rule.threshold > rule.cutoff else 0.0,
            rows_real=float(rows[1:].sum()),
            rows_noise=float(rows[0]),
            suppressed=max(self.profile.occupied - float(rows[1:].sum()), 0.0),
            errors=self.table.mean_errors(found, answer, sizes),
            truths=self.truths(sizes),
            bytes=BYTES + self.setting.domain_bytes + all_rows * row_bytes,
        )

    def occupied_error(self, method: Method) -> float:
        """Return the mean size of the error of one cell that is occupied."""
        rule = self.rule_of(method)
        occupied = AlikeCells(self.profile.counts, self.profile.cells)
        outcomes = Outcomes(self.profile.counts, self.noise, rule)
        absent = self._answer(self._outcomes(rule)).absent
        return occupied.mean_errors(outcomes, Answer(absent=absent), [1])[1]

    def _answer(self, found: Outcomes) -> Answer:
        """Return how sums become answers: what a cutoff misses of a total is spread over absent cells."""
        if self.total is None or not found.rule.biased:
            return Answer()
        missed = self.profile.people - float((self.table.cells * found.weight).sum())
        away = float((self.table.cells * found.absent_chance).sum())
        return Answer(absent=missed / away if away > 0 else 0.0, total=self.total)

    def truths(self, sizes: Sequence[int]) -> dict[int, float]:
        """Return what sets of so many cells hold on average: the error of answering 0."""
        return {size: size * self.table.mean for size in sizes}

    def total_errors(self, sizes: Sequence[int]) -> dict[int, float] | None:
        """Return the errors of the noisy total alone, spread evenly: no row is published."""
        if self.total is None:
            return None
        beyond = float(self.profile.counts[-1]) + self.noise.distance(1e3)
        nothing = self._outcomes(Rule(cutoff=ceil(beyond)))
        return self.table.mean_errors(nothing, Answer(absent=self.table.mean, total=self.total), sizes)

    def chances(self, method: Method, counts: Array) -> Array:
        """Return the chance that a cell with each count is published."""
        return Outcomes(counts, self.noise, self.rule_of(method)).published

    def rule_of(self, method: Method) -> Rule:
        """Return the rule of a method; a size becomes what is expected to yield it."""
        if not method.two_sided:
            fact = "a plan knows two-sided summaries only, and this one is one-sided"
            raise BadChoice(fact, "Take a two-sided one, or publish without a plan.")
        return method.chosen_by(self)

    def everything(self, *, nonnegative: bool) -> Rule:
        """Return the rule of all cells."""
        return Rule(everything=True)

    def accepted(self, rule: Acceptance, *, expected: int | None) -> Rule:
        """Return the rule of cells that are accepted by themselves."""
        if expected is not None:  # the size of a threshold sample is that of an empty table
            return self._sampled(rule.lowest, expected, self._empty)
        return Rule(cutoff=rule.lowest, threshold=float(rule.threshold or 0))

    def largest(self, size: int, *, two_sided: bool) -> Rule:
        """Return the filter that yields so many rows, some of the counts right at its cutoff."""
        return self._filtered(size)

    def priorities(self, size: int, rule: Acceptance) -> Rule:
        """Return the sample of so many rows."""
        return self._sampled(rule.lowest, size, self.table)

    @property
    def _empty(self) -> AlikeCells:
        """As many cells, all of them empty."""
        return AlikeCells(np.zeros(1), np.array([self.table.cells_total]))

    def _outcomes(self, rule: Rule) -> Outcomes:
        return Outcomes(self.table.counts, self.noise, rule)

    def _rows(self, rule: Rule, table: AlikeCells) -> float:
        return float((table.cells * Outcomes(table.counts, self.noise, rule).published).sum())

    def _filtered(self, size: int) -> Rule:
        """Return the filter that yields so many rows, some of the counts right at its cutoff."""
        low, high = 0, 1
        while self._rows(Rule(cutoff=high), self.table) > size:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (middle, high) if self._rows(Rule(cutoff=middle), self.table) > size else (low, middle)
            )
        if low == 0:
            return Rule()
        more, fewer = (self._rows(Rule(cutoff=cutoff), self.table) for cutoff in (low, high))
        share = (size - fewer) / (more - fewer)
        return Rule(cutoff=low, edge=share) if share > 0 else Rule(cutoff=high)

    def _sampled(self, cutoff: int, size: int, table: AlikeCells) -> Rule:
        """Return the sample of so many rows, or all that reach the cutoff if those are fewer."""
        if self._rows(Rule(cutoff=cutoff), table) <= size:
            return Rule(cutoff=cutoff)
        # If no count reaches the threshold, rows are the sum of sizes divided by it; else they are fewer.
        beyond = max(_ALONE, 2 * float(table.counts[-1]) + self.noise.distance(1e3))
        low = float(cutoff)
        high = max(self._rows(Rule(cutoff=cutoff, threshold=beyond), table) * (beyond / size), low)
        for step in range(_STEPS):
            middle = sqrt(low) * sqrt(high)
            if step % 2 == 0:
                # Half of the steps go where rows that fall as 1/threshold would be right, as far out.
                above = self._rows(Rule(cutoff=cutoff, threshold=high), table) * (high / size)
                middle = min(max(above, low), high)
            rows = self._rows(Rule(cutoff=cutoff, threshold=middle), table)
            if abs(rows / size - 1) < _CLOSE:
                return Rule(cutoff=cutoff, threshold=middle)
            low, high = (middle, high) if rows > size else (low, middle)
        return Rule(cutoff=cutoff, threshold=high)
