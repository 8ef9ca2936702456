"""SQL conditions select what DuckDB selects among all cells, or are refused with what to write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.conditions import expressions
from hushtable.conditions.conditions import selected
from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Kind, Times
from tests.answers.enumerated import all_codes, cells_where, group_counts, in_columns
from tests.harness.statistics import tries

KINDS: dict[str, Kind] = {
    "number": Integers(low=-2, high=3),
    "Großstadt": Categories(values=("A", "it's", "44007", "", 'B"', "Ä%")),
    "age": Bins(start=Fraction(0), stop=Fraction(20), step=Fraction(5)),
    "tenth": Bins(start=Fraction(0), stop=Fraction(1, 2), step=Fraction(1, 10)),
    "third": Bins(start=Fraction(-1), stop=Fraction(1), step=Fraction(1, 3)),
    "income": Edges(edges=(Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(10))),
    "day": Times(start=datetime(2024, 2, 27), stop=datetime(2024, 3, 3), every=86_400, unit="second"),
    "month": Times(start=datetime(2023, 11, 1), stop=datetime(2025, 2, 1), every=3, unit="month"),
    "hour": Times(
        start=datetime(2024, 10, 27),
        stop=datetime(2024, 10, 27, 5),
        every=3_600,
        unit="second",
        timezone="Europe/Berlin",
    ),
}
EVALUATED = {
    "number": ["{} % 2 = 0", "{} + 1 > 2", "abs({}) IN (1, 2)", "{} / 0 > 1", "nullif({}, 1) < 2", "-{} < 1"],
    "Großstadt": ["{} LIKE 'A%'", "{} NOT LIKE '%s'", "substr({}, 1, 2) = '44'", "TRY_CAST({} AS INT) > 5",
                  "{} ~ '^[A-Z]'", "length({}) BETWEEN 1 AND 2", "{} = 'A' IS TRUE", "lower({}) > 'b'",
                  "CASE WHEN {} = 'A' THEN NULL ELSE {} = 'B\"' END", "'A' IN ({}, 'B')", "{} ILIKE 'a'"],
    "day": ["dayname({}) = 'Thursday'", "month({}) = 2", "{} + INTERVAL 1 DAY = DATE '2024-03-01'"],
    "month": ["extract('year' FROM {}) = 2024", "date_trunc('year', {}) = DATE '2024-01-01'"],
    "hour": ["hour({}) >= 2", "date_part('hour', {}) % 2 = 1"],
}  # fmt: skip


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def domain_of(*names: str) -> ht.Domain:
    return ht.Domain(attributes=tuple(Attribute(name=name, values=KINDS[name]) for name in names))


def literals(name: str) -> list[str]:
    """The edges or values of an attribute as SQL writes them."""
    values = KINDS[name]
    shown = values.decode(np.arange(values.size)).to_pylist()
    if isinstance(values, Categories):
        return ["'" + text.replace("'", "''") + "'" for text in shown]
    if isinstance(values, Times):
        return [f"{'DATE' if values.whole_days else 'TIMESTAMP'} '{time}'" for time in shown]
    return [repr(number) for number in shown]


@st.composite
def leaves(draw: Callable[..., str], name: str) -> str:
    values, column = KINDS[name], quoted(name)
    constant = st.sampled_from(literals(name))
    forms = ["=", "<>", "in", "not in", "null", "distinct", "nothing"]
    if not isinstance(values, Categories):
        forms += [">=", "<", "mirrored"]
    if isinstance(values, Integers):
        forms += [">", "<=", "between", "outside"]
    form = draw(st.sampled_from(forms))
    if name in EVALUATED and draw(st.booleans()):
        form = "evaluated"
    if form in ("in", "not in"):
        listed = draw(st.lists(constant | st.just("NULL"), min_size=1, max_size=4))
        return f"{column} {form} ({', '.join(listed)})"
    if form == "between":
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}BETWEEN {draw(constant)} AND {draw(constant)}"
    if form == "outside":
        sign, bound = (
            draw(st.sampled_from(["<", "<=", ">", ">="])),
            draw(st.sampled_from([-7, 9, 10**12, 3.0])),
        )
        return f"{column} {sign} {bound}"
    if form == "mirrored":
        return f"{draw(constant)} {draw(st.sampled_from(['<=', '>', '=', '!=']))} {column}"
    if form == "null":
        return f"{column} IS {draw(st.sampled_from(['NULL', 'NOT NULL']))}"
    if form == "nothing":
        return draw(
            st.sampled_from([f"{column} = NULL", "TRUE", "FALSE", "NULL", "1 = 2", "1 < 2", "NULL = 1"])
        )
    if form == "distinct":
        word = draw(st.sampled_from(["DISTINCT FROM", "NOT DISTINCT FROM"]))
        return f"{column} IS {word} {draw(constant | st.just('NULL'))}"
    if form == "evaluated":
        return draw(st.sampled_from(EVALUATED[name])).replace("{}", column)
    return f"{column} {form} {draw(constant)}"


def conditions(names: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(names).flatmap(leaves),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' AND '.join(parts)})"),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({' OR '.join(parts)})"),
            inner.map(lambda part: f"NOT ({part})"),
        ),
        max_leaves=6,
    )


def check(data: st.DataObject) -> None:
    """Compare a selection with the slow reference: its cells, its rows, and its cells by group."""
    names = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True))
    domain = domain_of(*names)
    condition = data.draw(conditions(names))
    cells = cells_where(domain, condition)

    selection = selected(domain, condition)

    codes = all_codes(domain)
    assert selection.cells == len(cells)
    assert codes[selection.rows(in_columns(domain, codes))].tolist() == cells.tolist()
    places = data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, max_size=2, unique=True))
    assert selection.cells_of_groups(places).tolist() == group_counts(domain, cells, places)


@settings(max_examples=tries(60))
@given(st.data())
def test_conditions_select_what_duckdb_selects_among_all_cells(data: st.DataObject) -> None:
    check(data)


@pytest.mark.long
@settings(max_examples=3_000)
@given(st.data())
def test_many_conditions_select_what_duckdb_selects_among_all_cells(data: st.DataObject) -> None:
    check(data)


@pytest.mark.parametrize("name", sorted(EVALUATED))
def test_each_expression_has_duckdbs_answer_and_so_has_its_opposite(name: str) -> None:
    domain = domain_of(name)

    for form in EVALUATED[name]:
        for condition in (form, f"NOT ({form})", f"({form}) IS NULL"):
            text = condition.replace("{}", quoted(name))
            assert selected(domain, text).cells == len(cells_where(domain, text)), text


HOME = ht.Domain(
    attributes=(
        Attribute(name="Home", values=Categories(values=("A", "B", "C"))),
        Attribute(name="n", values=Integers(low=0, high=999)),
        Attribute(name="age", values=Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5))),
        Attribute(name="share", values=Edges(edges=(Fraction(0), Fraction(1, 2), Fraction(1)))),
        Attribute(
            name="day",
            values=Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second"),
        ),
        Attribute(name="big", values=Integers(low=-(1 << 62), high=(1 << 62) - 2)),
    )
)


def share(condition: str) -> Fraction:
    """The part of all cells that a condition selects."""
    return Fraction(selected(HOME, condition).cells, HOME.cells_total)


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("home = 'A' AND age >= 30", Fraction(1, 3) * Fraction(14, 20)),
        ("HOME = 'A' or not \"home\" <> 'B'", Fraction(2, 3)),
        ("age >= 30 AND age < 45", Fraction(3, 20)),
        ("30 <= age AND 45.0 > age", Fraction(3, 20)),
        ("age >= 100", Fraction(0)),
        ("age < 100", Fraction(1)),
        ("age IN (30, 35, 30)", Fraction(1, 10)),
        ("share = 0.5 OR share = 0e0", Fraction(1)),
        ("n BETWEEN 10 AND 19 OR n > 989 OR n <= 9", Fraction(30, 1000)),
        ("n >= 1_0 AND n < 2e1", Fraction(1, 100)),
        ("n <= -1 OR n > 5000 OR n >= 1000 OR n < 0", Fraction(0)),
        ("n > -1 AND n <= 5000 AND n >= -7 AND n < 1000", Fraction(1)),
        ("n NOT BETWEEN -7 AND 99", Fraction(9, 10)),
        ("n = 2 * 5 + 1", Fraction(1, 1000)),
        ("n % 10 = 0 AND NOT n % 20 = 0", Fraction(1, 20)),
        ("day >= '2024-02-01' AND day < DATE '2024-03-01'", Fraction(29, 366)),
        ("day = TIMESTAMP '2024-02-01 00:00:00'", Fraction(1, 366)),
        ("day = make_date(2024, 2, 1)", Fraction(1, 366)),
        ("day = TRY_CAST('2024-13-01' AS DATE)", Fraction(0)),
        ("day = DATE '2024-2-1'", Fraction(1, 366)),
        ("day = TIMESTAMPTZ '2024-02-01 02:00+02'", Fraction(1, 366)),
        ("dayname(day) = 'Monday'", Fraction(53, 366)),
        ("lpad(CAST(n AS VARCHAR), 4, '0') LIKE '00%'", Fraction(1, 10)),
        ("printf('%04d', n) LIKE '00%' AND format('{:>5}', home) = '    A'", Fraction(1, 30)),
        ("repeat(home, 3) = 'AAA' AND n = range(1, 9)[2]", Fraction(1, 3000)),
        ("big = 4611686018427387902", Fraction(1, (1 << 63) - 1)),
        ("big < -4611686018427387903", Fraction(1, (1 << 63) - 1)),
        ("big >= 4611686018427387902.0", Fraction(1, (1 << 63) - 1)),
        ("big > 99999999999999999999999999999999999999999999", Fraction(0)),
        ("big < 1e300", Fraction(1)),
        ("TRUE", Fraction(1)),
        ("NULL", Fraction(0)),
        ("NOT NULL", Fraction(0)),
        ("home = 'A' -- a comment; DROP TABLE release", Fraction(1, 3)),
        ("home = 'A' /* AND age > ( */ OR home = 'B'", Fraction(2, 3)),
    ],
)
def test_conditions_count_as_by_hand(condition: str, part: Fraction) -> None:
    assert share(condition) == part


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        # what would cut a bin
        ("age > 30", "age > 30 asks for a part of its bins, which are half-open.\n"
         "Each holds its lower edge and not its upper one. Write age >= 30 or age >= 35."),
        ("30 < age", "Write age >= 30 or age >= 35."),
        ("age <= 95", "Write age < 95 or age < 100."),
        ("age <= 100", "Write age < 100."),
        ("share > 0.5", "Write share >= 0.5 or share >= 1."),
        ("day > '2024-02-28'", "asks for a part of its intervals, which are half-open.\n"
         "Each holds its lower edge and not its upper one. "
         "Write day >= '2024-02-28' or day >= '2024-02-29'."),
        ("age >= 32", "age = 32 is not an edge of its bins; the nearest are 30 and 35"),
        ("age = 32", "the nearest are 30 and 35"),
        ("age IN (30, 32)", "the nearest are 30 and 35"),
        ("age BETWEEN 30 AND 45", "age BETWEEN 30 AND 45 takes its upper end in, and bins are half-open.\n"
         "Write age >= 30 AND age < 45"),
        ("day BETWEEN '2024-01-05' AND '2024-01-06'", "Write day >= '2024-01-05' AND day < '2024-01-06'"),
        ("age % 2 = 0", "the condition computes with 'age', which has bins: it could cut one in two.\n"
         "Compare it with edges: age >= ... AND age < ..."),
        ("floor(share) = 0", "computes with 'share'"),
        # values that are not there
        ("home = 'D'", "Home = 'D' is not one of its categories"),
        ("home <> 'D'", "Home = 'D' is not one of its categories"),
        ("home = 3", "Home = 3 is not text"),
        ("home = TRUE", "Home = True is not text"),
        ("home < 'B'", "the categories of 'Home' have no order"),
        ("home BETWEEN 'A' AND 'B'", "the categories of 'Home' have no order"),
        ("home = DATE '2024-01-01'", "Home is compared with the time '2024-01-01'.\nIts values are text"),
        ("n = 1000", "n = 1000 lies outside its domain"),
        ("n < 2.5", "n = 2.5 is not a whole number"),
        ("n = '3'", "n is compared with the text '3'.\nIts values are numbers: write them without quotes."),
        ("age IN (30, '35')", "age is compared with the text '35'"),
        ("n = TRUE", "n = True is not a number"),
        ("n = 'inf'::DOUBLE", "is not a number"),
        ("n = INTERVAL 1 DAY", "compares with 1 day, which is of type INTERVAL"),
        ("n = [1]", "compares with [1], which is of type INTEGER[]"),
        ("day = '5 January'", "is not a time"),
        ("day = 'infinity'::DATE", "is not a time"),
        ("day >= DATE '2024-13-01'", "day = '2024-13-01' is not a time"),
        ("day >= DATE '5 January'", "DuckDB cannot evaluate the condition"),
        ("day = TRY_CAST('2024-01-05 12:00' AS TIMESTAMP)", "is not an edge of its intervals"),
        # attributes
        ("hom = 'A'", "there is no attribute 'hom'.\nDid you mean 'Home'? The attributes are 'Home', 'n',"),
        ('home = "A"', "there is no attribute 'A'.\nThe attributes are 'Home', 'n', 'age', 'share', 'day', "
         "'big'.\nIn SQL, text stands in single quotes."),
        ("release.home = 'A'", "uses release.home, a name with a dot"),
        ("rowid = 1", "there is no attribute 'rowid'"),
        ("current_date > day", "there is no attribute 'current_date'"),
        ("user = 'x'", "there is no attribute 'user'"),
        ("n = big", "one comparison ties 'n' and 'big' together, so its cells cannot be counted attribute by "
         "attribute.\nCompare each attribute with constants, or use `sql` for an answer without error bars."),
        ("n + age > 5", "ties 'n' and 'age' together"),
        ("CASE WHEN home = 'A' THEN n > 5 ELSE n > 7 END", "ties 'Home' and 'n' together"),
        ("big % 10 = 0", "the condition computes with 'big', which has 9223372036854775807 values.\n"
         "At most 10000000 can be tried."),
        # what is no condition
        ("", "the condition is empty"),
        (" \n", "the condition is empty"),
        ("n", "has a part of type int64, which is neither true nor false"),
        ("home OR n = 1", "has a part of type string, which is neither true nor false"),
        ("1", "the condition 1 is neither true nor false"),
        ("'yes'", "the condition 'yes' is neither true nor false"),
        ("n = ", "DuckDB cannot read the condition: syntax error"),
        ("-- nothing", "DuckDB cannot read the condition"),
        ("n = 1)", "DuckDB cannot read the condition"),
        ("n = 1) OR (n = 2", "DuckDB cannot read the condition"),
        ("n = 1 /* open", "DuckDB cannot read the condition"),
        ("n = 'open", "DuckDB cannot read the condition"),
        ("n = 1;", "not one expression"),
        ("n = 1; SELECT 1", "not one expression"),
        ("n = 1; DROP TABLE release", "not one expression"),
        ("n = 1; -- \nCOPY release TO 'x.csv'", "the condition is not one expression.\nWrite what"),
        ("n = 1 GROUP BY ALL", "not one expression"),
        ("n = 1 ORDER BY n", "not one expression"),
        ("n = 1 LIMIT 5", "not one expression"),
        ("n = 1 QUALIFY n = 1", "not one expression"),
        ("n = 1 USING SAMPLE 5", "not one expression"),
        ("n = 1 UNION SELECT 1", "not one expression"),
        ("n = 1 WINDOW w AS (ORDER BY n)", "not one expression"),
        ("SELECT 1", "DuckDB cannot read the condition"),
        ("COPY release TO 'x.csv'", "DuckDB cannot read the condition"),
        ("n = 1\0", "holds a NUL"),
        ("n = '\ud800'", "half a character"),
        ("n = 1" + " " * 100_000, "the condition is 100,005 characters long, and at most 100,000"),
        ("(" * 101 + "n = 1" + ")" * 101, "nested too deep"),
        ("(" * 50_000, "nested too deep"),
        ("[" * 101 + "'", "nested too deep"),
        ("--'\n" + "(" * 300 + "'", "nested too deep"),
        ("E'\\'' = " + "(" * 300, "nested too deep"),
        ("/* /* */ ' */ " + "(" * 300 + "'", "nested too deep"),
        ("n IN (" + "WITH a AS (" * 8 + "SELECT 1", "nested too deep"),
        ("NOT " * 500 + "n = 1", "nested too deep"),
        ("NOT " * 20_000 + "n = 1", "nested too deep"),
        ("n" + " + 1" * 5_000 + " = 2", "nested too deep"),
        # what reaches beyond one row
        ("n = (SELECT 1)", "uses a subquery"),
        ("n IN (SELECT 1)", "uses a subquery"),
        ("EXISTS (SELECT * FROM read_csv('/etc/passwd'))", "uses a subquery"),
        ("n = ANY([1, 2])", "uses a subquery"),
        ("n IN (FROM secret)", "uses a subquery"),
        ("sum(n) > 5", "the condition uses `sum`, an aggregate: it reads more than one row"),
        ("count(*) > 5", "the condition uses `"),
        ("row_number() OVER () = 1", "uses a window function"),
        ("random() < 0.5", "uses `random`"),
        ("n > random() * 5", "uses `random`"),
        ("day < now()", "uses `now`"),
        ("day < today()", "uses `today`"),
        ("day < current_localtimestamp()", "uses `current_localtimestamp`"),
        ("age(day) > INTERVAL 1 YEAR", "uses `age`"),
        ("getenv('HOME') = 'x'", "uses `getenv`"),
        ("current_setting('threads') = '2'", "uses `current_setting`"),
        ("read_text('/etc/passwd') = 'x'", "uses `read_text`"),
        ("unnest([1]) = n", "uses `unnest`"),
        ("nextval('s') = n", "uses `nextval`"),
        ("home.lower() = 'a'", "with a word and a dot before it"),
        ("system.main.lower(home) = 'a'", "with a word and a dot before it"),
        ("n = ?", "the condition has a parameter: $1"),
        ("n = $n", "the condition has a parameter: $n"),
        ("#1 = 'A'", "uses a column by its position"),
        ("COLUMNS(*) = 1", "uses `*` or COLUMNS(...)"),
        ("list_transform([1], x -> x) = [n]", "uses a lambda"),
        ("list_filter([1], lambda x: x > 0) = [n]", "uses a lambda"),
        ("n = DEFAULT", "the condition"),
        ("json_serialize_sql('SELECT 1') = home", "uses `json_serialize_sql`"),
        ("__internal_barrier(n) = 1", "uses `__internal_barrier`"),
        # what would fill the memory
        ("repeat('x', 1000000000) = home", "the condition uses `repeat`, which may make text or lists of any "
         "length.\nSay its length by a constant up to 1,000, and use it once, not within another."),
        ("repeat(home, n) = 'A'", "uses `repeat`"),
        ("repeat(repeat(home, 1000), 1000) = 'A'", "uses `repeat`"),
        ("repeat(home, 500 * 500) = 'A'", "uses `repeat`"),
        ("rpad(home, 1_000_000_000, 'x') = 'A'", "uses `rpad`"),
        ("lpad(repeat(home, 2), 5, 'x') = 'A'", "uses `lpad`"),
        ("len(range(1000000000)) = n", "uses `range`"),
        ("len(generate_series(1, n)) = 5", "uses `generate_series`"),
        ("len(list_resize([1], 1000000000)) = n", "uses `list_resize`"),
        ("printf('%1000000000d', n) = '5'", "uses `printf`"),
        ("printf('%*d', 1000000000, n) = '5'", "uses `printf`"),
        ("format('{:>{}}', n, 1000000000) = '5'", "uses `format`"),
        ("format(home, n) = '5'", "uses `format`"),
        # what DuckDB itself refuses, in its words
        ("CAST(home AS INT) = 1", "DuckDB cannot evaluate the condition: Conversion Error: Could not"),
        ("nosuch(home) = 1", "uses `nosuch`"),
        ("substr(home) = 'x'", "DuckDB cannot evaluate the condition: Binder Error"),
        ("home::nosuch = 1", "DuckDB cannot evaluate the condition"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_a_reason(condition: str, message: str) -> None:
    start = process_time()
    with pytest.raises(ht.BadQuery) as caught:
        selected(HOME, condition)

    assert message in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(str(caught.value)) < 700
    assert process_time() - start < 5


def test_the_text_reaches_neither_files_nor_variables(tmp_path: Path) -> None:
    secret = np.array([1])  # DuckDB would find it by name in this frame
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    reaches = [
        f"read_csv('{file}') = 1",
        f"n IN (SELECT a FROM '{file}')",
        f"n IN (SELECT a FROM read_csv('{file}'))",
        "n IN (FROM secret)",
        "n IN secret",
        "secret = n",
        f"n = 1; COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"n = 1; ATTACH '{tmp_path}/out.db'",
        "n = 1; SET enable_external_access = true",
        f"glob('{tmp_path}/*') = ['x']",
        "json_execute_serialized_sql('x') = n",
        "query('SELECT 1') = n",
    ]

    for text in reaches:
        with pytest.raises(ht.BadQuery):
            selected(HOME, text)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert secret.tolist() == [1]


def test_the_connection_is_locked_even_for_what_is_not_checked(tmp_path: Path) -> None:
    connection = expressions._connection()
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")

    for text in (
        f"FROM '{file}'",
        f"FROM read_text('{file}')",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/out.db'",
        "INSTALL httpfs",
        "LOAD spatial",
        "SET enable_external_access = true",
        "SET python_enable_replacements = true",
        "SET lock_configuration = false",
        "SET TimeZone = 'Asia/Tokyo'",
        "FROM file",
    ):
        with pytest.raises(Exception, match=r"disabled|locked|Permission|does not exist|not allowed|cannot"):
            connection.execute(text).fetchall()


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    expressions._functions()  # the list of them is made once, and needs some
    monkeypatch.setattr(expressions, "_MEMORY", "1MB")
    monkeypatch.setattr(expressions, "_OF_THREAD", threading.local())
    domain = ht.Domain(attributes=(Attribute(name="n", values=Integers(low=0, high=1_000_000)),))

    with pytest.raises(ht.BadQuery, match="the condition needs more memory than there is"):
        selected(domain, "len(list_sort([n, 1])) = 2")


def test_names_follow_sql() -> None:
    numbers = Integers(low=0, high=9)
    names = ("Home", "home", "a b", 'q"', "Größe", "release", "current_date", "select")
    domain = ht.Domain(attributes=tuple(Attribute(name=name, values=numbers) for name in names))

    def places(condition: str) -> tuple[int, ...]:
        return selected(domain, condition).attributes

    assert places("Home = 1") == places('"Home" = 1') == (0,)
    assert places("home % 3 = 1") == (1,)
    with pytest.raises(ht.BadQuery, match=r"'HOME' may mean 'Home' and 'home'\.\nWrite the attribute's name"):
        places("HOME = 1")
    assert places('"A B" = 1') == places('"a b" % 3 = 1') == (2,)
    assert places('"q""" % 3 = 1') == (3,)
    assert places("größe % 3 = 1 AND GRößE = 1") == (4,)
    with pytest.raises(ht.BadQuery, match="no attribute 'GRÖSSE'"):
        places("GRÖSSE = 1")
    assert places("release = 1 OR release % 3 = 2") == (5,)
    assert places("current_date % 3 = 1") == (6,)
    assert places('"select" = 1 OR "SELECT" % 3 = 2') == (7,)


def test_answers_do_not_depend_on_where_they_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    found: list[int] = []

    def ask() -> None:  # in a thread, so with a connection of its own
        found.append(selected(HOME, "CAST(day AS TIMESTAMPTZ) = TIMESTAMPTZ '2024-01-05 00:00+00'").cells)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [HOME.cells_total // 366] * 2


def test_a_long_list_and_many_pairs_are_counted() -> None:
    listed = f"n IN ({', '.join(map(str, range(0, 1000, 2)))}) AND n NOT IN (4, 6)"
    pairs = " OR ".join(f"(n = {number} AND age = {5 * (number % 20)})" for number in range(1000))

    assert share(listed) == Fraction(498, 1000)
    assert share(pairs) == Fraction(1, 20)
    triples = " OR ".join(f"(home = 'A' AND n = {number} AND big = {number})" for number in range(1000))
    with pytest.raises(ht.BadQuery, match="2 x 1000 x 1001 classes of cells"):
        selected(HOME, triples)


def test_all_values_of_a_large_attribute_can_be_tried() -> None:
    domain = ht.Domain(attributes=(Attribute(name="n", values=Integers(low=-500_000, high=1_499_999)),))

    start = process_time()

    assert selected(domain, "n % 1000 = 7").cells == 1500
    assert selected(domain, "n % 2 = 0 OR n < 0").cells == 1_250_000
    assert process_time() - start < 5
