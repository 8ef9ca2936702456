"""Attack on the public door: what the files of two neighbouring inputs tell apart, tried many thousand times.

One person is in the first input and not in the second. Both are published by `ht.publish`, with fresh bits,
and nothing is read but the file. A quarter of the runs gives a score: how much likelier each count of each
row is with the person, added up over all rows; or a weighted sum of all counts. Another quarter tells from
which score on to say "with", or up to which one "without". The other half tests that one event. Where it has
chances p and q, (epsilon, delta)-privacy says that p <= e^epsilon q + delta.

A publication takes some 50 ms of processor time, so one holds many runs beside each other: copies of the same
people, each in cells of its own, which an attribute `copy` tells apart. Nobody is in two copies, and noise of
one cell is independent of all others; so each copy is a run of its own. What ties cells together (a noisy
total, a fixed size) is attacked with one copy in a publication.

Promise: `epsilon` of a finding is below that of what was published, at the stated delta, and `delta` is below
that at the stated epsilon: each but for a chance of `1 - confidence`, by Clopper and Pearson's bounds.
Cost: some 50 ms of processor time for each publication.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable as ht
from hushtable.laws.conversions import rho_to_epsilon
from hushtable.laws.rationals import as_fraction

Rows = Sequence[tuple[int, int, int]]  # person, place, kind
Seen = dict[tuple[Any, ...], int]  # the count of each published row of a copy, by its other columns

CONFIDENCE = 0.999
PLACES, KINDS = 3, 2
_NAMES = ("copy", "person", "place", "kind")
_UNSEEN = 0.5  # is added to the number of runs that showed a count, as if it had been seen half a time


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Two neighbouring inputs, how both are published, and what that promises."""

    name: str
    own: Rows  # of the one person, whose number is 0
    others: Rows
    words: Mapping[str, Any]  # of `ht.publish`
    delta: float = 0.0  # of a statement that follows from what is promised, where that is a rho
    copies: int = 2_500  # in one publication
    texts: bool = False  # whether places are texts that nobody lists

    @property
    def promised(self) -> tuple[float, float]:
        """The epsilon and the delta that no event may go beyond."""
        if "rho" in self.words:
            rho, delta = as_fraction(self.words["rho"], name="rho"), as_fraction(self.delta, name="delta")
            return float(rho_to_epsilon(rho, delta=delta)), self.delta
        return float(self.words["epsilon"]), float(self.words.get("delta", 0))


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the attacker can prove: an epsilon at the stated delta, and a delta at the stated epsilon."""

    attack: Attack
    runs: int  # of each input
    epsilon: float
    delta: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether that is no more than what was promised."""
        epsilon, delta = self.attack.promised
        return self.epsilon <= epsilon and self.delta <= delta


def attacked(attack: Attack, *, publications: int, confidence: float = CONFIDENCE) -> Finding:
    """Publish both inputs so many times each, learn from one half, and test on the other."""
    began = process_time()
    quarter, half = publications // 4, publications // 2
    with TemporaryDirectory() as folder:
        learned, compared, tested = (
            [list(_runs(attack, own, Path(folder), count)) for own in (attack.own, ())]
            for count in (quarter, half - quarter, publications - half)
        )
    epsilon, delta = attack.promised
    error = (1 - confidence) / 2
    # With each score, all runs in order: those that events are chosen by, and those that test one of them.
    ranked = [
        [[sorted(map(score, runs)) for runs in each] for each in (compared, tested)]
        for score in (_by_counts(*learned), _by_sums(*learned))
    ]
    runs = len(tested[0])

    def shown(worth: Callable[[float, float], float]) -> float:
        """Return what the event that seems best proves."""
        events = ((*_best_event(known, worth), new) for known, new in ranked)
        _, says_with, cut, scores = max(events, key=lambda each: each[0])
        right, wrong = _counts(scores, says_with, cut)
        chances = least_chance(right, runs, error), 1 - least_chance(runs - wrong, runs, error)
        return max(0.0, worth(*chances))

    return Finding(
        attack=attack,
        runs=runs + len(learned[0]) + len(compared[0]),
        epsilon=shown(lambda p, q: log((p - delta) / q) if p > delta else -inf),
        delta=shown(lambda p, q: p - exp(epsilon) * q),
        seconds=process_time() - began,
    )


def _runs(attack: Attack, own: Rows, folder: Path, publications: int) -> Iterator[Seen]:
    """Publish one input again and again, and give what each copy shows in the file."""
    people = [*attack.others, *own]
    most = 1 + max(person for person, *_ in people)
    rows = [
        (copy, copy * most + person, f"place {place}" if attack.texts else place, kind)
        for copy in range(attack.copies)
        for person, place, kind in people
    ]
    data = pa.table(dict(zip(_NAMES, map(list, zip(*rows, strict=True)), strict=True)))
    domain = ht.Domain(
        copy=ht.integers(0, attack.copies - 1),
        place=ht.any_text(longest=9) if attack.texts else ht.integers(0, PLACES - 1),
        kind=ht.integers(0, KINDS - 1),
    )
    output = folder / "release.parquet"
    words = {"ledger": False, "overwrite": True, "anyway": True, **attack.words}
    for _ in range(publications):
        ht.publish(data, domain=domain, output=output, **words)
        yield from _seen(output, attack.copies)


def _seen(output: Path, copies: int) -> Iterator[Seen]:
    """Give what the file shows of each copy; a noisy total belongs to the only one."""
    table = pq.read_table(output)
    keys = [name for name in table.column_names if name not in ("copy", "count", "weight")]
    found: dict[int, Seen] = defaultdict(dict)
    columns = (table[name].to_pylist() for name in ("copy", "count", *keys))
    for copy, count, *place in zip(*columns, strict=True):
        found[copy or 0][tuple(place)] = count
    if copies == 1 and (total := ht.open(output).noisy_total) is not None:
        found[0]["total",] = total
    yield from (found[copy] for copy in range(copies))


def _by_counts(with_person: Sequence[Seen], without: Sequence[Seen]) -> Callable[[Seen], float]:
    """Return the sum, over all rows there may be, of the logarithm of how much likelier each count is."""
    logs: dict[tuple[Any, ...], dict[int | None, float]] = {}
    for place in {place for seen in (*with_person, *without) for place in seen}:
        one, other = (Counter(seen.get(place) for seen in runs) for runs in (with_person, without))
        counts = one.keys() | other.keys()
        logs[place] = {each: log((one[each] + _UNSEEN) / (other[each] + _UNSEEN)) for each in counts}

    def score(seen: Seen) -> float:
        return sum(known.get(seen.get(place), 0.0) for place, known in logs.items())

    return score


def _by_sums(with_person: Sequence[Seen], without: Sequence[Seen]) -> Callable[[Seen], float]:
    """Return a weighted sum of all counts: what needs few runs to be learned."""
    weights = {}
    for place in {place for seen in (*with_person, *without) for place in seen}:
        one, other = (
            np.array([seen.get(place, 0) for seen in runs], dtype=float) for runs in (with_person, without)
        )
        weights[place] = float((one.mean() - other.mean()) / (one.var() + other.var() + _UNSEEN))

    def score(seen: Seen) -> float:
        return sum(weights.get(place, 0.0) * count for place, count in seen.items())

    return score


def _best_event(
    scores: Sequence[Sequence[float]], worth: Callable[[float, float], float]
) -> tuple[float, bool, float]:
    """Return what seems to be shown at best, and whether by "with" from a score on, or "without" up to it."""
    runs = len(scores[0])
    best = (-inf, True, 0.0)
    for says_with in (True, False):
        for cut in sorted({*scores[0], *scores[1]}):
            p, q = (count / runs for count in _counts(scores, says_with, cut))
            # Each chance is moved by some of its errors, against us: rare events look better than they are.
            p, q = p - 4 * sqrt(p * (1 - p) / runs), q + 4 * sqrt(q * (1 - q) / runs) + 8 / runs
            best = max(best, (worth(p, q), says_with, cut))
    return best


def _counts(scores: Sequence[Sequence[float]], says_with: bool, cut: float) -> tuple[int, int]:
    """Return how many runs, of sorted scores, are in an event: where it should happen, and where not."""
    if says_with:
        return len(scores[0]) - bisect_left(scores[0], cut), len(scores[1]) - bisect_left(scores[1], cut)
    return bisect_right(scores[1], cut), bisect_right(scores[0], cut)


def least_chance(count: int, runs: int, error: float) -> float:
    """Return Clopper and Pearson's lower bound of a chance, rounded down.

    With a chance below it, `count` or more of so many runs are seen only with chance `error`.
    """
    if count == 0:
        return 0.0
    counts = np.arange(count, runs + 1)
    ways = np.array([lgamma(runs + 1) - lgamma(each + 1) - lgamma(runs - each + 1) for each in counts])

    def tail(p: float) -> float:
        return float(np.exp(ways + counts * log(p) + (runs - counts) * log1p(-p)).sum())

    low, high = 0.0, count / runs
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) <= error else (low, middle)
    return low


_ROW: Rows = [(0, 0, 0)]
_TOWN: Rows = [
    *((person, 0, 0) for person in range(1, 9)),
    (9, 0, 1),
    (10, 2, 1),
]  # others beside the one row
_ELSEWHERE: Rows = [(1, 1, 0), (2, 2, 1)]  # there is nobody else
_OFTEN: Rows = [(0, 0, 0)] * 5
_TWO_CELLS: Rows = [(0, 0, 0), (0, 1, 1)] * 3  # nobody else is in the second
_FOUR_CELLS: Rows = [(0, place, kind) for place in range(2) for kind in range(KINDS)] * 2
_BOTH: dict[str, Any] = {"epsilon": 1, "delta": "0.05", "structure": "cells"}
_PURE: dict[str, Any] = {"epsilon": 1, "structure": "cells", "total_share": 0}
_TABLES = ht.Tables("copy,place", "copy,kind", "copy,place,kind")
_TWO_ROWS = ht.Unit("person", max_rows=2)
_IN_TWO = ht.Unit("person", max_cells=2)
_TWICE = ht.Unit("person", max_cells=1, max_per_cell=2)


def attacks() -> Iterator[Attack]:
    """Every law, with every way to bound what one person may add."""
    yield from _pure()
    yield from _gaussian()
    for law in ("truncated-geometric", "gaussian-stability"):
        words = _BOTH | {"law": law}
        yield Attack(name=f"{law}, a row among others", own=_ROW, others=_TOWN, words=words)
        yield Attack(name=f"{law}, a row alone in its cell", own=_ROW, others=_ELSEWHERE, words=words)
        people = words | {"unit": _IN_TWO}
        yield Attack(name=f"{law}, max_cells=2", own=_TWO_CELLS, others=_TOWN, words=people)
        yield Attack(name=f"{law}, max_cells=2, both alone", own=_TWO_CELLS, others=_ELSEWHERE, words=people)
        yield Attack(name=f"{law}, max_cells=2 of 4", own=_FOUR_CELLS, others=_TOWN, words=people)
        for own in (_TWO_CELLS, _FOUR_CELLS):
            name = f"{law}, max_cells=2 of {len(set(own))} texts"
            yield Attack(name=name, own=own, others=_ELSEWHERE, words=people, texts=True)
    sampled = _BOTH | {"law": "truncated-geometric", "unit": _IN_TWO, "size": 2}
    yield Attack(name="truncated-geometric, size=2", own=_TWO_CELLS, others=_TOWN, words=sampled, copies=1)


def _pure() -> Iterator[Attack]:
    everything = _PURE | {"summary": "everything"}
    yield Attack(name="geometric, a row", own=_ROW, others=_TOWN, words=everything)
    for method in (
        ht.Filter(cutoff=2, two_sided=False),
        ht.Threshold(threshold=3),
        ht.FilterThreshold(cutoff=2, threshold=4),
    ):
        words = _PURE | {"summary": method}
        yield Attack(name=f"geometric, {method.name}", own=_ROW, others=_TOWN, words=words)
    for own, unit in ((_OFTEN, _TWO_ROWS), (_TWO_CELLS, _IN_TWO), (_FOUR_CELLS, _IN_TWO), (_OFTEN, _TWICE)):
        words = everything | {"unit": unit}
        cells = len(set(own))
        name = f"geometric, {bound_of(unit)}{f' of {cells}' * (cells > 2)}"
        yield Attack(name=name, own=own, others=_TOWN, words=words)
    tables = {"epsilon": 3, "structure": _TABLES, "size": 10**6, "unit": _IN_TWO}
    yield Attack(name="geometric, tables", own=_TWO_CELLS, others=_TOWN, words=tables)
    usual = {"epsilon": 1, "size": 3, "unit": _TWO_ROWS}
    yield Attack(name="geometric, by default", own=_OFTEN, others=_TOWN, words=usual, copies=1)
    sampled = _PURE | {"size": 2, "unit": _TWO_ROWS, "total_share": "1/2"}
    yield Attack(name="geometric, size=2 and a total", own=_OFTEN, others=_TOWN, words=sampled, copies=1)


def _gaussian() -> Iterator[Attack]:
    both = _BOTH | {"law": "gaussian", "total_share": 0, "summary": "everything"}
    yield Attack(name="gaussian, a row", own=_ROW, others=_TOWN, words=both)
    rho: dict[str, Any] = {"rho": "0.25", "structure": "cells", "total_share": 0, "summary": "everything"}
    for own, unit in ((_OFTEN, _TWO_ROWS), (_TWO_CELLS, _IN_TWO), (_FOUR_CELLS, _IN_TWO), (_OFTEN, _TWICE)):
        cells = len(set(own))
        said = f"{bound_of(unit)}{f' of {cells}' * (cells > 2)}"
        name = f"gaussian by rho, {said}"
        yield Attack(name=name, own=own, others=_TOWN, words=rho | {"unit": unit}, delta=0.01)
        yield Attack(name=f"gaussian, {said}", own=own, others=_TOWN, words=both | {"unit": unit})
    tables = {"rho": 1, "structure": _TABLES, "size": 10**6, "unit": _IN_TWO}
    yield Attack(name="gaussian by rho, tables", own=_TWO_CELLS, others=_TOWN, words=tables, delta=0.01)


def bound_of(unit: ht.Unit) -> str:
    """The bound of a unit, as a row of the table says it."""
    bounds = {name: getattr(unit, name) for name in ("max_rows", "max_cells", "max_per_cell")}
    return ", ".join(f"{name}={value}" for name, value in bounds.items() if value not in (None, 1))
