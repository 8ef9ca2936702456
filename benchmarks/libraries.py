"""Threshold releases beside those of other libraries, of one guarantee. `make bench-libraries` runs it.

The other libraries need older packages than ours, so they have an environment of their own, in which
`libraries_worker.py` runs.
"""

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable as ht
from benchmarks.report import Bar, Figure, Say, Sheet
from hushtable.laws.balls import nearest_float
from hushtable.laws.gaussian import Gaussian
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw, at_law
from hushtable.laws.rationals import as_fraction

_ROOT = Path(__file__).parent.parent
_PYTHON = _ROOT / ".venv-libraries" / "bin" / "python"
NOT_COMPARED = "NOT COMPARED: the other libraries are not installed. `make bench-libraries` does it."
_EPSILON, _DELTA = 1, "1e-6"
_DOMAIN = 10**12
_KEYS, _MEAN = 2_000, 100
_CELLS = (1, 10)

_generator = np.random.default_rng()


def kept_keys(say: Say) -> Sheet:
    """Count how many real keys each library publishes."""
    sheet = Sheet(
        title=f"Real keys kept at epsilon 1, delta 10^-6: {_KEYS:,} keys of 10^12, counts about {_MEAN}",
        columns=(
            "keys\na person",
            "release",
            "noise",
            "published\nfrom",
            "keys\nkept",
            "chance that one\nis seen",
        ),
        note=(
            "Counts: Poisson. Ours: ht.publish with max_cells, the law left to it. The others: the least "
            "threshold that their own\naccounting allows, over all widths of noise. Chance that one is seen: "
            "of a person who is alone in all of their keys, that\nany is published; delta may not be below. "
            "OpenDP 0.16 publishes counts that are equal to its threshold and leaves\nthat chance out, so it "
            "is also compared with the threshold raised by one."
        ),
    )
    if not _PYTHON.exists():
        sheet.add(NOT_COMPARED, *[""] * (len(sheet.columns) - 1))
        return sheet
    for cells in _CELLS:
        counts = np.maximum(_generator.poisson(_MEAN, _KEYS), 1)
        keys = _generator.choice(_DOMAIN, _KEYS, replace=False)
        say(f"{cells} keys a person, other libraries")
        others = _others(keys, counts, cells)
        say(f"{cells} keys a person, ours")
        release, kept = _ours(keys, counts, cells)
        best = Bar(">=", max(each["kept"] for each in others))
        law = release.terms.law
        name = f"hushtable, {release.terms.law_name}"
        least = float(release.terms.cutoff or 0)
        noise = Figure(law.floats.variance**0.5)
        sheet.add(str(cells), name, noise, Figure(least), Figure(kept, best), _seen(law, least, cells))
        for each in others:
            normal = "Gaussian" in each["name"]
            spread = as_fraction(f"{each['scale']:.9g}", name="scale")
            theirs: NoiseLaw = Gaussian(spread**2) if normal else Geometric(1 / spread)
            sheet.add(
                str(cells),
                each["name"],
                Figure(theirs.floats.variance**0.5),
                Figure(each["threshold"]),
                Figure(each["kept"]),
                _seen(theirs, each["threshold"], cells),
            )
    return sheet


def _seen(law: NoiseLaw, threshold: float, cells: int) -> str:
    """Return the chance that any of so many counts of 1 reaches a threshold."""
    one = nearest_float(at_law(lambda noise: noise.tail(int(threshold) - 1), law))
    return f"{-np.expm1(cells * np.log1p(-one)):.2g}"


def _ours(keys: Any, counts: Any, cells: int) -> tuple[ht.Release, int]:
    """Publish people's rows, each person in up to so many keys; return how many real keys there are."""
    place = np.repeat(np.arange(_KEYS), counts)
    number = np.concatenate([np.arange(count) for count in counts])  # among those of a key
    people = place // cells * (1 + int(counts.max())) + number
    rows = pa.table({"person": people, "key": keys[place]})
    with TemporaryDirectory() as folder:
        release = ht.publish(
            rows,
            domain=ht.Domain(key=ht.integers(0, _DOMAIN - 1)),
            unit=ht.Unit("person", max_cells=cells),
            epsilon=_EPSILON,
            delta=_DELTA,
            structure="cells",
            size=10 * _KEYS,
            ledger=False,
            output=Path(folder, "keys.parquet"),
        )
        return release, int(np.isin(release.to_arrow()["key"], keys).sum())


def _others(keys: Any, counts: Any, cells: int) -> list[dict[str, Any]]:
    """Return what the others publish of the same counts."""
    setting = {
        "counts": dict(zip(map(str, keys.tolist()), counts.tolist(), strict=True)),
        "cells": cells,
        "epsilon": float(_EPSILON),
        "delta": float(_DELTA),
    }
    command = [str(_PYTHON), str(_ROOT / "benchmarks" / "libraries_worker.py")]
    with TemporaryDirectory() as folder:  # where Spark leaves a folder of its own
        done = subprocess.run(command, input=json.dumps(setting), capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"the other libraries failed:\n{done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


SHEETS = (kept_keys,)
