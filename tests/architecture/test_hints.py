"""Type hints of public names resolve, for tools that ask for them; nothing is loaded before they do."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hushtable


def callables(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A public name, and of a class also what is public in it."""
    thing = getattr(hushtable, name)
    if not callable(thing):
        return
    yield name, thing
    for own, value in inspect.getmembers(thing) if inspect.isclass(thing) else ():
        function: Any = value.fget if isinstance(value, property) else getattr(value, "func", value)
        written = inspect.isfunction(function) or inspect.ismethod(function)  # in Python
        if written and (not own.startswith("_") or own == "__init__"):
            yield f"{name}.{own}", function


@pytest.mark.parametrize("name", hushtable.__all__)
def test_hints_resolve(name: str) -> None:
    for said, thing in callables(name):
        try:
            typing.get_type_hints(thing)
        except NameError as error:
            pytest.fail(f"{said}: {error}")


def test_the_hints_are_those_of_the_packages() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    assert typing.get_type_hints(hushtable.Release.by)["return"] is pa.Table
    assert typing.get_type_hints(hushtable.Release.to_pandas)["return"] is pd.DataFrame
    assert typing.get_type_hints(hushtable.Release.to_polars)["return"] is pl.DataFrame


def test_nothing_is_loaded_for_types_alone() -> None:
    code = "import sys, hushtable as ht; ht.Release, ht.Domain; print({'pandas', 'polars'} & {*sys.modules})"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
