"""The one list of functions that may be called, and what must hold for their arguments.

Promise: each was read and found to follow from its arguments alone, row by row, in the same way on every
machine and every day. It is a list of what may pass, not of what may not, since DuckDB's own word does not
suffice: age(x), current_localtime() and every Python function count there as built in and CONSISTENT.
Left out though CONSISTENT: what takes the name of an aggregate or a lambda (list_aggregate, list_transform),
reads types made from data (enum_range), the clock (age), plans or parses SQL (json_serialize_plan), or is of
the engine's own use (__internal_..., finalize, collate_...).
A call passes only where DuckDB's list agrees, and no macro of the owner hides a function.
Cost: one look at DuckDB's list of functions, 20 ms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hushtable.conditions.guard.policies import Policy
from hushtable.conditions.guard.texts import quoted
from hushtable.conditions.naming import in_lower_case
from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hushtable.conditions.guard.expressions import Expression

Listed = Mapping[str, set[tuple[str, str]]]  # by name: kinds and stabilities in DuckDB's list

LONGEST_MADE = 1_000  # characters or elements


class Function(NamedTuple):
    """What is known of a function.

    Arguments are told by their places. Taken from a row, some could make a text as long as all memory, or
    stop the query by an error that TRY does not catch: a row would decide whether a release appears.
    """

    macro: bool = False  # DuckDB ships it as a macro, whose body uses what is listed here
    public: bool = False  # for public values alone: one value could fill the memory, or orders are left open
    constant: tuple[int, ...] = ()  # arguments that name no column
    length: tuple[int, ...] = ()  # arguments that say how much is made: small constants
    paths: bool = False  # arguments after the first are paths into JSON, written out
    product: bool = False  # its time is the product of two lengths: one of the two is a short constant


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
        contains decode encode ends_with format_bytes
        formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex get_bit hamming hash
        hex instr jaccard lcase left left_grapheme len length
        length_grapheme lower lpad ltrim md5 md5_number mismatches nfc_normalize octet_length
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
        array_reverse_sort array_slice array_sort array_unique array_value array_where
        array_zip cardinality element_at flatten grade_up list_cat list_concat list_contains
        list_cosine_distance list_cosine_similarity list_distance list_dot_product list_element list_extract
        list_grade_up list_has list_has_all list_has_any list_indexof list_inner_product
        list_negative_dot_product list_negative_inner_product list_pack list_position list_resize
        list_reverse_sort list_slice list_sort list_unique list_value list_where list_zip map
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
_DIFFERENT = {
    "date_add days_in_month if nullif split_part": Function(macro=True),
    "ilike_escape like_escape not_ilike_escape not_like_escape": Function(constant=(1, 2)),
    """date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc time_bucket
    timezone""": Function(constant=(0,)),
    "array_length": Function(constant=(1,)),
    "regexp_replace replace": Function(constant=(2,)),
    "array_resize bitstring list_resize lpad rpad": Function(length=(1,)),
    """->> json_array_length json_exists json_extract json_extract_path json_extract_path_text
    json_extract_string json_keys json_type json_value""": Function(paths=True),
    "editdist3 jaro_similarity jaro_winkler_similarity levenshtein": Function(product=True),
    # A list of places may name the same long text as often as it likes.
    "array_select list_select": Function(public=True),
    "array_distinct array_intersect damerau_levenshtein list_distinct list_intersect": Function(public=True),
    "fdiv fmod": Function(public=True, macro=True),
    "format printf": Function(public=True, length=(0,)),
    "generate_series range": Function(public=True, length=(0, 1, 2)),
    "repeat": Function(public=True, length=(1,)),
}
FUNCTIONS: Mapping[str, Function] = {
    **{name: Function() for names in _BY_TOPIC.values() for name in names.split()},
    **{name: known for names, known in _DIFFERENT.items() for name in names.split()},
}

# Functions that parse text for which no limit holds. None of them is listed above; a SELECT of any kind may
# call whatever else DuckDB has.
SQL_IN_TEXT = frozenset(
    {"query", "json_execute_serialized_sql", "json_deserialize_sql", "json_serialize_sql"}
    | {"json_deserialize_plan", "json_serialize_plan"}
)

_TABLES = frozenset(
    {"table", "table_macro", "pragma"}
)  # no function of these kinds is called in an expression
_WHY_NOT = {
    "aggregate": "an aggregate: it reads more than one row",
    "window": "a window function: it reads other rows",
    "table": "a table function: it may make many rows of one",
    "table_macro": "a macro, whose body is not checked",
    "macro": "a macro, whose body is not checked",
}
_INTEGER = re.compile(r"-?[0-9]{1,9}")
# A path that searches all levels gives each part of a value once for each part around it: one deep value of a
# few megabytes takes all memory.
_ALL_LEVELS = re.compile(r"\.\.|\*\*")
_WIDE = re.compile(r"[0-9]{4}|\*|\{[^}]*\{")  # a width of four digits, or one that is an argument


def functions_of(connection: DuckDBPyConnection, policy: Policy) -> Listed:
    """Return kind and stability of DuckDB's functions; raise `BadQuery` if one may be hidden by another."""
    listed = connection.execute(
        "SELECT DISTINCT function_name, function_type, internal, stability "
        "FROM system.main.duckdb_functions()"
    ).fetchall()
    functions: dict[str, set[tuple[str, str]]] = {}
    own = []
    for name, kind, internal, stability in listed:
        if internal:
            functions.setdefault(in_lower_case(name), set()).add((kind, stability or ""))
        else:
            own.append(name)
    for name in sorted(own):
        # Also where the name is not written: `s.x`, `l[1]` and built-in macros look functions up by name.
        if in_lower_case(name) in functions:
            hint = "Drop or rename it in the database, or work on a copy of the table without it."
            raise BadQuery(
                f"{policy.name} cannot be checked: the database defines its own {quoted(name)}, "
                "which hides DuckDB's function of that name",
                hint,
            )
    return functions


def check_call(call: Expression, listed: Listed, policy: Policy) -> None:
    """Raise `BadQuery` unless the function is listed here, and is in DuckDB what it is listed as."""
    name, source = call.name, call.source
    if source["schema"] or source["catalog"] or source["qualified_name"]["path"] != [source["function_name"]]:
        # `name.lower()` is read so too: the parser cannot tell a column from a schema.
        hint = f"Write the plain call, as in lower(name).\n{policy.allowed}"
        raise BadQuery(f"{policy.name} uses {quoted(name)} with a word and a dot before it", hint)
    known, found = FUNCTIONS.get(name), listed.get(name, set())
    if known is None or (known.public and not policy.public) or not _agrees(known, found):
        raise BadQuery(f"{policy.name} uses {quoted(name)}, {_why_not(found)}", policy.allowed)
    for place, argument in enumerate(call.parts):
        if place in known.constant and argument.columns:
            hint = f"Write a constant there: a value of a row could stop the whole query.\n{policy.allowed}"
            raise BadQuery(f"{policy.name} takes argument {place + 1} of {quoted(name)} from a column", hint)
    if known.paths and not all(map(_is_short_path, call.parts[1:])):
        hint = f"Write the path out, step by step, as in '$.home.town'.\n{policy.allowed}"
        fact = f"{policy.name} gives {quoted(name)} a path that is computed or searches all levels"
        raise BadQuery(fact, hint)
    if known.product and not policy.public and not any(map(_is_short_text, call.parts)):
        hint = f"Compare with a constant of up to {LONGEST_MADE:,} letters: two long texts would take hours."
        raise BadQuery(f"{policy.name} gives {quoted(name)} no constant", f"{hint}\n{policy.allowed}")
    tells = [argument for place, argument in enumerate(call.parts) if place in known.length]
    inside = (FUNCTIONS.get(each.name) for part in call.parts for each in part.walk())
    if known.length and not (all(map(_is_short, tells)) and not any(each and each.length for each in inside)):
        hint = f"Say its length by a constant up to {LONGEST_MADE:,}, and use it once, not within another."
        raise BadQuery(f"{policy.name} uses {quoted(name)}, which may make text or lists of any length", hint)


def _agrees(known: Function, found: set[tuple[str, str]]) -> bool:
    """Return whether DuckDB's list says of a function what is said here."""
    expected = ("macro", "") if known.macro else ("scalar", "CONSISTENT")
    return {each for each in found if not (known.public and each[0] in _TABLES)} == {expected}


def _why_not(found: set[tuple[str, str]]) -> str:
    """Return why a function may not be called, by what DuckDB's list says of it."""
    kinds = {kind for kind, _ in found}
    if not found:
        return "which is not a function of DuckDB"
    for kind, words in _WHY_NOT.items():
        if kind in kinds:
            return words
    if found != {("scalar", "CONSISTENT")}:
        return "which does not follow from its arguments alone: it may read the clock, the session or chance"
    return "which is not on the list of functions known to be row-local"


def _is_short(argument: Expression) -> bool:
    """Return whether an argument is a small number, or a format that holds no other."""
    kind, text = argument.literal
    if kind == "STRING":
        return not _WIDE.search(text)
    return kind == "INTEGER" and bool(_INTEGER.fullmatch(text)) and abs(int(text)) <= LONGEST_MADE


def _is_short_text(argument: Expression) -> bool:
    """Return whether an argument is a constant of few letters."""
    kind, text = argument.literal
    return kind == "STRING" and len(text) <= LONGEST_MADE


def _is_short_path(argument: Expression) -> bool:
    """Return whether an argument is a path into JSON, or a list of them, that is written out and finite."""
    if argument.name == "list_value" or argument.kind == "ARRAY_CONSTRUCTOR":
        return all(map(_is_short_path, argument.parts))
    return argument.kind == "VALUE_CONSTANT" and not _ALL_LEVELS.search(argument.literal[1])
