"""Break the sources on purpose, one mistake at a time, and see whether the tests notice.

python -m tests.audit mutants          all mistakes of `mutants`
python -m tests.audit mutants budget   those with these words

Each mistake is made in a copy of `src`; the tests that must fail run against that copy, in a process of their
own. First they run against a copy without any mistake: then all must pass.

Promise: a mistake is `caught` only if a test failed that passes without it; a run that ends for another
reason (nothing was collected, the module cannot be imported) is an error, and so is a text that is not there.
Cost: some seconds a mistake, mostly to start pytest.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

from tests.audit.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds: a mistake may be a loop without end

CAUGHT, SURVIVED = "caught", "SURVIVED"


class Broken(NamedTuple):
    """What became of a mistake."""

    mutant: Mutant
    verdict: str
    by: str  # the test that noticed, or what else there is to say
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether a test noticed."""
        return self.verdict == CAUGHT


class Copy(NamedTuple):
    """A copy of the sources, for one run of tests at a time."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Copy:
        """Copy the sources, and compile them."""
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(folder / "src", quiet=1)
        return cls(folder)

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """Make a mistake, and take it back."""
        path = self.folder / "src/hushtable" / mutant.file
        right = path.read_text()
        # What was compiled is told from its source by its size and its second: so it goes.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()
        try:
            path.write_text(right.replace(mutant.right, mutant.wrong))
            yield
        finally:
            path.write_text(right)

    def run(self, tests: Sequence[str], *, first: bool) -> tuple[int | None, str]:
        """Run tests against this copy; return what pytest says, None where it did not end."""
        surroundings = os.environ | {
            "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HUSHTABLE_AUDITED": str(self.folder / "src"),
        }
        surroundings.pop("HUSHTABLE_TEST_SEED", None)
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *["-x"] * first, *tests],
                cwd=ROOT,
                env=surroundings,
                capture_output=True,
                text=True,
                timeout=PATIENCE if first else None,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout


def tried(copy: Copy, mutant: Mutant) -> Broken:
    """Make one mistake, and run the tests that must notice."""
    began = monotonic()
    if (copy.folder / "src/hushtable" / mutant.file).read_text().count(mutant.right) != 1:
        return Broken(mutant, "ERROR", "its text does not stand there once: write it again", 0.0)
    with copy.broken(mutant):
        code, said = copy.run(mutant.tests, first=True)
    seconds = monotonic() - began
    failed = [
        line.partition(" ")[2].partition(" - ")[0]
        for line in said.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    if code is None:
        return Broken(mutant, CAUGHT, "a test that did not end", seconds)
    if code == 1 and failed:
        return Broken(mutant, CAUGHT, failed[0], seconds)
    if code == 0:
        return Broken(mutant, SURVIVED, "", seconds)
    return Broken(mutant, "ERROR", f"pytest ended with {code}", seconds)


def broken(words: Sequence[str], *, processes: int | None = None) -> Iterator[Broken]:
    """Try all mistakes with these words, in order; raise where a test fails without any."""
    chosen = [each for each in MUTANTS if all(word in f"{each.kind} {each.file}" for word in words)]
    if not chosen:
        return
    number = processes or len(os.sched_getaffinity(0))
    with TemporaryDirectory(prefix="hushtable-broken-") as folder, ThreadPoolExecutor(number) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for each in range(number):
            copies.put(Copy.made(Path(folder) / str(each)))
        first = copies.get()
        every = dict.fromkeys(test for each in chosen for test in each.tests)
        code, said = first.run(list(every), first=False)
        copies.put(first)
        if code != 0:
            raise RuntimeError(f"without any mistake, these tests do not pass:\n{said}")

        def next_one(mutant: Mutant) -> Broken:
            copy = copies.get()
            try:
                return tried(copy, mutant)
            finally:
                copies.put(copy)

        yield from pool.map(next_one, chosen)
