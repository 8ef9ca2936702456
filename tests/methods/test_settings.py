"""Settings are checked when they are made, kept exact, and print as what rebuilds them."""

from __future__ import annotations

from fractions import Fraction

import pytest

import hushtable as ht
from hushtable.methods.settings import Method

GOOD: list[Method] = [
    ht.Everything(),
    ht.Everything(nonnegative=True),
    ht.Filter(cutoff=50),
    ht.Filter(size=10, two_sided=False),
    ht.Threshold(threshold="190.5"),
    ht.Threshold(size=10),
    ht.Priority(size=100_000),
    ht.FilterThreshold(cutoff=2.5, threshold=3),
    ht.FilterThreshold(cutoff=2, size=3),
    ht.FilterPriority(cutoff=2, size=3, two_sided=False),
]


@pytest.mark.parametrize("method", GOOD, ids=repr)
def test_the_text_of_a_method_rebuilds_it(method: Method) -> None:
    assert (
        eval(repr(method), {"Fraction": Fraction, **vars(ht), **{n: getattr(ht, n) for n in ht.__all__}})
        == method
    )
    assert hash(method) == hash(
        eval(repr(method), {"Fraction": Fraction, **{n: getattr(ht, n) for n in ht.__all__}})
    )


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (ht.Filter, {}, "Filter takes exactly one of `cutoff` and `size`"),
        (ht.Filter, {"cutoff": 1, "size": 1}, "Filter takes exactly one of `cutoff` and `size`"),
        (ht.Threshold, {}, "Threshold takes exactly one of `threshold` and `size`"),
        (ht.FilterThreshold, {"cutoff": 3}, "FilterThreshold takes exactly one of `threshold` and `size`"),
        (ht.Priority, {"size": 0}, "size=0 is below 1"),
        (ht.Priority, {"size": -5}, "size=-5 is below 0"),
        (ht.Priority, {"size": 2.5}, "size=2.5 is not a whole number"),
        (ht.Priority, {"size": 10**10}, r"size=10000000000 is above 10\^9"),
        (ht.Filter, {"size": True}, "size=True is not a whole number"),
        (ht.Filter, {"cutoff": -1}, "cutoff=-1 is below 0"),
        (ht.Filter, {"cutoff": 0.5, "two_sided": False}, "cutoff=0.5 is below 1"),
        (ht.Filter, {"cutoff": float("nan")}, "cutoff=nan is not a finite number"),
        (ht.Threshold, {"threshold": 0}, "threshold=0 is not above 0"),
        (ht.FilterPriority, {"cutoff": "x", "size": 1}, "cutoff='x' is not a finite number"),
    ],
)
def test_bad_settings_are_one_clear_error(make: object, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ht.HushtableError, match=message):
        make(**settings)  # type: ignore[operator]


def test_settings_are_keyword_only_and_frozen() -> None:
    with pytest.raises(TypeError):
        ht.Priority(5)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        ht.Priority(size=5).size = 6  # type: ignore[misc]
