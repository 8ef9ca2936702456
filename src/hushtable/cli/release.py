"""`hushtable show`, `thin` and `export`: what to do with a release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from hushtable.cli.commanding import Argument, Option
from hushtable.cli.options import Json

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from hushtable.answers.release import Release
    from hushtable.domain.domain import Domain
    from hushtable.release.terms import Terms

ReleaseFile = Annotated[Path, Argument(metavar="FILE", help="A release: a file, or a folder with its parts.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace the file if hushtable wrote it.")]


def names_of(given: list[str], known: tuple[str, ...]) -> list[str]:
    """Return names that were given one by one or between commas; a name may hold a comma itself."""
    return [
        part if part in known else part.strip()
        for text in given
        for part in ([text] if text in known else text.split(","))
    ]


def show(
    file: ReleaseFile,
    rows: Annotated[int, Option(min=0, metavar="N", help="How many rows to show.")] = 10,
    json: Json = False,
) -> None:
    """Show a release: whom it protects, how it was made, and rows.

    \b
    Example:
      hushtable show commute.parquet
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.documents import release_document
    from hushtable.cli.printing import console, grid, print_json
    from hushtable.cli.words import lines, measure_in_words, printable

    release = open_release(file)
    if json:
        print_json(release_document(release, rows=rows))
        return
    terms = release.terms
    first = release.first_rows(rows) if rows else None
    out = console()
    for warning in release.noise.warnings:
        out.print(printable(warning), style="bold")
    out.print(printable(release.domain.title or str(file)), style="bold")
    out.print(printable(release.guarantee))
    out.print()
    out.print(grid(_facts(release)))
    out.print()
    if terms.parts:
        from hushtable.cli.cubes import below_marginals, marginals_table

        out.print(marginals_table(release))
        out.print(below_marginals(release))
        out.print()
    if terms.nodes.strata:
        from hushtable.cli.cubes import below_levels, levels_table

        out.print(levels_table(release))
        out.print(below_levels(release))
        out.print()
    out.print(
        "The owner declared these facts public, as well as epsilon and the choices above:", style="bold"
    )
    out.print()
    out.print(_attributes(release.domain))
    out.print()
    declared = {
        "counted": measure_in_words(terms.measure, terms.domain.counts),
        "filter": terms.where,
        "query": terms.query,
    }
    out.print(grid((name, lines(text)) for name, text in declared.items() if text is not None))
    if first is not None and len(release):
        out.print()
        out.print(_listing(first))
        if len(release) > rows:
            out.print(f"... {len(release) - rows:,} more")
        out.print()
        out.print(terms.structure.advice)


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    """Yield how a release was made, in words."""
    from hushtable.cli import words
    from hushtable.domain.wording import cells_in_words
    from hushtable.release.left_out import left_out_sentence

    terms = release.terms
    unit, cube = terms.structure.row, bool(terms.parts)
    if terms.domain.unlisted:
        yield "rows", f"{len(release):,} {unit}s, of an unlimited number"
    else:
        yield "rows", f"{len(release):,} of {cells_in_words(terms.units_total)} {unit}s"
    if cube:
        several = f"{len(terms.parts):,} {terms.structure.part}{'s' * (len(terms.parts) != 1)}"
        yield "structure", f"{terms.structure.called} of {several}, listed below"
    elif (structure := terms.nodes.named(terms.domain)) is not None:
        yield "structure", words.printable(structure)
    yield from _cube_facts(terms) if cube else _summary_facts(terms)
    spent, word = words.exact_in_words(terms.budget), terms.cost.word
    if terms.cost.currency == "approximate":
        spent = terms.cost.said.removeprefix("epsilon = ")
    for_rows = f"for the {unit}s" + ", split as listed below" * cube
    parts = {"the noisy total": terms.total_budget, "who is left out": terms.left_out_budget}
    said = [
        f"{'rho = ' if terms.delta else ''}{words.exact_in_words(part)} for {what}"
        for what, part in parts.items()
        if part
    ]
    if terms.total is not None and terms.total_law is not None:
        yield "noisy total", f"{terms.total:,}, with noise of {words.spread_in_words(terms.total_law)}"
    if (left_out := left_out_sentence(terms)) is not None:
        yield "left out", words.printable(left_out)
    if said:
        yield word, f"{spent}, of which {' and '.join(said)}{f', the rest {for_rows}' if cube else ''}"
    else:
        bought = "; there is no noisy total" if terms.structure.takes_total else ""
        yield word, f"{spent}, all of it {for_rows}{bought}"
    change = f"the most that one unit can change all counts together{terms.structure.weighing}"
    yield "sensitivity", f"{terms.sensitivity:,}: {change}"
    yield "made by", f"hushtable {words.printable(terms.version)}"


def _summary_facts(terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield how rows were chosen, and their noise."""
    from hushtable.cli import words
    from hushtable.release.display import plan_in_words

    method, unit, consistent = terms.method, terms.structure.row, terms.structure.rooted
    yield "summary", words.method_in_words(method, of=f"{unit}s", consistent=consistent)
    if terms.keys:
        yield "seeds", words.seeds_in_words(terms.keys)
    if terms.cutoff is not None and not terms.nodes.strata:  # whose cutoffs are listed
        two_sided = method.two_sided
        rule = terms.rule if terms.plan is None else None
        yield "cutoff", words.cutoff_in_words(terms.cutoff, two_sided=two_sided, rule=rule)
    if terms.threshold is not None:
        met = {"cutoff": terms.cutoff is not None, "consistent": consistent}
        yield "threshold", words.threshold_in_words(terms.threshold, **met)
    if terms.plan is not None:
        yield "settings", words.printable(plan_in_words(terms))
    root = "; four times that in the root" if terms.structure.prunes else ""
    if terms.nodes.strata:
        root = "; each level has its own, listed below"
    where = f", in every {unit}" if terms.law.noises_empty else ""  # else the law says where
    yield "noise", f"{terms.law.sentence}, {words.spread_in_words(terms.law)}{where}{root}"


def _cube_facts(terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield how rows of marginals were chosen; each has noise of its own."""
    from hushtable.cli import words
    from hushtable.cli.cubes import rules_in_words, summaries_in_words
    from hushtable.release.display import plan_in_words

    yield "summary", summaries_in_words(terms.parts, terms.structure.part)
    if terms.plan is not None:
        yield "settings", words.printable(plan_in_words(terms))
    elif (rules := rules_in_words(terms.parts)) is not None:
        yield "settings", rules


def _attributes(domain: Domain) -> Table:
    """Return what the owner declared about each attribute."""
    from hushtable.cli.printing import table
    from hushtable.domain.wording import kind_in_words, rule_in_words
    from hushtable.errors import printable

    made = table("attribute", "values", "missing", "outside")
    for each in domain.attributes:
        rules = rule_in_words(each.missing), rule_in_words(each.outside)
        made.add_row(printable(each.name), kind_in_words(each.values), *rules)
    return made


def _listing(rows: pa.Table) -> Table:
    """Return rows of a release as a table, without columns that none of them has a value in."""
    from hushtable.cli.printing import table
    from hushtable.cli.words import number_in_words, printable

    rows = rows.select([name for name in rows.column_names if rows[name].null_count < rows.num_rows])
    made = table(*map(printable, rows.column_names), numbers=("count", "weight"))
    for row in rows.to_pylist():
        *values, count, weight = row.values()
        said = (_value(each) for each in values)
        made.add_row(*map(printable, said), f"{count:,}", number_in_words(weight))
    return made


def _value(value: object) -> str:
    """Return a value of an attribute; nothing where a marginal does not have it."""
    from hushtable.cli.words import number_in_words

    if value is None:
        return ""
    return number_in_words(value) if isinstance(value, float) else str(value)


def thin(
    file: ReleaseFile,
    size: Annotated[int, Option(metavar="N", help="How many rows to keep.")],
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="The file to write.")],
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace the release if there is one of this name.")
    ] = False,
    json: Json = False,
) -> None:
    """Make a smaller release from a finished one. This costs no privacy.

    \b
    Example:
      hushtable thin commute.parquet --size 1000 --output small.parquet
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.documents import release_document
    from hushtable.cli.printing import print_json

    smaller = open_release(file).thin(size=size, output=output, overwrite=overwrite)
    if json:
        print_json(release_document(smaller))
    else:
        click.echo(f"{output}: {len(smaller):,} rows.")


def export(
    file: ReleaseFile,
    output: Annotated[
        Path,
        Option(
            "--output", "-o", metavar="FILE", help="The file to write: .csv, .json, .jsonl, .arrow or .xlsx."
        ),
    ],
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write the rows of a release as CSV, JSON, Arrow or Excel.

    A category with labels gets a second column for them. The guarantee and the settings stay in the release.

    \b
    Example:
      hushtable export commute.parquet -o commute.csv
    """
    from hushtable.answers.release import open_release
    from hushtable.cli.printing import print_json

    release = open_release(file)
    release.export(output, overwrite=overwrite)
    if json:
        print_json({"file": str(output), "rows": len(release)})
    else:
        click.echo(f"{output}: {len(release):,} rows.")
