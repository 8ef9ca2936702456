"""Columns in the names of folders, as in year=2024/month=01.

Promise: a folder's column is read only where it is used, and never takes the place of a column of the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(file: str, names: Iterable[str]) -> dict[str, str | None]:
    """Return the columns among `names` that the folders of a file name, and their values.

    >>> folder_columns("trips/year=2024/month=__HIVE_DEFAULT_PARTITION__/a.csv", ["Year", "month", "day"])
    {'Year': '2024', 'month': None}
    """
    spelled = {name.lower(): name for name in names}
    found: dict[str, str | None] = {}
    for part in Path(file).parts[:-1]:
        name, equals, value = part.partition("=")
        if equals and unquote(name).lower() in spelled:
            found[spelled[unquote(name).lower()]] = None if value == _NOTHING else unquote(value)
    return found
