"""What the marginals of a data cube will be worth, beside sums from the full table.

A cell of a marginal is the sum of so many cells of the full table. Which of these are occupied is not known,
so they are taken to lie by chance: `merging` gives the profile of a marginal, and a sum over the published
full table is one over a set of cells like any other. Real marginals are less even than that. What a cutoff
left out of the full table is then missing where people are many, so its sums are worse than is said here.

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
from hushtable.exact.rationals import as_rate
from hushtable.methods.settings import Method
from hushtable.methods.tuning import marginal_method
from hushtable.planning.judging import CLEARLY, Judgement
from hushtable.planning.merging import Merging
from hushtable.planning.predictions import Prediction, Predictor, Setting
from hushtable.planning.wording import aligned, head, name_of, number, paragraph, percent
from hushtable.structures.cubes import cube_space
from hushtable.structures.settings import Marginals

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_LISTED = 60  # marginals on a page
_NAMED = 5  # in a sentence
_LONGEST = 36  # characters of a label in the table


@dataclass(frozen=True, kw_only=True, slots=True)
class MarginalPrediction:
    """One marginal: what to expect of it. Errors are those of one of its cells, by chance."""

    label: str
    cells_total: int
    epsilon: Fraction
    prediction: Prediction
    occupied_mean: float  # what an occupied cell holds
    from_cells: float  # the error of a sum over the recommended release of the full table

    @property
    def error(self) -> float:
        """The mean size of the error of a cell."""
        return self.prediction.errors[1]

    @property
    def relative(self) -> float:
        """The same as a share of what an occupied cell holds."""
        return self.error / self.occupied_mean

    @property
    def better(self) -> bool:
        """Whether a cell is better known from the marginal than from the full table."""
        return self.error < self.from_cells

    @property
    def wasted(self) -> tuple[str, ...]:
        """Why the marginal would be wasted; nothing where it would not."""
        # The noisy total alone is no yardstick: put by chance, cells are so alike that their mean says all.
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
            "relative_error": self.relative,
            "zero_error": self.prediction.truths[1],
            "from_cells": self.from_cells,
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
        better = [each for each in self.marginals if each.error < CLEARLY * each.from_cells]
        if not self.worth:
            return f"not this cube. No marginal is worth its epsilon: {self.advice}."
        if not better:
            return "cells. No marginal is clearly better known from the cube than from the full table."
        worth = sum(each.worth for each in self.marginals)
        some = "the" if len(self.marginals) == 1 else f"{len(better):,} of {len(self.marginals):,}"
        return (
            f"the cube, for its own marginals. It is clearly better than sums from the full table for {some} "
            f"marginal{'s' * (len(self.marginals) > 1)}; worth it: {worth:,}. Sums over other attributes "
            "need the full table."
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
    if methods is not None and len(methods) != len(cube.marginals):
        fact = f"{len(methods)} methods are given for {len(cube.marginals)} marginals"
        raise BadChoice(fact, "Give one for each, or none.")
    merging = Merging(plan.profile, cells_total=plan.cells_total)
    sizes = sorted({plan.cells_total // each.domain.cells_total for each in cube.marginals})
    from_cells = plan.predictor.predict(plan.recommended.method, sizes=sizes).errors
    known: dict[tuple[int, Fraction, Method], tuple[Prediction, float]] = {}
    found = []
    for place, marginal in enumerate(cube.marginals):
        cells = marginal.domain.cells_total
        epsilon = cube.epsilon_of(place, plan.epsilon - plan.total_epsilon)
        rate = as_rate(epsilon / plan.sensitivity)
        if methods is None:
            method, _ = marginal_method(plan.size, cells=cells, rate=rate, two_sided=True)
        else:
            method = methods[place]
        if (cells, epsilon, method) not in known:
            profile = plan.profile if cells == plan.cells_total else merging.into(cells)
            setting = Setting(cells_total=cells, rate=rate, total_rate=plan.total_rate)
            prediction = Predictor(profile, setting).predict(method, sizes=[1])
            known[cells, epsilon, method] = prediction, profile.people / profile.occupied
        prediction, occupied_mean = known[cells, epsilon, method]
        found.append(
            MarginalPrediction(
                label=marginal.label,
                cells_total=cells,
                epsilon=epsilon,
                prediction=prediction,
                occupied_mean=occupied_mean,
                from_cells=from_cells[plan.cells_total // cells],
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
    lines = [["marginal", "cells", "epsilon", "rows", "real", "cube", "full table", "of a count", "worth it"]]
    for each in cube.marginals[:_LISTED]:
        rows = f"{each.prediction.rows:,.0f}", percent(each.prediction.real_share)
        errors = number(each.error), number(each.from_cells), percent(each.relative)
        cells, epsilon = number(each.cells_total), f"{float(each.epsilon):.3g}"
        worth = "yes" if each.worth else "no"
        lines.append([_short(each.label), cells, epsilon, *rows, *errors, worth])
    said = f"A data cube of {len(cube.marginals):,} marginal{'s' * (len(cube.marginals) > 1)}, up to "
    said += f"{plan.size:,} rows of each. Error to expect, in size, for one cell of a marginal by chance, if "
    said += "occupied cells lie by chance: from the cube; from the full table, published by "
    said += f"{name_of(plan.recommended)} with all of epsilon, as a sum; from the cube, as a share of what "
    said += "an occupied cell of the marginal holds:"
    parts = [head(plan, cells=False), paragraph(said), aligned(lines)]
    if (more := len(cube.marginals) - _LISTED) > 0:
        parts.append(f"and {more:,} more marginals, which JSON lists.")
    real = "Real marginals are less even than that: sums from the full table, which spreads evenly what its "
    real += "cutoff left out, are worse than listed. The cube does not mind."
    parts.append(paragraph(real))
    parts.append(paragraph(f"Recommended: {cube.reason}"))
    if cube.warnings:
        parts.append("\n".join(paragraph(f"warning: {each}.") for each in cube.warnings))
    return "\n\n".join(parts)
