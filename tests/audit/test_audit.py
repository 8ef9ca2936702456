"""No output is more than 2^epsilon times as likely as for a neighbouring table: a part of `make audit`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hushtable.laws.geometric import Geometric
from hushtable.noise import BitSource
from hushtable.summaries import candidates, finishing
from tests.audit.cases import TIES, Case, audited, every_case, quick_cases
from tests.audit.drawing import uniform_among_all_ties


def named(case: Case) -> str:
    return f"{case.name} of {case.over}"


@pytest.mark.parametrize("case", quick_cases(), ids=named)
def test_no_ratio_is_above_its_bound(case: Case) -> None:
    found = audited(case)

    assert found.ratio is not None
    assert 1 < found.ratio <= found.bound, found.where
    assert found.same_law


@pytest.mark.long
@pytest.mark.parametrize("case", list(every_case()), ids=named)
def test_no_ratio_is_above_its_bound_in_the_whole_audit(case: Case) -> None:
    found = audited(case)

    assert found.holds, found.where
    assert found.same_law


def test_ties_that_forget_their_bands_are_above_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finishing, "largest_candidates", uniform_among_all_ties)

    found = audited(TIES[0])

    assert not found.holds
    assert not found.same_law


def test_too_little_noise_is_above_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rate of 2 where 1 was paid for."""
    own = candidates.noisy

    def quieter(counts: NDArray[np.int64], law: Geometric, entropy: BitSource) -> NDArray[np.int64]:
        return own(counts, Geometric(2 * law.rate), entropy)

    monkeypatch.setattr(candidates, "noisy", quieter)

    found = audited(quick_cases()[0])

    assert found.ratio == 4 > found.bound
