"""Data cubes: their settings, which marginals there are over a domain, and what one row changes in them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import gcd
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.structures.marginals import all_of, cube_space
from hushtable.structures.registry import as_structure
from hushtable.structures.table_space import MOST_TABLES, TableSpace
from tests.harness.nodes import published_units
from tests.structures.naive import Cell
from tests.structures.test_sensitivity import MEASURES, contributions


def domain_of(**sizes: int) -> ht.Domain:
    return ht.Domain(
        attributes=tuple(
            Attribute(name=name, values=Integers(low=0, high=size - 1)) for name, size in sizes.items()
        )
    )


DOMAIN = domain_of(home=3, work=4, sex=2)
SMALL = domain_of(home=2, work=3, sex=2)


# Settings.


@pytest.mark.parametrize(
    ("sets", "weights", "text"),
    [
        ((["home"],), None, "Marginals(('home',))"),
        ((["work", "home"], ("sex",)), None, "Marginals(('work', 'home'), ('sex',))"),
        (("all-1", ["home", "work"]), None, "Marginals('all-1', ('home', 'work'))"),
        (("all-1", ["a"]), "auto", "Marginals('all-1', ('a',), weights='auto')"),
        (("all-1", "all-2"), [1, "3/2"], "Marginals('all-1', 'all-2', weights=('1', '3/2'))"),
        ((["a'b"], ["all-2"]), (0.1, 2), "Marginals((\"a'b\",), ('all-2',), weights=('1/10', '2'))"),
    ],
)
def test_a_cube_reads_as_it_is_written(sets: Any, weights: Any, text: str) -> None:
    cube = ht.Marginals(*sets, weights=weights)

    assert repr(cube) == text
    assert eval(text, {"Marginals": ht.Marginals}) == cube
    assert hash(eval(text, {"Marginals": ht.Marginals})) == hash(cube)
    assert cube.name == "marginals"


def test_a_cube_never_changes() -> None:
    names, weights = ["home", "work"], [1]
    cube = ht.Marginals(names, weights=weights)
    names.append("sex")
    weights.append(2)

    assert cube == ht.Marginals(["home", "work"], weights=[1])
    with pytest.raises(AttributeError):
        cube.sets = ()  # type: ignore[misc]


def test_weights_are_part_of_what_a_cube_is() -> None:
    assert ht.Marginals("all-1", weights=[2]) != ht.Marginals("all-1")
    assert ht.Marginals("all-1", weights=[0.1]) == ht.Marginals("all-1", weights=[Fraction(1, 10)])


NO_LIST = 'Write "all-2" for all sets of two attributes, or a list of names: '
NO_MARGINAL = 'is not a marginal. Name attributes, each once, as in ["home", "work"].'


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            (),
            'no marginal is named. Name attributes of each, as in ht.Marginals(["home"], ["home", "work"]).',
        ),
        (([],), f"[] {NO_MARGINAL}"),
        ((["home"], ()), f"() {NO_MARGINAL}"),
        ((["home", "home"],), f"['home', 'home'] {NO_MARGINAL}"),
        ((["home", 3],), f"['home', 3] {NO_MARGINAL}"),
        ((3,), f"3 {NO_MARGINAL}"),
        ((None,), f"None {NO_MARGINAL}"),
        (({"home"},), f"{{'home'}} {NO_MARGINAL}"),
        (("home",), f"'home' is not a list of attributes. {NO_LIST}['home']."),
        (("home,work",), f"'home,work' is not a list of attributes. {NO_LIST}['home,work']."),
        (("all-0",), f"'all-0' is not a list of attributes. {NO_LIST}['all-0']."),
        (("all-1000",), f"'all-1000' is not a list of attributes. {NO_LIST}['all-1000']."),
        (("all-01",), f"'all-01' is not a list of attributes. {NO_LIST}['all-01']."),
        (("all-2 ",), f"'all-2 ' is not a list of attributes. {NO_LIST}['all-2 ']."),
        (("all",), f"'all' is not a list of attributes. {NO_LIST}['all']."),
        (("",), f"'' is not a list of attributes. {NO_LIST}['']."),
    ],
)
def test_what_is_no_marginal_is_refused(sets: Any, message: str) -> None:
    with pytest.raises(ht.BadChoice) as caught:
        ht.Marginals(*sets)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([], "weights=[] are not one for each of 2 entries. Give 2, one for each entry, or 'auto'."),
        ([1], "weights=[1] are not one for each of 2 entries"),
        ([1, 2, 3], "are not one for each of 2 entries"),
        ("12", "weights='12' are not one for each of 2 entries"),
        (7, "weights=7 are not one for each of 2 entries"),
        ({1, 2}, "are not one for each of 2 entries"),
        ([1, 0], "weights=0 is not above 0. Weights say how epsilon is shared: 2 for twice as much as 1."),
        ([-1, 1], "weights=-1 is not above 0"),
        (["-1/2", 1], "weights='-1/2' is not above 0"),
        (["half", 1], "weights='half' is not a finite number"),
        ([None, 1], "weights=None is not a finite number"),
        ([True, 1], "weights=True is not a finite number"),
        ([float("nan"), 1], "weights=nan is not a finite number"),
        ([float("inf"), 1], "weights=inf is not a finite number"),
    ],
)
def test_weights_that_share_nothing_are_refused(weights: Any, message: str) -> None:
    with pytest.raises((ht.BadChoice, ht.BadNumber)) as caught:
        ht.Marginals("all-1", ["home", "work"], weights=weights)

    assert str(caught.value).startswith(message) or message in str(caught.value)


def test_an_entry_that_stands_for_many_is_told_from_a_name() -> None:
    assert [all_of(each) for each in ht.Marginals("all-1", "all-999", ["all-2"]).sets] == [1, 999, None]


def test_a_name_alone_makes_no_cube() -> None:
    with pytest.raises(ht.BadChoice, match=r"'marginals' needs settings. Give ht.Marginals\(\"all-1\""):
        as_structure("marginals")


# The marginals over a domain.


def places_of(cube: TableSpace) -> list[tuple[int, ...]]:
    return [each.places for each in cube.marginals]


@pytest.mark.parametrize(
    ("sets", "places"),
    [
        ((["work"],), [(1,)]),
        (("all-1",), [(0,), (1,), (2,)]),
        (("all-2",), [(0, 1), (0, 2), (1, 2)]),
        (("all-3",), [(0, 1, 2)]),
        (("all-3", "all-1"), [(0, 1, 2), (0,), (1,), (2,)]),
        ((["sex", "home"], ["work", "sex", "home"]), [(0, 2), (0, 1, 2)]),
        ((["sex"], "all-2", ["home"]), [(2,), (0, 1), (0, 2), (1, 2), (0,)]),
    ],
)
def test_entries_become_sets_of_attributes_in_the_order_of_the_domain(
    sets: Any, places: list[tuple[int, ...]]
) -> None:
    cube = cube_space(ht.Marginals(*sets), DOMAIN)

    assert places_of(cube) == places
    for each in cube.marginals:
        assert each.domain.names == tuple(DOMAIN.names[place] for place in each.places)
        assert each.domain.shape == tuple(DOMAIN.shape[place] for place in each.places)
        assert each.label == ", ".join(each.domain.names)
        assert each.share == 1
    assert cube.per_cell == len(places)
    sizes = [np.prod([DOMAIN.shape[place] for place in each]) for each in places]
    assert cube.nodes_total == sum(sizes)
    assert cube.largest == int(np.argmax(sizes))
    assert published_units(ht.Marginals(*sets), DOMAIN)[:2] == (sum(sizes), len(places))


def test_a_marginal_keeps_the_rules_of_its_attributes() -> None:
    domain = ht.Domain.from_dict(
        {
            "title": "People",
            "attribute": [
                {"name": "home", "integers": {"low": 0, "high": 9}, "outside": "clamp"},
                {"name": "work", "column": "w", "integers": {"low": 5, "high": 9}},
            ],
        }
    )
    (marginal,) = cube_space(ht.Marginals(["work"]), domain).marginals

    assert marginal.domain.attributes == (domain.attributes[1],)
    assert marginal.domain.title == "People"


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            (["home", "wrok"],),
            "a marginal names 'wrok', which is not an attribute. There are 'home', 'work', 'sex'.",
        ),
        ((["Home"],), "a marginal names 'Home', which is not an attribute. There are 'home', 'work', 'sex'."),
        ((["home"], ["home"]), "the marginal of 'home' is named twice. Name it once."),
        (
            (["home", "work"], ["work", "home"]),
            "the marginal of 'home', 'work' is named twice. Name it once.",
        ),
        (("all-1", ["sex"]), "the marginal of 'sex' is named twice. Name it once."),
        (("all-2", "all-2"), "the marginal of 'home', 'work' is named twice. Name it once."),
        (
            ("all-4",),
            "'all-4' asks for 4 attributes at a time, and the domain has 3. Take 'all-3' at most.",
        ),
    ],
)
def test_marginals_that_do_not_fit_a_domain_are_refused(sets: Any, message: str) -> None:
    with pytest.raises(ht.BadChoice) as caught:
        cube_space(ht.Marginals(*sets), DOMAIN)

    assert str(caught.value) == message


def test_too_many_marginals_are_refused_before_they_are_listed() -> None:
    wide = domain_of(**{f"a{place}": 2 for place in range(200)})
    with pytest.raises(ht.BadChoice, match=r"'all-2' stands for 19,900 marginals. Up to 10,000 are allowed"):
        cube_space(ht.Marginals("all-2"), wide)
    with pytest.raises(ht.BadChoice, match="'all-100' stands for 90,548,514,656,103,"):
        cube_space(ht.Marginals("all-100"), wide)

    most = domain_of(**{f"a{place}": 2 for place in range(141)})
    pairs = list(combinations(most.names, 2))
    assert len(pairs) == 9870
    assert len(cube_space(ht.Marginals("all-2", "all-141"), most).marginals) == 9871
    with pytest.raises(ht.BadChoice, match=r"these are more than 10,000 marginals\. Each of them would get"):
        cube_space(ht.Marginals("all-2", "all-1"), most)
    assert MOST_TABLES == 10_000


def test_labels_that_are_alike_are_refused() -> None:
    domain = domain_of(**{"a": 2, "b": 2, "a, b": 2})
    with pytest.raises(
        ht.BadChoice, match=r"2 marginals would be called 'a, b'\. Rename an attribute: a comma"
    ):
        cube_space(ht.Marginals(["a", "b"], ["a, b"]), domain)

    assert len(cube_space(ht.Marginals(["a", "b"], ["b", "a, b"]), domain).marginals) == 2


# How epsilon is shared.


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        (None, [1, 1, 1, 1]),
        ([1, 1], [1, 1, 1, 1]),
        ([7, 7], [1, 1, 1, 1]),
        ([1, 2], [1, 1, 1, 2]),
        ([2, 1], [2, 2, 2, 1]),
        (["1/3", "1/2"], [2, 2, 2, 3]),
        ([0.1, 0.25], [2, 2, 2, 5]),
        (["4/6", Fraction(10, 15)], [1, 1, 1, 1]),
        ("auto", [1, 2, 1, 3]),  # roots of 3, 4, 2 and 12 cells, rounded down
    ],
)
def test_shares_are_the_smallest_whole_numbers(weights: Any, shares: list[int]) -> None:
    cube = cube_space(ht.Marginals("all-1", ["home", "work"], weights=weights), DOMAIN)

    assert [each.share for each in cube.marginals] == shares
    assert cube.per_cell == sum(shares)
    assert cube.share == min(shares)


@given(st.lists(st.fractions(Fraction(1, 50), 50), min_size=3, max_size=3), st.fractions(Fraction(1, 9), 9))
def test_epsilon_is_split_exactly_as_the_weights_say(weights: list[Fraction], epsilon: Fraction) -> None:
    cube = cube_space(ht.Marginals(["home"], ["work"], ["sex", "home"], weights=weights), DOMAIN)
    parts = [cube.epsilon_of(number, epsilon) for number in range(3)]

    assert sum(parts) == epsilon
    assert parts == [epsilon * weight / sum(weights) for weight in weights]
    assert gcd(*(each.share for each in cube.marginals)) == 1


def change(added: dict[Cell, int], cube: TableSpace) -> int:
    """How far all marginals move together, each times its share. They are linear in the table."""
    moved = 0
    for each in cube.marginals:
        sums: dict[Cell, int] = {}
        for cell, amount in added.items():
            own = tuple(cell[place] for place in each.places)
            sums[own] = sums.get(own, 0) + amount
        moved += each.share * sum(map(abs, sums.values()))
    return moved


@pytest.mark.parametrize(
    "structure",
    [
        ht.Marginals(["home"]),
        ht.Marginals("all-1", "all-2", "all-3"),
        ht.Marginals("all-1", ["home", "sex"], weights=["1/3", "1/2"]),
        ht.Marginals(["work"], ["work", "home"], ["sex"], weights=[5, 1, "1/4"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_what_one_unit_changes_is_the_sum_of_shares(structure: ht.Marginals, measure: Measure) -> None:
    cube = cube_space(structure, SMALL)
    cells = list(product(*map(range, SMALL.shape)))

    most = max(change(added, cube) for added in contributions(measure, cells))
    assert most == measure.sensitivity * cube.per_cell


PRIMES = [number for number in range(10_000, 11_000) if all(number % divisor for divisor in range(2, 106))]


@pytest.mark.parametrize(
    "weights",
    [
        [10**5000] * 104,
        [Fraction(1, 10**5000)] * 104,
        ["1e3000"] + [1] * 103,
        # In pairs that add up to 1: so no part of epsilon has many digits, but their sum of shares has.
        [each for prime in PRIMES[:52] for each in (Fraction(1, prime**9), 1 - Fraction(1, prime**9))],
    ],
    ids=["large", "small", "uneven", "unlike"],
)
def test_weights_of_thousands_of_digits_are_refused(weights: list[Any]) -> None:
    domain = domain_of(**{f"a{place}": 2 for place in range(104)})
    structure = ht.Marginals(*([name] for name in domain.names), weights=weights)

    with pytest.raises(ht.BadChoice, match="in no proportion of numbers that can be written down"):
        cube_space(structure, domain)


# Codes of rows.


@st.composite
def cubes(draw: st.DrawFn) -> TableSpace:
    sizes = draw(st.lists(st.integers(1, 5) | st.sampled_from([10**9, 2**62]), min_size=1, max_size=4))
    domain = domain_of(**dict(zip("abcd", sizes, strict=False)))
    sets = [each for size in range(1, len(sizes) + 1) for each in combinations(domain.names, size)]
    named = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=5, unique=True))
    found = ht.Marginals(*named).over(domain)
    assert isinstance(found, TableSpace)
    return found


@given(cubes(), st.data())
def test_codes_of_rows_are_read_back(cube: TableSpace, data: st.DataObject) -> None:
    own: list[NDArray[np.int64]] = []
    whole: list[NDArray[np.int64]] = []
    for number, each in enumerate(cube.marginals):
        code = st.tuples(*(st.integers(0, size - 1) for size in each.domain.shape))
        cells = sorted(data.draw(st.sets(code, max_size=3)))
        own.append(np.array(cells, dtype=np.int64).reshape(len(cells), len(each.places)))
        whole.append(cube.codes(number, own[-1]))
    codes = np.concatenate(whole)

    assert codes.shape == (sum(map(len, own)), 1 + len(cube.domain.shape))
    listed = list(map(tuple, codes.tolist()))
    assert listed == sorted(set(listed))
    assert listed == list(map(tuple, cube.space.unpack(cube.space.pack(codes)).tolist()))
    for number, (rows, given_codes, each) in enumerate(
        zip(cube.rows(codes), own, cube.marginals, strict=True)
    ):
        assert (codes[rows, 0] == number).all()
        assert np.array_equal(cube.own_codes(number, codes[rows]), given_codes)
        absent = [1 + place for place in range(len(cube.domain.shape)) if place not in each.places]
        assert not codes[rows][:, absent].any()
    assert sum(rows.stop - rows.start for rows in cube.rows(codes)) == len(codes)
