"""Views as the data of a page: whole numbers, labels, and JSON that nothing can break out of.

Promise: a number of a page has the digits of Python's own rounding of it; the page's script moves the decimal
point and no more. Text of a release is one line without characters that turn or hide others. JSON of ours has
none of the characters that mean something to HTML, so that no text ends the element that it stands in.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import floor, isfinite, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.attributes import Attribute, Times
from hushtable.domain.wording import is_ordered
from hushtable.pages.views import Named, View
from hushtable.plots.scales import labels_of
from hushtable.plots.words import cut, one_line

_LONGEST = 120  # characters of a label
_PLAIN = 2.0  # a margin from which whole numbers are fine enough
_MOST_DECIMALS = 6
_MONTH = len("2025-01")
_FEW = 12  # values of an ordered attribute that are better seen as bars
_ESCAPES = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"})


def allowed(text: str) -> str:
    """Return what a policy calls a script or style: what stands between its tags, byte for byte."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def as_json(value: object) -> str:
    """Return JSON that may stand in a script element.

    >>> as_json({"name": "</script><script>"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cscript\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def decimals_of(numbers: NDArray[np.float64]) -> int:
    """Return how many decimals estimates with these intervals are worth: two digits of a usual margin."""
    margin = usual_margin(numbers)
    if margin is None or margin >= _PLAIN or margin <= 0:
        return 0
    return min(_MOST_DECIMALS, max(0, 1 - floor(log10(margin))))


def is_vague(view: View) -> bool:
    """Return whether most intervals of a view are wider than its largest number."""
    margin = usual_margin(view.numbers)
    return margin is None or margin > float(np.abs(view.numbers[0]).max(initial=0))


def usual_margin(numbers: NDArray[np.float64]) -> float | None:
    """Return half of a usual interval: that of the group in the middle; None where most have no end."""
    _, low, high = numbers
    margins = (high - low) / 2
    found = float(np.median(margins)) if margins.size else float("nan")
    return found if isfinite(found) else None


def whole(value: float, decimals: int) -> int | None:
    """Return a number as so many times its last decimal, rounded as Python writes it; None for no limit.

    >>> whole(2.675, 2), whole(-0.2, 0), whole(float("inf"), 0)
    (267, 0, None)
    """
    return int(f"{value:.{decimals}f}".replace(".", "")) if isfinite(value) else None


def item_of_page(item: Named, codes: NDArray[np.int64]) -> dict[str, Any]:
    """Return an attribute at a level, with the labels of these codes."""
    kind = item.attribute.values
    ordered = is_ordered(kind)
    return {
        "name": one_line(item.name),
        "label": one_line(item.label),
        "place": item.place,
        "ordered": ordered,
        "time": isinstance(kind, Times),
        "line": ordered and (isinstance(kind, Times) or kind.size > _FEW),
        "labels": distinct_labels(item.attribute, codes),
    }


def distinct_labels(attribute: Attribute, codes: NDArray[np.int64]) -> list[str]:
    """Return what people read for these codes; two that look alike are told apart by their values."""
    kind = attribute.values
    labels = cut(labels_of(attribute, codes), _LONGEST)
    if isinstance(kind, Times) and kind.unit == "month":
        labels = [label[:_MONTH] for label in labels]
    often = Counter(labels)
    if len(often) == len(labels):
        return labels
    values = kind.decode(codes).to_pylist()
    told = [
        f"{label} ({one_line(str(value))[:_LONGEST]})" if often[label] > 1 else label
        for label, value in zip(labels, values, strict=True)
    ]
    return told


def encoded(view: View, used: Mapping[str, NDArray[np.int64]], numbers: Sequence[int]) -> dict[str, Any]:
    """Return a view for the page; `used` are the codes of each item that have labels, `numbers` its items."""
    decimals = decimals_of(view.numbers)
    estimate, low, high = ([whole(each, decimals) for each in row] for row in view.numbers.tolist())
    sizes = [len(used[name]) for name in view.names]
    made: dict[str, Any] = {
        "items": list(numbers),
        "decimals": decimals,
        "groups": view.groups,
        "estimate": estimate,
        "low": low,
        "high": high,
        "unclear": "".join("1" if each else "0" for each in view.unclear.tolist()),
    }
    if view.others is not None:
        largest = np.argsort(-view.numbers[0], kind="stable")[: view.bars]
        value, least, most = view.others
        inside = least <= value <= most  # else noise put it where the truth cannot be
        made["others"] = {
            "beside": largest.tolist(),
            "estimate": whole(value, decimals) if inside else None,
            "low": whole(least, decimals),
            "high": whole(most, decimals),
            "unclear": "1" if least <= 0 <= most else "0",
        }
    if len(view.codes[0]) != np.prod(sizes, dtype=object):  # else they are all, in order
        made["codes"] = [
            np.searchsorted(used[name], codes).tolist()
            for name, codes in zip(view.names, view.codes, strict=True)
        ]
    return made


def used_codes(views: Sequence[View]) -> dict[str, NDArray[np.int64]]:
    """Return, for each item, the codes that any view has, ascending."""
    found: dict[str, list[NDArray[np.int64]]] = {}
    for view in views:
        for name, codes in zip(view.names, view.codes, strict=True):
            found.setdefault(name, []).append(np.unique(codes))
    return {name: np.unique(np.concatenate(each)) for name, each in found.items()}
