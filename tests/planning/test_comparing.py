"""Laws of noise side by side: their cutoffs are those that are published, and the lowest is chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hushtable as ht
from hushtable.cli.main import app

HOMES = ht.Domain(home=ht.integers(0, 10**12 - 1), title="Homes")
UNIT = ht.Unit("person", max_cells=10)


@pytest.fixture(scope="module")
def found() -> ht.LawComparison:
    return ht.compare_laws(HOMES, epsilon=1, delta="1e-6", size=10_000, unit=UNIT)


def test_cutoffs_are_those_of_exact_sums(found: ht.LawComparison) -> None:
    """Numbers that share no code with the package, each within 1."""
    known = {"geometric": 201, "truncated-geometric": 133, "gaussian": 81, "gaussian-stability": 72}
    one = ht.compare_laws(HOMES, epsilon=1, delta="1e-6", size=20_000, unit=UNIT).declared.cutoffs

    assert one.keys() == known.keys()
    assert all(abs(one[law] - cutoff) <= 1 for law, cutoff in known.items())
    assert [each.best for each in found.by_cells_a_unit[:3]] == [
        "truncated-geometric", "truncated-geometric", "gaussian-stability",
    ]  # fmt: skip
    assert {each.cutoffs["gaussian-stability"] for each in found.by_cells_total} == {71}
    assert found.by_cells_total[1].best == "gaussian"
    assert found.declared in found.by_cells_a_unit
    assert found.declared in found.by_cells_total


def test_what_is_declared_stands_apart_from_its_neighbours() -> None:
    near = ht.compare_laws(
        ht.Domain(view=ht.integers(0, 125_000_000 - 1)), epsilon=1, delta="1e-6", size=10_000,
        unit=ht.Unit("person", max_cells=9),
    )  # fmt: skip

    assert [each.cells_total for each in near.by_cells_total][:4] == [10**4, 10**6, 125_000_000, 10**10]
    assert [each.cells_a_unit for each in near.by_cells_a_unit][3:6] == [5, 9, 20]


def test_the_lowest_is_what_is_published(found: ht.LawComparison, tmp_path: Path) -> None:
    import pyarrow as pa

    rows = pa.table({"person": [1, 2], "home": [5, 6]})
    release = ht.publish(
        rows, domain=HOMES, unit=UNIT, structure="cells", size=10_000, ledger=False, anyway=True,
        output=tmp_path / "a.parquet", epsilon=1, delta="1e-6",
    )  # fmt: skip

    assert (release.terms.law_name, release.terms.method.cutoff) == (
        found.declared.best,
        found.declared.cutoffs[found.declared.best],
    )


def test_the_page_and_the_picture_say_it(found: ht.LawComparison, tmp_path: Path) -> None:
    page = str(found)

    assert [">", "10", "208", "133", "83", "*", "71"] in [line.split() for line in page.splitlines()]
    assert "gaussian-stability from 10^10 on." in page
    assert max(map(len, page.splitlines())) <= 100
    found.draw(tmp_path / "laws.png")
    assert (tmp_path / "laws.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"delta": 0}, "without a delta"),
        ({"unit": ht.Unit("person", max_rows=3)}, "change each cell by 1"),
        ({"unit": ht.Unit("person", max_cells=3, max_per_cell=2)}, "change each cell by 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: dict[str, object], said: str) -> None:
    with pytest.raises(ht.BadChoice, match=said):
        ht.compare_laws(HOMES, **{"epsilon": 1, "delta": "1e-6", "size": 10, **words})  # type: ignore[arg-type]


def test_the_command_compares_laws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = tmp_path / "homes.toml"
    domain.write_text('[[attribute]]\nname = "home"\nintegers = { low = 0, high = 999999 }')
    words = ["plan", "--domain", str(domain), "--epsilon", "1", "--size", "100", "--laws"]

    app([*words, "--delta", "1e-6", "--json"], standalone_mode=False)
    document = json.loads(capsys.readouterr().out)
    assert document["declared"]["cutoffs"]["truncated-geometric"] == 15
    for more in ([], ["--delta", "1e-6", "--sweep"], ["--delta", "1e-6", "--rho", "1"]):
        with pytest.raises(Exception, match="--laws"):
            app([*words, *more], standalone_mode=False)
