"""Break the sources at random: mistakes that nobody chose, of every place where one can be made.

make mutants                            200 mistakes, by a seed that is printed
make mutants ARGS=50                    the first 50 of them
make mutants ARGS=noise                 those in files with this word
make mutants HUSHTABLE_TEST_SEED=7031   those of a seed again

A mistake is one change in the syntax tree of a module: `<` for `<=`, `+` for `-`, another number, a condition
turned round, a call that is left out. Every place of `ROOMS` gives each of its changes once; of these, some
are drawn, all alike. Annotations, decorators and texts are left as they are.

Each try is a process forked from one that has loaded the libraries, and nothing of ours: it imports our
sources with the mistake in them, and runs the tests that pass without it, the quickest first, until one
fails. First those of the mistake's own room, then those of rooms above (`ABOVE`).
Promise: no source file is written to. What survives is listed, with the reason where one is known.
Cost: some seconds a mistake; a minute one that survives.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from math import sqrt
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

from tests.audit.breaking import CAUGHT, ROOT, SURVIVED

SOURCES = ROOT / "src/hushtable"
ROOMS = ("laws", "noise", "summaries", "table", "ledger")
# Tests of rooms that are built on a room: whatever its own tests let through meets these.
ABOVE = {
    "laws": ("tests/noise", "tests/structures", "tests/publishing/test_laws.py", "tests/audit/test_audit.py"),
    "noise": ("tests/audit/test_audit.py", "tests/publishing/test_laws.py"),
    "summaries": ("tests/audit/test_audit.py", "tests/structures", "tests/publishing/test_laws.py"),
    "table": (
        "tests/engines/test_levels.py",
        "tests/engines/test_counting.py",
        "tests/publishing/test_laws.py",
    ),
    "ledger": (
        "tests/publishing/test_people.py",
        "tests/publishing/test_running.py",
        "tests/cli/test_ledger.py",
    ),
}
OFTEN = 200
PATIENCE = 60.0  # seconds of processor time beside three times what the same tests take without a mistake
_ADDRESSES = 1 << 34  # of one process: a mistake may want all memory there is
_BROKEN = 99  # pytest has no such exit code
_LIBRARIES = (
    "numpy", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "duckdb", "flint", "click", "rich.console",
    "cryptography.hazmat.primitives.ciphers", "hypothesis", "hypothesis.extra.numpy", "pytest", "sqlite3",
    "pandas", "polars",
)  # fmt: skip

_OTHER: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
_NAMES |= {"lower": "upper", "upper": "lower"}


class Mistake(NamedTuple):
    """One change of a module: of which node of its tree, in the order of `ast.walk`, and how."""

    file: str  # below src/hushtable
    node: int
    way: int  # of the ways in which that node can be changed

    @property
    def room(self) -> str:
        """The room of its file."""
        return self.file.partition("/")[0]


class Told(NamedTuple):
    """What became of a mistake."""

    mistake: Mistake
    line: int
    right: str
    wrong: str
    verdict: str
    by: str  # the test that noticed; for one that survived, the reason, where it is known
    seconds: float  # of processor time

    @property
    def caught(self) -> bool:
        """Whether a test noticed."""
        return self.verdict == CAUGHT


def _ways(node: ast.AST) -> int:
    """Return in how many ways a node can be changed."""
    match node:
        case ast.Compare():
            return len(node.ops)
        case ast.BinOp() | ast.AugAssign():
            return int(type(node.op) in _OTHER)
        case ast.BoolOp() | ast.UnaryOp() | ast.Break() | ast.Continue():
            return int(not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.UAdd))
        case ast.Constant():
            return int(isinstance(node.value, int | float))
        case ast.If() | ast.While() | ast.IfExp():
            return 1
        case ast.Expr():
            return int(isinstance(node.value, ast.Call))
        case ast.Raise():
            return 1
        case ast.Return():
            return int(node.value is not None)
        case ast.Name():
            return int(node.id in _NAMES)
        case ast.Attribute():
            return int(node.attr in _NAMES)
    return 0


def _changed(node: Any, way: int) -> ast.AST:
    """Change a node in one of its ways; return what comes in its place."""
    match node:
        case ast.Compare():
            node.ops[way] = _OTHER[type(node.ops[way])]()
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            node.op = _OTHER[type(node.op)]()
        case ast.UnaryOp():
            return node.operand
        case ast.Break():
            return ast.Continue()
        case ast.Continue():
            return ast.Break()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Expr() | ast.Raise():
            return ast.Pass()
        case ast.Return():
            node.value = ast.Constant(None)
        case ast.Name():
            node.id = _NAMES[node.id]
        case ast.Attribute():
            node.attr = _NAMES[node.attr]
    return node  # type: ignore[no-any-return]


def _left_alone(tree: ast.Module) -> set[int]:
    """Return the nodes that only say of what type something is, or how a class or function is made."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                roots += [*node.decorator_list, node.returns]
            case ast.ClassDef():
                roots += node.decorator_list
            case ast.arg() | ast.AnnAssign():
                roots.append(node.annotation)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                roots.append(node)
            case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
                roots.append(node)
    return {id(below) for root in roots if root is not None for below in ast.walk(root)}


def mistakes(file: str) -> list[Mistake]:
    """Return every mistake that can be made in a file."""
    tree = ast.parse((SOURCES / file).read_text(encoding="utf-8"))
    closed = _left_alone(tree)
    return [
        Mistake(file, number, way)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in closed
        for way in range(_ways(node))
    ]


def every_mistake() -> list[Mistake]:
    """Return every mistake that can be made in these rooms."""
    files = [path for room in ROOMS for path in sorted((SOURCES / room).rglob("*.py"))]
    return [each for path in files for each in mistakes(path.relative_to(SOURCES).as_posix())]


def made(mistake: Mistake) -> tuple[ast.Module, int, str, str]:
    """Return a module with a mistake in it, its line, and what stands there instead of what."""
    tree = ast.parse((SOURCES / mistake.file).read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    node: Any = nodes[mistake.node]
    parents = {id(child): each for each in nodes for child in ast.iter_child_nodes(each)}
    shown = node
    while isinstance(shown, ast.Name | ast.Attribute | ast.Constant | ast.UnaryOp):
        shown = parents[id(shown)]  # a number alone says little
    right = _first_line(shown)
    instead = _changed(node, mistake.way)
    if instead is not node:
        _put(parents[id(node)], node, ast.copy_location(instead, node))
    wrong = _first_line(instead if shown is node else shown)
    ast.fix_missing_locations(tree)
    return tree, node.lineno, right, wrong


def _put(parent: Any, node: ast.AST, instead: ast.AST) -> None:
    """Put a node in the place of another."""
    for name, value in ast.iter_fields(parent):
        if value is node:
            setattr(parent, name, instead)
        elif isinstance(value, list):
            setattr(parent, name, [instead if each is node else each for each in value])


def _first_line(node: ast.AST) -> str:
    """Return the first line of a node as text."""
    return ast.unparse(node).partition("\n")[0]


class _Wrong(MetaPathFinder, Loader):
    """Imports one of our modules with a mistake in it."""

    def __init__(self, mistake: Mistake) -> None:
        parts = ["hushtable", *mistake.file.removesuffix(".py").split("/")]
        self.name = ".".join(parts).removesuffix(".__init__")
        self.path, self.tree = SOURCES / mistake.file, made(mistake)[0]

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """Find the module, or leave it to others."""
        if fullname != self.name:
            return None
        package = self.path.name == "__init__.py"
        spec = spec_from_loader(fullname, self, origin=str(self.path), is_package=package)
        if spec is not None and package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        module.__file__ = str(self.path)
        exec(compile(self.tree, str(self.path), "exec"), vars(module))


class _Quickest:
    """Lets pytest run quick tests first, and only those that are known to pass; tells what failed or took."""

    def __init__(self, took: dict[str, float], told: Path) -> None:
        self.took, self.told = took, told
        self.known = dict[str, float]()
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.took:
            items[:] = [each for each in items if each.nodeid in self.took]
            items.sort(key=lambda each: int(100 * self.took[each.nodeid]).bit_length())

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
        self.known[report.nodeid] = self.known.get(report.nodeid, 0.0) + report.duration

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid or "import"

    def pytest_sessionfinish(self) -> None:
        said = {"failed": self.failed, "took": self.known}
        self.told.write_text(json.dumps(said), encoding="utf-8")


class _Run(NamedTuple):
    """How a run of tests ended: pytest's code, what failed, what each test took, and processor time."""

    code: int
    failed: str
    took: dict[str, float]
    seconds: float


def _run(tests: Sequence[str], mistake: Mistake | None, took: dict[str, float], most: float) -> _Run:
    """Run tests in a process of its own, with a mistake or without."""
    with TemporaryDirectory(prefix="hushtable-drawn-") as folder:
        told = Path(folder) / "told"
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            code = _BROKEN
            try:
                os.setpgid(0, 0)
                os.chdir(ROOT)
                silent = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silent, stream)
                resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most) + 5))
                resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
                os.environ.pop("HUSHTABLE_TEST_SEED", None)  # the tests are those of every run
                if mistake is not None:
                    sys.meta_path.insert(0, _Wrong(mistake))
                import pytest

                words = ["-q", "-p", "no:cacheprovider", "--tb=no", *["-x"] * (mistake is not None)]
                words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of libraries that are loaded
                code = int(pytest.main([*words, *tests], plugins=[_Quickest(took, told)]))
            finally:
                os._exit(code)
        began = time.monotonic()
        _, status, used = _waited(process, began + 20 * most)
        with suppress(ProcessLookupError):
            os.killpg(process, 9)  # what its tests started and left
        said: dict[str, Any] = {"failed": "", "took": {}}
        if told.exists():
            said = json.loads(told.read_text(encoding="utf-8"))
    code = os.waitstatus_to_exitcode(status)
    if code == _BROKEN:
        raise RuntimeError(f"pytest itself did not come to its end, with {mistake}")
    return _Run(code, said["failed"], said["took"], used.ru_utime + used.ru_stime)


def _waited(process: int, end: float) -> tuple[int, int, resource.struct_rusage]:
    """Wait for a process; end it where it waits for ever itself."""
    while True:
        found = os.wait4(process, os.WNOHANG)
        if found[0]:
            return found
        if time.monotonic() > end:
            os.kill(process, 9)
            return os.wait4(process, 0)
        time.sleep(0.01)


@cache
def _took(tests: tuple[str, ...]) -> dict[str, float]:
    """Return how long each of some tests takes; raise where one fails without any mistake."""
    run = _run(tests, None, {}, 3600.0)
    if run.code:
        raise RuntimeError(f"without any mistake, these tests do not pass: {run.failed or tests}")
    return run.took


def tests_of(room: str) -> tuple[tuple[str, ...], ...]:
    """Return the tests that must notice mistakes in a room: its own, then others."""
    return (f"tests/{room}",), ABOVE[room]


def tried(mistake: Mistake) -> Told:
    """Make one mistake, and run the tests that may notice."""
    if "hushtable" in sys.modules:
        raise RuntimeError("our sources are loaded already, without the mistake")
    _, line, right, wrong = made(mistake)
    seconds, verdict, by = 0.0, SURVIVED, ""
    for tests in tests_of(mistake.room):
        took = _took(tests)
        run = _run(tests, mistake, took, PATIENCE + 3 * sum(took.values()))
        seconds += run.seconds
        if run.code:
            by = run.failed or ("no end" if run.code < 0 else "the import")
            verdict = CAUGHT
            break
    return Told(mistake, line, right, wrong, verdict, by, seconds)


@cache
def seed() -> int:
    """Return the seed of this run: the one that is given, or a fresh one."""
    return int(os.environ.get("HUSHTABLE_TEST_SEED") or secrets.randbelow(2**32))


def drawn(words: Sequence[str] = ()) -> Iterator[Told]:
    """Give what became of mistakes that are drawn by the seed; raise where tests fail without any.

    A word that is a number says how many; the others stand in the file. It is done by a process of its own,
    which has not loaded our sources.
    """
    often = next((int(word) for word in words if word.isdecimal()), OFTEN)
    every, names = every_mistake(), [word for word in words if not word.isdecimal()]
    chosen = Random(seed()).sample(every, len(every))[:often]
    chosen = [each for each in chosen if all(word in each.file for word in names)]
    command = [sys.executable, "-m", "tests.audit.drawn", json.dumps(chosen)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            mistake, *others = json.loads(line)
            told = Told(Mistake(*mistake), *others)
            reason = REASONS.get((told.mistake.file, told.right, told.wrong), "")
            yield told._replace(by=told.by or reason)
    if process.returncode:
        raise RuntimeError("the tries did not come to their end; what is said above tells why")


def _all_tried(chosen: Sequence[Mistake]) -> None:
    """Try some mistakes, and print what became of each."""
    for name in _LIBRARIES:
        import_module(name)
    for each in chosen:
        print(json.dumps(tried(each)), flush=True)


def between(caught: int, tried: int) -> tuple[float, float]:
    """Return the bounds of a share at 95% confidence, by Wilson's formula.

    >>> tuple(round(each, 3) for each in between(95, 100))
    (0.888, 0.978)
    """
    z, share = 1.959964, caught / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z / (1 + z * z / tried) * sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return middle - half, middle + half


# Why a mistake that survived changes nothing that anybody is promised.
REASONS: dict[tuple[str, str, str], str] = {
    ("laws/balls.py", "bits > _HIGHEST_PRECISION", "bits >= _HIGHEST_PRECISION"): (
        "Only a bug asks for so many bits, and either limit ends it."
    ),
    ("noise/binomial.py", "2 * trials.bit_length()", "3 * trials.bit_length()"): (
        "More bits than are needed: balls certify every decision, so the law stays as it is."
    ),
}


if __name__ == "__main__":
    _all_tried([Mistake(*each) for each in json.loads(sys.argv[1])])
