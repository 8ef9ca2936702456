"""Count sketches: their size, time and variance, how many rows they should have, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import hypot
from statistics import median

from paper.claims import Claim, Verdict, above, below, judged, within
from paper.drawing import Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, Value, digits, measured, ratio
from paper.releasing import whole
from paper.report import Picture
from paper.sketching import FEW, PEOPLE, TENFOLD, depth_run, subset_run, time_run

TITLE = "Sketches"
ALONE = True

_DEPTHS = (1, 2, 3, 5, 10)
_TABLES = ("normal", "Zipf")
_MORE = {1: 400, 2: 80, 3: 40}  # runs, where a few heavy cells decide how far off a run is
_BESIDE = ("filter", "priority", "filter-priority")
_ONE, _MEDIAN = "sketch, one row", "sketch, median of three rows"
_DOUBLED = ("occupied cells", "buckets", "both", "rows")


def missing() -> str | None:
    """Return why it cannot run: it always can."""
    return None


def _cells(quick: bool) -> int:
    return 100_000 if quick else 1_000_000


def _size(quick: bool) -> int:
    """Return how many cells are occupied: as many numbers as a summary has."""
    return _cells(quick) // 10


def _runs(quick: bool) -> int:
    return 3 if quick else 20


def _sizes(quick: bool) -> tuple[int, ...]:
    if quick:
        return (100, 1000, 10_000, 50_000)
    return (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)


def _widths(quick: bool) -> dict[int, tuple[int, ...]]:
    """Return widths that stay while rows are added, with how many rows: n, m, and ten times m."""
    cells = _cells(quick)
    return {cells // 10: _DEPTHS, cells: (1, 2, 3, 5), 10 * cells: (1, 2, 3)}


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    data: dict[str, Value] = {
        "cells": _cells(quick),
        "density": 0.1,
        "mean": 100,
        "sd": 20,
        "epsilon": "0.1",
    }
    runs, size = _runs(quick), _size(quick)
    return [
        *_depth_settings(data, runs, size, quick),
        *_subset_settings(data, runs, size, quick),
        *_times(quick),
    ]


def _depth_settings(data: dict[str, Value], runs: int, size: int, quick: bool) -> list[Setting]:
    shapes: list[tuple[dict[str, Value], int]] = [
        (
            {"table": table, "kept": "size", "width": size // depth, "depth": depth},
            _MORE.get(depth, runs) if table == "Zipf" and not quick else runs,
        )
        for table in _TABLES
        for depth in _DEPTHS
    ]
    shapes += [
        ({"table": "normal", "kept": "width", "width": width, "depth": depth}, max(3, runs // 4))
        for width, depths in _widths(quick).items()
        for depth in depths
    ]
    shapes.append(({"table": TENFOLD, "kept": "size", "width": size, "depth": 1}, max(3, runs // 4)))
    return [
        {"figure": "depth"} | data | shape | {"run": run} for shape, often in shapes for run in range(often)
    ]


def _subset_settings(data: dict[str, Value], runs: int, size: int, quick: bool) -> list[Setting]:
    arms: dict[str, dict[str, Value]] = {
        "filter": {"method": "filter", "cutoff": 50},
        "priority": {"method": "priority", "size": size},
        "filter-priority": {"method": "filter-priority", "cutoff": 40, "size": size},
        _ONE: {"width": size, "depth": 1},
        _MEDIAN: {"width": size // 3, "depth": 3},
    }
    asked: dict[str, Value] = {
        "sizes": " ".join(map(str, _sizes(quick))),
        "questions": 100 if quick else 200,
    }
    return [
        {"figure": "subsets", "table": table} | data | asked | choice | {"arm": arm, "run": run}
        for table in _TABLES
        for arm, choice in arms.items()
        for run in range(runs)
    ]


def _times(quick: bool) -> list[Setting]:
    runs, rounds, first = (3, 3, 1 << 15) if quick else (8, 5, 1 << 18)
    return [
        {"figure": "time", "doubled": what, "first": first, "steps": 3, "rounds": rounds, "run": run}
        for what in (*_DOUBLED, "cells")
        for run in range(runs)
    ]


def run(setting: Setting) -> dict[str, float]:
    """Draw sketches, or what is beside them, and measure."""
    match setting["figure"]:
        case "depth":
            return depth_run(setting)
        case "subsets":
            return subset_run(setting)
    return time_run(setting)


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    cells, size = _cells(quick), _size(quick)
    depth = results.where(figure="depth")
    return (
        f"m = {cells:,} cells, density 0.1, epsilon 0.1. *Normal*: the paper's counts N(100, 20), occupied "
        "anywhere. *Zipf*: the same cells, where the count of rank r is in proportion to 1/r, with as many "
        "people. Where cells lie is nothing to a sketch, which hashes them, so the skew is one of counts. "
        f"{len(depth.where(table='normal', kept='size', depth=1))} runs (Zipf: "
        + ", ".join(
            f"{len(depth.where(table='Zipf', kept='size', depth=number))} with d = {number}"
            for number in _DEPTHS
        )
        + "), "
        f"{len(depth.where(table='normal', kept='width', depth=1, width=cells))} where the width stays. "
        "Point estimates are those of all m cells. *Sharing* is what other cells in the same buckets add, "
        "*noise* what privacy adds: both are known here, for hash functions are published and tables made "
        "up. *First approach*: noise on every cell, then the sketch of that, by the same hash functions. "
        f"Sketches have {size:,} buckets beside samples of {size:,} rows, with the parameters of figure 3. "
        "Answers of several rows are the mean or the median of what each says of the whole subset. Times "
        f"are the least of rounds in which all steps take turns, over "
        f"{len(results.where(figure='time', doubled='both'))} runs; 2^60 cells where nothing else is said."
    )


def _growth(results: Results, what: str) -> list[Measured]:
    """Return the ratios of seconds from each step to the next, run by run."""
    some = results.where(figure="time", doubled=what)
    steps = sorted(some.rows[0][1])
    return [
        measured([b / a for a, b in zip(some.values(one), some.values(other), strict=True)])
        for one, other in pairwise(steps)
    ]


def tables(results: Results, quick: bool) -> list[str]:
    """Return times, variances in parts, and errors beside samples."""
    return [
        "Milliseconds of a sketch as something doubles, and the ratio to the step before:\n\n"
        + "\n".join(_time_lines(results)),
        "Variance of point estimates, by the mean of rows:\n\n" + "\n".join(_variance_lines(results)),
        "Mean size of errors of the occupied cells, one by one:\n\n" + "\n".join(_cell_lines(results)),
    ]


def _time_lines(results: Results) -> list[str]:
    first = whole(results.where(figure="time").rows[0][0], "first")
    lines = ["| doubled | from | 1 | 2 | 4 | 8 |", "|---|---|---|---|---|---|"]
    names = {
        "occupied cells": f"n = {first:,}, w = {FEW:,}, d = 1",
        "buckets": f"n = {FEW:,}, w = {first:,}, d = 1",
        "both": f"n = w = {first:,}, d = 1",
        "rows": f"n = w = {first:,}, d = 1",
    }
    for what, start in names.items():
        some = results.where(figure="time", doubled=what)
        ratios = ["", *(f" ({value.mean:.2f})" for value in _growth(results, what))]
        times = [1000 * median(some.values(f"seconds, step {step}")) for step in range(len(ratios))]
        shown = " | ".join(f"{time:.3g}{more}" for time, more in zip(times, ratios, strict=True))
        lines.append(f"| {what} | {start} | {shown} |")
    return lines


def _variance_lines(results: Results) -> list[str]:
    lines = [
        "| table | w | d | sharing | noise | measured | measured / stated | best mean size of errors |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key, group in results.where(figure="depth").grouped("table", "kept", "width", "depth").items():
        table, _, width, depth = key
        parts = [group.of(name).mean for name in ("sharing", "noise", "variance")]
        share = ratio(group.values("variance"), group.values("stated"))
        errors = {name: group.of(name) for name in _ways(group)}
        best = min(errors, key=lambda name: errors[name].mean)
        way = " (median)" if best != "error" else ""
        shown = " | ".join(f"{part:,.0f}" for part in parts)
        lines.append(f"| {table} | {width:,} | {depth} | {shown} | {share} | {errors[best]}{way} |")
    return lines


def _ways(group: Results) -> list[str]:
    return [name for name in ("error", "error of the median") if name in group.rows[0][1]]


def _cell_lines(results: Results) -> list[str]:
    lines = [f"| summary | {' | '.join(_TABLES)} |", "|---|---|---|"]
    for arm in (*_BESIDE, _ONE, _MEDIAN):
        errors = [
            str(results.of("error of an occupied cell", figure="subsets", table=table, arm=arm))
            for table in _TABLES
        ]
        lines.append(f"| {arm} | {' | '.join(errors)} |")
    return lines


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return what rows do to the error, and sketches beside samples."""
    depth, subsets = results.where(figure="depth"), results.where(figure="subsets")
    size = _size(quick)
    parts = [_parts(depth.where(table="normal", kept="size"), f"normal, {size:,} buckets in all")]
    parts += [
        _parts(depth.where(table="normal", kept="width", width=width), f"normal, w = {width:,} buckets a row")
        for width in _widths(quick)
    ]
    errors = [
        _errors(depth.where(table=table, kept="size"), f"{table}, {size:,} buckets in all")
        for table in _TABLES
    ]
    sizes = _sizes(quick)
    compared = [
        Panel(
            f"{table}, {size:,} rows or buckets",
            "cells of the subset",
            "median relative error, %" if name == "relative" else "mean |error|",
            [
                Line(arm, sizes, [subsets.of(f"{name} {each}", table=table, arm=arm) for each in sizes])
                for arm in (*_BESIDE, _ONE, _MEDIAN)
            ],
            percent=name == "relative",
        )
        for name in ("error", "relative")
        for table in _TABLES
    ]
    return [
        Picture(
            "sketches-depth",
            "Point estimates of a sketch with more and more rows: the variance in its parts, and the size of "
            "errors.",
            drawing([*parts, *errors], columns=3),
            depth,
        ),
        Picture(
            "sketches-comparison",
            "Subset queries: sketches beside filters and samples of the same size.",
            drawing(compared, columns=2),
            subsets,
        ),
    ]


def _parts(results: Results, title: str) -> Panel:
    depths = [int(str(depth)) for depth in results.different("depth")]
    lines = [
        Line(label, depths, [results.of(name, depth=depth) for depth in depths])
        for name, label in (
            ("sharing", "sharing of buckets"),
            ("noise", "noise"),
            ("variance", "sketch, mean of rows"),
            ("stated", "by the formula"),
        )
    ]
    return Panel(title, "rows d of the sketch", "variance of a point estimate", lines, ticks=depths)


def _errors(results: Results, title: str) -> Panel:
    lines = []
    for name, label in (
        ("error", "sketch, mean of rows"),
        ("error of the median", "sketch, median of rows"),
        ("error of the first approach", "sketch of the noisy table, mean"),
    ):
        depths = [depth for depth in _DEPTHS if depth > 2 or "median" not in name]
        lines.append(Line(label, depths, [results.of(name, depth=depth) for depth in depths]))
    return Panel(
        title,
        "rows d of the sketch",
        "mean |error| of a point estimate",
        lines,
        log_y="Zipf" in title,
        ticks=_DEPTHS,
    )


_WHERE = "Appendix C, sketches"
_BEFORE = "Appendix B, count sketch"


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    depth = results.where(figure="depth")
    return [
        *_cost_claims(results, depth),
        *_variance_claims(depth),
        *_depth_claims(depth, quick),
        *_first_approach_claims(depth, quick),
        _sampling_claim(results.where(figure="subsets"), quick),
    ]


def _cost_claims(results: Results, depth: Results) -> list[Claim]:
    sizes = depth.grouped("width", "depth")
    right = [
        rows == int(str(width)) * int(str(number))
        for (width, number), group in sizes.items()
        for rows in group.values("rows")
    ]
    growth = {what: _growth(results, what) for what in _DOUBLED}
    wider = _growth(results, "cells")
    comes = {
        int(str(number)): (max(group.values("change by coming")), max(group.values("change by moving")))
        for (number,), group in depth.grouped("depth").items()
    }
    return [
        Claim(
            _WHERE,
            "the sketch has size w x d",
            f"So it was {sum(right):,} times of {len(right):,}, for {len(sizes)} sizes.",
            judged(right),
            "always.",
        ),
        Claim(
            _WHERE,
            "it is made in time O((n + w) d)",
            "From one doubling to the next, times as long: "
            + "; ".join(
                f"{what} doubled: {', '.join(f'{value.mean:.2f}' for value in each)}"
                for what, each in growth.items()
            )
            + "; in a domain 2^12 times as large, with the same n, w and d: "
            + ", ".join(f"{value.mean:.2f}" for value in wider)
            + ".",
            judged(
                [
                    *(below(value, 2.3) for each in growth.values() for value in each),
                    *(below(value, 1.3) for value in wider),
                ]
            ),
            "surely less than 2.3 times as long with each doubling (an eighth more than double is left to "
            "memory), and less than 1.3 times in each wider domain.",
        ),
        Claim(
            _WHERE,
            "over d rows of the sketch, the sensitivity is 2d",
            "One person who comes or goes, which is the paper's own notion elsewhere, changes buckets by "
            f"exactly d in all; who moves from cell to cell, by up to 2d (d = {_listed(comes)}, "
            f"{PEOPLE:,} people each). So noise for d suffices, half as wide.",
            judged(change == 2 * number for number, (change, _) in comes.items()),
            "the most that one person's coming or going changes is 2d.",
        ),
    ]


def _listed(values: Iterable[int]) -> str:
    return ", ".join(f"{value:,}" for value in values)


def _variance_claims(depth: Results) -> list[Claim]:
    settings = depth.grouped("table", "width", "depth", "kept")
    shares = {key: ratio(group.values("variance"), group.values("stated")) for key, group in settings.items()}
    low, high = (pick(shares, key=lambda key: shares[key].mean) for pick in (min, max))
    size = depth.where(kept="size", depth=1)
    printed = {
        table: ratio(some.values("variance"), some.values("printed"))
        for table in ("normal", TENFOLD, "Zipf")
        for some in [size.where(table=table)]
    }
    grows = _quotient(printed[TENFOLD], printed["normal"])
    bias = {table: depth.where(kept="size", table=table).of("bias") for table in _TABLES}
    fixed = depth.where(
        kept="width", width=min(int(str(w)) for w in depth.where(kept="width").different("width"))
    )
    fewer = {
        (name, number): ratio(fixed.where(depth=number).values(name), fixed.where(depth=1).values("sharing"))
        for name in ("sharing", "sharing of the median")
        for number in _DEPTHS[1:]
        if number > 2 or name == "sharing"
    }
    return [
        Claim(
            _WHERE,
            "the variance of point estimates is O(‖M‖₂/(wd) + d/ε²)",
            f"As printed, the variance is {printed['normal']} times that expression on the normal table, "
            f"{printed['Zipf']} on Zipf's, and {printed[TENFOLD]} on the normal one with tenfold counts, "
            f"all with d = 1. With tenfold counts it is {grows} times as much, so that no constant will do.",
            below(grows, 2),
            "tenfold counts change the ratio of variance and expression by a factor below 2.",
        ),
        Claim(
            _WHERE,
            "the same with the squared norm: ((‖M‖₂² - M_i²)/w + v)/d, with noise of variance v at rate ε/d",
            f"Measured by stated, over {len(shares)} tables and shapes: from {shares[low]} "
            f"({_named(low)}) to {shares[high]} ({_named(high)}).",
            judged(within(value, 0.97, 1.03) for value in shares.values()),
            "within 3 % everywhere, as far as chance allows for.",
        ),
        Claim(
            _BEFORE,
            "the bucket times the sign is an unbiased estimate",
            "Mean error of the occupied cells, which count 100 on average, at all depths of one size: "
            + "; ".join(f"{table}: {value}" for table, value in bias.items())
            + ".",
            judged(within(value, -1, 1) for value in bias.values()),
            "less than 1 off, as far as chance allows for.",
        ),
        Claim(
            _BEFORE,
            "the mean or median of d rows reduces the variance further",
            "Without noise and with the same width, as a part of the variance of one row: "
            + "; ".join(
                f"{'median' if 'median' in name else 'mean'} of {number}: {value}"
                for (name, number), value in fewer.items()
            )
            + ".",
            judged(below(value, 1) for value in fewer.values()),
            "surely less than that of one row, each.",
        ),
    ]


def _quotient(one: Measured, other: Measured) -> Measured:
    """Return the ratio of two means that have no runs in common."""
    found = one.mean / other.mean
    return Measured(found, found * hypot(one.error / one.mean, other.error / other.mean), one.runs)


def _named(key: tuple[Value, ...]) -> str:
    table, width, depth, _ = key
    return f"{table}, w = {width:,}, d = {depth}"


def _depth_claims(depth: Results, quick: bool) -> list[Claim]:
    size, widths = _size(quick), _widths(quick)
    normal = depth.where(table="normal")
    kept = {f"w = {width:,}": normal.where(kept="width", width=width) for width in widths}
    whole_size = {f"w d = {size:,}": normal.where(kept="size")}
    steps = {
        (title, name): [
            ratio(some.where(depth=b).values(name), some.where(depth=a).values(name))
            for a, b in pairwise(_depths(some))
        ]
        for title, some in (kept | whole_size).items()
        for name in ("sharing", "noise")
    }
    shares = {
        title: ratio(some.where(depth=1).values("noise"), some.where(depth=1).values("variance"))
        for title, some in kept.items()
    }
    groups = {f"{table}, w d = {size:,}": depth.where(table=table, kept="size") for table in _TABLES}
    groups |= {f"normal, {title}": some for title, some in kept.items()}
    others = {title: _against_one_row(some) for title, some in groups.items()}
    return [
        Claim(
            _WHERE,
            "there is a trade-off: more rows reduce the sketching error, and increase the privacy error",
            "Variances from the fewest to the most rows: "
            + "; ".join(
                f"{title}: sharing {_ends(some, 'sharing')}, noise {_ends(some, 'noise')}"
                for title, some in (kept | whole_size).items()
            )
            + ". At a given size w d, rows do nothing to sharing.",
            judged(
                below(value, 1) if name == "sharing" else above(value, 1)
                for (_, name), each in steps.items()
                for value in each
            ),
            "each step in d surely reduces sharing and surely increases noise, both where w stays and where "
            "w d stays.",
        ),
        Claim(
            _WHERE,
            "w can be so large that the second term, of privacy, dominates",
            "The share of noise in the variance at d = 1: "
            + "; ".join(f"{title}: {value.percent()}" for title, value in shares.items())
            + f". A sample has {size:,} rows, and all noisy counts are {_cells(quick):,}.",
            judged(above(value, 0.5) for value in shares.values()),
            "surely more than half, at each width.",
        ),
        Claim(
            _WHERE,
            "small values of d are the best setting, such as d = 1",
            "Least mean size of errors: "
            + "; ".join(f"{title}: {_best(some)}" for title, some in groups.items())
            + ". Least variance by the mean, on the normal table: "
            + "; ".join(f"{title}: d = {_least_variance(some)}" for title, some in kept.items())
            + ".",
            judged(below(value, 1) for each in others.values() for value in each),
            "one row has surely less error than the mean and the median of any other number of rows, at the "
            "same size and at the same width.",
        ),
    ]


def _depths(results: Results) -> list[int]:
    return [int(str(depth)) for depth in results.different("depth")]


def _ends(results: Results, name: str) -> str:
    depths = _depths(results)
    first, last = (results.of(name, depth=each).mean for each in (depths[0], depths[-1]))
    return f"{first:,.0f} to {last:,.0f}"


def _against_one_row(results: Results) -> list[Measured]:
    """Return the error of one row as a part of that of more rows, by mean and by median."""
    one = results.of("error", depth=1)
    return [
        _quotient(one, some.of(name))
        for depth in _depths(results)
        if depth > 1
        for some in [results.where(depth=depth)]
        for name in _ways(some)
    ]


def _best(results: Results) -> str:
    errors = {
        (depth, name): results.of(name, depth=depth)
        for depth in _depths(results)
        for name in _ways(results.where(depth=depth))
    }
    depth, name = min(errors, key=lambda key: errors[key].mean)
    way = "" if depth == 1 else " by the median" if "median" in name else " by the mean"
    one = f" ({errors[1, 'error']} with d = 1)" if depth > 1 else ""
    return f"d = {depth}{way}, {errors[depth, name]}{one}"


def _least_variance(results: Results) -> int:
    return min(_depths(results), key=lambda depth: results.of("variance", depth=depth).mean)


def _first_approach_claims(depth: Results, quick: bool) -> list[Claim]:
    normal = depth.where(table="normal")
    small = {
        f"w = {width:,}, d = {number}": group
        for (width, number), group in normal.where(kept="size").grouped("width", "depth").items()
    }
    wide = {
        f"w = {width:,}, d = 1": normal.where(kept="width", width=width, depth=1) for width in _widths(quick)
    }
    shapes = wide | small
    first = "noise of a bucket, first approach"
    much = {
        title: ratio(group.values(first), group.values("noise of a count")) for title, group in shapes.items()
    }
    gains = {
        title: ratio(group.values("noise of a bucket"), group.values(first))
        for title, group in shapes.items()
    }
    errors = {
        title: ratio(group.values("error"), group.values("error of the first approach"))
        for title, group in small.items()
    }
    return [
        Claim(
            _WHERE,
            "the sketch of the noisy table has significant noise in each bucket",
            "Its variance, by that of one noisy count: "
            + "; ".join(f"{title}: {value.mean:.3g}" for title, value in much.items())
            + ". It is the number of cells by the number of buckets in a row.",
            judged(above(value, 2) for value in much.values()),
            "surely more than twice the noise of one count, at every shape measured.",
        ),
        Claim(
            _WHERE,
            "noise on the sketch itself improves on this considerably",
            "Its noise in a bucket, by that of the first approach: "
            + "; ".join(f"{title}: {value.mean:.3g}" for title, value in gains.items())
            + ". It is d² by the number of cells for each bucket, a loss where d² is more. Mean size of "
            "errors of point estimates, sharing included, by those of the first approach: "
            + "; ".join(f"{title}: {value}" for title, value in errors.items())
            + ".",
            judged(below(value, 2 / 3) for value in gains.values()),
            "surely less than two thirds of the noise, at every shape measured.",
        ),
    ]


def _sampling_claim(subsets: Results, quick: bool) -> Claim:
    ratios = {
        (table, arm, other, size): subsets.where(table=table).ratio(
            f"error {size}", {"arm": arm}, {"arm": other}
        )
        for table in _TABLES
        for arm in (_ONE, _MEDIAN)
        for other in _BESIDE
        for size in _sizes(quick)
    }
    told = []
    for table in _TABLES:
        for arm in (_ONE, _MEDIAN):
            parts = []
            for other in _BESIDE:
                means = [ratios[table, arm, other, size].mean for size in _sizes(quick)]
                parts.append(f"{other} {digits(min(means), 3)} to {digits(max(means), 3)}")
            told.append(f"{table}, {arm}: {', '.join(parts)}")
    cases = [above(value, 1.5) for value in ratios.values()]
    return Claim(
        _WHERE,
        "the error is considerably higher than for sampling or filtering",
        "Ratios of errors to those of the others, over sizes of subsets: "
        + "; ".join(told)
        + f". Surely more than 1.5 in {cases.count(Verdict.HOLDS)} of {len(cases)} cases.",
        judged(cases),
        "surely more than 1.5 times the error of each of them, for every subset size and both tables.",
    )
