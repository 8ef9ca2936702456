"""What no output may be, hold or lie in: files with rows, the ledger, the domain file and its categories.

Promise: files and folders are told by device and inode, under whatever name: through links, hard links, `..`,
another case of letters, or a second mount of the same disk. Nor may an output lie where it would be read as
rows the next time, in a folder of data or where a pattern finds it, or beside a database under the name of
its journal.
Limits: what the system shows under another device cannot be seen (some network drives and overlays), nor what
an object of Python was read from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import glob
from pathlib import Path

from hushtable.errors import BadOutput

FileId = tuple[int, int]  # device and inode

_BESIDE = (
    "-journal",
    "-wal",
    "-shm",
    ".wal",
)  # of SQLite and DuckDB: played into the database when it is opened
_ELSEWHERE = "Give a name elsewhere."


@dataclass(frozen=True)
class Kept:
    """Files, folders and patterns that outputs stay away from, each with what it is, in words."""

    files: Mapping[FileId, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)  # of the same files: a new one may take the place
    folders: Mapping[FileId, str] = field(default_factory=dict)
    above: Mapping[FileId, str] = field(default_factory=dict)  # folders that hold one of the files
    patterns: tuple[tuple[frozenset[FileId], str, str], ...] = ()

    @classmethod
    def file(cls, path: str | os.PathLike[str], what: str, *, known_as: FileId | None = None) -> Kept:
        """Keep a file, and what it was when it was read."""
        real = os.path.realpath(path)
        ids = {each: what for each in (known_as, _id(path)) if each is not None}
        return cls(files=ids, paths={real: what}, above=dict.fromkeys(_chain(os.path.dirname(real)), what))

    @classmethod
    def folder(cls, path: str | os.PathLike[str], what: str) -> Kept:
        """Keep a folder, with all that is in it."""
        real = os.path.realpath(path)
        folders = [_id(real)]
        files: list[FileId | None] = []
        for inside, below, names in os.walk(real):
            folders += [_id(os.path.join(inside, name)) for name in below]
            files += [_id(os.path.join(inside, name)) for name in names]
        return cls(
            files={each: what for each in files if each is not None},
            folders={each: what for each in folders if each is not None},
            above=dict.fromkeys(_chain(real), what),
        )

    @classmethod
    def pattern(cls, pattern: str, what: str) -> Kept:
        """Keep the places where a pattern would find a new file."""
        where, name = os.path.split(pattern)
        if name == "**":
            where, name = pattern, "*"
        found = {_id(folder) for folder in glob(where or os.curdir, recursive=True) if os.path.isdir(folder)}
        return cls(patterns=((frozenset(each for each in found if each), name.lower(), what),))

    def and_all(self, others: Iterable[Kept]) -> Kept:
        """Return all of these together."""
        every = [self, *others]
        files: dict[FileId, str] = {}
        paths: dict[str, str] = {}
        folders: dict[FileId, str] = {}
        above: dict[FileId, str] = {}
        for each in every:
            files |= each.files
            paths |= each.paths
            folders |= each.folders
            above |= each.above
        return Kept(files, paths, folders, above, tuple(one for each in every for one in each.patterns))

    def check(self, output: Path) -> None:
        """Raise where an output is, holds or lies in something that is kept."""
        real = os.path.realpath(output.parent)
        for folder in _chain(real):
            if (what := self.folders.get(folder)) is not None:
                raise BadOutput(f"it lies in {what}", _ELSEWHERE, file=str(output))
        here = _id(real)
        for folders, name, what in self.patterns:
            if here in folders and fnmatchcase(output.name.lower(), name):
                fact = f"it would be read as rows the next time, as one of {what}"
                raise BadOutput(fact, _ELSEWHERE, file=str(output))
        self.check_replaced(output)
        if (what := self.paths.get(os.path.join(real, output.name))) is not None:
            raise BadOutput(f"it is {what}", _ELSEWHERE, file=str(output))
        for ending in _BESIDE:
            name = output.name[: -len(ending)]
            if output.name.lower().endswith(ending) and name and os.path.lexists(output.with_name(name)):
                fact = f"a file of this name belongs to {name!r} beside it, if that is a database"
                raise BadOutput(fact, _ELSEWHERE, file=str(output))

    def check_replaced(self, there: Path) -> None:
        """Raise if the output is a file that must stay, or a folder that holds one, under whatever name."""
        found = _id(there)
        if found is None:
            return
        if (what := self.files.get(found) or self.folders.get(found)) is not None:
            raise BadOutput(f"it is {what}", _ELSEWHERE, file=str(there))
        if (what := self.above.get(found)) is not None:
            raise BadOutput(f"it holds {what}", _ELSEWHERE, file=str(there))

    def holds(self, path: str, known_as: FileId) -> bool:
        """Return whether a file that was read is kept, or lies in a folder that is."""
        among = known_as in self.files or path in self.paths
        return among or any(folder in self.folders for folder in _chain(os.path.dirname(path)))


NOTHING = Kept()


def _chain(real: str) -> list[FileId]:
    """Return a folder and all that it lies in."""
    found = [_id(each) for each in (real, *map(str, Path(real).parents))]
    return [each for each in found if each is not None]


def _id(path: str | os.PathLike[str]) -> FileId | None:
    """Return the system's identity of a file or folder, whatever path leads to it; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
