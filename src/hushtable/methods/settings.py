"""Settings of the flat summaries: what a data owner asks for.

Promise: a record is checked once, when it is made, and never changes; its text rebuilds it. Sizes, cutoffs
and thresholds are public choices of the owner, never taken from the table.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from hushtable.errors import BadNumber, BadSettings
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.rationals import Rational, as_count

LARGEST_SIZE = 1_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Everything:
    """Noise on all m cells: the paper's baseline, for small domains.

    `nonnegative=True` rounds negative counts up to 0 (the paper's M'_+).

    >>> Everything(nonnegative=True)
    Everything(nonnegative=True)
    """

    nonnegative: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """The cells whose noisy count reaches `cutoff`, or the `size` largest ones.

    =====================  =======================================================
    setting                result
    =====================  =======================================================
    cutoff=50              every cell with \\|count\\| >= 50, or count >= 50 one-sided
    size=1000              exactly the 1000 largest (fewer if fewer are not 0)
    both, or neither       `BadSettings`
    =====================  =======================================================

    >>> Filter(cutoff="2.5", two_sided=False)
    Filter(cutoff=Fraction(5, 2), size=None, two_sided=False)
    """

    cutoff: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "cutoff", "size")
        _store(self, cutoff=self.cutoff, size=self.size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """A threshold sample: a noisy count v is kept with chance min(\\|v\\|/threshold, 1).

    `size` asks for the threshold that would keep so many cells of an empty table, on average.

    >>> Threshold(threshold="190.5").threshold
    Fraction(381, 2)
    """

    threshold: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "threshold", "size")
        _store(self, threshold=self.threshold, size=self.size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class Priority:
    """A priority sample: exactly `size` cells, large counts first, unbiased for every sum.

    >>> Priority(size=100_000)
    Priority(size=100000, two_sided=True)
    """

    size: int
    two_sided: bool = True

    def __post_init__(self) -> None:
        _store(self, size=self.size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterThreshold:
    """A threshold sample of the cells whose noisy count reaches `cutoff`.

    >>> FilterThreshold(cutoff=20, threshold=100).cutoff
    Fraction(20, 1)
    """

    cutoff: Rational
    threshold: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "threshold", "size")
        _store(self, cutoff=self.cutoff, threshold=self.threshold, size=self.size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterPriority:
    """A priority sample of the cells whose noisy count reaches `cutoff`.

    >>> FilterPriority(cutoff=20, size=1000).size
    1000
    """

    cutoff: Rational
    size: int
    two_sided: bool = True

    def __post_init__(self) -> None:
        _store(self, cutoff=self.cutoff, size=self.size, two_sided=self.two_sided)


Sampling: TypeAlias = Filter | Threshold | Priority | FilterThreshold | FilterPriority
Method: TypeAlias = Everything | Sampling


def _check_one(record: object, *names: str) -> None:
    """Raise unless exactly one of the named settings is given."""
    if sum(getattr(record, name) is not None for name in names) != 1:
        raise BadSettings(type(record).__name__, names)


def _store(
    record: object,
    *,
    cutoff: Rational | None = None,
    threshold: Rational | None = None,
    size: int | None = None,
    two_sided: bool,
) -> None:
    """Check the settings together and keep them as exact numbers."""
    if size is not None and as_count(size, name="size") < 1:
        raise BadNumber(name="size", value=size, allowed="is below 1", hint="Ask for at least one row.")
    if size is not None and size > LARGEST_SIZE:
        hint = "A summary is a small file; ask for fewer rows."
        raise BadNumber(name="size", value=size, allowed="is above 10^9", hint=hint)
    rule = Acceptance(cutoff=cutoff, threshold=threshold, two_sided=two_sided)
    exact: dict[str, Fraction | int | None] = {
        "cutoff": rule.cutoff,
        "threshold": rule.threshold,
        "size": None if size is None else int(size),
    }
    for name, value in exact.items():
        if hasattr(record, name):
            object.__setattr__(record, name, value)
