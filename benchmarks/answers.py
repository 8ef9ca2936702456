"""Answers against the truth: how often intervals hold, how wide they are, and how long answers take.

Releases are published and asked as a recipient would. Sets of cells are chosen by chance, so cells are
numbered along one attribute and asked for by `release.total(cell=[...])`.
Cost: some four minutes. LODES is read from ../shared/data; without it, its rows are left out and the sheet
says so.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from math import erfc, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.report import Bar, Figure, Say, Sheet, Within
from benchmarks.timing import best

_LODES = Path(__file__).parents[2] / "shared" / "data" / "lodes_ri_main_2019.cells0.parquet"
_EPSILON = "0.1"
_RELEASES = 8
_QUERIES = 300  # of each release
_SMALLEST, _LARGEST = 100, 200_000
_MANY_RELEASES = 200
_ALARM = 1e-6
_SPEED_ROWS, _SPEED_CALLS = 10**6, 1000


class Data(NamedTuple):
    """A table to publish: the true count of every cell."""

    name: str
    counts: NDArray[np.int64]


@cache
def _data() -> list[Data]:
    """Return the paper's default table and the commuters between block groups of Rhode Island."""
    random = np.random.default_rng(6)
    counts = np.zeros(10**6, dtype=np.int64)
    occupied = random.choice(counts.size, 10**5, replace=False)
    counts[occupied] = np.maximum(np.rint(random.normal(100, 20, occupied.size)), 0)
    found = [Data("paper: N(100, 20), density 0.1", counts)]
    if _LODES.exists():
        table = pq.read_table(_LODES)
        counts = np.zeros(815 * 815, dtype=np.int64)
        counts[table["home"].to_numpy() * 815 + table["work"].to_numpy()] = table["count"].to_numpy()
        found.append(Data("LODES block groups", counts))
    return found


def _absent() -> str:
    return "" if len(_data()) == 2 else f" LODES is missing: {_LODES} is not there."


class Published(NamedTuple):
    """A release, and the truth that its answers are about."""

    release: ht.Release
    truth: NDArray[np.float64]


def _publish(data: Data, method: ht.Priority | ht.FilterPriority | ht.Everything, folder: str) -> ht.Release:
    domain = Path(folder) / "cells.toml"
    last = data.counts.size - 1
    domain.write_text(f'[[attribute]]\nname = "cell"\nintegers = {{ low = 0, high = {last} }}\n')
    some = np.flatnonzero(data.counts)
    rows = pa.table({"cell": some, "people": data.counts[some]})
    return ht.publish(
        rows,
        domain=domain,
        epsilon=_EPSILON,
        count_column="people",
        summary=method,
        output=Path(folder) / "released.parquet",
        overwrite=True,
        ledger=False,
    )


class Asked(NamedTuple):
    """What was asked and found: one entry for each query."""

    cells: NDArray[np.float64]
    errors: NDArray[np.float64]
    widths: NDArray[np.float64]
    held: NDArray[np.bool_]


def _ask(
    published: Callable[[], Published],
    say: Say,
    *,
    assume: Literal["even"] | None = None,
    releases: int = _RELEASES,
) -> Asked:
    """Ask releases for sums over sets of cells chosen by chance."""
    random = np.random.default_rng(7)
    found = []
    for number in range(releases):
        say(f"release {number + 1} of {releases}")
        release, truth = published()
        for cells in _chosen(random, truth.size):
            answer = release.total(cell=cells, assume=assume)
            true = truth[cells].sum()
            found.append(
                (cells.size, answer.value - true, answer.high - answer.low, answer.low <= true <= answer.high)
            )
    columns = np.array(found).T
    return Asked(columns[0], columns[1], columns[2], columns[3] == 1)


def _chosen(random: np.random.Generator, cells_total: int) -> Iterator[NDArray[np.int64]]:
    """Yield sets of cells, of sizes that are uniform on a scale of logarithms."""
    for size in np.geomspace(_SMALLEST, _LARGEST, _QUERIES).astype(int):
        yield random.choice(cells_total, size, replace=False, shuffle=False)


_BANDS = ((100, 1000), (1000, 10_000), (10_000, 200_001))


def _coverages(asked: Asked, bar: Within | Bar) -> list[Figure]:
    """Return the coverage in per cent: all in all, and by the number of cells."""
    bands = [(asked.cells >= low) & (asked.cells < high) for low, high in _BANDS]
    return [Figure(100 * asked.held.mean(), bar), *(Figure(100 * asked.held[band].mean()) for band in bands)]


_COVERAGE_COLUMNS = ("all\n%", "10^2..10^3\n%", "10^3..10^4\n%", "10^4..2 10^5\n%")
_HOW = (
    f"{_RELEASES} releases of epsilon {_EPSILON}, {_QUERIES} sets of 100 to 200,000 cells by chance of each."
)


def samples(say: Say) -> Sheet:
    """Measure how often intervals of priority samples hold the truth."""
    sheet = Sheet(
        title="Coverage of nominal 95 % intervals: priority samples, the true answer",
        columns=("table", "size", "threshold", *_COVERAGE_COLUMNS),
        note=f"{_HOW} Few published rows make intervals careful: see sets of 100 cells.{_absent()}",
    )
    for data in _data():
        for size in (100_000, 10_000):
            with TemporaryDirectory() as folder:
                taus: list[float] = []

                def published(
                    data: Data = data, size: int = size, folder: str = folder, taus: list[float] = taus
                ) -> Published:
                    release = _publish(data, ht.Priority(size=size), folder)
                    taus.append(release.threshold or 0.0)
                    return Published(release, data.counts.astype(float))

                asked = _ask(published, say)
            sheet.add(
                data.name, f"{size:,}", Figure(float(np.mean(taus))), *_coverages(asked, Within(93, 97))
            )
    return sheet


def corrected(say: Say) -> Sheet:
    """Measure answers that are corrected by the noisy total against the truth."""
    sheet = Sheet(
        title='Nominal 95 % intervals: filter-priority corrected by the noisy total, assume="even"',
        columns=("table", "cutoff", "size", *_COVERAGE_COLUMNS, "median of\nwidth/RMSE"),
        note=(
            f"{_HOW} RMSE: of sets of about the same size (20 bands). The ideal ratio is 3.92. A high cutoff "
            "leaves open how suppressed counts are spread; the interval then allows for the worst "
            f"case.{_absent()}"
        ),
    )
    for data in _data():
        for cutoff, size in ((40, 100_000), (40, 10_000), (50, 100_000), (65, 10_000)):
            method = ht.FilterPriority(cutoff=cutoff, size=size)
            with TemporaryDirectory() as folder:

                def published(
                    data: Data = data, method: ht.FilterPriority = method, folder: str = folder
                ) -> Published:
                    return Published(_publish(data, method, folder), data.counts.astype(float))

                asked = _ask(published, say, assume="even")
            figures = _coverages(asked, Bar(">=", 93))
            width = Figure(_width_ratio(asked), Bar("<=", 5))
            sheet.add(data.name, f"{cutoff}", f"{size:,}", *figures, width)
    return sheet


def named(say: Say) -> Sheet:
    """Measure corrected answers for every value of every attribute of real tables."""
    sheet = Sheet(
        title="Nominal 95 % intervals of groups: the default, filter-priority corrected by the noisy total",
        columns=("table", "by", "groups", "rows hold of\nthe total %", "held\n%", "median of\nwidth/RMSE"),
        note=(
            "One release of each, with the domains of benchmarks/domains. Groups are no sets by chance: "
            "intervals are bounds, whatever the cutoff hid. Held: all values of all attributes, each once."
        ),
    )
    for name, publish, truth in _named_tables():
        say(name)
        with TemporaryDirectory() as folder:
            release = publish(Path(folder) / "released.parquet")
        shares = Figure(100 * float(release.weights.sum()) / (release.noisy_total or 1))
        all_held: list[bool] = []
        for attribute in release.domain.names:
            groups = release.by(attribute)
            true = truth(attribute)
            errors = np.asarray(groups["estimate"]) - true
            held = (np.asarray(groups["low"]) <= true) & (true <= np.asarray(groups["high"]))
            widths = np.asarray(groups["high"]) - np.asarray(groups["low"])
            ratio = float(np.median(widths)) / sqrt(float((errors**2).mean()))
            all_held += held.tolist()
            figures = shares, Figure(100 * float(held.mean())), Figure(ratio)
            sheet.add(name, attribute, f"{len(true):,}", *figures)
        sheet.add(
            name,
            "all",
            f"{len(all_held):,}",
            shares,
            Figure(100 * float(np.mean(all_held)), Bar(">=", 95)),
            "",
        )
    return sheet


_Truth = Callable[[str], NDArray[np.float64]]


def _named_tables() -> Iterator[tuple[str, Callable[[Path], ht.Release], _Truth]]:
    """Yield real tables with how to publish them, and their true marginals."""
    domains, data = Path(__file__).parent / "domains", _LODES.parent
    devices = "SELECT CAST(deviceId AS VARCHAR) AS device, timestamp, val FROM data"
    places = {"attribute": [{"name": name, "integers": {"low": 0, "high": 814}} for name in ("home", "work")]}
    pairs = ht.Domain.from_dict(places)
    adult, metr, flights = (
        ht.Domain.load(domains / f"{name}.toml") for name in ("adult", "metr-la", "flights")
    )
    for name, file, domain, settings, epsilon, size in (
        ("adult", data / "adult.parquet", adult, {}, "1", 1000),
        ("metr-la", data / "metr_la_week.parquet", metr, {"query": devices}, "1", 50_000),
        ("flights", data / "flights_3m.parquet", flights, {}, "1", 100_000),
        ("LODES block groups", _LODES, pairs, {"count_column": "count"}, "1", 20_000),
        ("LODES, epsilon 0.1", _LODES, pairs, {"count_column": "count"}, "0.1", 20_000),
    ):
        if file.exists():
            publish: Callable[..., ht.Release] = ht.publish
            chosen: dict[str, Any] = {"domain": domain, **settings}
            ready = partial(publish, file, epsilon=epsilon, size=size, **chosen)
            yield name, partial(_published_to, ready), _marginals(ht.count(file, **chosen), domain)


def _published_to(publish: Callable[..., ht.Release], output: Path) -> ht.Release:
    release = publish(output=output)
    release.to_arrow()  # before the file goes
    return release


def _marginals(table: ht.SparseTable, domain: ht.Domain) -> _Truth:
    codes = domain.space.unpack(table.keys)

    def sums(name: str) -> NDArray[np.float64]:
        place = domain.names.index(name)
        counts = table.counts.astype(np.float64)
        return np.asarray(np.bincount(codes[:, place], weights=counts, minlength=domain.shape[place]), float)

    return sums


def _width_ratio(asked: Asked) -> float:
    """Return the median of width over root mean square error, taken among sets of like size."""
    order = np.argsort(asked.cells, kind="stable")
    ratios = [
        asked.widths[band] / sqrt(float((asked.errors[band] ** 2).mean()))
        for band in np.array_split(order, 20)
    ]
    return float(np.median(np.concatenate(ratios)))


def unbiased(say: Say) -> Sheet:
    """Measure the mean error of totals over many releases."""
    sheet = Sheet(
        title=f"Mean error over {_MANY_RELEASES} priority releases of 10,000 rows",
        columns=("table", "sum over", "truth", "mean error", "standard error", "chance"),
        note=(
            "The chance is that of a mean error as large or larger if answers are unbiased; below "
            f"{_ALARM:g} (the alarm rate of each row) is a bug.{_absent()}"
        ),
    )
    for data in _data():
        half = np.arange(data.counts.size // 2)
        errors = []
        with TemporaryDirectory() as folder:
            for number in range(_MANY_RELEASES):
                say(f"{data.name}: release {number + 1} of {_MANY_RELEASES}")
                release = _publish(data, ht.Priority(size=10_000), folder)
                some = release.total(cell=ht.between(0, half.size)).value - data.counts[half].sum()
                errors.append((release.total().value - data.counts.sum(), some))
        for which, found, true in zip(
            ("all cells", "half of them"),
            np.array(errors).T,
            (data.counts.sum(), data.counts[half].sum()),
            strict=True,
        ):
            deviation = float(found.std(ddof=1)) / sqrt(found.size)
            chance = erfc(abs(float(found.mean())) / deviation / sqrt(2))
            sheet.add(
                data.name,
                which,
                f"{true:,}",
                Figure(float(found.mean())),
                Figure(deviation),
                Figure(chance, Bar(">=", _ALARM)),
            )
    return sheet


def against_everything(say: Say) -> Sheet:
    """Measure corrected answers against those of noise on every cell."""
    cells = 5000
    sheet = Sheet(
        title=f"Root mean square error of sums over {cells:,} cells by chance, epsilon {_EPSILON}",
        columns=("table", "filter-priority 40\nwith the noisy total", "bare", "noise on every cell", "ratio"),
        note=f"{_RELEASES} releases of each, {_QUERIES} sets of each release.{_absent()}",
    )
    random = np.random.default_rng(8)
    for data in _data():
        errors: dict[str, list[float]] = {"corrected": [], "bare": [], "everything": []}
        with TemporaryDirectory() as folder:
            for number in range(_RELEASES):
                say(f"{data.name}: release {number + 1} of {_RELEASES}")
                small = _publish(data, ht.FilterPriority(cutoff=40, size=100_000), folder)
                small.to_arrow()  # before the file is replaced
                whole = _publish(data, ht.Everything(), folder)
                for _ in range(_QUERIES):
                    some = random.choice(data.counts.size, cells, replace=False, shuffle=False)
                    true = data.counts[some].sum()
                    errors["corrected"].append(small.total(cell=some).value - true)
                    errors["bare"].append(small.total(cell=some, corrected=False).value - true)
                    errors["everything"].append(float(whole.counts[some].sum() - true))
        found = {name: sqrt(float(np.mean(np.square(each)))) for name, each in errors.items()}
        ratio = found["corrected"] / found["everything"]
        sheet.add(data.name, *map(Figure, found.values()), Figure(ratio, Bar("<", 1)))
    return sheet


def speed(say: Say) -> Sheet:
    """Measure how long answers take."""
    sheet = Sheet(
        title=f"Answers from a release of {_SPEED_ROWS:,} rows over three attributes, in one process",
        columns=("asked", "s", "DuckDB\ns", "ratio"),
        note=(
            "Conditions of every form. `by` gives error bars for every group; DuckDB runs SELECT ..., "
            "sum(weight) GROUP BY on the same rows in memory, as Arrow. Best of 7, rows read before."
        ),
    )
    with TemporaryDirectory() as folder:
        say("a large release")
        release = _large_release(folder)
        rows = release.to_arrow()
        release.total(home=1)
        random = np.random.default_rng(9)
        asks = list(_questions(random))
        for name, some in (("keyword", asks), ("SQL", [_in_sql(ask) for ask in asks])):
            say(f"{_SPEED_CALLS} totals by {name}")
            seconds = best([partial(_ask_all, release, some)], rounds=2)[0]
            sheet.add(f"{_SPEED_CALLS:,} totals, conditions by {name}", Figure(seconds, Bar("<", 10)), "", "")
        for names in ("home", "work", "hour"):
            say(f"by {names}")
            with duckdb.connect() as engine:
                engine.register("release", rows)
                text = f"SELECT {names}, sum(weight) FROM release GROUP BY {names}"
                ours, theirs = best([partial(release.by, names), partial(_run, engine, text)], rounds=7)
            sheet.add(f"by {names}", Figure(ours), Figure(theirs), Figure(ours / theirs, Bar("<=", 2)))
    return sheet


def _ask_all(release: ht.Release, conditions: Sequence[dict[str, object] | str]) -> None:
    for condition in conditions:
        release.total(condition)


def _run(engine: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    return engine.sql(text).to_arrow_table()


def _large_release(folder: str) -> ht.Release:
    """Return a release of 10^6 rows over homes, work places and hours."""
    domain = Path(folder) / "commute.toml"
    domain.write_text(
        '[[attribute]]\nname = "home"\nintegers = { low = 0, high = 9999 }\n'
        '[[attribute]]\nname = "work"\nintegers = { low = 0, high = 9999 }\n'
        '[[attribute]]\nname = "hour"\nbins = { start = 0, stop = 24, step = 1 }\n'
    )
    random = np.random.default_rng(10)
    homes = random.integers(0, 10_000, 2_000_000)
    rows = pa.table(
        {
            "home": homes,
            "work": (homes + random.integers(0, 300, homes.size)) % 10_000,
            "hour": random.integers(0, 24, homes.size),
        }
    )
    method = ht.Priority(size=_SPEED_ROWS)
    return ht.publish(
        rows, domain=domain, epsilon=1, summary=method, output=Path(folder) / "commute.parquet", ledger=False
    )


def _questions(random: np.random.Generator) -> Iterator[dict[str, object]]:
    """Yield conditions: equalities, ranges and lists on any attribute."""
    for number in range(_SPEED_CALLS):
        start, hour = int(random.integers(0, 5000)), int(random.integers(0, 12))
        match number % 4:
            case 0:
                yield {"home": start, "hour": ht.between(hour, hour + 6)}
            case 1:
                yield {"work": ht.between(start, start + 2000), "hour": hour}
            case 2:
                yield {"home": ht.between(start, start + 3000), "work": ht.between(start, start + 1000)}
            case _:
                yield {"work": [int(each) for each in random.integers(0, 10_000, 20)]}


def _in_sql(condition: dict[str, object]) -> str:
    """Return the same condition as SQL."""
    parts = []
    for name, value in condition.items():
        if isinstance(value, list):
            parts.append(f"{name} IN ({', '.join(map(str, value))})")
        elif isinstance(value, int):
            parts.append(f"{name} = {value}")
        else:
            low, high = value.low, value.high  # type: ignore[attr-defined]
            parts.append(f"{name} >= {low} AND {name} < {high}")
    return " AND ".join(parts)


SHEETS = (samples, corrected, named, unbiased, against_everything, speed)
