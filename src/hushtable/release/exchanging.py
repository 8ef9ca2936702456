"""Put a finished file or folder in the place of another one.

No system call replaces a folder that holds files by another in one step, nor a file by a folder. Linux can
exchange two names (renameat2): then the old one has the name of the unfinished one, and is removed. Where
that is missing (macOS, some network file systems), the old one first moves to `<name>.replaced-...` beside
it.

Promise: at any moment the name belongs to the old one or to the new one, whole. Without an exchange there is
a moment in which nothing has it; whoever is killed then finds the old one, whole, as `<name>.replaced-...`,
and nothing of ours removes it from there. What was moved away is looked at once more, and moved back if it is
not what may be replaced.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hushtable.release.partials import aside, held, remove

Check = Callable[[Path], None]  # raises where what is at a path must not be removed

_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE = -100  # AT_FDCWD of fcntl.h: paths are as they are
_NOT_KNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM)


def exchange_for(finished: Path, path: Path, check: Check) -> None:
    """Give what is finished the name of what is there, and remove that, unless `check` raises."""
    if _exchanged(finished, path):
        with held(finished):  # which now is the old one; a sweep would take it while it is looked at
            _checked(finished, check, back=lambda: _exchanged(finished, path))
            _let_go(finished)
    else:
        old = aside(path)
        os.rename(path, old)

        def place(old: Path) -> None:
            check(old)
            os.rename(finished, path)

        _checked(old, place, back=lambda: os.rename(old, path))
        _let_go(old)


def sync(path: Path) -> None:
    """Make names in a folder last through a loss of power, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _checked(old: Path, check: Check, *, back: Callable[[], object]) -> None:
    """Run a check on what was moved away; move it back where the check raises."""
    try:
        check(old)
    except BaseException:
        back()
        raise


def _let_go(old: Path) -> None:
    """Remove what was replaced, where that can be done, once the new name lasts."""
    sync(old.parent)
    with suppress(OSError):
        remove(old)


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
