"""A plan as a page of plain text.

Promise: every number beside what it is compared with, and where the assumptions come from; no wider than a
page of 100 characters.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from fractions import Fraction
from math import exp, log10, sqrt
from typing import TYPE_CHECKING

from hushtable.domain.kinds import plain
from hushtable.laws.costs import Cost
from hushtable.methods.settings import Method
from hushtable.planning.laws import cutoffs

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan
    from hushtable.planning.predictions import Prediction

WIDTH = 100
_IN_FULL = 1e9
_TIMES, _LARGE = 10, 10_000  # shares from here on are multiples; large ones, of two digits
_MOST_QUESTIONS = 8  # on a page
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def brief_of(plan: Plan) -> str:
    """Return the answer first, then the errors of the recommended summary, and what they rest on."""
    best, assumed = plan.recommended, plan.profile
    said = [_lead(plan)]
    if plan.worth:
        said.append(f"To publish it: hushtable publish ... {plan.options}")
    if (asked := plan.against_questions()) and (better := sum(one < two for one, two in asked.values())):
        told = (
            f"Several tables answer {better} of {len(asked)} usual questions better than these "
            "cells. To publish "
        )
        told += f"them, leave out the summary and all assumptions: hushtable publish ... --size {plan.size}."
        said.append(paragraph(told))
    if plan.tree is not None and plan.structure != "cells":
        said.append(paragraph(f"For ranges, take a tree: --structure tree --size {plan.size}."))
    if plan.warnings:
        said.append("\n".join(paragraph(f"warning: {each}.") for each in plan.warnings))
    lines = [["sets of so many cells", *map(number, plan.zero_errors)]]
    lines.append(["typical error", *(number(best.errors[size]) for size in plan.zero_errors)])
    shares = (percent(best.errors[size] / error) for size, error in plan.zero_errors.items())
    lines.append(["as a share of what they hold", *shares])
    rests = (
        f"The plan assumes {assumed.words} ({number(assumed.occupied)} cells with "
        f"{number(assumed.people)} in all). "
    )
    rests += "It counts as declared public by the owner. --details, or `plan.details` in Python, shows all "
    rests += "summaries, ranges and coarser levels."
    return "\n\n".join([*said, aligned(lines), paragraph(rests)])


def _lead(plan: Plan) -> str:
    """Return whether the release is worth its epsilon, and by how much."""
    best = plan.recommended
    rows = f"{best.rows:,.0f} rows, {percent(best.real_share)} of them real"
    compared = f"{percent(plan.against_zero)} of what they would be if every answer were 0"
    if plan.against_total is not None:
        compared += f", and {percent(plan.against_total)} of what the noisy total alone would give"
    if plan.worth:
        return paragraph(
            f"Worth publishing, by {name_of(best)}: about {rows}. On average, errors are {compared}."
        )
    return paragraph(
        f"Not worth publishing as it is. The best summary, {name_of(best)}, would have about {rows}. On "
        f"average, its errors would be {compared}."
    )


def text_of(plan: Plan) -> str:
    """Return the page with everything."""
    best = plan.recommended
    parts = [
        _lead(plan),
        head(plan),
        _rows(plan),
        _errors(plan),
        f"The chance that {name_of(best)} publishes a cell, by its count:",
        aligned([["count", *map(number, plan.curve)], ["chance", *map(percent, plan.curve.values())]]),
        paragraph(f"Recommended: {plan.reason}"),
    ]
    if plan.worth:
        parts.append(f"To publish it: hushtable publish ... {plan.options}")
    if asked := plan.against_questions():
        parts.append(_questions(plan, asked))
    if plan.tree is not None:
        parts.append(_ranges(plan, plan.tree))
    if plan.rollups:
        parts.append(_rollups(plan))
    if plan.warnings:
        parts.append("\n".join(paragraph(f"warning: {each}.") for each in plan.warnings))
    parts.append(_laws(plan, plan.allowed) if plan.allowed is not None else _yardstick(plan))
    return "\n\n".join(parts)


def _laws(plan: Plan, allowed: Cost) -> str:
    """Return the cutoffs of all laws that an epsilon and a delta buy, side by side."""
    found = cutoffs(allowed, one=plan.sensitivity, cells=plan.cells_total, size=plan.size)
    lead = "The smallest counts that a table of cells alone would show, for each law of noise (--law):"
    lines = [["law", "noise", "smallest count"]]
    lines += [[each.law, f"± {number(each.deviation)}", f"{each.cutoff:,}"] for each in found]
    return f"{paragraph(lead)}\n\n{aligned(lines)}"


def _yardstick(plan: Plan) -> str:
    """Return what a threshold release of another guarantee would show."""
    said = (
        "For comparison: a threshold release under (epsilon, delta)-privacy has about the same cutoff as the "
        "filter"
    )
    said += f" if delta = {plan.delta:.2g} (size / cells). The release planned here has no delta."
    return paragraph(said)


def head(plan: Plan, *, cells: bool = True) -> str:
    """Return what is declared and assumed, and the noise of cells."""
    title = f" for {plan.title!r}" if plan.title else ""
    deviation = sqrt(plan.law.floats.variance)
    split = f", {_exact(plan.total_budget)} of it for a noisy total" if plan.total_budget else ""
    most = plan.sensitivity.l1
    sensitivity = f", sensitivity {int(most):,}" if most > 1 else ""
    assumed = plan.profile
    many, spent = number(plan.cells_total), plan.cost.said.replace(" = ", " ")
    declared = f"Plan{title}: {many} cells, {spent}{split}, size {plan.size:,}."
    noise = f"Noise in every cell: standard deviation {number(deviation)}{sensitivity}."
    assumption = f"The plan assumes {assumed.words} ({number(assumed.occupied)} cells "
    assumption += (
        f"with {number(assumed.people)} in all). This must not come from the private table: it counts as "
    )
    assumption += "declared public by the owner."
    said = (declared, noise, assumption) if cells else (declared, assumption)
    return "\n".join(map(paragraph, said))


def _rows(plan: Plan) -> str:
    """Return how many rows to expect of each summary."""
    lines = [["summary", "rows", "real", "noise", "suppressed", "file"]]
    for each in plan.predictions:
        amounts = (each.rows, each.rows_real, each.rows_noise, each.suppressed)
        lines.append([name_of(each), *(f"{amount:,.0f}" for amount in amounts), _bytes(each.bytes)])
    said = (
        "Rows to expect from occupied cells (real) and from empty ones (noise), and how many occupied cells "
    )
    return f"{paragraph(f'{said}get no row (suppressed):')}\n\n{aligned(lines)}"


def _errors(plan: Plan) -> str:
    """Return the errors of each summary, beside those of knowing nothing."""
    from hushtable.planning.predictions import score

    sizes = list(plan.zero_errors)
    known = [(name_of(each), each.errors) for each in plan.predictions]
    known.append(("answering 0", plan.zero_errors))
    if plan.total_errors is not None:
        known.append(("noisy total alone", plan.total_errors))
    sizes_line = ["sets of so many cells", *map(number, sizes)]
    sums = [sizes_line] + [[name, *(number(errors[size]) for size in sizes)] for name, errors in known]
    shares = [[*sizes_line, "mean"]]
    for name, errors in known:
        parts = (percent(errors[size] / plan.zero_errors[size]) for size in sizes)
        shares.append([name, *parts, percent(exp(score(errors, plan.zero_errors)))])
    first = "Size of the error to expect, for sums over sets of cells chosen at random:"
    second = "The same as a share of what such sets hold (the geometric mean compares summaries):"
    return f"{first}\n\n{aligned(sums)}\n\n{second}\n\n{aligned(shares)}"


def _questions(plan: Plan, asked: dict[str, tuple[float, float]]) -> str:
    """Return the errors of what people usually ask: by several tables, and by cells alone."""
    lines = [["question", "several tables", f"cells, {name_of(plan.recommended)}"]]
    shown = sorted(asked.items(), key=lambda each: each[1][0] / each[1][1])[:_MOST_QUESTIONS]
    lines += [[name, number(tables), f"at least {number(cells)}"] for name, (tables, cells) in shown]
    better = sum(tables < cells for tables, cells in asked.values())
    lead = "Size of the error to expect for a group, in questions that people usually ask, at the same cost"
    lead += f" ({len(shown)} of {len(asked)} questions):" if len(shown) < len(asked) else ":"
    said = f"Several tables answer {better} of {len(asked)} questions better. To publish them, leave the "
    said += f"summary and all assumptions out: hushtable publish ... --size {plan.size}. Or name your own "
    said += "questions: hushtable plan ... --ask."
    return "\n\n".join([paragraph(lead), aligned(lines), paragraph(said)])


def _ranges(plan: Plan, tree: Prediction) -> str:
    """Return the errors over ranges, of cells and of a tree, and which of them to take."""
    from hushtable.structures.pruned import Tree

    cells = plan.recommended
    lines = [["ranges of so many cells", *map(number, tree.errors), "mean", "rows", "real"]]
    for name, each in ((f"cells, {name_of(cells)}", cells), (tree_name(tree), tree)):
        errors = (number(error) for error in each.errors.values())
        rows = f"{each.rows:,.0f}", percent(each.real_share)
        lines.append([name, *errors, percent(exp(each.score)), *rows])
    said = (
        "Size of the error to expect, for sums over ranges in the order of the attributes, if occupied cells "
        "lie at random. A range is then like any other set of cells (mean: as a share of what ranges "
        "hold). Where people lie close together, a tree is mostly better than this, and cells with a cutoff "
        "may be many times worse:"
    )
    share = f"{percent(plan.against_cells or 0)} of those of {name_of(cells)}"
    taken = f"For ranges: cells. Errors of a tree would be {share}."
    if plan.structure == "tree":
        taken = f"For ranges: a tree, by --structure tree --size {plan.size}. Its errors are {share}."
    elif plan.judge(tree.method, Tree()).wasted:
        taken = f"{taken[:-1]}, and {percent(tree.real_share)} of its rows would be real."
    return f"{paragraph(said)}\n\n{aligned(lines)}\n\n{paragraph(taken)}"


def _rollups(plan: Plan) -> str:
    """Return what coarser levels would be worth; if the finest level is not, with what that rests on."""
    lines = [["coarser levels", "cells", "rows", "real", "of 0", "of total", "worth it"]]
    for each in plan.rollups:
        amounts = number(each.cells_total), f"{each.rows:,.0f}"
        total = "" if each.against_total is None else percent(each.against_total)
        shares = percent(each.real_share), percent(each.against_zero), total
        lines.append([each.options, *amounts, *shares, "yes" if each.worth else "no"])
    if plan.worth:
        return aligned(lines)
    said = (
        "Mean errors at coarser levels, as a share of the errors of answering 0, and of those of the noisy "
    )
    said += "total alone. This assumes that occupied cells lie at random. Real tables cluster: their larger "
    said += "cells are fewer and fuller, so rows tell more beyond the total than this list says."
    useful = "none of these" if plan.useful_from is None else plan.useful_from.options
    return f"{paragraph(said)}\n\n{aligned(lines)}\n\nUseful from: {useful}"


def name_of(prediction: Prediction) -> str:
    """Return a summary with the cutoff or threshold that it is expected to have."""
    cutoff, threshold = number(prediction.cutoff), number(prediction.threshold)
    method, said = prediction.method, prediction.method.name
    if method.filters:
        said += f" from {cutoff}"
    if method.samples and not (method.filters and method.expected_rows is None and method.threshold is None):
        said += f"{', threshold' * (said != 'threshold')} {threshold}"
    return said


def tree_name(prediction: Prediction) -> str:
    """Return a tree with the cutoff that it is expected to have."""
    return f"tree from {number(prediction.cutoff)}"


def options_of(method: Method) -> str:
    """Return the options of `hushtable publish` for a method.

    >>> from hushtable.methods.settings import FilterPriority
    >>> options_of(FilterPriority(cutoff=57, size=1000))
    '--summary filter-priority --cutoff 57 --size 1000'
    """
    cutoff, size = method.cutoff, method.size
    said = [f"--summary {method.name}"]
    said += [f"--cutoff {cutoff}"] * (cutoff is not None) + [f"--size {size}"] * (size is not None)
    return " ".join(said)


def aligned(lines: Sequence[Sequence[str]], *, names: int = 1) -> str:
    """Return a table: so many columns of names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if place < names else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def paragraph(text: str) -> str:
    """Return a text in lines of a page."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def number(value: float) -> str:
    """Return about three digits of a number, all of its whole digits up to 10^9.

    >>> [number(each) for each in (0, 0.01234, 12.345, 1234.5, 123_456, 10**12, 3.2e29, 2.5e-7)]
    ['0', '0.0123', '12.3', '1,234', '123,456', '10^12', '3.2e29', '2.5e-7']
    """
    if value >= 100 and value < _IN_FULL:
        return f"{value:,.0f}"
    if value >= _IN_FULL and abs(value / 10 ** round(log10(value)) - 1) < 1e-9:
        return f"10^{round(log10(value))}"
    text = f"{float(value):.3g}"
    return _short(value) if "e" in text else text


def _short(value: float) -> str:
    """Return two digits of a number."""
    return f"{float(value):.2g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def percent(share: float) -> str:
    """Return a share in per cent, and as a multiple where it is large.

    >>> [percent(each) for each in (0, 1e-9, 0.0123, 0.5, 2, 123, 12_345)]
    ['0 %', '<0.01 %', '1.2 %', '50 %', '200 %', '123 x', '1.2e4 x']
    """
    if share >= _TIMES:
        return f"{number(share) if share < _LARGE else _short(share)} x"
    if 0 < share < 1e-4:
        return "<0.01 %"
    return f"{100 * share:.0f} %" if share >= 0.1 or share == 0 else f"{100 * share:.2g} %"


def _exact(value: Fraction) -> str:
    text = plain(value)
    return text if len(text) <= 20 else f"about {float(value):.3g}"


def _bytes(value: float) -> str:
    """Return about how many bytes."""
    unit = next(i for i in range(len(_UNITS)) if value < 1000 ** (i + 1) or i == len(_UNITS) - 1)
    return f"{float(f'{value:.2g}') / 1000**unit:,.3g} {_UNITS[unit]}"
