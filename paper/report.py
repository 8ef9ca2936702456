"""Writes what was found: a page with every picture and every claim, and a table of numbers for each figure.

Promise: every number on the page and in the tables comes from results; nothing is written by hand. The page
names no host, path or time of day.
"""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import hushtable as ht
from paper.claims import Claim, Verdict
from paper.drawing import save
from paper.measuring import Results, measured

_PAPER = "G. Cormode, M. Procopiuc, D. Srivastava, T. Tran: Differentially private publication of sparse data"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with its caption; its numbers are those of `results`."""

    name: str
    caption: str
    figure: Figure
    results: Results


@dataclass(frozen=True, slots=True)
class Section:
    """What an experiment has to say."""

    name: str
    title: str
    about: str
    seconds: float = 0.0
    pictures: Sequence[Picture] = ()
    claims: Sequence[Claim] = ()
    tables: Sequence[str] = field(default=())  # of Markdown
    missing: str | None = None


def write(sections: Sequence[Section], folder: Path, *, command: str) -> Path:
    """Write figures, tables and the page into a folder; return the page."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for picture in section.pictures:
            save(picture.figure, figures, picture.name)
            _write_numbers(picture.results, figures / f"{picture.name}.csv")
    page = folder / "README.md"
    page.write_text("\n".join(_page(sections, command)) + "\n", encoding="utf-8")
    return page


def _write_numbers(results: Results, path: Path) -> None:
    """Write the mean, its standard error and the number of runs of all that was measured."""
    names = list(dict.fromkeys(name for setting, _ in results.rows for name in setting if name != "run"))
    constant = {name for name in names if len(results.different(name)) == 1 and name != "arm"}
    shown = [name for name in names if name not in constant and name != "sizes"]
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([*shown, "quantity", "queried size", "mean", "standard error", "runs"])
        for key, group in results.grouped(*names).items():
            values = dict(zip(names, key, strict=True))
            settings = ["" if values[name] is None else values[name] for name in shown]
            for quantity in group.rows[0][1]:
                word, _, size = quantity.rpartition(" ")
                name, asked = (word, size) if size.isdigit() else (quantity, "")
                found = measured(group.values(quantity))
                error = f"{found.error:.6g}" if found.runs > 1 else ""
                out.writerow([*settings, name, asked, f"{found.mean:.6g}", error, found.runs])


def _page(sections: Sequence[Section], command: str) -> list[str]:
    claims = [claim for section in sections for claim in section.claims]
    often = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    lines = [
        "# The paper's experiments, run again",
        "",
        f"{_PAPER}. This page, its figures and its numbers are written by `{command}`; nothing on it is "
        "written by hand. The noise cannot be seeded, so that numbers differ a little from run to run; "
        "tables and questions are the same each time.",
        "",
        "Figures have the numbers that they have in the paper: 2 for parameters, 3 for subsets, 4 for "
        "throughput, 5 for dyadic ranges, 6 for OnTheMap. A run that was stopped goes on where it was; "
        "`python -m paper --fresh` starts over.",
        "",
        "A verdict comes from a rule on the measured numbers, stated beside it. A ± is one standard error "
        "over runs; a rule takes a difference as real beyond two. *In part*: some of what the claim says "
        "was found, or chance may have decided. Errors are mean sizes |answer - truth| over questions, "
        "relative errors medians over questions. Error bars show two standard errors.",
        "",
        f"Of {len(claims)} claims, {often[Verdict.HOLDS]} hold, {often[Verdict.IN_PART]} hold in part and "
        f"{often[Verdict.DOES_NOT]} do not.",
        "",
        "| claim | verdict |",
        "|---|---|",
    ]
    for section in sections:
        for claim in section.claims:
            lines.append(f"| {claim.where}: {claim.says} | {_shown(claim.verdict)} |")
    for section in sections:
        lines += _section(section)
    lines += ["", "## The run", ""]
    lines.append(
        f"hushtable {ht.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores. Time of all cells of work, "
        "in seconds of one process each:"
    )
    lines += ["", "| experiment | seconds |", "|---|---|"]
    lines += [f"| {each.name} | {each.seconds:.0f} |" for each in sections if each.missing is None]
    return lines


def _section(section: Section) -> list[str]:
    lines = ["", f"## {section.title}", ""]
    if section.missing is not None:
        return [*lines, section.missing]
    lines.append(section.about)
    for table in section.tables:
        lines += ["", table]
    for picture in section.pictures:
        lines += ["", f"![{picture.name}](figures/{picture.name}.png)", ""]
        lines.append(
            f"*{picture.caption}* ([SVG](figures/{picture.name}.svg), [numbers](figures/{picture.name}.csv))"
        )
    if section.claims:
        lines += ["", "| the paper says | we measured | verdict |", "|---|---|---|"]
        for claim in section.claims:
            found = f"{claim.found} *Rule: {claim.rule}*"
            lines.append(f"| {claim.where}: {claim.says} | {found} | {_shown(claim.verdict)} |")
    return lines


def _shown(verdict: Verdict) -> str:
    return f"**{verdict.value}**" if verdict is not Verdict.HOLDS else verdict.value
