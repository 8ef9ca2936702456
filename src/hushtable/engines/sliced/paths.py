"""Paths of files: how a message says them, each once, and what a publication reads.

Promise: no message tells the value in the name of a folder such as `person=...`, which is one of its rows'
values. No row is counted twice because its file was named twice. A file that holds rows is never written
over, and no domain is drawn from it.
Limits: objects of Python do not say which file they were read from; files that a query or a view of a
database names by itself are not looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from glob import glob, has_magic

from hushtable.domain.domain import Domain
from hushtable.errors import BadData, BadDomain, shown
from hushtable.files.apart import NOTHING, Kept

_WHAT = "data that rows are read from"
_DOMAIN = "the domain file"


def said(file: str) -> str:
    """Return the path of a file for a message; no password in what was meant as an address.

    >>> said("trips/person=Jane Roe/part-0.csv"), said("host=db password=secret")
    ("'trips/person=.../part-0.csv'", "'host=db password=...'")
    """
    return repr(re.sub("password=.*", "password=...", re.sub(r"=[^/]*(?=/)", "=...", file)))


def check_once(files: Iterable[str]) -> None:
    """Raise if two names are of one file: each of its rows would count twice.

    They are compared by device and inode, which links and mounts of one disk have in common. What was packed,
    as `a.csv.gz`, is taken for the file of that name beside it.
    """
    seen: set[object] = set()
    for file in files:
        found = os.stat(file)
        unpacked = re.sub(r"\.(gz|zst)$", "", os.path.realpath(file), flags=re.IGNORECASE)
        same = {unpacked, (found.st_dev, found.st_ino) if found.st_ino else file}
        if not seen.isdisjoint(same):
            hint = "Give each file once. A link, a packed copy beside it or a second path is the same file."
            raise BadData(f"the file {said(file)} is given twice", hint)
        seen |= same


def kept_paths(paths: Iterable[str]) -> Kept:
    """Return the files and folders that paths and patterns name. Whether they can be read is not asked."""
    return NOTHING.and_all(_kept(path) for path in paths)


def check_categories(domain: Domain, inputs: Callable[[], Kept]) -> None:
    """Raise where a list of categories is one of the files with rows: then the domain would be private."""
    lists = [origin for origin in domain.origins if origin.what != _DOMAIN]
    held = inputs() if lists else NOTHING  # on Spark, it takes a job to know them
    for origin in lists:
        if held.holds(origin.path, (origin.device, origin.inode)):
            name = shown(os.path.basename(origin.path))
            fact = f"the list of categories {name} is among the data that rows are read from"
            hint = "A domain is public, so it is never drawn from the rows. Take a public list instead."
            raise BadDomain(fact, hint)


def _kept(path: str) -> Kept:
    """Return what one path names."""
    if "\0" in path:
        return NOTHING
    if os.path.isdir(path):
        return Kept.folder(path, _WHAT)
    if os.path.exists(path):
        return Kept.file(path, _WHAT)
    if not has_magic(path):
        return NOTHING
    files = (file for file in glob(path, recursive=True) if os.path.isfile(file))
    return Kept.pattern(path, _WHAT).and_all(Kept.file(file, _WHAT) for file in files)
