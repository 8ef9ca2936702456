"""Processes of this machine, as /proc tells of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

EXECUTOR = b"CoarseGrainedExecutorBackend"


def parent_of(process: int) -> int:
    """Return the parent of a process, 0 if it is gone."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    state, parent = status.rpartition(")")[2].split()[:2]  # what is before may hold anything
    return 0 if state in "ZX" else int(parent)


def descendants(process: int) -> list[int]:
    """Return all processes below one."""
    parents = {int(path.name): parent_of(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def working_in(folder: Path) -> list[int]:
    """Return all processes whose working folder is there or below, whoever their parents are by now."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            there = (path / "cwd").readlink()
        except OSError:
            continue  # it is gone, or somebody else's
        if there.is_relative_to(folder):
            found.append(int(path.name))
    return found


def is_executor(process: int) -> bool:
    """Return whether a process is a Java process that runs tasks of Spark."""
    try:
        return EXECUTOR in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def own_executor() -> int:
    """Return the executor that this worker belongs to."""
    process = os.getppid()
    while process and not is_executor(process):
        process = parent_of(process)
    assert process, "this process is no worker of an executor"
    return process


def kill_executors() -> None:
    """Kill all executors of this driver: what they held is lost, whichever held it."""
    executors = [process for process in descendants(os.getpid()) if is_executor(process)]
    assert executors, "there is no executor"
    for process in executors:
        os.kill(process, signal.SIGKILL)
    assert gone(executors, seconds=30) == []


def gone(processes: Iterable[int], *, seconds: float) -> list[int]:
    """Wait until processes have ended; return those that have not."""
    end = time.monotonic() + seconds
    while left := [process for process in processes if parent_of(process)]:
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return left
