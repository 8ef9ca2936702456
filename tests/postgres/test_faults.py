"""Whatever ends on the way: what was charged is charged once, the output is whole or absent, nobody stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.domain.units import unit_name
from hushtable.engines.local import postgres
from hushtable.engines.local.addresses import Address, ServerRows
from tests.engines.contracts.refusals import left_in
from tests.postgres.conftest import check_nobody
from tests.postgres.server import Server

X = ht.Domain(x=ht.integers(0, 9))
MANY = "SELECT (x % 10)::integer AS x, repeat('x', 200) AS t FROM generate_series(1, 400000) AS x"
SLEEPING = "SELECT 1 AS x, pg_sleep(600)::text AS t"


def publishing(server: Server, folder: Path, **words: Any) -> Callable[[], ht.Release]:
    """Return a publication of many rows that charges a ledger."""
    usual = words or {"query": MANY, "where": "t <> ''", "rows_are_units": True}
    path = folder / "people.ledger"
    unit = unit_name(Measure(), rows_are_units=True, query=usual["query"])
    ledger = (
        ht.Ledger.open(path) if path.exists() else ht.Ledger.create(path, epsilon=9, about="x", unit=unit)
    )
    return lambda: ht.publish(
        server.url(), domain=X, epsilon=1, size=10, ledger=ledger, output=folder / "out.parquet", **usual
    )  # fmt: skip


def entries(folder: Path) -> int:
    return len(ht.Ledger.open(folder / "people.ledger").entries())


@pytest.fixture
def at_the_first_batch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Do something once, when the first batch of rows has come."""

    def when(action: Callable[[], object]) -> None:
        batches, done = postgres._Batches._batches, list[object]()

        def watched(self: Any) -> Iterator[Any]:
            for batch in batches(self):
                if not done:
                    done.append(action())
                yield batch

        monkeypatch.setattr(postgres._Batches, "_batches", watched)

    return when


@pytest.mark.parametrize("how", ["dropped", "killed"])
def test_a_connection_that_ends_on_the_way_leaves_nothing(
    server: Server, tmp_path: Path, spills: Path, at_the_first_batch: Any, how: str
) -> None:
    others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"

    def dropped() -> None:
        server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")

    at_the_first_batch(dropped if how == "dropped" else server.kill)
    publish = publishing(server, tmp_path)

    with pytest.raises(ht.BadData, match="the connection to PostgreSQL was lost") as caught:
        publish()

    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert left_in(spills) == []
    assert entries(tmp_path) == 0
    assert not (tmp_path / "out.parquet").exists()
    if how == "killed":
        with pytest.raises(ht.BadData, match="nothing answers there"):
            publish()
        server.start()
    assert publish().epsilon == 1
    assert entries(tmp_path) == 1


def test_when_noise_is_drawn_nobody_is_connected(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So what becomes of the server then is no matter."""
    from hushtable.publishing import publish as flow

    drawn = flow.drawn_summaries

    def draw(*given: Any) -> Any:
        check_nobody(server)
        return drawn(*given)

    monkeypatch.setattr(flow, "drawn_summaries", draw)

    assert publishing(server, tmp_path)().epsilon == 1


def test_a_statement_that_takes_too_long_is_stopped(server: Server, tmp_path: Path) -> None:
    server.sql("ALTER ROLE owner SET statement_timeout = '200ms'")
    try:
        with pytest.raises(ht.BadData, match="stopped the query before its end"):
            publishing(server, tmp_path, query=SLEEPING, rows_are_units=True)()
    finally:
        server.sql("ALTER ROLE owner RESET statement_timeout")
    assert entries(tmp_path) == 0


def sleeps(server: Server) -> bool:
    return server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != []


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError


def test_an_interrupt_stops_the_server_too(server: Server, tmp_path: Path) -> None:
    def interrupt() -> None:
        wait_for(lambda: sleeps(server))
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # of a background job it is ignored
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            publishing(server, tmp_path, query=SLEEPING, rows_are_units=True)()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, handler)

    assert not sleeps(server)
    assert entries(tmp_path) == 0


def test_a_process_that_is_killed_leaves_nobody(server: Server, tmp_path: Path) -> None:
    """And what `ps` shows of it has no password."""
    (tmp_path / "x.toml").write_text('[[attribute]]\nname = "x"\nintegers = { low = 0, high = 9 }\n')
    words = ["--domain", "x.toml", "--epsilon", "1", "--size", "10", "--no-ledger", "-o", "out.parquet"]
    url = server.url(password="Sesame-4711")
    given = ["publish", url, "--query", SLEEPING, "--rows-are-units", *words]
    process = subprocess.Popen([sys.executable, "-m", "hushtable", *given], cwd=tmp_path)
    try:
        wait_for(lambda: sleeps(server))
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    finally:
        process.kill()
        process.wait()

    assert b"Sesame" not in shown
    assert b"--rows-are-units" in shown
    wait_for(lambda: not sleeps(server))
    assert not (tmp_path / "out.parquet").exists()


def test_memory_does_not_grow_with_the_rows(server: Server) -> None:
    """Rows are read as they come: of 60 MB at most a few batches are here at once."""
    import pyarrow as pa

    held = []
    batches = postgres._Batches._batches

    def watched(self: Any) -> Iterator[Any]:
        for batch in batches(self):
            held.append(pa.total_allocated_bytes())
            yield batch

    where = ServerRows(Address(server.url()), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres._Batches, "_batches", watched)
        ht.count(where, query=MANY, rows_are_units=True, where="t <> ''", domain=X)

    assert len(held) > 3
    assert max(held) < 60_000_000
