"""Summaries against noise on every cell, for subsets of all sizes (figure "subset")."""

from __future__ import annotations

from itertools import pairwise

from paper.claims import Claim, Verdict, above, below, judged, within
from paper.drawing import Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, Value
from paper.releasing import subset_run
from paper.report import Picture

TITLE = "Summaries against the geometric mechanism"
ALONE = False

_SUMMARIES = ("filter", "priority", "filter-priority")
_FILTERS = ("filter", "filter of the same size")  # the paper says which only for its default table
_PANELS: dict[str, dict[str, Value]] = {
    "default": {"sd": 20, "density": 0.1},
    "sd 40": {"sd": 40, "density": 0.1},
    "density 0.01": {"sd": 20, "density": 0.01},
}
_CUTOFFS = {"default": 40, "sd 40": 20, "density 0.01": 50}  # of filter-priority, as in the paper


def missing() -> str | None:
    """Return why it cannot run: it always can."""
    return None


def _cells(quick: bool) -> int:
    return 100_000 if quick else 1_000_000


def _sizes(quick: bool) -> tuple[int, ...]:
    if quick:
        return (100, 1000, 10_000, 50_000)
    return (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)


def _questions(quick: bool) -> int:
    return 100 if quick else 200


def _runs(quick: bool) -> int:
    return 3 if quick else 30


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    found: list[Setting] = []
    for panel, data in _PANELS.items():
        size = round(_cells(quick) * float(str(data["density"])))
        combined: dict[str, Value] = {"method": "filter-priority", "cutoff": _CUTOFFS[panel]}
        arms: dict[str, dict[str, Value]] = {
            "geometric": {"method": "geometric"},
            "filter": {"method": "filter", "cutoff": 50},
            "filter of the same size": {"method": "filter", "size": size},
            "priority": {"method": "priority", "size": size},
            "filter-priority": {**combined, "size": size},
            "filter, with noisy total": {"method": "filter", "cutoff": 50, "total": True},
            "filter-priority, with noisy total": {**combined, "size": size, "total": True},
            "uniform sample": {"method": "uniform sample", "size": size},
            "pruned tree": {"method": "filter", "structure": "tree", "size": size},
        }
        if panel == "sd 40":
            arms["filter-priority, twice the size"] = {**combined, "size": 2 * size}
        base: dict[str, Value] = {
            "figure": panel,
            "cells": _cells(quick),
            "mean": 100,
            "epsilon": "0.1",
            "questions": _questions(quick),
            "sizes": " ".join(map(str, _sizes(quick))),
        }
        for arm, choice in arms.items():
            found += [base | data | choice | {"arm": arm, "run": run} for run in range(_runs(quick))]
    return found


run = subset_run


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    rows = results.of("rows", figure="default", arm="filter")
    return (
        f"m = {_cells(quick):,} cells, occupied anywhere, mean count 100, epsilon 0.1, {_runs(quick)} runs, "
        f"each with {_questions(quick)} subsets of each size. Samples have as many rows as cells are "
        f"occupied. The filter has the cutoff 50 ({rows.mean:,.0f} rows by default), and where the paper "
        "does not say its cutoff there is one of the samples' size beside it; filter-priority has the "
        "paper's cutoffs: "
        + "; ".join(f"{panel}: {cutoff}" for panel, cutoff in _CUTOFFS.items())
        + ". A uniform sample takes as many cells, any alike, with their noisy counts scaled up. Beside "
        "the paper's: a noisy total for a fiftieth of epsilon, spread over cells without a row; and our "
        "pruned tree, whose nodes are no help to subsets by chance."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return the relative errors at two sizes."""
    few, many = _sizes(quick)[0], _sizes(quick)[-2]
    lines = [f"| table | method | rows | R = {few:,} | R = {many:,} |", "|---|---|---|---|---|"]
    for (panel, arm), group in results.grouped("figure", "arm").items():
        relative = [group.of(f"relative {size}").percent() for size in (few, many)]
        lines.append(f"| {panel} | {arm} | {group.of('rows').mean:,.0f} | {' | '.join(relative)} |")
    return ["Median relative errors:\n\n" + "\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return the four panels of the paper, and relative errors beside them."""
    pictures = []
    for panel in _PANELS:
        some = results.where(figure=panel)
        arms = [str(arm) for arm in some.different("arm")]
        sizes = _sizes(quick)
        half = len(sizes) // 2
        parts = (("small subsets", sizes[: half + 1]), ("large subsets", sizes[half:]))
        panels = [
            Panel(
                f"{panel}: {name}", "cells of the subset", "mean |error|", _lines(some, arms, "error", part)
            )
            for name, part in parts
        ]
        panels.append(
            Panel(
                f"{panel}: relative",
                "cells of the subset",
                "median relative error, %",
                _lines(some, arms, "relative", sizes),
                percent=True,
            )
        )
        name = f"comparison-{panel.replace(' ', '-').replace('0.01', '001')}"
        pictures.append(Picture(name, _CAPTIONS[panel], drawing(panels), some))
    return pictures


_CAPTIONS = {
    "default": "Subset queries by the paper's default: N(100, 20), density 0.1.",
    "sd 40": "The same with a standard deviation of 40.",
    "density 0.01": "The same with density 0.01 (standard deviation 20).",
}


def _lines(results: Results, arms: list[str], name: str, sizes: tuple[int, ...]) -> list[Line]:
    return [Line(arm, sizes, [results.of(f"{name} {size}", arm=arm) for size in sizes]) for arm in arms]


class _Panel:
    """The errors of one panel."""

    def __init__(self, results: Results, quick: bool) -> None:
        self.results, self.sizes = results, _sizes(quick)

    def ratio(self, one: str, other: str, size: int) -> Measured:
        return self.results.ratio(f"error {size}", {"arm": one}, {"arm": other})

    def ratios(self, one: str, other: str) -> dict[int, Measured]:
        return {size: self.ratio(one, other, size) for size in self.sizes}

    def relative(self, arm: str, size: int) -> Measured:
        return self.results.of(f"relative {size}", arm=arm)


def _ends(ratios: dict[int, Measured]) -> str:
    low, high = (pick(ratios, key=lambda size: ratios[size].mean) for pick in (min, max))
    return f"between {ratios[low]} (R = {low:,}) and {ratios[high]} (R = {high:,})"


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    default, wide, sparse = (_Panel(results.where(figure=panel), quick) for panel in _PANELS)
    return [
        *_default_claims(default),
        *_wide_claims(default, wide),
        *_sparse_claims(sparse),
        *_common_claims(default, wide, sparse),
    ]


def _default_claims(panel: _Panel) -> list[Claim]:
    where, sizes = "Figure 3(a, b)", panel.sizes
    few, many = sizes[0], sizes[-1]
    at_few = {arm: panel.relative(arm, few) for arm in ("geometric", "filter", "filter-priority")}
    falls = {
        arm: judged(panel.relative(arm, b).low <= panel.relative(arm, a).high for a, b in pairwise(sizes))
        for arm in ("geometric", *_SUMMARIES)
    }
    small = [size for size in sizes if size <= 1000]
    filter_best = [
        judged(below(panel.ratio("filter", other, size), 1) for other in ("priority", "filter-priority"))
        for size in small
    ]
    crossing = next((size for size in sizes if panel.ratio("priority", "filter", size).high < 1), None)
    against = panel.ratios("filter-priority", "geometric")
    better = {
        (arm, size): panel.ratio(arm, "geometric", size)
        for arm in _SUMMARIES
        for size in sizes
        if panel.ratio(arm, "geometric", size).high < 1
    }
    shown = min(better, key=lambda key: better[key].mean) if better else None
    return [
        Claim(
            where,
            f"apart from priority sampling, relative error is around 5 % for subsets of {few}",
            "; ".join(f"{arm}: {value.percent()}" for arm, value in at_few.items()) + ".",
            judged(within(value, 0.035, 0.07) for value in at_few.values()),
            "median between 3.5 and 7 % for each.",
        ),
        Claim(
            where,
            "relative error decreases as subsets grow",
            "; ".join(
                f"{arm}: {panel.relative(arm, few).percent()} at R = {few:,}, "
                f"{panel.relative(arm, many).percent()} at R = {many:,}"
                for arm in ("geometric", *_SUMMARIES)
            )
            + ".",
            judged(falls.values()),
            "no step from one size to the next is surely upward, for each method.",
        ),
        Claim(
            where,
            "for small and medium queries, filtering with cutoff 50 performs best",
            "Ratios of errors of the filter to filter-priority: "
            + "; ".join(f"R = {size:,}: {panel.ratio('filter', 'filter-priority', size)}" for size in small)
            + ".",
            judged(filter_best),
            "surely less than priority and filter-priority at every R up to 1,000.",
        ),
        Claim(
            where,
            "sampling is preferable to filtering when the range is large enough",
            f"Priority has surely less error than the filter from R = {crossing:,} on; at R = {many:,} the "
            f"ratio is {panel.ratio('priority', 'filter', many)}."
            if crossing is not None
            else "Priority nowhere has surely less error than the filter.",
            Verdict.HOLDS if crossing is not None else below(panel.ratio("priority", "filter", many), 1),
            "a size from which priority has surely less error.",
        ),
        Claim(
            where,
            "filter-priority has consistent accuracy, comparable to the geometric mechanism",
            f"Ratios of errors lie {_ends(against)}.",
            judged(within(value, 0.0, 1.5) for value in against.values()),
            "at most 1.5 times the error at each R, as far as chance allows for.",
        ),
        Claim(
            where,
            "some summaries are more accurate than publishing all noisy counts",
            f"{shown[0]} has {better[shown]} times the error of the geometric mechanism at R = {shown[1]:,}."
            if shown
            else "None was.",
            Verdict.HOLDS if shown else Verdict.DOES_NOT,
            "surely less error somewhere.",
        ),
    ]


def _wide_claims(default: _Panel, wide: _Panel) -> list[Claim]:
    where, sizes = "Figure 3(c), sd 40", wide.sizes
    worse = {
        size: Measured(
            a.mean / b.mean,
            a.mean / b.mean * ((a.error / a.mean) ** 2 + (b.error / b.mean) ** 2) ** 0.5,
            a.runs,
        )
        for size in sizes
        if size >= 1000
        for a in [wide.results.of(f"error {size}", arm="filter")]
        for b in [default.results.of(f"error {size}", arm="filter")]
    }
    crossings = {
        arm: next((size for size in sizes if wide.ratio("priority", arm, size).high < 1), None)
        for arm in _FILTERS
    }
    both = {other: wide.ratios("filter-priority", other) for other in (*_FILTERS, "priority")}
    geometric = {arm: wide.ratios(arm, "geometric") for arm in _SUMMARIES}
    twice = wide.ratios("filter-priority, twice the size", "geometric")
    return [
        Claim(
            where,
            "filtering performs much worse than with sd 20",
            f"Its error is {_ends(worse)} times that with sd 20.",
            judged(above(value, 2) for value in worse.values()),
            "surely more than twice the error from R = 1,000 on.",
        ),
        Claim(
            where,
            "sampling starts to outperform filtering over shorter ranges, around a thousand items",
            "Priority has surely less error than the "
            + "; than the ".join(
                f"{arm}: nowhere" if size is None else f"{arm}: from R = {size:,} on"
                for arm, size in crossings.items()
            )
            + ".",
            judged(
                Verdict.DOES_NOT
                if size is None
                else Verdict.HOLDS
                if 500 <= size <= 2000
                else Verdict.IN_PART
                for size in crossings.values()
            ),
            "the first such R lies between 500 and 2,000 for both; elsewhere in part.",
        ),
        Claim(
            where,
            "filter-priority with cutoff 20 is better than filtering or sampling alone",
            " ".join(f"Ratios to the {other} lie {_ends(each)}." for other, each in both.items()),
            judged(below(value, 1) for each in both.values() for value in each.values()),
            "surely less error than each of them at every R.",
        ),
        Claim(
            where,
            "summaries are less accurate than the geometric mechanism",
            "; ".join(f"{arm}: {_ends(ratios)}" for arm, ratios in geometric.items()) + " times its error.",
            judged(above(value, 1) for ratios in geometric.values() for value in ratios.values()),
            "surely more error for every summary and R.",
        ),
        Claim(
            where,
            "a sample twice as large makes filter-priority equal to the geometric mechanism",
            f"Ratios of errors lie {_ends(twice)}.",
            judged(within(value, 0.0, 1.1) for value in twice.values()),
            "at most 10 % more error at each R, as far as chance allows for.",
        ),
    ]


def _sparse_claims(panel: _Panel) -> list[Claim]:
    where = "Figure 3(d), density 0.01"
    sampling = {arm: panel.ratios(arm, "priority") for arm in _FILTERS}
    hybrid = {arm: panel.ratios("filter-priority", arm) for arm in _FILTERS}
    against = panel.ratios("filter-priority", "geometric")
    rows = {arm: panel.results.of("rows", arm=arm).mean for arm in _FILTERS}
    return [
        Claim(
            where,
            "filtering outperforms sampling across a range of sizes",
            " ".join(f"Ratios of the {arm} to priority lie {_ends(each)}." for arm, each in sampling.items()),
            judged(below(value, 1) for each in sampling.values() for value in each.values()),
            "surely less error at every R.",
        ),
        Claim(
            where,
            "filter-priority with cutoff 50 has yet higher accuracy than filtering",
            " ".join(
                f"Ratios of errors to the {arm} ({rows[arm]:,.0f} rows) lie {_ends(each)}."
                for arm, each in hybrid.items()
            ),
            judged(below(value, 1) for each in hybrid.values() for value in each.values()),
            "surely less error than both filters at every R.",
        ),
        Claim(
            where,
            "filter-priority with cutoff 50 outperforms the geometric mechanism at all subset sizes",
            f"Ratios of errors lie {_ends(against)}.",
            judged(below(value, 1) for value in against.values()),
            "surely less error at every R.",
        ),
    ]


def _common_claims(*panels: _Panel) -> list[Claim]:
    over = {
        (name, size): max(
            (panel.ratio("filter-priority", other, size) for other in ("filter", "priority")),
            key=lambda value: value.mean,
        )
        for name, panel in zip(_PANELS, panels, strict=True)
        for size in panel.sizes
    }
    worst = max(over, key=lambda key: over[key].mean)
    default, _, sparse = panels
    useless = {
        name: panel.relative("uniform sample", panel.sizes[0])
        for name, panel in (("density 0.1", default), ("density 0.01", sparse))
    }
    compared = [
        panel.ratio("uniform sample", "priority", size) for panel in (default, sparse) for size in panel.sizes
    ]
    return [
        Claim(
            "Section 4.3",
            "the hybrid has the best of both worlds across data types and query sizes",
            f"Next to the better of filter and priority, its error is at most {over[worst]} times as large "
            f"({worst[0]}, R = {worst[1]:,}).",
            judged(within(value, 0.0, 1.25) for value in over.values()),
            "at most 25 % more error than the better of both everywhere, as far as chance allows for.",
        ),
        Claim(
            "Section 2.3",
            "a uniform sample of cells is virtually useless",
            f"Median relative error for subsets of {default.sizes[0]}: "
            + "; ".join(f"{name}: {value.percent()}" for name, value in useless.items())
            + f". It has {min(value.mean for value in compared):.2g} to "
            f"{max(value.mean for value in compared):.2g} times the error of a priority sample of the "
            "same size.",
            judged(
                [*(above(value, 0.5) for value in useless.values()), *(above(value, 1) for value in compared)]
            ),
            "a relative error above 50 % for small subsets, and surely more error than a priority sample "
            "everywhere.",
        ),
    ]
