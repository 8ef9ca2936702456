"""The documentation site has every page, every command with its options, and every public name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import hushtable
from docs.site.assemble import ELSEWHERE, PYTHON, commands, main
from docs.site.fences import _EXAMPLE, _fenced
from hushtable.cli.main import app

ROOT = Path(__file__).parents[2]


def leaves(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for each in nav:
            yield from leaves(each)
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from leaves(each)


def all_options(group: click.Group, context: click.Context) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from all_options(command, below)
        else:
            for each in command.params:
                if isinstance(each, click.Option):
                    yield below.command_path, each.opts[-1]


def test_the_site_has_every_page(tmp_path: Path) -> None:
    main(tmp_path / "docs")
    made = {str(page.relative_to(tmp_path / "docs")) for page in (tmp_path / "docs").rglob("*.md")}
    settings = re.sub("!!python.*", "", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = set(leaves(yaml.safe_load(settings)["nav"]))

    assert listed <= made
    assert {page for page in made - listed if not page.startswith("decisions/")} == set()
    assert set(ELSEWHERE.values()) <= listed
    log = (tmp_path / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    for page in made:
        if re.fullmatch(r"decisions/\d+.*", page):
            assert page.removeprefix("decisions/") in log


def test_every_public_name_is_in_the_reference() -> None:
    assert sorted(" ".join(PYTHON.values()).split()) == sorted({*hushtable.__all__} - {"__version__"})


def test_every_option_is_in_the_reference() -> None:
    parts = re.split(r"^#+ (hushtable .*)$", commands(), flags=re.MULTILINE)
    pages = dict(zip(parts[1::2], parts[2::2], strict=True))
    options = list(all_options(app, click.Context(app, info_name="hushtable")))

    assert len(options) > 100
    for command, option in options:
        assert re.search(rf"{re.escape(option)}\b", pages[command]), (command, option)


@pytest.mark.parametrize(
    ("text", "fenced"),
    [
        ("Words.\n\n>>> 1 + 1\n2\n\nMore.", "Words.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."),
        (">>> for each in ():\n...     each\n", "```pycon\n>>> for each in ():\n...     each\n```\n"),
        ("No example.", "No example."),
    ],
)
def test_examples_stand_in_fences(text: str, fenced: str) -> None:
    assert _EXAMPLE.sub(_fenced, text) == fenced
