"""`hushtable plan`: what a release would be worth, before its epsilon is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import (
    Ask,
    Clamp,
    CountColumn,
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
    ProfileFile,
    Rho,
    SumColumn,
    TotalShare,
    UnitColumn,
    Weights,
    Width,
    levels_of,
    marginals_of,
    measured,
    weights_of,
)
from hushtable.cli.release import Overwrite


def plan(
    domain: DomainFile,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    law: Law = None,
    size: Annotated[
        int | None, Option(metavar="N", help="How many rows to publish of each large table.")
    ] = None,
    ask: Ask = None,
    expect_cells: ExpectCells = None,
    expect_mean: ExpectMean = None,
    expect_sd: ExpectSd = None,
    profile: ProfileFile = None,
    like: LikeFile = None,
    level: Levels = None,
    count_column: CountColumn = None,
    sum_column: SumColumn = None,
    clamp: Clamp = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    max_cells: MaxCells = None,
    max_per_cell: MaxPerCell = None,
    total_share: TotalShare = "1/50",
    structure: Annotated[
        Literal["cells", "sketch"],
        Option(metavar="NAME", help="What to plan: cells or sketch. For a data cube, give --marginals."),
    ] = "cells",
    hierarchy: Annotated[
        str | None,
        Option(
            metavar="LEVEL>...",
            help="Plan levels from coarse to fine: the share and the error of each.",
        ),
    ] = None,
    width: Width = None,
    depth: Depth = None,
    marginals: MarginalSets = None,
    weights: Weights = None,
    format: Annotated[
        Literal["table", "json"], Option("--format", help="A page for people, or JSON for programs.")
    ] = "table",
    json: Json = False,
    details: Annotated[
        bool, Option("--details", help="Show the whole page: all questions, tables, summaries and levels.")
    ] = False,
    sweep: Annotated[
        bool, Option("--sweep", help="Also plan for a tenth to ten times the epsilon, and the size.")
    ] = False,
    laws: Annotated[
        bool,
        Option(
            "--laws", help="Compare the laws of noise for this --epsilon and --delta, and do nothing else."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="Draw the sweep or the laws into a .png or .svg file."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Tell what a release would be worth, before any epsilon is spent.

    A plan reads no rows. From the domain, epsilon and size it predicts the error of each answer. It is about
    the questions of --ask; without --ask, about the questions that people usually ask. If you also state an
    assumption about the table, such as --like FILE, it compares each error with what a group holds.

    With an assumption and without --ask, it plans a table of cells alone: which summary to publish, and
    whether a tree would be better for ranges. With --marginals or --structure sketch it compares a data cube
    or a sketch with cells. Take assumptions from public sources: they count as declared public by the owner.

    With --hierarchy it tells of each level what is spent on it, and by how much its counts will be off.

    --laws compares the laws of noise and needs no assumption: it shows the smallest count that a table of
    cells can show under each law.

    \b
    Examples:
      hushtable plan --domain visits.toml --epsilon 1 --size 5000 \\
        --ask town --ask town,age
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --expect-cells 100000 --expect-mean 100 --expect-sd 20
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --like commute-2023.parquet --sweep -o sweep.png
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --like commute-2023.parquet --ask home --ask home,work
      hushtable plan --domain commute.toml --epsilon 1 --size 5000 \\
        --hierarchy "county(home) > tract(home) > home"
      hushtable plan --domain commute.toml --epsilon 1 --size 1000 \\
        --like commute-2023.parquet --marginals all-1 --marginals home,work
      hushtable plan --domain commute.toml --epsilon 1 \\
        --like commute-2023.parquet --structure sketch --width 10000
      hushtable plan --domain commute.toml --epsilon 1 --delta 1e-9 --size 10000 \\
        --unit person_id --max-cells 10 --laws -o laws.png
    """
    from hushtable.cli.printing import print_json
    from hushtable.cli.words import lines
    from hushtable.domain.domain import Domain
    from hushtable.planning.judges import judged, planned_size
    from hushtable.planning.picture import check_picture
    from hushtable.planning.plan import plan as planned
    from hushtable.structures.registry import structure_of

    sketched = structure == "sketch"
    if sketched and size is not None:
        raise click.BadParameter("A sketch has no --size: its --width and --depth say how many rows it has.")
    if size is None and not sketched:
        raise click.BadParameter("Give --size N: how many rows to publish.")
    if marginals and sketched:
        raise click.BadParameter("Give one of --structure and --marginals.")
    if sweep and (marginals or sketched):
        raise click.BadParameter("--sweep is about cells: leave out --marginals and --structure.")
    if output is not None:
        if not (sweep or laws):
            raise click.BadParameter("--output goes with --sweep or --laws.")
        check_picture(output, overwrite=overwrite)
    measure = measured(
        count_column=count_column,
        sum_column=sum_column,
        clamp=clamp,
        unit=unit,
        max_rows=max_rows,
        max_cells=max_cells,
        max_per_cell=max_per_cell,
    )
    levels, finest = levels_of(level), Domain.load(domain)
    if laws:
        assumptions = (expect_cells, expect_mean, expect_sd, profile, like)
        if (
            any(each is not None for each in assumptions)
            or sweep
            or marginals
            or sketched
            or ask
            or law
            or rho
        ):
            raise click.BadParameter(
                "--laws compares laws for --epsilon, --delta, --size and a unit. Leave out the other options."
            )
        if epsilon is None or delta is None or size is None:
            raise click.BadParameter("--laws needs --epsilon, --delta and --size.")
        from hushtable.planning.comparing import compare_laws

        if measure.amount_column is not None:
            raise click.BadParameter("--laws is about counts of rows or people.")
        compared = compare_laws(
            finest, epsilon=epsilon, delta=delta, size=size, level=levels, unit=measure.unit
        )
        if json or format == "json":
            print_json(compared.to_dict())
        else:
            click.echo(lines(str(compared)))
        if output is not None:
            compared.draw(output, overwrite=overwrite)
            click.echo(f"{output}: a picture of the laws.", err=True)
        return
    words: dict[str, Any] = {
        "level": levels,
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "law": law,
        "expect_cells": expect_cells,
        "expect_mean": expect_mean,
        "expect_sd": expect_sd,
        "profile": profile,
        "like": like,
        "unit": measure.unit,
        "count_column": measure.count_column,
        "sum_column": measure.sum_column,
        "clamp": measure.clamp,
        "ask": ask or None,
    }
    if hierarchy is not None:
        if sweep or marginals or sketched or size is None:
            raise click.BadParameter(
                "--hierarchy is planned alone: leave out --sweep, --marginals and --structure."
            )
        levelled = structure_of("hierarchy", levels=hierarchy)
        told = planned(finest, size=size, structure=levelled, **words)
        if json or format == "json":
            print_json(told.to_dict())
        else:
            click.echo(lines(str(told)))
        return
    noised = structure_of(
        "marginals" if marginals else structure,
        width=width,
        depth=depth,
        marginals=marginals_of(marginals, finest),
        weights=weights_of(weights),
    )
    rows = planned_size(noised, size)
    assert rows is not None
    assumed = any(each is not None for each in (expect_cells, expect_mean, expect_sd, profile, like))
    if not assumed and (sweep or marginals or sketched):
        raise click.BadParameter(
            "--sweep, --marginals and --structure need an assumption about the table, such as --like FILE."
        )
    found = planned(finest, size=rows, total_share=total_share, **words)
    swept = found.sweep() if sweep else None
    beside = judged(found, noised) if marginals or sketched else None
    more = {"sweep": swept, "cube" if marginals else "sketch": beside}
    if json or format == "json":
        document = found.to_dict() | {name: each.to_dict() for name, each in more.items() if each is not None}
        print_json(document)
    else:
        click.echo(lines(str(beside) if beside is not None else found.details if details else str(found)))
        if swept is not None:
            click.echo(f"\n{lines(str(swept))}")
    if swept is not None and output is not None:
        swept.draw(output, overwrite=overwrite)
        click.echo(f"{output}: a picture of the sweep.", err=True)
