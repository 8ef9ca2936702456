"""LODES: commuters of Rhode Island between blocks, block groups and tracts, and those of Washington, DC.

The data are in ../shared/data and stay there; without them, sheets say so.
"""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from benchmarks.drawn import Table

_ROOT = Path(__file__).parents[1]
_DATA = _ROOT.parent / "shared" / "data"
_DOMAIN = _ROOT / "benchmarks" / "domains" / "blocks.toml"
_BLOCKS = _DATA / "codebooks" / "ri_blocks_2010.parquet"
_OWN, _OTHER = _DATA / "lodes_ri_main_2019.parquet", _DATA / "lodes_dc_main_2023.parquet"

LEVELS = {"block": 15, "block_group": 12, "tract": 11}  # the digits that name a place
MISSING = None if _OWN.exists() and _OTHER.exists() else f"{_OWN} is not there"


def domain(level: str) -> ht.Domain:
    """Return homes and work places of Rhode Island at a level."""
    return _finest() if level == "block" else _finest().at({"home": level, "work": level})


@cache
def _finest() -> ht.Domain:
    """Return the domain of blocks, with their list below it."""
    with TemporaryDirectory() as folder:
        here = shutil.copy(_DOMAIN, folder)
        (codes := Path(folder, "codes")).mkdir()
        shutil.copy(_BLOCKS, codes)
        return ht.Domain.load(here)


def table(level: str) -> Table:
    """Return the commuters of Rhode Island; where a cell lies makes no difference for sets by chance."""
    counts = _counts(_OWN, level)
    return Table(domain(level).cells_total, np.arange(counts.size), counts)


def elsewhere(level: str, *, people: int | None = None) -> ht.Profile:
    """Return the profile of Washington, DC, at the same level, or of as many people: a public assumption."""
    found = profile(_counts(_OTHER, level), f"{level}s of Washington, DC, 2023")
    return found if people is None else found.for_people(people)


def profile(counts: NDArray[np.int64], words: str) -> ht.Profile:
    """Return the profile of these counts."""
    values, cells = np.unique(counts, return_counts=True)
    return ht.Profile(counts=values, cells=cells, words=words)


def _counts(path: Path, level: str) -> NDArray[np.int64]:
    """Return the counts of occupied cells."""
    rows = pq.read_table(path, columns=["h_geocode", "w_geocode", "S000"])
    home, work = (pc.utf8_slice_codeunits(rows[name], 0, LEVELS[level]) for name in rows.column_names[:2])
    pairs = pa.table({"home": home, "work": work, "people": rows["S000"]}).group_by(["home", "work"])
    return np.asarray(pairs.aggregate([("people", "sum")])["people_sum"].to_numpy(), dtype=np.int64)
