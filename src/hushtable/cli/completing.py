"""What a shell offers after TAB: attributes of the domain or the release that the line names, and recipes.

Promise: it reads the domain file, the footer of a release or a file of recipes, never a row. Where one cannot
be read, nothing is offered, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hushtable.errors import HushtableError


def attribute_names(ctx: Any, incomplete: str) -> list[str]:
    """Offer the next attribute of a list such as town,job, as it is and at its levels."""
    return _continued(_items(_domain(ctx)), incomplete)


def level_choices(ctx: Any, incomplete: str) -> list[str]:
    """Offer NAME=LEVEL."""
    found = _domain(ctx)
    levels = {} if found is None else found.levels
    return [
        f"{name}={level}" for name, own in levels.items() for level in own if _begins(f"{name}=", incomplete)
    ]


def recipe_names(ctx: Any, incomplete: str) -> list[str]:
    """Offer the names of the releases in a file of recipes, with the parameters that the line sets."""
    from hushtable.publishing.recipe_file import RecipeFile

    try:
        said = dict(each.split("=", 1) for each in ctx.params.get("parameters") or ())
        names: Iterable[str] = RecipeFile.load(ctx.params["file"], said).recipes
    except (HushtableError, KeyError, ValueError, TypeError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _domain(ctx: Any) -> Any:
    """Return the domain that the line names, by its file or by a release."""
    from hushtable.domain.domain import Domain

    # An option that has no value yet keeps what stands before it from being told apart.
    release = ctx.params.get("file") or next(iter(ctx.args), None)
    try:
        if ctx.params.get("domain") is not None:
            return Domain.load(ctx.params["domain"])
        if release is not None:
            from hushtable.answers.release import open_release

            return open_release(release).domain
    except (HushtableError, OSError, TypeError):
        return None
    return None


def _items(found: Any) -> list[str]:
    """Return the attributes of a domain, as they are and at their levels."""
    if found is None:
        return []
    at_levels = [f"{level}({name})" for name, own in found.levels.items() for level in own]
    return [*found.names, *at_levels]


def _continued(items: list[str], incomplete: str) -> list[str]:
    """Return lists that go on with one more item.

    >>> _continued(["town", "job", "region(town)"], "job,t")
    ['job,town']
    """
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{item}" for item in items if item.startswith(last) and item not in taken]


def _begins(text: str, incomplete: str) -> bool:
    return text.startswith(incomplete) or incomplete.startswith(text)
