"""What hushtable needs, with versions and licences, as a bill of materials that the wheel carries.

python -m tests.packaging.bill    writes it anew, after pins or dependencies have changed

The wheel holds nothing but our own code: the bill lists what pip installs beside it, and what its extras add.
Versions are the pinned ones, with which the tests run; licences are what the installed packages state. The
format is CycloneDX 1.6, without a time or a random number, so that the same pins give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
BILL = ROOT / "sbom.cdx.json"
EXTRAS = ("plot", "xlsx", "postgres")  # for users, in the environment of the tests; Spark's is another
_AS_SPDX = {"MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0"}
_AS_SPDX["Python Software Foundation License"] = "PSF-2.0"


class Part(NamedTuple):
    """A package that is installed with ours."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    optional: bool

    @property
    def reference(self) -> str:
        """Its name in the bill, and for whoever looks for its known weaknesses."""
        return f"pkg:pypi/{self.name}@{self.version}"


def named(text: str) -> str:
    """Return the name of a package as registries compare it."""
    return re.sub(r"[-_.]+", "-", text).lower()


def pins() -> dict[str, str]:
    """Return the versions that tests run with."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return dict(line.split("==") for line in lines)


def needs(name: str, extras: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return what a package needs on every machine of ours, by itself or with extras."""
    wanted = [Requirement(each) for each in distribution(name).requires or []]
    return tuple(
        dict.fromkeys(
            named(each.name)
            for each in wanted
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras or ("",))
        )
    )


def licence(name: str) -> str:
    """Return the licence that a package states, as SPDX writes it; nothing where it states none."""
    metadata = distribution(name).metadata
    if expression := metadata["License-Expression"]:
        return expression
    classes = [each for each in metadata.get_all("Classifier") or [] if each.startswith("License ::")]
    said = classes[0].split(" :: ")[-1] if classes else metadata["License"] or ""
    return _AS_SPDX.get(said, said)


def parts() -> list[Part]:
    """Return all packages that are installed with ours, by name; those of extras are optional."""
    versions, own = pins(), set(_reached(needs("hushtable")))
    every = own | set(_reached(needs("hushtable", EXTRAS)))
    return [Part(each, versions[each], licence(each), needs(each), each not in own) for each in sorted(every)]


def _reached(names: tuple[str, ...]) -> Iterator[str]:
    """Give packages and all that they need."""
    seen, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            yield name
            waiting += needs(name)


def bill() -> str:
    """Return the bill of materials."""
    found, own = parts(), distribution("hushtable").metadata
    reference = f"pkg:pypi/hushtable@{own['Version']}"
    by_name = {each.name: each.reference for each in found}
    said: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": "hushtable",
                "version": own["Version"],
                "purl": reference,
                "licenses": [{"expression": own["License-Expression"]}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": each.reference,
                "name": each.name,
                "version": each.version,
                "purl": each.reference,
                "scope": "optional" if each.optional else "required",
                "licenses": [{"expression": each.licence}],
            }
            for each in found
        ],
        "dependencies": [
            {"ref": reference, "dependsOn": [by_name[name] for name in sorted(needs("hushtable", EXTRAS))]},
            *(
                {"ref": each.reference, "dependsOn": [by_name[name] for name in sorted(each.needs)]}
                for each in found
            ),
        ],
    }
    return json.dumps(said, indent=2) + "\n"


if __name__ == "__main__":
    BILL.write_text(bill(), encoding="utf-8")
