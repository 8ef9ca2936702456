"""DuckDB as our engine: one connection with bounded memory, and errors that quote no data.

Promise: whatever DuckDB, Arrow or SQLite say is replaced, not chained: they quote values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from hushtable.engines.sliced.naming import check_distinct
from hushtable.engines.sliced.replacing import from_outside, replaced, replaced_of_query
from hushtable.errors import BadNumber, HushtableError

if TYPE_CHECKING:
    import duckdb

_P = ParamSpec("_P")
_T = TypeVar("_T")

LEAST_MEMORY = 256 << 20
_MOST_MEMORY = 1 << 50
_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS |= {f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power, _letter: 1024**_power}


def as_bytes(memory: int | str) -> int:
    """Return an amount of memory in bytes.

    >>> as_bytes("2GB"), as_bytes("256 MiB")
    (2000000000, 268435456)
    """
    hint = 'Write it as "2GB" or "512MiB".'
    text = str(memory).strip().lower()
    digits = text.rstrip("bkmgti ").strip()
    unit = text[len(digits) :].strip()
    try:
        size = int(float(digits) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        size = -1
    if not 0 <= size <= _MOST_MEMORY:
        raise BadNumber(name="memory", value=memory, allowed="is not an amount of memory", hint=hint)
    if size < LEAST_MEMORY:
        hint = "Python, NumPy and DuckDB alone take half of that."
        raise BadNumber(name="memory", value=memory, allowed="must be at least 256MiB", hint=hint)
    return size


def default_memory() -> int:
    """Return half of the machine's memory."""
    return max(LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


def row_by_row(*, sharing: bool = True, filtering: bool = False) -> str:
    """Return SQL that lets DuckDB plan by no other rows than the one at hand.

    Statistics of a file speak of many rows, and say nothing of NaN: where a condition is settled by them, or
    a filter passes over rows, it is other rows that decide. Joins look up values in short tables as they are
    written: DuckDB takes a stream of rows for shorter than any table, and would keep all of it in memory.
    `filtering` lets filters be moved and joins be turned all the same: a query that joins would take for ever
    without. `sharing` lets common parts of expressions be computed once.
    """
    off = ["statistics_propagation", "row_group_pruner"]
    off += ["filter_pushdown", "build_side_probe_side"] * (not filtering)
    off += ["common_subexpressions"] * (not sharing)
    return f"SET disabled_optimizers = '{','.join(off)}'"


def connect(*, memory: int, threads: int, folder: Path) -> duckdb.DuckDBPyConnection:
    """Open a connection of its own whose spills go to `folder`."""
    import duckdb

    connection = duckdb.connect(
        config={
            "memory_limit": f"{memory}B",
            "threads": threads,
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    connection.execute(row_by_row())
    connection.execute("SET enable_progress_bar = true")  # so that it can be asked, and stays silent
    connection.execute("SET enable_progress_bar_print = false")
    return connection


@contextmanager
def closed_at_last(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Close a connection at the end, whatever it is at work on.

    Where Ctrl-C comes between the start of a query and the wait for it, the query goes on in its thread; then
    DuckDB refuses to be closed, which is no error of anybody's.
    """
    import duckdb

    try:
        yield connection
    finally:
        while True:
            try:
                connection.close()
                break
            except duckdb.ResourceInUseException:
                connection.interrupt()
                sleep(0.01)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C stay Ctrl-C, and too little memory what it is: DuckDB makes errors of its own of them.

    It does so in any call, in those that read no row too. What reads rows is called by `quiet`, which sees
    the error first, so the words that are only hidden here quote none.
    """
    try:
        yield
        return
    except HushtableError:
        raise
    except Exception as error:
        instead = from_outside(error)
        if instead is None:
            raise
    raise instead from None


def quiet(call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Call something that reads rows; replace the engine's errors by ones that quote no data."""
    try:
        return call(*args, **kwargs)
    except HushtableError:
        raise
    except Exception as error:
        instead = replaced(error)
    # Raised here and not above, so that neither __cause__ nor __context__ leads to the engine's words.
    raise instead


def fetched(sql: str, connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """Return all rows of some SQL, with errors replaced."""
    with ThreadPoolExecutor(1) as pool:
        return quiet(_awaited, pool.submit(lambda: connection.execute(sql).fetchall()), connection)


def quiet_rows(
    rows: Callable[[], Iterable[_T]], connection: duckdb.DuckDBPyConnection
) -> Generator[_T, None, None]:
    """Yield the items of a stream of rows, with errors replaced."""
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        stream = iter(quiet(_awaited, pool.submit(rows), connection))
        while (item := quiet(_awaited, pool.submit(next, stream, end), connection)) is not end:
            yield item


_STOPS: WeakKeyDictionary[duckdb.DuckDBPyConnection, Callable[[], None]] = WeakKeyDictionary()


def stopped_by(connection: duckdb.DuckDBPyConnection, stop: Callable[[], None]) -> None:
    """Have Ctrl-C also stop what a connection reads its rows from, and would wait for."""
    _STOPS[connection] = stop


def _awaited(result: Future[_T], connection: duckdb.DuckDBPyConnection) -> _T:
    """Return what DuckDB does in another thread: in the main one it looks for Ctrl-C only now and then."""
    try:
        return result.result()
    finally:
        while not result.done():  # stopped by Ctrl-C, perhaps before the query began
            connection.interrupt()
            _STOPS.get(connection, _nothing)()
            wait([result], timeout=0.1)


def _nothing() -> None:
    """There is nothing else to stop."""


def described(sql: str, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the names and types of the columns of some SQL; of the data, only the schema is read.

    Names that differ in case at most are refused: DuckDB would give one of them another name.
    """
    columns: list[Any] = []
    instead: BaseException | None = None
    try:
        columns = connection.execute(f"DESCRIBE {sql}").fetchall()
    except Exception as error:
        instead = replaced_of_query(error, sql)
    if instead is not None:
        raise instead
    check_distinct((row[0] for row in columns), "the rows have")
    return {row[0]: row[1] for row in columns}
