"""Sums over ranges from dyadic ranges, with and without the consistency check (figure "dyadic")."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import numpy as np

import hushtable as ht
from paper.answering import range_sums
from paper.claims import Claim, Verdict, above, below, judged, within
from paper.data import Ranges, Table, synthetic
from paper.drawing import LOOKS, Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, Value, digits, ratio
from paper.releasing import range_run, sizes_of, whole
from paper.report import Picture

TITLE = "Dyadic ranges, wavelets and trees"
ALONE = False

_DYADIC = ("filter", "priority", "filter-priority")


def missing() -> str | None:
    """Return why it cannot run: it always can."""
    return None


def _cells(quick: bool) -> int:
    return 50_000 if quick else 1_000_000


def _widths(quick: bool) -> tuple[int, ...]:
    return (100, 1000, 10_000) if quick else (100, 1000, 5000, 10_000, 50_000, 100_000, 500_000)


def _questions(quick: bool) -> int:
    return 100 if quick else 300


def _heights(quick: bool) -> tuple[int, ...]:
    return (8, 11, 14) if quick else (8, 10, 12, 14, 16, 18, 20)


def arms_of(size: int, *, low: int) -> dict[str, dict[str, Value]]:
    """Return every way to answer ranges: the paper's, and ours beside them.

    `low` is the cutoff of filter-priority: two units of noise, so that there is something left to sample.
    """
    kept: dict[str, Value] = {"size": size}
    sampled: dict[str, Value] = {"method": "filter-priority", "size": size, "cutoff": low}
    return {
        "geometric": {"method": "geometric", "structure": "cells"},
        "geometric, dyadic": {"method": "geometric", "structure": "dyadic"},
        "filter": {"method": "filter", "structure": "dyadic", **kept},
        "priority": {"method": "priority", "structure": "dyadic", **kept},
        "filter-priority": {"structure": "dyadic", **sampled},
        "Haar, everything": {"method": "geometric", "structure": "Haar"},
        "Haar, filter": {"method": "filter", "structure": "Haar", **kept},
        "pruned tree": {"method": "filter", "structure": "tree", **kept},
    }


def checked_arms(size: int, *, low: int) -> dict[str, dict[str, Value]]:
    """Return what the check makes of the paper's filter and filter-priority, and hushtable's own."""
    dyadic: dict[str, Value] = {"structure": "dyadic", "size": size, "checked": True}
    return {
        "filter, checked": {"method": "filter", **dyadic},
        "filter-priority, checked": {"method": "filter-priority", "cutoff": low, **dyadic},
        "filter, consistent": {
            "method": "filter",
            "structure": "dyadic, consistent",
            "size": size,
            "two_sided": False,
        },
    }


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    cells = _cells(quick)
    size = cells // 10
    found: list[Setting] = []
    base: dict[str, Value] = {
        "cells": cells,
        "density": 0.1,
        "mean": 100,
        "sd": 20,
        "epsilon": "0.1",
        "questions": _questions(quick),
        "sizes": " ".join(map(str, _widths(quick))),
    }
    levels = (cells - 1).bit_length() + 1
    low = 20 * levels
    for figure, skewed in (("uniform", False), ("skewed", True)):
        arms = arms_of(size, low=low) | checked_arms(size, low=low)
        for arm, choice in arms.items():
            setting = base | choice | {"figure": figure, "skewed": skewed, "arm": arm}
            found += [setting | {"run": run} for run in range(3 if quick else 15)]
    for height in _heights(quick):
        for structure in ("dyadic", "Haar"):
            setting = {"figure": "growth", "arm": structure, "height": height, "questions": 200}
            found += [setting | {"run": run} for run in range(5 if quick else 40)]
    found += [base | {"figure": "zeros", "skewed": True, "run": run} for run in range(3)]
    return [*found, base | {"figure": "probes", "skewed": False, "run": 0}]


def run(setting: Setting) -> dict[str, float]:
    """Run one cell of work."""
    if setting["figure"] == "growth":
        return _growth_run(setting)
    if setting["figure"] == "zeros":
        return _zeros_run(setting)
    if setting["figure"] == "probes":
        return _probes_run(setting)
    return range_run(setting)


def _growth_run(setting: Setting) -> dict[str, float]:
    """Return the mean square error over ranges by chance, which the noise alone makes."""
    cells = 1 << whole(setting, "height")
    table = Table(cells, np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64))
    random = np.random.default_rng([whole(setting, "run"), 14])
    starts, stops = np.sort(random.integers(cells + 1, size=(2, whole(setting, "questions"))), axis=0)
    asked = Ranges.over(table, (), starts, stops)
    structure = ht.Dyadic() if setting["arm"] == "dyadic" else ht.Haar()
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon="0.1", structure=structure)
    return {"variance": float(((range_sums(summary, asked, cells) - asked.truths) ** 2).mean())}


def _zeros_run(setting: Setting) -> dict[str, float]:
    """Apply the check to everything: drop nodes below one whose noisy count is 0. Return what it does."""
    table = synthetic(cells=whole(setting, "cells"), density=0.1, mean=100, sd=20, skewed=True)
    asked = Ranges.by_chance(
        table, sizes_of(setting), number=whole(setting, "questions"), run=whole(setting, "run")
    )
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon="0.1", structure=ht.Dyadic())
    before = np.abs(range_sums(summary, asked, table.cells) - asked.truths).mean(axis=1)
    share = float((summary.counts == 0).mean())
    assert summary.nodes is not None
    assert hasattr(summary.nodes, "intervals")  # as a sketch has not
    levels, firsts, _ = summary.nodes.intervals(summary.codes)
    height = int(levels.max())
    gone = np.zeros(1, dtype=bool)
    for level in range(height + 1):
        rows = np.flatnonzero(levels[:, 0] == level)
        index = firsts[rows, 0] >> (height - level)
        dropped = gone[index >> 1] if level else gone[index]
        summary.weights[rows[dropped]] = 0
        gone = np.zeros(1 << level, dtype=bool)
        gone[index] = dropped | (summary.counts[rows] == 0)
    after = np.abs(range_sums(summary, asked, table.cells) - asked.truths).mean(axis=1)
    found = {"zeros": share}
    for size, one, other in zip(asked.sizes, before, after, strict=True):
        found |= {f"error {size}": float(one), f"checked {size}": float(other)}
    return found


def _probes_run(setting: Setting) -> dict[str, float]:
    """Return how many nodes a range of each width is put together from."""
    table = synthetic(cells=whole(setting, "cells"), density=0.1, mean=100, sd=20)
    asked = Ranges.by_chance(table, sizes_of(setting), number=whole(setting, "questions"), run=0)
    summary = ht.summarize(table.sparse, ht.Everything(), epsilon="0.1", structure=ht.Dyadic())
    ones = range_sums(replace(summary, weights=np.ones(len(summary))), asked, table.cells)
    return {f"nodes {size}": float(each.mean()) for size, each in zip(asked.sizes, ones, strict=True)}


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    cells = _cells(quick)
    levels = (cells - 1).bit_length() + 1
    return (
        f"m = {cells:,} cells in a line, density 0.1, N(100, 20), epsilon 0.1, size {cells // 10:,}: "
        f"{levels} levels of dyadic nodes. *Skewed*: occupied cells lie around 100 centres, each at a "
        "Laplace distance of scale m/2000 from one (the paper does not say which skew it took). Filter and "
        f"priority have the full size; filter-priority the cutoff {20 * levels}, two units of noise. "
        "*Checked*: the paper's check on what passed the filter (two-sided), before sampling; what is left "
        "is smaller. *Consistent*: hushtable's own, of counts above 0, which spends the rows that the "
        "check saves on nodes further down. Beside the paper's: Haar coefficients and our pruned tree. "
        f"{len(results.where(figure='skewed', arm='filter'))} runs, each with {_questions(quick)} ranges of "
        "each width."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return rows of the summaries, and errors."""
    widths = _widths(quick)
    lines = ["| table | method | rows | " + " | ".join(f"R = {width:,}" for width in widths) + " |"]
    lines.append("|---" * (3 + len(widths)) + "|")
    for (figure, arm), group in results.grouped("figure", "arm").items():
        if figure in ("uniform", "skewed"):
            errors = " | ".join(digits(group.of(f"error {width}").mean, 3) for width in widths)
            lines.append(f"| {figure} | {arm} | {group.of('rows').mean:,.0f} | {errors} |")
    return ["Mean |error|:\n\n" + "\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return errors on uniform and skewed tables, the check, and growth with m."""
    widths = _widths(quick)
    pictures = []
    for figure in ("uniform", "skewed"):
        some = results.where(figure=figure)
        panels = [
            Panel(
                f"{figure}: {title}", "cells R of the range", "mean |error|", range_lines(some, arms, widths)
            )
            for title, arms in (("all methods", tuple(arms_of(1, low=1))), ("consistency", CHECKED))
        ]
        caption = (
            f"Dyadic ranges and others, {figure} data; with and without the consistency check on the right."
        )
        pictures.append(Picture(f"ranges-{figure}", caption, drawing(panels), some))
    growth = results.where(figure="growth")
    heights = _heights(quick)
    lines = [
        Line(name, heights, [growth.of("variance", arm=arm, height=height) for height in heights])
        for name, arm in (("geometric, dyadic", "dyadic"), ("Haar, everything", "Haar"))
    ]
    panel = Panel("noise on all nodes, ranges by chance", "log2 m", "mean square error", lines, ticks=heights)
    caption = "How the variance of ranges grows with the domain; a line of slope 3 is log^3 m."
    return [*pictures, Picture("ranges-growth", caption, drawing([panel]), growth)]


CHECKED = (
    "filter",
    "filter, checked",
    "filter-priority",
    "filter-priority, checked",
    "filter, consistent",
    "pruned tree",
)


def range_lines(results: Results, arms: tuple[str, ...], widths: tuple[int, ...]) -> list[Line]:
    """Return a line for each method."""
    return [
        Line(arm, widths, [results.of(f"error {width}", arm=arm) for width in widths])
        for arm in arms
        if arm in LOOKS
    ]


def ratios_of(results: Results, one: str, other: str, widths: tuple[int, ...]) -> dict[int, Measured]:
    """Return ratios of errors for each width."""
    return {width: results.ratio(f"error {width}", {"arm": one}, {"arm": other}) for width in widths}


def listed(ratios: dict[int, Measured]) -> str:
    """Return ratios in words."""
    return "; ".join(f"R = {width:,}: {value}" for width, value in ratios.items())


def check_gains(results: Results, widths: tuple[int, ...]) -> dict[str, dict[int, Measured]]:
    """Return by which part the check lowers errors."""
    return {
        arm: {
            width: Measured(1 - value.mean, value.error, value.runs)
            for width, value in ratios_of(results, f"{arm}, checked", arm, widths).items()
        }
        for arm in ("filter", "filter-priority")
    }


def gains_listed(gains: dict[str, dict[int, Measured]]) -> str:
    """Return gains in words."""
    return " ".join(
        f"{arm}: " + "; ".join(f"R = {width:,}: {value.percent()}" for width, value in each.items()) + "."
        for arm, each in gains.items()
    )


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    return [
        *_uniform_claims(results, quick),
        *_skewed_claims(results, quick),
        *_growth_claims(results, quick),
    ]


def _uniform_claims(results: Results, quick: bool) -> list[Claim]:
    where, widths = "Figure 5(a)", _widths(quick)
    some = results.where(figure="uniform")
    worst = {other: ratios_of(some, "priority", other, widths) for other in ("filter", "filter-priority")}
    preferred = {other: ratios_of(some, "filter", other, widths) for other in ("priority", "filter-priority")}
    pays = ratios_of(some, "geometric, dyadic", "geometric", widths)
    # 1 % of the data space, as in the paper: R = 10^4 of 10^6 cells.
    wide = [width for width in widths if width >= _cells(quick) // 100]
    narrow = [width for width in widths if width < _cells(quick) // 100]
    flat = {
        arm: ratio(
            some.where(arm=arm).values(f"error {wide[-1]}"), some.where(arm=arm).values(f"error {wide[0]}")
        )
        for arm in ("geometric, dyadic", *_DYADIC)
    }
    probes = {width: results.where(figure="probes").values(f"nodes {width}")[0] for width in wide}
    height = (_cells(quick) - 1).bit_length()
    uniform = check_gains(some, widths)
    typical = {arm: mean(value.mean for value in each.values()) for arm, each in uniform.items()}
    return [
        Claim(
            where,
            "priority sampling is the worst of the filtering and sampling techniques",
            " ".join(f"Ratios to {other}: {listed(each)}." for other, each in worst.items()),
            judged(above(value, 1) for each in worst.values() for value in each.values()),
            "surely more error than filter and filter-priority at every R.",
        ),
        Claim(
            where,
            "filtering is preferable",
            " ".join(f"Ratios to {other}: {listed(each)}." for other, each in preferred.items()),
            judged(below(value, 1) for each in preferred.values() for value in each.values()),
            "surely less error than priority and filter-priority at every R.",
        ),
        Claim(
            where,
            "from 1 % of the data space on, dyadic ranges are more accurate than cells",
            f"Dyadic against flat geometric: {listed(pays)}.",
            judged(
                [
                    *(below(pays[width], 1) for width in wide),
                    *(above(pays[width], 1) for width in narrow if width <= _cells(quick) // 1000),
                ]
            ),
            "surely less error from 1 % on, and surely more up to 0.1 %.",
        ),
        Claim(
            where,
            "beyond that, accuracy depends only very weakly on the range size",
            f"From R = {wide[0]:,} to {wide[-1]:,} errors grow to: "
            + "; ".join(f"{arm}: {value}" for arm, value in flat.items())
            + f" times (the range to {wide[-1] / wide[0]:.0f} times).",
            judged(within(value, 0.0, 1.5) for value in flat.values()),
            "at most 1.5 times for each method.",
        ),
        Claim(
            where,
            "since each query probes about the same number of entries, twice the height of the tree",
            "Nodes in a range: "
            + "; ".join(f"R = {width:,}: {number:.1f}" for width, number in probes.items())
            + f". The height is {height}, so at most {2 * height} are possible.",
            judged(
                [
                    probes[wide[-1]] <= 1.5 * probes[wide[0]],
                    *(1.5 * height <= number <= 2 * height for number in probes.values()),
                ]
            ),
            "at most 1.5 times as many over all these R, and between 1.5 and 2 times the height.",
        ),
        Claim(
            "Section 4.4, consistency",
            "on uniform data the check improves accuracy by about 10 %",
            gains_listed(uniform),
            judged(0.05 <= value <= 0.2 for value in typical.values()),
            "between 5 and 20 % on average over R, for both techniques.",
        ),
    ]


def _skewed_claims(results: Results, quick: bool) -> list[Claim]:
    widths = _widths(quick)
    skewed, zeros = results.where(figure="skewed"), results.where(figure="zeros")
    improves = ratios_of(skewed, "filter", "geometric, dyadic", widths)
    gains = check_gains(skewed, widths)
    uniform = check_gains(results.where(figure="uniform"), widths)
    less = {
        arm: mean(value.mean for value in uniform[arm].values()) < mean(value.mean for value in each.values())
        for arm, each in gains.items()
    }
    share = zeros.of("zeros")
    helped = {
        width: ratio(zeros.values(f"checked {width}"), zeros.values(f"error {width}")) for width in widths
    }
    full = ratios_of(skewed, "filter, consistent", "filter", widths)
    return [
        Claim(
            "Figure 5(b)",
            "on skewed data, filtering dyadic ranges improves over the dyadic geometric mechanism",
            f"Ratios of errors: {listed(improves)}.",
            judged(below(value, 1) for value in improves.values()),
            "surely less error at every R.",
        ),
        Claim(
            "Figure 5(c)",
            "consistency checks reduce the errors of both techniques by 30 % to 60 %",
            f"{gains_listed(gains)} hushtable's own, at the full size, has these ratios of errors to the "
            f"filter: {listed(full)}.",
            judged(within(value, 0.3, 0.6) for each in gains.values() for value in each.values()),
            "between 30 and 60 % for both techniques and every R, as far as chance allows for.",
        ),
        Claim(
            "Section 4.4, consistency",
            "checks help more on sparse, non-uniform data than on uniform data",
            "; ".join(
                f"{arm}: {100 * mean(v.mean for v in each.values()):.1f} % on skewed, "
                f"{100 * mean(v.mean for v in uniform[arm].values()):.1f} % on uniform data, on average "
                "over R"
                for arm, each in gains.items()
            )
            + ".",
            judged(less.values()),
            "a larger gain on average over R, for both techniques.",
        ),
        Claim(
            "Section 4.4, consistency",
            "checks on the geometric mechanism are no help, since very few entries are zero",
            f"{share.percent()} of all noisy nodes are 0. Dropping what lies below those, errors become "
            f"{listed(helped)} times as large.",
            judged([share.mean < 0.01, *(value.high >= 0.98 for value in helped.values())]),
            "less than 1 % zeros, and no error lowered by more than 2 %.",
        ),
    ]


def _growth_claims(results: Results, quick: bool) -> list[Claim]:
    growth, heights = results.where(figure="growth"), _heights(quick)
    middle = heights[len(heights) // 2]
    steps, slopes = {}, {}
    for arm in ("dyadic", "Haar"):
        found = {height: growth.of("variance", arm=arm, height=height) for height in heights}
        # What is left of the variance when the noise's own, which has the square of the levels, is taken off.
        terms = {height: value.mean / (height + 1) ** 2 for height, value in found.items()}
        errors = {height: value.error / (height + 1) ** 2 for height, value in found.items()}
        first, second = terms[middle] - terms[heights[0]], terms[heights[-1]] - terms[middle]
        share = (
            np.hypot(errors[heights[-1]], errors[middle]) / second,
            np.hypot(errors[middle], errors[heights[0]]) / first,
        )
        steps[arm] = Measured(
            second / first, abs(second / first) * float(np.hypot(*share)), found[middle].runs
        )
        xs = np.log([height + 1 for height in heights])
        slopes[arm] = float(np.polyfit(xs, np.log([value.mean for value in found.values()]), 1)[0])
    last = heights[-1]
    between = growth.ratio("variance", {"arm": "dyadic", "height": last}, {"arm": "Haar", "height": last})
    widths = _widths(quick)
    ours = {
        name: ratios_of(results.where(figure=name), "filter, consistent", "pruned tree", widths)
        for name in ("uniform", "skewed")
    }
    gains = ", ".join(
        f"{min(v.mean for v in each.values()):.2g} to {max(v.mean for v in each.values()):.2g} on {name} data"
        for name, each in ours.items()
    )
    return [
        Claim(
            "Section 3",
            "the variance of range queries grows as log^3 m, for dyadic ranges and wavelets",
            f"Divided by the squared number of levels, it grows from m = 2^{middle} to 2^{last} this many "
            f"times as much as from 2^{heights[0]} to 2^{middle}: "
            + "; ".join(f"{arm}: {value}" for arm, value in steps.items())
            + ". Fitted exponents of the number of levels: "
            + "; ".join(f"{arm}: {slope:.2f}" for arm, slope in slopes.items())
            + ".",
            judged(within(value, 0.67, 1.5) for value in steps.values()),
            "it grows evenly with log m (1 would be exactly so; 0 is log^2 m), within a factor of 1.5.",
        ),
        Claim(
            "Section 3",
            "in practice the results of dyadic ranges and wavelets are quite similar",
            f"At m = 2^{last} the variance of dyadic ranges is {between} times that of Haar wavelets "
            f"({between.mean**0.5:.2g} times the error). Beside both, the best of the paper's dyadic "
            f"summaries has {gains} times the error of our pruned tree.",
            within(between, 0.5, 2),
            "variances within a factor of 2.",
        ),
        Claim(
            "Section 4.4",
            "dyadic ranges with summaries are effective when queries touch more than a small fraction of "
            "the data",
            "Dyadic filter against cells with noise on all: "
            + listed(ratios_of(results.where(figure="uniform"), "filter", "geometric", widths))
            + ".",
            judged(
                below(value, 1)
                for width, value in ratios_of(
                    results.where(figure="uniform"), "filter", "geometric", widths
                ).items()
                if width >= _cells(quick) // 20
            )
            if any(width >= _cells(quick) // 20 for width in widths)
            else Verdict.IN_PART,
            "surely less error from 5 % of the cells on.",
        ),
    ]
