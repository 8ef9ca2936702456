"""Texts that nobody can list, counted: each as it is, and each person by what that person has alone."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.bounding import drawn_salt
from hushtable.engines.sliced.counting import CountRequest
from hushtable.noise import Replay
from tests.harness.statistics import tries

Found = dict[tuple[Any, ...], int]
SEED = 11
DOMAIN = ht.Domain(word=ht.any_text(longest=4), day=ht.integers(0, 2))
# Texts that a hash, a sort by letters, a C string or a look at characters would confuse.
ODD = ["", " ", "a", "A", "a ", "a\0", "a\0b", "\0", "é", "e\u0301", "ﬁ", "fi", "ß", "\uffff", "\U0001f600"]
ODD += ["/", "1/2", "'", '"', "null", "NULL", "None", "nan", "0", "00", "\n", "\t", "\u202e", "日本"]


def counted(data: Any, domain: ht.Domain = DOMAIN, unit: ht.Unit | None = None, **words: Any) -> Found:
    """Count rows, and name the cells by their values."""
    request = CountRequest(domain=domain, measure=Measure(unit=unit), entropy=Replay(SEED), **words)
    with counted_rows(data, request) as found:
        table = found.table()
        assert found.texts is not None
        known, codes = found.texts.listed(domain, table.space.unpack(table.keys))
    rows = [tuple(row.values()) for row in known.decode(codes).to_pylist()]
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, table.counts.tolist(), strict=True))


def by_hand(rows: Iterable[tuple[Any, ...]], domain: ht.Domain = DOMAIN) -> Found:
    """Count rows by placing every value by itself."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        cell = []
        for value, attribute in zip(row, domain.attributes, strict=True):
            code = attribute.place(value)
            cell.append(None if code is None else attribute.values.decode(pa_codes(code)).to_pylist()[0])
        if None not in cell:
            found[tuple(cell)] += 1
    return dict(found)


def pa_codes(code: int) -> Any:
    import numpy as np

    return np.array([code], dtype=np.int64)


words = st.one_of(st.none(), st.sampled_from(ODD), st.text(max_size=6))
rows_of_words = st.lists(st.tuples(words, st.one_of(st.none(), st.integers(-1, 3))), max_size=40)


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(25))
@given(rows=rows_of_words, other=st.sampled_from([None, "", "a\0", "n'e"]))
def test_every_text_is_counted_as_it_is(rows: list[tuple[Any, Any]], other: str | None) -> None:
    rule: dict[str, Any] = {} if other is None else {"missing": {"other": other}, "outside": {"other": other}}
    domain = ht.Domain(word=ht.any_text(longest=4, **rule), day=ht.integers(0, 2))
    table = pa.table(
        {
            "word": pa.array([word for word, _ in rows], pa.string()),
            "day": pa.array([day for _, day in rows], pa.int64()),
        }
    )

    assert counted(table, domain) == by_hand(rows, domain)


def test_two_attributes_and_rules_of_length() -> None:
    domain = ht.Domain(
        word=ht.any_text(longest=2, outside={"other": "…"}), head=ht.any_text(longest=3, column="word")
    )
    texts = [*ODD, None, "abc", "abcd", "日本語", "日本語訳", "e\u0301e\u0301"]
    rows = pa.table({"word": pa.array(texts, pa.string())})

    found = counted(rows, domain)
    assert found == by_hand([(text, text) for text in texts], domain)
    assert found["…", "abc"] == 1
    assert ("…", "abcd") not in found


def sources(folder: Path, table: pa.Table) -> dict[str, Any]:
    """The same rows in every form that can hold them."""
    texts, days = table["word"].to_pylist(), table["day"].to_pylist()
    pq.write_table(table, folder / "rows.parquet")
    pq.write_table(table, folder / "coded.parquet", use_dictionary=True, write_statistics=False)
    pa.feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS FROM given")
    with sqlite3.connect(folder / "rows.sqlite") as database:
        database.execute("CREATE TABLE rows (word TEXT COLLATE NOCASE, day INTEGER)")
        database.executemany("INSERT INTO rows VALUES (?, ?)", zip(texts, days, strict=True))
    database.close()
    frame = pd.DataFrame({"word": pd.array(texts, dtype="string"), "day": days})
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True, force_ascii=False)
    return {
        **{path.name: path for path in sorted(folder.iterdir())},
        "arrow": table,
        "coded": pa.table({"word": table["word"].dictionary_encode(), "day": table["day"]}),
        "large": table.cast(pa.schema([("word", pa.large_string()), ("day", pa.int64())])),
        "batches": [f"{folder}/rows.parquet", f"{folder}/coded.parquet"],
        "pandas": frame,
        "polars": pl.DataFrame({"word": texts, "day": days}),
    }


def test_all_sources_hold_the_same_texts(tmp_path: Path) -> None:
    texts = [text for text in ODD * 2 if "\0" not in text]  # which JSON lines of ours do not take
    table = pa.table({"word": texts, "day": [place % 3 for place in range(len(texts))]})
    wanted = by_hand(zip(texts, table["day"].to_pylist(), strict=True))

    for name, data in sources(tmp_path, table).items():
        twice = 2 if name == "batches" else 1
        assert counted(data) == {cell: twice * count for cell, count in wanted.items()}, name


def test_csv_holds_texts_that_are_in_quotes(tmp_path: Path) -> None:
    texts = [text for text in ODD if text and "\0" not in text]
    table = pa.table({"word": texts, "day": [1] * len(texts)})
    pa.csv.write_csv(table, tmp_path / "rows.csv")

    assert counted(tmp_path / "rows.csv") == by_hand((text, 1) for text in texts)


def test_columns_that_are_no_text_are_refused() -> None:
    with pytest.raises(ht.BadData, match=r"attribute .word. is of any text.*numbers have lost their leading"):
        counted(pa.table({"word": [6001], "day": [1]}))


def test_many_texts_in_little_memory_are_the_same() -> None:
    texts = [f"{place * 7919 % 40_000:04x}" for place in range(60_000)]
    table = pa.table({"word": texts, "day": [1] * len(texts)})

    assert counted(table, memory="256MiB", threads=2) == Counter((text, 1) for text in texts)


# People: what one adds must not change what others count for.

PEOPLE = pa.table(
    {
        "person": [person for person in range(200) for _ in range(6)],
        "word": [f"w{(person * 7 + each * each * 31) % 40:02}" for person in range(200) for each in range(6)],
        "day": [each % 3 for _ in range(200) for each in range(6)],
    }
)


def kept_by_hand(table: pa.Table, cells: int) -> Found:
    """Each person's cells by a hash of the person and the texts themselves."""
    salt = drawn_salt(Replay(SEED))
    own: dict[Any, set[tuple[Any, Any]]] = {}
    for row in table.to_pylist():
        own.setdefault(row["person"], set()).add((row["word"], row["day"]))

    def order(person: Any, cell: tuple[Any, Any]) -> Any:
        text = "/".join(map(str, (salt, person, *cell)))
        return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest(), "little"), cell

    found: Counter[tuple[Any, ...]] = Counter()
    for person, cells_of in own.items():
        found.update(sorted(cells_of, key=lambda cell: order(person, cell))[:cells])
    return dict(found)


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("text", ["", "w", "zz", "\0"])
def test_a_new_persons_text_changes_nothing_of_what_others_keep(text: str, cells: int) -> None:
    """A code in place of the text would: a text that sorts first moves the codes of all others."""
    unit = ht.Unit("person", max_cells=cells)
    new = pa.table({"person": [999] * 3, "word": [text + "1", text + "2", "w01"], "day": [0, 1, 2]})
    more = pa.concat_tables([new, PEOPLE])
    before, after = counted(PEOPLE, unit=unit), counted(more, unit=unit)

    changed = {cell: after.get(cell, 0) - before.get(cell, 0) for cell in {*before, *after}}
    assert sorted(change for change in changed.values() if change) == [1] * min(cells, 3)
    assert before == kept_by_hand(PEOPLE, cells)
    assert after == kept_by_hand(more, cells)


@settings(suppress_health_check=list(HealthCheck), max_examples=tries(15))
@given(data=st.data(), cells=st.integers(1, 3))
def test_neighbours_differ_by_no_more_than_the_bound(data: st.DataObject, cells: int) -> None:
    word = st.sampled_from(["", "a", "b", "/", "a/", "ab", "z"])
    row = st.tuples(st.integers(0, 5), word, st.integers(0, 2))
    rows = data.draw(st.lists(row, max_size=30))
    own = data.draw(st.lists(st.tuples(st.just(9), word, st.integers(0, 2)), min_size=1, max_size=8))

    def table(rows: list[tuple[int, str, int]]) -> pa.Table:
        kinds = {"person": pa.int64(), "word": pa.string(), "day": pa.int64()}
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        return pa.table({n: pa.array(c, k) for (n, k), c in zip(kinds.items(), columns, strict=True)})

    unit = ht.Unit("person", max_cells=cells)
    before, after = counted(table(rows), unit=unit), counted(table(own + rows), unit=unit)
    changes = [after.get(cell, 0) - before.get(cell, 0) for cell in {*before, *after}]

    assert set(changes) <= {0, 1}
    assert sum(changes) == min(cells, len({cell[1:] for cell in own}))
