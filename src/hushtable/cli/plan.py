"""`hushtable plan`: what a release would be worth, before its epsilon is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

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
        int | None, typer.Option(metavar="N", help="How many rows to publish of each table.")
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
        typer.Option(metavar="NAME", help="What is planned: cells, sketch; or --marginals."),
    ] = "cells",
    width: Width = None,
    depth: Depth = None,
    marginals: MarginalSets = None,
    weights: Weights = None,
    format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="A page for people, or data.")
    ] = "table",
    json: Json = False,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Also for a tenth to ten times the epsilon, and the size.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Draw the sweep: .png or .svg."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Say what a release would be worth, before epsilon is spent.

    No row is read. For questions, a plan follows from the domain, epsilon and the size: it says which tables
    are published, and the error to expect of each answer. Without --ask, it is about the questions that
    people usually ask.

    A table of cells alone is planned from one assumption about it. Take it from public sources: what is
    assumed counts as declared public by the owner. For sums over ranges, the plan says whether to publish
    cells or a tree; of a data cube and of a sketch, what they would be worth beside cells.

    \b
    Examples:
      hushtable plan --domain visits.toml --epsilon 1 --size 5000 \\
        --ask town --ask town,age
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --expect-cells 100000 --expect-mean 100 --expect-sd 20
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --like commute-2023.parquet --sweep -o sweep.png
      hushtable plan --domain commute.toml --epsilon 1 --size 1000 \\
        --like commute-2023.parquet --marginals all-1 --marginals home,work
      hushtable plan --domain commute.toml --epsilon 1 \\
        --like commute-2023.parquet --structure sketch --width 10000
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
        raise typer.BadParameter("A sketch has no --size: its --width and --depth say how many rows it has.")
    if size is None and not sketched:
        raise typer.BadParameter("Give --size N: how many rows to publish.")
    if marginals and sketched:
        raise typer.BadParameter("Give one of --structure and --marginals.")
    if sweep and (marginals or sketched):
        raise typer.BadParameter("--sweep is about cells: leave out --marginals and --structure.")
    if output is not None:
        if not sweep:
            raise typer.BadParameter("--output goes with --sweep.")
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
        raise typer.BadParameter("This needs an assumption about the table, such as --like FILE.")
    found = planned(
        finest,
        level=levels,
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        law=law,
        size=rows,
        expect_cells=expect_cells,
        expect_mean=expect_mean,
        expect_sd=expect_sd,
        profile=profile,
        like=like,
        unit=measure.unit,
        count_column=measure.count_column,
        sum_column=measure.sum_column,
        clamp=measure.clamp,
        total_share=total_share,
        ask=ask or None,
    )
    swept = found.sweep() if sweep else None
    beside = judged(found, noised) if marginals or sketched else None
    more = {"sweep": swept, "cube" if marginals else "sketch": beside}
    if json or format == "json":
        document = found.to_dict() | {name: each.to_dict() for name, each in more.items() if each is not None}
        print_json(document)
    else:
        typer.echo(lines(str(beside or found)))
        if swept is not None:
            typer.echo(f"\n{lines(str(swept))}")
    if swept is not None and output is not None:
        swept.draw(output, overwrite=overwrite)
        typer.echo(f"{output}: a picture of the sweep.", err=True)
