"""From the candidates of all slices to the rows of a summary: the one step that sees them all.

Promise: what is chosen does not depend on how candidates are dealt out to slices, nor on their order.
Cost: memory follows the rows that are chosen and the candidates that wait to be looked at. Those that cannot
be chosen any more are dropped on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from hushtable.laws.acceptance import Acceptance
from hushtable.noise import BitSource
from hushtable.summaries.largest import largest_candidates
from hushtable.summaries.priorities import Bounds, chosen, drawn_bounds, hopeful
from hushtable.table.slices import Candidates, Gathered

_ROOM = 1 << 20  # candidates that are held whatever the size


def finish(parts: Iterable[Candidates]) -> Candidates:
    """Return the candidates of all slices."""
    return Candidates.joined(parts)


def finish_largest(
    parts: Iterable[Candidates], rules: Sequence[Acceptance], entropy: BitSource, *, size: int
) -> tuple[Candidates, int | None]:
    """Return the `size` largest counts, and the smallest of them."""
    gathered, room = Gathered(), _ROOM + 2 * size
    for part in parts:
        gathered.add(part)
        if gathered.number > room:
            gathered.add(_large_enough(gathered.taken(), size))
            room = max(room, 2 * gathered.number)
    found = gathered.taken()
    rows, least = largest_candidates(np.abs(found.counts), found.bands, rules, entropy, size=size)
    return found.only(rows), least


def _large_enough(found: Candidates, size: int) -> Candidates:
    """Return those of more than `size` candidates that can be among the `size` largest of all."""
    magnitudes = np.abs(found.counts)
    # One more than is chosen stays, so that it is known that there were more, and those that tie with it:
    # which of them are chosen is drawn when all are there.
    place = magnitudes.size - size - 1
    return found.only(np.flatnonzero(magnitudes >= np.partition(magnitudes, place)[place]))


def finish_priorities(
    parts: Iterable[Candidates], rules: Sequence[Acceptance], entropy: BitSource, *, size: int
) -> tuple[Candidates, Fraction]:
    """Return the `size` candidates with the largest priorities, and the next priority: 0 if there is none."""
    gathered, room = Gathered(), _ROOM + 2 * size
    known: Bounds | None = None  # of the first in `gathered`, once some were dropped
    for part in parts:
        gathered.add(part)
        if gathered.number > room:
            some, known = _hopeful(gathered.taken(), known, rules, entropy, size)
            gathered.add(some)
            room = max(room, 2 * gathered.number)
    found = gathered.taken()
    if found.counts.size <= size:
        return found, Fraction(0)
    # The bounds have no name here, so they are gone before the rows are taken.
    rows, tau = chosen(
        found.counts, found.bands, _bounds(found, known, rules, entropy), rules, entropy, size=size
    )
    return found.only(rows), tau


def _hopeful(
    found: Candidates, known: Bounds | None, rules: Sequence[Acceptance], entropy: BitSource, size: int
) -> tuple[Candidates, Bounds]:
    """Return those of more than `size` candidates that can be among the best of all, and their bounds."""
    bounds = _bounds(found, known, rules, entropy)
    rows = hopeful(bounds, size=size)
    return found.only(rows), bounds.only(rows)


def _bounds(
    found: Candidates, known: Bounds | None, rules: Sequence[Acceptance], entropy: BitSource
) -> Bounds:
    """Return the bounds of all candidates: first bits are drawn of those of which they are not known."""
    first = 0 if known is None else known.low.size
    drawn = drawn_bounds(found.counts[first:], found.bands[first:], rules, entropy)
    if known is None:
        return drawn
    return Bounds(*(np.concatenate(pair) for pair in zip(known, drawn, strict=True)))
