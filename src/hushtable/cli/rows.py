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
        Option(
            metavar="NAME,...",
            help=("Which attributes the rows have, if the release has several tables. Default: all."),
        ),
    ] = None,
    count: Annotated[
        int | None, Option(metavar="N", help="How many rows to write. Default: as many as were counted.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write synthetic rows, one for each counted person. None of them is a person.

    The rows follow what the release says, and hold nothing beyond it. Where the release says nothing, they
    are spread evenly.

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
