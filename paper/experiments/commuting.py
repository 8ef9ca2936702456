"""Commuters between homes and work places: the nearest that we have to the paper's OnTheMap."""

from __future__ import annotations

from statistics import mean

import numpy as np

from paper import data
from paper.claims import Claim, Verdict, above, below, judged, within
from paper.data import commuters
from paper.drawing import Line, Panel, drawing
from paper.experiments.ranges import (
    CHECKED,
    arms_of,
    check_gains,
    checked_arms,
    gains_listed,
    listed,
    range_lines,
    ratios_of,
)
from paper.measuring import Measured, Results, Setting, Value, digits
from paper.releasing import range_run, subset_run
from paper.report import Picture

TITLE = "Commuters (OnTheMap)"
ALONE = False

_TABLES = {"block groups": 815**2, "counties": 3142**2, "block groups, 27 kinds": 27 * 815**2}
_OCCUPIED = {"block groups": 154_840, "counties": 135_760}
_SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
_RANGE_SHARES = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5)
_SUMMARIES = ("filter", "priority", "filter-priority")
_CUTOFF = 10  # "a small threshold": one unit of noise


def missing() -> str | None:
    """Return why it cannot run, if so."""
    return data.missing()


def _tables(quick: bool) -> list[str]:
    return ["block groups"] if quick else list(_TABLES)


def _questions(quick: bool) -> int:
    return 100 if quick else 300


def _sizes(table: str, shares: tuple[float, ...]) -> tuple[int, ...]:
    return tuple(round(_TABLES[table] * share) for share in shares)


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    found: list[Setting] = [{"figure": "facts", "data": table, "run": 0} for table in _tables(quick)]
    for table in _tables(quick):
        cells = _TABLES[table]
        base: dict[str, Value] = {"data": table, "epsilon": "0.1", "questions": _questions(quick)}
        runs = 2 if quick else 15 if table == "block groups" else 8
        size = cells * 3 // 16
        sampled: dict[str, Value] = {"method": "filter-priority", "size": size, "cutoff": _CUTOFF}
        subsets: dict[str, dict[str, Value]] = {
            "geometric": {"method": "geometric"},
            "filter": {"method": "filter", "size": size},
            "priority": {"method": "priority", "size": size},
            "filter-priority": sampled,
            "filter, with noisy total": {"method": "filter", "size": size, "total": True},
            "filter-priority, with noisy total": {**sampled, "total": True},
        }
        asked = " ".join(map(str, _sizes(table, _SHARES)))
        for arm, choice in subsets.items():
            setting = base | choice | {"figure": f"subsets, {table}", "arm": arm, "sizes": asked}
            found += [setting | {"run": run} for run in range(runs)]
        if table not in _OCCUPIED:
            continue
        low = 20 * ((cells - 1).bit_length() + 1)
        size = round(0.6 * _OCCUPIED[table])
        asked = " ".join(map(str, _sizes(table, _RANGE_SHARES)))
        for arm, choice in (arms_of(size, low=low) | checked_arms(size, low=low)).items():
            setting = base | choice | {"figure": f"ranges, {table}", "arm": arm, "sizes": asked}
            found += [setting | {"run": run} for run in range(runs)]
    return found


def run(setting: Setting) -> dict[str, float]:
    """Run one cell of work."""
    figure = str(setting["figure"])
    if figure == "facts":
        counts, table = commuters(str(setting["data"])).counts, commuters(str(setting["data"]))
        return {
            "cells": table.cells,
            "occupied": counts.size,
            "density": table.density,
            "people": table.people,
            "mean": float(counts.mean()),
            "sd": float(counts.std()),
            "one or two": float(np.mean(counts <= 2)),
        }
    return subset_run(setting) if figure.startswith("subsets") else range_run(setting)


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    runs = ", ".join(
        f"{len(results.where(figure=f'subsets, {table}', arm='filter'))} of {table}"
        for table in _tables(quick)
    )
    return (
        "The paper's OnTheMap table (47 states by county and two digits of the tract) cannot be had here. "
        "We take LODES, the same product, for Rhode Island 2019 (all jobs, JT00) between block groups; "
        "and, nearest in scale and variance, the flows of the American Community Survey 2011-2015 between "
        "all counties of the US. *27 kinds*: the block groups with age, earnings and industry, three "
        "values each. LODES tells these one by one for a flow, not together, so each flow of block groups "
        "is split over 27 kinds as if they were independent within it, by a multinomial of a fixed seed. "
        "Epsilon 0.1. Sizes are the paper's in proportion: 3/16 of the domain for subsets (its 3*10^6 of "
        "1.6*10^7), 0.6 of the occupied cells for dyadic ranges (its 5*10^5 of 8.2*10^5). Cells are in the "
        f"order of work places, then of homes. Filter-priority has the cutoff {_CUTOFF} for cells, two "
        f"units of noise for nodes. Runs: {runs}, each with {_questions(quick)} questions of each size."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return what the tables are like, and relative errors."""
    facts = [
        "| table | m | n | density | people | mean | sd | cells of 1 or 2 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (name,), group in results.where(figure="facts").grouped("data").items():
        of = {key: group.of(key).mean for key in group.rows[0][1]}
        facts.append(
            f"| {name} | {of['cells']:,.0f} | {of['occupied']:,.0f} | {100 * of['density']:.2g} % | "
            f"{of['people']:,.0f} | {digits(of['mean'], 3)} | {digits(of['sd'], 3)} | "
            f"{100 * of['one or two']:.0f} % |"
        )
    facts.append('| OnTheMap, in the paper | 16,000,000 | 820,000 | 5.1 % | | 150 | "very high" | "many" |')
    lines = ["| table | method | rows | " + " | ".join(f"{100 * share:g} % of m" for share in _SHARES) + " |"]
    lines.append("|---" * (3 + len(_SHARES)) + "|")
    for table in _tables(quick):
        for (arm,), group in results.where(figure=f"subsets, {table}").grouped("arm").items():
            errors = (
                f"{digits(100 * group.of(f'relative {size}').mean, 2)} %" for size in _sizes(table, _SHARES)
            )
            lines.append(f"| {table} | {arm} | {group.of('rows').mean:,.0f} | {' | '.join(errors)} |")
    return ["The tables:\n\n" + "\n".join(facts), "Median relative errors of subsets:\n\n" + "\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return subsets, ranges and the check, for each table."""
    pictures = []
    for table in _tables(quick):
        name = table.replace(",", "").replace(" ", "-")
        some = results.where(figure=f"subsets, {table}")
        panels = []
        for word, label, percent in (
            ("error", "mean |error|", False),
            ("relative", "median relative error, %", True),
        ):
            sizes = _sizes(table, _SHARES)
            lines = [
                Line(str(arm), _SHARES, [some.of(f"{word} {size}", arm=arm) for size in sizes])
                for arm in some.different("arm")
            ]
            panels.append(Panel(table, "share of all cells in the subset", label, lines, percent=percent))
        caption = f"Subset queries, {table}."
        pictures.append(Picture(f"commuting-subsets-{name}", caption, drawing(panels), some))
        if table in _OCCUPIED:
            some = results.where(figure=f"ranges, {table}")
            widths = _sizes(table, _RANGE_SHARES)
            panels = [
                Panel(
                    f"{table}: {title}",
                    "cells R of the range",
                    "mean |error|",
                    range_lines(some, arms, widths),
                )
                for title, arms in (("all methods", tuple(arms_of(1, low=1))), ("consistency", CHECKED))
            ]
            caption = f"Ranges in the order of work places, {table}; with the consistency check on the right."
            pictures.append(Picture(f"commuting-ranges-{name}", caption, drawing(panels), some))
    return pictures


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts, for each table."""
    found = _fact_claims(results, quick)
    for table in _tables(quick):
        found += _subset_claims(results.where(figure=f"subsets, {table}"), table)
        if table in _OCCUPIED:
            found += _range_claims(results.where(figure=f"ranges, {table}"), table)
    return found if quick else [*found, _dimension_claim(results)]


def _dimension_claim(results: Results) -> Claim:
    """Compare what summaries are worth beside noise on all cells, with and without three more attributes."""
    against: dict[str, dict[tuple[str, float], Measured]] = {}
    for table in ("block groups", "block groups, 27 kinds"):
        some, sizes = results.where(figure=f"subsets, {table}"), _sizes(table, _SHARES)
        against[table] = {
            (arm, share): some.ratio(f"error {size}", {"arm": arm}, {"arm": "geometric"})
            for arm in _SUMMARIES
            for share, size in zip(_SHARES, sizes, strict=True)
        }
    few, many = against.values()
    return Claim(
        "Section 5",
        "the benefit only improves as the data dimensionality increases",
        "Error as a multiple of that of the geometric mechanism, block groups and with 27 kinds: "
        + "; ".join(
            f"{arm}, {100 * share:g} %: {few[arm, share].mean:.2g} and {many[arm, share].mean:.2g}"
            for arm, share in few
        )
        + ".",
        judged(many[key].high < few[key].low for key in few),
        "surely smaller multiples with the attributes added, for each summary and size of subset.",
    )


def _fact_claims(results: Results, quick: bool) -> list[Claim]:
    facts = results.where(figure="facts")

    def of(table: str, name: str) -> float:
        return facts.of(name, data=table).mean

    plain = [table for table in _tables(quick) if table in _OCCUPIED]
    claims = [
        Claim(
            "Appendix A",
            "commuting tables are sparse (0.051), with a mean of about 150 and very high variance",
            "; ".join(
                f"{table}: density {of(table, 'density'):.3g}, mean {digits(of(table, 'mean'), 3)}, "
                f"standard deviation {of(table, 'sd') / of(table, 'mean'):.2g} times the mean"
                for table in plain
            )
            + ". Neither is the paper's own table.",
            judged(
                part
                for table in plain
                for part in (
                    of(table, "density") < 0.1,
                    of(table, "mean") > 50,
                    of(table, "sd") > of(table, "mean"),
                )
            ),
            "density below 0.1, mean above 50 and a standard deviation above the mean, for each table.",
        ),
        Claim(
            "Appendix A",
            "many cells have frequency 1 or 2",
            "; ".join(
                f"{table}: {100 * of(table, 'one or two'):.0f} % of the occupied cells" for table in plain
            )
            + ".",
            judged(of(table, "one or two") > 0.1 for table in plain),
            "more than a tenth of the occupied cells.",
        ),
    ]
    if not quick:
        kinds, density = "block groups, 27 kinds", of("block groups, 27 kinds", "density")
        claims.append(
            Claim(
                "Appendix A",
                "adding age, salary and industry makes the table 27 times larger and lowers the density "
                "below 0.01",
                f"From {of('block groups', 'density'):.3g} to {density:.3g}; the occupied cells become "
                f"{of(kinds, 'occupied') / of('block groups', 'occupied'):.2g} times as many.",
                Verdict.HOLDS if density < 0.01 else Verdict.IN_PART if density < 0.1 else Verdict.DOES_NOT,
                "below 0.01 holds; below 0.1 in part (ours starts from a denser table).",
            )
        )
    return claims


def _subset_claims(some: Results, table: str) -> list[Claim]:
    where = f"Figure 6(a), {table}"
    sizes = dict(zip(_SHARES, _sizes(table, _SHARES), strict=True))

    def ratios(one: str, other: str) -> dict[float, Measured]:
        return {s: some.ratio(f"error {size}", {"arm": one}, {"arm": other}) for s, size in sizes.items()}

    def shown(values: dict[float, Measured]) -> str:
        return "; ".join(f"{100 * share:g} % of the cells: {value}" for share, value in values.items())

    against = {arm: ratios(arm, "geometric") for arm in _SUMMARIES}
    large = [share for share in sizes if share >= 0.2]
    small = [share for share in sizes if share < 0.2]
    order = {arm: ratios("priority", arm) for arm in ("filter", "filter-priority")}
    behind = ratios("filter-priority", "priority")
    medium = {
        (arm, share): some.of(f"relative {size}", arm=arm)
        for arm in ("geometric", *_SUMMARIES)
        for share, size in sizes.items()
        if share >= 0.05
    }
    largest = {
        arm: max(v.mean for (name, _), v in medium.items() if name == arm)
        for arm in ("geometric", *_SUMMARIES)
    }
    corrected = ratios("filter, with noisy total", "filter")
    return [
        Claim(
            where,
            "filtering is inaccurate, as deleting small values wipes out a lot of the signal",
            f"Times the error of the geometric mechanism: {shown(against['filter'])}. With a noisy total "
            f"its error is {corrected[0.2]} times as large at 20 %.",
            judged(above(value, 2) for value in against["filter"].values()),
            "surely more than twice the error of the geometric mechanism at each size.",
        ),
        Claim(
            where,
            "priority and filter-priority are not much worse than the geometric mechanism for most queries",
            " ".join(f"{arm}: {shown(against[arm])}." for arm in ("priority", "filter-priority")),
            judged(within(against[arm][s], 0, 2) for arm in ("priority", "filter-priority") for s in small),
            "at most twice the error below 20 % of the cells, as far as chance allows for.",
        ),
        Claim(
            where,
            "they are better than the geometric mechanism for queries of 20 % or more",
            " ".join(
                f"{arm}: " + shown({s: against[arm][s] for s in large}) + "."
                for arm in ("priority", "filter-priority")
            ),
            judged(below(against[arm][s], 1) for arm in ("priority", "filter-priority") for s in large),
            "surely less error there.",
        ),
        Claim(
            where,
            "on large subsets priority outperforms the other summaries, but filter-priority is not far "
            "behind",
            f"Filter-priority against priority: {shown({s: behind[s] for s in large})}. Priority against "
            f"the filter: {shown({s: order['filter'][s] for s in large})}.",
            judged(
                [
                    *(below(order[arm][s], 1) for arm in order for s in large),
                    *(within(behind[s], 0, 2) for s in large),
                ]
            ),
            "surely less error than filter and filter-priority, which has at most twice the error.",
        ),
        Claim(
            where,
            "all queries for subsets of 5 % or more have relative errors below 0.8 %",
            "Largest median relative errors: "
            + "; ".join(f"{arm}: {100 * v:.2g} %" for arm, v in largest.items())
            + ".",
            judged(below(value, 0.008) for value in medium.values()),
            "surely below 0.8 % for each method and size.",
        ),
    ]


def _range_claims(some: Results, table: str) -> list[Claim]:
    widths = _sizes(table, _RANGE_SHARES)
    medium = [width for width, share in zip(widths, _RANGE_SHARES, strict=True) if share >= 0.01]
    pays = ratios_of(some, "geometric, dyadic", "geometric", widths)
    filtered = ratios_of(some, "filter", "geometric, dyadic", widths)
    gains = check_gains(some, widths)
    typical = {arm: mean(value.mean for value in each.values()) for arm, each in gains.items()}
    trees = ratios_of(some, "filter", "pruned tree", widths)
    return [
        Claim(
            f"Figure 6(b), {table}",
            "dyadic ranges pay even for small to medium ranges, around 1 % of the data",
            f"Dyadic against flat geometric: {listed(pays)}.",
            judged(below(pays[width], 1) for width in medium),
            "surely less error from 1 % of the cells on.",
        ),
        Claim(
            f"Figure 6(b), {table}",
            "filtering improves the accuracy over the dyadic geometric mechanism",
            f"Ratios of errors: {listed(filtered)}. The filter has "
            f"{min(v.mean for v in trees.values()):.2g} to {max(v.mean for v in trees.values()):.2g} times "
            "the error of our pruned tree.",
            judged(below(value, 1) for value in filtered.values()),
            "surely less error at every R.",
        ),
        Claim(
            f"Figure 6(c), {table}",
            "consistency checks improve the accuracy by about 10 %",
            gains_listed(gains),
            judged(0.05 <= value <= 0.2 for value in typical.values()),
            "between 5 and 20 % on average over R, for filter and filter-priority.",
        ),
    ]
