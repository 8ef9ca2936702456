"""Fair random bits: the only file of the package that touches a random source.

`KeyStream` is AES-256 in counter mode under a key from the operating system. `Replay` is the same
machine under a key made from a seed: marked `secure = False`, for tests only.

Promise: given that AES-256 is a pseudorandom permutation and that the operating system's entropy
is good, `KeyStream` cannot be told from fair coins, and no two streams repeat each other: each
thread has its own key, and a forked child, a copy, an unpickled or a spawned worker starts from a
fresh one. If good bits cannot be had, the operating system's error stops us; nothing falls back.
Cost: about 1 ns for 8 bytes, with the interpreter's lock released.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import HushtableError, UnsafeEntropy

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

_ZEROS = memoryview(bytes(1 << 19))

# Counter mode never repeats a block, fair coins would: after 2^30 blocks the difference is worth 2^-69.
_WORDS_PER_KEY = 1 << 31

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class BitSource(Protocol):
    """Where a sampler's fair, independent bits come from."""

    secure: bool

    def words(self, count: int, /) -> NDArray[np.uint64]:
        """Return `count` fresh words of 64 fair bits."""


class KeyStream:
    """Fair bits: AES-256-CTR under a key from the operating system.

    >>> KeyStream().words(3).dtype
    dtype('uint64')
    """

    secure = True

    def __init__(self) -> None:
        self._own = threading.local()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` fresh words of 64 fair bits."""
        own = self._own
        # A fork made outside Python runs no hook, so the process id is compared too.
        process = (os.getpid(), _forks)
        if getattr(own, "process", None) != process or own.left < count:
            own.cipher, own.process, own.left = _counter_mode(os.urandom(32)), process, _WORDS_PER_KEY
        own.left -= count
        return _keystream(own.cipher, count)

    def __reduce__(self) -> tuple[type[KeyStream], tuple[()]]:
        """Copies and pickles carry no key: whoever unpacks one starts a stream of its own."""
        return KeyStream, ()


class Replay:
    """The same bits for the same seed: for tests only; `require_secure` refuses it.

    >>> bool((Replay(7).words(4) == Replay(7).words(4)).all())
    True
    """

    secure = False

    def __init__(self, seed: int) -> None:
        import hashlib

        self.seed = seed
        self._cipher = _counter_mode(hashlib.sha256(b"hushtable replay %d" % seed).digest())
        self._lock = threading.Lock()

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words of this seed."""
        with self._lock:
            return _keystream(self._cipher, count)

    def __repr__(self) -> str:
        return f"Replay({self.seed})"

    def __reduce__(self) -> NoReturn:
        raise HushtableError(
            "a Replay stream cannot be copied or pickled: both sides would draw the same bits.\n"
            "Give each worker a Replay with a seed of its own."
        )


def require_secure(entropy: BitSource) -> None:
    """Raise `UnsafeEntropy` unless the bits may decide something private."""
    if not getattr(entropy, "secure", False):
        raise UnsafeEntropy(type(entropy).__name__)


def signs(entropy: BitSource, *, count: int) -> NDArray[np.int8]:
    """Return `count` fair signs, -1 or +1."""
    bits = np.unpackbits(entropy.words(-(-count // 64)).view(np.uint8), count=count)
    return bits.view(np.int8) * np.int8(2) - np.int8(1)


def _counter_mode(key: bytes) -> CipherContext:
    """Return a fresh AES-CTR stream; each key is used once, so the counter may start at 0."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


def _keystream(cipher: CipherContext, count: int) -> NDArray[np.uint64]:
    """Return the next `count` words of a stream: what the cipher makes of zeros."""
    words = np.empty(count, dtype=np.uint64)
    room = memoryview(words.view(np.uint8).data)
    for start in range(0, len(room), len(_ZEROS)):
        part = room[start : start + len(_ZEROS)]
        cipher.update_into(_ZEROS[: len(part)], part)
    return words
