"""`hushtable card`: a release as registries and catalogues know it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.options import Json
from hushtable.cli.release import Overwrite, ReleaseFile


def card(
    file: ReleaseFile,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The card to write: .yaml for the deployments registry, .json for catalogues.",
        ),
    ],
    curator: Annotated[str | None, Option(metavar="NAME", help="Who publishes the data.")] = None,
    use: Annotated[str | None, Option(metavar="TEXT", help="What the data are meant for.")] = None,
    region: Annotated[
        str | None, Option(metavar="TEXT", help="Where the people live, or whose law applies.")
    ] = None,
    date: Annotated[
        str | None, Option(metavar="DAY", help="The day of publication, as in 2026-01-31.")
    ] = None,
    author: Annotated[str | None, Option(metavar="NAME", help="Who fills in the record.")] = None,
    license: Annotated[
        str | None, Option(metavar="URL", help="The license under which the data may be used.")
    ] = None,
    url: Annotated[str | None, Option(metavar="URL", help="The address of the data's own page.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Describe a release for registries and catalogues.

    A .yaml file is a record for the registry of differential privacy deployments. A .json file is Croissant
    metadata, which catalogues of data read.

    Everything in the card follows from the release and from the options. The command lists what neither of
    them says.

    \b
    Examples:
      hushtable card commute.parquet -o commute.yaml --curator "Statistics Office" \\
        --use "planning of buses" --region Freeland --date 2026-01-31 --author "A. Bee"
      hushtable card commute.parquet -o commute.json --url https://example.org/commute
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json
    from hushtable.pages.card import Provenance, croissant_card, registry_card, unknown_fields, write_card

    release = open_release(file)
    known = Provenance(
        curator=curator, use=use, region=region, date=date, author=author, license=license, url=url
    )
    write_card(release, known, output, file=release.path, overwrite=overwrite)
    card_for = registry_card if output.suffix.lower() in (".yaml", ".yml") else croissant_card
    unknown = dict(unknown_fields(card_for(release, known, file=release.path)))
    if json:
        print_json({"file": str(output), "unknown": list(unknown)})
        return
    click.echo(f"{output}: written.{' Still to be filled in:' * bool(unknown)}")
    for name, what in unknown.items():
        click.echo(f"  {name}: {what}")
