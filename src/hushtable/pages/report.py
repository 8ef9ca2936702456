"""A report about a release, for those who sign it off: facts, tables and pictures in a fixed order.

Promise: what is said follows from the release, from the answers of `release.by` and, in the owner's version,
from the entry of the ledger that has the digest of this very file. A check is listed only if it was made on
the way to the report; had one failed, there would be no report. What follows from a plan is what the release
recorded of it, not what anybody remembers. The same release gives the same report, without a time or a host.
Cost: one call of `release.by` for each published table and attribute, and one pass over the rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple

from hushtable.domain.wording import cells_in_words, kind_in_words, many, rule_in_words
from hushtable.errors import HushtableError
from hushtable.pages import facts
from hushtable.pages.asked import AskedRelease
from hushtable.pages.document import (
    Blank,
    Document,
    DocumentBlock,
    DrawnGroups,
    Facts,
    Section,
    Table,
    Text,
    Warned,
)
from hushtable.pages.drawn import MOST_BARS
from hushtable.pages.encoding import decimals_of, is_vague, usual_margin
from hushtable.pages.views import Named, View, answered, named_items, single_items, with_others
from hushtable.plots.words import measured, one_line
from hushtable.release.display import plan_in_words
from hushtable.release.terms import Terms, as_text
from hushtable.release.writing import digest_of

_MOST_TABLES, _MOST_GROUPS, _PICTURES = 40, 20_000, 3
_MOST_CELLS = 200_000  # of a table whose groups are asked for: answers for more take minutes
_MISSED = 0.05  # the chance of noise beyond what a table is said to have

_MEANS = (
    "What {paid} means: suppose that somebody wants to tell from this file whether a given {unit} is in "
    "the data, and that they decide as well as anybody can. If they wrongly say yes for about {out} of 100 "
    "that are not in it, they rightly say yes for at most about {in} of 100 that are. {verdict}"
)
_MEANS_LITTLE = (
    "What {paid} means: in the worst case, somebody who knows nearly everything else could tell from this "
    "file whether a given {unit} is in the data, with less than 1 mistake in 100. {verdict}"
)
_ADDS_UP = (
    "The guarantee holds whatever else somebody knows, now and later. It is about this file alone: the costs "
    "of other releases about the same people add up."
)
_PLANNED = (
    "The column “planned” is the noise that the budget buys for one count of a table: 95 of 100 draws lie "
    "within it. The column “found” is a usual margin of this file's own answers, at {level}. Answers combine "
    "all tables, so they can be better than the noise in one of them."
)
_NOT_CHECKED = (
    "Not checked, because no file can tell: that the rows were the right ones, that a bound on each "
    "person's rows suits the data, and that nobody changed the file on purpose and computed new "
    "checksums. Compare the SHA-256 with one that you trust."
)


@dataclass(frozen=True, kw_only=True)
class Booked:
    """What a ledger says of a release, and of those before and after it: for the owner alone."""

    file: str
    about: str
    balance: str
    bounds: Sequence[str]
    number: int
    entries: Sequence[tuple[str, str, str, str, str]]  # number, when, cost, state, what


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What the recorded plan leads one to expect of the rows."""

    rows: float
    real: float


class Unasked(NamedTuple):
    """A published table whose groups are not asked for: its attributes, its number, and why."""

    items: Sequence[Named]
    number: int | None
    why: str


def report_of(
    release: AskedRelease,
    *,
    file: Path,
    rows_real: float | None,
    booked: Booked | None = None,
    foreseen: Foreseen | None = None,
    title: str | None = None,
    confidence: float = 0.95,
) -> Document:
    """Return the report of a release whose rows were read and checked."""
    terms = release.terms
    views, unasked = _views(release, confidence)
    name = one_line(file.absolute().name)
    whose = "Public version: it follows from the file alone, and may go wherever the file goes."
    if booked is not None:
        whose = "Owner's version: it names other releases from the ledger. Keep it where the ledger is kept."
    return Document(
        title=one_line(title or terms.domain.title) or name,
        about=f"Report for sign-off. {whose}",
        sections=(
            _in_short(release, name=name, file=file, confidence=confidence),
            _protection(terms),
            _cost(terms, booked),
            _published(release, rows_real, foreseen),
            _accuracy(views, unasked, terms, confidence),
            _pictures(release, views, confidence),
            Section(
                "What one must not conclude",
                [Text(each) for each in facts.cautions(terms, confidence=confidence)],
            ),
            _checks(terms, booked, file=file),
            _declared(terms),
            _signatures(),
        ),
    )


def _in_short(release: AskedRelease, *, name: str, file: Path, confidence: float) -> Section:
    terms = release.terms
    said = [("What it is", _sentence(measured(terms)) + " by " + _listed(terms.domain.names))]
    try:
        total = facts.estimate_in_words(release.total(confidence=confidence))
    except HushtableError:
        total = None
    if total is not None:
        level = f"{100 * confidence:.10g} %"
        said.append(("In all", f"{total['value']} ({level} interval: {total['low']} to {total['high']})"))
    said += [
        ("Protection", f"{terms.cost.privacy}, {terms.cost.paid}"),
        ("Size", facts.size_in_words(terms, len(release))),
        ("File", name),
        (
            "SHA-256" + " of the list of parts" * file.is_dir(),
            digest_of(file) or "not known: the file cannot be read any more",
        ),
        ("Software", f"hushtable {terms.version}"),
    ]
    warned = [*release.noise.warnings, *facts.nothing_in(len(release))]
    return Section("In short", [*map(Warned, warned), Facts(said)])


def _protection(terms: Terms) -> Section:
    said = [Text(terms.guarantee)]
    odds = facts.odds(terms)
    words = _MEANS if odds["out"] else _MEANS_LITTLE
    said.append(Text(words.format(paid=terms.cost.paid, unit=facts.protected(terms), **odds)))
    said.append(Text(_ADDS_UP))
    said += [Text(each) for each in (*facts.counted(terms)[1:], *facts.prepared(terms))]
    return Section("Who is protected, and how", said)


def _cost(terms: Terms, booked: Booked | None) -> Section:
    word = terms.cost.word
    said = [("In all", terms.cost.said)]
    if terms.total_budget:
        said.append(("For the noisy total", f"{word} = {as_text(terms.total_budget)}"))
    if terms.left_out_budget:
        said.append(("For who is left out", f"{word} = {as_text(terms.left_out_budget)}"))
    said.append(("The most that one unit can change", _change(terms)))
    blocks: list[DocumentBlock] = [Facts(said)]
    if booked is None:
        blocks.append(Text("The file does not say whether a ledger was charged for it."))
    else:
        blocks += [
            Text(
                f"The ledger {booked.file} ({booked.about}) was charged for this file: entry {booked.number}."
            ),
            Text(booked.balance),
            *(Text(each) for each in booked.bounds),
            Table(
                "All entries of the ledger",
                ("no.", "when (UTC)", "cost", "state", "what"),
                [
                    (number + " ← this file" * (number == str(booked.number)), *rest)
                    for number, *rest in booked.entries
                ],
            ),
        ]
    return Section("What it cost", blocks)


def _change(terms: Terms) -> str:
    """Return by how much one unit changes the counts."""
    if terms.parts:
        parts = many(len(terms.parts), terms.structure.part, terms.structure.part + "s")
        return f"{terms.measure.sensitivity:,} in {'each of ' * (len(terms.parts) > 1)}the {parts}"
    return f"{terms.sensitivity:,} in all counts together{terms.structure.weighing}"


def _published(release: AskedRelease, rows_real: float | None, foreseen: Foreseen | None) -> Section:
    terms = release.terms
    said: list[tuple[str, str]] = []
    structure = terms.nodes.named(terms.domain)
    if terms.parts:
        said.append(("Tables", f"{many(len(terms.parts), terms.structure.part, terms.structure.part + 's')}"))
    elif structure is not None:
        said.append(("Structure", structure))
    where = f", in each {terms.structure.row}" if terms.law.noises_empty else ""
    said.append(("Noise", terms.law.sentence + where))
    if not terms.parts:
        said.append(("Summary", _method(terms)))
    if terms.plan is not None:
        said.append(("Settings", plan_in_words(terms)))
        said.append(("Planned for", many(terms.plan.size, "row", "rows")))
    else:
        rules = sorted({part.rule for part in terms.parts or (terms,) if part.rule is not None})
        chosen = (
            f"chosen from public numbers by the rule{'s' * (len(rules) > 1)} {_listed(rules)}"
            if rules
            else "stated by the publisher"
        )
        said.append(("Settings", chosen))
    if foreseen is not None:
        found = "" if rows_real is None else f", of which about {rows_real:,.0f} of groups that are not empty"
        said.append(
            (
                "Rows, planned",
                f"about {foreseen.rows:,.0f}, of which {foreseen.real:,.0f} of groups that are not empty",
            )
        )
        said.append(("Rows, published", f"{len(release):,}{found}"))
    blocks: list[DocumentBlock] = [Facts(said)]
    asked = _asked(terms)
    if asked:
        blocks += [Text("What the publisher asked for, as the file records it:"), Facts(asked)]
    return Section("What was published, and why", blocks)


def _asked(terms: Terms) -> list[tuple[str, str]]:
    """Return the words of the recipe that the file records."""
    found = json.loads(terms.recipe) if terms.recipe is not None else {}
    return [
        (name.replace("_", " "), _value(value))
        for name, value in found.items()
        if value not in (None, [], {})
    ]


def _value(value: object) -> str:
    """Return a word of a recipe as text."""
    if isinstance(value, dict):
        name = str(value.get("name", ""))
        rest = [f"{key.replace('_', ' ')} {_value(each)}" for key, each in value.items() if key != "name"]
        return ", ".join([name, *rest] if name else rest)
    if isinstance(value, list):
        return "; ".join(map(_value, value))
    return value if isinstance(value, str) else json.dumps(value)


def _accuracy(views: Sequence[View], unasked: Sequence[Unasked], terms: Terms, confidence: float) -> Section:
    """Return the margins of answers beside the noise that was planned for."""
    places = {each.label: number for number, each in enumerate(terms.nodes.marginals)}
    rows = []
    for view in views:
        label = ", ".join(view.names)
        own = terms.part(places[label]) if label in places else None
        if own is None and not terms.parts and view.names == terms.domain.names:
            own = terms if terms.nodes.named(terms.domain) is None else None
        margin, decimals = usual_margin(view.numbers), decimals_of(view.numbers)
        planned = None if own is None else own.law.floats.quantile(_MISSED / 2)
        rows.append(
            (
                _labels(view.items),
                f"{view.groups:,}",
                "" if own is None else _method(own),
                "" if planned is None else f"± {planned:,.{decimals}f}",
                "no limit" if margin is None else f"± {margin:,.{decimals}f}",
                f"{len(view.codes[0]) - int(view.unclear.sum()):,} of {len(view.codes[0]):,}",
                _verdict(own, planned, margin),
            )
        )
    for items, number, why in unasked:
        own = terms if number is None else terms.part(number)
        noise = f"± {own.law.floats.quantile(_MISSED / 2):,.0f}"
        groups = cells_in_words(None if own.domain.unlisted else own.domain.cells_total)
        rows.append((_labels(items), groups, _method(own), noise, "", "", why))
    return Section(
        "How accurate each table is",
        [
            Text(_PLANNED.format(level=f"{100 * confidence:.10g} %")),
            Table(
                "Each published table and each attribute",
                ("table", "groups", "published", "planned", "found", "clear of 0", ""),
                rows,
                numbers=("groups", "planned", "found", "clear of 0"),
            ),
        ],
    )


def _verdict(own: Terms | None, planned: float | None, margin: float | None) -> str:
    """Return what to think of the two numbers."""
    if own is None or planned is None:
        return "calculated from what was published"
    if margin is not None and margin <= planned:
        return "as planned, or better"
    if own.cutoff is not None:
        return "wider than the noise, to allow for counts that are not in the file"
    if own.threshold:
        return "wider than the noise, because small counts were sampled"
    return "wider than the noise of one count"


def _pictures(release: AskedRelease, views: Sequence[View], confidence: float) -> Section:
    """Return pictures of the views that say most: attributes of their own first, then pairs."""
    clear = [view for view in views if not is_vague(view) and len(view.items) <= 2 and len(view.codes[0]) > 1]
    order = sorted(clear, key=lambda view: (len(view.items), view.items[0].place, len(view.codes[0])))
    chosen: list[View] = []
    for fresh in (True, False):
        for view in order:
            seen = {each.items[0].place for each in chosen}
            if view not in chosen and len(chosen) < _PICTURES and (view.items[0].place not in seen) == fresh:
                chosen.append(view)
    what = _sentence(measured(release.terms))
    level = f"{100 * confidence:.10g} %"
    blocks: list[DocumentBlock] = [
        DrawnGroups.of(
            with_others(release, view, bars=MOST_BARS, confidence=confidence),
            title=f"{what} by {' and '.join(each.label for each in view.items)}",
            level=level,
        )
        for view in chosen
    ]
    if not blocks:
        blocks = [
            Text("No table is clear enough for a picture: intervals are wider than what they are about.")
        ]
    return Section("Pictures", blocks)


def _checks(terms: Terms, booked: Booked | None, *, file: Path) -> Section:
    """Return what opening, reading and this report have checked."""
    said = [
        "The checksums inside the file hold: no byte of the footer or of the rows has changed since it "
        "was written.",
        "The footer describes a release whose terms fit together: cost, noise, sensitivity, structure and "
        "summary.",
        "The columns are those that the declared attributes and the structure have, and no others.",
        "The rows are as many as the footer says, and no more than its terms allow.",
        "Every row belongs to declared values, each combination comes at most once, and rows stand in the "
        "order of the declaration, which tells nothing of the data.",
        "Every weight is a finite number.",
    ]
    if file.is_dir():
        said.append("All parts of the release are there, each after the one that it was written after.")
    if booked is not None:
        said += [
            "The ledger has an entry with the SHA-256 of this very file.",
            "That entry is for the unit that this file protects, and for what this file cost.",
            "All entries of the ledger together are within its budget.",
        ]
    return Section(
        "Checks that were run",
        [
            Text(
                "These checks ran while this report was written. If one had failed, there would be no report:"
            ),
            Table("", ("check", "result"), [(each, "passed") for each in said], numbers=("result",)),
            Text(_NOT_CHECKED),
        ],
    )


def _declared(terms: Terms) -> Section:
    listed = terms.domain.attributes[:400]
    more = len(terms.domain.attributes) - len(listed)
    rows = [
        (
            each.name,
            kind_in_words(each.values),
            _listed([level.name for level in each.levels]),
            rule_in_words(each.missing),
            rule_in_words(each.outside),
        )
        for each in listed
    ]
    head = ("attribute", "values", "levels", "missing", "undeclared")
    blocks: list[DocumentBlock] = [Table("Attributes, declared by the publisher", head, rows)]
    if more:
        blocks.append(Text(f"{more:,} more attributes are in the file."))
    combined = "The number of possible combinations is not limited."
    if not terms.domain.unlisted:
        combined = f"{cells_in_words(terms.domain.cells_total)} combinations in all."
    blocks.append(Text(combined))
    return Section("What was declared", blocks)


def _signatures() -> Section:
    who = ("Data owner", "Data protection", "Statistics", "Released by")
    return Section(
        "Sign-off",
        [
            Text(
                "The undersigned have read this report, and agree to the publication of the file that it "
                "names."
            ),
            Blank(("role", "name", "date", "signature"), who),
        ],
    )


def _views(release: AskedRelease, confidence: float) -> tuple[list[View], list[Unasked]]:
    """Return answers for published tables, then for attributes that are none; and what is not asked."""
    terms, domain = release.terms, release.terms.domain
    tables: list[tuple[Sequence[Named], int | None]] = [
        (named_items(domain, each.domain.names), number)
        for number, each in enumerate(terms.nodes.marginals[:_MOST_TABLES])
    ]
    if not tables and terms.nodes.named(domain) is None:
        tables.append((named_items(domain, domain.names), None))
    noise = {each.label for each in release.noise.tables if each.is_noise}
    views: list[View] = []
    unasked: list[Unasked] = []
    known = set()
    for items, number in tables:
        names = tuple(each.name for each in items)
        known.add(names)
        if not names:
            continue
        if ("" if number is None else ", ".join(names)) in noise:
            unasked.append(Unasked(items, number, "no better than noise"))
        elif prod(each.attribute.size for each in items) > _MOST_CELLS:
            unasked.append(
                Unasked(items, number, "not calculated: there are too many groups to ask for all of them")
            )
        else:
            views += _answer(release, items, confidence)
    for item in single_items(domain)[:_MOST_TABLES]:
        if (item.name,) not in known:
            views += _answer(release, [item], confidence)
    return views, unasked


def _answer(release: AskedRelease, items: Sequence[Named], confidence: float) -> list[View]:
    try:
        return [answered(release, items, most=_MOST_GROUPS, confidence=confidence)]
    except HushtableError:  # a sketch does not answer for large tables
        return []


def _labels(items: Sequence[Named]) -> str:
    return ", ".join(each.label for each in items)


def _method(terms: Terms) -> str:
    """Return how rows of a table were chosen."""
    if terms.cutoff is not None:
        return f"noisy counts of {terms.cutoff:g} and more" + " in size" * terms.method.two_sided
    if terms.threshold:
        return "a sample, large counts first"
    return "whole" if terms.method.complete else "in part"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(one_line, texts[:60])) + f" and {len(texts) - 60:,} more" * (len(texts) > 60)
