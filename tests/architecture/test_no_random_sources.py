"""Only noise/entropy.py touches a random source. Ruff bans the names (TID251); here is what it cannot see.

That is: a source named in a string (a dynamic import, a device, SQL) and a comment that lifts the ban.
"""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "hushtable"
ALLOWED = PACKAGE / "noise" / "entropy.py"

IN_STRINGS = re.compile(
    r"^(random|secrets|uuid|numpy\.random|urandom|getrandom)$"
    r"|/dev/u?random"
    r"|\b(random|setseed|uuid|uuidv[47]|gen_random_uuid) *\(",
    flags=re.IGNORECASE,
)
LIFTED_BAN = re.compile(r"#.*\bTID251\b")


def random_sources(code: str) -> list[str]:
    """Each hidden random source as `line: what`."""
    tree = ast.parse(code)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and IN_STRINGS.search(node.value)
    ]
    found += [(number, line) for number, line in enumerate(code.splitlines(), 1) if LIFTED_BAN.search(line)]
    return [f"{number}: {what}" for number, what in sorted(found)]


def test_no_hidden_random_source() -> None:
    sources = sorted(set(PACKAGE.rglob("*.py")) - {ALLOWED})
    assert len(sources) > 300

    found = {path: random_sources(path.read_text(encoding="utf-8")) for path in sources}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import_module('random')",
        "__import__('numpy.random')",
        "getattr(os, name or 'urandom')",
        "open('/dev/urandom', 'rb')",
        "connection.sql(f'SELECT {column} FROM rows WHERE random() < 0.5')",
        "os.urandom(8)  # noqa: TID251",
        "os.urandom(8)  # ruff: ignore[TID251]",
    ],
)
def test_a_hidden_random_source_is_noticed(line: str) -> None:
    assert len(random_sources(f"x = {line}")) == 1


def test_prose_may_speak_of_random_sources() -> None:
    assert random_sources('"""Never calls random(), see TID251."""\nx = "a randomly chosen cell"') == []
