"""`hushtable plot`: a picture of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import Json
from hushtable.cli.query import AssumeOption
from hushtable.cli.release import Overwrite, ReleaseFile, names_of


def plot(
    file: ReleaseFile,
    by: Annotated[list[str], Option(metavar="NAMES", help="One or two attributes, as in home or home,work.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Ending in .png, .svg or .pdf.")],
    where: Annotated[str | None, Option(metavar="SQL", help="Only cells that meet this.")] = None,
    top: Annotated[int | None, Option(min=1, metavar="N", help="Only the N largest groups.")] = None,
    confidence: Annotated[float, Option(metavar="C", help="The chance with which an interval holds.")] = 0.95,
    assume: AssumeOption = None,
    simultaneous: Annotated[bool, Option("--simultaneous", help="All intervals hold together.")] = False,
    title: Annotated[str | None, Option(metavar="TEXT", help="Instead of one that is made.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw a release by one or two attributes, with error bars.

    Bars for categories and bins, lines over time, a map of coloured cells for two attributes. The
    caption says what the intervals mean and who is protected.

    \b
    Example:
      hushtable plot commute.parquet --by home --top 20 -o homes.png
    """
    import warnings

    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json

    release = open_release(file)
    names = names_of(by, release.domain.names)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        release.plot(
            names,
            where=where,
            top=top,
            confidence=confidence,
            assume=assume,
            simultaneous=simultaneous,
            title=title,
            output=output,
            overwrite=overwrite,
        )
    for each in said:
        click.echo(f"note: {each.message}", err=True)
    if json:
        print_json({"file": str(output), "by": names})
    else:
        click.echo(f"{output}: a picture by {' and '.join(names)}.")
