"""Real data sets are counted alike from PostgreSQL and from their files, cell by cell."""

from __future__ import annotations

from pathlib import Path

import adbc_driver_postgresql.dbapi as driver
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from tests.engines.reference import counts_of
from tests.engines.test_real_data import DATA
from tests.postgres.server import Server
from tests.postgres.tables import type_of

pytestmark = pytest.mark.long
FILES = sorted(DATA.glob("*.parquet"))


@pytest.mark.xfail(not FILES, reason="needs real data that are not part of the project", strict=True)
def test_there_are_data() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_attribute_and_several_together_are_counted_alike(
    server: Server, path: Path, tmp_path: Path
) -> None:
    rows = pq.read_table(path)
    rows = rows.select([name for name in rows.column_names if type_of(rows.schema.field(name).type)])
    with driver.connect(server.url(), autocommit=True) as there, there.cursor() as cursor:
        cursor.adbc_ingest(path.stem, rows, mode="create")
    drafted = tmp_path / "domain.toml"
    drafted.write_text(ht.draft(rows).replace("reviewed = false", ""))
    attributes = ht.Domain.load(drafted).attributes

    for some in (*((each,) for each in attributes), attributes[:8]):
        domain = ht.Domain(attributes=some)
        found = counts_of(ht.count(server.url(), table=f'"{path.stem}"', domain=domain))
        assert found
        assert found == counts_of(ht.count(rows, domain=domain))
    server.sql(f'DROP TABLE "{path.stem}"')
