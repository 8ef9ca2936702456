"""Made-up rows to count: a Parquet file and the domain file that goes with it.

Promise: values come from hashes of row numbers, so the same name and number of rows give the same rows.
Cost: a few seconds and at most 0.4 GB on disk for 2 10^7 rows; DuckDB writes them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_CHANCE = "CREATE MACRO u(i, k) AS hash(i * 16 + k) / 18446744073709551616.0"  # uniform on 0..1


class Files(NamedTuple):
    """Where made-up rows and their domain lie."""

    rows: str
    domain: str


class _Data(NamedTuple):
    """Columns as SQL on the row number `i`, each of which may use those before it, and attributes' values."""

    columns: Mapping[str, str]
    values: Mapping[str, int | str]  # so many integers from 0, or the SQL of texts for code `i` of 1000


def files_of(name: str, folder: Path) -> Files:
    """Return where `write` puts the rows of that name."""
    return Files(str(folder / f"{name}.parquet"), str(folder / f"{name}.toml"))


def write(name: str, *, rows: int, folder: Path) -> None:
    """Write made-up rows, and the domain they lie in."""
    import duckdb

    data = _DATA[name]
    files = files_of(name, folder)
    columns = ", ".join(f"{sql} AS {column}" for column, sql in data.columns.items())
    with duckdb.connect() as engine:
        engine.execute(_CHANCE).fetchall()
        made = f"SELECT {columns}, i FROM range({rows}) AS numbers(i)"
        engine.execute(f"COPY (SELECT * EXCLUDE (i) FROM ({made})) TO '{files.rows}'").fetchall()
        tables = []
        for column, values in data.values.items():
            if isinstance(values, int):
                declared = f"integers = {{ low = 0, high = {values - 1} }}"
            else:
                texts = f"SELECT {values} AS {column} FROM range({_TEXTS}) AS numbers(i)"
                engine.execute(f"COPY ({texts}) TO '{folder / column}.csv' (HEADER)").fetchall()
                declared = f'categories = {{ file = "{column}.csv", column = "{column}" }}'
            tables.append(f'[[attribute]]\nname = "{column}"\n{declared}\n')
    Path(files.domain).write_text("\n".join(tables))


def _town(code: str) -> str:
    return f"'Town ' || lpad(CAST({code} AS VARCHAR), 4, '0')"


def _trade(code: str) -> str:
    return f"'Trade and services no. ' || {code}"  # too long for what DuckDB holds in place


def _below(size: int, chance: str) -> str:
    return f"CAST(floor({size} * {chance}) AS INTEGER)"


def _people(person: str) -> _Data:
    """Rows of people, each in any cell, in a domain that does not hold who they are."""
    home, work = _below(_PLACE, "u(i, 0)"), _below(_PLACE, "u(i, 1)")
    return _Data({"home": home, "work": work, "person": person}, {"home": _PLACE, "work": _PLACE})


_TEXTS = 1000
_PLACE = 10**6
_FIVE = ("a", "b", "c", "d", "e")
_SEVEN = {"a": 10, "b": 20, "c": 50, "d": 5, "e": 2, "f": 100, "g": 16}

_DATA = {
    "uniform": _Data(
        {"home": _below(_PLACE, "u(i, 0)"), "work": _below(_PLACE, "u(i, 1)")},
        {"home": _PLACE, "work": _PLACE},
    ),
    # A tenth of a per cent of the places hold a tenth of the homes, and most people work near home.
    "gravity": _Data(
        {
            "home": _below(_PLACE, "u(i, 0) ** 3"),
            "work": f"CAST(greatest(0, least({_PLACE - 1}, "
            "home + floor((u(i, 1) - 0.5) * u(i, 2) ** 4 * 1e5))) AS INTEGER)",
        },
        {"home": _PLACE, "work": _PLACE},
    ),
    "repeats": _Data(
        {"home": _below(300, "u(i, 0)"), "work": _below(300, "u(i, 1)")}, {"home": 300, "work": 300}
    ),
    "text": _Data(
        {
            "town": _town(_below(_TEXTS, "u(i, 0)")),
            "trade": _trade(_below(_TEXTS, "u(i, 1) ** 3")),
            "state": _below(51, "u(i, 2)"),
        },
        {"town": _town("i"), "trade": _trade("i"), "state": 51},
    ),
    "people": _people(_below(5 * _PLACE, "u(i, 3)")),
    "one person": _people(f"CASE WHEN i % 2 = 0 THEN -1 ELSE {_below(5 * _PLACE, 'u(i, 3)')} END"),
    "line": _Data({"home": _below(16 * _PLACE, "u(i, 0)")}, {"home": 16 * _PLACE}),
    "thousands": _Data(
        {
            "home": _below(1000, "u(i, 0) ** 2"),
            "work": _below(1000, "u(i, 1)"),
            "age": _below(100, "u(i, 2)"),
        },
        {"home": 1000, "work": 1000, "age": 100},
    ),
    "seven": _Data(
        {name: _below(size, f"u(i, {k}) ** 2") for k, (name, size) in enumerate(_SEVEN.items())}, _SEVEN
    ),
    "hundreds": _Data(
        {name: _below(100, f"u(i, {k})") for k, name in enumerate(_FIVE)}, dict.fromkeys(_FIVE, 100)
    ),
    "millions": _Data(
        {name: _below(10**6, f"u(i, {k})") for k, name in enumerate(_FIVE)}, dict.fromkeys(_FIVE, 10**6)
    ),
}
