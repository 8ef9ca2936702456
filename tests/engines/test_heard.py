"""What the tasks of Spark tell is read as their errors and tallies, and runs nothing else."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hushtable.engines.sliced.keying import Tally
from hushtable.engines.spark.blocks import heard, told
from hushtable.errors import BadData, BadNumber, HushtableError, shown

THINGS = [
    Tally(counted=3, dropped=1),
    BadData("the rows are odd", "Mend them."),
    BadNumber(name="epsilon", value=-1, allowed="is not above 0", hint="Take 1."),
    BadNumber(name="epsilon", value=Fraction(-1, 3), allowed="is not above 0", hint="Take 1."),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_what_is_heard_is_what_was_told(thing: HushtableError | Tally) -> None:
    found = heard(told(thing).column("told")[0].as_buffer())

    assert type(found) is type(thing)
    assert str(found) == str(thing)
    if isinstance(thing, HushtableError):
        assert found.__dict__ == thing.__dict__


class Calls:
    """Calls something when it is unpickled."""

    def __init__(self, called: Callable[..., object], *args: object) -> None:
        self._call = called, args

    def __reduce__(self) -> Any:
        return self._call


@pytest.mark.parametrize(
    "called", [os.mkdir, Path, shown, getattr, eval], ids=["mkdir", "Path", "shown", "getattr", "eval"]
)
def test_nothing_else_is_built_or_called(called: Callable[..., object], tmp_path: Path) -> None:
    made = tmp_path / "made"
    with pytest.raises(BadData, match="no task of hushtable"):
        heard(pickle.dumps(Calls(called, str(made))))
    assert not made.exists()


def test_a_name_does_not_lead_through_a_module() -> None:
    through = b"\x80\x04\x8c\x10hushtable.errors\x8c\x0eHushtableError\x93."  # the class itself, not a thing
    assert heard(through) is HushtableError  # type: ignore[comparison-overlap]
    inner = b"\x80\x04\x8c\x10hushtable.errors\x8c\x11wraps.__globals__\x93."
    with pytest.raises(BadData, match="no task of hushtable"):
        heard(inner)
