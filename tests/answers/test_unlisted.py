"""Bounds of sums over cells that nobody can list: from below they hold, from above there is no end."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.answers.estimation.bounds import GroupBounds
from hushtable.answers.estimation.law import PublishedLaw
from hushtable.domain.texts import MOST_TEXTS
from hushtable.noise import cell_noise
from hushtable.release.terms import Terms
from tests.answers.test_bounds import of_cells
from tests.harness.statistics import ALARM, chernoff_follows, replay

LAWS = [("truncated-geometric", 1, "1"), ("truncated-geometric", 2, "3"), ("gaussian-stability", 5, "1")]
DRAWS = 2000


@cache
def terms_of(law: str, cells: int, epsilon: str) -> Terms:
    """The terms of a release by a law of thresholds."""
    rows = pa.table({"person": ["a"], "word": ["b"]})
    with TemporaryDirectory() as folder:
        return ht.publish(
            rows,
            domain=ht.Domain(word=ht.any_text(longest=5)),
            epsilon=epsilon,
            delta="1e-5",
            law=law,
            unit=ht.Unit("person", max_cells=cells),
            ledger=False,
            output=Path(folder) / "x.parquet",
        ).terms


@pytest.mark.parametrize(("law", "cells", "epsilon"), LAWS)
def test_bounds_hold_whatever_is_hidden(law: str, cells: int, epsilon: str) -> None:
    terms, entropy = terms_of(law, cells, epsilon), replay(670)
    cutoff, bounds = terms.law.least_cutoff, GroupBounds(PublishedLaw(terms))
    assert cutoff is not None
    missed, narrow = [], []
    for occupied in (1, 3, 40, 400):
        for count in sorted({1, *(int(share * cutoff) for share in (0.3, 0.7, 0.9, 1, 1.5, 3))}):
            noise = cell_noise(terms.law, entropy, count=DRAWS * occupied).reshape(DRAWS, occupied)
            sums, truth = of_cells(count + noise, cutoff, two_sided=False), occupied * count
            for every in (MOST_TEXTS, 1000):
                found = bounds.answers(sums.weight, sums, np.full(DRAWS, float(every)), chance=0.05)
                missed += [np.mean(truth < found.low), np.mean(truth > found.high)]
                assert np.all(np.isinf(found.high) == (every == MOST_TEXTS))
                if count == 3 * cutoff:  # nothing is hidden: as near as noise lets it be
                    narrow.append(np.mean(truth - found.low) / np.sqrt(occupied * terms.law.floats.variance))

    assert np.max(missed) < 0.025 + 5 * 0.0035  # five standard deviations of 2000 draws
    assert np.max(narrow) < 4


@pytest.mark.parametrize(("law", "cells", "epsilon"), LAWS)
def test_what_is_hidden_of_an_occupied_cell_is_not_below_0_on_average(
    law: str, cells: int, epsilon: str
) -> None:
    """The mean of the noisy count below the cutoff: the lower bound rests on it."""
    noise = terms_of(law, cells, epsilon).law
    cutoff = noise.least_cutoff
    assert cutoff is not None
    reach = 4 * cutoff
    tails = noise.floats.tail(np.arange(reach + 2, dtype=np.float64))
    half = tails[:-1] - tails[1:]
    masses, values = np.concatenate([half[:0:-1], half]), np.arange(-reach, reach + 1)

    for count in range(1, 3 * cutoff):
        seen = values + count
        assert (seen * masses)[seen < cutoff].sum() >= -1e-12


@pytest.mark.parametrize(("law", "cells", "epsilon"), LAWS)
def test_limits_of_what_is_shown_hold_for_what_is_shown(law: str, cells: int, epsilon: str) -> None:
    """All counts and all noise, without a draw: also where hardly any of a count is shown."""
    found = PublishedLaw(terms_of(law, cells, epsilon)).noise
    cutoff, chance = terms_of(law, cells, epsilon).law.least_cutoff, 0.025
    assert cutoff is not None
    shown = np.arange(cutoff, 6 * cutoff)
    least = found.least(shown, cutoff, np.full(shown.size, chance))
    idle = 0.0
    for count in range(1, 3 * cutoff):
        masses = found.floats.mass((shown - count).astype(float))
        misses = masses[least > count].sum() / masses.sum()
        assert misses <= chance * (1 + 1e-3), count
        without = masses[shown - found.reach(np.ones(1), 2 * chance)[0] > count].sum() / masses.sum()
        idle = max(idle, without)

    assert idle > 0.9  # what holds for any count does not hold for those that are shown
    assert (np.diff(least) >= 0).all()
    far = shown >= 4 * cutoff  # and costs nothing where all is shown
    assert np.abs(shown - least - found.reach(np.ones(1), 2 * chance)[0])[far].max() <= 1


def test_intervals_of_listed_words_allow_for_how_they_came_to_be_listed(tmp_path: Path) -> None:
    # Nobody's word is frequent: what is shown was lifted above the cutoff by noise.
    words = np.repeat([f"w{number}" for number in range(3_000)], 10)
    sexes = np.tile(["f", "m"], words.size // 2)
    release = ht.publish(
        pa.table({"person": np.arange(words.size), "word": words, "sex": sexes}),
        domain=ht.Domain(word=ht.any_text(longest=5), sex=ht.categories(["f", "m"])),
        epsilon="1/2", delta="1e-2", law="truncated-geometric", unit=ht.Unit("person", max_cells=1),
        ledger=False, output=tmp_path / "x.parquet",
    )  # fmt: skip
    by_word, both = release.by("word"), release.by(["word", "sex"])

    assert "Only values that are in this file are listed, and the intervals allow for that." in str(
        (both.schema.metadata or {})[b"note"]
    )
    for groups, truth in ((by_word, 10), (both, 5)):
        low, high = (groups.column(end).to_numpy() for end in ("low", "high"))
        held = int(((low <= truth) & (truth <= high)).sum())
        assert groups.num_rows > 50
        # Of so many groups with a chance of 0.05, more miss with a chance of one in a billion.
        assert (
            chernoff_follows(groups.num_rows - held, groups.num_rows, 0.05) > ALARM
            or held > 0.95 * groups.num_rows
        )


def test_a_cutoff_beyond_all_counts_is_no_error() -> None:
    """As a stranger's file may say: no count is above 2^61, so whatever cutoff is above shows the same."""
    found = PublishedLaw(terms_of(*LAWS[0])).noise
    counts, chance = np.array([20, 2**61]), np.full(2, 0.025)

    assert found.least(counts, 10**30, chance).tolist() == found.least(counts, 2**61, chance).tolist()
