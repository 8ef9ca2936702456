"""Stop the product at any moment, and take away its disk, its memory and its clock; then look what is left.

python -m tests.audit faults          all of them
python -m tests.audit faults kill     those with this word

Each try is a process of its own, forked from one that has loaded everything, so that a thousand of them take
minutes. It does one job, as the command does it, and is killed or starved at a moment drawn anew. Then, with
nothing running, this must hold, and must hold again once the next one has done the same job undisturbed:

* the ledger opens; its entries say what is spent; none is lost that was there before;
* every release under its name is whole; if it is a new one, even in the place of another, the ledger has an
  entry more than before;
* of what was to be replaced, the old one is there or the new one;
* no file holds a value of the rows but the rows themselves, and after the next one no temporary file is left;
* what was said names no value of the rows, and ends in one of the exit codes that the command has.

A fault that never stopped anything is a finding too: then it was not tried.
Cost: some 0.1 s a try.
"""

from __future__ import annotations

import os
import re
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import hushtable
import hushtable as ht
from hushtable.cli.main import main
from hushtable.ledger import ledger as accounts

CANARY = "Jane-Roe-9417"  # stands in the rows, and nowhere else
TOWNS = [f"town-{number:03}" for number in range(200)]
EXIT_CODES = frozenset({0, 1, 2, 3, 4, 5, 6, 130, 143})
LONGEST = 60.0  # seconds of one try
_ABORT = "cannot allocate memory for thread-local data"  # says the C library, and ends the process

DOMAIN = """
title = "People"
[[attribute]]
name = "town"
categories = { file = "towns.csv", column = "town" }
[[attribute]]
name = "age"
integers = { low = 0, high = 99 }
"""
RUN = """
ledger = "people.ledger"
[defaults]
data = "rows.parquet"
domain = "people.toml"
unit = { column = "person", max_rows = 2 }
[[release]]
name = "first"
epsilon = "0.1"
where = "age >= 1"
size = 50
overwrite = true
output = "out-first.parquet"
[[release]]
name = "second"
structure = "tree"
size = 50
epsilon = "0.1"
overwrite = true
output = "out-second.parquet"
"""
PUBLISH = ["publish", "rows.parquet", "--domain", "people.toml", "--epsilon", "0.1", "--size", "200"]
PUBLISH += ["--unit", "person", "--max-rows", "2", "--ledger", "people.ledger"]
OVER = ["--output", "out-same.parquet", "--overwrite"]


class Job(NamedTuple):
    """What is done again and again: its name, the words of the command, and what must be there before."""

    name: str
    words: Callable[[int], list[str]]
    charges: bool = True
    grows: bool = True  # it takes more memory than a process has that has loaded everything


JOBS = [
    Job("publish", lambda number: [*PUBLISH, "--output", "out-0.parquet"]),
    Job(
        "publish over another",
        lambda number: [*PUBLISH, "--where", "age >= 1", *OVER],
    ),
    Job("run", lambda number: ["run", "releases.toml"]),
    Job(
        "thin",
        lambda number: ["thin", "whole.parquet", "--size", "100", "-o", "thinned.parquet", "--overwrite"],
        charges=False,
    ),
    Job(
        "ledger create",
        lambda number: ["ledger", "create", f"new-{number}.ledger", "--epsilon", "1", "--about", "people"],
        charges=False,
        grows=False,
    ),
]


class Ended(NamedTuple):
    """How one try ended: its exit code, or minus the signal that ended it, and what it said."""

    code: int
    said: str
    seconds: float


class Finding(NamedTuple):
    """One row of the page."""

    fault: str
    tries: int
    stopped: int  # of those, how many did not come to their end
    worst: str  # what was wrong, if anything was

    @property
    def holds(self) -> bool:
        """Whether nothing was wrong."""
        return not self.worst

    def struck(self) -> Finding:
        """Return this, or that it proves nothing: no try was stopped."""
        if self.stopped or self.worst:
            return self
        return self._replace(worst="it stopped nothing, so it shows nothing")


class Scene:
    """A folder with rows, a domain, a ledger and a release; and what must hold in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.temporary.mkdir()
        chance = Random(1)
        rows = 4_000
        town = [chance.choice(TOWNS) for _ in range(rows)]
        person = [f"{CANARY}-{number // 3}" for number in range(rows)]
        pq.write_table(
            pa.table({"town": town, "age": [chance.randrange(100) for _ in range(rows)], "person": person}),
            folder / "rows.parquet",
        )
        (folder / "towns.csv").write_text("\n".join(["town", *TOWNS]) + "\n")
        (folder / "people.toml").write_text(DOMAIN)
        (folder / "releases.toml").write_text(RUN)
        self.ledger = ht.Ledger.create(folder / "people.ledger", epsilon=10**6, about="people", unit="person")
        whole = self.did([*PUBLISH, "--output", "whole.parquet"])
        assert whole.code == 0, whole.said
        self.number = 0
        self.entries = len(self.ledger.entries())
        self.outputs = self._outputs()

    def did(
        self,
        words: Sequence[str],
        *,
        within: Callable[[], object] = lambda: None,
        after: Callable[[int], object] = lambda process: None,
    ) -> Ended:
        """Do a job in a process of its own: `within` it something first; `after` it began, something here."""
        began = time.monotonic()
        with tempfile.TemporaryFile("w+") as said:
            sys.stdout.flush()
            process = os.fork()
            if process == 0:
                code = 1
                try:
                    os.chdir(self.folder)
                    os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                    within()
                    try:
                        sys.argv = ["hushtable", *words]
                        main()
                        code = 0
                    except SystemExit as end:
                        code = end.code if isinstance(end.code, int) else 1
                finally:
                    with suppress(Exception):
                        sys.stdout.flush()
                        sys.stderr.flush()
                    os._exit(code)
            after(process)
            status = _waited(process, LONGEST)
            said.seek(0)
            text = said.read()
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, text, time.monotonic() - began)

    def wrong(self, ended: Ended, *, charges: bool) -> str:
        """Return what does not hold, or nothing."""
        if CANARY in ended.said:
            return "a value of the rows was said"
        if "Traceback" in ended.said:
            return f"a traceback: {ended.said[-300:]}"
        if ended.code >= 0 and ended.code not in EXIT_CODES and _ABORT not in ended.said:
            return f"exit code {ended.code}: {ended.said[-300:]}"
        entries = self.ledger.entries()
        if len(entries) < self.entries:
            return "an entry of the ledger is lost"
        if self.ledger.spent != len(entries) * Fraction(1, 10):
            return "the ledger does not say what is spent"
        if ended.code == 0 and charges and len(entries) == self.entries:
            return "published, and nothing was charged"
        if charges and (self.folder / "out-0.parquet").exists() and len(entries) == self.entries:
            return "an output without a charge"
        new, self.outputs = {*self._outputs()} - {*self.outputs}, self._outputs()
        if len(new) > len(entries) - self.entries:
            return f"{len(new)} new outputs, and {len(entries) - self.entries} charges"
        self.entries = len(entries)
        for path in self.folder.iterdir():
            if path.suffix == ".parquet" and path.name != "rows.parquet" and not path.name.startswith("."):
                try:
                    release = ht.open(path)
                    len(release)
                except ht.HushtableError as error:
                    return f"{path.name} is no whole release: {error}"
            if path.suffix == ".ledger":
                try:
                    ht.Ledger.open(path).entries()
                except ht.HushtableError as error:
                    return f"{path.name} is no whole ledger: {error}"
        outputs = {path.name for path in self.folder.glob("out-*.parquet")} | {"whole.parquet"}
        charged = {entry.what.split(":")[0] for entry in entries}
        if not outputs <= charged:
            return f"not charged: {sorted(outputs - charged)}"
        return self._private()

    def _outputs(self) -> list[tuple[str, bytes]]:
        """Return the releases that a charge must have paid for, as they are now."""
        return [(path.name, sha256(path.read_bytes()).digest()) for path in self.folder.glob("out-*.parquet")]

    def _private(self) -> str:
        """Return which file holds a value of the rows where none may."""
        for path in self.folder.rglob("*"):
            inside = self.temporary in path.parents
            shut = inside and path.parent.stat().st_mode & 0o077 == 0
            # A process that was killed leaves its own folder, which nobody else can read.
            spoken = path.is_file() and path.name != "rows.parquet" and CANARY.encode() in path.read_bytes()
            if spoken and not shut:
                return f"a value of the rows is in {path.name}"
        return ""

    def left(self) -> str:
        """Return what temporary files are left, where there may be none."""
        files = [path.name for path in self.temporary.rglob("*") if path.is_file()]
        partial = [path.name for path in self.folder.iterdir() if path.name.endswith(".partial")]
        if files:
            return f"left behind: {files[:3]}"
        return f"left behind: {partial[:3]}" if partial else ""


def _waited(process: int, longest: float) -> int:
    """Wait for a process; end it where it takes too long."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    raise AssertionError("a try did not end")


def _next(scene: Scene, job: Job) -> list[str]:
    scene.number += 1
    if job.name == "run":
        # What was charged stays charged: only names that are new are due.
        text = re.sub(r'name = "(\w+)"', rf'name = "\1-{scene.number}"', RUN)
        (scene.folder / "releases.toml").write_text(text)
    for path in scene.folder.glob("out-[0-9]*.parquet"):
        path.unlink()
    for path in scene.folder.glob("new-*.ledger"):
        path.unlink()
    return job.words(scene.number)


def stopped_at_random(scene: Scene, job: Job, number: int, tries: int) -> Finding:
    """Send a signal at a moment that is drawn anew each time."""
    name = f"{signal.Signals(number).name} at random, {job.name}"
    chance, stopped = Random(secrets.randbits(64)), 0
    whole = scene.did(_next(scene, job))
    if whole.code:
        return Finding(name, 1, 0, f"it fails undisturbed: {whole.said[-300:]}")
    for _ in range(tries):
        moment = chance.uniform(0, 1.05 * whole.seconds)

        def send(process: int, moment: float = moment) -> None:
            time.sleep(moment)
            with suppress(ProcessLookupError):
                os.kill(process, number)

        ended = scene.did(_next(scene, job), after=send)
        stopped += ended.code != 0
        if worst := scene.wrong(ended, charges=job.charges):
            return Finding(name, tries, stopped, worst)
    return Finding(name, tries, stopped, _undisturbed(scene, job)).struck()


def _undisturbed(scene: Scene, job: Job) -> str:
    """Do the job once more; return what is wrong then."""
    last = scene.did(_next(scene, job))
    if last.code:
        return f"the next one fails: {last.said[-300:]}"
    return scene.wrong(last, charges=job.charges) or scene.left()


def short_of_disk(scene: Scene, job: Job, tries: int) -> Finding:
    """Let no file grow beyond a size that is drawn anew: each write that reaches it fails."""
    chance, stopped = Random(secrets.randbits(64)), 0
    sizes = [0, 1, 511, 512, 4096, *(int(10 ** chance.uniform(0, 5.3)) for _ in range(tries))][:tries]
    for size in sizes:

        def limit(size: int = size) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        ended = scene.did(_next(scene, job), within=limit)
        stopped += ended.code != 0
        if worst := scene.wrong(ended, charges=job.charges):
            return Finding(f"files of at most so many bytes, {job.name}", tries, stopped, f"{size}: {worst}")
    name = f"files of at most so many bytes, {job.name}"
    return Finding(name, tries, stopped, _undisturbed(scene, job)).struck()


def full_disk(job: Job, tries: int) -> Finding:
    """Do it on a disk of its own that has so much room, and no more; no try where none can be mounted."""
    chance, stopped = Random(secrets.randbits(64)), 0
    with _folder() as place:
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=False).returncode:
            return Finding(f"a full disk, {job.name}", 0, 0, "")
        try:
            scene = Scene(Path(place))
            for number in range(tries):
                words, disk = _next(scene, job), os.statvfs(place)
                used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
                _remount(place, used + (chance.randrange(0, 200_000) if number else 0))
                ended = scene.did(words)
                stopped += ended.code != 0
                _remount(place, 1 << 28)
                if worst := scene.wrong(ended, charges=job.charges):
                    return Finding(f"a full disk, {job.name}", tries, stopped, worst)
            worst = _undisturbed(scene, job)
        finally:
            subprocess.run(["umount", "-l", place], check=False)
    return Finding(f"a full disk, {job.name}", tries, stopped, worst).struck()


def _remount(place: str, room: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={room}", place], check=True)


def short_of_memory(scene: Scene, job: Job, tries: int) -> Finding:
    """Let the process have some more memory than it has when it begins, and no more."""
    chance, stopped, ends = Random(secrets.randbits(64)), 0, Counter[int]()
    for number in range(tries):
        more = int(10 ** chance.uniform(5, 9)) if number else 0

        def limit(more: int = more) -> None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            size = pages * resource.getpagesize() + more
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        ended = scene.did(_next(scene, job), within=limit)
        ends[ended.code] += 1
        stopped += ended.code != 0
        if worst := scene.wrong(ended, charges=job.charges):
            return Finding(f"little memory, {job.name}", tries, stopped, worst)
    return Finding(f"little memory, {job.name}", tries, stopped, _undisturbed(scene, job)).struck()


def _turn(moment: float) -> None:
    """Set all clocks of this process to a moment."""

    class Clock(datetime):
        """Tells one moment for ever."""

        @classmethod
        def now(cls, zone: Any = None) -> Clock:
            return cls.fromtimestamp(moment, UTC)

    vars(accounts)["datetime"] = Clock
    time.time = lambda: moment


def clock_jumps(scene: Scene, job: Job, tries: int) -> Finding:
    """Let each process have another time: years back, years ahead, each of them anew."""
    chance, stopped = Random(secrets.randbits(64)), 0
    for _ in range(tries):
        ended = scene.did(_next(scene, job), within=partial(_turn, chance.uniform(0, 4e9)))
        stopped += ended.code != 0
        if ended.code:
            return Finding(f"clock jumps, {job.name}", tries, stopped, ended.said[-300:])
        if worst := scene.wrong(ended, charges=job.charges):
            return Finding(f"clock jumps, {job.name}", tries, stopped, worst)
    return Finding(f"clock jumps, {job.name}", tries, stopped, "")


def several_at_once(scene: Scene, rounds: int, publishers: int = 4) -> Finding:
    """Let several publish under one name: one of them does, and whoever drew has paid."""
    stopped = 0
    for _ in range(rounds):
        output = scene.folder / "out-0.parquet"
        output.unlink(missing_ok=True)
        before, gate, ends = len(scene.ledger.entries()), os.pipe(), list[int]()
        processes = []
        for _ in range(publishers):
            process = os.fork()
            if process == 0:
                os.chdir(scene.folder)
                os.environ["TMPDIR"] = tempfile.tempdir = str(scene.temporary)
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                os.close(gate[1])
                os.read(gate[0], 1)  # until all are there
                code = 1
                try:
                    sys.argv = ["hushtable", *PUBLISH, "--output", "out-0.parquet"]
                    main()
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else 1
                finally:
                    os._exit(code)
            processes.append(process)
        os.close(gate[0])
        os.close(gate[1])
        ends = [os.waitstatus_to_exitcode(_waited(process, LONGEST)) for process in processes]
        entries = scene.ledger.entries()[before:]
        finished = [entry for entry in entries if entry.digest]
        stopped += sum(code != 0 for code in ends)
        if ends.count(0) != 1 or len(finished) != 1:
            return Finding("several publish under one name", rounds, stopped, f"{ends}: not one of them did")
        if worst := scene.wrong(Ended(3, "", 0.0), charges=False):
            return Finding("several publish under one name", rounds, stopped, worst)
    return Finding("several publish under one name", rounds, stopped, scene.left())


def put_back(scene: Scene) -> Finding:
    """Go on with the ledger of yesterday: whatever would write over an output that it does not know stops."""
    name, tries, stopped = "an old ledger is put back", 0, 0
    recipes = scene.folder / "releases.toml"
    recipes.write_text(RUN.replace("overwrite = true\n", ""))
    ledger, old = scene.folder / "people.ledger", scene.folder / "yesterday"
    for words in (["run", "releases.toml"], [*PUBLISH, "--output", "out-0.parquet"]):
        shutil.copyfile(ledger, old)
        first = scene.did(words)
        if worst := scene.wrong(first, charges=True) or first.said * (first.code != 0):
            return Finding(name, tries, stopped, worst)
        kept = ledger.read_bytes()
        shutil.copyfile(old, ledger)
        charged = len(scene.ledger.entries())
        again = scene.did(words)
        same = len(scene.ledger.entries()) == charged
        ledger.write_bytes(kept)
        tries, stopped = tries + 1, stopped + (again.code != 0)
        if again.code == 0 or not same:
            return Finding(name, tries, stopped, f"nobody noticed: {again.said[-200:]}")
        if worst := scene.wrong(again, charges=False):
            return Finding(name, tries, stopped, worst)
    return Finding(name, tries, stopped, scene.left())


def read_only(scene: Scene) -> Finding:
    """Publish into a disk that cannot be written to: nothing is charged. No try where there can be none."""
    name, shut = "a disk that cannot be written to", scene.folder / "shut"
    shut.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(shut)]
    if os.geteuid() == 0 and subprocess.run(mount, check=False).returncode:
        return Finding(name, 0, 0, "")
    if os.geteuid():
        shut.chmod(0o555)
    before = len(scene.ledger.entries())
    try:
        ended = scene.did([*PUBLISH, "--output", "shut/out.parquet"])
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", "-l", str(shut)], check=False)
    shut.rmdir()
    scene.entries = len(scene.ledger.entries())
    if ended.code == 0 or scene.entries != before:
        return Finding(name, 1, 1, f"it was charged, or ended with {ended.code}: {ended.said[-200:]}")
    return Finding(name, 1, 1, scene.wrong(ended, charges=False))


@contextmanager
def scene() -> Iterator[Scene]:
    """Give a folder with all that is needed."""
    with _folder() as folder:
        yield Scene(Path(folder))


@contextmanager
def _folder() -> Iterator[str]:
    """Give a folder that this process removes, and no child of it: a command ends as Python does."""
    folder = tempfile.mkdtemp(prefix="hushtable-faults-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def found(words: Sequence[str] = (), *, tries: int = 200) -> Iterator[Finding]:
    """Give what each fault led to: with so many kills of each job, and fewer of what takes longer."""
    for each in walk_packages(hushtable.__path__, "hushtable."):
        if not each.name.endswith("__main__") and ".spark." not in each.name:
            import_module(each.name)
    for name in ("duckdb", "flint", "pyarrow.compute", "pyarrow.parquet", "sqlite3"):
        import_module(name)
    few = max(2, tries // 5)

    def wanted(name: str) -> bool:
        return all(word.lower() in name.lower() for word in words)

    for job in JOBS:
        for number, often in ((signal.SIGKILL, tries), (signal.SIGTERM, few), (signal.SIGINT, few)):
            if wanted(f"{signal.Signals(number).name} at random, {job.name}"):
                with scene() as place:
                    yield stopped_at_random(place, job, number, often)
        for fault, often in ((short_of_disk, few), (short_of_memory, few), (clock_jumps, max(2, few // 4))):
            if wanted(f"{fault.__name__.replace('_', ' ')} {job.name}") and (
                job.grows or fault is not short_of_memory
            ):
                with scene() as place:
                    yield fault(place, job, often)
        if wanted(f"a full disk, {job.name}"):
            yield full_disk(job, few)
    if wanted("several publish under one name"):
        with scene() as place:
            yield several_at_once(place, max(2, few // 4))
    if wanted("an old ledger is put back"):
        with scene() as place:
            yield put_back(place)
    if wanted("a disk that cannot be written to"):
        with scene() as place:
            yield read_only(place)
