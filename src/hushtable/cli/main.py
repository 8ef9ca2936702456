"""The command `hushtable`: its commands, and the one place where errors become messages and exit codes.

Promise: an error of ours is one message without a traceback. What an unexpected error says is not shown, for
it may quote rows, unless HUSHTABLE_DEBUG=1 asks for it. `codes` lists the exit codes.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal, NoReturn

import click

from hushtable.cli.codes import BUG, LACKING, code_of
from hushtable.cli.commanding import CommandGroup, Option
from hushtable.cli.grouping import GroupedCommand
from hushtable.cli.hiding import hide_passwords
from hushtable.cli.logs import LOG, log_to
from hushtable.cli.saying import in_options
from hushtable.errors import HushtableError, LowMemory, short_of_memory

_BUG = """\
error: this is a bug in hushtable ({kind}). Please report it with the command, but without your data.
The details are hidden because they may quote private rows. Set HUSHTABLE_DEBUG=1 to see them."""


_STOPPED = 128  # and the number of the signal: what shells make of it
_heard: list[int] = []  # signals other than Ctrl-C


class Commands(CommandGroup):
    """The commands, with errors turned into messages."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words of a command; whoever stops that already is told as later."""
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt:
            click.echo("stopped. Nothing was charged. No output was written.", err=True)
        raise click.exceptions.Exit(_STOPPED + max(_heard, default=signal.SIGINT))

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except HushtableError as error:
            click.echo(f"error: {in_options(str(error), ctx)}", err=True)
            LOG.error("%s", type(error).__name__)
            if ctx.obj is not None and ctx.obj.begun and not isinstance(error, LowMemory):
                click.echo(ctx.obj.state, err=True)
            code = code_of(error)
        except KeyboardInterrupt:
            early = " Nothing was charged. No output was written." * (
                ctx.invoked_subcommand in ("publish", "run")
            )
            state = early if ctx.obj is None else f" {ctx.obj.state}"
            after_its_echo = "\n" if sys.stderr.isatty() else ""  # of ^C
            click.echo(f"{after_its_echo}stopped.{state}", err=True)
            code = _STOPPED + max(_heard, default=signal.SIGINT)
        except click.Abort:
            raise
        except Exception as error:
            broken_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE
            if broken_pipe or hasattr(error, "exit_code"):  # click's own: wrong usage, or an exit
                raise
            if short := short_of_memory(error):
                click.echo(f"error: {LowMemory()}", err=True)
            else:
                _report_bug(error)
            if ctx.obj is not None and ctx.obj.begun:
                click.echo(ctx.obj.state, err=True)
            code = LACKING if short else BUG
        LOG.info("exit %s", code)
        # Raised here and not above, so that nothing leads to the error itself.
        raise click.exceptions.Exit(code)


def _report_bug(error: Exception) -> None:
    """Report that there is a bug, and show the details only if they are asked for."""
    if os.environ.get("HUSHTABLE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    click.echo(_BUG.format(kind=type(error).__name__), err=True)


def _show_version(_ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from hushtable import __version__

        click.echo(f"hushtable {__version__}")
        raise click.exceptions.Exit


def _show_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    """Print what a shell needs to complete our commands, and leave."""
    if shell is not None:
        from click.shell_completion import get_completion_class

        kind = get_completion_class(shell)
        assert kind is not None
        click.echo(kind(ctx.command, {}, "hushtable", "_HUSHTABLE_COMPLETE").source())
        raise click.exceptions.Exit


def hushtable(
    ctx: click.Context,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    log_file: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Append a line for each step to this file. It holds nothing of the rows."
        ),
    ] = None,
    show_completion: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        Option(
            metavar="SHELL",
            callback=_show_completion,
            is_eager=True,
            help="Print the script that lets bash, zsh or fish complete names.",
        ),
    ] = None,
) -> None:
    """Publish tables about people under differential privacy, and ask them.

    \b
    First steps:
      hushtable domain draft people.parquet --output people.toml
      (put public facts into people.toml, and delete its line `reviewed = false`)
      hushtable check people.parquet --domain people.toml
      hushtable plan --domain people.toml --epsilon 1 --size 10000 --ask region
      hushtable ledger create people.ledger --epsilon 2 --about "people of 2024"
      hushtable publish people.parquet --domain people.toml --epsilon 1 \\
        --size 10000 --ask region --output released.parquet --ledger people.ledger
      hushtable query released.parquet --by region
      hushtable page released.parquet --output released.html

    Exit codes: 0 done, 1 lacks memory or a package, 2 wrong usage, 3 refused by a
    file, 4 the ledger cannot pay, 5 the release would be wasted, 6 the output
    exists, 130 interrupted.
    """
    if log_file is not None:
        log_to(log_file)
    LOG.info("hushtable %s", ctx.invoked_subcommand)


_PLACES = {
    "Publish": {
        "domain": "hushtable.cli.domain:domain",
        "check": "hushtable.cli.check:check",
        "plan": "hushtable.cli.plan:plan",
        "ledger": "hushtable.cli.ledger:ledger",
        "publish": "hushtable.cli.publish:publish",
        "run": "hushtable.cli.run:run",
    },
    "Ask a release": {
        "show": "hushtable.cli.release:show",
        "query": "hushtable.cli.query:query",
        "sql": "hushtable.cli.query:sql",
        "plot": "hushtable.cli.plot:plot",
        "explore": "hushtable.cli.explore:explore",
    },
    "Pass it on": {
        "page": "hushtable.cli.page:page",
        "report": "hushtable.cli.report:report",
        "card": "hushtable.cli.card:card",
        "export": "hushtable.cli.release:export",
        "rows": "hushtable.cli.rows:rows",
        "thin": "hushtable.cli.release:thin",
    },
}
app = Commands(_PLACES, kinds={"publish": GroupedCommand}, function=hushtable)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Stop as Ctrl-C does, so that files are cleared away and the owner is told what was charged."""
    _heard.append(number)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line.

    What is loaded stays until the end, so that hardly any of it is looked through for what nobody needs any
    more, and none is taken apart: together a third of the time of a short command.
    """
    hide_passwords(sys.argv)
    gc.set_threshold(100_000)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stop)
    try:
        app(prog_name="hushtable")
    except SystemExit as end:
        if isinstance(end.code, int):
            _leave(end.code)
        raise


def _leave(code: int) -> None:
    """End the process at once, unless somebody is still at work or what was printed cannot be written."""
    if any(not each.daemon for each in threading.enumerate() if each is not threading.main_thread()):
        return
    atexit._run_exitfuncs()  # as Python does before it takes anything apart
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(code)
