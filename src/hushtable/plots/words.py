"""What a picture says in words: its title, its caption, and labels short enough to stand in it.

Promise: the caption claims no interval that is not drawn, and says how many groups are not shown, what
intervals rest on and who is protected. A condition is in the title, or in the caption where it is long or the
title is the reader's own. Text of a release is shown as it is, in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10

from hushtable.errors import shown
from hushtable.release.terms import Terms

JOINERS = "\u200c\u200d"  # without width, and part of how some scripts are written
_ELLIPSIS = "…"
_LONG_CONDITION, _LONGEST_CONDITION = 120, 600
_PICKED = " Groups picked for their size are covered less often, unless all intervals hold simultaneously."


def one_line(text: str) -> str:
    """Return text that changes nothing but what it shows: no line breaks, no control characters.

    >>> one_line("a\\tb\\x00")
    'a b\\\\x00'
    """
    line = " ".join(text.split())
    return "".join(each if each.isprintable() or each in JOINERS else repr(each)[1:-1] for each in line)


def cut(texts: Sequence[str], most: int) -> list[str]:
    """Return texts of at most so many characters, without their ends, or middles where ends tell them apart.

    >>> cut(["one of many", "two", "one of more"], 8), cut(["one of many", "two"], 8)
    (['one…many', 'two', 'one…more'], ['one of…', 'two'])
    """
    ends = [text if len(text) <= most else text[: most - 1].rstrip() + _ELLIPSIS for text in texts]
    often, half = Counter(ends), most // 2
    return [
        f"{text[: half - 1]}{_ELLIPSIS}{text[-half:]}" if len(text) > most and often[end] > 1 else end
        for text, end in zip(texts, ends, strict=True)
    ]


def measured(terms: Terms) -> str:
    """Return what a cell counts."""
    measure = terms.measure
    if measure.sum_column is not None:
        return f"sum of {one_line(measure.sum_column)}"
    usual = "people" if measure.count_column is not None else "rows"
    return f"number of {one_line(terms.domain.counts) or usual}"


def range_text(value: float, low: float, high: float) -> str:
    """Return a number with its interval in words, to two digits of its margin, or what is known of it.

    >>> range_text(1234.5, 1114.6, 1354.4), range_text(-5.0, 0.0, 40.0), range_text(7.0, 5.0, float("inf"))
    ('1,230 (1,110 to 1,350)', '0 to 40', 'at least 5')
    """
    if not isfinite(low) or not isfinite(high):
        return (
            f"at least {low:,.0f}"
            if isfinite(low)
            else f"at most {high:,.0f}"
            if isfinite(high)
            else "unknown"
        )
    margin = (high - low) / 2
    places = min(1 - floor(log10(margin)), 6) if margin > 0 else 0
    ends = [f"{round(each, places) + 0.0:,.{max(places, 0)}f}" for each in (value, low, high)]
    first, start, stop = (each.replace("-", "\N{MINUS SIGN}") for each in ends)
    return f"{first} ({start} to {stop})" if low <= value <= high else f"{start} to {stop}"


def title_and_caption(
    terms: Terms,
    names: Sequence[str],
    said: Mapping[bytes, bytes],
    *,
    where: Mapping[str, object] | str | None,
    title: str | None,
    groups: tuple[int, int, int],
    is_map: bool,
    rest: str = "",
) -> tuple[str, str]:
    """Return both; `said` is what the answer says of itself, `groups` how many are drawn, given and there.

    `rest` names what stands for all other groups.
    """
    condition = "" if where is None else _condition(where)
    sentences = [_intervals(said, is_map=is_map)]
    drawn, given, there = groups
    if drawn < there:
        unsure = _PICKED * (drawn < given)  # else the answer's own note says so
        sentences.append(f"The picture shows the {drawn:,} largest of {there:,} groups.{unsure}")
        if rest:
            sentences.append(f"The {rest} is all others together.")
            sentences.append("Its interval is stated on its own, and holds whichever groups are the largest.")
    paragraphs = [" ".join(sentences), one_line(terms.guarantee)]
    if condition and (title is not None or len(condition) > _LONG_CONDITION):
        paragraphs.insert(1, f"Only where {condition}.")
        condition = ""
    if title is None:
        about = one_line(terms.domain.title)
        title = f"{measured(terms)} by {' and '.join(map(one_line, names))}"
        title = f"{about}: {title}" if about else title[0].upper() + title[1:]
        title += f", where {condition}" * bool(condition)
    return "\n".join(map(one_line, title.splitlines())), "\n".join(paragraphs)


def _intervals(said: Mapping[bytes, bytes], *, is_map: bool) -> str:
    """Return what is drawn of the intervals, and what they rest on."""
    level = f"{float(said.get(b'confidence', b'nan')) * 100:.10g} % confidence"
    note = one_line(said.get(b"note", b"").decode())
    drawn = f"Intervals have {level}."
    if is_map:
        drawn = f"Intervals are not drawn. A square is coloured if its interval of {level} leaves out 0."
    return f"{drawn} {note}".rstrip()


def _condition(where: Mapping[str, object] | str) -> str:
    """Return a condition in one line, cut where it is very long."""
    if not isinstance(where, str):
        where = " and ".join(f"{name} = {shown(value)}" for name, value in where.items())
    text = one_line(where)
    if len(text) <= _LONGEST_CONDITION:
        return text
    return f"{text[:_LONGEST_CONDITION]}{_ELLIPSIS} ({len(text):,} characters)"
