"""What the list of processes shows of this command: the address of a database without its password.

Limit: until Python has started, it shows what was typed; and a shell keeps it. Where the system has no /proc,
it stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from hushtable.engines.local.addresses import as_address, is_address
from hushtable.errors import BadChoice

_START, _END = 45, 46  # in /proc/self/stat, counted behind the name: where the words of the command lie


def hide_passwords(words: Iterable[str]) -> None:
    """Write over the passwords among the words of this process."""
    for word in filter(is_address, words):
        said = word.partition("://")[0]
        with suppress(BadChoice):
            said = as_address(word).text
        with suppress(OSError, ValueError, IndexError):
            _replace(os.fsencode(word), os.fsencode(said))


def _replace(word: bytes, said: bytes) -> None:
    with open("/proc/self/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
    start, end = int(numbers[_START]), int(numbers[_END])
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        held = memory.read(end - start)
        memory.seek(start)
        memory.write(held.replace(word, said.ljust(len(word))))
