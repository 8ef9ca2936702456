"""How a value of a row can be stored: physical types of Arrow, DuckDB, SQLite, JSON and CSV, and who is who.

A stored value is kept as a plain Python value (`raw`): ticks for times, text for JSON and CSV. `identity`
says which raws are the same unit, from the raws alone: it shares no code with what is tested.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import inf, nan
from typing import Any

import numpy as np
import pyarrow as pa

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400


@dataclass(frozen=True, eq=False)
class Stored:
    """A physical type. `family` says what raws are; `sql` is DuckDB's type where Arrow has none like it."""

    name: str
    family: str
    raws: tuple[Any, ...]  # common and odd ones; neighbours in this list are often alike
    arrow: Any = None
    sql: str = ""
    alike: tuple[tuple[Any, ...], ...] = ()  # raws that a careless reader takes for one another

    def array(self, raws: Sequence[Any]) -> Any:
        """Return raws as a column of Arrow."""
        if self.sql:
            return pa.array([None if raw is None else str(raw) for raw in raws], type=pa.string())
        kind = self.arrow
        if self.family in ("clock", "instant", "time", "duration", "day"):
            whole = pa.int32() if kind.bit_width == 32 else pa.int64()
            return pa.array(raws, type=whole).cast(kind)
        if pa.types.is_float16(kind):
            return pa.array([None if raw is None else np.float16(raw) for raw in raws], type=kind)
        if pa.types.is_dictionary(kind) or self.name == "text view":
            return pa.array(raws, type=pa.string()).cast(kind)
        if self.family == "uuid":
            return pa.ExtensionArray.from_storage(kind, pa.array(raws, type=pa.binary(16)))
        return pa.array(raws, type=kind)

    def identity(self, raw: Any) -> Hashable | None:
        """Return whose row a value makes it: equal for one unit alone, None for nobody's."""
        if raw is None:
            return None
        match self.family:
            case "whole" | "decimal":
                return ("number", Fraction(raw))
            case "text" | "csv":
                return ("text", raw)
            case "clock" | "instant":
                return (self.family, raw * _NANOSECONDS[self.arrow.unit])
            case "day":
                return ("clock", raw * (_DAY * 10**9 if self.arrow.bit_width == 32 else 10**6))
            case "duration" | "time":
                return (self.family, raw * _NANOSECONDS[self.arrow.unit])
            case "json":
                return _json_identity(raw)
            case "sqlite":
                return _sqlite_identity(self.sql, raw)
        return (self.family, repr(raw))

    def plain(self, raw: Any) -> Any:
        """Return what a row holds as `Attribute.place` takes it; `ValueError` where that is not clear."""
        if raw is None or self.family in ("whole", "text", "decimal", "float"):
            return raw
        match self.family:
            case "csv":
                return raw or None
            case "json":
                value = json.loads(raw)
                if value is None or isinstance(value, str) or (type(value) is int and "e" not in raw.lower()):
                    return value
            case "sqlite":
                declared, stored = self.sql, _affine(self.sql, raw)
                if ("INT" in declared and type(stored) is int) or (
                    "TEXT" in declared and type(stored) is str
                ):
                    return stored
            case "day":
                days = raw if self.arrow.bit_width == 32 else raw / (_DAY * 1000)
                if days == int(days) and abs(days) < 500_000:
                    return date(1970, 1, 1) + timedelta(days=int(days))
            case "clock" | "instant":
                microseconds = raw * _NANOSECONDS[self.arrow.unit] // 1000
                if abs(microseconds) < 500_000 * _DAY * 10**6:
                    zone = UTC if self.family == "instant" else None
                    return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=microseconds)
        raise ValueError


def _json_identity(raw: str) -> Hashable | None:
    if raw[0] in "-0123456789":
        return ("number", Fraction(raw))
    value = json.loads(raw)
    if value is None:
        return None
    return ("text", value) if isinstance(value, str) else ("json", json.dumps(value, sort_keys=True))


def _sqlite_identity(declared: str, raw: Any) -> Hashable | None:
    stored = _affine(declared, raw)
    if stored is None:
        return None
    if isinstance(stored, float) and not abs(stored) < inf:
        return ("number", repr(stored))
    return (
        ("number", Fraction(stored)) if isinstance(stored, int | float) else (type(stored).__name__, stored)
    )


def _affine(declared: str, raw: Any) -> Any:
    """Return what SQLite makes of a value in a column of a declared type. 1 and 1.0 are told apart."""
    return _affine_as(declared, raw, type(raw).__name__)


@cache
def _affine_as(declared: str, raw: Any, _kind: str) -> Any:
    lite = sqlite3.connect(":memory:")
    try:
        column, strict = declared.removesuffix(" strict"), "STRICT" if declared.endswith(" strict") else ""
        lite.execute(f"CREATE TABLE one (value {column}) {strict}")
        lite.execute("INSERT INTO one VALUES (?)", (raw,))
        return lite.execute("SELECT value FROM one").fetchall()[0][0]
    finally:
        lite.close()


def _wholes(low: int, high: int) -> tuple[int, ...]:
    odd = (0, 1, -1, 2, 10, 127, -128, 255, 2**31 - 1, 2**32, 2**53, 2**53 + 1, 2**60, 2**63 - 1, 2**63)
    more = (2**64 - 1, -(2**63), -(2**53) - 1, 2**64 + 1, 2**127 - 1)
    return tuple(value for value in (*odd, *more) if low <= value <= high)


def _text(name: str, kind: Any, more: tuple[str, ...] = ()) -> Stored:
    return Stored(name, "text", (*_TEXTS, *more), kind, alike=_ALIKE_TEXTS)


def _ticks(unit: str) -> tuple[int, ...]:
    """Return ticks that differ by one, and some beyond the years that microseconds or dates reach."""
    second = 10**9 // _NANOSECONDS[unit]
    base = 1_704_067_200 * second
    beyond = {"s": 9_300_000_000_000, "ms": 9_300_000_000_000_000, "us": 2**63 - 2, "ns": 2**63 - 2}[unit]
    return (
        base,
        base + 1,
        base + 2,
        base + second,
        0,
        -1,
        1,
        beyond,
        -beyond,
        253_402_300_800 * second % 2**62,
    )


_TEXTS = (
    *(
        "",
        " ",
        "1",
        "01",
        "1.0",
        "1e0",
        "true",
        "True",
        "a",
        "A",
        "a ",
        " a",
        "ss",
        "\N{LATIN SMALL LETTER SHARP S}",
    ),
    *(
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "e\u0301",
        "a\0b",
        "a\0",
        "NULL",
        "null",
        "nan",
        "-0",
        "0",
        "a/1",
        "a/",
    ),
    *(
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "-1",
        '"',
        "'",
        ",",
        "a\nb",
        "a\tb",
        "\\N",
        "[1]",
    ),
    *(
        '{"a":1}',
        "\U0001f600",
        "2024-01-01",
        "\N{KELVIN SIGN}",
        "K",
        "k",
        "x" * 60,
        "x" * 60 + "y",
        "\ufeffa",
        "%",
        "(",
    ),
)
_ALIKE_TEXTS = (
    ("", " ", "  "),
    ("1", "01", "1.0", "+1", " 1", "1e0"),
    ("true", "True", "TRUE", "t"),
    ("a", "A", "a ", " a", "\ufeffa"),
    ("ss", "\N{LATIN SMALL LETTER SHARP S}", "SS"),
    ("\N{LATIN SMALL LETTER E WITH ACUTE}", "e\u0301", "e"),
    ("a\0b", "a\0", "a"),
    ("K", "k", "\N{KELVIN SIGN}"),
    ("x" * 60, "x" * 60 + "y"),
    ("9007199254740992", "9007199254740993", "9007199254740993.0"),
    ("a/1", "a/", "a", "a/1/1"),
    ('"', "'", "\\"),
    ("NULL", "null", "\\N"),
)
_NUMBERS = ("1.0", "1.5", "0.1", "-0.1", "12345678.9", "99.99", "0.01", "100", "2", "9007199254740993", "-1")


def _decimal(precision: int, scale: int) -> Stored:
    """A decimal with pairs that fall together where a digit of either end is lost."""
    units = {int(Fraction(text) * 10**scale) for text in _NUMBERS if Fraction(text) * 10**scale % 1 == 0}
    largest = 10**precision - 1
    units |= {0, 1, -1, 10**scale + 1, largest, largest - 1, largest - 10**scale}
    digits = Context(prec=80)
    raws = [Decimal(unit).scaleb(-scale, digits) for unit in sorted(units) if abs(unit) <= largest]
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    return Stored(f"decimal {precision} {scale}", "decimal", tuple(raws), kind)


WHOLE = tuple(
    Stored(str(kind), "whole", _wholes(low, high), kind)
    for kind, low, high in (
        (pa.int8(), -128, 127),
        (pa.int16(), -(2**15), 2**15 - 1),
        (pa.int32(), -(2**31), 2**31 - 1),
        (pa.int64(), -(2**63), 2**63 - 1),
        (pa.uint8(), 0, 255),
        (pa.uint16(), 0, 2**16 - 1),
        (pa.uint32(), 0, 2**32 - 1),
        (pa.uint64(), 0, 2**64 - 1),
    )
)
LARGE = (
    Stored("hugeint", "whole", _wholes(-(2**127), 2**127 - 1), sql="HUGEINT"),
    Stored("uhugeint", "whole", _wholes(0, 2**128 - 1), sql="UHUGEINT"),
)
DECIMAL = tuple(_decimal(*size) for size in ((4, 1), (9, 2), (18, 2), (18, 4), (20, 0), (38, 0), (38, 10)))
WIDE_DECIMAL = tuple(_decimal(*size) for size in ((40, 0), (76, 20)))
_FLOATS = (0.0, -0.0, 1.0, 1.5, -1.0, 2.0, nan, inf, -inf, 0.5)
FLOAT = (
    Stored("float16", "float", (*_FLOATS, 2048.0), pa.float16()),
    Stored("float32", "float", (*_FLOATS, 16777216.0), pa.float32()),
    Stored("float64", "float", (*_FLOATS, 9007199254740992.0, 1e300, -1e30, 5e-324, 0.1), pa.float64()),
)
TEXT = (
    _text("text", pa.string()),
    _text("large text", pa.large_string()),
    _text("text view", pa.string_view()),
    _text("dictionary", pa.dictionary(pa.int32(), pa.string())),
)
CLOCK = (
    Stored("date32", "day", (19723, 19724, 0, -1, 2**31 - 2, -(2**31) + 2, 3_000_000), pa.date32()),
    Stored("date64", "day", (19723 * 86_400_000, 19724 * 86_400_000, 0), pa.date64()),
    *(Stored(f"clock {unit}", "clock", _ticks(unit), pa.timestamp(unit)) for unit in _NANOSECONDS),
)
INSTANT = tuple(
    Stored(f"instant {unit} {zone}", "instant", _ticks(unit), pa.timestamp(unit, tz=zone))
    for unit, zone in (("s", "UTC"), ("ms", "UTC"), ("us", "UTC"), ("us", "Europe/Berlin"), ("ns", "UTC"))
)
ODD = (
    Stored("bool", "bool", (True, False), pa.bool_()),
    Stored("bytes", "bytes", (b"", b"a", b"A", b"\0", b"\xff", b"a\0", b"1", b"\\x61"), pa.binary()),
    Stored("16 bytes", "bytes", (b"\0" * 16, b"\0" * 15 + b"\1", b"a" * 16), pa.binary(16)),
    Stored("uuid", "uuid", (b"\0" * 16, b"\0" * 15 + b"\1", b"\xff" * 16), pa.uuid()),
    Stored("time32", "time", (0, 1, 86_399), pa.time32("s")),
    Stored("time64", "time", (0, 1, 999, 1000, 1001), pa.time64("ns")),
    Stored("duration s", "duration", (0, 1, -1, 60, 10**12), pa.duration("s")),
    Stored("duration ns", "duration", (0, 1, 999, 1000, 1001), pa.duration("ns")),
    Stored(
        "interval",
        "interval",
        tuple(
            pa.MonthDayNano(parts)
            for parts in ((0, 30, 0), (1, 0, 0), (0, 0, 86_400 * 10**9), (0, 1, 0), (0, 0, 1))
        ),
        pa.month_day_nano_interval(),
    ),
    Stored("list", "list", ([], [1], [1, 2], [None]), pa.list_(pa.int64())),
    Stored("float list", "list", ([0.0], [-0.0], [0.1]), pa.list_(pa.float64())),
    Stored("text list", "list", (["a"], ["A"], ["a", "b"], ["a, b"]), pa.list_(pa.string())),
    Stored("struct", "struct", ({"f": 1}, {"f": None}, {"f": 2}), pa.struct([("f", pa.int64())])),
    Stored("map", "map", ([("a", 1)], [("a", 2)], []), pa.map_(pa.string(), pa.int64())),
    Stored("null", "null", (None,), pa.null()),
)
DUCKDB = (
    *LARGE,
    Stored("enum", "text", ("a", "A", "b", "1", "01"), sql="ENUM('a', 'A', 'b', '1', '01')"),
    Stored("bit", "bit", ("1", "01", "001"), sql="BIT"),
    Stored("time with zone", "timetz", ("12:00:00+00", "13:00:00+01", "12:00:00.000001+00"), sql="TIMETZ"),
    Stored("interval in sql", "interval", ("1 month", "30 days", "720 hours"), sql="INTERVAL"),
    Stored(
        "collated",
        "text",
        ("a", "A", "b", "B", "\N{LATIN SMALL LETTER E WITH ACUTE}"),
        sql="VARCHAR COLLATE NOCASE",
    ),
    Stored(
        "blind", "text", ("a", "e", "\N{LATIN SMALL LETTER E WITH ACUTE}"), sql="VARCHAR COLLATE NOACCENT"
    ),
)
COLUMNAR = (*WHOLE, *DECIMAL, *WIDE_DECIMAL, *FLOAT, *TEXT, *CLOCK, *INSTANT, *ODD)

_JSONS = (
    *(
        "1",
        "1.0",
        "1e0",
        '"1"',
        '"1.0"',
        "true",
        '"true"',
        "false",
        '"false"',
        "null",
        '"null"',
        "0",
        "-0",
        "-0.0",
    ),
    *(
        "9007199254740992",
        "9007199254740993",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
    ),
    *(
        "12345678901234567890",
        "12345678901234567891",
        "123456789012345678901",
        "123456789012345678902",
        "1e2",
        "100",
    ),
    *(
        "9007199254740993.0",
        "9007199254740992.5",
        "0.1",
        "0.10",
        "1e400",
        "1e39",
        "[1]",
        '"[1]"',
        '{"a":1}',
        "[]",
        "{}",
    ),
    *(
        "-12345678901234567890",
        '{"a":2}',
        '"a\\u0000b"',
        '"a\\u0000"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud800"',
    ),
    *('"{\\"a\\":1}"', "99999999999999999999999999999999999999", "99999999999999999999999999999999999998"),
)
_ALIKE_JSONS = (
    ("1", "1.0", "1e0", '"1"', '"1.0"'),
    ("true", '"true"', "false", '"false"', '"True"'),
    ("9007199254740992", "9007199254740993", "9007199254740993.0", "9007199254740992.5"),
    ("18446744073709551615", "18446744073709551616", "-1"),
    ("12345678901234567890", "12345678901234567891", '"12345678901234567890"'),
    ("123456789012345678901", "123456789012345678902"),
    ("99999999999999999999999999999999999999", "99999999999999999999999999999999999998"),
    ("-12345678901234567890", "-12345678901234567891", "-9223372036854775809"),
    ("[1]", '"[1]"', "[]"),
    ('{"a":1}', '"{\\"a\\":1}"', '{"a":2}', "{}"),
    ("1e2", "100", "100.0"),
    ("0", "-0", "-0.0", '"0"'),
    ("0.1", "0.10", '"0.1"'),
    ('"null"', '"NULL"', '""'),
    *(tuple(json.dumps(text) for text in texts) for texts in _ALIKE_TEXTS),
)
JSON = Stored("json", "json", (*_JSONS, *(json.dumps(text) for text in _TEXTS)), alike=_ALIKE_JSONS)
CSV = Stored("csv", "csv", _TEXTS, alike=_ALIKE_TEXTS)
_ALIKE_LITE = (
    (1, 1.0, "1", b"1", "1.0"),
    (2**53, float(2**53), 2**53 + 1, "9007199254740993"),
    (1.2345678901234567, 1.2345678901234568),
    ("a", b"a", "A"),
    (0, -0.0, "0", 0.0),
    (inf, "inf", "Infinity", -inf),
    (2**63 - 1, 9.223372036854775807e18, "9223372036854775807", "9223372036854775808"),
    (1e15, 10**15, "1e15"),
    *_ALIKE_TEXTS,
)
_LITE = (
    1,
    1.0,
    "1",
    "01",
    1.5,
    2**53,
    float(2**53),
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    "a",
    "A",
    b"a",
    "",
    b"",
    -0.0,
    0,
)
_LITE_MORE = (
    *_TEXTS,
    9.007199254740994e15,
    1e300,
    0.1,
    1.2345678901234567,
    1.2345678901234568,
    1e15,
    inf,
    -inf,
)
SQLITE = tuple(
    Stored(
        f"sqlite {declared or 'untyped'}", "sqlite", (*_LITE, *_LITE_MORE), sql=declared, alike=_ALIKE_LITE
    )
    for declared in (
        "",
        "INTEGER",
        "TEXT",
        "REAL",
        "NUMERIC",
        "BLOB",
        "BOOLEAN",
        "DATE",
        "BIGINT",
        "VARCHAR(3)",
    )
)
STRICT = (
    Stored("strict integer", "sqlite", (1, -1, 2**53 + 1, 2**53, 2**63 - 1), sql="INTEGER strict"),
    Stored("strict text", "sqlite", _TEXTS, sql="TEXT strict", alike=_ALIKE_TEXTS),
    Stored("strict any", "sqlite", (*_LITE, *_LITE_MORE), sql="ANY strict", alike=_ALIKE_LITE),
)
