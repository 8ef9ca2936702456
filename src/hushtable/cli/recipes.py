"""Options of `hushtable publish` as a recipe.

Promise: an option is a word of a recipe, or a part of one. Nothing is decided here; what does not go together
is refused where the recipe is made, or where it is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.options import levels_of, marginals_of, need_both, unit_of, weights_of

if TYPE_CHECKING:
    from hushtable.publishing.recipe import Recipe

# Options that are words of a recipe as they are.
SAME = (
    *(
        "data",
        "where",
        "query",
        "table",
        "engine",
        "master",
        "memory",
        "domain",
        "count_column",
        "sum_column",
        "clamp",
    ),
    *(
        "rows_are_units",
        "epsilon",
        "rho",
        "delta",
        "law",
        "total_share",
        "left_out_share",
        "size",
        "anyway",
        "output",
        "overwrite",
    ),
)
# Options that are a part of a word.
UNIT = ("max_rows", "max_cells", "max_per_cell")
STRUCTURE = ("order", "branching", "width", "depth", "marginals", "weights", "consistent")
SUMMARY = ("cutoff", "threshold", "one_sided")
PLAN = ("expect_cells", "expect_mean", "expect_sd", "profile", "like")


def recipe_of(options: Mapping[str, Any]) -> Recipe:
    """Return the recipe that the options of `hushtable publish` say; others are about how it speaks."""
    from hushtable.publishing.recipe import Recipe

    need_both({"--sum-column": options["sum_column"], "--clamp": options["clamp"]})
    if options["epsilon"] is None and options["rho"] is None:
        raise click.BadParameter("Say what the release may cost: --epsilon, or --rho.")
    if options["no_ledger"] and options["ledger"] is not None:
        raise click.BadParameter("Give one of --ledger FILE and --no-ledger.")
    return Recipe(
        **{word: options[word] for word in SAME},
        level=levels_of(options["level"]),
        unit=unit_of(options["unit"], **{word: options[word] for word in UNIT}),
        ledger=False if options["no_ledger"] else options["ledger"],
        ask=options["ask"] or None,
        structure=_structure(options),
        summary=_word("name", options["summary"], {key: _given(options[key]) for key in SUMMARY}),
        plan={key: options[key] for key in PLAN},
    )


def _structure(options: Mapping[str, Any]) -> Any:
    """Return the structure with its settings, some of which name attributes of the domain."""
    settings = {key: _given(options[key]) for key in STRUCTURE}
    named = options["structure"]
    if settings["marginals"]:
        if named not in (None, "cells"):
            raise click.BadParameter("Give one of --structure and --marginals.")
        named = "marginals"
    if options["hierarchy"] is not None:
        if named is not None:
            raise click.BadParameter("Give one of --structure and --hierarchy.")
        named, settings["levels"] = "hierarchy", options["hierarchy"]
    if settings["order"] is not None or settings["marginals"]:
        from hushtable.cli.release import names_of
        from hushtable.domain.domain import Domain
        from hushtable.structures.orders import MORTON

        declared = Domain.load(options["domain"])
        morton = named == "tree" and settings["order"] == MORTON
        if settings["order"] is not None and not morton:
            settings["order"] = names_of([settings["order"]], declared.names)
        settings["marginals"] = marginals_of(settings["marginals"], declared)
    settings["weights"] = weights_of(settings["weights"])
    return _word("name", named, settings)


def _word(key: str, name: str | None, settings: dict[str, Any]) -> Any:
    """Return a dict of a name and the settings that were given, or None where nothing is said."""
    given = {setting: value for setting, value in settings.items() if value is not None}
    return {key: name, **given} if given or name is not None else None


def _given(value: Any) -> Any:
    """Return the value of an option; None where it was left out, as a flag or a list may be."""
    return None if value is False or value == [] else value
