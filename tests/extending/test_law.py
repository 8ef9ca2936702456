"""A law of noise that the package does not know: once it is registered, all that noise is used for works."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.law import law_to_draw
from hushtable.laws.powers import RationalPowers
from hushtable.laws.registry import law_named, register_law
from hushtable.methods.settings import Method
from hushtable.noise import accepted_noise, cell_noise
from hushtable.noise.samplers import sampler_of
from hushtable.noise.tabled import TabledSampler
from hushtable.planning.plan import Plan
from hushtable.release.footer import KEY
from hushtable.summaries.flat import acceptance_of
from tests.cli.commands import run
from tests.extending.mixture import EvenMixture, Halves
from tests.harness.cases import chosen
from tests.harness.statistics import (
    ALARM,
    FloatLaw,
    accepted_at,
    as_floats,
    chernoff_follows,
    draws,
    fits,
    follows,
    replay,
    runs,
)
from tests.summaries.test_laws import CELLS, COUNTS, curve_follows, fits_curve
from tests.summaries.worlds import ABSENT, cell_law, cut_cdf, long_way, rows_of, shortcut, threshold_cdf

NAME = EvenMixture.name
MORE, LESS = Fraction(3, 4), Fraction(5, 4)
HALF = Halves(RationalPowers(Fraction(1, 2)), RationalPowers(Fraction(1, 4)))

cutoffs = st.none() | st.fractions(min_value=1, max_value=9, max_denominator=4)
thresholds = st.none() | st.fractions(min_value=Fraction(1, 3), max_value=9, max_denominator=4)
rules = st.builds(Acceptance, cutoff=cutoffs, threshold=thresholds, two_sided=st.booleans())


def test_it_is_found_by_its_name_and_keeps_its_budget() -> None:
    assert law_named(NAME) is EvenMixture
    law = law_to_draw(EvenMixture, budget=Fraction(1, 3), change=Fraction(2))
    assert law == EvenMixture(Fraction(1, 12))
    assert law.loss(change=Fraction(2)) == Fraction(1, 3)
    assert pickle.loads(pickle.dumps(law)) == law

    # Chances of neighbours, in fractions: the faster half has a = 1/4.
    ratios = [HALF.mass(abs(x)) / HALF.mass(abs(x + 1)) for x in range(-30, 30)]
    assert max(max(ratios), 1 / min(ratios)) < 4

    with pytest.raises(
        ht.BadChoice,
        match=(
            r"law='laplace' is not a known law .* Known: 'even-mixture', "
            r"'gaussian', "
        ),
    ):
        law_named("laplace")


def test_a_name_is_taken_once() -> None:
    class Other(EvenMixture):
        pass

    with pytest.raises(ht.InternalError, match="two laws are named 'even-mixture'"):
        register_law(Other)


def test_a_law_that_costs_more_than_its_budget_is_never_drawn() -> None:
    class Cheap(EvenMixture):
        def loss(self, **changes: Any) -> Fraction:
            return super().loss(**changes) * 2

    with pytest.raises(ht.InternalError, match="costs more than its budget"):
        law_to_draw(Cheap, budget=Fraction(1), change=Fraction(1))


@given(rules, st.integers(0, 20))
def test_acceptance_equals_brute_force(rule: Acceptance, x: int) -> None:
    sides = 2 if rule.two_sided else 1
    end = max(rule.lowest, ceil(rule.threshold or 0)) + 1
    passes = sides * sum((HALF.mass(v) * rule.chance(v) for v in range(end)), start=Fraction(0))
    passes += sides * HALF.tail(end)
    law = rule.magnitude(HALF)

    assert rule.pass_probability(HALF) == passes
    assert law.mass(x) == sides * HALF.mass(x) * rule.chance(x) / passes
    assert law.tail(x) - law.tail(x + 1) == law.mass(x)
    assert law.cdf(x) == 1 - law.tail(x + 1)


def noise_law(rate: Fraction) -> FloatLaw:
    """The law of the signed noise, from that of its size."""
    size = accepted_at(Acceptance(), EvenMixture(rate))
    at_zero = float(as_floats(lambda: _Zero(rate)).mass(0))

    def cdf(x: int) -> float:
        beyond = (1 - at_zero) / 2 * (1 - size.cdf(abs(x) - 1) if x < 0 else 1 - size.cdf(x))
        return beyond if x < 0 else 1 - beyond

    return FloatLaw(lambda x: at_zero if x == 0 else (1 - at_zero) / 2 * size.mass(abs(x)), cdf)


class _Zero:
    """The chance of 0 alone."""

    lowest: int | None = 0
    highest: int | None = 0

    def __init__(self, rate: Fraction) -> None:
        self._noise = EvenMixture(rate).exact()

    def mass(self, x: int) -> object:
        return self._noise.mass(x)

    cdf = mass


@pytest.mark.parametrize(
    "rate", chosen([Fraction(1), Fraction(1, 10), Fraction(1, 2000), Fraction(1, 10**6)], [1, 2])
)
def test_noise_follows_the_law(rate: Fraction) -> None:
    law = EvenMixture(rate)
    sample = cell_noise(law, replay(2100), count=draws(20_000))

    assert isinstance(sampler_of(law), TabledSampler)
    assert follows(sample, noise_law(rate)) > ALARM
    assert fits(sample, noise_law(rate * MORE)) < ALARM
    assert fits(sample, noise_law(rate * LESS)) < ALARM


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 5000)])
@pytest.mark.parametrize("index", chosen(range(5), [1, 2, 4]))
def test_accepted_noise_follows_the_law(rate: Fraction, index: int) -> None:
    scale = 1 / rate
    rules: list[Acceptance | Band] = [
        Acceptance(cutoff=scale * 2 + Fraction(1, 3), two_sided=False),
        Acceptance(threshold=scale * Fraction(7, 3), two_sided=False),
        Acceptance(cutoff=scale + 1, threshold=4 * scale + Fraction(1, 2), two_sided=False),
        Acceptance(threshold=10**26, two_sided=False),
        Band(
            wider=Acceptance(threshold=2 * scale, two_sided=False),
            narrower=Acceptance(threshold=5 * scale, two_sided=False),
        ),
    ]
    rule = rules[index]
    sample = accepted_noise(rule, EvenMixture(rate), replay(2101), count=draws(20_000))

    assert follows(sample, accepted_at(rule, EvenMixture(rate))) > ALARM
    assert fits(sample, accepted_at(rule, EvenMixture(rate * MORE))) < ALARM
    assert fits(sample, accepted_at(rule, EvenMixture(rate * LESS))) < ALARM


# Summaries, by the short way and by the long one. With epsilon 1/3, the rates are 1/6 and 1/3.
EPSILON = Fraction(1, 3)


def rates(factor: Fraction = Fraction(1)) -> tuple[Fraction, ...]:
    return EPSILON * factor / 2, EPSILON * factor


INDEPENDENT: list[Method] = [
    ht.Everything(),
    ht.Filter(cutoff=9),
    ht.Threshold(threshold="16.5"),
    ht.Threshold(size=4),
    ht.FilterThreshold(cutoff=4, threshold="18.5"),
]


@pytest.mark.parametrize(
    ("method", "way"),
    chosen(product(INDEPENDENT, ["shortcut", "long way"]), [0, 3, 8]),  # the package's own laws try all
    ids=repr,
)
def test_every_cell_shows_its_law(way: str, method: Method) -> None:
    law, entropy, rule = EvenMixture(EPSILON / 2), replay(2102), None
    if not isinstance(method, ht.Everything):
        rule = acceptance_of(method, cells_total=CELLS, law=law)
    shown: dict[int, list[int]] = {cell: [] for cell in range(CELLS)}
    for _ in range(runs(150 if way == "long way" else 500)):
        if way == "long way":
            rows, _ = long_way(COUNTS, CELLS, method, law, entropy)
        else:
            rows = rows_of(shortcut(COUNTS, CELLS, method, EPSILON, entropy, slices=2, law=EvenMixture))
        for cell in range(CELLS):
            shown[cell].append(rows.get(cell, ABSENT))
    empty = np.array([v for cell in range(CELLS) if cell not in COUNTS for v in shown[cell]])

    assert follows(empty, cell_law(0, rule, rates())) > ALARM
    if way != "long way":
        assert fits(empty, cell_law(0, rule, rates(MORE))) < ALARM
        assert fits(empty, cell_law(0, rule, rates(LESS))) < ALARM
    for cell, count in COUNTS.items():
        assert follows(shown[cell], cell_law(count, rule, rates())) > ALARM


@pytest.mark.parametrize(
    "method",
    chosen([ht.Priority(size=5), ht.FilterPriority(cutoff="4.5", size=4, two_sided=False)], [1]),
    ids=repr,
)
@pytest.mark.parametrize("way", chosen(["shortcut", "long way"], [0]))
def test_the_threshold_of_a_priority_sample_has_its_law(
    method: ht.Priority | ht.FilterPriority, way: str
) -> None:
    law, entropy = EvenMixture(EPSILON / 2), replay(2103)
    plain = Acceptance(cutoff=getattr(method, "cutoff", None), two_sided=method.two_sided)
    if way == "long way":
        sample = [float(long_way(COUNTS, CELLS, method, law, entropy)[1] or 0) for _ in range(runs(200))]
    else:
        drawn = (shortcut(COUNTS, CELLS, method, EPSILON, entropy, law=EvenMixture) for _ in range(runs(600)))
        sample = [each.threshold or 0.0 for each in drawn]

    assert curve_follows(sample, threshold_cdf(COUNTS, CELLS, method.size, plain, rates())) > ALARM
    if way == "shortcut":
        wrong = [
            threshold_cdf(COUNTS, CELLS, method.size, plain, rates(each)) for each in (MORE / 2, 2 * LESS)
        ]
        assert all(fits_curve(sample, each) < ALARM for each in wrong)


def test_the_cut_of_the_largest_counts_has_its_law() -> None:
    entropy, size = replay(2104), 6
    sample = []
    for _ in range(runs(700)):
        summary = shortcut(COUNTS, CELLS, ht.Filter(size=size), EPSILON, entropy, law=EvenMixture)
        sample.append(int(np.abs(summary.counts).min()) if len(summary) == size else 0)

    def law(factor: Fraction = Fraction(1)) -> FloatLaw:
        curve = cut_cdf(COUNTS, CELLS, size, True, rates(factor))
        at = {c: curve(c) for c in range(-1, 200)}
        return FloatLaw(
            lambda c: at[c] - at.get(c - 1, 0.0) if c else at[0], lambda c: at[c] if c >= 0 else 0.0, 0, 198
        )

    assert follows(sample, law()) > ALARM
    assert fits(sample, law(Fraction(1, 2))) < ALARM
    assert fits(sample, law(Fraction(2))) < ALARM


# Releases: published, opened, asked, planned and shown.
DOMAIN = """\
title = "Homes"
[[attribute]]
name = "home"
integers = { low = 0, high = 299 }
[[attribute]]
name = "sex"
categories = ["f", "m"]
"""
HOMES = 300


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("law") / "homes.toml"
    path.write_text(DOMAIN)
    return path


def true_counts() -> np.ndarray[Any, np.dtype[np.int64]]:
    counts = np.zeros((HOMES, 2), dtype=np.int64)
    counts[::10, 0], counts[5::20, 1], counts[7] = 60, 150, 400
    return counts


def rows() -> pa.Table:
    counts = true_counts()
    home, sex = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices(counts.shape))
    return pa.table({"home": home, "sex": np.array(["f", "m"])[sex]})


SUMMARIES: list[Method] = [
    ht.Everything(),
    ht.Filter(cutoff=20),
    ht.Filter(size=50),
    ht.Threshold(threshold=40),
    ht.Priority(size=80),
    ht.FilterThreshold(cutoff=15, threshold=40),
    ht.FilterPriority(cutoff=15, size=80),
]


@pytest.mark.parametrize("summary", SUMMARIES, ids=repr)
def test_a_release_is_published_opened_and_shown(summary: Method, homes: Path, tmp_path: Path) -> None:
    path = tmp_path / "homes.parquet"
    ht.publish(rows(), domain=homes, epsilon=1, summary=summary, output=path, law=NAME)
    release = ht.open(path)
    said = pq.read_schema(path).metadata[KEY.encode()].decode()

    assert '"law":"even-mixture"' in said
    assert '"format":5' in said
    assert release.terms.law == EvenMixture(Fraction(49, 100))
    assert release.terms.total_law == EvenMixture(Fraction(1, 100))
    assert "a factor of 2.72 (pure differential privacy with epsilon = 1)." in release.guarantee
    deviation = release.terms.law.floats.variance**0.5
    shown = run("show", path).stdout
    assert "an even mixture of two two-sided geometric laws, standard deviation" in " ".join(shown.split())
    assert f"{deviation:.3g}" in shown


@pytest.mark.parametrize("summary", chosen([SUMMARIES[0], SUMMARIES[4], SUMMARIES[6]], [2]), ids=repr)
def test_intervals_cover(summary: Method, homes: Path, tmp_path: Path) -> None:
    counts, releases = true_counts(), runs(40)
    asked: list[tuple[dict[str, Any], int]] = [
        ({"home": range(100)}, int(counts[:100].sum())),
        ({"sex": "m"}, int(counts[:, 1].sum())),
        ({}, int(counts.sum())),
    ]
    held = 0
    table = rows()
    for number in range(releases):
        output = tmp_path / f"{number}.parquet"
        release = ht.publish(table, domain=homes, epsilon="0.5", summary=summary, output=output, law=NAME)
        for where, truth in asked:
            answer = release.total(**where)
            held += answer.low <= truth <= answer.high
    questions = releases * len(asked)

    # Each interval holds with chance 0.95 or more; were it 0.8, this would notice.
    assert held / questions >= 0.95 or chernoff_follows(held, questions, 0.95) > ALARM
    assert held / questions > 0.8


def planned(homes: Path) -> Plan:
    plan: Plan = ht.plan(
        homes, epsilon=1, size=200, expect_cells=45, expect_mean=100, expect_sd=30, total_share=0, law=NAME
    )
    return plan


@pytest.mark.long  # variances at 400 budgets, each from the law's own masses
def test_a_plan_names_the_law(homes: Path) -> None:
    deviation = EvenMixture(Fraction(1, 2)).floats.variance ** 0.5

    assert f"standard deviation {deviation:.1f}" in planned(homes).details


def test_a_plan_knows_the_law(homes: Path) -> None:
    plan = planned(homes)
    law = EvenMixture(Fraction(1, 2))
    noise = cell_noise(law, replay(2105), count=draws(80_000))

    assert plan.law == law
    everything = plan.predictor.predict(ht.Everything(), sizes=[1])
    assert everything.errors[1] == pytest.approx(np.abs(noise).mean(), rel=0.02)
    filtered = plan.judge(ht.Filter(cutoff=8)).prediction
    assert filtered.rows_noise == pytest.approx((np.abs(noise) >= 8).mean() * 555, rel=0.05)
    assert plan.predictions
    assert plan.tree is not None


def test_a_plan_of_another_law_is_refused(homes: Path, tmp_path: Path) -> None:
    plan = ht.plan(homes, epsilon=1, size=200, expect_cells=45, expect_mean=100, expect_sd=30, law=NAME)
    settings: dict[str, Any] = {"domain": homes, "epsilon": 1, "plan": plan, "output": tmp_path / "x.parquet"}

    with pytest.raises(
        ht.BadChoice, match="the plan is for noise of the law 'even-mixture', and the release"
    ):
        ht.publish(rows(), **settings)
    assert ht.publish(rows(), **settings, law=NAME).terms.law_name == NAME


@pytest.mark.parametrize("structure", ["haar", "dyadic", "tree", "marginals", "sketch"])
def test_structures_take_the_law(structure: str, homes: Path, tmp_path: Path) -> None:
    made = {"marginals": ht.Marginals("all-1"), "sketch": ht.CountSketch(width=50, depth=3)}
    settings: dict[str, Any] = {"structure": made.get(structure, structure)}
    if structure != "sketch":
        settings["size"] = 100
    path = tmp_path / "homes.parquet"
    ht.publish(rows(), domain=homes, epsilon=20, output=path, law=NAME, **settings)
    release = ht.open(path)
    truth = int(true_counts()[:100].sum())

    assert isinstance(release.terms.law, EvenMixture)
    answer = release.total(home=range(100))
    width = answer.high - answer.low  # an interval of 95 % alone would fail once in twenty runs
    assert answer.low - 3 * width <= truth <= answer.high + 3 * width


def test_a_file_whose_law_is_not_known_is_refused(
    homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hushtable.laws import registry

    path = tmp_path / "homes.parquet"
    ht.publish(rows(), domain=homes, epsilon=1, size=50, output=path, law=NAME)
    monkeypatch.delitem(registry._laws, NAME)

    with pytest.raises(ht.BadRelease, match=r"its noise has the law 'even-mixture', which is not known here"):
        ht.open(path)


def test_such_a_law_is_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EvenMixture, "loss", lambda self, **changes: Fraction(10**6))
    domain = ht.Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=9)),))
    ledger = ht.Ledger.create(tmp_path / "people.ledger", epsilon=1, about="people", unit="row")

    with pytest.raises(ht.InternalError, match="costs more than its budget"):
        ht.publish(
            pa.table({"age": [1, 2]}),
            domain=domain,
            epsilon=1,
            size=3,
            law="even-mixture",
            output=tmp_path / "x.parquet",
            ledger=ledger,
        )
    assert ledger.spent == 0
    assert not (tmp_path / "x.parquet").exists()
