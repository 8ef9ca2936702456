"""A publication, as both `hushtable publish` and `hushtable run` carry it out and tell of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from hushtable.publishing.deciding import Decision
    from hushtable.publishing.paying import Payment
    from hushtable.publishing.publish import Published
    from hushtable.publishing.recipe import Recipe


class Done(NamedTuple):
    """What was decided, paid and published."""

    decision: Decision
    payment: Payment
    published: Published

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        from hushtable.cli.documents import ledger_document, release_document

        account = None if self.payment.ledger is None else ledger_document(self.payment.ledger)
        return release_document(self.published.release) | {"ledger": account}


def carried_out(
    ctx: click.Context,
    recipe: Recipe,
    *,
    quiet: bool,
    times_charged: int | None = None,
    told: Callable[[Payment], object] = lambda payment: payment,
) -> Done:
    """Publish by a recipe, and show progress where somebody looks on.

    `told` makes of the payment what `main` asks for what was charged, should we be stopped.
    """
    from hushtable.cli.progress import shown_progress
    from hushtable.publishing.deciding import decided
    from hushtable.publishing.publish import publish_decided

    decision = decided(recipe)
    payment = decision.payment()
    payment.times_charged = times_charged
    ctx.find_root().obj = told(payment)
    with shown_progress(quiet=quiet) as progress:
        return Done(decision, payment, publish_decided(decision, payment, progress=progress))


def report(ctx: click.Context, done: Done, *, json: bool, quiet: bool) -> None:
    """Say what was published, and what its owner should know of it."""
    from hushtable.cli.printing import print_json
    from hushtable.cli.words import off_in_words, printable

    warn(ctx, done)
    if json:
        print_json(done.document)
    elif not quiet:
        release, output = done.published.release, done.decision.output
        click.echo(f"Published {output}: {len(release):,} rows. {off_in_words(release.terms)}".rstrip())
        click.echo(printable(release.guarantee))
        click.echo(f"Look at it: hushtable show {output}")


def warn(ctx: click.Context, done: Done) -> None:
    """Tell the owner, on standard error, what speaks against the release."""
    from hushtable.cli.saying import in_options
    from hushtable.cli.words import dropped_in_words, printable

    decision, payment, published = done
    for warning in decision.warnings:
        click.echo(f"warning: {printable(warning)}.", err=True)
    # True numbers: on the owner's own terminal, and nowhere that keeps what is written.
    said = dropped_in_words(published.tally, on_spark=decision.distributed)
    if sys.stderr.isatty() and said:
        click.secho(said, err=True, bold=True, fg="red")
    for warning in published.release.noise.warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    if payment.ledger is None and not payment.known:
        said = in_options(payment.uncharged(decision.unit), ctx)
        click.echo(f"warning: {printable(said)}.", err=True)
