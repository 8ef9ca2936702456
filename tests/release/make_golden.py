"""Make the golden files of the current format: releases that every later version must open.

Give, from the root of the repository: .venv/bin/python -m tests.release.make_golden

It writes only files that are not there yet. A golden file is never made anew: when the format changes, its
number rises, new files `v2-...` join these, and test_golden.py says what is in them.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from hushtable.domain.measure import Measure, Unit
from hushtable.methods.settings import Everything
from hushtable.release import footer
from tests.release.examples import people, rows, terms, write

FOLDER = Path(__file__).parent / "golden"


def main() -> None:
    """Write what is not there yet."""
    golden = {
        f"v{footer.FORMAT}-people": people(measure=Measure(unit=Unit("person_id", max_rows=3))),
        f"v{footer.FORMAT}-counted": people(
            measure=Measure(count_column="S000"),
            where="state = 'RI'",
            method=Everything(),
            epsilon=Fraction(1, 3),
            total_epsilon=Fraction(0),
            total=None,
            rule=None,
            cutoff=None,
            threshold=None,
        ),
        f"v{footer.FORMAT}-packed": people(rows_are_units=True, query="SELECT * FROM a JOIN b USING (id)"),
    }
    empty = terms()
    golden[f"v{footer.FORMAT}-empty"] = empty, rows(empty, np.empty((0, 6), np.int64), np.empty(0, np.int64))
    for name, (made, given) in golden.items():
        path = FOLDER / f"{name}.parquet"
        if not path.exists():
            # A domain of more than four mebibytes is packed; here a small one is, to keep the file small.
            footer._LARGEST_PLAIN_DOMAIN = 0 if name.endswith("packed") else 1 << 22
            print(write(path, made, given), path)


if __name__ == "__main__":
    main()
