"""Attributes: every value of a row meets a declared rule, and no message carries it."""

from __future__ import annotations

import pytest
from hypothesis import given

from hushtable.domain.attributes import Attribute, Categories, Fate, Integers, Kind, Other, Rule
from hushtable.errors import BadDomain, BadRows
from tests.domain import examples

AGES = Integers(low=0, high=99)
REGIONS = Categories(values=("north", "south"), labels=("North", "South"))


@pytest.mark.parametrize(
    ("missing", "outside", "places"),
    [
        ("drop", "drop", {None: None, "?": None, -1: None, 100: None, 7: 7}),
        ("drop", "clamp", {None: None, "?": None, -1: 0, 100: 99, float("inf"): 99, 7: 7}),
        ("error", "clamp", {-1: 0, 100: 99, 7: 7}),
    ],
)
def test_numbers_follow_their_rules(missing: Rule, outside: Rule, places: dict[object, int | None]) -> None:
    age = Attribute(name="age", values=AGES, missing=missing, outside=outside)

    assert {value: age.place(value) for value in places} == places
    assert age.missing_code is None
    assert age.outside_code is None


@pytest.mark.parametrize(
    ("missing", "outside", "values", "missing_code", "outside_code"),
    [
        ("drop", "drop", ("north", "south"), None, None),
        (Other(value="unknown"), "drop", ("north", "south", "unknown"), 2, None),
        ("drop", Other(value="abroad"), ("north", "south", "abroad"), None, 2),
        (Other(value="unknown"), Other(value="abroad"), ("north", "south", "unknown", "abroad"), 2, 3),
        (Other(value="unknown"), Other(value="unknown"), ("north", "south", "unknown"), 2, 2),
        (Other(value="south"), "drop", ("north", "south"), 1, None),
    ],
)
def test_an_other_category_is_appended_once(
    missing: Rule,
    outside: Rule,
    values: tuple[str, ...],
    missing_code: int | None,
    outside_code: int | None,
) -> None:
    region = Attribute(name="region", values=REGIONS, missing=missing, outside=outside)

    assert isinstance(region.values, Categories)
    assert region.values.values == values
    assert region.values.labels == ("North", "South", *values[2:])
    assert region.size == len(values)
    assert (region.missing_code, region.outside_code) == (missing_code, outside_code)
    assert (region.place(None), region.place(5), region.place("east")) == (
        missing_code,
        missing_code,
        outside_code,
    )
    assert region.place("south") == 1


@pytest.mark.parametrize(
    ("missing", "outside", "value", "about"),
    [
        ("error", "drop", None, "missing"),
        ("error", "drop", "Jane Roe", "missing"),
        ("drop", "error", 4711, "outside"),
    ],
)
def test_an_error_names_the_rule_and_never_the_value(
    missing: Rule, outside: Rule, value: object, about: str
) -> None:
    age = Attribute(name="age", values=AGES, missing=missing, outside=outside)

    with pytest.raises(BadRows) as caught:
        age.place(value)

    assert f"'age' has rows that its rule {about} = \"error\"" in str(caught.value)
    assert "hushtable check" in str(caught.value)
    assert str(value) not in str(caught.value)
    assert caught.value.__context__ is None


@given(examples.attributes())
def test_every_value_has_one_place(attribute: Attribute) -> None:
    for value in (None, "?", object(), -(10**30), 10**30, "2024-01-01", "9999-12-31", "1e9", b""):
        code = attribute.values.code_of(value)
        about = "missing" if code in (Fate.MISSING, Fate.UNREADABLE) else "outside"
        if isinstance(code, int):
            assert attribute.place(value) == code
        elif (rule := getattr(attribute, about)) == "error":
            with pytest.raises(BadRows):
                attribute.place(value)
        elif rule == "drop":
            assert attribute.place(value) is None
        else:
            place = attribute.place(value)
            assert place is not None
            assert 0 <= place < attribute.size


@pytest.mark.parametrize(
    ("values", "rules", "text"),
    [
        (
            AGES,
            {"missing": "clamp"},
            "missing = 'clamp' is not a rule for integers. Allowed are \"drop\" and",
        ),
        (AGES, {"missing": Other(value="x")}, 'missing = { other = "x" } is not a rule for integers'),
        (AGES, {"outside": Other(value="x")}, 'Allowed are "drop", "error" and "clamp".'),
        (REGIONS, {"outside": "clamp"}, 'Allowed are "drop", "error" and { other = "..." }.'),
        (REGIONS, {"missing": "fail"}, "missing = 'fail' is not a rule for categories"),
        (REGIONS, {"missing": None}, "missing = None is not a rule for categories"),
    ],
)
def test_rules_fit_the_kind(values: Kind, rules: dict[str, Rule], text: str) -> None:
    with pytest.raises(BadDomain) as caught:
        Attribute(name="x", values=values, **rules)  # type: ignore[arg-type]

    assert text in str(caught.value)


@pytest.mark.parametrize("name", ["count", "Weight", "LEVEL", "", "two\nlines", 5])
def test_some_names_are_refused(name: str) -> None:
    with pytest.raises(BadDomain, match="the name"):
        Attribute(name=name, values=AGES)


def test_the_column_is_the_name_unless_said_otherwise() -> None:
    assert Attribute(name="age", values=AGES).column == "age"
    assert Attribute(name="age", column="AGEP", values=AGES).column == "AGEP"
    with pytest.raises(BadDomain, match="column = 5 is not text"):
        Attribute(name="age", column=5, values=AGES)  # type: ignore[arg-type]
