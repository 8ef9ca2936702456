"""What can be made of a release: thinned and exported, by its own methods; asking one loads no noise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht


@pytest.fixture
def release(tmp_path: Path) -> ht.Release:
    rows = pa.table({"home": ["n", "s", "n"] * 200, "age": list(range(60)) * 10})
    homes = ht.categories({"n": "north", "s": "south"})
    domain = ht.Domain(home=homes, age=ht.bins(0, 60, step=10))
    return ht.publish(
        rows, domain=domain, epsilon=5, size=12, structure="cells", output=tmp_path / "made.parquet"
    )


def test_a_release_is_thinned(release: ht.Release, tmp_path: Path) -> None:
    small = release.thin(size=3, output=tmp_path / "small.parquet")

    assert isinstance(small, ht.Release)
    assert len(small) <= 3
    assert small.summary.size == 3


def test_a_release_is_exported_with_labels(release: ht.Release, tmp_path: Path) -> None:
    release.export(tmp_path / "made.csv")

    head, first = (tmp_path / "made.csv").read_text().splitlines()[:2]
    assert head == '"home","home_label","age","count","weight"'
    assert first.split(",")[:2] in (['"n"', '"north"'], ['"s"', '"south"'])


def test_whoever_asks_a_release_loads_nothing_that_draws(release: ht.Release) -> None:
    code = (
        "import sys, hushtable as ht\n"
        f"release = ht.open({str(release.path)!r})\n"
        "release.total(home='n'), release.by('age'), repr(release)\n"
        "rooms = ('noise', 'engines', 'ledger', 'summaries', 'table', 'publishing')\n"
        "print([name for name in sys.modules if name.split('.')[1:2] and name.split('.')[1] in rooms "
        "and name.startswith('hushtable.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert (done.stdout.strip(), done.stderr) == ("[]", "")
