"""`hushtable publish`: rows in, one private release out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from hushtable.cli.grouping import HelpAll
from hushtable.cli.options import (
    Ask,
    Clamp,
    CountColumn,
    Data,
    Depth,
    DomainFile,
    Epsilon,
    ExpectCells,
    ExpectMean,
    ExpectSd,
    Json,
    Levels,
    LikeFile,
    MarginalSets,
    MaxRows,
    Memory,
    ProfileFile,
    Query,
    RowsAreUnits,
    SumColumn,
    UnitColumn,
    Weights,
    Where,
    Width,
    levels_of,
    marginals_of,
    measured,
    weights_of,
)

if TYPE_CHECKING:
    from hushtable.table.progress import Progress

SummaryName = Literal[
    "auto", "everything", "filter", "threshold", "priority", "filter-threshold", "filter-priority"
]
StructureName = Literal["auto", "cells", "dyadic", "haar", "product-dyadic", "tree", "sketch"]


def publish(
    ctx: typer.Context,
    data: Data,
    domain: DomainFile,
    epsilon: Epsilon,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    level: Levels = None,
    ask: Ask = None,
    size: Annotated[
        int | None, typer.Option(metavar="N", help="How many rows to publish of each table.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Charge this ledger before anything is drawn.")
    ] = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Charge none: you keep count of epsilon yourself.")
    ] = False,
    summary: Annotated[
        SummaryName | None,
        typer.Option(
            metavar="NAME",
            help=f"How rows are chosen: {', '.join(get_args(SummaryName))}; the last, but of a tree filter.",
        ),
    ] = None,
    cutoff: Annotated[
        str | None, typer.Option(metavar="N|auto", help="The least noisy count to publish.")
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(metavar="T|auto", help="Noisy counts below it are sampled.")
    ] = None,
    one_sided: Annotated[
        bool, typer.Option("--one-sided", help="Publish noisy counts above 0 only.")
    ] = False,
    structure: Annotated[
        StructureName | None,
        typer.Option(
            metavar="NAME",
            help=f"Publish this instead of tables: {', '.join(get_args(StructureName))}.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Attributes in the order of a structure, others last; or morton, of a tree.",
        ),
    ] = None,
    branching: Annotated[
        int | None, typer.Option(metavar="B", help="How many children a node of a tree has: 16.")
    ] = None,
    width: Width = None,
    depth: Depth = None,
    marginals: MarginalSets = None,
    weights: Weights = None,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Drop dyadic ranges inside absent ones; one-sided.")
    ] = False,
    total_share: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="The share of epsilon for a noisy total of cells: 1/50; 0 for none."
        ),
    ] = None,
    expect_cells: ExpectCells = None,
    expect_mean: ExpectMean = None,
    expect_sd: ExpectSd = None,
    profile: ProfileFile = None,
    like: LikeFile = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Publish it even if it would be wasted.")] = False,
    where: Where = None,
    query: Query = None,
    count_column: CountColumn = None,
    sum_column: SumColumn = None,
    clamp: Clamp = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    rows_are_units: RowsAreUnits = False,
    memory: Memory = None,
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option(
            metavar="NAME", help="What does the work: local, or spark; there, --memory is of a task."
        ),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Spark's master: local[*], unless its settings name another."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the release if it is there.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no closing words.")] = False,
    json: Json = False,
    help_all: HelpAll = False,
) -> None:
    """Publish a table of rows as one small private file.

    Counts the rows, draws a private summary of exactly the stated law, and writes it as Parquet.

    \b
    Examples:
      hushtable publish commute.parquet --domain commute.toml --epsilon 0.1 \\
        --size 100000 --output out.parquet --ledger commuters.ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --ask town --ask town,age --output asked.parquet --ledger people.ledger
      hushtable publish visits.csv --domain visits.toml --epsilon 1 --size 5000 \\
        --unit person_id --max-rows 3 --output visits.parquet --no-ledger
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
      hushtable publish warehouse/commuters --engine spark \\
        --domain commute.toml --epsilon 0.1 --size 100000 \\
        --output spark.parquet --ledger commuters.ledger
    """
    from hushtable.cli.documents import ledger_document, release_document
    from hushtable.cli.printing import print_json
    from hushtable.cli.progress import shown_progress
    from hushtable.cli.release import names_of
    from hushtable.cli.words import dropped_in_words, printable
    from hushtable.domain.domain import Domain
    from hushtable.ledger.ledger import Ledger
    from hushtable.planning.judges import judged, planned_size
    from hushtable.planning.plan import plan as planned
    from hushtable.publishing.choices import (
        check_ask,
        choice_over,
        planned_structure,
        takes_size,
        usual_structure,
    )
    from hushtable.publishing.judging import check_on_spark
    from hushtable.publishing.paying import Payment
    from hushtable.publishing.publish import publish_chosen, split_epsilon
    from hushtable.structures.orders import MORTON
    from hushtable.structures.registry import structure_of

    if no_ledger == (ledger is not None):
        raise typer.BadParameter(
            "Give one of --ledger FILE and --no-ledger. `hushtable ledger create` makes a ledger."
        )
    on_spark = engine == "spark"
    if master is not None and not on_spark:
        raise typer.BadParameter("--master is of Spark: give --engine spark with it.")
    assumed = any(each is not None for each in (expect_cells, expect_mean, expect_sd, profile, like))
    if marginals and structure not in (None, "cells"):
        raise typer.BadParameter("Give one of --structure and --marginals.")
    auto = structure == "auto"
    if auto and any((order, branching, consistent, width, depth)):
        raise typer.BadParameter("Settings of a structure go with one that is named.")
    measure = measured(
        count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit, max_rows=max_rows
    )
    levels, finest = levels_of(level), Domain.load(domain)
    declared = finest.at(levels)
    names = None if order is None else names_of([order], declared.names)
    morton = structure == "tree" and order == MORTON
    settings = {
        "order": MORTON if morton else names,
        "consistent": consistent or None,
        "branching": branching,
        "width": width,
        "depth": depth,
        "marginals": marginals_of(marginals, declared),
        "weights": weights_of(weights),
    }
    named = (summary, cutoff, threshold, one_sided or None, *settings.values())
    usual = structure is None and not assumed and all(each is None for each in named)
    entire: int | None = None
    check_ask(ask or None, structure=structure, summary=summary, plan=assumed or None)
    if usual:
        found = usual_structure(
            declared,
            ask=ask or None,
            size=size,
            distributed=on_spark,
            epsilon=epsilon,
            sensitivity=measure.sensitivity,
        )
        noised, entire = found.structure, found.whole
        total_share = found.total_share if total_share is None else total_share  # type: ignore[assignment]
    else:
        chosen_structure = "marginals" if marginals else "cells" if auto or structure is None else structure
        noised = structure_of(chosen_structure, **settings)
    name = summary or ("auto" if auto else noised.default_method)
    sized = takes_size(name, cutoff=cutoff, threshold=threshold)
    sketch = noised.rows_published is not None
    sampled = summary in (None, "auto", "filter-priority")
    if size is None and not sketch and (assumed or (sized and sampled)):
        raise typer.BadParameter("Give --size N: how many rows to publish.")
    whole, for_total = split_epsilon(epsilon, total_share, noised)
    plan = None
    # A sketch is compared with cells of as many rows as it has buckets.
    rows_planned = planned_size(noised, size)
    if rows_planned is not None and assumed:
        plan = planned(
            finest,
            level=levels,
            epsilon=epsilon,
            size=rows_planned,
            expect_cells=expect_cells,
            expect_mean=expect_mean,
            expect_sd=expect_sd,
            profile=profile,
            like=like,
            unit=measure.unit,
            count_column=measure.count_column,
            sum_column=measure.sum_column,
            clamp=measure.clamp,
            total_share=for_total / whole,
        )
    if auto:
        noised = planned_structure(plan, summary)
        if not noised.takes_total:
            whole, for_total = split_epsilon(epsilon, None, noised)
    chosen = choice_over(
        noised,
        declared,
        summary="auto" if auto else summary,
        epsilon=whole - for_total,
        sensitivity=measure.sensitivity,
        # Where settings leave nothing to a size, it is for the plan alone.
        size=size if plan is None or sized or sketch else None,
        cutoff=cutoff,
        threshold=threshold,
        one_sided=one_sided,
        plan=plan,
        whole=entire,
    )
    payment = Payment(None if ledger is None else Ledger.open(ledger), epsilon=whole, output=output)
    ctx.find_root().obj = payment  # whom `main` asks what was charged, should we be stopped
    if on_spark:
        check_on_spark(noised)  # before it is waited for
    with (
        shown_progress(quiet=quiet) as progress,
        _rows(data, on_spark, master, rows_are_units, progress) as rows,
    ):
        published = payment.told(
            publish_chosen,
            rows,
            domain=declared,
            measure=measure,
            structure=noised,
            chosen=chosen,
            epsilon=whole,
            total_epsilon=for_total,
            output=output,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            payment=payment,
            memory=memory,
            overwrite=overwrite,
            anyway=anyway,
            progress=progress,
        )
    methods = [each.method for each in chosen.parts or (chosen,)]
    for warning in () if plan is None else judged(plan, noised, methods).warnings:
        typer.echo(f"warning: {printable(warning)}.", err=True)
    # True numbers: on the owner's own terminal, and nowhere that keeps what is written.
    if sys.stderr.isatty() and (said := dropped_in_words(published.tally, on_spark=on_spark)):
        typer.secho(said, err=True, bold=True, fg="red")
    for warning in published.release.noise.warnings:
        typer.echo(f"warning: {printable(warning)}", err=True)
    if json:
        account = None if payment.ledger is None else ledger_document(payment.ledger)
        print_json(release_document(published.release) | {"ledger": account})
    elif not quiet:
        typer.echo(f"{output}: {len(published.release):,} rows. {printable(published.release.guarantee)}")
        typer.echo(f"Look at it: hushtable show {output}")


@contextmanager
def _rows(
    data: list[str], on_spark: bool, master: str | None, rows_are_units: bool, progress: Progress
) -> Iterator[Any]:
    """Give what is to be published: paths, or a DataFrame of a session that lasts as long as the block."""
    if not on_spark:
        yield data[0] if len(data) == 1 else data
        return
    from hushtable.engines.spark.sessions import session
    from hushtable.engines.spark.sources import frame_of

    progress("Starting", 0.0)
    with session(master) as spark:
        yield frame_of(spark, data, rows_are_units=rows_are_units)
