"""Help in groups: the options that most people need first, all of them with `--help-all`.

Promise: every option has a group, so that none is ever hidden from `--help-all`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import click

from hushtable.cli.commanding import Option

GROUPS: dict[str, tuple[str, ...]] = {
    "Data": ("domain", "level", "where", "query", "table", "memory", "engine", "master"),
    "Who is protected": (
        *("unit", "max_rows", "max_cells", "max_per_cell", "count_column", "sum_column", "clamp"),
        "rows_are_units",
    ),
    "Privacy": ("epsilon", "rho", "delta", "law", "ledger", "no_ledger", "total_share", "left_out_share"),
    "What is published": (
        *("ask", "size", "summary", "cutoff", "threshold", "one_sided", "structure", "hierarchy", "order"),
        *("branching", "width", "depth", "marginals", "weights", "consistent"),
    ),
    "Planning": ("expect_cells", "expect_mean", "expect_sd", "profile", "like", "anyway"),
    "Output": ("output", "overwrite", "quiet", "json"),
    "Help": ("help", "help_all"),
}
GROUPED = frozenset(name for names in GROUPS.values() for name in names)
COMMON = frozenset(
    (
        *("domain", "where", "unit", "max_rows", "max_cells", "epsilon", "ledger", "no_ledger"),
        *("ask", "size", "output"),
    )
)
_ALL = "hushtable.help_all"


class GroupedCommand(click.Command):
    """A command whose help is in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups; but for `--help-all`, the common options alone."""
        options = {each.name: each for each in self.get_params(ctx) if isinstance(each, click.Option)}
        help_option = self.get_help_option(ctx)
        if help_option is not None:  # click calls it by a name of its own
            options["help"] = options.pop(help_option.name)
        records = {name: each.get_help_record(ctx) for name, each in options.items()}
        others = tuple(name for name in records if name not in GROUPED)
        for group, names in (*GROUPS.items(), ("Other", others)):
            wanted = [name for name in names if ctx.meta.get(_ALL) or name in COMMON or group == "Help"]
            lines = [records[name] for name in wanted if records.get(name) is not None]
            if lines:
                with formatter.section(group):
                    formatter.write_dl(lines)


def _show_all(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    """Print the help with all options, and leave."""
    if wanted:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        raise click.exceptions.Exit


HelpAll: TypeAlias = Annotated[
    bool,
    Option("--help-all", is_eager=True, callback=_show_all, help="Show all options and exit."),
]
