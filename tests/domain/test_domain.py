"""Domains: loading, describing, decoding, and sizes beyond 64 bits."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import date, datetime
from fractions import Fraction
from math import prod
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Other, Times
from tests.domain import examples
from tests.harness import statistics


def load(folder: Path, text: str) -> ht.Domain:
    path = folder / "domain.toml"
    path.write_text(text, encoding="utf-8")
    return ht.Domain.load(path)


def one(folder: Path, entry: str) -> Attribute:
    """The attribute of a file with this entry alone."""
    (attribute,) = load(folder, f'[[attribute]]\nname = "x"\n{entry}\n').attributes
    return attribute


def test_the_example_of_the_reference_loads(tmp_path: Path) -> None:
    domain = load(tmp_path, examples.COMMUTE)

    assert domain == ht.Domain(
        title="Commuters",
        attributes=(
            Attribute(name="home", column="h_geocode", values=Integers(low=0, high=999_999)),
            Attribute(
                name="sector",
                values=Categories(values=("farming", "industry", "services", "unknown")),
                missing=Other(value="unknown"),
            ),
            Attribute(
                name="age",
                values=Bins(start=Fraction(0), stop=Fraction(100), step=Fraction(5)),
                outside="clamp",
            ),
            Attribute(name="income", values=Edges(edges=(Fraction(0), Fraction(1, 2), Fraction(1000)))),
            Attribute(
                name="when",
                values=Times(
                    start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second"
                ),
            ),
        ),
    )
    assert domain.names == ("home", "sector", "age", "income", "when")
    assert domain.shape == domain.space.shape == (10**6, 4, 20, 2, 366)
    assert domain.cells_total == prod(domain.shape)
    assert domain.reviewed
    assert domain.attribute("age") is domain.attributes[2]
    sizes = "home: 1000000, sector: 4, age: 20, income: 2, when: 366"
    assert repr(domain) == f"Domain('Commuters', {sizes}, cells_total=58560000000)"


def test_a_draft_is_marked(tmp_path: Path) -> None:
    domain = load(tmp_path, f"reviewed = false\n{examples.COMMUTE}")

    assert not domain.reviewed
    assert "reviewed=False" in repr(domain)
    assert domain.digest == load(tmp_path, examples.COMMUTE).digest


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ("bins = { start = 0.1, stop = 0.7, step = 0.2 }", Bins(start=0.1, stop=0.7, step=0.2)),  # type: ignore[arg-type]
        (
            'bins = { start = 0, stop = 1, step = "1/3" }',
            Bins(start=Fraction(0), stop=Fraction(1), step=Fraction(1, 3)),
        ),
        (
            'categories = { values = ["a"], labels = ["A"] }',
            Categories(values=("a",), labels=("A",)),
        ),
    ],
)
def test_numbers_and_labels_in_the_file(tmp_path: Path, entry: str, values: object) -> None:
    assert one(tmp_path, entry).values == values


@pytest.mark.parametrize(
    ("start", "stop", "every", "size", "step", "unit"),
    [
        ('"2024-01-01"', '"2024-01-02"', "1 second", 86_400, 1, "second"),
        ('"2024-01-01 06:00"', '"2024-01-01 18:00"', "15 minutes", 48, 900, "second"),
        ('"2024-01-01T06:00:00"', '"2024-01-01T18:00:00"', "2 hours", 6, 7200, "second"),
        ("2024-01-01", "2024-03-01", "1 day", 60, 86_400, "second"),
        ("2024-01-01T06:00:00", "2024-01-29T06:00:00", "2 weeks", 2, 1_209_600, "second"),
        ("2024-01-01 00:00:00", "2025-01-01 00:00:00", "1 month", 12, 1, "month"),
        ('"2000-03-01"', '"2004-03-01"', "2 years", 2, 24, "month"),
    ],
)
def test_ways_to_write_times(
    tmp_path: Path, start: str, stop: str, every: str, size: int, step: int, unit: str
) -> None:
    values = one(tmp_path, f'times = {{ start = {start}, stop = {stop}, every = "{every}" }}').values

    assert isinstance(values, Times)
    assert (values.size, values.every, values.unit, values.timezone) == (size, step, unit, "UTC")


TABLE = [("06001", "Alameda, CA"), (" 06003", 'The "Alps"'), ("é", ""), ("NULL", "NA")]


def written(folder: Path, name: str) -> None:
    """Write the table as a category file of the kind that `name` ends in."""
    if name.endswith(".parquet"):
        codes = pa.array([code for code, _ in TABLE]).dictionary_encode()
        pq.write_table(
            pa.table({"code": codes, "title": [title or None for _, title in TABLE]}), folder / name
        )
        return
    mark = "\t" if ".tsv" in name else ","
    quoted = [[field.replace('"', '""') for field in row] for row in TABLE]
    lines = [f"code{mark}title", *(mark.join(f'"{field}"' for field in row) for row in quoted)]
    raw = "\ufeff" + "\r\n".join(lines) + "\r\n\r\n"
    (folder / name).write_bytes(gzip.compress(raw.encode()) if name.endswith(".gz") else raw.encode())


@pytest.mark.parametrize("name", ["c.csv", "c.tsv", "c.csv.gz", "c.TSV.gz", "c.parquet", "sub/c.csv"])
def test_category_files_are_kept_to_the_letter(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path, name.replace("TSV", "tsv"))
    if "TSV" in name:
        (tmp_path / name.replace("TSV", "tsv")).rename(tmp_path / name)
    attribute = one(tmp_path, f'categories = {{ file = "{name}", column = "code", label = "title" }}')

    assert isinstance(attribute.values, Categories)
    assert attribute.values.values == ("06001", " 06003", "é", "NULL")
    assert attribute.values.labels == ("Alameda, CA", 'The "Alps"', "é", "NA")
    without = one(
        tmp_path, f'categories = {{ file = "{name}", column = "code" }}\nmissing = {{ other = "?" }}'
    )
    assert without.values == Categories(values=("06001", " 06003", "é", "NULL", "?"))


def test_the_only_column_needs_no_name(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("code\n02\n01\n\n")

    assert one(tmp_path, 'categories = { file = "one.csv" }').values == Categories(values=("02", "01"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_very_many_categories_load_fast(tmp_path: Path, ending: str) -> None:
    size = statistics.runs(125_000)  # a million in `make test-long`
    values = [f"{code:08d}" for code in range(size)]
    if ending == "csv":
        (tmp_path / "many.csv").write_text("code,title\n" + "\n".join(f"{value},t" for value in values))
    else:
        pq.write_table(pa.table({"code": values}), tmp_path / "many.parquet")
    start = process_time()
    domain = load(
        tmp_path, f'[[attribute]]\nname = "x"\ncategories = {{ file = "many.{ending}", column = "code" }}'
    )

    assert process_time() - start < 5  # of a million, measured: 0.7 s and 0.4 s
    assert repr(domain) == f"Domain(x: {size}, cells_total={size})"
    assert len(repr(domain.attributes)) < 300
    codes = np.arange(size)[:, np.newaxis]
    assert domain.decode(codes)["x"].to_pylist() == values
    assert domain.attributes[0].place(values[-1]) == size - 1


def test_loading_does_not_need_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("code\n02\n01\n")
    (tmp_path / "domain.toml").write_text('[[attribute]]\nname = "x"\ncategories = { file = "one.csv" }')
    code = "import hushtable as ht, sys; ht.Domain.load('domain.toml'); print('pyarrow' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )

    assert run.stdout == "False\n"


@st.composite
def domains(draw: st.DrawFn) -> ht.Domain:
    attributes = [draw(examples.attributes(name=f"x{i}")) for i in range(draw(st.integers(1, 5)))]
    return ht.Domain(
        attributes=tuple(attributes), title=draw(examples.lines(max_size=5)), reviewed=draw(st.booleans())
    )


@given(domains())
def test_a_description_is_the_domain_again(domain: ht.Domain) -> None:
    again = ht.Domain.from_dict(json.loads(json.dumps(domain.to_dict())))

    assert again == domain
    assert again.digest == domain.digest
    assert hash(again) == hash(domain)


@given(domains(), st.data())
def test_decoded_cells_have_their_codes(domain: ht.Domain, data: st.DataObject) -> None:
    codes = [data.draw(st.tuples(*(st.integers(0, size - 1) for size in domain.shape))) for _ in range(3)]
    table = domain.decode(np.array(codes, dtype=np.int64))

    assert table.column_names == list(domain.names)
    for attribute, column in zip(domain.attributes, zip(*codes, strict=True), strict=True):
        assert [attribute.values.code_of(value) for value in table[attribute.name].to_pylist()] == list(
            column
        )


def test_many_rows_decode_in_parts(tmp_path: Path) -> None:
    domain = load(tmp_path, '[[attribute]]\nname = "x"\ncategories = ["a", "b", "c"]')
    codes = (np.arange(2**20 + 5) % 3)[:, np.newaxis]
    table = domain.decode(codes)

    assert table["x"].to_pylist() == ["abc"[code] for code in codes[:, 0].tolist()]


def test_no_rows_decode_to_typed_columns(tmp_path: Path) -> None:
    table = load(tmp_path, examples.COMMUTE).decode(np.empty((0, 5), dtype=np.int64))

    assert table.num_rows == 0
    assert table.schema.types == [pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.date32()]


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        (np.zeros((2, 4), dtype=np.int64), "one column for each of 5 attributes"),
        (np.zeros(5, dtype=np.int64), "one column for each of 5 attributes"),
        (np.array([[0, 4, 0, 0, 0]]), "codes of attribute 'sector' lie outside 0..3"),
        (np.array([[-1, 0, 0, 0, 0]]), "codes of attribute 'home' lie outside 0..999999"),
    ],
)
def test_codes_of_another_domain_are_refused(tmp_path: Path, codes: np.ndarray, text: str) -> None:
    with pytest.raises(ht.BadTable, match=text):
        load(tmp_path, examples.COMMUTE).decode(codes)


def test_domains_beyond_64_bits() -> None:
    wide = ht.Domain(
        attributes=tuple(Attribute(name=f"x{i}", values=Integers(low=0, high=10**6 - 1)) for i in range(40))
    )
    codes = np.array([[10**6 - 1 - i for i in range(40)], list(range(40))])
    keys = wide.space.pack(codes)

    assert wide.cells_total == 10**240
    assert repr(wide).endswith("x11: 1000000, 28 more, cells_total=<about 10^240.0>)")
    assert wide.decode(wide.space.unpack(keys)).to_pydict() == {
        f"x{i}": [10**6 - 1 - i, i] for i in range(40)
    }


def test_the_digest_follows_the_cells_alone(tmp_path: Path) -> None:
    domain = load(tmp_path, examples.COMMUTE)
    same = [
        examples.COMMUTE.replace("Commuters", "Others"),
        examples.COMMUTE.replace('column = "h_geocode"', ""),
        examples.COMMUTE.replace('outside = "clamp"', ""),
        examples.COMMUTE.replace('"services"]\nmissing = { other = "unknown" }', '"services", "unknown"]'),
    ]
    others = [
        examples.COMMUTE.replace('"home"', '"house"'),
        examples.COMMUTE.replace("999999", "999998"),
        examples.COMMUTE.replace("step = 5", "step = 10"),
        examples.COMMUTE.replace("0.5", "0.25"),
        examples.COMMUTE.replace('"UTC"', '"Europe/Berlin"'),
        examples.COMMUTE.replace('["farming", "industry"', '["industry", "farming"'),
    ]

    assert {load(tmp_path, text).digest for text in same} == {domain.digest}
    assert len({domain.digest, *(load(tmp_path, text).digest for text in others)}) == 7
    # Releases carry it for ever.
    assert domain.digest == "043374b038aa4726a25832064f705914b5d3f3c5f95081e9eab39b6348c6e75e"


def test_a_description_says_what_a_file_would(tmp_path: Path) -> None:
    assert load(tmp_path, examples.COMMUTE).to_dict() == {
        "title": "Commuters",
        "reviewed": True,
        "attribute": [
            {"name": "home", "column": "h_geocode", "integers": {"low": "0", "high": "999999"}},
            {
                "name": "sector",
                "categories": ["farming", "industry", "services", "unknown"],
                "missing": {"other": "unknown"},
            },
            {"name": "age", "bins": {"start": "0", "stop": "100", "step": "5"}, "outside": "clamp"},
            {"name": "income", "bins": {"edges": ["0", "1/2", "1000"]}},
            {
                "name": "when",
                "times": {
                    "start": "2024-01-01 00:00:00",
                    "stop": "2025-01-01 00:00:00",
                    "every": "1 day",
                    "timezone": "UTC",
                },
            },
        ],
    }


def test_dates_decode_as_dates(tmp_path: Path) -> None:
    table = load(tmp_path, examples.COMMUTE).decode(np.array([[7, 3, 19, 1, 59]]))

    assert table.to_pylist() == [
        {"home": 7, "sector": "unknown", "age": 95, "income": 0.5, "when": date(2024, 2, 29)}
    ]


@pytest.mark.parametrize("title", ["a\nb", "a\x1b[2J", "a\u202eb", "a\u2028b", "\x00", "x" * 10_001])
def test_a_title_is_one_line_of_printable_text(title: str, tmp_path: Path) -> None:
    with pytest.raises(ht.BadDomain, match="is not a line of text") as caught:
        load(
            tmp_path,
            f'title = {json.dumps(title)}\n[[attribute]]\nname = "x"\nintegers = {{ low = 0, high = 1 }}',
        )

    assert str(caught.value).removeprefix(str(tmp_path)).isprintable()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"name": "x" * 1001, "integers": {"low": 0, "high": 1}}, "has 1,001 characters"),
        ({"name": "x", "column": "y" * 1001, "integers": {"low": 0, "high": 1}}, "has 1,001 characters"),
        ({"name": "x", "categories": ["a", "b" * 1001]}, "categories hold .* a text of 1,001 characters"),
        ({"name": "x", "categories": {"values": ["a"], "labels": ["b" * 1001]}}, "labels hold"),
        ({"name": "x", "bins": {"edges": list(range(100_001))}}, "100,001 edges, and 100,000 are allowed"),
    ],
)
def test_longer_texts_and_lists_than_a_release_may_hold(attribute: dict[str, object], message: str) -> None:
    with pytest.raises(ht.BadDomain, match=message):
        ht.Domain.from_dict({"attribute": [attribute]})


def test_as_many_attributes_as_a_release_may_have_take_no_time() -> None:
    tables = [{"name": f"a{place}", "integers": {"low": 0, "high": place % 2}} for place in range(10_001)]
    with pytest.raises(ht.BadDomain, match="there are 10,001 attributes, and 10,000 are allowed"):
        ht.Domain.from_dict({"attribute": tables})
    start = process_time()
    domain = ht.Domain.from_dict({"attribute": tables[:-1]})

    assert domain.cells_total == 2**5000
    assert process_time() - start < 3


def test_a_domain_that_no_footer_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"attribute": [{"name": "x", "categories": ["a" * 500, "b" * 500]}]}
    assert ht.Domain.from_dict(described).attributes[0].described > 1000
    monkeypatch.setattr("hushtable.domain.domain.LARGEST_DOMAIN", 201_000)

    with pytest.raises(ht.BadDomain, match="characters to describe"):
        ht.Domain.from_dict(described)


@given(attribute=examples.attributes("\N{GREEK SMALL LETTER ALPHA}"))
def test_the_bound_on_a_description_is_one(attribute: Attribute) -> None:
    (table,) = ht.Domain(attributes=(attribute,)).to_dict()["attribute"]

    assert len(json.dumps(table)) <= attribute.described
