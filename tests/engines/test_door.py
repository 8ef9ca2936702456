"""Two inputs that differ in one unit, however they are stored and whatever is asked of them.

The counted tables differ by no more than is stated: in all cells together (L1), in the root of the squares
(L2), and in any one cell. Whether there is a table at all depends on no row. `tests/engines/door` draws the
inputs; one of them again: `python -m tests.engines.door SEED NUMBER`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hushtable as ht
from tests.engines.door import trying
from tests.engines.door.trying import Door, Examiner, Finding, door, one_instance, world_of
from tests.engines.door.worlds import FORMS, World, neighbours
from tests.engines.reference import Counts
from tests.harness.cases import few
from tests.harness.statistics import SEED

PAIRS, CHUNKS = 100_000, 400  # in `make test-long`
EVERY_TIME = 120  # pairs in `make test`


@pytest.fixture(autouse=True)
def _instance() -> Iterator[None]:
    with one_instance():
        yield


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where the machine offers that: files of a few rows are written by the ten thousands."""
    memory = Path("/dev/shm")
    made = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
    yield Path(made)
    shutil.rmtree(made)


def tried(folder: Path, seed: int, *, pairs: int) -> tuple[Examiner, Finding | None]:
    """Try worlds until there were so many pairs, or one breaks what is stated."""
    examiner = Examiner(folder)
    number = 0
    while examiner.pairs < pairs:
        world, random = world_of(seed, number)
        finding = examiner.examined(world, random)
        if finding is not None:
            print(f"\nagain: python -m tests.engines.door {seed} {number}")
            return examiner, examiner.smallest(finding, number)
        number += 1
    return examiner, None


def found_through(through: Door, words: str, folder: Path, seed: int) -> bool:
    """Return whether a door is found by one of some words, where the real one is not.

    The inputs are nothing special: in memory, without names, filters or queries that are odd.
    """
    broken, real = Examiner(folder, through=through), Examiner(folder)
    for number in range(150):
        world, random = world_of(seed, number, forms={"arrow": 1})
        if world.hazards:
            continue
        finding = broken.examined(world, random)
        told = finding is not None and any(word in finding.kind for word in words.split("|"))
        if told and real.examined(*world_of(seed, number, forms={"arrow": 1})) is None:
            return True
    return False


def test_one_unit_moves_the_table_by_no_more_than_is_stated(folder: Path) -> None:
    examiner, finding = tried(folder, 20, pairs=EVERY_TIME)

    assert finding is None, str(finding)
    assert examiner.counting > examiner.pairs / 2  # a door that drops everything would pass
    assert examiner.skipped < examiner.pairs / 20


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_one_unit_of_very_many_inputs_moves_the_table_by_no_more_than_is_stated(
    chunk: int, folder: Path
) -> None:
    examiner, finding = tried(folder, SEED * CHUNKS + chunk + 1000, pairs=PAIRS // CHUNKS)

    assert finding is None, str(finding)
    assert examiner.counting > examiner.pairs / 2
    assert examiner.skipped < examiner.pairs / 20


# Doors that are broken on purpose: each must be found, and by what it does.


def off_by_one(data: Any, world: World, *, salt: int) -> Counts:
    measure = dict(world.measure)
    if "unit" in measure:
        column, bounds = measure["unit"]
        measure["unit"] = (column, {name: most + 1 for name, most in bounds.items()})
    return door(data, replace(world, measure=measure), salt=salt)


def suppressing(data: Any, world: World, *, salt: int) -> Counts:
    return {cell: count for cell, count in door(data, world, salt=salt).items() if abs(count) >= 3}


def choosing_anew(data: Any, world: World, *, salt: int) -> Counts:
    return door(data, world, salt=salt + len(world.rows))


def counting_twice(data: Any, world: World, *, salt: int) -> Counts:
    return {cell: 2 * count for cell, count in door(data, world, salt=salt).items()}


def filling_one_cell(data: Any, world: World, *, salt: int) -> Counts:
    """Bounds rows where cells are bounded: as many in all, but perhaps in one cell."""
    measure = dict(world.measure)
    if "unit" in measure and "max_cells" in measure["unit"][1]:
        column, bounds = measure["unit"]
        rows = bounds["max_cells"] * bounds.get("max_per_cell", 1)
        measure["unit"] = (column, {"max_rows": rows})
    return door(data, replace(world, measure=measure), salt=salt)


def strict_about_totals(data: Any, world: World, *, salt: int) -> Counts:
    counts = door(data, world, salt=salt)
    if sum(counts.values()) > 3:
        raise ht.BadData("too many rows", "Give fewer.")
    return counts


def raising(data: Any, world: World, *, salt: int) -> Counts:
    counts = door(data, world, salt=salt)
    if len(counts) > 2:
        raise KeyError("a row")
    return counts


def dropping(data: Any, world: World, *, salt: int) -> Counts:
    return {cell: count for cell, count in door(data, world, salt=salt).items() if cell[0] != 1}


BROKEN: dict[str, tuple[Door, str]] = {
    "off by one": (off_by_one, "one unit moves|not so many as|not the slow count"),
    "suppressing": (suppressing, "one unit moves|not the slow count|not so many"),
    "choosing anew": (choosing_anew, "one unit moves"),
    "counting twice": (counting_twice, "one unit moves|not the slow count|not so many"),
    "filling one cell": (filling_one_cell, "one unit moves|not so many as"),
    "strict about totals": (strict_about_totals, "rows decide|one unit decides"),
    "raising": (raising, "raw exception"),
    "dropping": (dropping, "not the slow count|not so many"),
}


@pytest.mark.parametrize("name", few(BROKEN, every=2))
def test_a_broken_door_is_found(name: str, folder: Path) -> None:
    through, words = BROKEN[name]

    assert found_through(through, words, folder, 21)


def test_a_lossy_cast_of_units_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(_: str, column: str, __: str) -> str:
        return f"length(CAST({column} AS VARCHAR))"

    def lossily(data: Any, world: World, *, salt: int) -> Counts:
        with monkeypatch.context() as patch:
            patch.setattr("hushtable.engines.sliced.coding.unit_sql", lossy)
            return door(data, world, salt=salt)

    assert found_through(lossily, "one unit moves|slow count", folder, 22)


def test_what_is_drawn_is_what_the_door_is_given() -> None:
    """Every form of input, measure and oddity comes up, and the same seed gives the same worlds."""
    worlds = [world_of(3, number)[0] for number in range(700)]

    assert worlds[:20] == [world_of(3, number)[0] for number in range(20)]
    assert {world.form for world in worlds} == set(FORMS)
    assert {tuple(sorted(world.measure)) for world in worlds} >= {
        (),
        ("unit",),
        ("count_column",),
        ("clamp", "sum_column"),
        ("clamp", "sum_column", "unit"),
    }
    bounds = {tuple(world.measure["unit"][1]) for world in worlds if "unit" in world.measure}
    assert bounds == {("max_rows",), ("max_cells",), ("max_cells", "max_per_cell")}
    hazards = {hazard for world in worlds for hazard in world.hazards}
    assert hazards >= {"where", "folders", "twin column", "twin key", "hard link", "delta", "query swapped"}
    assert any(len({part.types for part in world.parts}) > 1 for world in worlds)


def test_neighbours_lack_one_unit() -> None:
    for number in range(300):
        world, _ = world_of(4, number)
        rows = world.rows
        for other in neighbours(world):
            gone = len(rows) - len(other.rows)
            if "count_column" in world.measure and world.amount_at is not None:
                changed = [1 for one, two in zip(rows, other.rows, strict=True) if one != two]
                assert gone == 0
                assert changed
                continue
            assert gone >= 1
            if world.unit_at is not None:
                kept = {world.unit_of(part, row) for part in other.parts for row in part.rows}
                assert {world.unit_of(part, row) for part in world.parts for row in part.rows} - kept


def test_changes_are_measured_in_three_ways() -> None:
    assert trying.changes({(0,): 3, (1,): 4}, {(0,): 3, (1,): 4}) == (0, 0, 0)
    assert trying.changes({(0,): 3, (2,): 1}, {(1,): 4}) == (8, 26, 4)
