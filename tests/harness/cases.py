"""Cases of a test that take the same path: a few of them each time, all in `make test-long`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def few(cases: Iterable[Any], *, every: int, first: int = 0) -> list[Any]:
    """Return all cases, of which `make test` takes each `every`th, from number `first` on.

    A case of several arguments is a tuple. Of a product, choose an `every` that has no factor in common with
    its sides: then each value of each side is among the few.
    """
    return chosen(cases, lambda number: number % every == first)


def chosen(cases: Iterable[Any], taken: Callable[[int], bool] | Sequence[int]) -> list[Any]:
    """Return all cases, of which `make test` takes those with these numbers, from 0."""
    if not callable(taken):
        taken = taken.__contains__
    return [case if taken(number) else _long(case) for number, case in enumerate(cases)]


def _long(case: Any) -> Any:
    """Return the case as one of `make test-long`."""
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.long])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
