"""Bit sources whose words a test chooses: to force a rare path, and to walk through every path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


class RanOut(Exception):
    """The script has no more words."""


class Scripted:
    """Hands out the given words, then raises `RanOut`."""

    secure = False

    def __init__(self, words: Iterable[int]) -> None:
        self._words = list(words)
        self.used = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        if self.used + count > len(self._words):
            raise RanOut
        chosen = self._words[self.used : self.used + count]
        self.used += count
        return np.array(chosen, dtype=np.uint64)

    @property
    def left(self) -> int:
        return len(self._words) - self.used


def outcomes(
    sampler: Callable[[Scripted], Hashable], *, bits: int, depth: int
) -> tuple[Counter[Hashable], Fraction]:
    """Return the exact law of a sampler that looks at `bits` bits of each word, and what is left unfinished.

    Every script of up to `depth` words is run, each word taking all 2^bits values. The weights are
    exact fractions (counted in units of the rarest script); what needs more words is left over.
    """
    law: Counter[Hashable] = Counter()
    unfinished = Fraction(0)
    for script, outcome in _walk(sampler, [], bits, depth):
        weight = Fraction(1, 1 << (bits * len(script)))
        if outcome is RanOut:
            unfinished += weight
        else:
            law[outcome] += weight  # type: ignore[assignment]
    return law, unfinished


def _walk(
    sampler: Callable[[Scripted], Hashable], script: list[int], bits: int, depth: int
) -> Iterator[tuple[list[int], Hashable]]:
    source = Scripted(script)
    try:
        outcome = sampler(source)
    except RanOut:
        if len(script) == depth:
            yield script, RanOut
            return
        for value in range(1 << bits):
            yield from _walk(sampler, [*script, value << (64 - bits)], bits, depth)
    else:
        # A shorter script that already finished was yielded before; a longer one cannot occur.
        assert source.left == 0, "a sampler that drew nothing new has finished earlier"
        yield script, outcome
