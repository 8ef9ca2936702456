"""`hushtable query` and `hushtable sql`: answers for people and for other tools."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import hushtable as ht
from hushtable.answers.estimation.estimate import rounded
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.release.record import Terms
from tests.cli.commands import SCRIPT, run
from tests.cli.terminals import run_on_terminal
from tests.harness.cases import chosen
from tests.harness.interrupts import interrupted
from tests.harness.statistics import tries
from tests.release.examples import Rows, people, random_releases, rows, terms, write

NUMBERS = ["estimate", "standard_error", "low", "high"]
PRIORITY: dict[str, Any] = {"method": ht.Priority(size=1000), "cutoff": None, "rule": None}
FLOWS = ht.Domain(
    title="Flows",
    attributes=(
        Attribute(name="home", values=Integers(low=0, high=4999)),
        Attribute(
            name="sector, main",
            values=Categories(values=("a", "b", "other"), labels=("farming", "mining\x1b[31m", "other")),
        ),
    ),
)


@pytest.fixture(autouse=True)
def release(folder: Path) -> Path:
    """Put two releases into the folder: a small one, and one with 5,000 groups."""
    write(folder / "people.parquet", *people())
    made = terms(FLOWS, **PRIORITY)
    codes = np.array([[home, side] for home in (3, 40, 1234) for side in (0, 1)])
    write(folder / "flows.parquet", made, rows(made, codes, np.array([900, 80, 7000, 60, 12000, 5])))
    return folder / "flows.parquet"


def said(*arguments: object, width: int = 120) -> str:
    """Return what a command that works says on standard output, without spaces at the ends of lines."""
    done = run(*arguments, width=width)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def data(*arguments: object) -> tuple[bytes, str]:
    """Return what a command that works writes to standard output and to standard error."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout_bytes, done.stderr


def test_one_estimate() -> None:
    answer = ht.open("flows.parquet").total("home < 1000")
    text = said("query", "flows.parquet", "--where", "home < 1000", width=400)

    error = answer.standard_error
    assert text.splitlines()[:5] == [
        f"estimate        {rounded(answer.value, error)}",
        f"interval        {rounded(answer.low, error)} to {rounded(answer.high, error)}",
        f"standard error  {rounded(error, error)}",
        "",
        f"Intervals have 95 % confidence. {answer.note}",
    ]
    assert text.splitlines()[5:] == [ht.open("flows.parquet").guarantee]


def test_groups_for_people() -> None:
    found = ht.open("flows.parquet").by("home", top=3).to_pylist()
    text = said("query", "flows.parquet", "--by", "home", "--top", "3")

    lines = text.splitlines()
    assert lines[0].split() == ["home", *NUMBERS]
    for line, row in zip(lines[2:5], found, strict=True):
        numbers = [rounded(row[name], row["standard_error"]) for name in NUMBERS]
        assert line.split() == [str(row["home"]), *numbers]
    assert found[0]["home"] == 1234
    assert lines[5] == ""
    assert "Intervals have 95 % confidence. The estimate is unbiased" in text
    assert "Including or leaving out any one row changes the probability of any published" in text


def test_labels_stand_beside_values_and_change_nothing_on_a_terminal() -> None:
    text = said("query", "flows.parquet", "--by", "sector, main")

    assert "a (farming) " in text
    assert "b (mining\\x1b[31m) " in text
    assert "other  " in text
    assert "other (other)" not in text


def test_bins_are_shown_with_both_edges_and_written_with_one(folder: Path) -> None:
    rows = pa.table({"age": [5, 15, 104] * 20})
    domain = ht.Domain(age=ht.bins(0, 30, step=10, outside="clamp"))
    ht.publish(rows, domain=domain, epsilon=1, size=10, output=folder / "ages.parquet", ledger=False)

    first = [line[:14].strip() for line in said("query", "ages.parquet", "--by", "age").splitlines()[2:5]]
    written, _ = data("query", "ages.parquet", "--by", "age", "--format", "csv")
    assert first == ["below 10", "10 to <20", "20 and more"]
    assert [line.partition(b",")[0] for line in written.splitlines()[1:]] == [b"0", b"10", b"20"]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        (["home"], ["home"]),
        (["sector, main"], ["sector, main", "sector, main_label"]),
        (["home", "sector, main"], ["home", "sector, main", "sector, main_label"]),
        (["sector, main", "home"], ["sector, main", "sector, main_label", "home"]),
    ],
)
def test_names_that_hold_a_comma(by: list[str], names: list[str]) -> None:
    options = [each for name in by for each in ("--by", name)]
    out, _ = data("query", "flows.parquet", *options, "--format", "csv")

    assert next(csv.reader(io.StringIO(out.decode()))) == [*names, *NUMBERS]


def test_names_between_commas() -> None:
    out, _ = data("query", "people.parquet", "--by", "region, income", "--format", "csv")

    assert next(csv.reader(io.StringIO(out.decode()))) == ["region", "region_label", "income", *NUMBERS]


def test_more_groups_than_a_person_reads() -> None:
    text = said("query", "flows.parquet", "--by", "home")

    lines = text.splitlines()
    assert lines[2].split()[0] == "0"
    assert lines[1001].split()[0] == "999"
    assert lines[1002] == "... 4,000 more groups; --format csv shows all."
    out, _ = data("query", "flows.parquet", "--by", "home", "--format", "csv")
    assert len(out.splitlines()) == 5001


def test_data_is_pure_and_unrounded() -> None:
    found = ht.open("flows.parquet").by("home", top=5)
    asked = ["query", "flows.parquet", "--by", "home", "--top", "5", "--format"]

    for form in ("csv", "json", "parquet"):
        out, err = data(*asked, form)
        assert "Intervals have 95 % confidence. The estimate is unbiased" in err
        assert "Including or leaving out any one row" in err
        if form == "csv":
            lines = list(csv.DictReader(io.StringIO(out.decode())))
            assert [[float(value) for value in line.values()] for line in lines] == [
                [float(value) for value in row.values()] for row in found.to_pylist()
            ]
        elif form == "json":
            assert json.loads(out)["rows"] == found.to_pylist()
        else:
            table = pq.read_table(io.BytesIO(out))
            assert table.equals(found)
            assert table.schema.metadata[b"note"] == found.schema.metadata[b"note"]


def test_one_estimate_as_data() -> None:
    answer = ht.open("flows.parquet").total(confidence=0.5)
    out, err = data("query", "flows.parquet", "--confidence", "0.5", "--format", "json")

    row = {"estimate": answer.value, "standard_error": answer.standard_error}
    assert json.loads(out)["rows"] == [row | {"low": answer.low, "high": answer.high}]
    assert json.loads(out)["note"] == answer.note
    assert json.loads(out)["confidence"] == 0.5
    assert err.startswith(f"Intervals have 50 % confidence. {answer.note}\n")


def test_options_reach_the_answer() -> None:
    opened = ht.open("people.parquet")
    assert opened.total(corrected=False).value != opened.total().value
    bare, err = data("query", "people.parquet", "--bare", "--format", "json")
    assert json.loads(bare)["rows"][0]["estimate"] == opened.total(corrected=False).value
    assert "The estimate is the sum of the published weights." in err
    assumed, err = data("query", "people.parquet", "--by", "income", "--assume", "even", "--format", "json")
    assert json.loads(assumed)["rows"] == opened.by("income", assume="even").to_pylist()
    assert b"low_if_even" in assumed
    assert "The interval assumes that" in err
    together, err = data("query", "people.parquet", "--by", "income", "--simultaneous", "--format", "json")
    assert json.loads(together)["rows"] == opened.by("income", simultaneous=True).to_pylist()
    assert "hold simultaneously" in err
    north, _ = data(
        "query", "people.parquet", "--by", "income", "--where", "region = 'north'", "--format", "json"
    )
    assert json.loads(north)["rows"] == opened.by("income", where="region = 'north'").to_pylist()


def test_a_model_is_shown_beside_estimates_or_without_any() -> None:
    attributes = [
        {"name": "home", "integers": {"low": 0, "high": 2}},
        {"name": "main", "categories": ["a", "b"]},
        {"name": "kind", "categories": ["x", "y"]},
    ]
    release = ht.publish(
        pa.table({"home": [0, 1, 2] * 50, "main": ["a"] * 150, "kind": ["x", "y"] * 75}),
        domain=ht.Domain.from_dict({"attribute": attributes}),
        epsilon=3,
        size=100,
        structure=ht.Marginals("all-2"),
        output="questions.parquet",
        ledger=False,
    )
    text = said("query", "questions.parquet", "--by", "home,main", "--model", "--nonnegative")
    lines = text.splitlines()
    assert lines[0].split() == ["home", "main", *NUMBERS, "nonnegative", "model"]
    assert lines[2].split()[-2] == lines[2].split()[-1]  # a whole table is its own model
    assert "nothing says how close they are" in " ".join(text.split())

    text = said("query", "questions.parquet", "--by", "home,main,kind", "--model")
    model = release.by(["home", "main", "kind"], model=True)["model"].to_pylist()
    lines = text.splitlines()
    assert lines[2].split() == ["0", "a", "x", f"{model[0]:,.0f}"]
    assert "No table has what is asked for, so there is no estimate and no interval" in text
    out, _ = data("query", "questions.parquet", "--by", "home,main,kind", "--model", "--format", "json")
    assert json.loads(out)["rows"] == release.by(["home", "main", "kind"], model=True).to_pylist()

    refused = run("query", "questions.parquet", "--by", "home,main,kind")
    assert refused.exit_code == 2
    assert "`hushtable query --model` and" in " ".join(refused.stderr.split())


def test_sql_for_people() -> None:
    query = 'SELECT region, "person.age", minute, 1234567 AS n, sum(count) * 1000 AS c, NULL AS x '
    query += "FROM release WHERE count > 100 GROUP BY ALL"

    assert said("sql", "people.parquet", query).splitlines() == [
        "region  person.age  minute                       n        c  x",
        "──────────────────────────────────────────────────────────────",
        "north   120         2024-01-01 23:45:00  1,234,567  500,000",
    ]


def test_sql_with_more_rows_than_a_person_reads() -> None:
    lines = said("sql", "people.parquet", "FROM range(1500)").splitlines()

    assert lines[-2:] == ["  999", "... 500 more rows; --format csv shows all."]


ODD = """\
SELECT 'nan'::DOUBLE AS a, '-inf'::DOUBLE AS b, 12345678901234567890123::HUGEINT AS c,
1.25::DECIMAL(9, 2) AS d, [1, NULL] AS e, {'x': DATE '2024-01-01', 'y': 'nan'::DOUBLE} AS f,
MAP {'k': 1} AS g, TIME '10:00:00' AS h, '\\xAA'::BLOB AS i, true AS j, NULL AS k, 'ü"' AS l,
TIMESTAMP '2024-01-01 10:00:00' AS m, 1 AS n, 2 AS n
"""


def test_sql_of_odd_types() -> None:
    out, err = data("sql", "people.parquet", ODD, "--format", "json")
    row = json.loads(out, parse_constant=pytest.fail)[0]
    assert err == ""
    assert (row["a"], row["b"], row["c"], row["d"]) == (None, None, 12345678901234567890123, 1.25)
    assert (row["e"], row["f"], row["g"]) == ([1, None], {"x": "2024-01-01", "y": None}, [["k", 1]])
    assert (row["h"], row["i"], row["j"], row["k"]) == ("10:00:00", "aa", True, None)
    assert (row["l"], row["m"], row["n"], row["n_1"]) == ('ü"', "2024-01-01T10:00:00", 1, 2)
    out, _ = data("sql", "people.parquet", ODD, "--format", "csv")
    line = next(csv.DictReader(io.StringIO(out.decode())))
    assert (line["c"], line["e"], line["i"]) == ("12345678901234567890123", "[1, null]", "aa")
    assert "12,345,678,901,234,567,890,123" in said("sql", "people.parquet", ODD, width=400)
    assert (
        pq.read_table(io.BytesIO(data("sql", "people.parquet", ODD, "--format", "parquet")[0])).num_rows == 1
    )


BEYOND = {
    "123456789012345678901234567890::BIGNUM": "123456789012345678901234567890",
    "'infinity'::DATE": "infinity",
    "'-infinity'::TIMESTAMP": "-infinity",
    "'infinity'::TIMESTAMPTZ": "infinity",
    "'infinity'::TIMESTAMP_NS": "infinity",
    "DATE '99999-01-01'": "99999-01-01",
    "TIME '24:00'": "24:00:00",
    "TIME_NS '10:00:00.123456789'": "10:00:00.123456789",
    "['infinity'::DATE]": "[infinity]",
    "{'a': [TIME '24:00']}": "{'a': ['24:00:00']}",
    "MAP {'a': 'infinity'::DATE}": "{a=infinity}",
    "INTERVAL 26 HOUR": "26:00:00",
}


def test_sql_of_values_beyond_what_formats_hold() -> None:
    names = [f"a{place}" for place in range(len(BEYOND))]
    query = "SELECT " + ", ".join(f"{value} AS {name}" for name, value in zip(names, BEYOND, strict=True))
    texts = list(BEYOND.values())

    out, _ = data("sql", "people.parquet", query, "--format", "csv")
    assert list(csv.reader(io.StringIO(out.decode()))) == [names, texts]
    out, _ = data("sql", "people.parquet", query, "--format", "json")
    assert json.loads(out) == [dict(zip(names, texts, strict=True))]
    assert said("sql", "people.parquet", query, width=400).splitlines()[2].split() == " ".join(texts).split()
    out, _ = data("sql", "people.parquet", query, "--format", "parquet")
    assert pq.read_table(io.BytesIO(out)).column("a11").to_pylist() == ["26:00:00"]


def test_days_that_python_knows_stay_days() -> None:
    query = (
        "SELECT unnest([DATE '0001-01-01', DATE '9999-12-31', NULL]) AS d, TIMESTAMP '9999-12-31 23:59' AS t"
    )

    out, _ = data("sql", "people.parquet", query, "--format", "json")
    assert [row["d"] for row in json.loads(out)] == ["0001-01-01", "9999-12-31", None]
    assert json.loads(out)[0]["t"] == "9999-12-31T23:59:00"
    out, _ = data("sql", "people.parquet", query, "--format", "csv")
    assert out.splitlines()[2] == b"9999-12-31,9999-12-31 23:59:00.000000"


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_results_without_rows(form: str) -> None:
    out, _ = data("sql", "people.parquet", "FROM release WHERE false", "--format", form)

    if form == "json":
        assert json.loads(out) == []
    elif form == "csv":
        assert len(out.splitlines()) == 1
    else:
        assert pq.read_table(io.BytesIO(out)).num_rows == 0


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_files_are_written_whole_and_never_replaced_unasked(kind: str, folder: Path) -> None:
    asked = ["sql", "people.parquet", "SELECT region, weight FROM release", "-o", f"out.{kind}"]
    done = run(*asked)
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"out.{kind}: 4 rows.\n", "")
    written = (folder / f"out.{kind}").read_bytes()
    assert written == data(*asked[:3], "--format", kind)[0]

    again = run(*asked)
    assert again.exit_code == 6
    assert "--overwrite" in again.stderr
    other = run("query", "people.parquet", "--by", "region", "-o", f"out.{kind}", "--overwrite")
    if kind == "parquet":
        assert other.exit_code == 0
        assert other.stdout == f"out.{kind}: 4 rows.\n"
        assert (folder / f"out.{kind}").read_bytes() != written
        return
    # Results of SQL have any columns: as CSV or JSON they cannot be told from the owner's files.
    for done in (other, run(*asked, "--overwrite")):
        assert done.exit_code == 3
        assert "what is there is not" in done.stderr
    assert (folder / f"out.{kind}").read_bytes() == written


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_answers_replace_answers_and_nothing_else(kind: str, folder: Path) -> None:
    asked = ["query", "people.parquet", "-o", f"out.{kind}", "--overwrite"]
    (folder / f"out.{kind}").write_text("mine\n1\n")
    assert run(*asked).exit_code == 3
    assert (folder / f"out.{kind}").read_text() == "mine\n1\n"
    before = (folder / "people.parquet").read_bytes()
    assert run("query", "people.parquet", "-o", "people.parquet", "--overwrite").exit_code == 3
    assert (folder / "people.parquet").read_bytes() == before

    (folder / f"out.{kind}").unlink()
    for by in ((), ("--by", "region"), ()):
        assert run(*asked, *by).exit_code == 0


def test_a_format_for_any_name(folder: Path) -> None:
    assert run("sql", "people.parquet", "SELECT 1 AS a", "--format", "csv", "-o", "out.txt").exit_code == 0
    assert (folder / "out.txt").read_text() == '"a"\n1\n'


def test_parquet_is_not_written_to_a_terminal() -> None:
    seen = run_on_terminal("sql", "people.parquet", "SELECT 1", "--format", "parquet")

    assert seen.code == 2
    assert "Give -o FILE" in seen.screen
    assert "PAR1" not in seen.written


def test_a_terminal_gets_a_table() -> None:
    seen = run_on_terminal("query", "flows.parquet", "--by", "home", "--top", "2")

    assert seen.code == 0
    assert "1234" in seen.screen
    assert max(map(len, seen.screen.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ["query"],
        ["query", "flows.parquet", "--top", "3"],
        ["query", "flows.parquet", "--simultaneous"],
        ["query", "flows.parquet", "--by", "home", "--top", "0"],
        ["query", "flows.parquet", "--format", "xml"],
        ["query", "flows.parquet", "--confidence", "much"],
        ["query", "flows.parquet", "-o", "out.txt"],
        ["query", "flows.parquet", "-o", "out.csv", "--format", "table"],
        ["sql", "flows.parquet"],
        ["sql", "flows.parquet", "SELECT 1", "SELECT 2"],
        ["sql", "flows.parquet", "SELECT 1", "-o", "out.arrow"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage: " in done.output
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "nowhere.parquet"], "nowhere.parquet: there is no such file"),
        (["query", "people.csv"], "people.csv: "),
        (["query", "flows.parquet", "--by", "work"], "there is no attribute 'work'"),
        (["query", "flows.parquet", "--by", "home,"], "there is no attribute ''"),
        (["query", "flows.parquet", "--by", "home,home"], "named twice"),
        (["query", "flows.parquet", "--where", "home <"], "error: "),
        (["query", "flows.parquet", "--where", "work = 1"], "work"),
        (["query", "flows.parquet", "--confidence", "1"], "confidence=1"),
        (["query", "flows.parquet", "-o", "no/out.csv"], "its folder is not there"),
        (["sql", "nowhere.parquet", "SELECT 1"], "nowhere.parquet: there is no such file"),
        (["sql", "flows.parquet", "COPY release TO 'out.csv'"], "the query is not one SELECT statement"),
        (["sql", "flows.parquet", "FROM 'flows.parquet'"], "the query reads more than the rows"),
        (["sql", "flows.parquet", "FROM commute"], "are the table `release`"),
        (["sql", "flows.parquet", ""], "the query is empty"),
        (["sql", "flows.parquet", "SELECT '\udcff'"], "half a character"),
        (["sql", "flows.parquet", "SELECT error('\x1b[31m')"], "\\x1b[31m"),
        (["sql", "flows.parquet", "SELECT " + "(" * 3000], "the query is nested too deep"),
        (["query", "flows.parquet", "--where", "repeat('x', 1000000000) = home"], "uses `repeat`"),
    ],
)
def test_our_errors_are_messages(arguments: list[str], message: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    done = run(*arguments)

    assert done.exit_code in (2, 3), done.output
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "\x1b" not in done.stderr
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("command", ["query", "sql"])
def test_help_has_examples(command: str) -> None:
    shown = run(command, "--help", width=80)

    assert shown.exit_code == 0
    assert max(map(len, shown.output.splitlines())) <= 81
    assert f"  hushtable {command} commute.parquet" in shown.output
    assert run(command).output == shown.output


@pytest.mark.parametrize("form", chosen(["csv", "json", "parquet"], [0]))
def test_a_reader_who_leaves_is_no_bug(form: str) -> None:
    query = "SELECT range, hash(range) FROM range(60000)"
    done = subprocess.run(
        f'{SCRIPT} sql people.parquet "{query}" --format {form} | head -c 1',
        shell=True,
        capture_output=True,
        timeout=60,
    )

    assert len(done.stdout) == 1
    assert done.stderr == b""


ENDLESS = """
import sys
from hushtable.cli.main import main
from hushtable.answers import running

fetched = running._fetched

def announced(*arguments):
    print("running", file=sys.stderr, flush=True)
    return fetched(*arguments)

running._fetched = announced
query = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
sys.argv = ["hushtable", "sql", "people.parquet", query]
main()
"""


def test_ctrl_c_exits_with_130() -> None:
    ended = interrupted(ENDLESS)

    assert ended.code == 130
    assert ended.out == ""
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (24588.61, 353.2, "24,590"),
        (-24588.61, 35.32, "-24,589"),
        (24588.61, 3.53, "24,588.6"),
        (0.04, 3.0, "0.0"),
        (-0.04, 3.0, "0.0"),
        (1e300, 2.0, "1e+300"),
        (12.5, 0.0, "12.5"),
        (12.5, float("inf"), "12"),
        (float("inf"), float("inf"), "no limit"),
        (float("-inf"), float("inf"), "-inf"),
        (1.0, 1e-300, "1.0000000000"),
        (5.0, 1e300, "0"),
    ],
)
def test_numbers_are_rounded_to_their_error(value: float, error: float, text: str) -> None:
    assert rounded(value, error) == text


@given(made=random_releases())
@settings(max_examples=tries(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_rows_of_any_release_can_be_asked_for(made: tuple[Terms, Rows], release: Path) -> None:
    write(release, *made, overwrite=True)

    assert run("sql", release, "FROM release").exit_code == 0
    out, _ = data("sql", release, "FROM release", "--format", "json")
    assert len(json.loads(out, parse_constant=pytest.fail)) == len(made[1].counts)


def test_the_table_of_pyarrow_is_what_python_gets() -> None:
    found = ht.open("flows.parquet").sql("FROM release")

    assert isinstance(found, pa.Table)
    assert found.equals(ht.open("flows.parquet").to_arrow().cast(found.schema))
