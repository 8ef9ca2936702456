"""What a picture says in words: its title, and the caption with all that a reader must know.

Promise: the confidence, what the intervals rest on, the condition and the guarantee are always there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from hushtable.domain.domain import Domain
from hushtable.errors import shown
from hushtable.plots.scales import measured_in_words
from hushtable.plots.text import ELLIPSIS, one_line
from hushtable.release.terms import Terms

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST_CONDITION = 600


class Published(Protocol):
    """What is needed of a release."""

    @property
    def domain(self) -> Domain:
        """What a cell is."""

    @property
    def guarantee(self) -> str:
        """Who is protected, and how well."""

    @property
    def terms(self) -> Terms:
        """How it was made."""


def title_of(release: Published, names: tuple[str, ...]) -> str:
    """Return a title: what was counted, by what."""
    counted = f"{measured_in_words(release.terms.measure)} by {' and '.join(map(one_line, names))}"
    about = one_line(release.domain.title)
    return f"{about}: {counted}" if about else counted[0].upper() + counted[1:]


def caption_of(
    release: Published, answer: pa.Table, *, where: Mapping[str, object] | str | None, total_groups: int
) -> list[str]:
    """Return what a reader must know beside the picture, in paragraphs."""
    said = answer.schema.metadata or {}
    level = float(said.get(b"confidence", b"nan")) * 100
    note = one_line(said.get(b"note", b"").decode()).rstrip(".")
    first = f"With {level:.10g} % confidence intervals{': ' * bool(note)}{note}."
    if total_groups > len(answer):
        first += f" Shown are the {len(answer):,} largest of {total_groups:,} groups."
    condition = [] if where is None else [f"Only where {_condition(where)}."]
    return [first, *condition, one_line(release.guarantee)]


def _condition(where: Mapping[str, object] | str) -> str:
    """Return a condition in one line, cut where it is very long."""
    if not isinstance(where, str):
        where = " and ".join(f"{name} = {shown(value)}" for name, value in where.items())
    text = one_line(where)
    if len(text) <= _LONGEST_CONDITION:
        return text
    return f"{text[:_LONGEST_CONDITION]}{ELLIPSIS} ({len(text):,} characters)"
