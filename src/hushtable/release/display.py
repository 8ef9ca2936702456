"""How a release looks: as text, and as a small table in a notebook.

Promise: the guarantee is always in sight. Text from the file is never taken for markup, and has no character
that does not print: none moves the cursor, starts a line or turns the direction of reading.
"""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

from hushtable.domain.kinds import plain
from hushtable.errors import printable
from hushtable.release.layout import schema_of
from hushtable.release.left_out import left_out_sentence
from hushtable.release.terms import Terms
from hushtable.structures.table_space import largest_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hushtable.release.record import ReleaseFile

_SHOWN_COLUMNS = 12
_SHOWN_ROWS = 10
_TYPES = {"string": "text", "double": "float64", "date32[day]": "date", "timestamp[us]": "timestamp"}


def text(release: ReleaseFile) -> str:
    """Return a few lines on what the release is."""
    facts = _facts(release)
    width = max(map(len, facts)) + 2
    lines = [f"Release {_title(release)}", f"  {release.guarantee}"]
    lines += [f"  {name + ':':{width}}{said}" for name, said in facts.items()]
    return "\n".join(lines)


def html(release: ReleaseFile) -> str:
    """Return the same with the first rows, for a notebook."""
    from html import escape  # here: it is slow to load

    head = release.first_rows(_SHOWN_ROWS)
    names = "".join(f"<th>{escape(name)}</th>" for name in head.column_names)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row.values())}</tr>"
        for row in head.to_pylist()
    )
    more = len(release) - head.num_rows
    facts = "<br>".join(f"{escape(name)}: {escape(said)}" for name, said in _facts(release).items())
    return (
        f"<div><p><b>Release {escape(_title(release))}</b><br>{escape(release.guarantee)}</p>"
        f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>{f'and {more:,} more rows<br>' if more else ''}{facts}</p></div>"
    )


def _title(release: ReleaseFile) -> str:
    title, name = release.domain.title, release.path.absolute().name  # of "." too
    return f"{title!r} ({printable(name)})" if title else printable(name)


def _facts(release: ReleaseFile) -> dict[str, str]:
    """Return what is worth knowing at a glance."""
    terms, all_rows = release.terms, release.terms.units_total
    m = f"{all_rows:,}" if all_rows < 10**15 else f"about 10^{log10(all_rows):.1f}"
    facts = {"rows": f"{len(release):,} of {m} {terms.structure.row}s"}
    if terms.domain.unlisted:
        facts = {"rows": f"{len(release):,} {terms.structure.row}s; how many there are is not limited"}
    if (structure := terms.nodes.named(terms.domain)) is not None:
        facts["structure"] = structure
    facts["summary"] = _summary(release)
    if terms.plan is not None:
        facts["settings"] = plan_in_words(terms)
    if terms.total is not None:
        word = "epsilon" if terms.rho is None else "rho"
        facts["total"] = f"{terms.total:,}, noisy, for {word} = {plain(terms.total_budget)} of it"
    if (left_out := left_out_sentence(terms)) is not None:
        facts["left out"] = left_out
    return facts | {"columns": _columns(schema_of(terms))}


def _summary(release: ReleaseFile) -> str:
    """Return the method, what its rows met, and the settings that they do not show.

    Of a data cube, those of its largest marginal.
    """
    terms, said = release.terms, [type(release.summary).__name__]
    for name in ("cutoff", "threshold"):
        value = getattr(terms, name)
        said += [f"{name} {_number(value)}"] if value is not None else []
    if (size := getattr(terms.method, "size", None)) is not None:
        said.append(f"size {size:,}")
    if not getattr(terms.method, "two_sided", True):
        said.append("positive counts only")
    by_rule = terms.rule is not None and terms.plan is None
    return ", ".join(said + [f"chosen by rule {terms.rule}"] * by_rule) + largest_text(terms)


def largest_text(terms: Terms) -> str:
    """Return which marginal of a cube a summary is of, where they differ; else nothing."""
    if len(set(terms.parts)) < 2:
        return ""
    marginals = terms.nodes.marginals
    return f"; that of {marginals[largest_of(marginals)].label}, the largest {terms.structure.part}"


def plan_in_words(terms: Terms) -> str:
    """Return what a plan had to do with the settings, and what it assumed; nothing without a plan."""
    if terms.plan is None:
        return ""
    what = "by" if terms.rule == terms.plan.rule else "chosen by the owner, judged by"
    return f"{what} a plan ({terms.plan.rule}), assuming {terms.plan.assumed}; declared public by the owner"


def _columns(schema: pa.Schema) -> str:
    fields = [f"{field.name} {_TYPES.get(str(field.type), field.type)}" for field in schema]
    if len(fields) > _SHOWN_COLUMNS:
        fields = [*fields[: _SHOWN_COLUMNS - 3], f"{len(fields) - _SHOWN_COLUMNS + 1} more", *fields[-2:]]
    return ", ".join(fields)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return _number(value) if isinstance(value, float) else printable(str(value))


def _number(value: float) -> str:
    return f"{value:.10g}"
