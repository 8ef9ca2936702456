"""A recipe: everything that one publication needs, as one frozen record.

Both doors make one: `ht.publish(...)` from its arguments, `hushtable publish` from its options; a file of
recipes (`publishing.recipe_file`) has the same words as keys. What follows from it is decided in one place,
`publishing.deciding`.

Promise: equal words make equal recipes, whichever way they were said: `summary=ht.Priority(size=9)` is
`summary="priority", size=9`. Making one reads no file and no row. Printed, it shows no row; where data and
domain are files, it can be pasted back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from hushtable.answers.release import Release, open_release
from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.later import Later
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.local.addresses import Address, as_address, located
from hushtable.errors import BadChoice, BadDomain, BadMethod, BadNumber, BadSettings, shown
from hushtable.laws.costs import Cost, wanted_cost
from hushtable.laws.rationals import Rational, as_count, as_fraction
from hushtable.laws.registry import law_named
from hushtable.methods.settings import Method, check_method
from hushtable.planning.laws import usual_law
from hushtable.planning.profile import Profile
from hushtable.publishing.choices import AUTO, SUMMARIES
from hushtable.release.terms import Terms, as_text
from hushtable.structures.registry import as_structure, is_structure, structure_of
from hushtable.structures.structure import Structure

if TYPE_CHECKING:  # who needs neither does not wait for them
    from hushtable.ledger import ledger as ledgers
    from hushtable.planning import plan as plans
else:
    ledgers, plans = Later("hushtable.ledger.ledger"), Later("hushtable.planning.plan")

ASSUMPTIONS = ("expect_cells", "expect_mean", "expect_sd", "profile", "like")  # words of a plan
_PATHS_OF_PLAN = ("profile", "like")
ASKED = (
    "ask",
    "size",
    "structure",
    "summary",
    "total_share",
    "left_out_share",
)  # what a release tells in these words
_OF_A_UNIT = frozenset({"max_rows", "max_cells", "max_per_cell"})
_UNITS = ({"column", "max_rows"}, {"column", "max_cells"}, {"column", "max_cells", "max_per_cell"})


class WantedSummary(NamedTuple):
    """A summary as its owner names it; without a name, the usual one of the structure, or of the plan."""

    name: str | None = None
    cutoff: Fraction | Literal["auto"] | None = None
    threshold: Fraction | Literal["auto"] | None = None
    one_sided: bool = False

    @property
    def words(self) -> str | dict[str, Any]:
        """The same as words: its name, or a dict with its settings."""
        said = {key: _plain(value) for key, value in self._asdict().items() if value not in (None, False)}
        return said["name"] if set(said) == {"name"} else said


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recipe:
    """One publication: its rows, who is protected, the cost, what is published, and the output.

    The words are those of `ht.publish`, which takes a recipe in their place. `data` and `output` may be
    missing while a recipe is made; publishing needs both. `name` is what the ledger calls the release.

    ==================  =====================================================================
    words               also said as
    ==================  =====================================================================
    `unit`              {"column": "person_id", "max_rows": 3}; {"column": "person_id", "max_cells": 10},
                        with "max_per_cell": 2 or without
    `structure`         its name, or {"name": "tree", "branching": 16}
    `summary`           its name, or {"name": "filter", "cutoff": 20, "one_sided": True}
    `plan`              what it assumes: {"like": "last-year.parquet"}, {"profile": "counts.csv"},
                        {"expect_cells": 5000, "expect_mean": 60, "expect_sd": 20}
    `ledger`            a path; False if you keep count elsewhere
    ==================  =====================================================================

    >>> import hushtable as ht
    >>> recipe = ht.Recipe(data="a.csv", domain="people.toml", epsilon="0.1", size=1000, output="a.parquet")
    >>> recipe
    Recipe(data='a.csv', domain='people.toml', epsilon='0.1', size=1000, output='a.parquet')
    >>> recipe == recipe.replace(epsilon="1/10")
    True
    """

    data: Any = None
    where: str | None = None
    query: str | None = None
    table: str | None = None
    engine: Literal["local", "spark"] | None = None
    master: str | None = None
    memory: int | str | None = None
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str]
    level: Mapping[str, str] | None = None
    unit: Unit | Mapping[str, Any] | None = None
    count_column: str | None = None
    sum_column: str | None = None
    clamp: tuple[int, int] | None = None
    rows_are_units: bool = False
    epsilon: Rational | None = None
    rho: Rational | None = None
    delta: Rational | None = None
    total_share: Rational | None = None
    left_out_share: Rational | None = None
    law: str | None = None
    ledger: ledgers.Ledger | str | os.PathLike[str] | Literal[False] | None = None
    ask: Sequence[object] | str | None = None
    size: int | None = None
    structure: Structure | Mapping[str, Any] | str | None = None
    summary: Method | WantedSummary | Mapping[str, Any] | str | None = None
    plan: plans.Plan | Mapping[str, Any] | None = None
    anyway: bool = False
    output: str | os.PathLike[str] | None = None
    overwrite: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        summary, size = _summary(self.summary, self.size)
        cost = wanted_cost(epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        changed = {
            "data": _one_path(self.data),
            "domain": _domain(self.domain),
            "level": MappingProxyType(dict(self.level)) if isinstance(self.level, Mapping) else self.level,
            "unit": _unit(self.unit),
            "epsilon": cost.epsilon,
            "rho": cost.rho,
            "delta": cost.delta or None,
            "total_share": _share(
                self.total_share, "total_share", "The default is 1/50; 0 publishes no total."
            ),
            "left_out_share": _share(
                self.left_out_share, "left_out_share", "A hundredth is plenty; 0 buys none."
            ),
            "law": _law(self.law, cost),
            "ledger": _ledger(self.ledger),
            "ask": _questions(self.ask),
            "size": None if size is None else as_count(size, name="size"),
            "structure": _structure(self.structure),
            "summary": summary,
            "plan": _plan(self.plan),
            "output": _path(self.output, "output"),
        }
        for word, value in changed.items():
            object.__setattr__(self, word, value)
        located(self.data, self.table if self.data is not None else None)
        if self.level == {}:
            object.__setattr__(self, "level", None)
        for word in ("anyway", "overwrite", "rows_are_units"):
            if not isinstance(getattr(self, word), bool):
                raise BadChoice(f"{word}={shown(getattr(self, word))} is neither true nor false", "Give one.")
        for word in ("where", "query", "table", "master", "name"):
            if not isinstance(getattr(self, word), str | None):
                raise BadChoice(f"{word}={shown(getattr(self, word))} is not text", "Give text.")
        memory: object = self.memory
        if not isinstance(memory, int | str | None) or isinstance(memory, bool):
            raise BadChoice(f"memory={shown(self.memory)} is not a size", 'Write it as in "2GB".')
        if self.engine not in (None, "local", "spark"):
            raise BadChoice(f"there is no engine {shown(self.engine)}", "There are local and spark.")
        if self.engine == "local":  # as by default: the type of rows says it
            object.__setattr__(self, "engine", None)
        if self.master is not None and self.engine != "spark":
            raise BadChoice("`master` is Spark's, and another engine does the work", "Give `engine` spark.")
        if self.engine == "spark" and isinstance(self.data, Address):
            raise BadChoice("a database at postgresql:// is read here, not by Spark", "Leave `engine` out.")
        object.__setattr__(self, "clamp", self.measure.clamp)

    @property
    def cost(self) -> Cost:
        """What the owner is willing to spend on it."""
        return Cost(epsilon=self.epsilon, rho=self.rho, delta=self.delta or 0)

    @cached_property
    def measure(self) -> Measure:
        """What a cell holds, and who is protected."""
        unit: Any = self.unit
        return Measure(
            count_column=self.count_column, sum_column=self.sum_column, clamp=self.clamp, unit=unit
        )

    @property
    def words(self) -> dict[str, Any]:
        """What differs from the defaults, in plain values: text, numbers, lists and dicts.

        Objects of Python (rows in memory, a domain that is no file, a plan) stay as they are.
        """
        said = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {
            word: _address_text(value) if word == "data" else _plain(value)
            for word, (value, usual) in said.items()
            if value is not usual
            and (word == "data" or value != usual)  # rows in memory compare as they like
        }

    @property
    def asked(self) -> str:
        """What the owner asked for, as JSON: a release tells it beside its terms, and it is public."""
        words = self.words
        asked = {word: words[word] for word in ASKED if word in words}
        return json.dumps(asked, sort_keys=True, separators=(",", ":"))  # as the footer has it

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        mine, theirs = self.words, other.words
        rows, others = mine.pop("data", None), theirs.pop("data", None)
        paths = isinstance(rows, str | list) and isinstance(others, str | list)
        return (rows == others if paths else rows is others) and mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = {word: repr(value) for word, value in self.words.items()}
        if not _are_paths(_address_text(self.data)):
            said |= {"data": f"<{type(self.data).__name__}, private>"} if "data" in said else {}
        return f"Recipe({', '.join(f'{word}={text}' for word, text in said.items())})"

    def replace(self, **words: Any) -> Self:
        """Return the recipe with some words said anew.

        >>> import hushtable as ht
        >>> recipe = ht.Recipe(domain="people.toml", epsilon=1, summary=ht.Priority(size=10))
        >>> recipe.replace(size=20, output="more.parquet")
        Recipe(domain='people.toml', epsilon='1', size=20, summary='priority', output='more.parquet')
        """
        check_words(words)
        brought = getattr(words.get("summary"), "size", None)  # a method of Python brings its size
        return replace(self, **({"size": None} if brought is not None else {}) | words)

    @classmethod
    def load(cls, path: str | os.PathLike[str], name: str | None = None, **parameters: object) -> Recipe:
        """Return a recipe of a file; `name` says which, where the file has several.

        `parameters` are for names in braces, as in `data = "rows-{year}.parquet"`. Paths in the file are
        relative to it; they are found from the working folder of the moment, so publish before you leave it.

        >>> import hushtable as ht
        >>> from pathlib import Path
        >>> _ = Path("releases.toml").write_text('''
        ... [[release]]
        ... name = "towns-{year}"
        ... data = "rows-{year}.parquet"
        ... domain = "people.toml"
        ... epsilon = "0.1"
        ... size = 1000
        ... output = "towns-{year}.parquet"
        ... ''')
        >>> ht.Recipe.load("releases.toml", year=2025).output
        'towns-2025.parquet'
        """
        from hushtable.publishing.recipe_file import RecipeFile

        return RecipeFile.load(path, parameters).one(name)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the recipe to a file, for `Recipe.load` and `hushtable run`. A release needs a name there."""
        from hushtable.publishing.recipe_file import save

        save(self, path, overwrite=overwrite)

    @classmethod
    def from_release(cls, release: Release | str | os.PathLike[str], **words: Any) -> Recipe:
        """Return the recipe that a release says it was made by; `words` say the rest, or say it anew.

        A release tells what is public: domain, unit, epsilon, questions, size. It does not tell where rows,
        ledger and output were.

        >>> import hushtable as ht
        >>> import pyarrow as pa
        >>> ages = ht.Domain(age=ht.integers(0, 119))
        >>> rows = pa.table({"age": [34, 35, 61]})
        >>> made = ht.publish(rows, domain=ages, epsilon=1, size=50, ledger=False, output="ages-2024.parquet")
        >>> recipe = ht.Recipe.from_release(made, data=rows, ledger=False, output="ages-2025.parquet")
        >>> recipe.size, recipe.epsilon
        (50, Fraction(1, 1))
        >>> ht.publish(recipe).epsilon
        Fraction(1, 1)
        """
        if not isinstance(release, Release | str | os.PathLike):
            raise BadMethod("release", type(release).__name__, "a release", '"towns.parquet"')
        opened = release if isinstance(release, Release) else open_release(release)
        return cls(**(_told(opened.terms) | dict(check_words(words))))


def _told(terms: Terms) -> dict[str, Any]:
    """Return the words of a recipe that the terms of a release tell."""
    measure = terms.measure
    said: dict[str, Any] = {
        "domain": terms.domain,
        "unit": measure.unit,
        "count_column": measure.count_column,
        "sum_column": measure.sum_column,
        "clamp": measure.clamp,
        "where": terms.where,
        "query": terms.query,
        "rows_are_units": terms.rows_are_units,
        "epsilon": terms.epsilon,
        "rho": terms.rho if terms.epsilon is None else None,
        "delta": terms.delta or None,
        "law": terms.law_name,
    }
    if terms.plan is not None:
        assumed = terms.plan
        profile = Profile(counts=assumed.counts, cells=assumed.cells, words=assumed.assumed)
        said |= {"plan": {"profile": profile}, "size": assumed.size}
    if terms.recipe is not None:
        told = json.loads(terms.recipe)
        return said | {word: told[word] for word in ASKED if word in told}
    # Older releases tell what was decided, not what was asked for.
    parts = [part.method.size for part in terms.parts]
    several = {"size": max((size for size in parts if size is not None), default=None)}
    share = {"total_share": terms.total_budget / terms.budget if terms.structure.takes_total else None}
    summary, size = _summary(terms.method, None)
    alone = {"summary": summary, "size": size}
    return said | share | {"structure": terms.structure} | (several if parts else alone)


def _law(law: str | None, cost: Cost) -> str | None:
    """Return the law of the noise that is asked for; None for the one that a cost buys if nobody asks."""
    if law is None or law == AUTO:
        return None
    name = law_named(law).name
    return None if name == usual_law(cost) else name


def check_words(words: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return words of a recipe, or raise where one is unknown, with the nearest that there is."""
    known = [each.name for each in fields(Recipe)]
    for word in words:
        if word not in known:
            near = get_close_matches(str(word), known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"There are {', '.join(known)}."
            if word in _OF_A_UNIT:
                hint = 'It belongs to `unit`, as in unit = { column = "person_id", max_rows = 3 }.'
            raise BadChoice(f"a recipe has no setting {shown(word)}", hint)
    return words


def _address_text(data: Any) -> Any:
    """Return the address of a database as text without passwords; other data as they are."""
    return data.text if issubclass(type(data), Address) else data


def _one_path(data: Any) -> Any:
    """Return paths as text, one by itself; of rows in memory, nothing but the type is looked at."""
    data = as_address(data)
    if issubclass(type(data), os.PathLike):
        return os.fspath(data)
    several = issubclass(type(data), list | tuple) and len(data) > 0
    if several and all(isinstance(each, str | os.PathLike) for each in data):
        paths = [os.fspath(each) for each in data]
        return as_address(paths[0]) if len(paths) == 1 else paths
    return data


def _are_paths(data: Any) -> bool:
    """Whether rows are in files, so that their names may be shown."""
    listed = data if issubclass(type(data), list) else [data]
    return all(issubclass(type(each), str) for each in listed)


def _path(given: object, word: str) -> str | None:
    """Return a path as text, or None."""
    if given is None:
        return None
    text = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise BadChoice(
            f"{word}={shown(given)} is not a path", "Write the name of a file, as in out.parquet."
        )
    return text


def _share(given: Rational | None, name: str, hint: str) -> Fraction | None:
    """Return a share of the cost."""
    if given is None:
        return None
    share = as_fraction(given, name=name)
    if not 0 <= share < 1:
        raise BadNumber(name=name, value=given, allowed="must be from 0 to below 1", hint=hint)
    return share


def _domain(given: object) -> Domain | str:
    """Return a domain, or the path of its file."""
    if given is None:
        raise BadDomain("no domain is given", "Give the path of a domain file.")
    if isinstance(given, str | os.PathLike):
        return _path(given, "domain") or ""
    return as_domain(given)  # type: ignore[arg-type]


def _unit(given: object) -> Unit | None:
    """Return who is protected; what is no unit is refused by `Measure`."""
    if isinstance(given, Mapping):
        if set(given) not in _UNITS:
            fact = f"unit={shown(given)} does not say `column` and one of `max_rows` and `max_cells`"
            hint = 'Write { column = "person_id", max_rows = 3 } or { column = "person_id", max_cells = 10 }'
            raise BadChoice(fact, f"{hint}; `max_per_cell` may go with the latter, and nothing else.")
        return Unit(**given)
    return given  # type: ignore[return-value]


def _ledger(given: object) -> str | Literal[False] | None:
    """Return the path of a ledger, None if nothing is said, or False if none is to be charged."""
    if given is None or given is False:
        return given
    if isinstance(given, str | os.PathLike):
        return _path(given, "ledger")
    if isinstance(given, ledgers.Ledger):
        return os.fspath(given.path)
    hint = "Give the path of a ledger, or False if you keep count elsewhere."
    raise BadChoice(f"ledger={shown(given)} is not a ledger", hint)


def _questions(ask: object) -> tuple[Any, ...] | None:
    """Return questions, each by itself; those that make no sense are refused where the domain is known."""
    if ask is None:
        return None
    entries = [ask] if isinstance(ask, str | Mapping) else list(ask) if isinstance(ask, Sequence) else []
    if not entries:
        hint = 'Name attributes, as in ask=["town", "town,job", "month(day),diagnosis"].'
        raise BadChoice(f"ask={shown(ask)} names no questions", hint)
    return tuple(_plain(each) for each in entries)


def _structure(given: object) -> Structure | Literal["auto"] | None:
    """Return the structure that is meant."""
    if given is None or given == AUTO:
        return given  # type: ignore[return-value]
    if isinstance(given, Mapping):
        settings = dict(given)
        name = settings.pop("name", None)
        if name == AUTO and settings:
            fact = "settings of a structure go with one that is named"
            raise BadChoice(fact, "Name it, or leave them out.")
        if name == AUTO:
            return "auto"
        if not isinstance(name, str | None):
            raise BadChoice(f"there is no structure {shown(name)}", 'Name it by text, as in "tree".')
        try:
            return structure_of("cells" if name is None else name, **settings)
        except TypeError:  # a list where a number belongs, or the like
            fact = f"structure={shown(dict(given))} has a setting of another kind than it takes"
            raise BadChoice(fact, "The page on each structure says what it takes.") from None
    return as_structure(given)


def _summary(given: object, size: int | None) -> tuple[WantedSummary | None, int | None]:
    """Return the summary that is meant, and the size, which a method of Python brings itself."""
    if given is None or isinstance(given, WantedSummary):
        return given, size
    if isinstance(given, str):
        given = {"name": given}
    if isinstance(given, Mapping):
        for word in given:
            if word not in WantedSummary._fields:
                raise BadChoice(
                    f"a summary has no {shown(word)}", f"It has {', '.join(WantedSummary._fields)}."
                )
        said = WantedSummary(**given)
        name, one_sided = given.get("name"), given.get("one_sided", False)
        if not isinstance(one_sided, bool) or not isinstance(name, str | None):
            fact = (
                f"summary={shown(dict(given))} has a name that is not text, or `one_sided` that is not "
                "a boolean"
            )
            raise BadChoice(fact, 'Write { name = "filter", cutoff = 20, one_sided = true }.')
        if said.name is not None and said.name not in SUMMARIES:
            raise BadChoice(f"there is no summary {shown(said.name)}", f"There are {', '.join(SUMMARIES)}.")
        cutoff, threshold = _setting(said.cutoff, "cutoff"), _setting(said.threshold, "threshold")
        return WantedSummary(said.name, cutoff, threshold, said.one_sided), size
    check_method(given, name="summary")
    method: Any = given
    if size is not None and method.size is not None:
        raise BadSettings("publish", ("size", "summary"))
    cutoff, threshold = _setting(method.cutoff, "cutoff"), _setting(method.threshold, "threshold")
    wanted = WantedSummary(method.name, cutoff, threshold, not method.two_sided)
    return wanted, size if method.size is None else method.size


def _setting(value: Any, name: str) -> Fraction | Literal["auto"] | None:
    return value if value is None or value == AUTO else as_fraction(value, name=name)


def _plan(given: object) -> plans.Plan | Mapping[str, Any] | None:
    """Return a plan, or what one is to assume."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        if isinstance(given, plans.Plan):
            return given
        raise BadMethod("plan", type(given).__name__, "a plan", "ht.plan(...)")
    for word in given:
        if word not in ASSUMPTIONS:
            near = get_close_matches(str(word), ASSUMPTIONS, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"It assumes {', '.join(ASSUMPTIONS)}."
            raise BadChoice(f"a plan assumes no {shown(word)}", hint)
    said = {word: value for word, value in given.items() if value is not None}
    for word, value in said.items():
        if word in _PATHS_OF_PLAN:
            said[word] = value if isinstance(value, Profile) else _path(value, word)
        elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise BadChoice(f"{word}={shown(value)} is not a number", "Write it as in 60.5.")
        else:
            said[word] = float(value)
    return MappingProxyType(said) if said else None


def _plain(value: Any) -> Any:
    """Return a value of a recipe as text, numbers, lists and dicts, where it has such a form."""
    if isinstance(value, WantedSummary):
        return value.words
    if isinstance(value, Fraction):
        return as_text(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Unit):
        return value.words
    if is_structure(value):
        settings = {key: each for key, each in value.to_entries().items() if each is not None}
        return {"name": value.name, **settings} if settings else value.name
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
