"""The drawing code on small tables, under every outcome of its draws; and the long way, written out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.methods.settings import Filter, FilterPriority, Method, Priority
from hushtable.methods.tuning import cutoff_for, rounded_up, threshold_for
from hushtable.noise import BitSource
from hushtable.summaries import flat
from hushtable.summaries.candidates import draw_candidates
from hushtable.summaries.largest import largest_counts
from hushtable.summaries.summarize import draw_summary
from hushtable.summaries.summary import Summary
from tests.harness.branching import HIGHEST_TAU, Branching, Law, law_of, lumped, noisy_counts

Guess = Sequence[Acceptance]
Counts = tuple[int, ...]


def outcome(summary: Summary) -> Hashable:
    """All that a summary publishes, but for weights, which follow from the rest."""
    return (
        tuple(map(tuple, summary.codes.tolist())),
        tuple(summary.counts.tolist()),
        lumped(summary.threshold),
        summary.cutoff,
    )


def table_of(counts: Counts, shape: tuple[int, ...] | None = None) -> ht.SparseTable:
    """A table of all these cells; those with a count of 0 are empty."""
    shape = (len(counts),) if shape is None else shape
    codes = [list(map(int, code)) for code in _codes(shape)]
    return ht.SparseTable(shape=shape, codes=codes, counts=list(counts))


def _codes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        yield from ((first, *rest) for rest in _codes(shape[1:]))


def drawn_law(
    counts: Counts,
    method: Method,
    *,
    most: int,
    rate: int = 1,
    guess: Guess = (),
    slices: int = 1,
    few_slices: int = 16,
    widened: list[int] | None = None,
    options: dict[str, Any] | None = None,
) -> tuple[Law, int]:
    """The law of a summary of cells, and how many outcomes were walked through.

    The code guesses these rules one after the other; `widened` notes how many it needed each time.
    """
    table = table_of(counts)

    def run(source: Branching) -> Hashable:
        return outcome(
            draw_summary(
                table,
                method,
                epsilon=Fraction(rate),
                sensitivity=Fraction(1),
                entropy=source,
                slices=slices,
            )
        )

    with guessing(guess, method, widened), patch.object(flat, "_FEW_SLICES", few_slices):
        return law_of(run, most=most, **(options or {}))


@contextmanager
def guessing(guess: Guess, method: Method, widened: list[int] | None = None) -> Iterator[None]:
    """Let a summary of fixed size try these rules, and then the widest; note how many it used."""
    if not guess:
        yield
        return
    size = getattr(method, "size", None)
    assert size is not None
    first = size + 1 + 6 * isqrt(size) + 10

    def scripted(own: Callable[..., Acceptance]) -> Callable[..., Acceptance]:
        def rule_for(expected: int, *, cells: int, **others: Any) -> Acceptance:
            number = (expected // first).bit_length() - 1
            return guess[number] if 0 <= number < len(guess) else own(expected, cells=cells, **others)

        return rule_for

    def noted(*positional: Any, rules: Sequence[Acceptance], **named: Any) -> Any:
        if widened is not None:
            widened.append(len(rules))
        return draw_candidates(*positional, rules=rules, **named)

    with (
        patch.object(flat, "cutoff_for", scripted(cutoff_for)),
        patch.object(flat, "threshold_for", scripted(threshold_for)),
        patch.object(flat, "draw_candidates", noted),
    ):
        yield


def long_way_law(
    counts: Counts, method: Filter | Priority | FilterPriority, *, most: int, rate: int = 1
) -> Law:
    """The law of a summary of fixed size by its definition: noise and one uniform number for every cell."""
    rule = Acceptance(cutoff=getattr(method, "cutoff", None), two_sided=method.two_sided)
    size = method.size
    assert size is not None

    def run(source: Branching) -> Hashable:
        values = [count + source.choose(noisy_counts(Fraction(rate), count, most)) for count in counts]
        seen = [cell for cell, value in enumerate(values) if rule.chance(value)]
        if isinstance(method, Filter):
            chosen, cutoff, tau = *_largest(seen, values, size, source), None
        else:
            chosen, tau = _priorities(seen, values, size, source)
            cutoff = None if rule.cutoff is None else float(rule.cutoff)
        codes, shown = tuple((cell,) for cell in chosen), tuple(values[cell] for cell in chosen)
        return codes, shown, lumped(tau), cutoff

    return law_of(run, most=most)[0]


def _largest(
    seen: list[int], values: list[int], size: int, source: Branching
) -> tuple[list[int], float | None]:
    if len(seen) <= size:
        return seen, None
    cut = sorted((abs(values[cell]) for cell in seen), reverse=True)[size - 1]
    above = [cell for cell in seen if abs(values[cell]) > cut]
    ties = [cell for cell in seen if abs(values[cell]) == cut]
    sets = list(combinations(ties, size - len(above)))
    return sorted([*above, *source.choose([(each, Fraction(1, len(sets))) for each in sets])]), float(cut)


def _priorities(seen: list[int], values: list[int], size: int, source: Branching) -> tuple[list[int], float]:
    if len(seen) <= size:
        return seen, 0.0
    # 1/priority is uniform from 0 to 1/|v|.
    spans = [(Fraction(0), Fraction(1, abs(values[cell]))) for cell in seen]
    source.place(spans, [Fraction(1, 1 << power) for power in range(HIGHEST_TAU.bit_length())])
    words = source.words(len(seen)).tolist()
    inverse = {cell: span[1] * word / (1 << 64) for cell, span, word in zip(seen, spans, words, strict=True)}
    in_order = sorted(seen, key=lambda cell: inverse[cell])
    return sorted(in_order[:size]), float(rounded_up(1 / inverse[in_order[size]], bits=1))


def uniform_among_all_ties(
    magnitudes: NDArray[np.int64],
    bands: NDArray[np.int8],
    rules: Guess,
    entropy: BitSource,
    *,
    size: int,
) -> tuple[NDArray[np.intp], int | None]:
    """What a filter of exact size once did."""
    return largest_counts(magnitudes, entropy, size=size)
