"""Put a file in its place whole, or not at all.

Promise: under its name there is never half a file, and never a file in place of another unless that was asked
for, whoever else writes at the same time and whenever the process is killed. What a killed process
left behind is removed by the next one that writes under the same name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from hushtable.errors import BadOutput

_SUFFIX = ".partial"
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Give an empty file; it appears under `path` when the block ends without an error."""
    check_output(path, overwrite=overwrite)
    try:
        _sweep(path)
        file, partial = _partial(path)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                _place(partial, path, overwrite=overwrite)
        finally:
            partial.unlink(missing_ok=True)
        _sync(path.parent)
    except BadOutput:
        raise
    except OSError as error:
        hint = "Check that its folder is there, can be written to and has room."
        raise BadOutput(f"it cannot be written: {error.strerror or error}", hint, file=str(path)) from None


def check_output(path: str | PathLike[str], *, overwrite: bool) -> None:
    """Raise where a file could not be placed: worth asking before anything is spent on it."""
    path = Path(path)
    try:
        os.lstat(path)
        taken = True
    except (FileNotFoundError, NotADirectoryError):
        taken = False
    except (OSError, ValueError):  # too long, or with characters that no name can have
        raise BadOutput("it is no name for a file here", "Give another.", file=ascii(str(path))) from None
    if os.path.isdir(path):
        raise BadOutput("it is a folder", "Give the name of a file in it.", file=str(path))
    if taken and not overwrite:
        raise _exists(path)
    if not os.path.isdir(path.parent):
        raise BadOutput("its folder is not there", "Make the folder, or check the path.", file=str(path))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadOutput("its folder cannot be written to", "Check its permissions.", file=str(path))


def _place(partial: Path, path: Path, *, overwrite: bool) -> None:
    """Give the finished file its name."""
    if overwrite:
        os.replace(partial, path)
        return
    try:
        os.link(partial, path)  # which fails where there is a file, in one step
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _claim(partial, path)


def _claim(partial: Path, path: Path) -> None:
    """Do the same where the file system has no links: an empty file holds the name for a moment."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise _exists(path) from None
    try:
        os.replace(partial, path)
    except BaseException:
        path.unlink()
        raise


def _exists(path: Path) -> BadOutput:
    hint = "Give another name, or overwrite it: `--overwrite`, overwrite=True."
    return BadOutput("there is a file of this name already", hint, file=str(path))


def _prefix(path: Path) -> str:
    """Return how the names of unfinished files start; a name has at most 255 bytes."""
    return f".{path.name[:50]}."


def _partial(path: Path) -> tuple[BinaryIO, Path]:
    """Return a new file beside `path`, locked while this process lives."""
    for number in count():
        partial = path.parent / f"{_prefix(path)}{os.getpid()}-{number}{_SUFFIX}"
        try:
            file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), "w+b")
        except FileExistsError:
            continue
        _lock(file.fileno(), wait=True)
        with suppress(OSError):
            # A sweep may have taken the file between its making and its locking: then make another.
            if os.path.samestat(os.stat(partial), os.fstat(file.fileno())):
                return file, partial
        file.close()
    raise AssertionError("the names never end")


def _sweep(path: Path) -> None:
    """Remove what writers of this path left that are gone."""
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if name.startswith(_prefix(path)) and name.endswith(_SUFFIX):
                _remove_unlocked(path.parent / name)


def _remove_unlocked(partial: Path) -> None:
    """Remove an unfinished file unless its writer lives."""
    with suppress(OSError):
        handle = os.open(partial, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _lock(handle, wait=False):
                partial.unlink()
        finally:
            os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Return whether the file is now locked by this process; False where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def _sync(folder: Path) -> None:
    """Make the new name last through a loss of power, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
