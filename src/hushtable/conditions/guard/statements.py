"""Tell whether a text is one expression, one row-local SELECT or any one SELECT, or why it is refused.

Promise: what `read_condition` and `read_query` let pass computes each output row from one input row of one
table alone, by a fixed rule, and makes at most one output row of it; so who is protected stays who is in the
table. It holds for DuckDB on the connection asked; SQLite reads `a IN trips` as a subquery, DuckDB as a list.
Cost: two parses, one look at DuckDB's list of functions and, for rows of owners, one bind for each column.
Source: DESIGN.md, section 7, traps 5, 7 and 10.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hushtable.conditions.guard import functions
from hushtable.conditions.guard.expressions import (
    WORDS,
    Expression,
    Names,
    ParseTree,
    blank,
    check_fields,
    read_expression,
    refuse,
)
from hushtable.conditions.guard.functions import SQL_IN_TEXT, Listed
from hushtable.conditions.guard.growing import check_growth
from hushtable.conditions.guard.locked import awaited
from hushtable.conditions.guard.policies import FILTER, PREPARED, QUERY, Policy
from hushtable.conditions.guard.texts import check_text, in_one_line, quoted, replaced
from hushtable.conditions.naming import in_lower_case
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Columns that tell where a row lies among others, not what is in it.
PLACES = frozenset({"rowid", "filename", "file_index", "file_row_number"})

_QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_SELECT_FIELDS = frozenset({"select_list", "from_table", "where_clause", "aggregate_handling"})
_STAR_FIELDS = frozenset(
    {"relation_name", "exclude_list", "qualified_exclude_list", "rename_list", "replace_list"}
)
_TABLE_FIELDS = frozenset(
    {"table_name", "schema_name", "catalog_name", "qualified_name", "column_name_alias"}
)
_LOCATION = re.compile(r'"query_location(?:_length)?":\d+')  # a quote inside a literal has a backslash


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SelectItem:
    """One item of SELECT: an expression, or a star with those that replace columns."""

    is_star: bool
    expressions: tuple[Expression, ...]
    name: str = ""  # given by AS, or that of a column; an expression may have none
    replaced: tuple[str, ...] = ()  # columns that a star computes anew
    renamed: tuple[tuple[str, str], ...] = ()  # columns that a star calls otherwise: from what, to what
    before: str = ""  # what stands before a star: the table, or a struct whose fields it takes apart

    @property
    def reads(self) -> Names:
        """The names that are read, but for those that a star passes on."""
        return frozenset(path for each in self.expressions for path in each.columns)

    @property
    def path(self) -> tuple[str, ...]:
        """The column that is passed on as it is, or nothing."""
        return () if self.is_star else self.expressions[0].path


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LocalQuery:
    """A row-local query: what it selects and reads, and its parse tree."""

    table: str
    words: frozenset[str]  # that stand for the table, and so for the whole row
    items: tuple[SelectItem, ...]
    where: Expression | None
    renames_by_place: bool  # as in FROM people AS p(a, b)
    source: ParseTree = field(repr=False)

    @property
    def filtered(self) -> Names:
        """The names that WHERE reads."""
        return frozenset() if self.where is None else self.where.columns


def read_condition(
    condition: str,
    connection: DuckDBPyConnection,
    policy: Policy = FILTER,
    *,
    listed: Listed | None = None,
) -> Expression:
    """Return what would stand after WHERE as one row-local expression, or raise `BadQuery`.

    Guarantee: `SELECT ... FROM data WHERE (condition)` keeps or drops each row by that row's own columns.
    A pending result of `connection` is given up. `listed` are its functions, where they are known.

    ================================================  =========================================
    condition                                         result
    ================================================  =========================================
    comparisons, CASE, casts, functions of one row    passes
    aggregate, window, subquery, macro, clock, rowid  `BadQuery`
    `user`, `current_date`: SQL gives them a value    `BadQuery`; `data.user` is the column
    a bracket, `;` or clause that leaves the WHERE    `BadQuery`
    ================================================  =========================================

    >>> import duckdb
    >>> sorted(read_condition("age >= 18 AND lower(state) IN ('ri', 'ma')", duckdb.connect()).columns)
    [('age',), ('state',)]
    >>> read_condition("age > avg(age)", duckdb.connect())
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the row filter uses `avg`, an aggregate: it reads more than one row.
    ...
    """
    check_text(condition, policy)
    start = "SELECT * FROM data WHERE"
    statements = [f"{start}\n{condition}\n", f"{start} (\n{condition}\n)"]
    (alone, answer), (wrapped, _) = _parsed(statements, connection, policy)
    # `a) OR (b` and the like read well in brackets, and otherwise than alone; clauses read well alone.
    if answer.get("error") is False and _LOCATION.sub("", alone) != _LOCATION.sub("", wrapped):
        raise _not_one(statements[0], connection, policy)
    node = _one_select(answer, statements[0], connection, policy)
    local = _local(node, ("data",), connection, policy, listed)
    if local.where is None:
        raise _not_one(statements[0], connection, policy)
    return local.where


def read_query(query: str, connection: DuckDBPyConnection, *, tables: Collection[str]) -> LocalQuery:
    """Return a query that selects, renames, computes row by row and filters one of `tables`, or raise.

    Guarantee: each row of the result comes from one row of that table, and no two from the same.
    `tables` are the names of base tables (a view may hide anything); upper and lower case are the same.
    A pending result of `connection` is given up.

    =====================================================  ==========
    query                                                  result
    =====================================================  ==========
    SELECT columns and expressions FROM table WHERE        passes
    `* EXCLUDE`, `* REPLACE`, `* RENAME`, `FROM table`     passes
    table in quotes, with an alias, or as main.table       passes
    another table, schema, file or table function          `BadQuery`
    WITH, UNION, DISTINCT, GROUP BY, HAVING, QUALIFY,
    ORDER BY, LIMIT, a sample, a join, a subquery          `BadQuery`
    =====================================================  ==========

    >>> import duckdb
    >>> query = "SELECT home, age // 10 AS decade FROM people"
    >>> [sorted(item.reads) for item in read_query(query, duckdb.connect(), tables=["people"]).items]
    [[('home',)], [('age',)]]
    >>> read_query("SELECT DISTINCT home FROM people", duckdb.connect(), tables=["people"])
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the query uses DISTINCT, which is not row-local.
    ...
    """
    return _local(parsed_select(query, connection, QUERY), tables, connection, QUERY)


def check_select(query: str, connection: DuckDBPyConnection, policy: Policy = PREPARED) -> None:
    """Raise `BadQuery` unless `query` is one SELECT statement, of any kind.

    Guarantee: it is one statement that reads; none of its parts inserts, updates or deletes, or is text that
    would be parsed in turn. It says nothing about who is protected: that is a row of the result
    (`rows_are_units=True`).

    >>> import duckdb
    >>> check_select("SELECT home, count(*) AS people FROM people GROUP BY home", duckdb.connect())
    >>> check_select("DROP TABLE people", duckdb.connect())
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the query is not one SELECT statement: DuckDB reads it as DROP.
    ...
    """
    pending: list[object] = [parsed_select(query, connection, policy)]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            name, called = str(part.get("type")), part.get("function_name")
            other = name.endswith("_NODE") and name not in _QUERY_NODES
            if other or (name == "SHOW_REF" and not policy.lists):
                words = WORDS.get(name, name.removesuffix("_QUERY_NODE"))
                raise BadQuery(f"{policy.name} does more than SELECT: {words}", policy.allowed)
            if isinstance(called, str) and in_lower_case(called) in SQL_IN_TEXT:
                fact = f"{policy.name} uses {quoted(in_lower_case(called))}, which reads SQL from text"
                raise BadQuery(fact, policy.allowed)
            pending.extend(part.values())


def parsed_select(text: str, connection: DuckDBPyConnection, policy: Policy) -> ParseTree:
    """Return the parse tree of a text that is one SELECT statement; what it holds is not checked."""
    check_text(text, policy)
    ((_, answer),) = _parsed([text], connection, policy)
    return _one_select(answer, text, connection, policy)


def sql_of(node: ParseTree, connection: DuckDBPyConnection) -> str:
    """Return the parse tree of a SELECT as text."""
    tree = json.dumps({"error": False, "statements": [{"node": node}]})
    text: str = connection.execute("SELECT system.main.json_deserialize_sql(?)", [tree]).fetchall()[0][0]
    return text


def _parsed(
    statements: Sequence[str], connection: DuckDBPyConnection, policy: Policy
) -> list[tuple[str, ParseTree]]:
    """Return the parse trees of statements, each as text and as what it says."""

    def parse() -> list[tuple[str, ParseTree]]:
        # By its full name, which no macro of the owner can hide.
        call = "SELECT system.main.json_serialize_sql(?)"
        texts = [connection.execute(call, [each]).fetchall()[0][0] for each in statements]
        return [(text, json.loads(text)) for text in texts]

    return awaited(connection, parse, replaced=partial(replaced, policy=policy))


def _one_select(answer: ParseTree, text: str, connection: DuckDBPyConnection, policy: Policy) -> ParseTree:
    """Return the top node of one SELECT statement without parameters."""
    if answer.get("error") is not False and answer.get("error_type") != "not implemented":
        raise replaced(str(answer.get("error_message")), policy)
    statements = answer.get("statements")
    if not isinstance(statements, list) or len(statements) != 1:
        raise _not_one(text, connection, policy)
    for name, value in statements[0].items():
        if name != "node" and not blank(value):
            entries = value if isinstance(value, list) else []
            names = sorted(f"${each['key']}" for each in entries if isinstance(each, dict) and "key" in each)
            words = f"{'parameters' if len(names) > 1 else 'a parameter'}: {in_one_line(', '.join(names))}"
            raise BadQuery(f"{policy.name} has {words}", "Write the values themselves.")
    node: ParseTree = statements[0]["node"]
    return node


def _not_one(text: str, connection: DuckDBPyConnection, policy: Policy) -> BadQuery:
    """Return the error of a text that is something else than one expression or one SELECT."""
    import duckdb

    fact = f"{policy.name} is not {policy.form}"
    if policy.form == FILTER.form:
        hint = f"Write what would stand after WHERE, and no further clause.\n{policy.allowed}"
        return BadQuery(fact, hint)
    found = awaited(
        connection, lambda: connection.extract_statements(text), replaced=partial(replaced, policy=policy)
    )
    if len(found) != 1:
        return BadQuery(
            f"{fact}: it {f'has {len(found)} statements' if found else 'is empty'}", policy.allowed
        )
    if found[0].type == duckdb.StatementType.MULTI:
        hint = "Name them, as in PIVOT release ON sector IN ('farming', 'mining') USING sum(weight)."
        return BadQuery(f"{fact}: PIVOT does not say which values become columns", hint)
    return BadQuery(f"{fact}: DuckDB reads it as {found[0].type.name}", policy.allowed)


def _local(
    node: ParseTree,
    tables: Collection[str],
    connection: DuckDBPyConnection,
    policy: Policy,
    listed: Listed | None = None,
) -> LocalQuery:
    """Raise `BadQuery` unless the node is a row-local SELECT from one of `tables`; return what it reads."""
    if node.get("type") != "SELECT_NODE":
        refuse(policy, str(node.get("type")))
    for modifier in node.get("modifiers", ()):
        if modifier.get("type") == "ORDER_MODIFIER":
            hint = "A table of counts has no order of rows: leave it out."
            raise BadQuery(f"{policy.name} uses ORDER BY", hint)
        refuse(policy, str(modifier.get("type")))
    check_fields(node, _SELECT_FIELDS, policy)
    if node["aggregate_handling"] != "STANDARD_HANDLING":
        refuse(policy, "group_sets")  # GROUP BY ALL leaves no other trace
    table = node["from_table"]
    _check_table(table, tables, policy)
    listed = functions.functions_of(connection, policy) if listed is None else listed
    items = tuple(_item(column, listed, policy) for column in node["select_list"])
    clause = node["where_clause"]
    where = None if clause is None else read_expression(clause, listed, policy)
    if not policy.public:
        read = [item.reads for item in items] + ([] if where is None else [where.columns])
        for path in dict.fromkeys(path for each in read for path in sorted(each)):
            _check_column(path, connection, policy)
        _check_growth(items, where, policy)
    return LocalQuery(
        table=table["table_name"],
        words=frozenset({table["alias"] or table["table_name"], table["table_name"]}),
        items=items,
        where=where,
        renames_by_place=bool(table["column_name_alias"]),
        source=node,
    )


def _check_growth(items: Sequence[SelectItem], where: Expression | None, policy: Policy) -> None:
    """Raise where values may get too long, by themselves or by the names that the query gives them."""
    given: dict[str, int] = {}
    for item in items:
        names = item.replaced if item.is_star else (item.name,)
        grown = [check_growth(each, given, policy) for each in item.expressions]
        given |= {in_lower_case(name): most for name, most in zip(names, grown, strict=True)}
    if where is not None:
        check_growth(where, given, policy)


def _item(column: ParseTree, listed: Listed, policy: Policy) -> SelectItem:
    """Return one item of SELECT, its expressions checked."""
    if column.get("class") != "STAR":
        expression = read_expression(column, listed, policy)
        name = column["alias"] or (expression.path[-1] if expression.path else "")
        return SelectItem(is_star=False, expressions=(expression,), name=name)
    check_fields(column, _STAR_FIELDS, policy, called="STAR")  # others are those of COLUMNS(...)
    return SelectItem(
        is_star=True,
        expressions=tuple(read_expression(each["value"], listed, policy) for each in column["replace_list"]),
        replaced=tuple(each["key"] for each in column["replace_list"]),
        renamed=tuple((each["key"]["column"], each["value"]) for each in column["rename_list"]),
        before=column["relation_name"],
    )


def _check_table(table: ParseTree, tables: Collection[str], policy: Policy) -> None:
    """Raise `BadQuery` unless FROM is one of `tables` and nothing else."""
    if table.get("type") != "BASE_TABLE":
        refuse(policy, str(table.get("type")), table.get("function", {}).get("function_name", ""))
    if "qualified_name" not in table:
        raise BadQuery("this DuckDB writes its parse tree in another form", "Install `duckdb>=2.0`.")
    path = table["qualified_name"]["path"]
    written = [part for part in (table["catalog_name"], table["schema_name"], table["table_name"]) if part]
    allowed = {in_lower_case(name) for name in tables}
    prefix = [in_lower_case(part) for part in path[:-1]]
    if path != written or prefix not in ([], ["main"]) or in_lower_case(path[-1]) not in allowed:
        names = ", ".join(sorted(tables)[:10]) + (", ..." if len(tables) > 10 else "")
        hint = f"After FROM, write the name of one of its tables: {names}. "
        hint += "Views, files and other schemas are not read."
        raise BadQuery(f"{policy.name} reads {quoted('.'.join(path))}, which is not one of its tables", hint)
    check_fields(table, _TABLE_FIELDS, policy)


def _check_column(path: tuple[str, ...], connection: DuckDBPyConnection, policy: Policy) -> None:
    """Raise `BadQuery` if the name is a place among other rows, or has a value without any row."""
    name = quoted(".".join(path))
    if not PLACES.isdisjoint(map(in_lower_case, path)):
        hint = f"A column of your own with that name can be renamed in the data.\n{policy.allowed}"
        raise BadQuery(f"{policy.name} uses {name}, which tells where a row lies among others", hint)
    # `user` or `current_date` is a function wherever the table has no such column. DuckDB knows which.
    sql = ".".join('"{}"'.format(part.replace('"', '""')) for part in path)
    plan = "SELECT system.main.json_serialize_plan(?)"
    answer: dict[str, Any] = json.loads(connection.execute(plan, [f"SELECT {sql}"]).fetchall()[0][0])
    if answer.get("error") is not True or answer.get("error_type") != "binder":
        hint = f"If it is a column, put the table's name before it, as in data.user.\n{policy.allowed}"
        raise BadQuery(f"{policy.name} uses {name}, to which SQL gives a value of its own", hint)
