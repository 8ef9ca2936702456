"""What follows from a recipe: the structure, the summary and the parts of epsilon.

Promise: both doors come through here, so the same words publish the same thing. A decision follows from what
the owner declares and assumes and from public facts; no row is read, and nothing is charged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.units import unit_name
from hushtable.engines.registry import engine_of
from hushtable.errors import BadChoice, shown
from hushtable.laws.costs import Cost
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.laws.registry import law_named
from hushtable.planning.judges import check_covered, judged, planned_size
from hushtable.planning.laws import (
    check_values,
    law_for,
    law_of_cells,
    law_of_questions,
    law_of_unlisted,
    of_cells,
    usual_law,
)
from hushtable.planning.sharing import Budget
from hushtable.publishing.choices import (
    AUTO,
    Choice,
    check_ask,
    choice_over,
    planned_structure,
    shared_for,
    takes_size,
    threshold_choice,
    usual_plan,
    usual_structure,
)
from hushtable.publishing.paying import Payment
from hushtable.publishing.recipe import Recipe, WantedSummary
from hushtable.structures.cells import Cells
from hushtable.structures.structure import Structure

if TYPE_CHECKING:  # who publishes without a plan does not wait for it
    from hushtable.planning.plan import Plan

_TOTAL_SHARE = Fraction(1, 50)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A recipe, and all that follows from it before a row is read."""

    recipe: Recipe
    domain: Domain  # at the levels that are published
    structure: Structure
    chosen: Choice
    law: type[NoiseLaw]
    cost: Cost  # of the release to one of its units
    total_budget: Fraction  # the part of it that buys a noisy total
    left_out_budget: Fraction  # the part that tells who is left out
    distributed: bool  # whether slices stay on workers

    @property
    def output(self) -> str:
        """Where the release is written."""
        if self.recipe.output is None:
            raise BadChoice("the recipe has no output", "Give `output`: the file to write.")
        return os.fspath(self.recipe.output)

    @property
    def unit(self) -> str:
        """Whom the release protects, as a ledger calls it."""
        recipe = self.recipe
        return unit_name(recipe.measure, rows_are_units=recipe.rows_are_units, query=recipe.query)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its plan says against the release, if it has one."""
        plan = self.chosen.plan
        if plan is None:
            return ()
        methods = [each.method for each in self.chosen.parts or (self.chosen,)]
        return judged(plan, self.structure, methods).warnings

    def payment(self) -> Payment:
        """Return how it is paid for; nothing is charged yet."""
        ledger: Any = self.recipe.ledger
        account = None
        if ledger:
            from hushtable.ledger.ledger import Ledger

            account = Ledger.open(ledger)
        return Payment(account, cost=self.cost, output=self.output, known=ledger is False)


def decided(recipe: Recipe) -> Decision:
    """Return what follows from a recipe, or raise where its words do not go together."""
    if recipe.data is None:
        raise BadChoice("the recipe has no data", "Give `data`: what the rows are read from.")
    finest = as_domain(recipe.domain)
    domain = finest if recipe.level is None else finest.at(recipe.level)
    wanted: Any = recipe.summary
    shared = shared_for(recipe.structure, domain, recipe.ask)
    said = None if shared is not None else recipe.structure
    check_ask(recipe.ask, structure=said, summary=wanted, plan=recipe.plan)
    distributed = recipe.engine == "spark" or engine_of(recipe.data).distributed
    one = recipe.measure.sensitivities
    law = _law(recipe, domain, distributed=distributed)
    check_values(domain, law)
    cost = law.price(recipe.cost)
    budget = law.budget(cost)
    # Noise beyond all bounds is told first.
    law_to_draw(law, budget=budget, change=law.change(one), delta=cost.delta)
    if not law.noises_empty:
        return _of_occupied(recipe, domain, law, cost, distributed=distributed)
    for_left_out = _budget_of_left_out(recipe, budget, distributed=distributed)
    total_share: Any = recipe.total_share
    entire = None
    auto = recipe.structure == AUTO
    noised: Structure = Cells()
    if recipe.structure is None and wanted is None and recipe.plan is None:
        usual = usual_structure(
            domain,
            ask=recipe.ask,
            size=recipe.size,
            distributed=distributed,
            budget=Budget.of(budget - for_left_out, one, law),
        )
        noised, entire = usual.structure, usual.whole
        total_share = usual.total_share if total_share is None else total_share
    elif recipe.structure is not None and not auto:
        noised = recipe.structure if shared is None else shared  # type: ignore[assignment]
    for_total = budget_of_total(budget, total_share, noised)
    plan = _plan(recipe, finest, noised, law, total_share=for_total / budget)
    if auto:
        noised = planned_structure(plan, None if wanted is None else wanted.name)
        if not noised.takes_total:
            for_total = Fraction(0)  # which goes with cells
    if plan is not None:
        check_covered(noised)
    alone = noised == Cells() and not for_total and not for_left_out
    if alone and plan is None:  # a plan has the usual price
        cost = of_cells(law, cost, one=recipe.measure.sensitivities)
        budget = law.budget(cost)
    if for_total + for_left_out >= budget:
        fact = "the total and the share of people left out take the whole cost"
        raise BadChoice(fact, "Lower `total_share` or `left_out_share`.")
    wanted = _named(wanted, noised, plan)
    _check_size(recipe, noised, plan, wanted)
    chosen = choice_over(
        noised,
        domain,
        summary=wanted.name,
        budget=budget - for_total - for_left_out,
        one=one,
        size=_size(recipe, noised, plan, wanted),
        cutoff=wanted.cutoff,
        threshold=wanted.threshold,
        one_sided=wanted.one_sided,
        plan=plan,
        law=law,
        whole=entire,
    )
    return Decision(
        recipe=recipe,
        domain=domain,
        structure=noised.sized(domain, chosen.method.size),
        chosen=chosen,
        law=law,
        cost=cost,
        total_budget=for_total,
        left_out_budget=for_left_out,
        distributed=distributed,
    )


def _law(recipe: Recipe, domain: Domain, *, distributed: bool) -> type[NoiseLaw]:
    """Return the law of the noise: for a table of cells alone, or for several tables."""
    one = recipe.measure.sensitivities
    wanted: Any = recipe.structure
    if domain.unlisted and recipe.law in (None, AUTO) and recipe.cost.delta and recipe.cost.rho is None:
        return law_of_unlisted(recipe.cost, one=one)
    if recipe.law is not None or usual_law(recipe.cost) is not None:
        return law_for(recipe.cost, recipe.law, one=one)
    if recipe.plan is not None and not isinstance(recipe.plan, Mapping):
        return law_named(recipe.plan.law_name)
    if wanted is None and recipe.summary is None and recipe.plan is None:
        planned = partial(usual_plan, domain, ask=recipe.ask, size=recipe.size, distributed=distributed)
        found = law_of_questions(recipe.cost, one=one, planned=lambda budget: planned(budget=budget))
        if found is not None:
            return found
        # The same cells or tree, whatever the noise.
        made = planned(budget=Budget.of(Fraction(1), one, Geometric))
        wanted = Cells() if made is None else made.structure
    if wanted is None or wanted == Cells():
        takes = _takes_thresholds(recipe)
        cells, size = domain.cells_total, recipe.size
        return law_for(recipe.cost, None, one=one, cells=cells, size=size, thresholds=takes)
    if isinstance(wanted, str):
        return law_for(recipe.cost, None, one=one)
    shares = [each.share for each in wanted.over(domain).marginals] if wanted.several else [1]
    return law_for(recipe.cost, None, one=one, sizes=wanted.sizes(domain), shares=shares)


def _takes_thresholds(recipe: Recipe) -> bool:
    """Whether a recipe asks for nothing that noise in occupied cells alone cannot give."""
    wanted: Any = recipe.summary
    more = recipe.plan is not None or recipe.total_share or recipe.left_out_share
    if more or recipe.measure.sum_column is not None:
        return False
    if wanted is None or wanted.name is None:
        return True
    usual = {"filter": recipe.size is None, "filter-priority": recipe.size is not None}
    return usual.get(wanted.name, False) and wanted.cutoff in (None, AUTO)


def _of_occupied(
    recipe: Recipe, domain: Domain, law: type[NoiseLaw], cost: Cost, *, distributed: bool
) -> Decision:
    """Return the decision for noise in occupied cells alone: a filter of cells, and nothing beside it."""
    alone, other = f"noise of the law {law.name!r} is for a table of cells alone", "use another law"
    if domain.unlisted:  # for which there is no other
        name = shown(domain.names[domain.unlisted[0]])
        alone, other = f"{alone}, as values that are any text need it", f"declare categories for {name}"
    for word in ("ask", "plan", "total_share", "left_out_share"):
        if getattr(recipe, word):
            raise BadChoice(f"{alone}, and `{word}` asks for more", f"Leave `{word}` out, or {other}.")
    if recipe.structure not in (None, Cells()):
        raise BadChoice(alone, f"Leave `structure` out, or {other}.")
    if recipe.measure.sum_column is not None:
        raise BadChoice(f"noise of the law {law.name!r} is for counts", "Leave `sum_column` out.")
    noise = law_of_cells(law, cost, one=recipe.measure.sensitivities)
    return Decision(
        recipe=recipe,
        domain=domain,
        structure=Cells(),
        chosen=threshold_choice(noise, size=recipe.size, wanted=recipe.summary),
        law=law,
        cost=cost,
        total_budget=Fraction(0),
        left_out_budget=Fraction(0),
        distributed=distributed,
    )


def _plan(
    recipe: Recipe, finest: Domain, noised: Structure, law: type[NoiseLaw], *, total_share: Fraction
) -> Plan | None:
    """Return the plan, made from its assumptions where it is not there yet."""
    given: Any = recipe.plan
    if given is None:
        return None
    from hushtable.planning.plan import Plan
    from hushtable.planning.plan import plan as planned

    if isinstance(given, Plan):
        if recipe.size is not None and recipe.summary is None:
            raise BadChoice("a plan has a size, and another was given", "Leave `size` out, or plan with it.")
        return given
    # A sketch is compared with cells of as many rows as it has buckets.
    rows = planned_size(noised, recipe.size)
    if rows is None:
        raise BadChoice("a plan needs a size", "Give `size`: how many rows to publish.")
    measure = recipe.measure
    made: Plan = planned(
        finest,
        level=recipe.level,
        epsilon=recipe.epsilon,
        rho=recipe.rho,
        delta=recipe.delta,
        size=rows,
        unit=measure.unit,
        count_column=measure.count_column,
        sum_column=measure.sum_column,
        clamp=measure.clamp,
        total_share=total_share,
        law=law.name,
        **given,
    )
    return made


def _named(wanted: WantedSummary | None, noised: Structure, plan: Plan | None) -> WantedSummary:
    """Return the summary with a name: a plan recommends one, where nothing is said of it."""
    if wanted is None:
        by_plan = plan is not None and not noised.several and noised.rows_published is None
        return WantedSummary(name=AUTO if by_plan else None)
    return wanted


def _check_size(recipe: Recipe, noised: Structure, plan: Plan | None, wanted: WantedSummary) -> None:
    """Raise where nothing says how many rows there are to be."""
    if recipe.size is not None or plan is not None or noised.rows_published is not None:
        return
    name = wanted.name or noised.default_method
    sized = takes_size(name, cutoff=wanted.cutoff, threshold=wanted.threshold)
    if name == AUTO or (sized and wanted.name in (None, "filter-priority")):
        raise BadChoice("nothing says how many rows to publish", "Give `size`, as in 10000.")


def _size(recipe: Recipe, noised: Structure, plan: Plan | None, wanted: WantedSummary) -> int | None:
    """Return the size of the summary: where its settings leave nothing to one, it is the plan's alone."""
    name = wanted.name or noised.default_method
    sized = takes_size(name, cutoff=wanted.cutoff, threshold=wanted.threshold)
    return recipe.size if plan is None or sized or noised.rows_published is not None else None


def _budget_of_left_out(recipe: Recipe, budget: Fraction, *, distributed: bool) -> Fraction:
    """Return the part of the budget that tells who is left out, or raise where that cannot be told."""
    share: Any = recipe.left_out_share
    if not share:
        return Fraction(0)
    if distributed:
        fact = "who is left out is not counted on Spark"
        raise BadChoice(fact, "Leave `left_out_share` out; or publish from files, on one machine.")
    if recipe.plan is not None:
        fact = "a plan spends everything on the rows and their total, and `left_out_share` takes a part"
        raise BadChoice(fact, "Leave `left_out_share` or the plan out.")
    part: Fraction = budget * share
    return part


def budget_of_total(budget: Fraction, share: Fraction | None, structure: Structure) -> Fraction:
    """Return the part of the budget that buys the noisy total."""
    if share is None:
        return budget * (_TOTAL_SHARE if structure.takes_total else 0)
    if share and not structure.takes_total:
        fact = "a tree has its total as its root, so no share of epsilon buys another"
        raise BadChoice(fact, "Leave `total_share` out.")
    return budget * share
