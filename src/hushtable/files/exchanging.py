"""Put a finished file or folder in the place of another one.

No system call replaces a folder that holds files by another in one step, nor a file by a folder; and the one
that replaces a file by a file does not look at what it replaces. Linux can exchange two names (renameat2):
then the old one has the other's name, is looked at once more, and is removed. Where that is missing (macOS,
some network file systems), a file is looked at and then replaced by a file; anything else first moves away.
What was taken away waits beside its place, as `<name>.replaced-...`, while it is looked at, and comes back if
it is not what may be replaced.

Promise: at any moment the name belongs to the old one or to the new one, whole; but without an exchange,
nothing has it for a moment if one of them is a folder. What waits is removed by nobody else: whoever is
killed then finds it there, whole. What another writer has placed meanwhile is replaced as well, or stays: it
is never lost for an old one that comes back.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hushtable.files.partials import aside, remove

Check = Callable[[Path], None]  # raises where what is at a path must not be removed

# What a rename says where a folder is to replace a file, or anything a folder that is not empty.
OTHERWISE = (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST)
_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE = -100  # AT_FDCWD of fcntl.h: paths are as they are
_NOT_KNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM)


def exchange_for(finished: Path, path: Path, check: Check) -> None:
    """Replace `path` with `finished` and delete the old one; put it back if `check` rejects it."""
    waiting, own = aside(path), os.lstat(finished)
    os.rename(finished, waiting)  # no sweep takes what is there
    try:
        if _exchanged(waiting, path):
            _look_at(waiting, path, check, own)
        elif _is_file(waiting) and _is_file(path):
            check(path)
            os.replace(waiting, path)
        else:
            _take_two_steps(waiting, path, check)
    finally:
        # Now this is the old one, or the new one after an error. Under this name anybody may remove it.
        if os.path.lexists(waiting):
            os.rename(waiting, finished)
    _let_go(finished)


def _is_file(path: Path) -> bool:
    """Return whether there is a plain file, and no link to one."""
    return os.path.isfile(path) and not os.path.islink(path)


def sync(path: Path) -> None:
    """Make names in a folder last through a loss of power, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _let_go(old: Path) -> None:
    """Remove what was replaced, where that can be done, once the new names last."""
    sync(old.parent)
    with suppress(OSError):
        remove(old)


def _look_at(old: Path, path: Path, check: Check, own: os.stat_result) -> None:
    """Run a check on what was exchanged; exchange it again where the check raises."""
    try:
        check(old)
    except BaseException:
        _exchanged(old, path)
        if not os.path.samestat(os.lstat(old), own):  # another writer's had the name, and keeps it
            _exchanged(old, path)
            os.rename(old, aside(path))
        raise


def _take_two_steps(finished: Path, path: Path, check: Check) -> None:
    """Move the old file away and give its name to the finished one; then the old file has the other name."""
    while True:
        old = _moved_away(path)
        try:
            if old is not None:
                check(old)
            os.rename(finished, path)
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in OTHERWISE:
                # Another writer has placed its own in place of the old one: that is replaced next.
                if old is not None:
                    _let_go(old)
                continue
            if old is not None and not os.path.lexists(path):
                os.rename(old, path)
            raise
        if old is not None:
            os.rename(old, finished)
        return


def _moved_away(path: Path) -> Path | None:
    """Return where what was at a path is now; None where another writer has moved it away."""
    old = aside(path)
    try:
        os.rename(path, old)
    except FileNotFoundError:
        return None
    return old


def _exchanged(first: Path, second: Path) -> bool:
    """Return whether two paths have exchanged their names, in one step; False where that is not known."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_KNOWN:
        return False
    raise OSError(number, os.strerror(number))
