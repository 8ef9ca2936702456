"""`hushtable report`: a release for those who sign it off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import Json
from hushtable.cli.release import Overwrite, ReleaseFile


def report(
    file: ReleaseFile,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The report to write: .html, .md, or .pdf (which needs Chromium).",
        ),
    ],
    ledger: Annotated[
        Path | None,
        Option(metavar="FILE", help="The ledger that paid for the release. Makes the owner's version."),
    ] = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="A title instead of the release's own.")] = None,
    confidence: Annotated[float, Option(metavar="C", help="The confidence of each interval.")] = 0.95,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a report about a release, for those who sign it off.

    The report says who is protected and how, what it cost, what was published and why, and how accurate each
    table is compared with the plan. It has three pictures, the checks that were run, and a place for
    signatures. The public version follows from the file alone. With --ledger it is the owner's version, which
    names the entry that paid for this very file.

    \b
    Examples:
      hushtable report commute.parquet -o commute-report.html
      hushtable report commute.parquet -o for-the-board.pdf --ledger commuters.ledger
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json

    open_release(file).report(output, ledger=ledger, title=title, confidence=confidence, overwrite=overwrite)
    if json:
        print_json({"file": str(output), "bytes": output.stat().st_size, "version": _version(ledger)})
    else:
        click.echo(f"{output}: the {_version(ledger)} version of the report.")


def _version(ledger: Path | None) -> str:
    return "public" if ledger is None else "owner's"
