"""Commands from functions: annotations say which options and arguments there are, docstrings are the help.

    def show(file: Annotated[Path, Argument(metavar="FILE", help="...")], json: Json = False) -> None: ...

Promise: a group knows its commands by name, and imports the module of one when it runs it or lists them all:
a command that is not given costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import click

Complete: TypeAlias = Callable[[click.Context, str], list[str]]  # what a shell offers after TAB

_CONTEXT = {"help_option_names": ["-h", "--help"]}
_PLAIN: Mapping[type, click.ParamType[Any]] = {str: click.STRING, int: click.INT, float: click.FLOAT}


@dataclass(frozen=True, slots=True, init=False)
class Option:
    """What an annotation says of an option; without names it is called as its parameter."""

    names: tuple[str, ...]
    complete: Complete | None
    limits: tuple[int | None, int | None]
    settings: Mapping[str, Any]  # for click

    def __init__(
        self,
        *names: str,
        complete: Complete | None = None,
        min: int | None = None,
        max: int | None = None,
        **settings: Any,
    ) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "complete", complete)
        object.__setattr__(self, "limits", (min, max))
        object.__setattr__(self, "settings", settings)


class Argument(Option):
    """What an annotation says of an argument."""

    __slots__ = ()


class CommandGroup(click.Group):
    """Commands by their names, each the place of a function, or of another group, as `module:name`.

    Help lists them under headings, in the order given.
    """

    def __init__(
        self,
        places: Mapping[str, Mapping[str, str]],
        *,
        kinds: Mapping[str, type[click.Command]] | None = None,
        function: Callable[..., Any] | None = None,
        help: str | None = None,
    ) -> None:
        settings = {"help": help} if function is None else _settings(function)
        super().__init__(no_args_is_help=True, context_settings=_CONTEXT, **settings)
        self._headings = {heading: tuple(below) for heading, below in places.items()}
        self._places = {name: place for below in places.values() for name, place in below.items()}
        self._kinds = dict(kinds or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of help."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name, made on first use."""
        if cmd_name in self._places and cmd_name not in self.commands:
            module, name = self._places[cmd_name].split(":")
            found = getattr(import_module(module), name)
            kind = self._kinds.get(cmd_name, click.Command)
            self.commands[cmd_name] = (
                found
                if isinstance(found, click.Command)
                else kind(cmd_name, context_settings=_CONTEXT, no_args_is_help=True, **_settings(found))
            )
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, under its heading."""
        width = max(map(len, self._places))
        for heading, names in self._headings.items():
            found = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), each.get_short_help_str(formatter.width - width - 6))
                        for name, each in found.items()
                        if each is not None
                    ]
                )


def _settings(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function says of its command: what to call, options and arguments, help."""
    hints = get_type_hints(function, include_extras=True)
    parameters = signature(function).parameters.values()
    params = [_param(each, hints[each.name]) for each in parameters if hints[each.name] is not click.Context]
    called = click.pass_context(function) if click.Context in hints.values() else function
    return {"callback": called, "params": params, "help": function.__doc__}


def _param(parameter: Parameter, hint: Any) -> click.Parameter:
    """Return the option or argument that one parameter of a function is."""
    assert get_origin(hint) is Annotated, f"{parameter.name} has no Option or Argument"
    wanted, said = get_args(hint)
    kind, several = _kind(wanted, said)
    settings = {"type": kind, "required": parameter.default is Parameter.empty, **said.settings}
    if not settings["required"]:
        settings["default"] = parameter.default
    if said.complete is not None:
        settings["shell_complete"] = lambda ctx, _, incomplete: said.complete(ctx, incomplete)
    if several:
        settings["callback"] = _as_list
    if isinstance(said, Argument):
        return click.Argument([parameter.name], nargs=-1 if several else 1, **settings)
    if isinstance(kind, tuple):
        settings["nargs"] = len(kind)
    if kind is click.BOOL:
        settings["is_flag"] = True
    names = said.names or (f"--{parameter.name.replace('_', '-')}",)
    shown = kind is not click.BOOL
    return click.Option([*names, parameter.name], multiple=several, show_default=shown, **settings)


def _kind(wanted: Any, said: Option) -> tuple[Any, bool]:
    """Return the type of a value for click, and whether there may be several values."""
    if get_origin(wanted) in (Union, UnionType):
        (wanted,) = (each for each in get_args(wanted) if each is not NoneType)
    inner = get_args(wanted)
    match get_origin(wanted):
        case origin if origin is Literal:
            return click.Choice(inner), False
        case origin if origin is list:
            return _kind(inner[0], said)[0], True
        case origin if origin is tuple:
            return tuple(_PLAIN[each] for each in inner), False
    if said.limits != (None, None):
        return click.IntRange(*said.limits), False
    if wanted is Path:
        return click.Path(path_type=Path), False
    return (click.BOOL if wanted is bool else _PLAIN[wanted]), False


def _as_list(_ctx: click.Context, param: click.Parameter, values: Sequence[Any] | None) -> list[Any] | None:
    """Return values as a list, or None where none were given."""
    return list(values) if values else None
