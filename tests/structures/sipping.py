"""SipHash by the book: bytes and Python's integers, with any number of rounds."""

from __future__ import annotations

_WORD = (1 << 64) - 1


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _WORD


def _round(v: list[int]) -> None:
    v[0] = v[0] + v[1] & _WORD
    v[2] = v[2] + v[3] & _WORD
    v[1] = _rotated(v[1], 13) ^ v[0]
    v[3] = _rotated(v[3], 16) ^ v[2]
    v[0] = _rotated(v[0], 32)
    v[2] = v[2] + v[1] & _WORD
    v[0] = v[0] + v[3] & _WORD
    v[1] = _rotated(v[1], 17) ^ v[2]
    v[3] = _rotated(v[3], 21) ^ v[0]
    v[2] = _rotated(v[2], 32)


def slow_siphash(message: bytes, key: bytes, *, rounds: int, last_rounds: int) -> int:
    """Return the hash of a message under a key of 16 bytes (Aumasson, Bernstein 2012, section 2)."""
    halves = [int.from_bytes(key[start : start + 8], "little") for start in (0, 8)]
    start = b"somepseudorandomlygeneratedbytes"
    v = [int.from_bytes(start[8 * i : 8 * i + 8], "big") ^ halves[i % 2] for i in range(4)]
    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v[3] ^= word
        for _ in range(rounds):
            _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(last_rounds):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
