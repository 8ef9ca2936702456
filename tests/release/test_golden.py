"""Files of every released format open for ever, with the values written here. make_golden.py made them."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.domain.measure import Measure, Unit
from hushtable.release.terms import Part
from hushtable.structures.cells import Cells
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.marginals import Marginals
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.pruned import Tree
from hushtable.structures.sketch import CountSketch

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.parquet"))

VALUES = [
    ("north", -5, 0.3, 0, date(1969, 12, 1), datetime(2024, 1, 1, 0, 0)),
    ("north", 120, 0.9, 100, date(2024, 12, 1), datetime(2024, 1, 1, 23, 45)),
    ("söuth", 2, 0.0, 100, date(1970, 1, 1), datetime(2024, 1, 1, 1, 0)),
    ("unknown", 0, 0.7, 0, date(1994, 12, 1), datetime(2024, 1, 1, 1, 0)),
]
CODES = [[0, 0, 3, 0, 0, 0], [0, 125, 9, 1, 660, 95], [1, 7, 0, 1, 1, 4], [3, 5, 7, 0, 300, 4]]
COUNTS = [-30, 500, 0, 25]


def test_no_golden_file_went_away() -> None:
    assert NAMES == [
        "v1-counted",
        "v1-empty",
        "v1-packed",
        "v1-people",
        "v2-consistent",
        "v2-dyadic",
        "v2-haar",
        "v2-morton",
        "v2-product",
        "v2-tree",
        "v3-cube",
        "v3-sketch",
        "v4-people",
        "v4-tree",
        "v7-words",
        "v9-levels",
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("v1-")])
def test_format_1(name: str) -> None:
    release = ht.open(GOLDEN / f"{name}.parquet")
    rows = 0 if name == "v1-empty" else 4

    assert len(release) == rows
    assert release.codes.tolist() == CODES[:rows]
    assert release.counts.tolist() == COUNTS[:rows]
    assert [tuple(row.values())[:6] for row in release.to_arrow().to_pylist()] == VALUES[:rows]
    assert release.to_arrow().column_names[6:] == ["count", "weight"]
    assert release.domain.title == "People"
    assert release.domain.names == ("region", "person.age", "hours", "income", "day", "minute")
    assert release.domain.shape == (4, 126, 10, 2, 661, 96)
    assert release.terms.version == "0.1.0"
    assert release.terms.structure == Cells()


def test_format_1_people() -> None:
    release = ht.open(GOLDEN / "v1-people.parquet")
    terms = release.terms

    assert release.weights.tolist() == [-123.5, 500.0, 0.0, 123.5]
    assert terms.measure == Measure(unit=Unit("person_id", max_rows=3))
    assert (terms.epsilon, terms.total_budget, terms.sensitivity) == (Fraction(1, 10), Fraction(1, 500), 3)
    assert (terms.where, terms.query, terms.rows_are_units) == (None, None, False)
    assert terms.method == ht.FilterPriority(cutoff=20, size=1000)
    assert (terms.rule, terms.cutoff, terms.threshold, terms.total) == ("auto-cutoff-1", 20.0, 123.5, 10_023)
    assert terms.domain.digest == "e3bcaa74200cd3e0dd3f013bb74b5872b33c9524ad05a88d3b4f49c5d5edccfd"


def test_format_1_counted() -> None:
    release = ht.open(GOLDEN / "v1-counted.parquet")
    terms = release.terms

    assert release.weights.tolist() == [-30.0, 500.0, 0.0, 25.0]
    assert terms.measure == Measure(count_column="S000")
    assert (terms.epsilon, terms.total_budget, terms.sensitivity) == (Fraction(1, 3), Fraction(0), 1)
    assert (terms.where, terms.query, terms.rows_are_units) == ("state = 'RI'", None, False)
    assert terms.method == ht.Everything()
    assert (terms.rule, terms.cutoff, terms.threshold, terms.total) == (None, None, None, None)


def test_format_1_packed() -> None:
    terms = ht.open(GOLDEN / "v1-packed.parquet").terms

    assert (terms.where, terms.query) == (None, "SELECT * FROM a JOIN b USING (id)")
    assert terms.rows_are_units
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain


def rows_of(name: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in ht.open(GOLDEN / f"{name}.parquet").to_arrow().to_pylist()]


ENDS = ("north", "unknown", -5, 120, 0.0, 0.9, 0, 100, date(1969, 12, 1), date(2024, 12, 1))
MINUTES = (datetime(2024, 1, 1, 0, 0), datetime(2024, 1, 1, 23, 45))


def test_format_2_dyadic() -> None:
    release = ht.open(GOLDEN / "v2-dyadic.parquet")
    terms = release.terms
    table = release.to_arrow()

    assert terms.structure == Dyadic(order=["day"])
    assert (terms.method, terms.cutoff, terms.threshold) == (ht.Priority(size=1000), None, 123.5)
    assert (terms.epsilon, terms.total_budget, terms.sensitivity) == (Fraction(1, 10), Fraction(0), 31)
    assert (terms.total, terms.rule, terms.version) == (None, None, "0.1.0")
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain
    assert release.codes.tolist() == [[0], [1], [5], [1_000_000], [1_279_272_973]]
    assert release.counts.tolist() == [500, -30, 25, 260, 21]
    assert release.weights.tolist() == [500.0, -123.5, 123.5, 260.0, 123.5]
    assert table.column_names[:3] == ["level", "region", "region_last"]
    assert table.column_names[-4:] == ["minute", "minute_last", "count", "weight"]
    assert rows_of("v2-dyadic")[0] == (0, *ENDS, *MINUTES, 500, 500.0)
    assert rows_of("v2-dyadic")[3] == (
        *(20, "north", "north", 88, 89, 0.8, 0.3, 100, 100, date(2003, 1, 1), date(2003, 1, 1)),
        *(datetime(2024, 1, 1, 8, 0), datetime(2024, 1, 1, 23, 45), 260, 260.0),
    )


def test_format_2_haar() -> None:
    release = ht.open(GOLDEN / "v2-haar.parquet")
    terms = release.terms

    assert terms.structure == Haar()
    assert (terms.method, terms.cutoff, terms.rule) == (ht.Filter(cutoff=20), 20.0, "auto-cutoff-1")
    assert (terms.measure, terms.sensitivity) == (Measure(unit=Unit("person_id", max_rows=3)), 93)
    assert release.codes.tolist() == [[0], [1], [5], [1_000_000], [639_636_479]]
    assert release.counts.tolist() == release.weights.tolist() == [500, -30, 25, 260, 21]
    assert release.to_arrow().column("level").to_pylist() == [0, 1, 4, 21, 30]
    assert rows_of("v2-haar")[1] == (1, *ENDS, *MINUTES, -30, -30.0)
    assert rows_of("v2-haar")[4] == (
        *(30, "unknown", "unknown", 120, 120, 0.9, 0.9, 100, 100, date(2024, 12, 1), date(2024, 12, 1)),
        *(datetime(2024, 1, 1, 23, 30), datetime(2024, 1, 1, 23, 45), 21, 21.0),
    )


def test_format_2_consistent() -> None:
    release = ht.open(GOLDEN / "v2-consistent.parquet")

    assert release.terms.structure == Dyadic(consistent=True, order=["hour"])
    assert (release.summary, release.cutoff) == (ht.Filter(cutoff=20, two_sided=False), 20.0)
    assert release.codes.tolist() == [[0], [1], [3], [6]]
    assert rows_of("v2-consistent") == [
        (0, "n", "e", 6, 12, 90, 90.0),
        (1, "n", "n", 6, 11, 60, 60.0),
        (2, "n", "s", 6, 8, 41, 41.0),
        (3, "n", "n", 6, 7, 20, 20.0),
    ]


def test_format_2_product() -> None:
    release = ht.open(GOLDEN / "v2-product.parquet")

    assert release.terms.structure == ProductDyadic(order=["hour"])
    assert (release.summary, release.terms.sensitivity) == (ht.Everything(), 12)
    assert release.codes.tolist() == [[hour, home] for hour in range(14) for home in range(6)]
    assert release.counts.tolist() == list(range(20, 104))
    found = rows_of("v2-product")
    assert found[0] == (0, "n", "e", 0, 6, 12, 20, 20.0)
    assert found[10] == (2, "s", "s", 1, 6, 9, 30, 30.0)
    assert found[83] == (2, "e", "e", 3, 12, 12, 103, 103.0)


def test_format_2_tree() -> None:
    release = ht.open(GOLDEN / "v2-tree.parquet")
    terms = release.terms

    assert terms.structure == Tree(branching=4, order=["hour"])
    assert (release.summary, release.cutoff) == (ht.Filter(cutoff=20, two_sided=False), 20.0)
    assert (terms.epsilon, terms.total_budget, terms.sensitivity) == (Fraction(1, 10), Fraction(0), 13)
    assert (terms.rate, terms.total, terms.threshold) == (Fraction(4, 130), None, None)
    assert release.codes.tolist() == [[0], [1], [2], [5], [6], [26]]
    assert [row[:-1] for row in rows_of("v2-tree")] == [
        (0, "n", "e", 6, 12, 207),
        (1, "n", "n", 6, 11, 110),
        (1, "s", "e", 11, 12, 60),
        (2, "e", "e", 8, 9, 41),
        (2, "n", "n", 10, 11, 52),
        (3, "n", "n", 11, 11, 33),
    ]
    weights = [
        0,
        40.13928429520784,
        25.26762250953373,
        32.829995321493456,
        22.77677988480025,
        10.68808214183602,
    ]
    assert release.weights.tolist() == weights
    assert release.total().value == pytest.approx(sum(weights))


def test_format_2_morton() -> None:
    release = ht.open(GOLDEN / "v2-morton.parquet")
    terms = release.terms

    assert terms.structure == Tree(order="morton")
    assert (release.summary, release.cutoff) == (ht.Filter(size=5, two_sided=False), 260.0)
    assert (terms.measure, terms.sensitivity) == (Measure(unit=Unit("person_id", max_rows=3)), 99)
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain
    assert release.codes.tolist() == [[0], [4], [71], [1137]]
    assert release.counts.tolist() == [900, 700, 500, 260]
    assert release.weights.sum() == pytest.approx(659.2421586573124)
    assert rows_of("v2-morton")[0][:-1] == (0, *ENDS, *MINUTES, 900)
    assert rows_of("v2-morton")[3][:-1] == (
        *(3, "north", "north", 91, 120, 0.8, 0.9, 100, 100, date(2012, 8, 1), date(2024, 12, 1)),
        *(datetime(2024, 1, 1, 16, 0), datetime(2024, 1, 1, 23, 45), 260),
    )


def test_format_3_cube() -> None:
    release = ht.open(GOLDEN / "v3-cube.parquet")
    terms = release.terms
    few, many = (
        Part(method=ht.Everything(), rule="whole-1"),
        Part(method=ht.Filter(cutoff=20), rule=None, cutoff=20.0),
    )
    sampled = Part(
        method=ht.FilterPriority(cutoff=20, size=1000), rule="auto-cutoff-1", cutoff=20.0, threshold=123.5
    )

    assert terms.structure == Marginals(
        "all-1", ["income", "region"], ["minute", "day"], weights=["1/3", "1/2", 1]
    )
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain
    assert (terms.measure, terms.sensitivity) == (Measure(unit=Unit("person_id", max_rows=3)), 63)
    assert (terms.epsilon, terms.total_budget, terms.total) == (Fraction(1, 10), Fraction(1, 500), 10_023)
    assert terms.parts == (few, many, few, few, many, many, few, sampled)
    assert (terms.method, terms.rule, terms.cutoff, terms.threshold) == (
        sampled.method,
        "auto-cutoff-1",
        20.0,
        123.5,
    )
    rates = [terms.part(number).rate for number in range(8)]
    assert rates == [Fraction(7, 2250)] * 6 + [Fraction(7, 1500), Fraction(7, 750)]
    assert terms.rate == Fraction(7, 2250)
    assert release.counts.tolist() == list(range(21, 49))
    assert release.weights.tolist() == [*range(21, 48), 123.5]
    assert [row[0] for row in rows_of("v3-cube")] == [
        *["region"] * 4,
        "person.age",
        *["hours"] * 10,
        *["income"] * 2,
        "day",
        "minute",
        *["region, income"] * 8,
        "day, minute",
    ]
    nothing = (None,) * 5
    assert rows_of("v3-cube")[1] == ("region", "söuth", *nothing, 22, 22.0)
    assert rows_of("v3-cube")[17] == ("day", *nothing[:4], date(2024, 12, 1), None, 38, 38.0)
    assert rows_of("v3-cube")[20] == ("region, income", "north", None, None, 100, None, None, 41, 41.0)
    assert rows_of("v3-cube")[27] == (
        *("day, minute", *nothing[:4], date(2024, 12, 1), datetime(2024, 1, 1, 23, 45)),
        *(48, 123.5),
    )
    assert release.codes[[1, 20, 27]].tolist() == [
        [0, 1, 0, 0, 0, 0, 0],
        [6, 0, 0, 0, 1, 0, 0],
        [7, 0, 0, 0, 0, 660, 95],
    ]
    # Its own count of 25 does not stand out from noise of 455: people of the whole tables are spread evenly.
    assert release.total({"person.age": 120}).value == pytest.approx(release.total().value / 126)
    assert release.total().value == pytest.approx(550.1459449852989)


def test_format_3_sketch() -> None:
    release = ht.open(GOLDEN / "v3-sketch.parquet")
    terms = release.terms

    assert terms.structure == CountSketch(width=5, depth=2)
    assert terms.keys == ("000102030405060708090a0b0c0d0e0f", "f0e0d0c0b0a090807060504030201000")
    assert terms.domain == ht.open(GOLDEN / "v1-people.parquet").domain
    assert (terms.method, terms.rule, terms.cutoff, terms.threshold) == (ht.Everything(), None, None, None)
    assert (terms.epsilon, terms.sensitivity, terms.rate) == (Fraction(1, 10), 2, Fraction(49, 1000))
    assert (terms.total, terms.total_budget) == (10_023, Fraction(1, 500))
    assert release.codes.tolist() == [[row, bucket] for row in range(2) for bucket in range(5)]
    assert rows_of("v3-sketch")[0] == (0, 0, -3, -3.0)
    assert rows_of("v3-sketch")[9] == (1, 4, 6, 6.0)


def test_format_4_people() -> None:
    release = ht.open(GOLDEN / "v4-people.parquet")

    assert sorted(each.name for each in release.path.iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert len(release) == 4
    assert release.codes.tolist() == CODES
    assert release.counts.tolist() == COUNTS
    assert release.weights.tolist() == [-123.5, 500.0, 0.0, 123.5]
    assert [row[:6] for row in rows_of("v4-people")] == VALUES
    assert release.terms.method == ht.FilterPriority(cutoff=20, size=1000)
    assert release.domain == ht.open(GOLDEN / "v1-people.parquet").domain
    with pytest.raises(ht.BadRelease, match="it is part 2 of 2"):
        ht.open(GOLDEN / "v4-people.parquet" / "part-00001.parquet")


def test_format_4_tree() -> None:
    parts, whole = (ht.open(GOLDEN / f"{name}-tree.parquet") for name in ("v4", "v2"))

    assert len(list(parts.path.iterdir())) == 2
    assert parts.terms == whole.terms
    assert [row[:-1] for row in rows_of("v4-tree")] == [row[:-1] for row in rows_of("v2-tree")]
    assert parts.codes.tolist() == whole.codes.tolist()
    assert parts.weights.tolist() == [
        0.0,
        11.333100944358023,
        37.0496647910212,
        18.33915123830071,
        3.867380245631486,
        5.629389932355384,
    ]
    assert parts.total().value == pytest.approx(76.21868715166679)


def test_format_7_words() -> None:
    release = ht.open(GOLDEN / "v7-words.parquet")
    declared = ht.Domain(word=ht.any_text(longest=40, missing={"other": "none"}), day=ht.integers(0, 6))

    assert rows_of("v7-words") == [
        ("", 3, 15, 15.0),
        ("Flu", 0, 40, 40.0),
        ("flu", 0, 700, 700.0),
        ("flu", 6, 21, 21.0),
        ("über", 1, 16, 16.0),
    ]
    assert release.domain == declared
    assert release.codes.tolist() == [[0, 3], [1, 0], [2, 0], [2, 6], [3, 1]]
    assert (release.terms.law_name, release.cost) == ("truncated-geometric", ht.Cost(epsilon=1, delta="1e-6"))
    assert release.total(word="flu").value == 721


def test_format_9_levels() -> None:
    release = ht.open(GOLDEN / "v9-levels.parquet")
    terms = release.terms
    columns = ["level", "county(town)", "town", "sex"]

    assert terms.structure == ht.Hierarchy("county(town)", "town, sex", shares=[1, 4, 2])
    assert (terms.method, terms.cutoff) == (ht.Filter(size=20, two_sided=False), 31.25)
    assert (terms.epsilon, terms.sensitivity) == (Fraction(1, 10), 7)
    assert release.to_arrow().column_names == [*columns, "count", "weight"]
    assert [tuple(row[name] for name in [*columns, "count"]) for row in release.to_arrow().to_pylist()] == [
        ("all", None, None, None, 410),
        ("county(town)", "A", None, None, 320),
        ("county(town)", "B", None, None, -3),
        ("town, sex", "A", "A-1", "f", 300),
        ("town, sex", "A", "A-2", "m", 40),
        ("town, sex", "B", "B-1", "m", 95),
    ]
    assert [round(weight, 6) for weight in release.weights.tolist()] == [
        0.0,
        0.009356,
        0.0,
        275.262247,
        45.757639,
        23.510884,
    ]
    assert release.by("county(town)").num_rows == 2
