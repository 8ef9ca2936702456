"""Feed the product what nobody should write: files, conditions and rows that were made and then spoiled.

python -m tests.audit fuzz               all kinds
python -m tests.audit fuzz footers 7031  one input again, by its kind and number

Every input follows from its kind and its number. It is spoiled where it has structure: an entry of a footer,
a field of Parquet's own, a word of a TOML file, an operand of a condition, a field of a record. Checksums are
made anew, so that spoiled files get past them.

What must hold: each input gives an answer or an error of ours; within `LONGEST` seconds; within `ROOM` more
memory than any input before; and no message holds a value of the rows (`CANARY`). Each kind runs in a process
of its own: one that dies, by a signal or otherwise, is a finding too.
Cost: some milliseconds an input.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import hushtable as ht
from hushtable.errors import BadRelease, InternalError, LowMemory
from hushtable.release import checksum
from tests.release.forging import forged, rewritten

CANARY = "Jane-Roe-9417"
LONGEST = 20  # seconds for one input
ROOM = 1 << 29  # bytes by which one input may raise what its process has taken at most
_ADDRESSES = 1 << 33  # of one process: what is above ends it, and not the machine
GOLDEN = Path(__file__).parents[1] / "release" / "golden"

_NUMBERS = [0, -1, 1, 2, 127, 128, 255, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**30, 10**400]
_TEXTS = ["", " ", "\0", "é", "\U0001f600", "\u202e", "a" * 10_000, "1e999999999", "nan", "-inf", "0x10", "'"]
_TEXTS += ['"', "{year}", "../../etc/passwd", "/dev/stdin", "NULL", "1/0", "1/3", "<script>", "\\", "%s", "="]
_VALUES: list[Any] = [*_NUMBERS, *_TEXTS, None, True, False, 0.1, 1e308, float("nan"), [], {}, [[]], [{}]]

Try = Callable[[Random, Path], object]


@dataclass(frozen=True)
class Kind:
    """A kind of input: how one is made and fed, and how many are fed in a whole audit."""

    name: str
    feed: Try
    share: int  # of all inputs, beside others


@dataclass(frozen=True)
class Finding:
    """What became of the inputs of a kind."""

    kind: str
    inputs: int
    answered: int  # the others gave an error of ours
    slowest: float
    wrong: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was wrong."""
        return not self.wrong


def spoiled_bytes(chance: Random, data: bytes) -> bytes:
    """Change, cut, repeat or insert some bytes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        place = chance.randrange(len(made) + 1)
        length = min(chance.choice((1, 1, 2, 4, 8, 64, 1000)), len(made) - place)
        match chance.randrange(5):
            case 0:
                made[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del made[place : place + length]
            case 2:
                made[place:place] = chance.randbytes(length)
            case 3:
                made[place:place] = made[place : place + length] * chance.choice((1, 2, 50))
            case 4:
                made[place : place + length] = chance.choice((b"\0", b"\xff", b"\x80", b"\n")) * length
    return bytes(made)


def spoiled_tree(chance: Random, thing: Any) -> Any:
    """Change one place of what JSON or TOML says."""
    if isinstance(thing, dict) and thing and chance.random() < 0.85:
        key = chance.choice(list(thing))
        match chance.randrange(10):
            case 0:
                return {name: each for name, each in thing.items() if name != key}
            case 1:
                return {**thing, str(chance.choice(_TEXTS)): thing[key]}
            case _:
                return {**thing, key: spoiled_tree(chance, thing[key])}
    if isinstance(thing, list) and thing and chance.random() < 0.85:
        place = chance.randrange(len(thing))
        match chance.randrange(6):
            case 0:
                return [*thing[:place], *thing[place + 1 :]]
            case 1:
                return [*thing, *[thing[place]] * chance.choice((1, 2, 100))]
            case _:
                return [*thing[:place], spoiled_tree(chance, thing[place]), *thing[place + 1 :]]
    if isinstance(thing, str) and thing and chance.random() < 0.4:
        if thing.startswith(("{", "[")):
            with suppress(ValueError):
                return json.dumps(spoiled_tree(chance, json.loads(thing)))
        return spoiled_bytes(chance, thing.encode()).decode(errors="replace")
    if isinstance(thing, int) and not isinstance(thing, bool) and chance.random() < 0.5:
        return thing + chance.choice((-1, 1, 2, 1000, -thing, -2 * thing))
    return chance.choice(_VALUES)


def spoiled_words(chance: Random, text: str) -> str:
    """Change, drop, repeat or swap some words of a text."""
    words, word, end = [], "", ""
    for letter in text:
        kind = "a" if letter.isalnum() or letter in "_." else letter
        if word and kind != end:
            words.append(word)
            word = ""
        word, end = word + letter, kind
    words.append(word)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place, other = chance.randrange(len(words)), chance.randrange(len(words))
        match chance.randrange(5):
            case 0:
                words[place] = ""
            case 1:
                words[place] += words[other]
            case 2:
                words[place], words[other] = words[other], words[place]
            case 3:
                words[place] = str(chance.choice(_VALUES))
            case 4:
                words[place] = repr(chance.choice(_VALUES))
    return "".join(words)


def look_at(path: Path) -> None:
    """Do what somebody does with a release that a stranger sent."""
    release = ht.open(path)
    repr(release)
    str(release.guarantee)
    release.to_arrow()
    release.total()
    assert len(release.codes) == len(release)
    if release.domain.names:
        with suppress(ht.BadChoice, ht.BadQuery):
            release.by(release.domain.names[0], top=3)


@cache
def _golden() -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(GOLDEN.glob("*.parquet")) if path.is_file()]


def release_bytes(chance: Random, folder: Path) -> None:
    """Spoil bytes of a release; mostly with checksums that hold."""
    name, data = chance.choice(_golden())
    path = folder / name
    path.write_bytes(spoiled_bytes(chance, data))
    if chance.random() < 0.8:
        with suppress(BadRelease, ValueError, OSError), path.open("r+b") as file:
            checksum.fill(file)
    look_at(path)


def footers(chance: Random, folder: Path) -> None:
    """Spoil what a footer says of a release."""
    name, data = chance.choice(_golden())
    path = folder / name
    path.write_bytes(data)
    with pq.ParquetFile(path) as file:
        said, table = dict(file.metadata.metadata or {}), file.read()
    entries = {key.decode(): value.decode() for key, value in said.items() if key.decode() != checksum.KEY}
    entries.pop("ARROW:schema", None)
    for _ in range(chance.choice((1, 1, 2, 3))):
        key = chance.choice(list(entries))
        entries[key] = str(spoiled_tree(chance, entries[key]))
    rewritten(path, table.replace_schema_metadata(None), entries)
    look_at(path)


def parquet_fields(chance: Random, folder: Path) -> None:
    """Spoil what Parquet's own footer says of columns and pages."""
    name, data = chance.choice(_golden())
    path = folder / name
    path.write_bytes(data)

    def spoil(fields: Any) -> None:
        """Walk to some field, and change it as its type allows."""
        while True:
            if isinstance(fields, dict):
                if not fields:
                    return
                number = chance.choice(list(fields))
                kind, value = fields[number]
                if isinstance(value, dict | list) and chance.random() < 0.9:
                    fields = value
                    continue
                if chance.random() < 0.1:
                    del fields[number]
                elif isinstance(value, int):
                    fields[number][1] = _fitting(kind, chance)
                elif isinstance(value, bytes | bytearray):
                    fields[number][1] = spoiled_bytes(chance, bytes(value))
                return
            inner, values = fields
            if not values:
                return
            place = chance.randrange(len(values))
            if isinstance(values[place], dict):
                fields = values[place]
                continue
            if isinstance(values[place], int):
                values[place] = _fitting(inner, chance)
            elif isinstance(values[place], bytes | bytearray):
                values[place] = spoiled_bytes(chance, bytes(values[place]))
            return

    forged(path, spoil)
    look_at(path)


def _fitting(kind: int, chance: Random) -> int:
    """Return a number of a type of Thrift."""
    bits = {3: 7, 4: 15, 5: 31, 6: 63}.get(kind, 31)
    number = chance.choice([each for each in _NUMBERS if abs(each) < 1 << bits] or [0])
    return abs(number) % 128 if kind == 3 else number


DOMAIN = """
title = "Visits"
[[attribute]]
name = "town"
categories = { file = "towns.csv", column = "town" }
missing = { other = "north" }
[[attribute]]
name = "age"
column = "years"
bins = { start = 0, stop = 100, step = 5, levels = [20] }
outside = "clamp"
[[attribute]]
name = "day"
times = { start = "2024-01-01", stop = "2024-02-01", every = "1 day", levels = ["1 month"] }
[[attribute]]
name = "visits"
integers = { low = 0, high = 9 }
[[attribute]]
name = "height"
bins = { edges = [0.0, 1.5, 1.75, 3] }
[[attribute]]
name = "word"
any_text = { longest = 20 }
"""
RECIPES = """
ledger = "people.ledger"
[defaults]
data = "rows-{year}.parquet"
domain = "people.toml"
unit = { column = "person", max_rows = 2 }
[[release]]
name = "first-{year}"
epsilon = "0.1"
size = 50
where = "age >= 18"
output = "first-{year}.parquet"
[[release]]
name = "second"
structure = { name = "tree", branching = 16 }
size = 50
rho = "1/100"
output = "second.parquet"
total_share = "1/50"
"""


def domain_files(chance: Random, folder: Path) -> None:
    """Spoil a domain file, or the list of categories beside it."""
    text, towns = DOMAIN, "town,region\nnorth,a\nsouth,b\n"
    if chance.random() < 0.8:
        text = spoiled_words(chance, text)
    else:
        towns = spoiled_words(chance, towns)
    (folder / "towns.csv").write_text(towns, errors="replace")
    (folder / "people.toml").write_text(text, errors="replace")
    domain = ht.Domain.load(folder / "people.toml")
    repr(domain)
    assert domain.shape


def recipe_files(chance: Random, folder: Path) -> None:
    """Spoil a file of recipes; nothing of it is published."""
    (folder / "releases.toml").write_text(spoiled_words(chance, RECIPES), errors="replace")
    name = chance.choice(("first-2024", "second"))
    repr(ht.Recipe.load(folder / "releases.toml", name, year=2024))


@cache
def _asked() -> ht.Release:
    return ht.open(GOLDEN / "v4-people.parquet")


_CONDITIONS = [
    "{a} = {v}", "{a} <> {v}", "{a} < {v}", "{a} BETWEEN {v} AND {v}", "{a} IN ({v}, {v}, {v})", "NOT ({c})",
    "({c}) AND ({c})", "({c}) OR ({c})", "{a} IS NULL", "CASE WHEN {c} THEN {c} ELSE {c} END", "{a} LIKE {v}",
    "length(CAST({a} AS VARCHAR)) > {v}", "{a} + {v} > {v}", "repeat({v}, {v}) = {a}", "{a}::DATE < {v}",
    "({c}) IS DISTINCT FROM ({c})", "coalesce({a}, {v}) = {v}", "regexp_matches(CAST({a} AS VARCHAR), {v})",
    "{a} IN (SELECT 1)", "read_csv({v})", "{a} = getenv({v})", "random() < {v}", "{a} // {v} = {v}",
    "range({v}) IS NOT NULL", "lpad({v}, {v}, {v}) = {a}", "{a} COLLATE NOCASE = {v}", "sum({a}) > {v}",
]  # fmt: skip


def _condition(chance: Random, names: Sequence[str], depth: int = 0) -> str:
    form = chance.choice(_CONDITIONS if depth < 4 else _CONDITIONS[:3])
    while "{c}" in form:
        form = form.replace("{c}", _condition(chance, names, depth + 1), 1)
    while "{a}" in form:
        form = form.replace("{a}", chance.choice(names), 1)
    while "{v}" in form:
        value = chance.choice(_VALUES)
        said = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
        form = form.replace("{v}", said, 1)
    return form


def conditions(chance: Random, folder: Path) -> None:
    """Ask a release with a condition that was made of parts, and often spoiled."""
    release = _asked()
    text = _condition(chance, [f'"{name}"' for name in release.domain.names])
    if chance.random() < 0.5:
        text = spoiled_words(chance, text)
    release.total(where=text)


@cache
def _rows() -> pa.Table:
    towns = ["north", "south", CANARY, None] * 5
    return pa.table(
        {"town": towns, "age": list(range(20)), "person": [f"{CANARY}-{i // 2}" for i in range(20)]}
    )


@cache
def _small() -> ht.Domain:
    return ht.Domain(town=ht.categories(["north", "south"]), age=ht.integers(0, 99))


def row_filters(chance: Random, folder: Path) -> None:
    """Count rows under a filter that was made of parts, and often spoiled."""
    text = _condition(chance, ["town", "age", "person", "rowid"])
    if chance.random() < 0.5:
        text = spoiled_words(chance, text)
    ht.count(_rows(), domain=_small(), where=text)


def queries(chance: Random, folder: Path) -> None:
    """Count the rows of a query that was spoiled."""
    condition = _condition(chance, ["town", "age"])
    text = f"SELECT town, age + {chance.choice(_NUMBERS)} AS age FROM data WHERE {condition}"
    ht.count(_rows(), domain=_small(), query=spoiled_words(chance, text))


_PEOPLE = ["town,age,person", *(f'north,{number},"{CANARY}-{number}"' for number in range(8))]
_JSON = [json.dumps({"town": "south", "age": number, "person": f"{CANARY}-{number}"}) for number in range(8)]


def delimited_rows(chance: Random, folder: Path) -> None:
    """Count a spoiled file of CSV; its header stays, because the names of columns are said."""
    path = folder / chance.choice(("rows.csv", "rows.tsv", "rows.csv.gz"))
    header, *lines = _PEOPLE
    body = spoiled_bytes(chance, "\n".join([*lines, ""]).encode())
    path.write_bytes(header.encode() + b"\n" + body)
    unit = ht.Unit("person", max_rows=2) if chance.random() < 0.5 else None
    ht.count(path, domain=_small(), unit=unit)


def json_rows(chance: Random, folder: Path) -> None:
    """Count a spoiled file of JSON lines."""
    path = folder / "rows.jsonl"
    lines = list(_JSON)
    place = chance.randrange(len(lines))
    if chance.random() < 0.5:
        lines[place] = json.dumps(spoiled_tree(chance, json.loads(lines[place])))
        data = "\n".join(lines).encode()
    else:
        data = spoiled_bytes(chance, "\n".join(lines).encode())
    path.write_bytes(data)
    unit = ht.Unit("person", max_rows=2) if chance.random() < 0.5 else None
    ht.count(path, domain=_small(), unit=unit)


def names(chance: Random, folder: Path) -> None:
    """Publish under names that nobody would give; then write its page, its card and its rows."""
    letters = "aZ0 _.,;:'\"<>&\\/{}[]()=%$#@!é\u202e\U0001f600"
    if chance.random() < 0.2:
        letters += "\n\t\0\ud800"
    text = ["".join(chance.choices(letters, k=chance.choice((1, 3, 10, 300)))) for _ in range(6)]
    domain = ht.Domain.from_dict(
        {
            "title": text[0],
            "attribute": [
                {"name": text[1], "column": "town", "categories": [text[2], text[3]]},
                {"name": text[4], "column": "age", "integers": {"low": 0, "high": 9}},
            ],
        }
    )
    release = ht.publish(
        _rows(), domain=domain, epsilon=1, size=5, ledger=False, output=folder / "x.parquet", anyway=True
    )
    page = folder / "x.html"
    release.page(page)
    if "<script>alert" in page.read_text():
        raise AssertionError("a page holds a script of a stranger")
    release.card(folder / "card.yaml")
    release.export(folder / "x.csv")


KINDS = [
    Kind("bytes of releases", release_bytes, 30),
    Kind("footers", footers, 20),
    Kind("fields of Parquet", parquet_fields, 20),
    Kind("domain files", domain_files, 15),
    Kind("recipes", recipe_files, 10),
    Kind("conditions", conditions, 20),
    Kind("row filters", row_filters, 5),
    Kind("queries", queries, 5),
    Kind("rows of CSV", delimited_rows, 5),
    Kind("rows of JSON", json_rows, 5),
    Kind("names", names, 1),
]


class TooSlow(BaseException):
    """An input took longer than it may: no `except Exception` holds it back."""


def _ring(number: int, frame: object) -> None:
    raise TooSlow


def fed(kind: Kind, number: int, folder: Path) -> str | None:
    """Feed one input; return what was wrong, "" where it was answered, None where it was refused."""
    chance = Random(f"{kind.name} {number}")
    signal.alarm(LONGEST)
    try:
        kind.feed(chance, folder)
    except (InternalError, LowMemory) as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    except ht.HushtableError as error:
        return f"a value of the rows is in {error}"[:300] if CANARY in _said(error) else None
    except TooSlow:
        return f"more than {LONGEST} seconds"
    except (Exception, RecursionError) as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return ""


def _said(error: BaseException | None) -> str:
    """Return an error and all that it came of, as a traceback would show them."""
    said = ""
    while error is not None:
        said += f"{error}\n"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return said


def worked(kind: Kind, numbers: range, told: int) -> None:
    """Feed inputs, and tell of each what became of it."""
    signal.signal(signal.SIGALRM, _ring)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="hushtable-fuzz-") as place:
        os.chdir(place)
        tempfile.tempdir = place
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 2)
        folder = Path(place) / "x"
        folder.mkdir()
        for name, data in _golden()[-1:]:  # loads whatever is loaded late
            (folder / name).write_bytes(data)
            look_at(folder / name)
        ht.count(_rows(), domain=_small())
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        for number in numbers:
            for path in folder.iterdir():
                path.unlink()
            os.write(told, f"{number} began\n".encode())
            began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            wrong = fed(kind, number, folder)
            taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
            if not wrong and taken > ROOM:
                wrong = f"{taken:,} bytes"
            said = {"number": number, "wrong": wrong, "seconds": time.monotonic() - began}
            os.write(told, (json.dumps(said) + "\n").encode())


def tried(kind: Kind, inputs: int, *, start: int = 0) -> Finding:
    """Feed so many inputs of a kind, in processes of their own."""
    answered, slowest, wrong, next_one = 0, 0.0, list[str](), start
    while next_one < start + inputs:
        read, write = os.pipe()
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                os.close(read)
                worked(kind, range(next_one, start + inputs), write)
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        began: int | None = None
        with os.fdopen(read) as lines:
            for line in lines:
                if line.endswith("began\n"):
                    began = int(line.split()[0])
                    continue
                said = json.loads(line)
                next_one, began = said["number"] + 1, None
                slowest = max(slowest, said["seconds"])
                answered += said["wrong"] == ""
                if said["wrong"]:
                    wrong.append(f"{said['number']}: {said['wrong']}")
        _, status = os.waitpid(process, 0)
        if code := os.waitstatus_to_exitcode(status):
            place = next_one if began is None else began
            wrong.append(f"{place}: the process ended with {code}")
            next_one = place + 1
    return Finding(kind.name, inputs, answered, slowest, tuple(wrong))


def tried_at_once(kind: Kind, inputs: int, *, start: int = 0) -> Finding:
    """Feed so many inputs of a kind, on as many processors as there are."""
    number = min(len(os.sched_getaffinity(0)), inputs)
    edges = [start + inputs * part // number for part in range(number + 1)]
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(_part, [KINDS.index(kind)] * number, edges, edges[1:]))
    return Finding(
        kind.name,
        sum(each.inputs for each in parts),
        sum(each.answered for each in parts),
        max(each.slowest for each in parts),
        tuple(wrong for each in parts for wrong in each.wrong),
    )


def _part(kind: int, start: int, stop: int) -> Finding:
    """Feed the inputs of a part."""
    return tried(KINDS[kind], stop - start, start=start)


def found(words: Sequence[str] = (), *, inputs: int = 10_000, start: int = 0) -> Iterator[Finding]:
    """Give what became of so many inputs in all, kind by kind; or of one, whose number comes last."""
    if words and words[-1].isdecimal():
        *words, start, inputs = *words[:-1], int(words[-1]), 1
    shares = sum(kind.share for kind in KINDS)
    for kind in KINDS:
        if all(word in kind.name for word in words):
            yield tried_at_once(kind, max(1, inputs * kind.share // shares), start=start)
