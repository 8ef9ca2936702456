"""`hushtable ledger`: make one, look at what was spent, and say whom it protects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from hushtable.cli.commanding import Argument, CommandGroup, Option
from hushtable.cli.options import Json

if TYPE_CHECKING:
    from hushtable.ledger.ledger import Ledger

ledger = CommandGroup(
    {
        "Commands": {
            "create": "hushtable.cli.ledger:create",
            "declare": "hushtable.cli.ledger:declare",
            "upgrade": "hushtable.cli.ledger:upgrade",
            "show": "hushtable.cli.ledger:show",
        }
    },
    help="Keep account of the privacy that is spent on a group of people.",
)

_CURRENCIES = {
    "pure": "pure epsilon",
    "zcdp": "rho (zCDP)",
    "approximate": "epsilon and delta",
}

Bounds = Annotated[
    list[str] | None,
    Option(
        "--bound",
        metavar="NAME=K",
        help="The most that one unit may have of another unit, as you declare it: row=12. May be repeated.",
    ),
]


def create(
    file: Annotated[Path, Argument(metavar="FILE", help="The ledger to make.")],
    about: Annotated[str, Option(metavar="TEXT", help="Who the people are, such as 'patients of 2024'.")],
    epsilon: Annotated[
        str | None,
        Option(metavar="E", help="The whole budget: all that may ever be spent on each of these people."),
    ] = None,
    delta: Annotated[
        str | None, Option(metavar="D", help="With --epsilon: also pay for releases with a delta.")
    ] = None,
    rho: Annotated[
        str | None, Option(metavar="R", help="The whole budget in rho (zCDP), instead of --epsilon.")
    ] = None,
    unit: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Who is protected: row, or a unit column. Default: the unit of the first release.",
        ),
    ] = None,
    bound: Bounds = None,
    json: Json = False,
) -> None:
    """Make a ledger: the privacy budget of one group of people.

    A ledger has one currency for ever. --epsilon pays for pure releases. --rho pays
    for releases under zCDP (Gaussian noise), and for pure releases, converted.
    --epsilon with --delta pays for all of them. Converted costs are rounded up.

    A ledger protects one unit, such as a row or a person_id. It refuses releases that
    protect another unit, unless you declare with --bound that each of yours has at
    most K of the other. Such releases cost K times their epsilon, or K squared times
    their rho.

    \b
    Examples:
      hushtable ledger create commuters.ledger --epsilon 1.0 \\
        --about "commuters 2024"
      hushtable ledger create patients.ledger --epsilon 3 \\
        --about "patients of 2024" --unit person_id --bound row=12
      hushtable ledger create readers.ledger --rho 0.1 --about "readers"
      hushtable ledger create riders.ledger --epsilon 1 --delta 1e-9 \\
        --about "riders of 2024" --unit person_id
    """
    from hushtable.cli.words import printable
    from hushtable.ledger.ledger import Ledger

    if (epsilon is None) == (rho is None) or (delta is not None and epsilon is None):
        raise click.BadParameter("give --epsilon, or --epsilon and --delta, or --rho.", param_hint="budget")
    made = Ledger.create(
        file,
        epsilon=epsilon,
        rho=rho,
        delta=delta,
        about=about,
        unit=unit,
        bounds=dict(map(_bound, bound or ())),
    )
    if json:
        print_ledger(made)
        return
    budget = f"{file}: a budget of {made.budget} for"
    if unit is None:
        click.echo(f"{budget} {printable(made.about)}. The first release will say whom it protects.")
    else:
        click.echo(f"{budget} each {unit} of {printable(made.about)}.")
    _say_bounds(made)


def declare(
    file: Annotated[Path, Argument(metavar="FILE", help="The ledger.")],
    bound: Bounds = None,
    json: Json = False,
) -> None:
    """Declare the most that one unit has of another.

    Releases that protect the other unit then cost K times their epsilon, or K squared
    times their rho. The bound must be true of your data, and nobody checks it. If
    somebody has more, more was spent on them than the ledger says.

    \b
    Example:
      hushtable ledger declare patients.ledger \\
        --bound "row (prepared table)=1"
    """
    from hushtable.ledger.ledger import Ledger

    account = Ledger.open(file)
    for other, most in map(_bound, bound or ()):
        account.declare(other, most=most)
    if json:
        print_ledger(account)
    else:
        _say_bounds(account)


def upgrade(
    file: Annotated[Path, Argument(metavar="FILE", help="A ledger of version 1.")],
    unit: Annotated[
        str, Option(metavar="NAME", help="The unit of all its releases so far: row, or a column.")
    ],
    json: Json = False,
) -> None:
    """Say whom a ledger of version 1 protects.

    The budget, the entries and what was spent stay exactly as they are. The upgrade
    happens whole or not at all. Make a copy first if older versions of hushtable must
    still read the ledger.

    \b
    Example:
      hushtable ledger upgrade old.ledger --unit person_id
    """
    from hushtable.cli.words import share_in_words
    from hushtable.ledger.ledger import Ledger

    account = Ledger.upgrade(file, unit=unit)
    if json:
        print_ledger(account)
        return
    click.echo(
        f"{file} now has version 2 and protects each {account.unit}. As before, epsilon "
        f"{share_in_words(account.spent)} is spent."
    )


def show(
    file: Annotated[Path, Argument(metavar="FILE", help="The ledger.")],
    json: Json = False,
) -> None:
    """Show what was spent and what is left.

    A digest is the beginning of the SHA-256 of the released file. For a release in
    parts, it is that of what `sha256sum part-*.parquet` prints in its folder.

    \b
    Example:
      hushtable ledger show commuters.ledger
    """
    from hushtable.cli.printing import console, table
    from hushtable.cli.words import printable
    from hushtable.ledger.ledger import Ledger

    account = Ledger.open(file)
    if json:
        print_ledger(account)
        return
    entries = account.entries()
    out = console()
    out.print(printable(account.about), style="bold")
    if account.unit is None:
        whom = "It does not say yet whom it protects: the first release will."
        if account.version == 1:
            whom = "It does not say whom it protects. Before it is charged again, run: "
            whom += "hushtable ledger upgrade FILE --unit NAME"
    else:
        whom = f"It protects each {account.unit}."
    out.print(f"{whom} Currency: {_CURRENCIES[account.currency]}.")
    out.print(account.balance)
    for line in _bounds_in_words(account):
        out.print(line)
    if not entries:
        return
    pure = account.currency == "pure"
    rows = table(
        "no.", "when (UTC)", "epsilon" if pure else "cost", "state", "what", "digest", numbers=("no.",)
    )
    for entry in entries:
        rows.add_row(
            str(entry.number),
            entry.when[:19].replace("T", " "),  # to the second
            entry.cost.removeprefix("epsilon ") if pure else entry.cost,
            entry.state,
            printable(entry.what) + (f" (for each {entry.unit}, times {entry.most})" * (entry.most > 1)),
            (entry.digest or "")[:12],
        )
    out.print()
    out.print(rows)
    if any(entry.state == "unfinished" for entry in entries):
        out.print()
        out.print("Unfinished: still running, or stopped after the charge. The cost stays spent.")


def print_ledger(account: Ledger) -> None:
    """Print a ledger for scripts."""
    from hushtable.cli.documents import ledger_document
    from hushtable.cli.printing import print_json

    print_json(ledger_document(account))


def _bound(text: str) -> tuple[str, int]:
    """Return the unit and the number that NAME=K says."""
    name, _, number = text.rpartition("=")
    if not name or not number.strip().isdecimal():
        raise click.BadParameter(f"{text!r} is not a bound. Write it as row=12.", param_hint="--bound")
    return name, int(number)


def _bounds_in_words(account: Ledger) -> list[str]:
    """Say which bounds were declared."""
    return [
        f"Each {account.unit} has at most {most:,} of {other}, as declared: such releases cost "
        f"{most:,} times their epsilon"
        + f", {most * most:,} times their rho" * (account.currency != "pure")
        + "."
        for other, most in account.bounds.items()
    ]


def _say_bounds(account: Ledger) -> None:
    """Say which bounds were declared, and that they must hold."""
    lines = _bounds_in_words(account)
    for line in lines:
        click.echo(line)
    if lines:
        click.echo("This must be true of your data, and nobody checks it.")
