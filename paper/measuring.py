"""Results of many runs, as means with their standard errors, and ratios of paired runs.

Promise: a mean never travels without its standard error and the number of runs behind it. Two methods are
compared run by run: a run asks all methods the same questions, so what the questions add to both cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import TypeAlias

import numpy as np

Value: TypeAlias = str | int | float | bool | None
Setting: TypeAlias = Mapping[str, Value]
Numbers: TypeAlias = Mapping[str, float]

SURE = 2.0  # standard errors; beyond so many, a difference is taken to be none of chance


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean, its standard error, and over how many runs.

    >>> str(Measured(0.1234, 0.0021, 10)), str(Measured(42_345.6, 31.7, 10))
    ('0.123 ± 0.0021', '42,300 ± 32')
    """

    mean: float
    error: float
    runs: int

    @property
    def low(self) -> float:
        """The lowest value that chance allows for."""
        return self.mean - SURE * self.error

    @property
    def high(self) -> float:
        """The highest value that chance allows for."""
        return self.mean + SURE * self.error

    def __str__(self) -> str:
        return f"{digits(self.mean, 3)} ± {digits(self.error, 2)}" if self.error else digits(self.mean, 3)

    def percent(self) -> str:
        """Return the text of a share.

        >>> Measured(0.1234, 0.0021, 10).percent()
        '12.3 ± 0.21 %'
        """
        return f"{digits(100 * self.mean, 3)} ± {digits(100 * self.error, 2)} %"


def digits(value: float, number: int) -> str:
    """Return a number with so many digits that matter.

    >>> digits(10_664.2, 4), digits(0.01234, 2)
    ('10,660', '0.012')
    """
    rounded = float(f"{value:.{number}g}")
    return f"{rounded:,.0f}" if 100 <= abs(rounded) < inf else f"{rounded:.{number}g}"


def measured(values: Sequence[float]) -> Measured:
    """Return the mean of runs.

    >>> measured([1.0, 3.0])
    Measured(mean=2.0, error=1.0, runs=2)
    """
    runs = len(values)
    error = float(np.std(values, ddof=1)) / sqrt(runs) if runs > 1 else inf
    return Measured(float(np.mean(values)), error, runs)


def ratio(above: Sequence[float], below: Sequence[float]) -> Measured:
    """Return the ratio of two means over paired runs, with the standard error of a ratio estimate.

    >>> ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    Measured(mean=2.0, error=0.0, runs=3)
    """
    one, other = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    if other.mean() == 0:
        return Measured(inf, inf, one.size)
    found = float(one.mean() / other.mean())
    if one.size < 2:
        return Measured(found, inf, one.size)
    spread = float((one - found * other).std(ddof=1)) / sqrt(one.size)
    return Measured(found, spread / float(other.mean()), one.size)


class Results:
    """What cells of work gave: a setting and its numbers, one for each run."""

    def __init__(self, rows: Iterable[tuple[Setting, Numbers]]) -> None:
        self.rows = list(rows)

    def where(self, **wanted: Value) -> Results:
        """Return the results whose settings have these values."""
        return Results(
            (setting, numbers)
            for setting, numbers in self.rows
            if all(setting.get(name) == value for name, value in wanted.items())
        )

    def values(self, name: str) -> list[float]:
        """Return one number of every run, in the order of runs."""
        rows = sorted(self.rows, key=lambda row: int(row[0].get("run") or 0))
        return [numbers[name] for _, numbers in rows]

    def of(self, name: str, **wanted: Value) -> Measured:
        """Return the mean of a number over the runs of one setting."""
        return measured(self.where(**wanted).values(name))

    def ratio(self, name: str, above: Setting, below: Setting) -> Measured:
        """Return the ratio of a number between two settings, run by run."""
        return ratio(self.where(**above).values(name), self.where(**below).values(name))

    def different(self, name: str) -> list[Value]:
        """Return the values of a setting, in the order in which they come."""
        return list(dict.fromkeys(setting[name] for setting, _ in self.rows if name in setting))

    def grouped(self, *names: str) -> dict[tuple[Value, ...], Results]:
        """Return the results by the values of some settings."""
        found: dict[tuple[Value, ...], list[tuple[Setting, Numbers]]] = {}
        for setting, numbers in self.rows:
            found.setdefault(tuple(setting.get(name) for name in names), []).append((setting, numbers))
        return {key: Results(rows) for key, rows in found.items()}

    def __len__(self) -> int:
        return len(self.rows)


Choose: TypeAlias = Callable[[Results], Measured]
