"""Run the command line: in this process, or as the script that is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from hushtable.cli.main import app

SCRIPT = Path(sys.executable).parent / "hushtable"
DOMAIN = """\
title = "Commuters"
[[attribute]]
name = "home"
column = "h_geocode"
integers = { low = 0, high = 999999 }
[[attribute]]
name = "sector"
categories = ["farming", "industry", "services"]
missing = { other = "unknown" }
[[attribute]]
name = "age"
bins = { start = 0, stop = 100, step = 5 }
outside = "clamp"
[[attribute]]
name = "when"
times = { start = "2024-01-01", stop = "2025-01-01", every = "1 day" }
"""
ROWS = """\
person_id,h_geocode,sector,age,when,note
1,12,farming,33,2024-02-01,a
1,13,industry,-3,2024-02-01 10:00,b
2,14,,101,2024-03-01,c
2,15,mining,40,2023-12-31,d
3,x16,services,41,2024-12-31,e
3,,services,41,2024-12-31,f
,17,services,41,2024-12-31,g
"""


def run(*arguments: object, width: int = 120, **environment: str) -> Result:
    """Run a command in this process."""
    # The test's own terminal, if there is one, must not matter.
    settings = {"COLUMNS": str(width), "TERM": "dumb", "NO_COLOR": "1", "FORCE_COLOR": None}
    return CliRunner().invoke(app, [str(each) for each in arguments], env=settings | environment)


def run_script(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed script in a process of its own."""
    return subprocess.run(
        [SCRIPT, *(str(each) for each in arguments)],
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "COLUMNS"} | environment,
        timeout=60,
    )
