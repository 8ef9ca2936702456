"""JSON of a stranger, and long descriptions that are kept compressed.

Promise: how many values, and how deep, is known to be within limits before a value is made; no key comes
twice in an object; there is no NaN or infinity by name. What is unpacked is in proportion to the packed text,
or little in any case. `pack` writes nothing that `unpack` refuses.
Cost: that of Python's reader; texts with very many commas are looked through once more.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any, NoReturn

import numpy as np

from hushtable.domain.limits import (
    DEEPEST_JSON,
    LARGEST_DOMAIN,
    LEAST_UNPACKED,
    LEAST_VALUES,
    MOST_UNPACKED,
)

_OPENING = np.frombuffer(b",[{", dtype=np.uint8)
_AT_ONCE = 1 << 20  # characters


class NotJSON(ValueError):
    """A text that is not read, and why."""


def read_json(text: bytes, *, most: int) -> Any:
    """Return what a text in ASCII says, of at most so many values."""
    if not text.isascii():
        raise NotJSON("it is not ASCII")
    if _opened(text) >= most and _opened_outside(text) >= most:
        raise NotJSON(f"it holds more than {most:,} values")
    try:
        said = json.loads(text.decode("ascii"), parse_constant=_refuse, object_pairs_hook=_once)
    except NotJSON:
        raise
    except (ValueError, RecursionError):
        raise NotJSON("it cannot be read as JSON") from None
    _check_depth(said)
    return said


def pack(text: str) -> str:
    """Return a long text in ASCII compressed, in base64."""
    data = text.encode("ascii")
    packed = base64.b64encode(zlib.compress(data, level=1))
    if not _fits(data, packed):  # so regular that nobody could tell it from a bomb
        packed = base64.b64encode(zlib.compress(data, level=0))
    return packed.decode("ascii")


def unpack(packed: bytes) -> Any:
    """Return what a packed text says."""
    most = min(LARGEST_DOMAIN, LEAST_UNPACKED + MOST_UNPACKED * len(packed))
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(base64.b64decode(packed, validate=True), most + 1)
    except (binascii.Error, ValueError, zlib.error):
        raise NotJSON("it is not packed as it should be") from None
    if len(text) > most:
        raise NotJSON(f"it holds more than {most:,} characters, which is out of proportion to the file")
    if not opened.eof or opened.unused_data:
        raise NotJSON("it is not packed as it should be")
    return read_json(text, most=LEAST_VALUES + len(packed))


def _fits(data: bytes, packed: bytes) -> bool:
    """Return whether `unpack` takes a text that was packed so."""
    long = len(data) > LEAST_UNPACKED + MOST_UNPACKED * len(packed)
    return not long and _opened(data) < LEAST_VALUES + len(packed)


def _opened(text: bytes) -> int:
    """Return how many values there are at most, but for the first: each follows one of these characters."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _opened_outside(text: bytes) -> int:
    """Return the same without the characters that stand in quotes."""
    bare = np.frombuffer(text.replace(rb"\\", b"").replace(rb"\"", b""), dtype=np.uint8)
    found, within = 0, False
    for start in range(0, bare.size, _AT_ONCE):
        part = bare[start : start + _AT_ONCE]
        inside = np.logical_xor.accumulate(part == ord('"')) ^ within
        found += int(np.count_nonzero(np.isin(part, _OPENING) & ~inside))
        within = bool(inside[-1])
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, if no key comes twice: readers differ in which they take."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise NotJSON("it holds a key twice")
    return table


def _check_depth(said: Any) -> None:
    """Raise where lists and objects lie too deep within each other."""
    level = [said]
    for _ in range(DEEPEST_JSON):
        within = [each for each in level if isinstance(each, list | dict)]
        if not within:
            return
        level = [
            inner
            for each in within
            for inner in (each.values() if isinstance(each, dict) else each)
            if type(inner) is list or type(inner) is dict
        ]
    raise NotJSON(f"it holds lists and objects more than {DEEPEST_JSON} deep")


def _refuse(name: str) -> NoReturn:
    raise NotJSON(f"it holds {name}")
