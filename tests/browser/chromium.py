"""The Chromium of this machine: the system's own, or the one that HUSHTABLE_CHROMIUM names.

The one without windows is taken first: it is the same engine, and takes a quarter less of the processor.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

_NAMES = ("chromium-headless-shell", "chromium", "google-chrome")


def launched(playwright: Any) -> Any:
    """Return a browser, driven by playwright."""
    found = os.environ.get("HUSHTABLE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    assert found, "Chromium is not installed: make chromium"
    # As root, as in a container, Chromium starts without its sandbox only.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=found, args=arguments)
