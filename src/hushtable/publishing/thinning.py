"""A smaller release from a finished one: post-processing, which costs no privacy.

Promise: where the release has more rows than asked for, the thinned one has the law of a release for which so
few rows had been asked at first, and its terms say so; else it has the same rows and terms. Thinning reads
the release alone, and no ledger is charged.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from os import PathLike

import numpy as np

from hushtable.methods.settings import (
    Everything,
    Filter,
    FilterPriority,
    FilterThreshold,
    Method,
    Priority,
    Threshold,
)
from hushtable.query.release import Release, open_release
from hushtable.release.record import ReleaseFile, write_release
from hushtable.structures.nodes import PrunedSpace
from hushtable.summaries.summary import Summary


def thin(release: ReleaseFile, *, size: int, output: str | PathLike[str], overwrite: bool = False) -> Release:
    """Write a release of at most `size` of the rows to `output`, and return it."""
    method = thinned_method(release.summary, size)
    terms = replace(release.terms, version=version("hushtable"))
    rows = _summary(release)
    if len(rows) > size:
        rows = _without_zeros(rows).thin(size=size)  # filters and samples never publish a 0
        # A rule and a plan were for the rows first asked for, so they do not explain these settings.
        terms = replace(
            terms, method=method, rule=None, plan=None, cutoff=rows.cutoff, threshold=rows.threshold
        )
    write_release(
        output, terms, codes=rows.codes, counts=rows.counts, weights=rows.weights, overwrite=overwrite
    )
    return open_release(output)


def thinned_method(method: Method, size: int) -> Method:
    """Return the method of thinned rows: filters keep the largest, samples become priority samples."""
    match method:
        case Everything(nonnegative=nonnegative):
            return Filter(size=size, two_sided=not nonnegative)
        case Filter(two_sided=two_sided):
            return Filter(size=size, two_sided=two_sided)
        case Threshold(two_sided=two_sided) | Priority(two_sided=two_sided):
            return Priority(size=size, two_sided=two_sided)
        case (
            FilterThreshold(cutoff=cutoff, two_sided=two_sided)
            | FilterPriority(cutoff=cutoff, two_sided=two_sided)
        ):
            return FilterPriority(cutoff=cutoff, size=size, two_sided=two_sided)


def _summary(release: ReleaseFile) -> Summary:
    """Return the rows of a release as the summary they came from."""
    terms = release.terms
    return Summary(
        shape=terms.space.shape,
        method=terms.method,
        epsilon=terms.epsilon - terms.total_epsilon,
        sensitivity=Fraction(terms.sensitivity),
        codes=release.codes,
        counts=release.counts,
        weights=release.weights,
        threshold=terms.threshold,
        cutoff=terms.cutoff,
        nodes=terms.nodes,
    )


def _without_zeros(rows: Summary) -> Summary:
    """Return the rows whose count is not 0; of a pruned tree all, whose root is always there."""
    if isinstance(rows.nodes, PrunedSpace):
        return rows
    some = np.flatnonzero(rows.counts)
    return replace(rows, codes=rows.codes[some], counts=rows.counts[some], weights=rows.weights[some])
