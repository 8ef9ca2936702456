"""A plan: what each summary would be worth, and which one to take.

Promise: it follows from what the owner declares and assumes (domain, epsilon, size, profile) and from nothing
else, so it may be published. No row is read, nothing is drawn, no epsilon is spent.
Cost: well below a second, for any number of cells.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from math import exp
from typing import Any, Literal

from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadChoice, BadMethod, BadNumber, BadPlan, UnreviewedDomain
from hushtable.laws.costs import Cost, wanted_cost
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational, as_fraction
from hushtable.laws.registry import DEFAULT_LAW, law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Everything, Filter, FilterPriority, Method, Priority, Threshold
from hushtable.planning.choosing import CUTOFFS, best_cutoff, curve, recommended
from hushtable.planning.cubes import CubePrediction
from hushtable.planning.hierarchies import PLANNERS
from hushtable.planning.judges import JUDGES, judged
from hushtable.planning.judging import Judgement
from hushtable.planning.laws import (
    check_values,
    cutoffs,
    law_for,
    law_of_cells,
    law_of_questions,
    law_of_unlisted,
)
from hushtable.planning.predictions import Prediction, Predictor, Setting
from hushtable.planning.profile import LARGEST_DOMAIN, Profile
from hushtable.planning.questions import QuestionPlan, asked_questions, planned_by_default, planned_for
from hushtable.planning.reading import profile_like, read_profile
from hushtable.planning.rollups import Ladder, Rollup, ladders, rollups
from hushtable.planning.sharing import Budget
from hushtable.planning.sketches import SketchPrediction
from hushtable.planning.sweep import Sweep
from hushtable.planning.trees import fits_a_tree, judgement_of_tree, predicted_tree
from hushtable.planning.wording import brief_of, name_of, options_of, percent, text_of, tree_name
from hushtable.structures.cells import Cells
from hushtable.structures.marginals import Marginals
from hushtable.structures.pruned import Tree
from hushtable.structures.sketch import CountSketch
from hushtable.structures.structure import Structure

_SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
_MOST_CELLS = 10**6  # up to which noise on every cell is a choice
_AS_GOOD = 1.05  # errors within this factor are as good: no assumption is so close
_FITS = 1.05  # of the size: more rows than that were not asked for
_CELLS = Cells()
_KNOWN = "Take 'tree', publish cells, or leave the plan and what it assumes out."
_TOGETHER = 4 / 3  # of the errors of cells, by chance: below it, trees of real tables are as good or better
_MEAN_SIZE = 0.8  # of an error, in standard deviations


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What to expect of a release, before it is paid for. Made by `plan`; printed, it is a page of text.

    >>> import hushtable as ht
    >>> ht.Plan.worth.__doc__
    'Whether rows are mostly real, and answer clearly better than 0, or the noisy total alone, would.'
    """

    title: str
    cells_total: int
    cost: Cost
    total_budget: Fraction
    sensitivity: Sensitivities  # what one unit changes in the cells
    size: int
    domain_bytes: int
    profile: Profile
    predictions: tuple[Prediction, ...]
    recommended: Prediction
    curve: dict[int, float]  # the chance that a cell of so many is published by the recommended one
    zero_errors: dict[int, float]  # of answering 0, for sets of so many cells
    total_errors: dict[int, float] | None  # of the noisy total alone, spread evenly, if it is bought
    ladders: tuple[Ladder, ...] = ()  # the levels of each attribute, from the planned one on
    domain: Domain | None = None  # at the planned levels; None of a roll-up, which has no marginals
    law_name: str = DEFAULT_LAW
    allowed: Cost | None = None  # an epsilon and a delta, of which the law may need the first alone

    def __repr__(self) -> str:
        return brief_of(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(brief_of(self))}</pre>"

    @property
    def details(self) -> str:
        """The whole page: every summary with its rows and errors, ranges, coarser levels, laws of noise."""
        return text_of(self)

    @property
    def epsilon(self) -> Fraction | None:
        """The epsilon that the release costs; None where that is a rho."""
        return self.cost.epsilon

    @property
    def rate(self) -> Fraction:
        """What the noise in a cell costs for a change of 1: of geometric noise, its rate."""
        return self.law.loss(change=Fraction(1))

    @property
    def spent(self) -> float:
        """The epsilon, or the rho, that the owner chose."""
        return float(self.cost.epsilon or self.cost.rho or 0)

    @property
    def budget(self) -> Fraction:
        """What it costs, in the currency of the law."""
        return law_named(self.law_name).budget(self.cost)

    @property
    def worth(self) -> bool:
        """Whether rows are mostly real, and answer clearly better than 0, or the noisy total alone, would."""
        return self.judgement.worth

    @property
    def against_zero(self) -> float:
        """The errors of the recommended release, as a multiple of those of answering 0."""
        return self.judgement.against_zero

    @property
    def against_total(self) -> float | None:
        """The same as a multiple of those of the noisy total alone, if it is bought."""
        return self.judgement.against_total

    @cached_property
    def judgement(self) -> Judgement:
        """What speaks for and against the recommended release."""
        return self._judged(self.recommended)

    def judge(self, method: Method, structure: Structure = _CELLS) -> Judgement:
        """Say what speaks for and against a release by another method, or by one of those predicted.

        ==============================  ==============================================================
        method                          result
        ==============================  ==============================================================
        two-sided, by cutoff or size    its `prediction`, `wasted`, `warnings`, `worth`
        one-sided                       `BadChoice`: a plan does not know it
        a filter, of an `ht.Tree`       the same; errors are those of ranges, beside answering 0 alone
        of another structure            `BadChoice`; `cube` and `sketch` judge those that a plan knows
        ==============================  ==============================================================
        """
        if structure != _CELLS:
            if structure.several or structure.rows_published is not None:
                fact = "data cubes and sketches are judged by `Plan.cube` and `Plan.sketch`"
                raise BadChoice(fact, _KNOWN)
            if structure.name not in JUDGES:
                raise BadChoice(
                    ("a plan knows cells and trees that a filter prunes, and no other structure"), _KNOWN
                )
            return judged(self, structure, [method])  # type: ignore[return-value]
        known = (each for each in self.predictions if each.method == method)
        sizes = list(self.zero_errors)
        return self._judged(next(known, None) or self.predictor.predict(method, sizes=sizes))

    @cached_property
    def tree(self) -> Prediction | None:
        """What to expect of a pruned tree of this size, for ranges; None if the cells make no line."""
        if not fits_a_tree(self.cells_total):
            return None
        return predicted_tree(self, Tree(), Filter(size=self.size, two_sided=False))

    def cube(self, structure: Marginals, methods: Sequence[Method] | None = None) -> CubePrediction:
        """Say what each marginal of a data cube would be worth, beside sums from the recommended cells.

        `methods` are those of the marginals, one for each; else those that `ht.publish` takes for the size.
        """
        from hushtable.planning.cubes import predict_cube

        return predict_cube(self, structure, methods)

    def sketch(self, structure: CountSketch) -> SketchPrediction:
        """Say what a count sketch would be worth, beside the recommended cells of as many rows."""
        from hushtable.planning.sketches import predict_sketch

        return predict_sketch(self, structure)

    @cached_property
    def questions(self) -> QuestionPlan | None:
        """What several tables are worth for what people usually ask, with the same epsilon and size.

        None where that is the cells alone, and of a roll-up.
        """
        if self.domain is None:
            return None
        kind = law_named(self.law_name)
        budget = Budget.of(self.budget, self.sensitivity, kind)
        return planned_by_default(self.domain, size=self.size, budget=budget)

    def against_questions(self) -> dict[str, tuple[float, float]]:
        """Return the error of a group of each question: by tables, and by the recommended cells, at least.

        The latter is that of as many cells chosen at random. Groups are worse off where counts that a cutoff
        hides do not lie at random.
        """
        plan = self.questions
        if plan is None:
            return {}
        known = {plan.asked(each): (each, plan.error(plan.asked(each))) for each in plan.questions}
        cells = {name: max(1, self.cells_total // plan.groups(each)) for name, (each, _) in known.items()}
        sizes = sorted({cells[name] for name, (_, error) in known.items() if error is not None})
        by_cells = self.predictor.predict(self.recommended.method, sizes=sizes).errors if sizes else {}
        return {
            name: (error * _MEAN_SIZE, by_cells[cells[name]])
            for name, (_, error) in known.items()
            if error is not None
        }

    @property
    def structure(self) -> Literal["cells", "tree"]:
        """What to publish for sums over ranges: a tree, unless cells are better or a tree would be wasted.

        Where people lie together, as in real tables, trees come out better than predicted, and cells worse.
        """
        if self.tree is None or judgement_of_tree(self, self.tree).wasted:
            return "cells"
        return "tree" if (self.against_cells or 1.0) < _TOGETHER else "cells"

    @property
    def against_cells(self) -> float | None:
        """The errors of the tree over ranges, as a multiple of those of the recommended cells."""
        return None if self.tree is None else exp(self.tree.score - self.recommended.score)

    def _judged(self, prediction: Prediction) -> Judgement:
        return Judgement(
            prediction=prediction,
            cells_total=self.cells_total,
            size=self.size,
            total_errors=self.total_errors,
        )

    @property
    def law(self) -> NoiseLaw:
        """The law of the noise in a cell."""
        return self.law_for(self.budget - self.total_budget)

    @property
    def total_law(self) -> NoiseLaw | None:
        """The law of the noise in the total, if one is bought."""
        return self.law_for(self.total_budget, added_up=True) if self.total_budget else None

    def law_for(self, budget: Fraction, *, added_up: bool = False) -> NoiseLaw:
        """Return the law of noise that a part of the budget buys: in cells, or in sums of them."""
        return _law_for(law_named(self.law_name), self.cost, budget, self.sensitivity, added_up=added_up)

    @cached_property
    def predictor(self) -> Predictor:
        """What predicts other methods for the same cells."""
        return Predictor(
            self.profile,
            Setting(
                cells_total=self.cells_total,
                law=self.law,
                total_law=self.total_law,
                domain_bytes=self.domain_bytes,
            ),
        )

    @property
    def cutoff(self) -> int:
        """The cutoff that a filter-priority sample should have."""
        return next(each.cutoff for each in self.predictions if each.method.name == FilterPriority.name)

    @cached_property
    def rollups(self) -> tuple[Rollup, ...]:
        """What releases at coarser levels would be worth, from the most cells to the fewest."""
        return rollups(self)

    @property
    def useful_from(self) -> Rollup | None:
        """The roll-up with the most cells that is worth its epsilon, if there is one."""
        return next((each for each in self.rollups if each.worth), None)

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
            f"({percent(best.real_share)} here) none is clearly better: on average, errors are {compared}."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the recommended release, and what to do."""
        return self.judgement.warnings + (() if self.worth else (self.advice,))

    @property
    def advice(self) -> str:
        """What may make a release better."""
        if (found := self.useful_from) is not None:
            return f"coarser levels help, from {found.options} on"
        return "larger cells (fewer attributes, coarser levels), more epsilon or more rows may help"

    @property
    def options(self) -> str:
        """The options of `hushtable publish` that make the recommended release."""
        return options_of(self.recommended.method)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers and texts, for JSON."""
        return {
            "title": self.title,
            "cells_total": self.cells_total,
            **self.cost.entries,
            f"total_{'epsilon' if self.cost.rho is None else 'rho'}": str(self.total_budget),
            "sensitivity": int(self.sensitivity.l1),
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
            "rollups": [asdict(each) | {"options": each.options} for each in self.rollups],
            "tree": None if self.tree is None else _as_dict(self.tree) | {"name": tree_name(self.tree)},
            "against_cells": self.against_cells,
            "questions": {
                name: {"tables": tables, "cells": cells}
                for name, (tables, cells) in self.against_questions().items()
            },
            "structure": self.structure,
        }

    def sweep(self) -> Sweep:
        """Return the errors that the recommended release would have at other epsilons and sizes."""
        from hushtable.planning.sweep import sweep

        return sweep(self)


def plan(
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str],
    *,
    epsilon: Rational | None = None,
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
    law: str | None = None,
    rho: Rational | None = None,
    delta: Rational | None = None,
    ask: Sequence[object] | str | None = None,
    structure: Structure | None = None,
) -> Any:
    """Tell what a release would be worth, before any epsilon is spent.

    Guarantee: no row is read. With `ask`, or without any assumption, the plan is an `ht.QuestionPlan`: it
    predicts the error of each question, or of the questions that people usually ask. With an assumption
    too, it compares each error with what a group holds. With an assumption and without `ask`, the plan is
    an `ht.Plan` of a table of cells. With an `ht.Hierarchy` as `structure`, it is an `ht.HierarchyPlan`: the
    share and the error of each level, without any assumption. A plan follows from what is declared and from
    one assumption:

    ==============================================  ===================================================
    assumption                                      meaning
    ==============================================  ===================================================
    `expect_cells`, `expect_mean`, `expect_sd`      so many occupied cells, with normal counts, or
                                                    log-normal ones where normal ones fall below 1
    `profile`                                       an `ht.Profile`, or a CSV file of count,cells
    `like`                                          an older public release of a table of this kind
    more than one of them                           `BadPlan`
    ==============================================  ===================================================

    Take assumptions from public sources. `unit`, `count_column`, `sum_column`, `clamp`, `level` and `law` are
    as in `ht.publish`.

    >>> import hushtable as ht
    >>> from pathlib import Path
    >>> text = '[[attribute]]\\nname = "home"\\nintegers = { low = 0, high = 999999 }'
    >>> _ = Path("homes.toml").write_text(text)
    >>> found = ht.plan("homes.toml", epsilon=1, size=1000, expect_cells=2000, expect_mean=50, expect_sd=10)
    >>> found.worth
    True
    """
    finest = as_domain(domain)
    declared = finest if level is None else finest.at(level)
    if not declared.reviewed:
        raise UnreviewedDomain(declared.title)
    if declared.cells_total == 1:
        raise BadPlan("the domain has a single cell", "Its noisy count is all there is to publish.")
    if declared.cells_total > LARGEST_DOMAIN:
        raise BadPlan("the domain has more than 10^300 cells", "Declare fewer attributes, or coarser ones.")
    wanted = wanted_cost(epsilon=epsilon, rho=rho, delta=delta)
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    assumed = (expect_cells, expect_mean, expect_sd, profile, like)
    rows, one = Priority(size=size).size, measure.sensitivities  # checked

    def of_questions(budget: Budget) -> QuestionPlan | None:
        if ask is None:
            return planned_by_default(declared, size=rows, budget=budget)
        return planned_for(declared, asked_questions(declared, ask), size=rows, budget=budget)

    if structure is not None:
        if structure.name not in PLANNERS:
            fact = "a structure is planned beside cells, and only a hierarchy on its own"
            raise BadPlan(fact, "Leave it out; a plan has `tree`, `cube` and `sketch`.")
        if any(each is not None for each in assumed):
            fact = "a plan of a hierarchy assumes nothing of the table, and an assumption was given"
            raise BadPlan(fact, "Leave it out.")
        kind = law_for(wanted, law, one=one, sizes=structure.sizes(declared))  # as publishing it chooses
        check_values(declared, kind)
        planner, spent = PLANNERS[structure.name], kind.budget(kind.price(wanted))
        return planner(declared, structure, size=rows, budget=spent, law=kind, one=one, ask=ask)  # type: ignore[arg-type]
    asked = ask is not None or all(each is None for each in assumed)
    kind = _planned_law(wanted, law, measure, declared, size=rows, planned=of_questions if asked else None)
    cost = kind.price(wanted)
    whole = kind.budget(cost)
    share = as_fraction(total_share, name="total_share")
    if not 0 <= share < 1:
        hint = "The default is 1/50; 0 publishes no total."
        raise BadNumber(name="total_share", value=total_share, allowed="must be from 0 to below 1", hint=hint)
    if asked:
        found = of_questions(Budget.of(whole, one, kind))
        if found is None:
            fact = "the cells alone would be published, and a plan of them needs an assumption"
            raise BadPlan(fact, "Give one: expected cells, mean and sd; a profile; or a release it is like.")
        if all(each is None for each in assumed):
            return found
        return replace(found, profile=_assumed((expect_cells, expect_mean, expect_sd), profile, like))
    of_cells = planned(
        title=declared.title,
        cells_total=declared.cells_total,
        cost=cost,
        total_budget=whole * share,
        sensitivity=one,
        size=rows,
        domain_bytes=len(json.dumps(declared.to_dict(), ensure_ascii=False).encode()),
        profile=_assumed((expect_cells, expect_mean, expect_sd), profile, like),
        ladders=ladders(finest, level or {}),
        domain=declared,
        law_name=kind.name,
    )
    return replace(of_cells, allowed=wanted) if wanted.delta else of_cells


def _planned_law(
    cost: Cost,
    name: str | None,
    measure: Measure,
    domain: Domain,
    *,
    size: int,
    planned: Callable[[Budget], QuestionPlan | None] | None,
) -> type[NoiseLaw]:
    """Return the law to plan with: one that noises every cell, since only these are predicted.

    `planned` gives the tables for questions, if these are planned for: publishing for them chooses alike.
    """
    one = measure.sensitivities
    choosing = name in (None, "auto") and cost.delta
    if choosing and domain.unlisted:
        name = law_of_unlisted(cost, one=one).name
    elif choosing:
        for_them = law_of_questions(cost, one=one, planned=planned) if planned else None
        found = cutoffs(cost, one=one, cells=domain.cells_total, size=size, thresholds=False)
        name = for_them.name if for_them else min(found, key=lambda each: each.cutoff).law
    kind = law_for(cost, name, one=one)
    check_values(domain, kind)
    if not kind.noises_empty:
        least = law_of_cells(kind, cost, one=one).least_cutoff
        fact = (
            f"with the law {kind.name!r}, counts from {least} on are published, and nothing more is planned"
        )
        raise BadPlan(fact, "Publish with it, or plan with another law.")
    return kind


def _law_for(
    kind: type[NoiseLaw], cost: Cost, budget: Fraction, one: Sensitivities, *, added_up: bool = False
) -> NoiseLaw:
    """Return the law that a part of the budget buys, by what one unit changes in the cells, or in sums."""
    change = kind.change(one.added_up() if added_up else one)
    return kind.calibrated(budget=budget, change=change, delta=cost.delta)


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
        raise BadPlan("an assumption needs cells, mean and standard deviation, and one is missing", hint)
    return Profile.normal(cells=cells, mean=mean, sd=sd)


def planned(
    *,
    title: str,
    cells_total: int,
    cost: Cost,
    total_budget: Fraction,
    sensitivity: Sensitivities,
    size: int,
    domain_bytes: int,
    profile: Profile,
    ladders: tuple[Ladder, ...] = (),
    domain: Domain | None = None,
    cutoffs: int = CUTOFFS,
    law_name: str = DEFAULT_LAW,
) -> Plan:
    """Return the plan for a release of `size` rows; fewer `cutoffs` are quicker."""
    if profile.occupied > cells_total * (1 + 1e-9):
        fact = f"{profile.occupied:,.0f} occupied cells are assumed, and the domain has {cells_total:,} cells"
        raise BadPlan(fact, "Assume fewer, or check the domain.")
    law = law_named(law_name)
    rows = law.budget(cost) - total_budget
    total = _law_for(law, cost, total_budget, sensitivity, added_up=True).checked() if total_budget else None
    predictor = Predictor(
        profile,
        Setting(
            cells_total=cells_total,
            law=_law_for(law, cost, rows, sensitivity).checked(),
            total_law=total,
            domain_bytes=domain_bytes,
        ),
    )
    sizes = set_sizes(cells_total)
    methods: list[Method] = [Filter(size=size), Threshold(size=size), Priority(size=size)]
    if cells_total <= _MOST_CELLS:
        methods.append(Everything())
    predictions = [predictor.predict(each, sizes=sizes) for each in methods]
    most = predictions[0].cutoff
    predictions.insert(3, best_cutoff(predictor, size, sizes, most=most, cutoffs=cutoffs))
    # In this order: the largest of so many, and samples, follow the table as it is; a cutoff the assumption.
    best = recommended([each for each in predictions if each.rows <= _FITS * size], _AS_GOOD)
    return Plan(
        title=title,
        cells_total=cells_total,
        cost=cost,
        total_budget=total_budget,
        sensitivity=sensitivity,
        size=size,
        domain_bytes=domain_bytes,
        profile=profile,
        predictions=tuple(predictions),
        recommended=best,
        curve=curve(predictor, best.method),
        zero_errors=predictor.truths(sizes),
        total_errors=predictor.total_errors(sizes),
        ladders=ladders,
        domain=domain,
        law_name=law_name,
    )


def set_sizes(cells_total: int) -> list[int]:
    """Return for sets of how many cells errors are predicted: up to half of all."""
    return [each for each in _SIZES if each <= cells_total / 2] or [max(1, cells_total // 2)]


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
