"""A data cube of Adult against the whole table: what questions about two attributes cost in error.

Both spend the same epsilon on all 48,842 people (train and test together; "?" is a value). The cube publishes
every marginal of one and of two attributes; the whole table, of all seven, answers them by adding up cells.
The data are in ../shared/data and stay there; without them, the sheet says so.
"""

from collections.abc import Callable
from functools import partial
from itertools import chain, combinations
from math import prod
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.report import Bar, Figure, Say, Sheet

_ROOT = Path(__file__).parents[1]
_DATA = _ROOT.parent / "shared" / "data" / "adult.parquet"
_DOMAIN = _ROOT / "examples" / "adult" / "adult.toml"
_LARGE = 50  # people in a cell, from which on relative errors count
_SIZE = 1000  # of each marginal, more than any has cells: all are published whole
_RELEASES = 20
_DENSE_RELEASES = 5  # of 907,200 rows each

Names: TypeAlias = tuple[str, ...]
Array: TypeAlias = NDArray[np.float64]


def adult(say: Say) -> Sheet:
    """Measure the error of cells of marginals, from cubes and from summaries of the whole table."""
    sheet = Sheet(
        title="Adult, epsilon 1: mean relative error in % of cells of marginals with 50 people or more",
        columns=(
            "marginal",
            "cells",
            "of 50\nor more",
            "whole table,\nevery cell",
            "whole table,\nfilter-priority",
            "cube,\nequal",
            "ratio",
            "cube,\nby root of cells",
            "ratio ",
        ),
        note=(
            "Whole table: all 907,200 cells, or filter-priority with as many rows as the cube has. "
            "Cubes: all marginals of one\nand two attributes, with equal parts of epsilon, or parts by the "
            "square root of a marginal's cells, rounded down.\nRatio: the better of the whole tables to the "
            f"cube; the median is over marginals of two attributes. Means of {_RELEASES}\nreleases, "
            f"{_DENSE_RELEASES} of every cell. Bars are for the parts by the root."
        ),
    )
    if not _DATA.exists():
        sheet.add(f"{_DATA} is not there", *[""] * 8)
        return sheet
    domain = ht.Domain.load(_DOMAIN)
    pairs, single = (list(combinations(domain.names, many)) for many in (2, 1))
    truth = _truth(domain, pairs + single)
    publish: Callable[..., ht.Release] = partial(ht.publish, _DATA, domain=domain, epsilon=1, ledger=False)
    equal = ht.Marginals("all-1", "all-2")
    cells = {names: truth[names].size for names in chain(single, pairs)}
    by_root = ht.Marginals("all-1", "all-2", weights="auto")
    arms: dict[str, tuple[int, Callable[..., ht.Release]]] = {
        "every cell": (_DENSE_RELEASES, partial(publish, summary=ht.Everything())),
        "filter-priority": (_RELEASES, partial(publish, structure="cells", size=sum(cells.values()))),
        "equal": (_RELEASES, partial(publish, structure=equal, size=_SIZE)),
        "by root": (_RELEASES, partial(publish, structure=by_root, size=_SIZE)),
    }
    found = {}
    for name, (releases, arm) in arms.items():
        say(f"{name}, {releases} releases")
        found[name] = _errors(arm, truth, releases)
    ratios: dict[str, list[float]] = {"equal": [], "by root": []}
    for place, names in enumerate(truth):
        errors = {name: float(found[name][place]) for name in arms}
        rival = min(errors["every cell"], errors["filter-priority"])
        is_pair = len(names) == 2
        for name, all_of_them in ratios.items():
            all_of_them += [rival / errors[name]] * is_pair
        sheet.add(
            " x ".join(names),
            f"{truth[names].size}",
            f"{int((truth[names] >= _LARGE).sum())}",
            *(Figure(100 * errors[name]) for name in ("every cell", "filter-priority", "equal")),
            Figure(rival / errors["equal"]),
            Figure(100 * errors["by root"]),
            Figure(rival / errors["by root"], Bar(">", 1) if is_pair else None),
        )
    middle = {name: median(all_of_them) for name, all_of_them in ratios.items()}
    barred = Figure(middle["by root"], Bar(">=", 3))
    sheet.add("median of two attributes", *[""] * 5, Figure(middle["equal"]), "", barred)
    return sheet


def _truth(domain: ht.Domain, marginals: list[Names]) -> dict[Names, Array]:
    """Return the true counts of marginals, their cells in the order of the domain."""
    table = ht.count(_DATA, domain=domain)
    codes, counts = domain.space.unpack(table.keys), table.counts.astype(np.float64)
    sums = {}
    for names in marginals:
        places = list(map(domain.names.index, names))
        shape = [domain.shape[place] for place in places]
        keys = np.ravel_multi_index(tuple(codes[:, places].T), shape)
        sums[names] = np.asarray(np.bincount(keys, weights=counts, minlength=prod(shape)), dtype=np.float64)
    return sums


def _errors(publish: Callable[..., ht.Release], truth: dict[Names, Array], releases: int) -> Array:
    """Return the mean relative error of the large cells of each marginal, over several releases."""
    found = np.zeros(len(truth))
    with TemporaryDirectory() as folder:
        for _ in range(releases):
            release = publish(output=Path(folder) / "release.parquet", overwrite=True)
            for place, (names, counts) in enumerate(truth.items()):
                large = counts >= _LARGE
                estimates = release.by(list(names)).column("estimate").to_numpy()
                found[place] += np.mean(np.abs(estimates - counts)[large] / counts[large]) / releases
    return found


SHEETS = (adult,)
