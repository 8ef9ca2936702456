"""The seams hold: nobody asks which law, method or structure something is; a class name means one thing."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from hushtable.methods.settings import METHODS
from hushtable.structures.registry import STRUCTURES
from tests.architecture.picture import PICTURE, drawn

PACKAGE = Path(__file__).parents[2] / "src" / "hushtable"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SPACES = {"AxisSpace", "CellSpace", "TableSpace", "PrunedSpace", "SketchSpace"}
KINDS = {kind.__name__ for kind in (*STRUCTURES.values(), *METHODS.values())} | SPACES | {"Geometric"}


def asks(code: str) -> list[str]:
    """Each line that asks which structure, method or law something is: isinstance, a pattern, a union."""
    found = []
    for node in ast.walk(ast.parse(code)):
        named: set[str] = set()
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "isinstance":
            named = names(node.args[1])
        elif isinstance(node, ast.MatchClass):
            named = names(node.cls)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            named = names(node) if len(names(node) & KINDS) > 1 else set()
        if named & KINDS:
            found.append(f"{getattr(node, 'lineno', 0)}: {', '.join(sorted(named & KINDS))}")
    return found


def names(node: ast.AST) -> set[str]:
    """All names in an expression."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_nobody_asks_which_structure_method_or_law_something_is() -> None:
    assert len(SOURCES) > 300

    found = {path: asks(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(structure, Tree)",
        "isinstance(nodes, TableSpace | SketchSpace)",
        "isinstance(method, (Filter, Priority))",
        "x: Filter | Priority",
        "isinstance(law, Geometric)",
    ],
)
def test_a_question_is_noticed(line: str) -> None:
    assert len(asks(line)) >= 1


def test_a_pattern_is_noticed() -> None:
    assert asks("match method:\n    case Filter(size=size):\n        pass") == ["2: Filter"]


def test_a_class_name_is_used_once() -> None:
    used = Counter(
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )

    assert [name for name, times in used.items() if times > 1] == []


def test_the_picture_of_the_rooms_is_that_of_the_code() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(), "give: python -m tests.architecture.picture"
