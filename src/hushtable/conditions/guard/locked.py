"""The DuckDB in which the text of a recipient runs, and how a call of DuckDB is waited for.

Promise: whatever the text says, no file, address, extension, secret or variable of Python is reached, nothing
is written, not even temporary files, and no setting changes: all is locked before the text is seen. Ctrl-C
stops a call: a parser that does not listen is left behind. DuckDB's own lists (`duckdb_settings()` and the
like) can be read; they name no folder.
Memory is limited for what DuckDB counts, which are groups, orders and joins; text in the making is not.
Cost: 20 ms to connect; a tenth of a millisecond for another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from hushtable.errors import BadQuery, HushtableError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_T = TypeVar("_T")

_PATIENCE = 2.0  # seconds for a stopped query to end

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # else the name of a Python variable is a table
    "python_scan_all_frames": False,
    "temp_directory": "",
}
# External access is closed last: closed from the start, DuckDB leaves a file named `:memory:` readable.
_LOCKS = (
    "SET secret_directory = ''",
    "SET TimeZone = 'UTC'",
    "SET allowed_directories = []",
    "SET allowed_paths = []",
    "SET disabled_filesystems = 'LocalFileSystem'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def connected(*, memory: str) -> DuckDBPyConnection:
    """Return a new, empty database that is locked; `memory` is a part of the machine's, such as 25%."""
    import duckdb

    connection = duckdb.connect(config=_SETTINGS | {"memory_limit": memory})
    for lock in _LOCKS:
        connection.execute(lock)
    return connection


def awaited(
    connection: DuckDBPyConnection, call: Callable[[], _T], *, replaced: Callable[[Exception], BadQuery]
) -> _T:
    """Return what `call` does with a connection, and raise no error but ours; Ctrl-C stops it.

    In the main thread DuckDB looks for Ctrl-C only now and then, so that it works in another. One that does
    not stop goes on there: until it ends, the connection must neither be used nor closed.
    """
    result: Future[_T] = Future()

    def outcome() -> _T:
        try:
            return call()
        except HushtableError:
            raise
        except Exception as error:
            instead = replaced(error)
        raise instead

    def work() -> None:
        try:
            result.set_result(outcome())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return result.result()
    finally:
        end = monotonic() + _PATIENCE
        while not result.done() and monotonic() < end:  # stopped by Ctrl-C, perhaps before the query began
            with suppress(Exception):  # it may have ended, and been closed, since we looked
                connection.interrupt()
            wait([result], timeout=0.1)
