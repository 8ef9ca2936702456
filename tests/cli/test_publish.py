"""`hushtable publish`: what it writes, what it says, and that no private number is among it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.cli.words import deviation_in_words
from hushtable.publishing import publish as flow
from tests.architecture.test_docs import fences
from tests.cli.commands import SCRIPT, run, run_script
from tests.cli.terminals import run_on_terminal, screen_after
from tests.harness.cases import chosen

DOCS = Path(__file__).parents[2] / "docs"
GRID = """\
title = "Grid"
[[attribute]]
name = "x"
integers = { low = 0, high = 99999 }
"""
ROWS, DROPPED = 7331, 2113  # rows in the input; those of them outside the domain
COUNTED = ROWS - DROPPED  # and each in a cell of its own
DONE = ["publish", "grid.parquet", "--domain", "grid.toml", "--epsilon", "1", "--output", "out.parquet"]
PUBLISH = [*DONE, "--size", "50", "--no-ledger"]
BAR = "Reading|Counting|Drawing"
SHARE = (
    "PRIVATE: the rules of the domain dropped 28.8 % of the rows (2,113 dropped, 5,218 counted).\n"
    "`hushtable check` says why. Do not pass these numbers on.\n"
)


@pytest.fixture(autouse=True)
def grid(folder: Path) -> Path:
    """Put rows into the folder of which some are dropped."""
    (folder / "grid.toml").write_text(GRID)
    column = [*range(COUNTED), *range(200_000, 200_000 + DROPPED)]
    pq.write_table(pa.table({"x": column, "person": [each // 2 for each in column]}), "grid.parquet")
    return folder


def check_no_private_number(text: str) -> None:
    for number in (ROWS, DROPPED, COUNTED):
        assert str(number) not in text
        assert f"{number:,}" not in text


def test_rows_become_a_release(folder: Path) -> None:
    done = run(*PUBLISH)

    assert done.exit_code == 0
    release = ht.open("out.parquet")
    deviation = deviation_in_words(release.terms.law)
    assert done.stdout == (
        f"Published out.parquet: {len(release):,} rows. Noise typically moves one count by {deviation} "
        f"(one standard deviation).\n{release.guarantee}\nLook at it: hushtable show out.parquet\n"
    )
    assert done.stderr == ""
    assert release.epsilon == 1
    assert release.noisy_total is not None
    assert release.terms.rule == "auto-cutoff-1"


def test_all_options_reach_the_release() -> None:
    done = run(
        *["publish", "people.csv", "--domain", "commute.toml", "--epsilon", "1/3", "--output", "out.parquet"],
        *["--no-ledger", "--summary", "filter-threshold", "--cutoff", "999.5", "--threshold", "500"],
        *["--one-sided", "--total-share", "1/4", "--where", "age <> 99", "--query", "SELECT * FROM data"],
        *["--sum-column", "note", "--clamp", "0", "9", "--unit", "person_id", "--max-rows", "2"],
        *["--memory", "1GB", "--quiet"],
    )

    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    terms = ht.open("out.parquet").terms
    assert terms.method == ht.FilterThreshold(cutoff="999.5", threshold=500, two_sided=False)
    assert (terms.epsilon, terms.total_budget) == (Fraction(1, 3), Fraction(1, 12))
    assert (terms.where, terms.query) == ("age <> 99", "SELECT * FROM data")
    assert terms.measure.unit == ht.Unit("person_id", max_rows=2)
    assert (terms.measure.sum_column, terms.measure.clamp) == ("note", (0, 9))
    assert terms.sensitivity == 18


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["--summary", "filter", "--cutoff", "9"], ht.Filter(cutoff=9)),
        (["--summary", "filter", "--size", "9"], ht.Filter(size=9)),
        (["--summary", "threshold", "--threshold", "auto", "--size", "9"], ht.Threshold(size=9)),
        (["--summary", "threshold", "--threshold", "1/2"], ht.Threshold(threshold="1/2")),
        (["--summary", "priority", "--size", "9"], ht.Priority(size=9)),
        (["--summary", "everything"], ht.Everything()),
        (["--cutoff", "9", "--size", "9"], ht.FilterPriority(cutoff=9, size=9)),
    ],
)
def test_summaries_by_name(options: list[str], method: Any) -> None:
    assert run(*DONE, "--no-ledger", *options).exit_code == 0
    assert ht.open("out.parquet").summary == method


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_no_private_number_is_printed(options: list[str]) -> None:
    done = run_script(*PUBLISH, *options)

    assert done.returncode == 0
    check_no_private_number(done.stdout + done.stderr)
    assert done.stderr == ""
    assert (done.stdout == "") == bool(options)


def test_progress_on_a_terminal_is_percent_and_disappears() -> None:
    seen = run_on_terminal(*PUBLISH)

    assert seen.code == 0, seen.written
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", seen.written)
    bars = [line for line in re.split(r"[\r\n]", plain) if re.match(BAR, line)]
    assert any("100%" in bar for bar in bars)
    assert all(re.fullmatch(r"\w+ +[━╸╺ ]+ +\d{1,3}%", bar.strip()) for bar in bars), bars
    assert not re.search(f"{BAR}|%|━", seen.screen.split("Do not pass")[1])
    assert seen.screen.startswith(SHARE)
    assert "out.parquet: " in seen.screen


def test_a_terminal_is_told_that_every_row_was_dropped() -> None:
    """The owner sees it; whatever keeps what is written does not, nor does the exit code tell."""
    pq.write_table(pa.table({"x": [200_000] * 3}), "grid.parquet")

    seen, kept = run_on_terminal(*PUBLISH, "--quiet"), run_script(*PUBLISH, "--quiet", "--overwrite")

    assert (seen.code, kept.returncode) == (0, 0)
    assert "dropped EVERY row, so this release is noise alone (3 dropped, 0 counted)" in seen.screen
    assert (kept.stdout, kept.stderr) == ("", "")


def test_an_error_on_a_terminal_leaves_no_bar(folder: Path) -> None:
    (folder / "grid.toml").write_text(GRID + 'outside = "error"\n')

    seen = run_on_terminal(*PUBLISH)

    assert seen.code == 3
    check_no_private_number(seen.written)
    assert seen.screen.startswith("error: attribute 'x' has rows that its rule")
    assert not re.search(f"{BAR}|%|━", seen.screen)


def test_a_terminal_shows_no_bar_to_those_who_want_none() -> None:
    seen = run_on_terminal(*PUBLISH, "--quiet")

    assert seen.code == 0, seen.written
    assert re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", seen.written) == SHARE.replace("\n", "\r\n")


def test_the_terminal_of_these_tests_is_one() -> None:
    assert screen_after("one\r\ntwo\r\x1b[2Kthree\x1b[1A\r\x1b[2Kfour\r\n") == "four\nthree"


def test_nothing_dropped_nothing_said() -> None:
    pq.write_table(pa.table({"x": [1, 2, 3]}), "grid.parquet")

    assert run(*PUBLISH).stderr == ""


def test_errors_quote_no_row(folder: Path) -> None:
    (folder / "grid.toml").write_text(GRID + 'outside = "error"\n')

    done = run(*PUBLISH)

    assert done.exit_code == 3
    check_no_private_number(done.output)
    assert "200000" not in done.output
    assert not (folder / "out.parquet").exists()


def test_without_a_ledger_it_is_told_that_nobody_keeps_count() -> None:
    done = run(*DONE, "--size", "50")

    assert done.exit_code == 0, done.stderr
    assert "warning: no ledger was charged for the epsilon = " in done.stderr
    assert "Give --ledger, or keep count yourself and say so with --no-ledger." in done.stderr
    told = run(*DONE, "--size", "50", "--overwrite", "--no-ledger")
    assert (told.exit_code, "ledger" in told.stderr) == (0, False)


def test_a_size_that_is_left_out_is_told() -> None:
    done = run(*DONE, "--no-ledger")

    assert done.exit_code == 2
    assert "error: nothing says how many rows to publish. Give --size" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PUBLISH, "--ledger", "people.ledger"], "Give one of --ledger FILE and --no-ledger"),
        ([*PUBLISH, "--summary", "best"], "'best' is not one of"),
        ([*PUBLISH, "--unit", "person"], "--unit goes with --max-rows or --max-cells"),
        ([*PUBLISH, "--max-cells", "3"], "--unit goes with --max-rows or --max-cells"),
        (
            [*PUBLISH, "--unit", "person", "--max-rows", "3", "--max-cells", "3"],
            "Give one of --max-rows and --max-cells",
        ),
        ([*PUBLISH, "--unit", "person", "--max-per-cell", "3"], "--max-per-cell goes with --max-cells"),
        ([*PUBLISH, "--clamp", "1", "2"], "--sum-column and --clamp go together"),
        ([*PUBLISH, "--seed", "1"], "No such option"),
        (["publish", "--domain", "grid.toml", "--epsilon", "1", "--output", "o", "--no-ledger"], "'DATA"),
        (["publish", "grid.parquet", "--domain", "grid.toml", "--output", "o", "--no-ledger"], "--epsilon"),
        (["publish", "grid.parquet", "--domain", "grid.toml", "--epsilon", "1", "--no-ledger"], "--output"),
        (["publish", "grid.parquet", "--epsilon", "1", "--output", "o", "--no-ledger"], "--domain"),
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], message: str, folder: Path) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert message in done.stderr
    assert "Usage: " in done.stderr
    assert done.stdout == ""
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "epsilon='0'"),
        (["--epsilon", "much"], "epsilon='much'"),
        (["--epsilon", "nan"], "epsilon='nan'"),
        (["--total-share", "1"], "total_share='1'"),
        (["--size", "0"], "size=0"),
        (["--cutoff", "many"], "cutoff='many'"),
        (["--threshold", "5"], "the summary 'filter-priority' has no threshold"),
        (["--summary", "everything"], "the summary 'everything' has no size"),
        (["--domain", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["--output", "nowhere/out.parquet"], "its folder is not there"),
        (["--output", "grid.parquet"], "it is data that rows are read from"),
        (["--output", "grid.toml"], "grid.toml: "),
        (["--where", "x > avg(x)"], "an aggregate"),
        (["--count-column", "x", "--unit", "person", "--max-rows", "1"], "--count-column and --unit"),
        (["--memory", "much"], "memory='much'"),
        (["--unit", "nobody", "--max-rows", "1"], "nobody"),
    ],
)
def test_our_errors_are_messages(options: list[str], message: str, folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())

    done = run(*PUBLISH, *options)

    assert done.exit_code in (2, 3)
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("error: ") == 1
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""
    check_no_private_number(done.output)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_every_error_of_ours_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ht.InternalError("a state that cannot happen")

    monkeypatch.setattr(flow, "write_release", fail)
    done = run(*PUBLISH)

    assert done.exit_code == 70
    assert done.stderr.startswith("error: a state that cannot happen. This is a bug")


def test_a_draft_is_refused(folder: Path) -> None:
    (folder / "grid.toml").write_text("reviewed = false\n" + GRID)

    done = run(*PUBLISH)

    assert done.exit_code == 3
    assert "is a draft" in done.stderr


def test_a_file_is_replaced_only_if_asked(folder: Path) -> None:
    (folder / "out.parquet").write_text("mine")

    done = run(*PUBLISH)
    assert done.exit_code == 6
    assert "--overwrite" in done.stderr
    assert (folder / "out.parquet").read_text() == "mine"

    done = run(*PUBLISH, "--overwrite")  # which is for releases
    assert done.exit_code == 3
    assert (folder / "out.parquet").read_text() == "mine"

    (folder / "out.parquet").unlink()
    for _ in range(2):
        assert run(*PUBLISH, "--overwrite").exit_code == 0
    assert ht.open("out.parquet").epsilon == 1


def test_a_ledger_is_charged() -> None:
    ledger = ht.Ledger.create("people.ledger", epsilon="1.5", about="people")

    assert run(*DONE, "--size", "50", "--ledger", "people.ledger").exit_code == 0
    assert ledger.spent == 1
    done = run(*DONE, "--size", "50", "--ledger", "people.ledger", "--overwrite")

    assert done.exit_code == 4
    assert "only epsilon=1/2 is left" in done.stderr
    assert ledger.spent == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--summary", "everything"],
        ["--summary", "filter", "--cutoff", "1"],
        ["--summary", "threshold", "--threshold", "2"],
        ["--summary", "filter-threshold", "--cutoff", "1", "--threshold", "2"],
        ["--size", "9", "--cutoff", "1e301"],
        ["--summary", "threshold", "--threshold", "1e301"],
        ["--size", "9", "--epsilon", "1e-13"],
        ["--size", "9", "--total-share", "1e-13"],
    ],
)
def test_settings_that_cannot_be_drawn_cost_nothing(options: list[str], folder: Path) -> None:
    (folder / "grid.toml").write_text(GRID + GRID.split("\n", 1)[1].replace("x", "person"))
    ledger = ht.Ledger.create("people.ledger", epsilon=1, about="people")

    done = run(*DONE, "--ledger", "people.ledger", *options)

    assert done.exit_code in (2, 3), done.output
    assert ledger.entries() == []


def test_a_ledger_that_is_not_there_is_not_made(folder: Path) -> None:
    done = run(*DONE, "--size", "50", "--ledger", "nowhere.ledger")

    assert done.exit_code == 3
    assert done.stderr.startswith("error: ")
    assert not (folder / "nowhere.ledger").exists()
    assert not (folder / "out.parquet").exists()


def examples(*command: str) -> list[str]:
    """Return the commands that the help of a command shows."""
    shown = run(*command, "--help", width=80)
    assert shown.exit_code == 0
    assert max(map(len, shown.output.splitlines())) <= 81
    assert run(*command).output == shown.output
    text = shown.output.replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.startswith("    hushtable ")]


def run_line(line: str) -> None:
    """Run a command as it stands in the help."""
    done = run(*shlex.split(line)[1:])
    assert done.exit_code == 0, f"{line}\n{done.output}"


def test_the_examples_of_publish_run(folder: Path) -> None:
    column = '[[attribute]]\nname = "x"\nintegers = { low = 0, high = 999999 }\n'
    (folder / "commute.toml").write_text(column)
    town = '[[attribute]]\nname = "town"\nintegers = { low = 0, high = 99 }\n'
    (folder / "visits.toml").write_text(town + town.replace("town", "age"))
    codes = [f"{block:05}" for block in range(60_000)]
    blocks = f"categories = {{ values = {codes}, levels = {{ tract = 4, county = 2 }} }}"
    (folder / "blocks.toml").write_text(f'[[attribute]]\nname = "home"\n{blocks}\n')
    hour = '[[attribute]]\nname = "hour"\nintegers = { low = 0, high = 23 }\n'
    (folder / "trips.toml").write_text(column + hour)
    each = np.arange(40_000)
    homes = pa.table({"x": each % 20, "hour": each % 24, "home": codes[:40_000]})
    pq.write_table(homes, "commute.parquet")
    (folder / "visits.csv").write_text("person_id,town,age\n1,2,30\n1,3,30\n")
    ht.publish(homes, domain="commute.toml", epsilon=1, size=100, output="commute-2023.parquet")
    ht.Ledger.create("commuters.ledger", epsilon=1, about="commuters")
    ht.Ledger.create("people.ledger", epsilon=1, about="people")

    found = [
        line for line in examples("publish") if "--engine spark" not in line and "postgresql:" not in line
    ]

    assert len(found) == 10
    for line in found:
        run_line(line)


def test_the_other_examples_run(folder: Path) -> None:
    run(*DONE[:-1], "commute.parquet", "--size", "50", "--no-ledger")
    lines = [
        *examples("ledger", "create"),
        *examples("ledger", "declare"),
        *examples("ledger", "upgrade"),
        *examples("ledger", "show"),
        *(line for command in ("show", "thin", "export") for line in examples(command)),
    ]

    shutil.copy(Path(__file__).parents[1] / "ledger" / "golden" / "version-1.ledger", folder / "old.ledger")

    assert len(lines) == 10
    for line in lines:
        run_line(line)
    made = {path.name for path in folder.iterdir()}
    assert {"commuters.ledger", "small.parquet", "commute.csv"} <= made


def test_the_first_steps_run(folder: Path) -> None:
    regions = [f"region {number}" for number in range(600)] * 2
    pq.write_table(pa.table({"region": regions, "age": [*range(10, 110)] * 12}), "people.parquet")
    draft, *others = examples()

    assert len(others) == 6
    run_line(draft)
    file = folder / "people.toml"
    file.write_text(file.read_text().replace("reviewed = false\n", ""))
    for line in others:
        run_line(line)


@pytest.mark.parametrize(
    "page", chosen(["tutorial/first-release.md", "how-to/publish.md", "how-to/plan.md"], [0, 1])
)
def test_the_commands_of_the_pages_run(page: str, folder: Path) -> None:
    """The first Python on a page makes its files, TOML is the domain file, and commands run in order."""
    story = list(fences((DOCS / page).read_text(encoding="utf-8")))
    exec(next(fence.code for fence in story if fence.language == "python"), {})
    commands = 0
    for fence in story:
        if fence.language == "toml":
            (folder / "commute.toml").write_text(fence.code, encoding="utf-8")
        elif fence.language == "bash":
            for line in fence.code.replace("\\\n", " ").splitlines():
                run_line(line)
                commands += 1

    assert commands >= 4


@pytest.mark.parametrize("shell", chosen(["bash", "zsh", "fish"], [1]))
def test_completion_scripts(shell: str) -> None:
    done = run_script("--show-completion", shell)

    assert done.returncode == 0
    assert "_HUSHTABLE_COMPLETE" in done.stdout


def test_completion_knows_the_options() -> None:
    words = "hushtable publish --summ"
    done = run_script(_HUSHTABLE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="2")

    assert done.stdout.split() == ["plain,--summary"]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from hushtable.cli.main import app\n"
        "for command in ('publish', 'show', 'thin', 'export', 'ledger'):\n"
        "    assert CliRunner().invoke(app, [command, '--help']).exit_code == 0\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [SCRIPT.parent / "python", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert {"duckdb", "pyarrow", "numpy", "rich", "sqlite3"} & set(done.stdout.split()) == set()


LEVELS = """\
[[attribute]]
name = "x"
bins = { start = 0, stop = 100000, step = 1, levels = [100, 10000] }
[[attribute]]
name = "a=b"
column = "person"
categories = { values = ["01", "02", "13"], levels = { first = 1 } }
outside = { other = "?" }
missing = { other = "?" }
"""


def test_levels_reach_the_release(folder: Path) -> None:
    (folder / "grid.toml").write_text(LEVELS)
    pq.write_table(pa.table({"x": [5, 70_000], "person": ["02", "13"]}), "grid.parquet")

    done = run(*PUBLISH, "--size", "30", "--level", "x=10000", "--level", "a=b=first")

    assert done.exit_code == 0, done.stderr
    domain = ht.open("out.parquet").domain
    assert domain.shape == (10, 3)
    assert domain.attribute("a=b").values.values == ("0", "1", "?")  # type: ignore[union-attr]
    assert run("show", "out.parquet").exit_code == 0


@pytest.mark.parametrize(
    ("levels", "code", "says"),
    [
        (["x"], 2, "--level 'x' is not of the form NAME=LEVEL. Write it as in home=tract."),
        (["=100"], 2, "is not of the form"),
        (["x="], 2, "is not of the form"),
        (["x=100", "x=10000"], 2, "--level names 'x' twice. Give one level for each attribute."),
        (["y=100"], 3, "there is no attribute 'y'. The attributes are 'x', 'a=b'."),
        (["x=50"], 3, "attribute 'x': it has no level '50'. Its levels are '100', '10000'."),
    ],
)
@pytest.mark.parametrize("command", ["publish", "check"])
def test_levels_that_are_not_there(
    command: str, levels: list[str], code: int, says: str, folder: Path
) -> None:
    (folder / "grid.toml").write_text(LEVELS)
    chosen = [part for level in levels for part in ("--level", level)]
    other = PUBLISH if command == "publish" else ["check", "grid.parquet", "--domain", "grid.toml"]

    done = run(*other, *chosen)

    assert done.exit_code == code
    assert says in " ".join(done.stderr.replace("│", " ").split())
    assert not (folder / "out.parquet").exists()
