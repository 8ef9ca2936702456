"""SipHash-1-3 of cells: which bucket of a sketch a cell falls into, for a domain of any size.

A cell's message is the words of its key (`domain.keys`) in order, each as 8 bytes, the lowest first. So any
other implementation of SipHash-1-3, such as those of Rust and Python, finds the same numbers.

Promise: equal to the definition for every key, with nothing but additions, rotations and XOR of 64-bit words.
Under a key drawn independently of the data, hashes look uniform and independent.
Cost: some 60 ns a cell of one word, and a fifth of that for each word more; temporaries of 1 MiB.
Source: Aumasson, Bernstein (2012), section 2, with c = 1 and d = 3 rounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys

Hashes = NDArray[np.uint64]
_CHUNK = 1 << 14  # cells whose state stays in the cache
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LAST_ROUNDS = 3


def siphash(keys: Keys, key: tuple[int, int]) -> Hashes:
    """Return the hash of each cell, given by its words: `keys` has the shape (words, cells).

    `key` holds the halves of the hash's key, as numbers below 2^64.

    >>> cells = np.array([[0, 1, 2]], dtype=np.uint64)
    >>> [f"{each:016x}" for each in siphash(cells, (0, 0)).tolist()]
    ['bd60acb658c79e45', '1e9f734161d62dd9', 'a4d31070d122b816']
    """
    words, cells = keys.shape
    hashes = np.empty(cells, dtype=np.uint64)
    for start in range(0, cells, _CHUNK):
        part = slice(start, start + _CHUNK)
        state = _State(key, cells=hashes[part].size)
        for word in keys:
            state.take(word[part])
        state.take(np.uint64((8 * words & 0xFF) << 56))  # what ends a message: its length in bytes
        state.finish(out=hashes[part])
    return hashes


class _State:
    """The four words of state of some cells, changed in place."""

    def __init__(self, key: tuple[int, int], *, cells: int) -> None:
        self._words = np.empty((4, cells), dtype=np.uint64)
        for word, start, half in zip(self._words, _START, key * 2, strict=True):
            word.fill(start ^ half)
        self._spare = np.empty(cells, dtype=np.uint64)

    def take(self, message: NDArray[np.uint64] | np.uint64) -> None:
        """Take one word of each message."""
        first, _, _, last = self._words
        last ^= message
        self._round()
        first ^= message

    def finish(self, out: Hashes) -> None:
        """Write the hashes."""
        self._words[2] ^= np.uint64(0xFF)
        for _ in range(_LAST_ROUNDS):
            self._round()
        np.bitwise_xor.reduce(self._words, axis=0, out=out)

    def _round(self) -> None:
        a, b, c, d = self._words
        self._mix(a, b, 13)
        self._rotate(a, 32)
        self._mix(c, d, 16)
        self._mix(a, d, 21)
        self._mix(c, b, 17)
        self._rotate(c, 32)

    def _mix(self, one: Hashes, other: Hashes, bits: int) -> None:
        one += other
        self._rotate(other, bits)
        other ^= one

    def _rotate(self, word: Hashes, bits: int) -> None:
        np.left_shift(word, np.uint64(bits), out=self._spare)
        word >>= np.uint64(64 - bits)
        word |= self._spare
