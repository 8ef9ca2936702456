"""The address of a PostgreSQL server, as a URL: what connects, and what may be said of it.

Promise: whatever prints, compares, saves or reports an address sees one without passwords. The URL itself is
given to the driver alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from hushtable.errors import BadChoice

_SCHEMES = ("postgresql://", "postgres://")
_HOW = (
    "Write postgresql://user@host:5432/database; @, / and : within a name or a password as %40, %2F and %3A."
)
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[^:/@,\[\]]*)(:\d*)?"
_PLACE = re.compile(rf"{_HOST}(,{_HOST})*(/[^/@]*)?")
# What libpq takes in a URL and is no secret. Anything else is left out of what is said.
_PLAIN = frozenset(
    {
        *("application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname"),
        *("fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr"),
        *("keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname"),
        *("load_balance_hosts", "max_protocol_version", "min_protocol_version", "passfile", "port"),
        *("require_auth", "requirepeer", "service", "servicefile", "ssl_max_protocol_version"),
        *("ssl_min_protocol_version", "sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir"),
        *("sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs"),
        *("tcp_user_timeout", "user"),
    }
)


class Address:
    """Where a database is. Printed, it tells no password.

    >>> Address("postgresql://ann:secret@host/clinic?sslmode=require&password=secret")
    'postgresql://ann@host/clinic?sslmode=require'
    """

    __slots__ = ("_url", "settings", "text")

    def __init__(self, url: str) -> None:
        scheme, _, rest = url.partition("://")
        # As libpq does: a user ends at the first @, unless a slash comes before it.
        end = re.search("[@/]", rest)
        user = rest[: end.start()] if end is not None and end[0] == "@" else ""
        place, _, words = rest[len(user) + bool(user) :].partition("?")
        pairs = [pair.partition("=") for pair in words.split("&")] if words else []
        odd = not url.isprintable() or " " in url or not _PLACE.fullmatch(place)
        # What is out of place may be a part of a password, so nothing of it is said.
        if odd or not all(equals for _, equals, _ in pairs):
            raise BadChoice("PostgreSQL cannot read the address of the database as a URL", _HOW)
        self.settings = frozenset(unquote(name) for name, _, _ in pairs)
        kept = "&".join(f"{name}={value}" for name, _, value in pairs if unquote(name) in _PLAIN)
        named = user.partition(":")[0]
        self._url = url
        self.text = f"{scheme}://{named}{'@' * bool(named)}{place}{'?' * bool(kept)}{kept}"

    @property
    def has_host(self) -> bool:
        """Whether it says which machine, or which folder of sockets."""
        place = self.text.partition("://")[2].partition("?")[0].rpartition("@")[2]
        return place.partition("/")[0].partition(":")[0] != "" or not self.settings.isdisjoint(
            {"host", "hostaddr", "service"}
        )

    def connecting(self, usual: dict[str, str]) -> str:
        """Return the URL, with settings for what it leaves open. It may hold a password."""
        added = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in usual.items() if name not in self.settings
        )
        return f"{self._url}{'&' if '?' in self._url else '?'}{added}" if added else self._url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return repr(self.text)

    def __reduce__(self) -> Any:
        return Address, (self.text,)  # stored somewhere, it knows no password any more


@dataclass(frozen=True, slots=True)
class ServerRows:
    """Rows of a database: of a table, or what a query that the database runs gives."""

    address: Address
    table: str | None


def is_address(text: str) -> bool:
    """Return whether a text is meant as the address of a server."""
    return text.startswith(_SCHEMES)


def as_address(data: Any) -> Any:
    """Return the address that a text is; anything else as it is."""
    return Address(data) if issubclass(type(data), str) and is_address(data) else data


def located(data: Any, table: Any) -> Any:
    """Return rows of a database where data are its address; anything else as it is."""
    data = as_address(data)
    if issubclass(type(data), Address):  # nothing of the data is looked at here
        if table is not None and (not isinstance(table, str) or not table.strip() or "\0" in table):
            raise BadChoice("`table` names no table", "Write its name, as in clinic.visits.")
        return ServerRows(data, table)
    if table is not None:
        fact = "`table` goes with the address of a database, as in postgresql://host/clinic"
        raise BadChoice(fact, "In a file of DuckDB or SQLite, a query names the table.")
    return data
