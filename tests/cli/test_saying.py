"""Errors of the command name options, never arguments of Python."""

from __future__ import annotations

import re

import click
import pytest

from hushtable.cli.main import app
from hushtable.cli.saying import in_options


def said(message: str, command: str = "publish") -> str:
    context = click.Context(app)
    context.invoked_subcommand = command
    return in_options(message, context)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("Leave `total_share` out.", "Leave --total-share out."),
        ("Give `ledger`, or say `ledger=False`.", "Give --ledger, or say --no-ledger."),
        ("Use ht.Dyadic(), ht.Haar() or cells.", "Use --structure dyadic, --structure haar or cells."),
        ("publish a tree alone: structure=ht.Tree().", "publish a tree alone: --structure tree."),
        (
            "Use ht.Filter(size=..., two_sided=False), or another.",
            "Use --summary filter --size ... --one-sided, or another.",
        ),
        ("Give ht.CountSketch(width=10_000).", "Give --structure sketch --width 10000."),
        ('Give ht.Marginals("all-1", "all-2").', "Give --marginals all-1 --marginals all-2."),
        ("`nothing` of this is an option: ht.plan(...)", "`nothing` of this is an option: ht.plan(...)"),
    ],
)
def test_arguments_become_options(message: str, options: str) -> None:
    assert said(message) == options


def test_a_file_of_recipes_has_the_words_of_python() -> None:
    assert said("Leave `total_share` out.", "run") == "Leave `total_share` out."


def test_every_object_has_options() -> None:
    from hushtable.methods.settings import METHODS
    from hushtable.structures.registry import STRUCTURES

    for kind in [*METHODS.values(), *STRUCTURES.values()]:
        assert re.match("--(structure|summary|marginals|hierarchy)", said(f"ht.{kind.__name__}()"))
