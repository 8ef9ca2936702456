"""Kills, full disks, little memory: some of each; `make audit` has many. What the checks themselves see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.breaking import ROOT
from tests.audit.faults import CANARY, PUBLISH, Ended, Finding, Scene

# Forking is for a process without threads of its own, which those of pytest have.
SOME = """
import sys
from tests.audit.faults import found
wrong = [each for each in found(sys.argv[2:], tries=int(sys.argv[1])) if not each.holds]
assert not wrong, wrong
"""


@pytest.mark.long
@pytest.mark.parametrize("job", ["publish over another", "run", "thin", "ledger create"])
def test_nothing_is_lost_and_nothing_is_left(job: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOME, "60", job], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_checks_notice_what_they_are_for(tmp_path: Path) -> None:
    place = Scene(tmp_path)
    whole = Ended(0, "", 1.0)

    assert place.wrong(whole, charges=False) == ""
    assert "nothing was charged" in place.wrong(whole, charges=True)
    assert "was said" in place.wrong(whole._replace(said=f"error: {CANARY}-3"), charges=False)
    assert "a traceback" in place.wrong(
        whole._replace(said="Traceback (most recent call last)"), charges=False
    )
    assert "exit code 70" in place.wrong(whole._replace(code=70), charges=False)
    (tmp_path / "out-0.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes())
    assert "nothing was charged" in place.wrong(whole, charges=True)
    assert "an output without a charge" in place.wrong(whole._replace(code=-9), charges=True)
    (tmp_path / "out-0.parquet").unlink()
    again = place.did([*PUBLISH, "--output", "out-1.parquet"])
    assert (again.code, place.wrong(again, charges=True), place.left()) == (0, "", "")
    kept = (tmp_path / "out-1.parquet").read_bytes()
    (tmp_path / "out-2.parquet").write_bytes(kept)
    assert "not charged: ['out-2.parquet']" in place.wrong(whole, charges=False)
    (tmp_path / "out-2.parquet").unlink()
    (tmp_path / "out-1.parquet").write_bytes(kept[:-20])
    assert "no whole release" in place.wrong(whole, charges=False)
    (tmp_path / "out-1.parquet").unlink()
    (tmp_path / ".out-1.parquet.7.partial").write_bytes(CANARY.encode())
    assert "a value of the rows is in .out-1" in place.wrong(whole, charges=False)
    assert "left behind" in place.left()
    same = place.did([*PUBLISH, "--output", "out-3.parquet"])
    assert (same.code, place.wrong(same, charges=True)) == (0, "")
    other = place.did([*PUBLISH, "--output", "out-4.parquet"])
    assert (other.code, place.wrong(other, charges=True)) == (0, "")
    (tmp_path / "out-4.parquet").replace(tmp_path / "out-3.parquet")
    assert "1 new outputs, and 0 charges" in place.wrong(whole._replace(code=-9), charges=True)
    place.entries += 1
    assert "an entry of the ledger is lost" in place.wrong(whole, charges=False)


def test_a_fault_that_never_struck_shows_nothing() -> None:
    assert Finding("a fault", 40, 3, "").struck().holds
    assert not Finding("a fault", 40, 0, "").struck().holds
    assert Finding("a fault", 40, 0, "lost").struck().worst == "lost"
