"""Messages in the words of the command: rooms below speak of arguments, as in `size`; here they are options.

Promise: an error names the option that its reader would give, never the argument of Python.
"""

from __future__ import annotations

import re
from typing import Any

# Said otherwise than by the option of the same name.
_OTHERWISE = {
    "ledger=False": "--no-ledger",
    "unit": "--unit",
    "plan": "--like FILE",
}
_QUOTED = re.compile(r"`([a-z_]+(?:=False)?)`")


def in_options(message: str, ctx: Any) -> str:
    """Return a message with options of the command that is running in place of arguments.

    ==================  ==================================================
    in the message      where the command has that option
    ==================  ==================================================
    `` `size` ``        --size
    `` `total_share` `` --total-share
    ==================  ==================================================
    """
    below = getattr(ctx.command, "commands", {})
    command = below.get(ctx.invoked_subcommand, ctx.command)
    params = [each for each in command.params if each.param_type_name == "option"]
    options: dict[str, str] = {each.name: each.opts[0] for each in params}

    def said(match: re.Match[str]) -> str:
        word = match[1]
        if word in _OTHERWISE and ("no_ledger" in options or word in options):
            return _OTHERWISE[word]
        return options.get(word, match[0])

    return _QUOTED.sub(said, message)
