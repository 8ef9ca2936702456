"""A hierarchy: the levels that the owner names, published from the root down, as far as they matter.

Promise: every published node comes with all nodes above it; the upper levels that a size has room for come
with all of their nodes; weights add up to the total.
Cost: nothing is listed but the values of levels; numbers follow from their sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers, as_text_column
from hushtable.domain.domain import Domain
from hushtable.domain.encoding import encode
from hushtable.domain.items import Item, attribute_at, fineness, is_as_fine, items_of, label_of
from hushtable.domain.keys import KeySpace, ascending
from hushtable.errors import BadChoice, BadRelease, BadTable, shown
from hushtable.laws.law import NoiseLaw
from hushtable.structures.chains import Chain
from hushtable.structures.fitting import own_masses
from hushtable.structures.intervals import check_codes
from hushtable.structures.pruning import PrunedStructure
from hushtable.structures.refining import RefinedTree, Step
from hushtable.structures.structure import (
    HINT,
    Codes,
    Column,
    Entry,
    NodeSpace,
    Stratum,
)

if TYPE_CHECKING:
    import pyarrow as pa

ALL = "all"  # what the level of the root is called
_LARGEST_SHARE = 1000
_MOST_LEVELS = 62
_PART_WHOLE = Fraction(3, 4)  # of the rows that are asked for: so many may go to levels that are whole
# Shares, where the total has 1: of each of the coarsest levels and of each whole one; of others together.
_COARSEST, _COARSE, _FINE = 2, 16, 6


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Hierarchy(PrunedStructure):
    """Levels of attributes from coarse to fine, published down to where counts are lost in noise.

    Each level names what it refines; attributes that it leaves out stay as they were. You may also give one
    text with `>` between the levels. `shares` says how levels share epsilon: first the share of the total,
    which is the root, then one for each level. Left out, they follow from which levels a size has room for
    (`sized`).

    >>> Hierarchy("county(home) > county(work) > home, work")
    Hierarchy('county(home)', 'county(work)', 'home, work')
    """

    name: ClassVar[str] = "hierarchy"
    example: ClassVar[str | None] = 'ht.Hierarchy("county(home)", "tract(home)", "home")'
    format: ClassVar[int] = 9
    row: ClassVar[str] = "node"
    needs_levels: ClassVar[bool] = True
    asks: ClassVar[bool] = True

    levels: tuple[str, ...]
    shares: tuple[int, ...] | None
    # What a release was drawn with does not make it another hierarchy than the one that was asked for.
    complete: int | None = field(compare=False)

    def __init__(
        self, *levels: str, shares: Sequence[int] | None = None, complete: int | None = None
    ) -> None:
        texts = [text for each in levels for text in _split(each)]
        if not texts or len(texts) > _MOST_LEVELS:
            hint = 'Name levels from coarse to fine, as in ht.Hierarchy("county(home)", "home").'
            raise BadChoice(f"{len(texts):,} levels are named", f"{hint} Up to {_MOST_LEVELS} are allowed.")
        object.__setattr__(self, "levels", tuple(texts))
        object.__setattr__(self, "shares", None if shares is None else _shares(shares, len(texts)))
        if complete is not None and not (type(complete) is int and 1 <= complete <= len(texts) + 1):
            hint = (
                f"Give how many levels have all of their nodes, from 1, the total alone, to {len(texts) + 1}."
            )
            raise BadChoice(f"complete={shown(complete)} is not allowed", hint)
        object.__setattr__(self, "complete", complete)

    def __repr__(self) -> str:
        parts = [*map(repr, self.levels)]
        if self.shares is not None:
            parts.append(f"shares={self.shares!r}")
        if self.complete is not None:
            parts.append(f"complete={self.complete!r}")
        return f"Hierarchy({', '.join(parts)})"

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a hierarchy"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "`count` is the noisy count of a node, and rows of one level are parts of those above. "
        return f"{said}Sums of `weight` over all rows with a value are estimates."

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> HierarchySpace:
        """Return the nodes over a domain."""
        if domain.unlisted:
            raise BadChoice("an attribute of this domain has values that nobody can list", "Publish cells.")
        now: dict[int, int] = {}  # the level of each attribute so far
        stages: dict[int, list[int]] = {}
        steps: list[list[tuple[int, int]]] = []
        for text in self.levels:
            here = []
            for item in items_of(domain, text):
                attribute = domain.attributes[item.place]
                before = now.get(item.place)
                if before == item.level:
                    continue
                if before is not None and fineness(attribute, item.level) <= fineness(attribute, before):
                    fact = f"the level {shown(text)} is not finer than one before it"
                    raise BadChoice(fact, "Name levels from coarse to fine.")
                stages.setdefault(item.place, []).append(item.level)
                now[item.place] = item.level
                here.append((item.place, len(stages[item.place])))
            if not here:
                raise BadChoice(f"the level {shown(text)} refines nothing", "Leave it out.")
            steps.append(here)
        places = sorted(stages)
        chains = [Chain(domain.attributes[place], stages[place]) for place in places]
        axes = {place: axis for axis, place in enumerate(places)}
        tree = RefinedTree(
            chains,
            [[Step(axes[place], stage) for place, stage in here] for here in steps],
            shares=self.shares,
            staying=self.complete or 1,
        )
        nodes = HierarchySpace(self, domain, tree, tuple(places))
        label, times = Counter(nodes.labels).most_common(1)[0]
        if times > 1:
            fact = f"{times} levels of the hierarchy would be called {shown(label)}"
            raise BadChoice(fact, f"Rename an attribute: the level of the total is called {shown(ALL)}.")
        return nodes

    def sized(self, domain: Domain, size: int | None) -> Hierarchy:
        """Return it with the levels that are whole, and the shares of epsilon: both follow from public sizes.

        Whole levels have as many nodes as three quarters of the rows have room for, or all levels if there
        is room for all of their nodes; with a cutoff alone, no level but the root is whole. Where shares are
        not given, the two coarsest levels and all whole ones have 16 each, all others have 6 together, and
        the total has 1. If the root alone is whole, it has 1, and each level 4.
        """
        whole, shares, levels = self.over(domain).of_size(size).tree.staying, self.shares, len(self.levels)
        if shares is None and whole > 1:
            coarse = min(max(_COARSEST, whole - 1), levels)
            parts = max(levels - coarse, 1)
            shares = (parts, *(_COARSE * parts,) * coarse, *(_FINE,) * (levels - coarse))
        return Hierarchy(*self.levels, shares=shares, complete=whole)

    def for_questions(
        self, domain: Domain, questions: Sequence[tuple[tuple[Item, ...], Fraction]]
    ) -> Hierarchy:
        """Return it with shares of epsilon for questions.

        A question is answered by the coarsest level that tells its groups apart. The error there goes with
        its share alone, so that shares that are as the weights of the questions have the least weighted
        product of errors. A level that no question needs has a tenth of what others have on average, for
        whatever lies between; the total counts a fifth of a question.
        """
        if self.shares is not None:
            fact = "questions say how levels share epsilon, and so do shares"
            raise BadChoice(fact, "Leave the shares or the questions out.")
        nodes, weights = self.over(domain), [Fraction(0)] * len(self.levels)
        for items, weight in questions:
            level = next((level for level in range(1, nodes.levels) if nodes.tells(level, items)), None)
            if level is None:
                said = shown(", ".join(label_of(domain, item) for item in items))
                fact = f"no level of the hierarchy is as fine as the question {said}"
                raise BadChoice(fact, "Name another level, or leave the question out.")
            weights[level - 1] += weight
        mean = sum(weights) / len(weights)
        wanted = [mean / 5, *(max(weight, mean / 10) for weight in weights)]
        shares = [max(1, round(100 * each / sum(wanted))) for each in wanted]
        return Hierarchy(*self.levels, shares=shares, complete=self.complete)

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> NoReturn:
        """Refuse attributes without names."""
        fact = "a table of codes has no names of attributes, so there are no levels of them"
        raise BadChoice(fact, "Publish rows with `ht.publish`, or take ht.Tree().")

    @classmethod
    def made(cls, **settings: Any) -> Self:
        """Return it with the settings that were given."""
        given = settings.pop("levels", ())
        return cls(*([given] if isinstance(given, str) else given), **settings)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        shares = None if self.shares is None else list(self.shares)
        return {"levels": list(self.levels), "shares": shares, "complete": self.complete}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(
            *entry("levels", list),
            shares=entry("shares", list | None),
            complete=entry("complete", int | None),
        )


@dataclass(frozen=True, eq=False, slots=True)
class HierarchySpace(NodeSpace):
    """The nodes of a hierarchy; `places` are those of its attributes, one for each axis of the tree."""

    structure: Hierarchy = field()
    domain: Domain
    tree: RefinedTree
    places: tuple[int, ...]

    @cached_property
    def space(self) -> KeySpace:
        """Nodes as cells; many numbers are of none, and never published."""
        return KeySpace([self.tree.nodes_total])

    @property
    def nodes_total(self) -> int:
        """The number of nodes."""
        return sum(self.tree.nodes_at)

    @property
    def per_cell(self) -> int:
        """The number of nodes that hold one cell, each times the share of its level."""
        return sum(self.tree.shares)

    @property
    def finest(self) -> int:
        """The share of the last level, where its nodes are the cells."""
        cells = [chain.levels[-1] == 0 for chain in self.tree.chains]
        return self.tree.shares[-1] if all(cells) and len(cells) == len(self.domain.shape) else 0

    @property
    def share(self) -> int:
        """The smallest share of a level, the root's excepted."""
        return self.tree.least_share

    @property
    def levels(self) -> int:
        """The number of nodes that hold one cell, each counted once."""
        return self.tree.levels

    @property
    def rooted_tree(self) -> RefinedTree:
        """The tree."""
        return self.tree

    @property
    def staying(self) -> int:
        """How many nodes complete levels have."""
        return sum(self.tree.nodes_at[: self.tree.staying])

    @property
    def strata(self) -> tuple[Stratum, ...]:
        """The levels, the total first."""
        tree = self.tree
        return tuple(
            Stratum(
                label,
                tree.nodes_at[level],
                tree.shares[level],
                level < tree.staying,
                tree.cutoff_at(level, 1.0),
            )
            for level, label in enumerate(self.labels)
        )

    def level_of(self, codes: Codes) -> NDArray[np.intp]:
        """Return the level of each node."""
        return self.tree.level_of(codes[:, 0])

    def of_size(self, size: int | None) -> HierarchySpace:
        """Return the nodes with as many whole levels as a release of so many rows has room for: public.

        Shares stay as they are, so that noise remains for what one unit changes.
        """
        if self.structure.complete is not None:
            return self
        part, whole = 0 if size is None else int(size * _PART_WHOLE), 1
        room = size if size is not None and size >= sum(self.tree.nodes_at) else part
        while whole < self.tree.levels and sum(self.tree.nodes_at[: whole + 1]) <= room:
            whole += 1
        structure = Hierarchy(*self.structure.levels, shares=self.structure.shares, complete=whole)
        return structure.over(self.domain)

    @cached_property
    def items(self) -> list[list[Item]]:
        """The items that nodes of each level have: attributes at the levels that they have come to."""
        return [
            [
                Item(place, chain.levels[stage - 1])
                for place, chain, stage in zip(self.places, self.tree.chains, stages, strict=True)
                if stage
            ]
            for stages in self.tree.stages
        ]

    def tells(self, level: int, items: Sequence[Item]) -> bool:
        """Return whether a level tells apart all that these items do."""
        return all(any(is_as_fine(self.domain, own, item) for own in self.items[level]) for item in items)

    @cached_property
    def labels(self) -> list[str]:
        """What the levels are called."""
        return [", ".join(label_of(self.domain, item) for item in items) or ALL for items in self.items]

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The axis and the stage of each column, coarse before fine."""
        return [
            (axis, stage)
            for axis, chain in enumerate(self.tree.chains)
            for stage in range(1, chain.finest + 1)
        ]

    def _item(self, axis: int, stage: int) -> Item:
        return Item(self.places[axis], self.tree.chains[axis].levels[stage - 1])

    def named(self, domain: Domain) -> str:
        """Return what is published in place of cells, over which attributes."""
        return f"a hierarchy of {self.tree.levels - 1} levels: {' > '.join(self.structure.levels)}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the level of a node, and the values that it has at each level of its attributes."""
        longest = max(len(label.encode()) for label in self.labels)
        found = [Column("level", "text", longest=longest)]
        for axis, stage in self._columns:
            attribute = attribute_at(domain, self._item(axis, stage))
            found.append(Column(attribute.name, "some", self.places[axis], values=attribute.values))
        return found

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.ChunkedArray]:
        """Return the columns of rows with these codes: of a node, its own values and those above them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        check_codes(self.space, codes)
        levels, known = self._known(codes[:, 0])
        if known is None:
            raise BadTable("codes of nodes are of none", "They come from another domain or structure.")
        found: list[pa.ChunkedArray] = [as_text_column(self.labels).take(as_column(levels))]
        for (axis, stage), values in zip(self._columns, known, strict=True):
            attribute = attribute_at(domain, self._item(axis, stage))
            column = attribute.values.decode(np.maximum(values, 0))
            null = pa.nulls(1, column.type)[0]
            found.append(pc.if_else(as_column(values < 0), null, column))
        return found

    def _known(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.intp], list[NDArray[np.int64]] | None]:
        """Return the levels of nodes, and the code of each column, -1 where it has none.

        None in place of codes if some numbers are of no node.
        """
        levels = self.tree.level_of(nodes)
        found = [np.full(nodes.size, -1, dtype=np.int64) for _ in self._columns]
        for level, offset in enumerate(self.tree.offsets):
            rows = np.flatnonzero(levels == level)
            if not self.tree.are_nodes(nodes[rows] - offset, level).all():
                return levels, None
            starts, _ = self.tree.boxes(nodes[rows] - offset, level)
            for number, (axis, stage) in enumerate(self._columns):
                if stage <= self.tree.stages[level][axis]:
                    chain = self.tree.chains[axis]
                    found[number][rows] = chain.codes(stage, chain.values(stage, starts[:, axis]))
        return levels, found

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes that columns of a file say: with the root, all whole levels, and no gaps."""
        import pyarrow.compute as pc

        numbers = pc.index_in(table.column("level"), value_set=as_text_column(self.labels))
        if numbers.null_count:
            raise BadRelease("its rows name levels that it does not have", HINT)
        levels = as_numbers(numbers).astype(np.intp)
        said = [self._codes_in(table, axis, stage, levels) for axis, stage in self._columns]
        nodes = np.zeros(table.num_rows, dtype=np.int64)
        for level in range(self.tree.levels):
            rows = np.flatnonzero(levels == level)
            ranks = []
            for axis, (chain, stage) in enumerate(
                zip(self.tree.chains, self.tree.stages[level], strict=True)
            ):
                own = np.zeros(rows.size, dtype=np.int64)
                if stage:
                    codes = said[self._columns.index((axis, stage))][rows]
                    own, _ = chain.bounds(stage, chain.places(stage, codes))
                ranks.append(own)
            nodes[rows] = self.tree.positions(ranks, level) + self.tree.offsets[level]
        _, known = self._known(nodes)
        if known is None or not all(map(np.array_equal, known, said)):
            raise BadRelease("its rows hold values that do not belong together", HINT)
        if ascending(nodes.view(np.uint64)[np.newaxis]) and not self.are_rooted(nodes[:, np.newaxis]):
            raise BadRelease("its rows are a hierarchy without all nodes above others", HINT)
        return nodes[:, np.newaxis]

    def _codes_in(
        self, table: pa.Table, axis: int, stage: int, levels: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Return the codes in a column, -1 in rows of levels that do not have it: these hold nothing."""
        attribute = attribute_at(self.domain, self._item(axis, stage))
        reached = np.array([stages[axis] >= stage for stages in self.tree.stages])[levels]
        column = table.column(attribute.name)
        found = np.full(table.num_rows, -1, dtype=np.int64)
        own = column.filter(as_column(reached))
        codes = None
        if not own.null_count and column.null_count == len(column) - len(own):
            codes = encode(attribute.values, own) if len(own) else np.empty(0, dtype=np.int64)
        if codes is None:
            fact = f"its column {shown(attribute.name)} holds values that its domain does not have"
            raise BadRelease(fact, HINT)
        found[reached] = codes
        return found

    def weights(
        self,
        codes: Codes,
        counts: NDArray[np.int64],
        *,
        law_at: Callable[[int], NoiseLaw],
        cutoff: float | None,
        threshold: float | None,
    ) -> NDArray[np.float64]:
        """Return the mass of each node that it does not give to a published child."""
        laws = [law_at(share) for share in self.tree.shares]
        settings: dict[str, Any] = {"laws": laws, "cutoff": cutoff or 1.0, "complete": self.tree.staying}
        return own_masses(self.tree, codes[:, 0], counts, **settings)

    def are_rooted(self, codes: Codes) -> bool:
        """Return whether ascending nodes have all of whole levels among them, and each the node above it."""
        nodes = codes[:, 0]
        levels = self.tree.level_of(nodes)
        numbers = np.bincount(levels, minlength=self.tree.levels).tolist()
        if numbers[: self.tree.staying] != list(self.tree.nodes_at[: self.tree.staying]):
            return False
        above = [self.tree.parents(nodes[levels == level], level) for level in range(1, self.tree.levels)]
        return bool(np.isin(np.concatenate([np.zeros(1, dtype=np.int64), *above]), nodes).all())


def _split(text: object) -> list[str]:
    """Return the levels that a text names, with `>` between them."""
    if not isinstance(text, str):
        hint = 'Write names of attributes, as in "county(home)" or "tract(home), tract(work)".'
        raise BadChoice(f"{shown(text)} is not a level", hint)
    return [each.strip() for each in text.split(">")]


def _shares(shares: object, levels: int) -> tuple[int, ...]:
    """Return shares as they are kept, or raise."""
    given = list(shares) if isinstance(shares, list | tuple) else []
    if len(given) != levels + 1 or not all(
        type(each) is int and 0 < each <= _LARGEST_SHARE for each in given
    ):
        hint = (
            f"Give {levels + 1} whole numbers from 1 to {_LARGEST_SHARE:,}: the total's, "
            "and one for each level."
        )
        raise BadChoice(f"shares={shown(shares)} is not allowed", hint)
    return tuple(given)
