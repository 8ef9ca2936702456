"""Times: half-open intervals of equal length on the clock of one time zone.

Promise: intervals are counted in wall-clock time. A value without a zone is wall-clock time already; an
instant is converted to the zone first. So a day is a calendar day, of 23 or 25 hours where clocks change.
Cost: decoding is a few operations on whole arrays; `code_of` is the slow reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_column
from hushtable.domain.kinds import as_whole
from hushtable.domain.reading import Fate, wall_clock
from hushtable.errors import BadDomain, shown

if TYPE_CHECKING:
    import pyarrow as pa

DAY = 86_400
UNITS: dict[str, tuple[int, Literal["second", "month"]]] = {
    "second": (1, "second"),
    "minute": (60, "second"),
    "hour": (3_600, "second"),
    "day": (DAY, "second"),
    "week": (7 * DAY, "second"),
    "month": (1, "month"),
    "year": (12, "month"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Intervals [start, start + step), ... up to `stop`, in wall-clock time of `timezone`.

    A step is `every` seconds or `every` months.

    >>> days = Times(start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=86_400, unit="second")
    >>> days.size, days.code_of("2024-02-29 23:59:59.5")
    (366, 59)
    """

    start: datetime
    stop: datetime
    every: int
    unit: Literal["second", "month"]
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", as_whole(self.every, name="every"))
        if self.unit not in ("second", "month"):
            raise BadDomain(f"the unit {shown(self.unit)} is unknown", 'It is "second" or "month".')
        if self.every < 1:
            raise BadDomain(f"every = {self.every} is below 1", 'Write a step such as "1 day".')
        _check_zone(self.timezone)
        for name in ("start", "stop"):
            time = getattr(self, name)
            if not isinstance(time, datetime) or time.tzinfo is not None or time.microsecond:
                fact = f"{name} = {shown(time)} is not a wall-clock time in whole seconds"
                raise BadDomain(fact, "Leave out offsets and fractions; `timezone` names the zone.")
            object.__setattr__(self, name, time.replace(fold=0))
        if self.stop <= self.start:
            raise BadDomain(f"stop = {self.stop} is not above start = {self.start}", "Raise stop.")
        if self.unit == "month" and self.start != datetime(self.start.year, self.start.month, 1):
            fact = f"steps of months start at {self.start}, within a month"
            raise BadDomain(fact, f"Take start = {datetime(self.start.year, self.start.month, 1)}.")
        if self.edge(self.size) != self.stop:
            edges = (self.edge(steps) for steps in (self.size, self.size + 1) if steps)
            fits = " or ".join(f'stop = "{edge}"' for edge in edges if edge is not None)
            fact = f"times from {self.start} to {self.stop} do not divide into steps of {self.step_text}"
            raise BadDomain(fact, f"Take {fits}." if fits else "Take a shorter step.")

    @property
    def size(self) -> int:
        """The number of intervals."""
        return self._steps_to(self.stop)

    @property
    def step_text(self) -> str:
        """The step in the largest unit that fits, such as "15 minutes"."""
        return step_in_words(self.every, self.unit)

    @property
    def zone(self) -> tzinfo:
        """The time zone, as Python's `datetime` takes it."""
        if self.timezone == "UTC":
            return UTC
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.timezone)

    @property
    def whole_days(self) -> bool:
        """Whether every interval starts at midnight, so that dates say it all."""
        midnight = self.start == datetime(self.start.year, self.start.month, self.start.day)
        return self.unit == "month" or (midnight and self.every % DAY == 0)

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        time = wall_clock(value, self.zone)
        if isinstance(time, Fate):
            return time
        if time < self.start:
            return Fate.OUTSIDE_LOW
        return Fate.OUTSIDE_HIGH if time >= self.stop else self._steps_to(time)

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the starts of the intervals: dates if all are midnights, else wall-clock timestamps."""
        if self.unit == "month":
            first = (self.start.year - 1970) * 12 + self.start.month - 1
            return as_column((first + codes * self.every).astype("datetime64[M]").astype("datetime64[D]"))
        seconds = np.datetime64(self.start, "s").astype(np.int64) + codes * np.int64(self.every)
        if self.whole_days:
            return as_column((seconds // DAY).astype("datetime64[D]"))
        return as_column(seconds.astype("datetime64[s]").astype("datetime64[us]"))

    def _steps_to(self, time: datetime) -> int:
        """Return how many whole steps lead from the start to `time`."""
        if self.unit == "month":
            return ((time.year - self.start.year) * 12 + time.month - self.start.month) // self.every
        return (time - self.start) // timedelta(seconds=1) // self.every

    def edge(self, steps: int) -> datetime | None:
        """Return the time `steps` steps after the start, or None past the year 9999."""
        try:
            if self.unit == "second":
                return self.start + timedelta(seconds=steps * self.every)
            years, month = divmod(self.start.month - 1 + steps * self.every, 12)
            return datetime(self.start.year + years, month + 1, 1)
        except (OverflowError, ValueError):
            return None


def step_in_words(every: int, unit: Literal["second", "month"]) -> str:
    """Return a step in the largest unit that fits.

    >>> step_in_words(900, "second"), step_in_words(12, "month")
    ('15 minutes', '1 year')
    """
    lengths = {name: length for name, (length, kind) in UNITS.items() if kind == unit}
    name = max((name for name in lengths if every % lengths[name] == 0), key=lengths.__getitem__)
    many = every // lengths[name]
    return f"{many} {name}" if many == 1 else f"{many} {name}s"


@cache
def _zones() -> frozenset[str]:
    """Return the names that this machine knows; looking them up takes 25 ms."""
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


def _check_zone(name: object) -> None:
    """Raise unless `name` is a time zone of the IANA list."""
    if name == "UTC":
        return
    zones = _zones()
    if not isinstance(name, str) or name not in zones:
        near = get_close_matches(str(name)[:100], zones, n=1)
        hint = f'Did you mean "{near[0]}"?' if near else 'Write a name such as "Europe/Berlin".'
        if not zones:
            hint = "This machine has no list of time zones: install the Python package `tzdata`."
        raise BadDomain(f"the time zone {shown(name)} is unknown", hint)
