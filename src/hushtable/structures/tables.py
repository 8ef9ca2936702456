"""Several tables under one epsilon: sets of attributes, each at one of its levels.

Promise: a release of tables says which there are and how they share epsilon; each is summarised by itself.
Cost: nothing is listed but the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self

from hushtable.domain.domain import Domain
from hushtable.domain.items import Item, fineness, items_of
from hushtable.errors import BadChoice, shown
from hushtable.laws.rationals import Rational, as_positive
from hushtable.structures.structure import Entry, Structure
from hushtable.structures.table_space import MOST_TABLES, TableSpace, table_space


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Tables(Structure):
    """Several tables, each by some attributes or levels of attributes, and each with a share of epsilon.

    Epsilon is split equally, or by `shares`, which are exact. `ht.publish(ask=...)` chooses tables and shares
    for questions.

    >>> Tables("town", "town,job", "month(day),diagnosis", shares=[1, 2, "1/2"])
    Tables('town', 'town,job', 'month(day),diagnosis', shares=('1', '2', '1/2'))
    """

    name: ClassVar[str] = "tables"
    example: ClassVar[str | None] = 'ht.Tables("town", "town,job")'
    format: ClassVar[int] = 5
    row: ClassVar[str] = "cell"
    default_method: ClassVar[str] = "filter-priority"
    several: ClassVar[bool] = True
    takes_total: ClassVar[bool] = True
    part: ClassVar[str] = "table"
    needs_levels: ClassVar[bool] = True

    tables: tuple[str, ...]
    shares: tuple[Fraction, ...] | None

    def __init__(self, *tables: str | Sequence[str], shares: Sequence[Rational] | None = None) -> None:
        if not tables or len(tables) > MOST_TABLES:
            hint = 'Name attributes of each, as in ht.Tables("town", "town,job").'
            raise BadChoice(f"{len(tables):,} tables are named", f"{hint} Up to {MOST_TABLES:,} are allowed.")
        object.__setattr__(self, "tables", tuple(map(_text, tables)))
        exact = None
        given: object = shares
        if shares is not None:
            if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != len(tables):
                fact = f"shares={shown(shares)} are not one for each of {len(tables)} tables"
                raise BadChoice(fact, f"Give {len(tables)}.")
            hint = "Shares say how epsilon is divided: 2 for twice as much as 1."
            exact = tuple(as_positive(each, name="shares", hint=hint) for each in shares)
        object.__setattr__(self, "shares", exact)

    def __repr__(self) -> str:
        parts = [*map(repr, self.tables)]
        if self.shares is not None:
            parts.append(f"shares={tuple(map(str, self.shares))!r}")
        return f"Tables({', '.join(parts)})"

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a release"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = (
            "`count` is the noisy count of one cell. Every table counts everybody, so add up "
            "`weight` within one"
        )
        return f"{said} table only, or use `hushtable query`."

    @property
    def sliced(self) -> bool:
        """Tables are added up from slices, and the cells are drawn slice by slice."""
        return True

    @property
    def weighing(self) -> str:  # type: ignore[override]
        """How counts are weighed where they do not share epsilon equally."""
        return "" if self.shares is None else " (each count is multiplied by the share of its table)"

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> TableSpace:
        """Return the tables over a domain."""
        shares = self.shares or (Fraction(1),) * len(self.tables)
        wanted: dict[tuple[Item, ...], Fraction] = {}
        for text, share in zip(self.tables, shares, strict=True):
            items = items_of(domain, text)
            if items in wanted:
                raise BadChoice(f"the table {shown(text)} is named twice", "Name it once.")
            wanted[items] = share
        used = {item for each in wanted for item in each}
        # Coarse before fine, as one reads.
        columns = sorted(
            used, key=lambda item: (item.place, fineness(domain.attributes[item.place], item.level))
        )
        return table_space(self, domain, wanted, items=columns, column="table")

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> NoReturn:
        """Refuse attributes without names."""
        fact = "a table of codes has no names of attributes, so there are no tables of it"
        raise BadChoice(fact, "Publish rows with `ht.publish`, or add up the codes that you want.")

    @classmethod
    def made(cls, **settings: Any) -> Self:
        """Return it with the settings that were given."""
        return cls(*settings.pop("tables", ()), **settings)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"tables": list(self.tables), "shares": self.shares and list(map(str, self.shares))}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(*entry("tables", list), shares=entry("shares", list | None))


def _text(table: object) -> str:
    """Return a table as one text."""
    if isinstance(table, str):
        return table
    if isinstance(table, Sequence) and table and all(isinstance(each, str) for each in table):
        return ",".join(table)
    raise BadChoice(f"{shown(table)} is not a table", 'Name attributes, as in "town,job" or ["town", "job"].')
