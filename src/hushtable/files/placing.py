"""Put a file or a folder in its place whole, or not at all.

Promise: under its name there is never half a file and never a folder without all of its files, whoever else
writes at the same time and whenever the process is killed. Nothing is replaced unless that was asked for, and
then only what the caller's check takes for ours. What was there stays until the new one is whole, and is
looked at once more when it has left its place (`exchanging` says how). Nothing is placed where `Kept` does
not allow it, nor in a release in parts, which would no longer open. What a killed process left behind is
removed by the next one that writes under the same name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import BinaryIO

from hushtable.errors import BadOutput, OutputExists
from hushtable.files.apart import NOTHING, Kept
from hushtable.files.exchanging import OTHERWISE, Check, exchange_for, sync
from hushtable.files.partials import partial_file, partial_folder, remove, sweep
from hushtable.files.parts import part_name

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)
_LOOKS = 10  # at what others keep changing


def only(is_ours: Callable[[Path], bool], what: str, hint: str = "") -> Check:
    """Return the check that lets nothing be replaced but a plain file that `is_ours` recognises."""

    def check(path: Path) -> None:
        mode = os.lstat(path).st_mode
        if S_ISLNK(mode):
            raise BadOutput("it is a link", "Give the name of the file itself, or another.", file=str(path))
        if S_ISDIR(mode):
            raise BadOutput("it is a folder", "Give the name of a file in it.", file=str(path))
        if not S_ISREG(mode):
            raise BadOutput("it is a pipe or a device", "Give another name.", file=str(path))
        if not is_ours(path):
            otherwise = hint or f"Give another name, or remove it yourself: only {what} is overwritten."
            raise BadOutput(f"what is there is not {what}", otherwise, file=str(path))

    return check


nothing = only(lambda path: False, "a file of ours")  # the check of those who replace nothing


@contextmanager
def new_file(
    path: Path, *, overwrite: bool, check: Check = nothing, kept: Kept = NOTHING, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """Give an empty file; it appears under `path` when the block ends without an error."""
    check_output(path, overwrite=overwrite, check=check, kept=kept)
    with _told(path):
        sweep(path)
        handle, partial = partial_file(path, mode=mode)
        try:
            with os.fdopen(handle, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                kept.check(path)
                if overwrite:
                    _replace(partial, path, check, kept)
                elif not _place(partial, path):
                    raise _exists(path)
        finally:
            if not os.path.isdir(partial):  # it may be what was replaced, and could not be removed
                partial.unlink(missing_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(
    path: Path, *, overwrite: bool, check: Check = nothing, kept: Kept = NOTHING
) -> Iterator[Path]:
    """Give an empty folder for parts of a release; it appears under `path` when the block ends well."""
    check_output(path, overwrite=overwrite, check=check, kept=kept)
    with _told(path):
        sweep(path)
        handle, partial = partial_folder(path)
        try:
            yield partial
            _sync_files(partial)
            kept.check(path)
            if overwrite:
                _replace(partial, path, check, kept)
            elif not _place_folder(partial, path):
                raise _exists(path)
        finally:
            if os.path.lexists(partial) and os.path.samestat(os.lstat(partial), os.fstat(handle)):
                remove(partial)
            os.close(handle)
        sync(path.parent)


def check_output(
    path: str | PathLike[str], *, overwrite: bool, check: Check = nothing, kept: Kept = NOTHING
) -> None:
    """Raise where a file or folder could not be placed: worth asking before anything is spent on it."""
    path = Path(path)
    try:
        os.lstat(path)
        taken = True
    except (FileNotFoundError, NotADirectoryError):
        taken = False
    except (OSError, ValueError):  # too long, or with characters that no name can have
        raise BadOutput("a file here cannot have this name", "Give another.", file=ascii(str(path))) from None
    kept.check(path)
    if taken and (overwrite or os.path.isdir(path)):
        _check_while_it_stays(path, check)
    if taken and not overwrite:
        raise _exists(path)
    if not os.path.isdir(path.parent):
        raise BadOutput("its folder is not there", "Make the folder, or check the path.", file=str(path))
    if os.path.lexists(path.parent / part_name(0)):
        fact = (
            f"its folder holds {part_name(0)}, and a release in parts does not open with another file in it"
        )
        raise BadOutput(fact, "Give the name of a file elsewhere.", file=str(path))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadOutput("its folder cannot be written to", "Check its permissions.", file=str(path))


def _check_while_it_stays(path: Path, check: Check) -> None:
    """Check the existing file, and start again if another writer replaced it in the meantime."""
    for looks_left in reversed(range(_LOOKS)):
        before = _state_at(path)
        if before is None:
            return
        try:
            with _told(path):
                return check(path)
        except BadOutput:
            if _state_at(path) == before or not looks_left:
                raise


def _state_at(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file or folder from another that has its name later; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Let errors of the system name the file, and say what to look at."""
    try:
        yield
    except BadOutput:
        raise
    except OSError as error:
        hint = "Check that its folder is there, can be written to and has room."
        raise BadOutput(f"it cannot be written: {error.strerror or error}", hint, file=str(path)) from None


def _replace(finished: Path, path: Path, check: Check, kept: Kept) -> None:
    """Give the finished file its name, and replace the file that has it now if the checks allow it."""

    def look(old: Path) -> None:
        try:
            kept.check_replaced(old)
            check(old)
        except BadOutput as error:  # which has another name at this moment
            raise BadOutput(error.fact, error.hint, file=str(path)) from None

    for looks_left in reversed(range(_LOOKS)):
        try:
            if os.path.lexists(path):
                return exchange_for(finished, path, look)
            if (_place_folder if os.path.isdir(finished) else _place)(finished, path):
                return
        except FileNotFoundError:  # another writer moved it away in between
            if not looks_left:
                raise
    raise _exists(path)  # others place theirs again and again


def _place_folder(finished: Path, path: Path) -> bool:
    """Give a finished folder its name; return False where something has it."""
    try:
        os.rename(finished, path)  # which fails over a file and over a folder that is not empty
    except OSError as error:
        if error.errno in OTHERWISE:
            return False
        raise
    return True


def _place(partial: Path, path: Path) -> bool:
    """Give a finished file its name; return False where something has it."""
    try:
        os.link(partial, path)  # which fails where there is a file, in one step
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _claim(partial, path)
    return True


def _claim(partial: Path, path: Path) -> bool:
    """Do the same where the file system has no links: an empty file holds the name for a moment."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        return False
    try:
        os.replace(partial, path)
    except BaseException:
        path.unlink()
        raise
    return True


def _exists(path: Path) -> OutputExists:
    what = "folder" if os.path.isdir(path) else "file"
    hint = "Give another name; `--overwrite`, overwrite=True, replaces it if it is what hushtable wrote."
    return OutputExists(f"there is a {what} of this name already", hint, file=str(path))


def _sync_files(folder: Path) -> None:
    """Make the files of a folder last through a loss of power, and their names."""
    for name in os.listdir(folder):
        with open(folder / name, "r+b") as file:
            os.fsync(file.fileno())
    sync(folder)
