"""`hushtable publish`: rows in, one private file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from hushtable.cli.options import (
    Clamp,
    CountColumn,
    Data,
    DomainFile,
    Levels,
    MaxRows,
    Memory,
    Query,
    RowsAreUnits,
    SumColumn,
    UnitColumn,
    Where,
    loaded,
    measured,
)

SummaryName = Literal["everything", "filter", "threshold", "priority", "filter-threshold", "filter-priority"]


def publish(
    data: Data,
    domain: DomainFile,
    epsilon: Annotated[str, typer.Option(metavar="E", help="What it may cost: 0.1, or exactly 1/10.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
    level: Levels = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="How many rows to publish.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge this ledger before anything is drawn.")
    ] = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Charge none: you keep count of epsilon yourself.")
    ] = False,
    summary: Annotated[
        SummaryName,
        typer.Option(metavar="NAME", help=f"How rows are chosen: {', '.join(get_args(SummaryName))}."),
    ] = "filter-priority",
    cutoff: Annotated[
        str | None, typer.Option(metavar="N|auto", help="The least noisy count to publish.")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(metavar="T|auto", help="Noisy counts below it are sampled.")
    ] = None,
    one_sided: Annotated[
        bool, typer.Option("--one-sided", help="Publish noisy counts above 0 only.")
    ] = False,
    total_share: Annotated[
        str, typer.Option(metavar="SHARE", help="The share of epsilon for a noisy total; 0 for none.")
    ] = "1/50",
    where: Where = None,
    query: Query = None,
    count_column: CountColumn = None,
    sum_column: SumColumn = None,
    clamp: Clamp = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    rows_are_units: RowsAreUnits = False,
    memory: Memory = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no closing words.")] = False,
) -> None:
    """Publish a table of rows as one small private file.

    Counts the rows, draws a private summary of exactly the stated law, and writes it as Parquet.

    \b
    Examples:
      hushtable publish commute.parquet --domain commute.toml --epsilon 0.1 \\
        --size 100000 --output out.parquet --ledger commuters.ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --unit person_id --max-rows 3 --output visits.parquet --no-ledger
      hushtable publish commute.parquet --domain blocks.toml --level home=tract \\
        --epsilon 0.1 --size 5000 --output tracts.parquet --ledger commuters.ledger
    """
    from hushtable.cli.progress import shown_progress
    from hushtable.cli.words import printable
    from hushtable.ledger.ledger import Ledger
    from hushtable.publishing.choices import choice
    from hushtable.publishing.publish import publish_chosen, split_epsilon

    if no_ledger == (ledger is not None):
        raise typer.BadParameter("Give one of --ledger FILE and --no-ledger.")
    if summary == "filter-priority" and size is None:
        raise typer.BadParameter("Give --size N: how many rows to publish.")
    measure = measured(
        count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit, max_rows=max_rows
    )
    declared = loaded(domain, level)
    whole, for_total = split_epsilon(epsilon, total_share)
    chosen = choice(
        summary,
        size=size,
        cutoff=cutoff,
        threshold=threshold,
        one_sided=one_sided,
        cells=declared.cells_total,
        rate=(whole - for_total) / measure.sensitivity,
    )
    account = None if ledger is None else Ledger.open(ledger)
    with shown_progress(quiet=quiet) as progress:
        published = publish_chosen(
            data[0] if len(data) == 1 else data,
            domain=declared,
            measure=measure,
            chosen=chosen,
            epsilon=whole,
            total_epsilon=for_total,
            output=output,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            ledger=account,
            memory=memory,
            overwrite=overwrite,
            progress=progress,
        )
    if published.dropped:
        typer.echo(
            "Some rows were dropped by the rules of the domain; `hushtable check` says how many.", err=True
        )
    if not quiet:
        typer.echo(f"{output}: {len(published.release):,} rows. {printable(published.release.guarantee)}")
        typer.echo(f"Look at it: hushtable show {output}")
