"""The cells of a condition, one by one.

Promise: every cell that is selected is listed once, in the order of the domain, with the number of its group;
groups are numbered as `group_codes` lists them. Up to 10^7 cells are listed, and anything beyond is a
`BadQuery`.
Cost: some 30 ns for each attribute of a cell; temporaries of a few MiB. Of a condition that is no product,
all combinations of codes that occur in it are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hushtable.conditions.selection import Selection
from hushtable.domain.keys import Keys
from hushtable.errors import BadQuery

MOST_CELLS = 10**7
_CHUNK = 1 << 16


def listed(selection: Selection, places: Sequence[int]) -> Iterator[tuple[Keys, NDArray[np.intp]]]:
    """Yield the keys of some cells at a time, and their groups by the attributes at `places`.

    The selection must hold a cell, and have been checked.
    """
    domain = selection.domain
    values = [selection.codes(place).all() for place in range(len(domain.shape))]
    sizes = [len(each) for each in values]
    for start in range(0, prod(sizes), _CHUNK):
        index = np.unravel_index(np.arange(start, min(start + _CHUNK, prod(sizes))), sizes)
        columns = [each.astype(np.uint64)[where] for each, where in zip(values, index, strict=True)]
        groups = np.zeros(len(columns[0]), dtype=np.intp)
        for place in places:
            groups = groups * sizes[place] + index[place]
        codes = np.stack(columns, axis=1)
        if not selection.is_product:
            kept = selection.rows(columns)
            codes, groups = codes[kept], groups[kept]
        yield domain.space.pack(codes), groups


def check_listable(selection: Selection) -> None:
    """Raise `BadQuery` where there are too many cells to list."""
    if not selection.cells:
        return
    hint = f"A sketch answers for cells that are listed, up to {MOST_CELLS:,}. "
    if selection.cells > MOST_CELLS:
        raise BadQuery(
            f"these are {selection.cells:,} cells", hint + "Ask for fewer values of the attributes."
        )
    among = prod(selection.codes(place).size for place in range(len(selection.domain.shape)))
    if among > MOST_CELLS:
        fact = f"these cells lie among {among:,} combinations of values, and each would be looked at"
        raise BadQuery(fact, hint + "Of an OR, ask for parts that do not overlap.")
