"""Make the golden ledger of this version, which every later one must open and charge.

Give, from the root of the repository: .venv/bin/python -m tests.ledger.make_golden

A golden file is never made anew. version-1.ledger was made by the version that wrote such files.
"""

from __future__ import annotations

from pathlib import Path

from hushtable.ledger.ledger import Ledger

FOLDER = Path(__file__).parent / "golden"
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def main() -> None:
    """Write the file, unless it is there."""
    path = FOLDER / "version-2.ledger"
    if path.exists():
        return
    about = "commuters of 2024, Zürich"
    ledger = Ledger.create(path, epsilon="5/2", about=about, unit="person_id", bounds={"row": 12})
    ledger.charge("1/3", what="commute.parquet: filter of 50 rows", unit="person_id", name="commute.parquet")
    ledger.charge("1/10", what="trips.parquet: priority of 9 rows", unit="row", name="trips.parquet")
    ledger.charge("1e-40", what="a crumb")
    ledger.finish(1, digest=DIGEST)
    ledger.declare("counted person (people)", most=1)
    path.chmod(0o644)


if __name__ == "__main__":
    main()
