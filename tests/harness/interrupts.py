"""Real Ctrl-C, sent to a real process while it works."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import NamedTuple


class Ended(NamedTuple):
    """How the process ended."""

    code: int
    out: str
    err: str


def interrupted(program: str, number: int = signal.SIGINT) -> Ended:
    """Run Python text until it says "running" on standard error, then send it SIGINT, or another signal."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # of a background job it is ignored
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "running\n"
        time.sleep(0.3)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return Ended(process.returncode, out, err)
