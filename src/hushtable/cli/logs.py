"""What the command logs, under the name `hushtable`: one line for each step, for whoever runs it by itself.

Promise: a line tells a command, what was paid and published, the kind of an error, an exit code. It never
holds a row, a value of one, a number of rows that were read, or the text of an error.
"""

from __future__ import annotations

import logging
from pathlib import Path

from hushtable.errors import BadOutput

LOG = logging.getLogger("hushtable")
LOG.addHandler(logging.NullHandler())  # without it, Python prints errors itself where nobody listens


def log_to(path: Path) -> None:
    """Add lines to a file, each with its time."""
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        hint = "Check the path of --log-file."
        raise BadOutput(f"it cannot be written: {error.strerror or error}", hint, file=str(path)) from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for old in [each for each in LOG.handlers if isinstance(each, logging.FileHandler)]:
        LOG.removeHandler(old)
        old.close()
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
