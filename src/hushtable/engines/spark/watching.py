"""How far jobs of Spark have come.

Promise: what is told is a share of tasks that are done; it never falls, and reading it changes nothing. Where
Spark does not say, nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from hushtable.engines.spark.jobs import ran
from hushtable.table.progress import Progress, unheard

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.5  # between two looks
_PATIENCE = 5  # seconds for the last look, should Java not answer any more


class Watch(NamedTuple):
    """The jobs with a tag, and who is told of them."""

    spark: SparkSession
    tag: str
    progress: Progress

    @contextmanager
    def step(self, name: str, *, stages: int = 1) -> Iterator[None]:
        """Tell how far the jobs of the block have come, which have so many stages in all."""
        self.progress(name, 0.0)
        if self.progress is unheard:
            yield
            return
        ended = Event()
        before = ran(self._jobs)
        watcher = Thread(target=self._tell, args=(name, stages, before, ended), daemon=True)
        try:
            watcher.start()
            yield
        finally:
            ended.set()
            if watcher.is_alive():
                watcher.join(_PATIENCE)
        self.progress(name, 1.0)

    def _tell(self, name: str, stages: int, before: set[int], ended: Event) -> None:
        from py4j.protocol import Py4JError

        share = 0.0
        while not ended.wait(_SECONDS):
            with suppress(Py4JError, ConnectionError, OSError):  # who waits for the jobs will say what it is
                share = max(share, min(1.0, sum(self._shares(self._jobs() - before)) / stages))
                if not ended.is_set():
                    self.progress(name, share)

    def _jobs(self) -> set[int]:
        """Return the jobs that have the tag, at work or not."""
        return set(self.spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(self.tag))

    def _shares(self, jobs: set[int]) -> Iterator[float]:
        """Yield the share of tasks that are done of each stage of some jobs; of those that are skipped, 0."""
        tracker = self.spark.sparkContext.statusTracker()
        for job in jobs:
            found = tracker.getJobInfo(job)
            for number in () if found is None else found.stageIds:
                stage = tracker.getStageInfo(number)
                if stage is not None and stage.numTasks:
                    yield stage.numCompletedTasks / stage.numTasks
