"""Inputs of the door, drawn at random: rows, how they are stored, what is asked of them; their neighbours.

A `World` is one input with its settings. `neighbours` are the worlds that lack one unit: the rows of one
value of the unit's column, one row, or one counted person of one row. Who is who comes from the values as
drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple, TypeVar

from hushtable.domain.attributes import Attribute, Bins, Categories, Edges, Integers, Other, Rule, Times
from tests.engines.door import stored
from tests.engines.door.stored import Stored

T = TypeVar("T")
MOST_ROWS = 12


class Row(NamedTuple):
    """One row; where it is stored twice, both have one number."""

    number: int
    cells: tuple[Any, ...]


@dataclass(frozen=True)
class Part:
    """One file, or all rows of an input without files."""

    types: tuple[Stored, ...]
    rows: tuple[Row, ...]
    order: tuple[int, ...]  # of its columns
    folders: tuple[tuple[str, str], ...] = ()  # as in year=2024


@dataclass(frozen=True)
class World:
    """One input of the door, and what is asked of it."""

    form: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    attributes: tuple[Attribute, ...]
    places: tuple[int, ...]  # which column each attribute reads; -1 where a query computes it
    measure: dict[str, Any]
    unit_at: int | None = None  # the unit's column; below -1: the folder -2 - unit_at
    amount_at: int | None = None
    id_of: str = ""  # how a query computes the unit, a key of COMPUTED
    table: str = "data"
    where: str | None = None
    query: str | None = None
    rows_are_units: bool = False
    hazards: tuple[str, ...] = ()
    style: int = 0  # of the writer: line ends, compression, one folder or a list of files
    fresh: bool = False  # on a connection of its own
    refused: str = ""  # why it must not be counted
    simple: bool = False  # whether the slow reference says what is counted

    def unit_of(self, part: Part, row: Row) -> Hashable | None:
        """Return whose row it is."""
        assert self.unit_at is not None
        if self.unit_at < -1:
            return ("text", part.folders[-2 - self.unit_at][1])
        raw, kind = row.cells[self.unit_at], part.types[self.unit_at]
        if self.id_of and raw is not None:
            return COMPUTED[self.id_of][1](raw)
        return kind.identity(raw)

    def without(self, leaves: Callable[[Part, Row], bool]) -> World:
        """Return the same files without some rows."""
        return replace(
            self,
            parts=tuple(
                replace(part, rows=tuple(row for row in part.rows if not leaves(part, row)))
                for part in self.parts
            ),
        )

    @property
    def rows(self) -> list[Row]:
        return [row for part in self.parts for row in part.rows]


# What a query makes of a unit's value, as SQL and as Python.
COMPUTED: dict[str, tuple[str, Callable[[Any], Hashable]]] = {
    "text": ("CAST({} AS VARCHAR)", lambda raw: ("text", str(raw))),
    "halves": ("{} // 2", lambda raw: ("number", abs(raw) // 2 * (1 if raw >= 0 else -1))),
    "first letter": ("substr({}, 1, 1)", lambda raw: ("text", raw[:1])),
    "joined": ("'p' || {}", lambda raw: ("text", "p" + raw)),
}


def neighbours(world: World) -> list[World]:
    """Return each world that lacks one unit."""
    if world.unit_at is not None:
        units = {world.unit_of(part, row): None for part in world.parts for row in part.rows}
        return [
            world.without(lambda part, row, unit=unit: world.unit_of(part, row) == unit)  # type: ignore[misc]
            for unit in units
            if unit is not None
        ]
    numbers = dict.fromkeys(row.number for row in world.rows)
    if "count_column" not in world.measure or world.amount_at is None:
        return [
            world.without(lambda _, row, number=number: row.number == number)  # type: ignore[misc]
            for number in numbers
        ]
    fewer = [_one_person_less(world, number) for number in numbers]
    return [each for each in fewer if each is not None]


def _one_person_less(world: World, number: int) -> World | None:
    """Return the world with one person less in a row, where it counts people."""
    at = world.amount_at
    assert at is not None
    parts = []
    found = False
    for part in world.parts:
        rows = []
        for row in part.rows:
            raw = row.cells[at]
            if row.number == number and (less := _minus_one(part.types[at], raw)) is not None:
                row, found = row._replace(cells=(*row.cells[:at], less, *row.cells[at + 1 :])), True
            rows.append(row)
        parts.append(replace(part, rows=tuple(rows)))
    return replace(world, parts=tuple(parts)) if found else None


def _minus_one(kind: Stored, raw: Any) -> Any:
    """Return a stored count of people without one of them, None where it is no such count."""
    match kind.family:
        case "whole" if raw is not None and raw >= 1:
            return raw - 1
        case "decimal" if raw is not None and 1 <= raw < 10**20 and raw % 1 == 0:
            return raw - 1
        case "float" if raw is not None and 1 <= raw < 2**11 and raw == int(raw):
            return raw - 1
        case "text" | "csv" | "json" if (
            isinstance(raw, str) and raw.isascii() and raw.isdigit() and int(raw) >= 1
        ):
            return str(int(raw) - 1)
        case "sqlite" if type(raw) is int and raw >= 1:
            return raw - 1
    return None


# Forms of input, with how often they are drawn.
COLUMNAR = {
    "arrow": 30,
    "reader": 6,
    "pandas": 4,
    "polars": 4,
    "parquet": 24,
    "parquet by duckdb": 4,
    "parquet by polars": 2,
    "parquet by pandas": 2,
    "ipc": 6,
    "ipc stream": 4,
    "duckdb": 2,
}
OTHERS = {
    "csv": 14,
    "tsv": 4,
    "csv gz": 2,
    "csv zst": 2,
    "csv by pandas": 2,
    "json": 14,
    "json gz": 2,
    "sqlite": 9,
}
FORMS = COLUMNAR | OTHERS
MANY_FILES = (
    "parquet",
    "parquet by duckdb",
    "ipc",
    "ipc stream",
    "csv",
    "tsv",
    "csv gz",
    "json",
    "parquet by polars",
)

NAMES = (
    *(
        "k0",
        "unit",
        "amount",
        "r0",
        "missing0",
        "source",
        "data",
        "rows",
        "broken",
        "copy",
        "place",
        "dropped",
    ),
    *(
        "lookup",
        "code0",
        "c0",
        "edges0",
        "keyed",
        "coded",
        "value",
        "marked",
        "numbered",
        "ranked",
        "k1",
        "salt",
    ),
    *(
        'a"b',
        "a'b",
        "two words",
        " led",
        "select",
        "from",
        "order",
        "rowid",
        "filename",
        "file_row_number",
        "count",
    ),
    *(
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "\u540d",
        "rows taken together",
        "a.b",
        "a,b",
        "a;b",
        "$1",
        "?",
        "#1",
    ),
    *(
        "1",
        "NULL",
        "true",
        "current_date",
        "user",
        "x" * 70,
        "a\\b",
        "*",
        "columns",
        "json",
        "registered_rows",
    ),
    *(
        "sqlite rows of people",
        "hushtable lookup 0",
        "kept",
        "struct",
        "row",
        "level",
        "weight",
        "nothing",
        "\u017f",
    ),
)
_KINDS = ("integers", "integers", "integers", "categories", "categories", "bins", "edges", "times")
_CATEGORIES = ("a", "A", "b", "1", "01", "\N{LATIN SMALL LETTER E WITH ACUTE}", "", "x y")


def fold(name: str) -> str:
    """Return a name as DuckDB compares it: case matters outside of ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


class Draw:
    """One draw of a world."""

    def __init__(
        self,
        random: Random,
        *,
        forms: dict[str, int] | None = None,
        kinds: Callable[[Stored], bool] = lambda _: True,
    ) -> None:
        self.random, self.kinds = random, kinds
        self.forms = FORMS if forms is None else forms

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def one(self, things: Sequence[T]) -> T:
        return self.random.choice(things)

    def world(self) -> World:
        """Return a world."""
        [form] = self.random.choices(list(self.forms), weights=list(self.forms.values()))
        hazards: list[str] = []
        kinds = [self.one(_KINDS) for _ in range(self.one((1, 1, 1, 2, 3)))]
        attributes = [self._attribute(place, kind) for place, kind in enumerate(kinds)]
        measured = self.one(("rows", "unit", "unit", "unit", "unit", "count", "count", "sum", "sum by unit"))
        roles = [*(f"attribute {place}" for place in range(len(kinds)))]
        if "unit" in measured:
            roles.append("unit")
        if measured in ("count", "sum", "sum by unit"):
            roles.append("amount")
        roles += ["other"] * self.one((0, 0, 1, 2))
        names = self._names(roles, form)

        many = form in MANY_FILES and self.chance(0.45)
        parts_wanted = self.one((2, 2, 3)) if many else 1
        first = [self._type(role, form, attributes) for role in roles]
        if any(kind.name.startswith("strict") for kind in first):
            first = [kind if kind.name.startswith("strict") else self.one(stored.STRICT) for kind in first]
        types = [tuple(first)]
        for _ in range(parts_wanted - 1):
            shares = [0.4 if role == "unit" else 0.1 for role in roles]
            types.append(
                tuple(
                    self._other_type(kind, form) if self.chance(share) else kind
                    for kind, share in zip(first, shares, strict=True)
                )
            )
        order = list(range(len(roles)))
        self.random.shuffle(order)
        unit_at = roles.index("unit") if "unit" in roles else None
        amount_at = roles.index("amount") if "amount" in roles else None

        pools = {at: self._pool(types, at, role, attributes) for at, role in enumerate(roles)}
        world = World(
            form=form,
            columns=tuple(names),
            parts=self._parts(types, roles, attributes, pools, tuple(order)),
            attributes=tuple(
                replace(attribute, column=self._spelled(names[at], form))
                for at, attribute in enumerate(attributes)
            ),
            places=tuple(range(len(attributes))),
            measure=self._measure(measured, names, unit_at, amount_at, form),
            unit_at=unit_at,
            amount_at=amount_at,
            hazards=tuple(hazards),
            style=self.random.randrange(1 << 8),
            fresh=self.chance(0.02),
            table=self.one(("people", "data", "rows", "Table", "k0", "two words", "lookup"))
            if form in ("duckdb", "sqlite")
            else "data",
            simple=True,
        )
        for change, share in (
            (self._folders, 0.25),
            (self._twice, 0.04),
            (self._one_name, 0.05),
            (self._asked, 0.4),
            (self._shared, 0.05),
        ):
            if self.chance(share):
                world = change(world, roles)
        return world

    def _names(self, roles: list[str], form: str) -> list[str]:
        odd = self.chance(0.4)
        names: list[str] = []
        while len(names) < len(roles):
            plain = {"unit": "person", "amount": "people", "other": f"other{len(names)}"}.get(
                roles[len(names)], f"x{len(names)}"
            )
            name = self.one(NAMES) if odd and self.chance(0.6) else plain
            if odd and self.chance(0.1):
                name = name.upper()
            if fold(name).lower() not in [fold(other).lower() for other in names]:
                names.append(name)
        return names

    def _spelled(self, name: str, form: str) -> str:
        """Return a name as a setting writes it."""
        if form.startswith("json") or not self.chance(0.1) or not name.isascii():
            return name
        return self.one((name.upper(), name.lower(), name.capitalize()))

    def _attribute(self, place: int, kind: str) -> Attribute:
        name = f"attribute {place}"
        low = self.one((0, 0, 1, -2))
        if kind == "categories":
            rules: tuple[Rule, ...] = ("drop", "drop", Other(value="other"), Other(value="a"))
            values = tuple(self.random.sample(_CATEGORIES, self.one((1, 3, 5))))
            return Attribute(
                name=name, values=Categories(values=values), missing=self.one(rules), outside=self.one(rules)
            )
        kinds: dict[str, Any] = {
            "integers": Integers(low=low, high=low + self.one((0, 3, 5, 5))),
            "bins": Bins(start=Fraction(low), stop=Fraction(low + 6), step=Fraction(self.one((1, 2, 3))))
            if self.chance(0.6)
            else Bins(start=Fraction(0), stop=Fraction(3), step=Fraction(1, self.one((2, 10)))),
            "edges": Edges(
                edges=tuple(Fraction(edge) for edge in self.one(((0, 1, 5), (-1, 3), (0, 0.5, 2.25, 4))))
            ),
            "times": Times(
                start=datetime(2024, 1, 1),
                stop=self.one((datetime(2024, 1, 9), datetime(2024, 1, 3))),
                every=self.one((86_400, 3_600)),
                unit="second",
                timezone=self.one(("UTC", "UTC", "Europe/Berlin")),
            )
            if self.chance(0.7)
            else Times(start=datetime(2023, 12, 1), stop=datetime(2024, 4, 1), every=1, unit="month"),
        }
        return Attribute(name=name, values=kinds[kind], outside=self.one(("drop", "clamp")))

    def _bounds(self) -> dict[str, int]:
        """How much of a unit counts."""
        if self.chance(0.5):
            return {"max_rows": self.one((1, 1, 2, 3))}
        each: dict[str, int] = self.one(({}, {}, {"max_per_cell": 2}, {"max_per_cell": 1}))
        return {"max_cells": self.one((1, 1, 2, 3)), **each}

    def _measure(
        self, measured: str, names: list[str], unit_at: int | None, amount_at: int | None, form: str
    ) -> dict[str, Any]:
        measure: dict[str, Any] = {}
        if unit_at is not None:
            measure["unit"] = (self._spelled(names[unit_at], form), self._bounds())
        if amount_at is not None:
            name = self._spelled(names[amount_at], form)
            if measured == "count":
                measure["count_column"] = name
            else:
                measure["sum_column"] = name
                measure["clamp"] = self.one(((0, 1), (0, 3), (-2, 5), (-4, 0), (2, 3), (0, 2**40), (-7, -1)))
        if measured != "rows" and self.chance(0.01):
            more: dict[str, Any] = self.one(
                ({"count_column": names[0]}, {"clamp": (0, 1)}, {"sum_column": names[0]})
            )
            measure = more | measure
        return measure

    # Types

    def _type(self, role: str, form: str, attributes: list[Attribute]) -> Stored:
        if form.startswith(("csv", "tsv")):
            return stored.CSV
        if form.startswith("json"):
            return stored.JSON
        if form == "sqlite":
            if self.chance(0.25):
                return self.one(stored.STRICT)
            fitting = {"INTEGER": 4, "TEXT": 4, "": 4}
            weights = [fitting.get(kind.sql, 1) for kind in stored.SQLITE]
            return self.random.choices(stored.SQLITE, weights=weights)[0]
        usual: tuple[Stored, ...]
        if role == "unit":
            usual = (
                *stored.WHOLE,
                *stored.TEXT,
                *stored.TEXT,
                *stored.DECIMAL,
                stored.CLOCK[0],
                *stored.ODD[1:4],
            )
            return self._held(usual if self.chance(0.8) else stored.COLUMNAR, form)
        if role == "amount":
            usual = (*stored.WHOLE, *stored.WHOLE, *stored.DECIMAL, *stored.FLOAT, stored.TEXT[0])
            return self._held(usual if self.chance(0.97) else stored.COLUMNAR, form)
        if role == "other" or self.chance(0.02):
            return self._held(stored.COLUMNAR, form)
        values = attributes[int(role.split()[1])].values
        if isinstance(values, Categories):
            return self._held(stored.TEXT, form)
        if isinstance(values, Times):
            return self._held((*stored.CLOCK, *stored.INSTANT, stored.TEXT[0]), form)
        return self._held(
            (*stored.WHOLE, *stored.DECIMAL, *stored.FLOAT, stored.TEXT[0], stored.WHOLE[3]), form
        )

    def _held(self, kinds: Sequence[Stored], form: str) -> Stored:
        """Return one of some types that a form of input can hold."""
        if form == "duckdb" and self.chance(0.3):
            return self.one(stored.DUCKDB)
        while True:
            kind = self.one(kinds)
            if self.kinds(kind) and holds(form, kind):
                return kind

    def _other_type(self, kind: Stored, form: str) -> Stored:
        """Return a type that another file may have instead."""
        families = (
            (*stored.WHOLE, *stored.DECIMAL, *stored.FLOAT),
            (*stored.WHOLE, *[stored.WHOLE[3], stored.WHOLE[7]] * 4),  # of 64 bits, with a sign and without
            stored.DECIMAL,
            stored.CLOCK,
            stored.INSTANT,
            stored.TEXT,
        )
        near = [family for family in families if kind in family]
        if kind.family in ("csv", "json", "sqlite"):
            return kind
        return self._held(self.one(near) if near and self.chance(0.9) else stored.COLUMNAR, form)

    # Rows

    def _pool(
        self, types: list[tuple[Stored, ...]], at: int, role: str, attributes: list[Attribute]
    ) -> list[tuple[Any, ...]]:
        """Return values that the rows of each part share, so that they meet."""
        pools = []
        for each in types:
            kind = each[at]
            if role == "unit":
                # Few, and some of them neighbours in the list of what is taken for one another.
                if len({kinds[at].name for kinds in types}) > 1 and self.chance(0.7):
                    pools.append(_meeting(kind))
                    continue
                if kind.alike and self.chance(0.6):
                    pools.append(self.one(kind.alike))
                    continue
                begin = self.random.randrange(len(kind.raws))
                near = [kind.raws[(begin + step) % len(kind.raws)] for step in range(self.one((2, 3, 4)))]
                pools.append((*near, self.one(kind.raws), self.one(kind.raws)))
            elif role == "amount":
                pools.append(tuple(self._amount(kind) for _ in range(4)))
            elif role == "other":
                pools.append(kind.raws)
            else:
                attribute = attributes[int(role.split()[1])]
                pools.append(tuple(self._value(attribute, kind) for _ in range(5)))
        return pools

    def _amount(self, kind: Stored) -> Any:
        number = self.one(
            (0, 1, 1, 2, 3, 5, 7, 100, 127, 1000, 2**53 + 1, 2**59, 2**60 - 1, 2**60, 2**60 + 1, 2**63 - 1)
        )
        if self.chance(0.1):
            number = self.one((-1, -3, -(2**60)))
        if self.chance(0.12):
            return self.one(kind.raws)
        return self._as(kind, number)

    def _as(self, kind: Stored, number: int) -> Any:
        """Return a whole number as it is stored, or something odd where it cannot be."""
        match kind.family:
            case "whole" if not kind.sql:
                bits = kind.arrow.bit_width
                fits = (
                    0 <= number < 2**bits
                    if kind.name.startswith("u")
                    else -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
                )
                return number if fits else self.one(kind.raws)
            case "whole" | "sqlite" if "TEXT" not in kind.sql:
                return number
            case "decimal":
                digits = kind.arrow.precision - kind.arrow.scale
                return Decimal(number) if abs(number) < 10**digits else self.one(kind.raws)
            case "float":
                return float(number) if abs(number) < 2000 else self.one(kind.raws)
            case "text" if kind.sql:
                return self.one(kind.raws)
            case "text" | "csv" | "sqlite":
                return str(number)
            case "json":
                return str(number) if self.chance(0.8) else f'"{number}"'
        return self.one(kind.raws)

    def _value(self, attribute: Attribute, kind: Stored) -> Any:
        """Return a value that an attribute's column may hold."""
        if self.chance(0.06):
            return None
        if self.chance(0.08):
            return self.one(kind.raws)
        values = attribute.values
        if isinstance(values, Categories):
            text = self.one(values.values if self.chance(0.8) else _CATEGORIES)
            if kind.family == "json":
                return f'"{text}"'
            return (
                text
                if kind.family in ("text", "csv", "sqlite") and (not kind.sql or text in kind.raws)
                else self.one(kind.raws)
            )
        if isinstance(values, Times):
            return self._time(kind)
        if isinstance(values, Integers):
            return self._as(kind, self.random.randint(values.low - 1, values.high + 1))
        number = self.one((0, 1, 2, 3, 4, 5, 6, -1))
        if self.chance(0.3):
            odd = self.one(("0.5", "2.25", "0.1", "0.3", "2.999"))
            match kind.family:
                case "float" if odd in ("0.5", "2.25"):
                    return float(odd)
                case "text" | "csv" | "json" if not kind.sql:
                    return odd
        return self._as(kind, number)

    def _time(self, kind: Stored) -> Any:
        seconds = 1_704_067_200 + self.random.randint(-1, 9 * 24) * 3600 + self.one((0, 0, 0, 1, 3599))
        match kind.family:
            case "day":
                return seconds // 86_400 * (1 if kind.arrow.bit_width == 32 else 86_400_000)
            case "clock" | "instant":
                ticks = seconds * 10**9 // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.arrow.unit]
                return ticks + self.one((0, 0, 1, -1))
            case "text" | "csv" | "json" | "sqlite" if not kind.sql or kind.family == "sqlite":
                text = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(
                    sep=self.one("T ")
                ) + self.one(("", "", "Z", "+02:00", ".5"))
                return f'"{text}"' if kind.family == "json" else text
        return self.one(kind.raws)

    def _parts(
        self,
        types: list[tuple[Stored, ...]],
        roles: list[str],
        attributes: list[Attribute],
        pools: dict[int, list[tuple[Any, ...]]],
        order: tuple[int, ...],
    ) -> tuple[Part, ...]:
        parts, number = [], 0
        for which, kinds in enumerate(types):
            rows = []
            for _ in range(self.random.randint(0 if len(types) > 1 else 2, MOST_ROWS)):
                cells = []
                for at, kind in enumerate(kinds):
                    raw = self.one(pools[at][which])
                    if roles[at] != "unit" and self.chance(0.03):
                        raw = None
                    if roles[at] == "unit" and self.chance(0.05):
                        raw = None
                    if raw is None and kind.family == "json":
                        raw = "null"
                    if raw is None and kind.family == "csv":
                        raw = ""
                    cells.append(raw)
                rows.append(Row(number, tuple(cells)))
                number += 1
            own = order
            if self.chance(0.2):
                own = tuple(self.random.sample(order, len(order)))
            parts.append(Part(kinds, tuple(rows), own))
        return tuple(parts)

    # What makes an input odd

    def _folders(self, world: World, roles: list[str]) -> World:
        """Put files into folders named as in year=2024; one may be named as a column."""
        if world.form not in MANY_FILES or world.form.startswith("json") or world.form.startswith("ipc"):
            return world
        name = self.one(("year", "region", *(world.columns if self.chance(0.5) else ())))
        if "/" in name or "\\" in name or '"' in name or "=" in name:
            return world
        clash = [column for column in world.columns if fold(column) == fold(name)]
        values = self.random.sample(("a", "A", "1", "01", "x y", "b"), len(world.parts))
        if self.chance(0.3) and len(values) > 1:
            values[1] = values[0]
        parts = tuple(
            replace(part, folders=((name, value),)) for part, value in zip(world.parts, values, strict=True)
        )
        refused = ""
        if clash:
            at = world.columns.index(clash[0])
            refused = "a folder and a column have one name" if roles[at] != "other" else ""
        world = replace(world, parts=parts, refused=refused, hazards=(*world.hazards, "folders"))
        if not clash and world.unit_at is not None and self.chance(0.6):
            measure = {**world.measure, "unit": (name, world.measure["unit"][1])}
            world = replace(world, measure=measure, unit_at=-2, simple=False)
        return world

    def _twice(self, world: World, roles: list[str]) -> World:
        """Store rows twice: the same file by another name, or two versions of a table in one folder."""
        if world.form not in MANY_FILES or any(part.folders for part in world.parts):
            return world
        hazard = self.one(("hard link", "symbolic link", "second spelling"))
        if world.form.startswith("parquet"):
            hazard = self.one((hazard, "delta", "iceberg", "hudi"))
        if hazard in ("delta", "iceberg", "hudi"):
            world = replace(world, parts=(*world.parts, world.parts[0]))
        return replace(world, hazards=(*world.hazards, hazard), refused="rows are stored twice", simple=False)

    def _one_name(self, world: World, roles: list[str]) -> World:
        """Give two columns names that differ in case alone, or not at all."""
        others = [at for at, role in enumerate(roles) if role == "other"]
        used = [at for at, role in enumerate(roles) if role != "other"]
        if world.form in ("duckdb", "sqlite", "pandas", "polars", "parquet by duckdb") or not others:
            return world
        if world.form in ("parquet by polars", "parquet by pandas", "csv by pandas"):
            return world
        at, other = self.one(used), self.one(others)
        name = world.columns[at]
        twin = self.one((name.upper(), name.capitalize(), name))
        if world.form.startswith("json") and twin == name:
            return world
        columns = list(world.columns)
        columns[other] = twin
        if world.form.startswith("json"):
            # A line with both is dropped, which the slow count does not know.
            return replace(world, columns=tuple(columns), hazards=(*world.hazards, "twin key"), simple=False)
        same = fold(twin) == fold(name)
        return replace(
            world,
            columns=tuple(columns),
            hazards=(*world.hazards, "twin column"),
            refused="two columns have one name" if same else world.refused,
        )

    def _shared(self, world: World, roles: list[str]) -> World:
        """Let an attribute read the column that is added, or the unit's."""
        shared = [at for at in (world.amount_at, world.unit_at) if at is not None and at >= 0]
        if world.query is not None or not shared:
            return world
        at = self.one(shared)
        first = replace(world.attributes[0], column=world.columns[at])
        return replace(
            world,
            attributes=(first, *world.attributes[1:]),
            places=(at, *world.places[1:]),
            hazards=(*world.hazards, "shared column"),
        )

    def _asked(self, world: World, roles: list[str]) -> World:
        """Ask for some rows, or for the result of a query."""
        if self.chance(0.5):
            return self._filtered(world, roles)
        return self._queried(world, roles)

    def _filtered(self, world: World, roles: list[str]) -> World:
        at = self.random.randrange(len(world.columns))
        if self.chance(0.6):
            at = self.one([at for at, role in enumerate(roles) if role.startswith("attribute")])
        if world.amount_at is not None and self.chance(0.3):
            at = world.amount_at
        found = conditions(world, at, self)
        condition = self.one(found[:6] if at == world.amount_at and self.chance(0.6) else found)
        return replace(world, where=condition, simple=False, hazards=(*world.hazards, "where"))

    def _queried(self, world: World, roles: list[str]) -> World:
        table = quoted(world.table)
        kind = self.one(
            ("all", "renamed", "renamed", "replaced", "computed unit", "swapped", "not local", "amount")
        )
        everything = [quoted(name) for name in world.columns]
        hazards = (*world.hazards, f"query {kind}")
        if kind == "all":
            text = self.one(
                (f"SELECT * FROM {table}", f"FROM {table}", f"SELECT {', '.join(everything)} FROM {table}")
            )
            return replace(world, query=text, hazards=hazards, simple=False)
        if kind == "not local":
            text = self.one(
                (
                    f"SELECT DISTINCT * FROM {table}",
                    f"SELECT * FROM {table} LIMIT 3",
                    f"SELECT *, count(*) OVER () AS more FROM {table}",
                    f"SELECT * FROM {table} UNION ALL SELECT * FROM {table}",
                    f"SELECT t.* FROM {table} AS t, {table} AS u",
                    f"SELECT * FROM {table} WHERE random() < 0.5",
                    f"SELECT *, unnest([1, 2]) AS more FROM {table}",
                    f"SELECT * FROM {table} WHERE rowid < 2",
                )
            )
            return replace(world, query=text, hazards=hazards, refused="the query is not row-local")
        if kind == "renamed":
            return self._renamed(world, table, hazards)
        if kind == "replaced":
            at = self.one([at for at, role in enumerate(roles) if role.startswith("attribute")])
            expression = self.one(expressions(world, at))
            text = f"SELECT * REPLACE ({expression} AS {everything[at]}) FROM {table}"
            return replace(world, query=text, hazards=hazards, simple=False)
        if kind == "amount" and world.amount_at is not None:
            return self._of_amounts(world, table, hazards)
        if kind == "swapped" and world.unit_at is not None and world.unit_at >= 0 and "other" in roles:
            rest = [
                name for at, name in enumerate(everything) if roles[at] != "unit" and roles[at] != "other"
            ]
            low, high = self.one((("id", "ID"), ("ID", "id"), ("Id", "id")))
            other = everything[roles.index("other")]
            both = [f"{other} AS {low}", f"{everything[world.unit_at]} AS {high}"]
            self.random.shuffle(both)
            text = f"SELECT {', '.join([*rest, *both])} FROM {table}"
            measure = {**world.measure, "unit": (high, world.measure["unit"][1])}
            return replace(
                world,
                query=text,
                measure=measure,
                hazards=hazards,
                refused="two columns have one name",
                simple=False,
            )
        if kind == "computed unit" and world.unit_at is not None and world.unit_at >= 0:
            kinds = {part.types[world.unit_at].name for part in world.parts}
            if len(kinds) == 1 and not world.refused:
                name, at = kinds.pop(), world.unit_at
                fitting = {"text": ("first letter", "joined"), "csv": ("first letter", "joined")}.get(
                    name, ()
                )
                if name in ("int32", "int64", "int16"):
                    fitting = ("text", "halves")
                if fitting:
                    id_of = self.one(fitting)
                    expression = COMPUTED[id_of][0].format(everything[at])
                    text = f"SELECT * REPLACE ({expression} AS {everything[at]}) FROM {table}"
                    return replace(world, query=text, id_of=id_of, hazards=hazards, simple=False)
        return world

    def _renamed(self, world: World, table: str, hazards: tuple[str, ...]) -> World:
        """Rename all columns by a query."""
        if world.refused or (world.unit_at or 0) < 0 or "twin key" in hazards:
            return world
        new = self.random.sample(NAMES[:20], len(world.columns))
        if self.chance(0.3):
            new = self.random.sample(world.columns, len(world.columns))
        text = ", ".join(
            f"{quoted(old)} AS {quoted(name)}" for old, name in zip(world.columns, new, strict=True)
        )
        named = {fold(old): name for old, name in zip(world.columns, new, strict=True)}
        measure = dict(world.measure)
        for setting in ("count_column", "sum_column"):
            if setting in measure:
                measure[setting] = named[fold(measure[setting])]
        if "unit" in measure:
            measure["unit"] = (named[fold(measure["unit"][0])], measure["unit"][1])
        return replace(
            world,
            query=f"SELECT {text} FROM {table}",
            attributes=tuple(replace(each, column=named[fold(each.column)]) for each in world.attributes),
            measure=measure,
            hazards=hazards,
            simple=False,
            rows_are_units=self.chance(0.1) and world.unit_at is None and "count_column" not in measure,
        )

    def _of_amounts(self, world: World, table: str, hazards: tuple[str, ...]) -> World:
        """Compute with the column that is added."""
        assert world.amount_at is not None
        name = quoted(world.columns[world.amount_at])
        level = max(2, _some_whole_number(world, world.amount_at))
        attribute = quoted(world.columns[0])
        amount = f"TRY_CAST({name} AS BIGINT)"
        text = self.one(
            (
                f"SELECT * REPLACE ({amount} * 2 AS {name}) FROM {table}",
                f"SELECT * REPLACE ({amount} // {level} AS {name}) FROM {table}",
                f"SELECT * REPLACE (CASE WHEN {amount} >= {level} THEN {amount} END AS {name}) FROM {table}",
                f"SELECT * REPLACE ({amount} // {level} AS {attribute}) FROM {table}",
                f"SELECT * REPLACE ({amount} - {level} AS {attribute}) FROM {table}",
                f"SELECT * FROM {table} WHERE {amount} >= {level}",
                f"SELECT * FROM {table} WHERE coalesce({name}, {name}) IS NOT NULL AND {amount} <> {level}",
                f"SELECT * REPLACE ({name} AS {name}) FROM {table}",
            )
        )
        return replace(world, query=text, hazards=hazards, simple=False)


def _meeting(kind: Stored) -> tuple[Any, ...]:
    """Return units that another file's, of another type, would meet if either lost a sign or a digit."""
    match kind.family:
        case "whole":
            return tuple(raw for raw in kind.raws if raw in (-1, 1) or raw == max(kind.raws))
        case "decimal":
            step = Decimal(1).scaleb(-kind.arrow.scale)
            return tuple(raw for raw in kind.raws if raw in (step, -step, 0, 1, 1 + step, 2))
        case "clock" | "instant" | "day" | "text":
            return kind.raws[:3]
    return kind.raws


def quoted(name: str) -> str:
    """Return a name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def conditions(world: World, at: int, draw: Draw) -> list[str]:
    """Return filters by one column, many of which fail on some value, and some that are not row-local."""
    column = quoted(world.columns[at])
    level = _some_whole_number(world, at)
    if draw.chance(0.1):
        return [
            f"{column} = max({column})",
            f"{column} IN (SELECT {column} FROM data)",
            "random() < 0.5",
            "rowid = 0",
        ]
    text = f"CAST({column} AS VARCHAR)"
    return [
        f"TRY_CAST({column} AS BIGINT) >= {level}",
        f"TRY_CAST({column} AS BIGINT) <> {level}",
        f"{column} >= {level}",
        f"coalesce(TRY_CAST({column} AS BIGINT) % 2 = 0, FALSE)",
        f"{column} IS NOT NULL",
        "TRUE",
        f"{text} <> 'a'",
        f"length({text}) < 3",
        f"{column} IN ('a', '1')",
        *(f"({expression}) IS NOT NULL" for expression in expressions(world, at)),
    ]


def _some_whole_number(world: World, at: int) -> int:
    """Return a number that a column holds, so that a condition can turn on one person."""
    for row in world.rows:
        raw = row.cells[at]
        if isinstance(raw, int | float | Decimal | str) and not isinstance(raw, bool):
            text = str(raw).strip('"')
            if text.isascii() and text.removesuffix(".0").isdigit():
                return int(text.removesuffix(".0"))
    return 1


def expressions(world: World, at: int) -> list[str]:
    """Return what a query may compute of one column; most of it fails on some value."""
    column = quoted(world.columns[at])
    text, number = f"CAST({column} AS VARCHAR)", f"TRY_CAST({column} AS BIGINT)"
    return [
        f"CAST({column} AS INTEGER)",
        f"CAST({column} AS TINYINT)",
        f"CAST({text} AS DATE)",
        f"CAST({text} AS UUID)",
        f"CAST({text} AS BOOLEAN)",
        f"CAST({column} AS TIMESTAMP)",
        f"CAST({column} AS DECIMAL(4, 1))",
        f"CAST({text} AS INTEGER[])",
        f"{number} + 9223372036854775807",
        f"abs({number})",
        f"-{number}",
        f"{number} * {number}",
        f"10 // {number}",
        f"{number} << 62",
        f"factorial({number}::INTEGER)",
        f"make_date({number}, 1, 1)",
        f"chr({number}::INTEGER)",
        f"sqrt({number})",
        f"ln({number})",
        f"strptime({text}, '%Y')",
        f"regexp_matches('a', {text})",
        f"json_extract({text}, '$.a')",
        f"unhex({text})",
        f"from_base64({text})",
        f"format({text}, 1)",
        f"printf({text}, 1)",
        f"CASE WHEN {number} > 2 THEN CAST({text} AS INTEGER) END",
        f"TRY_CAST({text} AS INTEGER)",
        f"coalesce(TRY_CAST({text} AS BIGINT), 1)",
        f"date_trunc('day', CAST({column} AS TIMESTAMP))",
        f"to_timestamp({number})",
        f"repeat({text}, 2)",
        f"lower({text})",
        f"{text}[1]",
        f"url_decode({text})",
        f"decode(encode({text}))",
        f"CAST({text} AS INTERVAL)",
        f"CAST({text} AS BLOB)",
        f"bitstring({text}, 40)",
        f"round({number}, 400)",
        f"time_bucket(INTERVAL 1 DAY, CAST({column} AS TIMESTAMP))",
        f"to_base({number}, 2)",
        f"nextafter({number}::DOUBLE, 1)",
        f"pow({number}, 1000)",
        f"lpad({text}, {number}::INTEGER, 'x')",
        f"gcd({number}, 6)",
        f"(ROW({column})).{column}",
        f"[{column}][{number}]",
    ]


_held: dict[tuple[str, str], bool] = {}


def holds(form: str, kind: Stored) -> bool:
    """Return whether a form of input can store a type, by trying to write it."""
    from tests.engines.door.writing import can_write

    if form in ("arrow", "reader", "ipc", "ipc stream"):
        return True  # Arrow itself
    # What the same library writes need not be tried again.
    form = {"duckdb": "parquet by duckdb", "parquet by polars": "polars"}.get(form, form)
    key = (form, kind.name)
    if key not in _held:
        _held[key] = can_write(form, kind)
    return _held[key]


def fewer(world: World) -> Iterator[World]:
    """Yield worlds that are a little smaller, for a counterexample that is easier to read."""
    if len(world.parts) > 1 and world.unit_at != -2:
        for gone in range(len(world.parts)):
            yield replace(world, parts=tuple(part for at, part in enumerate(world.parts) if at != gone))
    numbers = [row.number for row in world.rows]
    for size in (8, 4, 2, 1):
        for begin in range(0, len(numbers), size):
            some = set(numbers[begin : begin + size])
            yield world.without(lambda _, row, some=some: row.number in some)  # type: ignore[misc]
    if world.where is not None:
        yield replace(world, where=None)
    if len(world.attributes) > 1 and not world.refused:
        for gone in range(len(world.attributes)):
            yield replace(
                world,
                attributes=tuple(each for at, each in enumerate(world.attributes) if at != gone),
                places=tuple(each for at, each in enumerate(world.places) if at != gone),
            )
