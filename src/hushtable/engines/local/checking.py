"""The owner's own look: how the rows stand to a domain, in numbers.

Promise: a row is read, placed, dropped and bounded here by the same SQL as in counting; nothing but numbers
and the names and types of columns comes out, unless stray values are asked for. The numbers are private, for
they are true.
Cost: one pass over the data, and one more over the first rows of JSON lines, for their names. Stray values
take one more for each attribute that has some.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

from hushtable.domain.attributes import Attribute, Integers, Rule
from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.local.addresses import located
from hushtable.engines.local.databases import SQLiteFile, only_table
from hushtable.engines.local.engine import LOCAL
from hushtable.engines.local.files import files_of, format_of, is_duckdb, is_sqlite
from hushtable.engines.local.json_lines import LineRows, keys_of
from hushtable.engines.local.reporting import Look, Problem, Report, UnitLook
from hushtable.engines.local.rows import kept_rows, opened_rows
from hushtable.engines.sliced.coding import amount_problem, code_sql, coding
from hushtable.engines.sliced.engine import LEAST_MEMORY, as_bytes, default_memory, fetched
from hushtable.engines.sliced.naming import folded, found
from hushtable.engines.sliced.paths import check_categories
from hushtable.engines.sliced.quoting import name_sql
from hushtable.engines.sliced.reading import read_sql, type_text, unit_sql
from hushtable.engines.sliced.rows import OpenedRows, own_connection
from hushtable.errors import BadData, shown, within_memory

_FIRST_ROWS = 100_000  # of JSON lines, that are searched for names
_RENAME = "Name another column, or rename it in a query."
_LARGEST_INTEGER = (1 << 63) - 2
_OTHER_MARKS = {";": "semicolons", "|": "bars", "\t": "tabs"}
_BOUNDS = range(1, 11)  # on the rows of a unit, of which the report tells what each would keep


@within_memory
def check(
    data: Any,
    *,
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str],
    level: Mapping[str, str] | None = None,
    where: str | None = None,
    query: str | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    unit: Unit | None = None,
    rows_are_units: bool = False,
    table: str | None = None,
    stray: int = 0,
    memory: int | str | None = None,
) -> Report:
    """Check how rows fit a domain, before anything is published. The report is private.

    It takes what `ht.publish` takes. `report.fits` says whether publishing would run. `report.to_text()` is
    a page for the owner only, and `report.to_dict()` the same for scripts. With `stray=5`, the report also
    holds the five most common undeclared values of each attribute. These are values of rows, so do not pass
    it on.

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> rows = pa.table({"age": [34, None, 200]})
    >>> report = ht.check(rows, domain=ht.Domain(age=ht.integers(0, 120)))
    >>> report, report.fits, report.rows_read, report.rows_counted
    (Report(1 attributes, rows=<private>), True, 3, 1)
    """
    declared = as_domain(domain)
    return check_rows(
        located(data, table),
        domain=declared if level is None else declared.at(level),
        measure=Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit),
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        stray=stray,
        memory=memory,
    )


def check_rows(
    data: Any,
    *,
    domain: Domain,
    measure: Measure | None = None,
    where: str | None = None,
    query: str | None = None,
    rows_are_units: bool = False,
    stray: int = 0,
    memory: int | str | None = None,
) -> Report:
    """Return how the rows of `data` stand to `domain`. The report is private.

    What `counting.count` takes is taken here, but a column that does not fit is a problem in the report.

    >>> import pyarrow as pa
    >>> domain = Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=120)),))
    >>> report = check_rows(pa.table({"age": [34, None, 200]}), domain=domain)
    >>> report, report.fits, report.rows_read, report.rows_counted
    (Report(1 attributes, rows=<private>), True, 3, 1)
    """
    measure = measure or Measure()
    check_categories(domain, partial(LOCAL.inputs, data))
    with opened_rows(
        data,
        names=[*(attribute.column for attribute in domain.attributes), *measure.readers],
        amount=measure.amount_column,
        query=query,
        where=where,
        rows_are_units=rows_are_units,
        memory=(default_memory() if memory is None else as_bytes(memory)) // 2,
        threads=os.cpu_count() or 1,
    ) as rows:
        if stray:
            rows = kept_rows(rows)
        looks = [_look(attribute, rows.columns) for attribute in domain.attributes]
        if measure.amount_column is not None:
            looks.append(_amount_look(measure, measure.amount_column, rows.columns))
        unit = None if measure.unit is None else _unit_look(measure.unit, rows.columns)
        looks, unit, read, kept = _counted(rows, looks, unit, attributes=len(domain.attributes))
        looks = [_with_strays(look, rows, stray) for look in looks]
        unreadable = rows.unreadable()
        columns = list(rows.columns)
    names = names_in(data, rows=_FIRST_ROWS) if query is None else None
    # In JSON, upper and lower case differ.
    compared = str if names and not is_sqlite(data) else folded
    used = {compared(name) for name in (*(look.attribute.column for look in looks), *measure.columns)}
    unused = tuple(name for name in names or columns if compared(name) not in used)
    report = Report(
        attributes=tuple(looks[: len(domain.attributes)]),
        amount=None if measure.amount_column is None else looks[-1],
        unit=unit,
        unused=unused,
        by_row=measure.unit is None and measure.count_column is None and not rows_are_units,
        rows_read=read,
        rows_dropped=read - kept,
        rows_counted=kept - (0 if unit is None else unit.rows_beyond),
        reviewed=domain.reviewed,
        cells_total=domain.cells_said,
        unreadable=unreadable,
    )
    return replace(report, rows_dropped=None, rows_counted=None) if report.problems else report


def names_in(data: Any, *, rows: int | None = None) -> list[str] | None:
    """Return all names in JSON lines or of the one table in a SQLite file; None for other data.

    The readers of these two take only the columns they are told of. `rows` limits the lines looked at.
    """
    if is_sqlite(data):
        with closing(SQLiteFile(data)) as file:
            query = f"SELECT * FROM {name_sql(only_table(file.tables, data))}"
        with opened_rows(
            data, names=[], query=query, where=None, rows_are_units=True, memory=LEAST_MEMORY, threads=1
        ) as opened:
            return list(opened.columns)
    paths = [data] if isinstance(data, str | os.PathLike) else data
    if is_duckdb(data) or not isinstance(paths, list | tuple):
        return None
    files = [file for path in paths for file in files_of(os.fsdecode(path))]
    if {format_of(file) for file in files} != {"json"}:
        return None
    with own_connection(memory=default_memory() // 2, threads=os.cpu_count() or 1) as (engine, _):
        return keys_of(LineRows(files), engine, limit=rows)


def other_mark(names: Sequence[str]) -> str | None:
    """Return what to do where one column's name holds several, with another mark between them; else None."""
    marks = [word for mark, word in _OTHER_MARKS.items() if len(names) == 1 and mark in names[0]]
    if not marks:
        return None
    return (
        f"Its first line has {marks[0]} between names, and .csv means commas (.tsv tabs): save it with "
        "commas. Or read it in Python, and pass duckdb.read_csv(path, sep=..., all_varchar=True)."
    )


def _absent(wanted: str, columns: Mapping[str, str], hint: str) -> Problem:
    """Return the problem of a column that is not there."""
    if (hint_of_mark := other_mark(list(columns))) is not None:
        return Problem(fact=f"the data have no column {shown(wanted)}", hint=hint_of_mark)
    near = get_close_matches(wanted, columns, n=1)
    guess = f"Did you mean {shown(near[0])}? " if near else ""
    return Problem(fact=f"the data have no column {shown(wanted)}", hint=guess + hint)


def _look(attribute: Attribute, columns: Mapping[str, str]) -> Look:
    """Return an attribute's look, without numbers, or its problem."""
    name = found(attribute.column, columns)
    if name is None:
        hint = "Write the data's name as `column` of the attribute, or rename it in a query."
        problem = _absent(attribute.column, columns, hint)
        return Look(attribute=attribute, column_type="", problem=problem)
    try:
        read_sql(attribute, name_sql(name), columns[name])
    except BadData as error:
        problem = Problem(fact=error.fact, hint=error.hint)
        return Look(attribute=attribute, column_type=type_text(columns[name]), problem=problem)
    return Look(attribute=attribute, column_type=type_text(columns[name]))


def _amount_look(measure: Measure, column: str, columns: Mapping[str, str]) -> Look:
    """Return the look of amounts: they are read, dropped and clamped as an attribute of integers would be."""
    low, high = measure.clamp or (0, _LARGEST_INTEGER)  # beyond the largest count they are cut to it
    outside: Rule = "drop" if measure.clamp is None else "clamp"
    look = _look(
        Attribute(name="amount", column=column, values=Integers(low=low, high=high), outside=outside), columns
    )
    name = found(column, columns)
    if name is None:
        return replace(look, problem=_absent(column, columns, _RENAME))
    problem = amount_problem(measure, column, columns[name])
    return replace(look, problem=None if problem is None else Problem(fact=problem[0], hint=problem[1]))


def _unit_look(unit: Unit, columns: Mapping[str, str]) -> UnitLook:
    """Return the look of units, without numbers, or its problem."""
    name = found(unit.column, columns)
    if name is None:
        return UnitLook(unit=unit, column_type="", problem=_absent(unit.column, columns, _RENAME))
    problem = None
    try:
        unit_sql(unit.column, name_sql(name), columns[name])
    except BadData as error:
        problem = Problem(fact=error.fact, hint=error.hint)
    return UnitLook(unit=unit, column_type=type_text(columns[name]), problem=problem)


class _Counted(NamedTuple):
    """Looks with their numbers, the rows that were read, and those that no rule drops."""

    looks: list[Look]
    unit: UnitLook | None
    read: int
    kept: int


def _counted(rows: OpenedRows, looks: Sequence[Look], unit: UnitLook | None, *, attributes: int) -> _Counted:
    """Count the fates of all rows at the columns that fit, in one query; `attributes`: looks at a cell's."""
    fitting = [look for look in looks if look.problem is None]
    # Which rows of a unit are beyond its bound depends on those that are dropped: all columns must fit.
    bound = unit.unit if unit is not None and not unit.problem and len(fitting) == len(looks) else None
    sql, flags = rows.sql, ["TRUE"]
    dropped = ["FALSE"] if bound is None else ["unit IS NULL"]
    if fitting:
        # Two looks may share a name, if one is that of the amounts.
        numbered = tuple(replace(look.attribute, name=f"a{i}") for i, look in enumerate(fitting))
        coded = coding(rows.sql, rows.columns, Domain(attributes=numbered), Measure(unit=bound))
        for name, table in coded.tables.items():
            rows.connection.register(name, table)
        codes = []
        for i, (attribute, place) in enumerate(zip(numbered, coded.places, strict=True)):
            flags += [f"missing{i}", f"r{i} IS NULL AND NOT missing{i}"]
            flags += [f"r{i} IS NOT NULL AND {outside}" for outside in (place.below, place.above)]
            codes.append(f"{code_sql(attribute, i, place)} AS c{i}")
            dropped.append(f"c{i} IS NULL")
        sql = f"SELECT *, {', '.join(codes)} FROM ({coded.sql}) AS rows"
    flags.append(f"NOT ({' OR '.join(dropped)})")

    counts = ", ".join(f"count(*) FILTER (WHERE {flag}) AS f{i}" for i, flag in enumerate(flags))
    sums = [f"coalesce(sum(f{i}), 0)" for i in range(len(flags))]
    if bound is None:
        sql = f"SELECT {counts} FROM ({sql}) AS rows"
    else:
        cells = [f"c{i}" for i in range(attributes)]
        sql = _unit_sql(bound, sql, counts, flags=len(flags), cells=cells)
        most = bound.max_rows or bound.max_cells
        sums += [
            "coalesce(sum(f0) FILTER (WHERE unit IS NULL), 0)",
            "count(*) FILTER (WHERE places > 0)",
            f"count(*) FILTER (WHERE places > {most})",
            f"coalesce(sum(f{len(flags) - 1}), 0) - {_kept_sql(most)}",
            *map(_kept_sql, _BOUNDS),
        ]
    numbers = iter(fetched(f"SELECT {', '.join(sums)} FROM ({sql}) AS units", rows.connection)[0])

    read = next(numbers)
    done = []
    for look in looks:
        if look.problem is None:
            missing, unreadable, below, above = (next(numbers) for _ in range(4))
            inside = read - missing - unreadable - below - above
            fates = {"missing": missing, "unreadable": unreadable, "below": below, "above": above}
            look = replace(look, inside=inside, **fates)
        done.append(look)
    kept = next(numbers)
    if unit is not None and bound is not None:
        names = ("missing", "units", "above_bound", "rows_beyond")
        found_numbers = {name: next(numbers) for name in names}
        unit = replace(unit, **found_numbers, kept=dict(zip(_BOUNDS, numbers, strict=True)))
    return _Counted(done, unit, read, kept)


def _unit_sql(bound: Unit, sql: str, counts: str, *, flags: int, cells: Sequence[str]) -> str:
    """Return the counts of each unit, its `places`, of which so many count, and the `most_rows` in them.

    A place is a row, or a cell with so many of the unit's rows as may count there.
    """
    rows = f"f{flags - 1}"  # those that no rule drops
    if bound.max_cells is None:
        units = f"SELECT unit, {counts} FROM ({sql}) AS rows GROUP BY unit"
        return f"SELECT *, {rows} AS places, {rows} AS most_rows FROM ({units}) AS units"
    each = f"SELECT unit, {counts} FROM ({sql}) AS rows GROUP BY unit, {', '.join(cells)}"
    added = ", ".join(f"sum(f{i}) AS f{i}" for i in range(flags))
    places = f"count(*) FILTER (WHERE {rows} > 0) AS places"
    most_rows = f"sum(least({rows}, {bound.max_per_cell})) AS most_rows"
    return f"SELECT unit, {added}, {places}, {most_rows} FROM ({each}) AS cells GROUP BY unit"


def _kept_sql(most: int | None) -> str:
    """Return how many rows a bound keeps: on average, where places that are chosen may hold several."""
    kept = f"most_rows * least(places, {most}) / places"
    return f"CAST(coalesce(round(sum(CASE WHEN places > 0 THEN {kept} END)), 0) AS BIGINT)"


def _with_strays(look: Look, rows: OpenedRows, most: int) -> Look:
    """Return a look with the commonest values that cannot be read or are not declared."""
    if not most or look.problem is not None or not look.unreadable + look.outside:
        return look
    name = found(look.attribute.column, rows.columns)
    assert name is not None
    held = [f"CAST(source.{name_sql(name)} AS VARCHAR) AS held"]
    alone = Domain(attributes=(replace(look.attribute, name="a0"),))
    coded = coding(rows.sql, rows.columns, alone, Measure(), further=held)
    for table_name, table in coded.tables.items():
        rows.connection.register(table_name, table)
    (place,) = coded.places
    astray = f"NOT missing0 AND (r0 IS NULL OR {place.below} OR {place.above})"
    sql = f"SELECT held, count(*) FROM ({coded.sql}) AS rows WHERE {astray} GROUP BY held"
    return replace(look, stray=tuple(fetched(f"{sql} ORDER BY 2 DESC, 1 LIMIT {most}", rows.connection)))
