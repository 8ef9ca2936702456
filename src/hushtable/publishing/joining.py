"""Turn what was drawn into the rows and terms of a release: one summary, or those of all marginals of a cube.

Promise: rows are in the order of the file, and terms say which cutoffs and thresholds they met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import sorting_order
from hushtable.engines.sliced.closing import RunTexts
from hushtable.release.terms import Part, Terms
from hushtable.structures.table_space import largest_of
from hushtable.summaries.summary import Summary


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a release."""

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64]


def rows_of(summary: Summary) -> Rows:
    """Return the rows of a summary."""
    return Rows(summary.codes, summary.counts, summary.weights)


def finished(terms: Terms, total: int | None, drawn: Sequence[Summary]) -> tuple[Terms, Rows]:
    """Return the drawn rows, and the terms with the cutoffs that they met."""
    if not terms.parts:
        (summary,) = drawn
        met = replace(
            terms,
            structure=summary.structure,
            total=total,
            cutoff=summary.cutoff,
            threshold=summary.threshold,
        )
        return met, rows_of(summary)
    parts = [
        replace(part, cutoff=each.cutoff, threshold=each.threshold)
        for part, each in zip(terms.parts, drawn, strict=True)
    ]
    return joined(terms, parts, drawn, total=total)


def joined(
    terms: Terms, parts: Sequence[Part], drawn: Sequence[Summary], *, total: int | None
) -> tuple[Terms, Rows]:
    """Return the summaries of all marginals of a cube as one."""
    largest = parts[largest_of(terms.nodes.marginals)]
    same = {each.name: getattr(largest, each.name) for each in fields(Part)}
    rows = Rows(
        np.concatenate([terms.nodes.codes(number, each.codes) for number, each in enumerate(drawn)]),
        np.concatenate([each.counts for each in drawn]),
        np.concatenate([each.weights for each in drawn]),
    )
    return replace(terms, total=total, parts=tuple(parts), **same), rows


def listed(terms: Terms, rows: Rows, texts: RunTexts) -> tuple[Terms, Rows]:
    """Return rows with codes of the texts that they show alone, in their order, and terms that know these."""
    domain, codes = texts.listed(terms.domain, rows.codes)
    order = sorting_order(domain.space.pack(codes))
    return replace(terms, domain=domain), Rows(codes[order], rows.counts[order], rows.weights[order])


def summary_of(terms: Terms, rows: Rows) -> Summary:
    """Return rows as the summary they came from; not of several tables together."""
    return Summary(
        shape=terms.space.shape,
        method=terms.method,
        epsilon=terms.rows_budget,
        sensitivity=terms.change,
        codes=rows.codes,
        counts=rows.counts,
        weights=rows.weights,
        threshold=terms.threshold,
        cutoff=terms.cutoff,
        nodes=None if terms.structure.name == "cells" else terms.nodes,
        law_name=terms.law_name,
    )
