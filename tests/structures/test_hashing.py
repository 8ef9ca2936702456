"""SipHash-1-3 of cells: against the definition, which is itself checked against published vectors."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.keys import KeySpace
from hushtable.structures import hashing
from hushtable.structures.hashing import siphash
from tests.structures.sipping import slow_siphash

WORDS = st.integers(0, (1 << 64) - 1)
KEY = bytes(range(16))


# The first and last of the vectors for SipHash-2-4 that its authors published, and the one of their paper.
@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, 0x726FDB47DD0E0E31), (1, 0x74F839C593DC67FD), (15, 0xA129CA6149BE45E5), (63, 0x958A324CEB064572)],
)
def test_the_reference_meets_the_published_vectors(length: int, expected: int) -> None:
    assert slow_siphash(bytes(range(length)), KEY, rounds=2, last_rounds=4) == expected


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="this Python hashes text otherwise")
def test_the_reference_is_what_python_hashes_bytes_by() -> None:
    program = "print([hash(bytes(range(length))) for length in range(8, 40)])"
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    found = [
        slow_siphash(bytes(range(length)), bytes(16), rounds=1, last_rounds=3) for length in range(8, 40)
    ]

    signed = np.array(found, dtype=np.uint64).view(np.int64).tolist()
    assert signed == [int(each) for each in told.stdout.strip(b"[]\r\n").split(b",")]


@given(st.integers(1, 40), st.data(), WORDS, WORDS)
def test_hashes_are_those_of_the_definition(words: int, data: st.DataObject, low: int, high: int) -> None:
    cells = data.draw(st.lists(st.lists(WORDS, min_size=words, max_size=words), min_size=1, max_size=5))
    found = siphash(np.array(cells, dtype=np.uint64).T, (low, high))

    key = low.to_bytes(8, "little") + high.to_bytes(8, "little")
    messages = [b"".join(word.to_bytes(8, "little") for word in cell) for cell in cells]
    assert found.tolist() == [slow_siphash(each, key, rounds=1, last_rounds=3) for each in messages]


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.arange(2 * 1000, dtype=np.uint64).reshape(2, 1000) << np.uint64(40)
    whole = siphash(keys, (5, 6))
    monkeypatch.setattr(hashing, "_CHUNK", 7)

    assert np.array_equal(siphash(keys, (5, 6)), whole)
    assert siphash(keys[:, :0], (5, 6)).size == 0


def test_keys_of_a_large_domain_are_hashed_and_left_as_they_were() -> None:
    space = KeySpace([10] * 30)
    keys = space.pack(np.array([[9] * 30, [0] * 30, [0] * 29 + [1]]))
    before = keys.copy()
    found = siphash(keys, (1, 2))

    assert len(set(found.tolist())) == 3
    assert np.array_equal(keys, before)
