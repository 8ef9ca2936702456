"""Whether a release would be wasted, by public facts and by its plan.

Promise: a refusal follows from the terms and the plan alone, both public, so it tells nothing of the rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable.errors import BadChoice, WastedRelease
from hushtable.planning.judges import judged
from hushtable.planning.profile import PLAN_RULE
from hushtable.release.assumed import Assumption
from hushtable.release.terms import Terms, as_text

if TYPE_CHECKING:  # who publishes without a plan does not wait for it
    from hushtable.planning.plan import Plan


def check_plan(plan: Plan, terms: Terms) -> None:
    """Raise unless the plan was made for this release."""
    word = plan.cost.word
    pairs: dict[str, tuple[Fraction | int, Fraction | int]] = {
        "cells": (plan.cells_total, terms.domain.cells_total),
        word: (plan.budget, terms.budget),
        f"{word} for the noisy total": (plan.total_budget, terms.total_budget),
        "sensitivity": (plan.sensitivity.l1, terms.measure.sensitivity),
    }
    if not terms.structure.takes_total:
        del pairs[f"{word} for the noisy total"]  # the plan's is of cells; a tree buys none
    for name, numbers in pairs.items():
        planned, asked = (Fraction(number) for number in numbers)
        if planned != asked:
            fact = f"the plan has {name} = {as_text(planned)}, and the release {as_text(asked)}"
            hint = "Plan with the domain, the level, the epsilon and the units that you publish with."
            raise BadChoice(fact, hint)
    if plan.law_name != terms.law_name:
        fact = f"the plan is for noise of the law {plan.law_name!r}, and the release for {terms.law_name!r}"
        raise BadChoice(fact, "Plan with the law that you publish with.")


def check_worth(plan: Plan | None, terms: Terms, *, anyway: bool) -> None:
    """Raise where the release would be wasted, unless the owner wants it anyway."""
    reasons, hints = [], []
    size = terms.method.size  # with several tables, it is that of each
    most = max((each.domain.cells_total for each in terms.nodes.marginals), default=terms.units_total)
    levels = terms.nodes.strata  # with room for all of its nodes, a hierarchy hides nothing
    if size is not None and size > most and not levels:
        reasons.append(f"a size of {size:,} is more than the {most:,} {terms.structure.row}s there are")
        hints.append(f"Ask for at most {most:,} rows.")
    if plan is not None:
        methods = [part.method for part in terms.parts] or [terms.method]
        verdict = judged(plan, terms.structure, methods)
        if verdict.wasted:
            reasons += verdict.wasted
            advice = verdict.advice or plan.advice
            hints.append(f"{advice[0].upper()}{advice[1:]}.")
    if reasons and not anyway:
        raise WastedRelease(reasons, " ".join(hints))


def recorded(plan: Plan | None) -> Assumption | None:
    """Return what a plan rests on, for the terms of a release."""
    if plan is None:
        return None
    profile = plan.profile
    return Assumption(
        rule=PLAN_RULE,
        assumed=profile.words,
        size=plan.size,
        counts=tuple(profile.counts.tolist()),
        cells=tuple(profile.cells.tolist()),
    )
