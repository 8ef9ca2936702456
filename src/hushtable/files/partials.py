"""Unfinished files and folders beside the name that they will have.

Promise: each belongs to one living writer, which holds a lock on it, and no name is given twice: whoever
removes one late, after a sweep did, never removes another's. What a killed process left behind is
removed by the next one that writes under the same name; of folders only those that hold nothing but parts of
a release. Where there are no locks, nothing is removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import time_ns

from hushtable.files.parts import is_part_name

_SUFFIX = ".partial"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NUMBERS = count(time_ns())  # so that neither a thread nor a process of the same number gives a name again


def partial_file(path: Path, *, mode: int = 0o666) -> tuple[int, Path]:
    """Return a new file beside `path`, open for reading and writing, locked while this process lives."""
    return _locked(path, lambda partial: os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))


def partial_folder(path: Path) -> tuple[int, Path]:
    """Return a new folder beside `path`, open, locked while this process lives."""

    def opened(partial: Path) -> int | None:
        os.mkdir(partial, 0o777)
        with suppress(FileNotFoundError):  # a sweep took it
            return os.open(partial, os.O_RDONLY)
        return None

    return _locked(path, opened)


def sweep(path: Path) -> None:
    """Remove what writers of this path left that are gone."""
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if name.startswith(_prefix(path)) and name.endswith(_SUFFIX):
                _remove_unlocked(path.parent / name)


def aside(path: Path) -> Path:
    """Return a new name beside `path`, for what is replaced; no sweep takes it from there."""
    return path.with_name(f"{path.name[:50]}.replaced-{_number()}")


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder of nothing but parts; let any other folder be."""
    if not os.path.isdir(path) or os.path.islink(path):
        path.unlink(missing_ok=True)
        return
    names = os.listdir(path)
    if all(map(is_part_name, names)):
        for name in names:
            os.unlink(path / name)
        os.rmdir(path)


def _locked(path: Path, opened: Callable[[Path], int | None]) -> tuple[int, Path]:
    """Return what `opened` makes under a new name, locked."""
    while True:
        partial = path.parent / f"{_prefix(path)}{_number()}{_SUFFIX}"
        handle = opened(partial)
        if handle is None:
            continue
        _lock(handle, wait=True)
        with suppress(OSError):
            # A sweep may have taken it between its making and its locking: then make another.
            if os.path.samestat(os.stat(partial), os.fstat(handle)):
                return handle, partial
        os.close(handle)


def _number() -> str:
    return f"{os.getpid()}-{next(_NUMBERS)}"


def _prefix(path: Path) -> str:
    """Return how the names of what is unfinished start; a name has at most 255 bytes."""
    return f".{path.name[:50]}."


def _remove_unlocked(partial: Path) -> None:
    """Remove what is unfinished unless its writer lives."""
    with suppress(OSError):
        kind = os.O_RDONLY if os.path.isdir(partial) else os.O_RDWR
        handle = os.open(partial, kind | _NO_LINK)
        try:
            if _lock(handle, wait=False):
                remove(partial)
        finally:
            os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Return whether it is now locked by this process; False where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True
