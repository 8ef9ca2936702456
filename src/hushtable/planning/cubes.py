"""What the marginals of a data cube will be worth, beside sums from the full table.

A cell of a marginal is the sum of so many cells of the full table. Which of these are occupied is not known,
so they are taken to lie at random: `merging` gives the profile of a marginal. A sum over the published full
table is then one over a set of cells like any other. Readers spread evenly what a cutoff left out of it: that
fits a table whose cells lie at random. In real tables it is missing where people are many; so for clustered
tables, sums are taken as if nothing were spread. Both are said.

Promise: expectations by formula, from the plan's assumption and what is declared; nothing is drawn.
Cost: some ten milliseconds for each number of cells and share of epsilon; marginals alike are predicted once.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushtable.errors import BadChoice, BadPlan, shown
from hushtable.laws.registry import law_named
from hushtable.methods.settings import Method
from hushtable.methods.tuning import marginal_method
from hushtable.planning.judging import CLEARLY, Judgement
from hushtable.planning.merging import Merging
from hushtable.planning.predictions import Prediction, Predictor, Setting
from hushtable.planning.wording import aligned, head, name_of, number, paragraph, percent
from hushtable.structures.marginals import Marginals, cube_space

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_LISTED = 60  # marginals on a page
_NAMED = 5  # in a sentence
_LONGEST = 36  # characters of a label in the table


@dataclass(frozen=True, kw_only=True, slots=True)
class MarginalPrediction:
    """One marginal: what to expect of it. Errors are those of one of its cells, empty or not."""

    label: str
    cells_total: int
    epsilon: Fraction
    prediction: Prediction
    occupied_error: float  # the mean size of the error of an occupied cell
    occupied_mean: float  # what such a cell holds
    from_even: float  # the error of a sum over the recommended release of the full table, by chance
    from_clustered: float  # the same if what a cutoff left out is missing where people are

    @property
    def error(self) -> float:
        """The mean size of the error of a cell."""
        return self.prediction.errors[1]

    @property
    def relative(self) -> float:
        """The error of an occupied cell, as a share of what such a cell holds."""
        return self.occupied_error / self.occupied_mean

    @property
    def better(self) -> bool:
        """Whether a cell is better known from the marginal than from a full table where people cluster."""
        return self.error < self.from_clustered

    @property
    def wasted(self) -> tuple[str, ...]:
        """Why the marginal would be wasted; nothing where it would not."""
        # The noisy total alone is no yardstick: put at random, cells are so alike that their mean says all.
        return Judgement(
            prediction=self.prediction, cells_total=self.cells_total, size=1, total_errors=None
        ).wasted

    @property
    def worth(self) -> bool:
        """Whether rows are mostly real, and answer clearly better than 0 would."""
        return not self.wasted

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "marginal": self.label,
            "cells_total": self.cells_total,
            "epsilon": str(self.epsilon),
            "summary": name_of(self.prediction),
            "method": repr(self.prediction.method),
            "rows": self.prediction.rows,
            "real_share": self.prediction.real_share,
            "error": self.error,
            "occupied_error": self.occupied_error,
            "relative_error": self.relative,
            "zero_error": self.prediction.truths[1],
            "from_even": self.from_even,
            "from_clustered": self.from_clustered,
            "worth": self.worth,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class CubePrediction:
    """What to expect of a data cube. Made by `Plan.cube`; printed, it is a table of its marginals."""

    plan: Plan
    marginals: tuple[MarginalPrediction, ...]

    def __repr__(self) -> str:
        return _text(self)

    @property
    def worth(self) -> bool:
        """Whether some marginal is worth its epsilon."""
        return not self.wasted

    @cached_property
    def wasted(self) -> tuple[str, ...]:
        """Why the cube would be wasted: no marginal is worth its epsilon. Nothing where one is."""
        if any(each.worth for each in self.marginals):
            return ()
        best = min(self.marginals, key=lambda each: each.prediction.score)
        return tuple(f"of the best marginal, {shown(best.label)}, {said}" for said in best.wasted)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """All that speaks against the cube."""
        said = list(self.wasted)
        if self.worth and (poor := [each for each in self.marginals if not each.worth]):
            said.append(f"{self._some(poor)} not worth the epsilon: {_named(poor)}")
        if worse := [each for each in self.marginals if not each.better]:
            said.append(f"{self._some(worse)} no better than sums from the full table: {_named(worse)}")
        return tuple(said)

    @property
    def advice(self) -> str:
        """What may make a cube better."""
        return "fewer marginals, coarser levels or more epsilon may help"

    @property
    def reason(self) -> str:
        """One sentence: whether to take the cube, and why."""
        clustered = sum(each.error < CLEARLY * each.from_clustered for each in self.marginals)
        even = sum(each.error < CLEARLY * each.from_even for each in self.marginals)
        if not self.worth:
            return f"not this cube. No marginal is worth its epsilon: {self.advice}."
        if not clustered:
            return "cells. No marginal is clearly better known from the cube than from the full table."
        return (
            "the cube, for its own marginals. It is clearly better than sums from the full table for "
            f"{clustered:,} of {len(self.marginals):,} if people cluster, and for {even:,} if they do not. "
            "Sums over other attributes need the full table."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "marginals": [each.to_dict() for each in self.marginals],
            "worth": self.worth,
            "reason": self.reason,
            "warnings": list(self.warnings),
        }

    def _some(self, found: list[MarginalPrediction]) -> str:
        return f"{len(found):,} of {len(self.marginals):,} marginals {'is' if len(found) == 1 else 'are'}"


def predict_cube(plan: Plan, structure: Marginals, methods: Sequence[Method] | None) -> CubePrediction:
    """Return what to expect of each marginal; without `methods`, of what a size alone publishes."""
    if plan.domain is None:
        raise BadPlan("this plan is of a roll-up, which has no marginals", "Plan at that level.")
    cube = cube_space(structure, plan.domain)
    kind, rows = law_named(plan.law_name), plan.budget - plan.total_budget
    change = cube.change(kind, plan.sensitivity)
    if methods is not None and len(methods) != len(cube.marginals):
        fact = f"{len(methods)} methods are given for {len(cube.marginals)} marginals"
        raise BadChoice(fact, "Give one for each, or none.")
    merging = Merging(plan.profile, cells_total=plan.cells_total)
    sizes = sorted({plan.cells_total // each.domain.cells_total for each in cube.marginals})
    even, clustered = (
        plan.predictor.predict(plan.recommended.method, sizes=sizes, corrected=corrected).errors
        for corrected in (True, False)
    )
    known: dict[tuple[int, Fraction, Method], tuple[Prediction, float, float]] = {}
    found = []
    for place, marginal in enumerate(cube.marginals):
        cells = marginal.domain.cells_total
        met = plan.sensitivity if cube.is_finest(place) else plan.sensitivity.added_up()
        epsilon = rows * marginal.share * kind.change(met) / change
        law = kind.calibrated(budget=rows * marginal.share, change=change).checked()
        if methods is None:
            method, _ = marginal_method(plan.size, cells=cells, law=law, two_sided=True)
        else:
            method = methods[place]
        if (cells, epsilon, method) not in known:
            profile = plan.profile if cells == plan.cells_total else merging.into(cells)
            setting = Setting(cells_total=cells, law=law, total_law=plan.total_law)
            own = Predictor(profile, setting)
            numbers = own.occupied_error(method), profile.people / profile.occupied
            known[cells, epsilon, method] = own.predict(method, sizes=[1]), *numbers
        prediction, occupied_error, occupied_mean = known[cells, epsilon, method]
        found.append(
            MarginalPrediction(
                label=marginal.label,
                cells_total=cells,
                epsilon=epsilon,
                prediction=prediction,
                occupied_error=occupied_error,
                occupied_mean=occupied_mean,
                from_even=even[plan.cells_total // cells],
                from_clustered=clustered[plan.cells_total // cells],
            )
        )
    return CubePrediction(plan=plan, marginals=tuple(found))


def _named(marginals: list[MarginalPrediction]) -> str:
    """Return the first few labels, and how many there are more."""
    labels = [f"({_short(each.label)})" for each in marginals[:_NAMED]]
    more = len(marginals) - len(labels)
    return ", ".join(labels) + (f" and {more:,} more" if more else "")


def _short(label: str) -> str:
    return textwrap.shorten(label, _LONGEST, placeholder=" ...") if len(label) > _LONGEST else label


def _text(cube: CubePrediction) -> str:
    """Return the page: what is assumed, the marginals, and whether to take them."""
    plan = cube.plan
    lines = [["marginal", "cells", "epsilon", "rows", "real", "cube", "of a count"]]
    lines[0] += ["even", "clustered", "worth it"]
    for each in cube.marginals[:_LISTED]:
        rows = f"{each.prediction.rows:,.0f}", percent(each.prediction.real_share)
        full = number(each.from_even), number(each.from_clustered)
        errors = number(each.error), percent(each.relative), *full
        cells, epsilon = number(each.cells_total), f"{float(each.epsilon):.3g}"
        worth = "yes" if each.worth else "no"
        lines.append([_short(each.label), cells, epsilon, *rows, *errors, worth])
    said = f"A data cube of {len(cube.marginals):,} marginal{'s' * (len(cube.marginals) > 1)}, up to "
    said += (
        f"{plan.size:,} rows of each. Size of the error to expect for one cell of a marginal, empty or not, "
    )
    said += (
        "from the cube, also as a share of what an occupied cell holds (of a count). Beside it, that of sums "
    )
    said += f"over the full table, published by {name_of(plan.recommended)} with all of epsilon: `even` if "
    said += (
        "occupied cells lie at random, and `clustered` if people cluster, so that what a cutoff leaves out "
    )
    said += "is missing where they are:"
    parts = [paragraph(f"Recommended: {cube.reason}")]
    if cube.warnings:
        parts.append("\n".join(paragraph(f"warning: {each}.") for each in cube.warnings))
    parts += [paragraph(said), aligned(lines)]
    if (more := len(cube.marginals) - _LISTED) > 0:
        parts.append(f"and {more:,} more marginals, which JSON lists.")
    parts.append(head(plan, cells=False))
    return "\n\n".join(parts)
