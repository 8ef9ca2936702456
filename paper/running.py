"""Cells of work: run those that are missing, keep what each gave, tell how far it is.

A cell of work is one run of one setting of one experiment. Its result is a small file whose name is a
fingerprint of the experiment's name and of the whole setting, in which an experiment puts every parameter of
its own. The source is no part of it: after a change of code, `--fresh` starts over.

Promise: a file appears whole or not at all, so a run that was killed loses at most the cells that it was at,
and the next one does the missing ones only. Experiments that measure time run alone, one cell after another.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TextIO

from paper.measuring import Numbers, Results, Setting


class Done(NamedTuple):
    """What a cell of work gave, and how long it took."""

    setting: Setting
    numbers: Numbers
    seconds: float


class Work(NamedTuple):
    """One cell of work."""

    experiment: str
    setting: Setting
    folder: Path

    @property
    def path(self) -> Path:
        """Where its result is kept."""
        text = json.dumps({"experiment": self.experiment, "setting": dict(self.setting)}, sort_keys=True)
        return self.folder / self.experiment / f"{sha256(text.encode()).hexdigest()[:24]}.json"

    def read(self) -> Done | None:
        """Return the result if it is there."""
        try:
            kept = json.loads(self.path.read_text())
        except FileNotFoundError:
            return None
        return Done(kept["setting"], kept["numbers"], kept["seconds"])

    def run(self) -> Done:
        """Run it, and keep what it gave."""
        module = import_module(f"paper.experiments.{self.experiment}")
        start = perf_counter()
        numbers = {name: float(value) for name, value in module.run(self.setting).items()}
        done = Done(dict(self.setting), numbers, perf_counter() - start)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(f".{os.getpid()}.unfinished")
        unfinished.write_text(json.dumps(done._asdict(), sort_keys=True))
        os.replace(unfinished, self.path)
        return done


class Progress:
    """One line on how far it is, written over on a terminal, and now and then elsewhere."""

    def __init__(self, name: str, todo: int, kept: int, stream: TextIO | None = None) -> None:
        self._name, self._todo, self._kept = name, todo, kept
        self._stream = sys.stderr if stream is None else stream
        self._start = self._last = perf_counter()
        self._done = 0
        self._say(final=todo == 0)

    def step(self) -> None:
        """Count one more cell."""
        self._done += 1
        last = self._done == self._todo
        if last or perf_counter() - self._last > (0.2 if self._stream.isatty() else 10):
            self._say(final=last)

    def _say(self, *, final: bool) -> None:
        self._last = perf_counter()
        spent = self._last - self._start
        line = f"{self._name}: {self._kept + self._done} of {self._kept + self._todo} cells of work"
        if final:
            line += f", {self._kept} kept from before" if self._kept else ""
            line += f", {spent:.0f} s"
        elif self._done:
            line += f", about {_spoken(spent / self._done * (self._todo - self._done))} left"
        start, end = ("\r\033[K", "\n" if final else "") if self._stream.isatty() else ("", "\n")
        print(f"{start}{line}", end=end, file=self._stream, flush=True)


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def finished(
    name: str, settings: Sequence[Setting], *, folder: Path, processes: int, alone: bool = False
) -> tuple[Results, float]:
    """Run what is missing; return all results in the order of settings, and the seconds of all cells."""
    works = [Work(name, setting, folder) for setting in settings]
    found = {work.path: work.read() for work in works}
    missing = _side_by_side([work for work in works if found[work.path] is None])
    progress = Progress(name, len(missing), len(works) - len(missing))
    for work, done in _run(missing, 1 if alone else min(processes, len(missing))):
        found[work.path] = done
        progress.step()
    rows = [(work.setting, each) for work in works if (each := found[work.path]) is not None]
    results = Results((dict(setting), _in_order(each.numbers)) for setting, each in rows)
    return results, sum(each.seconds for _, each in rows)


def _in_order(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return numbers by their names and the sizes behind those, whether they were kept or are new."""

    def place(name: str) -> tuple[str, int]:
        word, _, size = name.rpartition(" ")
        return (word, int(size)) if size.isdigit() else (name, 0)

    return {name: numbers[name] for name in sorted(numbers, key=place)}


def _side_by_side(works: Sequence[Work]) -> list[Work]:
    """Return works so that those of one figure and run follow each other: they share tables and questions."""
    figures = list(dict.fromkeys(work.setting.get("figure") for work in works))
    return sorted(
        works, key=lambda work: (figures.index(work.setting.get("figure")), int(work.setting.get("run") or 0))
    )


def _run(works: Sequence[Work], processes: int) -> Iterator[tuple[Work, Done]]:
    """Yield works as they are done."""
    if processes <= 1:
        for work in works:
            yield work, work.run()
        return
    # Fresh processes: a fork would copy the state of threads and of open files.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Done], Work] = {pool.submit(work.run): work for work in works}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
