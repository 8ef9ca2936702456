"""The slow reference for conditions: every cell of a small domain as a row, and DuckDB's own WHERE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

import hushtable as ht

CONNECTION = duckdb.connect(config={"threads": 1})


def all_codes(domain: ht.Domain) -> NDArray[np.int64]:
    """The codes of all cells, in order."""
    return np.array(list(product(*map(range, domain.shape))), dtype=np.int64).reshape(-1, len(domain.shape))


def cells_where(domain: ht.Domain, condition: str) -> NDArray[np.int64]:
    """The codes of the cells for which DuckDB finds the condition true."""
    codes = all_codes(domain)
    table = domain.decode(codes).append_column("__place", [np.arange(len(codes))])
    with duckdb.connect() as connection:
        connection.register("release", table)
        found = connection.execute(
            f"SELECT __place FROM release WHERE (\n{condition}\n) ORDER BY 1"
        ).fetchall()
    return codes[[place for (place,) in found]]


def in_columns(domain: ht.Domain, codes: NDArray[np.int64]) -> list[NDArray[Any]]:
    """One contiguous column for each attribute, of the smallest unsigned type that holds its codes."""
    types = [np.min_scalar_type(size - 1) for size in domain.shape]
    return [np.ascontiguousarray(column, dtype=kind) for column, kind in zip(codes.T, types, strict=True)]


def group_counts(domain: ht.Domain, codes: NDArray[np.int64], places: Sequence[int]) -> list[int]:
    """The number of these cells in each combination of codes of the attributes at `places`."""
    groups = list(map(tuple, codes[:, list(places)].tolist()))
    return [groups.count(group) for group in product(*(range(domain.shape[place]) for place in places))]
