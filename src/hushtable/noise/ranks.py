"""Ranks under a key: numbers that look drawn, and are the same whenever they are asked for again.

Promise: given that AES-256 is a pseudorandom permutation, ranks of different rows under a key drawn for them
cannot be told from independent uniform words of 64 bits. Nothing but the row and the key decides its rank.
Cost: about 4 ns a row of two words, with the interpreter's lock released.
Source: Bellare, Kilian, Rogaway (2000): CBC-MAC is pseudorandom on messages of one length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.noise.entropy import BitSource

_CHUNK = 1 << 15  # rows whose blocks stay in the cache
_SPARE = 2  # words that the cipher wants behind its output


class Ranks:
    """Ranks of rows of `words` words each, under a key that is drawn here.

    >>> from hushtable.noise import Replay
    >>> ranks = Ranks(Replay(1), words=2)
    >>> row = np.array([[7], [3]], dtype=np.uint64)
    >>> bool(ranks.of(row) == ranks.of(row))
    True
    """

    def __init__(self, entropy: BitSource, *, words: int) -> None:
        self._key, self._words = entropy.words(4).tobytes(), words

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the rank of each row; `rows` has the shape (words, rows)."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        if len(rows) != self._words:
            raise ValueError(f"rows have {len(rows)} words, not {self._words}")  # messages of one length
        cipher = Cipher(algorithms.AES(self._key), modes.ECB()).encryptor()
        ranks = np.empty(rows.shape[1], dtype=np.uint64)
        blocks = np.empty((min(_CHUNK, ranks.size), 2), dtype=np.uint64)
        room = np.zeros(2 * len(blocks) + _SPARE, dtype=np.uint64)
        for start in range(0, ranks.size, _CHUNK):
            size = min(_CHUNK, ranks.size - start)
            taken, made = blocks[:size], room[: 2 * size].reshape(size, 2)
            for first in range(0, self._words, 2):
                pair = rows[first : first + 2, start : start + size]
                if first:
                    taken[:] = made
                    taken[:, : len(pair)] ^= pair.T
                else:
                    taken[:, : len(pair)] = pair.T
                    taken[:, len(pair) :] = 0
                cipher.update_into(taken.reshape(-1).view(np.uint8).data, room.view(np.uint8).data)
            ranks[start : start + size] = made[:, 0]
        return ranks

    def __repr__(self) -> str:
        return "Ranks(<private>)"
