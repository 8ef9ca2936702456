"""Mistakes on purpose: each can still be made; one that a test notices is told from one that none does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.audit.breaking import CAUGHT, ROOT, SURVIVED, Copy, broken, tried
from tests.audit.mutants import MUTANTS, Mutant

NOTICED = next(each for each in MUTANTS if each.kind == "sign: counts are taken off the noise")


def named(mutant: Mutant) -> str:
    return mutant.kind


def test_every_mistake_can_be_made() -> None:
    """Its text stands in its file once, what comes instead is Python, and its tests are there."""
    for each in MUTANTS:
        text = (ROOT / "src/hushtable" / each.file).read_text(encoding="utf-8")

        assert text.count(each.right) == 1, f"{each.kind}: write its text again"
        compile(text.replace(each.right, each.wrong), each.file, "exec")
        assert each.tests
        assert all((ROOT / test.partition("::")[0]).exists() for test in each.tests), each.kind
    assert len({each.kind for each in MUTANTS}) == len(MUTANTS) >= 60


@pytest.mark.long
def test_a_mistake_is_noticed_and_none_is_not(tmp_path: Path) -> None:
    copy = Copy.made(tmp_path)
    before = sorted(path.read_bytes() for path in (tmp_path / "src").rglob("*.py"))

    assert tried(copy, NOTICED).verdict == CAUGHT
    assert tried(copy, replace(NOTICED, wrong=f"{NOTICED.right}  # as it was")).verdict == SURVIVED
    assert tried(copy, replace(NOTICED, wrong="this is no Python")).verdict == "ERROR"
    assert tried(copy, replace(NOTICED, right="not there")).verdict == "ERROR"
    assert sorted(path.read_bytes() for path in (tmp_path / "src").rglob("*.py")) == before


@pytest.mark.long
def test_mistakes_in_shared_noise_are_all_noticed() -> None:
    """A few of them, in every long run; `make audit` makes them all."""
    found = list(broken(["shared"], processes=1))

    assert len(found) > 3
    assert [each.mutant.kind for each in found if not each.holds] == []
