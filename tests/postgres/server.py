"""A PostgreSQL server for tests: its own files in a temporary folder, and a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import Any

PORT = 5499  # a part of the socket's name: nothing listens on a network
SETTINGS = (
    *("listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"),
    *("shared_buffers=32MB", "max_connections=30", "autovacuum=off", "lc_messages=C"),
)


def programs() -> Path | None:
    """Return the folder of the newest server's programs: HUSHTABLE_POSTGRES, or where Debian has them."""
    named = os.environ.get("HUSHTABLE_POSTGRES")
    places = [named] if named else sorted(glob("/usr/lib/postgresql/*/bin"), key=_version, reverse=True)
    return next((Path(each) for each in places if (Path(each) / "initdb").exists()), None)


def _version(folder: str) -> int:
    number = Path(folder).parent.name
    return int(number) if number.isdigit() else 0


class Server:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path, binaries: Path) -> None:
        self.folder, self._binaries = folder, binaries
        # initdb refuses root.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            known = {each.pw_name: each for each in pwd.getpwall()}
            self._user = self._user if self._user in known else "nobody"
            os.chown(folder, known[self._user].pw_uid, known[self._user].pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        self._owner: Any = None  # a connection
        files = ["-D", str(folder / "data"), "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        self._run("initdb", *files, "--no-sync", "--no-instructions")
        access = "local all guarded scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(access)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [word for each in SETTINGS for word in ("-c", each)]
        command = [str(self._binaries / "postgres"), "-D", str(self.folder / "data"), *self._place("-k")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *settings], stdout=log, stderr=log, cwd=self.folder, text=False, **self._as_user()
            )
        ready = [str(self._binaries / "pg_isready"), "-q", *self._place()]
        for _ in range(600):
            if subprocess.run(ready).returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def kill(self) -> None:
        """End it at once, as a crash does; its parts notice by themselves."""
        assert self._process is not None
        self._forget()
        self._process.kill()
        self._process.wait()
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        """End it."""
        assert self._process is not None
        self._forget()
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()

    def url(self, user: str = "owner", database: str = "postgres", password: str = "") -> str:
        """Return an address."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}&port={PORT}"

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement as the owner, and return its rows."""
        import adbc_driver_postgresql.dbapi as driver

        if self._owner is None:
            self._owner = driver.connect(self.url(), autocommit=True)
        with self._owner.cursor() as cursor:
            cursor.execute(text)
            return [tuple(row) for row in cursor.fetchall()]

    def clients(self) -> int:
        """Return how many others are connected."""
        of_others = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ((number,),) = self.sql(f"SELECT count(*) FROM pg_stat_activity WHERE {of_others}")
        return int(number)

    def _forget(self) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            with suppress(Exception):
                owner.close()

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(self._binaries / program), *words], capture_output=True, cwd=self.folder, **self._as_user()
        )
        assert done.returncode == 0, done.stderr.decode()

    def _place(self, folder: str = "-h") -> list[str]:
        return [folder, str(self.folder), "-p", str(PORT)]

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {}
        known = pwd.getpwnam(self._user)
        return {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": []}


@contextmanager
def running(binaries: Path) -> Iterator[Server]:
    """Run a server until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="hushtable-pg-"))
    server = None
    try:
        server = Server(folder, binaries)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
