"""A release in parts: what its files are called, and what each says of its place among them.

Promise: names, numbers and sizes of parts follow from the number of rows alone. Each part holds the digest of
the footer of the one before, so parts of two releases never pass for one. There are two parts or more: a
release of fewer rows is one file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from hushtable.domain.limits import MOST_PARTS
from hushtable.errors import BadRelease, shown

ROWS_IN_A_FILE = 10_000_000  # above which a release that may be a folder is one

_NAME = re.compile(r"part-\d{5,}\.parquet")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class FilePart:
    """Which part of a release a file is: from 0, of how many, and the digest of the footer before it."""

    number: int
    of: int
    before: str | None

    def __post_init__(self) -> None:
        numbers = type(self.number) is int and type(self.of) is int and 0 <= self.number < self.of >= 2
        numbers = numbers and self.of <= MOST_PARTS
        first = self.before is None
        digest = first or (isinstance(self.before, str) and bool(_DIGEST.fullmatch(self.before)))
        if not numbers or not digest or first != (self.number == 0):
            place = f"part {shown(self.number)} of {shown(self.of)}"
            fact = f"it says that it is {place} and comes after {shown(self.before)}"
            raise BadRelease(fact, "Get the folder again from its publisher, or ask whoever made it.")

    def __str__(self) -> str:
        return f"part {self.number + 1:,} of {self.of:,}"

    def to_dict(self) -> dict[str, Any]:
        """Return the part as the footer says it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> FilePart:
        """Return the part that a footer says; keys that are not known are passed over."""
        return cls(number=table.get("number"), of=table.get("of"), before=table.get("before"))  # type: ignore[arg-type]


def part_name(number: int) -> str:
    """Return the name of a part in its folder.

    >>> part_name(0)
    'part-00000.parquet'
    """
    return f"part-{number:05}.parquet"


def is_part_name(name: str) -> bool:
    """Return whether a part may have this name."""
    return _NAME.fullmatch(name) is not None


def digest_of_parts(digests: Sequence[str]) -> str:
    """Return the digest of a release in parts: of what `sha256sum part-*.parquet` prints in its folder."""
    lines = (f"{digest}  {part_name(number)}\n" for number, digest in enumerate(digests))
    return sha256("".join(lines).encode()).hexdigest()
