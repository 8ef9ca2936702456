"""Which law of noise a cost buys, where the owner names none.

Promise: the choice follows from what is declared, never from rows. No delta is spent that was not asked for:
a law is among those to choose from only if its guarantee was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, NamedTuple

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice, BadNumber, shown
from hushtable.laws.costs import Cost
from hushtable.laws.curves import gaussian_rho
from hushtable.laws.law import NoiseLaw
from hushtable.laws.registry import law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.tuning import auto_cutoff
from hushtable.planning.sharing import Budget
from hushtable.structures.structure import Sizes

if TYPE_CHECKING:
    from hushtable.planning.questions import QuestionPlan

AUTO = "auto"
_OF_SEVERAL = tuple(map(law_named, ("geometric", "gaussian")))  # of several tables
_ONE_TABLE = Sizes(nodes_total=1, per_cell=1, finest=0)
CHOICES = ("geometric", "truncated-geometric", "gaussian", "gaussian-stability")  # the first of the best


def check_values(domain: Domain, law: type[NoiseLaw]) -> None:
    """Raise where a domain has values that nobody can list, and the noise needs a list."""
    if not domain.unlisted:
        return
    name = shown(domain.names[domain.unlisted[0]])
    if law.noises_empty:
        fact = (
            f"the values of {name} are any text, and noise of the law {law.name!r} is also drawn for values "
            "that no row has, so all of them must be listed"
        )
        hint = (
            "Give `epsilon` and `delta`, and no `law`: then only values that many people share are "
            "shown. Or declare categories."
        )
        raise BadChoice(fact, hint)


class Cutoff(NamedTuple):
    """The least count that a law lets a table of cells show."""

    law: str
    cutoff: int
    deviation: float


def usual_law(cost: Cost) -> str | None:
    """Return the law that a cost always buys, unless another is named; None where a choice is made."""
    return {"pure": "geometric", "zcdp": "gaussian"}.get(cost.currency)


def law_for(
    cost: Cost,
    name: str | None,
    *,
    one: Sensitivities,
    cells: int | None = None,
    size: int | None = None,
    sizes: Sizes = _ONE_TABLE,
    shares: Sequence[int] = (1,),
    thresholds: bool = True,
) -> type[NoiseLaw]:
    """Return the named law, or the best one for what the owner declares.

    With `cells` and `size`, of a table of so many cells alone: the law with the lowest cutoff; with
    `thresholds`, also one that noises occupied cells alone. Else, of a structure of these `sizes` whose
    tables have these `shares`, that with the least noise: the smallest product of variances.
    """
    wanted = usual_law(cost) if name in (None, AUTO) else name
    if wanted is not None:
        return law_named(wanted)
    if cells is not None and size is not None:
        found = cutoffs(cost, one=one, cells=cells, size=size, thresholds=thresholds)
        if not found:  # an epsilon beyond all bounds, which is refused when noise is to be drawn
            return law_named(CHOICES[0])
        return law_named(min(found, key=lambda each: (each.cutoff, CHOICES.index(each.law))).law)

    def noise(kind: type[NoiseLaw]) -> float:
        budget, change = kind.budget(kind.price(cost)), sizes.change(kind, one)
        laws = [kind.calibrated(budget=budget * share, change=change) for share in shares]
        return sum(log(max(law.floats.variance, 1e-300)) for law in laws)

    return min(_OF_SEVERAL, key=noise)


def law_of_questions(
    cost: Cost, *, one: Sensitivities, planned: Callable[[Budget], QuestionPlan | None]
) -> type[NoiseLaw] | None:
    """Return the law whose tables answer questions with the least noise; None where there are no tables.

    `planned` gives the tables for a budget: every law has the shares that are best for it.
    """
    noise: dict[type[NoiseLaw], float] = {}
    for kind in _OF_SEVERAL:
        plan = planned(Budget.of(kind.budget(kind.price(cost)), one, kind))
        if plan is None or not plan.tables:
            return None
        noise[kind] = plan.noise
    return min(noise, key=noise.__getitem__)


def law_of_unlisted(cost: Cost, *, one: Sensitivities) -> type[NoiseLaw]:
    """Return the law with the lowest cutoff of those that need no list of values."""
    kinds = [law_named(name) for name in CHOICES if not law_named(name).noises_empty]
    laws = [law_of_cells(kind, cost, one=one) for kind in kinds]  # which raises where a unit changes too much
    return type(min(laws, key=lambda law: law.least_cutoff or 0))


def cutoffs(
    cost: Cost, *, one: Sensitivities, cells: int, size: int, thresholds: bool = True
) -> list[Cutoff]:
    """Return the cutoff of every law that an epsilon and a delta buy, for a table of cells alone.

    That of geometric and of Gaussian noise lets through about a tenth of `size` rows that are noise alone;
    the other laws let none through. Laws whose noise cannot be drawn are left out.
    """
    found = []
    for name in CHOICES:
        kind = law_named(name)
        if not thresholds and not kind.noises_empty:
            continue
        try:
            law = law_of_cells(kind, cost, one=one).checked()
        except (BadChoice, BadNumber):
            continue
        least = law.least_cutoff or auto_cutoff(size, cells=cells, law=law, two_sided=True)
        found.append(Cutoff(name, least, law.floats.variance**0.5))
    return found


def law_of_cells(kind: type[NoiseLaw], cost: Cost, *, one: Sensitivities) -> NoiseLaw:
    """Return the noise in a table of cells alone, for all of a cost."""
    price = of_cells(kind, kind.price(cost), one=one)
    return kind.calibrated(budget=kind.budget(price), change=kind.change(one), delta=price.delta)


def of_cells(kind: type[NoiseLaw], price: Cost, *, one: Sensitivities) -> Cost:
    """Return the price of a table of cells alone: by the exact curve, where a unit changes cells by 1 each.

    That of Gaussian noise has a larger rho then, for the same epsilon and delta.
    """
    if kind.currency != "zcdp" or not price.delta or one.per_cell != 1 or price.epsilon is None:
        return price
    rho = gaussian_rho(price.epsilon, delta=price.delta, cells=int(one.l1))
    return Cost(epsilon=price.epsilon, delta=price.delta, rho=max(rho, price.rho or Fraction(0)))
