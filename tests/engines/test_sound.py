"""Values of Arrow that are not of their type: one bad value each, on whatever level they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.engines.sliced.sound import sound
from tests.engines.reference import counts_of

DOMAIN = ht.Domain(attributes=(Attribute(name="x", values=Integers(low=0, high=9)),))
WHO = ht.Unit("who", max_rows=1)


def decimals(numbers: list[int], kind: Any) -> pa.Array:
    """Return decimals by what is stored of them, whatever their type says."""
    raw = b"".join(number.to_bytes(kind.byte_width, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(raw)])


def texts(kind: Any = None) -> pa.Array:
    """Return text of which the second and third are none."""
    raw = pa.array([b"a", b"b\xff", b"b\xff\xff", b"c"], pa.binary())
    if kind == pa.string_view():
        return raw.cast(pa.binary_view()).view(kind)
    return raw.cast(pa.large_binary()).view(kind) if kind == pa.large_string() else raw.view(pa.string())


# Of four values, the second and the third are not of their type.
BAD: dict[str, pa.Array] = {
    "text": texts(),
    "long text": texts(pa.large_string()),
    "views of text": texts(pa.string_view()),
    "4 digits": decimals([1, 1 + (1 << 16), 1 - (1 << 16), 5], pa.decimal128(4, 0)),
    "9 digits": decimals([1, 1 + (1 << 32), 1 - (1 << 32), 5], pa.decimal128(9, 2)),
    "18 digits": decimals([1, 1 + (1 << 64), 1 - (1 << 64), 5], pa.decimal128(18, 0)),
    "4 of 32 bits": decimals([1, 1 + (1 << 16), 10**4, 5], pa.decimal32(4, 0)),
    "9 of 64 bits": decimals([1, 1 + (1 << 32), 10**9, 5], pa.decimal64(9, 0)),
    "times": pa.array([1, 86_400_000_000, -1, 5], pa.int64()).view(pa.time64("us")),
    "times in nanoseconds": pa.array([1, 1 << 62, -(1 << 62), 5], pa.int64()).view(pa.time64("ns")),
    "times in seconds": pa.array([1, 86_400, -1, 5], pa.int32()).view(pa.time32("s")),
}


def in_structs(values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values], ["v"])


def in_lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def in_long_lists(values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(range(len(values) + 1), pa.int64()), values)


def in_fixed_lists(values: pa.Array) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(values, 1)


def in_a_dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values)), pa.int8()), values)


def in_deep(values: pa.Array) -> pa.Array:
    return in_structs(in_lists(in_structs(values)))


INSIDE: dict[str, tuple[Any, str]] = {
    "alone": (lambda values: values, "v"),
    "dictionary": (in_a_dictionary, "v"),
    "struct": (in_structs, "v.v"),
    "list": (in_lists, "v[1]"),
    "long list": (in_long_lists, "v[1]"),
    "fixed list": (in_fixed_lists, "v[1]"),
    "deep": (in_deep, "v.v[1].v"),
}


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("bad", BAD)
def test_what_is_not_of_its_type_is_missing(bad: str, inside: str) -> None:
    make, _ = INSIDE[inside]
    values = make(BAD[bad])
    kept = sound(values)
    kept.validate(full=True)

    assert kept.type == values.type
    assert kept[0].as_py() == values[0].as_py()
    assert kept[3].as_py() == values[3].as_py()


@pytest.mark.parametrize(
    ("bad", "inside"),
    [("text", "struct"), ("text", "list"), ("4 digits", "alone"), ("18 digits", "deep"), ("times", "alone")],
)
def test_what_is_not_of_its_type_makes_no_two_people_one(bad: str, inside: str, tmp_path: Path) -> None:
    make, path = INSIDE[inside]
    table = pa.table({"x": [1, 2, 3, 4], "v": make(BAD[bad])})
    pa.feather.write_feather(table, str(tmp_path / "rows.arrow"))
    query = f"SELECT x, CAST({path} AS VARCHAR) AS who FROM data"

    for data in (table, tmp_path / "rows.arrow"):
        counts = counts_of(ht.count(data, domain=DOMAIN, query=query, unit=WHO))
        assert counts == {(1,): 1, (4,): 1}


def test_numbers_of_which_all_bits_are_kept_stay(tmp_path: Path) -> None:
    """As DuckDB hands over its own numbers of 128 bits: with 38 digits, by the type, and 39 in fact."""
    ids = decimals([(1 << 127) - 1, (1 << 127) - 2, -(1 << 127) + 1], pa.decimal128(38, 0))
    table = pa.table({"x": [1, 1, 1], "who": ids, "v": in_structs(ids)})
    pa.feather.write_feather(table, str(tmp_path / "rows.arrow"))
    query = "SELECT x, v.v AS who FROM data"

    assert sound(ids) is ids
    for data in (table, tmp_path / "rows.arrow"):
        assert counts_of(ht.count(data, domain=DOMAIN, unit=WHO)) == {(1,): 3}
        assert counts_of(ht.count(data, domain=DOMAIN, query=query, unit=WHO)) == {(1,): 3}


def test_runs_and_views_of_lists_are_not_read() -> None:
    """`sound` does not look into them, and DuckDB would."""
    runs = pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"])
    views = pa.array([["a"], ["b"]], pa.list_view(pa.string()))
    for values in (runs, views):
        table = pa.table({"x": [1, 2], "v": values})

        assert counts_of(ht.count(table, domain=DOMAIN)) == {(1,): 1, (2,): 1}
        with pytest.raises(ht.BadData, match="which is not read"):
            ht.count(table, domain=DOMAIN, where="v IS NOT NULL")


@given(st.lists(st.binary(max_size=3) | st.none(), max_size=6), st.integers(0, 6), st.sampled_from([*INSIDE]))
def test_any_bytes_as_text_are_text_or_missing(found: list[bytes | None], first: int, inside: str) -> None:
    make, _ = INSIDE[inside]
    values = make(pa.array(found, pa.binary()).view(pa.string())).slice(first)
    kept = sound(values)

    pa.concat_arrays([kept, kept.slice(0, 0)]).validate(full=True)
    assert len(kept) == len(values)
    for place, raw in enumerate(found[first:]):
        whole = make(pa.array([raw], pa.binary()).view(pa.string()))
        if raw is None or raw.decode(errors="replace").encode() == raw:
            assert kept[place].as_py() == whole[0].as_py()


def test_decimals_of_parquet_of_too_many_digits_are_missing(tmp_path: Path) -> None:
    """Parquet keeps 4 digits in 32 bits, of which DuckDB would keep 16: 65,537 would be 1."""
    path = tmp_path / "rows.parquet"
    ids = pa.array([1, 2345, 4321], pa.decimal128(4, 0))
    table = pa.table({"x": [1, 2, 3], "who": ids})
    pq.write_table(table, path, use_dictionary=False, compression="none", store_decimal_as_integer=True)
    raw = path.read_bytes()
    stored = (2345).to_bytes(4, "little")
    first = raw.index(stored)
    path.write_bytes(raw[:first] + (65_537).to_bytes(4, "little") + raw[first + 4 :])

    assert counts_of(ht.count(path, domain=DOMAIN, unit=WHO)) == {(1,): 1, (3,): 1}
    assert counts_of(ht.count(path, domain=DOMAIN)) == {(1,): 1, (2,): 1, (3,): 1}
