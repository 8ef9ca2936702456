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
    list[str], Argument(metavar="DATA", help="Files, folders or patterns; or one database file.")
]
DomainFile: TypeAlias = Annotated[Path, Option(metavar="FILE", help="The domain file.")]
Where: TypeAlias = Annotated[str | None, Option(metavar="SQL", help="Keep rows that meet this condition.")]
Query: TypeAlias = Annotated[str | None, Option(metavar="SQL", help="Read what this query selects.")]
CountColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="Rows are counts already, in this column.")
]
SumColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="Add this column up, with --clamp.")
]
Clamp: TypeAlias = Annotated[
    tuple[int, int] | None,
    Option(metavar="LOW HIGH", help="What one row may add at least and at most."),
]
UnitColumn: TypeAlias = Annotated[
    str | None, Option(metavar="COLUMN", help="Whose row it is: one person, one value.")
]
MaxRows: TypeAlias = Annotated[int | None, Option(metavar="K", help="Count at most K rows of each unit.")]
MaxCells: TypeAlias = Annotated[
    int | None, Option(metavar="K", help="Or: count each unit in at most K cells, once in each.")
]
MaxPerCell: TypeAlias = Annotated[
    int | None, Option(metavar="C", help="With --max-cells: up to C times in each.")
]
RowsAreUnits: TypeAlias = Annotated[
    bool, Option("--rows-are-units", help="Allow any query: its rows are what is protected.")
]
Memory: TypeAlias = Annotated[
    str | None, Option(metavar="SIZE", help="Such as 2GB; by default half of the machine's.")
]

Json: TypeAlias = Annotated[bool, Option("--json", help="Print one JSON document, and nothing else.")]
Levels: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--level",
        metavar="NAME=LEVEL",
        help="A coarser level of an attribute; one --level for each.",
        complete=level_choices,
    ),
]
Epsilon: TypeAlias = Annotated[
    str | None, Option(metavar="E", help="What it may cost: 0.1, or exactly 1/10.")
]
Rho: TypeAlias = Annotated[
    str | None, Option(metavar="R", help="The same as zero-concentrated privacy (zCDP): 0.015.")
]
Delta: TypeAlias = Annotated[
    str | None, Option(metavar="D", help="A chance beside epsilon, far below 1/people: 1e-9.")
]
Law: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="LAW",
        help="The law of the noise: geometric, gaussian, truncated-geometric, gaussian-stability or auto.",
    ),
]
TotalShare: TypeAlias = Annotated[
    str, Option(metavar="SHARE", help="The share of epsilon for a noisy total; 0 for none.")
]
Ask: TypeAlias = Annotated[
    list[str] | None,
    Option(
        metavar="NAMES",
        help="A question to publish for: town,job or 'month(day),job' or town,day:ranges. May be repeated.",
        complete=attribute_names,
    ),
]
ExpectCells: TypeAlias = Annotated[float | None, Option(metavar="N", help="Assume so many occupied cells,")]
ExpectMean: TypeAlias = Annotated[float | None, Option(metavar="M", help="with counts of this mean")]
ExpectSd: TypeAlias = Annotated[float | None, Option(metavar="S", help="and this standard deviation.")]
ProfileFile: TypeAlias = Annotated[
    Path | None, Option(metavar="FILE", help="Or assume the counts of a CSV file: count,cells.")
]
Width: TypeAlias = Annotated[int | None, Option(metavar="W", help="How many buckets a row of a sketch has.")]
Depth: TypeAlias = Annotated[int | None, Option(metavar="D", help="How many rows a sketch has: 1.")]
MarginalSets: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--marginals",
        metavar="NAME,...|all-K",
        help="A marginal of a data cube, or all of K attributes; give it once for each.",
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="N,...|auto",
        help="How marginals share epsilon, one for each --marginals: equally. auto: by root of cells.",
    ),
]
LikeFile: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FILE", help="Or assume those of an older public release, a file or a folder."),
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
            raise click.BadParameter(f"--level {said!r} is not of the form NAME=LEVEL, as in home=tract.")
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
