"""Cells of work: kept whole, done once, also after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper.measuring import Setting
from paper.running import Work

ROOT = Path(__file__).parents[2]
CELLS = 40
SCRIPT = """
import sys, time, types
from pathlib import Path
from paper.running import finished

log, cache = Path(sys.argv[1]), Path(sys.argv[2])
slow = types.ModuleType("paper.experiments.slow")
def run(setting):
    with log.open("a") as file:
        file.write(f"{setting['run']}\\n")
    time.sleep(0.05)
    return {"square": setting["run"] ** 2}
slow.run = run
sys.modules["paper.experiments.slow"] = slow
results, _ = finished("slow", [{"run": k} for k in range(40)], folder=cache, processes=1)
print(sum(results.values("square")))
"""


def start(log: Path, cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(log), str(cache)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_after_a_kill_only_missing_cells_run(tmp_path: Path) -> None:
    log, cache = tmp_path / "log", tmp_path / "cache"
    killed = start(log, cache)
    while not log.exists() or len(log.read_text().split()) < 5:
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in (cache / "slow").glob("*.json")}
    assert 4 <= len(kept) < CELLS

    again = start(log, cache)
    out, progress = again.communicate()
    assert again.returncode == 0, progress
    assert out.split() == [str(float(sum(k**2 for k in range(CELLS))))]
    assert f"{len(kept)} kept from before" in progress
    for path in (cache / "slow").glob("*.json"):
        assert kept.get(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
    done = [int(word) for word in log.read_text().split()]
    assert set(done) == set(range(CELLS))
    assert len(done) <= CELLS + 1  # the one that was under way at the kill


def test_every_setting_is_part_of_the_name(tmp_path: Path) -> None:
    def name(experiment: str, setting: Setting) -> Path:
        return Work(experiment, setting, tmp_path).path

    assert name("a", {"x": 1, "run": 0}) == name("a", {"run": 0, "x": 1})
    assert (
        len({name("a", {"x": 1}), name("b", {"x": 1}), name("a", {"x": 2}), name("a", {"x": 1, "y": None})})
        == 4
    )


def test_a_failed_cell_leaves_nothing(tmp_path: Path) -> None:
    work = Work("parameters", {"method": "none such"}, tmp_path)
    with pytest.raises(KeyError):
        work.run()
    assert work.read() is None
    assert not list(tmp_path.rglob("*.json"))
