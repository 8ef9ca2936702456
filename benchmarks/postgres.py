"""Publishing a table of PostgreSQL against what it takes to copy it out and publish the rows from a file.

`make bench ARGS=postgres` runs it, on a server that it starts in a temporary folder and stops again. Times
are of the clock, since the server works in processes of its own.
Cost: less than a minute on two cores, 2 GB of disk.
"""

import subprocess
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.rows import files_of
from benchmarks.timing import best
from benchmarks.worker import fresh
from tests.postgres.server import Server, programs, running

_ROWS = 10**7
_ROUNDS = 3
_SIZE = 100_000
_NAMES = ("uniform", "text")
_BAR = Bar("<=", 1.3)


def against_copying(say: Say) -> Sheet:
    """Measure whole publications against the sum of a bare copy and a publication from a file."""
    sheet = Sheet(
        title=f"Publishing {_ROWS:,} rows of PostgreSQL, size {_SIZE:,}, in a fresh process",
        columns=("rows", "s", "COPY\ns", "from Parquet\ns", "of both"),
        note=(
            "Uniform: two integers of 10^6 values each. Text: two texts of 1,000 values, an integer of 51.\n"
            "From the table to a release of epsilon 0.1, imports included. COPY: TO STDOUT (FORMAT binary)\n"
            "of the same columns, by psql into nothing. From Parquet: the same publication of the same rows "
            f"from a file. The least of {_ROUNDS} times of each, in turns."
        ),
    )
    binaries = programs()
    if binaries is None:
        raise SystemExit("PostgreSQL's server is needed. Give: make postgres, or set HUSHTABLE_POSTGRES.")
    with running(binaries) as server:
        for name in _NAMES:
            say(f"writing {name} rows")
            folder = server.folder / name
            folder.mkdir()
            fresh("write_rows", name=name, rows=_ROWS, folder=str(folder))
            files = files_of(name, folder)
            _store(server, name, files.rows)
            say(f"{name} rows")
            output = str(folder / "released.parquet")
            publish = partial(fresh, "publish", domain=files.domain, size=_SIZE, memory="8GB", output=output)
            ours, copied, local = best(
                [
                    partial(publish, rows=server.url(), table=name),
                    partial(_copy, server, binaries, name),
                    partial(publish, rows=files.rows),
                ],
                rounds=_ROUNDS,
            )
            ratio = Figure(ours / (copied + local), _BAR)
            sheet.add(name, Figure(ours), Figure(copied), Figure(local), ratio)
            server.sql(f'DROP TABLE "{name}"')
    return sheet


def _store(server: Server, name: str, file: str) -> None:
    """Store the rows of a file as a table, as a server has it that has been at rest."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(server.url(), autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, pq.read_table(file), mode="create")
        cursor.execute(f'VACUUM (ANALYZE) "{name}"')
        cursor.execute("CHECKPOINT")


def _copy(server: Server, binaries: Path, name: str) -> None:
    """Copy a table out, to nobody."""
    command = f'COPY "{name}" TO STDOUT (FORMAT binary)'
    subprocess.run(
        [str(binaries / "psql"), "-X", "-q", "-d", server.url(), "-c", command],
        check=True,
        stdout=subprocess.DEVNULL,
    )


SHEETS = (against_copying,)
