"""`hushtable domain`: draft a domain file, show one; and the option `--level`, which coarsens one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Argument, CommandGroup, Option
from hushtable.cli.options import Data, Json, TableName

domain = CommandGroup(
    {
        "Commands": {
            "draft": "hushtable.cli.domain:draft",
            "show": "hushtable.cli.domain:show",
        }
    },
    help="Draft or show a domain file, which declares all values.",
)


def draft(
    data: Data,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="The file to write. Default: standard output."),
    ] = None,
    query: Annotated[
        str | None, Option(metavar="SQL", help="Look at the rows that this query returns.")
    ] = None,
    table: TableName = None,
    columns: Annotated[
        list[str] | None,
        Option("--columns", metavar="NAME,...", help="Look at these columns only, in this order."),
    ] = None,
    rows: Annotated[int | None, Option(min=1, metavar="N", help="Look at the first N rows only.")] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the file if it is an unreviewed draft.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a first domain file, drawn from the data. PRIVATE until reviewed.

    The draft says `reviewed = false`, and publishing refuses it. Replace everything that was
    drawn from the data with public facts, then delete that line.

    \b
    Examples:
      hushtable domain draft people.parquet --output people.toml
      hushtable domain draft people.csv --columns home,age,job
      hushtable domain draft people.db --query "SELECT home, age FROM people"
    """
    from hushtable.cli.printing import print_json, reading
    from hushtable.engines.local.drafting import draft as drafted

    wanted = None if columns is None else [name.strip() for each in columns for name in each.split(",")]
    with reading():
        text = drafted(
            data[0] if len(data) == 1 else data,
            output=output,
            query=query,
            table=table,
            columns=wanted,
            rows=rows,
            overwrite=overwrite,
        )
    if json:
        print_json({"file": None if output is None else str(output), "reviewed": False, "text": text})
    elif output is None:
        click.echo(text, nl=False)
    click.echo(
        f"{output or 'This draft'} is PRIVATE until reviewed. Replace what is marked with public facts,",
        err=True,
    )
    click.echo("then delete the line `reviewed = false`.", err=True)


def show(
    file: Annotated[Path, Argument(metavar="FILE", help="A domain file (TOML).")],
    json: Json = False,
) -> None:
    """Show the attributes of a domain file, their levels, and how many cells they make.

    \b
    Example:
      hushtable domain show people.toml
    """
    from hushtable.cli.documents import domain_document
    from hushtable.cli.printing import console, print_json, table
    from hushtable.domain.domain import Domain
    from hushtable.domain.wording import cells_in_words, kind_in_words, rule_in_words
    from hushtable.errors import printable

    declared = Domain.load(file)
    if json:
        print_json(domain_document(declared))
        return
    rows = table("attribute", "values", "size", "missing", "outside", numbers=("size",))
    for attribute in declared.attributes:
        column = "" if attribute.column == attribute.name else f"\ncolumn {printable(attribute.column)}"
        rows.add_row(
            attribute.name + column,
            kind_in_words(attribute.values),
            "not limited" if attribute.unlisted else f"{attribute.size:,}",
            rule_in_words(attribute.missing),
            rule_in_words(attribute.outside),
        )
        for level, size in declared.levels[attribute.name].items():
            rows.add_row("", f"level {level}", f"{size:,}", "", "")
    out = console()
    out.print(printable(declared.title) or str(file), style="bold")
    out.print()
    out.print(rows)
    out.print()
    out.print(f"cells     {cells_in_words(declared.cells_said)}")
    if declared.reviewed:
        out.print("reviewed  yes")
    else:
        out.print("reviewed  no: replace what was drawn from the data by public facts, then delete")
        out.print("          the line `reviewed = false`. Publishing refuses the file until then.")
    out.print(f"digest    {declared.digest}", soft_wrap=True)
