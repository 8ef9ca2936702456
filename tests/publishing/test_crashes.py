"""Real processes: killed at random moments, and many at once on one budget."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht

DOMAIN = """
title = "Commuters"
[[attribute]]
name = "x"
integers = { low = 0, high = 999999 }
[[attribute]]
name = "y"
integers = { low = 0, high = 999999 }
"""


def prepared(folder: Path, *, rows: int, budget: str) -> ht.Ledger:
    """Make rows, a domain file and a ledger."""
    generator = np.random.default_rng(1)
    table = pa.table({name: generator.integers(0, 10**6, rows).astype(np.int32) for name in ("x", "y")})
    pq.write_table(table, folder / "rows.parquet")
    (folder / "domain.toml").write_text(DOMAIN)
    (folder / "tmp").mkdir()
    return ht.Ledger.create(folder / "people.ledger", epsilon=budget, about="people")


def publisher(folder: Path, output: str, *more: str) -> subprocess.Popen[str]:
    """Start `hushtable publish` in a process of its own."""
    command = [sys.executable, "-m", "hushtable", "publish", "rows.parquet", "--domain", "domain.toml"]
    command += [
        "--epsilon",
        "0.1",
        "--size",
        "20000",
        "--summary",
        "priority",
        "--output",
        output,
        "--ledger",
        "people.ledger",
        *more,
    ]
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def check_after_a_kill(folder: Path, ledger: ht.Ledger, finished: int) -> int:
    """Check all that must hold after any crash; return how many entries are finished."""
    entries = ledger.entries()
    outputs = sorted(folder.glob("out*.parquet"))
    for output in outputs:
        assert len(ht.open(output)) == 20_000  # whole, or it would not open
    # Every file that is there was paid for; what is finished has its file.
    assert len(outputs) <= len(entries)
    done = [entry for entry in entries if entry.state == "finished"]
    assert len(done) <= len(outputs)
    assert len(done) >= finished
    assert ledger.spent == len(entries) * Fraction(1, 10)
    return len(done)


@pytest.mark.parametrize(
    "kills", [pytest.param(2, id="few"), pytest.param(50, id="many", marks=pytest.mark.long)]
)
def test_killed_at_random_moments(kills: int, tmp_path: Path) -> None:
    ledger = prepared(tmp_path, rows=1_000_000, budget="100")
    start = time.monotonic()
    process = publisher(tmp_path, "out-first.parquet", "--memory", "256MiB")
    _, said = process.communicate()
    assert process.returncode == 0, said
    lifetime = time.monotonic() - start
    moments = np.random.default_rng().uniform(0, 1.1 * lifetime, kills)
    finished = 1
    for number, moment in enumerate(moments):
        process = publisher(tmp_path, f"out{number}.parquet", "--memory", "256MiB")
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        finished = check_after_a_kill(tmp_path, ledger, finished)

    process = publisher(tmp_path, "out-last.parquet")  # the next start
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("publishers", "paid"),
    [pytest.param(4, 2, id="few"), pytest.param(20, 5, id="many", marks=pytest.mark.long)],
)
def test_publishers_at_once_cannot_overspend_together(publishers: int, paid: int, tmp_path: Path) -> None:
    ledger = prepared(tmp_path, rows=50_000, budget=f"0.{paid}")
    processes = [publisher(tmp_path, f"out{number}.parquet") for number in range(publishers)]
    said = [process.communicate()[1] for process in processes]

    codes = sorted(process.returncode for process in processes)
    assert codes == [0] * paid + [4] * (publishers - paid)  # the budget
    assert sum("only epsilon=0 is left" in text for text in said) == publishers - paid
    assert ledger.left == 0
    assert check_after_a_kill(tmp_path, ledger, 0) == paid
