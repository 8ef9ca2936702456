"""`hushtable show`, `thin` and `export`: what to do with a release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table

    from hushtable.domain.domain import Domain
    from hushtable.query.release import Release
    from hushtable.structures.settings import Structure

ReleaseFile = Annotated[Path, typer.Argument(metavar="FILE", help="A release.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")]


def names_of(given: list[str], known: tuple[str, ...]) -> list[str]:
    """Return names that were given one by one or between commas; a name may hold a comma itself."""
    return [
        part if part in known else part.strip()
        for text in given
        for part in ([text] if text in known else text.split(","))
    ]


def show(
    file: ReleaseFile,
    rows: Annotated[int, typer.Option(min=0, metavar="N", help="How many rows to show.")] = 10,
) -> None:
    """Show a release: its guarantee, how it was made, first rows.

    \b
    Example:
      hushtable show commute.parquet
    """
    from hushtable.cli.printing import console, grid
    from hushtable.cli.words import lines, measure_in_words, printable
    from hushtable.query.release import open_release

    release = open_release(file)
    terms = release.terms
    first = release.to_arrow().slice(0, rows) if rows else None
    out = console()
    out.print(printable(release.domain.title) or str(file), style="bold")
    out.print(printable(release.guarantee))
    out.print()
    out.print(grid(_facts(release)))
    out.print()
    out.print("Declared public by the owner, like epsilon and the settings of the summary:", style="bold")
    out.print()
    out.print(_attributes(release.domain))
    out.print()
    declared = {"counted": measure_in_words(terms.measure), "filter": terms.where, "query": terms.query}
    out.print(grid((name, lines(text)) for name, text in declared.items() if text is not None))
    if first is not None and len(release):
        out.print()
        out.print(_listing(first))
        if len(release) > rows:
            out.print(f"... {len(release) - rows:,} more")
        out.print()
        out.print(_advice(terms.structure))


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    """Yield how a release was made, in words."""
    from hushtable.cli import words
    from hushtable.release.display import largest_text, plan_in_words, structure_text, unit_of
    from hushtable.release.terms import takes_total
    from hushtable.structures.cubes import CubeSpace
    from hushtable.structures.settings import Tree

    terms = release.terms
    method = terms.method
    unit = unit_of(terms)
    yield "rows", f"{len(release):,} of {words.cells_in_words(terms.units_total)} {unit}s"
    if (structure := structure_text(terms)) is not None:
        yield "structure", words.printable(structure)
    pruned = isinstance(terms.structure, Tree)
    consistent = pruned or getattr(terms.structure, "consistent", False)
    of = words.printable(largest_text(terms))
    yield "summary", words.method_in_words(method, of=f"{unit}s", consistent=consistent) + of
    if terms.cutoff is not None:
        two_sided = getattr(method, "two_sided", True)
        rule = terms.rule if terms.plan is None else None
        yield "cutoff", words.cutoff_in_words(terms.cutoff, two_sided=two_sided, rule=rule) + of
    if terms.threshold is not None:
        met = {"cutoff": terms.cutoff is not None, "consistent": consistent}
        yield "threshold", words.threshold_in_words(terms.threshold, **met) + of
    if terms.plan is not None:
        yield "settings", words.printable(plan_in_words(terms))
    cube = terms.nodes if isinstance(terms.nodes, CubeSpace) else None
    uneven = cube is not None and cube.per_cell > cube.share * len(cube.marginals)
    root = "; in the root four times that" if pruned else "; less in marginals of more weight" * uneven
    yield "noise", f"two-sided geometric, {words.spread_in_words(terms.rate)}, in every {unit}{root}"
    epsilon = words.exact_in_words(terms.epsilon)
    if terms.total is None or terms.total_rate is None:
        bought = "; no noisy total was bought" if takes_total(terms.structure) else ""
        yield "epsilon", f"{epsilon}, all of it for the {unit}s{bought}"
    else:
        yield "noisy total", f"{terms.total:,}, with noise of {words.spread_in_words(terms.total_rate)}"
        yield (
            "epsilon",
            f"{epsilon}, of which {words.exact_in_words(terms.total_epsilon)} for the noisy total",
        )
    weighed = ", those below the root four times" if pruned else ", each times its share" * uneven
    change = f"the most by which one unit changes all counts together{weighed}"
    yield "sensitivity", f"{terms.sensitivity:,}: {change}"
    yield "made by", f"hushtable {words.printable(terms.version)}"


def _advice(structure: Structure) -> str:
    """Return how to read `count` and `weight`."""
    from hushtable.structures.settings import Cells, CountSketch, Haar, Marginals, ProductDyadic

    match structure:
        case Cells():
            return "`count` is the noisy count of a cell. For sums over cells, add up `weight`."
        case Marginals():
            said = "of a cell of a marginal"
            return f"`count` is the noisy count {said}. For sums over one marginal, add up its `weight`."
        case CountSketch():
            said = "of cells that share a bucket, each with a sign"
            return f"`count` is the noisy sum {said}. For answers, ask `hushtable query`."
        case Haar():
            said = "of the first half of a range minus the second; at level 0, of all"
        case ProductDyadic():
            said = "of a box, from the first to the last value of both attributes"
        case _:
            said = "of a range, from its first to its last cell"
    return f"`count` is the noisy count {said}. Rows overlap: for sums, ask `hushtable query`."


def _attributes(domain: Domain) -> Table:
    """Return what the owner declared about each attribute."""
    from hushtable.cli.printing import table
    from hushtable.cli.words import kind_in_words, printable, rule_in_words

    made = table("attribute", "values", "missing", "outside")
    for each in domain.attributes:
        rules = rule_in_words(each.missing), rule_in_words(each.outside)
        made.add_row(printable(each.name), kind_in_words(each.values), *rules)
    return made


def _listing(rows: pa.Table) -> Table:
    """Return rows of a release as a table."""
    from hushtable.cli.printing import table
    from hushtable.cli.words import number_in_words, printable

    made = table(*map(printable, rows.column_names), numbers=("count", "weight"))
    for row in rows.to_pylist():
        *values, count, weight = row.values()
        shown = ("" if each is None else each for each in values)
        said = (number_in_words(each) if isinstance(each, float) else str(each) for each in shown)
        made.add_row(*map(printable, said), f"{count:,}", number_in_words(weight))
    return made


def thin(
    file: ReleaseFile,
    size: Annotated[int, typer.Option(metavar="N", help="How many rows to keep.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
    overwrite: Overwrite = False,
) -> None:
    """Make a smaller release from a finished one. It costs no epsilon.

    \b
    Example:
      hushtable thin commute.parquet --size 1000 --output small.parquet
    """
    from hushtable.publishing.thinning import thin as thinned
    from hushtable.query.release import open_release

    smaller = thinned(open_release(file), size=size, output=output, overwrite=overwrite)
    typer.echo(f"{output}: {len(smaller):,} rows.")


def export(
    file: ReleaseFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Ending in .csv, .json, .jsonl or .arrow.")
    ],
    overwrite: Overwrite = False,
) -> None:
    """Write a release as CSV, JSON or Arrow, with labels.

    Categories that have labels get a second column. The guarantee stays with the release alone.

    \b
    Example:
      hushtable export commute.parquet -o commute.csv
    """
    from hushtable.query.release import open_release
    from hushtable.release.exporting import export_release

    release = open_release(file)
    export_release(release, output, overwrite=overwrite)
    typer.echo(f"{output}: {len(release):,} rows.")
