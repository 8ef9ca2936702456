"""Whatever is installed with hushtable has a licence under which it may be used with ours, and is listed."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from tests.packaging.bill import BILL, EXTRAS, ROOT, bill, licence, parts, pins

# Permissive; python-flint brings FLINT, GMP and MPFR as libraries of their own, which the LGPL allows.
KNOWN = re.compile(
    r"MIT(-0|-CMU)?|BSD-[23]-Clause|0BSD|Apache-2\.0|Zlib|CC0-1\.0|PSF-2\.0|Python-2\.0|LGPL-3\.0-or-later"
)


def allowed(said: str) -> bool:
    """Whether all licences that are stated are known, or one of those among which there is a choice."""
    return any(
        all(KNOWN.fullmatch(each) for each in choice.split(" AND "))
        for choice in said.replace("(", "").replace(")", "").split(" OR ")
    )


def test_licences_go_with_ours() -> None:
    found = {part.name: part.licence for part in parts()}

    assert {"numpy", "pyarrow", "duckdb", "cryptography", "python-flint", "matplotlib", "openpyxl"} <= set(
        found
    )
    assert {name: said for name, said in found.items() if not allowed(said)} == {}


@pytest.mark.parametrize(
    ("said", "goes"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("", False),
        ("AGPL", False),
    ],
)
def test_other_licences_are_noticed(said: str, goes: bool) -> None:
    assert allowed(said) == goes


def test_the_bill_of_materials_is_what_is_installed() -> None:
    said = json.loads(bill())
    own = said["metadata"]["component"]
    listed = {each["name"]: each for each in said["components"]}
    references = {own["bom-ref"], *(each["bom-ref"] for each in said["components"])}

    assert own["licenses"] == [{"expression": licence("hushtable")}] == [{"expression": "Apache-2.0"}]
    assert listed["numpy"]["scope"] == "required"
    assert listed["matplotlib"]["scope"] == "optional"
    assert all(pins()[name] == each["version"] for name, each in listed.items())
    assert {each["ref"] for each in said["dependencies"]} == references
    assert all(set(each["dependsOn"]) <= references for each in said["dependencies"])
    stated = "Pins or dependencies have changed: python -m tests.packaging.bill writes the bill anew"
    assert BILL.read_text(encoding="utf-8") == bill(), stated


def test_the_wheel_carries_the_bill_and_lists_all_extras() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built, extras = configuration["tool"]["hatch"]["build"]["targets"], configuration["project"]

    assert built["wheel"]["sbom-files"] == [BILL.name]
    assert f"/{BILL.name}" in built["sdist"]["include"]
    for_others = {"spark", "connect", "browser", "test", "dev"}  # another environment, or not for users
    assert {*extras["optional-dependencies"]} - for_others == {*EXTRAS}
