"""From a million commuters to one private file, and what the file answers.

Generates commuters between 100,000 zones, publishes them with the commands that an owner would type, and asks
the file three questions, with the true answers beside its own; then one that it cannot answer.

It ends with a page of the file, for a browser.

Promise: the true answers are for this page alone, as these commuters are invented; the file is made by the
same commands, with the same privacy, as one about real people. No number below is typed in by hand.
Cost: some seconds; everything but the page is written to a temporary folder that is removed at the end.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

import hushtable as ht

COMMUTERS = 1_000_000
REGIONS = 100  # by size, the largest first
ZONES = 1_000  # of a region, from its centre outwards
CENTRE, CORE = 10, 3  # the innermost zones of a region
WIDTH = 200.0  # of the country, in kilometres
NEAR = 20.0  # kilometres within which distance hardly matters
HOMES, JOBS = 1.2, 1.6  # how steeply homes and jobs thin out from a centre: jobs gather more
SEED = 2024  # of the invented commuters; the noise has none

EPSILON, BUDGET = "1", "2"
SIZE = 10_000
COLUMNS = 80
PAGE = Path(__file__).parents[1] / "build" / "demo" / "commuters.html"

DOMAIN = f"""\
title = "Commuters"
counts = "commuters"
[[attribute]]
name = "home"
integers = {{ low = 0, high = {REGIONS * ZONES - 1} }}
[[attribute]]
name = "work"
integers = {{ low = 0, high = {REGIONS * ZONES - 1} }}
"""


@dataclass(frozen=True, slots=True)
class Country:
    """Where regions lie, and how attractive they and their zones are."""

    places: NDArray[np.float64]  # of regions, in kilometres
    people: NDArray[np.float64]  # share of each region
    homes: NDArray[np.float64]  # share of each zone of a region
    jobs: NDArray[np.float64]

    @property
    def pull(self) -> NDArray[np.float64]:
        """The chance to live in a region (row) and work in another (column), by size and distance."""
        distances = np.linalg.norm(self.places[:, None] - self.places[None, :], axis=2)
        pull: NDArray[np.float64] = self.people / (distances + NEAR) ** 2
        pull /= pull.sum(axis=1, keepdims=True)
        return pull

    @property
    def partner(self) -> int:
        """The region that sends most people to the largest, beside itself."""
        return 1 + int(np.argmax((self.people * self.pull[:, 0])[1:]))


def country(rng: np.random.Generator) -> Country:
    """Return a country with heavy-tailed regions, each with heavy-tailed zones."""

    def shares(count: int, steepness: float) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = np.arange(1.0, count + 1) ** -steepness
        weights /= weights.sum()
        return weights

    places = rng.uniform(0, WIDTH, size=(REGIONS, 2))
    return Country(places, shares(REGIONS, 1.0), shares(ZONES, HOMES), shares(ZONES, JOBS))


def commuters(land: Country, rng: np.random.Generator) -> pa.Table:
    """Return a home and a work zone for each: they go where many jobs are, and rather near than far."""
    home = rng.choice(REGIONS, size=COMMUTERS, p=land.people)
    # Row r of the table of chances is laid out from r to r + 1, so one search finds the region of everybody.
    chances = np.cumsum(land.pull, axis=1)
    edges = (np.minimum(chances, 1.0) + np.arange(REGIONS)[:, None]).ravel()
    work = np.searchsorted(edges, home + rng.random(COMMUTERS), side="right") - home * REGIONS
    work = np.minimum(work, REGIONS - 1)
    return pa.table(
        {
            "home": home * ZONES + rng.choice(ZONES, size=COMMUTERS, p=land.homes),
            "work": work * ZONES + rng.choice(ZONES, size=COMMUTERS, p=land.jobs),
        }
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its true answer, the plain sum over the file, and what hushtable says."""

    question: str
    condition: str
    true: int
    plain: float
    estimate: ht.Estimate

    @property
    def holds(self) -> bool:
        """Whether the interval has the true answer in it."""
        return self.estimate.low <= self.true <= self.estimate.high

    @property
    def interval(self) -> str:
        """The interval, for people."""
        return f"{self.estimate.low:,.0f} to {self.estimate.high:,.0f}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (
            f"{self.question}\n[dim]{self.condition}[/]",
            f"{self.true:,}",
            f"{self.plain:,.0f}",
            f"{self.estimate.value:,.0f}\n[dim]{self.interval}[/]",
            "[green]yes[/]" if self.holds else "[yellow]no[/]",
        )


def questions(land: Country) -> Iterator[tuple[str, str]]:
    """Return questions and their conditions: a region has the zones from ZONES * r on."""
    first = land.partner * ZONES
    yield "Within region 0, its centre", f"home < {CENTRE} AND work < {CENTRE}"
    between = f"home BETWEEN {first} AND {first + CORE - 1}\nAND work < {CORE}"
    yield f"From region {land.partner}, core to core", between
    yield "All commuters", "true"
    yield "All who live in region 0", f"home < {ZONES}"


def answers(folder: Path, release: ht.Release, land: Country) -> Iterator[Answer]:
    """Ask the rows, the file by plain SQL, and the release."""
    connection = duckdb.connect()

    def ask(sql: str) -> Any:
        return connection.sql(sql).fetchall()[0][0] or 0

    rows, file = folder / "commute.parquet", folder / "private.parquet"
    for question, condition in questions(land):
        yield Answer(
            question,
            condition,
            true=ask(f"SELECT count(*) FROM '{rows}' WHERE {condition}"),
            plain=ask(f"SELECT sum(weight) FROM '{file}' WHERE {condition}"),
            estimate=release.total(condition),
        )


def command(console: Console, folder: Path, line: str) -> None:
    """Show a command as one would type it, run it in `folder`, and show what it prints."""
    console.print(f"[bold green]$[/] [bold]{line}[/]")
    words = shlex.split(line.replace("\\\n", " "))
    assert words[0] == "hushtable"
    done = subprocess.run(
        [sys.executable, "-m", "hushtable", *words[1:]],
        cwd=folder,
        env=os.environ | {"COLUMNS": str(COLUMNS)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    console.print(done.stdout.rstrip(), markup=False)
    console.print()
    if done.returncode:
        sys.exit(done.returncode)  # the command has said why, on standard error


def heading(console: Console, text: str) -> None:
    """Print what comes next."""
    console.rule(f"[bold]{text}", align="left", characters="-")


def main() -> None:
    """Generate, publish, show, ask."""
    started = perf_counter()
    console = Console(width=COLUMNS, highlight=False)
    rng = np.random.default_rng(SEED)
    with TemporaryDirectory(prefix="hushtable-demo-") as name:
        folder = Path(name)
        heading(console, "1. Rows")
        land = country(rng)
        table = commuters(land, rng)
        pq.write_table(table, folder / "commute.parquet")
        (folder / "commute.toml").write_text(DOMAIN, encoding="utf-8")
        console.print(
            f"commute.parquet has {table.num_rows:,} invented commuters, each a row: a home and a work zone. "
            f"commute.toml declares what is public: there are {REGIONS * ZONES:,} zones, {ZONES:,} in each "
            "region, the largest region first, and numbered from its centre outwards.\n"
        )

        heading(console, "2. A budget for these people, and one release paid from it")
        command(
            console,
            folder,
            f'hushtable ledger create commuters.ledger --epsilon {BUDGET} --about "commuters"',
        )
        before = perf_counter()
        command(
            console,
            folder,
            "hushtable publish commute.parquet --domain commute.toml \\\n"
            f"    --structure cells --epsilon {EPSILON} --size {SIZE} \\\n"
            "    --output private.parquet --ledger commuters.ledger",
        )
        seconds = perf_counter() - before

        heading(console, "3. What a recipient gets")
        command(console, folder, "hushtable show private.parquet --rows 5")

        heading(console, "4. Ask it: the largest flows, and three questions beside the truth")
        command(console, folder, "hushtable query private.parquet --by home,work --top 3 --simultaneous")
        release = ht.open(folder / "private.parquet")
        *asked, hard = answers(folder, release, land)
        _print_answers(console, asked)
        _print_limits(console, release, asked[-1], hard)

        heading(console, "5. Why this is good")
        _print_reasons(console, release, asked[0], (folder / "private.parquet").stat().st_size, seconds)

        heading(console, "6. For readers: a page, which needs a browser and nothing else")
        command(console, folder, "hushtable page private.parquet -o commuters.html")
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "commuters.html", PAGE)
        console.print(f"Open it: [bold]{PAGE.as_uri()}[/]\n", soft_wrap=True)
    console.print(
        f"That took {perf_counter() - started:.0f} seconds. The temporary folder is gone; the page stays. "
        "Next: examples/ publishes real tables, `hushtable publish --help` lists the options, and `make "
        "demo-laws` shows that the noise is exact."
    )


def _print_answers(console: Console, asked: list[Answer]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("release.total(...)")
    for column in ("true", "plain\nsum", "answer\n95 % interval", "holds"):
        table.add_column(column, justify="right", no_wrap=True)
    for answer in asked:
        table.add_row(*answer.cells)
    console.print(table)
    console.print()


def _print_limits(console: Console, release: ht.Release, everybody: Answer, hard: Answer) -> None:
    """Say what the file knows of people under the cutoff, and what it does not."""
    missed = everybody.estimate.value - everybody.plain
    console.print(
        f"Pairs of zones with fewer than {release.terms.cutoff:g} commuters (the cutoff) cannot be told from "
        f"noise, so the rows leave them out: {missed:,.0f} people. The noisy total tells how many they are, "
        "so the third answer is right. Nothing tells where they are.\n"
    )
    verdict = "contains" if hard.holds else "misses"
    console.print(
        f"So one question is hard: {hard.question[:1].lower()}{hard.question[1:]}. The truth is "
        f"{hard.true:,}. The answer, {hard.estimate.value:,.0f}, spreads people under the cutoff evenly. Its "
        f"interval, {hard.interval}, allows for any place where they may be, and {verdict} the truth. For "
        "such sums, publish a table by region as well: leave `--structure cells` out.\n"
    )


def _print_reasons(console: Console, release: ht.Release, busy: Answer, size: int, seconds: float) -> None:
    """Say in one line each what was gained."""
    cells = release.domain.cells_total
    reasons = {
        "small": f"{len(release):,} rows in {size / 1e3:,.0f} kB stand for {cells:,} cells "
        f"({8 * cells / 1e9:,.0f} GB)",
        "fast": f"{seconds:.1f} seconds to count, draw and write: empty cells are never visited",
        "private": "one commuter changes the chance of any file at most "
        f"{exp(release.terms.budget):.2f}-fold",
        "accurate": f"{busy.estimate.value - busy.true:+,.0f} at {busy.true:,} commuters between busy zones",
    }
    grid = Table.grid(padding=(0, 2))
    for word, reason in reasons.items():
        grid.add_row(f"[bold]{word}[/]", reason)
    console.print(grid)
    console.print()


if __name__ == "__main__":
    main()
