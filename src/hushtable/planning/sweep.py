"""A plan at other epsilons and sizes: what more budget or more rows would buy.

Promise: every point is a plan of its own, with its own recommended summary, under the same assumption.
Cost: some dozen plans.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hushtable.laws.registry import law_named
from hushtable.methods.settings import LARGEST_SIZE
from hushtable.planning.wording import aligned, name_of, number, percent

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_FACTORS = tuple(map(Fraction, ("0.1", "0.2", "0.5", "1", "2", "5", "10")))


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep:
    """Plans for other epsilons, and for other sizes; the given ones are among both."""

    plan: Plan
    by_epsilon: tuple[Plan, ...]
    by_size: tuple[Plan, ...]

    def __repr__(self) -> str:
        epsilon, size = (_table(name, self) for name in ("epsilon", "size"))
        return (
            "Errors of the recommended summary, as a share of what sets of so many cells hold:\n\n"
            f"{epsilon}\n\n{size}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain numbers and texts, for JSON."""
        return {"epsilon": [*map(_as_dict, self.by_epsilon)], "size": [*map(_as_dict, self.by_size)]}

    def draw(self, output: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Draw the errors as a picture into a file that ends in .png or .svg."""
        from hushtable.planning.picture import draw

        draw(self, output, overwrite=overwrite)


def sweep(plan: Plan) -> Sweep:
    """Return plans for a tenth to ten times the epsilon, and the size."""
    sizes = sorted({min(max(1, round(plan.size * factor)), LARGEST_SIZE) for factor in _FACTORS})
    return Sweep(
        plan=plan,
        by_epsilon=tuple(replanned(plan, factor, plan.size) for factor in _FACTORS),
        by_size=tuple(replanned(plan, Fraction(1), size) for size in sizes),
    )


def replanned(plan: Plan, factor: Fraction, size: int) -> Plan:
    """Return the same plan with epsilon times a factor, and another size."""
    from hushtable.planning.plan import planned

    if factor == 1 and size == plan.size:
        return plan
    kind = law_named(plan.law_name)
    cost = kind.price(plan.cost.scaled(factor))
    return planned(
        title=plan.title,
        cells_total=plan.cells_total,
        cost=cost,
        total_budget=plan.total_budget / plan.budget * kind.budget(cost),
        sensitivity=plan.sensitivity,
        size=size,
        domain_bytes=plan.domain_bytes,
        profile=plan.profile,
        ladders=plan.ladders,
        domain=plan.domain,
        law_name=plan.law_name,
    )


def _table(name: str, found: Sweep) -> str:
    """Return one table; the given epsilon or size is marked."""
    plans = found.by_epsilon if name == "epsilon" else found.by_size
    sizes = list(found.plan.zero_errors)
    lines = [
        [found.plan.cost.word if name == "epsilon" else name, "summary", "rows", "real", *map(number, sizes)]
    ]
    for each in plans:
        best = each.recommended
        given = f"{each.spent:.3g}" if name == "epsilon" else f"{each.size:,}"
        mark = " *" if each is found.plan else ""
        summary = name_of(best) if each.worth else f"none ({name_of(best)})"
        errors = (percent(best.errors[size] / each.zero_errors[size]) for size in sizes)
        lines.append([given + mark, summary, f"{best.rows:,.0f}", percent(best.real_share), *errors])
    return aligned(lines, names=2)


def _as_dict(plan: Plan) -> dict[str, Any]:
    """Return one point for JSON."""
    best = plan.recommended
    return {
        **plan.cost.entries,
        "size": plan.size,
        "recommended": name_of(best),
        "worth": plan.worth,
        "rows": best.rows,
        "real_share": best.real_share,
        "errors": best.errors,
        "relative_errors": {size: error / best.truths[size] for size, error in best.errors.items()},
    }
