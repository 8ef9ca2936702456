"""Plans against releases: are errors as predicted, is the recommended summary the best, is a plan quick?

Releases are drawn by `ht.summarize`, with a noisy total, and answered cell by cell as a recipient would:
by weights, and with a cutoff by an even share of what they miss of the total. One published release of each
method is asked by `release.total` for the same sets, and must agree.
Cost: some ten minutes. LODES is read from ../shared/data; without it, its rows are left out and the sheet
says so.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.timing import best
from hushtable.noise import KeyStream, two_sided_geometric
from hushtable.planning.predictions import Predictor, Setting, score

Array = NDArray[np.float64]
Method = ht.Filter | ht.Priority | ht.FilterPriority

_FOLDER = Path(__file__).parents[2] / "shared" / "data"
_OWN, _OTHER = _FOLDER / "lodes_ri_main_2019.cells0.parquet", _FOLDER / "lodes_dc_main_2023.cells0.parquet"
_GROUPS = 815  # block groups of Rhode Island
_SHARE = Fraction(1, 50)
_SIZES = (100, 1000, 10_000, 100_000, 500_000)
_CUTOFFS = (1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40, 56, 80, 110, 150)
_RELEASES, _SETS = 20, 16  # of each method and cutoff; of each release


class Table:
    """The true count of every cell, ready to be summarised again and again."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.counts = counts
        self.some = np.flatnonzero(counts)
        codes = self.some[:, None]
        self.sparse = ht.SparseTable(shape=counts.shape, codes=codes, counts=counts[self.some])
        self.random = np.random.default_rng(12)

    def off(self, method: Method, epsilon: Fraction, *, corrected: bool = True) -> Array:
        """Return how far the answer for each cell is off, by one release."""
        spent = epsilon * _SHARE
        summary = ht.summarize(self.sparse, method, epsilon=epsilon - spent)
        total = int(self.counts.sum()) + int(two_sided_geometric(spent, KeyStream(), count=1)[0])
        cut = corrected and (summary.cutoff or 0) > 1
        answers = answered(self.counts.size, summary.codes[:, 0], summary.weights, total if cut else None)
        return answers - self.counts

    def sets(self, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield sets of cells by chance: two of each order in which all of them are put."""
        while True:
            order = self.random.permutation(self.counts.size)
            yield order[:size]
            yield order[-size:]

    def errors(self, off: Array, sizes: Sequence[int], sets: int) -> Array:
        """Return the mean size of the error for sets of each size."""
        found = np.zeros(len(sizes))
        for _ in range(sets // 2):
            mixed = off[self.random.permutation(off.size)]
            for place, size in enumerate(sizes):
                found[place] += abs(mixed[:size].sum()) + abs(mixed[-size:].sum())
        return found / (sets // 2 * 2)


def answered(cells: int, places: NDArray[np.int64], weights: Array, total: int | None) -> Array:
    """Return the answer for each cell: its weight, or an even share of what weights miss of the total."""
    answers = np.zeros(cells)
    if total is not None and places.size < cells:
        answers[:] = (total - weights.sum()) / (cells - places.size)
    answers[places] = weights
    return answers


def _paper() -> Table:
    random = np.random.default_rng(6)
    counts = np.zeros(10**6, dtype=np.int64)
    occupied = random.choice(counts.size, 10**5, replace=False)
    counts[occupied] = np.maximum(np.rint(random.normal(100, 20, occupied.size)), 0)
    return Table(counts)


def predicted(say: Say) -> Sheet:
    """Measure errors of the paper's default data against what a plan predicts."""
    epsilon = Fraction(1, 10)
    sheet = Sheet(
        title="Mean size of errors, measured / predicted: m = 10^6, density 0.1, N(100, 20), epsilon 0.1",
        columns=("summary", "answers", "releases", "sets of", "measured", "predicted", "ratio"),
        note=(
            "40 sets by chance of each release, 8 where there are many releases: errors of one release are "
            "common to its large sets. Predicted from the number of cells, and counts N(100, 20), alone."
        ),
    )
    table = _paper()
    profile = ht.Profile.normal(cells=10**5, mean=100, sd=20)
    rate, total_rate = epsilon * (1 - _SHARE), epsilon * _SHARE
    ready = Predictor(profile, Setting(cells_total=10**6, rate=rate, total_rate=total_rate))
    arms: tuple[tuple[Method, bool, int, int], ...] = (
        (ht.Filter(cutoff=50), True, 100, 40),
        (ht.Priority(size=10**5), True, 600, 8),
        (ht.FilterPriority(cutoff=40, size=10**5), True, 100, 40),
        (ht.FilterPriority(cutoff=40, size=10**5), False, 600, 8),
    )
    for method, corrected, releases, sets in arms:
        say(f"asking a published {type(method).__name__}")
        _check_answers(table, method, epsilon, corrected=corrected)
        errors = np.zeros(len(_SIZES))
        for number in range(releases):
            say(f"{type(method).__name__}, release {number + 1} of {releases}")
            errors += table.errors(table.off(method, epsilon, corrected=corrected), _SIZES, sets) / releases
        said = ready.predict(method, sizes=_SIZES, corrected=corrected).errors
        cutoff = getattr(method, "cutoff", None)
        name = f"{type(method).__name__}{'' if cutoff is None else f' {float(cutoff):g}'}"
        how = "unbiased" if cutoff is None else "with the total" if corrected else "bare"
        for size, error in zip(_SIZES, errors, strict=True):
            figures = Figure(error), Figure(said[size]), Figure(error / said[size], Within(0.95, 1.05))
            sheet.add(name, how, f"{releases}", f"{size:,}", *figures)
    return sheet


def _check_answers(table: Table, method: Method, epsilon: Fraction, *, corrected: bool) -> None:
    """Raise unless a published release answers as `answered` does."""
    with TemporaryDirectory() as folder:
        domain = Path(folder) / "cells.toml"
        last = table.counts.size - 1
        domain.write_text(f'[[attribute]]\nname = "cell"\nintegers = {{ low = 0, high = {last} }}\n')
        release = ht.publish(
            pa.table({"cell": table.some, "people": table.counts[table.some]}),
            domain=domain,
            epsilon=epsilon,
            count_column="people",
            summary=method,
            output=Path(folder) / "released.parquet",
        )
        total = release.noisy_total if corrected and (release.cutoff or 0) > 1 else None
        answers = answered(table.counts.size, release.codes[:, 0], release.weights, total)
        for cells in islice(table.sets(10_000), 2):
            asked = release.total(cell=cells, corrected=None if corrected else False).value
            if abs(asked - answers[cells].sum()) > 1e-6 * abs(asked):
                raise AssertionError("a release does not answer as this benchmark takes it to")


def recommended(say: Say) -> Sheet:
    """Measure the recommended summary against the best of all methods and cutoffs."""
    rows = 20_000
    sheet = Sheet(
        title=f"LODES Rhode Island block groups, size {rows:,}, planned with counts of Washington, DC",
        columns=(
            "epsilon",
            "recommended",
            "worth it",
            "real\n%",
            "predicted\n%",
            "measured\n%",
            "total alone\nmeasured %",
            "the best, by trying",
            "measured\n%",
            "ratio",
        ),
        note=(
            "Errors: geometric mean over sets of 10^2 to 10^5 cells by chance, in per cent of answering 0. "
            f"Tried: filter, priority, filter-priority with cutoffs {_CUTOFFS[0]} to {_CUTOFFS[-1]}; "
            f"{_RELEASES} releases of each, {_SETS} sets of each release. High cutoffs publish next to "
            "nothing: they are the noisy total alone."
        ),
    )
    if not (_OWN.exists() and _OTHER.exists()):
        sheet.add("LODES is missing", f"{_OWN} is not there", *[""] * 8)
        return sheet
    table = _commuters()
    values, cells = np.unique(pq.read_table(_OTHER)["count"].to_numpy(), return_counts=True)
    profile = ht.Profile(counts=values, cells=cells, words="block groups of Washington, DC, 2023")
    places = {"integers": {"low": 0, "high": _GROUPS - 1}}
    pairs = ht.Domain.from_dict({"attribute": [{"name": name, **places} for name in ("home", "work")]})
    for epsilon in map(Fraction, ("0.1", "1", "3")):
        plan = ht.plan(pairs, epsilon=epsilon, size=rows, profile=profile)
        chosen, sizes = plan.recommended, list(plan.zero_errors)
        tried: list[Method] = [ht.Filter(size=rows), ht.Priority(size=rows)]
        tried += [ht.FilterPriority(cutoff=cutoff, size=rows) for cutoff in _CUTOFFS]
        found = [_measured(table, method, epsilon, sizes, say) for method in tried]
        least = int(np.argmin(found))
        if not isinstance(chosen.method, Method):
            raise AssertionError(f"{chosen.method!r} is recommended, and not tried")
        own = _measured(table, chosen.method, epsilon, sizes, say)
        alone = _measured(table, ht.FilterPriority(cutoff=10**6, size=rows), epsilon, sizes, say)
        sheet.add(
            f"{float(epsilon):g}",
            _short(chosen.method),
            "yes" if plan.worth else "no",
            Figure(100 * chosen.real_share),
            Figure(100 * plan.against_zero),
            Figure(100 * own),
            Figure(100 * alone),
            _short(tried[least]),
            Figure(100 * found[least]),
            Figure(own / found[least], Bar("<=", 1.25)),
        )
    return sheet


def _commuters() -> Table:
    """Return the block groups of Rhode Island by home and work."""
    rows = pq.read_table(_OWN)
    counts = np.zeros(_GROUPS**2, dtype=np.int64)
    counts[rows["home"].to_numpy() * _GROUPS + rows["work"].to_numpy()] = rows["count"].to_numpy()
    return Table(counts)


def _measured(table: Table, method: Method, epsilon: Fraction, sizes: Sequence[int], say: Say) -> float:
    """Return the errors of a method as a plan scores them, as a multiple of those of answering 0."""
    say(f"epsilon {epsilon}: {_short(method)}")
    errors = np.zeros(len(sizes))
    for _ in range(_RELEASES):
        errors += table.errors(table.off(method, epsilon), sizes, _SETS) / _RELEASES
    truths = {size: size * float(table.counts.mean()) for size in sizes}
    return exp(score(dict(zip(sizes, errors.tolist(), strict=True)), truths))


def _short(method: object) -> str:
    cutoff = getattr(method, "cutoff", None)
    return f"{type(method).__name__}{'' if cutoff is None else f' {float(cutoff):g}'}"


def speed(say: Say) -> Sheet:
    """Measure how long a plan takes."""
    sheet = Sheet(
        title="Time of a plan, in one process",
        columns=("cells", "epsilon", "size", "s"),
        note="With 10^5 occupied cells, counts N(100, 20). Best of 3.",
    )
    for attributes in (1, 2, 5):
        each = [{"name": f"a{i}", "integers": {"low": 0, "high": 10**6 - 1}} for i in range(attributes)]
        domain = ht.Domain.from_dict({"attribute": each})
        for epsilon, size in (("0.1", 100_000), ("0.001", 1), ("50", 100_000)):
            say(f"10^{6 * attributes} cells, epsilon {epsilon}")
            job = partial(
                ht.plan, domain, epsilon=epsilon, size=size, expect_cells=1e5, expect_mean=100, expect_sd=20
            )
            seconds = best([job], rounds=3)[0]
            sheet.add(f"10^{6 * attributes}", epsilon, f"{size:,}", Figure(seconds, Bar("<", 1)))
    return sheet


SHEETS = (predicted, recommended, speed)
