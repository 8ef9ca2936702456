"""How the nodes of each structure are drawn, by the structure's name.

Promise: noise is for all sums that a row is part of; what is drawn has exactly the law of adding noise to
every node and summarising afterwards.
Cost: that of the nodes that hold an occupied cell, plus the rows published.
Source: Cormode, Procopiuc, Srivastava, Tran, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeAlias

from hushtable.domain.keys import KeySpace
from hushtable.errors import BadChoice
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.noise import BitSource
from hushtable.structures.axes import AxisSpace
from hushtable.structures.cells import Cells
from hushtable.structures.registry import as_structure
from hushtable.structures.structure import NodeSpace, Structure
from hushtable.structures.table_space import TableSpace
from hushtable.summaries.cubes import draw_marginals
from hushtable.summaries.flat import check_method, summarize_slices, summarize_table
from hushtable.summaries.summary import Summary
from hushtable.table.adding import marginals, sketched
from hushtable.table.lifting import lifted
from hushtable.table.progress import Progress, unheard
from hushtable.table.slices import Cells as SliceCells
from hushtable.table.slices import Slices, SlicesHere, split
from hushtable.table.sparse import SparseTable

LawAt: TypeAlias = Callable[[int], NoiseLaw]  # the noise of nodes with a share of epsilon


class CellCounts(Protocol):
    """A counted table, wherever its slices are. Private."""

    @property
    def space(self) -> KeySpace:
        """The cells of the domain."""

    @property
    def slices(self) -> Slices:
        """Its slices."""

    def table(self) -> SparseTable:
        """Return all slices as one table in memory."""

    def cells(self) -> Iterator[SliceCells]:
        """Yield the occupied cells of each slice."""

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""

    @property
    def sensitivity(self) -> Sensitivities | None:
        """What one unit changes in the cells, if that is known."""

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""


class Bought(NamedTuple):
    """What a summary is drawn with: what was paid for it, and what one unit changes in all nodes together."""

    epsilon: Fraction
    sensitivity: Fraction
    entropy: BitSource
    law: type[NoiseLaw]
    threads: int = 1
    first_guess: Acceptance | None = None
    progress: Progress = unheard
    delta: Fraction = Fraction(0)

    @property
    def noise(self) -> dict[str, Any]:
        """What every draw takes."""
        return {
            "epsilon": self.epsilon,
            "sensitivity": self.sensitivity,
            "entropy": self.entropy,
            "law": self.law,
        }


class Draw(Protocol):
    """Draws the nodes of one structure."""

    def check(self, nodes: Any, method: Method, *, law_at: LawAt) -> None:
        """Raise where drawing would be refused: by public numbers, since after the charge it is too late."""

    def __call__(
        self, counted: CellCounts, nodes: Any, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw a summary for each method: one of all nodes, or one of each marginal."""


DRAWS: dict[str, Draw] = {}


def register_draw(structure: str, draw: Draw) -> None:
    """Let the structure of that name be drawn."""
    DRAWS[structure] = draw


def draw_of(structure: Structure) -> Draw:
    """Return what draws a structure."""
    if structure.name not in DRAWS:
        fact = f"nobody draws the structure {structure.name!r}"
        raise BadChoice(fact, "Register a draw for it: docs/extending.md.")
    return DRAWS[structure.name]


class _Flat:
    """Nodes that are summarised like cells."""

    def check(self, nodes: NodeSpace, method: Method, *, law_at: LawAt) -> None:
        check_method(method, cells_total=nodes.nodes_total, law=law_at(nodes.share))


class DrawCells(_Flat):
    """Draws cells, slice by slice."""

    def __call__(
        self, counted: CellCounts, nodes: NodeSpace, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw a summary of the cells."""
        (method,) = methods
        own: dict[str, Any] = {"first_guess": bought.first_guess, "delta": bought.delta}
        return [summarize_slices(counted.slices, counted.space, method, **own, **bought.noise)]


class DrawAxes(_Flat):
    """Draws nodes over lines: slice by slice, or from the root down where those above a node decide."""

    def check(self, nodes: AxisSpace, method: Method, *, law_at: LawAt) -> None:  # type: ignore[override]
        """Raise where too many rows would come; a consistent tree keeps few empty nodes in any case."""
        if nodes.consistent_tree is None:
            super().check(nodes, method, law_at=law_at)

    def __call__(
        self, counted: CellCounts, nodes: AxisSpace, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw a summary of the nodes."""
        (method,) = methods
        if nodes.consistent_tree is not None:
            from hushtable.summaries.consistent import draw_consistent

            return [draw_consistent(counted.table(), nodes, method, **bought.noise)]
        slices, guess = counted.lifted(nodes), bought.first_guess
        drawn = summarize_slices(slices, nodes.space, method, first_guess=guess, **bought.noise)
        return [replace(drawn, nodes=nodes)]


class DrawPruned:
    """Draws a tree from the root down, as far as it matters."""

    def check(self, nodes: Any, method: Method, *, law_at: LawAt) -> None:
        """Raise where noise alone would make the tree grow."""
        from hushtable.summaries.pruned import check_pruned

        check_pruned(nodes, method, law_at=law_at)

    def __call__(
        self, counted: CellCounts, nodes: Any, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw the tree."""
        from hushtable.summaries.pruned import draw_pruned

        (method,) = methods
        return [draw_pruned(counted.table(), nodes, method, **bought.noise)]


class DrawHierarchy:
    """Draws the levels of a hierarchy from the root down, as far as they matter."""

    def check(self, nodes: Any, method: Method, *, law_at: LawAt) -> None:
        """Raise where noise alone would make it grow."""
        from hushtable.summaries.hierarchies import check_hierarchy

        check_hierarchy(nodes, method, law_at=law_at)

    def __call__(
        self, counted: CellCounts, nodes: Any, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw the hierarchy."""
        from hushtable.summaries.hierarchies import draw_hierarchy

        (method,) = methods
        return [draw_hierarchy(counted, nodes, method, **bought.noise)]


class DrawSums(_Flat):
    """Draws sums of cells that are made in memory, all of them like cells of a table.

    `sums` makes them: the table of nodes that hold an occupied cell.
    """

    def __init__(self, sums: Callable[[SparseTable, Any], SparseTable]) -> None:
        self._sums = sums

    def __call__(
        self, counted: CellCounts, nodes: NodeSpace, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw a summary of the sums."""
        (method,) = methods
        table = self._sums(counted.table(), nodes)
        drawn = summarize_table(table, method, threads=bought.threads, **bought.noise)
        return [replace(drawn, nodes=nodes)]


class DrawMarginals:
    """Draws a summary of each table, with its own part of epsilon; each is independent of the others."""

    def check(self, nodes: NodeSpace, method: Method, *, law_at: LawAt) -> None:
        """Tables are checked one by one, as tables of cells."""

    def __call__(
        self, counted: CellCounts, nodes: Any, methods: Sequence[Method], bought: Bought
    ) -> list[Summary]:
        """Draw them all; together they cost what their parts add up to (basic composition)."""
        alone = bought.noise | {"sensitivity": bought.sensitivity / nodes.per_cell}
        return draw_marginals(
            counted, nodes, methods, threads=bought.threads, progress=bought.progress, **alone
        )


register_draw("cells", DrawCells())
for _name in ("dyadic", "haar", "product-dyadic"):
    register_draw(_name, DrawAxes())
register_draw("tree", DrawPruned())
register_draw("hierarchy", DrawHierarchy())
register_draw("sketch", DrawSums(sketched))
for _name in ("marginals", "tables"):
    register_draw(_name, DrawMarginals())


@dataclass(frozen=True, slots=True)
class TableHere:
    """A table in memory, as if it had been counted. Private."""

    whole: SparseTable
    threads: int = 1
    progress: Progress = unheard

    @property
    def space(self) -> KeySpace:
        """The cells of the table."""
        return self.whole.space

    @property
    def slices(self) -> Slices:
        """The table as a single slice."""
        return SlicesHere(split(self.whole, parts=1), self.threads, self.progress)

    def table(self) -> SparseTable:
        """Return the table."""
        return self.whole

    def cells(self) -> Iterator[SliceCells]:
        """Yield all occupied cells at once."""
        return self.whole.cells()

    def marginals(self, cube: TableSpace, numbers: Sequence[int]) -> list[SparseTable]:
        """Return the sums of cells in some tables of a cube."""
        return marginals(self.cells(), self.whole.space, cube, numbers, sensitivity=None)

    @property
    def sensitivity(self) -> Sensitivities | None:
        """What one unit changes in the table, if it was counted."""
        return self.whole.sensitivity

    def lifted(self, nodes: AxisSpace) -> Slices:
        """Return the sums of cells that the nodes of a tree hold."""
        return SlicesHere(lifted(self.whole, nodes), self.threads, self.progress)

    def __repr__(self) -> str:
        return f"TableHere({self.whole!r})"


def nodes_of(
    structure: Structure | str, table: SparseTable, method: Method, entropy: BitSource
) -> tuple[NodeSpace | None, Method]:
    """Return the nodes of a structure over a table, whose attributes have no names, and the method for it.

    Of cells there are no others than the table's own.
    """
    noised = as_structure(structure)
    method = noised.taken(method)
    if noised == Cells():
        return None, method
    noised.check_method(method)
    return noised.over_codes(table.shape, keys=drawn_keys(noised, entropy)), method


def drawn_keys(structure: Structure, entropy: BitSource) -> tuple[str, ...]:
    """Draw the public keys of a structure, if it has any."""
    words = structure.key_words
    return structure.drawn_keys(entropy.words(words)) if words else ()
