"""Rows to keys of cells, as SQL for DuckDB.

Values are read, looked up or computed into codes, and codes are packed into the words of a key.

Promise: the code of every value is `Attribute.place` of it, the slow reference in the domain room, and keys
are those of `KeySpace`. Rows that are dropped by rule have NULL in a word.
Cost: a few vector operations a value; categories are joined and edges searched by halving, in small tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushtable.domain.attributes import AnyText, Attribute, Categories, Edges, Integers, Other, Rule, Times
from hushtable.domain.columns import as_column, as_text_column
from hushtable.domain.domain import Domain
from hushtable.domain.keys import KeySpace
from hushtable.domain.measure import Measure
from hushtable.engines.sliced.naming import found
from hushtable.engines.sliced.quoting import letters_sql, name_sql
from hushtable.engines.sliced.reading import (
    form_of,
    missing_sql,
    read_sql,
    type_text,
    unit_sql,
    whole_edges,
    whole_number_sql,
)
from hushtable.errors import BadData, BadRows, shown
from hushtable.table.sparse import LARGEST_COUNT

if TYPE_CHECKING:
    import pyarrow as pa


class CodePlace(NamedTuple):
    """Where a value `r<i>`, once read, lies among the declared ones."""

    below: str  # conditions that it lies outside, below and above
    above: str
    code: str  # its code where neither holds


class Coding(NamedTuple):
    """The rows of a source with what each attribute says of them.

    `sql` yields, for attribute i, `missing<i>` (nothing there), `r<i>` (what was read) and all that `places`
    speak of; then `amount` and `unit` where the measure has them. `tables` are to be registered first.
    """

    sql: str
    places: tuple[CodePlace, ...]
    tables: Mapping[str, pa.Table]


def coding(
    source: str,
    columns: Mapping[str, str],
    domain: Domain,
    measure: Measure,
    *,
    named: bool = True,
    further: Sequence[str] = (),
) -> Coding:
    """Return how the rows of `source` (SQL) with these columns and types are read and placed.

    `named`: whether the columns surely have names, which a message may tell. `further` is selected of each
    row beside what is read.
    """

    def column(wanted: str) -> tuple[str, str]:
        name = found(wanted, columns)
        if name is None:
            used = [*(attribute.column for attribute in domain.attributes), *measure.columns]
            known = named and any(found(each, columns) is not None for each in used)
            raise BadData(*_no_column(wanted, columns, known=known, amount_or_unit=wanted in measure.columns))
        sql = f"source.{name_sql(name)}"
        if form_of(columns[name]) == "json":  # Parquet and Arrow take any text for it
            sql = f"(CASE WHEN json_valid({sql}) THEN {sql} END)"
        return sql, columns[name]

    reads = []
    for place, attribute in enumerate(domain.attributes):
        name, sql_type = column(attribute.column)
        reads.append(f"{missing_sql(name, form_of(sql_type))} AS missing{place}")
        reads.append(f"{read_sql(attribute, name, sql_type)} AS r{place}")
    if measure.amount_column is not None:
        reads.append(f"{_amount_sql(measure, *column(measure.amount_column))} AS amount")
    if measure.unit is not None:
        reads.append(f"{unit_sql(measure.unit.column, *column(measure.unit.column))} AS unit")
    sql = f"SELECT {', '.join([*reads, *further])} FROM ({source}) AS source"

    places, tables = [], {}
    for place, attribute in enumerate(domain.attributes):
        values = attribute.values
        if isinstance(values, Categories | Edges):
            tables[_lookup(place)] = _lookup_table(attribute, column(attribute.column)[1])
        if isinstance(values, Edges):
            sql = _search_sql(sql, place, len(values.edges))
        elif isinstance(values, Categories):
            sql = (
                f"SELECT rows.*, lookup.code AS code{place} FROM ({sql}) AS rows "
                f"LEFT JOIN {name_sql(_lookup(place))} AS lookup ON rows.r{place} = lookup.value"
            )
        places.append(_place(attribute, place))
    return Coding(sql, tuple(places), tables)


def code_sql(attribute: Attribute, number: int, place: CodePlace) -> str:
    """Return the code of an attribute by its rules, NULL where the row is dropped or breaks a rule.

    Texts that nobody can list have no code yet: they stand for themselves.
    """
    if attribute.unlisted:
        return (
            f"CASE WHEN r{number} IS NULL THEN {_text_of(attribute.missing)} "
            f"WHEN {place.below} THEN {_text_of(attribute.outside)} ELSE {place.code} END"
        )
    below, above = attribute.outside_code, attribute.outside_code
    if attribute.outside == "clamp":
        below, above = 0, attribute.size - 1
    if (attribute.missing_code, below, above) == (None, None, None):
        return f"CASE WHEN NOT ({place.below}) AND NOT ({place.above}) THEN CAST({place.code} AS UBIGINT) END"
    return (
        f"CASE WHEN r{number} IS NULL THEN {_or_null(attribute.missing_code)} "
        f"WHEN {place.below} THEN {_or_null(below)} WHEN {place.above} THEN {_or_null(above)} "
        f"ELSE CAST({place.code} AS UBIGINT) END"
    )


def keys_sql(rows: Coding, domain: Domain) -> str:
    """Return the words `k0`, `k1`, ... of each row's key, with `amount` and `unit` where there are.

    Where values are `unlisted`, each attribute has a word of its own: a code, or the text itself.
    `broken` is 1 + the place in `broken_rules` of a rule that stops the count, or 0.
    """
    codes = [code_sql(a, i, rows.places[i]) for i, a in enumerate(domain.attributes)]
    coded = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(codes))
    sql = f"SELECT *, {coded} FROM ({rows.sql}) AS rows"
    names = [f"c{number}" for number in range(len(codes))]
    if domain.unlisted:
        words = [f"{name} AS k{word}" for word, name in enumerate(names)]
    else:
        words = words_sql(names, domain.space)
    broken = " ".join(
        f"WHEN {condition} THEN {rule}" for rule, (_, _, condition) in enumerate(_breaking(domain), start=1)
    )
    further = [f"CAST(CASE {broken} ELSE 0 END AS BIGINT) AS broken"] if broken else []
    return f"SELECT *, {', '.join(words + further)} FROM ({sql}) AS coded"


def words_sql(codes: Sequence[str], space: KeySpace) -> list[str]:
    """Return the words `k0`, `k1`, ... of keys with these codes."""
    words, number = [], 0
    for word, group in enumerate(space.groups):
        key = ""
        for size in group:
            key = f"(({key}) * {size} + {codes[number]})" if key else codes[number]
            number += 1
        words.append(f"CAST({key} AS UBIGINT) AS k{word}")
    return words


def word_columns(domain: Domain) -> list[str]:
    """Return the columns of `keys_sql` that say which cell a row is in."""
    return [f"k{word}" for word in range(len(domain.shape if domain.unlisted else domain.space.bounds))]


def broken_rules(domain: Domain) -> list[BadRows]:
    """Return the errors of the rules that stop a count."""
    return [BadRows(attribute.name, rule) for attribute, rule, _ in _breaking(domain)]


def _breaking(domain: Domain) -> list[tuple[Attribute, str, str]]:
    """Return each attribute's rules that stop a count, with the condition that breaks them."""
    rules = []
    for place, attribute in enumerate(domain.attributes):
        if attribute.missing == "error":
            rules.append((attribute, "missing", f"r{place} IS NULL"))
        if attribute.outside == "error":
            rules.append((attribute, "outside", f"r{place} IS NOT NULL AND c{place} IS NULL"))
    return rules


def _place(attribute: Attribute, number: int) -> CodePlace:
    """Return where the value that was read for an attribute lies."""
    values, read = attribute.values, f"r{number}"
    if isinstance(values, Integers):
        return CodePlace(f"{read} < {values.low}", f"{read} > {values.high}", f"{read} - ({values.low})")
    if isinstance(values, AnyText):
        return CodePlace(f"length({read}) > {values.longest}", "FALSE", read)
    if isinstance(values, Categories):
        return CodePlace(f"code{number} IS NULL", "FALSE", f"code{number}")
    if isinstance(values, Edges):
        return CodePlace(f"code{number} < 0", f"code{number} >= {values.size}", f"code{number}")
    if isinstance(values, Times):
        return _time_place(values, read)
    first, width, shared = values.grid
    last = first + values.size * width
    if shared == 1:
        # Whole edges: floor of the value finds the bin, exactly, be it whole or a float.
        code = f"(CAST(floor({read}) AS BIGINT) - ({first})) // {width}"
        return CodePlace(f"{read} < {first}", f"{read} >= {last}", code)
    # A guess in floats, then a step down or up by comparing with the nearest float of the edges beside it.
    guess = f"CAST(floor(({read} * {shared} - ({first})) / {width}) AS BIGINT)"

    def edge(code: str) -> str:
        whole = f"CAST({first} AS BIGINT) + ({code}) * CAST({width} AS BIGINT)"
        return f"(CAST({whole} AS DOUBLE) / CAST({shared} AS DOUBLE))"

    code = (
        f"{guess} - CAST({read} < {edge(guess)} AS BIGINT) + CAST({read} >= {edge(f'{guess} + 1')} AS BIGINT)"
    )
    return CodePlace(f"{read} < {edge('0')}", f"{read} >= {edge(str(values.size))}", code)


def _time_place(values: Times, read: str) -> CodePlace:
    """Return where a wall-clock time lies."""
    below = f"{read} < TIMESTAMP '{values.start.isoformat(sep=' ')}'"
    above = f"{read} >= TIMESTAMP '{values.stop.isoformat(sep=' ')}'"
    if values.unit == "month":
        first = values.start.year * 12 + values.start.month
        return CodePlace(below, above, f"(year({read}) * 12 + month({read}) - {first}) // {values.every}")
    start = f"epoch_us(TIMESTAMP '{values.start.isoformat(sep=' ')}')"
    return CodePlace(below, above, f"(epoch_us({read}) - {start}) // {values.every * 1_000_000}")


def _search_sql(sql: str, place: int, edges: int) -> str:
    """Return `sql` with `code<place>`, the last edge not above `r<place>` (-1: none), found by halving."""
    code = f"code{place}"
    edges_sql = f"({sql}) AS rows, {name_sql(_lookup(place))} AS lookup"
    sql = f"SELECT rows.*, lookup.edges AS edges{place}, -1 AS {code} FROM {edges_sql}"
    step = 1 << (edges.bit_length() - 1)
    while step:
        # Lists count from 1; past the end is NULL, which is not above.
        probe = f"CASE WHEN r{place} >= edges{place}[{code} + {step} + 1] THEN {step} ELSE 0 END"
        sql = f"SELECT * REPLACE ({code} + {probe} AS {code}) FROM ({sql}) AS halved"
        step //= 2
    return sql


def _lookup(place: int) -> str:
    """Return the name of an attribute's lookup table, which no table of the owner's is likely to bear."""
    return f"hushtable lookup {place}"


def _lookup_table(attribute: Attribute, sql_type: str) -> pa.Table:
    """Return the small table that a column is looked up in."""
    import pyarrow as pa

    values, finer = attribute.values, attribute.reads
    if finer is not None:
        return pa.table({"value": as_text_column(finer.values.values), "code": as_column(finer.codes)})
    if isinstance(values, Categories):
        codes = as_column(np.arange(values.size, dtype=np.uint32))
        return pa.table({"value": as_text_column(values.values), "code": codes})
    assert isinstance(values, Edges)
    exact = whole_edges(values) and form_of(sql_type) in ("whole", "large")
    edges = [int(edge) if exact else float(edge) for edge in values.edges]
    return pa.table({"edges": pa.array([edges], type=pa.list_(pa.int64() if exact else pa.float64()))})


def amount_problem(measure: Measure, column: str, sql_type: str) -> tuple[str, str] | None:
    """Return the fact and the hint of a column that cannot be added up as what is counted, by its type.

    Floats are counts where they are whole. A sum of them would leave out every row that is not, so it is
    refused, though no row may be.
    """
    form = form_of(sql_type)
    fractional = form == "float" or (form == "decimal" and not sql_type.endswith(",0)"))
    if whole_number_sql(column, form) is not None and not (fractional and measure.sum_column is not None):
        return None
    fact = f"column {shown(column)} holds {type_text(sql_type)}, not whole numbers"
    if not fractional:
        return fact, "Amounts are whole numbers: name another column, or make one of them at its source."
    cents = f"CAST(round({name_sql(column)} * 100) AS BIGINT) AS cents"
    return fact, (
        "Sums are of whole numbers. Add it up in small steps, such as cents: make a column of them at its "
        f"source, or select {cents} in a query with --rows-are-units (rows_are_units=True)."
    )


def _amount_sql(measure: Measure, column: str, sql_type: str) -> str:
    """Return what a row adds, NULL where it is dropped."""
    assert measure.amount_column is not None
    problem = amount_problem(measure, measure.amount_column, sql_type)
    if problem is not None:
        raise BadData(*problem)
    amount = whole_number_sql(column, form_of(sql_type))
    if measure.clamp is not None:
        low, high = measure.clamp
        clamped = (
            f"CASE WHEN {amount} < {low} THEN {low} WHEN {amount} > {high} THEN {high} ELSE {amount} END"
        )
        return f"CAST({clamped} AS BIGINT)"
    # Nobody is counted below 0, and beyond the largest count one more person changes nothing.
    held = f"CASE WHEN {amount} > {LARGEST_COUNT} THEN {LARGEST_COUNT} WHEN {amount} >= 0 THEN {amount} END"
    return f"CAST({held} AS BIGINT)"


def _no_column(
    wanted: str, columns: Mapping[str, str], *, known: bool, amount_or_unit: bool
) -> tuple[str, str]:
    """Return the fact and the hint of a column that is not there; `known`: whether the others are names."""
    fact = f"the data have no column {shown(wanted)}"
    if not known:
        # The first line of a file without a header is a row.
        return fact, (
            "Does the first line of the data name the columns, with commas between (.csv) or tabs (.tsv)? "
            "Their names are not shown, in case it is a row; `hushtable check` shows them."
        )
    near = get_close_matches(wanted, columns, n=1)
    guess = f"Did you mean {shown(near[0])}? " if near else ""
    there = ", ".join(shown(name) for name in list(columns)[:20]) + (", ..." if len(columns) > 20 else "")
    hint = "Write the data's name as `column` of the attribute, or rename it in a query."
    if amount_or_unit:
        hint = "Name another column, or rename it in a query."
    return f"{fact}; they have {there}", f"{guess}{hint}"


def _text_of(rule: Rule) -> str:
    """Return the text that a rule puts in place of others, or NULL."""
    return letters_sql(rule.value) if isinstance(rule, Other) else "NULL"


def _or_null(code: int | None) -> str:
    return "NULL" if code is None else str(code)
