"""The files that rows come from, so that nothing is written there and no domain is drawn from them.

Promise: a path, a folder, a pattern, a database, the files of an Arrow dataset, and the local files and
folders that the plan of a DataFrame of Spark names, each as `Kept` tells them. Whether they can be read is
not asked here.
Limits: objects of Python do not say which file they were read from; files that a query or a view of a
database names by itself are not looked for.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from glob import has_magic
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.engines.local.files import files_of
from hushtable.errors import BadData, BadDomain, shown
from hushtable.files.apart import NOTHING, Kept

_WHAT = "data that rows are read from"


def inputs_of(data: Any) -> Kept:
    """Return the files and folders of `data`, as far as it names any."""
    return NOTHING.and_all(_kept(path) for path in _paths(data))


def check_categories(domain: Domain, data: Any) -> None:
    """Raise where a list of categories is one of the files with rows: then the domain would be private."""
    if not any(origin.what != _DOMAIN for origin in domain.origins):
        return
    inputs = inputs_of(data)
    for origin in domain.origins:
        if origin.what != _DOMAIN and inputs.holds(origin.path, (origin.device, origin.inode)):
            name = shown(os.path.basename(origin.path))
            fact = f"the list of categories {name} is among the data that rows are read from"
            hint = "A domain is public, so it is never drawn from the rows. Take a public list instead."
            raise BadDomain(fact, hint)


_DOMAIN = "the domain file"


def _paths(data: Any) -> list[str]:
    """Return the paths that `data` names."""
    if isinstance(data, str | os.PathLike):
        return [os.fsdecode(data)]
    if isinstance(data, list | tuple):
        return [os.fsdecode(path) for path in data if isinstance(path, str | os.PathLike)]
    if any(kind.__module__.startswith("pyspark.sql") for kind in type(data).__mro__):
        from hushtable.engines.spark.sources import local_paths

        return local_paths(data)
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.FileSystemDataset):
        return list(data.files)
    return []


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
    with suppress(BadData):
        return Kept.pattern(path, _WHAT).and_all(Kept.file(file, _WHAT) for file in files_of(path))
    return Kept.pattern(path, _WHAT)
