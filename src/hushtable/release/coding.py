"""From the columns of a release back to the codes of its nodes.

Promise: the inverse of `layout.rows_of`, without loss; rows that no codes have, or that are in another order
than their codes, are one `BadRelease`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushtable.domain.keys import ascending
from hushtable.errors import BadRelease
from hushtable.release.terms import Terms
from hushtable.structures.structure import HINT, Codes

if TYPE_CHECKING:
    import pyarrow as pa


def codes_of(terms: Terms, table: pa.Table) -> Codes:
    """Return the codes of a release's rows: of shape (rows, attributes), or (rows, axes) of a tree."""
    codes = terms.nodes.to_codes(terms.domain, table)
    if not ascending(terms.space.pack(codes)):
        raise BadRelease("its rows are not in the order of their codes", HINT)
    return codes
