"""`import hushtable` stays cheap: little more than NumPy, and the heavy packages load on first use."""

import subprocess
import sys

import pytest

LIMIT = 1.3
ROUNDS = 9
LOADED_ON_FIRST_USE = (
    "cryptography",
    "duckdb",
    "flint",
    "matplotlib",
    "pyarrow",
    "pyspark",
    "click",
    "rich",
)


def output_of(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def import_seconds(module: str) -> float:
    clock = "from time import perf_counter as now; start = now()"
    return float(output_of(f"{clock}; import {module}; print(now() - start)"))


def test_import_costs_at_most_1_3_times_numpy() -> None:
    # The first round fills the file cache and writes bytecode. Rounds are interleaved so that a slow
    # moment hits both, and the minimum is the time without other people's work.
    rounds = [(import_seconds("numpy"), import_seconds("hushtable")) for _ in range(ROUNDS + 1)][1:]
    numpy_seconds, hushtable_seconds = (min(times) for times in zip(*rounds, strict=True))

    assert hushtable_seconds <= LIMIT * numpy_seconds, (
        f"import hushtable: {hushtable_seconds * 1e3:.0f} ms, import numpy: {numpy_seconds * 1e3:.0f} ms"
    )


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return set(output_of("import hushtable, sys; print(*sys.modules)").split())


@pytest.mark.parametrize("module", LOADED_ON_FIRST_USE)
def test_import_does_not_load(module: str, loaded: set[str]) -> None:
    assert "hushtable" in loaded
    assert module not in loaded, "import it inside the function that needs it"
