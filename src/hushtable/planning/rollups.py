"""Coarser levels: what a release would be worth with larger cells.

Promise: every roll-up is judged as the plan itself is, with the profile that `merging` gives for so many
cells; levels that lead to as many cells are alike to it, and one of them is listed.
Cost: about a thirtieth of a second for each, a dozen at most.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.planning.merging import Merging

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_EXAMINED = 64  # combinations of levels, the coarsest first
_LISTED = 12
_CUTOFFS = 8  # tried for each


class Rung(NamedTuple):
    """One level of an attribute, None for its finest, and its number of values."""

    attribute: str
    level: str | None
    size: int


Ladder = tuple[Rung, ...]  # of one attribute: its level in the plan, then coarser ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollup:
    """A release at coarser levels: what to expect of it."""

    level: dict[str, str]  # as `ht.publish` takes it
    cells_total: int
    size: int | None  # rows to ask for, where the plan asks for more than there are cells
    rows: float
    rows_real: float
    real_share: float
    against_zero: float  # errors, as a multiple of those of answering 0
    against_total: float | None  # and of those of the noisy total alone, if it is bought
    worth: bool

    @property
    def options(self) -> str:
        """The options of `hushtable publish` that change.

        >>> some = {"rows": 50.0, "rows_real": 50.0, "real_share": 1.0, "against_zero": 0.2, "worth": True}
        >>> levels = {"home": "tract", "day": "1 month"}
        >>> Rollup(level=levels, cells_total=50, size=50, against_total=0.8, **some).options
        "--level home=tract --level 'day=1 month' --size 50"
        """
        said = [f"--level {shlex.quote(f'{name}={level}')}" for name, level in self.level.items()]
        return " ".join(said + ([] if self.size is None else [f"--size {self.size}"]))


def ladders(domain: Domain, level: Mapping[str, str]) -> tuple[Ladder, ...]:
    """Return the levels of each attribute, from the one that is planned with to the coarsest."""

    def ladder(name: str, size: int, coarser: Mapping[str, int]) -> Ladder:
        rungs = (Rung(name, None, size), *(Rung(name, *each) for each in coarser.items()))
        planned = [each.level for each in rungs].index(str(level[name]) if name in level else None)
        return rungs[planned:]

    return tuple(ladder(each.name, each.size, domain.levels[each.name]) for each in domain.attributes)


def rollups(plan: Plan) -> tuple[Rollup, ...]:
    """Return what releases at coarser levels would be worth, from the most cells to the fewest."""
    # Coarsest first, so that what is left out where there are too many lies near the plan itself.
    combinations = islice(product(*(reversed(ladder) for ladder in plan.ladders)), _EXAMINED)
    found: dict[int, tuple[Rung, ...]] = {}
    for rungs in combinations:
        found.setdefault(prod(rung.size for rung in rungs), rungs)
    found.pop(plan.cells_total, None)
    merging = Merging(plan.profile, cells_total=plan.cells_total)
    return tuple(_rollup(plan, merging, found[cells]) for cells in _spread(sorted(found, reverse=True)))


def _spread(cells: list[int]) -> Iterable[int]:
    """Return so many that are listed, of all kinds."""
    if len(cells) <= _LISTED:
        return cells
    return (cells[place] for place in np.linspace(0, len(cells) - 1, _LISTED).round().astype(int))


def _rollup(plan: Plan, merging: Merging, rungs: tuple[Rung, ...]) -> Rollup:
    """Return what a release at these levels would be worth."""
    from hushtable.planning.plan import planned

    cells_total = prod(rung.size for rung in rungs)
    found = planned(
        title=plan.title,
        cells_total=cells_total,
        cost=plan.cost,
        total_budget=plan.total_budget,
        sensitivity=plan.sensitivity,
        size=min(plan.size, cells_total),
        domain_bytes=plan.domain_bytes,
        profile=merging.into(cells_total),
        cutoffs=_CUTOFFS,
        law_name=plan.law_name,
    )
    return Rollup(
        level={rung.attribute: rung.level for rung in rungs if rung.level is not None},
        cells_total=cells_total,
        size=None if found.size == plan.size else found.size,
        rows=found.recommended.rows,
        rows_real=found.recommended.rows_real,
        real_share=found.recommended.real_share,
        against_zero=found.against_zero,
        against_total=found.against_total,
        worth=found.worth,
    )
