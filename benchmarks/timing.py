"""Times of jobs measured side by side.

Promise: jobs are repeated in turns, each round in the reverse order of the one before, so that a slow
moment of a shared machine hits all of them. Compare the `min` of steady jobs (the time without other
people's work) and the `median` of jobs whose own time is random. Clocks count seconds on the wall; for jobs
in one thread, `time.process_time` leaves out all that others do.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TypeAlias

Job: TypeAlias = Callable[[], object]
Clock: TypeAlias = Callable[[], float]


def interleaved(jobs: Sequence[Job], *, rounds: int, clock: Clock = perf_counter) -> list[list[float]]:
    """Return the seconds of each job, one for each round."""
    seconds: list[list[float]] = [[] for _ in jobs]
    order = list(range(len(jobs)))
    for _ in range(rounds):
        for i in order:
            start = clock()
            jobs[i]()
            seconds[i].append(clock() - start)
        order.reverse()
    return seconds


def best(jobs: Sequence[Job], *, rounds: int, clock: Clock = perf_counter) -> list[float]:
    """Return the smallest time of each job, in seconds."""
    return [min(times) for times in interleaved(jobs, rounds=rounds, clock=clock)]
