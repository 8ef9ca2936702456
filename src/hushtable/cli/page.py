"""`hushtable page`: a release as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import Json
from hushtable.cli.release import Overwrite, ReleaseFile


def page(
    file: ReleaseFile,
    output: Annotated[
        Path, Option("--output", "-o", metavar="FILE", help="The page to write: a name that ends in .html.")
    ],
    title: Annotated[str | None, Option(metavar="TEXT", help="A title instead of the release's own.")] = None,
    groups: Annotated[
        int, Option(min=1, metavar="N", help="How many groups the page may hold in all.")
    ] = 100_000,
    confidence: Annotated[float, Option(metavar="C", help="The confidence of each interval.")] = 0.95,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make a page of a release: one HTML file for any browser.

    The page needs no network and no server, and sends nothing. Readers choose attributes and see bars, lines
    and maps with their margins. They can search the table, and read who is protected and how sure the
    numbers are.

    \b
    Example:
      hushtable page commute.parquet -o commute.html
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json

    open_release(file).page(output, title=title, groups=groups, confidence=confidence, overwrite=overwrite)
    size = output.stat().st_size
    if json:
        print_json({"file": str(output), "bytes": size})
    else:
        click.echo(f"{output}: a page of {size / 1e6:.1f} MB. Open it in any browser.")
