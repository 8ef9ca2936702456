"""The most memory that this process has held."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS, _ANEW = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak() -> int:
    """Return the most bytes since the last `start_anew`, or since the start where a system cannot forget."""
    if _STATUS.exists():
        (line,) = (each for each in _STATUS.read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    # A process that was made of a larger one begins with that one's peak: differences may be too small.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def start_anew() -> None:
    """Forget the peak, where the system can."""
    with suppress(OSError):
        _ANEW.write_text("5")
