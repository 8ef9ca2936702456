"""Cells of a product domain as keys of 64-bit words.

Consecutive attributes share a word while the product of their sizes fits 2^64; a key is the tuple
of its words. Keys are kept as an array of shape (words, cells), most significant word first, so
that the order of keys is the lexicographic order of codes and every word is one run of memory.

Promise: packing loses nothing for any number and size of attributes; nothing passes through a float.
Cost: one multiplication and addition a code; sorting and searching take one word where it settles
the order, which is always so below 2^64 cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadNumber
from hushtable.laws.rationals import as_count

Keys: TypeAlias = NDArray[np.uint64]
_Places: TypeAlias = NDArray[np.intp]
_FEW_RUNS = 100
_FEW_TIES = 1 / 8
_DRAWN_BITS = 16  # of a word that looks drawn, so that few of a group share them
_CHUNK = 1 << 16


class KeySpace:
    """The cells of a domain with the given attribute sizes.

    >>> KeySpace((1000, 1000)).cells_total
    1000000
    >>> KeySpace([10] * 30).bounds
    (10000000000000000000, 100000000000)
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(as_count(size, name="shape") for size in shape)
        if not self.shape or min(self.shape) < 1 or max(self.shape) >= 1 << 63:
            hint = "Give each attribute its number of values."
            raise BadNumber(name="shape", value=shape, allowed="needs sizes from 1 to 2^63 - 1", hint=hint)
        groups: list[list[int]] = [[]]
        cells = 1
        for size in self.shape:
            if cells * size > 1 << 64:
                groups.append([])
                cells = 1
            groups[-1].append(size)
            cells *= size
        self.groups = groups
        self.bounds = tuple(prod(group) for group in groups)
        self.cells_total = prod(self.shape)

    def __repr__(self) -> str:
        return f"KeySpace({self.shape})"

    def pack(self, codes: NDArray[np.integer]) -> Keys:
        """Return the keys of `codes`, an array of shape (cells, attributes) with each code below its size."""
        keys = np.zeros((len(self.groups), len(codes)), dtype=np.uint64)
        attribute = 0
        for word, group in zip(keys, self.groups, strict=True):
            for size in group:
                word *= np.uint64(size)
                word += codes[:, attribute].astype(np.uint64)
                attribute += 1
        return keys

    def unpack(self, keys: Keys) -> NDArray[np.int64]:
        """Return the codes of `keys`, an array of shape (cells, attributes); those of each lie together."""
        codes = np.empty((keys.shape[1], len(self.shape)), dtype=np.int64, order="F")
        for start in range(0, len(codes), _CHUNK):
            part = slice(start, start + _CHUNK)
            attribute = len(self.shape)
            for word, group in zip(reversed(keys), reversed(self.groups), strict=True):
                rest = word[part]
                for size in reversed(group):
                    attribute -= 1
                    quotient = rest // np.uint64(size)  # a division by one number is quick, a remainder not
                    codes[part, attribute] = rest - quotient * np.uint64(size)
                    rest = quotient
        return codes


def no_keys(words: int) -> Keys:
    """Return an empty array of keys."""
    return np.empty((words, 0), dtype=np.uint64)


def sorting_order(keys: Keys) -> NDArray[np.intp]:
    """Return the places of the keys in ascending order."""
    return _first_sorted(keys)[1]


def order_of_drawn(keys: Keys) -> _Places:
    """Return the places of the keys in ascending order, quickly where second words look drawn.

    The first word, what fits of the second one and a place are one number: sorting those settles nearly all.
    """
    first, second = keys[0], keys[1]
    place_bits = max(1, (first.size - 1).bit_length())
    low = first.min(initial=(1 << 64) - 1)
    order: _Places = np.empty(0, dtype=np.intp)
    groups = first - low
    bits = int(groups.max(initial=0)).bit_length()
    if bits + place_bits + _DRAWN_BITS > 64:
        ascending, order = _sorted_word(first)
        groups = np.zeros(first.size, dtype=np.uint64)  # equal first words share one
        np.cumsum(ascending[1:] != ascending[:-1], out=groups[1:])
        second, bits = second.take(order), int(groups.max(initial=0)).bit_length()
    pairs = groups << np.uint64(64 - bits) if bits else np.zeros_like(groups)
    pairs |= (second >> np.uint64(bits + place_bits)) << np.uint64(place_bits)
    pairs |= np.arange(first.size, dtype=np.uint64)
    pairs.sort()
    places = (pairs & np.uint64((1 << place_bits) - 1)).view(np.int64)
    pairs >>= np.uint64(place_bits)
    order = order.take(places) if order.size else places
    tied = _tied(pairs)
    if tied.size:
        # Rows that are equal as a whole may stay as they are, those that share no more than what fitted not.
        own = keys.take(order[tied], axis=1)
        again = np.zeros(tied.size, dtype=np.bool_)
        np.equal(pairs[tied[1:]], pairs[tied[:-1]], out=again[1:])
        number = np.cumsum(~again) - 1
        wrong = again[1:] & (own[:, 1:] != own[:, :-1]).any(axis=0)
        open_ = np.zeros(int(number[-1]) + 1, dtype=np.bool_)
        open_[number[1:][wrong]] = True
        _settle(order, tied[open_[number]], keys)
    return order


def sorted_with_places(keys: Keys) -> tuple[Keys, NDArray[np.intp]]:
    """Return the keys in ascending order, and the place that each had."""
    first, order = _first_sorted(keys)
    if len(keys) == 1:
        return first[np.newaxis], order
    return np.stack([first, *(word.take(order) for word in keys[1:])]), order


def _first_sorted(keys: Keys) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return the first words in ascending order, and the places of the keys in ascending order."""
    first, order = _sorted_word(keys[0])
    if len(keys) > 1:  # later words matter only where the first one repeats
        _settle(order, _tied(first), keys)
    return first, order


def _sorted_word(word: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return one word's values in ascending order, and the places that they had."""
    if np.count_nonzero(word[1:] < word[:-1]) <= _FEW_RUNS:
        order = np.argsort(word, kind="stable")  # which merges runs that are in order already
        return word.take(order), order
    # The leading bits of a value and its place fit one word together: sorting those takes a fraction of the
    # time of sorting places by value.
    place_bits = (word.size - 1).bit_length()
    cut = np.uint64(max(0, int(word.max(initial=0)).bit_length() + place_bits - 64))
    pairs = word >> cut
    pairs <<= np.uint64(place_bits)
    pairs |= np.arange(word.size, dtype=np.uint64)
    pairs.sort()
    leading = pairs >> np.uint64(place_bits)
    pairs &= np.uint64((1 << place_bits) - 1)
    order = pairs.view(np.int64)
    if not cut:
        return leading, order
    # Bits that were cut off matter only where the leading ones repeat: hardly ever, or nearly everywhere.
    rows = _tied(leading)
    if rows.size > _FEW_TIES * word.size:
        order = np.argsort(word)
    else:
        _settle(order, rows, word[np.newaxis])
    return word.take(order), order


def _tied(ascending: NDArray[np.uint64]) -> _Places:
    """Return the rows that share their value with a neighbour."""
    tied = np.zeros(ascending.size + 1, dtype=np.bool_)
    np.equal(ascending[1:], ascending[:-1], out=tied[1:-1])
    return np.flatnonzero(tied[1:] | tied[:-1])


def _settle(order: _Places, rows: _Places, keys: Keys) -> None:
    """Sort those `rows` of `order` by all words of their keys; all else is settled already."""
    if rows.size:
        places = order[rows]
        order[rows] = places[np.lexsort(keys[::-1].take(places, axis=1))]


def sorted_keys(keys: Keys) -> Keys:
    """Return the keys in ascending order."""
    if len(keys) == 1:
        return np.sort(keys)
    if len(keys) == 2:
        first, order = _sorted_word(keys[0])
        second = keys[1].take(order)
        ranks = np.zeros(first.size, dtype=np.uint64)  # equal first words share a rank
        np.cumsum(first[1:] != first[:-1], out=ranks[1:])
        bits = int(second.max(initial=0)).bit_length()
        if int(ranks.max(initial=0)).bit_length() + bits <= 64 and bits < 64:
            # Rank and second word fit one word together: sorting it settles what the first word left open.
            ranks <<= np.uint64(bits)
            ranks |= second
            ranks.sort()
            ranks &= np.uint64((1 << bits) - 1)
            return np.stack([first, ranks])
    return keys.take(sorting_order(keys), axis=1)


def merged_keys(keys: Keys, few: Keys) -> Keys:
    """Return two disjoint ascending arrays of keys as one; `few` is the short one."""
    if len(keys) == 1:
        return np.insert(keys, np.searchsorted(keys[0], few[0]), few[0], axis=1)
    return sorted_keys(np.concatenate([keys, few], axis=1))


def repeats(keys: Keys) -> NDArray[np.bool_]:
    """Return which of the sorted keys equal the one before."""
    same = np.zeros(keys.shape[1], dtype=np.bool_)
    if same.size:
        np.all(keys[:, 1:] == keys[:, :-1], axis=0, out=same[1:])
    return same


def ascending(keys: Keys) -> bool:
    """Return whether the keys are in strictly ascending order."""
    before, after = keys[:, :-1], keys[:, 1:]
    for word in range(len(keys)):
        if np.any(after[word] < before[word]):
            return False
        tied = np.flatnonzero(after[word] == before[word])
        if not tied.size:  # mostly so at the first word
            return True
        before, after = before.take(tied, axis=1), after.take(tied, axis=1)
    return False


def contains(keys: Keys, sought: Keys) -> NDArray[np.bool_]:
    """Return which of `sought` are among the ascending `keys`; an ordered `sought` stays in the cache."""
    if not keys.shape[1]:
        return np.zeros(sought.shape[1], dtype=np.bool_)
    low = np.searchsorted(keys[0], sought[0], side="left")
    found: NDArray[np.bool_] = keys[0].take(low, mode="clip") == sought[0]
    if len(keys) == 1:
        return found
    # Keys that match in the words so far lie from `low` to `high`; each further word narrows both ends.
    rows = np.flatnonzero(found)
    low, high = low[rows], np.searchsorted(keys[0], sought[0, rows], side="right")
    for word in range(1, len(keys)):
        column, values = keys[word], sought[word, rows]
        low, high = (
            _bisect(np.less, column, values, low, high),
            _bisect(np.less_equal, column, values, low, high),
        )
        hits = low < high
        rows, low, high = rows[hits], low[hits], high[hits]
    found[:] = False
    found[rows] = True
    return found


def places_of(keys: Keys, sought: Keys) -> NDArray[np.intp]:
    """Return how many of the ascending `keys` lie before each sought one."""
    low: _Places = np.searchsorted(keys[0], sought[0], side="left")
    high: _Places = np.searchsorted(keys[0], sought[0], side="right")
    for column, values in zip(keys[1:], sought[1:], strict=True):
        low, high = (
            _bisect(np.less, column, values, low, high),
            _bisect(np.less_equal, column, values, low, high),
        )
    return low


def _bisect(
    before: np.ufunc, column: NDArray[np.uint64], values: NDArray[np.uint64], low: _Places, high: _Places
) -> _Places:
    """Return, for each value, the first place in low..high whose entry is not `before` it."""
    while np.any(low < high):
        middle = (low + high) // 2
        later = before(column.take(middle, mode="clip"), values) & (low < high)
        low, high = np.where(later, middle + 1, low), np.where(later, high, np.maximum(middle, low))
    return low
