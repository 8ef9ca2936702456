"""Whatever dies in the middle, one draw leaves, it is paid for once, and nothing stays behind.

Executors are processes of their own here, and are killed as `kill -9` does, at places in the work that the
tests choose. Several attempts then draw from the same slices; what is published must be one of them, whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from hashlib import sha256
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.domain.measure import Measure
from hushtable.engines.counting import counted_rows
from hushtable.engines.sliced.counting import CountRequest
from hushtable.engines.spark.blocks import blocks, packed
from hushtable.engines.spark.tasks import Box, CellCut, count_slices, draw_slices
from hushtable.noise import Replay
from hushtable.table.slices import Candidates, Slice
from hushtable.table.sparse import SparseTable
from tests.spark.dying import Death
from tests.spark.processes import descendants, gone, parent_of

ROOT = Path(__file__).parents[2]
LONGEST = 300  # seconds: a case that takes so long hangs

DOMAIN = ht.Domain(
    attributes=tuple(Attribute(name=name, values=Integers(low=0, high=999)) for name in ("x", "y"))
)
SUMMARY = ht.Filter(cutoff=5)  # of a million empty cells, about five thousand pass at epsilon 1
UNIT = ht.Unit("person", max_rows=2)


class Driver:
    """A driver in a process of its own, which does one case after the other, for a master if one is named."""

    def __init__(self, folder: Path, *master: str) -> None:
        self.folder, self.temporary = folder, folder / "temporary"
        self.temporary.mkdir(parents=True)
        self._tests, driver = Pipe()
        self._log = folder / "driver.log"
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.driver", str(folder), str(driver.fileno()), *master],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(self.temporary)},
                pass_fds=[driver.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        driver.close()
        assert self._answer() == "ready"

    def do(self, case: str, **asked: Any) -> Any:
        """Return what a case gives; raise what it raises, and EOFError if the driver dies of it."""
        self._tests.send((case, asked))
        found = self._answer()
        if isinstance(found, Exception):
            raise found
        return found

    def _answer(self) -> Any:
        assert self._tests.poll(LONGEST), f"the driver hangs\n{self._log.read_text()}"
        return self._tests.recv()

    def left_behind(self) -> list[Path]:
        """Return all of our temporary files."""
        return list((self.temporary / f"hushtable-{os.getuid()}").rglob("*"))

    def left_by_spark(self) -> set[str]:
        """Return the names of files that Spark left where its executors write."""
        places = [self.folder / "local", self.folder / "home/work"]
        return {path.name for place in places for path in place.rglob("*") if path.is_file()}

    def stop(self) -> None:
        """End the driver, and see that all that it started ends with it."""
        everyone = descendants(self.process.pid)
        self._tests.close()
        try:
            self.process.wait(LONGEST)
        finally:
            self.process.kill()
            self.process.wait()
        assert gone(everyone, seconds=LONGEST) == []


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[], Driver]]:
    """A driver that lives: another one if the last was killed."""
    started: list[Driver] = []

    def living() -> Driver:
        if not started or started[-1].process.poll() is not None:
            started.append(Driver(tmp_path_factory.mktemp("driver")))
        return started[-1]

    yield living
    for each in started:
        each.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten rows each of 400 people in four files; some cells hold many rows."""
    generator = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("data")
    for number in range(4):
        columns = {name: np.minimum(generator.geometric(0.005, 1_000) - 1, 999) for name in ("x", "y")}
        person = generator.integers(0, 400, 1_000)
        pq.write_table(pa.table({**columns, "person": person}), folder / f"{number}.parquet")
    return str(folder)


class Publication:
    """What a publication is told, and what is there when it is over."""

    def __init__(self, data: str, folder: Path) -> None:
        self.folder, self.notes = folder / "released", folder / "notes"
        self.folder.mkdir()
        self.ledger = ht.Ledger.create(folder / "ledger", epsilon=2, about="people")
        self.output = self.folder / "release.parquet"
        settings: dict[str, Any] = {
            "domain": DOMAIN,
            "epsilon": 1,
            "summary": SUMMARY,
            "output": self.output,
            "ledger": folder / "ledger",
        }
        self.asked: dict[str, Any] = {"data": data, "settings": settings, "folder": self.notes}

    def attempts(self, slice_: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return what each attempt drew from a slice: cells in order, and their noisy counts."""
        found = []
        for path in self.notes.glob(f"draw-{slice_}-*.npz"):
            drawn = np.load(path)
            order = np.argsort(drawn["keys"])
            found.append((drawn["keys"][order], drawn["counts"][order]))
        return found

    def check(self, driver: Driver) -> None:
        """One attempt's draw of every slice is published, and nothing else is anywhere."""
        table = pq.read_table(self.output)
        codes = np.stack([table[name].to_numpy() for name in ("x", "y")], axis=1)
        keys, counts = DOMAIN.space.pack(codes)[0].view(np.int64), table["count"].to_numpy()
        assert (np.diff(keys) > 0).all()  # each cell once, in order
        draws = list(self.notes.glob("draw-*.npz"))
        # All attempts were made by one stage of one job: what was drawn was then read, and not drawn again.
        assert len({int(np.load(path)["stage"]) for path in draws}) == 1
        slices = {int(path.name.split("-")[1]) for path in draws}
        assert slices == set(range(len(slices)))
        assert len(slices) > 6
        end = 0
        for number in range(len(slices)):
            published = []
            for drawn_keys, drawn_counts in self.attempts(number):
                assert drawn_keys.size > 50  # so that no two attempts draw the same
                rows = slice(end, end + drawn_keys.size)
                if np.array_equal(keys[rows], drawn_keys) and np.array_equal(counts[rows], drawn_counts):
                    published.append(rows)
            assert len(published) == 1
            end = published[0].stop
        assert end == keys.size

        assert ht.open(self.output).epsilon == 1
        (entry,) = self.ledger.entries()
        assert entry.epsilon == 1
        assert entry.digest == sha256(self.output.read_bytes()).hexdigest()
        assert os.listdir(self.folder) == [self.output.name]
        assert driver.left_behind() == []

    def check_charged(self) -> None:
        """It is paid for, and nothing is published."""
        (entry,) = self.ledger.entries()
        assert entry.epsilon == 1
        assert entry.state == "unfinished"
        assert os.listdir(self.folder) == []


@pytest.fixture
def publication(data: str, tmp_path: Path) -> Publication:
    return Publication(data, tmp_path)


FAULTS = {
    "in the draw and when it is read": {
        "deaths": [Death("draw", 5, "after")],
        "slow": 2,  # so that two attempts draw at the same time
        "kill_when": ["staged"],
    },
}
# Others, and those of the draw one by one.
ALONE = {
    "nothing": {},
    "when rows are read": {"deaths": [Death("read", None, "after")]},
    "when rows are counted": {"deaths": [Death("count", 3, "before")]},
    "when the ledger is charged": {"kill_when": ["charged"]},
    "in the draw": {"deaths": [Death("draw", 2, "before"), Death("draw", 5, "after")]},
    "when candidates are read": {"kill_when": ["staged"]},
    "two attempts at once": {"slow": 4},
    "where checkpoints go": {"deaths": [Death("draw", 5, "after")], "checkpoints": True},
}


@pytest.mark.parametrize(
    "faults",
    [*FAULTS.values(), *(pytest.param(each, marks=pytest.mark.long) for each in ALONE.values())],
    ids=[*FAULTS, *ALONE],
)
def test_one_draw_leaves_whatever_dies(
    faults: dict[str, Any], driver: Callable[[], Driver], publication: Publication, tmp_path: Path
) -> None:
    deaths, slow = faults.get("deaths", []), faults.get("slow")
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    if "checkpoints" in faults:
        faults = {**faults, "checkpoints": checkpoints.as_uri()}

    drawn = driver().do("publish", **faults, **publication.asked)

    assert drawn["charged"] == 0
    # Whatever was to die died, and so others drew from the same slices.
    assert len(list(publication.notes.glob("death-*"))) == len(deaths)
    for place in [death.place for death in deaths if death.step == "draw"] + [slow] * (slow is not None):
        assert len(publication.attempts(place)) > 1
    if any(death.step == "count" for death in deaths) or "charged" in faults.get("kill_when", []):
        counted = [path.name.rpartition("-")[0] for path in publication.notes.glob("count-*.npz")]
        assert len(counted) > len(set(counted))
    publication.check(driver())
    assert list(checkpoints.iterdir()) == []


def local(data: str, *, unit: ht.Unit | None, seed: int) -> SparseTable:
    """Count on one machine."""
    with counted_rows(
        data, CountRequest(domain=DOMAIN, measure=Measure(unit=unit), entropy=Replay(seed))
    ) as counted:
        return counted.table()


@pytest.mark.long
@pytest.mark.parametrize("unit", [UNIT, None])
def test_lost_counts_are_counted_again_with_the_same_choice_of_rows(
    unit: ht.Unit | None, driver: Callable[[], Driver], data: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    before, after = driver().do("count_again", data=data, domain=DOMAIN, unit=unit, folder=notes)

    expected = local(data, unit=unit, seed=7)
    for keys, counts in (before, after):
        np.testing.assert_array_equal(keys, expected.keys)
        np.testing.assert_array_equal(counts, expected.counts)
    # All were counted twice, from rows of four files that were read twice.
    names = [path.name.rpartition("-")[0] for path in notes.glob("*.npz")]
    assert names.count("read-None") >= 8
    assert all(names.count(name) >= 2 for name in names if name.startswith("count"))
    if unit is not None:  # another salt would have chosen others
        assert not np.array_equal(local(data, unit=unit, seed=8).keys, expected.keys)
    assert driver().left_behind() == []


@pytest.mark.parametrize(
    ("unit", "deaths"),
    [
        (UNIT, [Death("bound", None, "after")]),
        pytest.param(
            UNIT, [Death("read", None, "after"), Death("bound", None, "before")], marks=pytest.mark.long
        ),
        pytest.param(None, [Death("read", None, "after")], marks=pytest.mark.long),
    ],
)
def test_what_comes_by_spark_connect_is_counted_once(
    unit: ht.Unit | None,
    deaths: list[Death],
    driver: Callable[[], Driver],
    data: str,
    tmp_path: Path,
) -> None:
    """Executors die when they have handed over a part of what they read or bounded."""
    notes = tmp_path / "notes"
    query = "SELECT x, y, CAST(person AS VARCHAR) AS person FROM data"
    asked = {"data": data, "domain": DOMAIN, "unit": unit, "query": query}

    keys, counts = driver().do("gather", folder=notes, deaths=deaths, **asked)

    measure = Measure(unit=unit)
    with counted_rows(
        data, CountRequest(domain=DOMAIN, measure=measure, query=query, entropy=Replay(7))
    ) as counted:
        expected = counted.table()
    np.testing.assert_array_equal(keys, expected.keys)
    np.testing.assert_array_equal(counts, expected.counts)
    assert len(list(notes.glob("death-*"))) == len(deaths)
    assert driver().left_behind() == []


def test_counts_that_are_other_ones_the_second_time_are_not_drawn_from() -> None:
    cut = CellCut([Box((0,), (10,))])

    def counted(*cells: int) -> pa.RecordBatch:
        rows = {"slice": 0, "mark": 0, "size": len(cells), "keys": packed(np.array([cells], dtype=np.uint64))}
        (batch,) = count_slices(cut, iter([blocks([rows])]))
        return batch

    def draw(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        digests = [counted(3, 5, 5).column("digest")[0].as_py()]
        return list(draw_slices(all_of_them, cut, digests, [[()]], iter([batch])))

    def all_of_them(part: Slice, accepted: object, entropy: object) -> Candidates:
        keys, counts = part.cells()
        return Candidates(keys, counts, np.full(counts.size, -1, dtype=np.int8))

    assert len(draw(counted(5, 3, 5))) == 1
    for others in ((3, 6, 6), (3, 3, 5), (3, 5)):  # as many cells, as many rows, or neither
        with pytest.raises(ht.BadData, match="the data changed while they were read"):
            draw(counted(*others))


@pytest.mark.long
def test_candidates_that_are_there_twice_are_not_published(
    driver: Callable[[], Driver], publication: Publication
) -> None:
    with pytest.raises(ht.HushtableError, match="not there once"):
        driver().do("publish", twice=True, **publication.asked)

    publication.check_charged()
    assert driver().left_behind() == []


def test_no_two_tasks_draw_the_same_bits(driver: Callable[[], Driver], tmp_path: Path) -> None:
    processes, words = driver().do("draw_many", tasks=24, folder=tmp_path / "notes")

    assert len(set(processes)) < 24  # some tasks followed each other in one process
    assert words.size == (24 + 6) * 12  # six first attempts failed
    assert np.unique(words).size == words.size


@pytest.mark.long
def test_a_driver_whose_java_process_dies_says_so(
    driver: Callable[[], Driver], publication: Publication, tmp_path: Path
) -> None:
    survivor = driver()
    everyone = descendants(survivor.process.pid)
    (java,) = [process for process in everyone if parent_of(process) == survivor.process.pid]
    deaths = [Death("draw", 4, "before", who=java)]
    checkpoints = tmp_path / "checkpoints" / "of-the-session"
    checkpoints.mkdir(parents=True)

    with pytest.raises(ht.BadData, match="the Java process of Spark is gone"):
        survivor.do("publish", deaths=deaths, checkpoints=checkpoints.as_uri(), **publication.asked)

    assert list((tmp_path / "checkpoints").iterdir()) == []
    publication.check_charged()
    assert gone(everyone, seconds=LONGEST) == []
    survivor.process.kill()
    survivor.process.wait()
    assert survivor.left_behind() == []


@pytest.mark.parametrize("shared", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_driver_that_dies_leaves_a_charge_and_nothing_else(
    *,
    shared: bool,
    driver: Callable[[], Driver],
    publication: Publication,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = driver()
    everyone = descendants(killed.process.pid)
    deaths = [Death("draw", 4, "before", who=killed.process.pid)]
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    told = {"checkpoints": checkpoints.as_uri()} if shared else {}

    with pytest.raises(EOFError):
        killed.do("publish", deaths=deaths, **told, **publication.asked)

    assert gone([killed.process.pid, *everyone], seconds=LONGEST) == []
    publication.check_charged()
    assert killed.left_by_spark() == {"stdout", "stderr"}  # logs
    if shared:  # Java's process has removed it
        assert list(checkpoints.iterdir()) == []
    else:
        assert killed.left_behind()
    # The next start removes what was left, in the folder for temporary files that the driver had.
    monkeypatch.setattr(tempfile, "tempdir", str(killed.temporary))
    ht.publish(publication.asked["data"], **publication.asked["settings"])
    assert killed.left_behind() == []
    assert [entry.state for entry in publication.ledger.entries()] == ["unfinished", "finished"]
