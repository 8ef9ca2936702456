"""A structure from outside of the package: the sums of neighbouring cells, two by two.

The cells of the only attribute stand in a line. There are two tables of pairs: of cells 0 and 1, 2 and 3, and
so on, and of cells 1 and 2, 3 and 4, and so on (with cell 0 alone in front). So every cell lies in two nodes,
and a range of an even number of cells is a run of nodes of one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.answerers import register_answerer
from hushtable.answers.estimation.cells import CellAnswers
from hushtable.answers.estimation.law import Assumption
from hushtable.answers.question import Question
from hushtable.conditions.conditions import between, selected
from hushtable.conditions.selection import Selection
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.errors import BadChoice, BadQuery, BadRelease
from hushtable.methods.settings import Method
from hushtable.planning.judges import register_judge
from hushtable.planning.judging import Judgement
from hushtable.planning.plan import Plan
from hushtable.planning.sweep import replanned
from hushtable.structures.cells import Cells
from hushtable.structures.intervals import check_codes
from hushtable.structures.registry import register_structure
from hushtable.structures.structure import HINT, Codes, Column, NodeSpace, Structure
from hushtable.summaries.draws import DrawSums, register_draw
from hushtable.table.adding import held

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = 2


@register_structure
@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs(Structure):
    """Sums of neighbouring cells, two by two."""

    name: ClassVar[str] = "pairs"
    row: ClassVar[str] = "pair"
    default_method: ClassVar[str] = "priority"

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a table of pairs"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        return "`count` is the noisy count of two neighbours. Add up `weight` within one table of pairs."

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> PairSpace:
        """Return the pairs over a domain."""
        return self.over_codes(domain.shape)

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> PairSpace:
        """Return the pairs over an attribute of this size."""
        if len(shape) != 1:
            raise BadChoice(f"pairs are of one attribute, and the domain has {len(shape)}", "Declare one.")
        return PairSpace(self, shape[0])


@dataclass(frozen=True, eq=False, slots=True)
class PairSpace(NodeSpace):
    """All pairs of so many cells."""

    structure: Pairs = field()
    cells: int

    @property
    def space(self) -> KeySpace:
        """The number of the table, and that of the pair in it."""
        return KeySpace((TABLES, self.cells // 2 + 1))

    @property
    def nodes_total(self) -> int:
        """How many pairs there are; the last of a table may have no cell."""
        return self.space.cells_total

    @property
    def per_cell(self) -> int:
        """Every cell lies in one pair of each table."""
        return TABLES

    def named(self, domain: Domain) -> str:
        """Return what is published in place of cells."""
        return f"pairs of neighbours of {domain.names[0]}"

    def holding(self, codes: Codes) -> Codes:
        """Return the pairs that hold each cell."""
        tables = np.broadcast_to(np.arange(TABLES), (len(codes), TABLES))
        return np.stack([tables, (codes + tables) // 2], axis=2)

    def columns(self, domain: Domain) -> list[Column]:
        """Return the table of a pair, and its number there."""
        return [Column("table", "level"), Column("pair", "code", few=False)]

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the columns of rows with these codes."""
        import pyarrow as pa

        check_codes(self.space, codes)
        return [pa.array(codes[:, 0].astype(np.int32)), pa.array(codes[:, 1])]

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes that columns of a file say."""
        columns = [table.column(name).to_numpy().astype(np.int64) for name in ("table", "pair")]
        codes = np.stack(columns, axis=1)
        inside = (codes >= 0) & (codes < np.array(self.space.shape))
        if not inside.all():
            raise BadRelease("its rows are no pairs of its domain", HINT)
        return codes


class PairAnswers(Answerer):
    """The pairs of a release, ready to answer for ranges of an even number of cells."""

    def __init__(self, release: Any, nodes: PairSpace) -> None:
        self._release, self._nodes = release, nodes

    @cached_property
    def _pairs(self) -> Any:
        """The pairs as if they were cells of a release of their own, with half of epsilon for each table."""
        terms, shape = self._release.terms, self._nodes.space.shape
        names = ("table", "pair")
        attributes = tuple(
            Attribute(name=name, values=Integers(low=0, high=size - 1))
            for name, size in zip(names, shape, strict=True)
        )
        own = replace(
            terms,
            domain=Domain(attributes=attributes),
            structure=Cells(),
            epsilon=terms.epsilon / TABLES,
            sensitivity=terms.measure.sensitivity,
            plan=None,
        )
        return _AsCells(own, self._release.codes, self._release.counts)

    def total(
        self,
        selection: Selection,
        *,
        chance: float,
        corrected: bool | None,
        assume: Assumption | None = None,
    ) -> Answered:
        """Estimate the sum over a range of cells."""
        codes = np.arange(self._nodes.cells)
        codes = codes[selection.rows([codes])]
        if not codes.size or codes.size % 2 or (np.diff(codes) != 1).any():
            raise BadQuery("pairs answer for an even number of neighbours", "Ask for such a range.")
        table = int(codes[0]) % 2
        first, last = (int(code + table) // 2 for code in (codes[0], codes[-1]))
        wanted = selected(self._pairs.domain, {"table": table, "pair": between(first, last + 1)}, {})
        return CellAnswers(self._pairs).total(wanted, chance=chance, corrected=corrected, assume=assume)

    def cell(self, selection: Selection, *, chance: float) -> Answered:
        """Refuse: no pair is a cell."""
        raise BadQuery("pairs do not tell cells apart", "Ask for two neighbours.")

    def groups(self, question: Question) -> GroupsAnswered:
        """Refuse, for the same reason."""
        raise BadQuery("pairs do not tell cells apart", "Ask for two neighbours.")


@dataclass(frozen=True, slots=True)
class _AsCells:
    """What answers for cells needs of a release."""

    terms: Any
    codes: Codes
    counts: Any

    @property
    def domain(self) -> Domain:
        found: Domain = self.terms.domain
        return found


def judged(plan: Plan, structure: Pairs, methods: Sequence[Method] | None) -> Judgement:
    """Return what a plan says of pairs: like cells, with the noise of half of epsilon."""
    half = replanned(plan, Fraction(1, TABLES), plan.size)
    return half.judgement if methods is None else half.judge(methods[0])


register_draw("pairs", DrawSums(held))
register_answerer("pairs", PairAnswers)
register_judge("pairs", judged)
