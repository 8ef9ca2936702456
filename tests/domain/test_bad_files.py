"""Bad domain files: each mistake is one `BadDomain` that names the file, the attribute and the way out."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.domain import examples

X = '[[attribute]]\nname = "x"\n'
BINS = "bins = { start = 0, stop = 100, step = 5, "
YEAR = 'times = { start = "2024-01-01", stop = "2025-01-01", every = "1 day", '


def complaint(folder: Path, text: str | bytes) -> ht.BadDomain:
    """The error that loading this text raises."""
    path = folder / "domain.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ht.BadDomain) as caught:
        ht.Domain.load(path)
    assert caught.value.file == str(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith((".", "?"))
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no [[attribute]]. Start each one with [[attribute]]"),
        ('title = "T"', "there is no [[attribute]]"),
        ('[attribute]\nname = "x"', "`attribute` is not a list of tables"),
        ("attribute = 5", "`attribute` is not a list of tables"),
        ("attribute = [5]", "attribute 'number 1': an attribute = 5 is not a table"),
        ("title = 5\n" + X + "integers = { low = 0, high = 1 }", "title = 5 is not text"),
        ("reviewed = 1\n" + X + "integers = { low = 0, high = 1 }", "reviewed = 1 is not true or false"),
        (
            "titel = 'T'\n" + X,
            "the domain has no key 'titel'. Did you mean `title`? Allowed are `title`,",
        ),
        ("description = 'T'\n" + X, "the domain has no key 'description'. Allowed are"),
        ("title = ", "the file is not TOML:"),
        ("title = 'T'\ntitle = 'U'", "the file is not TOML:"),
        ("low = " + "9" * 5000, "the file is not TOML:"),
        ("a = " + "[" * 5000, "the file is not TOML:"),
        (b"title = '\xff'", "the file is not UTF-8. Save it as UTF-8."),
        (examples.COMMUTE.encode("utf-16"), "the file is not UTF-8"),
        (
            2 * (X + "integers = { low = 0, high = 1 }\n"),
            "attribute 'x': two attributes have this name. Rename one of them.",
        ),
    ],
)
def test_mistakes_of_the_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert message in str(complaint(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "attribute 'number 2': it has no `name`"),
        ('name = ""', "attribute 'number 2': the name '' is not a line of text"),
        ("name = 5", "attribute 'number 2': the name 5 is not a line of text"),
        ('name = "Count"', "attribute 'Count': the name 'Count' is taken by a column"),
        ('name = "weight"', 'Use another, and keep column = "weight" for the data\'s own name.'),
        ('name = "level"', "the name 'level' is taken"),
        ('name = "y"\ncolumn = ""', "attribute 'y': its `column` is empty"),
        ('name = "y"\ncolumn = 5', "attribute 'y': column = 5 is not text"),
    ],
)
def test_mistakes_of_the_name(tmp_path: Path, name: str, message: str) -> None:
    range_ = "integers = { low = 0, high = 1 }\n"

    assert message in str(complaint(tmp_path, f"{X}{range_}[[attribute]]\n{name}\n{range_}"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("", "it has none of them. Give exactly one of `integers`, `categories`, `bins`, `times`, `any_"),
        (
            'integers = { low = 0, high = 1 }\ncategories = ["a"]',
            "it has `integers` and `categories`. Give exactly one of",
        ),
        ("levels = []", "`levels` stands beside the values. Write it inside, as in bins = {"),
        (
            'categorys = ["a"]',
            "an attribute has no key 'categorys'. Did you mean `categories`? Allowed are `name`,",
        ),
        ('type = "int"', "an attribute has no key 'type'. "),
        # integers
        ("integers = 5", "integers = 5 is not a table. Write integers = { low = 0, high = 99 }."),
        ("integers = { low = 5, high = 4 }", "low = 5 is above high = 4. Swap them"),
        ("integers = { low = 0 }", "integers has no `high`. Write integers ="),
        ("integers = { low = 0, hihg = 4 }", "integers has no key 'hihg'. Did you mean `high`?"),
        ("integers = { low = 0, high = 4.0 }", "high = 4.0 is not an integer"),
        ('integers = { low = 0, high = "1/2" }', "high = '1/2' is not an integer"),
        ("integers = { low = 0, high = inf }", "high = inf is not an integer"),
        ("integers = { low = 0, high = true }", "high = True is not a finite number"),
        ('integers = { low = 0, high = "many" }', "high = 'many' is not a finite number"),
        ("integers = { low = 0, high = 9223372036854775808 }", "are too many"),
        # categories
        ("categories = []", "the list of categories is empty"),
        ('categories = ["a", "b", "a"]', "the category 'a' comes twice. Give each value once."),
        ('categories = ["06001", 6001]', "categories hold 6001, which is not text. Write all in quotes"),
        ('categories = ["a", ["b"]]', "categories hold ['b'], which is not text"),
        ('categories = "a"', "categories = 'a' is not a table. Write categories = ["),
        ("categories = {}", "categories has no `values`"),
        ('categories = { values = "ab" }', "categories are not a list of text"),
        ('categories = { values = ["a"], labels = [1] }', "labels hold 1, which is not text"),
        ('categories = { values = ["a"], labels = [] }', "there are 0 labels for 1 categories"),
        ('categories = { values = ["a"], column = "b" }', "categories has `column` beside `values`"),
        ('categories = { file = "c.csv", values = ["a"] }', "categories has `values` beside `file`"),
        ('categories = { fiel = "c.csv" }', "categories has no key 'fiel'. Did you mean `file`?"),
        ("categories = { file = 5 }", "file = 5 is not text"),
        ('categories = { file = "c.csv", column = "" }', "column = '' is not text"),
        # bins
        ("bins = [0, 5]", "bins = [0, 5] is not a table"),
        (
            "bins = { start = 0, stop = 98, step = 5 }",
            "from 0 to 98 do not divide into steps of 5. Take stop = 95 or stop = 100.",
        ),
        ("bins = { start = 0, stop = 0.25, step = 0.1 }", "Take stop = 0.2 or stop = 0.3."),
        ('bins = { start = 0, stop = 1, step = "2/7" }', "Take stop = 6/7 or stop = 8/7."),
        ("bins = { start = 0, stop = 3, step = 5 }", "Take stop = 5."),
        ("bins = { start = 0, stop = 0, step = 5 }", "stop = 0 is not above start = 0"),
        ("bins = { start = 0, stop = 10, step = 0 }", "step = 0 is not above 0"),
        ("bins = { start = 0, stop = 10, step = -5 }", "step = -5 is not above 0"),
        ("bins = { start = 0, stop = nan, step = 5 }", "stop = nan is not a finite number"),
        ("bins = { start = -inf, stop = 5, step = 5 }", "start = -inf is not a finite number"),
        ("bins = { start = 0, stop = 1, step = 1e-16 }", "are too fine. Numbers hold about 15 digits"),
        ("bins = { start = 0, stop = 5 }", "bins has no `step`"),
        ("bins = { start = 0, edges = [0, 1] }", "bins has `start` beside `edges`"),
        ("bins = { start = 0, stop = 5, width = 5 }", "bins has no key 'width'"),
        ("bins = { edges = [0] }", "edges are not a list of two or more numbers"),
        ("bins = { edges = 5 }", "edges are not a list of two or more numbers"),
        ("bins = { edges = [0, 18, 18] }", "the edge 18 is not above 18, the one before"),
        ("bins = { edges = [0, 18, 6] }", "the edge 6 is not above 18"),
        ('bins = { edges = ["1", "1.00000000000000000001"] }', "is not above 1, the one before"),
        ("bins = { edges = [0, inf] }", "edges = inf is not a finite number"),
        ("bins = { edges = [0, 1e300] }", "edges = 1e+300 does not fit 64 bits"),
        # times
        ('times = "2024"', "times = '2024' is not a table"),
        (
            'times = { start = "2024-01-01", stop = "2024-01-10", every = "1 week" }',
            'steps of 1 week. Take stop = "2024-01-08 00:00:00" or stop = "2024-01-15 00:00:00".',
        ),
        (
            'times = { start = "2024-01-01", stop = "2024-01-10", every = "1 month" }',
            'steps of 1 month. Take stop = "2024-02-01 00:00:00".',
        ),
        (
            'times = { start = "2024-01-01", stop = "9999-12-31", every = "9999 years" }',
            "Take a shorter step.",
        ),
        (
            'times = { start = "2024-01-15", stop = "2025-01-15", every = "1 year" }',
            "steps of months start at 2024-01-15 00:00:00, within a month. Take start = 2024-01-01 00:00:00.",
        ),
        (
            'times = { start = "2024-02-30", stop = "2025-01-01", every = "1 day" }',
            "start = '2024-02-30' is not a date",
        ),
        (
            'times = { start = "1.1.2024", stop = "2025-01-01", every = "1 day" }',
            "start = '1.1.2024' is not a date",
        ),
        ('times = { start = 2024, stop = "2025-01-01", every = "1 day" }', "start = 2024 is not a date"),
        ('times = { start = 06:00:00, stop = "2025-01-01", every = "1 day" }', "is not a date or time"),
        (
            'times = { start = "2024-01-01T00:00Z", stop = "2025-01-01", every = "1 day" }',
            "start = '2024-01-01T00:00Z' has an offset. Take it out; `timezone` says whose clock is meant.",
        ),
        (
            "times = { start = 2024-01-01T00:00:00+02:00, stop = 2025-01-01, every = '1 day' }",
            "has an offset",
        ),
        ('times = { start = "2024-01-01", stop = "2024-01-01", every = "1 day" }', "is not above start"),
        (
            'times = { start = "2024-01-01 00:00:00.5", stop = "2024-01-02", every = "1 day" }',
            "in whole seconds",
        ),
        (
            'times = { start = "2024-01-01", stop = "2025-01-01", every = "daily" }',
            "every = 'daily' is not a step",
        ),
        (
            'times = { start = "2024-01-01", stop = "2025-01-01", every = "-1 day" }',
            "every = '-1 day' is not a step",
        ),
        ('times = { start = "2024-01-01", stop = "2025-01-01", every = "0 days" }', "every = 0 is below 1"),
        (
            'times = { start = "2024-01-01", stop = "2025-01-01", every = 1 }',
            "every = 1 is not a step of time",
        ),
        ('times = { start = "2024-01-01", stop = "2025-01-01" }', "times has no `every`"),
        (
            YEAR + 'timezone = "Europ/Berlin" }',
            "the time zone 'Europ/Berlin' is unknown. Did you mean \"Europe/Berlin\"?",
        ),
        (
            YEAR + "timezone = 5 }",
            "the time zone 5 is unknown",
        ),
        (
            YEAR + 'timezone = "../passwd" }',
            "is unknown",
        ),
        (
            YEAR + 'tz = "UTC" }',
            "times has no key 'tz'",
        ),
        # levels
        ("integers = { low = 0, high = 9, levels = [5] }", "integers have no levels. Declare bins = {"),
        ("bins = { edges = [0, 1], levels = [2] }", "bins has `levels` beside `edges`"),
        (BINS + "levels = 10 }", "levels = 10 is not a list. Write levels = [10, 20]."),
        (BINS + "levels = [true] }", "levels = True is not a finite number"),
        (BINS + "levels = [5] }", "the level 5 is not a multiple of 5, the step before. Order levels"),
        (BINS + "levels = [-5] }", "the level -5 is not a multiple of 5"),
        (BINS + "levels = [12.5] }", "the level 12.5 is not a multiple of 5"),
        (BINS + "levels = [20, 10] }", "the level 10 is not a multiple of 20, the step before"),
        (BINS + "levels = [10, 25] }", "the level 25 is not a multiple of 10, the step before"),
        (
            BINS + "levels = [10, 30] }",
            "at the level 30, bins from 0 to 100 do not divide into steps of 30. Take stop = 90 or",
        ),
        (BINS + "levels = [200] }", "at the level 200, bins from 0 to 100 do not divide"),
        (
            YEAR + 'levels = "1 week" }',
            'levels = \'1 week\' is not a list. Write levels = ["1 hour", "1 day"].',
        ),
        (YEAR + 'levels = ["weekly"] }', "levels = 'weekly' is not a step of time"),
        (YEAR + 'levels = ["24 hours"] }', "a step of the level 1 day does not consist of steps of 1 day"),
        (YEAR + 'levels = ["0 days"] }', "does not consist of steps of 1 day"),
        (
            YEAR + 'levels = ["36 hours"] }',
            "the level 36 hours does not consist of steps of 1 day, those before",
        ),
        (YEAR + 'levels = ["1 year", "1 month"] }', "the level 1 month does not consist of steps of 1 year"),
        (
            YEAR + 'levels = ["1 month", "31 days"] }',
            "the level 31 days does not consist of steps of 1 month",
        ),
        (YEAR + 'levels = ["2 days", "1 month"] }', "steps of 2 days, those before. Order levels from fine"),
        (
            YEAR + 'levels = ["1 week"] }',
            "at the level 1 week, times from 2024-01-01 00:00:00 to 2025-01-01 00",
        ),
        (YEAR + 'levels = ["1 month", "5 months"] }', "do not divide into steps of 5 months. Take stop ="),
        (
            'times = { start = "2024-01-02", stop = "2024-03-01", every = "1 day", levels = ["1 month"] }',
            "at the level 1 month, steps of months start at 2024-01-02 00:00:00, within a month",
        ),
        (
            'categories = { values = ["a"], levels = ["b"] }',
            "levels = ['b'] is not a table of names. Write {",
        ),
        (
            'categories = { values = ["a"], levels = { r = "b" } }',
            "the values of level 'r' are not a list of text",
        ),
        ('categories = { values = ["a"], levels = { r = true } }', "the values of level 'r' are not a list"),
        (
            'categories = { values = ["a"], levels = { r = [1] } }',
            "the values of level 'r' hold 1, which is not",
        ),
        (
            'categories = { values = ["a", "b"], levels = { r = ["x"] } }',
            "the level 'r' has 1 values for 2 categories. Give one coarser value for each category",
        ),
        (
            'categories = { values = ["a"], levels = { "" = ["x"] } }',
            "the level's name '' is not a line of text",
        ),
        ('categories = { values = ["a"], levels = { "a=b" = ["x"] } }', "is not a line of text without `=`"),
        (
            'categories = { values = ["a"], levels = { r = 0 } }',
            "takes the first 0 characters of each category",
        ),
        ('categories = { values = ["abc", "a"], levels = { r = 2 } }', "of each category. 'a' has only 1."),
        (
            'categories = { values = ["a", "b", "c"], levels = { r = ["x", "y", "y"], s = ["p", "p", "q"]}}',
            "'y' of level 'r' lies in both 'p' and 'q' of level 's'. Order levels from fine to coarse",
        ),
        (
            'categories = { values = ["a"], levels = { r = ["x"] } }\nmissing = { other = "x" }',
            "the category 'x' of a rule is not by itself at level 'r'. Let the level's value 'x' hold",
        ),
        (
            'categories = { values = ["a", "o"], levels = { r = ["o", "o"] } }\noutside = { other = "o" }',
            "the category 'o' of a rule is not by itself at level 'r'",
        ),
        (
            'categories = { values = ["a", "o"], levels = { r = ["x", "y"] } }\noutside = { other = "o" }',
            "the category 'o' of a rule is not by itself at level 'r'",
        ),
        (
            'categories = { file = "c.csv", levels = { r = 1.5 } }',
            "the level 'r' = 1.5 is neither text nor a",
        ),
        ('categories = { file = "c.csv", levels = { r = "" } }', "the level 'r' = '' is neither text nor a"),
        # rules
        ('integers = { low = 0, high = 1 }\nmissing = "clamp"', 'Allowed are "drop" and "error".'),
        ('integers = { low = 0, high = 1 }\noutside = { other = "x" }', "is not a rule for integers"),
        ('categories = ["a"]\noutside = "clamp"', "outside = 'clamp' is not a rule for categories"),
        ('categories = ["a"]\noutside = "keep"', "outside = 'keep' is not a rule for categories"),
        ('categories = ["a"]\noutside = true', "outside = True is not a table. Write outside ="),
        ('categories = ["a"]\nmissing = { othr = "x" }', "missing has no key 'othr'. Did you mean `other`?"),
        ('categories = ["a"]\nmissing = {}', "missing has no `other`"),
        ('categories = ["a"]\nmissing = { other = 5 }', "other = 5 is not text"),
        # any text
        ("any_text = {}", "any_text has no `longest`. Write any_text = { longest = 40 }"),
        ("any_text = { longest = 0 }", "longest = 0 is not a whole number from 1 to 1,000"),
        ("any_text = { longest = 1001 }", "Write any_text = { longest = 40 }: how many characters"),
        ("any_text = { longest = 4.5 }", "longest = 4.5 is not an integer"),
        ("any_text = 40", "any_text = 40 is not a table"),
        ('any_text = { longest = 9, levels = ["a"] }', "any_text has no key 'levels'"),
        ('any_text = { longest = 9 }\noutside = "clamp"', "outside = 'clamp' is not a rule for any text"),
        ('any_text = { longest = 3 }\nmissing = { other = "none" }', "is not text of up to 3 characters"),
    ],
)
def test_mistakes_of_an_attribute(tmp_path: Path, entry: str, message: str) -> None:
    error = complaint(tmp_path, X + entry)

    assert error.attribute == "x"
    assert "domain.toml, attribute 'x': " in str(error)
    assert message in str(error)


@pytest.mark.parametrize(
    ("content", "entry", "message"),
    [
        (None, 'file = "c.csv"', "there is no file "),
        (b"", 'file = "c.csv"', "the file 'c.csv' has 0 columns and none is chosen"),
        (b"", 'file = "c.csv", column = "a"', "the file 'c.csv' does not have one column 'a'. It has: none."),
        (
            b"a,b\n1,2\n",
            'file = "c.csv"',
            "has 2 columns and none is chosen. Add `column`; the file has: 'a', 'b'.",
        ),
        (b"a,b\n1,2\n", 'file = "c.csv", column = "c"', "does not have one column 'c'. It has: 'a', 'b'."),
        (b"a,b\n1,2\n", 'file = "c.csv", column = "a", label = "c"', "does not have one column 'c'"),
        (b"a,a\n1,2\n", 'file = "c.csv", column = "a"', "does not have one column 'a'"),
        (b"a\n", 'file = "c.csv"', "the list of categories is empty"),
        (
            b"a,b\n1,2\n,3\n",
            'file = "c.csv", column = "a"',
            "line 3 of 'c.csv' has no value for the category",
        ),
        (b"a,b\n1,2\n1,3\n", 'file = "c.csv", column = "a"', "the category '1' comes twice"),
        (
            b"a,b\n1,2\n1\n",
            'file = "c.csv", column = "a"',
            "line 3 of 'c.csv' has 1 fields, the first line 2",
        ),
        (b'a,b\n1,2\n"1"x,3\n', 'file = "c.csv", column = "a"', "the file 'c.csv' cannot be read as CSV: "),
        (b"a\n\xff\n", 'file = "c.csv"', "the file 'c.csv' is not UTF-8"),
        (b"a\nb\n", 'file = "c.csv.gz"', "the file 'c.csv.gz' cannot be read"),
        (
            b"a\nb\n",
            'file = "c.xlsx"',
            "the kind of the file 'c.xlsx' is unknown. Give a file that ends in .csv,",
        ),
        (b"a\nb\n", 'file = "c.parquet"', "the file 'c.parquet' is not readable as Parquet"),
        (
            b"a,b\n1,2\n",
            'file = "c.csv", column = "a", levels = { r = "c" }',
            "does not have one column 'c'. It has: 'a', 'b'.",
        ),
        (
            b"a,b\n1,2\n2,\n",
            'file = "c.csv", column = "a", levels = { r = "b" }',
            "line 3 of 'c.csv' has no value for the level's column 'b'",
        ),
        (
            b"a,b,c\n1,x,p\n2,x,q\n",
            'file = "c.csv", column = "a", levels = { r = "b", s = "c" }',
            "'x' of level 'r' lies in both 'p' and 'q' of level 's'",
        ),
        (b"", 'file = "c.parquet"', "the file 'c.parquet' is not readable as Parquet"),
    ],
)
def test_mistakes_of_a_category_file(tmp_path: Path, content: bytes | None, entry: str, message: str) -> None:
    if content is not None:
        named = re.search(r'"(c\.[a-z.]+)"', entry)
        assert named is not None
        (tmp_path / named[1]).write_bytes(content)
    error = complaint(tmp_path, f"{X}categories = {{ {entry} }}")

    assert error.attribute == "x"
    assert message in str(error)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            pa.array([6001]),
            'holds int64, not text. Store it as text: as a number, "06001" loses its leading zero.',
        ),
        (pa.array([6001]).dictionary_encode(), "holds int64, not text"),
        (pa.array(["a", None]), "has 1 nulls"),
        (pa.array(["a", "a"]), "the category 'a' comes twice"),
        (pa.array([], type=pa.string()), "the list of categories is empty"),
    ],
)
def test_mistakes_of_a_parquet_file(tmp_path: Path, column: pa.Array, message: str) -> None:
    pq.write_table(pa.table({"code": column}), tmp_path / "c.parquet")

    assert message in str(complaint(tmp_path, X + 'categories = { file = "c.parquet" }'))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_is_no_category_file(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"c.{ending}").mkdir()

    message = str(complaint(tmp_path, f'{X}categories = {{ file = "c.{ending}" }}'))
    assert f"'c.{ending}' is a folder, a pipe or a device, not a file" in message


def test_a_domain_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ht.BadDomain, match=r"nowhere.toml: there is no such file. Check the path."):
        ht.Domain.load(tmp_path / "nowhere.toml")
    with pytest.raises(ht.BadDomain, match="the file cannot be read"):
        ht.Domain.load(tmp_path)


def test_long_values_are_cut(tmp_path: Path) -> None:
    long = "a" * 10**5

    assert len(str(complaint(tmp_path, f'{X}categories = ["{long}", "{long}"]'))) < 500
    assert len(str(complaint(tmp_path, f"{X}{long} = 5"))) < 600


def test_an_unknown_attribute_lists_the_names(tmp_path: Path) -> None:
    (tmp_path / "domain.toml").write_text(examples.COMMUTE)
    domain = ht.Domain.load(tmp_path / "domain.toml")

    with pytest.raises(ht.BadDomain) as caught:
        domain.attribute("hom")
    assert str(caught.value) == (
        "there is no attribute 'hom'. Did you mean 'home'? "
        "The attributes are 'home', 'sector', 'age', 'income', 'when'."
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (5, "the domain = 5 is not a table"),
        ({}, "there is no [[attribute]]"),
        (
            {"attribute": [{"name": "x", "categories": {"file": "c.csv"}}]},
            "attribute 'x': categories are in another",
        ),
        (
            {"attribute": [{"name": "x", "integers": {"low": "0", "high": None}}]},
            "high = None is not a finite",
        ),
        ({"attribute": [{"name": "x", "bins": {"edges": None}}]}, "edges are not a list"),
        (
            {"attribute": [{"name": None, "bins": {"edges": ["0", "1"]}}]},
            "attribute 'number 1': the name None",
        ),
    ],
)
def test_bad_descriptions(document: dict[str, object], message: str) -> None:
    with pytest.raises(ht.BadDomain) as caught:
        ht.Domain.from_dict(document)

    assert message in str(caught.value)


def test_a_domain_needs_attributes() -> None:
    with pytest.raises(ht.BadDomain, match="one or more attributes"):
        ht.Domain(attributes=())
