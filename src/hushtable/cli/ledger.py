"""`hushtable ledger`: make one, and look at what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ledger = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep account of the epsilon spent on a group of people.",
)


@ledger.command(no_args_is_help=True)
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger to make.")],
    epsilon: Annotated[str, typer.Option(metavar="E", help="All that may ever be spent on these people.")],
    about: Annotated[str, typer.Option(metavar="TEXT", help="Who they are.")],
) -> None:
    """Make a ledger: a budget of epsilon for one group of people.

    \b
    Example:
      hushtable ledger create commuters.ledger --epsilon 1.0 \\
        --about "commuters 2024"
    """
    from hushtable.cli.words import printable
    from hushtable.ledger.ledger import Ledger
    from hushtable.release.terms import as_text

    made = Ledger.create(file, epsilon=epsilon, about=about)
    typer.echo(f"{file}: a budget of epsilon = {as_text(made.epsilon)} for {printable(made.about)}.")


@ledger.command(no_args_is_help=True)
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")],
) -> None:
    """Show what was spent, and what is left.

    Of each digest the first 12 digits are shown: SHA-256 of the file, or of what
    `sha256sum part-*.parquet` prints in the folder of a release in parts.

    \b
    Example:
      hushtable ledger show commuters.ledger
    """
    from hushtable.cli.printing import console, table
    from hushtable.cli.words import printable, share_in_words
    from hushtable.ledger.ledger import Ledger
    from hushtable.release.terms import as_text

    account = Ledger.open(file)
    entries = account.entries()
    out = console()
    out.print(printable(account.about), style="bold")
    out.print(
        f"epsilon {share_in_words(account.spent)} of {share_in_words(account.epsilon)} is spent, "
        f"{share_in_words(account.left)} is left."
    )
    if not entries:
        return
    rows = table("no.", "when (UTC)", "epsilon", "state", "what", "digest", numbers=("no.",))
    for entry in entries:
        rows.add_row(
            str(entry.number),
            entry.when[:19].replace("T", " "),  # to the second
            as_text(entry.epsilon),
            entry.state,
            printable(entry.what),
            (entry.digest or "")[:12],
        )
    out.print()
    out.print(rows)
    if any(entry.state == "unfinished" for entry in entries):
        out.print()
        out.print("Unfinished: running, or stopped after the charge. What it cost stays spent.")
