"""Only laws know how noise falls off: nobody else writes the exponential of a rate."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "hushtable"
KNOWING = ("laws", "noise")
EXPONENTIALS = {"exp", "expm1", "log1p"}
FALLING = {"rate", "decay", "total_rate", "own_rate", "level_rate"}


def written(text: str) -> list[str]:
    """Return the exponentials of a rate, and logarithms of one, in a module."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and _name(node.func) in EXPONENTIALS:
            inside = {_name(each) for argument in node.args for each in ast.walk(argument)}
            if inside & FALLING:
                found.append(ast.unparse(node))
    return found


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id.strip("_")
    return node.attr.strip("_") if isinstance(node, ast.Attribute) else ""


def test_nobody_but_laws_knows_how_noise_falls_off() -> None:
    outside = [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).parts[0] not in KNOWING]
    assert len(outside) > 100
    formulas = {
        str(path.relative_to(SOURCES)): found for path in outside if (found := written(path.read_text()))
    }

    assert not formulas, "ask the law: `law.floats` has chances, moments and distances"


@pytest.mark.parametrize(
    "text",
    ["exp(-rate)", "np.exp(-self.noise.rate * x)", "-expm1(-float(terms.rate))", "math.log1p(-self._decay)"],
)
def test_a_formula_would_be_noticed(text: str) -> None:
    assert written(text)


@pytest.mark.parametrize("text", ["exp(-folds)", "log(rate)", "np.exp(score - other.score)", "rate * exp(x)"])
def test_what_is_no_such_formula_is_left_alone(text: str) -> None:
    assert not written(text)
