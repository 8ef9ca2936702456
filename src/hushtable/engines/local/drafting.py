"""A first domain file, drawn from the data, for a person to replace by public facts.

Promise: the file loads, the rows that were looked at lie inside the attributes it declares, and it says
`reviewed = false`, with which nothing is published. What was drawn from the data is marked. The text is
private until it is reviewed.
Cost: two passes over the data; rows that can be read only once, and the first `rows`, are kept in a table.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, time, timedelta
from fractions import Fraction
from math import floor, log10
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from hushtable.domain.attributes import Attribute, Bins, Categories, Integers, Kind, Times
from hushtable.domain.kinds import plain
from hushtable.engines.local.addresses import located
from hushtable.engines.local.checking import names_in, other_mark
from hushtable.engines.local.databases import SQLiteFile, only_table
from hushtable.engines.local.engine import LOCAL
from hushtable.engines.local.files import is_sqlite
from hushtable.engines.local.reporting import IDENTIFIER
from hushtable.engines.local.rows import kept_rows, opened_rows
from hushtable.engines.sliced.engine import as_bytes, default_memory, fetched
from hushtable.engines.sliced.naming import found
from hushtable.engines.sliced.quoting import name_sql, text_sql
from hushtable.engines.sliced.reading import Form, form_of, missing_sql, read_sql
from hushtable.engines.sliced.rows import OpenedRows
from hushtable.errors import BadData, BadDomain, InternalError, shown, within_memory
from hushtable.files.placing import check_output, new_file, only

MOST_CATEGORIES = 1_000
_MOST_INTEGERS = 10**6
_FEW_CATEGORIES = 20  # above which numbers with a few words among them are numbers
_LONGEST_CATEGORY = 100  # characters; longer ones are prose
_FEWEST_ROWS = 100  # from which on it says something that all values differ
_SHORTEST_CODE = 5  # digits, from which on digits of one length are a code
_WIDTH = 100

_HEAD = """\
# PRIVATE until reviewed: a draft by `hushtable domain draft`, not to be published as it is.
# What was drawn from the data is marked. Replace each such value by a public fact (a code list, a legal
# range): a value that one person alone has would tell that this person is in the data. Then delete the
# line `reviewed = false`. Publishing refuses this file until then.
reviewed = false
title = "Untitled"  # what the rows are about, in public words
"""
_MARK = "# drawn from the data: replace by a public"

# One attribute of each kind: to read a column as that kind. A step of a half makes numbers floats.
_PROBES: dict[str, Kind] = {
    "whole": Integers(low=0, high=0),
    "number": Bins(start=Fraction(0), stop=Fraction(1), step=Fraction(1, 2)),
    "time": Times(start=datetime(2000, 1, 1), stop=datetime(2000, 1, 2), every=86_400, unit="second"),
    "text": Categories(values=("",)),
}


class _Column(NamedTuple):
    """What was found in a column; `facts` has a number or an extreme value for each thing asked."""

    name: str
    sql_type: str
    facts: Mapping[str, Any]

    @property
    def form(self) -> Form:
        """What its type holds."""
        return form_of(self.sql_type)

    @property
    def values(self) -> int:
        """The rows that have a value."""
        return int(self.facts["values"])

    def reads_as(self, kind: str, *, mostly: bool = False) -> bool:
        """Whether all values, or all but a few, can be read as this kind."""
        readable = self.facts.get(kind, 0)
        return bool(readable >= (0.9 * self.values if mostly else self.values))

    @property
    def differs(self) -> bool:
        """Whether nearly every row has a value of its own. The number of distinct values is an estimate."""
        return self.values >= _FEWEST_ROWS and self.facts["distinct"] >= 0.9 * self.values


class _Draft(NamedTuple):
    """An entry of the file: the declared values or, where a person must choose, a line in their place."""

    values: Kind | None = None
    line: str = ""
    comment: str = ""
    commented: bool = False


def is_draft(path: Path) -> bool:
    """Return whether a file is a draft that nobody has reviewed: its words are there, and the line too."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(len(_HEAD)).startswith(_HEAD[: _HEAD.index("title")])
    except (OSError, UnicodeDecodeError):
        return False


@within_memory
def draft(
    data: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    query: str | None = None,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    rows: int | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
) -> str:
    """Return the text of a first domain file for `data`, and write it to `output`. Private until reviewed.

    The draft says `reviewed = false`, and publishing refuses it. Replace what was drawn from the data with
    public facts, then delete that line. `columns` names the columns to look at, and `rows` how many of the
    first rows. Only the file's owner can read the draft, and `overwrite` replaces nothing but such a draft.

    =========================================  ====================================================
    column                                     entry
    =========================================  ====================================================
    whole numbers                              integers from a round low to a round high; bins where
                                               these are more than 10^6
    other numbers                              10 to 50 bins with a round step
    dates and times                            times by hour, day, month or year, as the span suggests
    text, at most 1000 values                  categories, in order
    text that reads as numbers or times        as those, unless a number starts with 0; also where a few of
                                               more than 20 values do not
    more text, identifiers, lists, booleans    commented out, with what to do
    =========================================  ====================================================

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> print(ht.draft(pa.table({"age": [18, 34, 61]})))
    # PRIVATE until reviewed: ...
    reviewed = false
    ...
    [[attribute]]
    name = "age"
    integers = { low = 18, high = 61 }  # drawn from the data: replace by a public range
    <BLANKLINE>
    """
    check = only(is_draft, "a draft that nobody has reviewed")
    data = located(data, table)
    kept = LOCAL.inputs(data)
    if output is not None:
        check_output(Path(output), overwrite=overwrite, check=check, kept=kept)
    text = _drafted(data, query=query, wanted=columns, rows=rows, memory=memory)
    if output is not None:
        # Only its owner can read it.
        with new_file(Path(output), overwrite=overwrite, check=check, kept=kept, mode=0o600) as file:
            file.write(text.encode())
    return text


def _drafted(
    data: Any,
    *,
    query: str | None,
    wanted: Sequence[str] | None,
    rows: int | None,
    memory: int | str | None,
) -> str:
    """Return the text of a draft."""
    names = None if is_sqlite(data) else names_in(data, rows=rows)
    if names == []:
        raise BadData("no line holds a JSON object with names", "Give data that have columns.")
    if is_sqlite(data) and query is None:
        with closing(SQLiteFile(data)) as file:
            query = f"SELECT * FROM {name_sql(only_table(file.tables, data))}"
    with opened_rows(
        data,
        names=names or [],
        query=query,
        where=None,
        rows_are_units=True,  # nobody is counted yet
        memory=(default_memory() if memory is None else as_bytes(memory)) // 2,
        threads=os.cpu_count() or 1,
    ) as opened:
        opened = _chosen(opened, wanted)
        opened = kept_rows(opened, first=rows)
        columns = _looked_at(opened)
        if names is not None:
            # Of JSON lines, each word of the query was read as a column too.
            columns = [column for column in columns if column.values or column.name in names]
        categories = _categories(opened, [column for column in columns if _may_be_categories(column)])
    taken: list[str] = []
    alone = len(columns) == 1
    entries = [
        _entry(column, _draft(column, categories.get(column.name), alone=alone), taken) for column in columns
    ]
    return "\n".join([_HEAD, *entries])


def _chosen(rows: OpenedRows, wanted: Sequence[str] | None) -> OpenedRows:
    """Return rows with the wanted columns alone, in that order."""
    if wanted is None:
        return rows
    columns: dict[str, str] = {}
    for each in [wanted] if isinstance(wanted, str) else wanted:
        name = found(each, rows.columns)
        if name is None:
            raise BadData(f"the data have no column {shown(each)}", "Name columns of the data.")
        columns[name] = rows.columns[name]
    sql = f"SELECT {', '.join(map(name_sql, columns))} FROM (\n{rows.sql}\n) AS rows"
    return rows._replace(sql=sql, columns=columns)


def _looked_at(rows: OpenedRows) -> list[_Column]:
    """Return what one pass over the rows tells of each column."""
    asked: list[tuple[str, str, str]] = []
    for name, sql_type in rows.columns.items():
        asked += [(name, fact, sql) for fact, sql in _questions(name_sql(name), sql_type).items()]
    sums = ", ".join(sql for _, _, sql in asked)
    answers = fetched(f"SELECT {sums} FROM (\n{rows.sql}\n) AS rows", rows.connection)[0]
    facts: dict[str, dict[str, Any]] = {name: {} for name in rows.columns}
    for (name, fact, _), answer in zip(asked, answers, strict=True):
        facts[name][fact] = answer
    return [_Column(name, sql_type, facts[name]) for name, sql_type in rows.columns.items()]


def _questions(column: str, sql_type: str) -> dict[str, str]:
    """Return what is asked of a column, as aggregates."""
    form = form_of(sql_type)
    asked = {
        "values": f"count(*) FILTER (WHERE NOT {missing_sql(column, form)})",
        "distinct": f"approx_count_distinct(CAST({column} AS VARCHAR))",
    }
    reads = {}
    for kind, values in _PROBES.items():
        with suppress(BadData):
            reads[kind] = read_sql(Attribute(name="x", values=values), column, sql_type)
    for kind, read in reads.items():
        asked[kind] = f"count({read})"
        among = {
            "number": f" FILTER (WHERE isfinite({read}))",
            "time": f" FILTER (WHERE year({read}) BETWEEN 1 AND 9998)",
        }
        if kind != "text":
            asked[f"{kind} low"] = f"min({read}){among.get(kind, '')}"
            asked[f"{kind} high"] = f"max({read}){among.get(kind, '')}"
    if "time" in reads:
        read = reads["time"]
        asked["midnights"] = f"count(*) FILTER (WHERE {read} = date_trunc('day', {read}))"
        offset = text_sql(':.*(Z|[+-][0-9:]+)"?$')
        asked["offsets"] = f"count(*) FILTER (WHERE regexp_matches(CAST({column} AS VARCHAR), {offset}))"
    if "text" in reads:
        read = reads["text"]
        asked["longest"] = f"max(length({read}))"
        if "whole" in reads:
            whole = f" FILTER (WHERE {reads['whole']} IS NOT NULL)"
            asked["digits least"], asked["digits most"] = (
                f"{of}(length({read})){whole}" for of in ("min", "max")
            )
        asked["zeros"] = f"count(*) FILTER (WHERE regexp_matches({read}, {text_sql('^ *[+-]?0[0-9]')}))"
    if form == "json":
        asked["booleans"] = f"count(*) FILTER (WHERE json_type({column}) = 'BOOLEAN')"
    return asked


def _may_be_categories(column: _Column) -> bool:
    """Return whether it is worth listing a column's values: they are text, short and not too many."""
    return (
        column.values > 0
        and column.reads_as("text")
        and column.facts["longest"] <= _LONGEST_CATEGORY
        and column.facts["distinct"] <= 1.5 * MOST_CATEGORIES
    )


def _categories(rows: OpenedRows, columns: Sequence[_Column]) -> dict[str, list[str]]:
    """Return the sorted values of some columns, from one more pass, without those that have too many."""
    if not columns:
        return {}
    text = Attribute(name="x", values=_PROBES["text"])
    reads = [read_sql(text, name_sql(column.name), column.sql_type) for column in columns]
    lists = ", ".join(f"list(DISTINCT {read}) FILTER (WHERE {read} IS NOT NULL)" for read in reads)
    sql = f"SELECT {lists} FROM (\n{rows.sql}\n) AS rows"
    lists_found = fetched(sql, rows.connection)[0]
    return {
        column.name: sorted(values)
        for column, values in zip(columns, lists_found, strict=True)
        if len(values) <= MOST_CATEGORIES
    }


def _draft(column: _Column, categories: list[str] | None, *, alone: bool) -> _Draft:
    """Return the entry of one column."""
    if (instead := other_mark([column.name] if alone else [])) is not None:
        comment = f"holds several. {instead}"
        return _Draft(line="categories = []", comment=comment, commented=True)
    if not column.values:
        comment = "has no value in any row. Declare what it may hold, or leave it out."
        return _Draft(line="categories = []", comment=comment, commented=True)
    if not column.facts.keys() & _PROBES.keys() or column.facts.get("booleans") == column.values:
        return _to_be_converted(column)
    draft = _numbers_or_times(column)
    if draft is None and (categories is None or len(categories) > _FEW_CATEGORIES):
        draft = _numbers_or_times(column, mostly=True)
    draft = draft or _text(column, categories)
    named = IDENTIFIER.search(column.name) is not None
    of_its_own = column.reads_as("whole") or not isinstance(draft.values, Bins | Times)
    if named or (column.differs and of_its_own):
        why = "its name says so" if named else "nearly every row has a value of its own"
        comment = (
            f"looks like an identifier: {why}. If it tells whose row it is, leave it out here, and publish "
            f"with --unit {shlex.quote(column.name)} --max-rows K, to count up to K rows of each."
        )
        if isinstance(draft.values, Categories):
            draft = _text(column, None)
        draft = draft._replace(comment=comment, commented=True)
    return draft


def _numbers_or_times(column: _Column, *, mostly: bool = False) -> _Draft | None:
    """Return the entry of a column if its values, or `mostly` all but a few, are numbers or times."""
    facts = column.facts
    zeros = bool(facts.get("zeros"))
    digits = facts.get("digits least") or 0
    code = zeros or (digits == facts.get("digits most") and digits >= _SHORTEST_CODE)  # 06001: not a number
    comment = "holds a few values that cannot be read so; they count as missing. " if mostly else ""
    values: Kind | None
    if column.reads_as("time", mostly=mostly):
        values = _times(facts["time low"], facts["time high"], midnights=facts["midnights"] == facts["time"])
        if column.form != "clock" and facts["offsets"]:
            comment += 'tells offsets from UTC: name the zone whose clock is meant, such as "Europe/Berlin".'
    elif column.reads_as("whole", mostly=mostly):
        if code:
            return None
        values = _integers(facts["whole low"], facts["whole high"])
        if values is not None and values.size > _MOST_INTEGERS:
            values = None
            comment += (
                f"would be more than {_MOST_INTEGERS:,} integers, most of them without a row: bins are "
                "proposed instead. A code of many digits is best declared as categories, from a public list. "
            )
        values = values or _bins(facts["number low"], facts["number high"])
    elif column.reads_as("number", mostly=mostly) and not zeros:
        values = _bins(facts["number low"], facts["number high"])
    else:
        return None
    if values is None:
        comment = "holds values too large or too far apart for a draft. Declare the ones that matter."
        return _Draft(line="bins = { edges = [] }", comment=comment, commented=True)
    return _Draft(values=values, comment=comment.strip())


def _integers(low: int, high: int) -> Integers | None:
    """Return round bounds around whole numbers, or None where they do not fit."""
    unit = 1
    while 50 * unit <= high - low:
        unit *= 10
    with suppress(BadDomain):
        return Integers(
            low=max(low // unit * unit, min(low, -(1 << 63))),
            high=min(-(-high // unit) * unit, max(high, (1 << 63) - 1)),
        )
    return None


def _bins(low: float | None, high: float | None) -> Bins | None:
    """Return 10 to 50 bins with a round step around numbers, or None where they do not fit."""
    if low is None or high is None:  # all are infinite
        return None
    # The shortest text of a float is what edges are compared with.
    first, last = Fraction(repr(low)), Fraction(repr(high))
    step = Fraction(1)
    if last > first:
        power = floor(log10((last - first).numerator) - log10((last - first).denominator))
        steps = (
            Fraction(digit) * Fraction(10) ** (power - less) for less in (0, 1, 2) for digit in (5, 2, 1)
        )
        step = next(step for step in steps if last - first >= 10 * step)
    start, stop = first // step * step, (last // step + 1) * step
    with suppress(BadDomain):
        return Bins(start=start, stop=max(stop, start + 10 * step), step=step)
    return None


def _times(low: datetime | None, high: datetime | None, *, midnights: bool) -> Times | None:
    """Return round bounds around times, with a step that suits the span, or None where they do not fit."""
    if low is None or high is None:
        return None
    month = datetime(low.year, low.month, 1)
    year = datetime(low.year, 1, 1)
    with suppress(BadDomain, ValueError, OverflowError):
        if not midnights and high - low <= timedelta(days=14):
            start, last = (datetime(day.year, day.month, day.day) for day in (low, high))
            return Times(start=start, stop=last + timedelta(days=1), every=3_600, unit="second")
        if high - low <= timedelta(days=3 * 366):
            after = datetime(high.year + high.month // 12, high.month % 12 + 1, 1)
            return Times(start=month, stop=after, every=86_400, unit="second")
        every = 1 if high - low <= timedelta(days=60 * 366) else 12
        return Times(start=year, stop=datetime(high.year + 1, 1, 1), every=every, unit="month")
    return None


def _text(column: _Column, categories: list[str] | None) -> _Draft:
    """Return the entry of a column of text, or of values of several types."""
    if categories:
        return _Draft(values=Categories(values=tuple(categories)))
    if column.reads_as("text"):
        comment = (
            f"has more than {MOST_CATEGORIES:,} values, or long ones. Put a public list of them in a file "
            "with one column, or leave it out. If nobody can list them, any_text = { longest = 40 } shows "
            "what many share, for an epsilon and a delta."
        )
        return _Draft(
            line=f"categories = {{ file = {_toml(column.name + '.csv')} }}", comment=comment, commented=True
        )
    comment = (
        f"has values of several types. Make it text in a query: SELECT * REPLACE "
        f"({name_sql(column.name)} ->> '$' AS {name_sql(column.name)}) FROM data."
    )
    return _Draft(line="categories = []", comment=comment, commented=True)


def _to_be_converted(column: _Column) -> _Draft:
    """Return the entry of a column whose type no attribute can be read from."""
    name = name_sql(column.name)
    kind = column.sql_type.partition("(")[0]
    line = "categories = []"
    if kind in ("BOOLEAN", "JSON"):
        converted, line = f"CAST({name} AS VARCHAR)", 'categories = ["false", "true"]'
    elif kind.startswith("TIME"):
        converted, line = f"hour({name})", "integers = { low = 0, high = 23 }"
    elif kind in ("STRUCT", "MAP", "UNION") or "[" in column.sql_type:
        converted = f"{name}[1]" if kind not in ("STRUCT", "UNION") else f"{name}.field"
    else:
        converted = f"CAST({name} AS VARCHAR)"
    comment = (
        f"holds {_cut(column.sql_type)}, which must be converted in a query, such as "
        f"SELECT * REPLACE ({converted} AS {name}) FROM data."
    )
    return _Draft(line=line, comment=comment, commented=True)


def _entry(column: _Column, draft: _Draft, taken: list[str]) -> str:
    """Return the text of an entry; the names in `taken` are those of entries before."""
    name = _free_name(column.name, taken)
    taken.append(name)
    lines = ["[[attribute]]", f"name = {_toml(name)}"]
    if column.name != name:
        lines.append(f"column = {_toml(column.name)}")
    lines += [draft.line] if draft.values is None else _values_lines(draft.values)
    if draft.commented:
        lines = [f"# {line}" for line in lines]
    if draft.comment:
        said = f"Column {_toml(column.name)} {draft.comment}"
        printable = "".join(character if character.isprintable() else "?" for character in said)
        lines = [*wrap(printable, _WIDTH, initial_indent="# ", subsequent_indent="# "), *lines]
    return "\n".join(lines) + "\n"


def _free_name(column: str, taken: Sequence[str]) -> str:
    """Return a name that an attribute may have and no other has."""
    name = "".join(character if character.isprintable() else "_" for character in column) or "_"
    while True:
        with suppress(BadDomain):
            if Attribute(name=name, values=_PROBES["whole"]).name not in taken:
                return name
        name += "_"


def _values_lines(values: Kind) -> list[str]:
    """Return the lines that declare values, marked as drawn from the data."""
    match values:
        case Integers(low=low, high=high):
            return [f"integers = {{ low = {low}, high = {high} }}  {_MARK} range"]
        case Bins(start=start, stop=stop, step=step):
            edges = f"start = {plain(start)}, stop = {plain(stop)}, step = {plain(step)}"
            return [f"bins = {{ {edges} }}  {_MARK} range"]
        case Times(start=first, stop=end):
            midnights = first.time() == end.time() == time()
            clock = [_toml(str(edge.date() if midnights else edge)) for edge in (first, end)]
            every = f'every = "{values.step_text}", timezone = "{values.timezone}"'
            return [f"{_MARK} period", f"times = {{ start = {clock[0]}, stop = {clock[1]}, {every} }}"]
        case Categories():
            return _list_lines([_toml(value) for value in values.values])
        case _:
            raise InternalError(f"a draft has values of kind {type(values).__name__}")


def _list_lines(values: Sequence[str]) -> list[str]:
    """Return the lines of a list of categories."""
    line = f"categories = [{', '.join(values)}]"
    if len(line) <= _WIDTH - len(_MARK):
        return [f"{line}  {_MARK} list"]
    lines = [f"categories = [  {_MARK} list"]
    line = "   "
    for value in values:
        if len(line) + len(value) + 2 > _WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += f" {value},"
    return [*lines, line, "]"]


def _toml(text: str) -> str:
    """Return a text as TOML writes it: as JSON does, which leaves one character bare that TOML does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
