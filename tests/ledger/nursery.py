"""Starts publishers: a real process each, in a few milliseconds, forked from one that has no threads.

It reads lines `task<tab>ledger<tab>report` and answers each with the process id of the child that does the
task. The child appends to the file `report` what it was told, as it was told. A task may end in a number: the
child then kills itself at that statement of SQLite.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from hushtable.errors import BadLedger, BudgetExceeded
from hushtable.laws.conversions import largest_rho
from hushtable.laws.costs import Cost
from hushtable.ledger import storage
from hushtable.ledger.ledger import Ledger

Tell = Callable[[str], None]

# Budgets in each currency, and a cost of which each pays exactly five, and one of which it pays many.
BUDGETS: dict[str, dict[str, Any]] = {
    "pure": {"epsilon": 1},
    "zcdp": {"rho": "0.1"},
    "approximate": {"epsilon": 1, "delta": "1e-6"},
}
FIFTHS = {
    "pure": Cost(epsilon="1/5"),
    "zcdp": Cost(rho="0.02"),
    "approximate": Cost(rho=largest_rho(Fraction(1), delta=Fraction(1, 10**6)) / 5),
}
CRUMBS = {
    "pure": Cost(epsilon="1/2000"),
    "zcdp": Cost(epsilon="1/100"),
    "approximate": Cost(epsilon="1/2", delta="1e-7", rho="1/100000"),
}


def create(path: Path, tell: Tell) -> None:
    try:
        Ledger.create(path, epsilon=1, about=f"made by {os.getpid()}")
        tell(f"created {os.getpid()}")
    except BadLedger as error:
        tell("refused" if "exists already" in str(error) else f"unexpected {error}")


def charge_a_fifth(path: Path, tell: Tell) -> None:
    try:
        ledger = Ledger.open(path)
        tell(f"charged {ledger.charge(FIFTHS[ledger.currency], what='a fifth')}")
    except BudgetExceeded:
        tell("refused")


def charge_without_end(path: Path, tell: Tell) -> None:
    ledger = Ledger.open(path)
    cost = CRUMBS[ledger.currency]
    while True:
        try:
            number = ledger.charge(cost, what=f"by {os.getpid()}")
        except BudgetExceeded:
            continue
        tell(f"charged {number}")
        ledger.finish(number, digest=f"of {number}")
        tell(f"finished {number}")


def upgrade(path: Path, tell: Tell) -> None:
    Ledger.upgrade(path, unit="person_id")
    tell("upgraded")


def die_at(step: int) -> None:
    """Let this process kill itself at the n-th statement of SQLite, with what is half done on the disk."""
    steps, connected = count(), storage._connected

    def note(_: str) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def watched(path: Path) -> Iterator[sqlite3.Connection]:
        with connected(path) as connection:
            connection.execute("PRAGMA cache_size = 1")
            connection.set_trace_callback(note)
            yield connection

    storage._connected = watched


TASKS = {task.__name__: task for task in (create, charge_a_fifth, charge_without_end, upgrade)}


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    while line := sys.stdin.readline():
        task, path, report = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            handle = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

            def tell(text: str, handle: int = handle) -> None:
                os.write(handle, f"{text}\n".encode())

            try:
                name, _, step = task.partition(" ")
                if step:
                    die_at(int(step))
                TASKS[name](Path(path), tell)
            except BaseException as error:
                tell(f"unexpected {error!r}")
            finally:
                os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
