"""Examples in docstrings stand in fences, so that pages show them as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^>>>.*\n?(?:^(?!>>>)\S.*\n?|^\.\.\..*\n?|^ +\S.*\n?)*)+", re.MULTILINE)


class Fences(griffe.Extension):
    """Puts fences around lines that begin with a prompt, and what they print."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring as it is read."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(example: re.Match[str]) -> str:
    return f"```pycon\n{example[0].rstrip()}\n```\n"
