"""`hushtable publish`: rows in, one private release out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import click

from hushtable.cli.commanding import Option
from hushtable.cli.grouping import HelpAll
from hushtable.cli.options import (
    Ask,
    Clamp,
    CountColumn,
    Data,
    Delta,
    Depth,
    DomainFile,
    Epsilon,
    ExpectCells,
    ExpectMean,
    ExpectSd,
    Json,
    Law,
    Levels,
    LikeFile,
    MarginalSets,
    MaxCells,
    MaxPerCell,
    MaxRows,
    Memory,
    ProfileFile,
    Query,
    Rho,
    RowsAreUnits,
    SumColumn,
    TableName,
    UnitColumn,
    Weights,
    Where,
    Width,
)
from hushtable.cli.publishing import carried_out, report
from hushtable.cli.recipes import recipe_of

SummaryName = Literal[
    "auto", "everything", "filter", "threshold", "priority", "filter-threshold", "filter-priority"
]
StructureName = Literal["auto", "cells", "dyadic", "haar", "product-dyadic", "tree", "sketch"]


def publish(
    ctx: click.Context,
    data: Data,
    domain: DomainFile,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The file to write.")],
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    law: Law = None,
    level: Levels = None,
    ask: Ask = None,
    size: Annotated[
        int | None, Option(metavar="N", help="How many rows to publish of each large table.")
    ] = None,
    ledger: Annotated[
        Path | None,
        Option(metavar="FILE", help="The ledger that pays. It is charged before anything is drawn."),
    ] = None,
    no_ledger: Annotated[
        bool, Option("--no-ledger", help="Charge no ledger. You keep count of epsilon yourself.")
    ] = False,
    summary: Annotated[
        SummaryName | None,
        Option(
            metavar="NAME",
            help=f"Which rows to publish: {', '.join(get_args(SummaryName))}. "
            "Default: filter-priority, or filter for trees.",
        ),
    ] = None,
    cutoff: Annotated[str | None, Option(metavar="N|auto", help="Publish no noisy count below this.")] = None,
    threshold: Annotated[str | None, Option(metavar="T|auto", help="Sample noisy counts below this.")] = None,
    one_sided: Annotated[bool, Option("--one-sided", help="Publish noisy counts above 0 only.")] = False,
    structure: Annotated[
        StructureName | None,
        Option(
            metavar="NAME",
            help=f"What to publish instead of tables: {', '.join(get_args(StructureName))}.",
        ),
    ] = None,
    hierarchy: Annotated[
        str | None,
        Option(
            metavar="LEVEL>...",
            help="Publish levels from coarse to fine, as far as they matter: 'county(home) > tract(home)'.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        Option(
            metavar="NAME,...",
            help="The order of attributes in a tree or wavelets; others come last. morton is for trees.",
        ),
    ] = None,
    branching: Annotated[
        int | None, Option(metavar="B", help="How many children each node of a tree has. Default: 16.")
    ] = None,
    width: Width = None,
    depth: Depth = None,
    marginals: MarginalSets = None,
    weights: Weights = None,
    consistent: Annotated[
        bool, Option("--consistent", help="Drop dyadic ranges that lie in absent ones. Needs --one-sided.")
    ] = False,
    total_share: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="The share of epsilon that buys a noisy total of cells; 0 buys none. Default: 1/50.",
        ),
    ] = None,
    left_out_share: Annotated[
        str | None,
        Option(
            metavar="SHARE",
            help="The share of the cost that tells how many people are left out. Default: 0.",
        ),
    ] = None,
    expect_cells: ExpectCells = None,
    expect_mean: ExpectMean = None,
    expect_sd: ExpectSd = None,
    profile: ProfileFile = None,
    like: LikeFile = None,
    anyway: Annotated[
        bool, Option("--anyway", help="Publish even if a plan says that epsilon would be wasted.")
    ] = False,
    where: Where = None,
    query: Query = None,
    table: TableName = None,
    count_column: CountColumn = None,
    sum_column: SumColumn = None,
    clamp: Clamp = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    max_cells: MaxCells = None,
    max_per_cell: MaxPerCell = None,
    rows_are_units: RowsAreUnits = False,
    memory: Memory = None,
    engine: Annotated[
        Literal["local", "spark"],
        Option(
            metavar="NAME",
            help="Where the work is done: local or spark. With spark, each task may use --memory.",
        ),
    ] = "local",
    master: Annotated[
        str | None,
        Option(metavar="URL", help="Spark's master. Default: the one in Spark's settings, or local[*]."),
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the release if there is one of this name.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", help="Show no progress and no closing words.")] = False,
    json: Json = False,
    help_all: HelpAll = False,
) -> None:
    """Publish a table of rows as one small private file.

    The command counts the rows, charges the ledger, draws noise with exactly the stated probabilities, and
    writes one Parquet file. Anybody may have that file: asking it costs no more privacy.

    \b
    Examples:
      hushtable publish commute.parquet --domain commute.toml --epsilon 0.1 \\
        --size 100000 --output out.parquet --ledger commuters.ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --ask town --ask town,age --output asked.parquet --ledger people.ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --unit person_id --max-rows 3 --output visits.parquet --no-ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --unit person_id --max-cells 10 --output people.parquet --no-ledger
      hushtable publish commute.parquet --domain blocks.toml --level home=tract \\
        --epsilon 0.1 --size 5000 --output tracts.parquet --ledger commuters.ledger
      hushtable publish commute.parquet --domain commute.toml --structure dyadic \\
        --epsilon 0.1 --size 5000 --output ranges.parquet --ledger commuters.ledger
      hushtable publish commute.parquet --domain commute.toml --epsilon 0.1 \\
        --summary auto --size 100000 --like commute-2023.parquet \\
        --output planned.parquet --ledger commuters.ledger
      hushtable publish commute.parquet --domain commute.toml --epsilon 0.1 \\
        --structure auto --size 100000 --like commute-2023.parquet \\
        --output auto.parquet --ledger commuters.ledger
      hushtable publish commute.parquet --domain trips.toml --epsilon 0.1 \\
        --marginals all-1 --marginals all-2 --size 5000 \\
        --output cube.parquet --ledger commuters.ledger
      hushtable publish commute.parquet --domain blocks.toml --epsilon 0.1 \\
        --hierarchy "county(home) > tract(home) > home" --size 5000 \\
        --output levels.parquet --ledger commuters.ledger
      hushtable publish postgresql://ann@host/clinic --table visits \\
        --domain visits.toml --epsilon 1 --size 5000 \\
        --output visits.parquet --ledger people.ledger
      hushtable publish warehouse/commuters --engine spark \\
        --domain commute.toml --epsilon 0.1 --size 100000 \\
        --output spark.parquet --ledger commuters.ledger
    """
    recipe = recipe_of(locals())
    report(ctx, carried_out(ctx, recipe, quiet=quiet), json=json, quiet=quiet)
