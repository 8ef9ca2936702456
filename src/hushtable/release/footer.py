"""The footer of a release: its terms as JSON.

Promise: equal terms give equal bytes (sorted keys, no spaces, ASCII) and are read back as equal terms. A
footer that does not describe a release is one `BadRelease`. Keys that are not known are passed over.
Here text of a file enters: what is said in a line is made one printable line, SQL keeps its line ends and
tabs, and names that do not print are refused. Categories and their labels are data, and kept to the letter;
whoever shows them escapes them. `release.json` bounds what is read.
Format: docs/format.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, NoReturn

from hushtable.domain.domain import Domain
from hushtable.domain.limits import (
    LARGEST_TERMS,
    LONGEST_COUNTED,
    LONGEST_NOTE,
    LONGEST_TEXT,
    MOST_VALUES,
)
from hushtable.domain.measure import Measure, Unit
from hushtable.errors import BadChoice, BadRelease, HushtableError, InternalError, printable, shown
from hushtable.files.parts import FilePart
from hushtable.laws.conversions import largest_rho
from hushtable.laws.curves import gaussian_rho
from hushtable.laws.rationals import as_fraction
from hushtable.laws.registry import DEFAULT_LAW, law_named
from hushtable.methods.settings import METHODS, Method
from hushtable.release.assumed import Assumption
from hushtable.release.json import NotJSON, pack, read_json, unpack
from hushtable.release.terms import LEFT_OUT_ALONE, TOTAL_ALONE, Part, Terms
from hushtable.structures.cells import Cells
from hushtable.structures.registry import STRUCTURES
from hushtable.structures.structure import Structure

FORMAT = 9  # the highest that is known; older kinds of files keep theirs, so that older readers open them
KEY = "hushtable"
DOMAIN_KEY = "hushtable.domain"
PART_KEY = "file_part"  # `parts` are the marginals of a cube

_LARGEST_PLAIN_DOMAIN = 1 << 22  # characters; a longer footer slows every tool that opens the file
UNKNOWN = "its footer is of an unknown kind"
_LONGEST_MESSAGE = 500  # characters
_DAMAGED = "Get the file again from its publisher, or ask whoever made it."


class Said(NamedTuple):
    """The entries of a footer, read as JSON: those that all parts share, and which part this is."""

    document: dict[str, Any]
    packed_domain: bytes
    part: FilePart | None


def entries_of(terms: Terms, part: FilePart | None = None) -> dict[str, str]:
    """Return the entries of the footer: the terms, and beside them the domain if it is long."""
    document = {
        "format": _format_of(
            terms.domain,
            terms.structure,
            part,
            terms.law_name,
            terms.measure.unit,
            tells_left_out=bool(terms.left_out_budget),
        ),
        "version": terms.version,
        "guarantee": terms.guarantee,
        "domain_digest": terms.domain.digest,
        "measure": _measure_table(terms.measure),
        "rows_are_units": terms.rows_are_units,
        "where": terms.where,
        "query": terms.query,
        **_cost_entries(terms),
        "sensitivity": str(terms.sensitivity),
        "structure": terms.structure.name,
        **terms.structure.to_entries(),
        **_kind_entries(terms),
        "summary": _summary_table(terms.method),
        "rule": terms.rule,
        "cutoff": terms.cutoff,
        "threshold": terms.threshold,
        "total": None if terms.total is None else str(terms.total),
    }
    if terms.law_name != DEFAULT_LAW:
        document["law"] = terms.law_name
    if terms.left_out is not None:
        counted, left_out = map(str, terms.left_out)
        spent = {_unit_of(terms.law_name): str(terms.left_out_budget)}
        document["left_out"] = {**spent, "counted": counted, "left_out": left_out}
    if terms.plan is not None:
        document["plan"] = asdict(terms.plan)
    if terms.recipe is not None:
        document["recipe"] = json.loads(terms.recipe)
    if part is not None:
        document[PART_KEY] = part.to_dict()
    described = terms.domain.to_dict(levels=terms.structure.needs_levels)
    domain = _json(described)
    if len(domain) <= _LARGEST_PLAIN_DOMAIN:
        return {KEY: _json(document | {"domain": described})}
    return {KEY: _json(document), DOMAIN_KEY: pack(domain)}


def check_levels(terms: Terms) -> None:
    """Raise unless readers will find the levels of a domain as they are: after the charge it is too late."""
    if not terms.structure.needs_levels:
        return
    again = Domain.from_dict(json.loads(_json(terms.domain.to_dict(levels=True))))
    own, read = terms.nodes, terms.structure.over(again)
    if again.levels != terms.domain.levels or own.columns(terms.domain) != read.columns(again):
        raise InternalError("the levels of this domain would not be read back as they are")


def terms_of(entries: Mapping[bytes, bytes]) -> Terms:
    """Return the terms that the entries of a footer describe, or raise `BadRelease`."""
    return terms_by(said_by(entries))


def said_by(entries: Mapping[bytes, bytes]) -> Said:
    """Return what the entries of a footer say, if their format is known."""
    document = _object(_read(entries.get(KEY.encode(), b"")), "it")
    version = document.get("format")
    if type(version) is not int or version < 1:
        _refuse(f"its format is {shown(version)}")
    if version > FORMAT:
        fact = f"it has format {shown(version)}, and this version of hushtable knows formats up to {FORMAT}"
        raise BadRelease(fact, "Upgrade: pip install --upgrade hushtable.")
    part = None
    if PART_KEY in document:
        part = FilePart.from_dict(_object(document.pop(PART_KEY), "its part"))
    return Said(document, entries.get(DOMAIN_KEY.encode(), b""), part)


def terms_by(said: Said) -> Terms:
    """Return the terms that a footer of a known format describes."""
    try:
        return _terms(said)
    except BadRelease as error:
        raise BadRelease(_cut(error.fact), _cut(error.hint)) from None
    except HushtableError as error:
        _refuse(f"its footer describes no release: {_cut(str(error).removesuffix('.'))}")
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        # No footer is known to come here; should one be found, its reader still meets an error of ours.
        _refuse(f"{UNKNOWN} ({type(error).__name__})")


def _terms(said: Said) -> Terms:
    document = said.document
    described = document["domain"] if "domain" in document else _unpacked(said.packed_domain)
    domain = Domain.from_dict(_cleaned(described))
    if domain.digest != _get(document, "domain_digest", str):
        _refuse("its domain does not have the digest that it states")
    structure, law_name = _structure(document), _law_name(document)
    unit = _unit_of(law_name)
    measure = _measure(_object(_get(document, "measure"), "its measure"))
    tells = "left_out" in document
    usual = _format_of(domain, structure, said.part, law_name, measure.unit, tells_left_out=tells)
    if document["format"] != usual:
        _refuse(f"its format is {document['format']}, which does not fit its structure")
    total = _get(document, "total", str | None)
    spent = _exact(document, f"total_{unit}")
    if total is None and spent:
        raise BadRelease(TOTAL_ALONE, "Give both or neither.")
    left_out_budget, left_out = _left_out(document)
    terms = Terms(
        domain=domain,
        measure=measure,
        rows_are_units=_get(document, "rows_are_units", bool),
        where=_sql(document, "where"),
        query=_sql(document, "query"),
        epsilon=_exact(document, "epsilon") if unit == "epsilon" or "epsilon" in document else None,
        rho=_exact(document, "rho") if unit == "rho" else None,
        delta=_exact(document, "delta") if "delta" in document else Fraction(0),
        total_budget=spent,
        sensitivity=_whole(_get(document, "sensitivity", str), "sensitivity"),
        structure=structure,
        method=_method(_object(_get(document, "summary"), "its summary")),
        rule=_line(document, "rule", str | None),
        cutoff=_float(document, "cutoff"),
        threshold=_float(document, "threshold"),
        total=None if total is None else _whole(total, "total"),
        version=_line(document, "version", str),
        plan=_plan(_object(document["plan"], "its plan")) if "plan" in document else None,
        keys=_texts(document, "keys") if structure.key_words else (),
        parts=_parts(document) if structure.several else (),
        law_name=law_name,
        recipe=_json(_object(document["recipe"], "its recipe")) if "recipe" in document else None,
        left_out_budget=left_out_budget,
        left_out=left_out,
    )
    _check_rho(terms)
    return terms


def _check_rho(terms: Terms) -> None:
    """Raise where a rho does not give the epsilon and the delta that stand beside it."""
    cost = terms.cost
    if cost.rho is None or cost.epsilon is None:
        return
    one = terms.measure.sensitivities
    alone = terms.structure == Cells() and not terms.total_budget and not terms.left_out_budget
    most = largest_rho(cost.epsilon, delta=cost.delta)
    if cost.rho > most and alone and one.per_cell == 1:
        most = gaussian_rho(cost.epsilon, delta=cost.delta, cells=int(one.l1))
    if cost.rho > most:
        raise BadRelease(f"its rho does not give {cost.said}", "Ask whoever made it.")


def _left_out(document: Mapping[str, Any]) -> tuple[Fraction, tuple[int, int] | None]:
    """Return what was spent on telling who is left out, and the two noisy counts."""
    if "left_out" not in document:
        return Fraction(0), None
    table = _object(document["left_out"], "who it leaves out")
    spent = _exact(table, _unit_of(_law_name(document)))
    if spent <= 0:
        raise BadRelease(LEFT_OUT_ALONE, "Give both or neither.")
    counted, left_out = (_whole(_get(table, name, str), name) for name in ("counted", "left_out"))
    return spent, (counted, left_out)


def _unit_of(law_name: str) -> str:
    """Return what the budget of a law is called."""
    return "rho" if law_named(law_name).currency == "zcdp" else "epsilon"


def _cost_entries(terms: Terms) -> dict[str, str]:
    """Return what was spent, and the part of it that bought a total."""
    return terms.cost.entries | {f"total_{_unit_of(terms.law_name)}": str(terms.total_budget)}


def _exact(document: Mapping[str, Any], key: str) -> Fraction:
    return as_fraction(_get(document, key, str), name=key)


def _measure_table(measure: Measure) -> dict[str, Any]:
    unit = measure.unit
    return {
        "count_column": measure.count_column,
        "sum_column": measure.sum_column,
        "clamp": None if measure.clamp is None else list(measure.clamp),
        "unit": None if unit is None else unit.words,
    }


def _measure(table: Mapping[str, Any]) -> Measure:
    unit = None
    if _get(table, "unit") is not None:
        said = _object(table["unit"], "its unit")
        bounds = ["max_cells", "max_per_cell"] if "max_cells" in said else ["max_rows"]
        if "max_rows" in said and "max_rows" not in bounds:
            _refuse("its unit has two bounds, `max_rows` and `max_cells`")
        unit = Unit(_line(said, "column", str), **{name: _get(said, name, int) for name in bounds})
    return Measure(
        count_column=_line(table, "count_column", str | None),
        sum_column=_line(table, "sum_column", str | None),
        clamp=_get(table, "clamp"),
        unit=unit,
    )


def _law_name(document: Mapping[str, Any]) -> str:
    """Return the name of the law of the noise: geometric, where none is stated."""
    if "law" not in document:
        return DEFAULT_LAW
    name = _line(document, "law", str)
    try:
        return law_named(name).name
    except BadChoice as error:
        hint = f"{error.hint} Ask who made it for the package that has this law."
        raise BadRelease(f"its noise has the law {shown(name)}, which is not known here", hint) from None


def _format_of(
    domain: Domain,
    structure: Structure,
    part: FilePart | None,
    law_name: str,
    unit: Unit | None,
    *,
    tells_left_out: bool = False,
) -> int:
    """Return the number of the format: 1 for cells, 2 for the nodes of a tree, 3 for sketches and cubes.

    A part of any of them has 4, so that no older reader takes it for the whole. Several tables have 5, and so
    has whatever has noise of another law, so that no older reader takes it for geometric. Whatever counts
    people cell by cell has 6, for older readers know of rows alone. Values that nobody can list have 7. Where
    a part of the cost tells who is left out, it is 8: older readers would take it for spent on the rows.
    Hierarchies have 9.
    """
    beside = 1
    if tells_left_out:
        beside = 8
    elif domain.unlisted:
        beside = 7
    elif unit is not None and unit.max_cells is not None:
        beside = 6
    elif law_name != DEFAULT_LAW:
        beside = 5
    elif part is not None:
        beside = 4
    return max(beside, structure.format)


def _structure(document: Mapping[str, Any]) -> Structure:
    name = _get(document, "structure", str)
    if name not in STRUCTURES:
        _refuse(f"its structure is {shown(name)}, which this version of hushtable does not know")
    # Levels of a tree share epsilon in the usual way where the footer does not say how.
    return STRUCTURES[name].from_entries(partial(_get, {"shares": None, **document}))


def _kind_entries(terms: Terms) -> dict[str, Any]:
    """Return what is beside the structure: the keys of a sketch, the parts of a cube."""
    if not terms.parts:
        return {"keys": list(terms.keys)} if terms.keys else {}
    unit = _unit_of(terms.law_name)
    own = [terms.part(number) for number in range(len(terms.parts))]
    return {
        "parts": [
            {
                "attributes": list(marginal.domain.names),
                unit: str(its.rows_budget),
                "summary": _summary_table(part.method),
                "rule": part.rule,
                "cutoff": part.cutoff,
                "threshold": part.threshold,
            }
            for marginal, part, its in zip(terms.nodes.marginals, terms.parts, own, strict=True)
        ]
    }


def _parts(document: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the parts of a cube. Their attributes and epsilons follow from the rest, and are for people."""
    tables = [_object(each, "a part of it") for each in _get(document, "parts", list)]
    return tuple(
        Part(
            method=_method(_object(_get(table, "summary"), "its summary")),
            rule=_line(table, "rule", str | None),
            cutoff=_float(table, "cutoff"),
            threshold=_float(table, "threshold"),
        )
        for table in tables
    )


def _texts(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    texts = _get(document, key, list)
    if not all(isinstance(text, str) for text in texts):
        _refuse(f"its `{key}` are {shown(texts)}")
    return tuple(texts)


def _summary_table(method: Method) -> dict[str, Any]:
    settings = {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]
    exact = {key: str(value) if isinstance(value, Fraction) else value for key, value in settings.items()}
    return {"name": method.name} | exact


def _method(table: Mapping[str, Any]) -> Method:
    name = _get(table, "name", str)
    if name not in METHODS:
        _refuse(f"its summary is {shown(name)}, which this version of hushtable does not know")
    settings = {}
    for field in fields(METHODS[name]):  # type: ignore[arg-type]
        kind = {"size": int, "cutoff": str, "threshold": str}.get(field.name, bool)
        settings[field.name] = _get(table, field.name, kind | None if field.default is None else kind)
    return METHODS[name](**settings)


def _plan(table: Mapping[str, Any]) -> Assumption:
    counts, cells = (
        tuple(_number(value, key) for value in _get(table, key, list)) for key in ("counts", "cells")
    )
    return Assumption(
        rule=_line(table, "rule", str),
        assumed=_line(table, "assumed", str, LONGEST_NOTE),
        size=_get(table, "size", int),
        counts=counts,
        cells=cells,
    )


def _json(document: object) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _read(text: bytes) -> object:
    if len(text) > LARGEST_TERMS:
        _refuse(f"its footer has more than {LARGEST_TERMS:,} characters of terms")
    try:
        return read_json(text, most=MOST_VALUES)
    except NotJSON as error:
        _refuse(f"its footer is not JSON of ours: {error}")


def _unpacked(packed: bytes) -> object:
    """Return the description of a domain that is kept beside the terms."""
    try:
        return unpack(packed)
    except NotJSON as error:
        _refuse(f"its domain is absent or damaged: {error}")


def _cleaned(described: object) -> dict[str, Any]:
    """Return the description of a domain with a title and columns that are printable lines."""
    table = dict(_object(described, "its domain"))
    for key, most in (("title", LONGEST_NOTE), ("counts", LONGEST_COUNTED)):
        if isinstance(table.get(key), str):
            table[key] = _one_line(table[key], most)
    attributes = table.get("attribute")
    if isinstance(attributes, list):
        table["attribute"] = [
            each | {"column": _one_line(each["column"])}
            if isinstance(each, dict) and isinstance(each.get("column"), str)
            else each
            for each in attributes
        ]
    return table


def _line(table: Mapping[str, Any], key: str, kind: Any, longest: int = LONGEST_TEXT) -> Any:
    """Return an entry that is text, or none, as one printable line."""
    text = _get(table, key, kind)
    return text if text is None else _one_line(text, longest)


def _one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    line = printable(text[: longest + 1])
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def _sql(table: Mapping[str, Any], key: str) -> str | None:
    """Return an entry that is SQL, or none, with line ends and tabs and no other odd characters."""
    text: str | None = _get(table, key, str | None)
    if text is None:
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)


def _cut(message: str) -> str:
    """Return a message in one line; what a file says in it may be long."""
    line = printable(" ".join(message[: 2 * _LONGEST_MESSAGE].split()))
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 3]}..."


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{what} is {shown(value)} where the footer should describe it")
    return value


def _get(table: Mapping[str, Any], key: str, kind: Any = object) -> Any:
    """Return an entry of the given type; true is not a number."""
    if key not in table:
        _refuse(f"its footer has no `{key}`")
    value = table[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
        _refuse(f"its `{key}` is {shown(value)}")
    return value


def _whole(text: str, name: str) -> int:
    exact = as_fraction(text, name=name)
    if exact.denominator != 1:
        _refuse(f"its `{name}` is {shown(text)}")
    return int(exact)


def _float(table: Mapping[str, Any], key: str) -> float | None:
    value = _get(table, key)
    return None if value is None else _number(value, key)


def _number(value: object, key: str) -> float:
    """Return a number as a float; true is none."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    _refuse(f"its `{key}` is {shown(value)}")


def _refuse(fact: str) -> NoReturn:
    raise BadRelease(fact, _DAMAGED)
