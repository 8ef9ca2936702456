"""A plan: what each summary would be worth, and which one to take.

Promise: it follows from what the owner declares and assumes (domain, epsilon, size, profile) and from nothing
else, so it may be published. No row is read, nothing is drawn, no epsilon is spent.
Cost: well below a second, for any number of cells.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadMethod, BadNumber, BadPlan, UnreviewedDomain
from hushtable.exact.rationals import Rational, as_fraction, as_positive, as_rate
from hushtable.methods.settings import Everything, Filter, FilterPriority, Method, Priority, Threshold
from hushtable.planning.predictions import Prediction, Predictor, Setting, score
from hushtable.planning.profile import Profile
from hushtable.planning.reading import profile_like, read_profile
from hushtable.planning.wording import name_of, options_of, percent, text_of

if TYPE_CHECKING:
    from hushtable.planning.sweep import Sweep

_SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
_MOST_CELLS = 10**6  # up to which noise on every cell is a choice
_CLEARLY = 0.9  # errors of so much of another's are better
_ALIKE = 1.02  # errors within this factor are the same; then more rows are better
_HALF, _NEARLY = 0.5, 0.9
_FITS = 1.05  # of the size: more rows than that were not asked for
_FEWER = 0.95
_CUTOFFS = 24
_POINTS = 12  # of the curve
_LARGEST_DOMAIN = 10**300  # beyond which floats do not count


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What to expect of a release, before it is paid for. Made by `plan`; printed, it is a page of text.

    >>> import hushtable as ht
    >>> ht.Plan.worth.__doc__
    'Whether the recommended release answers clearly better than 0, or its noisy total alone, would.'
    """

    title: str
    cells_total: int
    epsilon: Fraction
    total_epsilon: Fraction
    sensitivity: int
    size: int
    domain_bytes: int
    profile: Profile
    predictions: tuple[Prediction, ...]
    recommended: Prediction
    curve: dict[int, float]  # the chance that a cell of so many is published by the recommended one
    zero_errors: dict[int, float]  # of answering 0, for sets of so many cells
    total_errors: dict[int, float] | None  # of the noisy total alone, spread evenly, if it is bought

    def __repr__(self) -> str:
        return text_of(self)

    @property
    def rate(self) -> Fraction:
        """The rate of the noise in a cell."""
        return (self.epsilon - self.total_epsilon) / self.sensitivity

    @property
    def worth(self) -> bool:
        """Whether the recommended release answers clearly better than 0, or its noisy total alone, would."""
        return max(self.against_zero, self.against_total or 0.0) < _CLEARLY

    @property
    def against_zero(self) -> float:
        """The errors of the recommended release, as a multiple of those of answering 0."""
        return exp(self.recommended.score)

    @property
    def against_total(self) -> float | None:
        """The same as a multiple of those of the noisy total alone, if it is bought."""
        if self.total_errors is None:
            return None
        return exp(self.recommended.score - score(self.total_errors, self.zero_errors))

    @property
    def delta(self) -> float:
        """The delta at which a release of (epsilon, delta)-privacy would have about the same cutoff."""
        return min(1.0, self.size / self.cells_total)

    @property
    def reason(self) -> str:
        """One sentence: which summary, and why."""
        best = self.recommended
        compared = f"{percent(self.against_zero)} of those of answering 0"
        if self.against_total is not None:
            compared += f" and {percent(self.against_total)} of those of the noisy total alone"
        if not self.worth:
            return f"none of these. Even the errors of {name_of(best)} would be {compared}."
        return (
            f"{name_of(best)}. Of the summaries of this size with mostly real rows "
            f"({percent(best.real_share)} here) it has the smallest errors: on average {compared}."
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the recommended release."""
        best, said = self.recommended, []
        if best.real_share < _HALF:
            share = percent(best.real_share)
            said.append(f"only {share} of the rows would be real; the others are noise on empty cells")
        if self.against_zero >= _CLEARLY:
            share = percent(self.against_zero)
            said.append(f"errors would be {share} of those of answering 0, so nothing is gained")
        if self.against_total is not None and self.against_total >= _CLEARLY:
            share = percent(self.against_total)
            said.append(
                f"errors would be {share} of those of the noisy total alone: the rows add little to it"
            )
        if self.size > self.cells_total:
            said.append(f"a size of {self.size:,} is more than the {self.cells_total:,} cells there are")
        elif best.rows < _FEWER * self.size:
            said.append(f"about {best.rows:,.0f} rows are expected, fewer than the size of {self.size:,}")
        if not self.worth:
            said.append("larger cells (fewer attributes, coarser levels), more epsilon or more rows may help")
        return tuple(said)

    @property
    def options(self) -> str:
        """The options of `hushtable publish` that make the recommended release."""
        return options_of(self.recommended.method)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        return {
            "title": self.title,
            "cells_total": self.cells_total,
            "epsilon": str(self.epsilon),
            "total_epsilon": str(self.total_epsilon),
            "sensitivity": self.sensitivity,
            "size": self.size,
            "assumed": {
                "words": self.profile.words,
                "occupied": self.profile.occupied,
                "people": self.profile.people,
            },
            "predictions": [_as_dict(each) for each in self.predictions],
            "recommended": self.predictions.index(self.recommended),
            "reason": self.reason,
            "options": self.options,
            "curve": self.curve,
            "zero_errors": self.zero_errors,
            "total_errors": self.total_errors,
            "delta": self.delta,
            "worth": self.worth,
            "warnings": list(self.warnings),
        }

    def sweep(self) -> Sweep:
        """Return the errors that the recommended release would have at other epsilons and sizes."""
        from hushtable.planning.sweep import sweep

        return sweep(self)


def plan(
    domain: Domain | str | os.PathLike[str],
    *,
    epsilon: Rational,
    size: int,
    expect_cells: float | None = None,
    expect_mean: float | None = None,
    expect_sd: float | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    like: str | os.PathLike[str] | None = None,
    level: Mapping[str, str] | None = None,
    unit: Unit | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    total_share: Rational = "1/50",
) -> Plan:
    """Say what a release would be worth, before its epsilon is spent.

    Guarantee: no row is read. A plan follows from what is declared, and from one assumption about the table:

    ==============================================  ===================================================
    assumption                                      meaning
    ==============================================  ===================================================
    `expect_cells`, `expect_mean`, `expect_sd`      so many occupied cells, with normal counts
    `profile`                                       an `ht.Profile`, or a CSV file of count,cells
    `like`                                          an older public release of a table of this kind
    none, or more than one of them                  `BadPlan`
    ==============================================  ===================================================

    Take assumptions from public sources. `unit`, `count_column`, `sum_column`, `clamp` and `level` are as in
    `ht.publish`.

    >>> import hushtable as ht
    >>> from pathlib import Path
    >>> text = '[[attribute]]\\nname = "home"\\nintegers = { low = 0, high = 999999 }'
    >>> _ = Path("homes.toml").write_text(text)
    >>> found = ht.plan("homes.toml", epsilon=1, size=1000, expect_cells=2000, expect_mean=50, expect_sd=10)
    >>> found.worth
    True
    """
    declared = domain if isinstance(domain, Domain) else Domain.load(domain)
    declared = declared if level is None else declared.at(level)
    if not declared.reviewed:
        raise UnreviewedDomain(declared.title)
    if declared.cells_total > _LARGEST_DOMAIN:
        raise BadPlan("the domain has more than 10^300 cells", "Declare fewer attributes, or coarser ones.")
    whole = as_positive(epsilon, name="epsilon", hint="Typical values lie between 0.01 and 10.")
    share = as_fraction(total_share, name="total_share")
    if not 0 <= share < 1:
        hint = "The default is 1/50; 0 publishes no total."
        raise BadNumber(name="total_share", value=total_share, allowed="must be from 0 to below 1", hint=hint)
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    return planned(
        title=declared.title,
        cells_total=declared.cells_total,
        epsilon=whole,
        total_epsilon=whole * share,
        sensitivity=measure.sensitivity,
        size=Priority(size=size).size,  # checked
        domain_bytes=len(json.dumps(declared.to_dict(), ensure_ascii=False).encode()),
        profile=_assumed((expect_cells, expect_mean, expect_sd), profile, like),
    )


def _assumed(
    expected: Sequence[float | None],
    profile: Profile | str | os.PathLike[str] | None,
    like: str | os.PathLike[str] | None,
) -> Profile:
    """Return the one assumption that was made."""
    kinds = "expected cells, mean and sd; a profile; or an older release that it is like"
    given = [any(each is not None for each in expected), profile is not None, like is not None]
    if sum(given) != 1:
        said = "no assumption about the table" if not any(given) else "more than one assumption"
        raise BadPlan(f"a plan was given {said}", f"Give exactly one: {kinds}.")
    if like is not None:
        return profile_like(like)
    if profile is not None:
        if isinstance(profile, Profile):
            return profile
        if not isinstance(profile, str | os.PathLike):
            raise BadMethod("profile", type(profile).__name__, "a Profile or a path", '"counts.csv"')
        return read_profile(profile)
    cells, mean, sd = expected
    if cells is None or mean is None or sd is None:
        hint = "Give expected cells, mean and standard deviation together."
        raise BadPlan("one of three expected numbers is missing", hint)
    return Profile.normal(cells=cells, mean=mean, sd=sd)


def planned(
    *,
    title: str,
    cells_total: int,
    epsilon: Fraction,
    total_epsilon: Fraction,
    sensitivity: int,
    size: int,
    domain_bytes: int,
    profile: Profile,
) -> Plan:
    """Return the plan for a release of `size` rows."""
    if profile.occupied > cells_total * (1 + 1e-9):
        fact = f"{profile.occupied:,.0f} occupied cells are assumed, of {cells_total:,} there are"
        raise BadPlan(fact, "Assume fewer, or check the domain.")
    predictor = Predictor(
        profile,
        Setting(
            cells_total=cells_total,
            rate=as_rate((epsilon - total_epsilon) / sensitivity),
            total_rate=as_rate(total_epsilon / sensitivity) if total_epsilon else None,
            domain_bytes=domain_bytes,
        ),
    )
    sizes = [each for each in _SIZES if each <= cells_total / 2] or [max(1, cells_total // 2)]
    methods: list[Method] = [Filter(size=size), Threshold(size=size), Priority(size=size)]
    if cells_total <= _MOST_CELLS:
        methods.append(Everything())
    predictions = [predictor.predict(each, sizes=sizes) for each in methods]
    predictions.insert(3, _best_cutoff(predictor, size, sizes, most=predictions[0].cutoff))
    best = _recommended([each for each in predictions if each.rows <= _FITS * size])
    return Plan(
        title=title,
        cells_total=cells_total,
        epsilon=epsilon,
        total_epsilon=total_epsilon,
        sensitivity=sensitivity,
        size=size,
        domain_bytes=domain_bytes,
        profile=profile,
        predictions=tuple(predictions),
        recommended=best,
        curve=_curve(predictor, best.method),
        zero_errors=predictor.truths(sizes),
        total_errors=predictor.total_errors(sizes),
    )


def _recommended(predictions: Sequence[Prediction], alike: float = 1.0) -> Prediction:
    """Return the one with the least errors among those that publish something real; the first of those alike.

    That is, of whose rows at least half are real, or nearly as many as can be; and that have one real row, or
    nearly as much as can be.
    """
    share = _reachable(_HALF, [each.real_share for each in predictions])
    rows = _reachable(1.0, [each.rows_real for each in predictions if each.real_share >= share])
    fit = [each for each in predictions if each.real_share >= share and each.rows_real >= rows]
    least = min(each.score for each in fit)
    return next(each for each in fit if each.score <= least + log(alike))


def _reachable(wanted: float, found: Sequence[float]) -> float:
    """Return what is wanted if any reaches it, else nearly the most that is found."""
    most = max(found)
    return wanted if most >= wanted else _NEARLY * most


def _best_cutoff(predictor: Predictor, size: int, sizes: Sequence[int], *, most: int) -> Prediction:
    """Return the filter-priority sample with least errors, of cutoffs up to `most` or beyond the noise."""

    def at(cutoffs: Sequence[int]) -> list[Prediction]:
        return [predictor.predict(FilterPriority(cutoff=each, size=size), sizes=sizes) for each in cutoffs]

    # From `silent` on, not even one empty cell is expected to pass.
    silent = int(log(4 * predictor.table.cells_total) / predictor.noise.rate)
    highest = max(4, silent, most)
    grid = _spaced(np.geomspace(1, highest, _CUTOFFS))
    coarse = at(grid)
    near = grid.index(_recommended(coarse, _ALIKE).cutoff)
    low, high = grid[max(near - 1, 0)], grid[min(near + 1, len(grid) - 1)]
    fine = at([each for each in _spaced(np.linspace(low, high, _CUTOFFS // 2)) if each not in grid])
    return _recommended(sorted([*coarse, *fine], key=lambda each: each.cutoff), _ALIKE)


def _spaced(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    return sorted({round(each) for each in values.tolist()})


def _curve(predictor: Predictor, method: Method) -> dict[int, float]:
    """Return the chance that a cell of so many is published, up to where it is nearly sure."""
    most = 2 * int(predictor.profile.counts[-1])
    low, high = 0, 1
    while high < most and predictor.chances(method, np.array([float(high)]))[0] < 0.99:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        short = predictor.chances(method, np.array([float(middle)]))[0] < 0.99
        low, high = (middle, high) if short else (low, middle)
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(each for each in steps if high <= _POINTS * each)
    counts = np.arange(step, high + step, step, dtype=np.float64)
    chances = predictor.chances(method, counts)
    return {int(count): float(chance) for count, chance in zip(counts, chances, strict=True)}


def _as_dict(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction for JSON."""
    found = asdict(prediction)
    found["method"] = repr(prediction.method)
    relative = {size: error / prediction.truths[size] for size, error in prediction.errors.items()}
    return {
        "name": name_of(prediction),
        **found,
        "rows": prediction.rows,
        "real_share": prediction.real_share,
        "relative_errors": relative,
    }
