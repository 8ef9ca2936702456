"""`hushtable run`: the releases of a file, in order; what is done already is left alone."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from hushtable.cli.codes import REFUSED
from hushtable.cli.commanding import Argument, Option
from hushtable.cli.completing import recipe_names

if TYPE_CHECKING:
    from hushtable.publishing.paying import Payment
    from hushtable.publishing.running import RunItem, RunPlan

_WORDS = {
    "due": "to draw",
    "done": "done",
    "written": "done",
    "changed": "published, but its file was moved or changed since then",
    "lost": (
        "charged, but stopped before its file was written. It is lost, unless another run is drawing it now"
    ),
}


def run(
    ctx: click.Context,
    file: Annotated[Path, Argument(metavar="FILE", help="A file of recipes, such as releases.toml.")],
    names: Annotated[
        list[str] | None,
        Argument(metavar="[NAME]...", help="Which releases to publish. Default: all.", complete=recipe_names),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="What {NAME} stands for in the file. May be repeated."),
    ] = None,
    again: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Draw this lost or changed release again, for a new charge."),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say what would be done and what it would cost, and do nothing.")
    ] = False,
    quiet: Annotated[
        bool, Option("--quiet", help="Show no progress, and nothing about what is done.")
    ] = False,
    json: Annotated[
        bool, Option("--json", help="Print one JSON object per line for each step, and nothing else.")
    ] = False,
) -> None:
    """Publish the releases of a file that are not done yet.

    The file names one ledger, the settings that all releases share, and the releases. The run first says what
    everything costs, and starts only if the ledger can pay for all of it. If you start it again after a
    crash, it goes on where it stopped. A release that is done is never charged or drawn again.

    \b
    Examples:
      hushtable run releases.toml --set year=2025 --dry-run
      hushtable run releases.toml --set year=2025
      hushtable run releases.toml towns-2025 --set year=2025 --json
      hushtable run releases.toml --set year=2025 --again towns-2025

    \b
    # releases.toml
    ledger = "people.ledger"
    [defaults]
    data = "rows-{year}.parquet"
    domain = "people.toml"
    epsilon = "0.1"
    [[release]]
    name = "towns-{year}"
    ask = ["town", "town,job"]
    size = 1000
    output = "towns-{year}.parquet"
    """
    from hushtable.cli.publishing import carried_out, warn
    from hushtable.publishing.recipe_file import RecipeFile
    from hushtable.publishing.running import alone, naming, noted, planned_run

    said, given, state = _Said(json=json, quiet=quiet), _parameters(parameters), _Stopped()
    ctx.find_root().obj = state  # whom `main` asks what was charged, should we be stopped
    with nullcontext() if dry_run else alone(file, lambda: said.waiting(file)):
        planned = planned_run(RecipeFile.load(file, given), names or (), again=again or ())
        said.plan(file, planned)
        if planned.short is not None:
            raise planned.short
        if dry_run:
            return
        for item in noted(planned):
            said.event("noted", item, f"{item.name}: its file was there, and the ledger now says so.")
        for item in planned.drawn:
            with naming(item.name):
                done = carried_out(ctx, item.recipe, quiet=quiet, times_charged=item.times, told=state.paying)
            state.published(item.name)
            warn(ctx, done)
            rows = f"{len(done.published.release):,} rows"
            said.event("published", item, f"{item.name}: {rows} in {done.decision.output}.", **done.document)
    said.end(planned)
    if planned.open:
        raise click.exceptions.Exit(REFUSED)


def _parameters(options: list[str] | None) -> dict[str, str]:
    """Return the parameters that the options set."""
    found: dict[str, str] = {}
    for said in options or ():
        name, equals, value = said.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"--set {said!r} is not of the form NAME=VALUE, as in year=2025.")
        if name in found:
            raise click.BadParameter(f"--set {name} is given twice. Give it once for each name.")
        found[name] = value
    return found


class _Stopped:
    """What `main` tells of a run that was stopped: what it published, and how far the release at hand is."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._payment: Payment | None = None

    def paying(self, payment: Payment) -> _Stopped:
        """Note the payment of the release at hand."""
        self._payment = payment
        return self

    def published(self, name: str) -> None:
        """Note that a release is finished."""
        self._done.append(name)
        self._payment = None

    @property
    def begun(self) -> bool:
        """Whether anything was charged."""
        return bool(self._done) or (self._payment is not None and self._payment.begun)

    @property
    def state(self) -> str:
        """What was charged and written, in words."""
        done = f"This run published {', '.join(self._done)}. " if self._done else ""
        if self._payment is not None and (self._payment.begun or not self._done):
            return f"{done}{self._payment.state}"
        return f"{done}Nothing else was charged." if done else "Nothing was charged. No output was written."


class _Said:
    """What a run says on standard output: words for people, or one JSON object a line."""

    def __init__(self, *, json: bool, quiet: bool) -> None:
        self._json, self._quiet = json, quiet

    def plan(self, file: Path, run: RunPlan) -> None:
        """Say what is to be done, and what it costs."""
        from hushtable.release.terms import as_text

        releases = [
            {
                "name": item.name,
                "state": item.state,
                "draw": item.drawn,
                **item.cost.written,
                "output": item.recipe.output,
                "entry": None if item.entry is None else item.entry.number,
            }
            for item in run.items
        ]
        cost, left, name = as_text(run.cost), as_text(run.left), run.ledger.unit_of_account
        self._print(
            {
                "event": "planned",
                "file": str(file),
                "ledger": str(run.ledger.path),
                "cost": cost,
                "left": left,
                "releases": releases,
            }
        )
        unit = run.ledger.unit or "unit"
        width = max((len(item.name) for item in run.items), default=0)
        many = "1 release" if len(run.items) == 1 else f"{len(run.items):,} releases"
        self._say(f"{file}: {many}, {len(run.drawn):,} to draw.")
        for item in run.items:
            words = _WORDS[item.state]
            if item.drawn:
                words = f"{item.cost.said.replace(' = ', ' ')}, to draw{' again' * bool(item.times)}"
            self._say(f"  {item.name:<{width}}  {words}")
        if run.drawn:
            self._say(
                f"Together they cost {name} {cost} for each {unit}. {run.ledger.path.name} has {left} left."
            )

    def waiting(self, file: Path) -> None:
        """Say that another run comes first."""
        if not self._quiet:
            click.echo(f"Another run of {file} is going on. Waiting until it ends.", err=True)

    def event(self, kind: str, item: RunItem, words: str, **more: Any) -> None:
        """Say that something was done."""
        self._print({"event": kind, "name": item.name, **more})
        self._say(words)

    def end(self, run: RunPlan) -> None:
        """Say what is left, and which releases need a word of their owner."""
        from hushtable.release.terms import as_text

        left = as_text(run.ledger.left)
        self._print({"event": "ended", "left": left, "open": [item.name for item in run.open]})
        if run.drawn:
            self._say(f"{run.ledger.path.name} has {run.ledger.unit_of_account} {left} left.")
        for item in run.open:
            number = "" if item.entry is None else f" (entry {item.entry.number})"
            click.echo(
                f"{item.name}: {_WORDS[item.state]}{number}. Its epsilon stays spent. To draw it again for "
                f"another {item.cost.said}, add --again {item.name}.",
                err=True,
            )

    def _print(self, document: dict[str, Any]) -> None:
        if self._json:
            from hushtable.cli.printing import print_line

            print_line(document)

    def _say(self, words: str) -> None:
        if not self._json and not self._quiet:
            from hushtable.cli.words import printable

            click.echo(printable(words))
