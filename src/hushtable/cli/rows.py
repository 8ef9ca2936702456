"""`hushtable rows`: synthetic rows of a release, for tools that want one row for each person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import Json
from hushtable.cli.release import Overwrite, ReleaseFile


def rows(
    file: ReleaseFile,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The .parquet file to write.")],
    by: Annotated[
        str | None,
        Option(metavar="NAME,...", help="Of several tables: which attributes rows have. All if left out."),
    ] = None,
    count: Annotated[
        int | None, Option(metavar="N", help="How many rows: as many as were counted, if left out.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write synthetic rows, one for each counted person. None of them is a person.

    They hold nothing beyond the release: where it is silent, they are filled in evenly.

    \b
    Example:
      hushtable rows commute.parquet -o rows.parquet
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json

    release = open_release(file)
    number = release.write_rows(output, names=None if by is None else [by], count=count, overwrite=overwrite)
    if json:
        print_json({"file": str(output), "rows": number, "synthetic": True})
    else:
        click.echo(f"{output}: {number:,} synthetic rows. None of them is a person.")
