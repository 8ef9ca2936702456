"""The DuckDB in which the text of a query runs.

Promise: whatever the text says, no file, address, extension, secret or variable of Python is reached, nothing
is written, not even temporary files, and no setting changes: all is locked before the text is seen. Text
that DuckDB's parser cannot be trusted with is refused, and Ctrl-C stops the rest: a parser that does not
listen is left behind. DuckDB's own lists (`duckdb_settings()` and the like) can be read; they name no folder.
Memory is limited for what DuckDB counts, which are groups, orders and joins; text in the making is not.
Cost: 20 ms to connect; a tenth of a millisecond for another thread.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from hushtable.errors import BadQuery, HushtableError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_T = TypeVar("_T")

LONGEST_TEXT = 100_000  # characters; DuckDB parses as many in half a second
DEEPEST_NESTING = 100  # brackets; those left open cost the parser the square of their number or more
DEEPEST_WITH = 4  # before a slip, each WITH at the start of another makes the parser six times slower

_PATIENCE = 2.0  # seconds for a stopped query to end
_SAID = 300  # characters of DuckDB's words

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

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_ADVICE = re.compile(r"\b(SET|RESET|PRAGMA|INSTALL|LOAD)\b")
_OR_ELSE = re.compile(r",? or (SET|PRAGMA)\b.*")


def connected(*, memory: str) -> DuckDBPyConnection:
    """Return a new, empty database that is locked; `memory` is a part of the machine's, such as 25%."""
    import duckdb

    connection = duckdb.connect(config=_SETTINGS | {"memory_limit": memory})
    for lock in _LOCKS:
        connection.execute(lock)
    return connection


def check_text(text: str, *, what: str, shorter: str) -> None:
    """Raise unless DuckDB's parser can be trusted with the text; `shorter` says how to shorten it."""
    if len(text) > LONGEST_TEXT:
        fact = f"the {what} is {len(text):,} characters long, and at most {LONGEST_TEXT:,} are allowed"
        raise BadQuery(fact, shorter)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise BadQuery(f"the {what} holds a NUL or half a character", "Write it as plain text in UTF-8.")
    _check_nesting(text, what)


def _check_nesting(text: str, what: str) -> None:
    """Raise where too many brackets are open at once, or too many that hold a WITH of their own."""
    import duckdb

    raw = text.encode()
    starts = [start for start, _ in duckdb.tokenize(text)]  # DuckDB knows its quotes and comments best
    has_with = [False]  # of the text itself, then of each open bracket
    for start, end in zip(starts, [*starts, len(raw)][1:], strict=True):
        first = raw[start : start + 1]
        if first in b"([{":
            has_with.append(False)
            if len(has_with) > DEEPEST_NESTING + 1:
                raise too_deep(what)
        elif first in b")]}":
            if len(has_with) > 1:
                has_with.pop()
        elif first in b"wW" and raw[start:end].strip().lower() == b"with":
            has_with[-1] = True
            if sum(has_with) > DEEPEST_WITH:
                raise too_deep(what)


def too_deep(what: str) -> BadQuery:
    """Return the error for a text with too many levels."""
    hint = (
        f"At most {DEEPEST_NESTING} brackets may be open at once, {DEEPEST_WITH} of them with WITH in them."
    )
    return BadQuery(f"the {what} is nested too deep", f"{hint} Write it with fewer levels.")


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
            connection.interrupt()
            wait([result], timeout=0.1)


def said(message: object) -> str:
    """Return DuckDB's words on one line, without the SQL that they repeat and advice that is closed here.

    >>> said('Depth limit exceeded. Use "SET max_expression_depth TO x" to raise it.')
    'Depth limit exceeded'
    >>> said("Division by zero. Use TRY(...) for NULL, or SET error_on_division_by_zero=false for all.")
    'Division by zero. Use TRY(...) for NULL'
    """
    text = str(message).strip().partition("\n\n")[0].partition("\nLINE ")[0]
    first, *others = (_OR_ELSE.sub("", sentence) for sentence in _SENTENCES.split(text))
    kept = " ".join([first, *(each for each in others if not _ADVICE.search(each))])
    line = " ".join(kept.split()).rstrip(".!?:")
    line = line if line.isprintable() else repr(line)[1:-1]  # on a terminal it changes nothing
    return line if len(line) <= _SAID else f"{line[:_SAID]}..."


def needs_too_much(error: Exception) -> bool:
    """Return whether the memory did not suffice."""
    import duckdb

    return isinstance(error, duckdb.OutOfMemoryException | MemoryError)


def is_too_deep(error: Exception) -> bool:
    """Return whether the levels of a text were too many for DuckDB or for Python."""
    return isinstance(error, RecursionError) or "Max expression depth" in str(error)
