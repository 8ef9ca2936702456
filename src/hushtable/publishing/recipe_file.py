"""Files of recipes: one ledger, shared defaults, several releases, and parameters for series.

    ledger = "people.ledger"
    [defaults]
    data = "rows-{year}.parquet"
    domain = "people.toml"
    epsilon = "0.1"
    [[release]]
    name = "towns-{year}"
    ask = ["town", "town,job"]
    size = 1000
    output = "towns-{year}.parquet"

Promise: keys of a release are the words of `ht.publish`; what is unknown, and a parameter that is not set or
not used, is refused. Paths are relative to the file. `{{` and `}}` stand for braces around a name; other
braces are left as they are, so that SQL and regular expressions need no care. Numbers are exact.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.errors import BadChoice, BadRecipe, HushtableError, shown
from hushtable.files.placing import new_file, only
from hushtable.publishing.recipe import Recipe, check_words

_LONGEST_NAME = 200
_KEYS = ("ledger", "defaults", "release")
_PARAMETER = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of a path that is no file of this machine


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """The recipes of a file, by name and in order."""

    path: Path
    recipes: dict[str, Recipe]

    @classmethod
    def load(cls, path: str | os.PathLike[str], parameters: Mapping[str, object] | None = None) -> RecipeFile:
        """Return the recipes of a file, with all parameters set."""
        if not isinstance(path, str | os.PathLike):
            raise BadRecipe("it is not a path", "Give the path of a file of recipes.", file=shown(path))
        place = Path(path)
        document = _document(place)
        shared = document.get("defaults", {})
        entries = document.get("release", [])
        if not isinstance(shared, dict) or not isinstance(entries, list) or not entries:
            hint = (
                "Write [[release]] above the settings of each release, and [defaults] above those "
                "that all share."
            )
            raise BadRecipe("it has no releases", hint, file=str(path))
        setting = _Setting(place, {name: str(value) for name, value in (parameters or {}).items()})
        recipes: dict[str, Recipe] = {}
        for entry in entries:
            if not isinstance(entry, dict):
                raise BadRecipe("a release is not a table", "Write [[release]].", file=str(path))
            said = {"name": None} | shared | entry
            if "ledger" in document:
                if "ledger" in shared | entry:
                    fact = "a ledger is named for all releases, and another for one"
                    raise BadRecipe(fact, "A file has one ledger: name it once.", file=str(path))
                said["ledger"] = document["ledger"]
            recipe = _recipe(place, setting.filled(said))
            name = recipe.name or ""
            if name and (not name.isprintable() or name != name.strip() or len(name) > _LONGEST_NAME):
                hint = f"Write one line of up to {_LONGEST_NAME} characters, without spaces around it."
                raise BadRecipe(f"the name {shown(name)} is not one line of text", hint, file=str(path))
            if name in recipes or (not name and len(entries) > 1):
                fact = f"two releases are named {shown(name)}" if name else "a release has no name"
                hint = "Give each release a name of its own; the ledger knows it by that."
                raise BadRecipe(fact, hint, file=str(path))
            recipes[name] = recipe
        setting.check_used()
        return cls(place, recipes)

    def one(self, name: str | None) -> Recipe:
        """Return the recipe of that name; the only one needs none."""
        if name is None and len(self.recipes) == 1:
            return next(iter(self.recipes.values()))
        if name is None:
            hint = f"Name one: {', '.join(self.recipes)}."
            raise BadRecipe(f"it has {len(self.recipes):,} releases", hint, file=str(self.path))
        return self.recipes[self.known(name)]

    def known(self, name: str) -> str:
        """Return a name that there is, or raise with the nearest one."""
        if name in self.recipes:
            return name
        near = get_close_matches(str(name), self.recipes, n=1)
        there = ", ".join(self.recipes) or "none: its release has no name"
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {there}."
        raise BadRecipe(f"it has no release {shown(name)}", hint, file=str(self.path))


def save(recipe: Recipe, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a recipe to a file of its own, which `RecipeFile.load` reads as the same recipe."""
    words = recipe.words
    if isinstance(words["domain"], Domain):
        words["domain"] = words["domain"].to_dict(levels=True)
    for word, value in words.items():
        if not _is_plain(value) or (word == "data" and not isinstance(value, str | list)):
            fact = f"the `{word}` of the recipe is an object of Python, which a file cannot hold"
            raise BadChoice(fact, "Give a path, or the words for it.")
    folder = os.path.realpath(os.path.dirname(os.fspath(path)) or os.curdir)

    def moved(text: str) -> str:
        return text if os.path.isabs(text) else os.path.relpath(os.path.realpath(text), folder)

    document = {"release": [_escaped(_moved(words, moved))]}
    text = "\n".join(_toml(document)).lstrip() + "\n"
    with new_file(Path(path), overwrite=overwrite, check=only(_is_ours, "a file of recipes")) as file:
        file.write(text.encode())


def _is_ours(path: Path) -> bool:
    """Whether a file is one of recipes, so that another may take its place."""
    try:
        return bool(_document(path).get("release"))
    except BadRecipe:
        return False


def _document(path: Path) -> dict[str, Any]:
    """Return the file as TOML gives it, with decimals as they are written."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        raise BadRecipe("there is no such file", "Check the path.", file=str(path)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadRecipe(f"it cannot be read ({reason})", "Check the path.", file=str(path)) from None
    except (ValueError, RecursionError) as error:  # tomllib's own error is a ValueError
        raise BadRecipe(f"it is not TOML: {error}", "Correct it there.", file=str(path)) from None
    for key in document:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(_KEYS)}."
            hint += " Settings that all releases share stand below [defaults]."
            raise BadRecipe(f"it has an unknown key {shown(key)}", hint, file=str(path))
    return document


def _recipe(path: Path, said: dict[str, Any]) -> Recipe:
    """Return one release as a recipe; errors say where they are."""
    name = said["name"] if isinstance(said["name"], str) else None
    try:
        check_words(said)
        for words in (("domain",), ("epsilon", "rho")):
            if not said.keys() & set(words):
                named = " or ".join(f"`{word}`" for word in words)
                raise BadChoice(f"{named} is missing", "Write it there, or below [defaults].")
        folder = os.path.dirname(os.fspath(path))
        spark = said.get("engine") == "spark"
        return Recipe(**_moved(said, lambda text: os.path.join(folder, text), tables=spark))
    except HushtableError as error:
        fact, hint = getattr(error, "fact", None), getattr(error, "hint", None)
        if isinstance(fact, str) and isinstance(hint, str):
            raise BadRecipe(fact, hint, file=str(path), release=name) from None
        first, _, rest = str(error).rstrip(".").partition(". ")
        raise BadRecipe(
            first, f"{rest}." if rest else "Correct it there.", file=str(path), release=name
        ) from None


def _moved(words: Mapping[str, Any], move: Any, *, tables: bool = False) -> dict[str, Any]:
    """Return words with all paths of files seen from another folder."""

    def moved(text: Any) -> Any:
        if isinstance(text, list):
            return [moved(each) for each in text]
        if not isinstance(text, str) or _SCHEME.match(text):
            return text
        # Spark takes names of tables too: what is not there under that name stays a name.
        if tables and "/" not in text and not os.path.exists(move(text)):
            return text
        return move(text)

    found = dict(words)
    for word in ("data", "domain", "ledger", "output"):
        if word in found:
            found[word] = moved(found[word]) if word == "data" else _one(found[word], move)
    if isinstance(found.get("plan"), Mapping):
        paths = {
            word: _one(found["plan"][word], move) for word in ("profile", "like") if word in found["plan"]
        }
        found["plan"] = {**found["plan"], **paths}
    return found


def _one(value: Any, move: Any) -> Any:
    return move(value) if isinstance(value, str) else value


class _Setting:
    """Parameters, and which of them were used."""

    def __init__(self, path: Path, parameters: Mapping[str, str]) -> None:
        self._path, self._parameters = path, parameters
        self._used: set[str] = set()

    def filled(self, value: Any) -> Any:
        """Return a value with parameters in all of its texts."""
        if isinstance(value, str):
            return _PARAMETER.sub(self._found, value)
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return value

    def _found(self, match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return f"{{{literal}}}"
        if name not in self._parameters:
            hint = f"Give --set {name}=..., or {name}=... in Python. Write {{{{{name}}}}} for the braces."
            raise BadRecipe(f"the parameter {{{name}}} is not set", hint, file=str(self._path))
        self._used.add(name)
        return self._parameters[name]

    def check_used(self) -> None:
        """Raise where a parameter was set that the file does not have."""
        for name in self._parameters:
            if name not in self._used:
                fact = f"it has no parameter {shown(name)}"
                raise BadRecipe(
                    fact, f"Write {{{name}}} where it belongs, or leave it out.", file=str(self._path)
                )


def _is_plain(value: Any) -> bool:
    """Whether a value has a form in TOML."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, str | int | float | bool)


def _escaped(value: Any) -> Any:
    """Return texts in which no name in braces is taken for a parameter."""
    if isinstance(value, str):
        return re.sub(r"\{([A-Za-z_]\w*)\}", r"{{\1}}", value)
    if isinstance(value, Mapping):
        return {key: _escaped(each) for key, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list | tuple) else value


def _toml(table: Mapping[str, Any], name: str = "") -> list[str]:
    """Return a table as lines of TOML: plain values first, then the tables in it."""
    lines, below = [], []
    for key, value in table.items():
        path = f"{name}.{_key(key)}" if name else _key(key)
        if isinstance(value, Mapping) and len(value) > 3:
            below += ["", f"[{path}]", *_toml(value, path)]
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            for each in value:
                below += ["", f"[[{path}]]", *_toml(each, path)]
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return lines + below


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Return a plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):  # as JSON does, which leaves one character bare that TOML does not
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
