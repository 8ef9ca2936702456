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
    by: Annotated[
        list[str],
        Option(metavar="NAMES", help="The attributes to draw, one or two, as in home or home,work."),
    ],
    output: Annotated[
        Path, Option("--output", "-o", metavar="FILE", help="The picture to write: .png, .svg or .pdf.")
    ],
    where: Annotated[str | None, Option(metavar="SQL", help="Draw only what meets this condition.")] = None,
    top: Annotated[int | None, Option(min=1, metavar="N", help="Draw only the N largest groups.")] = None,
    confidence: Annotated[float, Option(metavar="C", help="The confidence of each interval.")] = 0.95,
    assume: AssumeOption = None,
    simultaneous: Annotated[
        bool, Option("--simultaneous", help="Widen intervals until all of them hold at the same time.")
    ] = False,
    title: Annotated[
        str | None,
        Option(metavar="TEXT", help="The title of the picture. Default: one made from the question."),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw a release by one or two attributes, with error bars.

    The picture has bars for categories and bins, a line over time, or coloured squares for two attributes.
    Its caption says what the intervals mean and who is protected.

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
