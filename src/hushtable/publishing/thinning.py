"""A smaller release from a finished one: post-processing, which costs no privacy.

Promise: where the release has more rows than asked for, the thinned one has the law of a release for which so
few rows had been asked at first, and its terms say so; else it has the same rows and terms. Thinning reads
the release alone, and no ledger is charged.
"""

from __future__ import annotations

from dataclasses import fields, replace
from os import PathLike

import numpy as np

from hushtable.answers.release import Release, open_release
from hushtable.methods.settings import Priority
from hushtable.publishing.joining import Rows, joined, rows_of, summary_of
from hushtable.release.record import ReleaseFile, write_release
from hushtable.release.terms import Part, Terms
from hushtable.release.version import VERSION
from hushtable.release.writing import rows_of_parts
from hushtable.summaries.summary import Summary


def thin(release: ReleaseFile, *, size: int, output: str | PathLike[str], overwrite: bool = False) -> Release:
    """Write a release of at most `size` of the rows, of each marginal of a cube, and return it."""
    size = Priority(size=size).size  # checked
    terms = replace(release.terms, version=VERSION)
    rows = Rows(release.codes, release.counts, release.weights)
    if terms.parts:
        terms, rows = _thinned_parts(terms, rows, size)
    else:
        terms, found = _thinned(terms, rows, size)
        rows = rows_of(found)
    write_release(
        output, terms, codes=rows.codes, counts=rows.counts, weights=rows.weights, overwrite=overwrite
    )
    return open_release(output)


def _thinned(terms: Terms, rows: Rows, size: int) -> tuple[Terms, Summary]:
    """Return at most `size` of the rows, and their terms."""
    found = summary_of(terms, rows)
    if len(found) <= size:
        return terms, found
    found = _without_zeros(found).thin(size=size)  # filters and samples never publish a 0
    method = terms.method.thinned(size)
    # A rule, a plan and a recipe were for the rows first asked for, so they do not explain these settings.
    met = replace(terms, cutoff=found.cutoff, threshold=found.threshold)
    return replace(met, method=method, rule=None, plan=None, recipe=None), found


def _thinned_parts(terms: Terms, rows: Rows, size: int) -> tuple[Terms, Rows]:
    """Return at most `size` rows of each marginal."""
    parts, drawn = [], []
    for number, place in enumerate(rows_of_parts(terms, rows.codes)):
        own = Rows(terms.nodes.own_codes(number, rows.codes[place]), rows.counts[place], rows.weights[place])
        thinned, found = _thinned(terms.part(number), own, size)
        parts.append(Part(**{each.name: getattr(thinned, each.name) for each in fields(Part)}))
        drawn.append(found)
    if tuple(parts) != terms.parts:
        terms = replace(terms, plan=None, recipe=None)
    return joined(terms, parts, drawn, total=terms.total)


def _without_zeros(rows: Summary) -> Summary:
    """Return the rows whose count is not 0; of a pruned tree all, whose root is always there."""
    if rows.structure.prunes:
        return rows
    some = np.flatnonzero(rows.counts)
    return replace(rows, codes=rows.codes[some], counts=rows.counts[some], weights=rows.weights[some])
