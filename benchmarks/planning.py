"""Plans against releases: are errors as predicted, is the recommended summary the best, is a plan quick?

Releases are drawn by `ht.summarize`, with a noisy total, and answered cell by cell as a recipient would:
by weights, and with a cutoff by an even share of what they miss of the total. One published release of each
method is asked by `release.total` for the same sets, and must agree. Trees are answered from their fit.
Cost: some ten minutes. LODES is read from ../shared/data; without it, its rows are left out and the sheet
says so.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hushtable as ht
from benchmarks import commuters, planned
from benchmarks.drawn import TOTAL_SHARE, Array, Table, absent
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.timing import best
from hushtable.answers.nodes.ranges import Ranges
from hushtable.answers.pruned.coverage import LineCoverage
from hushtable.answers.pruned.walking import walked
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Method
from hushtable.planning.merging import Merging
from hushtable.planning.plan import set_sizes
from hushtable.planning.predictions import Predictor, Setting
from hushtable.planning.trees import predict_tree
from hushtable.structures.fitting import fitted
from hushtable.structures.pruned import PrunedSpace

_SIZES = (100, 1000, 10_000, 100_000, 500_000)
_CUTOFFS = (1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40, 56, 80, 110, 150, 220, 320)
_ROWS = 20_000  # asked for, of LODES
_RELEASES, _ORDERS = 10, 2  # of each method and cutoff; of the cells of each release
_TREES, _RANGES = 10, 500


def _paper() -> Table:
    random = np.random.default_rng(6)
    places = np.sort(random.choice(10**6, 10**5, replace=False))
    counts = np.maximum(np.rint(random.normal(100, 20, places.size)), 0).astype(np.int64)
    return Table(10**6, places[counts > 0], counts[counts > 0])


def predicted(say: Say) -> Sheet:
    """Measure errors of the paper's default data against what a plan predicts."""
    epsilon = Fraction(1, 10)
    sheet = Sheet(
        title="Mean size of errors, measured / predicted: m = 10^6, density 0.1, N(100, 20), epsilon 0.1",
        columns=("summary", "answers", "releases", "sets of", "measured", "predicted", "ratio"),
        note=(
            "Many releases, because errors of one release are common to its large sets. Predicted from the "
            "number of cells, and counts N(100, 20), alone."
        ),
    )
    table = _paper()
    profile = ht.Profile.normal(cells=10**5, mean=100, sd=20)
    law, total_law = Geometric(epsilon * (1 - TOTAL_SHARE)), Geometric(epsilon * TOTAL_SHARE)
    ready = Predictor(profile, Setting(cells_total=10**6, law=law, total_law=total_law))
    arms: tuple[tuple[Method, bool, int], ...] = (
        (ht.Filter(cutoff=50), True, 200),
        (ht.Priority(size=10**5), True, 600),
        (ht.FilterPriority(cutoff=40, size=10**5), True, 200),
        (ht.FilterPriority(cutoff=40, size=10**5), False, 600),
    )
    for method, corrected, releases in arms:
        say(f"asking a published {type(method).__name__}")
        _check_answers(table, method, epsilon, corrected=corrected)
        errors = np.zeros(len(_SIZES))
        for number in range(releases):
            say(f"{type(method).__name__}, release {number + 1} of {releases}")
            off = table.off(method, epsilon, corrected=corrected)
            errors += table.errors(off, _SIZES, _ORDERS) / releases
        said = ready.predict(method, sizes=_SIZES, corrected=corrected).errors
        cutoff = getattr(method, "cutoff", None)
        name = f"{type(method).__name__}{'' if cutoff is None else f' {float(cutoff):g}'}"
        how = "unbiased" if cutoff is None else "with the total" if corrected else "bare"
        for size, error in zip(_SIZES, errors, strict=True):
            figures = Figure(error), Figure(said[size]), Figure(error / said[size], Within(0.95, 1.05))
            sheet.add(name, how, f"{releases}", f"{size:,}", *figures)
    return sheet


def _check_answers(table: Table, method: Method, epsilon: Fraction, *, corrected: bool) -> None:
    """Raise unless a published release answers as `Table.off` takes it to."""
    with TemporaryDirectory() as folder:
        domain = Path(folder) / "cells.toml"
        last = table.cells_total - 1
        domain.write_text(f'[[attribute]]\nname = "cell"\nintegers = {{ low = 0, high = {last} }}\n')
        release = ht.publish(
            pa.table({"cell": table.places, "people": table.counts}),
            domain=domain,
            epsilon=epsilon,
            count_column="people",
            summary=method,
            output=Path(folder) / "released.parquet",
            ledger=False,
        )
        answers = np.zeros(table.cells_total)
        if corrected and (release.cutoff or 0) > 1:
            answers[:] = absent(release.noisy_total or 0, release.weights, table.cells_total)
        answers[release.codes[:, 0]] = release.weights
        cells = table.random.choice(table.cells_total, 10_000, replace=False)
        asked = release.total(cell=cells, corrected=None if corrected else False).value
        if abs(asked - answers[cells].sum()) > 1e-6 * abs(asked):
            raise AssertionError("a release does not answer as this benchmark takes it to")


class _Line(NamedTuple):
    """A table whose cells stand in a line, and how it is published as a tree."""

    name: str
    epsilon: str
    size: int
    table: Table


def _lines() -> Iterator[_Line]:
    """Yield tables whose occupied cells lie anywhere: dense, skewed, and sparse."""
    random = np.random.default_rng(6)

    def table(cells: int, counts: NDArray[np.float64]) -> Table:
        some = np.rint(counts).astype(np.int64)
        places = np.sort(random.choice(cells, some.size, replace=False))
        return Table(cells, places[some > 0], some[some > 0])

    dense, sparse = (np.maximum(random.normal(100, 20, number), 0) for number in ((1 << 20) // 10, 100_000))
    flows = np.minimum(3 * (1 - random.random(20_000)) ** -1.1, 20_000)
    yield _Line("2^20, 10 % N(100, 20)", "0.1", 100_000, table(1 << 20, dense))
    yield _Line("10^6, 2 % power law", "1", 20_000, table(10**6, flows))
    yield _Line("2^26, 0.15 % N(100, 20)", "1", 100_000, table(1 << 26, sparse))


def ranges(say: Say) -> Sheet:
    """Measure errors over ranges, and rows, of pruned trees against what a plan predicts."""
    sheet = Sheet(
        title="Pruned trees, measured / predicted: mean size of errors over ranges of R cells, and rows",
        columns=("cells", "epsilon", "size", "R", "measured", "predicted", "ratio", "rows", "predicted"),
        note=(
            f"Occupied cells lie anywhere. {_TREES} releases, {_RANGES} ranges of each R in each. Predicted "
            "from the number of cells and how many hold which count. Power law: 3 (1 - U)^(-1/1.1), up to "
            "20,000."
        ),
    )
    for line in _lines():
        table, epsilon = line.table, Fraction(line.epsilon)
        sizes = set_sizes(table.cells_total)
        if table.cells_total // 2 < 10**6:
            sizes.append(500_000)
        profile = commuters.profile(table.counts, "true counts")
        said = predict_tree(
            profile,
            ht.Tree(),
            ht.Filter(size=line.size, two_sided=False),
            cells_total=table.cells_total,
            law_for=partial(_share_of, epsilon),
            domain_bytes=0,
            sizes=sizes,
        )
        errors, rows = np.zeros(len(sizes)), 0.0
        for number in range(_TREES):
            say(f"{line.name}: release {number + 1} of {_TREES}")
            found, published = _range_errors(table, epsilon, line.size, sizes)
            errors, rows = errors + found / _TREES, rows + published / _TREES
        for size, error in zip(sizes, errors.tolist(), strict=True):
            figures = Figure(error), Figure(said.errors[size])
            ratio = Figure(error / said.errors[size], Within(0.75, 1.33))
            names = line.name, line.epsilon, f"{line.size:,}", f"{size:,}"
            sheet.add(*names, *figures, ratio, f"{rows:,.0f}", f"{said.rows:,.0f}")
    return sheet


def _share_of(epsilon: Fraction, share: Fraction) -> Geometric:
    return Geometric(epsilon * share)


def _range_errors(table: Table, epsilon: Fraction, size: int, sizes: list[int]) -> tuple[Array, int]:
    """Draw a tree; return the mean errors over ranges of each size, and its rows."""
    cells = table.cells_total
    sparse = ht.SparseTable(shape=(cells,), codes=table.places, counts=table.counts)
    drawn = ht.summarize(sparse, ht.Filter(size=size), epsilon=epsilon, structure=ht.Tree())
    nodes = drawn.nodes
    assert isinstance(nodes, PrunedSpace)
    laws = [Geometric(epsilon * share / nodes.per_cell) for share in nodes.tree.shares]
    fit = fitted(nodes.tree, drawn.codes[:, 0], drawn.counts, laws=laws, cutoff=drawn.cutoff or 1.0)
    fit = fit.with_own(drawn.weights)
    running = np.append(0, np.cumsum(table.counts))
    errors = np.zeros(len(sizes))
    for place, width in enumerate(sizes):
        starts = table.random.integers(cells - width + 1, size=_RANGES)
        asked = Ranges(np.arange(_RANGES), starts, starts + width, _RANGES)
        answers = walked(nodes.tree, fit, LineCoverage(asked)).value
        low, high = running[np.searchsorted(table.places, [starts, starts + width])]
        errors[place] = np.abs(answers - (high - low)).mean()
    return errors, len(drawn)


def recommended(say: Say) -> Sheet:
    """Measure the recommended summary against the best of all methods and cutoffs."""
    sheet = Sheet(
        title=f"LODES Rhode Island, size {_ROWS:,}, planned with counts of Washington, DC",
        columns=(
            "places, epsilon",
            "assumed",
            "recommended",
            "worth",
            "predicted\n%",
            "measured\n%",
            "best\nby trying",
            "measured\n%",
            "ratio",
            "0 / best",
            "wrong\nverdict",
        ),
        note=(
            "Errors: geometric mean over sets of 10^2 to 10^6 cells by chance, up to half of all, in per "
            "cent of answering 0. Tried are summaries that keep to the size: filter, priority, and "
            f"filter-priority with cutoffs {_CUTOFFS[0]} to {_CUTOFFS[-1]}; {_RELEASES} releases of each. "
            "High cutoffs publish next to nothing: they are the noisy total alone. 0 / best: errors of "
            "answering 0. A verdict is wrong (1) where that is below 1.11, and the plan says that the "
            "release is worth it. DC has 221,000 jobs and Rhode Island 406,000, a public number; `as many`: "
            "DC is given as many. `from 5`: filter-priority with that cutoff."
        ),
    )
    if commuters.MISSING is not None:
        sheet.add("LODES is missing", commuters.MISSING, *[""] * 9)
        return sheet
    tried: list[Method] = [ht.Filter(size=_ROWS), ht.Priority(size=_ROWS)]
    tried += [ht.FilterPriority(cutoff=cutoff, size=_ROWS) for cutoff in _CUTOFFS]
    for level in commuters.LEVELS:
        table = commuters.table(level)
        for epsilon in map(Fraction, ("0.1", "1", "3")):
            measured = cache(partial(_measured, say, table, epsilon))
            found = [measured(method) for method in tried]
            least = int(np.argmin(found))
            for assumed, people in (("DC", None), ("as many", table.people)):
                profile = commuters.elsewhere(level, people=people)
                plan = ht.plan(commuters.domain(level), epsilon=epsilon, size=_ROWS, profile=profile)
                own = measured(plan.recommended.method)
                sheet.add(
                    f"{level.replace('_', ' ')}s, {float(epsilon):g}",
                    assumed,
                    _short(plan.recommended.method),
                    "yes" if plan.worth else "no",
                    Figure(100 * plan.against_zero),
                    Figure(100 * own),
                    _short(tried[least]),
                    Figure(100 * found[least]),
                    Figure(own / found[least], Bar("<=", 1.25)),
                    Figure(1 / found[least]),
                    Figure(float(found[least] >= 0.9 and plan.worth), Bar("<=", 0)),
                )
    return sheet


def _measured(say: Say, table: Table, epsilon: Fraction, method: Method) -> float:
    say(f"{table.cells_total:,} cells, epsilon {epsilon}: {_short(method)}")
    sizes = set_sizes(table.cells_total)
    return table.score(method, epsilon, sizes, releases=_RELEASES, orders=_ORDERS)


def _short(method: Method) -> str:
    cutoff = getattr(method, "cutoff", None)
    return method.name if cutoff is None else f"from {float(cutoff):g}"


def merged(say: Say) -> Sheet:
    """Compare profiles of larger cells, as a plan makes them from smaller ones, with the true ones."""
    sheet = Sheet(
        title=f"LODES Rhode Island, true counts of fine cells put into coarse ones by chance; size {_ROWS:,}",
        columns=(
            "from",
            "to",
            "epsilon",
            "occupied\nmerged",
            "occupied\ntrue",
            "of answering 0\nmerged %",
            "of answering 0\ntrue %",
            "of the total alone\nmerged %",
            "of the total alone\ntrue %",
            "true / merged",
        ),
        note=(
            "Errors are predicted for the recommended summary under each profile, in per cent of those of "
            "answering 0, and of the noisy total alone. Commuters cluster, so rows tell more beyond the "
            "total than a plan lists for a roll-up: at most 1."
        ),
    )
    if commuters.MISSING is not None:
        sheet.add("LODES is missing", commuters.MISSING, *[""] * 8)
        return sheet
    true = {level: commuters.table(level) for level in commuters.LEVELS}
    profiles = {level: commuters.profile(each.counts, "true counts") for level, each in true.items()}
    for fine, coarse in (("block", "block_group"), ("block", "tract"), ("block_group", "tract")):
        say(f"{fine}s to {coarse}s")
        made = Merging(profiles[fine], cells_total=true[fine].cells_total).into(true[coarse].cells_total)
        for epsilon in ("0.1", "1", "3"):
            by_chance, real = (
                ht.plan(commuters.domain(coarse), epsilon=epsilon, size=_ROWS, profile=profile)
                for profile in (made, profiles[coarse])
            )
            listed, true_one = (each.against_total or 0.0 for each in (by_chance, real))
            sheet.add(
                f"{fine}s",
                f"{coarse}s",
                epsilon,
                Figure(made.occupied),
                Figure(profiles[coarse].occupied),
                Figure(100 * by_chance.against_zero),
                Figure(100 * real.against_zero),
                Figure(100 * listed),
                Figure(100 * true_one),
                Figure(true_one / listed, Bar("<=", 1)),
            )
    return sheet


def speed(say: Say) -> Sheet:
    """Measure how long a plan takes."""
    sheet = Sheet(
        title="Time of a plan and its page, with the tree for ranges, in one process",
        columns=("cells", "epsilon", "size", "levels", "s"),
        note="With 10^5 occupied cells, counts N(100, 20); with levels N(3, 2), and all roll-ups. Best of 3.",
    )
    for attributes in (1, 2, 5):
        each = [{"name": f"a{i}", "integers": {"low": 0, "high": 10**6 - 1}} for i in range(attributes)]
        domain = ht.Domain.from_dict({"attribute": each})
        for epsilon, size in (("0.1", 100_000), ("0.001", 1), ("50", 100_000)):
            say(f"10^{6 * attributes} cells, epsilon {epsilon}")
            profile = ht.Profile.normal(cells=1e5, mean=100, sd=20)
            job = partial(_page, domain, epsilon, size, profile)
            seconds = best([job], rounds=3)[0]
            sheet.add(f"10^{6 * attributes}", epsilon, f"{size:,}", "none", Figure(seconds, Bar("<", 1)))
    say("a domain with levels")
    bins = {"start": 0, "stop": 100_000, "step": 1, "levels": [10, 100, 1000, 10_000]}
    domain = ht.Domain.from_dict({"attribute": [{"name": name, "bins": bins} for name in ("home", "work")]})
    rolled_up = partial(_page, domain, "0.1", 100_000, ht.Profile.normal(cells=1e5, mean=3, sd=2))
    sheet.add("10^10", "0.1", "100,000", "4 of each", Figure(best([rolled_up], rounds=3)[0], Bar("<", 1)))
    return sheet


def _page(domain: ht.Domain, epsilon: str, size: int, profile: ht.Profile) -> str:
    return str(ht.plan(domain, epsilon=epsilon, size=size, profile=profile))


SHEETS = (predicted, ranges, planned.cubes, planned.sketches, recommended, merged, speed)
