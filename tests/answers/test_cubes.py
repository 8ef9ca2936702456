"""Answers from a data cube: those of all whole marginals, fitted together, and of others beside them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.conditions.formulas import Formula
from hushtable.conditions.selection import Selection
from hushtable.domain.attributes import Attribute, Categories, Integers
from hushtable.domain.measure import Measure
from hushtable.release.terms import Part, Terms
from tests.answers.enumerated import all_codes, cells_where, group_counts, in_columns
from tests.conditions.test_selection import SMALL, formulas, is_true
from tests.harness.cases import chosen, few
from tests.release.examples import cube_terms, rows, write

DOMAIN = ht.Domain(
    attributes=(
        Attribute(name="home", values=Integers(low=0, high=7)),
        Attribute(name="sex", values=Categories(values=("f", "m"))),
        Attribute(name="work", values=Integers(low=0, high=4)),
    )
)
WHOLE = Part(method=ht.Everything(), rule="whole-1")
FILTERED = Part(method=ht.Filter(cutoff=9), rule=None, cutoff=9.0)
SAMPLED = Part(method=ht.FilterPriority(cutoff=5, size=1000), rule=None, cutoff=5.0, threshold=14.5)
POSITIVE = Part(method=ht.Everything(nonnegative=True), rule=None)
PRIORITY = Part(method=ht.Priority(size=1000), rule=None, threshold=14.5)

ALL = ht.Marginals("all-1", "all-2", "all-3")
PAIRS = ht.Marginals(["home"], ["work"], ["home", "work"], weights=[1, 2, 3])
CUBES: dict[str, Terms] = {
    "whole": cube_terms(ALL, DOMAIN, [WHOLE] * 7, epsilon=Fraction(3)),
    "weighted": cube_terms(PAIRS, DOMAIN, [WHOLE] * 3, epsilon=Fraction(3)),
    "mixed": cube_terms(
        ALL,
        DOMAIN,
        [WHOLE, FILTERED, WHOLE, SAMPLED, FILTERED, PRIORITY, SAMPLED],
        epsilon=Fraction(6),
        total=700,
    ),
    "without a total": cube_terms(
        ALL,
        DOMAIN,
        [FILTERED, WHOLE, POSITIVE, WHOLE, SAMPLED, FILTERED, PRIORITY],
        epsilon=Fraction(6),
        total_budget=Fraction(0),
        total=None,
    ),
    "sums": cube_terms(
        PAIRS,
        DOMAIN,
        [POSITIVE, FILTERED, WHOLE],
        epsilon=Fraction(6),
        measure=Measure(sum_column="home", clamp=(-2, 3)),
    ),
}


def counts_of(part: Part, number: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    counts = np.random.default_rng(seed).integers(-12, 60, number)
    return np.maximum(counts, 0) if part is POSITIVE else counts


def opened(folder: Path, made: Terms, seed: int = 1) -> tuple[ht.Release, list[ht.Release]]:
    """A cube with some rows that its parts allow, and each of its marginals as a release of its own."""
    cube: Any = made.nodes
    codes, counts, flat = [], [], []
    for number, (marginal, part) in enumerate(zip(cube.marginals, made.parts, strict=True)):
        own = all_codes(marginal.domain)
        found = counts_of(part, len(own), seed + number)
        if part not in (WHOLE, POSITIVE):
            kept = (np.abs(found) >= (part.cutoff or 1)) & (np.arange(len(own)) % 3 > 0)
            own, found = own[kept], found[kept]
        terms = made.part(number)
        write(folder / f"{number}.parquet", terms, rows(terms, own, found), overwrite=True)
        flat.append(ht.open(folder / f"{number}.parquet"))
        codes.append(cube.codes(number, own))
        counts.append(found)
    whole = rows(made, np.concatenate(codes), np.concatenate(counts))
    write(folder / "cube.parquet", made, whole, overwrite=True)
    return ht.open(folder / "cube.parquet"), flat


Known: TypeAlias = dict[str, tuple[ht.Release, list[ht.Release]]]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    return {name: opened(tmp_path_factory.mktemp("cube"), made) for name, made in CUBES.items()}


def able(release: ht.Release, condition: str, names: list[str]) -> list[int]:
    """The marginals that can answer, by listing all cells of the domain."""
    inside = np.zeros(DOMAIN.shape, dtype=np.bool_)
    inside[tuple(cells_where(DOMAIN, condition).T)] = True
    matter = {
        name for place, name in enumerate(DOMAIN.names) if (inside != inside.take([0], axis=place)).any()
    }
    wanted = {*matter, *names} if inside.any() else set(names)
    cube: Any = release.terms.nodes
    return [number for number, each in enumerate(cube.marginals) if wanted <= set(each.domain.names)]


def restated(condition: str) -> str:
    """The condition on a marginal alone, which may lack attributes that are named but do not matter."""
    return "TRUE" if condition == ALWAYS else condition


ALWAYS = "home >= 0 OR sex = 'f'"
CONDITIONS = [
    "TRUE",
    ALWAYS,
    "home = 3",
    "home BETWEEN 2 AND 5",
    "sex = 'm'",
    "work IN (0, 3)",
    "home < 3 AND sex = 'f'",
    "home < 3 OR sex = 'f'",
    "home = 3 OR work = 4",
    "(home < 3 OR work > 2) AND NOT work = 4",
    "home = 1 AND sex = 'f' AND work = 2",
]


WHOLE_ONES = ["whole", "weighted"]


def fitted(release: ht.Release) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """All cells by least squares from all rows, and the covariance of that: by brute force."""
    cube: Any = release.terms.nodes
    cells = all_codes(DOMAIN)
    matrix, seen, precision = [], [], []
    for number, marginal in enumerate(cube.marginals):
        own = cube.own_codes(number, release.codes[release.codes[:, 0] == number])
        law = release.terms.part(number).law
        for code, count in zip(own, release.counts[release.codes[:, 0] == number], strict=True):
            matrix.append((cells[:, list(marginal.places)] == code).all(axis=1).astype(float))
            seen.append(float(count))
            precision.append(1 / law.floats.variance)
    total = release.terms.total_law
    if total is not None:
        matrix.append(np.ones(len(cells)))
        seen.append(float(release.noisy_total or 0))
        precision.append(1 / total.floats.variance)
    weighed = np.array(matrix) * np.array(precision)[:, np.newaxis]
    covariance = np.linalg.pinv(weighed.T @ np.array(matrix))
    return covariance @ weighed.T @ np.array(seen), covariance


@pytest.mark.parametrize(("name", "condition"), few(product(WHOLE_ONES, CONDITIONS), every=3))
def test_a_total_is_the_best_that_all_whole_marginals_together_say(
    name: str, condition: str, known: Known
) -> None:
    release, _ = known[name]
    if not able(release, condition, []):
        with pytest.raises(ht.BadQuery, match="no marginal of this release has"):
            release.total(condition)
        return
    values, covariance = fitted(release)
    inside = np.zeros(DOMAIN.shape)
    inside[tuple(cells_where(DOMAIN, condition).T)] = 1
    asked = inside.ravel()
    found = release.total(condition)
    assert found.value == pytest.approx(float(asked @ values), abs=1e-6)
    best = float(asked @ covariance @ asked) ** 0.5
    if " OR " in condition and condition != ALWAYS:
        assert found.standard_error >= best * (1 - 1e-9)  # that of one marginal, which is no smaller
    else:
        assert found.standard_error == pytest.approx(best)
    assert found.low < found.value < found.high
    assert found.note.startswith("The estimate combines all tables that are published whole.")


BY = [
    (["sex"], None),
    (["home"], "sex = 'f'"),
    (["work", "home"], None),
    (["home", "work"], "home < 3 OR work > 2"),
    (["sex", "work"], "sex = 'f'"),
]


@pytest.mark.parametrize(("names", "where"), BY, ids=str)
@pytest.mark.parametrize("name", WHOLE_ONES)
def test_groups_are_totals_one_by_one(name: str, names: list[str], where: str | None, known: Known) -> None:
    release, _ = known[name]
    if not able(release, where or "TRUE", names):
        with pytest.raises(ht.BadQuery, match="no marginal of this release has"):
            release.by(names, where=where)
        return
    for row in release.by(names, where=where).to_pylist():
        own = " AND ".join(f"{each} = {row[each]!r}" for each in names)
        alone = release.total(f"({where or 'TRUE'}) AND {own}")
        assert row["estimate"] == pytest.approx(alone.value)
        if where is None or " OR " not in where:
            assert row["standard_error"] == pytest.approx(alone.standard_error)
            assert (row["low"], row["high"]) == pytest.approx((alone.low, alone.high))


def test_answers_agree_with_one_another(known: Known) -> None:
    for name in WHOLE_ONES:
        release, _ = known[name]
        pairs = release.by(["home", "work"]).to_pandas().groupby("home")["estimate"].sum()
        singles = release.by("home").to_pandas().set_index("home")["estimate"]
        assert np.allclose(pairs, singles)
        assert singles.sum() == pytest.approx(release.total().value)


def test_numbers_without_negative_ones_still_add_up(known: Known) -> None:
    release, _ = known["whole"]
    pairs = release.by(["home", "work"], nonnegative=True).to_pandas()
    singles = release.by("home", nonnegative=True).to_pandas().set_index("home")["nonnegative"]
    assert (pairs["estimate"] < 0).any()
    assert (pairs["nonnegative"] >= 0).all()
    assert np.allclose(pairs.groupby("home")["nonnegative"].sum(), singles, atol=1e-3)
    assert singles.sum() == pytest.approx(release.total().value, abs=1e-2)


THREE = ht.Marginals("all-2")
UNMEASURED = cube_terms(THREE, DOMAIN, [WHOLE] * 3, epsilon=Fraction(3))


def greatest_entropy(margins: dict[tuple[int, int], Any], shape: tuple[int, ...]) -> Any:
    """The most even table with these tables of two: by each of them again and again, until nothing moves."""
    table = np.ones(shape)
    for _ in range(5000):
        for (one, two), margin in margins.items():
            (other,) = {0, 1, 2} - {one, two}
            now = table.sum(axis=other, keepdims=True)
            table = table * np.divide(
                np.expand_dims(margin, other), now, out=np.zeros_like(now), where=now > 0
            )
    return table


def test_a_model_answers_what_no_table_has_together(tmp_path: Path) -> None:
    """It goes with the tables of two, and else attributes go together as little as these allow."""
    release, _ = opened(tmp_path, UNMEASURED, seed=8)
    names = DOMAIN.names
    with pytest.raises(
        ht.BadQuery, match=r"--model` and .* add what these tables suggest, without an interval"
    ):
        release.by(names)
    found = release.by(names, model=True)
    assert found.column_names == [*names, "estimate", "standard_error", "low", "high", "model"]
    assert all(found.column(each).null_count == found.num_rows for each in found.column_names[3:7])
    assert found.schema.metadata[b"source"] == b"model"

    pairs = {
        pair: release.by([names[place] for place in pair], nonnegative=True)["nonnegative"].to_numpy()
        for pair in combinations(range(3), 2)
    }
    shape = DOMAIN.shape
    expected = greatest_entropy(
        {pair: pairs[pair].reshape([shape[p] for p in pair]) for pair in pairs}, shape
    )
    model = found["model"].to_numpy().reshape(shape)
    assert (model >= 0).all()
    assert np.abs(model - expected).sum() < 0.02 * expected.sum()
    product = np.einsum("i,j,k->ijk", *(model.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))))
    assert np.abs(product / model.sum() ** 2 - expected).sum() > 0.1 * expected.sum()  # it is not the product

    turned = release.by(["work", "home"], where="sex = 'm' AND home < 3", model=True)
    some = model[:3, 1, :].T.ravel()
    assert np.allclose(turned["model"].to_numpy(), some)
    assert turned["work"].to_pylist() == [work for work in range(5) for _ in range(3)]
    first = release.by(["work", "home"], where="sex = 'm' AND home < 3", model=True, top=1).to_pylist()[0]
    assert first["model"] == pytest.approx(some.max())


def test_a_model_stands_beside_what_was_measured(known: Known) -> None:
    release, _ = known["whole"]
    found = release.by(["home", "work"], nonnegative=True, model=True)
    assert found["model"].to_pylist() == found["nonnegative"].to_pylist()
    assert found.drop_columns("model").equals(release.by(["home", "work"], nonnegative=True))
    mixed, _ = known["mixed"]  # a table with a cutoff: the model is of the whole tables alone
    pairs = mixed.by(["home", "work"], model=True)
    assert pairs.drop_columns("model").equals(mixed.by(["home", "work"]))
    homes, works = (mixed.by(each, nonnegative=True)["nonnegative"].to_numpy() for each in ("home", "work"))
    assert np.allclose(pairs["model"].to_numpy(), np.outer(homes, works).ravel() / homes.sum(), atol=1e-2)


def test_a_model_refuses_what_it_does_not_know(known: Known, tmp_path: Path) -> None:
    release, _ = opened(tmp_path, UNMEASURED, seed=8)
    with pytest.raises(ht.BadQuery, match="the condition ties attributes together"):
        release.by(["home"], where="sex = 'm' OR work = 2", model=True)
    with pytest.raises(ht.BadQuery, match="amounts may be below 0 in this release"):
        known["sums"][0].by(["home", "work"], model=True)
    with pytest.raises(ht.BadQuery, match="no table that is published whole has 'sex'"):
        known["weighted"][0].by(["home", "sex"], model=True)
    with pytest.raises(ht.BadQuery, match="up to 1,000,000 groups"):
        write_many(tmp_path).by([f"a{n}" for n in range(21)], model=True)


def write_many(folder: Path) -> ht.Release:
    domain = ht.Domain(
        attributes=tuple(Attribute(name=f"a{n}", values=Integers(low=0, high=1)) for n in range(21))
    )
    made = cube_terms(ht.Marginals("all-1"), domain, [WHOLE] * 21, epsilon=Fraction(21))
    cube: Any = made.nodes
    codes = np.concatenate(
        [cube.codes(number, all_codes(each.domain)) for number, each in enumerate(cube.marginals)]
    )
    write(folder / "many.parquet", made, rows(made, codes, np.full(len(codes), 5)), overwrite=True)
    return ht.open(folder / "many.parquet")


@pytest.mark.parametrize("name", chosen(["mixed", "without a total", "sums"], [0]))
def test_every_marginal_answers_what_it_can(name: str, known: Known) -> None:
    release, _ = known[name]
    for condition in CONDITIONS:
        for names in ([], ["home"], ["work", "home"]):
            if not able(release, condition, names):
                continue
            rows = release.by(names, where=condition).to_pylist() if names else []
            answers = [(row["low"], row["estimate"], row["high"]) for row in rows]
            total = release.total(condition)
            for low, value, high in [*answers, (total.low, total.value, total.high)]:
                assert low <= value + 1e-9
                assert value <= high + 1e-9


@pytest.mark.parametrize("name", chosen(CUBES, [2]))
def test_which_marginal_answers_does_not_follow_from_rows(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A sample that missed what was asked for has a small error and a small sum: it must not win by that."""
    folders = (tmp_path_factory.mktemp("cube") for _ in range(3))
    releases = [opened(folder, CUBES[name], 20 * seed)[0] for seed, folder in enumerate(folders)]
    for condition in CONDITIONS:
        if able(releases[0], condition, []):
            notes = {release.total(condition).note.partition(".")[0] for release in releases}
            assert len(notes) == 1


def test_a_cell_is_answered_by_whole_marginals_or_by_its_own_count(known: Known) -> None:
    release, _ = known["whole"]
    assert release.at(home=3, sex="f", work=2).value == pytest.approx(
        release.total(home=3, sex="f", work=2).value
    )
    release, flat = known["mixed"]
    for home in range(8):
        found = release.at(home=home, sex="f", work=2)
        assert found == flat[6].at(home=home, sex="f", work=2)
    with pytest.raises(
        ht.BadQuery, match="a cell has a value of every attribute, and none is given for 'work'"
    ):
        release.at(home=1, sex="f")


def test_a_cube_without_that_marginal_has_no_cells(known: Known) -> None:
    release, _ = known["weighted"]

    with pytest.raises(ht.BadQuery) as caught:
        release.at(home=1, sex="f", work=2)
    assert str(caught.value) == (
        "no marginal of this release has 'home', 'sex', 'work' together.\n"
        "Ask about the attributes of one of (home), (work), (home, work)."
    )


def test_a_question_that_no_marginal_fits_lists_them(known: Known) -> None:
    release, _ = known["weighted"]
    asked: list[Any] = [
        lambda: release.total(sex="f"),
        lambda: release.total("home = 1 AND sex = 'f'"),
        lambda: release.total({"home": 1, "sex": "f"}),
        lambda: release.by("sex"),
        lambda: release.by("home", where="sex = 'f'"),
        lambda: release.plot("sex"),
    ]
    for ask in asked:
        with pytest.raises(ht.BadQuery, match=r"one of \(home\), \(work\), \(home, work\)\."):
            ask()


def test_many_marginals_are_listed_in_part(tmp_path: Path) -> None:
    domain = ht.Domain(
        attributes=tuple(Attribute(name=f"a{n}", values=Integers(low=0, high=1)) for n in range(40))
    )
    release, _ = opened(tmp_path, cube_terms(ht.Marginals("all-1"), domain, [WHOLE] * 40))

    with pytest.raises(ht.BadQuery, match=r"of \(a0\), \(a1\), .*, \(a11\), 28 more\."):
        release.total(a0=0, a1=1)


@pytest.mark.parametrize("name", CUBES)
@pytest.mark.parametrize(
    "condition", ["FALSE", "home = 3 AND home = 4", "home < 0", "home = 1 AND home = 2 AND sex = 'f'"]
)
def test_no_cells_hold_nothing(condition: str, name: str, known: Known) -> None:
    release, _ = known[name]
    found = release.total(condition)

    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert release.by("home", where=condition).num_rows == 0
    assert release.by("home", where=condition, top=2).num_rows == 0
    assert release.by(["home", "work"], where=condition, simultaneous=True).num_rows == 0


def test_a_cube_without_rows(tmp_path: Path) -> None:
    made = CUBES["mixed"]
    none = np.empty((0, 4), dtype=np.int64)
    write(tmp_path / "x.parquet", made, rows(made, none, np.empty(0, dtype=np.int64)))
    release = ht.open(tmp_path / "x.parquet")

    with pytest.raises(ht.BadRelease, match="is said to be whole, and is not"):
        release.total(home=3)


def test_a_picture_of_a_cube(known: Known, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    release, _ = known["mixed"]
    release.plot("sex", output=tmp_path / "bars.png")
    release.plot(["home", "work"], output=tmp_path / "heat.svg")
    release.plot("home", top=3, simultaneous=True, where="sex = 'f'", output=tmp_path / "top.pdf")

    assert all((tmp_path / name).stat().st_size > 1000 for name in ("bars.png", "heat.svg", "top.pdf"))


def test_sql_reads_the_rows_as_published(known: Known) -> None:
    release, flat = known["whole"]
    table = release.sql("SELECT marginal, sum(weight) AS w FROM release GROUP BY marginal")
    found = {row["marginal"]: row["w"] for row in table.to_pylist()}
    cube: Any = release.terms.nodes

    assert found == {
        each.label: pytest.approx(alone.weights.sum())
        for each, alone in zip(cube.marginals, flat, strict=True)
    }


# The same condition on fewer attributes.


@given(formulas(SMALL), st.data())
def test_a_selection_within_a_marginal(formula: Formula, data: st.DataObject) -> None:
    truth = np.array([is_true(formula, cell) for cell in all_codes(SMALL).tolist()]).reshape(SMALL.shape)
    matter = {place for place in range(4) if np.any(truth != truth.take([0], axis=place))}
    sets = [
        each
        for size in range(1, 5)
        for each in combinations(range(4), size)
        if matter <= set(each) or not truth.any()
    ]
    places = data.draw(st.sampled_from(sets))
    own = SMALL.of(places)
    # The other attributes do not matter, so any of their codes tells.
    inside = truth[tuple(slice(None) if place in places else 0 for place in range(4))].ravel()
    codes = all_codes(own)
    kept = np.array(sorted(data.draw(st.sets(st.integers(0, len(codes) - 1)))), dtype=np.intp)
    whole = Selection(SMALL, formula)
    before = (whole.attributes, whole.cells)

    moved = whole.within(own, places)

    assert moved.domain == own
    assert moved.cells == inside.sum()
    if truth.any():
        assert moved.attributes == tuple(places.index(place) for place in sorted(matter))
    found = np.arange(len(kept))[moved.rows(in_columns(own, codes[kept]))]
    assert found.tolist() == np.flatnonzero(inside[kept]).tolist()
    for some in (range(1), range(len(places))):
        assert moved.cells_of_groups(some).tolist() == group_counts(own, codes[inside], some)
    # The first selection is as it was.
    assert (whole.attributes, whole.cells) == before
    assert whole.cells == truth.sum()
