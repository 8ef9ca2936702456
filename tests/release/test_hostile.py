"""Small files that ask for much: refused in little memory, and always as `BadRelease`."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.release.footer import entries_of
from hushtable.release.layout import schema_of
from hushtable.structures.sketch import CountSketch
from tests.release.examples import sketch_terms, terms
from tests.release.forging import BINARY, INT64, LIST, STRUCT, Fields, forged, rewritten

MEBIBYTE = 1 << 20
MOST = 200 * MEBIBYTE  # beyond what Python with pyarrow takes; files here ask for 0.5 GiB to 100 TiB

TWO = ht.Domain.from_dict({"attribute": [{"name": "home", "categories": ["n", "s"]}]})
FEW = terms(TWO, method=ht.FilterPriority(cutoff=20, size=20))
PACKED: dict[str, Any] = {
    "dictionary_pagesize_limit": 1 << 30,
    "compression": "zstd",
    "write_statistics": False,
}
NUMBERS = {"low": 0, "high": 10**9}
MANY = terms(
    ht.Domain.from_dict(
        {
            "attribute": [
                {"name": "home", "categories": ["n", "s"]},
                {"name": "x", "integers": {"low": 0, "high": 10**9}},
            ]
        }
    ),
    method=ht.Filter(cutoff=1),
)


def equal_rows(made: Any, number: int) -> pa.Table:
    """Return so many rows that are all alike."""
    columns = []
    for field in schema_of(made):
        value = {"string": "n", "int64": 1, "double": 1.0}[str(field.type)]
        columns.append(pa.repeat(pa.scalar(value, field.type), number))
    return pa.Table.from_arrays(columns, schema=schema_of(made))


def many_rows(path: Path) -> None:
    rewritten(path, equal_rows(FEW, 300_000), entries_of(FEW))


def groups_upon_each_other(path: Path) -> None:
    """10^7 rows: one group, named a hundred times."""
    rewritten(path, equal_rows(MANY, 1 << 17), entries_of(MANY))

    def change(said: Fields) -> None:
        said[3][1] *= 100
        said[4][1][1] *= 100

    forged(path, change)


def more_values_than_rows(path: Path) -> None:
    rewritten(path, equal_rows(MANY, 1 << 17), entries_of(MANY))

    def change(said: Fields) -> None:
        said[3][1] = 20
        said[4][1][1][0][3][1] = 20

    forged(path, change)


def fewer_values_than_stated(path: Path) -> None:
    rewritten(path, equal_rows(MANY, 20), entries_of(MANY))

    def change(said: Fields) -> None:
        said[3][1] = said[4][1][1][0][3][1] = 1 << 20
        for chunk in said[4][1][1][0][1][1][1]:
            chunk[3][1][5][1] = 1 << 20

    forged(path, change)


def packed_bomb(path: Path) -> None:
    """A domain of 128 MiB in 128 KiB."""
    compressed = zlib.compressobj(level=1)
    part = b" " * MEBIBYTE
    data = b"".join(compressed.compress(part) for _ in range(128)) + compressed.flush()
    rewritten(path, equal_rows(FEW, 2), packed(data))


def packed_values(path: Path) -> None:
    """As many empty objects as fit: each takes 64 bytes and more."""
    rewritten(path, equal_rows(FEW, 2), packed(zlib.compress(b"[" + b"{}," * 5_000_000 + b"{}]", level=1)))


def packed(data: bytes) -> dict[str, str]:
    said = json.loads(entries_of(FEW)["hushtable"])
    del said["domain"]
    return {"hushtable": json.dumps(said), "hushtable.domain": base64.b64encode(data).decode()}


def empty_sketch(path: Path) -> None:
    made = sketch_terms(CountSketch(width=10**8), TWO)
    rewritten(path, schema_of(made).empty_table(), entries_of(made))


def many_attributes(path: Path) -> None:
    said = json.loads(entries_of(FEW)["hushtable"])
    said["domain"]["attribute"] = [{"name": f"a{n}", "categories": ["n", "s"]} for n in range(50_000)]
    rewritten(path, equal_rows(FEW, 2), {"hushtable": json.dumps(said)})


def long_texts(path: Path, length: int) -> None:
    places = pa.array(np.zeros(1 << 17, np.int32))
    text = pa.DictionaryArray.from_arrays(places, pa.array(["x" * length]))
    table = equal_rows(MANY, 1 << 17).set_column(0, pa.field("home", text.type, nullable=False), text)
    rewritten(path, table, entries_of(MANY), **PACKED)


def long_text_in_a_dictionary(path: Path) -> None:
    """131,072 times a text of 8 MiB."""
    table = equal_rows(MANY, 1 << 17)
    text = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(1 << 17, np.int32)), pa.array(["x" * (64 * MEBIBYTE)])
    )
    table = table.set_column(0, pa.field("home", text.type, nullable=False), text)
    rewritten(path, table, entries_of(MANY), **PACKED)


def longer_text_than_the_domain_has(path: Path) -> None:
    """131,072 times a text of half a mebibyte: its page is no larger than those of other columns."""
    table = equal_rows(MANY, 1 << 17)
    text = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(1 << 17, np.int32)), pa.array(["x" * (MEBIBYTE // 2)])
    )
    table = table.set_column(0, pa.field("home", text.type, nullable=False), text)
    rewritten(path, table, entries_of(MANY), **PACKED)


def differences(path: Path) -> None:
    """Values that are told by differences: any number of them in a few bytes."""
    plain = {"use_dictionary": False, "column_encoding": {"x": "DELTA_BINARY_PACKED"}}
    rewritten(path, equal_rows(MANY, 1 << 17), entries_of(MANY), **plain)


def many_chunks(path: Path) -> None:
    """Columns of groups in three bytes each, for which Parquet's reader takes several hundred."""
    rewritten(path, equal_rows(FEW, 2), entries_of(FEW))
    chunk = bytes([2 << 4 | INT64, 0, 0])

    def change(said: Fields) -> None:
        group = said[4][1][1][0]
        group[1][1] = [STRUCT, [chunk] * 300_000]

    forged(path, change)


def many_groups(path: Path) -> None:
    rewritten(path, equal_rows(MANY, 2_000), entries_of(MANY), row_group_size=1)


def many_entries(path: Path) -> None:
    rewritten(path, equal_rows(FEW, 2), entries_of(FEW))

    def change(said: Fields) -> None:
        said[5][1][1] = [bytes([1 << 4 | BINARY, 0, 0])] * 300_000 + said[5][1][1]

    forged(path, change)


def deep_columns(path: Path) -> None:
    rewritten(path, equal_rows(FEW, 2), entries_of(FEW))

    def change(said: Fields) -> None:
        root, *columns = said[2][1][1]
        inner = {4: [BINARY, b"a"], 5: [5, 1]}
        said[2][1][1] = [root, *[inner] * 15_000, *columns]

    forged(path, change)


def a_list_that_is_not_there(path: Path) -> None:
    rewritten(path, equal_rows(FEW, 2), entries_of(FEW))

    def change(said: Fields) -> None:
        said[4] = [LIST, [STRUCT, [b""] * 1_000_000]]

    forged(path, change)


def deep_json(path: Path) -> None:
    said = entries_of(FEW)["hushtable"]
    rewritten(path, equal_rows(FEW, 2), {"hushtable": f'{{"more":{"[" * 500}{"]" * 500},{said[1:]}'})


def long_numbers(path: Path) -> None:
    said = entries_of(FEW)["hushtable"].replace('"1/10"', f'"1/{"7" * 9000}"')
    rewritten(path, equal_rows(FEW, 2), {"hushtable": said})


def exponent(path: Path) -> None:
    said = entries_of(FEW)["hushtable"].replace('"1/10"', '"1e999999999"')
    rewritten(path, equal_rows(FEW, 2), {"hushtable": said})


def weights_without_a_common_part(path: Path) -> None:
    """Thousands of denominators of thousands of digits: what they have in common would have millions."""
    primes = [f"1/{10**2000 + 2 * place + 1}" for place in range(500)]
    said = json.loads(entries_of(FEW)["hushtable"])
    names = [f"a{place}" for place in range(500)]
    said["domain"]["attribute"] = [{"name": name, "categories": ["n", "s"]} for name in names]
    digest = ht.Domain.from_dict(said["domain"]).digest
    said |= {"domain_digest": digest, "format": 3, "structure": "marginals", "parts": []}
    said |= {"marginals": [[name] for name in names], "weights": primes}
    rewritten(path, equal_rows(FEW, 2), {"hushtable": json.dumps(said)})


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "rows": (many_rows, "it has 300,000 rows where its terms allow 2"),
    "groups": (groups_upon_each_other, "lie upon each other"),
    "values": (more_values_than_rows, "does not have a value of each column for each row"),
    "fewer": (fewer_values_than_stated, "does not have a value for each row"),
    "bomb": (packed_bomb, "out of proportion to the file"),
    "objects": (packed_values, "it holds more than .* values"),
    "sketch": (empty_sketch, "it has 0 rows, and a sketch has all 100,000,000 buckets"),
    "attributes": (many_attributes, "there are 50,000 attributes, and 10,000 are allowed"),
    "text": (long_text_in_a_dictionary, "unpacks to more than its rows can fill"),
    "longer": (longer_text_than_the_domain_has, "holds a text of 524,288 bytes"),
    "differences": (differences, "encoded as no release is"),
    "chunks": (many_chunks, "a list holds 300,000 values where up to 3 belong"),
    "many groups": (many_groups, "a list holds 2,000 values where up to 3 belong"),
    "entries": (many_entries, "a list holds .* values where up to 16 belong"),
    "deep columns": (deep_columns, "its columns are not flat"),
    "list": (a_list_that_is_not_there, "a list holds 1,000,000 values where up to 1 belong"),
    "deep": (deep_json, "more than 16 deep"),
    "digits": (long_numbers, "is not a finite number|thousands of digits"),
    "exponent": (exponent, "is not a finite number"),
    "weights": (weights_without_a_common_part, "in no proportion of numbers that can be written down"),
}

READER = """
import json, sys, time
import pyarrow.compute, pyarrow.parquet
import hushtable as ht
from tests.release.peaks import peak, start_anew

start_anew()
before, found = peak(), {}
for path in sys.argv[1:]:
    start_anew()
    start = time.process_time()
    try:
        release = ht.open(path)
        release.to_arrow()
        said = "opened"
    except ht.HushtableError as error:
        said = f"{type(error).__name__}: {error}"
    except Exception as error:
        said = f"raw {type(error).__name__}: {error}"
    found[path] = [said, peak() - before, time.process_time() - start]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, int, float]]:
    """What a reader in a process of its own says of each file, and the most memory that it took by then."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {name: folder / f"{name}.parquet" for name in HOSTILE}
    for name, (make, _) in HOSTILE.items():
        make(paths[name])
    done = subprocess.run(
        [sys.executable, "-c", READER, *map(str, paths.values())], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return {name: tuple(found[str(path)]) for name, path in paths.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_that_asks_for_much_is_refused_in_little_memory(
    name: str, read: dict[str, tuple[str, int, float]]
) -> None:
    said, memory, _ = read[name]

    assert said.startswith("BadRelease: ")
    assert said.isprintable()
    assert len(said) < 1000

    assert re.search(HOSTILE[name][1], said), said
    assert memory < MOST, f"{memory / MEBIBYTE:.0f} MiB"
