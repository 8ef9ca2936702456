"""From a private table to the summaries of its marginals.

Promise: each marginal has exactly the law of its own summary, with its own part of epsilon; what is drawn for
one is independent of the others. Together they cost what their parts add up to (basic composition).
Cost: that of adding up each marginal, and of its summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

from hushtable.domain.keys import KeySpace
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.table_space import TableSpace
from hushtable.summaries.flat import check_changes, summarize_slices, summarize_table
from hushtable.summaries.summary import Summary
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Slices
from hushtable.table.sparse import SparseTable


class CountedCells(Protocol):
    """Counted cells, wherever their slices are. Private."""

    @property
    def space(self) -> KeySpace:
        """The cells of the domain."""

    @property
    def slices(self) -> Slices:
        """Their slices."""

    @property
    def sensitivity(self) -> Sensitivities | None:
        """What one unit changes in the cells, if that is known."""

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""


def draw_marginals(
    counted: CountedCells,
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
    """Draw a summary of each table. `sensitivity` is what one person changes in each, on average by shares.

    Tables are added up from slices. That of all cells is drawn slice by slice, and never held whole.
    """
    # Of all tables together: one of coarser cells may change by more, and that of the cells by less.
    check_changes(counted.sensitivity, sensitivity * cube.per_cell, law, cube)
    numbers = [number for number in range(len(cube.marginals)) if not cube.is_finest(number)]
    tables = dict(
        zip(
            numbers,
            counted.marginals(cube, numbers),
            strict=True,
        )
    )
    drawn: list[Summary] = []
    for number, (marginal, method) in enumerate(zip(cube.marginals, methods, strict=True)):
        noise: dict[str, Any] = {
            "epsilon": epsilon * marginal.share / cube.per_cell,
            "sensitivity": sensitivity,
            "entropy": entropy,
            "law": law,
        }
        if number in tables:
            found = summarize_table(tables.pop(number), method, threads=threads, **noise)
        else:
            found = summarize_slices(counted.slices, counted.space, method, **noise)
        drawn.append(found)
        progress("Drawing", (number + 1) / len(methods))
    return drawn
