"""The buckets of a count sketch over a domain: where each cell is counted, and with which sign.

A row of the sketch hashes a cell (`hashing`) under a key of its own. The lowest bit of the hash is the sign,
1 for minus; the bucket is the upper half of the hash, scaled to the width: (upper * width) >> 32.

Promise: one row of the data changes `depth` buckets, one in each row, by 1 each. Keys are drawn independently
of the data and published: they protect nobody, and everybody finds the same buckets.
The 2^32 values of an upper half are dealt out to buckets as evenly as whole numbers can be. So two cells
share a bucket with chance 1/width, and at most (width/2^32)^2/4 of that more: 10^-8 of it at a width of 10^6,
and 10^-4 at the largest, 10^8.
Cost: that of hashing, and some 10 ns a cell.
Source: Charikar, Chen, Farach-Colton (2002); Cormode, Procopiuc, Srivastava, Tran, section 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column, as_numbers
from hushtable.domain.domain import Domain
from hushtable.domain.keys import Keys, KeySpace
from hushtable.domain.measure import Measure
from hushtable.errors import BadChoice, BadRelease, shown
from hushtable.methods.settings import Everything, Method
from hushtable.structures.hashing import siphash
from hushtable.structures.intervals import check_codes
from hushtable.structures.orders import listed
from hushtable.structures.structure import HINT, ROWS, Codes, Column, Entry, NodeSpace, Sizes, Structure

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_SKETCH, LARGEST_DEPTH = 10**8, 64  # buckets in all, and rows
WORDS_OF_A_KEY = 2
_KEY = re.compile("[0-9a-f]{32}")  # 16 bytes, in the order in which SipHash takes them


@dataclass(frozen=True, kw_only=True, slots=True)
class CountSketch(Structure):
    """A count sketch: hashing scatters the cells over `depth` rows of `width` buckets.

    Every bucket is published, whatever the number of cells. A bucket holds the sum of its cells, each with a
    plus or minus sign, so that the others cancel out on average when one cell is estimated.

    >>> CountSketch(width=10_000)
    CountSketch(width=10000, depth=1)
    """

    name: ClassVar[str] = "sketch"
    example: ClassVar[str | None] = "ht.CountSketch(width=10_000)"
    format: ClassVar[int] = 3
    row: ClassVar[str] = "bucket"
    default_method: ClassVar[str] = "everything"
    takes_total: ClassVar[bool] = True

    width: int
    depth: int = 1

    def __post_init__(self) -> None:
        for name, most in (("width", LARGEST_SKETCH), ("depth", LARGEST_DEPTH)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                hint = f"Give a whole number from 1 to {most:,}."
                raise BadChoice(f"{name}={shown(value)} is not allowed", hint)
        if self.width * self.depth > LARGEST_SKETCH:
            fact = f"a sketch of {self.depth:,} rows of {self.width:,} buckets is too large"
            raise BadChoice(fact, f"Width times depth may be up to {LARGEST_SKETCH:,}.")

    @property
    def called(self) -> str:
        """What it is, in a sentence."""
        return "a sketch"

    @property
    def advice(self) -> str:
        """How to read `count` and `weight`."""
        said = "`count` is a noisy sum over the cells of a bucket, half of them counted as negative."
        return f"{said} It says nothing by itself: ask `hushtable query`."

    @property
    def rows_published(self) -> int:
        """How many buckets there are, all of them published."""
        return self.width * self.depth

    @property
    def key_words(self) -> int:  # type: ignore[override]
        """How many random words its keys take."""
        return WORDS_OF_A_KEY * self.depth

    def drawn_keys(self, words: NDArray[np.uint64], /) -> tuple[str, ...]:
        """Return a key for each row from random words, `WORDS_OF_A_KEY` for each.

        >>> CountSketch(width=8).drawn_keys(np.array([1, 2], dtype=np.uint64))
        ('01000000000000000200000000000000',)
        """
        pairs = words.astype("<u8").reshape(self.depth, WORDS_OF_A_KEY)
        return tuple(pair.tobytes().hex() for pair in pairs)

    def check_method(self, method: Method, measure: Measure = ROWS) -> None:
        """Raise unless all buckets are published."""
        if method != Everything():
            fact = "a sketch publishes all of its buckets, which are sums of both signs"
            raise BadChoice(fact, "Leave the summary out; the width and the depth say how many there are.")

    def over(self, domain: Domain, *, keys: Sequence[str] = ()) -> SketchSpace:
        """Return the buckets over a domain."""
        return SketchSpace(self, domain.space, tuple(keys))

    def over_codes(self, shape: Sequence[int], *, keys: Sequence[str] = ()) -> SketchSpace:
        """Return the buckets over attributes of these sizes."""
        return SketchSpace(self, KeySpace(shape), tuple(keys))

    def sizes(self, domain: Domain) -> Sizes:
        """Return how many buckets there are, and how many of them one row changes: before keys are drawn."""
        return Sizes(self.rows_published, self.depth, 0)

    @classmethod
    def made(cls, **settings: Any) -> Self:
        """Return it with the settings that were given."""
        if settings.get("width") is None:
            raise BadChoice("a sketch needs a width", "Give the number of buckets in a row.")
        return cls(**settings)

    def to_entries(self) -> dict[str, Any]:
        """Return its settings for a footer."""
        return {"width": self.width, "depth": self.depth}

    @classmethod
    def from_entries(cls, entry: Entry) -> Self:
        """Return it with the settings that a footer has."""
        return cls(width=entry("width", int), depth=entry("depth", int))


@dataclass(frozen=True, eq=False, slots=True)
class SketchSpace(NodeSpace):
    """The buckets of a sketch, with a key for each of its rows.

    >>> nodes = SketchSpace(CountSketch(width=8), KeySpace((1000, 1000)), ("00" * 16,))
    >>> buckets, signs = nodes.buckets(np.array([[0, 1, 2]], dtype=np.uint64), row=0)
    >>> buckets.tolist(), signs.tolist()
    ([5, 0, 5], [-1, -1, 1])
    """

    structure: CountSketch = field()
    cells: KeySpace
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.keys) != self.structure.depth:
            fact = f"a sketch with {self.structure.depth} rows has {len(self.keys)} keys"
            raise BadChoice(fact, "Each row takes one key.")
        for key in self.keys:
            given: object = key
            if not isinstance(given, str) or not _KEY.fullmatch(given):
                fact = f"{shown(key)} is not a key of a sketch's row"
                raise BadChoice(fact, "A key has 32 hexadecimal digits, in lower case.")

    @cached_property
    def space(self) -> KeySpace:
        """Buckets as cells: the number of the row, and of the bucket in it."""
        return KeySpace((self.structure.depth, self.structure.width))

    @property
    def nodes_total(self) -> int:
        """The number of buckets."""
        return self.structure.width * self.structure.depth

    @property
    def per_cell(self) -> int:
        """The number of buckets that hold one cell."""
        return self.structure.depth

    @property
    def fewest_rows(self) -> int:
        """A sketch has all of its buckets."""
        return self.nodes_total

    def named(self, domain: Domain) -> str:
        """Return how large it is, and over which attributes."""
        width, depth = self.structure.width, self.structure.depth
        rows = f"{depth:,} row{'s' * (depth != 1)} of {width:,} buckets"
        return f"a count sketch, {rows}, over {listed(domain.names)}"

    def columns(self, domain: Domain) -> list[Column]:
        """Return the row of a bucket, and its number there."""
        return [Column("row", "code", 0), Column("bucket", "code", 1, few=False)]

    def to_columns(self, domain: Domain, codes: Codes) -> list[pa.Array]:
        """Return the rows of the sketch, and the buckets in them."""
        check_codes(self.space, codes)
        return [as_column(column) for column in codes.T]

    def to_codes(self, domain: Domain, table: pa.Table) -> Codes:
        """Return the codes of buckets: all of them, which a sketch needs."""
        codes = np.stack([as_numbers(table.column(name)) for name in ("row", "bucket")], axis=1)
        every = np.arange(self.space.cells_total, dtype=np.uint64)[np.newaxis]
        if len(codes) != every.size or not np.array_equal(codes, self.space.unpack(every)):
            raise BadRelease("its rows are not all buckets of its sketch", HINT)
        return codes

    def buckets(self, keys: Keys, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the buckets of cells in a row of the sketch, and their signs there, 1 or -1."""
        hashes = siphash(keys, self._halves[row])
        signs = 1 - 2 * (hashes & np.uint64(1)).view(np.int64)
        hashes >>= np.uint64(32)
        hashes *= np.uint64(self.structure.width)
        hashes >>= np.uint64(32)
        return hashes.view(np.int64), signs

    @cached_property
    def _halves(self) -> list[tuple[int, int]]:
        """The keys as SipHash takes them."""
        texts = map(bytes.fromhex, self.keys)
        return [(int.from_bytes(text[:8], "little"), int.from_bytes(text[8:], "little")) for text in texts]
