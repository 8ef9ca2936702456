"""A file of recipes, carried out: what is done already, what is due, and what all of it costs.

A release is known by its name in the ledger, and its output by the digest of its entry:

==========================================  ===========  ========================================
the ledger's last entry of that name        the output   state
==========================================  ===========  ========================================
none                                                     `due`
finished                                    as noted     `done`
finished                                    otherwise    `changed`: moved, deleted or replaced
unfinished                                  a release    `written`: all but the note is done
unfinished                                  otherwise    `lost`: it was stopped after the charge
==========================================  ===========  ========================================

Promise: a release is drawn once for each charge, and charged once for each word of its owner: `due` ones are
drawn, `lost` and `changed` ones only if their names are said again. Of several processes, one draws it. No
random state is stored, so that nothing can be drawn twice alike.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from hushtable.errors import BadRecipe, BadRelease
from hushtable.ledger.ledger import Entry, Ledger
from hushtable.publishing.deciding import Decision, decided
from hushtable.publishing.publish import checked_terms
from hushtable.publishing.recipe import Recipe
from hushtable.publishing.recipe_file import RecipeFile
from hushtable.release.reading import read_head
from hushtable.release.writing import digest_of

State = Literal["due", "done", "changed", "written", "lost"]


@dataclass(frozen=True, slots=True)
class RunItem:
    """One release of a file: how far it has come, and whether it is to be drawn now."""

    name: str
    recipe: Recipe
    state: State
    entry: Entry | None  # the last of its name
    times: int  # how often it was charged
    drawn: bool

    @property
    def epsilon(self) -> Fraction:
        """What drawing it costs one of its units."""
        return Fraction(self.recipe.epsilon)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be done of a file: its releases in order, and what those that are drawn cost together."""

    ledger: Ledger
    items: tuple[RunItem, ...]
    cost: Fraction  # to one unit of the ledger
    left: Fraction  # before anything is charged

    @property
    def drawn(self) -> tuple[RunItem, ...]:
        """Those that are to be drawn."""
        return tuple(item for item in self.items if item.drawn)

    @property
    def open(self) -> tuple[RunItem, ...]:
        """Those that were charged, are not there, and are not drawn again."""
        return tuple(item for item in self.items if item.state in ("lost", "changed") and not item.drawn)


def planned_run(file: RecipeFile, names: Sequence[str] = (), *, again: Sequence[str] = ()) -> RunPlan:
    """Say what is to be done of the releases that are named, or of all; nothing is drawn or charged.

    Guarantee: everything that public facts can refuse is refused now, before the first release is drawn, and
    so is a run that the ledger cannot pay for as a whole.
    """
    wanted = {file.known(name) for name in (*names, *again)} if names else set(file.recipes)
    repeated = {file.known(name) for name in again}
    ledger = _ledger(file)
    entries = ledger.entries()
    items = []
    for name, recipe in file.recipes.items():
        if name not in wanted:
            continue
        own = [entry for entry in entries if entry.name == name]
        state = _state(recipe, own[-1] if own else None)
        if name in repeated and state in ("done", "written"):
            hint = "Leave --again out; a new release of the same rows takes another name, and is charged."
            raise BadRecipe("it is published already", hint, file=str(file.path), release=name)
        drawn = state == "due" or name in repeated
        items.append(RunItem(name, recipe, state, own[-1] if own else None, len(own), drawn))
    decisions = [_checked(file, item) for item in items if item.drawn]
    _check_outputs(file)
    left = ledger.left
    cost = ledger.can_pay_all([(each.epsilon, each.unit) for each in decisions])
    return RunPlan(ledger, tuple(items), cost, left)


def noted(run: RunPlan) -> list[RunItem]:
    """Finish entries whose output is whole, and which nobody noted; return them."""
    found = [item for item in run.items if item.state == "written" and not item.drawn]
    for item in found:
        digest = digest_of(_output(item.recipe))
        if item.entry is not None and digest is not None:
            run.ledger.finish(item.entry.number, digest=digest)
    return found


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other run of this file is going on, and keep others waiting until the block ends.

    The lock belongs to the process and goes with it, also where it is killed.
    """
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _ledger(file: RecipeFile) -> Ledger:
    """Return the one ledger of a file."""
    found = {recipe.ledger for recipe in file.recipes.values()}
    (path,) = found if len(found) == 1 else (None,)
    if not isinstance(path, str):
        hint = 'Write ledger = "people.ledger" at the top of the file; `hushtable ledger create` makes one.'
        raise BadRecipe("its releases have no ledger in common", hint, file=str(file.path))
    return Ledger.open(path)


def _state(recipe: Recipe, entry: Entry | None) -> State:
    if entry is None:
        return "due"
    output = _output(recipe)
    if entry.digest is not None:
        return "done" if digest_of(output) == entry.digest else "changed"
    return "written" if _is_written(output, recipe) else "lost"


def _is_written(output: str, recipe: Recipe) -> bool:
    """Whether the output of an unfinished entry is there.

    Nothing else can have its name: before the charge there was none, unless it was to be overwritten.
    """
    if recipe.overwrite:
        return False
    try:
        return read_head(Path(output)).terms.epsilon == recipe.epsilon
    except BadRelease:
        return False


def _output(recipe: Recipe) -> str:
    return "" if recipe.output is None else os.fspath(recipe.output)


def _checked(file: RecipeFile, item: RunItem) -> Decision:
    """Return what is decided for a release, or raise where something public speaks against it."""
    if not item.name:
        hint = "Give it a name: the ledger knows it by that."
        raise BadRecipe("its release has no name", hint, file=str(file.path))
    decision = decided(item.recipe)
    checked_terms(decision)
    return decision


def _check_outputs(file: RecipeFile) -> None:
    """Raise where two releases have one output."""
    seen: dict[str, str] = {}
    for name, recipe in file.recipes.items():
        place = os.path.realpath(_output(recipe))
        if place in seen:
            fact = f"the releases {seen[place]!r} and {name!r} have the same output"
            raise BadRecipe(fact, "Give each its own.", file=str(file.path))
        seen[place] = name
