"""How a domain looks in a notebook: one row for each attribute, and the number of cells.

Promise: whatever a domain says is shown as text; nothing of it is taken for markup.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hushtable.domain.wording import cells_in_words, kind_in_words, rule_in_words
from hushtable.errors import printable

if TYPE_CHECKING:
    from hushtable.domain.domain import Domain

_SHOWN_ATTRIBUTES = 50
_HEADERS = ("attribute", "values", "size", "missing", "outside")


def html(domain: Domain) -> str:
    """Return a domain as a small table."""
    rows = []
    for each in domain.attributes[:_SHOWN_ATTRIBUTES]:
        column = "" if each.column == each.name else f" (column {each.column})"
        levels = "".join(f"; level {level.name}: {level.values.size:,}" for level in each.levels)
        rules = (rule_in_words(rule) for rule in (each.missing, each.outside))
        rows.append(
            (
                each.name + column,
                kind_in_words(each.values) + levels,
                "not limited" if each.unlisted else f"{each.size:,}",
                *rules,
            )
        )
    more = len(domain.attributes) - len(rows)
    notes = [f"and {more:,} more attributes"] * (more > 0)
    notes += [f"cells: {cells_in_words(domain.cells_said)}"]
    notes += ["not reviewed: publishing refuses it (reviewed = false)"] * (not domain.reviewed)
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    title = f"Domain {domain.title!r}" if domain.title else "Domain"
    return (
        f"<div><p><b>{_said(title)}</b></p><table><thead><tr>{_cells('th', _HEADERS)}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
        f"<p>{'<br>'.join(map(_said, notes))}</p></div>"
    )


def _cells(tag: str, texts: tuple[str, ...]) -> str:
    return "".join(f"<{tag}>{_said(text)}</{tag}>" for text in texts)


def _said(text: str) -> str:
    return escape(printable(text))
