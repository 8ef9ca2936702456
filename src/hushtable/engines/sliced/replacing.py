"""Errors of DuckDB, Arrow and SQLite, replaced by ours.

Promise: nothing that they say is passed on, for they quote rows "could not convert 'Jane Roe'", and even
what they say of a query names columns, fields and categories, which may have come from rows. Of a name they
complain of, only what the query itself says is repeated.
"""

from __future__ import annotations

import re

from hushtable.errors import BadData, BadQuery, HushtableError, InternalError, LowMemory, short_of_memory

# What DuckDB makes of Ctrl-C, and Arrow, and DuckDB of Ctrl-C in a table of Arrow's that it is given.
_INTERRUPTED = re.compile(r"\AQuery interrupted\Z|(^|failed: )KeyboardInterrupt\b", re.MULTILINE)
_DISK_FULL = 28

# What a server of a database did while its rows were read.
SERVER_LOST = (
    "the connection to PostgreSQL was lost",
    "Give the command again when the server answers: nothing of what was read is kept.",
)
SERVER_FAILED = (
    "PostgreSQL failed while it sent rows",
    "What it says may quote rows, so it is not shown: run the same SELECT in psql to see it.",
)
SERVER_STOPPED = (
    "PostgreSQL stopped the query before its end",
    "Its settings say how long a statement may take (statement_timeout, lock_timeout): ask whoever runs it.",
)

# What they are about, by words of their own in lower case; the first pattern that fits is taken.
_CAUSES = (
    *((fact.lower(), fact, hint) for fact, hint in (SERVER_LOST, SERVER_FAILED, SERVER_STOPPED)),
    ("no space left", "the disk of the temporary files is full", "Set TMPDIR to a folder on a larger disk."),
    (
        "unexpected end of gzip stream",
        "a compressed file ends too early",
        "It was cut off: copy it or make it again.",
    ),
    (
        "gzip stream|unknown frame descriptor|data corruption detected",
        "a compressed file is damaged, or is not what its name says",
        "Make it again; .gz is for gzip, .zst for Zstandard.",
    ),
    (
        "expected number of columns",
        "a line has too many or too few values",
        "A value that holds the delimiter needs quotes. DuckDB finds such lines by read_csv(..., "
        "store_rejects = true).",
    ),
    (
        "unterminated quote",
        "a quote is not closed, or text follows it",
        'Within quotes, a quote is written twice: "".',
    ),
    (
        "maximum line size|maximum_object_size|does not support a full read",
        "a line is longer than 8 MiB",
        "A quote that is not closed is a frequent cause.",
    ),
    (
        "state machine reached an invalid state",
        "lines of a CSV file end in different ways",
        "Write it again with all lines ending alike, in LF or in CRLF.",
    ),
    ("byte order mark", "JSON lines begin with a byte order mark", "Save them in UTF-8 without one."),
    ("utf-?8|utf-16|invalid unicode", "some text is not UTF-8", "Save the data in UTF-8."),
    (
        "json in file|json transform error in file",
        "a line is not one JSON object",
        "Write one object on each line, and each of its keys once.",
    ),
    (
        "malformed json|json path",
        "a function of the query was given text that is not JSON",
        "Put TRY(...) around it, which gives NULL where it fails.",
    ),
    (
        "could not set lock on file|(database|table) is locked",
        "another process is writing to the database",
        "Wait until it is done, or count a copy of the file.",
    ),
    (
        "file handle conflict|already attached",
        "the database is open in this process",
        "Close that connection first.",
    ),
    (
        "write a readonly database",
        "the database was left in the middle of a write",
        "Open it once with `sqlite3`, which takes the half-written part back.",
    ),
    (
        "unable to open database file",
        "the database cannot be opened",
        "Check its mode; where a write-ahead log (-wal) lies beside it, their folder must be writable.",
    ),
    ("encrypted", "the database is encrypted", "Copy its table to a file that is not."),
    (
        "corrupt|malformed|is not a database|failed to read file|read enough bytes|to be able to read|"
        "too small to be a parquet|no magic bytes|arrow file is damaged",
        "a file is damaged, or is not what its name says",
        "Copy it or make it again; of several files, try each alone to find it.",
    ),
    ("permission denied", "a file may not be read by you", "Ask its owner, or change its mode."),
    (
        "no files found that match",
        "the query names a file that is not there",
        "Check the path; the rows of `data` are called data.",
    ),
    (
        "registered as 'sqlite rows",
        "SQLite fails on some row",
        "What it says may quote the row, so it is not shown: run the query in SQLite to see it.",
    ),
    (
        "reading the stream registered",
        "the object that gives the rows failed on the way",
        "What it says may quote rows, so it is not shown: read the object to its end to see it.",
    ),
)

# What is wrong with a query.
_CASTS = (
    "Write casts, such as TRY_CAST(age AS INTEGER) or CAST(age AS VARCHAR). "
    "Each column of a CSV file is text."
)
_COLUMNS = "Check its spelling; `hushtable check` lists the columns of the data."
_QUERY_CAUSES = (
    (r'column "(?P<name>.+?)" .*(not found|does not exist)', "there is no column {}", _COLUMNS),
    (r'could not find key "(?P<name>.+?)" in', "there is no field {}", "Check its spelling."),
    (
        r'(referenced table "|table with name )(?P<name>.+?)"? (not found|does not exist)',
        "there is no table {}",
        "The rows of files and of Python objects are called data.",
    ),
    (r"with name (?P<name>.+?) does not exist", "DuckDB has no {}", "Check its spelling."),
    (
        r"no function matches the given name and argument types '(?P<name>.+?)\(",
        "{} does not take values of these types",
        _CASTS,
    ),
    (
        r"cannot (compare|mix|combine|concatenate|deduce)|unimplemented type for cast",
        "values of different types are put together",
        _CASTS,
    ),
    (
        r"must be a constant expression",
        "a function takes a constant where it was given a column",
        "Write the value itself.",
    ),
    (
        r"must appear in the group by",
        "a column is neither grouped by nor in an aggregate",
        "Add it to GROUP BY, or leave it out.",
    ),
    (
        r'ambiguous reference to column name "(?P<name>.+?)"',
        "{} may be a column of either table",
        "Write the table's name before it.",
    ),
)


def from_outside(error: Exception) -> LowMemory | KeyboardInterrupt | None:
    """Return what is raised instead of an error that says that we were stopped, or that memory ran out.

    Neither has to do with rows, or with what was asked, so it may come up in any call.
    """
    import duckdb

    if _INTERRUPTED.search(str(error)):
        return KeyboardInterrupt()
    if isinstance(error, duckdb.OutOfMemoryException) or short_of_memory(error):
        return LowMemory(LowMemory.OWNER)
    return None


def replaced(error: Exception) -> HushtableError | KeyboardInterrupt:
    """Return what is raised instead of an error that came up while rows were read."""
    import sqlite3

    import duckdb
    import pyarrow as pa

    words = str(error)
    if (outside := from_outside(error)) is not None:
        return outside
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
        hint = "Write TRY_CAST, or TRY(...) around a function: they give NULL where a value does not fit."
        return BadData("some row cannot be converted as the query or filter says", hint)
    said = "no space left" if getattr(error, "errno", None) == _DISK_FULL else words.lower()
    if type(error) is duckdb.Error:
        said = "corrupt"  # what comes from below DuckDB, out of its readers of files
    for pattern, fact, hint in _CAUSES:
        if re.search(pattern, said):
            return BadData(fact, hint)
    kind = type(error).__name__
    if isinstance(error, duckdb.ProgrammingError | duckdb.NotSupportedError):
        hint = "Put TRY(...) around a function that may fail: it gives NULL there. DuckDB's own message may"
        return BadData(
            f"the query or filter fails on some row ({kind})",
            f"{hint} quote the row, so it is not shown: run the query in DuckDB to see it.",
        )
    known = duckdb.Error | sqlite3.Error | pa.ArrowException | OSError | ValueError | RuntimeError
    if not isinstance(error, known):
        return InternalError(f"reading rows ended in {kind}")
    hint = "The engine's own message may quote rows, so it is not shown: read the data in DuckDB to see it."
    return BadData(f"the data cannot be read ({kind})", hint)


def replaced_of_query(error: Exception, sql: str) -> HushtableError | KeyboardInterrupt:
    """Return what is raised instead of an error that came up before any row was read."""
    import duckdb

    of_engine = isinstance(error, duckdb.OperationalError | duckdb.InternalError)
    if of_engine or not isinstance(error, duckdb.Error):
        return replaced(error)
    for pattern, fact, hint in _QUERY_CAUSES:
        found = re.search(pattern, str(error), re.IGNORECASE)
        name = found.groupdict().get("name", "") if found else ""
        if found and name in sql:
            return BadQuery(f"the query or filter does not fit the data: {fact.format(f'`{name}`')}", hint)
    hint = "DuckDB's own message may quote the data, so it is not shown: try the query there to see it."
    return BadQuery(f"the query or filter does not fit the data ({type(error).__name__})", hint)
