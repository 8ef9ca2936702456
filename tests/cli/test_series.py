"""The page on series: its files, commands and tasks are run as they stand there."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest

import hushtable as ht
from tests.cli.commands import SCRIPT, run
from tests.cli.test_how_to import check_printed

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "publish-a-series.md"
FENCE = re.compile(r'^```(\w+)(?: title="([\w.]+)")?\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def prepared(folder: Path) -> None:
    first = True
    for language, name, text in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if name:
            (folder / name).write_text(text, encoding="utf-8")
        elif language == "python" and first:
            exec(compile(text, "page", "exec"), {})
            first = False


def fences(kind: str) -> list[str]:
    return [text for language, _, text in FENCE.findall(PAGE.read_text(encoding="utf-8")) if language == kind]


def test_the_page_shows_what_the_commands_print() -> None:
    commands = 0
    for text in fences("console"):
        for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *shown = block.splitlines()
            done = run(*shlex.split(command.removeprefix("hushtable ")))
            assert done.exit_code == 0, done.stderr
            check_printed(command, shown, done.stdout.splitlines())
            commands += 1
    assert commands == 3


def test_cron_and_a_task_run_it(folder: Path) -> None:
    (line,) = fences("crontab")
    schedule, command = line.split("  ", 1)
    assert len(schedule.split()) == 5
    # Cron reads \% as %. The folder, the year and the place of the script are this machine's.
    command = command.replace("\\%", "%").replace("/srv/releases", str(folder)).replace("$(date +%Y)", "2025")
    found = os.environ | {"PATH": f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["/bin/sh", "-c", command], check=True, env=found, timeout=120, cwd="/")
    assert len(ht.Ledger.open("people.ledger").entries()) == 2
    assert (folder / "run.json").read_text().count('"event": "published"') == 2
    assert "exit" not in (folder / "run.log").read_text()

    os.environ["PATH"], before = found["PATH"], os.environ["PATH"]
    try:
        task = runpy.run_path("task.py")
        task["publish"](2025)  # done already
        task["publish"](2026)
        with pytest.raises(subprocess.CalledProcessError):
            task["publish"](2027)  # no rows
    finally:
        os.environ["PATH"] = before
    assert len(ht.Ledger.open("people.ledger").entries()) == 4


def test_recipes_of_the_page_publish() -> None:
    made = runpy.run_path("releases.py", init_globals={"ht": ht})
    assert made["again"].ask == ("town", "town,job")
    assert ht.publish(made["again"]).epsilon == made["release"].epsilon
