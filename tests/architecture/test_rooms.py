"""The rooms: every folder has its place, and the public side never reaches the private side.

The order of the rooms stands once, in pyproject.toml, and `lint-imports` checks it. Here stands what
import-linter cannot say: rules about rooms that do not exist yet.
"""

import importlib
import tomllib
from itertools import product
from pathlib import Path
from typing import Any

import grimp
import pytest

import hushtable

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hushtable"

PUBLIC_SIDE = (
    "answers",
    "conditions",
    "files",
    "laws",
    "methods",
    "pages",
    "planning",
    "plots",
    "release",
    "structures",
)
PRIVATE_SIDE = ("table", "noise", "engines", "ledger", "summaries")


def contract(identifier: str) -> dict[str, Any]:
    """One import-linter contract of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (found,) = (c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == identifier)
    return dict(found)


def declared_rooms() -> set[str]:
    lines: list[str] = contract("rooms")["layers"]
    return {room.strip(" ()") for line in lines for room in line.split("|")}


def misplaced(package: Path, rooms: set[str]) -> list[str]:
    """What lies directly in the package and is no room. Folders count even without an `__init__.py`."""
    return sorted(
        child.name
        for child in package.iterdir()
        if (child.is_dir() and child.name != "__pycache__" and child.name not in rooms)
        or (child.suffix == ".py" and child.stem not in rooms | {"__init__", "__main__"})
    )


def forbidden_chains(graph: grimp.ImportGraph) -> set[str]:
    """Every way, direct or not, in which the public side reaches the private side."""
    sources = {f"hushtable.{room}" for room in PUBLIC_SIDE} & graph.modules
    targets = {f"hushtable.{room}" for room in PRIVATE_SIDE} & graph.modules
    return {
        " -> ".join(chain)
        for source, target in product(sources, targets)
        for chain in graph.find_shortest_chains(source, target, as_packages=True)
    }


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("hushtable", cache_dir=None)


def test_every_folder_and_module_is_a_room() -> None:
    assert misplaced(PACKAGE, declared_rooms()) == [], "give it a place in pyproject.toml, contract `rooms`"


def test_a_folder_without_a_place_is_noticed(tmp_path: Path) -> None:
    for name in ("laws", "attic", "__pycache__"):
        (tmp_path / name).mkdir()
    for name in ("__init__.py", "errors.py", "helpers.py", "py.typed"):
        (tmp_path / name).touch()

    assert misplaced(tmp_path, {"laws", "errors"}) == ["attic", "helpers.py"]


def test_every_folder_with_code_is_a_package() -> None:
    # Without an `__init__.py` the import graph does not see what is inside.
    folders = {module.parent for module in PACKAGE.rglob("*.py")}

    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_sides_are_rooms() -> None:
    assert {*PUBLIC_SIDE, *PRIVATE_SIDE} <= declared_rooms()


def test_the_public_side_never_reaches_the_private_side(graph: grimp.ImportGraph) -> None:
    assert forbidden_chains(graph) == set()


def test_a_detour_to_the_private_side_is_noticed() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (
        ("hushtable.answers.answer", "hushtable.domain.cell"),
        ("hushtable.domain.cell", "hushtable.noise.entropy"),
    ):
        for module in (importer, imported):
            graph.add_module(module)
            graph.add_module(module.rpartition(".")[0])
        graph.add_import(importer=importer, imported=imported)

    assert forbidden_chains(graph) == {
        "hushtable.answers.answer -> hushtable.domain.cell -> hushtable.noise.entropy"
    }


@pytest.mark.parametrize(
    ("key", "side"), [("source_modules", PUBLIC_SIDE), ("forbidden_modules", PRIVATE_SIDE)]
)
def test_the_contract_names_every_room_that_exists(
    key: str, side: tuple[str, ...], graph: grimp.ImportGraph
) -> None:
    present = {f"hushtable.{room}" for room in side} & graph.modules

    assert set(contract("public-side")[key]) == present, f"pyproject.toml, contract `public-side`, {key}"


def test_no_room_enters_by_the_front_door(graph: grimp.ImportGraph) -> None:
    # `hushtable/__init__.py` stands above all rooms and loads them lazily, so an import of it would
    # reach every room unseen. Only the command line may use the public names.
    callers = {
        name for name in graph.find_modules_that_directly_import("hushtable") if name.split(".")[1] != "cli"
    }

    assert callers == set(), "import the name from the room it lives in"


def test_every_public_name_resolves() -> None:
    assert len(set(hushtable.__all__)) == len(hushtable.__all__)
    missing = [name for name in hushtable.__all__ if not hasattr(hushtable, name)]

    assert missing == []


def test_every_public_name_is_listed_by_dir() -> None:
    # Names that load lazily are found by completion only if `__dir__` knows them.
    assert set(hushtable.__all__) <= set(dir(importlib.import_module("hushtable")))


def test_the_version_agrees_with_the_project() -> None:
    assert hushtable.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
