"""Settings of the flat summaries: what a data owner asks for.

Promise: a record is checked once, when it is made, and never changes; its text rebuilds it. Sizes, cutoffs
and thresholds are public choices of the owner, never taken from the table. `Method` is what all have in
common, so that nobody else asks which of them one is.
Source: Cormode, Procopiuc, Srivastava, Tran, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeVar

from hushtable.errors import BadMethod, BadNumber, BadSettings
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.rationals import Rational, as_count

LARGEST_SIZE = 1_000_000_000
_Chosen = TypeVar("_Chosen", covariant=True)


class Ways(Protocol[_Chosen]):
    """The four ways in which rows are chosen: whoever draws, predicts or tells of them has one for each."""

    def everything(self, *, nonnegative: bool) -> _Chosen:
        """Take all cells."""

    def accepted(self, rule: Acceptance, *, expected: int | None) -> _Chosen:
        """Take the cells that a rule accepts, each by itself; `expected` rows are to come of a threshold."""

    def largest(self, size: int, *, two_sided: bool) -> _Chosen:
        """Take the cells with the largest counts."""

    def priorities(self, size: int, rule: Acceptance) -> _Chosen:
        """Take a priority sample of the cells that a rule accepts."""


class Method(Protocol):
    """Which noisy counts are published.

    `filters`: no count below the cutoff is published. `samples`: counts below the threshold are
    published at random.
    """

    name: ClassVar[str]  # as the owner and the file give it
    filters: ClassVar[bool] = False
    samples: ClassVar[bool] = False

    def __hash__(self) -> int:
        """Return a hash: it is a frozen record."""
        return super().__hash__()

    @property
    def two_sided(self) -> bool:
        """Whether counts below 0 are published."""

    @property
    def cutoff(self) -> Rational | None:
        """The least size of a published count, where the owner gave one."""
        return None

    @property
    def threshold(self) -> Rational | None:
        """The size below which counts are sampled, where the owner gave one."""
        return None

    @property
    def size(self) -> int | None:
        """The number of rows that the owner asked for, if any."""
        return None

    @property
    def complete(self) -> bool:
        """Whether every cell is published, with its noisy count as it was drawn."""
        return False

    @property
    def by_largest(self) -> bool:
        """Whether rows are the largest of all, so that others with the same count may be left out."""
        return self.filters and not self.samples and self.size is not None

    @property
    def expected_rows(self) -> int | None:
        """The number of rows that a threshold is to give on average, where it follows from a size."""
        return None

    @property
    def rule(self) -> Acceptance:
        """What the settings say of a single count."""
        return Acceptance(cutoff=self.cutoff, threshold=self.threshold, two_sided=self.two_sided)

    def most_rows(self, cells: int) -> int:
        """Return how many of so many cells are published at most."""
        return cells

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """Go the way that fits."""

    def thinned(self, size: int, /) -> Method:
        """Return the method of `size` of its rows: filters keep the largest, samples are by priority."""

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """Return the names of its settings."""
        return tuple(each.name for each in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def made(
        cls, *, size: int | None, cutoff: Rational | None, threshold: Rational | None, two_sided: bool
    ) -> Self:
        """Return the method with those of these settings that it takes."""
        given = {"size": size, "cutoff": cutoff, "threshold": threshold, "two_sided": two_sided}
        taken: dict[str, Any] = {name: given[name] for name in cls.settings()}
        return cls(**taken)


@dataclass(frozen=True, kw_only=True, slots=True)
class Everything(Method):
    """Noise on all m cells: the paper's baseline, for small domains.

    `nonnegative=True` rounds negative counts up to 0 (the paper's M'_+).

    >>> Everything(nonnegative=True)
    Everything(nonnegative=True)
    """

    name: ClassVar[str] = "everything"

    nonnegative: bool = False

    @property
    def two_sided(self) -> bool:
        """Whether counts below 0 are published."""
        return not self.nonnegative

    @property
    def complete(self) -> bool:
        """Whether every cell is published, with its noisy count as it was drawn."""
        return not self.nonnegative

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """All cells are taken."""
        return ways.everything(nonnegative=self.nonnegative)

    def thinned(self, size: int, /) -> Filter:
        """Return a filter by size."""
        return Filter(size=size, two_sided=self.two_sided)

    @classmethod
    def made(
        cls, *, size: int | None, cutoff: Rational | None, threshold: Rational | None, two_sided: bool
    ) -> Everything:
        """Return it; it has no other settings."""
        return cls(nonnegative=not two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter(Method):
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

    name: ClassVar[str] = "filter"
    filters: ClassVar[bool] = True

    cutoff: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "cutoff", "size")
        _store(self, cutoff=self.cutoff, size=self.size, two_sided=self.two_sided)

    def most_rows(self, cells: int) -> int:
        """Return how many of so many cells are published at most."""
        return cells if self.size is None else min(self.size, cells)

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """Those from the cutoff on are taken, or the largest."""
        if self.size is None:
            return ways.accepted(self.rule, expected=None)
        return ways.largest(self.size, two_sided=self.two_sided)

    def thinned(self, size: int, /) -> Filter:
        """Return a filter by size."""
        return Filter(size=size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold(Method):
    """A threshold sample: a noisy count v is kept with chance min(\\|v\\|/threshold, 1).

    `size` asks for the threshold that would keep so many cells of an empty table, on average.

    >>> Threshold(threshold="190.5").threshold
    Fraction(381, 2)
    """

    name: ClassVar[str] = "threshold"
    samples: ClassVar[bool] = True

    threshold: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "threshold", "size")
        _store(self, threshold=self.threshold, size=self.size, two_sided=self.two_sided)

    @property
    def expected_rows(self) -> int | None:
        """The number of rows on average, where the threshold follows from it."""
        return self.size

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """Each cell is taken, or not, by the rule."""
        return ways.accepted(self.rule, expected=self.size)

    def thinned(self, size: int, /) -> Priority:
        """Return a priority sample."""
        return Priority(size=size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class Priority(Method):
    """A priority sample: exactly `size` cells, large counts first, unbiased for every sum.

    >>> Priority(size=100_000)
    Priority(size=100000, two_sided=True)
    """

    name: ClassVar[str] = "priority"
    samples: ClassVar[bool] = True

    size: int = field()
    two_sided: bool = True

    def __post_init__(self) -> None:
        _store(self, size=self.size, two_sided=self.two_sided)

    def most_rows(self, cells: int) -> int:
        """Return how many of so many cells are published at most."""
        return min(self.size, cells)

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """A priority sample is taken."""
        return ways.priorities(self.size, self.rule)

    def thinned(self, size: int, /) -> Priority:
        """Return a smaller one."""
        return Priority(size=size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterThreshold(Method):
    """A threshold sample of the cells whose noisy count reaches `cutoff`.

    >>> FilterThreshold(cutoff=20, threshold=100).cutoff
    Fraction(20, 1)
    """

    name: ClassVar[str] = "filter-threshold"
    filters: ClassVar[bool] = True
    samples: ClassVar[bool] = True

    cutoff: Rational = field()
    threshold: Rational | None = None
    size: int | None = None
    two_sided: bool = True

    def __post_init__(self) -> None:
        _check_one(self, "threshold", "size")
        _store(self, cutoff=self.cutoff, threshold=self.threshold, size=self.size, two_sided=self.two_sided)

    @property
    def expected_rows(self) -> int | None:
        """The number of rows on average, where the threshold follows from it."""
        return self.size

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """Each cell is taken, or not, by the rule."""
        return ways.accepted(self.rule, expected=self.size)

    def thinned(self, size: int, /) -> FilterPriority:
        """Return a priority sample."""
        return FilterPriority(cutoff=self.cutoff, size=size, two_sided=self.two_sided)


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterPriority(Method):
    """A priority sample of the cells whose noisy count reaches `cutoff`.

    >>> FilterPriority(cutoff=20, size=1000).size
    1000
    """

    name: ClassVar[str] = "filter-priority"
    filters: ClassVar[bool] = True
    samples: ClassVar[bool] = True

    cutoff: Rational = field()
    size: int = field()
    two_sided: bool = True

    def __post_init__(self) -> None:
        _store(self, cutoff=self.cutoff, size=self.size, two_sided=self.two_sided)

    def most_rows(self, cells: int) -> int:
        """Return how many of so many cells are published at most."""
        return min(self.size, cells)

    def chosen_by(self, ways: Ways[_Chosen], /) -> _Chosen:
        """A priority sample is taken."""
        return ways.priorities(self.size, self.rule)

    def thinned(self, size: int, /) -> FilterPriority:
        """Return a smaller one."""
        return FilterPriority(cutoff=self.cutoff, size=size, two_sided=self.two_sided)


METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (Everything, Filter, Threshold, Priority, FilterThreshold, FilterPriority)
}


def check_method(value: object, *, name: str) -> None:
    """Raise unless a value is a summary method; `name` is the argument's."""
    if type(value) not in METHODS.values():
        raise BadMethod(name, type(value).__name__, "a summary method", "ht.Priority(size=100_000)")


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
    for each in fields(record):  # type: ignore[arg-type]
        if each.name in exact:
            object.__setattr__(record, each.name, exact[each.name])
