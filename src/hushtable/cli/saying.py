"""Messages in the words of the command: rooms below speak of arguments, as in `size`; here they are options.

Promise: an error names the option that its reader would give, never the argument of Python.
"""

from __future__ import annotations

import re
from typing import Any

_ARGUMENT = re.compile(r"`([a-z_]+(?:=False)?)`")
_OBJECT = re.compile(r"(?:structure=|summary=)?ht\.([A-Z]\w+)\(([^()]*)\)")
_SETTING = re.compile(r"(\w+)=([^,\s]+)")
_OTHERWISE = {"ledger=False": "--no-ledger", "plan": "--like FILE", "--two-sided False": "--one-sided"}


def in_options(message: str, ctx: Any) -> str:
    """Return a message with options of the command that is running in place of arguments.

    ============================================  ======================================
    in the message                                where the command has such options
    ============================================  ======================================
    `` `total_share` ``                           --total-share
    `` `ledger=False` ``                          --no-ledger
    ``ht.Tree()``                                 --structure tree
    ``ht.Filter(size=..., two_sided=False)``      --summary filter --size ... --one-sided
    ============================================  ======================================
    """
    command = ctx.command
    if ctx.invoked_subcommand is not None:
        command = command.get_command(ctx, ctx.invoked_subcommand) or command
    params = [each for each in command.params if each.param_type_name == "option"]
    options: dict[str, str] = {each.name: each.opts[0] for each in params}

    def argument(match: re.Match[str]) -> str:
        word = match[1]
        known = word in options or (word == "ledger=False" and "no_ledger" in options)
        if word in _OTHERWISE and (known or "like" in options):
            return _OTHERWISE[word]
        return options.get(word, match[0])

    said = _ARGUMENT.sub(argument, message)
    return _OBJECT.sub(_named, said) if {"structure", "summary"} <= set(options) else said


def _named(match: re.Match[str]) -> str:
    """Return an object of Python as the options that stand for it."""
    from hushtable.methods.settings import METHODS
    from hushtable.structures.registry import STRUCTURES

    kinds = {kind.__name__: f"--structure {name}" for name, kind in STRUCTURES.items()}
    kinds |= {kind.__name__: f"--summary {name}" for name, kind in METHODS.items()}
    if match[1] == "Marginals":
        return (
            " ".join(f"--marginals {each}" for each in re.findall(r'"(all-\d)"', match[2])) or "--marginals"
        )
    if match[1] == "Hierarchy":
        levels = " > ".join(re.findall(r'"([^"]+)"', match[2]))
        return f'--hierarchy "{levels}"'
    if match[1] not in kinds:
        return match[0]
    settings = [
        f"--{name.replace('_', '-')} {value.replace('_', '')}" for name, value in _SETTING.findall(match[2])
    ]
    return " ".join([kinds[match[1]], *(_OTHERWISE.get(each, each) for each in settings)])
