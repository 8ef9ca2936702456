"""A report as a document: sections of texts, facts, tables and pictures, written as HTML or as Markdown.

Promise: no text of a release is ever markup. In HTML every text is escaped, nothing is loaded, and there is
no script at all: the content security policy allows one style of ours by its SHA-256. In Markdown all that
could make markup, a link or an entity is escaped. Each text is one line without characters that turn or hide
others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Protocol, Self

import numpy as np

from hushtable.files.recognising import REPORT_MARK
from hushtable.pages.drawn import Drawn, bars_or_line
from hushtable.pages.encoding import allowed
from hushtable.pages.views import View
from hushtable.plots.words import one_line

_POLICY = "default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none'"
_MARKUP = re.compile(r"[\\`*_{}\[\]<>|~$&@^#]")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp):")
_WIDE = 24  # blocks of the longest bar in Markdown


class DocumentBlock(Protocol):
    """What a section is made of."""

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield f"<p>{_html(self.text)}</p>"

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        yield from (_markdown(self.text), "")


@dataclass(frozen=True)
class Warned:
    """A paragraph that nobody should miss."""

    text: str

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield f'<p class="warned">{_html(self.text)}</p>'

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        yield from (f"> **{_markdown(self.text)}**", "")


@dataclass(frozen=True)
class Facts:
    """Names with what they are."""

    facts: Sequence[tuple[str, str]]

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield "<dl>"
        yield from (f"<div><dt>{_html(name)}</dt><dd>{_html(text)}</dd></div>" for name, text in self.facts)
        yield "</dl>"

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        yield from (f"- **{_markdown(name)}**: {_markdown(text)}" for name, text in self.facts)
        yield ""


@dataclass(frozen=True)
class Table:
    """Rows under a head; `caption` says what they are, where the text before does not."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str] = ()  # columns that are not broken

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield '<div class="scrolled"><table>'
        if self.caption:
            yield f"<caption>{_html(self.caption)}</caption>"
        kinds = [' class="number"' if each in self.numbers else "" for each in self.head]
        cells = (
            f'<th scope="col"{kind}>{_html(each)}</th>' if each else "<td></td>"
            for each, kind in zip(self.head, kinds, strict=True)
        )
        yield f"<thead><tr>{''.join(cells)}</tr></thead><tbody>"
        for first, *rest in self.rows:
            cells = (f"<td{kind}>{_html(each)}</td>" for each, kind in zip(rest, kinds[1:], strict=True))
            yield f'<tr><th scope="row">{_html(first)}</th>{"".join(cells)}</tr>'
        yield "</tbody></table></div>"

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        yield _row(self.head)
        yield _row(["---"] * len(self.head), plain=True)
        yield from map(_row, self.rows)
        yield ""


@dataclass(frozen=True)
class Blank:
    """A table to be filled in by hand: one line for each of `firsts`."""

    head: Sequence[str]
    firsts: Sequence[str]

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield '<table class="blank">'
        cells = (f'<th scope="col">{_html(each)}</th>' for each in self.head)
        yield f"<thead><tr>{''.join(cells)}</tr></thead>"
        empty = "<td></td>" * (len(self.head) - 1)
        yield "<tbody>"
        yield from (f'<tr><th scope="row">{_html(each)}</th>{empty}</tr>' for each in self.firsts)
        yield "</tbody></table>"

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        rows = [[each, *[""] * (len(self.head) - 1)] for each in self.firsts]
        yield from Table("", self.head, rows).to_markdown()


@dataclass(frozen=True)
class DrawnGroups:
    """Groups with their intervals: a picture in HTML, a table with bars of blocks in Markdown."""

    title: str
    caption: str
    drawn: Drawn

    @classmethod
    def of(cls, view: View, *, title: str, level: str) -> Self:
        """Return the picture of a view; its caption says which groups are not shown."""
        drawn = bars_or_line(view)
        said = f"Bars are estimates, and lines are intervals of {level} confidence."
        if drawn.over_time:
            said = f"The line is the estimate, and the band is its interval of {level} confidence."
        elif drawn.unclear.any():
            said += " Grey groups cannot be told from 0."
        if len(drawn.labels) < view.groups:
            said += (
                f" The picture shows the {len(drawn.labels):,} largest of {view.groups:,} groups. "
                "Intervals of "
            )
            said += "groups that are picked for their size miss more often."
        if drawn.rest_text:
            ends = " (their bar is cut off)" * (drawn.has_rest and drawn.rest_is_cut)
            said += f" All others together{ends}: {drawn.rest_text}. "
            said += "This interval holds whichever groups are the largest."
        return cls(title, f"{said} {view.note}", drawn)

    def to_html(self) -> Iterator[str]:
        """Yield it as HTML."""
        yield f"<figure><h3>{_html(self.title)}</h3>"
        yield '<div class="scrolled">'
        yield from self.drawn.to_svg(self.title, _html)
        yield f"</div><figcaption>{_html(self.caption)}</figcaption></figure>"

    def to_markdown(self) -> Iterator[str]:
        """Yield it as lines of Markdown."""
        yield from (f"### {_markdown(self.title)}", "")
        largest = max(float(np.abs(self.drawn.numbers[0]).max(initial=0)), 1e-300)
        rows = []
        for label, texts, value, vague in zip(
            self.drawn.labels, self.drawn.texts, self.drawn.numbers[0], self.drawn.unclear, strict=True
        ):
            block = "░" if vague else "█"
            rows.append([label, *texts, block * max(0, round(_WIDE * value / largest))])
        yield from Table("", ("group", "estimate", "from", "to", ""), rows).to_markdown()
        yield from (_markdown(self.caption), "")


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    heading: str
    blocks: Sequence[DocumentBlock]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A title with sections."""

    title: str
    about: str
    sections: Sequence[Section]

    def to_html(self) -> str:
        """Return it as one HTML file."""
        style = files("hushtable.pages").joinpath("report.css").read_text(encoding="utf-8")
        lines = [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(style=allowed(style))}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="{REPORT_MARK}">',
            f"<title>{_html(self.title)}: report</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body><main>",
            f"<header><h1>{_html(self.title)}</h1><p>{_html(self.about)}</p></header>",
        ]
        for section in self.sections:
            lines.append(f"<section><h2>{_html(section.heading)}</h2>")
            lines += [line for block in section.blocks for line in block.to_html()]
            lines.append("</section>")
        return "\n".join([*lines, "</main></body>", "</html>", ""])

    def to_markdown(self) -> str:
        """Return it as Markdown, as CommonMark and GitHub read it."""
        lines = [f"<!-- {REPORT_MARK} -->", f"# {_markdown(self.title)}", "", _markdown(self.about), ""]
        for section in self.sections:
            lines += [f"## {section.heading}", ""]
            lines += [line for block in section.blocks for line in block.to_markdown()]
        return "\n".join(lines)


def _html(text: str) -> str:
    return escape(one_line(text))


def _markdown(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> print(_markdown("a*b* <i> [x](http://y) | person_id"))
    a\*b\* \<i\> \[x\](http\://y) \| person\_id
    """
    line = _MARKUP.sub(lambda found: "\\" + found[0], one_line(text))
    line = _ADDRESS.sub(lambda found: f"{found[1]}\\:", line)
    return re.sub(r"(?i)\bwww\.", lambda found: found[0][:-1] + "\\.", line)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return f"| {' | '.join(cells if plain else map(_markdown, cells))} |"
