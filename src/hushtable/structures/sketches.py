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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys, KeySpace
from hushtable.errors import BadChoice, shown
from hushtable.structures.hashing import siphash
from hushtable.structures.settings import CountSketch

WORDS_OF_A_KEY = 2
_KEY = re.compile("[0-9a-f]{32}")  # 16 bytes, in the order in which SipHash takes them


@dataclass(frozen=True, eq=False)
class SketchSpace:
    """The buckets of a sketch, with a key for each of its rows.

    >>> nodes = SketchSpace(CountSketch(width=8), KeySpace((1000, 1000)), ("00" * 16,))
    >>> buckets, signs = nodes.buckets(np.array([[0, 1, 2]], dtype=np.uint64), row=0)
    >>> buckets.tolist(), signs.tolist()
    ([5, 0, 5], [-1, -1, 1])
    """

    structure: CountSketch
    cells: KeySpace
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.keys) != self.structure.depth:
            fact = f"a sketch with {self.structure.depth} rows has {len(self.keys)} keys"
            raise BadChoice(fact, "Each row takes one key.")
        for key in self.keys:
            given: object = key
            if not isinstance(given, str) or not _KEY.fullmatch(given):
                fact = f"{shown(key)} is no key of a sketch's row"
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
    def share(self) -> int:
        """The share of a row: all have the same."""
        return 1

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


def keys_of(structure: CountSketch, words: NDArray[np.uint64]) -> tuple[str, ...]:
    """Return a key for each row from random words, `WORDS_OF_A_KEY` for each.

    >>> keys_of(CountSketch(width=8), np.array([1, 2], dtype=np.uint64))
    ('01000000000000000200000000000000',)
    """
    pairs = words.astype("<u8").reshape(structure.depth, WORDS_OF_A_KEY)
    return tuple(pair.tobytes().hex() for pair in pairs)
