"""Bad input: each mistake is one clear error of ours, and no value of a row is in anything that is said.

Mistakes that tables of any engine can have; `test_bad_input` has those of files, databases and objects.
"""

from __future__ import annotations

import logging
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers, Rule
from tests.engines.contracts.engine import Engine
from tests.engines.reference import counts_of

CANARY = "JaneRoe-7f3a"  # what no message may tell
NUMBER = 734021187  # the same for numbers

PLACE = Attribute(name="place", values=Categories(values=("01", "02")))
AGE = Attribute(name="age", values=Integers(low=0, high=99))
DOMAIN = ht.Domain(attributes=(PLACE, AGE))
ROWS = [
    {"place": "01", "age": 3, "name": "Ann", "n": 1},
    {"place": "02", "age": 4, "name": CANARY, "n": NUMBER},
    {"place": CANARY, "age": NUMBER, "name": CANARY, "n": NUMBER},
] * 20
COUNTS = {(0, 3): 20, (1, 4): 20}
TABLE = pa.Table.from_pylist(ROWS)

Make = Callable[[Path], Any]
Refuse = Callable[..., ht.HushtableError]


class Case(NamedTuple):
    """Data and settings that are refused, and a phrase that the message must have."""

    id: str
    make: Make
    phrase: str
    error: type[ht.HushtableError] = ht.BadData
    settings: Mapping[str, Any] = {}


class Fine(NamedTuple):
    """Data that look odd and are counted."""

    id: str
    make: Make
    counts: Mapping[Any, int]
    settings: Mapping[str, Any] = {}


def as_params(cases: Sequence[Case | Fine]) -> list[Any]:
    assert len({case.id for case in cases}) == len(cases)
    return [pytest.param(case, id=case.id) for case in cases]


def texts_of(error: BaseException | None, seen: set[int] | None = None) -> Iterator[str]:
    """Yield all that an error and all errors behind it say."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield from (str(error), repr(error), repr(error.args), repr(vars(error)))
    yield from getattr(error, "__notes__", ())
    yield from traceback.format_exception(error)
    yield from texts_of(error.__cause__, seen)
    yield from texts_of(error.__context__, seen)


def check_silence(texts: Sequence[str]) -> None:
    for text in texts:
        for private in (CANARY, CANARY.replace("-", ""), str(NUMBER), f"{NUMBER:_}", f"{NUMBER:,}"):
            assert private.lower() not in text.lower()


@pytest.fixture
def spills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files; in it nothing may be left."""
    folder = tmp_path / "spills"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_in(spills: Path) -> list[Path]:
    return list(spills.glob("*/*"))


@pytest.fixture
def refuse(spills: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Refuse:
    """Count what cannot be counted; return the error, after a search for private words everywhere."""

    def refused(data: Any, *, domain: Any = DOMAIN, **settings: Any) -> ht.HushtableError:
        caplog.set_level(logging.DEBUG)
        caplog.set_level(logging.INFO, logger="py4j")  # by which Spark is spoken to, and which logs each word
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with pytest.raises(ht.HushtableError) as caught:
                ht.count(data, domain=domain, **settings)
        error = caught.value
        printed = capfd.readouterr()
        said = [str(warning.message) for warning in warned]
        check_silence([*texts_of(error), printed.out, printed.err, caplog.text, *said])
        assert (printed.out, printed.err, caplog.text, said) == ("", "", "", [])
        assert error.__cause__ is None
        assert error.__context__ is None
        assert str(error).rstrip().endswith((".", "?", '""', ")"))  # it ends in what to do
        assert left_in(spills) == []
        return error

    return refused


def value(data: Any) -> Make:
    return lambda folder: data


def with_column(name: str, values: Any) -> pa.Table:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    return TABLE.set_column(TABLE.schema.get_field_index(name), name, array)


# Columns.

MISSING = ht.Domain(attributes=(PLACE, Attribute(name="age", column="agee", values=AGE.values)))
ABSENT = ht.Domain(
    attributes=(Attribute(name="x", values=AGE.values), Attribute(name="y", values=AGE.values))
)
HUGE = pa.table({"place": ["01"] * 20, "age": [3] * 20, "n": [2**60] * 20})
COLUMNS = [
    Case(
        "a name twice in a table",
        value(TABLE.rename_columns(["place", "age", "age", "n"])),
        "the data have several columns named 'age'",
    ),
    Case(
        "a name in two cases",
        value(TABLE.rename_columns(["place", "Age", "name", "age"])),
        "the data have several columns named 'age'",
    ),
    Case(
        "no such column",
        value(TABLE),
        "the data have no column 'agee'; they have 'place', 'age', 'name', 'n'. Did you mean 'age'?",
        settings={"domain": MISSING},
    ),
    Case("no column at all", value(TABLE), "the data have no column 'x'", settings={"domain": ABSENT}),
    Case(
        "no count column",
        value(TABLE),
        "the data have no column 'weight'",
        settings={"count_column": "weight"},
    ),
    Case(
        "no sum column",
        value(TABLE),
        "the data have no column 'pay'",
        settings={"sum_column": "pay", "clamp": (0, 9)},
    ),
    Case(
        "no unit column",
        value(TABLE),
        "the data have no column 'who'",
        settings={"unit": ht.Unit("who", max_rows=1)},
    ),
    Case(
        "amounts of lists",
        value(with_column("n", [[NUMBER]] * len(ROWS))),
        "column 'n' holds a list, not whole numbers",
        settings={"count_column": "n"},
    ),
    Case(
        "amounts of dates",
        value(with_column("n", [date(2024, 1, 1)] * len(ROWS))),
        "column 'n' holds DATE, not whole numbers",
        settings={"sum_column": "n", "clamp": (0, 9)},
    ),
    Case(
        "amounts of structs",
        value(with_column("n", [{CANARY: 1}] * len(ROWS))),
        "column 'n' holds STRUCT, not",
        settings={"count_column": "n"},
    ),
    Case(
        "a sum of floats",
        value(with_column("n", [2.5, 2.0, 1.0] * 20)),
        "column 'n' holds DOUBLE, not whole numbers. Sums are of whole numbers",
        settings={"sum_column": "n", "clamp": (0, 9)},
    ),
    Case(
        "a sum of decimals",
        value(with_column("n", [Decimal("2.50")] * 60)),
        "column 'n' holds DECIMAL, not whole numbers. Sums are of whole numbers",
        settings={"sum_column": "n", "clamp": (0, 9)},
    ),
    Case(
        "fields named by rows",
        value(with_column("age", [{CANARY: 1}] * len(ROWS))),
        "column 'age' holds STRUCT, but",
    ),
    Case("domain is a number", value(TABLE), "domain is of type int", ht.BadDomain, {"domain": 3}),
    Case("domain is nothing", value(TABLE), "domain is of type NoneType", ht.BadDomain, {"domain": None}),
    Case("unit is a name", value(TABLE), "unit is a str, not a Unit", ht.BadMethod, {"unit": "name"}),
    Case(
        "count and sum",
        value(TABLE),
        "exactly one of `count_column` and `sum_column`",
        ht.BadSettings,
        {"count_column": "n", "sum_column": "n", "clamp": (0, 1)},
    ),
    Case(
        "count and unit",
        value(TABLE),
        "exactly one of `count_column` and `unit`. Give one and leave the other out. Counts do not say which",
        ht.BadSettings,
        {"count_column": "n", "unit": ht.Unit("name", max_rows=1)},
    ),
    Case(
        "sum without clamp",
        value(TABLE),
        "must be given with `sum_column`",
        ht.BadNumber,
        {"sum_column": "n"},
    ),
    *(
        Case(
            f"clamp {clamp}",
            value(TABLE),
            "two whole numbers in order",
            ht.BadNumber,
            {"sum_column": "n", "clamp": clamp},
        )
        for clamp in [(9, 0), (0, 0), (0, 2**50), (0.5, 1), 7]
    ),
    *(
        Case(
            f"memory {memory!r}",
            value(TABLE),
            "is not an amount of memory",
            ht.BadNumber,
            {"memory": memory},
        )
        for memory in ["12 apples", -1, "", "nan", "inf", "1e30GB", "½GB", True]
    ),
    *(
        Case(f"memory {memory!r}", value(TABLE), "must be at least 256MiB", ht.BadNumber, {"memory": memory})
        for memory in ["1MB", 0, 1, "255MiB"]
    ),
]


def ruled(missing: Rule = "drop", outside: Rule = "drop") -> Mapping[str, Any]:
    age = Attribute(name="years", column="age", values=AGE.values, missing=missing, outside=outside)
    return {"domain": ht.Domain(attributes=(PLACE, age))}


NO_AGE = with_column("age", [None, *TABLE["age"].to_pylist()[1:]])
RULES = [
    Case(
        "a value outside",
        value(TABLE),
        "attribute 'years' has rows that its rule outside = \"error\"",
        ht.BadRows,
        ruled(outside="error"),
    ),
    Case(
        "a value missing",
        value(NO_AGE),
        "attribute 'years' has rows that its rule missing = \"error\"",
        ht.BadRows,
        ruled(missing="error"),
    ),
]

# Queries and filters.


# Expressions that fail on some row: the row is dropped, for it has no value there, and the others stay.
FAILING = [
    "CAST(name AS INTEGER)",
    "CAST(name AS DATE)",
    "CAST(name AS BOOLEAN)",
    "CAST(name AS UUID)",
    "CAST(name AS DECIMAL(9, 2))",
    "CAST(name AS ENUM ('a', 'b'))",
    "CAST(name AS INTEGER[])",
    "CAST({'a': name} AS STRUCT(a INTEGER))",
    "CAST(name AS INTEGER) + CAST(name AS INTEGER)",
    "CAST(n AS TINYINT)",
    "CAST(n * n * n AS INTEGER)",
    "n * n * n * n",
    "make_date(n, n, n)",
    "n // (n - n)",
    "n % (n - n)",
    "strptime(name, '%Y')",
    "regexp_replace('x', name || '(', '')",
    "hamming(name, name || 'x')",
    "json_extract(name, '$.x')",
]


def misfit(text: str, phrase: str, **settings: Any) -> Case:
    """Return the case of a query that is refused before any row is read."""
    query = f"SELECT place, {text} AS age FROM data"
    return Case(f"query of {text}", value(TABLE), phrase, ht.BadQuery, {"query": query, **settings})


def filtered(condition: Any, phrase: str, make: Make | None = None) -> Case:
    return Case(f"filter {condition}", make or value(TABLE), phrase, ht.BadQuery, {"where": condition})


TYPES_DIFFER = "values of different types are put together"
QUERIES = [
    misfit("agee", "there is no column `agee`"),
    misfit("nobody.age", "there is no table `nobody`"),
    misfit("name + 1", "`+` does not take values of these types"),
    misfit("lower(age)", "`lower` does not take values of these types"),
    misfit("coalesce(name, 1)", TYPES_DIFFER),
    misfit("CAST(regexp_matches(name, '(') AS VARCHAR)", "does not fit the data (InvalidInputException)"),
    misfit("name[name]", "does not fit the data"),
    misfit("date_trunc('day', age)", "does not take values of these types"),
    misfit("strptime('2024', name)", "takes a constant where it was given a column"),
    misfit("error(name)", "uses `error`"),
    misfit("nope(name)", "which is not a function of DuckDB"),
    misfit("sum(n)", "an aggregate"),
    misfit("name COLLATE nope", "DuckDB has no `nope`"),
    misfit("CAST(name AS nope)", "DuckDB has no `nope`"),
    misfit("(SELECT 1)", "a subquery"),
    misfit("age,", "DuckDB cannot read the query"),
    misfit("age FROM data WHERE", "DuckDB cannot read the query"),
    Case(
        "query of another table",
        value(TABLE),
        "reads `persons`",
        ht.BadQuery,
        {"query": "SELECT * FROM persons"},
    ),
    Case(
        "query of a file",
        value(TABLE),
        "not one of its tables",
        ht.BadQuery,
        {"query": "SELECT * FROM 'x.csv'"},
    ),
    Case("query is empty", value(TABLE), "the query is empty", ht.BadQuery, {"query": " "}),
    Case("query is not text", value(TABLE), "is of type int", ht.BadQuery, {"query": 7}),
    Case(
        "query excludes what is not there",
        value(TABLE),
        "there is no column `zz`",
        ht.BadQuery,
        {"query": "SELECT * EXCLUDE (zz) FROM data"},
    ),
    filtered("age", "the row filter gives BIGINT, not true or false"),
    filtered("name", "the row filter gives VARCHAR, not true or false"),
    filtered("DATE '2024-01-01'", "the row filter gives DATE, not true or false"),
    filtered("{'a': name}", "the row filter gives STRUCT, not true or false"),
    filtered("agee > 3", "there is no column `agee`"),
    filtered("name > 3", TYPES_DIFFER),
    filtered("age IN (SELECT age FROM data)", "a subquery"),
    filtered("age >", "DuckDB cannot read the row filter"),
    filtered("age > 3) OR (true", "DuckDB cannot read the row filter"),
    filtered("count(*) > 1", "an aggregate"),
    filtered("rowid = 1", "where a row lies among others"),
    filtered(3, "is of type int, not text"),
    filtered("", "the row filter is empty"),
]


def check_refused(case: Case, engine: Engine, folder: Path, refuse: Refuse) -> None:
    error = refuse(engine.data(case.make(folder)), **case.settings)

    assert type(error) is case.error, case.id
    assert case.phrase in str(error), case.id
    check_silence([engine.said()])


@pytest.mark.parametrize("case", as_params([*COLUMNS, *RULES, *QUERIES]))
def test_bad_rows_are_one_clear_error_without_a_word_of_them(
    case: Case, engine: Engine, tmp_path: Path, refuse: Refuse
) -> None:
    check_refused(case, engine, tmp_path, refuse)


def test_a_query_that_fails_on_a_row_gives_it_no_value(engine: Engine) -> None:
    """Whatever fails is in the rows of age 4: each of them alone, and those of age 3 stay."""
    for expression in engine.some(FAILING, 2):
        value = f"CASE WHEN age = 3 THEN 'fine' ELSE CAST(({expression}) AS VARCHAR) END"
        query = f"SELECT place, age, {value} AS other FROM data"

        counts = counts_of(
            ht.count(engine.data(TABLE), domain=DOMAIN, query=query, where="other IS NOT NULL")
        )

        assert counts == {(0, 3): 20}, expression


def test_a_filter_that_fails_on_a_row_drops_it(engine: Engine) -> None:
    for expression in engine.some(FAILING, 2):
        where = f"age = 3 OR CAST(({expression}) AS VARCHAR) IS NOT NULL"

        assert counts_of(ht.count(engine.data(TABLE), domain=DOMAIN, where=where)).get((1, 4)) is None


FINE = [
    Fine("nothing but NULL", value(with_column("place", pa.nulls(60))), {}),
    Fine(
        "amounts of text",
        value(with_column("n", [CANARY, "2", " 3.0 "] * 20)),
        {(1, 4): 40},
        {"count_column": "n"},
    ),
    Fine(
        "amounts of floats",
        value(with_column("n", [2.5, 2.0, float("nan")] * 20)),
        {(1, 4): 40},
        {"count_column": "n"},
    ),
    Fine("amounts below 0", value(with_column("n", [-1, 2, 3] * 20)), {(1, 4): 40}, {"count_column": "n"}),
    Fine(
        "amounts beyond 2^60",
        value(with_column("n", [2**62, *[0] * 59])),
        {(0, 3): 2**60},
        {"count_column": "n"},
    ),
    Fine("counts that add up to more than 2^60", value(HUGE), {(0, 3): 2**60}, {"count_column": "n"}),
    Fine("amounts of 0 alone", value(with_column("n", [0] * 60)), {}, {"count_column": "n"}),
    Fine("amounts missing", value(with_column("n", [None, 2, 3] * 20)), {(1, 4): 40}, {"count_column": "n"}),
    Fine(
        "TRY gives NULL",
        value(TABLE),
        {},
        {"query": "SELECT place, TRY(CAST(name AS INTEGER)) AS age FROM data"},
    ),
    Fine("a filter of NULL", value(TABLE), {}, {"where": "NULL"}),
]


def test_odd_rows_are_counted(engine: Engine, tmp_path: Path, spills: Path) -> None:
    for case in engine.some(FINE, 2):
        settings = {"domain": DOMAIN, **case.settings}

        counts = counts_of(ht.count(engine.data(case.make(tmp_path)), **settings))

        assert counts == case.counts, case.id
        assert left_in(spills) == []
