"""Which files a domain was read from: itself, and the lists of categories that it names.

Promise: a file that a domain file names lies in the domain file's own folder, after all links are resolved,
and is a plain file of bounded size: a domain file that somebody else wrote reads nothing elsewhere. What was
read is remembered, so that it can be told from the files with the rows, and from the output.
Limits: a copy of a file is another file, and is not recognised.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, NamedTuple

from hushtable.errors import BadDomain, shown

LARGEST_FILE = 1 << 30  # bytes of a list of categories, unpacked as well


class Origin(NamedTuple):
    """A file that was read: its real path, and what the system tells it by, under whatever name."""

    path: str
    device: int
    inode: int
    what: str


def origin_of(path: str | os.PathLike[str], what: str) -> Origin:
    """Return a file that is there as an origin."""
    found = os.stat(path)
    return Origin(os.path.realpath(path), found.st_dev, found.st_ino, what)


def opened_beside(folder: Path, name: str) -> tuple[BinaryIO, Origin]:
    """Open a file that a domain file in `folder` names.

    The same is said of every file elsewhere, whether there is one or not.
    """
    base, real = _resolved(folder, name)
    if os.path.commonpath([base, real]) != base or real == base:
        hint = "Copy the list there, and name the copy. A link counts as the file that it leads to."
        raise BadDomain(f"the file {shown(name)} is not in the domain file's folder", hint)
    # Without links, and without waiting for whoever writes to a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(real, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        found = os.fstat(handle)
        if not S_ISREG(found.st_mode):
            fact = f"{shown(name)} is a folder, a pipe or a device, not a file"
            raise BadDomain(fact, "Save the list in a file, and name that.")
        if found.st_size > LARGEST_FILE:
            raise BadDomain(
                f"the file {shown(name)} is larger than 1 GiB",
                "Name a file that holds nothing but a list of categories.",
            )
        return os.fdopen(handle, "rb"), Origin(real, found.st_dev, found.st_ino, "a list of categories")
    except BaseException:
        os.close(handle)
        raise


def _resolved(folder: Path, name: str) -> tuple[str, str]:
    """Return the real paths of a folder and of a file that is named in it."""
    try:
        return os.path.realpath(folder), os.path.realpath(folder / name)
    except (OSError, ValueError):  # a link that leads to itself, or a character that no name can have
        fact = f"the file {shown(name)} is not in the domain file's folder"
        raise BadDomain(fact, "Check its name.") from None
