"""`hushtable explore`: a release in one's own browser, with any question."""

from __future__ import annotations

from typing import Annotated

import click

from hushtable.cli.commanding import Option
from hushtable.cli.release import ReleaseFile


def explore(
    file: ReleaseFile,
    port: Annotated[
        int, Option(min=0, max=65535, metavar="N", help="The port to listen on. 0 takes a free one.")
    ] = 0,
) -> None:
    """Look at a release in your browser, and ask it anything.

    This serves the page of `hushtable page`, where you may also type any attributes, levels and conditions.
    It is served on this machine only, at an address that nobody else knows. Ctrl-C ends it.

    \b
    Example:
      hushtable explore commute.parquet
    """
    from hushtable.answers.release import open_release
    from hushtable.errors import BadNumber
    from hushtable.noise.entropy import KeyStream
    from hushtable.pages.serving import PageServer

    token = KeyStream().words(3).tobytes().hex()
    release = open_release(file)
    try:
        server = PageServer(release, file=file, token=token, port=port)
    except (OSError, OverflowError):
        hint = "Another program has it. Leave --port out, or give another."
        raise BadNumber(name="port", value=port, allowed="is not free", hint=hint) from None
    try:
        click.echo(f"Open {server.address}\nCtrl-C ends it.")
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("ended.")
    finally:
        server.server_close()
