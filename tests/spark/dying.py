"""Tasks that are killed: what a driver of these tests puts around what Spark's workers do.

A death comes at a place in the work, not at a time. It comes once: the next attempt goes on.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from hushtable.engines.spark.blocks import rows_in
from hushtable.noise import KeyStream
from tests.spark.processes import own_executor, parent_of

SHARED = KeyStream()  # the parent of all workers draws from it before it forks them

_LONGEST = 120.0  # seconds


class Death(NamedTuple):
    """A kill in the middle of a task, before or after it hands over what it made.

    `place` is a slice, or None: then it is the first task that comes there. `who` is the executor, the worker
    of a cluster that started it, or the process of the driver.
    """

    step: str
    place: int | None
    when: Literal["before", "after"]
    who: int | Literal["worker"] | None = None


class Watch(NamedTuple):
    """What happens to the tasks of a case; they leave notes in a folder."""

    folder: Path
    deaths: tuple[Death, ...] = ()
    slow: int | None = None  # the slice whose first attempt waits until another one has drawn
    twice: bool = False  # whether candidates are handed over twice, as no attempts ever should

    def around(self, step: str, work: Callable[..., Iterator[pa.RecordBatch]], *arguments: Any) -> Any:
        """Do the work of a step, note down what it makes, and die where that is wanted."""
        for batch in work(*arguments):
            place = batch.column("slice")[0].as_py() if "slice" in batch.schema.names else None
            self._note(step, place, batch)
            if step == "draw" and place == self.slow and self._first("slow"):
                wait_for(lambda: len(list(self.folder.glob(f"draw-{self.slow}-*.npz"))) > 1)
            for when in ("before", "after"):
                for death in self.deaths:
                    if death[:3] == (step, place, when) and self._first(f"death-{step}-{place}-{when}"):
                        die(death.who)
                if when == "before":
                    yield from [batch] * (2 if self.twice and step == "draw" else 1)

    def _first(self, name: str) -> bool:
        """Return whether this is the first attempt that asks."""
        try:
            (self.folder / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _note(self, step: str, place: int | None, batch: pa.RecordBatch) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        found: dict[str, Any] = {"stage": context.stageId()}
        if step == "draw":
            (row,) = rows_in([batch])
            found |= {name: np.frombuffer(row[name], dtype=np.int64) for name in ("keys", "counts")}
        part = self.folder / f"{context.taskAttemptId()}.part"
        with open(part, "wb") as file:
            np.savez(file, **found)
        os.rename(part, self.folder / f"{step}-{place}-{context.taskAttemptId()}.npz")


def die(who: int | Literal["worker"] | None) -> None:
    """Kill a process, without which this one ends too."""
    if who == "worker":
        who = parent_of(own_executor())
    os.kill(own_executor() if who is None else who, signal.SIGKILL)
    time.sleep(_LONGEST)
    raise AssertionError("the worker of a dead executor lives on")


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + _LONGEST
    while not happened():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.02)


def draw_words(folder: Path, sent: KeyStream, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield words of all streams that a task may have; some first attempts fail when they have drawn."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    words = np.concatenate([stream.words(4) for stream in (SHARED, sent, KeyStream())])
    if context.attemptNumber() == 0 and context.partitionId() % 4 == 0:
        (folder / f"words-{context.taskAttemptId()}").write_bytes(words.tobytes())
        raise RuntimeError("the first attempt fails")
    for _ in batches:
        yield pa.record_batch({"process": [os.getpid()], "words": [words.tobytes()]})
