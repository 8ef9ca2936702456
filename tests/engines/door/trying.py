"""Pairs of neighbours at the door: both are counted, and the tables compared with what is stated."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import astuple, dataclass, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import duckdb

import hushtable as ht
from hushtable.conditions.guard import functions as guarded
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced import engine as engines
from hushtable.engines.sliced import rows as opening
from hushtable.engines.sliced import runs
from hushtable.engines.sliced.counting import CountRequest
from hushtable.engines.sliced.engine import row_by_row
from hushtable.engines.sliced.spills import spill_folder
from hushtable.errors import HushtableError, InternalError
from hushtable.noise import Replay
from tests.engines.door.worlds import Draw, World, fewer, neighbours
from tests.engines.door.writing import written
from tests.engines.reference import Counts, counts_of

Door = Callable[..., Counts]


class Outcome(NamedTuple):
    """What the door makes of an input: a table, or an error."""

    counts: Counts | None
    error: Exception | None = None

    def __str__(self) -> str:
        return str(self.counts) if self.error is None else f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Finding:
    """A pair that breaks what is stated."""

    kind: str
    world: World
    other: World | None
    outcomes: tuple[Outcome, ...]

    def __str__(self) -> str:
        lines = [f"{self.kind}", *told(self.world)]
        if self.other is not None:
            lines += ["neighbour:", *(f"  {line}" for line in told(self.other, rows_only=True))]
        return "\n".join([*lines, *(f"-> {outcome}" for outcome in self.outcomes)])


def told(world: World, *, rows_only: bool = False) -> list[str]:
    """Return a world in lines."""
    lines = []
    if not rows_only:
        lines += [
            f"form={world.form} hazards={world.hazards} style={world.style} table={world.table!r}",
            f"must be refused: {world.refused or 'no'}",
            *(
                f"{each.column!r}: {each.values} missing={each.missing} outside={each.outside}"
                for each in world.attributes
            ),
            f"measure={world.measure} where={world.where!r} query={world.query!r} id_of={world.id_of!r}",
        ]
    for part in world.parts:
        names = [f"{world.columns[at]!r}: {part.types[at].name}" for at in part.order]
        lines.append(f"part {part.folders or ''} {', '.join(names)}")
        lines += [f"  {row.number}: {[row.cells[at] for at in part.order]}" for row in part.rows]
    return lines


def door(data: Any, world: World, *, salt: int) -> Counts:
    """Count through the door, with a choice of a unit's rows that can be made again."""
    measure = Measure(**_measure(world))
    domain = ht.Domain(attributes=world.attributes)
    with counted_rows(
        data,
        CountRequest(
            domain=domain,
            measure=measure,
            where=world.where,
            query=world.query,
            rows_are_units=world.rows_are_units,
            memory="256MiB",
            threads=2 if world.fresh else 1,
            entropy=Replay(salt),
        ),
    ) as counted:
        return counts_of(counted.table())


def _measure(world: World) -> dict[str, Any]:
    settings = dict(world.measure)
    if "unit" in settings:
        column, bounds = settings["unit"]
        settings["unit"] = ht.Unit(column, **bounds)
    return settings


@contextmanager
def one_instance() -> Iterator[None]:
    """Let worlds share one instance of DuckDB, each with a connection of its own: opening one takes longest.

    A connection has its own views, settings and registered objects. Nor are threads started, which only serve
    Ctrl-C and large tables. `World.fresh` is as in real use.
    """
    real, real_spills, listed = engines.connect, spill_folder, guarded.functions_of
    known: dict[str, set[tuple[str, str]]] = {}
    shared: list[duckdb.DuckDBPyConnection] = []

    def connect(*, memory: int, threads: int, folder: Path) -> duckdb.DuckDBPyConnection:
        if threads > 1 or _private:
            return real(memory=memory, threads=threads, folder=folder)
        try:
            connection = shared[-1].cursor()
            connection.execute(row_by_row())  # of the whole instance, so the world before has changed it
        except (IndexError, duckdb.Error):  # the first, or one that a fatal error closed
            shared.append(duckdb.connect(config=_CONFIG))
            connection = shared[-1].cursor()
            connection.execute(row_by_row())
        return connection

    def functions(connection: Any, what: Any) -> Mapping[str, set[tuple[str, str]]]:
        if _private:
            return listed(connection, what)
        if not known:
            known.update(listed(connection, what))
        return known

    @contextmanager
    def spills() -> Iterator[Path]:
        with nullcontext(Path(tempfile.gettempdir())) if not _private else real_spills() as folder:
            yield folder  # so few rows spill nothing

    def pool(workers: int) -> Any:
        return ThreadPoolExecutor(workers) if _private else _Here()

    try:
        with (
            patch.object(opening, "connect", connect),
            patch.object(opening, "spill_folder", spills),
            patch.object(guarded, "functions_of", functions),
            patch.object(engines, "ThreadPoolExecutor", pool),
            patch.object(runs, "ThreadPoolExecutor", pool),
        ):
            yield
    finally:
        for instance in shared:
            instance.close()


_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_private: list[bool] = []  # whether the world at hand needs an instance of its own
_numbers = count()


class _Here:
    """Does in this thread what a pool would do in others."""

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        result: Future[Any] = Future()
        try:
            result.set_result(work(*args))
        except Exception as error:
            result.set_exception(error)
        return result


class Examiner:
    """Tries worlds in a folder, and keeps account."""

    def __init__(self, folder: Path, *, through: Door = door, most: int = 4) -> None:
        self.folder, self.through, self.most = folder, through, most
        self.pairs = self.counting = self.refused = self.skipped = 0
        self.forms: Counter[str] = Counter()

    def examined(self, world: World, random: Random) -> Finding | None:
        """Return what a world and some of its neighbours show against what is stated."""
        salt = random.randrange(1 << 32)
        try:
            whole = self._outcome(world, salt)
        except Unwritable:
            self.skipped += 1
            return None
        if whole.error is not None:
            self.refused += 1
            self.pairs += 1
            if _raw(whole.error):
                return Finding("raw exception", world, None, (whole,))
            # Whether there is a release must not hang on rows: without any, the refusal is the same.
            empty = world.without(lambda *_: True)
            nothing = self._outcome(empty, salt)
            if nothing.error is None:
                return Finding("rows decide that there is no release", world, empty, (whole, nothing))
            return None
        assert whole.counts is not None
        self.forms[world.form] += 1
        if world.refused and world.rows:
            return Finding(f"counted though {world.refused}", world, None, (whole,))
        problem = _against_reference(world, whole.counts)
        if problem:
            return Finding(problem, world, None, (whole,))
        others = neighbours(world)
        random.shuffle(others)
        stated = Measure(**_measure(world)).sensitivities
        for other in others[: self.most]:
            try:
                outcome = self._outcome(other, salt)
            except Unwritable:  # as a type that lists its values, one of which is one more than another
                self.skipped += 1
                continue
            self.pairs += 1
            self.counting += bool(whole.counts)
            if outcome.counts is None:
                assert outcome.error is not None
                kind = "raw exception" if _raw(outcome.error) else "one unit decides that there is a release"
                return Finding(kind, world, other, (whole, outcome))
            moved = changes(whole.counts, outcome.counts)
            if any(one > most for one, most in zip(moved, astuple(stated), strict=True)):
                text = "one unit moves L1, L2 squared, Linf by {}, {}, {}".format(*moved)
                return Finding(f"{text}, stated {stated}", world, other, (whole, outcome))
        return None

    def _outcome(self, world: World, salt: int) -> Outcome:
        folder = self.folder / str(next(_numbers))
        folder.mkdir()
        if world.fresh or world.form == "duckdb":
            _private.append(True)
        try:
            try:
                data = written(world, folder)
            except Exception as error:
                raise Unwritable from error
            try:
                return Outcome(self.through(data, world, salt=salt))
            except Unwritable:
                raise
            except Exception as error:
                return Outcome(None, error)
        finally:
            _private.clear()
            shutil.rmtree(folder)

    def smallest(self, finding: Finding, random_seed: int, *, tries: int = 300) -> Finding:
        """Return a small world that breaks the same."""
        best, kind = finding, _sort(finding.kind)
        most, self.most = self.most, 1000
        progress = True
        while progress and tries > 0:
            progress = False
            for world in fewer(best.world):
                tries -= 1
                if tries < 0:
                    break
                if sum(map(len, told(world))) >= sum(map(len, told(best.world))):
                    continue
                found = self.examined(replace(world, simple=world.simple), Random(random_seed))
                if found is not None and _sort(found.kind) == kind:
                    best, progress = found, True
                    break
        self.most = most
        return best


class Unwritable(Exception):
    """A drawn world that its writer does not take."""


def _sort(kind: str) -> str:
    return kind[:20]


def _raw(error: Exception) -> bool:
    return not isinstance(error, HushtableError) or isinstance(error, InternalError)


def changes(one: Counts, other: Counts) -> tuple[int, int, int]:
    """Return how far two tables are apart in L1, L2 squared and in one cell."""
    apart = [abs(one.get(cell, 0) - other.get(cell, 0)) for cell in {*one, *other}]
    return sum(apart), sum(each * each for each in apart), max(apart, default=0)


def _against_reference(world: World, counts: Counts) -> str:
    """Return how a table differs from the slow count of a world that is simple enough, or nothing."""
    if not world.simple:
        return ""
    cells: Counter[tuple[int, ...]] = Counter()
    units: dict[Any, Counter[tuple[int, ...]]] = {}
    try:
        for part in world.parts:
            for row in part.rows:
                if any(
                    kind.family == "json" and not _is_text(raw)
                    for kind, raw in zip(part.types, row.cells, strict=True)
                ):
                    continue  # half of a letter makes the line no text
                codes = [
                    attribute.place(part.types[at].plain(row.cells[at]))
                    for attribute, at in zip(world.attributes, world.places, strict=True)
                ]
                amount = _amount(world, part.types, row.cells)
                unit: Any = "all"
                if world.unit_at is not None:
                    kind = part.types[world.unit_at]
                    if kind.family not in ("whole", "text") and not (
                        kind.family == "csv" and row.cells[world.unit_at]
                    ):
                        raise ValueError
                    unit = world.unit_of(part, row)
                if None in codes or amount is None or unit is None:
                    continue
                cell = tuple(code for code in codes if code is not None)
                units.setdefault(unit, Counter())[cell] += 1
                cells[cell] += amount
    except (ValueError, OverflowError):
        return ""
    bound = Measure(**_measure(world)).unit
    # How many rows of each unit count at least and at most; which ones is a matter of the salt.
    within = [(_fewest(rows, bound), _most(rows, bound)) for rows in units.values()]
    if all(fewest == rows.total() for (fewest, _), rows in zip(within, units.values(), strict=True)):
        expected = {cell: value for cell, value in cells.items() if value}
        return "" if expected == counts else f"not the slow count, which is {expected}"
    if "sum_column" in world.measure:
        return ""
    least, most = (sum(numbers) for numbers in zip(*within, strict=True))
    total = sum(counts.values())
    return "" if least <= total <= most else f"not so many as the slow count, {least} to {most}"


def _most(rows: Counter[tuple[int, ...]], bound: ht.Unit | None, *, fewest: bool = False) -> int:
    """Return how many rows of a unit count at most, by how many it has in each cell."""
    if bound is None:
        return rows.total()
    if bound.max_cells is None:
        return min(rows.total(), bound.max_rows or 0)
    each = sorted((min(there, bound.max_per_cell or 0) for there in rows.values()), reverse=not fewest)
    return sum(each[: bound.max_cells])


def _fewest(rows: Counter[tuple[int, ...]], bound: ht.Unit | None) -> int:
    """Return how many rows of a unit count at least."""
    return _most(rows, bound, fewest=True)


def _is_text(raw: str) -> bool:
    """Return whether all that some JSON says can be written in UTF-8."""
    try:
        json.dumps(json.loads(raw), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _amount(world: World, types: Any, cells: Any) -> int | None:
    """Return what a row adds, None where it is dropped."""
    if world.amount_at is None:
        return 1
    amount = types[world.amount_at].plain(cells[world.amount_at])
    if amount is None:
        return None
    if type(amount) is not int or abs(amount) >= 2**58:
        raise ValueError
    if "clamp" in world.measure:
        low, high = world.measure["clamp"]
        return int(max(low, min(high, amount)))
    return int(amount) if amount >= 0 else None


def world_of(seed: int, number: int, **limits: Any) -> tuple[World, Random]:
    """Return one world of a run, of some forms and types if `limits` say so, and its further draws."""
    own = Random(f"{seed} {number}").randrange(1 << 62)
    return Draw(Random(own), **limits).world(), Random(own + 1)
