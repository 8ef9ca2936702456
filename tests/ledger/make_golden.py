"""Make the golden ledgers of this version, which every later one must open and charge.

Give, from the root of the repository: .venv/bin/python -m tests.ledger.make_golden

A golden file is never made anew. version-1.ledger was made by the version that wrote such files.
"""

from __future__ import annotations

from pathlib import Path

from hushtable.laws.costs import Cost
from hushtable.ledger.ledger import Ledger

FOLDER = Path(__file__).parent / "golden"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def main() -> None:
    """Write the files that are not there."""
    for name, make in {
        "version-2.ledger": make_pure,
        "version-2-zcdp.ledger": make_zcdp,
        "version-2-approximate.ledger": make_approximate,
    }.items():
        path = FOLDER / name
        if not path.exists():
            make(path)
            path.chmod(0o644)


def make_zcdp(path: Path) -> None:
    """Make a ledger in rho."""
    ledger = Ledger.create(path, rho="0.1", about="readers of 2024", unit="person_id", bounds={"row": 3})
    ledger.charge(Cost(rho="0.015"), what="views.parquet", unit="person_id", name="views.parquet")
    ledger.charge(Cost(epsilon="0.1"), what="trips.parquet: a pure release, converted")
    ledger.charge(Cost(epsilon=1, delta="1e-9", rho="0.001"), what="rows.parquet", unit="row")
    ledger.finish(1, digest=DIGEST)


def make_approximate(path: Path) -> None:
    """Make a ledger in epsilon and delta, and spend all of it."""
    ledger = Ledger.create(path, epsilon=1, delta="1e-6", about="riders of 2024", unit="person_id")
    ledger.charge(Cost(epsilon="0.1"), what="trips.parquet")
    ledger.charge(Cost(epsilon="0.2", delta="1e-7"), what="words.parquet", name="words.parquet")
    ledger.charge(Cost(rho="0.005"), what="rides.parquet")
    ledger.charge(Cost(rho=ledger.affords.rho), what="the rest")
    ledger.finish(1, digest=DIGEST)


def make_pure(path: Path) -> None:
    """Make a ledger in pure epsilon."""
    about = "commuters of 2024, Zürich"
    ledger = Ledger.create(path, epsilon="5/2", about=about, unit="person_id", bounds={"row": 12})
    ledger.charge("1/3", what="commute.parquet: filter of 50 rows", unit="person_id", name="commute.parquet")
    ledger.charge("1/10", what="trips.parquet: priority of 9 rows", unit="row", name="trips.parquet")
    ledger.charge("1e-40", what="a crumb")
    ledger.finish(1, digest=DIGEST)
    ledger.declare("counted person (people)", most=1)


if __name__ == "__main__":
    main()
