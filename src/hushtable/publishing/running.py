"""Running a file of recipes: which releases are done, which are due, and what they cost together.

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

Promise: each draw has its own charge. A release is charged once, and again only if it is `lost` or `changed`
and its owner asks for it by name. Of several processes, one draws it. No random state is stored, so that
nothing can be drawn twice alike.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from hushtable.domain.domain import as_domain
from hushtable.errors import BadData, BadRecipe, BadRelease, BudgetExceeded, HushtableError
from hushtable.files.apart import Kept
from hushtable.laws.costs import Cost
from hushtable.ledger.ledger import Entry, Ledger
from hushtable.publishing.deciding import Decision, decided
from hushtable.publishing.publish import checked_terms, kept_files
from hushtable.publishing.recipe import Recipe
from hushtable.publishing.recipe_file import RecipeFile
from hushtable.release.reading import read_head
from hushtable.release.writing import check_output, digest_of

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
    def cost(self) -> Cost:
        """What drawing it costs one of its units."""
        return self.recipe.cost


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be done of a file: its releases in order, and what those that are drawn cost together."""

    ledger: Ledger
    items: tuple[RunItem, ...]
    cost: Fraction  # to one unit of the ledger
    left: Fraction  # before anything is charged
    short: BudgetExceeded | None  # if the ledger cannot pay for them

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

    Guarantee: what can be refused without reading a row is refused now, before the first release is drawn,
    but for rows that are not there yet. `short` says if the ledger cannot pay for all.
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
        taken = {entry.digest for entry in entries if entry.name != name}
        state = _state(recipe, own[-1] if own else None, taken)
        if name in repeated and state in ("done", "written"):
            hint = (
                "Leave --again out. To publish the same rows anew, give the release another name; it "
                "is charged again."
            )
            raise BadRecipe("it is published already", hint, file=str(file.path), release=name)
        drawn = state == "due" or name in repeated
        items.append(RunItem(name, recipe, state, own[-1] if own else None, len(own), drawn))
    decisions = [_checked(file, item) for item in items if item.drawn]
    _check_outputs(file, decisions, ledger)
    left, short = ledger.left, None
    try:
        cost = ledger.can_pay_all([(each.cost, each.unit) for each in decisions])
    except BudgetExceeded as error:
        cost, short = error.needed, error
    return RunPlan(ledger, tuple(items), cost, left, short)


def noted(run: RunPlan) -> list[RunItem]:
    """Finish entries whose output is whole, and which nobody noted; return them."""
    found = [item for item in run.items if item.state == "written" and not item.drawn]
    for item in found:
        digest = digest_of(_output(item.recipe))
        if item.entry is not None and digest is not None:
            run.ledger.finish(item.entry.number, digest=digest)
    return found


@contextmanager
def alone(path: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Wait until no other run of this file is going on, and keep others waiting until the block ends.

    The lock belongs to the process and goes with it, also where it is killed. `waiting` is called if there is
    another run.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadRecipe(f"it cannot be read ({reason})", "Check the path.", file=str(path)) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _ledger(file: RecipeFile) -> Ledger:
    """Return the one ledger of a file."""
    found = {recipe.ledger for recipe in file.recipes.values()}
    (path,) = found if len(found) == 1 else (None,)
    if not isinstance(path, str):
        hint = 'Write ledger = "people.ledger" at the top of the file; `hushtable ledger create` makes one.'
        raise BadRecipe("its releases have no ledger in common", hint, file=str(file.path))
    return Ledger.open(path)


def _state(recipe: Recipe, entry: Entry | None, taken: Container[str | None]) -> State:
    if entry is None:
        return "due"
    output = _output(recipe)
    if entry.digest is not None:
        return "done" if digest_of(output) == entry.digest else "changed"
    return "written" if digest_of(output) not in taken and _is_written(output, recipe) else "lost"


def _is_written(output: str, recipe: Recipe) -> bool:
    """Whether the output of an unfinished entry is there: a release by this recipe, that no other entry has.

    Before the charge nothing had its name, unless it was to be overwritten: what is there may then be older.
    """
    if recipe.overwrite:
        return False
    try:
        terms = read_head(Path(output)).terms
    except BadRelease:
        return False
    domain = as_domain(recipe.domain)
    own = (
        recipe.measure,
        recipe.where,
        recipe.query,
        recipe.rows_are_units,
        recipe.asked,
        (domain if recipe.level is None else domain.at(recipe.level)).digest,
    )
    cost = recipe.cost
    paid = terms.rho == cost.rho if cost.epsilon is None else terms.epsilon == cost.epsilon
    if not paid or terms.delta not in (0, cost.delta):  # pure noise spends no delta that was allowed
        return False
    return own == (
        terms.measure,
        terms.where,
        terms.query,
        terms.rows_are_units,
        terms.recipe,
        terms.domain.digest,
    )


def _output(recipe: Recipe) -> str:
    return "" if recipe.output is None else os.fspath(recipe.output)


def _checked(file: RecipeFile, item: RunItem) -> Decision:
    """Return what is decided for a release, or raise where something public speaks against it."""
    if not item.name:
        hint = "Give it a name: the ledger knows it by that."
        raise BadRecipe("its release has no name", hint, file=str(file.path))
    with naming(item.name):
        decision = decided(item.recipe)
        checked_terms(decision)
        _ = decision.output
    return decision


@contextmanager
def naming(release: str) -> Iterator[None]:
    """Let an error say which release it is about."""
    try:
        yield
    except HushtableError as error:
        error.args = (f"release {release!r}: {error}",)
        raise


def _check_outputs(file: RecipeFile, decisions: Sequence[Decision], ledger: Ledger) -> None:
    """Raise where two releases have one output, or one cannot be written, or is what another one reads."""
    kept = Kept()
    for each in decisions:
        with suppress(BadData):  # rows that are not there yet: their own release tells
            kept = kept.and_all([kept_files(each.recipe.data, each.domain, ledger)])
    for each in decisions:
        with naming(each.recipe.name or ""):
            check_output(each.output, overwrite=each.recipe.overwrite, kept=kept)
    seen: dict[str, str] = {}
    for name, recipe in file.recipes.items():
        if recipe.output is None:
            continue
        place = os.path.realpath(_output(recipe))
        if place in seen:
            fact = f"the releases {seen[place]!r} and {name!r} have the same output"
            raise BadRecipe(fact, "Give each its own.", file=str(file.path))
        seen[place] = name
