"""The paper's throughput plot: occupied cells summarised a second, by each method, as density falls.

Writes `throughput.csv` and `throughput.png` into `results/`.
Source: Cormode, Procopiuc, Srivastava, Tran, section 5, "Throughput as density varies".
"""

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import hushtable as ht
from benchmarks.report import Figure, Say, Sheet
from benchmarks.tables import made_up
from benchmarks.timing import Job, interleaved
from hushtable.laws.geometric import Geometric
from hushtable.methods.settings import Method
from hushtable.methods.tuning import cutoff_for, threshold_for
from hushtable.noise.samplers import sampler_of

_SHAPE = (1000, 1000)
_CELLS_TOTAL = 10**6
_DENSITIES = {"0.1": 10**5, "0.01": 10**4, "0.001": 10**3}
_EPSILON = Fraction(1, 10)
_ROUNDS = 15
_YARDSTICK = "NumPy, every cell"
_RESULTS = Path(__file__).parent.parent / "results"

_COLOURS = {
    "0.1": "#0072B2",
    "0.01": "#E69F00",
    "0.001": "#009E73",
}  # Okabe and Ito's: safe for all eyes
_MARKERS = {"0.1": "o", "0.01": "s", "0.001": "D"}

_generator = np.random.default_rng()


@dataclass(frozen=True, slots=True)
class Speed:
    """What one method did at one density; a first call builds the tables that later ones find."""

    density: str
    method: str
    occupied_cells: int
    rows: int
    median_seconds: float
    first_call_seconds: float
    occupied_cells_per_second: float


def throughput(say: Say) -> Sheet:
    """Measure all methods at three densities, and write the table and the plot."""
    sheet = Sheet(
        title="Throughput as density falls: m = 10^6, s = n, epsilon = 0.1",
        columns=("density", "method", "rows", "ms", "M cells\na second", "ratio to\nNumPy", "first\nms"),
        note=(
            f"Occupied cells a second; `summarize` alone; medians of {_ROUNDS}; above 1 is faster than "
            "NumPy's geometric - geometric for every cell, plus the counts. Cutoff of the plain filter: "
            "what n cells of an empty table reach; elsewhere half of that. A first call builds tables "
            "that later ones find."
        ),
    )
    speeds = []
    for density, cells in _DENSITIES.items():
        say(f"throughput at density {density}")
        found = _at_density(density, cells)
        yardstick = found[0].median_seconds
        for speed in found:
            sheet.add(
                density,
                speed.method,
                Figure(speed.rows),
                Figure(speed.median_seconds * 1e3),
                Figure(speed.occupied_cells_per_second / 1e6),
                Figure(yardstick / speed.median_seconds),
                Figure(speed.first_call_seconds * 1e3),
            )
        speeds += found
    _RESULTS.mkdir(exist_ok=True)
    _write(speeds, _RESULTS / "throughput.csv")
    _plot(speeds, _RESULTS / "throughput.png")
    return sheet


def _at_density(density: str, cells: int) -> list[Speed]:
    """Measure every method, NumPy first."""
    codes, counts = made_up(_SHAPE, cells)
    table = ht.SparseTable(shape=_SHAPE, codes=codes, counts=counts)
    places = codes[:, 0] * _SHAPE[1] + codes[:, 1]
    chance = -np.expm1(-float(_EPSILON))
    rows = {}

    def numpys() -> None:
        noisy = _generator.geometric(chance, _CELLS_TOTAL) - _generator.geometric(chance, _CELLS_TOTAL)
        noisy[places] += counts
        rows[_YARDSTICK] = noisy.size

    def ours(name: str, method: Method) -> Job:
        def job() -> None:
            rows[name] = len(ht.summarize(table, method, epsilon=_EPSILON))

        return job

    jobs: dict[str, Job] = {_YARDSTICK: numpys}
    jobs |= {name: ours(name, method) for name, method in _methods(cells).items()}
    first = {}
    for name, job in jobs.items():
        for kept in (sampler_of, threshold_for, cutoff_for):
            kept.cache_clear()
        start = perf_counter()
        job()
        first[name] = perf_counter() - start
    for job in jobs.values():
        job()
    times = interleaved(list(jobs.values()), rounds=_ROUNDS)
    return [
        Speed(density, name, cells, rows[name], median(seconds), first[name], cells / median(seconds))
        for name, seconds in zip(jobs, times, strict=True)
    ]


def _methods(size: int) -> Mapping[str, Method]:
    """Return every method of the paper, with settings that publish about `size` rows."""
    cutoff = cutoff_for(size, cells=_CELLS_TOTAL, law=Geometric(_EPSILON), two_sided=True).lowest + 1
    half = cutoff // 2
    return {
        "Everything": ht.Everything(),
        "Priority": ht.Priority(size=size),
        "FilterPriority": ht.FilterPriority(cutoff=half, size=size),
        "Filter(size)": ht.Filter(size=size),
        "Threshold": ht.Threshold(size=size),
        "FilterThreshold": ht.FilterThreshold(cutoff=half, size=size),
        "Filter(cutoff)": ht.Filter(cutoff=cutoff),
    }


def _write(speeds: list[Speed], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(asdict(speeds[0])))
        writer.writeheader()
        writer.writerows(
            {
                name: f"{value:.4g}" if isinstance(value, float) else value
                for name, value in asdict(speed).items()
            }
            for speed in speeds
        )


def _plot(speeds: list[Speed], path: Path) -> None:
    """Draw a line for each method and a mark for each density; further right is faster."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import FuncFormatter

    methods = list(dict.fromkeys(speed.method for speed in speeds))
    canvas = Canvas(figsize=(7.2, 4.3), dpi=200, layout="constrained")
    axes = canvas.add_subplot()
    for row, method in enumerate(methods):
        reached = [speed.occupied_cells_per_second for speed in speeds if speed.method == method]
        axes.plot([min(reached), max(reached)], [row, row], color="#c8c8c8", linewidth=1.5, zorder=1)
    for density, cells in _DENSITIES.items():
        marks = [speed for speed in speeds if speed.density == density]
        axes.scatter(
            [speed.occupied_cells_per_second for speed in marks],
            [methods.index(speed.method) for speed in marks],
            s=52,
            color=_COLOURS[density],
            marker=_MARKERS[density],
            edgecolors="white",
            linewidths=0.8,
            zorder=2,
            label=f"density {density} (n = {cells:,})",
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.set_xlabel("occupied cells summarised per second (log scale)")
    axes.set_yticks(range(len(methods)), methods)
    axes.invert_yaxis()
    axes.axhspan(-0.5, 1.5, color="#f3f3f3", zorder=0)
    axes.text(0.99, 1.4, "touch all 10⁶ cells", transform=axes.get_yaxis_transform(), ha="right", fontsize=8)
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    title = "Throughput as density falls: m = 10⁶ cells, size = n, ε = 0.1"
    canvas.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
    canvas.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9, handletextpad=0.2)
    canvas.savefig(path)


def _short(value: float, _: object) -> str:
    """Return 10 k, 1 M and so on."""
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k"
