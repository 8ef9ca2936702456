"""From the candidates of all slices to the rows of a summary: the one step that sees them all.

Promise: what is chosen does not depend on how candidates are dealt out to slices, nor on their order.
Cost: memory follows the rows that are chosen and the candidates that wait to be looked at. Those that cannot
be chosen any more are dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from hushtable.methods.acceptance import Acceptance
from hushtable.noise import BitSource
from hushtable.summaries.largest import largest_counts
from hushtable.summaries.priorities import Bounds, chosen, drawn_bounds, hopeful
from hushtable.table.slices import Candidates

_ROOM = 1 << 20  # candidates that are held whatever the size


def finish(parts: Iterable[Candidates]) -> Candidates:
    """Return the candidates of all slices."""
    return Candidates.joined(list(parts))


def finish_largest(
    parts: Iterable[Candidates], entropy: BitSource, *, size: int
) -> tuple[Candidates, int | None]:
    """Return the `size` largest counts, and the smallest of them."""
    held: list[Candidates] = []
    number, room = 0, _ROOM + 2 * size
    for part in parts:
        held.append(part)
        number += part.counts.size
        if number > room:
            found = finish(held)
            magnitudes = np.abs(found.counts)
            # One more than is chosen stays, so that it is known that there were more, and those that tie with
            # it: which of them are chosen is drawn when all are there.
            cut = np.partition(magnitudes, number - size - 1)[number - size - 1]
            held = [found.only(np.flatnonzero(magnitudes >= cut))]
            number = held[0].counts.size
            room = max(room, 2 * number)
    found = finish(held)
    held.clear()  # which are as large as what was made of them
    rows, least = largest_counts(np.abs(found.counts), entropy, size=size)
    return found.only(rows), least


def finish_priorities(
    parts: Iterable[Candidates], rules: Sequence[Acceptance], entropy: BitSource, *, size: int
) -> tuple[Candidates, Fraction]:
    """Return the `size` candidates with the largest priorities, and the next priority: 0 if there is none."""
    held: list[Candidates] = []
    known: Bounds | None = None  # of the first in `held`, once some were dropped
    number, room = 0, _ROOM + 2 * size
    for part in parts:
        held.append(part)
        number += part.counts.size
        if number > room:
            found, bounds = _bounded(held, known, rules, entropy)
            rows = hopeful(bounds, size=size)
            held, known, number = [found.only(rows)], bounds.only(rows), rows.size
            room = max(room, 2 * number)
    if number <= size:
        return finish(held), Fraction(0)
    found, bounds = _bounded(held, known, rules, entropy)
    rows, tau = chosen(found.counts, found.bands, bounds, rules, entropy, size=size)
    return found.only(rows), tau


def _bounded(
    held: list[Candidates], known: Bounds | None, rules: Sequence[Acceptance], entropy: BitSource
) -> tuple[Candidates, Bounds]:
    """Join candidates, and draw the first bits of those of which they are not known."""
    found, first = finish(held), 0 if known is None else known.low.size
    held.clear()  # which are as large as what was made of them
    drawn = drawn_bounds(found.counts[first:], found.bands[first:], rules, entropy)
    if known is None:
        return found, drawn
    both = (np.concatenate(pair) for pair in zip(known, drawn, strict=True))
    return found, Bounds(*both)
