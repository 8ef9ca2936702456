"""Make `block-groups.csv`, the list of Rhode Island's census block groups.

A block group is the first 12 of the 15 digits of its blocks, so the list follows from the public list of
blocks. No commuter is read: a domain comes from public facts, never from the data.
"""

from pathlib import Path

import duckdb

HERE = Path(__file__).parent
BLOCKS = HERE / "../../../shared/data/codebooks/ri_blocks_2010.parquet"
GROUPS = HERE / "block-groups.csv"


def main() -> None:
    """Write the list, in order."""
    blocks = duckdb.read_parquet(str(BLOCKS))
    groups = blocks.project("left(block, 12) AS block_group").distinct().order("block_group")
    groups.write_csv(str(GROUPS))
    print(f"{GROUPS.name}: {len(groups):,} block groups")


if __name__ == "__main__":
    main()
