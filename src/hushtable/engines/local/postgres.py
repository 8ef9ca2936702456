"""Rows of a PostgreSQL server, streamed as Arrow.

Promise: all rows are those of one snapshot, read by one statement of a transaction that cannot write. Each
column is sent in a form that loses nothing, and means what a column of that type means in a file; a type
without such a form is refused where it is used. Names are names, letter by letter. Nothing is left on the
server: the transaction ends, however the block does. What the server says may quote rows, so it is replaced.
Cost: one pass on the server; here, a batch of rows at a time.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hushtable.engines.local.addresses import Address, ServerRows
from hushtable.engines.sliced.arrow import registered
from hushtable.engines.sliced.engine import stopped_by
from hushtable.engines.sliced.naming import check_distinct, folded
from hushtable.engines.sliced.quoting import name_sql, text_sql
from hushtable.engines.sliced.replacing import SERVER_FAILED, SERVER_LOST, SERVER_STOPPED
from hushtable.errors import BadData, BadQuery, HushtableError, MissingPackage, shown

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_T = TypeVar("_T")
# Settings of a connection that its URL leaves open. A network that fails is noticed within a minute.
_USUAL = {
    "connect_timeout": "30",
    "fallback_application_name": "hushtable",
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
_WHERE = ("PGHOST", "PGHOSTADDR", "PGSERVICE")  # variables that say where a server is
_SOCKETS = "/var/run/postgresql,/tmp"  # of Debian and its like, and of PostgreSQL as it is built from source
_ENCODINGS = {"UTF8": "UTF8", "SQL_ASCII": "SQL_ASCII", "LATIN1": "UTF8"}  # and the one in which text is sent
_KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
_ELSEWHERE = "whose rows may come from anywhere"
_BEHIND = "Name the table behind it; or give `rows_are_units` if its rows are what is protected."
# A table, and all whose rows are read with it: its partitions, and what inherits from it.
_FAMILY = (
    "WITH RECURSIVE family AS (SELECT c.oid FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = {schema} AND c.relname = {name} "
    "UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN family ON i.inhparent = family.oid) "
)
_MOST_NAMED = 20
# The last day and moment that are sent, for Arrow counts from another year than PostgreSQL, and has no room
# for the last ones. They stand for all later ones and for infinity. What comes before the first one of
# PostgreSQL is its opposite.
_LAST = {
    "date": ("5874897-12-31", 2145042905, -2440588),
    "timestamp": ("294246-01-01", 9223308518400000000, -210866803200000000),
    "timestamptz": ("294246-01-01 00:00:00+00", 9223308518400000000, -210866803200000000),
}
_NOT_ALLOWED = "42501"
_OLDEST = 120_000  # of versions, as the server numbers them
_DIGITS = 38  # of the longest decimals

# Why there is no connection, by words that libpq and servers say in English; the first that fits is taken.
_NOT_CONNECTED = (
    (
        r"authentication failed|no password supplied|password authentication",
        "the server does not let you in",
        "Check the user, and the password: PGPASSWORD, ~/.pgpass, or a service file.",
    ),
    (r'role ".*" does not exist', "the server knows no such user", "Check the name before the @."),
    (r'database ".*" does not exist', "the server has no such database", "Check the name behind the last /."),
    (
        r"no pg_hba.conf entry|rejects connection",
        "the server does not allow this user to connect from here",
        "Its pg_hba.conf says who may; it may ask for encryption, as ?sslmode=require does.",
    ),
    (r"permission denied for database", "you may not connect to this database", "Ask its owner."),
    (r"definition of service", "no service file has this service", "Check ~/.pg_service.conf."),
    (
        r"invalid URI query parameter",
        "the address has a setting that libpq does not know",
        "Check its words.",
    ),
    (r"too many (clients|connections)|connection slots", "the server has no place left", "Try again later."),
    (r"certificate|SSL|TLS", "no encrypted connection could be made", "Check sslmode and sslrootcert."),
    (
        r"starting up|shutting down|recovery mode",
        "the server is starting or stopping",
        "Try again in a moment.",
    ),
    (
        r"could not translate|refused|No such file|timeout|timed out|unreachable|No route|closed the conn",
        "nothing answers there",
        "Check the address, and that the server runs.",
    ),
)


class SentColumn(NamedTuple):
    """A column of a table or of a query, as the server describes it."""

    name: str
    type_name: str
    sent: pa.DataType
    digits: tuple[int, int] | None = None  # before and behind the point, of decimals


class _Form(NamedTuple):
    """How a column is sent, and what becomes of it here."""

    sql: str  # with {} for the column
    sent: pa.DataType
    final: pa.DataType
    change: Callable[[Any], Any] = lambda values: values
    json: bool = False


class ServerSource(NamedTuple):
    """Rows of a server as SQL of DuckDB, which can be read once."""

    sql: str
    computes: bool  # whether the table computes columns from others


class ServerSession:
    """A connection, and its one transaction."""

    def __init__(self, address: Address) -> None:
        self.address, self._open = address, True
        self._connection = _connected(address)
        self._cursor = self._connection.cursor()

    def begin(self) -> None:
        """Begin a transaction that sees one snapshot and writes nothing."""
        self._tell("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._tell("SET LOCAL search_path = pg_catalog, pg_temp")
        self._tell("SET LOCAL standard_conforming_strings = on")
        # Should this process be killed, the server notices, even while it sorts (since version 14, on Linux).
        self._tell_if("SET LOCAL client_connection_check_interval = '2s'", unless=("42704", "22023"))

    def end(self) -> None:
        """End it."""
        self._tell("ROLLBACK")

    def lock(self, relation: str) -> None:
        """Keep others from changing a table in ways that a snapshot does not hide, where we may.

        It comes before the snapshot: a table that was emptied or written anew in between would seem empty.
        Whoever may read some columns alone may not lock it.
        """
        self._tell_if(f"LOCK TABLE {relation} IN ACCESS SHARE MODE", unless=(_NOT_ALLOWED,))

    def all(self, sql: str) -> list[Any]:
        """Return the rows of a query of ours."""
        self._tell(sql)
        return self._waited(self._cursor.fetchall)

    def described(self, sql: str) -> list[SentColumn]:
        """Return the columns of a query, which is not run."""
        return [_column(field) for field in self._waited(self._cursor.adbc_execute_schema, sql)]

    def stream(self, sql: str) -> Any:
        """Run a query and return its rows as they come."""
        self._tell(sql)
        return self._waited(self._cursor.fetch_record_batch)

    def settings(self, **values: str) -> None:
        """Set what holds until the transaction ends."""
        for name, value in values.items():
            self._tell(f"SET LOCAL {name} = {value}")

    def answers(self) -> bool:
        """Return whether the connection still stands, after a statement that failed."""
        try:
            self.end()
        except (_Refused, HushtableError):
            return False
        return True

    def cancel(self) -> None:
        """Stop what the server does; from any thread."""
        if self._open:
            with suppress(Exception):
                self._connection.adbc_cancel()

    def close(self) -> None:
        """Leave. A transaction that is open is rolled back by the server."""
        if self._open:
            self._open = False
            for each in (self._cursor, self._connection):
                with suppress(Exception):
                    each.close()

    def _tell(self, sql: str) -> None:
        self._waited(self._cursor.execute, sql)

    def _tell_if(self, sql: str, *, unless: Collection[str]) -> None:
        """Do what the server may refuse, for these reasons."""
        self._tell("SAVEPOINT hushtable")
        try:
            self._tell(sql)
        except _Refused as error:
            if error.state not in unless:
                raise
            self._tell("ROLLBACK TO SAVEPOINT hushtable")

    def _waited(self, call: Callable[..., _T], *given: object) -> _T:
        """Return what the driver gives. It waits in another thread: here, Ctrl-C is heard."""
        with ThreadPoolExecutor(1) as pool:
            result = pool.submit(_told, call, *given)
            try:
                return result.result()
            finally:
                while not result.done():
                    self.cancel()
                    wait([result], timeout=0.1)


class _Refused(Exception):
    """A statement failed; of what the server said, only the code is kept."""

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(state)


def _told(call: Callable[..., _T], *given: object) -> _T:
    """Return what the driver gives; of an error of it, keep the code and nothing else."""
    import adbc_driver_manager

    state = ""
    try:
        return call(*given)
    except adbc_driver_manager.Error as error:
        state = error.sqlstate or ""
    except OSError:
        pass
    raise _Refused(state)


def _connected(address: Address) -> Any:
    """Return a connection, or raise why there is none."""
    missing, said = False, ""
    handler = signal.getsignal(signal.SIGINT)
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        missing = True
    if missing:
        raise MissingPackage("postgresql://", "adbc_driver_postgresql", install="'hushtable[postgres]'")
    here = not address.has_host and not any(map(os.environ.get, _WHERE))
    url = address.connecting(_USUAL | ({"host": _SOCKETS} if here else {}))
    try:
        return driver.connect(url, autocommit=True)
    except driver.Error as error:
        said = str(error)
    finally:
        if threading.current_thread() is threading.main_thread() and handler is not None:
            # The driver leaves it in a state in which whoever waits for a thread does not hear of Ctrl-C.
            signal.signal(signal.SIGINT, handler)
    for pattern, fact, hint in _NOT_CONNECTED:
        if re.search(pattern, said, re.IGNORECASE):
            raise BadData(f"no connection to {address}: {fact}", hint)
    raise BadData(f"no connection to {address}", "psql says why; try it with the same address.")


@contextmanager
def opened_server(rows: ServerRows) -> Iterator[ServerSession]:
    """Connect, and leave when the block ends."""
    with closing(ServerSession(rows.address)) as server:
        yield server


def _replaced(state: str, rows: ServerRows) -> HushtableError:
    """Return the error that stands for a code of PostgreSQL (its manual, appendix A)."""
    what = "the query" if rows.table is None else f"the table {shown(rows.table)}"
    if not state or state.startswith(("08", "57P")):
        return BadData(*SERVER_LOST)
    if state == _NOT_ALLOWED:
        hint = "Ask its owner for SELECT on it, and for BYPASSRLS where row-level security hides rows."
        return BadData(f"you may not read all of {what}, or some of its rows are hidden from you", hint)
    if state.startswith("42") and rows.table is None:
        return BadQuery(f"PostgreSQL does not take the query ({state})", "Try it in psql.")
    if state in ("25006", "0A000") and rows.table is None:
        return BadQuery("the query does more than read", "Give one SELECT that changes nothing.")
    if state in ("57014", "55P03", "40001"):
        return BadData(*SERVER_STOPPED)
    return BadData(SERVER_FAILED[0] + f" ({state})", SERVER_FAILED[1])


def server_rows(
    rows: ServerRows,
    server: ServerSession,
    connection: duckdb.DuckDBPyConnection,
    *,
    query: str | None,
    names: Iterable[str] | None,
    rows_are_units: bool,
) -> ServerSource:
    """Let DuckDB read a table, or what a `query` gives that the server runs.

    `names` are the columns that are used, all if it is None; others have no values.
    """
    try:
        source, columns, computes = _described(rows, server, query, rows_are_units=rows_are_units)
        forms, others = _forms(columns, names)
        batches = _Batches(server, _select(forms, source), forms)
    except _Refused as error:
        state = error.state
    else:
        stopped_by(connection, server.cancel)
        sql = registered(batches.reader(), connection, list(forms), whole=True)
        return ServerSource(_finished(sql, forms, others), computes)
    raise _replaced(state, rows)


def _described(
    rows: ServerRows, server: ServerSession, query: str | None, *, rows_are_units: bool
) -> tuple[str, list[SentColumn], bool]:
    """Return SQL that names the rows, with their columns, and whether some are computed from others."""
    server.begin()
    asked = "SELECT current_setting('server_version_num'), current_setting('server_encoding')"
    ((version, encoding),) = server.all(asked)
    if int(version) < _OLDEST:
        raise BadData(f"the server at {rows.address} is too old", "PostgreSQL 12 or newer is read.")
    if encoding not in _ENCODINGS:
        hint = "Copy the table to a database in UTF8: of this one, some texts may have no counterpart there."
        raise BadData(f"the database keeps text in {encoding}", hint)
    place = _found(rows, server) if rows.table is not None or query is None else None
    # What follows sees another snapshot, which comes after the lock.
    server.end()
    server.begin()
    server.settings(client_encoding=_ENCODINGS[encoding])
    if place is not None:
        return _table(*place, server, rows_are_units=rows_are_units)
    source = f"(\n{(query or '').rstrip().rstrip(';')}\n)"
    server.settings(search_path="DEFAULT")
    return source, server.described(f"SELECT * FROM {source} AS rows"), False


def _forms(columns: Sequence[SentColumn], names: Iterable[str] | None) -> tuple[dict[str, _Form], list[str]]:
    """Return how the columns that are used are sent, by their names; and the names of others."""
    check_distinct((column.name for column in columns), "the data have")
    used = None if names is None else set(map(folded, names))
    forms = {column.name: _form(column) for column in columns}
    if used is not None:
        for column in columns:
            if folded(column.name) in used and forms[column.name] is None:
                raise _not_read(column)
    known = {name: form for name, form in forms.items() if form is not None}
    if not known:
        raise BadData("no column has a type that is read", "Cast them, in a view or in a query.")
    read = {name: form for name, form in known.items() if used is None or folded(name) in used}
    read = read or dict(list(known.items())[:1])  # rows without columns would not be counted
    return read, [name for name in forms if name not in read and used is not None]


def _select(forms: dict[str, _Form], source: str) -> str:
    columns = (f"{form.sql.format(name_sql(name))} AS {name_sql(name)}" for name, form in forms.items())
    return f"SELECT {', '.join(columns)} FROM {source} AS rows"


def _finished(sql: str, forms: dict[str, _Form], others: Sequence[str]) -> str:
    """Return SQL with JSON as such, and the names of columns that are not read, without values."""

    def value(name: str, form: _Form) -> str:
        column = name_sql(name)
        # Of what PostgreSQL calls JSON, some is none: half a letter, as \ud800 alone. It is missing.
        return f"CASE WHEN json_valid({column}) THEN {column}::JSON END" if form.json else column

    columns = [f"{value(name, form)} AS {name_sql(name)}" for name, form in forms.items()]
    columns += [f"CAST(NULL AS VARCHAR) AS {name_sql(name)}" for name in others]
    return f"SELECT {', '.join(columns)} FROM ({sql}) AS sent"


class _Batches:
    """The rows of a query, in the types that they are to have. They are read once."""

    def __init__(self, server: ServerSession, sql: str, forms: dict[str, _Form]) -> None:
        import pyarrow as pa

        self._server, self._forms, self._sent = server, forms, server.stream(sql)
        self._schema = pa.schema([(name, form.final) for name, form in forms.items()])
        for field, form in zip(self._sent.schema, forms.values(), strict=True):
            if field.type != form.sent:
                hint = "Install the newest adbc-driver-postgresql."
                raise BadData(f"column {shown(field.name)} comes in another type than PostgreSQL says", hint)

    def reader(self) -> pa.RecordBatchReader:
        """Return them as a stream of Arrow."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        why = ""
        try:
            for batch in self._sent:
                columns = zip(batch.columns, self._forms.values(), strict=True)
                arrays = [form.change(values) for values, form in columns]
                yield pa.record_batch(arrays, schema=self._schema)
        except Exception as error:
            stopped = SERVER_STOPPED if "canceling statement" in str(error) else SERVER_FAILED
            why = stopped[0] if self._server.answers() else SERVER_LOST[0]
        finally:
            self._server.close()  # the server need not wait until noise is drawn
        if why:
            # DuckDB will quote the line that raises, and is told by the words.
            raise OSError(why)


def _table(
    schema: str, name: str, kind: str, server: ServerSession, *, rows_are_units: bool
) -> tuple[str, list[SentColumn], bool]:
    """Return SQL that names a table, with its columns and whether it computes some from others."""
    if kind in _KINDS and not rows_are_units:
        why = _ELSEWHERE if kind == "f" else "which may join or group"
        raise BadData(f"{shown(_spelled(schema, name))} is {_KINDS[kind]}, {why}", _BEHIND)
    relation = f"{name_sql(schema)}.{name_sql(name)}"
    if kind in "rpv":
        server.lock(relation)
    # A policy that hides rows may look at other rows, and at whoever asks: then this fails.
    server.settings(row_security="on" if rows_are_units else "off")
    place = {"schema": text_sql(schema), "name": text_sql(name)}
    family = _FAMILY.format(**place)
    foreign = f"{family}SELECT 1 FROM pg_class AS c JOIN family USING (oid) WHERE c.relkind = 'f' LIMIT 1"
    if not rows_are_units and server.all(foreign):
        fact = f"{shown(_spelled(schema, name))} has a part that is a foreign table, {_ELSEWHERE}"
        raise BadData(fact, _BEHIND)
    # Where a table computes no column, one that inherits from it may.
    computed = f"{family}SELECT 1 FROM pg_attribute AS a JOIN family ON a.attrelid = family.oid "
    computes = bool(server.all(f"{computed}WHERE a.attgenerated <> '' AND NOT a.attisdropped LIMIT 1"))
    found = server.all(
        "SELECT a.attname, has_column_privilege(a.attrelid, a.attnum, 'SELECT') "
        "FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE n.nspname = {schema} AND c.relname = {name} "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum".format(**place)
    )
    allowed = [name for name, may in found if may]
    if not allowed:
        raise _Refused(_NOT_ALLOWED)
    server.settings(search_path="DEFAULT")
    columns = server.described(f"SELECT {', '.join(map(name_sql, allowed))} FROM {relation}")
    return relation, columns, computes


def _found(rows: ServerRows, server: ServerSession) -> tuple[str, str, str]:
    """Return the schema, the name and the kind of a table.

    Without a schema, it is the only one of that name that we may see; without a name, the only table.
    """
    known = server.all(
        "SELECT n.nspname, c.relname, c.relkind::text FROM pg_class AS c "
        "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)' "
        "AND has_schema_privilege(n.oid, 'USAGE') ORDER BY 1, 2"
    )
    if rows.table is None:
        tables = [each for each in known if each[2] in ("r", "p")]
        if len(tables) == 1:
            return tables[0]  # type: ignore[no-any-return]
        if not tables:
            raise BadData(f"the database at {rows.address} has no table that you may see", "Ask its owner.")
        named = ", ".join(shown(_spelled(*each[:2])) for each in tables[:_MOST_NAMED])
        hint = "Name one by `table`; or give `rows_are_units` and a `query` that PostgreSQL runs."
        raise BadData(f"the database at {rows.address} has several tables: {named}", hint)
    table, parts = rows.table, _parts(rows.table)
    same = [each for each in known if list(each[:2])[-len(parts) :] == parts]
    if len(same) == 1:
        return same[0]  # type: ignore[no-any-return]
    if same:
        places = ", ".join(shown(_spelled(*each[:2])) for each in same[:_MOST_NAMED])
        raise BadData(f"there are several tables {shown(table)}: {places}", "Name the schema too.")
    names = [_spelled(*each[:2][-len(parts) :]) for each in known]
    near = get_close_matches(_spelled(*parts), names, n=1) or [
        name for name in names if folded(name) == folded(_spelled(*parts))
    ]
    guess = f"Did you mean {shown(near[0])}? " if near else ""
    hint = f"{guess}Names are taken letter by letter; give a schema as in clinic.visits."
    raise BadData(f"the database has no table {shown(table)} that you may see", hint)


def _parts(table: str) -> list[str]:
    """Return a table's name, and its schema before it if that is said. A name with a dot stands in quotes."""
    found = re.fullmatch(r'(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^".]+)', table)
    if found is None:
        hint = 'Write visits, clinic.visits, or "odd.name" in double quotes.'
        raise BadData(f"{shown(table)} names no table", hint)
    return [
        each[1:-1].replace('""', '"') if each.startswith('"') else each for each in found.groups() if each
    ]


def _spelled(*parts: str) -> str:
    """Return a name as it is to be written."""
    return ".".join(name_sql(part) if "." in part or '"' in part else part for part in parts)


def _column(field: pa.Field) -> SentColumn:
    """Return a column as the driver describes it."""
    notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    digits = None
    modifier = int(notes.get("POSTGRESQL:typmod", "-1")) - 4
    if modifier >= 0:
        behind = modifier & 0x7FF
        digits = modifier >> 16, behind - 0x800 if behind >= 0x400 else behind
    return SentColumn(field.name, notes.get("POSTGRESQL:type", ""), field.type, digits)


def _form(column: SentColumn) -> _Form | None:
    """Return how a column is sent and read; None if its type is not read."""
    import pyarrow as pa

    kind = column.type_name
    plain = {
        "bool": pa.bool_(),
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "float4": pa.float32(),
        "float8": pa.float64(),
        "bytea": pa.binary(),
        "time": pa.time64("us"),
        "text": pa.string(),
        "varchar": pa.string(),
        "name": pa.string(),
    }
    if getattr(column.sent, "extension_name", "") == "arrow.uuid":
        return _Form("{}", column.sent, column.sent)
    if kind in plain:
        return _Form("{}", plain[kind], plain[kind]) if column.sent == plain[kind] else None
    as_text = "CAST({} AS pg_catalog.text)"
    if kind in ("json", "jsonb"):
        return _Form(as_text, pa.string(), pa.string(), json=True)
    if kind == "oid":
        return _Form("CAST({} AS pg_catalog.int8)", pa.int64(), pa.int64())
    if kind == "numeric":
        return _decimals(column)
    times = {
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", tz="UTC"),
    }
    if kind in times:
        last, most, least = _LAST[kind]
        bound = f"CAST({text_sql(last)} AS pg_catalog.{kind})"
        sql = f"CASE WHEN {{0}} OPERATOR(pg_catalog.>) {bound} THEN {bound} ELSE {{0}} END"
        return _Form(sql, times[kind], times[kind], partial(_endless, most=most, least=least))
    # Enumerations, and text of extensions: padding is no part of what char(n) holds.
    return _Form(as_text, pa.string(), pa.string()) if column.sent == pa.string() else None


def _decimals(column: SentColumn) -> _Form | None:
    """Return how decimals of a known number of digits are sent: as text, from which nothing is lost."""
    import pyarrow as pa
    import pyarrow.compute as pc

    before, behind = column.digits or (0, 0)
    if not 0 < before <= _DIGITS or not 0 <= behind <= before:
        return None
    kind = pa.decimal128(before, behind)

    def read(values: Any) -> Any:
        return pc.if_else(pc.equal(values, "NaN"), pa.scalar(None, pa.string()), values).cast(kind)

    return _Form("CAST({} AS pg_catalog.text)", pa.string(), kind, read)


def _endless(values: Any, *, most: int, least: int) -> Any:
    """Return days or moments with infinity, and its opposite, as DuckDB has them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    steps = values.view(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    bounds = pc.min_max(steps).as_py()
    if bounds["min"] is None or (bounds["max"] < most and bounds["min"] >= least):
        return values
    far = pa.scalar((1 << (steps.type.bit_width - 1)) - 1, steps.type)
    steps = pc.if_else(pc.greater_equal(steps, most), far, steps)
    return pc.if_else(pc.less(steps, least), pc.negate(far), steps).view(values.type)


def _not_read(column: SentColumn) -> BadData:
    """Return the error of a column that is used and whose type is not read."""
    named = shown(column.name)
    if column.type_name == "numeric":
        fact = f"column {named} is numeric with no fixed number of digits, or with more than {_DIGITS}"
        hint = "Cast it in a view or in a query: to bigint, or to numeric(18, 2) with the digits it has."
        return BadData(fact, hint)
    hint = "Cast it in a view or in a query: to a number, text, a date or a time."
    kind = re.sub("^_(.*)", r"\1[]", column.type_name) or "of another type"
    return BadData(f"column {named} is {kind}, which is not read", hint)
