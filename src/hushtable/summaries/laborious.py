"""The slow reference: noise on every cell, one at a time, then the summary by its definition.

Promise: nothing clever. Every cell of the domain is visited; every comparison is made in exact numbers; each
summary is a few lines that read like the paper. It shares the noise with the shortcut and nothing else:
no binomial, no empty cells drawn, no conditional law, no bands, no vectorised comparison.
Cost: everything grows with the domain. For tests and for small tables only.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.1, "the laborious approach".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from hushtable.methods.acceptance import Acceptance
from hushtable.methods.tuning import rounded_up
from hushtable.noise import BitSource, LazyUniform, two_sided_geometric

Rows = dict[int, int]  # cell -> noisy count


def noisy_table(counts: Rows, cells_total: int, rate: Fraction, entropy: BitSource) -> Rows:
    """Add noise to every cell, the empty ones too."""
    noise = two_sided_geometric(rate, entropy, count=cells_total)
    return {cell: counts.get(cell, 0) + int(noise[cell]) for cell in range(cells_total)}


def accepted_cells(table: Rows, rule: Acceptance, entropy: BitSource) -> Rows:
    """Flip a coin for each noisy count."""
    return {
        cell: value
        for cell, value in table.items()
        if (chance := rule.chance(value)) > 0 and LazyUniform(entropy).below(chance)
    }


def largest(table: Rows, *, size: int, two_sided: bool, entropy: BitSource) -> Rows:
    """Take the largest counts that are not 0, ties in an order drawn for each cell."""
    seen = {cell: value for cell, value in table.items() if _magnitude(value, two_sided) > 0}
    shuffled = _sorted_by_uniform(seen, lambda cell: (Fraction(0), Fraction(1)), entropy)
    in_order = sorted(shuffled, key=lambda cell: -_magnitude(seen[cell], two_sided))
    return {cell: seen[cell] for cell in in_order[:size]}


def priority_sample(
    table: Rows, *, size: int, cutoff: Fraction | None, two_sided: bool, entropy: BitSource
) -> tuple[Rows, Fraction]:
    """Give each count v that reaches the cutoff the priority |v|/U; the next one is the threshold."""
    rule = Acceptance(cutoff=cutoff, two_sided=two_sided)
    seen = {cell: abs(value) for cell, value in table.items() if rule.chance(value)}
    # 1/priority is uniform from 0 to 1/|v|: the smallest of these are the largest priorities.
    ends: dict[int, LazyUniform] = {}
    in_order = _sorted_by_uniform(seen, lambda cell: (Fraction(0), Fraction(1, seen[cell])), entropy, ends)
    chosen = {cell: table[cell] for cell in in_order[:size]}
    if len(in_order) <= size:
        return chosen, Fraction(0)
    last = in_order[size]
    while True:
        low, high = ends[last].interval()
        if low > 0 and rounded_up(seen[last] / low) == rounded_up(seen[last] / high):
            return chosen, rounded_up(seen[last] / low)
        ends[last].reveal()


def _magnitude(value: int, two_sided: bool) -> int:
    return abs(value) if two_sided else value


def _sorted_by_uniform(
    cells: Iterable[int],
    span: Callable[[int], tuple[Fraction, Fraction]],
    entropy: BitSource,
    uniforms: dict[int, LazyUniform] | None = None,
) -> list[int]:
    """Draw a uniform number in the span of each cell; sort the cells by it, with all the bits it takes."""
    uniforms = {} if uniforms is None else uniforms
    uniforms.update({cell: LazyUniform(entropy, value=int(entropy.words(1)[0]), bits=64) for cell in cells})

    def known(cell: int) -> tuple[Fraction, Fraction]:
        low, high = span(cell)
        first, second = uniforms[cell].interval()
        return low + (high - low) * first, low + (high - low) * second

    while True:
        in_order = sorted(uniforms, key=known)
        unclear = [pair for pair in pairwise(in_order) if known(pair[0])[1] > known(pair[1])[0]]
        if not unclear:
            return in_order
        for cell in {cell for pair in unclear for cell in pair}:
            uniforms[cell].reveal()
