"""`hushtable query` and `hushtable sql`: answers from a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import click

from hushtable.cli.commanding import Argument, Option
from hushtable.cli.completing import attribute_names
from hushtable.cli.options import Json
from hushtable.cli.release import Overwrite, ReleaseFile, names_of
from hushtable.cli.showing import MOST_SHOWN, FormatOption, Output

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from hushtable.answers.estimation.estimate import Estimate
    from hushtable.answers.release import Release
    from hushtable.domain.attributes import Attribute

AssumeOption = Annotated[
    Literal["even"] | None,
    Option(
        metavar="HOW",
        help="even: give narrower intervals, which hold only if hidden counts are spread evenly.",
    ),
]


def query(
    file: ReleaseFile,
    where: Annotated[str | None, Option(metavar="SQL", help="Count only what meets this condition.")] = None,
    by: Annotated[
        list[str] | None,
        Option(
            metavar="NAMES",
            help="Give one estimate for each value of these attributes, as in home,work.",
            complete=attribute_names,
        ),
    ] = None,
    top: Annotated[
        int | None, Option(min=1, metavar="N", help="With --by: give the N largest estimates.")
    ] = None,
    confidence: Annotated[float, Option(metavar="C", help="The confidence of each interval.")] = 0.95,
    corrected: Annotated[
        bool | None,
        Option(
            "--corrected/--bare",
            help="Use the noisy total, or do not. Default: use it where a cutoff removed something.",
        ),
    ] = None,
    assume: AssumeOption = None,
    simultaneous: Annotated[
        bool,
        Option("--simultaneous", help="With --by: widen intervals until all of them hold at the same time."),
    ] = False,
    nonnegative: Annotated[
        bool,
        Option(
            "--nonnegative",
            help="With --by: also give numbers that are 0 or more and add up. Needs several tables.",
        ),
    ] = False,
    model: Annotated[
        bool,
        Option(
            "--model", help="With --by: also give what a model makes of several tables. It has no interval."
        ),
    ] = False,
    combine: Annotated[
        Literal["mean", "median"] | None,
        Option(metavar="HOW", help="How to combine the rows of a sketch: mean or median."),
    ] = None,
    format: FormatOption = None,
    json: Json = False,
    output: Output = None,
    overwrite: Overwrite = False,
) -> None:
    """Ask a release for numbers, each with its margin.

    Without --by you get one estimate; with --by, one for each group. Groups may be at a coarser level, as in
    --by 'month(day),job'. If a name holds a comma, give it a --by of its own.

    All tables of the release answer together. The text below the answer says what the intervals promise; with
    --format csv, json or parquet, it is on standard error. A sketch answers for up to 10^7 listed cells.

    \b
    Examples:
      hushtable query commute.parquet --where "home < 1000 AND age >= 65"
      hushtable query commute.parquet --by home,work --top 20
      hushtable query commute.parquet --by sector --simultaneous -o sectors.csv
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import console, grid
    from hushtable.cli.showing import chosen_format, write
    from hushtable.cli.words import measure_in_words, printable
    from hushtable.release.exporting import labelled_groups
    from hushtable.release.left_out import left_out_sentence

    if not by and (top is not None or simultaneous or nonnegative or model):
        raise click.BadParameter("--top, --simultaneous, --nonnegative and --model go with --by.")
    form = chosen_format("json" if json and output is None else format, output)
    release = open_release(file)
    if by:
        rows = release.by(
            names_of(by, release.domain.names),
            where=where,
            confidence=confidence,
            corrected=corrected,
            assume=assume,
            simultaneous=simultaneous,
            top=top,
            combine=combine,
            nonnegative=nonnegative,
            model=model,
        )
    else:
        estimate = release.total(
            where, confidence=confidence, corrected=corrected, assume=assume, combine=combine
        )
        rows = _as_rows(estimate)
    warnings = release.noise.about((rows.schema.metadata or {}).get(b"source", b"").decode())
    note = printable(rows.schema.metadata[b"note"].decode())
    promises = f"Intervals have {confidence * 100:.10g} % confidence. {note}"
    if rows.schema.metadata.get(b"source") == b"model":
        promises = note
    left_out = left_out_sentence(release.terms)
    counted = measure_in_words(release.terms.measure, release.domain.counts)
    if form != "table":
        write(
            labelled_groups(rows, release.domain) if by else rows,
            form,
            output,
            overwrite=overwrite,
            what="answers",
            facts={
                "hushtable": "answers",
                "note": rows.schema.metadata[b"note"].decode(),
                "confidence": confidence,
                "guarantee": release.guarantee,
                "counted": counted,
                **({} if left_out is None else {"left_out": left_out}),
            },
            as_document=json,
        )
        for warning in warnings:
            click.echo(printable(warning), err=True)
        click.echo(promises, err=True)
        click.echo(printable(release.guarantee), err=True)
        return
    out = console()
    for warning in warnings:
        out.print(printable(warning), style="bold")
    if by:
        out.print(_listing(rows, release, attributes=len(names_of(by, release.domain.names))))
        _say_what_is_left(rows.num_rows, "groups")
    else:
        out.print(grid(_facts(estimate)))
    out.print()
    out.print(promises)
    if release.terms.measure.unit is not None:
        beyond = "Rows beyond that, or outside the domain, are left out, and no interval allows for them."
        out.print(f"Counted: {counted}. {beyond}")
    elif release.domain.counts:
        out.print(f"Counted: {counted}; rows outside the domain are left out.")
    if left_out is not None:
        out.print(printable(left_out))
    out.print(printable(release.guarantee))


def sql(
    file: ReleaseFile,
    text: Annotated[str, Argument(metavar="SQL", help="One SELECT over the table `release`.")],
    format: FormatOption = None,
    json: Json = False,
    output: Output = None,
    overwrite: Overwrite = False,
) -> None:
    """Run one SELECT over the rows of a release.

    The rows are the table `release`: the attributes, `count` and `weight`. Sums of `weight` are estimates.

    If the file has several tables, `release` is the smallest that has the columns you name, and
    `release_tables` has the rows of all of them. Every table counts everybody, so add up one of them only.

    \b
    Examples:
      hushtable sql commute.parquet "SELECT max(count) FROM release"
      hushtable sql commute.parquet "FROM release ORDER BY count" -o rows.csv
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import console
    from hushtable.cli.showing import chosen_format, shown_rows, write

    form = chosen_format("json" if json and output is None else format, output)
    release = open_release(file)
    rows = release.sql(text)
    if form != "table":
        write(rows, form, output, overwrite=overwrite, as_document=json)
        return
    console().print(shown_rows(rows, attributes=release.domain.names))
    _say_what_is_left(rows.num_rows, "rows")


def _as_rows(estimate: Estimate) -> pa.Table:
    """Return one estimate as `by` returns several."""
    import numpy as np
    import pyarrow as pa

    from hushtable.answers.estimation.estimate import column_names
    from hushtable.domain.columns import as_column

    values = (estimate.value, estimate.standard_error, estimate.low, estimate.high)
    columns = [as_column(np.array([value], dtype=np.float64)) for value in values]
    facts = {"note": estimate.note, "confidence": repr(estimate.confidence)}
    names = list(column_names(estimate.assumes))
    return pa.Table.from_arrays(columns, names=names).replace_schema_metadata(facts)


def _facts(estimate: Estimate) -> list[tuple[str, str]]:
    """Return one estimate for people."""
    from hushtable.answers.estimation.estimate import rounded

    value, low, high = (
        rounded(each, estimate.uncertain) for each in (estimate.value, estimate.low, estimate.high)
    )
    return [
        ("estimate", value),
        (f"interval if {estimate.assumes}" if estimate.assumes else "interval", f"{low} to {high}"),
        ("standard error", rounded(estimate.standard_error, estimate.standard_error)),
    ]


def _listing(rows: pa.Table, release: Release, *, attributes: int) -> Table:
    """Return estimates of groups for people."""
    from hushtable.answers.estimation.estimate import rounded, uncertainty
    from hushtable.cli.printing import table
    from hushtable.cli.words import printable

    names, numbers = rows.column_names[:attributes], rows.column_names[attributes:]
    made = table(*map(printable, (*names, *numbers)), numbers=numbers)
    first = rows.slice(0, MOST_SHOWN)
    said = [_values(release.attribute(name), first.column(place)) for place, name in enumerate(names)]
    answers = [first.column(place).to_pylist() for place in range(len(names), first.num_columns)]
    for row in zip(*said, *answers, strict=True):
        values, (estimate, error, low, high, *others) = row[: len(names)], row[len(names) :]
        if estimate is None:  # nothing measured it
            made.add_row(*map(printable, values), *[""] * 4, *(f"{each:,.0f}" for each in others))
            continue
        uncertain = uncertainty(error, low, high)
        value, *ends = (rounded(each, uncertain) for each in (estimate, low, high, *others))
        made.add_row(*map(printable, values), value, rounded(error, error), *ends)
    return made


def _values(attribute: Attribute, column: pa.ChunkedArray) -> list[str]:
    """Return values for people: bins with both edges, categories with their labels beside them."""
    from hushtable.cli.words import number_in_words
    from hushtable.domain.attributes import Bins, Categories, Edges

    kind = attribute.values
    if isinstance(kind, Bins | Edges):
        from hushtable.plots.scales import codes_of, labels_of

        return labels_of(attribute, codes_of(attribute, column))
    texts = [number_in_words(each) if isinstance(each, float) else str(each) for each in column.to_pylist()]
    if not isinstance(kind, Categories) or kind.labels is None:
        return texts
    labels = dict(zip(kind.values, kind.labels, strict=True))
    return [text if labels.get(text, text) == text else f"{text} ({labels[text]})" for text in texts]


def _say_what_is_left(number: int, what: str) -> None:
    """Say how many rows are not shown."""
    if number > MOST_SHOWN:
        click.echo(f"... {number - MOST_SHOWN:,} more {what}; --format csv shows all.")
