"""Exit codes, errors without private words, help, completion, and a quick start."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.cli.grouping import COMMON, GROUPS
from hushtable.cli.publish import publish
from hushtable.engines.local import checking
from tests.cli.commands import SCRIPT, run, run_script
from tests.harness.cases import chosen

CANARY = "Zyx-Canary-4711"
FIT = ["check", "people.csv", "--domain", "commute.toml"]
COMMANDS = [[], ["check"], ["domain"], ["domain", "draft"], ["domain", "show"]]


def test_the_script_is_installed() -> None:
    done = run_script("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"hushtable {hushtable.__version__}\n", "")


def test_the_module_is_the_script() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hushtable", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout == f"hushtable {hushtable.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_examples(command: list[str]) -> None:
    shown = run(*command, "--help", width=80)

    assert shown.exit_code == 0
    assert max(map(len, shown.output.splitlines())) <= 81
    if command != ["domain"]:
        assert f"  hushtable {' '.join(command)}" in shown.output
    assert run(*command).output == shown.output


def test_no_command_is_described_by_half() -> None:
    listed = run("--help", width=80).output.partition("\nPublish:\n")[2].splitlines()

    assert len(listed) > 20
    assert not [line for line in listed if line.endswith("...")]


@pytest.mark.parametrize(
    "arguments",
    [
        ["chekc"],
        ["check", "people.csv"],
        [*FIT, "--nothing"],
        [*FIT, "--format", "xml"],
        [*FIT, "--clamp", "1", "b"],
        [*FIT, "--clamp", "1", "2"],
        [*FIT, "--unit", "person_id"],
        [*FIT, "--max-rows", "3"],
        [*FIT, "--max-cells", "3"],
        [*FIT, "--unit", "person_id", "--max-per-cell", "3"],
        [*FIT, "--unit", "person_id", "--max-rows", "3", "--max-per-cell", "3"],
        [*FIT, "--unit", "person_id", "--max-rows", "3", "--max-cells", "3"],
        ["domain", "draft", "people.csv", "--rows", "0"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage: " in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["domain", "show", "nope.toml"], "nope.toml: there is no such file"),
        (["domain", "show", "people.csv"], "people.csv: the file is not TOML"),
        (["domain", "draft", "nope.csv"], "there is no file 'nope.csv'"),
        (["check", "nope.csv", "--domain", "commute.toml"], "there is no file 'nope.csv'"),
        (["check", "people.csv", "--domain", "nope.toml"], "nope.toml: there is no such file"),
        ([*FIT, "commute.toml"], "does not say what is in it"),
        ([*FIT, "--where", "max(age) > 1"], "an aggregate"),
        ([*FIT, "--query", "DROP TABLE data"], "SELECT"),
        ([*FIT, "--memory", "much"], "memory='much'"),
        ([*FIT, "--unit", "person_id", "--max-rows", "0"], "max_rows=0"),
        ([*FIT, "--unit", "person_id", "--max-cells", "0"], "max_cells=0"),
        ([*FIT, "--unit", "person_id", "--max-cells", "1", "--max-per-cell", "0"], "max_per_cell=0"),
        ([*FIT, "--count-column", "age", "--unit", "note", "--max-rows", "1"], "--count-column and --unit"),
        ([*FIT, "--sum-column", "age", "--clamp", "2", "1"], "clamp=(2, 1)"),
    ],
)
def test_our_errors_say_what_is_wrong(arguments: list[str], message: str) -> None:
    done = run(*arguments)

    # Of options, or of files.
    assert done.exit_code == (2 if arguments[: len(FIT)] == FIT and arguments[-1] != "commute.toml" else 3)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def broken(*_: Any, **__: Any) -> None:
    raise KeyError(CANARY)


def test_a_bug_exits_with_70_and_quotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "check_rows", broken)

    done = run("check", "people.csv", "--domain", "commute.toml")

    assert done.exit_code == 70
    assert "this is a bug in hushtable (KeyError)" in done.stderr
    assert "HUSHTABLE_DEBUG=1" in done.stderr
    assert CANARY not in done.output
    assert "Traceback" not in done.output


def test_a_bug_is_shown_to_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "check_rows", broken)

    done = run("check", "people.csv", "--domain", "commute.toml", HUSHTABLE_DEBUG="1")

    assert done.exit_code == 70
    assert "Traceback" in done.stderr
    assert CANARY in done.stderr


def test_ctrl_c_exits_with_130(folder: Path) -> None:
    # A query that would take days, stopped once the folder for its temporary files shows that it runs.
    query = "SELECT range % 7 AS x FROM range(1_000_000_000_000_000)"
    process = subprocess.Popen(
        [SCRIPT, "domain", "draft", "people.csv", "--query", query],
        env=os.environ | {"TMPDIR": str(folder)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # of a background job it is ignored
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not list(folder.glob("hushtable-*/spill-*")):
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert list(folder.glob("hushtable-*/*")) == []


def test_a_reader_who_leaves_is_no_bug() -> None:
    done = subprocess.run(
        f"{SCRIPT} domain draft people.csv | true", shell=True, capture_output=True, text=True, timeout=60
    )

    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", chosen(["bash", "zsh", "fish"], [0]))
def test_shells_can_complete(shell: str) -> None:
    done = run_script(_HUSHTABLE_COMPLETE=f"{shell}_source")

    assert done.returncode == 0
    assert "hushtable" in done.stdout


def test_completion_knows_the_commands() -> None:
    done = run_script(_HUSHTABLE_COMPLETE="bash_complete", COMP_WORDS="hushtable do", COMP_CWORD="1")

    assert done.stdout.split() == ["plain,domain"]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from hushtable.cli.main import app\n"
        "before = set(sys.modules); result = CliRunner().invoke(app, ['check', '--help'])\n"
        "assert result.exit_code == 0; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    heavy = {"duckdb", "pyarrow", "numpy", "rich", "cryptography", "flint"}
    assert heavy & set(done.stdout.split()) == set()


def test_the_help_of_publish_is_in_groups_and_hides_nothing_for_good() -> None:
    short, whole = (run("publish", wanted).stdout for wanted in ("--help", "--help-all"))
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(publish).parameters} - {
        "--ctx",
        "--data",
    }
    headers = [f"{group}:" for group in GROUPS]

    assert [line for line in whole.splitlines() if line in headers] == headers
    assert [option for option in sorted(options) if f" {option}" not in whole.partition("\nData:")[2]] == []
    assert "\nOther:" not in whole
    listed = {f"--{name.replace('_', '-')}" for name in COMMON} & options
    assert all(f" {option}" in short.partition("\nData:")[2] for option in listed)
    assert "--branching" not in short
    assert short.index("--epsilon") < short.index("--size")
