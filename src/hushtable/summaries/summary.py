"""What is published: rows, and the public numbers that say how they were drawn.

Promise: everything here is safe to publish; thinning it further is post-processing, which costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadChoice, BadNumber, BadSettings
from hushtable.exact.rationals import Rational, as_count, as_fraction
from hushtable.methods.acceptance import Acceptance
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, KeyStream, bernoulli, kept
from hushtable.release.layout import weights_of
from hushtable.structures.branching import BranchingTree
from hushtable.structures.fitting import own_masses
from hushtable.structures.nodes import Nodes, NodeSpace, PrunedSpace
from hushtable.structures.paths import Paths, paths
from hushtable.structures.settings import Cells, Structure
from hushtable.structures.sketches import SketchSpace
from hushtable.structures.trees import DyadicTree
from hushtable.summaries.candidates import LARGEST_NOISY
from hushtable.summaries.largest import largest_counts
from hushtable.summaries.priorities import largest_priorities
from hushtable.summaries.rooted import known_cutoff, largest_paths


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A private summary of a table: public.

    `weights` are sign * max(|count|, threshold), so that their sum over any cells estimates the sum of the
    noisy counts; they equal `counts` where nothing was sampled. Rows are in the order of their codes. With a
    structure, `nodes` are its nodes, rows are nodes of it, and `codes` are their numbers; `shape` is always
    the number of different codes in each column.

    >>> import hushtable as ht
    >>> table = ht.SparseTable(shape=(10**6,), codes=[3, 5], counts=[9000, 70])
    >>> ht.summarize(table, ht.Filter(cutoff=500), epsilon=1).codes.tolist()
    [[3]]
    """

    shape: tuple[int, ...]
    method: Method
    epsilon: Fraction
    sensitivity: Fraction
    codes: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    threshold: float | None
    cutoff: float | None
    nodes: Nodes | SketchSpace | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def structure(self) -> Structure:
        """Which sums of cells the rows are."""
        return Cells() if self.nodes is None else self.nodes.structure

    def thin(
        self, *, size: int | None = None, cutoff: Rational | None = None, threshold: Rational | None = None
    ) -> Summary:
        """Return a smaller summary of the same noisy table: post-processing, free.

        ================  ================================================================================
        setting           result
        ================  ================================================================================
        size              the largest counts of a filter; of a sample, a priority sample, with the law that
                          it would have had if so many rows had been asked for at first
        cutoff            the rows that reach it; it must not lie below the summary's own
        threshold         a threshold sample at this threshold; it must not lie below the summary's own
        none, or several  `BadSettings`
        ================  ================================================================================

        A consistent tree stays one: "largest" and "reach" then speak of the smallest count on the path from
        the root. A sample of one can take no higher cutoff, since nodes of the path may be missing.

        >>> import hushtable as ht
        >>> table = ht.SparseTable(shape=(10**6,), codes=[3, 5], counts=[9000, 70])
        >>> len(ht.summarize(table, ht.Priority(size=1000), epsilon=1).thin(size=10))
        10
        """
        if sum(setting is not None for setting in (size, cutoff, threshold)) != 1:
            raise BadSettings("thin", ("size", "cutoff", "threshold"))
        if isinstance(self.nodes, SketchSpace):
            raise BadChoice("a sketch needs all of its buckets", "Publish a narrower one.")
        if size is not None:
            if as_count(size, name="size") < 1:
                raise BadNumber(name="size", value=size, allowed="is below 1", hint="Keep at least one row.")
            return self._of_size(size, KeyStream())
        if cutoff is not None:
            return self._above_cutoff(self._raised("cutoff", cutoff, self.cutoff))
        if isinstance(self.nodes, PrunedSpace):
            fact = "a pruned tree is not sampled: a node would be left without those above it"
            raise BadChoice(fact, "Thin it by `size` or `cutoff`.")
        return self._at_threshold(self._raised("threshold", threshold, self.threshold), KeyStream())

    def _of_size(self, size: int, entropy: BitSource) -> Summary:
        if len(self) <= size:
            return self
        if self.threshold is None:
            if self._tree is None:
                rows, cut = largest_counts(np.abs(self.counts), entropy, size=size)
            else:
                rows, cut = largest_paths(*self._paths(self._tree), entropy, size=size)
            return self._only(rows, cutoff=None if cut is None else float(cut))
        # Given what is published, 1 / priority is uniform up to 1 / max(|v|, threshold): drawing it now gives
        # the law of the priorities that chose these rows (PROOF.md, step 8).
        rule = Acceptance(threshold=Fraction(self.threshold) or None)
        occupied = np.full(len(self), -1, dtype=np.int8)
        rows, tau = largest_priorities(self.counts, occupied, [rule], entropy, size=size)
        return self._only(rows, threshold=float(tau))

    def _above_cutoff(self, cutoff: Fraction) -> Summary:
        magnitudes = np.abs(self.counts)
        if self._tree is not None:
            if self.threshold:
                fact = "the cutoff of a sampled consistent tree cannot be raised: ancestors may be missing"
                raise BadChoice(fact, "Thin it by `size` or `threshold`.")
            magnitudes = self._paths(self._tree).minima
        passed = magnitudes >= ceil(cutoff)
        passed[:1] |= isinstance(self.nodes, PrunedSpace)  # whose root stays
        return self._only(np.flatnonzero(passed), cutoff=float(cutoff))

    def _at_threshold(self, threshold: Fraction, entropy: BitSource) -> Summary:
        # A row that was kept at the own threshold is kept at a higher one with chance
        # max(|v|, own) / max(|v|, higher).
        own = Fraction(self.threshold or 0)
        magnitudes = np.abs(self.counts)
        passed = kept(magnitudes, threshold, entropy)
        small = np.flatnonzero(magnitudes < ceil(own))
        passed[small] = bernoulli(own / threshold, entropy, count=small.size)
        return self._only(np.flatnonzero(passed), threshold=float(threshold))

    def _only(
        self, rows: NDArray[np.intp], *, cutoff: float | None = None, threshold: float | None = None
    ) -> Summary:
        """Return the chosen rows, under a new cutoff or threshold where one is given."""
        threshold = self.threshold if threshold is None else threshold
        cutoff = self.cutoff if cutoff is None else cutoff
        codes, counts = self.codes[rows], self.counts[rows]
        weights = weights_of(counts, threshold)
        if isinstance(self.nodes, PrunedSpace):
            cutoff = known_cutoff(counts, cutoff or 1.0)
            rate = self.epsilon * self.nodes.share / self.sensitivity
            weights = own_masses(self.nodes.tree, codes[:, 0], counts, rate=rate, cutoff=cutoff)
        return replace(self, codes=codes, counts=counts, weights=weights, threshold=threshold, cutoff=cutoff)

    @property
    def _tree(self) -> DyadicTree | BranchingTree | None:
        """The tree, if nodes are published only with those above them."""
        if isinstance(self.nodes, PrunedSpace):
            return self.nodes.tree
        return self.nodes.consistent_tree if isinstance(self.nodes, NodeSpace) else None

    def _paths(self, tree: DyadicTree | BranchingTree) -> Paths:
        """Return the smallest count on the path to each node; of a pruned tree, the root always stays."""
        counts = self.counts
        if isinstance(tree, BranchingTree):
            counts = counts.copy()
            counts[0] = LARGEST_NOISY
        return paths(tree, self.codes[:, 0], counts)

    @staticmethod
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
