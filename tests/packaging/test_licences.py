"""Whatever is installed with hushtable has a licence under which it may be used with ours."""

from __future__ import annotations

import re
from importlib.metadata import distribution, requires

# Permissive; python-flint brings FLINT, GMP and MPFR as libraries of their own, which the LGPL allows.
KNOWN = re.compile(
    r"MIT(-0)?|MIT License|BSD-[23]-Clause|0BSD|Apache-2\.0|Zlib|CC0-1\.0|PSF-2\.0|LGPL-3\.0-or-later"
)


def needed(name: str, found: dict[str, str]) -> dict[str, str]:
    """The licences of all that a package needs, by name."""
    for each in requires(name) or []:
        below = re.split(r"[ ;<>=!\[~(]", each)[0].lower()
        if "extra ==" in each or below in found:
            continue
        metadata = distribution(below).metadata
        classes = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
        said = metadata["License-Expression"] or (classes[0].split(" :: ")[-1] if classes else "")
        found[below] = said
        needed(below, found)
    return found


def test_licences_go_with_ours() -> None:
    found = needed("hushtable", {})

    assert {"numpy", "pyarrow", "duckdb", "cryptography", "python-flint"} <= set(found)
    for name, said in found.items():
        for each in re.split(r" AND | OR ", said):
            assert KNOWN.fullmatch(each), (name, said)
