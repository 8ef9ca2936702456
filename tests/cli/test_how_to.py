"""What the page on domains shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.cli.commands import run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "declare-a-domain.md"
FENCE = re.compile(r'^```(\w+)(?: title="([\w.]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)


def check_printed(command: str, shown: list[str], printed: list[str]) -> None:
    """Compare lines without spaces at their ends; a line `...` stands for any lines."""
    pattern = "".join(".*" if line == "..." else re.escape(line) + "\n" for line in shown)
    pattern = pattern.replace(re.escape("..."), ".*")
    text = "".join(line.rstrip() + "\n" for line in printed)

    assert re.fullmatch(pattern, text, flags=re.DOTALL), f"{command} prints:\n{text}"


def test_the_page_shows_what_the_commands_print(folder: Path) -> None:
    commands = 0
    for language, name, text in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if name:
            (folder / name).write_text(text, encoding="utf-8")
        elif language == "console":
            for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, *shown = block.splitlines()
                if command.startswith("cat "):
                    printed = (folder / command.removeprefix("cat ")).read_text(encoding="utf-8")
                else:
                    done = run(*shlex.split(command.removeprefix("hushtable ")))
                    assert done.exit_code == 0, done.stderr
                    printed = done.stdout + done.stderr
                check_printed(command, shown, printed.splitlines())
                commands += 1

    assert commands == 4
