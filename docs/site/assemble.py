"""All pages of the documentation site, put into one folder: `python docs/site/assemble.py FOLDER`.

Most lie in docs/ as they are. Commands and the Python reference are made from the code; proofs, changes and
the paper's experiments lie elsewhere in the project.

Promise: a page says what the code says today, and nothing is written twice.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

import hushtable
from hushtable.cli.grouping import GROUPED, GROUPS
from hushtable.cli.main import app

ROOT = Path(__file__).parents[2]

# What lies elsewhere in the project, and where it stands on the site.
ELSEWHERE = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "paper/README.md": "paper.md",
    "src/hushtable/laws/PROOF.md": "guarantees/proofs/laws.md",
    "src/hushtable/noise/PROOF.md": "guarantees/proofs/noise.md",
    "src/hushtable/summaries/PROOF.md": "guarantees/proofs/summaries.md",
    "src/hushtable/ledger/PROOF.md": "guarantees/proofs/ledger.md",
}

PYTHON = {
    "Describe the data": "Domain integers categories bins times any_text Unit draft check count",
    "Publish": "publish Recipe Cost Ledger",
    "What is published": """Tables Marginals Tree Hierarchy Dyadic ProductDyadic Haar CountSketch
        Everything Filter Threshold Priority FilterThreshold FilterPriority""",
    "Plan": "plan Plan QuestionPlan HierarchyPlan Profile compare_laws LawComparison",
    "Ask": "open Release Estimate between",
    "Summaries by themselves": "SparseTable summarize Summary",
    "Errors": " ".join(
        name
        for name in hushtable.__all__
        if isinstance(found := getattr(hushtable, name), type) and issubclass(found, BaseException)
    ),
}

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def main(folder: Path) -> None:
    """Write all pages of the site into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("site"))
    shutil.copytree(ROOT / "paper" / "figures", folder / "figures")
    made = {"reference/commands.md": commands(), "reference/python.md": python()}
    for source, place in ELSEWHERE.items():
        made[place] = _led(ROOT / source, place)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        place = str(page.relative_to(ROOT / "docs"))
        made[place] = _led(page, place)
    for place, text in made.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")


def _led(source: Path, place: str) -> str:
    """Return a page's text in which links to files elsewhere in the project lead to their pages."""

    def led(link: re.Match[str]) -> str:
        if "://" in link["target"]:
            return link[0]
        found = str((source.parent / link["target"]).resolve().relative_to(ROOT))
        if found in ELSEWHERE:
            to = ELSEWHERE[found]
        elif found.startswith(("docs/", "paper/figures/")):
            to = found.removeprefix("docs/").removeprefix("paper/")
        else:
            return link["text"]  # it is not on the site
        return f"[{link['text']}]({'../' * place.count('/')}{to}{link['anchor'] or ''})"

    return _LINK.sub(led, source.read_text(encoding="utf-8"))


def python() -> str:
    """Return the page of all public names."""
    lines = ["# Python", "", "All public names, as `import hushtable as ht` gives them.", ""]
    for heading, names in PYTHON.items():
        lines += [f"## {heading}", ""]
        lines += [f"::: hushtable.{name}\n" for name in names.split()]
    return "\n".join(lines)


def commands() -> str:
    """Return the page of all commands, from the objects that run them."""
    context = click.Context(app, info_name="hushtable")
    lines = [
        "# Commands",
        "",
        "As `hushtable COMMAND --help` has them; `publish --help-all` shows all options.",
        "",
    ]
    for name in app.list_commands(context):
        lines += _command(app.get_command(context, name), click.Context(app, info_name="hushtable"), name, 2)
    return "\n".join(lines)


def _command(command: click.Command | None, parent: click.Context, name: str, level: int) -> Iterator[str]:
    """Yield the lines of one command, and of those below it."""
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent)
    yield from (f"{'#' * level} hushtable {context.command_path.removeprefix('hushtable ')}", "")
    yield from _help(command.help or "")
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from _command(command.get_command(context, each), context, each, level + 1)
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```", f"{context.command_path} {usage}", "```", "")
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    yield from _table("argument", [(each.make_metavar(context), _said(each)) for each in arguments])
    options = {each.name: each for each in command.params if isinstance(each, click.Option)}
    grouped = GROUPS if {"epsilon", "output"} <= set(options) else {}
    for heading, names in (
        *grouped.items(),
        ("", tuple(n for n in options if n not in GROUPED or not grouped)),
    ):
        records = [options[each].get_help_record(context) for each in names if each in options]
        yield from _table(heading.lower() or "option", [each for each in records if each is not None])


def _said(argument: click.Parameter) -> str:
    return str(getattr(argument, "help", None) or "")


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of some help; what `\\b` keeps as it is stands as code."""
    for paragraph in cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ("```", paragraph.removeprefix("\b\n"), "```", "")
        elif paragraph.strip():
            yield from (_plain(paragraph), "")


def _table(heading: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    if any(said for _, said in rows):
        yield from (f"| {heading} | |", "|---|---|")
        yield from (f"| `{name}` | {_plain(said).replace('|', '&#124;')} |" for name, said in rows)
        yield ""


def _plain(text: str) -> str:
    """Return a text in which nothing is markup."""
    return re.sub(r"([*_<\[])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
