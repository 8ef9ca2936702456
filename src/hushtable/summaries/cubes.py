"""From a private table to the summaries of its marginals.

Promise: each marginal has exactly the law of its own summary, with its own part of epsilon; what is drawn for
one is independent of the others. Together they cost what their parts add up to (basic composition).
Cost: that of adding up each marginal, and of its summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.table_space import TableSpace
from hushtable.summaries.flat import summarize_table
from hushtable.summaries.summary import Summary
from hushtable.table.adding import marginals
from hushtable.table.progress import Progress, unheard
from hushtable.table.sparse import SparseTable


def draw_marginals(
    table: SparseTable,
    cube: TableSpace,
    methods: Sequence[Method],
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw] = Geometric,
    threads: int = 1,
    progress: Progress = unheard,
) -> list[Summary]:
    """Draw a summary of each marginal. `sensitivity` is what one person changes in each of them."""
    drawn: list[Summary] = []
    tables = marginals(table, cube)
    for number, (part, method) in enumerate(zip(tables, methods, strict=True)):
        found = summarize_table(
            part,
            method,
            epsilon=epsilon * cube.marginals[number].share / cube.per_cell,
            sensitivity=sensitivity,
            entropy=entropy,
            law=law,
            threads=threads,
        )
        drawn.append(found)
        progress("Drawing", (number + 1) / len(methods))
    return drawn
