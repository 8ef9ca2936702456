"""What a page says in words: what was counted, who is protected, how sure numbers are, what not to conclude.

Promise: the guarantee is the release's own sentence, and every number beside it follows from the terms, never
from a text of the release. What is said of guesses is a bound that holds for the stated kind of privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, expm1, sqrt
from typing import Any

from hushtable.domain.attributes import Attribute, Categories
from hushtable.domain.wording import cells_in_words, kind_in_words, many, rule_in_words
from hushtable.laws.costs import amount
from hushtable.pages.asked import Estimated
from hushtable.pages.encoding import decimals_of, usual_margin
from hushtable.pages.views import LeftOut, View
from hushtable.plots.words import measured, one_line
from hushtable.release.left_out import left_out_sentence
from hushtable.release.terms import Terms

_LISTED = 400  # attributes of the dictionary, and values of one of them
_LONGEST = 2_000  # characters of a filter or a query
_LARGE = 30.0  # an epsilon beyond which the odds are certain
_WEAK, _STRONG = 3.0, 0.5  # epsilons; what a usual delta adds to them is no matter
_SLACK = 1e-4


def counted(terms: Terms) -> list[str]:
    """Return what the numbers count, in sentences."""
    measure, unit = terms.measure, terms.measure.unit
    what = measured(terms)
    said = [f"Every number on this page is {_article(what)} {what}."]
    if measure.clamp is not None:
        low, high = measure.clamp
        said.append(f"Each single value was first brought between {low:,} and {high:,}.")
    if unit is not None and unit.max_rows is not None:
        rows = many(unit.max_rows, "row", "rows")
        said.append(f"At most {rows} of each {one_line(unit.column)} count; the others are left out.")
    elif unit is not None and unit.max_cells is not None:
        cells, times = many(unit.max_cells, "cell", "cells"), unit.max_per_cell or 1
        often = "once" if times == 1 else f"up to {times:,} times"
        said.append(
            f"Each {one_line(unit.column)} counts in at most {cells} of the finest table, {often} in each."
        )
    if terms.where is not None:
        said.append(f"Only rows that meet this condition were counted: {_cut(terms.where)}")
    if (left_out := left_out_sentence(terms)) is not None:
        said.append(left_out)
    return said


def prepared(terms: Terms) -> list[str]:
    """Return the query that made the rows, in a sentence, if there was one."""
    if terms.query is None:
        return []
    return [f"The publisher first prepared the rows with a query: {_cut(terms.query)}"]


def protected(terms: Terms) -> str:
    """Return what one unit is, in a word."""
    measure = terms.measure
    if measure.unit is not None:
        return one_line(measure.unit.column)
    if measure.count_column is not None:
        return "counted person"
    return "row of the owner's prepared table" if terms.rows_are_units else "row"


def nothing_in(rows: int) -> list[str]:
    """Return what to tell first of a file without rows."""
    if rows:
        return []
    return ["This file has no rows: every noisy count was below the cutoff. It tells you next to nothing."]


def odds(terms: Terms) -> dict[str, str | int]:
    """Return what the cost bounds, one person out and one in.

    Somebody guesses from a release whether a person is in it. If a share k of releases mislead them when the
    person is out, at most e^epsilon k + delta let them say so when the person is in, and the same holds for
    saying the opposite. So at worst k = (1 - delta) / (1 + e^epsilon), and 1 - k. Under rho-zCDP the two laws
    have a divergence of Kullback and Leibler of at most rho, and so a total variation distance of at most
    sqrt(rho / 2) (Pinsker) and sqrt(1 - e^-rho) (Bretagnolle and Huber); at worst k is half of what that
    leaves of 1.
    """
    cost = terms.cost
    if cost.epsilon is None:
        rho = float(cost.rho or 0)
        wrong = max(1 - sqrt(rho / 2), 1 - sqrt(-expm1(-rho))) / 2
        also = "Some results tell more than others; those that tell much are very rare."
    else:
        epsilon = min(float(cost.epsilon), _LARGE)
        wrong = _wrong(epsilon) * (1 - float(cost.delta))
        changes = "one more or one less in the data changes the chance of any result by at most a factor of "
        changes += _factor(epsilon)
        also = f"In other words: {changes}."
        if cost.delta:
            also = f"In other words: {changes}, apart from a chance of at most delta = {amount(cost.delta)} "
            also += "that the result tells more."
    out = round(100 * wrong)
    return {"out": out, "in": 100 - out, "also": also, "verdict": _verdict(wrong)}


def _wrong(epsilon: float) -> float:
    return 1 / (1 + exp(epsilon))


def _factor(epsilon: float) -> str:
    factor = exp(epsilon)
    return f"{factor:.3g}" if factor < 1000 else f"{float(f'{factor:.2g}'):,.0f}"


def _verdict(wrong: float) -> str:
    """Return what a cost that misleads guesses so often is commonly held to be."""
    if wrong >= _wrong(_STRONG) * (1 - _SLACK):
        return "That is strong protection: almost a coin toss."
    if wrong >= _wrong(_WEAK) * (1 - _SLACK):
        return "That is in the range that statistical offices and companies commonly use."
    return "That is little protection in the worst case: somebody who knows much could become nearly certain."


def accuracy(views: Sequence[View], terms: Terms) -> list[dict[str, Any]]:
    """Return, for each view, how sure its numbers are."""
    nodes = terms.nodes
    parts = {each.label: number for number, each in enumerate(nodes.marginals)}
    rows = []
    for view in views:
        label = ", ".join(view.names)
        margin, decimals = usual_margin(view.numbers), decimals_of(view.numbers)
        shown = len(view.codes[0])
        rows.append(
            {
                "table": one_line(", ".join(each.label for each in view.items)),
                "groups": f"{view.groups:,}",
                "margin": "no limit" if margin is None else f"± {margin:,.{decimals}f}",
                "unclear": f"{int(view.unclear.sum()):,} of {shown:,}",
                "published": _published(terms, parts.get(label), label),
            }
        )
    return rows


def _published(terms: Terms, number: int | None, label: str) -> str:
    """Return how a table was published."""
    if terms.nodes.named(terms.domain) is not None and not terms.parts:
        return f"worked out from the published {terms.structure.row}s"
    if number is None:
        if not terms.parts and label == ", ".join(terms.domain.names):
            own = terms
        else:
            return "calculated from the published tables"
    else:
        own = terms.part(number)
    if own.cutoff is not None:
        return f"noisy counts of {own.cutoff:g} and more" + (" in size" if own.method.two_sided else "")
    if own.threshold:
        return "a sample, large counts first"
    return "whole" if own.method.complete else "in part"


def cautions(terms: Terms, *, confidence: float) -> list[str]:
    """Return what one must not conclude."""
    miss = 100 * (1 - confidence)
    clamp = terms.measure.clamp
    said = [
        "Do not conclude anything about one person. The numbers would look much the same without them. A "
        "group of 1 may be nobody, and a group of 0 may be somebody.",
        "Do not take a grey group for an empty one. Grey means that this file cannot tell the group from 0.",
        "Do not call one group larger than another if their intervals overlap by much. Random noise was "
        "added to protect people, and small differences may be noise alone.",
        "Do not expect every interval to be right. Each one, by itself, is right in at least "
        f"{100 * confidence:.10g} of 100 releases, so about {miss:.3g} of 100 may miss. If you pick the "
        "largest, the smallest or the oddest of many groups, you also pick the misses.",
        "Do not work out the margin of a sum from the margins of its parts. Ask for the sum itself: margins "
        "do not add up.",
    ]
    if clamp is None or clamp[0] >= 0:
        said.append(
            "Do not take a number below 0 for a mistake. Noise goes both ways, and cutting it off at 0 would "
            "make sums too large."
        )
    cutoffs = {part.cutoff for part in terms.parts or (terms,) if part.cutoff is not None}
    if cutoffs:
        least = ", ".join(f"{each:g}" for each in sorted(cutoffs)[:3])
        said.append(
            "Do not conclude that a group without a row is empty. Where a table was published with a cutoff "
            f"({least}), smaller noisy counts are not in the file, and intervals are wide to allow for them."
        )
    said.append(
        "Do not read more into the numbers than was counted. Rows with missing or undeclared values follow "
        "the rules that the publisher declared. Whatever the publisher's data lack is missing here too."
    )
    return said


def dictionary(terms: Terms) -> list[dict[str, Any]]:
    """Return what each attribute is."""
    return [_entry(each) for each in terms.domain.attributes[:_LISTED]]


def _entry(attribute: Attribute) -> dict[str, Any]:
    values = attribute.values
    listed: list[list[str]] = []
    if isinstance(values, Categories):
        labels = values.labels or ("",) * values.size
        pairs = zip(values.values[:_LISTED], labels[:_LISTED], strict=True)
        listed = [[one_line(value) or "(empty)", one_line(label)] for value, label in pairs]
    return {
        "name": one_line(attribute.name),
        "column": one_line(attribute.column),
        "values": one_line(kind_in_words(values)),
        "levels": [one_line(each.name) for each in attribute.levels],
        "missing": one_line(rule_in_words(attribute.missing)),
        "outside": one_line(rule_in_words(attribute.outside)),
        "listed": listed,
        "more": max(0, values.size - _LISTED) if listed else 0,
    }


def citation(terms: Terms, *, title: str, digest: str) -> str:
    """Return how to cite the release."""
    what = measured(terms)
    cost = terms.cost
    text = f"“{title}”: {what}, published under {cost.privacy} ({cost.paid}), made by hushtable "
    text += one_line(terms.version)
    return f"{text}. SHA-256 of the file: {digest}." if digest else f"{text}."


def size_in_words(terms: Terms, rows: int) -> str:
    """Return how much was published."""
    row = terms.structure.row
    if terms.domain.unlisted:
        return f"{rows:,} published rows; the number of possible {row}s is not limited"
    if not terms.law.noises_empty:
        cells = cells_in_words(terms.units_total)
        return f"{rows:,} published rows, of {cells} {row}s; those that somebody is in got noise"
    return f"{rows:,} published rows, out of {cells_in_words(terms.units_total)} {row}s that got noise"


def left_out_in_words(left_out: Sequence[LeftOut]) -> list[dict[str, str]]:
    """Return what the page does not answer, and why: the first few."""
    return [
        {"table": one_line(", ".join(each.names)), "why": one_line(each.why)[:300]} for each in left_out[:40]
    ]


def estimate_in_words(found: Estimated | None) -> Mapping[str, str] | None:
    """Return a total with its interval."""
    if found is None:
        return None
    return {
        "value": _number(found.value),
        "low": _number(found.low),
        "high": _number(found.high),
        "note": one_line(found.note),
    }


def _number(value: float) -> str:
    return f"{value:,.0f}".replace("-", "\N{MINUS SIGN}").replace("inf", "no limit")


def _article(what: str) -> str:
    return "an estimate of the" if what.startswith(("number", "sum")) else "an estimate of"


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
