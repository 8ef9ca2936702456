"""The options that several commands share: what is read and counted, what it may cost, what is assumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import click

from hushtable.cli.commanding import Argument, Option
from hushtable.cli.completing import attribute_names, level_choices

if TYPE_CHECKING:
    from hushtable.domain.domain import Domain
    from hushtable.domain.measure import Measure

Data: TypeAlias = Annotated[
    list[str],
    Argument(metavar="DATA", help="Files, folders or patterns such as 'rows-*.parquet', or one database."),
]
DomainFile: TypeAlias = Annotated[
    Path, Option(metavar="FILE", help="The domain file: which attributes and values there are.")
]
Where: TypeAlias = Annotated[
    str | None, Option(metavar="SQL", help="Count only the rows that meet this condition.")
]
Query: TypeAlias = Annotated[
    str | None,
    Option(metavar="SQL", help="Count the rows that this query returns, as in 'SELECT ... FROM data'."),
]
TableName: TypeAlias = Annotated[
    str | None, Option(metavar="NAME", help="Read this table of a database at postgresql://...")
]
CountColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="The column that holds the counts, if rows are counts already.")
]
SumColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="Publish sums of this column. Needs --clamp.")
]
Clamp: TypeAlias = Annotated[
    tuple[int, int] | None,
    Option(metavar="LOW HIGH", help="The least and the most that one row may add to a sum."),
]
UnitColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="The column that says whose row it is, such as person_id.")
]
MaxRows: TypeAlias = Annotated[int | None, Option(metavar="K", help="Count at most K rows of each person.")]
MaxCells: TypeAlias = Annotated[
    int | None, Option(metavar="K", help="Count each person in at most K cells, once in each.")
]
MaxPerCell: TypeAlias = Annotated[
    int | None, Option(metavar="C", help="With --max-cells, count each person up to C times in a cell.")
]
RowsAreUnits: TypeAlias = Annotated[
    bool,
    Option("--rows-are-units", help="Allow any query. It protects single rows of the result, not people."),
]
Memory: TypeAlias = Annotated[
    str | None,
    Option(metavar="SIZE", help="How much memory to use, such as 2GB. Default: half of the machine's."),
]

Json: TypeAlias = Annotated[bool, Option("--json", help="Print one JSON document and nothing else.")]
Levels: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--level",
        metavar="NAME=LEVEL",
        help="Use an attribute at a coarser level. May be repeated.",
        complete=level_choices,
    ),
]
Epsilon: TypeAlias = Annotated[
    str | None, Option(metavar="E", help="The privacy cost: 0.1, or exactly 1/10. Smaller means more noise.")
]
Rho: TypeAlias = Annotated[
    str | None, Option(metavar="R", help="The privacy cost under zCDP, instead of epsilon: 0.015.")
]
Delta: TypeAlias = Annotated[
    str | None, Option(metavar="D", help="With --epsilon: a delta far below 1/people, such as 1e-9.")
]
Law: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="LAW",
        help="The kind of noise: geometric, gaussian, truncated-geometric, gaussian-stability or auto.",
    ),
]
TotalShare: TypeAlias = Annotated[
    str, Option(metavar="SHARE", help="The share of epsilon that buys a noisy total; 0 buys none.")
]
Ask: TypeAlias = Annotated[
    list[str] | None,
    Option(
        metavar="NAMES",
        help="A question to publish for: town,job or 'month(day),job' or town,day:ranges. May be repeated.",
        complete=attribute_names,
    ),
]
ExpectCells: TypeAlias = Annotated[
    float | None, Option(metavar="N", help="Assume that people are in N cells.")
]
ExpectMean: TypeAlias = Annotated[
    float | None, Option(metavar="M", help="Assume that counts of these cells have the mean M.")
]
ExpectSd: TypeAlias = Annotated[
    float | None, Option(metavar="S", help="Assume that these counts have the standard deviation S.")
]
ProfileFile: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FILE", help="Assume the counts in a CSV file with the columns count,cells."),
]
Width: TypeAlias = Annotated[
    int | None, Option(metavar="W", help="How many buckets each row of a sketch has.")
]
Depth: TypeAlias = Annotated[int | None, Option(metavar="D", help="How many rows a sketch has. Default: 1.")]
MarginalSets: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--marginals",
        metavar="NAME,...|all-K",
        help="A marginal of a data cube, or all marginals of K attributes. May be repeated.",
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="N,...|auto",
        help="How --marginals share epsilon, one number for each, or auto. Default: equally.",
    ),
]
LikeFile: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FILE", help="Assume the counts of an older public release."),
]


def loaded(file: Path, levels: list[str] | None) -> Domain:
    """Return the domain of a file, with attributes at the levels of the options."""
    from hushtable.domain.domain import Domain

    chosen = levels_of(levels)  # wrong usage is told before the file is read
    return Domain.load(file).at(chosen)


def levels_of(options: list[str] | None) -> dict[str, str]:
    """Return the level of each attribute that the options name."""
    chosen: dict[str, str] = {}
    for said in options or ():
        name, equals, level = said.rpartition("=")  # a name may have a `=` in it, a level has none
        if not equals or not name or not level:
            raise click.BadParameter(
                f"--level {said!r} is not of the form NAME=LEVEL. Write it as in home=tract."
            )
        if name in chosen:
            raise click.BadParameter(f"--level names {name!r} twice. Give one level for each attribute.")
        chosen[name] = level
    return chosen


def marginals_of(options: list[str] | None, domain: Domain) -> list[list[str] | str] | None:
    """Return the marginals that the options name: lists of attributes, or all of so many."""
    from hushtable.cli.release import names_of
    from hushtable.structures.marginals import ALL_OF

    if not options:
        return None
    return [each if ALL_OF.fullmatch(each) else names_of([each], domain.names) for each in options]


def weights_of(option: str | None) -> list[str] | Literal["auto"] | None:
    """Return the weights that the option names."""
    if option is None:
        return None
    return "auto" if option == "auto" else option.split(",")


def measured(
    *,
    count_column: str | None,
    sum_column: str | None,
    clamp: tuple[int, int] | None,
    unit: str | None,
    max_rows: int | None,
    max_cells: int | None,
    max_per_cell: int | None,
) -> Measure:
    """Return what is counted, from the options."""
    from hushtable.domain.measure import Measure, Unit

    said = unit_of(unit, max_rows=max_rows, max_cells=max_cells, max_per_cell=max_per_cell)
    need_both({"--sum-column": sum_column, "--clamp": clamp})
    bounded = None if said is None else Unit(**said)
    return Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=bounded)


def unit_of(
    unit: str | None, *, max_rows: int | None, max_cells: int | None, max_per_cell: int | None
) -> dict[str, Any] | None:
    """Return who is protected and how much of each counts, as words of a recipe."""
    if max_rows is not None and max_cells is not None:
        raise click.BadParameter("Give one of --max-rows and --max-cells.")
    if max_per_cell is not None and max_cells is None:
        raise click.BadParameter("--max-per-cell goes with --max-cells.")
    if (unit is None) != (max_rows is None and max_cells is None):
        hint = "give both, or neither."
        raise click.BadParameter(f"--unit goes with --max-rows or --max-cells: {hint}")
    if unit is None:
        return None
    bounds = {"max_rows": max_rows, "max_cells": max_cells, "max_per_cell": max_per_cell}
    return {"column": unit, **{name: most for name, most in bounds.items() if most is not None}}


def need_both(options: dict[str, object]) -> None:
    """Raise unless two options that go together were both given, or neither."""
    given = [option for option, value in options.items() if value is not None]
    if len(given) == 1:
        raise click.BadParameter(f"{' and '.join(options)} go together: give both, or neither.")
