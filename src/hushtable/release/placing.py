"""Put a file or a folder in its place whole, or not at all.

Promise: under its name there is never half a file and never a folder without all of its files, and never a
new one in place of another unless that was asked for, whoever else writes at the same time and whenever the
process is killed. What was there stays until the new one is whole (`exchanging` says how folders are
replaced). A folder is replaced only if the caller's check says that it may be: by default none is. What a
killed process left behind is removed by the next one that writes under the same name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from stat import S_ISDIR
from typing import BinaryIO

from hushtable.errors import BadOutput
from hushtable.release.exchanging import OTHERWISE, Check, exchange_for, sync
from hushtable.release.partials import partial_file, partial_folder, remove, sweep

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)
_LOOKS = 10  # at a folder that others keep changing


def no_folder(path: Path) -> None:
    """Raise: the check of those who replace files alone."""
    raise BadOutput("it is a folder", "Give the name of a file in it.", file=str(path))


@contextmanager
def new_file(path: Path, *, overwrite: bool, check_folder: Check = no_folder) -> Iterator[BinaryIO]:
    """Give an empty file; it appears under `path` when the block ends without an error."""
    check_output(path, overwrite=overwrite, check_folder=check_folder)
    with _told(path):
        sweep(path)
        handle, partial = partial_file(path)
        try:
            with os.fdopen(handle, "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if overwrite:
                    _replace(partial, path, check_folder)
                else:
                    _place(partial, path)
        finally:
            if not os.path.isdir(partial):  # it may be what was replaced, and could not be removed
                partial.unlink(missing_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(path: Path, *, overwrite: bool, check_folder: Check = no_folder) -> Iterator[Path]:
    """Give an empty folder for parts of a release; it appears under `path` when the block ends well."""
    check_output(path, overwrite=overwrite, check_folder=check_folder)
    with _told(path):
        sweep(path)
        handle, partial = partial_folder(path)
        try:
            yield partial
            _sync_files(partial)
            if overwrite:
                _replace(partial, path, check_folder)
            else:
                _place_folder(partial, path)
        finally:
            if os.path.lexists(partial) and os.path.samestat(os.lstat(partial), os.fstat(handle)):
                remove(partial)
            os.close(handle)
        sync(path.parent)


def check_output(path: str | PathLike[str], *, overwrite: bool, check_folder: Check = no_folder) -> None:
    """Raise where a file or folder could not be placed: worth asking before anything is spent on it."""
    path = Path(path)
    try:
        os.lstat(path)
        taken = True
    except (FileNotFoundError, NotADirectoryError):
        taken = False
    except (OSError, ValueError):  # too long, or with characters that no name can have
        raise BadOutput("it is no name for a file here", "Give another.", file=ascii(str(path))) from None
    _check_while_it_stays(path, check_folder)
    if taken and not overwrite:
        raise _exists(path)
    if not os.path.isdir(path.parent):
        raise BadOutput("its folder is not there", "Make the folder, or check the path.", file=str(path))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadOutput("its folder cannot be written to", "Check its permissions.", file=str(path))


def _check_while_it_stays(path: Path, check_folder: Check) -> None:
    """Check a folder; start again where another writer replaced it while it was looked at."""
    for looks_left in reversed(range(_LOOKS)):
        before = _folder_at(path)
        if before is None:
            return
        try:
            with _told(path):
                return check_folder(path)
        except BadOutput:
            if _folder_at(path) == before or not looks_left:
                raise


def _folder_at(path: Path) -> tuple[int, ...] | None:
    """Return what tells a folder from another that has its name later; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_ctime_ns) if S_ISDIR(found.st_mode) else None


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


def _replace(finished: Path, path: Path, check_folder: Check) -> None:
    """Give what is finished its name, whatever has that now."""
    try:
        os.replace(finished, path)
    except OSError as error:
        if error.errno not in OTHERWISE:
            raise

        def check(old: Path) -> None:
            if os.path.isdir(old):
                try:
                    check_folder(old)
                except BadOutput as error:  # which has another name at this moment
                    raise BadOutput(error.fact, error.hint, file=str(path)) from None

        exchange_for(finished, path, check)


def _place_folder(finished: Path, path: Path) -> None:
    """Give a finished folder its name, which nothing has."""
    try:
        os.rename(finished, path)  # which fails over a file and over a folder that is not empty
    except OSError as error:
        raise (_exists(path) if error.errno in OTHERWISE else error) from None


def _place(partial: Path, path: Path) -> None:
    """Give a finished file its name, which nothing has."""
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
    what = "folder" if os.path.isdir(path) else "file"
    hint = "Give another name, or overwrite it: `--overwrite`, overwrite=True."
    return BadOutput(f"there is a {what} of this name already", hint, file=str(path))


def _sync_files(folder: Path) -> None:
    """Make the files of a folder last through a loss of power, and their names."""
    for name in os.listdir(folder):
        with open(folder / name, "r+b") as file:
            os.fsync(file.fileno())
    sync(folder)
