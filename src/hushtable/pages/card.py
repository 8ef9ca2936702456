"""A release as other programs catalogue it: a record of the deployments registry, and Croissant metadata.

Two readers, two documents. The registry of differential privacy deployments keeps records in YAML; catalogues
of data sets read Croissant, which is JSON-LD. Which fields there are: docs/reference/card.md.

Promise: every field follows from the release or from what the caller says of it. What neither knows is left
out and named, never guessed. Text of a release is one printable line, in quotes. A number is exact or, where
no decimal is, the next larger one: a card never says less than was spent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date as Day
from fractions import Fraction
from glob import escape
from math import inf, nextafter
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from hushtable.domain.items import attribute_named
from hushtable.domain.wording import cells_in_words, kind_in_words, many, rule_in_words
from hushtable.errors import BadChoice, BadOutput, HushtableError, shown
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import CARD_CREDIT, CARD_HEADING, is_card
from hushtable.laws.costs import Cost
from hushtable.pages import facts
from hushtable.pages.asked import AskedRelease
from hushtable.plots.words import measured, one_line
from hushtable.release.display import plan_in_words
from hushtable.release.layout import schema_of
from hushtable.release.terms import Terms
from hushtable.release.writing import digest_of

_LISTED = 400  # attributes and files
_VARIANTS = {"pure": "Pure DP", "zcdp": "Zero-concentrated DP", "approximate": "Approximate DP"}
_TYPES = {"int32": "Integer", "int64": "Integer", "double": "Float", "string": "Text", "date32[day]": "Date"}
_PARQUET = "application/x-parquet"  # the name that Croissant readers know
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a release does not know of itself, as far as its owner says it."""

    curator: str | None = None
    use: str | None = None
    region: str | None = None
    date: str | None = None
    author: str | None = None
    license: str | None = None
    url: str | None = None

    def __post_init__(self) -> None:
        for name in ("curator", "use", "region", "date", "author", "license", "url"):
            text: object = getattr(self, name)
            if text is not None and not (isinstance(text, str) and text.strip()):
                raise BadChoice(f"`{name}` is {shown(text)}", "Give a text, or leave it out.")
        if self.date is not None and not _is_day(self.date):
            raise BadChoice(f"`date` is {shown(self.date)}", "Write a day as in 2026-01-31.")
        if self.url is not None and not _is_address(self.url):
            raise BadChoice(f"`url` is {shown(self.url)}", "Give an address that starts with https://.")


@dataclass(frozen=True)
class Unknown:
    """A field that nobody has said yet, and what belongs there."""

    what: str


def card_of(release: AskedRelease, known: Provenance, *, file: Path) -> dict[str, dict[str, Any]]:
    """Return both documents, without what is not known."""
    made = (registry_card(release, known, file=file), croissant_card(release, known, file=file))
    return dict(zip(("registry", "croissant"), map(_without_unknown, made), strict=True))


def write_card(
    release: AskedRelease, known: Provenance, path: str | PathLike[str], *, file: Path, overwrite: bool
) -> None:
    """Write the record as .yaml, or the metadata as .json; only a card of ours is replaced."""
    ending = Path(path).suffix.lower()
    if ending in (".yaml", ".yml"):
        text = as_yaml(registry_card(release, known, file=file))
    elif ending in (".json", ".jsonld"):
        made = _without_unknown(croissant_card(release, known, file=file))
        text = json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    else:
        hint = "Give .yaml for the deployments registry, or .json for catalogues of data (Croissant)."
        raise BadOutput("its name does not say which card it is to be", hint, file=str(path))
    check = only(is_card, "a card by hushtable")
    with new_file(Path(path), overwrite=overwrite, check=check) as handle:
        handle.write(text.encode())


def unknown_fields(card: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields that are still to be filled in, with what belongs there."""
    for name, value in card.items():
        if isinstance(value, Unknown):
            yield f"{above}{name}", value.what
        elif isinstance(value, Mapping):
            yield from unknown_fields(value, f"{above}{name}.")


def as_yaml(card: Mapping[str, Any]) -> str:
    """Return a record as YAML: every text in double quotes, and what is not known as comments.

    >>> print(as_yaml({"name": 'a "b": #c', "tier": 3, "by": Unknown("who")}).split("\\n", 1)[1], end="")
    name: "a \\"b\\": #c"
    tier: 3
    # by: to be filled in: who
    """
    return "\n".join([CARD_HEADING, *_lines(card, "")]) + "\n"


def _lines(card: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in card.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {_scalar(each)}" for each in value)
        elif isinstance(value, Unknown):
            yield f"{indent}# {name}: to be filled in: {value.what}"
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _scalar(value: str | float) -> str:
    """Return a text as JSON writes it, which YAML reads alike, or a number that YAML takes for one."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _without_unknown(card: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_unknown(value) if isinstance(value, Mapping) else value
        for name, value in card.items()
        if not isinstance(value, Unknown)
    }


def registry_card(release: AskedRelease, known: Provenance, *, file: Path) -> dict[str, Any]:
    """Return a record of the deployments registry; what is not known is `Unknown`."""
    terms = release.terms
    name = one_line(terms.domain.title) or one_line(file.absolute().name)
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80].strip("-") or "release",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": name,
                "data_curators": _several(known.curator, "who publishes the data"),
                "description": _description(release),
                "intended_use": _said(known.use, "what the data are meant for"),
                "data_product_type": "Summary statistics",
                "data_product_region": _said(known.region, "where the people live, or whose law applies"),
                "publication_date": _said(known.date, "the day of publication, as in 2026-01-31"),
            },
            "dp_variant": {
                "variant_name": _VARIANTS[terms.cost.currency],
                "data_domain": _domain_in_words(terms),
                "unprotected_quantities": "None of the rows. What the publisher declared is public: "
                "values of attributes, bounds, the budget and the settings of the summary.",
            },
            "privacy_loss": {
                "privacy_unit": facts.protected(terms),
                "privacy_unit_details": one_line(terms.guarantee),
                "privacy_parameters": _parameters(terms.cost),
                "privacy_parameters_details": f"{terms.cost.said}, exactly.",
            },
            "deployment_model": {"model_name": "Central", "access_type": "Non-interactive"},
            "accounting": {"post_processing": _post_processing(terms), "composition": _composition(terms)},
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _preprocessing(terms),
                "mechanisms": _mechanisms(terms),
                "justification": _justification(terms),
            },
            "administrative": {
                "sources": _sources(known, file=file),
                "registry_authors": _several(known.author, "who fills in this record"),
            },
        },
    }


def croissant_card(release: AskedRelease, known: Provenance, *, file: Path) -> dict[str, Any]:
    """Return the data set as Croissant 1.0 describes one; what is not known is `Unknown`."""
    terms = release.terms
    title = one_line(terms.domain.title) or one_line(file.absolute().name)
    paths = sorted(file.glob("part-*.parquet")) if file.is_dir() else [file]
    objects = [_file_object(path, file) for path in paths]
    source = {"fileObject": {"@id": objects[0]["@id"]}}
    if file.is_dir():
        objects.append(
            {
                "@type": "cr:FileSet",
                "@id": "parts",
                "name": "parts",
                "encodingFormat": _PARQUET,
                "includes": f"{escape(file.absolute().name)}/part-*.parquet",
            }
        )
        source = {"fileSet": {"@id": "parts"}}
    digest = digest_of(file) or ""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": title,
        "creditText": CARD_CREDIT,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "description": f"{_description(release)} {one_line(terms.guarantee)}",
        "license": _said(known.license, "the address of a license"),
        "url": _said(known.url, "the address of the data's own page"),
        "creator": {"@type": "sc:Organization", "name": one_line(known.curator)}
        if known.curator is not None
        else Unknown("who publishes the data"),
        "datePublished": _said(known.date, "the day of publication, as in 2026-01-31"),
        "citeAs": facts.citation(terms, title=title, digest=digest),
        "keywords": ["differential privacy", terms.cost.privacy, "counts"],
        "isLiveDataset": False,
        "distribution": objects,
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "rows",
                "name": "rows",
                "description": f"One row for each published {terms.structure.row}.",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"rows/{quote(column.name, safe='')}",
                        "name": f"rows/{quote(column.name, safe='')}",
                        "description": _column(terms, column.name),
                        "dataType": f"sc:{_TYPES.get(str(column.type), 'DateTime')}",
                        "source": source | {"extract": {"column": column.name}},
                    }
                    for column in schema_of(terms)
                ],
            }
        ],
    }


def _said(text: str | None, what: str) -> str | Unknown:
    return Unknown(what) if text is None else one_line(text)


def _several(text: str | None, what: str) -> list[str] | Unknown:
    return Unknown(what) if text is None else [one_line(text)]


def _is_day(text: str) -> bool:
    try:
        return Day.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and text == one_line(text).strip()


def _description(release: AskedRelease) -> str:
    """Return what the file holds, in two sentences."""
    terms = release.terms
    names = [one_line(each) for each in terms.domain.names[:_LISTED]]
    more = len(terms.domain.names) - len(names)
    listed = ", ".join(names) + f" and {more:,} more" * bool(more)
    what = measured(terms)
    return (
        f"{what[0].upper()}{what[1:]} by {listed}, with random noise that protects people. "
        f"{facts.size_in_words(terms, len(release))}."
    )


def _domain_in_words(terms: Terms) -> str:
    """Return which data are protected: all that the declared attributes can hold."""
    each = [
        f"{one_line(attribute.name)} ({one_line(kind_in_words(attribute.values))})"
        for attribute in terms.domain.attributes[:_LISTED]
    ]
    more = len(terms.domain.attributes) - len(each)
    said = "; ".join(each) + f"; and {more:,} more" * bool(more)
    cells = "" if terms.domain.unlisted else f" {cells_in_words(terms.domain.cells_total)} cells in all."
    return f"Any rows with these attributes: {said}.{cells}"


def _parameters(cost: Cost) -> dict[str, float]:
    said = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return {name: upwards(value) for name, value in said.items() if value is not None}


def upwards(value: Fraction) -> float:
    """Return the number as its shortest decimal says it, or the next larger one that a float can hold.

    >>> upwards(Fraction(3, 10)), upwards(Fraction(1, 3)), upwards(Fraction(2))
    (0.3, 0.33333333333333337, 2)
    """
    if value.denominator == 1:
        return value.numerator
    found = float(value)
    while Fraction(repr(found)) < value:
        found = nextafter(found, inf)
    return found


def _post_processing(terms: Terms) -> str:
    sparse = any(not part.method.complete for part in terms.parts or (terms,))
    said = "Which noisy counts are published follows from the counts and public settings alone. " * sparse
    together = "Answers fit all tables together when the file is read. " * bool(terms.parts)
    return f"{said}{together}No count is rounded or raised to 0."


def _composition(terms: Terms) -> str:
    tables = many(len(terms.parts), "table", "tables") if terms.parts else "all counts"
    beside = {"the noisy total": terms.total_budget, "who is left out": terms.left_out_budget}
    total = "".join(f" and {name}" for name, spent in beside.items() if spent)
    return (
        f"What one unit can change in {tables}{total} is added up, and {terms.cost.paid} pays for all of it. "
        "Other releases about the same people add to that, and are not part of this record."
    )


def _preprocessing(terms: Terms) -> str:
    """Return what was done to rows before they were counted; all of it is declared, none of it learnt."""
    said = [*facts.counted(terms)[1:], *facts.prepared(terms)]
    rules = [
        f"{one_line(each.name)}: missing {one_line(rule_in_words(each.missing))}, "
        f"undeclared {one_line(rule_in_words(each.outside))}"
        for each in terms.domain.attributes[:_LISTED]
    ]
    declared = "Attributes and their values were declared by the publisher, not read off the rows."
    return " ".join([declared, *said, "Values that do not fit: " + "; ".join(rules) + "."])


def _mechanisms(terms: Terms) -> str:
    law = terms.law.sentence
    methods = sorted({part.method.name for part in terms.parts or (terms,)})
    return (
        f"Noise in each {terms.structure.row}: {law}. Summary: {', '.join(methods)}. Drawn "
        f"by hushtable {one_line(terms.version)} as exact whole numbers from a cryptographic generator; no "
        "floating-point number decides what is drawn. Run time depends on the data and is not protected."
    )


def _justification(terms: Terms) -> str:
    plan = one_line(plan_in_words(terms))
    if plan:
        return f"Settings {plan}."
    rules = sorted({part.rule for part in terms.parts or (terms,) if part.rule is not None})
    return (
        f"Settings chosen from public numbers by rule: {', '.join(map(one_line, rules))}."
        if rules
        else "Settings were stated by the publisher."
    )


def _sources(known: Provenance, *, file: Path) -> str:
    digest = digest_of(file)
    name = one_line(file.absolute().name)
    said = f"{name}, SHA-256 {digest}" if digest else name
    return said if known.url is None else f"{known.url} ({said})"


def _file_object(path: Path, file: Path) -> dict[str, Any]:
    name = path.absolute().name
    inside = f"{file.absolute().name}/{name}" if file.is_dir() else name
    return {
        "@type": "cr:FileObject",
        "@id": quote(name),
        "name": one_line(name),
        "contentUrl": quote(inside),
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": _PARQUET,
        "sha256": digest_of(path),
    }


def _column(terms: Terms, name: str) -> str:
    """Return what a column holds."""
    if name == "count":
        return "The noisy count."
    if name == "weight":
        return "What to add up for an estimate of a sum over several rows."
    try:
        return f"{one_line(kind_in_words(attribute_named(terms.domain, name).values)).removesuffix(', ...')}."
    except HushtableError:
        return "Part of where the row belongs; see the format of release files."
