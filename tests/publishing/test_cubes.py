"""Publishing data cubes and sketches: what is chosen and split, what is refused, what the file tells."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.methods.tuning import auto_cutoff
from hushtable.methods.weights import weights_of
from hushtable.publishing.choices import choice_over
from hushtable.publishing.thinning import thin
from hushtable.release.terms import Part
from hushtable.summaries import draws
from hushtable.summaries.cubes import draw_marginals
from tests.harness.cases import few
from tests.harness.statistics import ALARM, fits, follows, law_at, replay
from tests.release.examples import METHODS, all_cells, cube_terms, rows, write

DOMAIN = ht.Domain(
    title="Commuters",
    attributes=(
        Attribute(name="home", values=Integers(low=0, high=49)),
        Attribute(name="work", values=Integers(low=0, high=29)),
        Attribute(name="sex", values=Categories(values=("f", "m"))),
    ),
)
CUBE = ht.Marginals("all-1", ["home", "work"])
SKETCH = ht.CountSketch(width=60, depth=3)


def people(count: int = 3000, seed: int = 1) -> pa.Table:
    generator = np.random.default_rng(seed)
    return pa.table(
        {
            "home": generator.integers(0, 50, count),
            "work": generator.integers(0, 30, count),
            "sex": np.array(["f", "m"])[generator.integers(0, 2, count)],
            "person": generator.integers(0, 500, count),
        }
    )


def publish(tmp_path: Path, data: Any = None, **settings: Any) -> ht.Release:
    """Publish with settings that a test does not care about."""
    chosen: dict[str, Any] = {"domain": DOMAIN, "epsilon": 1, "output": tmp_path / "out.parquet"}
    chosen["structure"] = settings.get("structure", CUBE)
    if "summary" not in settings and not isinstance(chosen["structure"], ht.CountSketch):
        chosen["size"] = 50
    return ht.publish(people() if data is None else data, **chosen | settings)


def true_counts(names: list[str], data: pa.Table) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for row in data.select(names).to_pylist():
        cell = tuple(row.values())
        found[cell] = found.get(cell, 0) + 1
    return found


# What is chosen.


def test_a_size_alone_publishes_small_marginals_whole(tmp_path: Path) -> None:
    release = publish(tmp_path)
    terms = release.terms
    rows_of_each = [place.stop - place.start for place in terms.nodes.rows(release.codes)]  # type: ignore[attr-defined]

    assert terms.structure == CUBE
    assert terms.sensitivity == 4
    assert (terms.epsilon, terms.total_budget) == (Fraction(1), Fraction(1, 50))
    whole = Part(method=ht.Everything(), rule="whole-1")
    assert terms.parts[:3] == (whole, whole, whole)
    cutoff = auto_cutoff(50, cells=1500, law=Geometric(Fraction(49, 200)), two_sided=True)
    largest = terms.parts[3]
    assert largest.method == ht.FilterPriority(cutoff=cutoff, size=50)
    assert (largest.rule, largest.cutoff) == ("auto-cutoff-1", float(cutoff))
    assert (terms.method, terms.rule) == (largest.method, "auto-cutoff-1")
    assert (terms.cutoff, terms.threshold) == (largest.cutoff, largest.threshold)
    assert rows_of_each[:3] == [50, 30, 2]
    assert rows_of_each[3] <= 50
    assert terms.rate == Fraction(49, 200)
    assert release.noisy_total is not None
    assert abs(release.noisy_total - 3000) < 2000  # noise of rate 1/50: beyond this once in 10^17
    assert release.to_arrow().equals(ht.open(tmp_path / "out.parquet").to_arrow())


@pytest.mark.parametrize(("size", "rules"), [(29, "aaw"), (30, "aww"), (49, "aww"), (50, "www"), (1, "aaa")])
def test_room_for_all_cells_decides(size: int, rules: str, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=ht.Marginals("all-1"), size=size)
    names = {"w": "whole-1", "a": "auto-cutoff-1"}

    assert [part.rule for part in release.terms.parts] == [names[rule] for rule in rules]


def test_a_cutoff_is_that_of_the_marginals_own_cells_and_rate() -> None:
    chosen = choice_over(
        ht.Marginals(["home"], ["home", "work"], weights=[1, 9]),
        DOMAIN,
        summary=None,
        budget=Fraction(1, 2),
        one=Sensitivities.of_rows(3),
        size=10,
    )
    rates = [Fraction(1, 60), Fraction(9, 60)]

    assert [part.method for part in chosen.parts] == [
        ht.FilterPriority(cutoff=auto_cutoff(10, cells=cells, law=Geometric(rate), two_sided=True), size=10)
        for cells, rate in zip((50, 1500), rates, strict=True)
    ]
    assert chosen[:3] == chosen.parts[1][:3]


METHODS_OF_SUMMARIES: list[Method] = [
    ht.Everything(),
    ht.Everything(nonnegative=True),
    ht.Filter(cutoff=20),
    ht.Filter(size=30, two_sided=False),
    ht.Threshold(size=30),
    ht.Priority(size=30),
    ht.FilterThreshold(cutoff=5, threshold=40),
    ht.FilterPriority(cutoff=5, size=30),
]


@pytest.mark.parametrize("method", METHODS_OF_SUMMARIES, ids=repr)
def test_every_summary_of_a_cube(method: Method, tmp_path: Path) -> None:
    release = publish(tmp_path, summary=method)

    assert release.summary == method
    assert {part.method for part in release.terms.parts} == {method}
    assert {part.rule for part in release.terms.parts} == {None}
    assert release.to_arrow().equals(ht.open(tmp_path / "out.parquet").to_arrow())
    if isinstance(method, ht.Everything):
        assert len(release) == 50 + 30 + 2 + 1500


def test_marginals_hold_the_sums_of_their_cells(tmp_path: Path) -> None:
    cube = ht.Marginals(["sex", "work"], ["home"], "all-3")
    data = people()
    release = publish(tmp_path, data, structure=cube, summary=ht.Filter(cutoff=1), epsilon=1000)
    listed = release.to_arrow().to_pylist()

    for names in (["work", "sex"], ["home"], ["home", "work", "sex"]):
        label = ", ".join(names)
        found = {
            tuple(row[name] for name in names): row["count"] for row in listed if row["marginal"] == label
        }
        assert found == true_counts(names, data)  # noise of rate 98,000/3


def test_a_sketch_is_published_whole_without_a_size(tmp_path: Path) -> None:
    data = people()
    release = publish(tmp_path, data, structure=SKETCH, epsilon=1000)
    terms = release.terms
    expected = np.zeros((3, 60), dtype=np.int64)
    cells = true_counts(["home", "work", "sex"], data)
    codes = np.array([[home, work, "fm".index(sex)] for home, work, sex in cells])
    for row in range(3):
        buckets, signs = terms.nodes.buckets(DOMAIN.space.pack(codes), row)  # type: ignore[attr-defined]
        for bucket, sign, count in zip(buckets, signs, cells.values(), strict=True):
            expected[row, bucket] += sign * count

    assert (terms.structure, terms.method, terms.rule) == (SKETCH, ht.Everything(), None)
    assert (terms.sensitivity, len(terms.keys)) == (3, 3)
    assert terms.rate == Fraction(49, 50) * 1000 / 3
    assert np.array_equal(release.counts.reshape(3, 60), expected)
    assert abs((release.noisy_total or 0) - 3000) < 9
    assert (
        publish(tmp_path, structure=SKETCH, summary=ht.Everything(), overwrite=True).summary
        == ht.Everything()
    )


def test_keys_of_a_sketch_are_drawn_anew(tmp_path: Path) -> None:
    data = people(10)
    keys = [
        key for _ in range(5) for key in publish(tmp_path, data, structure=SKETCH, overwrite=True).terms.keys
    ]

    assert len(set(keys)) == 15


# How epsilon is split.


@pytest.mark.parametrize(
    ("weights", "total_share", "epsilon"),
    few(product([None, ["1/3", "1/7"], [0.1, 3], ["2/3", "2/3"]], [None, 0, "1/3"], ["1/3", 0.1]), every=5),
)
def test_the_parts_and_the_total_add_up_to_epsilon(
    weights: Any, total_share: Any, epsilon: Any, tmp_path: Path
) -> None:
    cube = ht.Marginals("all-1", ["home", "work"], weights=weights)
    release = publish(tmp_path, people(20), structure=cube, epsilon=epsilon, total_share=total_share)
    terms = release.terms
    said = json.loads(pq.read_metadata(release.path).metadata[b"hushtable"])
    parts = [Fraction(part["epsilon"]) for part in said["parts"]]
    first, last = [Fraction(1), Fraction(1)] if weights is None else [Fraction(str(each)) for each in weights]

    assert sum(parts) + Fraction(said["total_epsilon"]) == Fraction(str(epsilon)) == terms.epsilon
    rest = terms.epsilon - terms.total_budget
    assert parts == [rest * weight / (3 * first + last) for weight in (first, first, first, last)]
    assert parts == [terms.part(number).rate * terms.part(number).sensitivity for number in range(4)]
    assert terms.total_budget == terms.epsilon * Fraction("1/50" if total_share is None else str(total_share))
    assert (release.noisy_total is None) == (total_share == 0)


def test_units_multiply_what_one_person_changes(tmp_path: Path) -> None:
    bounded = {"unit": ht.Unit("person", max_rows=2)}
    cube = publish(tmp_path, structure=ht.Marginals(["home"], ["sex"], weights=[1, 2]), **bounded)
    assert cube.terms.sensitivity == 2 * 3
    assert [cube.terms.part(number).rate for number in (0, 1)] == [Fraction(49, 300), Fraction(49, 150)]

    sketch = publish(tmp_path, structure=SKETCH, overwrite=True, **bounded)
    assert sketch.terms.sensitivity == 2 * 3
    assert sketch.terms.rate == Fraction(49, 300)

    clamped = publish(tmp_path, sum_column="person", clamp=(-5, 9), overwrite=True)
    assert clamped.terms.sensitivity == 9 * 4


def test_what_is_drawn_is_what_the_terms_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    draw = draw_marginals

    def watched(*table: Any, **settings: Any) -> Any:
        seen.append(settings)
        return draw(*table, **settings)

    monkeypatch.setattr(draws, "draw_marginals", watched)
    release = publish(tmp_path, epsilon="0.3", unit=ht.Unit("person", max_rows=2))

    (settings,) = seen
    assert settings["epsilon"] == release.terms.budget * Fraction(49, 50)
    assert settings["sensitivity"] == 2


@pytest.mark.parametrize("number", [0, 1])
def test_the_noise_in_the_file_has_the_law_of_the_terms(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a table without rows, all that is published is noise."""
    wide = ht.Domain(
        attributes=tuple(Attribute(name=name, values=Integers(low=0, high=19_999)) for name in "ab")
    )
    draw, entropy = draw_marginals, replay(860 + number)
    monkeypatch.setattr(
        draws, "draw_marginals", lambda *table, **settings: draw(*table, **settings | {"entropy": entropy})
    )
    empty = pa.table({"a": pa.array([], type=pa.int64()), "b": pa.array([], type=pa.int64())})
    release = publish(
        tmp_path,
        empty,
        domain=wide,
        structure=ht.Marginals("all-1", weights=[1])
        if number
        else ht.Marginals(["a"], ["b"], weights=[1, 3]),
        summary=ht.Everything(),
        unit=None,
    )
    part = release.terms.nodes.rows(release.codes)[1]  # type: ignore[attr-defined]
    rate = Fraction(49, 100) if number else Fraction(147, 200)
    sample = release.counts[part]

    assert release.terms.part(1).rate == rate
    assert follows(sample, law_at(TwoSidedGeometric, rate)) > ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * Fraction(3, 4))) < ALARM
    assert fits(sample, law_at(TwoSidedGeometric, rate * Fraction(5, 4))) < ALARM


# What is charged, and what is refused.


@pytest.mark.parametrize("structure", [CUBE, SKETCH], ids=repr)
def test_the_ledger_is_charged_once_with_all_of_epsilon(structure: Any, tmp_path: Path) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=3, about="people")
    publish(tmp_path, structure=structure, epsilon="1/3", ledger=ledger)

    (entry,) = ledger.entries()
    assert entry.epsilon == Fraction(1, 3)
    assert entry.digest is not None
    assert "out.parquet: Commuters, " in entry.what


COMMAS = ht.Domain(
    attributes=tuple(Attribute(name=name, values=Integers(low=0, high=9)) for name in ("a", "b", "a, b"))
)
TAKEN = ht.Domain(attributes=(Attribute(name="marginal", values=Integers(low=0, high=9)),))
HUGE = ht.Domain(
    attributes=tuple(Attribute(name=name, values=Integers(low=0, high=10**6)) for name in ("home", "work"))
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": "marginals"}, "the structure 'marginals' needs settings. Give ht.Marginals"),
        ({"structure": "sketch"}, "the structure 'sketch' needs settings. Give ht.CountSketch"),
        (
            {"structure": ht.Marginals(["wrok"])},
            "a marginal names 'wrok', which is not an attribute. There are",
        ),
        ({"structure": ht.Marginals("all-1", ["sex"])}, "the marginal of 'sex' is named twice"),
        ({"structure": ht.Marginals("all-4")}, "'all-4' asks for 4 attributes at a time"),
        (
            {"structure": ht.Marginals("all-2", "all-1"), "domain": COMMAS},
            "2 marginals would be called 'a, b'",
        ),
        ({"structure": ht.Marginals("all-1"), "domain": TAKEN}, "adds a column 'marginal'"),
        ({"structure": ht.Marginals("all-1", weights=["1e4000"])}, "these weights are in no proportion"),
        ({"structure": ht.Marginals("all-1"), "size": None}, "nothing says how many rows"),
        ({"structure": ht.Marginals("all-1"), "size": -1}, "size=-1"),
        ({"structure": ht.Marginals("all-1"), "size": 2.5}, "size=2.5"),
        ({"structure": ht.Marginals("all-1"), "total_share": 1}, "total_share=1 must be from 0 to below 1"),
        ({"structure": ht.Marginals(["home"], ["sex"], weights=["1e15", 1])}, r"rate.* is below 2\^-40"),
        (
            {"structure": ht.Marginals("all-2"), "domain": HUGE, "summary": ht.Everything()},
            "would publish all",
        ),
        (
            {"structure": ht.Marginals("all-2"), "domain": HUGE, "summary": ht.Filter(cutoff=1)},
            "would publish about|rows",
        ),
        ({"structure": SKETCH, "size": 10}, "a sketch has no size. Give its width and its depth"),
        ({"structure": SKETCH, "summary": ht.Priority(size=9)}, "a sketch has no size"),
        ({"structure": SKETCH, "summary": ht.Everything(nonnegative=True)}, "a sketch publishes all of its"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_row_is_read(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people")
    with pytest.raises(ht.HushtableError, match=message):
        publish(tmp_path, "no such file.parquet", ledger=ledger, **settings)

    assert ledger.entries() == []
    assert not (tmp_path / "out.parquet").exists()


def test_a_size_is_refused_only_where_no_marginal_has_so_many_cells(tmp_path: Path) -> None:
    with pytest.raises(ht.WastedRelease, match="a size of 1,501 is more than the 1,500 cells there are"):
        publish(tmp_path, summary=ht.Priority(size=1501))

    assert len(publish(tmp_path, summary=ht.Priority(size=1500))) <= 1582
    assert len(publish(tmp_path, size=10**6, overwrite=True)) == 1582


# What the file tells.


@pytest.mark.parametrize("structure", [CUBE, SKETCH], ids=repr)
def test_metadata_tell_nothing_of_the_input(structure: Any, tmp_path: Path) -> None:
    """Of 20 rows in one cell and of 20,000 rows all over: all but what was paid for is the same."""
    same = pa.table({"home": [7] * 20, "work": [3] * 20, "sex": ["f"] * 20})
    summary = {} if isinstance(structure, ht.CountSketch) else {"summary": ht.Everything()}
    said = []
    for name, data in (("x", same), ("y", people(20_000))):
        publish(tmp_path, data, structure=structure, output=tmp_path / f"{name}.parquet", **summary)
        metadata = pq.read_metadata(tmp_path / f"{name}.parquet")
        assert metadata.metadata.keys() == {b"hushtable", b"hushtable.checksum"}
        footer = json.loads(metadata.metadata[b"hushtable"])
        assert footer.pop("total") is not None
        assert len(footer.pop("keys", ())) == (3 if isinstance(structure, ht.CountSketch) else 0)
        said.append((footer, metadata.num_rows, metadata.num_row_groups, metadata.schema.to_arrow_schema()))

    assert said[0] == said[1]


def test_rows_are_in_the_order_of_marginals_and_codes(tmp_path: Path) -> None:
    cube = ht.Marginals(["work", "home"], ["sex"], ["home"])
    data = people()
    shuffled = data.take(np.random.default_rng(5).permutation(len(data)))
    release = publish(tmp_path, shuffled, structure=cube, summary=ht.Everything())
    listed = release.to_arrow().to_pylist()
    labels = [row["marginal"] for row in listed]

    assert list(dict.fromkeys(labels)) == ["home, work", "sex", "home"]
    assert [(row["home"], row["work"]) for row in listed[:1500]] == [(x // 30, x % 30) for x in range(1500)]
    assert [row["sex"] for row in listed[1500:1502]] == ["f", "m"]
    assert [row["home"] for row in listed[1502:]] == list(range(50))


# Smaller ones.


def test_each_marginal_of_a_cube_is_thinned(tmp_path: Path) -> None:
    release = publish(tmp_path, people(60_000))  # some 40 in a cell of home and work, whose cutoff is 24
    few = thin(release, size=20, output=tmp_path / "few.parquet")
    cube: Any = few.terms.nodes
    before = {tuple(code): count for code, count in zip(release.codes.tolist(), release.counts, strict=True)}

    assert few.terms.structure == CUBE
    assert (few.epsilon, few.terms.sensitivity) == (release.epsilon, release.terms.sensitivity)
    assert few.noisy_total == release.noisy_total
    for number, (part, place) in enumerate(zip(few.terms.parts, cube.rows(few.codes), strict=True)):
        counts = few.counts[place]
        if number == 2:  # of two cells
            assert part == release.terms.parts[2]
            assert len(counts) == 2
            continue
        assert len(counts) == 20
        assert part.method == release.terms.parts[number].method.thinned(20)
        assert part.rule is None
        assert part.cutoff is not None
        assert part.cutoff <= np.abs(counts).min()
        assert np.array_equal(few.weights[place], weights_of(counts, part.threshold))
    assert [before[tuple(code)] for code in few.codes.tolist()] == few.counts.tolist()
    assert few.summary == few.terms.parts[3].method


def test_a_thinned_marginal_is_that_of_a_smaller_request(tmp_path: Path) -> None:
    """Of a whole marginal stay the largest counts, as a filter of that size takes them."""
    made = cube_terms(
        ht.Marginals(["home"], ["work"]), DOMAIN, [Part(method=ht.Everything(), rule="whole-1")] * 2
    )
    whole = all_cells(made)
    write(tmp_path / "all.parquet", made, whole)
    few = thin(ht.open(tmp_path / "all.parquet"), size=3, output=tmp_path / "few.parquet")

    assert few.codes.tolist() == [[0, home, 0, 0] for home in (47, 48, 49)] + [
        [1, 0, work, 0] for work in (27, 28, 29)
    ]
    assert few.counts.tolist() == [67, 68, 69, 97, 98, 99]
    assert [part.cutoff for part in few.terms.parts] == [67.0, 97.0]
    assert {part.method for part in few.terms.parts} == {ht.Filter(size=3)}
    assert few.cutoff == 67.0


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_summary_of_a_cube_can_be_thinned(method: Method, tmp_path: Path) -> None:
    if not isinstance(method, ht.Everything) and method.size is not None:
        method = replace(method, size=100_000)  # type: ignore[type-var]  # all cells are written
    sampled = not isinstance(method, ht.Everything | ht.Filter)
    part = Part(method=method, rule=None, cutoff=20.0, threshold=100.0 if sampled else None)
    made = cube_terms(CUBE, DOMAIN, [part] * 4)
    write(tmp_path / "all.parquet", made, all_cells(made))
    few = thin(ht.open(tmp_path / "all.parquet"), size=7, output=tmp_path / "few.parquet")
    cube: Any = few.terms.nodes

    assert [place.stop - place.start for place in cube.rows(few.codes)] == [7, 7, 2, 7]
    assert few.summary == method.thinned(7)
    assert few.terms.parts[2] == part


def test_enough_room_changes_nothing(tmp_path: Path) -> None:
    release = publish(tmp_path)
    same = thin(release, size=50, output=tmp_path / "same.parquet")

    assert same.terms == release.terms
    assert same.to_arrow().equals(release.to_arrow())


def test_marginals_without_rows_are_thinned_too(tmp_path: Path) -> None:
    made = cube_terms(ht.Marginals("all-1"), DOMAIN)
    whole = all_cells(made)
    few = rows(made, whole.codes[50:], whole.counts[50:])
    write(tmp_path / "all.parquet", made, few)

    assert len(thin(ht.open(tmp_path / "all.parquet"), size=1, output=tmp_path / "few.parquet")) == 2


@pytest.mark.parametrize("size", [1, 100])
def test_a_sketch_is_not_thinned(size: int, tmp_path: Path) -> None:
    release = publish(tmp_path, structure=SKETCH)

    with pytest.raises(ht.BadChoice, match=r"a sketch needs all of its buckets\. Publish a narrower one"):
        thin(release, size=size, output=tmp_path / "few.parquet")
    assert not (tmp_path / "few.parquet").exists()
