"""Real tables with three attributes or more, or with levels: their domains, cells, questions and true sums.

People, flights, readings and commuters of ../shared/data. The data stay there; without them, sheets say so.

Promise: a domain is what the data's own description declares, and no value of it depends on the rows. Rows
outside of it are left out. True sums are counted by NumPy from the codes, and share nothing with the package
but the order of values that the domain declares.
Cost: reading and counting the largest takes about a second; each is counted once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht

Codes: TypeAlias = NDArray[np.int64]
Array: TypeAlias = NDArray[np.float64]
Declared: TypeAlias = Mapping[str, dict[str, Any]]  # by the name of an attribute

DATA = Path(__file__).parents[2] / "shared" / "data"
MISSING = None if DATA.is_dir() else f"{DATA} is not there"
_FIVE_YEARS, _TEN_THOUSAND = 5, 10_000
_OCTAVE, _LEAST_OCTAVE, _OCTAVES = 4, -10, 40  # values of NAB: quarters of octaves from 2^-10 to 2^30


class Item(NamedTuple):
    """An attribute of a question, at one of its levels or at the finest."""

    name: str
    level: str | None = None

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.level.removeprefix('1 ')}({self.name})"


class Question(NamedTuple):
    """How many there are, by each of these."""

    items: tuple[Item, ...]

    def __str__(self) -> str:
        return ",".join(map(str, self.items))

    @property
    def names(self) -> list[str]:
        """What `Release.by` is asked for."""
        return list(map(str, self.items))


@dataclass(frozen=True, eq=False)
class AskedTable:
    """Occupied cells as codes and counts, over a declared domain."""

    name: str
    domain: ht.Domain
    codes: Codes
    counts: Codes

    @classmethod
    def counted(cls, name: str, attributes: Declared, columns: Sequence[Codes]) -> "AskedTable":
        """Count rows of codes; those outside of the domain are left out."""
        return cls.added_up(name, attributes, columns, np.ones(columns[0].size, dtype=np.int64))

    @classmethod
    def added_up(
        cls, name: str, attributes: Declared, columns: Sequence[Codes], counts: Codes
    ) -> "AskedTable":
        """Add up counts of equal codes."""
        declared = [{"name": each, **values} for each, values in attributes.items()]
        domain = ht.Domain.from_dict({"title": name, "attribute": declared})
        sizes = zip(columns, domain.shape, strict=True)
        inside = np.all([(each >= 0) & (each < size) for each, size in sizes], axis=0)
        keys = np.ravel_multi_index([each[inside] for each in columns], domain.shape)
        cells, owners = np.unique(keys, return_inverse=True)
        sums = np.bincount(owners, weights=counts[inside]).astype(np.int64)
        return cls(name, domain, np.stack(np.unravel_index(cells, domain.shape), axis=1), sums)

    @cached_property
    def rows(self) -> pa.Table:
        """What is published: the values of occupied cells, and a column `people` with their counts."""
        return self.domain.decode(self.codes).append_column("people", pa.array(self.counts))

    @property
    def items(self) -> list[Item]:
        """All attributes at all levels."""
        levels = self.domain.levels
        return [Item(name, level) for name in self.domain.names for level in (None, *levels[name])]

    @cached_property
    def questions(self) -> list[Question]:
        """All questions by one and by two attributes, of fewer than the domain has."""
        many = range(1, min(3, len(self.domain.names)))
        found = (each for number in many for each in combinations(self.items, number))
        return [Question(each) for each in found if _apart(each)]

    @cached_property
    def whole_questions(self) -> list[Question]:
        """Questions by both attributes of a domain of two, each at the same level."""
        if len(self.domain.names) > 2:
            return []
        pairs = (pair for pair in combinations(self.items, 2) if _apart(pair))
        return [Question(pair) for pair in pairs if pair[0].level == pair[1].level is not None]

    def groups(self, question: Question) -> int:
        """Return how many groups a question has."""
        return prod(self._labels(item).size for item in question.items)

    def truth(self, question: Question) -> Array:
        """Return the true sums of all groups, in the order of the domain."""
        shape = [self._labels(item).size for item in question.items]
        columns = dict(zip(self.domain.names, self.codes.T, strict=True))
        keys = np.ravel_multi_index(
            [self._coarser(each)[columns[each.name]] for each in question.items], shape
        )
        return np.bincount(keys, weights=self.counts, minlength=prod(shape)).astype(np.float64)

    def check_order(self, question: Question, groups: pa.Table) -> None:
        """Raise unless the first columns name all groups, in the order of the domain."""
        attributes = map(self._labels, question.items)
        labels = [each.values.decode(np.arange(each.size)) for each in attributes]
        places = np.unravel_index(np.arange(prod(map(len, labels))), list(map(len, labels)))
        for number, (values, codes) in enumerate(zip(labels, places, strict=True)):
            if groups.column(number).to_pylist() != values.take(pa.array(codes)).to_pylist():
                raise ValueError(f"groups by {question} of {self.name} are in another order")

    def _labels(self, item: Item) -> Any:
        """Return the attribute of an item, at its level."""
        domain = self.domain if item.level is None else self.domain.at({item.name: item.level})
        return domain.attribute(item.name)

    def _coarser(self, item: Item) -> Codes:
        """Return the code at the level of an item, for each code of its attribute."""
        finest = self.domain.attribute(item.name)
        every = np.arange(finest.size)
        if item.level is None:
            return every
        coarse = self._labels(item)
        values = finest.values.decode(every).to_pylist()
        return np.array([coarse.place(value) for value in values], dtype=np.int64)


def _apart(items: Sequence[Item]) -> bool:
    """Return whether no attribute is there twice."""
    return len({item.name for item in items}) == len(items)


def _integers(size: int) -> dict[str, Any]:
    return {"integers": {"low": 0, "high": size - 1}}


def _declared(name: str) -> Any:
    """Return what a data set's own file declares."""
    return json.loads((DATA / f"{name}.domain.json").read_text())


def _places(column: pa.ChunkedArray, values: Sequence[str]) -> Codes:
    """Return where the values stand in a list; -1 for those that do not."""
    found = pc.index_in(column.cast(pa.string()), value_set=pa.array(values))
    return np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)


def _numbers(column: pa.ChunkedArray) -> Any:
    return column.to_numpy()


def _adult() -> AskedTable:
    rows = pq.read_table(DATA / "adult.parquet")
    names = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")
    values = _declared("adult")["attrs"]
    columns = [_places(rows[name], values[name]) for name in names]
    return AskedTable.counted("adult", {name: _integers(len(values[name])) for name in names}, columns)


def _flights(*others: str) -> AskedTable:
    """Count flights by both airports and by hour, weekday or day."""
    rows = pq.read_table(DATA / "flights_3m.parquet", columns=["date", "origin", "destination"])
    airports = _declared("flights_3m")["airports"]
    first = np.datetime64("2001-01-01")  # a Monday
    days = (_numbers(rows["date"]).astype("datetime64[D]") - first).astype(np.int64)
    more: dict[str, tuple[dict[str, Any], Codes]] = {
        "hour": (_integers(24), np.asarray(pc.hour(rows["date"]).to_numpy(), dtype=np.int64)),
        "weekday": (_integers(7), days % 7),
        "day": (
            {"times": {"start": "2001-01-01", "stop": "2001-07-01", "every": "1 day", "levels": ["1 month"]}},
            days,
        ),
    }
    attributes = dict.fromkeys(("origin", "destination"), _integers(len(airports)))
    columns = [_places(rows[name], airports) for name in attributes] + [more[name][1] for name in others]
    name = " x ".join(("flights", *others))
    return AskedTable.counted(name, attributes | {each: more[each][0] for each in others}, columns)


def _new_york() -> AskedTable:
    rows = pq.read_table(DATA / "nycflights13.parquet")
    values = _declared("nycflights13")
    names = ("origin", "dest", "carrier")
    attributes = {name: _integers(len(values[name])) for name in names}
    columns = [_places(rows[name], values[name]) for name in names]
    months, times = (_numbers(rows[name]).astype(np.int64) for name in ("month", "sched_dep_time"))
    attributes |= {"month": _integers(12), "hour": _integers(24)}
    return AskedTable.counted("nycflights13", attributes, [*columns, months - 1, times // 100])


def _census(column: str) -> AskedTable:
    """Count government employees by age, a column that stands for their birthplace, occupation and income."""
    rows = pq.read_table(DATA / "gov_census.parquet")
    values = _declared("gov_census")
    places = values.get(column, ["native", "foreign-born"])
    occupations = values["occupation"]
    attributes = {
        "age": _integers(10),
        column: _integers(len(places)),
        "occupation": {"categories": {"values": occupations, "levels": {"major": 2}}},  # its first digits
        "income": _integers(72),
    }
    columns = [
        (_numbers(rows["age"]).astype(np.int64) - 15) // _FIVE_YEARS,
        _places(rows[column], places),
        _places(rows["occupation"], occupations),
        _numbers(rows["salary"]).astype(np.int64) // _TEN_THOUSAND,
    ]
    return AskedTable.counted(f"gov_census, {column}", attributes, columns)


def _hours_of_week(column: pa.ChunkedArray) -> Codes:
    times = _numbers(column).astype("datetime64[h]").astype(np.int64)
    return np.asarray((times + 72) % 168, dtype=np.int64)  # 1970-01-01 was a Thursday


def _speeds() -> AskedTable:
    rows = pq.read_table(DATA / "metr_la_week.parquet")
    devices = _declared("metr_la_week")["deviceId"]
    attributes = {"device": _integers(len(devices)), "hour": _integers(168), "speed": _integers(80)}
    speeds = np.floor(_numbers(rows["val"])).astype(np.int64)
    columns = [_places(rows["deviceId"], devices), _hours_of_week(rows["timestamp"]), speeds]
    return AskedTable.counted("metr_la", attributes, columns)


def _series() -> AskedTable:
    rows = pq.read_table(DATA / "nab_real.parquet")
    series = _declared("nab_real")["series"]
    values = np.maximum(_numbers(rows["value"]), 2.0**_LEAST_OCTAVE)
    steps = np.floor(_OCTAVE * (np.log2(values) - _LEAST_OCTAVE)).astype(np.int64)
    sizes = {"series": len(series), "hour": 168, "value": _OCTAVE * _OCTAVES}
    attributes = {name: _integers(size) for name, size in sizes.items()}
    columns = [_places(rows["deviceId"], series), _hours_of_week(rows["timestamp"]), steps]
    return AskedTable.counted("nab", attributes, columns)


def _commuters(name: str, file: str, codebook: str) -> AskedTable:
    """Add up commuters between blocks, which lie in block groups and tracts."""
    rows = pq.read_table(DATA / f"{file}.parquet", columns=["h_geocode", "w_geocode", "S000"])
    blocks = pq.read_table(DATA / "codebooks" / f"{codebook}.parquet")["block"].to_pylist()
    digits = {"block_group": 12, "tract": 11}
    values = {"categories": {"values": blocks, "levels": digits}}
    columns = [_places(rows[column], blocks) for column in ("h_geocode", "w_geocode")]
    counts = _numbers(rows["S000"]).astype(np.int64)
    return AskedTable.added_up(name, {"home": values, "work": values}, columns, counts)


def two_attributes(values: int, codes: Codes, counts: Codes) -> AskedTable:
    """Return any counts, real or not, as a table of two attributes with so many values each."""
    attributes = dict.fromkeys(("home", "work"), _integers(values))
    return AskedTable.added_up(f"{values:,} x {values:,}", attributes, list(codes.T), counts)


_MAKERS: dict[str, Callable[[], AskedTable]] = {
    "adult": _adult,
    "flights x hour": lambda: _flights("hour"),
    "flights x hour x weekday": lambda: _flights("hour", "weekday"),
    "flights x day": lambda: _flights("day"),
    "nycflights13": _new_york,
    "gov_census, region": lambda: _census("economic_region"),
    "gov_census, nativity": lambda: _census("nativity"),
    "metr_la": _speeds,
    "nab": _series,
    "LODES DC": lambda: _commuters("LODES DC", "lodes_dc_main_2023", "dc_blocks_2020"),
    "LODES RI": lambda: _commuters("LODES RI", "lodes_ri_main_2019", "ri_blocks_2010"),
}
NAMES = tuple(_MAKERS)


@cache
def real_table(name: str) -> AskedTable:
    """Return a table by its name: counted once, and kept."""
    return _MAKERS[name]()
