"""`hushtable plan`: what a release would be worth, before its epsilon is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hushtable.cli.options import (
    Clamp,
    CountColumn,
    DomainFile,
    Epsilon,
    ExpectCells,
    ExpectMean,
    ExpectSd,
    Levels,
    LikeFile,
    MaxRows,
    ProfileFile,
    SumColumn,
    TotalShare,
    UnitColumn,
    levels_of,
    measured,
)
from hushtable.cli.release import Overwrite


def plan(
    domain: DomainFile,
    epsilon: Epsilon,
    size: Annotated[int, typer.Option(metavar="N", help="How many rows to publish.")],
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
    total_share: TotalShare = "1/50",
    format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="A page for people, or data.")
    ] = "table",
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

    No row is read: a plan follows from the domain, epsilon, the size and one assumption about the table.
    Take it from public sources. What is assumed counts as declared public by the owner.
    For sums over ranges, it says whether to publish cells or a tree.

    \b
    Examples:
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --expect-cells 100000 --expect-mean 100 --expect-sd 20
      hushtable plan --domain commute.toml --epsilon 0.1 --size 100000 \\
        --like commute-2023.parquet --sweep -o sweep.png
    """
    import json

    from hushtable.cli.words import lines
    from hushtable.planning.picture import check_picture
    from hushtable.planning.plan import plan as planned

    if output is not None:
        if not sweep:
            raise typer.BadParameter("--output goes with --sweep.")
        check_picture(output, overwrite=overwrite)
    measure = measured(
        count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit, max_rows=max_rows
    )
    found = planned(
        domain,
        level=levels_of(level),
        epsilon=epsilon,
        size=size,
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
    )
    swept = found.sweep() if sweep else None
    if format == "json":
        document = found.to_dict() | ({} if swept is None else {"sweep": swept.to_dict()})
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        typer.echo(lines(str(found)))
        if swept is not None:
            typer.echo(f"\n{lines(str(swept))}")
    if swept is not None and output is not None:
        swept.draw(output, overwrite=overwrite)
        typer.echo(f"{output}: a picture of the sweep.", err=True)
