"""Answers from sketches: against a dictionary of buckets, exact variances, and how often intervals hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.answers.question import Question
from hushtable.answers.sketched.answering import SketchAnswers, row_variance
from hushtable.answers.sketched.rows import Combine, median_variance
from hushtable.conditions.conditions import selected
from hushtable.domain.items import Item
from tests.answers.drawn import drawn
from tests.answers.enumerated import all_codes, cells_where
from tests.answers.sketched.sketching import Sketched, quickly, sketched, space
from tests.answers.test_trees import domain_of
from tests.harness.cases import few
from tests.harness.statistics import replay, runs

DOMAIN = domain_of(5, 4, 3)
CELLS = (
    "The estimate is unbiased, from buckets that other cells share. "
    "The interval covers the true answer for cells that were chosen without looking at the rows."
)


def small(width: int = 4, depth: int = 3, **said: Any) -> Sketched:
    random = np.random.default_rng(1)
    return sketched(
        random.integers(0, 100, DOMAIN.shape), space(DOMAIN, width, depth, random), DOMAIN, **said
    )


def slowly(release: Sketched, cells: NDArray[np.int64]) -> list[int]:
    """The sum of each row's buckets, with signs, cell by cell."""
    rows = []
    for row in range(release.nodes.structure.depth):
        total = 0
        for cell in cells:
            (bucket,), (sign,) = release.nodes.buckets(DOMAIN.space.pack(cell[np.newaxis]), row)
            total += int(sign) * int(release.counts.reshape(release.nodes.space.shape)[row, bucket])
        rows.append(total)
    return rows


# What is added up.


@pytest.mark.parametrize(
    ("condition", "estimate"),
    few(
        product(
            ["a = 3", "a >= 2 AND b IN (0, 3)", "a = 1 OR b = 2", "c < 3"],
            [(1, "mean"), (3, "mean"), (3, "median"), (4, "median")],
        ),
        every=3,
    ),
)
def test_totals_are_sums_of_buckets(condition: str, estimate: tuple[int, Combine]) -> None:
    depth, combine = estimate
    release = small(depth=depth)
    answers = SketchAnswers(release, release.nodes, combine)
    found = answers.total(selected(DOMAIN, condition), chance=0.05, corrected=None).answers

    rows = slowly(release, cells_where(DOMAIN, condition))
    assert found.value[0] == (np.mean(rows) if combine == "mean" else np.median(rows))
    assert found.low[0] < found.value[0] < found.high[0]


@pytest.mark.parametrize("places", [(0,), (2, 0)])
@pytest.mark.parametrize("condition", ["c < 3", "a = 1 OR b = 2", "a = 1 OR (b = 2 AND c = 1)"])
def test_groups_are_totals(places: tuple[int, ...], condition: str) -> None:
    release = small()
    answers, items = SketchAnswers(release, release.nodes), list(map(Item, places))
    found = answers.groups(
        Question(
            selected(DOMAIN, condition),
            items,
            chance=0.05,
            corrected=None,
            together=False,
            top=None,
        )
    )

    cells = cells_where(DOMAIN, condition)
    expected = sorted({tuple(cell) for cell in cells[:, places].tolist()})
    assert [tuple(codes) for codes in found.codes.tolist()] == expected
    assert found.number == len(expected)
    for codes, value in zip(expected, found.answers.value, strict=True):
        rows = slowly(release, cells[(cells[:, places] == codes).all(axis=1)])
        assert value == pytest.approx(np.mean(rows))


def test_a_wide_sketch_without_noise_knows_every_cell() -> None:
    random = np.random.default_rng(2)
    counts = np.zeros(DOMAIN.shape, dtype=np.int64)
    counts[2, 1, 1], counts[4, 0, 2] = 70, 9
    release = sketched(counts, space(DOMAIN, 1 << 20, 2, random), DOMAIN)
    answers = SketchAnswers(release, release.nodes)

    for a, b, c in all_codes(DOMAIN).tolist():
        found = answers.cell(selected(DOMAIN, {"a": a, "b": b, "c": c}), chance=0.05)
        assert found.answers.value[0] == counts[a, b, c]
        assert found.note.startswith("The estimate comes from the cell's buckets, which other cells share. ")


def test_nothing_is_asked_for() -> None:
    release = small()
    answers = SketchAnswers(release, release.nodes)
    nothing = selected(DOMAIN, "a = 0 AND a = 1")
    found = answers.total(nothing, chance=0.05, corrected=None).answers
    groups = answers.groups(Question(nothing, [Item(0)], chance=0.05, together=True, top=3))

    assert (found.value[0], found.standard_error[0], found.low[0], found.high[0]) == (0, 0, 0, 0)
    assert (groups.number, groups.codes.shape) == (0, (0, 1))


def test_all_cells_are_the_noisy_total_where_there_is_one() -> None:
    release = small(total=1234)
    answers = SketchAnswers(release, release.nodes)
    found = answers.total(selected(DOMAIN, None), chance=0.05, corrected=None)
    plain = answers.total(selected(DOMAIN, None), chance=0.05, corrected=False)

    assert found.answers.value[0] == 1234
    assert found.answers.high[0] - 1234 == 1234 - found.answers.low[0]
    assert found.note == "This is the noisy total. The interval covers the true answer."
    assert plain.answers.value[0] == pytest.approx(np.mean(slowly(release, all_codes(DOMAIN))))
    assert plain.note == CELLS


def test_all_of_very_many_cells_take_a_noisy_total() -> None:
    domain, random = domain_of(1 << 40), np.random.default_rng(3)
    nodes = space(domain, 8, 1, random)
    buckets = np.zeros(1, dtype=np.int64)
    with_total, without = (sketched(buckets, nodes, domain, total=total) for total in (77, None))

    everything = selected(domain, None)
    assert (
        SketchAnswers(with_total, nodes).total(everything, chance=0.1, corrected=None).answers.value[0] == 77
    )
    with pytest.raises(ht.BadQuery, match="these are 1,099,511,627,776 cells"):
        SketchAnswers(without, nodes).total(everything, chance=0.1, corrected=None)


def test_notes_say_how_rows_are_put_together() -> None:
    release = small()
    answers = SketchAnswers(release, release.nodes)
    asked = selected(DOMAIN, "a = 1")

    assert answers.total(asked, chance=0.05, corrected=None).note == CELLS
    median = answers.combined("median").total(asked, chance=0.05, corrected=None)
    assert median.note == CELLS.replace("share.", "share, by the median of the sketch's rows.")
    groups = answers.groups(Question(asked, [Item(1)], chance=0.05, together=True))
    assert groups.note == f"{CELLS} All 4 intervals hold simultaneously."


@pytest.mark.parametrize(
    ("corrected", "total", "message"),
    [
        (
            True,
            5,
            "a noisy total cannot correct answers from a sketch.\nLeave `corrected` out, or give",
        ),
        (True, None, "this release has no noisy total, so its answers cannot be corrected by one.\nLeave"),
        ("yes", 5, "corrected='yes' is not allowed.\nGive True, False or None."),
    ],
)
def test_corrections_that_make_no_sense(corrected: Any, total: int | None, message: str) -> None:
    release = small(total=total)
    answers = SketchAnswers(release, release.nodes)
    for ask in (
        lambda: answers.total(selected(DOMAIN, "a = 1"), chance=0.05, corrected=corrected),
        lambda: answers.groups(
            Question(
                selected(DOMAIN, None),
                [Item(0)],
                chance=0.05,
                corrected=corrected,
                together=False,
                top=None,
            )
        ),
    ):
        with pytest.raises(ht.BadQuery) as caught:
            ask()
        assert str(caught.value).startswith(message)


def test_rows_are_combined_in_two_ways_alone() -> None:
    release = small()
    with pytest.raises(ht.BadQuery) as caught:
        SketchAnswers(release, release.nodes).combined("mode")  # type: ignore[arg-type]

    assert str(caught.value) == "combine='mode' is not allowed.\nGive 'mean' or 'median'."


def test_only_sketches_have_rows_to_combine(tmp_path: Path) -> None:
    release = drawn(
        tmp_path / "cells.parquet",
        domain_of(4),
        np.array([3, 0, 9, 1]),
        ht.Everything(),
        entropy=replay(4),
    )
    for ask in (
        lambda: release.total("a = 1", combine="mean"),
        lambda: release.at(a=1, combine="median"),
        lambda: release.by("a", combine="mean"),
    ):
        with pytest.raises(ht.BadQuery) as caught:
            ask()
        assert str(caught.value) == (
            "this release is not a sketch, so it has no rows to combine.\nLeave `combine` out."
        )


# The variance is exact: all ways to hash three cells, in fractions.


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("counts", [(1, 2, 5), (4, 4, 4), (0, 0, 7), (3, -2, 1)])
def test_the_variance_of_a_row(counts: tuple[int, ...], width: int) -> None:
    hashes = list(product(product(range(width), (1, -1)), repeat=3))
    for chosen in (some for size in (1, 2, 3) for some in combinations(range(3), size)):
        truth = sum(counts[cell] for cell in chosen)
        off, noised, square = Fraction(0), Fraction(0), Fraction(0)
        for hashed in hashes:
            buckets, factors = [0] * width, [0] * width  # and how often the noise of each bucket counts
            for count, (bucket, sign) in zip(counts, hashed, strict=True):
                buckets[bucket] += sign * count
            for cell in chosen:
                factors[hashed[cell][0]] += hashed[cell][1]
            found = sum(hashed[cell][1] * buckets[hashed[cell][0]] for cell in chosen)
            off += Fraction((found - truth) ** 2, len(hashes))
            noised += Fraction(sum(factor**2 for factor in factors), len(hashes))
            square += Fraction(sum(bucket**2 for bucket in buckets), width * len(hashes))

        cells = len(chosen)
        squares, own = sum(count**2 for count in counts), sum(counts[cell] ** 2 for cell in chosen)
        assert off == Fraction(cells * squares - 2 * own + truth**2, width)
        assert noised == cells
        assert square == Fraction(squares, width)
        stated = row_variance(np.array([float(cells)]), np.array([truth**2 / width]), float(square), 0.0)
        assert stated[0] >= float(off) - 1e-9
        if cells == 1 or len({counts[cell] for cell in chosen}) == 1:
            assert stated[0] == pytest.approx(float(off))


def test_standard_errors_are_those_of_the_variance() -> None:
    release = small(width=64, depth=3, rate=Fraction(1, 5), random=np.random.default_rng(5))
    asked = selected(DOMAIN, "a = 3 AND b = 1")
    mean = SketchAnswers(release, release.nodes).total(asked, chance=0.05, corrected=None).answers
    median = SketchAnswers(release, release.nodes, "median").total(asked, chance=0.05, corrected=None).answers

    square = float((release.counts.astype(float) ** 2).mean())
    assert mean.standard_error[0] ** 2 == pytest.approx((3 * square + mean.value[0] ** 2 / 64 / 3) / 3)
    assert median.standard_error[0] ** 2 == pytest.approx(
        (3 * square + median.value[0] ** 2 / 64 / 3) * median_variance(3)
    )


# Intervals hold.


def table(shape: str, random: np.random.Generator) -> NDArray[np.int64]:
    """A table of 400 x 10 cells, of which 1000 are occupied."""
    counts = np.zeros(4000, dtype=np.int64)
    if shape == "clustered":
        for start in random.integers(0, 3900, 10):
            counts[start : start + 100] += random.poisson(100, 100)
    else:
        places = random.choice(4000, 1000, replace=False)
        even = random.integers(1, 200, 1000)
        counts[places] = even if shape == "uniform" else np.maximum(10_000 // np.arange(1, 1001), 1)
    return counts.reshape(400, 10)


SKETCHES = product(
    ["uniform", "zipf", "clustered"],
    [(100, Fraction(1)), (1000, Fraction(1, 100))],  # collisions; noise
    [(1, "mean"), (3, "mean"), (3, "median"), (5, "median")],
)


@pytest.mark.parametrize(("shape", "noise", "estimate"), few(SKETCHES, every=7))
def test_intervals_hold(shape: str, noise: tuple[int, Fraction], estimate: tuple[int, Combine]) -> None:
    (width, rate), (depth, combine) = noise, estimate
    random = np.random.default_rng([len(shape), width, depth, len(combine)])
    domain, releases = domain_of(400, 10), runs(8)
    held: dict[tuple[int, float], list[float]] = {}
    for _ in range(releases):
        counts = table(shape, random)
        nodes = space(domain, width, depth, random)
        release = quickly(counts, nodes, domain, rate=rate / depth, random=random)
        answers = SketchAnswers(release, nodes, combine)
        for places, truth in (((0, 1), counts.ravel()), ((0,), counts.sum(axis=1))):
            for chance in (0.05, 0.01):
                found = answers.groups(
                    Question(
                        selected(domain, None),
                        list(map(Item, places)),
                        chance=chance,
                        corrected=None,
                        together=False,
                        top=None,
                    )
                ).answers
                inside = (found.low <= truth) & (truth <= found.high)
                held.setdefault((len(places), chance), []).append(float(inside.mean()))

    for (_, chance), shares in held.items():
        assert np.mean(shares) >= (0.93 if chance == 0.05 else 0.98)
        assert chance == 0.01 or np.mean(shares) <= 0.99


def test_simultaneous_intervals_hold_together() -> None:
    random, domain = np.random.default_rng(6), domain_of(400, 10)
    held = 0
    for _ in range(20):
        counts = table("zipf", random)
        nodes = space(domain, 300, 1, random)
        release = quickly(counts, nodes, domain, rate=Fraction(1, 10), random=random)
        found = (
            SketchAnswers(release, nodes)
            .groups(
                Question(
                    selected(domain, None),
                    [Item(0), Item(1)],
                    chance=0.05,
                    corrected=None,
                    together=True,
                    top=None,
                )
            )
            .answers
        )
        held += bool(np.all((found.low <= counts.ravel()) & (counts.ravel() <= found.high)))

    assert held >= 15  # at 95 %, fewer happens with chance 3e-4, and the seed is fixed
