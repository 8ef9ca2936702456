"""Cells that an acceptance rule lets through, without visiting the empty ones.

Occupied cells get noise and are accepted or not, one by one. For the empty cells of a slice it is drawn
how many are accepted, then which, then their values. Where a rule is widened band by band, each band is drawn
for the cells that no band before it accepted.

Promise: the accepted cells and their noisy counts have the law of adding noise to every cell and accepting
each on its own (`laborious.accepted_cells`). Proof: PROOF.md beside this file, steps 1 to 4.
Cost: time and memory follow the occupied cells plus the accepted ones, never the size of the domain; but for
`draw_everything`, which draws every cell of a small one.
Source: Cormode, Procopiuc, Srivastava, Tran, algorithms Filter and Threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import merged_keys
from hushtable.laws.acceptance import LARGEST_NOISY, Acceptance, Band
from hushtable.laws.law import NoiseLaw
from hushtable.noise import (
    BitSource,
    accepted_noise,
    bernoulli,
    cell_noise,
    empty_cells,
    kept,
)
from hushtable.table.slices import Candidates, Slice


def band_rules(rules: Sequence[Acceptance]) -> list[Acceptance | Band]:
    """Return the first rule, and the band that each later one adds."""
    return [rules[0], *(Band(wider=w, narrower=n) for n, w in pairwise(rules))]


def noisy(counts: NDArray[np.int64], law: NoiseLaw, entropy: BitSource) -> NDArray[np.int64]:
    """Return the counts with noise, saturated."""
    noise = cell_noise(law, entropy, count=counts.size)
    # Clipping the noise first cannot be seen: beyond 2^62 the sum is saturated whatever the count.
    np.clip(noise, -2 * LARGEST_NOISY, 2 * LARGEST_NOISY, out=noise)
    noise += counts
    return np.clip(noise, -LARGEST_NOISY, LARGEST_NOISY, out=noise)


def draw_candidates(
    part: Slice,
    accepted: Sequence[int],
    entropy: BitSource,
    *,
    rules: Sequence[Acceptance],
    law: NoiseLaw,
) -> Candidates:
    """Draw the accepted cells of one slice; `accepted` says how many empty cells each band accepts."""
    # 1. Occupied cells: noise, then the widest rule.
    taken, occupied = part.cells()
    values = noisy(occupied, law, entropy)
    passed = np.flatnonzero(accepts(rules[-1], values, entropy))
    keys, counts = [taken.take(passed, axis=1)], [values[passed]]
    for rule, count in zip(band_rules(rules), accepted, strict=True):
        # 2. Which empty cells, 3. and their values given that the band accepted them.
        cells = empty_cells(part.bounds, taken, entropy, count=count)
        keys.append(cells)
        counts.append(accepted_noise(rule, law, entropy, count=count))
        np.clip(counts[-1], -LARGEST_NOISY, LARGEST_NOISY, out=counts[-1])
        if len(accepted) > 1:
            taken = merged_keys(taken, cells)
    bands = np.repeat(np.arange(-1, len(accepted), dtype=np.int8), [passed.size, *accepted])
    return Candidates(part.of_table(np.concatenate(keys, axis=1)), np.concatenate(counts), bands)


def draw_everything(part: Slice, accepted: Sequence[int], entropy: BitSource, *, law: NoiseLaw) -> Candidates:
    """Draw all cells of one slice of a table whose keys are of one word."""
    taken, occupied = part.cells()
    counts = np.zeros(part.bounds[0], dtype=np.int64)
    counts[taken[0]] = occupied
    keys = np.arange(counts.size, dtype=np.uint64)[np.newaxis]
    return Candidates(
        part.of_table(keys), noisy(counts, law, entropy), np.full(counts.size, -1, dtype=np.int8)
    )


def accepts(rule: Acceptance, values: NDArray[np.int64], entropy: BitSource) -> NDArray[np.bool_]:
    """Flip each noisy count's coin: True where the rule accepts it."""
    magnitudes = np.abs(values) if rule.two_sided else values
    passed: NDArray[np.bool_] = magnitudes >= rule.lowest
    if rule.edge_chance < 1:
        edge = np.flatnonzero(magnitudes == rule.lowest)
        passed[edge] = bernoulli(rule.edge_chance, entropy, count=edge.size)
    elif rule.threshold is not None and rule.threshold > rule.lowest:
        reached = np.flatnonzero(passed)
        passed[reached] = kept(magnitudes[reached], rule.threshold, entropy)
    return passed
