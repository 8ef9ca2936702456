"""`hushtable show`, `thin` and `export`: a release in words, smaller, and in other files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import hushtable as ht
from hushtable.cli.words import cutoff_in_words, exact_in_words, method_in_words, number_in_words
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.domain.measure import Measure
from hushtable.methods.settings import Method
from hushtable.release.record import Terms
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.product_dyadic import ProductDyadic
from tests.cli.commands import run
from tests.cli.terminals import run_on_terminal
from tests.harness.statistics import tries
from tests.release.examples import (
    METHODS,
    STRUCTURES,
    Rows,
    all_nodes,
    people,
    random_releases,
    random_tree_terms,
    rows,
    terms,
    tree_terms,
    write,
)

SHOWN = """\
People
Including or leaving out any one row changes the probability of any published
result by at most a factor of 1.11 (pure differential privacy with epsilon =
0.1). A person with k rows is protected with k times that epsilon.

rows         4 of 639,636,480 cells
summary      filter-priority: at most 1,000 rows whose noisy count is at least
             20 or at most -20
cutoff       20: no published noisy count lies between -20 and 20 (chosen from
             public facts by the rule auto-cutoff-1)
threshold    123.5: smaller noisy counts were sampled, and each one in the file
             stands for 123.5
noise        two-sided geometric, standard deviation 14.4, in every cell
noisy total  10,023, with noise of standard deviation 707
epsilon      0.1, of which 0.002 for the noisy total
sensitivity  1: the most that one unit can change all counts together
made by      hushtable 0.1.0

The owner declared these facts public, as well as epsilon and the choices above:

attribute   values                                         missing       outside
────────────────────────────────────────────────────────────────────────────────
region      4 categories: north, söuth, o'<b>"x, unknown   to 'unknown'  dropped
person.age  integers -5 to 120                             dropped       clamped
hours       10 bins of 0.1 from 0 to 1                     dropped       dropped
income      2 bins with edges 0, 100, 5000                 dropped       dropped
day         661 steps of 1 month from 1969-12-01, UTC      dropped       dropped
minute      96 steps of 15 minutes from 2024-01-01         dropped       dropped
            00:00:00, Europe/Berlin

counted      rows
filter       state = 'RI'

region  person.age  hours  income  day         minute              count  weight
────────────────────────────────────────────────────────────────────────────────
north   -5          0.3    0       1969-12-01  2024-01-01            -30  -123.5
                                               00:00:00
north   120         0.9    100     2024-12-01  2024-01-01            500     500
                                               23:45:00
... 2 more

`count` is the noisy count of a cell. For sums over cells, add up `weight`.
"""


@pytest.fixture(autouse=True)
def release(folder: Path) -> Path:
    """Put a release into the folder."""
    write(folder / "people.parquet", *people(where="state = 'RI'"))
    return folder / "people.parquet"


def replaced(path: Path, made: Terms, given_rows: Rows) -> None:
    write(path, made, given_rows, overwrite=True)


def shown(*arguments: object) -> str:
    """Return what `show` says at 80 columns."""
    done = run("show", "people.parquet", *arguments, width=80)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def test_a_release_in_words_at_80_columns() -> None:
    assert shown("--rows", "2") == SHOWN


def test_how_many_rows_are_shown() -> None:
    assert "more" not in shown()
    assert "weight" not in shown("--rows", "0")
    assert run("show", "people.parquet", "--rows", "-1").exit_code == 2


def test_a_terminal_gets_the_same() -> None:
    seen = run_on_terminal("show", "people.parquet", "--rows", "2")

    assert seen.code == 0
    assert seen.screen.strip() == SHOWN.strip()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"threshold": 0.0},
            "threshold    0: nothing was sampled; every row that reaches the cutoff is in the\n",
        ),
        (
            {"threshold": 0.0, "cutoff": None, "rule": None, "method": ht.Priority(size=9)},
            "threshold    0: nothing was sampled; every row whose noisy count is not 0 is in\n",
        ),
        (
            {"total": None, "total_budget": Fraction(0)},
            "epsilon      0.1, all of it for the cells; there is no noisy total",
        ),
        ({"rule": None}, "cutoff       20: no published noisy count lies between -20 and 20\n"),
        ({"measure": Measure(count_column="S000")}, "counted      people, by column S000"),
        (
            {"measure": Measure(sum_column="amount", clamp=(-5, 1000), unit=ht.Unit("id", max_rows=1))},
            "counted      the sum of column amount, each value clamped to -5..1,000, at most\n",
        ),
        (
            {"measure": Measure(unit=ht.Unit("id", max_rows=3))},
            "counted      rows, at most 3 rows of each id",
        ),
        (
            {"measure": Measure(unit=ht.Unit("id", max_cells=10))},
            "counted      people, each id in at most 10 cells, once in each",
        ),
        (
            {"measure": Measure(unit=ht.Unit("id", max_cells=10, max_per_cell=2))},
            "counted      rows, each id in at most 10 cells, up to 2 times in each",
        ),
        (
            {"query": "SELECT *\nFROM data", "rows_are_units": True},
            "query        SELECT *\n             FROM data",
        ),
        ({"epsilon": Fraction(1, 3)}, "epsilon      1/3, of which 0.002 for the noisy total"),
    ],
)
def test_terms_in_words(changes: dict[str, Any], line: str, release: Path) -> None:
    made, given_rows = people(**changes)
    replaced(release, made, rows(made, given_rows.codes, given_rows.counts))

    assert line in shown()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (ht.Everything(), "everything: all cells"),
        (ht.Everything(nonnegative=True), "everything: all cells, negative noisy counts raised to 0"),
        (ht.Filter(cutoff="7/3"), "filter: all rows whose noisy count is at least 7/3 or at most -7/3"),
        (ht.Filter(size=1000, two_sided=False), "filter: the 1,000 largest noisy counts"),
        (ht.Threshold(threshold="190.5"), "threshold: a sample of rows, with threshold 190.5"),
        (
            ht.Threshold(size=1000, two_sided=False),
            "threshold: a sample of rows whose noisy count is above 0 (about 1,000 or fewer "
            "if the table were empty)",
        ),
        (ht.Priority(size=1), "priority: a sample of at most 1 row"),
        (
            ht.FilterThreshold(cutoff=20, threshold=1000),
            "filter-threshold: a sample of rows whose noisy count is at least 20 or at most -20, with "
            "threshold 1,000",
        ),
        (
            ht.FilterPriority(cutoff=212, size=10_000),
            "filter-priority: at most 10,000 rows whose noisy count is at least 212 or at most -212",
        ),
        (
            ht.FilterPriority(cutoff=212, size=10_000, two_sided=False),
            "filter-priority: at most 10,000 rows whose noisy count is at least 212",
        ),
    ],
)
def test_summaries_in_words(method: Method, words: str) -> None:
    assert method_in_words(method) == words


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            ht.Filter(size=1000, two_sided=False),
            "filter: the 1,000 nodes whose smallest noisy count on the way from the root is largest",
        ),
        (
            ht.Filter(cutoff=20, two_sided=False),
            "filter: all rows whose noisy count is at least 20, as is that of every range around",
        ),
        (
            ht.FilterThreshold(cutoff=20, threshold=1000, two_sided=False),
            "filter-threshold: a sample of rows whose noisy count is at least 20, "
            "as is that of every range around, with threshold 1,000",
        ),
        (
            ht.FilterPriority(cutoff=20, size=1, two_sided=False),
            "filter-priority: at most 1 row whose noisy count is at least 20, "
            "as is that of every range around",
        ),
    ],
)
def test_summaries_of_consistent_trees_in_words(method: Method, words: str) -> None:
    assert method_in_words(method, of="nodes", consistent=True) == words


def test_a_consistent_tree_in_words(release: Path) -> None:
    method = ht.FilterPriority(cutoff=20, size=50, two_sided=False)
    made = tree_terms(Dyadic(consistent=True), method=method, threshold=0.0, rule=None)
    replaced(release, made, all_nodes(made))
    text = " ".join(shown().split())

    assert "at most 50 rows whose noisy count is at least 20, as is that of every range around" in text
    assert "every row that reaches the cutoff (and whose surrounding ranges do) is in the file" in text


def test_every_summary_has_words() -> None:
    assert all("Fraction" not in method_in_words(method) for method in METHODS)


def test_numbers_in_words() -> None:
    assert [number_in_words(each) for each in (0.0, -123.5, 1e6, 1e300, 0.1)] == [
        "0",
        "-123.5",
        "1,000,000",
        "1e+300",
        "0.1",
    ]
    assert [exact_in_words(Fraction(each)) for each in ("10000", "0.1", "1/3", "1e-400", "1e400")] == [
        "10,000",
        "0.1",
        "1/3",
        "about 10^-400.0",
        "about 10^400.0",
    ]
    assert cutoff_in_words(2.5, two_sided=False, rule=None) == "2.5: no published noisy count is below 2.5"


def test_an_empty_release(release: Path) -> None:
    made, given_rows = people()
    replaced(release, made, Rows(given_rows.codes[:0], given_rows.counts[:0], given_rows.weights[:0]))

    text = shown()
    assert "rows         0 of 639,636,480 cells" in text
    assert "more" not in text
    assert "add up" not in text


def test_many_attributes_at_80_columns(release: Path) -> None:
    names = [f"attribute_{number}" for number in range(12)]
    values = Categories(values=("a long name of a category", "b"))
    made = terms(ht.Domain(attributes=tuple(Attribute(name=name, values=values) for name in names)))
    replaced(release, made, rows(made, np.zeros((1, 12), dtype=np.int64), np.array([12345])))

    text = shown()

    assert max(map(len, text.splitlines())) <= 80
    assert "12,345" in text


def test_a_domain_beyond_all_numbers(release: Path) -> None:
    huge = Integers(low=0, high=2**62)
    made = terms(ht.Domain(attributes=tuple(Attribute(name=f"x{i}", values=huge) for i in range(240))))
    replaced(release, made, rows(made, np.zeros((0, 240), dtype=np.int64), np.zeros(0, dtype=np.int64)))

    assert "of about 10^4479.3 cells" in shown("--rows", "0")


def test_texts_of_a_release_do_not_reach_the_terminal_raw(release: Path) -> None:
    evil = "\x1b]0;mine\x07\x1b[2J\u202e"
    domain = ht.Domain(attributes=(Attribute(name="x", values=Categories(values=(evil, "[bold]b[/bold]"))),))
    made = terms(
        domain,
        where=evil,
        query=evil,
        rule=evil,
        version=evil,
        measure=Measure(unit=ht.Unit(evil, max_rows=1)),
    )
    replaced(release, made, rows(made, np.array([[0], [1]]), np.array([30, 40])))

    text = shown()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]b[/bold]" in text


TREE_SHOWN = """\
Trips
Including or leaving out any one row changes the probability of any published
result by at most a factor of 1.11 (pure differential privacy with epsilon =
0.1). A person with k rows is protected with k times that epsilon.

rows         44 of 44 nodes
structure    dyadic ranges over hour, home
summary      filter: all rows whose noisy count is at least 20 or at most -20
cutoff       20: no published noisy count lies between -20 and 20
noise        two-sided geometric, standard deviation 84.9, in every node
epsilon      0.1, all of it for the nodes
sensitivity  6: the most that one unit can change all counts together
made by      hushtable 0.1.0

The owner declared these facts public, as well as epsilon and the choices above:

attribute  values                 missing  outside
──────────────────────────────────────────────────
home       3 categories: n, s, e  dropped  dropped
hour       integers 6 to 12       dropped  dropped

counted      rows

level  home  home_last  hour  hour_last  count  weight
──────────────────────────────────────────────────────
0      n     e          6     12            20      20
1      n     n          6     11            21      21
... 42 more

`count` is the noisy count of a range, from its first to its last cell. Rows
overlap: for sums, ask `hushtable query`.
"""


def test_a_tree_in_words_at_80_columns(release: Path) -> None:
    made = tree_terms(Dyadic(order=["hour"]), rule=None)
    replaced(release, made, all_nodes(made))

    assert shown("--rows", "2") == TREE_SHOWN


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (Dyadic(consistent=True), ["consistent dyadic ranges over home, hour", "44 nodes", "range, from"]),
        (Haar(order=["hour"]), ["Haar wavelets over hour, home", "21 nodes", "half of a range minus"]),
        (ProductDyadic(), ["boxes of dyadic ranges over home, hour", "84 nodes", "of a box, from"]),
    ],
)
def test_every_structure_has_words(structure: Lifted, words: list[str], release: Path) -> None:
    made = tree_terms(structure)
    replaced(release, made, all_nodes(made))

    assert all(each in shown() for each in words)


def test_everything_of_a_tree(release: Path) -> None:
    made = tree_terms(Haar(), method=ht.Everything(), rule=None, cutoff=None)
    replaced(release, made, all_nodes(made))

    assert "summary      everything: all nodes\n" in shown()


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_a_tree_can_be_thinned_and_exported(structure: Lifted, release: Path) -> None:
    made = tree_terms(structure)
    replaced(release, made, all_nodes(made))

    assert run("thin", release, "--size", "5", "--output", "few.parquet").stdout == "few.parquet: 5 rows.\n"
    assert len(ht.open("few.parquet")) == 5
    assert run("export", "few.parquet", "-o", "few.csv").stdout == "few.csv: 5 rows.\n"
    assert "home_last_label" in Path("few.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("structure", [Dyadic(), ProductDyadic()], ids=repr)
def test_both_ends_of_a_range_are_shown_as_values(structure: Lifted, release: Path) -> None:
    zone = ht.Domain(attributes=tuple(Attribute(name=x, values=Integers(low=0, high=9999)) for x in "xy"))
    made = tree_terms(structure, zone)
    replaced(release, made, rows(made, np.zeros((1, len(made.space.shape)), np.int64), np.array([1234])))

    said = run("sql", release, "SELECT x_last, count FROM release").stdout.split()

    assert said[-2:] == ["9999", "1,234"]


@given(made=random_releases() | random_releases(random_tree_terms()))
@settings(max_examples=tries(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_release_can_be_shown(made: tuple[Terms, Rows], release: Path) -> None:
    replaced(release, *made)

    assert len(shown().splitlines()) > 10


def test_thin_writes_a_smaller_release() -> None:
    done = run("thin", "people.parquet", "--size", "2", "--output", "small.parquet")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "small.parquet: 2 rows.\n"
    assert len(ht.open("small.parquet")) == 2
    again = run("thin", "people.parquet", "--size", "3", "--output", "small.parquet")
    assert again.exit_code == 6
    assert "--overwrite" in again.stderr
    assert (
        run("thin", "people.parquet", "--size", "3", "--output", "small.parquet", "--overwrite").exit_code
        == 0
    )
    assert len(ht.open("small.parquet")) == 3


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "arrow"])
def test_export_writes_other_files(kind: str, folder: Path) -> None:
    done = run("export", "people.parquet", "-o", f"rows.{kind}")

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"rows.{kind}: 4 rows.\n"
    assert b"region_label" in (folder / f"rows.{kind}").read_bytes()
    again = run("export", "people.parquet", "--output", f"rows.{kind}")
    assert again.exit_code == 6
    assert "--overwrite" in again.stderr
    assert run("export", "people.parquet", "-o", f"rows.{kind}", "--overwrite").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "people.parquet", "again"],
        ["thin", "people.parquet", "--output", "small.parquet"],
        ["thin", "people.parquet", "--size", "2"],
        ["thin", "people.parquet", "--size", "two", "--output", "small.parquet"],
        ["export", "people.parquet"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert "Usage: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "nowhere.parquet"], "nowhere.parquet: there is no such file"),
        (["show", "people.csv"], "people.csv: "),
        (["thin", "people.parquet", "--size", "0", "--output", "small.parquet"], "size=0"),
        (
            ["thin", "people.parquet", "--size", "2", "--output", "no/small.parquet"],
            "its folder is not there",
        ),
        (["thin", "people.csv", "--size", "2", "--output", "small.parquet"], "people.csv: "),
        (["export", "people.parquet", "-o", "rows.txt"], "ends in .csv, .json, .jsonl, .arrow"),
        (["export", "nowhere.parquet", "-o", "rows.csv"], "nowhere.parquet: there is no such file"),
    ],
)
def test_our_errors_are_messages(arguments: list[str], message: str) -> None:
    done = run(*arguments)

    assert done.exit_code in (2, 3)
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""


def test_a_damaged_release_is_not_shown(release: Path) -> None:
    data = bytearray(release.read_bytes())
    data[10] ^= 1
    release.write_bytes(data)

    done = run("show", "people.parquet")

    assert done.exit_code == 3
    assert done.stdout == ""
