"""What is counted has the owner's name in a domain file, a release, its answers and its pictures."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.plots.words import measured
from tests.cli.commands import run

TEXT = 'counts = "jobs"\n[[attribute]]\nname = "town"\ncategories = ["a", "b"]\n'
ROWS = pa.table({"town": ["a", "b"] * 20, "person": [*range(20)] * 2})


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ht.Release:
    monkeypatch.chdir(tmp_path)
    Path("town.toml").write_text(TEXT)
    return ht.publish(
        ROWS,
        domain="town.toml",
        epsilon=1,
        size=9,
        unit=ht.Unit("person", max_rows=3),
        ledger=False,
        output="out.parquet",
    )


def test_a_release_says_what_it_counts(release: ht.Release) -> None:
    assert ht.open("out.parquet").domain.counts == "jobs"
    assert measured(release.terms) == "number of jobs"
    shown = run("query", "out.parquet", "--by", "town").stdout
    assert "Counted: jobs, at most 3 of each person. Rows beyond that, or outside the domain" in shown
    assert "jobs, at most 3 of each person" in run("show", "out.parquet").stdout


def test_a_domain_keeps_it_and_cells_are_the_same(release: ht.Release) -> None:
    domain = ht.Domain(town=ht.categories(["a", "b"]), counts="jobs")

    assert domain == ht.Domain.load("town.toml")
    assert ht.Domain.from_dict(domain.to_dict()) == domain
    plain = ht.Domain(town=ht.categories(["a", "b"]))
    assert plain != domain
    assert plain.digest == domain.digest
    assert (plain.counted, domain.counted) == ("rows", "jobs")
    assert "counts" not in plain.to_dict()  # files that do not name it stay as they were


@pytest.mark.parametrize("counts", [3, "jobs\n", "j" * 101])
def test_what_is_no_name_is_refused(counts: object) -> None:
    with pytest.raises(ht.BadDomain, match="counts = "):
        ht.Domain(town=ht.categories(["a"]), counts=counts)  # type: ignore[arg-type]
