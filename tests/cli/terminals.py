"""A terminal for tests: run a command on one, and see what a person would see."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import NamedTuple

from tests.cli.commands import SCRIPT

_CODE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")


class Seen(NamedTuple):
    """How a command on a terminal ended."""

    code: int
    written: str  # all that was sent to the terminal
    screen: str  # what is left on it at the end


def run_on_terminal(*arguments: object) -> Seen:
    """Run the installed script with a pseudo-terminal of 80 columns as its standard output and error."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [SCRIPT, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    written = b""
    try:
        while True:
            try:
                chunk = os.read(ours, 1 << 16)
            except OSError:  # Linux says so when the other end is closed
                break
            if not chunk:
                break
            written += chunk
        code = process.wait(timeout=60)
    finally:
        process.kill()
        os.close(ours)
    text = written.decode()
    return Seen(code, text, screen_after(text))


def screen_after(written: str) -> str:
    """Return what a terminal shows after these characters: enough of one for progress bars."""
    lines, row, column, place = [""], 0, 0, 0
    while place < len(written):
        code = _CODE.match(written, place)
        if code is not None:
            place = code.end()
            number = int(code[1]) if code[1].isdigit() else 1
            match code[2]:
                case "A":
                    row = max(0, row - number)
                case "K":
                    assert code[1] == "2", "the whole line"
                    lines[row] = ""
                case "m" | "h" | "l":
                    pass
                case other:
                    raise AssertionError(f"this terminal does not know {other!r}")
            continue
        character = written[place]
        place += 1
        if character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        else:
            lines[row] = lines[row].ljust(column)[:column] + character + lines[row][column + 1 :]
            column += 1
    return "\n".join(line.rstrip() for line in lines)
