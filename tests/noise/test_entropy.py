"""Bits: fair, fast, and never the same twice, whatever happens to the process."""

from __future__ import annotations

import copy
import hashlib
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hushtable.errors import HushtableError, UnsafeEntropy
from hushtable.noise import BitSource, KeyStream, Replay, entropy, require_secure, signs
from tests.harness.statistics import ALARM, chernoff_follows, draws, replay


def child_words(stream: KeyStream) -> NDArray[np.uint64]:
    """Return what a forked child draws from the stream."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(write, stream.words(4).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    data = os.read(read, 32)
    os.close(read)
    os.waitpid(child, 0)
    return np.frombuffer(data, dtype=np.uint64)


def words_of(stream: KeyStream) -> list[int]:
    return [int(word) for word in stream.words(4)]


def all_differ(*words: NDArray[np.uint64] | list[int]) -> bool:
    pooled = [int(word) for part in words for word in part]
    return len(set(pooled)) == len(pooled) >= 4 * len(words)


def test_a_forked_child_never_replays_its_parent() -> None:
    stream = KeyStream()
    before = stream.words(4)
    first, second = child_words(stream), child_words(stream)

    assert all_differ(before, first, second, stream.words(4))


def test_a_fork_that_ran_no_hook_is_noticed_by_its_process_id(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = KeyStream()
    stream.words(1)
    cipher = stream._own.cipher
    monkeypatch.setattr(os, "getpid", lambda: -1)
    stream.words(1)

    assert stream._own.cipher is not cipher


def test_a_child_with_a_recycled_process_id_is_noticed_by_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = KeyStream()
    before = stream.words(4)
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent)

    assert all_differ(before, child_words(stream), stream.words(4))


def test_copies_and_pickles_start_afresh() -> None:
    stream = KeyStream()
    stream.words(3)
    twins = [copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]

    assert all_differ(stream.words(4), *(twin.words(4) for twin in twins))
    assert len(pickle.dumps(stream)) < 100, "a key must not be in there"


def test_spawned_workers_start_afresh() -> None:
    stream = KeyStream()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.map(words_of, [stream, stream, stream])

    assert all_differ(stream.words(4), *parts)


def test_threads_share_a_stream_safely() -> None:
    stream = KeyStream()
    barrier = threading.Barrier(4)

    def work(_: int) -> NDArray[np.uint64]:
        barrier.wait()
        return np.concatenate([stream.words(500) for _ in range(50)])

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(work, range(4)))

    assert len(np.unique(np.concatenate(parts))) == 4 * 25_000


def test_every_thread_has_a_cipher_of_its_own() -> None:
    stream = KeyStream()

    def cipher(_: int) -> int:
        stream.words(1)
        barrier.wait()
        return id(stream._own.cipher)

    barrier = threading.Barrier(3)
    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(cipher, range(3)))) == 3


def test_keys_have_256_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.urandom

    def watched(count: int) -> bytes:
        asked.append(count)
        return real(count)

    monkeypatch.setattr(os, "urandom", watched)
    KeyStream().words(1)

    assert asked == [32]


def test_a_key_is_replaced_after_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "_WORDS_PER_KEY", 10)
    stream = KeyStream()
    stream.words(6)
    first = stream._own.cipher
    stream.words(4)
    assert stream._own.cipher is first
    stream.words(1)

    assert stream._own.cipher is not first


def test_no_entropy_is_an_error_and_not_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(count: int) -> bytes:
        raise NotImplementedError("no entropy on this machine")

    monkeypatch.setattr(os, "urandom", refuse)
    with pytest.raises(NotImplementedError, match="no entropy"):
        KeyStream().words(1)


def test_the_stream_is_aes_in_counter_mode() -> None:
    # Block by block with the block cipher alone, across the boundary of a chunk.
    key = hashlib.sha256(b"hushtable replay 5").digest()
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(block.update(i.to_bytes(16, "big")) for i in range(40_000))

    stream = Replay(5)
    words = np.concatenate([stream.words(1), stream.words(70_000), stream.words(9)])

    assert words.tobytes() == expected[: words.nbytes]


def test_aes_256_gives_the_published_block() -> None:
    # FIPS 197, appendix C.3.
    key = bytes(range(32))
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

    assert (
        block.update(bytes.fromhex("00112233445566778899aabbccddeeff")).hex()
        == "8ea2b7ca516745bfeafc49904b496089"
    )


def test_every_bit_is_fair() -> None:
    size = draws(20_000)
    bits = np.unpackbits(replay(100).words(size).view(np.uint8)).reshape(size, 64)

    assert min(chernoff_follows(int(ones), size, 0.5) for ones in bits.sum(axis=0)) > ALARM


def test_signs_are_fair() -> None:
    size = draws(20_000) + 7
    values = signs(replay(101), count=size)

    assert set(values.tolist()) == {-1, 1}
    assert values.size == size
    assert chernoff_follows(int((values == 1).sum()), size, 0.5) > ALARM


def test_a_replay_is_marked_and_refused() -> None:
    require_secure(KeyStream())
    with pytest.raises(UnsafeEntropy, match="a Replay stream can be replayed, so it protects nobody"):
        require_secure(Replay(1))


def test_an_unmarked_source_is_refused() -> None:
    class Unmarked:
        def words(self, count: int) -> NDArray[np.uint64]:
            return np.zeros(count, dtype=np.uint64)

    source: BitSource = Unmarked()  # type: ignore[assignment]
    with pytest.raises(UnsafeEntropy, match="Unmarked"):
        require_secure(source)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_replay_cannot_be_duplicated(duplicate: object) -> None:
    with pytest.raises(HushtableError, match="a seed of its own"):
        duplicate(Replay(1))  # type: ignore[operator]


def test_replays_of_different_seeds_differ() -> None:
    assert repr(Replay(3)) == "Replay(3)"
    assert all_differ(Replay(1).words(4), Replay(2).words(4), Replay(-1).words(4))


def test_each_thread_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the moment: without one, two threads could draw the same bits."""
    keys, own = list[bytes](), entropy._counter_mode

    def noted(key: bytes) -> object:
        keys.append(key)
        return own(key)

    monkeypatch.setattr(entropy, "_counter_mode", noted)
    stream = KeyStream()
    stream.words(1)
    thread = threading.Thread(target=stream.words, args=(1,))
    thread.start()
    thread.join()
    stream.words(1)

    assert len(keys) == len(set(keys)) == 2
