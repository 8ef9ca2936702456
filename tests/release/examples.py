"""Releases to test with: one of every kind of attribute, and random ones."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.release.layout import weights_of
from hushtable.release.record import Terms, write_release
from tests.domain.examples import attributes

METHODS: list[Method] = [
    Everything(),
    Everything(nonnegative=True),
    Filter(cutoff="7/3"),
    Filter(size=10, two_sided=False),
    Threshold(threshold="190.5"),
    Threshold(size=1000),
    Priority(size=100_000),
    FilterThreshold(cutoff=20, threshold=100),
    FilterThreshold(cutoff=20, size=10, two_sided=False),
    FilterPriority(cutoff=20, size=1000),
]
MEASURES = [
    Measure(),
    Measure(count_column="S000"),
    Measure(sum_column="amount", clamp=(-5, 100)),
    Measure(unit=Unit("person_id", max_rows=3)),
    Measure(sum_column="amount", clamp=(0, 1 << 40), unit=Unit("person_id", max_rows=1 << 40)),
]
PEOPLE = """
title = "People"
[[attribute]]
name = "region"
categories = { values = ["north", "söuth", "o'<b>\\"x"], labels = ["N", "S", "O"] }
missing = { other = "unknown" }
[[attribute]]
name = "person.age"
integers = { low = -5, high = 120 }
outside = "clamp"
[[attribute]]
name = "hours"
bins = { start = 0, stop = 1, step = 0.1 }
[[attribute]]
name = "income"
bins = { edges = [0, 100, 5000] }
[[attribute]]
name = "day"
times = { start = "1969-12-01", stop = "2025-01-01", every = "1 month" }
[[attribute]]
name = "minute"
times = { start = "2024-01-01", stop = "2024-01-02", every = "15 minutes", timezone = "Europe/Berlin" }
"""
PEOPLE_DOMAIN = Domain.from_dict(tomllib.loads(PEOPLE))
PEOPLE_CODES = np.array(
    [[0, 0, 3, 0, 0, 0], [0, 125, 9, 1, 660, 95], [1, 7, 0, 1, 1, 4], [3, 5, 7, 0, 300, 4]]
)
PEOPLE_COUNTS = np.array([-30, 500, 0, 25])


class Rows(NamedTuple):
    """What `write_release` takes beside the terms."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]


def terms(domain: Domain = PEOPLE_DOMAIN, **changes: Any) -> Terms:
    """Return terms, by default a filter-priority sample of rows with a noisy total."""
    said: dict[str, Any] = {
        "domain": domain,
        "measure": Measure(),
        "rows_are_units": False,
        "where": None,
        "query": None,
        "epsilon": Fraction(1, 10),
        "total_epsilon": Fraction(1, 500),
        "structure": "cells",
        "method": FilterPriority(cutoff=20, size=1000),
        "rule": "auto-cutoff-1",
        "cutoff": 20.0,
        "threshold": 123.5,
        "total": 10_023,
        "version": "0.1.0",
    }
    said |= changes
    return Terms(**{"sensitivity": said["measure"].sensitivity} | said)


def rows(made: Terms, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Rows:
    """Return rows with the weights that follow from their counts."""
    return Rows(codes, counts, weights_of(counts, made.threshold))


def people(**changes: Any) -> tuple[Terms, Rows]:
    """Return a small release with an attribute of every kind."""
    made = terms(**changes)
    return made, rows(made, PEOPLE_CODES, PEOPLE_COUNTS)


def write(path: Path, made: Terms, given: Rows, *, overwrite: bool = False) -> str:
    """Write a release; return the file's digest."""
    return write_release(path, made, **given._asdict(), overwrite=overwrite)


names = st.text(min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name.lower() not in ("count", "weight", "level")
)


@st.composite
def random_terms(draw: st.DrawFn) -> Terms:
    """Return any terms, over a domain of one to four attributes of any kind."""
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    domain = Domain(attributes=tuple(draw(attributes(name)) for name in chosen), title=draw(st.text()))
    epsilon = draw(st.fractions(Fraction(1, 10**6), 100))
    share = draw(st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 3)]))
    number = st.none() | st.floats(0, 1e300)
    return terms(
        domain,
        measure=draw(st.sampled_from(MEASURES)),
        rows_are_units=draw(st.booleans()),
        where=draw(st.none() | st.text()),
        query=draw(st.none() | st.text()),
        epsilon=epsilon,
        total_epsilon=epsilon * share,
        total=draw(st.integers(-(2**80), 2**80)) if share else None,
        method=draw(st.sampled_from(METHODS)),
        rule=draw(st.none() | st.text()),
        cutoff=draw(number),
        threshold=draw(number),
        version=draw(st.text(max_size=9)),
    )


@st.composite
def random_releases(draw: st.DrawFn) -> tuple[Terms, Rows]:
    """Return any terms with a few rows, the first and the last cell among the likely ones."""
    made = draw(random_terms())
    code = [
        st.sampled_from([0, size - 1, size // 2]) | st.integers(0, size - 1) for size in made.domain.shape
    ]
    cells = sorted(draw(st.sets(st.tuples(*code), max_size=9)))
    count = st.integers(-(2**62), 2**62) | st.integers(-300, 300)
    counts = draw(st.lists(count, min_size=len(cells), max_size=len(cells)))
    codes = np.array(cells, dtype=np.int64).reshape(len(cells), len(code))
    return made, rows(made, codes, np.array(counts, dtype=np.int64))
