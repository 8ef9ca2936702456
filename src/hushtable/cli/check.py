"""`hushtable check`: the owner's own look at how rows stand to a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import click

from hushtable.cli.codes import REFUSED
from hushtable.cli.commanding import Option
from hushtable.cli.options import (
    Clamp,
    CountColumn,
    Data,
    DomainFile,
    Json,
    Levels,
    MaxCells,
    MaxPerCell,
    MaxRows,
    Memory,
    Query,
    RowsAreUnits,
    SumColumn,
    TableName,
    UnitColumn,
    Where,
    loaded,
    measured,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from hushtable.engines.local.reporting import Look, Report, UnitLook

_LONGEST_STRAY = 60


def check(
    data: Data,
    domain: DomainFile,
    level: Levels = None,
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
    stray: Annotated[
        int,
        Option(
            min=0,
            metavar="N",
            help="Also show the N most common values outside the domain. These are values of rows.",
        ),
    ] = 0,
    format: Annotated[
        Literal["table", "json"], Option(help="A table for people, or JSON for scripts.")
    ] = "table",
    json: Json = False,
) -> None:
    """Check how rows fit a domain. PRIVATE output, for the data owner only.

    The report says which columns match, how many rows lie inside the declared values, and what happens to the
    others. It shows numbers only, and values of rows only if --stray asks for them. With --unit, it shows how
    many rows each bound on rows or cells would keep. The exit code is 0 if publishing would run and would
    count at least one row.

    \b
    Examples:
      hushtable check people.parquet --domain people.toml
      hushtable check visits.csv --domain visits.toml --unit person_id --max-rows 3
      hushtable check visits.csv --domain visits.toml \\
        --unit person_id --max-cells 3
      hushtable check flows.parquet --domain flows.toml --count-column people
    """
    from hushtable.cli.printing import print_json, reading
    from hushtable.engines.local.addresses import located
    from hushtable.engines.local.checking import check_rows

    measure = measured(
        count_column=count_column,
        sum_column=sum_column,
        clamp=clamp,
        unit=unit,
        max_rows=max_rows,
        max_cells=max_cells,
        max_per_cell=max_per_cell,
    )
    declared = loaded(domain, level)
    with reading():
        report = check_rows(
            located(data[0] if len(data) == 1 else data, table),
            domain=declared,
            measure=measure,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            stray=stray,
            memory=memory,
        )
    if json or format == "json":
        print_json(report.to_dict())
    else:
        _print_tables(report)
    if not report.fits or report.counts_nothing:
        raise click.exceptions.Exit(REFUSED)


def _print_tables(report: Report) -> None:
    """Print a report for people."""
    from hushtable.cli.printing import console, table
    from hushtable.domain.wording import cells_in_words, kind_in_words, size_in_words
    from hushtable.engines.local.reporting import NOTICE
    from hushtable.errors import printable

    out = console()
    out.print(NOTICE, style="bold red")
    out.print()
    numbers = ("inside", "missing", "unreadable", "outside")
    rows = table("attribute", "read", *numbers, numbers=numbers)
    for look in report.attributes:
        rows.add_row(*_cells(look, look.attribute.name, size_in_words(look.attribute.values)))
    if (amount := report.amount) is not None:
        rows.add_section()
        if amount.attribute.outside == "drop":
            rows.add_row(*_cells(amount, "(counts)", "integers from 0"))
        else:
            rows.add_row(*_cells(amount, "(sums)", kind_in_words(amount.attribute.values)))
    out.print(rows)
    out.print()
    out.print(_totals(report))
    out.print()
    if any(look.stray for look in report.attributes):
        out.print(_strays(report))
        out.print()
    if report.unit is not None and report.unit.kept:
        out.print(_bounds(report.unit))
        out.print()
    out.print(f"Cells in all, occupied or not: {cells_in_words(report.cells_total)}")
    if report.unused:
        out.print(f"Columns not used: {', '.join(map(printable, report.unused))}")
    out.print()
    for line in report.verdict:
        out.print(line)
    if not report.fits:
        out.print(_reasons(report))
    out.print()
    out.print(NOTICE, style="bold red")


def _cells(look: Look, name: str, declared: str) -> list[str | Text]:
    """Return the row of an attribute, or of amounts: numbers, and below them what becomes of those rows."""
    from rich.text import Text

    from hushtable.domain.wording import is_ordered, rule_in_words
    from hushtable.errors import printable

    attribute = look.attribute
    column = "" if attribute.column == name else f"\ncolumn {printable(attribute.column)}"
    held = look.column_type if len(look.column_type) <= 24 else f"{look.column_type[:21]}..."
    read = f"{printable(held) or 'not there'}\nas {declared}"
    cells: list[str | Text] = [name + column, read]
    if look.problem is not None:
        return [*cells, Text("does not fit", style="bold red"), "", "", ""]
    missing, outside = rule_in_words(attribute.missing), rule_in_words(attribute.outside)
    words = ("below", "above") if is_ordered(attribute.values) else ("unknown", "unknown")
    sides = [f"{rows:,} {word}" for rows, word in zip((look.below, look.above), words, strict=True) if rows]
    return [
        *cells,
        f"{look.inside:,}",
        Text(f"{look.missing:,}\n{missing}", style="yellow") if look.missing else "0",
        Text(f"{look.unreadable:,}\n{missing}", style="yellow") if look.unreadable else "0",
        Text("\n".join([*sides, outside]), style="yellow") if sides else "0",
    ]


def _strays(report: Report) -> Table:
    """Return the commonest values that are not declared: of rows, so for the owner's eyes alone."""
    from hushtable.cli.printing import table
    from hushtable.errors import printable

    rows = table("attribute", "stray value", "rows", numbers=("rows",))
    for look in report.attributes:
        for value, number in look.stray:
            cut = value if len(value) <= _LONGEST_STRAY else f"{value[: _LONGEST_STRAY - 3]}..."
            rows.add_row(look.attribute.name, printable(repr(cut)), f"{number:,}")
    return rows


def _bounds(look: UnitLook) -> Table:
    """Return what each bound on the rows of a unit would keep."""
    from hushtable.cli.printing import table

    option = "--max-rows" if look.unit.max_rows is not None else "--max-cells"
    rows = table(option, "rows kept", numbers=(option, "rows kept"))
    for most, kept in look.worth_naming:
        rows.add_row(f"{most:,}", f"{kept:,}")
    return rows


def _totals(report: Report) -> Table:
    """Return the numbers of the whole table."""
    from rich.table import Table

    from hushtable.engines.local.reporting import why_not_read

    totals = Table.grid(padding=(0, 2))
    totals.add_column()
    totals.add_column(justify="right")
    totals.add_column(overflow="fold")
    if report.unreadable.records:
        totals.add_row("records not read", f"{report.unreadable.records:,}", why_not_read(report.unreadable))
    totals.add_row("rows read", f"{report.rows_read:,}", "")
    if report.rows_dropped is not None and report.rows_counted is not None:
        totals.add_row(
            "rows dropped", f"{report.rows_dropped:,}", "(a row that breaks several rules is counted once)"
        )
        if report.unit is not None:
            look = report.unit
            totals.add_row("  without a unit", f"{look.missing:,}", f"no value in {look.unit.column}")
            totals.add_row("rows beyond the bound", f"{look.rows_beyond:,}", look.beyond)
        totals.add_row("rows counted", f"{report.rows_counted:,}", "")
        if report.unit is not None:
            totals.add_row("units", f"{look.units:,}", "with rows that are not dropped")
            totals.add_row("  above the bound", f"{look.above_bound:,}", f"with {look.above}")
    return totals


def _reasons(report: Report) -> Table:
    """Return all that would stop publishing, and what to mend."""
    from rich.table import Table

    reasons = Table.grid(padding=(0, 1))
    for reason in report.reasons:
        reasons.add_row("-", reason)
    return reasons
