"""Impact of parameter choice: filters, threshold and priority samples, and both together."""

from __future__ import annotations

from math import hypot

from paper.claims import Claim, Verdict, above, below, judged, within
from paper.drawing import Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, ratio
from paper.releasing import range_run, sizes_of, subset_run
from paper.report import Picture

TITLE = "Impact of parameter choice"
ALONE = False

_CUTOFFS = (10, 20, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90, 100, 110, 120, 130)
_COMBINED = tuple(range(5, 71, 5))
_MOST = 0.95  # of the occupied cells: "most"


def missing() -> str | None:
    """Return why it cannot run: it always can."""
    return None


def _base(quick: bool) -> dict[str, str | int | float]:
    cells = 100_000 if quick else 1_000_000
    return {
        "cells": cells,
        "density": 0.1,
        "mean": 100,
        "sd": 20,
        "epsilon": "0.1",
        "questions": 100 if quick else 300,
        "sizes": "500 5000 20000 50000" if quick else "500 5000 50000 200000",
    }


def _runs(quick: bool, figure: str) -> int:
    """Return how many runs a figure has: more where two things are said to be equal."""
    return 3 if quick else 120 if figure in ("samples", "kinds") else 20


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    base = _base(quick)
    cells = int(base["cells"])
    arms: list[dict[str, str | int | float | bool]] = []
    for cutoff in _CUTOFFS[::3] if quick else _CUTOFFS:
        for two_sided, arm in ((True, "filter"), (False, "filter, one-sided")):
            arms.append(
                {
                    "figure": "filters",
                    "arm": arm,
                    "method": "filter",
                    "cutoff": cutoff,
                    "two_sided": two_sided,
                }
            )
    shares = (0.05, 0.2) if quick else (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
    for share in shares:
        for arm in ("threshold", "priority"):
            arms.append({"figure": "samples", "arm": arm, "method": arm, "size": round(cells * share)})
    for density in (0.1, 0.01) if quick else (0.1, 0.03, 0.01):
        for cutoff in _COMBINED[::3] if quick else _COMBINED:
            arms.append(
                {
                    "figure": "filter-priority",
                    "arm": "filter-priority",
                    "method": "filter-priority",
                    "cutoff": cutoff,
                    "size": round(cells * density),
                    "density": density,
                }
            )
    for asked in ("subsets", "ranges"):
        for arm, choice in _FLAT.items():
            size = {} if arm == "filter" else {"size": round(cells * 0.1)}
            arms.append({"figure": "kinds", "arm": arm, "method": arm, "asked": asked, **choice, **size})
    return [base | arm | {"run": run} for arm in arms for run in range(_runs(quick, str(arm["figure"])))]


_FLAT: dict[str, dict[str, int]] = {
    "filter": {"cutoff": 50},
    "priority": {},
    "filter-priority": {"cutoff": 40},
}


def run(setting: Setting) -> dict[str, float]:
    """Run one cell of work."""
    return range_run(setting) if setting.get("asked") == "ranges" else subset_run(setting)


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    base = _base(quick)
    return (
        f"m = {base['cells']:,} cells, occupied anywhere with density 0.1, counts N(100, 20) rounded to a "
        f"positive number, epsilon 0.1; {base['questions']} subsets of each size in each of "
        f"{_runs(quick, 'filters')} runs ({_runs(quick, 'samples')} for samples). Of a table without order "
        "subsets and ranges are the same. The threshold of a threshold sample is that of a priority sample "
        "of the wanted size."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return where filter-priority is best, by the size of subsets and by density."""
    lines = ["| density | " + " | ".join(f"R = {size:,}" for size in _sizes(quick)) + " |"]
    lines.append("|---" * (1 + len(_sizes(quick))) + "|")
    for density in results.where(figure="filter-priority").different("density"):
        best = [
            _best(results.where(figure="filter-priority", density=density), size) for size in _sizes(quick)
        ]
        lines.append(f"| {density} | " + " | ".join(str(cutoff) for cutoff in best) + " |")
    return ["The cutoff at which filter-priority has the least error:\n\n" + "\n".join(lines)]


def _sizes(quick: bool) -> tuple[int, ...]:
    return sizes_of({"sizes": str(_base(quick)["sizes"])})


def _best(results: Results, size: int) -> int:
    """Return the cutoff with the least error."""
    errors = {
        cutoff: group.of(f"error {size}").mean for (cutoff,), group in results.grouped("cutoff").items()
    }
    return int(str(min(errors, key=lambda cutoff: errors[cutoff])))


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return the three panels of the paper, and how the best cutoff moves."""
    sizes = _sizes(quick)
    asked = sizes[1]
    filters, samples = results.where(figure="filters"), results.where(figure="samples")
    combined = results.where(figure="filter-priority")
    by_size = [
        _line(results.where(figure=figure), arm, f"error {asked}", along)
        for figure, arm, along in (
            ("filters", "filter", "cutoff"),
            ("filters", "filter, one-sided", "cutoff"),
        )
    ]
    sampled = [_line(samples, arm, f"error {asked}", "size") for arm in ("threshold", "priority")]
    moving = [
        Panel(
            f"R = {size:,}",
            "cutoff",
            "relative error, %",
            [
                _along(
                    f"filter-priority, density {density}", combined.where(density=density), f"relative {size}"
                )
                for density in combined.different("density")
            ],
            log_x=False,
            percent=True,
        )
        for size in sizes
    ]
    error = f"mean |error|, R = {asked:,}"
    return [
        Picture(
            "parameters-filters",
            "Filters: error against the size of the summary, for cutoffs from 10 to 130.",
            drawing([Panel("filters", "rows of the summary", error, by_size)]),
            filters,
        ),
        Picture(
            "parameters-samples",
            "Threshold and priority samples: error against the size of the summary.",
            drawing([Panel("samples", "rows of the summary", error, sampled)]),
            samples,
        ),
        Picture(
            "parameters-filter-priority",
            "Filter-priority: median relative error against the cutoff, for subsets of four sizes and "
            "three densities.",
            drawing(moving, columns=2),
            combined,
        ),
    ]


def _line(results: Results, arm: str, name: str, setting: str) -> Line:
    """Return a line along the rows of summaries."""
    groups = list(results.where(arm=arm).grouped(setting).values())
    groups.sort(key=lambda group: group.of("rows").mean)
    return Line(arm, [group.of("rows").mean for group in groups], [group.of(name) for group in groups])


def _along(name: str, results: Results, quantity: str) -> Line:
    """Return a line along the cutoffs."""
    groups = results.grouped("cutoff")
    return Line(
        name, [float(str(key)) for (key,) in groups], [group.of(quantity) for group in groups.values()]
    )


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    return [
        _kinds_claim(results.where(figure="kinds"), quick),
        *_filter_claims(results.where(figure="filters"), quick),
        *_sample_claims(results.where(figure="samples"), quick),
        *_combined_claims(results.where(figure="filter-priority"), quick),
    ]


def _kinds_claim(results: Results, quick: bool) -> Claim:
    found = {}
    for arm in _FLAT:
        for size in _sizes(quick):
            one, other = (
                results.of(f"error {size}", arm=arm, asked=asked) for asked in ("ranges", "subsets")
            )
            mean = one.mean / other.mean
            found[arm, size] = Measured(
                mean, mean * hypot(one.error / one.mean, other.error / other.mean), one.runs
            )
    means = [value.mean for value in found.values()]
    return Claim(
        "Section 4.2",
        "for these summaries, range queries and subset queries are effectively identical",
        f"Ratios of the error of ranges to that of subsets lie between {min(means):.2f} and "
        f"{max(means):.2f} (filter, priority and filter-priority, four sizes).",
        judged(within(value, 0.9, 1.1) for value in found.values()),
        "within 10 % for each method and R, as far as chance allows for.",
    )


def _filter_claims(results: Results, quick: bool) -> list[Claim]:
    where, sizes = "Figure 2(a)", _sizes(quick)
    asked = sizes[1]
    name = f"error {asked}"
    one, two = results.where(arm="filter, one-sided"), results.where(arm="filter")
    cutoffs = [int(str(cutoff)) for cutoff in two.different("cutoff")]
    errors = {cutoff: two.of(name, cutoff=cutoff) for cutoff in cutoffs}
    singles = {cutoff: one.of(name, cutoff=cutoff) for cutoff in cutoffs}
    means = [value.mean for value in (*errors.values(), *singles.values())]
    spread = max(means) / min(means)
    found = {cutoff: two.of("occupied share", cutoff=cutoff).mean for cutoff in cutoffs}
    many = [cutoff for cutoff in cutoffs if found[cutoff] >= _MOST]
    best = min(cutoffs, key=lambda cutoff: errors[cutoff].mean)
    lifted = two.of("empty rows", cutoff=best).mean / two.of("rows", cutoff=best).mean
    occupied = int(_base(quick)["cells"]) * 0.1
    less = {
        (size, cutoff): _less(two.where(cutoff=cutoff), one.where(cutoff=cutoff), f"error {size}")
        for size in sizes
        for cutoff in cutoffs
    }
    wins = {size: sum(less[size, cutoff] is Verdict.HOLDS for cutoff in cutoffs) for size in sizes}
    bias = {}
    for cutoff in many:
        some = two.where(cutoff=cutoff)
        bias[cutoff] = ratio(some.values(f"bias {asked}"), some.values(f"truth {asked}"))
    relative = {cutoff: two.of(f"relative {asked}", cutoff=cutoff) for cutoff in many}
    over = {
        cutoff: (one.of(f"over {asked}", cutoff=cutoff), two.of(f"over {asked}", cutoff=cutoff))
        for cutoff in many
    }
    last = cutoffs[-1]
    last_ratio = ratio(one.where(cutoff=last).values(name), two.where(cutoff=last).values(name))
    worst = max(errors.values(), key=lambda e: e.mean), max(singles.values(), key=lambda e: e.mean)
    return [
        Claim(
            where,
            "accuracy varies by several orders of magnitude with the summary's size",
            f"The largest mean error is {spread:,.0f} times the least.",
            Verdict.HOLDS if spread >= 100 else Verdict.IN_PART if spread >= 10 else Verdict.DOES_NOT,
            "100 times or more holds, 10 times in part.",
        ),
        Claim(
            where,
            "two-sided filtering is generally more accurate than one-sided",
            f"With the same cutoff it had surely less error at {wins[asked]} of {len(cutoffs)} cutoffs (R = "
            f"{asked:,}).",
            Verdict.HOLDS
            if wins[asked] > 0.75 * len(cutoffs)
            else Verdict.IN_PART
            if wins[asked] > 0.25 * len(cutoffs)
            else Verdict.DOES_NOT,
            "three quarters of the cutoffs hold, a quarter in part.",
        ),
        Claim(
            where,
            "when most non-zeros are in the sample, two-sided answers are unbiased",
            "Mean signed error, as a part of the sum: "
            + "; ".join(f"cutoff {cutoff}: {value.percent()}" for cutoff, value in bias.items())
            + ".",
            judged(within(value, -0.005, 0.005) for value in bias.values()) if bias else Verdict.DOES_NOT,
            f"bias within half a percent at every cutoff that leaves {100 * _MOST:.0f} % of the occupied "
            "cells.",
        ),
        Claim(
            where,
            "then its relative error is consistently around 1 %",
            "; ".join(f"cutoff {cutoff}: {value.percent()}" for cutoff, value in relative.items()) + ".",
            judged(within(value, 0.005, 0.02) for value in relative.values())
            if relative
            else Verdict.DOES_NOT,
            "median relative error between 0.5 and 2 % at each of these cutoffs.",
        ),
        Claim(
            where,
            "one-sided filtering is more likely to over-estimate",
            "Share of answers above the truth, one-sided and two-sided: "
            + "; ".join(f"cutoff {c}: {a.percent()}, {b.percent()}" for c, (a, b) in over.items())
            + ".",
            judged(a.low > b.high for a, b in over.values()) if over else Verdict.DOES_NOT,
            "surely more often at each of these cutoffs.",
        ),
        Claim(
            where,
            "small summaries are dominated by non-zeros, so both have similar accuracy",
            f"At cutoff {last} ({two.of('rows', cutoff=last).mean:,.0f} rows) the ratio of errors is "
            f"{last_ratio}.",
            within(last_ratio, 0.95, 1.05),
            "within 5 % at the highest cutoff.",
        ),
        Claim(
            where,
            "error is least when the sample has most of the true points and few zeros, which may need a "
            "larger summary",
            f"Least at cutoff {best}: {100 * found[best]:.1f} % of the occupied cells are in it, "
            f"{100 * lifted:.0f} % of its {two.of('rows', cutoff=best).mean:,.0f} rows are empty cells "
            f"({occupied:,.0f} cells are occupied).",
            judged([found[best] >= _MOST, lifted <= 0.25, two.of("rows", cutoff=best).mean > occupied]),
            f"{100 * _MOST:.0f} % of the occupied cells, at most a quarter empty ones, and more rows than "
            "occupied cells.",
        ),
        Claim(
            where,
            "the same behaviour across range sizes; two-sided is uniformly more robust",
            "Cutoffs at which two-sided had surely less error: "
            + "; ".join(f"R = {size:,}: {number} of {len(cutoffs)}" for size, number in wins.items())
            + f". Largest error over all cutoffs (R = {asked:,}): {worst[0]} two-sided, {worst[1]} "
            "one-sided.",
            judged([*less.values(), worst[0].high < worst[1].low]),
            "surely less at every cutoff and size, and a smaller largest error.",
        ),
    ]


def _less(one: Results, other: Results, name: str) -> Verdict:
    """Return whether one has less error than another, run by run."""
    return below(ratio(one.values(name), other.values(name)), 1)


def _sample_claims(results: Results, quick: bool) -> list[Claim]:
    where, asked = "Figure 2(b)", _sizes(quick)[1]
    sizes = [int(str(size)) for size in results.different("size")]
    relative = [
        results.of(f"relative {asked}", arm=arm, size=size)
        for arm in ("threshold", "priority")
        for size in sizes
    ]
    low, high = min(each.mean for each in relative), max(each.mean for each in relative)
    ratios = {
        (size, asked): results.ratio(
            f"error {asked}", {"arm": "threshold", "size": size}, {"arm": "priority", "size": size}
        )
        for size in sizes
        for asked in _sizes(quick)
    }
    exact = [results.where(arm="priority", size=size).values("rows") for size in sizes]
    loose = results.where(arm="threshold", size=sizes[-1]).values("rows")
    typical = [value.mean for value in ratios.values()]
    return [
        Claim(
            where,
            "relative errors in the range 1 % to 7 %",
            f"{100 * low:.2g} % to {100 * high:.2g} % for {sizes[0]:,} to {sizes[-1]:,} rows (R = "
            f"{asked:,}).",
            judged([0.005 <= low <= 0.02, 0.035 <= high <= 0.14]),
            "both ends within a factor of 2.",
        ),
        Claim(
            where,
            "threshold sampling behaves very much like priority sampling, at all range sizes",
            f"Ratios of errors at equal sizes lie between {min(typical):.2f} and {max(typical):.2f}.",
            judged(within(value, 0.9, 1.1) for value in ratios.values()),
            "within 10 % for each number of rows and each R, as far as chance allows for.",
        ),
        Claim(
            where,
            "the only difference is that priority sampling returns a fixed size",
            f"Priority samples had exactly the size asked for; threshold samples between {min(loose):,.0f} "
            f"and {max(loose):,.0f} where {sizes[-1]:,} were meant.",
            judged(
                [
                    all(set(rows) == {size} for rows, size in zip(exact, sizes, strict=True)),
                    len(set(loose)) > 1,
                ]
            ),
            "every priority sample of the exact size, threshold samples of several.",
        ),
    ]


def _combined_claims(results: Results, quick: bool) -> list[Claim]:
    where, sizes = "Figure 2(c)", _sizes(quick)
    asked = sizes[1]
    default = results.where(density=0.1)
    relative = [group.of(f"relative {asked}").mean for group in default.grouped("cutoff").values()]
    best = {size: _best(default, size) for size in sizes}
    cutoffs = [int(str(cutoff)) for cutoff in default.different("cutoff")]
    name = f"error {asked}"
    ends = [
        ratio(default.where(cutoff=end).values(name), default.where(cutoff=best[asked]).values(name))
        for end in (cutoffs[0], cutoffs[-1])
    ]
    few, many = sizes[0], sizes[-1]
    moved = ratio(
        default.where(cutoff=best[few]).values(f"error {many}"),
        default.where(cutoff=best[many]).values(f"error {many}"),
    )
    sparse = min(float(str(density)) for density in results.different("density"))
    best_sparse = _best(results.where(density=sparse), asked)
    thin = results.where(density=sparse)
    gained = ratio(thin.where(cutoff=best[asked]).values(name), thin.where(cutoff=best_sparse).values(name))
    return [
        Claim(
            where,
            "relative errors within [0.3 %, 6 %] for cutoffs 5 to 70",
            f"{100 * min(relative):.2g} % to {100 * max(relative):.2g} % (R = {asked:,}).",
            judged([0.0015 <= min(relative) <= 0.006, 0.03 <= max(relative) <= 0.12]),
            "both ends within a factor of 2.",
        ),
        Claim(
            where,
            "a cutoff of 40 is about optimal, half of the mean of the non-zero values",
            f"Least error at cutoff {best[asked]} (R = {asked:,}).",
            Verdict.HOLDS if 30 <= best[asked] <= 50 else Verdict.DOES_NOT,
            "the best cutoff lies between 30 and 50.",
        ),
        Claim(
            where,
            "the cutoff should be neither too large nor too small",
            f"Error at {cutoffs[0]} and at {cutoffs[-1]}, as multiples of the least: {ends[0]} and "
            f"{ends[1]}.",
            judged(above(end, 1) for end in ends),
            "surely more error at both ends.",
        ),
        Claim(
            where,
            "larger ranges want a smaller cutoff",
            "Best cutoffs: "
            + "; ".join(f"R = {size:,}: {cutoff}" for size, cutoff in best.items())
            + f". With the best one for R = {few:,}, the error at R = {many:,} is {moved} times its least.",
            judged([best[many] < best[few], above(moved, 1)]),
            "the best cutoff at the largest R is lower, and surely better there.",
        ),
        Claim(
            where,
            "the best cutoff is also affected by the density",
            f"Best at density {sparse}: {best_sparse}; at 0.1: {best[asked]} (R = {asked:,}). The latter "
            f"has {gained} times the error of the former on the sparser table.",
            judged([best_sparse != best[asked], above(gained, 1)]),
            "another cutoff is best, and surely better there.",
        ),
    ]
