"""How a release is paid for, and what its owner is told if it stops on the way.

Promise: whoever stops a publication (Ctrl-C, SIGTERM), or runs out of memory in it, is told what was charged
and whether there is an output; what is said is true whatever the moment. A signal that comes during the
charge waits until the charge is on the disk and known here.
Limit: a process that is killed (SIGKILL, a power cut) tells nothing. Its entry in the ledger stays.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from hushtable.errors import HushtableError, LowMemory, Stopped, short_of_memory
from hushtable.laws.costs import Cost

if TYPE_CHECKING:
    from hushtable.ledger.ledger import Ledger

_LOG = logging.getLogger("hushtable")  # what was declared, paid and published: nothing of a row
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Payment:
    """What one publication costs, and how far it has come."""

    def __init__(
        self,
        ledger: Ledger | None,
        *,
        cost: Cost,
        output: str | os.PathLike[str],
        known: bool = True,
    ) -> None:
        self.ledger, self.cost, self.output = ledger, cost, output
        self.known = known  # that no ledger is charged, if none is
        self.times_charged: int | None = None  # before, under its name; None: whatever the ledger says
        self.begun = False  # whether drawing may have begun, and is paid for
        self._finished = False
        self._entry: int | None = None
        self._before: object = None

    def check(self, *, unit: str) -> None:
        """Raise where the ledger cannot pay, or protects another unit."""
        if self.ledger is not None:
            self.ledger.can_pay(self.cost, unit=unit)

    def charge(self, *, unit: str, what: str, name: str | None) -> None:
        """Charge the ledger, if there is one: what follows is drawn."""
        with held():
            if self.ledger is not None:
                self._entry = self.ledger.charge(
                    self.cost, unit=unit, what=what, name=name, times_before=self.times_charged
                )
                _LOG.info("charged %s to %s, entry %s", self.cost, self.ledger.path, self._entry)
            elif not self.known:
                _LOG.warning("%s", self.uncharged(unit))
            self._before = _found(self.output)
            self.begun = True

    def uncharged(self, unit: str) -> str:
        """Say that nobody keeps count, and how to change that."""
        return (
            f"no ledger was charged for the {self.cost} that this spends on each {unit}. Give `ledger`, "
            "or keep count yourself and say so with `ledger=False`"
        )

    def finish(self, digest: str) -> None:
        """Note in the ledger that the output is written."""
        with held():
            if self.ledger is not None and self._entry is not None:
                self.ledger.finish(self._entry, digest=digest)
            self._finished = True
            _LOG.info("written %s, %s", self.output, digest)

    def told(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call what publishes; where it is stopped or memory runs out, say what was charged."""
        short = ""
        try:
            return call(*args, **kwargs)
        except KeyboardInterrupt:
            pass
        except LowMemory as error:
            short = error.hint
        except (MemoryError, ImportError, RuntimeError) as error:
            if not short_of_memory(error):
                raise
            short = LowMemory.OWNER
        # Raised here and not above, so that nothing leads to the first error: NumPy's tells how many cells.
        raise LowMemory(short, self.state) if short else Stopped(self.state)

    @property
    def state(self) -> str:
        """What was charged, and whether there is an output, in words."""
        written = self._finished or (self.begun and _found(self.output) != self._before)
        said = [self._charged(written)]
        if written:
            said.append(f"The output {str(self.output)!r} is written, and whole.")
        else:
            said.append("No output was written.")
        if written and self._entry is not None and not self._finished:
            said.append("The ledger has its entry as unfinished.")
        return " ".join(said)

    def _charged(self, written: bool) -> str:
        """Say what was charged."""
        if not self.begun:
            return "Nothing was charged."
        spent = self.cost.said
        if self.ledger is None:
            drawn = "" if written else ", because drawing had begun"
            return f"No ledger was charged: count {spent} as spent yourself{drawn}."
        try:
            spent = self.ledger.entries()[(self._entry or 0) - 1].charged.said
        except (HushtableError, IndexError):
            spent += " for each of its own unit"  # what a bound made of it stands in the ledger
        return f"{spent} was charged to {str(self.ledger.path)!r} (entry {self._entry}) and stays spent."


def _found(path: str | os.PathLike[str]) -> object:
    """Return what tells the file or folder of a name from another that has the name later."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


@contextmanager
def held() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block ends, where Python answers them: in the main thread."""
    waiting: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    number: int

    def note(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))

    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.getsignal(number)
                if callable(before):
                    handlers[number] = before
                    signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in waiting[:1]:
            handlers[number](number, frame)
