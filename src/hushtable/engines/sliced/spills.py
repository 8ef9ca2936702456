"""A folder for rows that do not fit in memory.

Promise: only this user can read what is in it (mode 0700); it is removed when the work ends, and one left by
a process that was killed is removed whenever another one starts or ends. A folder in use is left alone: it is
locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hushtable.errors import BadData

_LOCK, _PREFIX = ".lock", "spill-"


@contextmanager
def spill_folder() -> Iterator[Path]:
    """Give a new private folder, and remove it and what killed processes left."""
    why = ""
    try:
        lock, folder = _locked_folder()
    except OSError as error:
        why = error.strerror or type(error).__name__
    if why:
        hint = "Set TMPDIR to a folder on a disk with room."
        raise BadData(f"no folder for temporary files can be made: {why}", hint)
    try:
        yield folder
    finally:
        _remove(folder, lock)
        os.close(lock)
        sweep(folder.parent)  # of processes that were at work for this one, and were killed


def sweep(parent: Path) -> None:
    """Remove the folders whose process is gone."""
    for path in parent.glob(f"*{_LOCK}"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the owner lives
                _remove(path.with_suffix(""), lock)
            finally:
                os.close(lock)
    # A folder is made after its lock and removed before it. One without a lock came back: somebody who worked
    # for its owner had not heard of the end.
    for path in parent.glob(f"{_PREFIX}*"):
        if path.suffix != _LOCK and not path.with_suffix(_LOCK).exists():
            shutil.rmtree(path, ignore_errors=True)


def _remove(folder: Path, lock: int) -> None:
    """Remove a folder, then its lock, which the caller holds."""
    shutil.rmtree(folder, ignore_errors=True)
    path = folder.with_suffix(_LOCK)
    with suppress(OSError):
        if not folder.exists() and os.path.samestat(os.stat(path), os.fstat(lock)):
            path.unlink()


def _locked_folder() -> tuple[int, Path]:
    """Return a new folder, and the lock that goes with it."""
    parent = _parent()
    sweep(parent)
    lock, name = _locked_name(parent)
    try:
        (parent / name).mkdir(mode=0o700)
    except OSError:
        os.close(lock)
        raise
    return lock, parent / name


def _locked_name(parent: Path) -> tuple[int, str]:
    """Return a lock that this process holds and the name that goes with it."""
    while True:
        lock, path = tempfile.mkstemp(prefix=_PREFIX, suffix=_LOCK, dir=parent)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A sweep may have taken the file between its making and its locking: then make another.
        with suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(lock)):
                return lock, Path(path).stem
        os.close(lock)


def _parent() -> Path:
    """Return the folder that holds this user's spill folders."""
    parent = Path(tempfile.gettempdir()) / f"hushtable-{os.getuid()}"
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700)
    status = parent.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    if not private:
        hint = "Remove it, or set TMPDIR to a folder of your own."
        raise BadData(f"the folder for temporary files, {parent}, is open to other users", hint)
    return parent
