"""From rows to a release, whatever counts them: the same file, charged once and before, and no more."""

from __future__ import annotations

import hashlib
import json
import logging
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.methods.settings import Method
from hushtable.publishing import publish as flow
from hushtable.summaries import flat
from tests.engines.contracts.counting import whole
from tests.engines.contracts.engine import Engine
from tests.engines.contracts.refusals import CANARY, NUMBER, check_silence, left_in, texts_of
from tests.harness.statistics import ALARM, fits, follows, from_masses

DOMAIN = ht.Domain(
    title="Commuters",
    attributes=(
        Attribute(name="home", values=Categories(values=("north", "south", "harbour"))),
        Attribute(name="age", values=Integers(low=0, high=99)),
    ),
)
CERTAIN = 100  # an epsilon at which noise is 0, but once in 10^40 cells


def rows(count: int = 3000, seed: int = 1) -> pa.Table:
    generator = np.random.default_rng(seed)
    homes = np.array(["north", "south", "harbour"])[generator.integers(0, 3, count)]
    return pa.table(
        {"home": homes, "age": generator.integers(0, 100, count), "person": generator.integers(0, 500, count)}
    )


def publish(tmp_path: Path, data: Any, **settings: Any) -> ht.Release:
    """Publish with settings that a test does not care about."""
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "output": tmp_path / "out.parquet"}
    if "summary" not in settings:
        chosen["size"] = 50
    return ht.publish(data, **chosen | settings)


def new_ledger(tmp_path: Path) -> ht.Ledger:
    return ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")


def test_rows_become_a_release(
    engine: Engine, tmp_path: Path, spills: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Charged once, before anything is drawn, and finished; in the order of codes; nothing is left."""
    ledger = new_ledger(tmp_path)
    spent: list[Fraction] = []
    for name in ("noisy_total", "drawn_summaries"):
        real = getattr(flow, name)

        def watched(*args: Any, real: Any = real, **kwargs: Any) -> Any:
            spent.append(ledger.spent)
            return real(*args, **kwargs)

        monkeypatch.setattr(flow, name, watched)

    release = publish(tmp_path, engine.data(rows()), ledger=ledger, structure="cells")

    assert spent == [1, 1]
    assert release.epsilon == 1
    assert len(release) == 50
    assert release.terms.rule == "auto-cutoff-1"
    assert release.summary == ht.FilterPriority(cutoff=release.cutoff or 0, size=50)
    assert release.terms.rate == Fraction(49, 50)
    assert release.noisy_total is not None
    assert abs(release.noisy_total - 3000) < 2000  # noise of rate 1/50: beyond this once in 10^17
    assert release.to_arrow().equals(ht.open(tmp_path / "out.parquet").to_arrow())
    assert np.all(np.diff(release.codes @ np.array([100, 1])) > 0)
    (entry,) = ledger.entries()
    assert entry.epsilon == 1
    assert entry.state == "finished"
    assert entry.digest == hashlib.sha256((tmp_path / "out.parquet").read_bytes()).hexdigest()
    assert left_in(spills) == []


METHODS: list[Method] = [
    ht.Everything(),
    ht.FilterThreshold(cutoff=5, threshold=40),
    ht.Filter(cutoff=20),
    ht.Filter(size=30, two_sided=False),
    ht.Threshold(size=30),
    ht.Priority(size=30),
    ht.FilterPriority(cutoff="2.5", size=30),
]


def test_every_summary_is_published(engine: Engine, tmp_path: Path) -> None:
    for method in engine.some(METHODS, 2):
        release = publish(tmp_path, engine.data(rows()), summary=method, total_share=0, overwrite=True)

        assert release.summary == method
        assert release.noisy_total is None
        assert release.terms.rate == 1
        if isinstance(method, ht.Everything):
            assert len(release) == 300


def check_alike(one: Path, two: Path) -> None:
    """Check that two releases of the same terms differ in what was drawn and in nothing else."""
    documents = [dict(pq.read_metadata(path).metadata) for path in (one, two)]
    assert documents[0].keys() == documents[1].keys()
    drawn = {"total", "cutoff", "threshold", "sha256", "checksum"}
    for key in documents[0]:
        if documents[0][key] != documents[1][key]:
            texts = [document[key] for document in documents]
            try:
                first, second = (json.loads(text) for text in texts)
            except ValueError:
                assert key != b"hushtable", key
                assert b"sum" in key or b"sha" in key, key  # a digest of the file itself
                continue
            assert {name for name in first if first[name] != second[name]} <= drawn
    shapes = []
    for path in (one, two):
        meta = pq.read_metadata(path)
        columns = [meta.row_group(0).column(place) for place in range(meta.num_columns)]
        shapes.append(
            (
                meta.num_rows,
                meta.num_row_groups,
                meta.schema.to_arrow_schema(),
                [(c.encodings, c.compression, c.physical_type) for c in columns],
            )
        )
    assert shapes[0] == shapes[1]


def test_metadata_tell_nothing_of_the_input_nor_of_the_engine(engine: Engine, tmp_path: Path) -> None:
    """Releases of different rows, one by another engine, differ in what was drawn and in nothing else."""
    publish(tmp_path, engine.data(rows(10, 1)), summary=ht.Filter(size=40))
    publish(tmp_path, rows(50_000, 2), summary=ht.Filter(size=40), output=tmp_path / "here.parquet")

    check_alike(tmp_path / "out.parquet", tmp_path / "here.parquet")


def test_the_file_is_the_same_whatever_the_engine_its_parts_and_slices(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last byte, where noise is 0."""
    table = rows(20_000)
    order = np.random.default_rng(7).permutation(table.num_rows)
    settings: dict[str, Any] = {
        "summary": ht.Filter(cutoff=1),
        "epsilon": CERTAIN,
        "total_share": 0,
        "where": "age <> 17",
    }
    publish(tmp_path, table, output=tmp_path / "here.parquet", **settings)
    engine.cut_finely(monkeypatch, work=64)

    release = publish(tmp_path, engine.data(table.take(order), parts=5), **settings)

    assert len(release) == 297
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


FAR = ht.Domain(attributes=tuple(whole(f"a{place}", 10**6) for place in range(10)))  # four words
PUBLISHED = 4000


def test_noise_is_even_over_slices_of_every_word(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10^60 cells, most rows in one value of the first word, and most of these in one of the second."""
    engine.cut_finely(monkeypatch, work=1 << 11)
    generator, count = np.random.default_rng(3), 12_000
    table = generator.integers(0, 10**6, (count, 10))
    table[:10_000, :3] = [5, 10**6 - 1, 0]
    table[:8_000, 3:6] = [0, 7, 10**6 - 1]
    heavy = [(5, 10**6 - 1, 0, 0, 7, 10**6 - 1, 1, 2, 3, 4), (10**6 - 1,) * 10, (0,) * 10]
    for place, cell in enumerate(heavy):
        table[place * 1000 : (place + 1) * 1000] = cell
    data = engine.data(pa.table({f"a{place}": table[:, place] for place in range(10)}))

    release = publish(tmp_path, data, domain=FAR, summary=ht.Filter(size=PUBLISHED), total_share=0)

    codes = [tuple(row) for row in release.codes.tolist()]
    assert codes == sorted(set(codes))
    counts = dict(zip(codes, release.counts.tolist(), strict=True))
    for cell in heavy:
        # At rate 1, noise is beyond 60 once in 10^25; without noise, no other cell would be shown.
        assert abs(counts.pop(cell) - 1000) < 60
    empty = np.array(list(counts))
    law = from_masses({tenth: Fraction(1, 10) for tenth in range(10)})
    for place in range(10):
        tenths = empty[:, place] // 10**5
        assert follows(tenths, law) > ALARM
    assert fits(np.sort(tenths)[: PUBLISHED // 2], law) < ALARM


def planted() -> pa.Table:
    """Rows with values that nothing may tell: of categories, numbers, units and other columns."""
    table = rows(2000)
    homes = [CANARY if place % 7 == 0 else home for place, home in enumerate(table["home"].to_pylist())]
    ages = [NUMBER if place % 5 == 0 else age for place, age in enumerate(table["age"].to_pylist())]
    people = [CANARY if place % 3 == 0 else f"p{place % 400}" for place in range(2000)]
    return pa.table({"home": homes, "age": ages, "person": people, "name": [CANARY] * 2000})


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_no_value_of_a_row_is_told(
    engine: Engine,
    tmp_path: Path,
    spills: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="hushtable")
    unit = ht.Unit("person", max_rows=3)

    publish(tmp_path, engine.data(planted()), unit=unit, where="name <> 'x'", ledger=new_ledger(tmp_path))

    printed = capfd.readouterr()
    files = bytes_in(tmp_path).decode("latin-1")
    check_silence([files, printed.out, printed.err, caplog.text, engine.said()])
    assert (tmp_path / "out.parquet").exists()
    assert left_in(spills) == []


def failing(*args: object, **kwargs: object) -> NoReturn:
    raise LookupError(CANARY)


def test_a_failure_after_the_charge_leaves_it_spent(
    engine: Engine,
    tmp_path: Path,
    spills: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task fails while it draws, with a value of a row in its words."""
    ledger = new_ledger(tmp_path)
    monkeypatch.setattr(flat, "draw_candidates", failing)

    with pytest.raises(ht.HushtableError) as caught:
        publish(tmp_path, engine.data(planted()), ledger=ledger)

    printed = capfd.readouterr()
    check_silence([*texts_of(caught.value), printed.out, printed.err, engine.said()])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert ledger.spent == 1
    assert [entry.state for entry in ledger.entries()] == ["unfinished"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.ledger", "spills"]
    assert left_in(spills) == []


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"where": "age > avg(age)"}, ht.BadQuery),
        ({"where": "random() < 0.5"}, ht.BadQuery),
        ({"where": "now() > TIMESTAMP '2024-01-01'"}, ht.BadQuery),
        ({"where": "age IN (SELECT 3)"}, ht.BadQuery),
        ({"query": "SELECT DISTINCT home, age FROM data"}, ht.BadQuery),
        ({"query": "SELECT home, uuid() AS age FROM data"}, ht.BadQuery),
        ({"epsilon": 0}, ht.BadNumber),
        ({"epsilon": "a bit"}, ht.BadNumber),
        ({"total_share": 1}, ht.BadNumber),
        ({"total_share": -1}, ht.BadNumber),
        ({"size": 5, "summary": ht.Priority(size=5)}, ht.BadSettings),
        ({"size": None}, ht.BadChoice),
        ({"size": 0}, ht.BadNumber),
        ({"structure": "forest"}, ht.BadChoice),
        ({"count_column": "n", "unit": ht.Unit("person", max_rows=1)}, ht.BadSettings),
        ({"domain": ht.Domain(attributes=DOMAIN.attributes, reviewed=False)}, ht.UnreviewedDomain),
        ({"output": "no/such/folder/out.parquet"}, ht.HushtableError),
    ],
)
def test_what_is_refused_costs_nothing(
    settings: dict[str, Any], error: type[Exception], engine: Engine, tmp_path: Path
) -> None:
    ledger = new_ledger(tmp_path)
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "size": 50, "ledger": ledger}
    chosen |= {"output": tmp_path / "out.parquet"} | settings

    with pytest.raises(error):
        ht.publish(engine.data(rows()), **chosen)

    assert ledger.spent == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.ledger"]


def test_an_overspend_is_refused_before_data_are_read(engine: Engine, tmp_path: Path) -> None:
    unread = engine.data(pa.table({"nothing that": ["the domain has"]}))

    with pytest.raises(ht.BudgetExceeded):
        publish(tmp_path, unread, epsilon=2, ledger=new_ledger(tmp_path))


def test_bounded_units_pay_with_more_noise(engine: Engine, tmp_path: Path) -> None:
    release = publish(
        tmp_path,
        engine.data(rows()),
        unit=ht.Unit("person", max_rows=4),
        total_share=0,
        size=20,
        structure="cells",
    )

    assert release.terms.sensitivity == 4
    assert release.terms.rate == Fraction(1, 4)
    assert "person" in release.guarantee
