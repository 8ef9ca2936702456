"""Packages that type hints name, and that are loaded when somebody asks for the types.

Promise: `typing.get_type_hints` resolves the hints of public names, and nothing is loaded before that. A
package that is not installed has `Any` for each of its types.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module that is loaded when something of it is asked for.

    >>> Later("fractions").Fraction(1, 2)
    Fraction(1, 2)
    >>> Later("a_package_that_nobody_has").Frame
    typing.Any
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            return getattr(import_module(self._name), attribute)
        except ImportError:
            return Any
