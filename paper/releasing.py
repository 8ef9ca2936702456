"""One run: draw a release as a setting says, ask it, and compare with the truth.

A setting names its table (cells, density, mean, sd, skewed; or `data`, a real one), what is noised
(`structure`), the summary (`method` with size, cutoff, two_sided), epsilon, and the questions (`sizes`,
`questions`, `run`). "geometric" noises everything, by `ht.Everything()`: quicker than NumPy's generator.

* `checked`: dyadic ranges pass the paper's consistency check, which is post-processing. The structure
  "dyadic, consistent" is hushtable's own, which spends the rows that the check saves on nodes further down.
* `total`: a fiftieth of epsilon buys a noisy total, and what the rows miss of it is spread evenly over the
  cells without a row, as `ht.publish` does it.

Promise: all of epsilon is spent on what is published. Only public names of hushtable are used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from paper.answering import cell_values, consistent, priority_sample, range_sums
from paper.data import Ranges, Subsets, Table, commuters, synthetic
from paper.measuring import Setting

Array = NDArray[np.float64]

_TOTAL_SHARE = Fraction(1, 50)  # of epsilon, as `ht.publish` takes it
_STRUCTURES: dict[str, ht.Dyadic | ht.Haar | ht.Tree] = {
    "dyadic": ht.Dyadic(),
    "dyadic, consistent": ht.Dyadic(consistent=True),
    "Haar": ht.Haar(),
    "tree": ht.Tree(),
}


def table_of(setting: Setting) -> Table:
    """Return the table that a setting is about."""
    if setting.get("data") is not None:
        return commuters(str(setting["data"]))
    return synthetic(
        cells=whole(setting, "cells"),
        density=real(setting, "density"),
        mean=real(setting, "mean"),
        sd=real(setting, "sd"),
        skewed=bool(setting.get("skewed")),
    )


def whole(setting: Setting, name: str) -> int:
    """Return a setting that is a whole number."""
    value = setting[name]
    if not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value


def real(setting: Setting, name: str) -> float:
    """Return a setting that is a number."""
    value = setting[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    return float(value)


def sizes_of(setting: Setting) -> tuple[int, ...]:
    """Return the sizes of subsets, or widths of ranges, that are asked for."""
    return tuple(int(size) for size in str(setting["sizes"]).split())


@lru_cache(maxsize=1)
def subsets_of(table: Table, sizes: tuple[int, ...], number: int, run: int) -> Subsets:
    """Return the subsets of a run, kept for the next method: putting cells in an order takes time."""
    return Subsets(table, sizes, number=number, run=run)


def drawn(table: Table, setting: Setting, *, epsilon: Fraction) -> ht.Summary:
    """Draw the summary that a setting asks for."""
    structure = _STRUCTURES.get(str(setting.get("structure")))
    cutoff, size = setting.get("cutoff"), setting.get("size")
    two_sided = bool(setting.get("two_sided", True))
    bounds = {
        **({} if cutoff is None else {"cutoff": int(cutoff)}),
        **({} if size is None else {"size": int(size)}),
    }
    method: ht.Everything | ht.Filter | ht.Priority | ht.FilterPriority | ht.Threshold
    match setting["method"]:
        case "geometric":
            method = ht.Everything()
        case "filter":
            method = ht.Filter(**bounds, two_sided=two_sided)
        case "priority":
            method = ht.Priority(size=bounds["size"])
        case "filter-priority":
            method = ht.FilterPriority(**bounds, two_sided=two_sided)
        case "threshold":
            # So many rows as asked for, on average: the threshold of a priority sample of that size.
            sample = ht.summarize(table.sparse, ht.Priority(size=bounds["size"]), epsilon=epsilon)
            method = ht.Threshold(threshold=Fraction(sample.threshold or 1))
        case other:
            raise ValueError(f"there is no method {other!r}")
    return ht.summarize(table.sparse, method, epsilon=epsilon, structure=structure)


def _uniform_sample(table: Table, setting: Setting, epsilon: Fraction) -> tuple[Array, NDArray[np.int64]]:
    """Return the values of cells by a uniform sample, and the places of its rows."""
    random = np.random.default_rng([whole(setting, "run"), 13])
    chosen = random.choice(table.cells, whole(setting, "size"), replace=False)
    everything = ht.summarize(table.sparse, ht.Everything(), epsilon=epsilon)
    values = np.zeros(table.cells)
    values[chosen] = everything.counts[chosen] * (table.cells / chosen.size)
    return values, chosen


def _with_total(values: Array, rows: NDArray[np.int64], table: Table, epsilon: Fraction) -> Array:
    """Return the values with what is missing of a noisy total, spread evenly over absent cells."""
    whole_table = ht.SparseTable(shape=(1,), codes=[0], counts=[table.people])
    total = int(ht.summarize(whole_table, ht.Everything(), epsilon=epsilon).counts[0])
    absent = table.cells - rows.size
    found = np.full(table.cells, (total - values.sum()) / absent if absent else 0.0)
    found[rows] = values[rows]
    return found


def subset_run(setting: Setting) -> dict[str, float]:
    """Draw one release of cells, and ask it for subsets."""
    table, epsilon = table_of(setting), Fraction(str(setting["epsilon"]))
    asked = subsets_of(table, sizes_of(setting), whole(setting, "questions"), whole(setting, "run"))
    paid = epsilon * _TOTAL_SHARE if setting.get("total") else Fraction(0)
    if setting["method"] == "uniform sample":
        values, rows = _uniform_sample(table, setting, epsilon)
        published, cutoff = rows.size, 0.0
    else:
        summary = drawn(table, setting, epsilon=epsilon - paid)
        values, rows = cell_values(summary, table.cells), summary.codes[:, 0]
        published, cutoff = len(summary), summary.cutoff or 0.0
        if summary.nodes is not None:
            rows = rows[:0]  # nodes are no cells
    if paid:
        values = _with_total(values, rows, table, paid)
    found = np.isin(table.places, rows).sum() if rows.size < table.cells else table.places.size
    return {
        **_errors(asked.sizes, asked.sums(values), asked.truths),
        "rows": float(published),
        "cutoff": cutoff,
        "occupied share": float(found) / table.places.size,
        "empty rows": float(rows.size - found),
    }


def range_run(setting: Setting) -> dict[str, float]:
    """Draw one release of cells or nodes, and ask it for ranges."""
    table, epsilon = table_of(setting), Fraction(str(setting["epsilon"]))
    asked = Ranges.by_chance(
        table, sizes_of(setting), number=whole(setting, "questions"), run=whole(setting, "run")
    )
    if setting.get("checked"):
        summary = _checked(table, setting, epsilon)
    else:
        summary = drawn(table, setting, epsilon=epsilon)
    answers = range_sums(summary, asked, table.cells)
    return {
        **_errors(asked.sizes, answers, asked.truths),
        "rows": float(len(summary)),
        "cutoff": summary.cutoff or 0.0,
    }


def _checked(table: Table, setting: Setting, epsilon: Fraction) -> ht.Summary:
    """Draw a filter of dyadic ranges, apply the paper's check, then sample if too many rows are left."""
    if setting["method"] == "filter":
        return consistent(drawn(table, setting, epsilon=epsilon))
    filtered = ht.Filter(cutoff=whole(setting, "cutoff"))
    left = consistent(ht.summarize(table.sparse, filtered, epsilon=epsilon, structure=ht.Dyadic()))
    return priority_sample(left, whole(setting, "size"), np.random.default_rng())


def _errors(sizes: tuple[int, ...], answers: Array, truths: Array) -> dict[str, float]:
    """Return what is measured of the answers for each size."""
    found: dict[str, float] = {}
    for size, answer, truth in zip(sizes, answers, truths, strict=True):
        off = answer - truth
        some = truth > 0
        found |= {
            f"error {size}": float(np.abs(off).mean()),
            f"square {size}": float((off**2).mean()),
            f"bias {size}": float(off.mean()),
            f"over {size}": float((off > 0).mean()),
            f"truth {size}": float(truth.mean()),
            f"relative {size}": float(np.median(np.abs(off[some]) / truth[some]))
            if some.any()
            else float("nan"),
        }
    return found
