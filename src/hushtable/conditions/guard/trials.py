"""Every call of an owner's text is tried on made-up values before a row is read.

TRY gives NULL where a call fails on a row, but not for all failures: some functions are not written for a
type, a unit or a constant at all, and where DuckDB thinks that a function cannot fail and it does, it takes
that for a fault of its own and closes the database. Then one row would decide whether there is a release.

Promise: a call whose failure TRY does not catch, on a made-up value of the types that it is given, is refused
by its types and constants alone. Made-up values are the odd ones of each type: first and last, none, not a
number, no text. Times that DuckDB cannot write are not among them: none reaches a call (`totality`).
Cost: a database in memory, and some milliseconds for each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from hushtable.conditions.guard.expressions import Expression, ParseTree
from hushtable.conditions.guard.policies import Policy
from hushtable.conditions.guard.texts import quoted
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MOST_ROWS = 4_000  # of made-up values, for one call
_NESTED = ("array", "enum", "list", "map", "struct", "tuple", "union")
# Read as each type; what does not fit it is left out. The first ones matter most: of calls with many
# arguments, each takes a few.
_TEXTS = (
    *(
        "0",
        "1",
        "-1",
        "a",
        "",
        "2020-02-29",
        "2020-02-29 10:00:00.123456",
        "10:00:00",
        "1 day",
        "-0.5",
        "nan",
    ),
    *("-infinity", "infinity", "true", "{}", "[]", "null", '"a"', '{"a": [1, {"b": null}]}', "[1, 2]"),
    *("127", "-128", "255", "32767", "-32768", "65535", "2147483647", "-2147483648", "4294967295", "1e308"),
    *("9223372036854775807", "-9223372036854775808", "-9223372022400000001", "-9223372036854775"),
    *("18446744073709551615", "170141183460469231731687303715884105727", "5e-324", "-1e308", "0.99", "1e400"),
    *("-170141183460469231731687303715884105728", "340282366920938463463374607431768211455"),
    *("99999999999999999999999999999999999999", "123456789012345678901234567890123456789012345", "-.1"),
    *(
        "5881580-07-10",
        "5877642-06-25 (BC)",
        "0001-01-01",
        "0001-12-31 (BC)",
        "290309-12-22 (BC)",
        "294247-01-10",
    ),
    *(
        "290309-12-22 (BC) 00:00:00",
        "294247-01-10 04:00:54.775806",
        "1677-09-22 00:00:00",
        "2262-04-11 23:00:00",
    ),
    *("00:00:00", "23:59:59.999999", "24:00:00", "00:00:00-15:59:59", "23:59:59.999999+15:59:59", "-1 month"),
    *(
        "178956970 years 7 months",
        "-2147483648 days",
        "2562047:47:16.854775",
        "00000000-0000-0000-0000-000000000000",
    ),
    *(
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
        "010101",
        "%",
        "((",
        "$.a",
        "\\",
        "\\xFF",
        "é",
        "e\u0301",
        "\U0001f600",
    ),
    *("UTC", "day", "era", "timezone", "%Y-%m-%d", "1.5", "-9223372036.5", "[NULL]", "{'a': 1}", "{a=1}"),
)

# What was found once holds for this version of DuckDB, and so for this process.
_FOUND: dict[str, list[str]] = {}
_STOOD: set[tuple[str, ...]] = set()


def check_calls(
    calls: Sequence[Expression],
    kinds: Mapping[int, Any],
    written: Callable[[ParseTree], str],
    policy: Policy,
) -> None:
    """Raise `BadQuery` for the first call that some value of a row could stop.

    `kinds` has DuckDB's types of what is taken from a row, by the identity of its parse tree; what is not in
    it is constant, and stays as it is written.
    """
    import duckdb

    new: dict[tuple[str, ...], tuple[Expression, list[Any]]] = {}
    for call in calls:
        parts = [part for part in call.parts if id(part.source) in kinds]
        types = [kinds[id(part.source)] for part in parts]
        with _as_columns(parts):
            new[written(call.source), *map(str, types)] = call, types
    new = {key: value for key, value in new.items() if key not in _STOOD}
    if not new:
        return
    with closing(duckdb.connect(config={"threads": 1, "memory_limit": "256MiB"})) as connection:
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")  # it computes outside of TRY
        constant = [key[0] for key, (_, types) in new.items() if not types]
        # There may be thousands of them, as in a list of dates.
        all_stand = _stands(f"row({', '.join(f'TRY({call})' for call in constant)})", [], connection)
        for key, (call, types) in new.items():
            if not (all_stand and not types) and not _stands(key[0], types, connection):
                hint = (
                    "One row could stop the whole. Cast values to another type first, or correct the "
                    f"constants.\n{policy.allowed}"
                )
                words = quoted(call.name) if call.name else "a cast"
                fact = f"{policy.name} uses {words} on values, and DuckDB cannot compute it for every value"
                raise BadQuery(fact, hint)
            _STOOD.add(key)


@contextmanager
def _as_columns(parts: Sequence[Expression]) -> Iterator[None]:
    """Put the columns a0, a1, ... of made-up values in the place of parts for a while."""
    kept = [dict(part.source) for part in parts]
    for place, part in enumerate(parts):
        part.source.clear()
        column = {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [f"a{place}"]}
        part.source.update(column, alias="", query_location=0, query_location_length=0)
    try:
        yield
    finally:
        for part, source in zip(parts, kept, strict=True):
            part.source.clear()
            part.source.update(source)


def _stands(call: str, types: Sequence[Any], connection: DuckDBPyConnection) -> bool:
    """Return whether a call of a0, a1, ... gives a value or NULL for all made-up values of these types."""
    import duckdb

    most = max(2, int(_MOST_ROWS ** (1 / max(1, len(types)))))
    columns = [
        f"(SELECT unnest([{', '.join(_values(kind, connection)[:most])}]::{kind}[]) AS a{place})"
        for place, kind in enumerate(types)
    ]
    columns.append("(SELECT 1 AS one)")
    try:
        # Of all results something is computed, so that DuckDB leaves none out.
        connection.execute(f"SELECT max(hash(TRY({call}))) FROM {', '.join(columns)}").fetchall()
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.OutOfMemoryException):
        pass  # it was bound where it belongs
    except duckdb.Error:
        return False
    return True


def _values(kind: Any, connection: DuckDBPyConnection) -> list[str]:
    """Return SQL for made-up values of a type, made once."""
    found = _FOUND.get(str(kind))
    if found is None:
        found = _FOUND[str(kind)] = _made_up(kind, connection)
    return found


def _made_up(kind: Any, connection: DuckDBPyConnection) -> list[str]:
    """Return SQL for made-up values of a type; of plain ones, whatever text can be read as it."""
    parts = dict(kind.children) if kind.id in _NESTED else {}
    if kind.id == "enum":
        return [_literal(value) for value in parts["values"]]
    if kind.id == "list":
        return ["[]", "[NULL]", *(f"[{value}]" for value in _values(parts["child"], connection))]
    if kind.id == "array":
        values = ["NULL", *_values(parts["child"], connection)]
        return [f"[{', '.join([value] * parts['size'])}]" for value in values]
    if kind.id == "map":
        keys, values = (_values(parts[name], connection) for name in ("key", "value"))
        some = [f"map([{key}], [{values[place % len(values)]}])" for place, key in enumerate(keys)]
        return ["map([], [])", *some]
    if kind.id == "union":
        members = [(name, member) for name, member in kind.children if name]
        return [
            f"CAST(union_value({_name(name)} := {value}) AS {kind})"
            for name, member in members
            for value in _values(member, connection)
        ]
    if kind.id in ("struct", "tuple"):
        fields = [(name, _values(member, connection)) for name, member in kind.children]
        return [
            _struct([(name, values[place % len(values)]) for name, values in fields])
            for place in range(max(len(values) for _, values in fields))
        ]
    texts = ", ".join(map(_literal, _TEXTS))
    fitting = f"SELECT t FROM (SELECT unnest([{texts}]) AS t) WHERE TRY(TRY_CAST(t AS {kind})) IS NOT NULL"
    read = connection.execute(fitting).fetchall()
    return [f"CAST({_literal(text)} AS {kind})" for (text,) in read] or ["NULL"]


def _struct(fields: Sequence[tuple[str, str]]) -> str:
    if not all(name for name, _ in fields):
        return f"row({', '.join(value for _, value in fields)})"
    return f"struct_pack({', '.join(f'{_name(name)} := {value}' for name, value in fields)})"


def _literal(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def _name(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
