"""`hushtable check`: the owner's own look at how rows stand to a domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

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

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from hushtable.domain.domain import Domain
    from hushtable.engines.local.checking import Look, Report

NOTICE = "PRIVATE: true numbers, for the data owner only. Do not publish or pass on."


def check(
    data: Data,
    domain: DomainFile,
    level: Levels = None,
    where: Where = None,
    query: Query = None,
    count_column: CountColumn = None,
    sum_column: SumColumn = None,
    clamp: Clamp = None,
    unit: UnitColumn = None,
    max_rows: MaxRows = None,
    rows_are_units: RowsAreUnits = False,
    memory: Memory = None,
    format: Annotated[Literal["table", "json"], typer.Option(help="For people, or for scripts.")] = "table",
) -> None:
    """Check how rows fit a domain. PRIVATE output, for the data owner only.

    Says which columns match, how many rows lie inside the declared values, and what happens to the
    others. Numbers only: no value of a row is shown. The exit code is 0 if publishing would run, and would
    count any row.

    \b
    Examples:
      hushtable check people.parquet --domain people.toml
      hushtable check visits.csv --domain visits.toml --unit person_id --max-rows 3
      hushtable check flows.parquet --domain flows.toml --count-column people
    """
    from hushtable.cli.printing import reading
    from hushtable.engines.local.checking import check_rows

    measure = measured(
        count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit, max_rows=max_rows
    )
    declared = loaded(domain, level)
    with reading():
        report = check_rows(
            data[0] if len(data) == 1 else data,
            domain=declared,
            measure=measure,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            memory=memory,
        )
    if format == "json":
        _print_json(report, declared)
    else:
        _print_tables(report, declared)
    if not report.fits or report.counts_nothing:
        raise typer.Exit(1)


def _print_tables(report: Report, domain: Domain) -> None:
    """Print a report for people."""
    from hushtable.cli.printing import console, table
    from hushtable.cli.words import cells_in_words, kind_in_words, printable, size_in_words

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
    out.print(f"Cells, occupied or not: {cells_in_words(domain.cells_total)}")
    if report.unused:
        out.print(f"Columns not used: {', '.join(map(printable, report.unused))}")
    out.print()
    for line in _verdict(report, domain):
        out.print(line)
    if not report.fits:
        out.print(_reasons(report))
    out.print()
    out.print(NOTICE, style="bold red")


def _cells(look: Look, name: str, declared: str) -> list[str | Text]:
    """Return the row of an attribute, or of amounts: numbers, and below them what becomes of those rows."""
    from rich.text import Text

    from hushtable.cli.words import is_ordered, printable, rule_in_words

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


def _totals(report: Report) -> Table:
    """Return the numbers of the whole table."""
    from rich.table import Table

    totals = Table.grid(padding=(0, 2))
    totals.add_column()
    totals.add_column(justify="right")
    totals.add_column(overflow="fold")
    if report.unreadable.records:
        totals.add_row("records not read", f"{report.unreadable.records:,}", _why_not_read(report))
    totals.add_row("rows read", f"{report.rows_read:,}", "")
    if report.rows_dropped is not None and report.rows_counted is not None:
        totals.add_row("rows dropped", f"{report.rows_dropped:,}", "each once, whatever rules drop it")
        if report.unit is not None:
            look, bound = report.unit, report.unit.unit.max_rows
            totals.add_row("  without a unit", f"{look.missing:,}", f"no value in {look.unit.column}")
            totals.add_row(
                "rows beyond the bound", f"{look.rows_beyond:,}", f"more than {bound:,} of one unit"
            )
        totals.add_row("rows counted", f"{report.rows_counted:,}", "")
        if report.unit is not None:
            totals.add_row("units", f"{look.units:,}", "with rows that are not dropped")
            totals.add_row("  above the bound", f"{look.above_bound:,}", f"with more than {bound:,} rows")
    return totals


def _why_not_read(report: Report) -> str:
    """Return why records of text files could not be read, with numbers."""
    words = {
        "quotes": "with a quote that is not closed, or text after it",
        "fields": "with too many or too few values",
        "keys": "not one JSON object, or with a used key twice",
        "too_long": "longer than 8 MiB",
        "not_text": "not UTF-8",
    }
    numbers = {reason: getattr(report.unreadable, reason) for reason in words}
    return "; ".join(f"{number:,} {words[reason]}" for reason, number in numbers.items() if number)


def _verdict(report: Report, domain: Domain) -> Iterator[str]:
    """Yield what publishing would do."""
    for look in report.attributes:
        if look.problem is None and look.missing == report.rows_read > 0:
            yield f"No row has a value for attribute {look.attribute.name!r}: is its column's name right?"
        elif look.problem is None and not look.inside and report.rows_read:
            yield f"No row lies inside attribute {look.attribute.name!r}: is it declared as what it holds?"
    if not report.fits:
        yield "Publishing would stop:"
    elif not domain.reviewed:
        yield "The rows fit. Publishing refuses this domain until it is reviewed (reviewed = false)."
    elif report.counts_nothing:
        yield "Publishing would run, and publish noise alone: every row is dropped."
    elif report.rows_dropped or report.unreadable.records:
        yield "Publishing would run, without the rows that are dropped."
    else:
        yield "Publishing would run."


def _reasons(report: Report) -> Table:
    """Return all that would stop publishing, and what to mend."""
    from rich.table import Table

    reasons = Table.grid(padding=(0, 1))
    for problem in report.problems:
        reasons.add_row("-", f"{problem.fact}. {problem.hint}")
    for name, rule in report.broken:
        reasons.add_row("-", f'attribute {name!r} has rows that its rule {rule} = "error" does not allow.')
    return reasons


def _print_json(report: Report, domain: Domain) -> None:
    """Print a report for scripts."""
    import json
    from dataclasses import asdict

    def looked(look: Look) -> dict[str, Any]:
        said: dict[str, Any] = {"column": look.attribute.column, "type": look.column_type or None}
        if look.problem is not None:
            return said | {"problem": f"{look.problem.fact}. {look.problem.hint}"}
        fates = ("inside", "missing", "unreadable", "below", "above")
        return said | {fate: getattr(look, fate) for fate in fates}

    document: dict[str, Any] = {
        "notice": NOTICE,
        "fits": report.fits,
        "reviewed": domain.reviewed,
        "rows": {"read": report.rows_read, "dropped": report.rows_dropped, "counted": report.rows_counted},
        "records_not_read": asdict(report.unreadable),
        "cells": domain.cells_total,
        "attributes": {look.attribute.name: looked(look) for look in report.attributes},
        "amount": None if report.amount is None else looked(report.amount),
        "unit": None,
        "broken_rules": [{"attribute": name, "rule": rule} for name, rule in report.broken],
        "columns_not_used": report.unused,
    }
    if report.unit is not None:
        document["unit"] = {"column": report.unit.unit.column, "max_rows": report.unit.unit.max_rows}
        if report.unit.problem is not None:
            document["unit"]["problem"] = f"{report.unit.problem.fact}. {report.unit.problem.hint}"
        elif not report.problems:
            numbers = ("missing", "units", "above_bound", "rows_beyond")
            document["unit"] |= {name: getattr(report.unit, name) for name in numbers}
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
