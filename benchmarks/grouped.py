"""Answers by groups against the truth: errors, intervals and predictions of one question, over many releases.

Promise: each release is published and asked as its owner and its recipients do it, by `ht.publish` and
`Release.by`. Errors are of all groups, those without a row included, and are held against noise on every cell
of the domain with all of epsilon, in closed form. What rests on how a release tells where its numbers come
from, and how a plan predicts them, is in `whole_tables_answer` and `predicted` alone.
Cost: one publication, and one answer to each question, for each release.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import hushtable as ht
from benchmarks.dense import mean_square
from benchmarks.real import Array, AskedTable, Question

SIZE = 20_000  # rows asked for, of every release
MANY_GROUPS = 100  # from which on one question's coverage and width are held against bars
_publish: Callable[..., ht.Release] = ht.publish


class Measured(NamedTuple):
    """What came of one question, over several releases of one table."""

    question: Question
    groups: int
    answers: int  # to compare: groups times releases
    error: float  # root mean square, over all groups and releases
    dense: float  # the same, of noise on every cell
    covered: int  # answers whose interval holds the truth
    width: float  # median of the intervals
    noise: float  # root mean square of the standard errors
    whole: bool  # whether whole tables answer
    predicted: float | None  # the error that the plan expects

    @property
    def ratio(self) -> float:
        """The error, as a share of that of noise on every cell."""
        return self.error / self.dense

    @property
    def coverage(self) -> float:
        """How many intervals hold the truth, in percent."""
        return 100 * self.covered / self.answers


def published(
    table: AskedTable,
    *,
    epsilon: Fraction,
    output: Path,
    ask: Sequence[Question] | None = None,
    structure: str | None = None,
) -> ht.Release:
    """Publish a table for these questions, or as the default does it, or by a structure."""
    chosen = {} if ask is None else {"ask": list(map(str, ask))}
    other = {} if structure is None else {"structure": structure}
    return _publish(
        table.rows,
        domain=table.domain,
        epsilon=epsilon,
        size=SIZE,
        count_column="people",
        output=output,
        overwrite=True,
        ledger=False,
        **chosen,
        **other,
    )


def measured(
    table: AskedTable,
    questions: Sequence[Question],
    *,
    epsilon: Fraction,
    releases: int,
    ask: Sequence[Question] | None = None,
) -> list[Measured]:
    """Publish again and again, ask all questions of each release, and compare with the truth."""
    truths = [table.truth(question) for question in questions]
    expected = predicted(table, epsilon=epsilon, ask=ask)
    sums = [_Sums() for _ in questions]
    with TemporaryDirectory() as folder:
        for number in range(releases):
            release = published(table, epsilon=epsilon, output=Path(folder) / "release.parquet", ask=ask)
            for question, truth, so_far in zip(questions, truths, sums, strict=True):
                groups = release.by(question.names)
                if number == 0:
                    table.check_order(question, groups)
                    so_far.whole = whole_tables_answer(groups)
                so_far.add(groups, truth)
    return [
        each.told(question, table.domain.cells_total, epsilon, expected.get(str(question)))
        for question, each in zip(questions, sums, strict=True)
    ]


class _Sums:
    """Sums over the releases seen so far."""

    def __init__(self) -> None:
        self.releases = self.groups = self.covered = 0
        self.squares = self.variances = 0.0
        self.widths: list[float] = []
        self.whole = False

    def add(self, groups: pa.Table, truth: Array) -> None:
        """Add the answers of one release."""
        estimates, errors, low, high = (
            groups.column(name).to_numpy() for name in ("estimate", "standard_error", "low", "high")
        )
        self.releases, self.groups = self.releases + 1, truth.size
        self.squares += float(np.mean((estimates - truth) ** 2))
        self.variances += float(np.mean(errors**2))
        self.covered += int(((low <= truth) & (truth <= high)).sum())
        self.widths.append(float(np.median(high - low)))

    def told(
        self, question: Question, cells_total: int, epsilon: Fraction, expected: float | None
    ) -> Measured:
        """Return what came of all of them."""
        cells = np.array([cells_total / self.groups])  # in a group, on average: variances add up over cells
        return Measured(
            question=question,
            groups=self.groups,
            answers=self.groups * self.releases,
            error=sqrt(self.squares / self.releases),
            dense=sqrt(mean_square(cells, epsilon)),
            covered=self.covered,
            width=float(np.median(self.widths)),
            noise=sqrt(self.variances / self.releases),
            whole=self.whole,
            predicted=expected,
        )


def whole_tables_answer(groups: pa.Table) -> bool:
    """Return whether answers come from tables that were published whole."""
    return bool((groups.schema.metadata or {}).get(b"source") == b"whole tables")


def predicted(table: AskedTable, *, epsilon: Fraction, ask: Sequence[Question] | None) -> Mapping[str, float]:
    """Return the error that the planner expects of each question; nothing where it predicts none."""
    asked = table.questions if ask is None else ask
    told = None if ask is None else list(map(str, ask))
    planned = ht.plan(table.domain, epsilon=epsilon, size=SIZE, ask=told, count_column="people")
    errors = {str(question): planned.error(str(question)) for question in asked}
    return {question: error for question, error in errors.items() if error is not None}
