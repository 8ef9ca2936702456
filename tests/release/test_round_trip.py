"""What is written is what is opened: terms, values, codes, counts and weights."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure
from hushtable.errors import BadRelease, InternalError
from hushtable.methods.settings import Method
from hushtable.release import coding
from hushtable.release.record import Terms
from hushtable.structures.axes import Ordered as Lifted
from hushtable.structures.pruned import Tree
from tests.harness.nodes import intervals_of
from tests.harness.statistics import tries
from tests.release.examples import (
    MEASURES,
    METHODS,
    PRUNED,
    STRUCTURES,
    Rows,
    all_nodes,
    people,
    random_releases,
    random_tree_terms,
    rows,
    terms,
    tree_terms,
    write,
)


def opened_again(made: Terms, given: Rows) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        digest = write(path, made, given)
        release = ht.open(path)

        assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
        assert release.terms == made
        assert len(release) == len(given.counts)
        assert np.array_equal(release.codes, given.codes)
        assert np.array_equal(release.counts, given.counts)
        assert np.array_equal(release.weights, given.weights)
        values = release.to_arrow().select(made.domain.names)
        firsts = intervals_of(made, given.codes).firsts
        assert values.to_pydict() == made.domain.decode(firsts).to_pydict()


@given(release=random_releases())
@settings(max_examples=tries(150))
def test_any_release(release: tuple[Terms, Rows]) -> None:
    opened_again(*release)


@given(release=random_releases(random_tree_terms()))
@settings(max_examples=tries(150))
def test_any_tree(release: tuple[Terms, Rows]) -> None:
    opened_again(*release)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_every_structure(structure: Lifted) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)

    opened_again(made, whole)
    opened_again(made, Rows(whole.codes[:0], whole.counts[:0], whole.weights[:0]))


@pytest.mark.parametrize("structure", PRUNED, ids=repr)
def test_every_pruned_tree(structure: Tree) -> None:
    made = tree_terms(structure)
    whole = all_nodes(made)

    opened_again(made, whole)
    opened_again(made, rows(made, whole.codes[:1], whole.counts[:1]))


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_method(method: Method) -> None:
    opened_again(*people(method=method))


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_every_measure(measure: Measure) -> None:
    opened_again(*people(measure=measure))


def test_no_rows() -> None:
    made = terms()

    opened_again(made, rows(made, np.empty((0, 6), dtype=np.int64), np.empty(0, dtype=np.int64)))


def test_more_cells_than_words_can_number() -> None:
    made = terms(
        Domain(
            attributes=tuple(
                Attribute(name=f"a{place}", values=Integers(low=0, high=999)) for place in range(10)
            )
        )
    )
    assert made.domain.cells_total == 10**30
    codes = np.array([[0] * 10, [0] * 9 + [999], [998] * 10, [999] * 10])

    opened_again(made, rows(made, codes, np.array([1, 2, 3, 4])))


def test_the_ends_of_64_bits() -> None:
    ends = [Integers(low=-(2**63), high=-2), Integers(low=1, high=2**63 - 1)]
    made = terms(
        Domain(attributes=tuple(Attribute(name=f"a{n}", values=each) for n, each in enumerate(ends)))
    )
    top = 2**63 - 2

    opened_again(made, rows(made, np.array([[0, 0], [0, top], [top, 0], [top, top]]), np.array([1, 2, 3, 4])))


def test_the_values_are_those_of_the_domain(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", *people())

    assert ht.open(tmp_path / "x.parquet").to_arrow().to_pylist()[1] == {
        "region": "north",
        "person.age": 120,
        "hours": 0.9,
        "income": 100,
        "day": date(2024, 12, 1),
        "minute": datetime(2024, 1, 1, 23, 45),
        "count": 500,
        "weight": 500.0,
    }


def test_attributes_of_a_release(tmp_path: Path) -> None:
    made, given = people()
    write(tmp_path / "x.parquet", made, given)
    release = ht.open(str(tmp_path / "x.parquet"))

    assert release.path == tmp_path / "x.parquet"
    assert (release.domain, release.epsilon, release.guarantee) == (made.domain, made.epsilon, made.guarantee)
    assert (release.summary, release.cutoff, release.threshold) == (made.method, 20.0, 123.5)
    assert (release.noisy_total, release.rate) == (10_023, made.rate)
    assert not release.codes.flags.writeable
    assert not release.counts.flags.writeable
    assert not release.weights.flags.writeable


def test_equal_releases_have_equal_bytes(tmp_path: Path) -> None:
    assert write(tmp_path / "x.parquet", *people()) == write(tmp_path / "y.parquet", *people())


def test_several_row_groups(tmp_path: Path) -> None:
    home = Domain(attributes=(Attribute(name="home", values=Integers(low=0, high=10**7)),))
    made = terms(home, method=ht.FilterPriority(cutoff=20, size=10**6))
    codes = np.arange(0, 2**19 + 6, 2).reshape(-1, 1)
    counts = np.arange(len(codes)) % 1000 - 500
    write(tmp_path / "x.parquet", made, rows(made, codes, counts))
    release = ht.open(tmp_path / "x.parquet")
    metadata = pq.read_metadata(tmp_path / "x.parquet")

    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [2**17, 2**17, 3]
    assert np.array_equal(release.codes, codes)
    assert np.array_equal(release.counts, counts)


@pytest.mark.parametrize("place", [0, 2**17 - 1, 2**17])
def test_rows_out_of_order_are_refused(place: int, tmp_path: Path) -> None:
    home = Domain(attributes=(Attribute(name="home", values=Integers(low=0, high=10**7)),))
    made = terms(home, method=ht.FilterPriority(cutoff=20, size=10**6))
    codes = np.arange(2**17 + 3).reshape(-1, 1)
    codes[place] = codes[place + 1]

    with pytest.raises(InternalError, match="order"):
        write(tmp_path / "x.parquet", made, rows(made, codes, np.ones(len(codes), dtype=np.int64)))
    assert list(tmp_path.iterdir()) == []


def test_rows_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    made, given = people()

    with pytest.raises(InternalError, match="lengths"):
        write(tmp_path / "x.parquet", made, given._replace(weights=given.weights[1:]))
    with pytest.raises(ht.BadTable, match=r"outside 0\.\.3"):
        write(tmp_path / "x.parquet", made, given._replace(codes=given.codes + np.int64(4)))
    with pytest.raises(InternalError, match="before its total was drawn"):
        write(tmp_path / "x.parquet", replace(made, total=None), given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("region", "North"),
        ("person.age", 121),
        ("person.age", -(2**63)),
        ("person.age", 2**63 - 1),
        ("hours", 0.35),
        ("hours", float("nan")),
        ("hours", float("-inf")),
        ("income", 99),
        ("income", 5000),
        ("day", date(2024, 12, 2)),
        ("day", date(1969, 11, 1)),
        ("minute", datetime(2024, 1, 1, 23, 45, 0, 1)),
        ("minute", datetime(2024, 1, 2)),
    ],
)
def test_values_that_the_domain_does_not_have_are_no_codes(name: str, odd: object) -> None:
    made, given = people()
    table = made.domain.decode(given.codes)
    place = table.column_names.index(name)
    values = [*table.column(name).to_pylist()[:-1], odd]
    table = table.set_column(
        place, name, pa.chunked_array([pa.array(values, type=table.schema.types[place])])
    )

    with pytest.raises(BadRelease, match=name):
        coding.codes_of(made, table)


def test_rows_out_of_order_are_no_release() -> None:
    made, given = people()

    with pytest.raises(BadRelease, match="order"):
        coding.codes_of(made, made.domain.decode(given.codes[::-1]))
