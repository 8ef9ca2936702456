"""A smaller summary of the same noisy table: post-processing, which costs no privacy.

Promise: a thinned summary has the law that it would have had if it had been asked for at first; what is not
in a summary is never brought back.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadChoice, BadNumber, BadSettings
from hushtable.laws.acceptance import LARGEST_NOISY, Acceptance
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational, as_count, as_fraction
from hushtable.laws.registry import law_named
from hushtable.methods.weights import weights_of
from hushtable.noise import BitSource, KeyStream, bernoulli, kept
from hushtable.structures.paths import Paths, RootedTree, paths
from hushtable.summaries.largest import largest_counts
from hushtable.summaries.priorities import largest_priorities
from hushtable.summaries.rooted import known_cutoff, largest_paths
from hushtable.summaries.summary import Summary


def thinned(
    summary: Summary, *, size: int | None, cutoff: Rational | None, threshold: Rational | None
) -> Summary:
    """Return a smaller summary, by the one setting that is given (`Summary.thin`)."""
    if sum(setting is not None for setting in (size, cutoff, threshold)) != 1:
        raise BadSettings("thin", ("size", "cutoff", "threshold"))
    if summary.structure.rows_published is not None:
        raise BadChoice("a sketch needs all of its buckets", "Publish a narrower one.")
    if size is not None:
        if as_count(size, name="size") < 1:
            raise BadNumber(name="size", value=size, allowed="is below 1", hint="Keep at least one row.")
        if size < (stay := _staying(summary)):
            fact = f"is fewer than the {stay:,} rows of its complete levels"
            raise BadNumber(name="size", value=size, allowed=fact, hint=f"Keep at least {stay:,}.")
        return of_size(summary, size, KeyStream())
    if cutoff is not None:
        return above_cutoff(summary, _raised("cutoff", cutoff, summary.cutoff))
    if summary.structure.prunes:
        fact = "a pruned tree is not sampled: a node would be left without those above it"
        raise BadChoice(fact, "Thin it by `size` or `cutoff`.")
    return at_threshold(summary, _raised("threshold", threshold, summary.threshold), KeyStream())


def of_size(summary: Summary, size: int, entropy: BitSource) -> Summary:
    """Return so many rows: of a filter the largest counts, of a sample those with the largest priorities."""
    if len(summary) <= size:
        return summary
    if summary.threshold is None:
        if (tree := _tree(summary)) is None:
            rows, cut = largest_counts(np.abs(summary.counts), entropy, size=size)
        else:
            rows, cut = largest_paths(*_paths(summary, tree), entropy, size=size)
        if cut is None:
            return _only(summary, rows)
        if tree is not None and summary.structure.prunes:
            return _only(summary, rows, cutoff=known_cutoff(summary.counts[rows], cut, weight=tree.unit))
        return _only(summary, rows, cutoff=float(cut))
    # Given what is published, 1 / priority is uniform up to 1 / max(|v|, threshold): drawing it now gives
    # the law of the priorities that chose these rows (PROOF.md, step 8).
    rule = Acceptance(threshold=Fraction(summary.threshold) or None)
    occupied = np.full(len(summary), -1, dtype=np.int8)
    rows, tau = largest_priorities(summary.counts, occupied, [rule], entropy, size=size)
    return _only(summary, rows, threshold=float(tau))


def above_cutoff(summary: Summary, cutoff: Fraction) -> Summary:
    """Return the rows that reach a cutoff which is not below the summary's own."""
    magnitudes, unit = np.abs(summary.counts), 1
    if (tree := _tree(summary)) is not None:
        if summary.threshold:
            fact = "the cutoff of a sampled consistent tree cannot be raised: ancestors may be missing"
            raise BadChoice(fact, "Thin it by `size` or `threshold`.")
        magnitudes, unit = _paths(summary, tree).minima, tree.unit
    passed = magnitudes >= ceil(cutoff * unit)
    passed[: _staying(summary)] = True
    return _only(summary, np.flatnonzero(passed), cutoff=float(cutoff))


def at_threshold(summary: Summary, threshold: Fraction, entropy: BitSource) -> Summary:
    """Return a sample at a threshold which is not below the summary's own."""
    # A row that was kept at the own threshold is kept at a higher one with chance
    # max(|v|, own) / max(|v|, higher).
    own = Fraction(summary.threshold or 0)
    magnitudes = np.abs(summary.counts)
    passed = kept(magnitudes, threshold, entropy)
    small = np.flatnonzero(magnitudes < ceil(own))
    passed[small] = bernoulli(own / threshold, entropy, count=small.size)
    return _only(summary, np.flatnonzero(passed), threshold=float(threshold))


def _only(
    summary: Summary, rows: NDArray[np.intp], *, cutoff: float | None = None, threshold: float | None = None
) -> Summary:
    """Return the chosen rows, under a new cutoff or threshold where one is given."""
    threshold = summary.threshold if threshold is None else threshold
    cutoff = summary.cutoff if cutoff is None else cutoff
    codes, counts = summary.codes[rows], summary.counts[rows]
    if summary.structure.prunes:
        cutoff = known_cutoff(counts, cutoff or 1.0)
    if summary.nodes is None:
        weights = weights_of(counts, threshold)
    else:
        weights = summary.nodes.weights(
            codes, counts, law_at=partial(_law_at, summary), cutoff=cutoff, threshold=threshold
        )
    return replace(summary, codes=codes, counts=counts, weights=weights, threshold=threshold, cutoff=cutoff)


def _law_at(summary: Summary, share: int) -> NoiseLaw:
    """Return the law of the noise in nodes with a share of epsilon."""
    kind = law_named(summary.law_name)
    return kind.calibrated(budget=summary.epsilon * share, change=summary.sensitivity)


def _tree(summary: Summary) -> RootedTree | None:
    """Return the tree, if nodes are published only with those above them."""
    return None if summary.nodes is None else summary.nodes.rooted_tree


def _paths(summary: Summary, tree: RootedTree) -> Paths:
    """Return the smallest weighed count on the way to each node; of a pruned tree, the root always stays."""
    counts = summary.counts.copy()
    counts[: _staying(summary)] = LARGEST_NOISY
    return paths(tree, summary.codes[:, 0], counts)


def _staying(summary: Summary) -> int:
    """Return how many rows stay whatever their counts are, the first ones: of a pruned tree, the root."""
    if summary.nodes is None or not summary.structure.prunes:
        return 0
    return summary.nodes.staying


def _raised(name: str, value: Rational | None, own: float | None) -> Fraction:
    """Return a cutoff or threshold that is above 0 and not below the summary's own."""
    exact = as_fraction(value if value is not None else 0, name=name)
    least = Fraction(own or 0)
    if exact <= 0 or exact < least:
        hint = "What was not published cannot be brought back."
        raise BadNumber(
            name=name, value=value, allowed=f"is below the summary's own {float(least):g}", hint=hint
        )
    return exact
