"""What a page asks of a release: its terms, and answers with intervals.

Promise: rooms above hand their releases over as these; nothing here knows how an answer is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa


class Estimated(Protocol):
    """A number with its interval, and what the interval rests on."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower end of its interval."""

    @property
    def high(self) -> float:
        """The upper end."""

    @property
    def note(self) -> str:
        """What the interval promises."""


class NoisyTable(Protocol):
    """What is known of the noise in one table."""

    @property
    def label(self) -> str:
        """What the release calls it."""

    @property
    def is_noise(self) -> bool:
        """Whether it is no better than noise."""


class Noisy(Protocol):
    """What is known of the noise in all tables."""

    @property
    def tables(self) -> Sequence[NoisyTable]:
        """Each of them."""

    @property
    def is_noise(self) -> bool:
        """Whether no table is better than noise."""

    @property
    def warnings(self) -> list[str]:
        """What to tell a reader first."""


class AskedRelease(Protocol):
    """A release that can be asked."""

    @property
    def terms(self) -> Terms:
        """All that is public about how it was made."""

    @property
    def noise(self) -> Noisy:
        """How much of it is noise."""

    def __len__(self) -> int: ...

    def total(self, where: str | None = None, /, *, confidence: float = 0.95) -> Estimated:
        """Return the sum over the cells that meet a condition."""

    def others(
        self, names: Sequence[str], /, *, top: int, where: str | None = None, confidence: float = 0.95
    ) -> Estimated:
        """Return the sum over all groups but so many of the largest."""

    def by(
        self,
        names: Sequence[str],
        /,
        *,
        where: str | None = None,
        confidence: float = 0.95,
        top: int | None = None,
    ) -> pa.Table:
        """Return groups with their estimates and intervals."""
