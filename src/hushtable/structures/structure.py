"""What a structure is: which sums of cells get noise, and all that other rooms ask of it.

A *node* is whatever gets noise: a cell, a sum of cells, a bucket. A `Structure` is what the owner asks for;
over a domain, it makes a `NodeSpace`. Both bring the usual answers, so that a new structure says only what is
its own. How it is drawn, how it answers and what it will be worth are found by its name in registries of the
rooms `summaries`, `answers` and `planning`.

Promise: nobody outside of a structure's own modules asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item
from hushtable.domain.keys import KeySpace
from hushtable.domain.measure import Measure
from hushtable.laws.law import NoiseLaw
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.methods.weights import weights_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hushtable.domain.attributes import Kind
    from hushtable.structures.axes import Axis
    from hushtable.structures.paths import RootedTree
    from hushtable.structures.table_space import Marginal, TableSpace

Codes = NDArray[np.int64]
Entry = Callable[[str, Any], Any]  # the entry of a footer under a key, if it has this type; else a refusal
ROWS = Measure()
HINT = "Get the file again from its publisher, or ask whoever made it."


class Column(NamedTuple):
    """A column of a release that says where a row is.

    ==========  ===========================================================================
    holds       values
    ==========  ===========================================================================
    first       of the attribute at `place`: that of a cell, or the first of a range
    last        of the attribute at `place`: the last of a range
    some        of the attribute at `place`; none in rows that do not have the attribute
    level       small whole numbers
    code        whole numbers
    text        texts of up to `longest` bytes
    ==========  ===========================================================================
    """

    name: str
    holds: Literal["first", "last", "some", "level", "code", "text"]
    place: int = 0
    longest: int = 0
    few: bool = True  # whether its values repeat, where they are none of an attribute
    values: Kind | None = None  # where they are not the attribute's own, but those of one of its levels

    @property
    def valued(self) -> bool:
        """Whether it holds values of an attribute."""
        return self.holds in ("first", "last", "some")

    def values_over(self, domain: Domain) -> Kind:
        """Return the values that it holds, where it is valued: of an attribute, or of one of its levels."""
        return domain.attributes[self.place].values if self.values is None else self.values


class Stratum(NamedTuple):
    """A level of nodes, where a release tells of its levels one by one."""

    label: str
    nodes: int
    share: int  # of epsilon
    complete: bool  # whether all of its nodes are published
    cutoff_part: float  # its cutoff, as a part of the release's


class Sizes(NamedTuple):
    """How many nodes there are, and how many hold one cell, as in `NodeSpace`."""

    nodes_total: int
    per_cell: int
    finest: int

    def change(self, law: type[NoiseLaw], cells: Sensitivities) -> Fraction:
        """Return what noise must be for, by what one unit changes in the cells, as the law measures it.

        Nodes that hold one cell each form a table. With noise for this change and a share of the budget in
        each table, all of them together cost the budget: a table costs its share times its own change, over
        the sum of these. A unit's cells may meet in one node of every table but that of the cells.
        """
        own = self.finest * law.change(cells) if self.finest else Fraction(0)
        if self.per_cell == self.finest:
            return own
        return own + (self.per_cell - self.finest) * law.change(cells.added_up())


class Structure(Protocol):
    """Which sums of cells get noise: a frozen record, checked when it is made."""

    name: ClassVar[str]  # as the owner and the file give it
    example: ClassVar[str | None] = None  # how to write one in Python, where its name alone is not enough
    format: ClassVar[int] = 2  # of a file, when readers first knew it
    row: ClassVar[str] = "node"  # what a row is called
    default_method: ClassVar[str] = "filter"  # for a size alone: the largest sums, which ranges are made of
    takes_total: ClassVar[bool] = False  # whether a noisy total is worth buying beside it
    several: ClassVar[bool] = False  # whether it is several tables, each with a summary of its own
    part: ClassVar[str] = "marginal"  # what each of them is called
    needs_levels: ClassVar[bool] = False  # whether readers must know the levels of attributes
    prunes: ClassVar[bool] = False  # whether it stops by itself where noise would make it grow
    key_words: ClassVar[int] = 0  # random words for its public keys, if it has any
    asks: ClassVar[bool] = False  # whether questions say how its nodes share epsilon
    weighing: ClassVar[str] = ""  # how counts are weighed where they do not share epsilon equally

    @property
    def called(self) -> str:
        """What it is, in a sentence."""

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "of a range, from its first to its last cell"
        return f"`count` is the noisy count {said}. Rows overlap: for sums, ask `hushtable query`."

    @property
    def rows_published(self) -> int | None:
        """How many rows there are, where the owner does not ask for a number of them."""
        return None

    @property
    def sliced(self) -> bool:
        """Whether slices of its nodes are drawn on their own, as workers elsewhere do."""
        return False

    @property
    def rooted(self) -> bool:
        """Whether a node is published only with all nodes above it: then filters see counts above 0."""
        return False

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> NodeSpace:
        """Return its nodes over a domain, or raise `BadChoice` if they do not fit."""

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> NodeSpace:
        """Return its nodes over attributes of these sizes, which have no names."""

    def sizes(self, domain: Domain) -> Sizes:
        """Return how many nodes there are over a domain, and how many of them one row changes."""
        nodes = self.over(domain)
        return Sizes(nodes.nodes_total, nodes.per_cell, nodes.finest)

    def drawn_keys(self, words: NDArray[np.uint64], /) -> tuple[str, ...]:
        """Return its public keys from random words, `key_words` of them."""
        return ()

    def taken(self, method: Method, /) -> Method:
        """Return a method as the structure takes it."""
        return method

    def for_questions(
        self, domain: Domain, questions: Sequence[tuple[tuple[Item, ...], Fraction]]
    ) -> Structure:
        """Return it with shares of epsilon for questions, by the items and the weight of each."""
        return self

    def sized(self, domain: Domain, size: int | None) -> Structure:
        """Return it with what follows from how many rows are asked for, and from other public sizes."""
        return self

    def check_method(self, method: Method, measure: Measure = ROWS) -> None:
        """Raise `BadChoice` where a summary, or what is counted, makes no sense of it."""
        return

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """Return the names of its settings."""
        return tuple(each.name for each in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def made(cls, **settings: Any) -> Self:
        """Return it with the settings that were given."""
        return cls(**settings)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for the footer of a file, beside its name."""
        return {}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls()


class NodeSpace(Protocol):
    """The nodes of a structure over a domain: how many there are, and what one row changes in them.

    Nothing is listed; numbers follow from the sizes of attributes.
    """

    @property
    def structure(self) -> Structure:
        """Whose nodes they are."""

    @property
    def space(self) -> KeySpace:
        """Nodes as keys of codes: rows are in their order."""

    @property
    def nodes_total(self) -> int:
        """The number of nodes."""

    @property
    def per_cell(self) -> int:
        """The largest number of nodes that hold one cell, each times its share: what multiplies L1."""

    @property
    def levels(self) -> int:
        """The largest number of nodes that hold one cell, each counted once."""
        return self.per_cell

    @property
    def share(self) -> int:
        """The smallest share of epsilon that nodes have (but a root's), where `per_cell` is all of it."""
        return 1

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The tables that have a summary each; none where all nodes are summarised together."""
        return ()

    def is_finest(self, number: int) -> bool:
        """Return whether the marginal with this number is the table of all cells itself."""
        return False

    def codes(self, number: int, codes: Codes) -> Codes:
        """Return codes of cells of the marginal with this number as those of nodes."""
        return codes

    def own_codes(self, number: int, codes: Codes) -> Codes:
        """Return codes of nodes of the marginal with this number as those of its cells."""
        return codes

    @property
    def cube(self) -> TableSpace | None:
        """The tables, where each is added up from cells and has a summary of its own."""
        return None

    @property
    def staying(self) -> int:
        """How many nodes, the first ones, are published whatever they count, where a structure prunes."""
        return 1

    @property
    def strata(self) -> tuple[Stratum, ...]:
        """The levels, where they are told of one by one."""
        return ()

    def level_of(self, codes: Codes) -> NDArray[np.intp]:
        """Return the level of each node, as a place among the strata."""
        return np.zeros(len(codes), dtype=np.intp)

    @property
    def fewest_rows(self) -> int:
        """How many rows are published at least."""
        return 0

    def named(self, domain: Domain) -> str | None:
        """Return what is published in place of cells, over which attributes; None where it is cells."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The lines of cells with a tree each that nodes are made of; none of other nodes."""
        return ()

    @property
    def rooted_tree(self) -> RootedTree | None:
        """The tree, where a node is published only with all nodes above it."""
        return None

    @property
    def finest(self) -> int:
        """The part of `per_cell` of nodes that are cells: what one unit changes in them meets in no other."""
        return 0

    def change(self, law: type[NoiseLaw], cells: Sensitivities) -> Fraction:
        """Return what noise must be for, as the law measures it: see `Sizes`."""
        return Sizes(self.nodes_total, self.per_cell, self.finest).change(law, cells)

    def changed(self, cells: Sensitivities) -> Sensitivities:
        """Return what one unit changes in all nodes, by what it changes in the cells.

        A unit's cells may share every node above them, so all that it changes may meet in one node of each
        level: factors do not multiply upwards.
        """
        one = cells.added_up()
        return Sensitivities(
            l1=one.l1 * self.per_cell, l2_squared=one.l2_squared * self.levels, per_cell=one.per_cell
        )

    def columns(self, domain: Domain) -> list[Column]:
        """Return the columns of the file before `count` and `weight`."""

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return those columns of rows with these codes; `BadTable` where they are no nodes."""

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes that columns of a file say, or raise `BadRelease` if they say none."""

    def weights(
        self,
        codes: Codes,
        counts: NDArray[np.int64],
        *,
        law_at: Callable[[int], NoiseLaw],
        cutoff: float | None,
        threshold: float | None,
    ) -> NDArray[np.float64]:
        """Return the weights of rows, which follow from what is published.

        `law_at` gives the law of the noise in nodes with a share of epsilon.
        """
        return weights_of(counts, threshold)
