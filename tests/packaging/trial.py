"""What `make package` runs where the package alone is installed: commands, a release, a page, the types."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import files, metadata, version
from pathlib import Path

import pyarrow as pa

import hushtable as ht


def said(*command: str) -> str:
    """What a command prints; it must end well and complain of nothing."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), f"{' '.join(command)}: {done.stderr}"
    return done.stdout


package, script = Path(ht.__file__).parent, Path(sysconfig.get_path("scripts")) / "hushtable"
assert package.is_relative_to(sysconfig.get_path("purelib")), f"{package} is not the installed one"
assert (package / "py.typed").is_file(), "type checkers would not look at it"
assert version("hushtable") == ht.__version__
assert metadata("hushtable")["License-Expression"] == "Apache-2.0"
assert any(path.match("*.dist-info/sboms/sbom.cdx.json") for path in files("hushtable") or []), (
    "no bill of materials"
)
assert said(str(script), "--version") == f"hushtable {ht.__version__}\n"
assert said(sys.executable, "-m", "hushtable", "--version") == f"hushtable {ht.__version__}\n"

rows = pa.table({"home": ["north", "south"] * 500, "age": [*range(50)] * 20})
domain = ht.Domain(home=ht.categories(["north", "south"]), age=ht.bins(0, 50, step=5))
release = ht.publish(
    rows, domain=domain, epsilon=10, size=20, structure="cells", output="trial.parquet", ledger=False
)
assert 400 < release.total(home="north").value < 600
shown = " ".join(said(str(script), "show", "trial.parquet").split())  # lines break where the terminal ends
assert "epsilon = 10" in shown
said(str(script), "page", "trial.parquet", "--output", "trial.html")
assert "</html>" in Path("trial.html").read_text(encoding="utf-8")
print(f"hushtable {ht.__version__} works on Python {sys.version.split()[0]}")
