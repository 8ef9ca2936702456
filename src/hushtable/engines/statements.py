"""Tell a row-local filter or query from any other, on DuckDB's parse tree.

Promise: what `check_condition` and `check_query` let pass computes each output row from one input row
of one table alone, by a fixed rule, and makes at most one output row of it; so who is protected stays
who is in the table. Every list here names what is known to be row-local; anything else is refused.
It holds for DuckDB, on the connection asked: SQLite reads `a IN trips` as a subquery, DuckDB as a list.
Cost: two parses, one look at DuckDB's list of functions and one bind for each column named.
Source: DESIGN.md, section 7, traps 5, 7 and 10.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    Tree = dict[str, Any]
    _Functions = Mapping[str, set[tuple[str, str]]]

Names = frozenset[tuple[str, ...]]

LONGEST_TEXT = 100_000  # characters; DuckDB parses as many in about 0.2 seconds
DEEPEST_NESTING = 100  # brackets; the parser's time grows with the cube of those left open

_ALLOWED = (
    "Allowed are the row's own columns, constants, comparisons, arithmetic, CASE, casts, and DuckDB's "
    "functions of one row, such as lower or date_trunc."
)
_OTHERWISE = (
    "To use more, prepare the table by a query and state it: with `--rows-are-units` "
    "(`rows_are_units=True`) the release says that a row of the prepared table is protected."
)
_LOCAL = f"{_ALLOWED}\n{_OTHERWISE}"
_ONE_TABLE = (
    "A query may select, rename and compute columns of one table, row by row, and filter its rows.\n"
    f"{_ALLOWED}\n{_OTHERWISE}"
)
_ONE_SELECT = (
    "Pass one SELECT statement without parameters; it may have WITH, joins, GROUP BY and PIVOT ... IN."
)

# Functions that were read and found row-local. It is a list of what may pass, not of what may not, since
# DuckDB's own word does not suffice: age(x), current_localtime() and every Python function count there as
# built in and CONSISTENT. Left out though CONSISTENT: what takes the name of an aggregate or a lambda
# (list_aggregate, list_transform), reads types made from data (enum_range), the clock (age), plans or
# parses SQL (json_serialize_plan), or is of the engine's own use (__internal_..., finalize, collate_...).
_BY_TOPIC = {
    "operators": """
        + - * / // % ** ^ & | ~ << >> || @ && <@ @> <-> <=> ^@ ->> !__postfix ~~ !~~ ~~* !~~* ~~~
        like_escape not_like_escape ilike_escape not_ilike_escape
    """,
    "numbers": """
        abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees
        divide even exp factorial floor gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm
        least least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians
        round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
    """,
    "text and bytes": """
        ascii base64 bin bit_length bit_position bitstring char_length character_length chr concat concat_ws
        contains decode editdist3 encode ends_with format_bytes
        formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex get_bit hamming hash
        hex instr jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length
        length_grapheme levenshtein lower lpad ltrim md5 md5_number mismatches nfc_normalize octet_length
        ord overlay parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path position
        prefix regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
        regexp_replace regexp_split_to_array replace reverse right right_grapheme rpad rtrim set_bit sha1
        sha256 split starts_with str_split str_split_regex string_split string_split_regex string_to_array
        strip_accents strlen strpos substr substring substring_grapheme suffix to_base to_base64 to_binary
        to_hex translate trim ucase unbin unhex unicode upper url_decode url_encode
    """,
    "dates and times": """
        century date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
        dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear
        julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
        make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
        normalized_interval quarter second strftime strptime time_bucket timezone timezone_hour
        timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia
        to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years
        try_strptime week weekday weekofyear year yearweek
    """,
    "lists, structs, maps and unions": """
        array_cat array_concat array_contains array_cosine_distance array_cosine_similarity
        array_cross_product array_distance array_dot_product array_extract array_grade_up array_has
        array_has_all array_has_any array_indexof array_inner_product array_length
        array_negative_dot_product array_negative_inner_product array_position array_resize
        array_reverse_sort array_select array_slice array_sort array_unique array_value array_where
        array_zip cardinality element_at flatten grade_up list_cat list_concat list_contains
        list_cosine_distance list_cosine_similarity list_distance list_dot_product list_element list_extract
        list_grade_up list_has list_has_all list_has_any list_indexof list_inner_product
        list_negative_dot_product list_negative_inner_product list_pack list_position list_resize
        list_reverse_sort list_select list_slice list_sort list_unique list_value list_where list_zip map
        map_concat map_contains map_entries map_extract map_extract_value map_from_entries map_keys
        map_values row struct_concat struct_contains struct_extract struct_extract_at struct_has
        struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values
        union_extract union_tag union_value
    """,
    "JSON and identifiers": """
        array_to_json from_json from_json_strict json_array json_array_length json_exists
        json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_merge_patch
        json_object json_quote json_structure json_transform json_transform_strict json_type
        json_valid json_value row_to_json to_json typeof uuid_extract_timestamp uuid_extract_version
    """,
}
ROW_LOCAL_FUNCTIONS = frozenset(name for names in _BY_TOPIC.values() for name in names.split())

# Macros that DuckDB ships for everyday use; the bodies use nothing but what is allowed here.
ROW_LOCAL_MACROS = frozenset({"date_add", "days_in_month", "if", "nullif", "split_part"})

# Arguments that must be constants, by their places. Taken from a row, they could make a text as long as all
# memory, or stop the query by an error that TRY does not catch: a row would decide whether a release appears.
CONSTANT_ARGUMENTS: dict[str, tuple[int, ...]] = {
    "array_length": (1,),
    "array_resize": (1,),
    "bitstring": (1,),
    "ilike_escape": (1, 2),
    "like_escape": (1, 2),
    "list_resize": (1,),
    "lpad": (1,),
    "not_ilike_escape": (1, 2),
    "not_like_escape": (1, 2),
    "regexp_replace": (2,),
    "replace": (2,),
    "rpad": (1,),
    "time_bucket": (0,),
    "timezone": (0,),
}

# Functions whose second argument is a path into JSON. One that searches all levels (`..`, `**`) gives each
# part of a value once for each part around it: one deep value of a few megabytes takes all memory.
JSON_PATHS = frozenset(
    {
        "->>",
        "json_array_length",
        "json_exists",
        "json_extract",
        "json_extract_path",
        "json_extract_path_text",
        "json_extract_string",
        "json_keys",
        "json_type",
        "json_value",
    }
)

# Columns that tell where a row lies among others, not what is in it.
PLACES = frozenset({"rowid", "filename", "file_index", "file_row_number"})


class _Subject(NamedTuple):
    """What is checked, in words: its name, what it must be, and what it may hold."""

    name: str
    form: str
    allowed: str

    def __str__(self) -> str:
        return self.name


_FILTER = _Subject("the row filter", "one expression", _LOCAL)
_QUERY = _Subject("the query", "one SELECT statement", _ONE_TABLE)
_SELECT = _Subject("the query", "one SELECT statement", _ONE_SELECT)


class _Kind(NamedTuple):
    """What a node of the tree may be: its types, the fields to walk, and the fields that hold plain words."""

    types: Collection[str]
    walked: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()


_EVERYWHERE = frozenset({"class", "type", "alias", "query_location", "query_location_length"})
_ENTRY = "entry"  # an object without a class: one branch of CASE, or one argument with its name
_KINDS = {
    _ENTRY: _Kind({""}, ("when_expr", "then_expr", "expression"), ("name",)),
    "BETWEEN": _Kind({"COMPARE_BETWEEN"}, ("input", "lower", "upper")),
    "CASE": _Kind({"CASE_EXPR"}, ("case_checks", "else_expr")),
    "CAST": _Kind({"OPERATOR_CAST"}, ("child", "type_expr"), ("try_cast",)),
    "COLLATE": _Kind({"COLLATE"}, ("child",), ("collation",)),
    "COLUMN_REF": _Kind({"COLUMN_REF"}, (), ("column_names",)),
    "COMPARISON": _Kind(
        {
            "COMPARE_EQUAL",
            "COMPARE_NOTEQUAL",
            "COMPARE_LESSTHAN",
            "COMPARE_GREATERTHAN",
            "COMPARE_LESSTHANOREQUALTO",
            "COMPARE_GREATERTHANOREQUALTO",
            "COMPARE_DISTINCT_FROM",
            "COMPARE_NOT_DISTINCT_FROM",
        },
        ("left", "right"),
    ),
    "CONJUNCTION": _Kind({"CONJUNCTION_AND", "CONJUNCTION_OR"}, ("children",)),
    "CONSTANT": _Kind({"VALUE_CONSTANT"}, (), ("literal",)),
    # FILTER, ORDER BY or DISTINCT of a function is a field that is not listed here: see `_blank`.
    "FUNCTION": _Kind(
        {"FUNCTION"}, ("arguments",), ("catalog", "schema", "function_name", "qualified_name", "is_operator")
    ),
    "OPERATOR": _Kind(
        {
            "ARRAY_CONSTRUCTOR",
            "ARRAY_EXTRACT",
            "ARRAY_SLICE",
            "COMPARE_IN",
            "COMPARE_NOT_IN",
            "OPERATOR_COALESCE",
            "OPERATOR_IS_NOT_NULL",
            "OPERATOR_IS_NULL",
            "OPERATOR_NOT",
            "OPERATOR_NULLIF",
            "OPERATOR_TRY",
            "STRUCT_EXTRACT",
        },
        ("children",),
    ),
    "TYPE": _Kind({"TYPE"}, ("children",), ("catalog", "schema", "type_name", "qualified_name")),
}

# Words for what is refused; what has no word here is refused under DuckDB's own name for it.
_WORDS = {
    "DEFAULT": "DEFAULT",
    "DISTINCT_MODIFIER": "DISTINCT",
    "EMPTY": "a SELECT without FROM",
    "EXPRESSION_LIST": "VALUES",
    "GROUPING_FUNCTION": "GROUPING",
    "JOIN": "a join",
    "LAMBDA": "a lambda or `->`",
    "LIMIT_MODIFIER": "LIMIT or OFFSET",
    "LIMIT_PERCENT_MODIFIER": "LIMIT",
    "OPERATOR_UNPACK": "`*COLUMNS(...)`",
    "PARAMETER": "a parameter",
    "PIVOT": "PIVOT or UNPIVOT",
    "POSITIONAL_REFERENCE": "a column by its position",
    "SET_OPERATION_NODE": "UNION, INTERSECT or EXCEPT",
    "SHOW_REF": "DESCRIBE, SHOW or SUMMARIZE",
    "STAR": "`*` or COLUMNS(...) inside an expression",
    "SUBQUERY": "a subquery",
    "TABLE_FUNCTION": "a table function",
    "WINDOW": "a window function",
    "at_clause": "AT (a past version of the table)",
    "cte_map": "WITH",
    "distinct": "DISTINCT inside a function",
    "export_state": "EXPORT_STATE",
    "filter": "FILTER",
    "group_expressions": "GROUP BY",
    "group_sets": "GROUP BY",
    "having": "HAVING",
    "order_bys": "ORDER BY inside a function",
    "qualify": "QUALIFY",
    "sample": "a sample of the rows",
}

_WHY_NOT = {
    "aggregate": "an aggregate: it reads more than one row",
    "window": "a window function: it reads other rows",
    "table": "a table function: it may make many rows of one",
    "table_macro": "a macro, whose body is not checked",
    "macro": "a macro, whose body is not checked",
}

_QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_LOCATION = re.compile(r'"query_location(?:_length)?":\d+')  # a quote inside a literal has a backslash
_BRACKET = re.compile(r"""'[^']*'|"[^"]*"|[(\[{]|[)\]}]""")
# DuckDB folds the case of names in ASCII only; `str.lower` would make one name of two.
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class LocalQuery(NamedTuple):
    """A row-local query: its parse tree, and every name that its expressions read, item by item.

    A name is a path, such as ("age",), ("data", "age") or, of a struct, ("home", "town").
    """

    node: Tree
    tables: frozenset[str]  # words that stand for the table, and so for the whole row
    items: tuple[tuple[Tree, Names], ...]  # of SELECT, with what each reads
    filtered: Names  # what WHERE reads


def check_condition(condition: str, connection: DuckDBPyConnection) -> Names:
    """Raise `BadQuery` unless `condition` is one row-local expression (for WHERE); return what it reads.

    Guarantee: `SELECT ... FROM data WHERE (condition)` keeps or drops each row by that row's own columns.
    A pending result of `connection` is given up.

    ================================================  =========================================
    condition                                         result
    ================================================  =========================================
    comparisons, CASE, casts, functions of one row    passes
    aggregate, window, subquery, macro, clock, rowid  `BadQuery`
    `user`, `current_date`: SQL gives them a value    `BadQuery`; `data.user` is the column
    a bracket, `;` or clause that leaves the WHERE    `BadQuery`
    ================================================  =========================================

    >>> import duckdb
    >>> sorted(check_condition("age >= 18 AND lower(state) IN ('ri', 'ma')", duckdb.connect()))
    [('age',), ('state',)]
    >>> check_condition("age > avg(age)", duckdb.connect())
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the row filter uses `avg`, an aggregate: it reads more than one row.
    ...
    """
    what = _FILTER
    _check_text(condition, what)
    alone, node = _one_select(f"SELECT * FROM data WHERE\n{condition}\n", connection, what)
    read = _check_node(node, ("data",), connection, what).filtered
    wrapped, _ = _one_select(f"SELECT * FROM data WHERE (\n{condition}\n)", connection, what)
    # `a) OR (b` and the like read well in brackets, and otherwise than alone.
    same = _LOCATION.sub("", alone) == _LOCATION.sub("", wrapped)
    if not same or node["where_clause"] is None or not _plain_star(node["select_list"]):
        raise BadQuery(f"{what} is not {what.form}", what.allowed)
    return read


def check_query(query: str, connection: DuckDBPyConnection, *, tables: Collection[str]) -> LocalQuery:
    """Raise `BadQuery` unless `query` selects, renames, computes row by row and filters one of `tables`.

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
    >>> [sorted(read) for _, read in check_query(query, duckdb.connect(), tables=["people"]).items]
    [[('home',)], [('age',)]]
    >>> check_query("SELECT DISTINCT home FROM people", duckdb.connect(), tables=["people"])
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the query uses DISTINCT, which is not row-local.
    ...
    """
    what = _QUERY
    _check_text(query, what)
    _, node = _one_select(query, connection, what)
    return _check_node(node, tables, connection, what)


def check_select(query: str, connection: DuckDBPyConnection) -> None:
    """Raise `BadQuery` unless `query` is one SELECT statement, of any kind.

    Guarantee: it is one statement that reads; none of its parts inserts, updates or deletes. It says
    nothing about who is protected: that is a row of the result (`rows_are_units=True`).

    >>> import duckdb
    >>> check_select("SELECT home, count(*) AS people FROM people GROUP BY home", duckdb.connect())
    >>> check_select("DROP TABLE people", duckdb.connect())
    Traceback (most recent call last):
        ...
    hushtable.errors.BadQuery: the query is not one SELECT statement.
    ...
    """
    what = _SELECT
    _check_text(query, what)
    _, node = _one_select(query, connection, what)
    pending: list[object] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            name = part.get("type")
            if name == "SHOW_REF" or (str(name).endswith("_NODE") and name not in _QUERY_NODES):
                words = _WORDS.get(str(name), str(name).removesuffix("_QUERY_NODE"))
                raise BadQuery(f"{what} does more than SELECT: {words}", what.allowed)
            pending.extend(part.values())


def _check_text(text: object, what: _Subject) -> None:
    """Raise `BadQuery` unless `text` is something the parser can be trusted with."""
    if not isinstance(text, str):
        raise BadQuery(f"{what} is of type {type(text).__name__}, not text", "Pass SQL as a string.")
    if not text.strip():
        raise BadQuery(f"{what} is empty", "Leave it out, or write it in DuckDB's SQL.")
    if len(text) > LONGEST_TEXT:
        hint = f"At most {LONGEST_TEXT} are allowed. Long lists of values belong in the domain's categories."
        raise BadQuery(f"{what} is {len(text)} characters long", hint)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise BadQuery(f"{what} holds a NUL or half a character", "Write it as plain text in UTF-8.")
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += (bracket in "([{") - (bracket in ")]}" and depth > 0)
        if depth > DEEPEST_NESTING:
            _refuse_depth(what)


def _refuse_depth(what: _Subject) -> NoReturn:
    """Raise the `BadQuery` for too many levels."""
    hint = f"At most {DEEPEST_NESTING} brackets may be open at once. Write it with fewer levels."
    raise BadQuery(f"{what} is nested too deep", hint)


def _one_select(statement: str, connection: DuckDBPyConnection, what: _Subject) -> tuple[str, Tree]:
    """Return the tree of one SELECT statement, as text and as its top node."""
    hint = f"Correct {what}; it is written in DuckDB's SQL."
    text, answer, problem = "", {}, ""
    try:
        # By its full name, which no macro of the owner can hide.
        fetched = connection.execute("SELECT system.main.json_serialize_sql(?)", [statement]).fetchall()
        text = fetched[0][0]
        answer = json.loads(text)
    except RecursionError:
        problem = "depth"
    except Exception as error:
        problem = str(error)
    # Raised here, outside the handler, so that the engine's error is not chained.
    if problem == "Query interrupted":  # by Ctrl-C
        raise KeyboardInterrupt
    if problem == "depth" or str(answer.get("error_message")).startswith("Max expression depth"):
        _refuse_depth(what)
    if problem:
        raise BadQuery(f"DuckDB cannot read {what}: {_cut(problem)}", hint)
    if answer.get("error") is not False:
        if answer.get("error_type") == "not implemented":
            raise BadQuery(f"{what} is not {what.form}", what.allowed)
        raise BadQuery(f"DuckDB cannot read {what}: {_cut(answer.get('error_message'))}", hint)
    statements = answer.get("statements")
    if not isinstance(statements, list) or len(statements) != 1:
        raise BadQuery(f"{what} is not {what.form}", what.allowed)
    for field, value in statements[0].items():
        if field != "node" and not _blank(value):
            raise BadQuery(f"{what} has a parameter", "Write the value itself; nothing is filled in here.")
    return text, statements[0]["node"]


def _check_node(
    node: Tree, tables: Collection[str], connection: DuckDBPyConnection, what: _Subject
) -> LocalQuery:
    """Raise `BadQuery` unless the node is a row-local SELECT from one of `tables`; return what it reads."""
    if node.get("type") != "SELECT_NODE":
        _refuse(what, str(node.get("type")))
    for modifier in node.get("modifiers", ()):
        if modifier.get("type") == "ORDER_MODIFIER":
            raise BadQuery(f"{what} uses ORDER BY", "A table of counts has no order of rows: leave it out.")
        _refuse(what, str(modifier.get("type")))
    for field, value in node.items():
        if field == "aggregate_handling":
            if value != "STANDARD_HANDLING":
                _refuse(what, "group_sets")  # GROUP BY ALL leaves no other trace
        elif field not in {"type", "select_list", "from_table", "where_clause"} and not _blank(value):
            _refuse(what, field)
    _check_table(node["from_table"], tables, what)
    functions = _functions(connection, what)
    items = []
    for column in node["select_list"]:
        roots = _star_parts(column, what) if column.get("class") == "STAR" else [column]
        items.append((column, _check_expressions(roots, functions, what)))
    filtered = _check_expressions([node["where_clause"]], functions, what)
    for path in dict.fromkeys(path for _, read in [*items, (node, filtered)] for path in sorted(read)):
        _check_column(path, connection, what)
    table = node["from_table"]
    words = frozenset({table["alias"] or table["table_name"], table["table_name"]})
    return LocalQuery(node, words, tuple(items), filtered)


def _check_table(table: Tree, tables: Collection[str], what: _Subject) -> None:
    """Raise `BadQuery` unless FROM is one of `tables` and nothing else."""
    if table.get("type") != "BASE_TABLE":
        _refuse(what, str(table.get("type")), table.get("function", {}).get("function_name", ""))
    if "qualified_name" not in table:
        raise BadQuery("this DuckDB writes its parse tree in another form", "Install `duckdb>=2.0`.")
    path = table["qualified_name"]["path"]
    written = [part for part in (table["catalog_name"], table["schema_name"], table["table_name"]) if part]
    allowed = {_folded(name) for name in tables}
    prefix = [_folded(part) for part in path[:-1]]
    if path != written or prefix not in ([], ["main"]) or _folded(path[-1]) not in allowed:
        names = ", ".join(sorted(tables)[:10]) + (", ..." if len(tables) > 10 else "")
        hint = f"Allowed are: {names}. Write the name alone; views, files and other schemas are not read."
        raise BadQuery(f"{what} reads {_cut('.'.join(path), '`')}, which is not one of its tables", hint)
    known = {"table_name", "schema_name", "catalog_name", "qualified_name", "column_name_alias"}
    for field, value in table.items():
        if field not in _EVERYWHERE and field not in known and not _blank(value):
            _refuse(what, field)


def _plain_star(columns: list[Tree]) -> bool:
    """Return whether the columns of a SELECT are `*` and nothing else."""
    fields = [field for column in columns for field, value in column.items() if not _blank(value)]
    return [column.get("class") for column in columns] == ["STAR"] and _EVERYWHERE.issuperset(fields)


def _star_parts(star: Tree, what: _Subject) -> list[Tree]:
    """Return the expressions of `* REPLACE (...)`; raise `BadQuery` for COLUMNS(...)."""
    names = {"relation_name", "exclude_list", "qualified_exclude_list", "rename_list", "replace_list"}
    for field, value in star.items():
        if field not in _EVERYWHERE and field not in names and not _blank(value):
            _refuse(what, "STAR")
    return [entry["value"] for entry in star["replace_list"]]


def _check_expressions(roots: Iterable[Tree | None], functions: _Functions, what: _Subject) -> Names:
    """Raise `BadQuery` unless every node below `roots` is of a known kind, in every field.

    Returns the names that they read.
    """
    calls: list[Tree] = []
    columns: set[tuple[str, ...]] = set()
    pending: list[Any] = list(roots)
    while pending:
        part = pending.pop()
        if part is None:
            continue
        if isinstance(part, list):
            pending.extend(part)
            continue
        if not isinstance(part, dict):
            _refuse(what, "an unknown part")
        name, form = part.get("class", _ENTRY), part.get("type", "")
        kind = _KINDS.get(name)
        if kind is None or form not in kind.types:
            _refuse(what, form if form in _WORDS else name, part.get("function_name", ""))
        if name == "FUNCTION":
            calls.append(part)
        elif name == "TYPE" and _folded(part["type_name"]) == "variant":
            # Casting deep JSON to it ends the process.
            _refuse(what, "a cast to VARIANT")
        elif name == "COLUMN_REF":
            columns.add(tuple(part["column_names"]))
        for field, value in part.items():
            if field in kind.walked:
                pending.append(value)
            elif field not in _EVERYWHERE and field not in kind.plain and not _blank(value):
                _refuse(what, field)
    for call in calls:
        _check_function(call, functions, what)
    return frozenset(columns)


def _check_function(call: Tree, functions: _Functions, what: _Subject) -> None:
    """Raise `BadQuery` unless the function is listed here, and is in DuckDB what it is listed as."""
    name = _folded(call["function_name"])
    if call["schema"] or call["catalog"] or call["qualified_name"]["path"] != [call["function_name"]]:
        # `name.lower()` is read so too: the parser cannot tell a column from a schema.
        hint = f"Write the plain call, as in lower(name).\n{what.allowed}"
        raise BadQuery(f"{what} uses {_cut(name, '`')} with a word and a dot before it", hint)
    forms = functions.get(name, set())
    for place, argument in enumerate(call["arguments"]):
        if place in CONSTANT_ARGUMENTS.get(name, ()) and _names_a_column(argument):
            hint = f"Write a constant there: a value of a row could stop the whole query.\n{what.allowed}"
            raise BadQuery(f"{what} takes argument {place + 1} of {_cut(name, '`')} from a column", hint)
    if name in JSON_PATHS and not all(map(_is_short_path, call["arguments"][1:])):
        hint = f"Write the path out, step by step, as in '$.home.town'.\n{what.allowed}"
        raise BadQuery(f"{what} gives {_cut(name, '`')} a path that is computed or searches all levels", hint)
    if name in ROW_LOCAL_FUNCTIONS and forms == {("scalar", "CONSISTENT")}:
        return
    if name in ROW_LOCAL_MACROS and forms == {("macro", "")}:
        return
    kinds = {form for form, _ in forms}
    why = next((words for form, words in _WHY_NOT.items() if form in kinds), "")
    if not forms:
        why = "which is not a function of DuckDB"
    elif not why and forms != {("scalar", "CONSISTENT")}:
        why = "which does not follow from its arguments alone: it may read the clock, the session or chance"
    why = why or "which is not on the list of functions known to be row-local"
    raise BadQuery(f"{what} uses {_cut(name, '`')}, {why}", what.allowed)


def _names_a_column(part: object) -> bool:
    """Return whether any part of an expression is a column."""
    if isinstance(part, list):
        return any(map(_names_a_column, part))
    if not isinstance(part, dict):
        return False
    return part.get("class") == "COLUMN_REF" or any(map(_names_a_column, part.values()))


def _is_short_path(argument: Tree) -> bool:
    """Return whether an argument is a path into JSON, or a list of them, that is written out and finite."""
    part = argument["expression"]
    if part["class"] == "CONSTANT":
        return re.search(r"\.\.|\*\*", str(part["literal"].get("text"))) is None
    is_list = part.get("function_name") == "list_value"
    return is_list and all(map(_is_short_path, part["arguments"]))


def _functions(connection: DuckDBPyConnection, what: _Subject) -> _Functions:
    """Return type and stability of DuckDB's functions; raise `BadQuery` if one may be hidden by another."""
    listed = connection.execute(
        "SELECT function_name, function_type, internal, stability FROM system.main.duckdb_functions()"
    ).fetchall()
    functions: dict[str, set[tuple[str, str]]] = {}
    for name, form, internal, stability in listed:
        if internal:
            functions.setdefault(_folded(name), set()).add((form, stability or ""))
    for name, _, internal, _ in listed:
        # Also where the name is not written: `s.x`, `l[1]` and built-in macros look functions up by name.
        if not internal and _folded(name) in functions:
            hint = "Drop or rename it in the database, or work on a copy of the table without it."
            raise BadQuery(
                f"{what} cannot be checked: the database defines its own {_cut(name, '`')}, "
                "which hides DuckDB's function of that name",
                hint,
            )
    return functions


def _check_column(path: tuple[str, ...], connection: DuckDBPyConnection, what: _Subject) -> None:
    """Raise `BadQuery` if the name is a place among other rows, or has a value without any row."""
    shown = _cut(".".join(path), "`")
    if not PLACES.isdisjoint(map(_folded, path)):
        hint = f"A column of your own with that name can be renamed in the data.\n{what.allowed}"
        raise BadQuery(f"{what} uses {shown}, which tells where a row lies among others", hint)
    # `user` or `current_date` is a function wherever the table has no such column. DuckDB knows which.
    name = ".".join('"{}"'.format(part.replace('"', '""')) for part in path)
    plan = "SELECT system.main.json_serialize_plan(?)"
    answer = json.loads(connection.execute(plan, [f"SELECT {name}"]).fetchall()[0][0])
    if answer.get("error") is not True or answer.get("error_type") != "binder":
        hint = f"If it is a column, put the table's name before it, as in data.user.\n{what.allowed}"
        raise BadQuery(f"{what} uses {shown}, to which SQL gives a value of its own", hint)


def _refuse(what: _Subject, part: str, name: str = "") -> NoReturn:
    """Raise the `BadQuery` for a clause or a kind of expression, with its function's name if it has one."""
    words = _WORDS.get(part, _cut(part, "`")) + (f" {_cut(name, '`')}" if name else "")
    raise BadQuery(f"{what} uses {words}, which is not row-local", what.allowed)


def _blank(value: object) -> bool:
    """Return whether a field of the tree says nothing."""
    if isinstance(value, dict):
        return all(field == "type" or _blank(inner) for field, inner in value.items())
    return value is None or value is False or value == "" or value == []


def _folded(name: str) -> str:
    """Return a name as DuckDB compares it."""
    return name.translate(_LOWER)


def _cut(text: object, quote: str = "") -> str:
    """Return the owner's own words on one line, not too long."""
    line = " ".join(str(text).split())
    return f"{quote}{line if len(line) <= 120 else f'{line[:100]}...'}{quote}"
