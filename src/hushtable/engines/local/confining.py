"""A column of counts or sums is private, and is read for its amounts only.

Promise: of two tables that differ by one counted person, one amount differs by 1 and nothing else does. That
holds only if nothing else reads the column: a filter such as `people >= 1000` would drop or keep a thousand
people at once, and so would a cell or a unit computed from it. So neither filter nor query nor attribute nor
unit may read it; a query may pass it on unchanged, under any name.
"""

from __future__ import annotations

from collections.abc import Iterable

from hushtable.engines.local.statements import LocalQuery, Names
from hushtable.engines.sliced.naming import folded
from hushtable.errors import BadData, BadQuery, shown

_ALONE = "It is private and only added up: no filter, query, attribute or unit may read it."
_PASS_ON = (
    f"{_ALONE} A query may pass it on unchanged. To compute amounts, prepare the table by a query and state "
    "it: with `--rows-are-units` (`rows_are_units=True`) a row of the prepared table is protected."
)


def check_confined(
    amount: str,
    *,
    readers: Iterable[str],
    query: LocalQuery | None,
    filtered: Names | None,
    table: str,
) -> None:
    """Raise unless nothing but the sum reads the column `amount` of what the query yields.

    `readers` are the columns of attributes and of the unit, `filtered` what the filter reads, `table` the
    word that stands for the whole row there.
    """
    private = {folded(amount)}
    if query is not None:
        private.add(_passed_on(amount, query))
    for name in readers:
        if folded(name) in private:
            fact = f"column {shown(name)} holds the amounts that are added up, and is read for something else"
            raise BadData(fact, f"{_ALONE} Name another column.")
    if filtered is not None and _reads(filtered, private, {folded(table)}):
        raise BadQuery(f"the row filter reads {shown(amount)}, the column of amounts", _ALONE)


def _passed_on(amount: str, query: LocalQuery) -> str:
    """Return the table's column that a query passes on as `amount`, folded; raise if it does more with it."""
    whole = {folded(word) for word in query.tables}
    own = folded(amount)
    if query.node["from_table"]["column_name_alias"]:
        hint = f"Rename columns in SELECT, as in people AS n.\n{_PASS_ON}"
        raise BadQuery("the query renames columns by their places, and one holds amounts", hint)
    if any(not _name(item) for item, _ in query.items if item["class"] != "STAR"):
        # DuckDB would name it by its expression, which could be the name of the amounts.
        raise BadQuery("the query computes a column without a name", "Name it, as in age // 10 AS decade.")
    named = [item for item, _ in query.items if folded(_name(item)) == own]
    if named:
        path = named[0].get("column_names", ())
        if len(named) > 1 or len(path) != 1:
            raise _computes(amount)
        own = folded(path[0])
    for item, _ in query.items:
        for entry in item.get("rename_list", ()):
            if folded(entry["value"]) == folded(amount):
                own = folded(entry["key"]["column"])
    private = {own, folded(amount)}
    for item, read in query.items:
        changed = {folded(entry["key"]) for entry in item.get("replace_list", ())}
        # Under a second name, it would look like any other column.
        changed |= {
            folded(entry["key"]["column"])
            for entry in item.get("rename_list", ())
            if folded(entry["value"]) != folded(amount)
        }
        if not private.isdisjoint(changed) or (item not in named and _reads(read, private, whole)):
            raise _computes(amount)
    if _reads(query.filtered, private, whole):
        raise _computes(amount)
    return own


def _reads(names: Names, private: set[str], whole: set[str]) -> bool:
    """Return whether names touch a private column, or the whole row by the name of its table."""
    paths = [tuple(map(folded, path)) for path in names]
    return any(not private.isdisjoint(path) or path[-1] in whole for path in paths)


def _name(item: dict[str, object]) -> str:
    """Return the name that an item of SELECT gives to a column, or nothing."""
    path = item.get("column_names")
    return str(item["alias"] or (path[-1] if isinstance(path, list) and path else ""))


def _computes(amount: str) -> BadQuery:
    """Return the error of a query that does more with amounts than pass them on."""
    return BadQuery(
        f"the query reads {shown(amount)}, the column of amounts, for more than passing it on", _PASS_ON
    )
