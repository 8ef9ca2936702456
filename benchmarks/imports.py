"""How long it takes until the package can be used, in fresh processes."""

import subprocess
import sys

from benchmarks.report import Bar, Figure, Say, Sheet

_ROUNDS = 12
_BARS = {"numpy": None, "hushtable": Bar("<=", 1.3), "hushtable.noise": None}


def import_times(say: Say) -> Sheet:
    """Measure `import` of the package and of its noise against NumPy's."""
    sheet = Sheet(
        title="Import, in a fresh process",
        columns=("import", "ms", "ratio to numpy"),
        note=f"Best of {_ROUNDS}. Heavy packages (flint, cryptography) load at the first draw, not here.",
    )
    say("imports in fresh processes")
    seconds: dict[str, list[float]] = {module: [] for module in _BARS}
    for round in range(_ROUNDS + 1):
        for module in list(_BARS) if round % 2 else reversed(_BARS):
            seconds[module].append(_import_seconds(module))
    # The first round filled the file cache and wrote bytecode.
    best = {module: min(times[1:]) for module, times in seconds.items()}
    for module, bar in _BARS.items():
        sheet.add(module, Figure(best[module] * 1e3), Figure(best[module] / best["numpy"], bar))
    return sheet


def _import_seconds(module: str) -> float:
    """Return what a new interpreter takes for one import."""
    code = f"from time import perf_counter as now; start = now(); import {module}; print(now() - start)"
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


SHEETS = (import_times,)
