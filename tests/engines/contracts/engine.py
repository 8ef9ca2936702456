"""What the contract asks of an engine: how rows are handed to it, and how much of it a run can afford."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced import runs
from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.noise import BitSource
from hushtable.table.slices import Slices
from tests.engines.reference import Counts, counts_of
from tests.harness.statistics import replay, tries

T = TypeVar("T")


class Engine(Protocol):
    """An engine under test."""

    examples: int  # of a property
    worlds: int  # that an example puts side by side, so that one count tries them all

    def data(self, table: pa.Table, *, parts: int = 2) -> Any:
        """Return rows as this engine takes them, dealt out to so many parts where it has parts."""

    def some(self, things: Sequence[T], few: int) -> Sequence[T]:
        """Return those of similar things that are tried: all, or the first few where a count takes long."""

    def holds(self, kind: pa.DataType) -> bool:
        """Return whether rows can have a column of this type."""

    def cut_finely(self, monkeypatch: pytest.MonkeyPatch, *, work: int = 1 << 12) -> None:
        """Make slices of about so many cells, or fewer."""

    def again(self, slices: Slices) -> Slices:
        """Return slices from which nothing was drawn yet."""

    def said(self) -> str:
        """Return what other processes of the engine printed in this test."""


class OneMachine:
    """DuckDB in this process."""

    examples = tries(100)
    worlds = 1

    def some(self, things: Sequence[T], few: int) -> Sequence[T]:
        return things

    def data(self, table: pa.Table, *, parts: int = 2) -> Any:
        return table

    def holds(self, kind: pa.DataType) -> bool:
        return True

    def cut_finely(self, monkeypatch: pytest.MonkeyPatch, *, work: int = 1 << 12) -> None:
        monkeypatch.setattr(runs, "SLICE_ROWS", work // 4)  # here, rows alone are work

    def again(self, slices: Slices) -> Slices:
        return slices

    def said(self) -> str:
        return ""


@contextmanager
def counted_with(
    data: Any,
    domain: ht.Domain,
    *,
    unit: ht.Unit | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    entropy: BitSource,
    **settings: Any,
) -> Iterator[Counted]:
    """Count with bits that can be drawn again."""
    measure = Measure(unit=unit, sum_column=sum_column, clamp=clamp)
    with counted_rows(
        data, CountRequest(domain=domain, measure=measure, entropy=entropy, **settings)
    ) as counted:
        yield counted


def count_with(data: Any, domain: ht.Domain, *, seed: int = 0, **settings: Any) -> Counts:
    """Count with a salt that can be drawn again."""
    with counted_with(data, domain, entropy=replay(seed), **settings) as counted:
        return counts_of(counted.table())
