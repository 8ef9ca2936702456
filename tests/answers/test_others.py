"""What is left beside the largest groups: its interval holds although noise decides which these are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.answers.answerer import Answered, GroupsAnswered
from hushtable.answers.estimation.parts import Answers
from hushtable.answers.others import without

GROUPS, MARGIN = 400, 4.0  # with a chance of 1 - 400 * 6e-5, no normal error is beyond 4


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ht.Release:
    """Three large towns and 47 that are all alike."""
    towns = [f"town {each:02}" for each in range(50)]
    rows = pa.table({"town": [*towns[:3] * 300, *towns * 20], "sex": (["f", "m"] * 950)})
    return ht.publish(
        rows,
        domain=ht.Domain(town=ht.categories(towns), sex=ht.categories(["f", "m"])),
        epsilon=1,
        size=100,
        output=tmp_path_factory.mktemp("others") / "towns.parquet",
        ledger=False,
    )


def test_it_is_the_total_less_the_largest(release: ht.Release) -> None:
    for where in (None, {"sex": "f"}):
        largest = release.by("town", top=3, where=where, simultaneous=True, confidence=0.975)
        total = release.total(where, confidence=0.975)
        rest = release.others("town", top=3, where=where)

        low, high = (sum(largest.column(each).to_pylist()) for each in ("low", "high"))
        assert rest.value == pytest.approx(total.value - sum(largest.column("estimate").to_pylist()))
        assert rest.low == pytest.approx(total.low - high)
        assert rest.high == pytest.approx(total.high - low)
        assert where or rest.low < 47 * 20 < rest.high
        assert rest.note.startswith(
            "This is all but the 3 largest of 50 groups, and its interval holds which"
        )
        assert "simultaneously" not in rest.note


def test_there_must_be_others(release: ht.Release) -> None:
    with pytest.raises(ht.BadQuery, match="there are 50 groups, so none is left beside the 50 largest"):
        release.others("town", top=50)
    with pytest.raises(ht.BadNumber, match="top"):
        release.others("town", top=0)


def test_the_interval_holds_where_noise_alone_decides_which_groups_are_the_largest() -> None:
    """All groups are alike: those of the largest noise are taken away. The usual interval then misses."""
    random, truth, usual = np.random.default_rng(8), 10.0, 0
    for _ in range(50):
        noisy = truth + random.standard_normal(GROUPS)
        total = _answers([truth * GROUPS + random.standard_normal()], 3.0)
        groups = GroupsAnswered(
            codes=np.arange(GROUPS)[:, None], answers=_answers(noisy, MARGIN), note="", number=GROUPS
        ).largest(40)
        rest = without(Answered(total, ""), groups, signed=False).answers

        expected = truth * (GROUPS - 40)
        assert rest.low[0] < expected < rest.high[0]
        usual += abs(rest.value[0] - expected) < 2 * np.sqrt(GROUPS - 40)
    assert usual < 5


def test_what_cannot_be_negative_bounds_the_rest() -> None:
    total = Answered(_answers([50.0], 5.0), "")
    groups = GroupsAnswered(
        codes=np.zeros((2, 1), np.int64), answers=_answers([40.0, 30.0], 35.0), note="", number=9
    )

    counts = without(total, groups, signed=False).answers
    assert (counts.value[0], counts.low[0], counts.high[0]) == (-20, 0, 55 - 5)
    sums = without(total, groups, signed=True).answers
    assert (sums.low[0], sums.high[0]) == (45 - 75 - 65, 55 - 5 + 5)


def _answers(values: object, margin: float) -> Answers:
    middle = np.array(values, np.float64)
    return Answers(middle, np.full(middle.size, margin / 2), middle - margin, middle + margin)
