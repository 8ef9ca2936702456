"""Footers of strangers: whatever they say, a release opens and answers, or there is one error of ours.

No text of a file reaches a screen with a character that does not print: no line is forged, no cursor moved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import printable
from hushtable.laws.rationals import as_fraction
from hushtable.release.footer import UNKNOWN, entries_of
from hushtable.release.json import NotJSON, pack, read_json, unpack
from hushtable.release.record import Terms
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.marginals import Marginals
from hushtable.structures.pruned import Tree
from hushtable.structures.sketch import CountSketch
from tests.cli.commands import run
from tests.harness.statistics import tries
from tests.release.examples import (
    PLAN,
    all_buckets,
    all_cells,
    all_nodes,
    cube_terms,
    people,
    rows,
    sketch_terms,
    terms,
    tree_terms,
    write,
)
from tests.release.forging import Fields, forged, rewritten

ODD = [
    "\x1b[2J",
    "a\nForged: line",
    "a\rb",
    "\x00",
    "\u202egnp",
    "a\u2028b",
    "\x9b31m",
    "\ud800",
    "a\u200bb",
    "\ufeffid",
]
NUMBERS: list[Any] = [0, -1, 1 << 31, 1 << 63, 10**400, -(10**4000), 1e308, -1e-308, 0.5, True]
TEXTS: list[Any] = [
    "",
    "1e400",
    "-1e4000",
    "1e999999999",
    "1/0",
    "1/3",
    "9" * 5000,
    "nan",
    "inf",
    "0x10",
    "x" * 20_000,
]
OTHERS: list[Any] = [None, False, [], {}, [[]], [{}], {"a": {}}, [0] * 2000, ["a"] * 2000, [[[[]]]], *ODD]
VALUES = st.sampled_from([*NUMBERS, *TEXTS, *OTHERS])
COMMANDS = [["show"], ["query", "--by", "home"], ["sql", "SELECT * FROM release"]]
MEASURE = Measure(sum_column="amount", clamp=(0, 9), unit=Unit("person", max_rows=3))


def releases() -> Iterator[tuple[Terms, Any]]:
    """Yield a release of each kind."""
    yield people(measure=MEASURE, plan=PLAN, where="a = 1", query="SELECT 1")
    tree, pruned = tree_terms(Dyadic()), tree_terms(Tree())
    yield tree, all_nodes(tree)
    yield pruned, all_nodes(pruned)
    cube = cube_terms(Marginals(["home"], ["home", "hour"], weights=["1/2", 3]))
    yield cube, all_cells(cube)
    sketch = sketch_terms(CountSketch(width=4, depth=2))
    yield sketch, all_buckets(sketch)


@pytest.fixture(scope="module")
def made() -> list[tuple[pa.Table, dict[str, Any]]]:
    """Rows and footers of releases of each kind."""
    found = []
    with TemporaryDirectory() as folder:
        for number, release in enumerate(releases()):
            path = Path(folder) / f"{number}.parquet"
            write(path, *release)
            table = pq.read_table(path).replace_schema_metadata(None)
            found.append((table, json.loads(entries_of(release[0])["hushtable"])))
    return found


def places(said: Any, *before: Any) -> Iterator[tuple[Any, ...]]:
    """Yield where the values of a JSON document are."""
    pairs = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    for key, inner in pairs:
        yield (*before, key)
        yield from places(inner, *before, key)


def changed(said: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a place."""
    copy = json.loads(json.dumps(said))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


def every_text(release: ht.Release) -> Iterator[str]:
    """Yield what is printed of a release, and what answers say."""
    yield from repr(release).split("\n")
    yield from (release.guarantee, release.domain.title, release.terms.version, repr(release.terms))
    yield from re.sub("<[^>]*>", "", release._repr_html_()).split("\n")
    yield repr(release.total())
    name = release.domain.names[0]
    yield release.by(name, top=3).schema.metadata[b"note"].decode()


def look(path: Path) -> None:
    """Open a release and look at all of it."""
    refused = ""
    try:
        release = ht.open(path)
        lines = list(every_text(release))
        assert len(release.codes) == len(release)
    except ht.HushtableError as error:
        refused = str(error)
        lines = refused.split("\n")
    assert len(refused) < 3000
    assert UNKNOWN not in refused
    assert [line for line in lines if not line.isprintable()] == []


@given(data=st.data())
@settings(max_examples=tries(250), deadline=None)
def test_any_change_of_a_footer_gives_values_or_one_error(
    data: st.DataObject, made: list[tuple[pa.Table, dict[str, Any]]]
) -> None:
    table, said = data.draw(st.sampled_from(made))
    for _ in range(data.draw(st.integers(1, 2))):
        said = changed(said, data.draw(st.sampled_from(sorted(places(said), key=str))), data.draw(VALUES))
    if data.draw(st.booleans()):
        with_digest(said)
    with TemporaryDirectory() as folder:
        look(rewritten(Path(folder) / "x.parquet", table, {"hushtable": json.dumps(said)}))


def with_digest(said: dict[str, Any]) -> None:
    """Let the digest be that of the domain, as whoever forges a file would."""
    with suppress(ht.HushtableError, KeyError, TypeError):
        said["domain_digest"] = ht.Domain.from_dict(said["domain"]).digest


@given(data=st.data())
@settings(max_examples=tries(150), deadline=None)
def test_any_change_of_what_parquet_is_told_gives_values_or_one_error(data: st.DataObject, made: Any) -> None:
    table, said = data.draw(st.sampled_from(made))

    def change(fields: Fields) -> None:
        """Change, repeat or take out something, some levels down."""
        inner: Any = fields
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                return
            key = data.draw(st.sampled_from(keys))
            value = inner[key][1] if isinstance(inner, dict) else inner[key]
            value = value[1] if isinstance(value, list) else value
            if isinstance(value, dict | list) and data.draw(st.integers(0, 4)):
                inner = value
                continue
            number = data.draw(st.sampled_from([0, 1, -1, 20, 1 << 20, 1 << 31, (1 << 62) + 1]))
            if isinstance(value, int) and isinstance(inner, dict):
                inner[key][1] = number
            elif isinstance(inner, list):
                inner[key:key] = [inner[key]] * min(abs(number), 1000)
            else:
                del inner[key]
            return

    with TemporaryDirectory() as folder:
        path = rewritten(Path(folder) / "x.parquet", table, {"hushtable": json.dumps(said)})
        try:
            forged(path, change)
        except ht.BadRelease:  # there is no checksum any more to be filled in
            return
        look(path)


@pytest.mark.parametrize("text", ODD)
def test_odd_text_comes_out_escaped(text: str, tmp_path: Path, made: Any) -> None:
    table, said = made[0]
    odd = f"x{text}y"
    said = json.loads(json.dumps(said))
    said |= {"version": odd, "rule": odd, "where": odd, "query": odd}
    said["plan"] |= {"rule": odd, "assumed": odd}
    said["measure"] |= {"sum_column": odd}
    said["measure"]["unit"]["column"] = odd
    said["domain"]["title"] = odd
    said["domain"]["attribute"][1]["column"] = odd
    path = rewritten(tmp_path / "x.parquet", table, {"hushtable": json.dumps(said)})
    release = ht.open(path)
    shown = run("show", path, width=500)

    assert shown.exit_code == 0
    texts = [*every_text(release), *shown.stdout.split("\n")]
    assert [line for line in texts if not line.isprintable()] == []
    assert "Forged" not in [line.strip()[:6] for line in repr(release).split("\n")]
    assert release.domain.title == release.terms.version == printable(odd)


@pytest.mark.parametrize("text", [each for each in ODD if each != "\ud800"])
def test_categories_are_kept_to_the_letter_and_shown_escaped(text: str, tmp_path: Path) -> None:
    values = ["n", f"s{text}"]
    domain = ht.Domain.from_dict(
        {"attribute": [{"name": "home", "categories": {"values": values, "labels": values}}]}
    )
    made = terms(domain, method=ht.Everything(), rule=None, cutoff=None, threshold=None)
    write(tmp_path / "x.parquet", made, rows(made, np.array([[0], [1]]), np.array([30, 40])))
    release = ht.open(tmp_path / "x.parquet")
    said = [run(word, tmp_path / "x.parquet", *more, width=300) for word, *more in COMMANDS]

    assert release.to_arrow()["home"].to_pylist() == values
    assert release.domain == domain
    assert [each.exit_code for each in said] == [0] * len(COMMANDS)
    texts = [*every_text(release), *(line for each in said for line in each.stdout.split("\n"))]
    assert [line for line in texts if not line.isprintable()] == []


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal256(50, 2),
        pa.decimal128(20, 1),
        pa.float16(),
        pa.binary(4),
        pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.dictionary(pa.int8(), pa.int64()),
        pa.time64("ns"),
        pa.duration("s"),
        pa.timestamp("ns", tz="Europe/Berlin"),
        pa.bool_(),
        pa.null(),
        pa.large_binary(),
        pa.uint64(),
    ],
    ids=str,
)
@pytest.mark.parametrize("beside", [True, False])
def test_odd_types_are_one_error(kind: pa.DataType, beside: bool, tmp_path: Path, made: Any) -> None:
    table, said = made[0]
    column = pa.nulls(table.num_rows, kind)
    table = table.append_column("more", column) if beside else table.set_column(1, "person.age", column)
    for stored in (False, True):
        path = rewritten(tmp_path / "x.parquet", table, {"hushtable": json.dumps(said)}, store_schema=stored)
        with pytest.raises(ht.BadRelease, match=r"columns|too many"):
            ht.open(path)


@pytest.mark.parametrize("total", ["1e400", "-1e4000", str(1 << 128), "1e999999999", "1/2", "9" * 9000])
def test_totals_that_no_table_has(total: str, tmp_path: Path, made: Any) -> None:
    table, said = made[0]
    path = rewritten(tmp_path / "x.parquet", table, {"hushtable": json.dumps(said | {"total": total})})

    with pytest.raises(ht.BadRelease, match=r"total"):
        ht.open(path)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf"), 1e308, -(2.0**129)])
def test_weights_that_no_count_has(weight: float, tmp_path: Path, made: Any) -> None:
    said_of_it = "beyond all totals" if abs(weight) < np.inf else "not finite"
    for table, said in made:
        place = table.column_names.index("weight")
        odd = pa.array([*table["weight"].to_pylist()[1:], weight], pa.float64())
        table = table.set_column(place, table.schema.field("weight"), odd)
        release = ht.open(rewritten(tmp_path / "x.parquet", table, {"hushtable": json.dumps(said)}))

        with pytest.raises(ht.BadRelease, match=said_of_it):
            release.to_arrow()
        result = run("export", tmp_path / "x.parquet", "--output", tmp_path / "x.json")
        assert (result.exit_code, said_of_it in result.output) == (3, True)


@given(
    text=st.from_regex(r"[+-]?[0-9_.]{0,9}([eE/][+-]?[0-9_]{0,12})?\s?", fullmatch=True)
    | st.from_regex("[0-9\u0660-\u0669]{1,3}[eE][+-]?[0-9\u0660-\u0669]{1,12}", fullmatch=True)
)
@settings(max_examples=tries(300))
def test_numbers_of_any_text_are_read_at_once_or_refused(text: str) -> None:
    try:
        found = as_fraction(text, name="epsilon")
    except ht.BadNumber:
        return
    assert found == Fraction(text)
    assert max(found.numerator.bit_length(), found.denominator.bit_length()) < 20_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def size_of(said: Any) -> int:
    inner = said.values() if isinstance(said, dict) else said if isinstance(said, list) else ()
    return 1 + sum(map(size_of, inner))


@given(said=json_values, most=st.integers(1, 30), ends=st.sampled_from([(",", ":"), (" ,\n", " : ")]))
def test_json_is_read_if_it_holds_few_values(said: Any, most: int, ends: tuple[str, str]) -> None:
    text = json.dumps(said, separators=ends).encode()
    if size_of(said) <= most // 2:  # an opening bracket and a comma may stand for one value
        assert read_json(text, most=most) == said
    try:
        assert read_json(text, most=most) == said
    except NotJSON:
        assert size_of(said) > most // 2
    else:
        assert size_of(said) <= most


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (b'{"a":1,"a":2}', "a key twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "-Infinity"),
        (b"[" * 17 + b"]" * 17, "more than 16 deep"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"a"', "cannot be read"),
        ('{"a":"ä"}'.encode(), "not ASCII"),
        ('{"a":1}'.encode("utf-16"), "not ASCII|cannot be read"),
        (b"[" + b"9" * 5000 + b"]", "cannot be read"),
        (b'["' + b"\\" * 9999, "cannot be read"),
    ],
)
def test_json_that_is_refused(text: bytes, fact: str) -> None:
    with pytest.raises(NotJSON, match=fact):
        read_json(text, most=1000 if b"[[" not in text else 1_000_000)


def test_what_is_in_quotes_is_no_value() -> None:
    commas = json.dumps(['[,{\\"' * 1000, "\\"]).encode()

    assert read_json(commas, most=10) == json.loads(commas)


@pytest.mark.parametrize(
    "said",
    [
        ["a" * 18_000_000],  # so regular that its packed form is a thousandth of it
        ["yes", "no"] * 600_000,
        [f"{place:07}" for place in range(200_000)],
    ],
    ids=["long", "alike", "distinct"],
)
def test_whatever_is_packed_is_unpacked(said: Any) -> None:
    assert unpack(pack(json.dumps(said)).encode()) == said
