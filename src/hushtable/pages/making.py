"""One HTML file that shows a release to people: opened from disk, without a network and without a server.

The page is three files of this folder, written by hand: its words and places (`page.html`), its look
(`page.css`) and its script (`page.js`). What a release says comes beside them as JSON, in elements that
browsers do not run, and the script writes it as text.

Promise: the page loads nothing and sends nothing. Its content security policy allows the one script and the
one style that are ours, by their SHA-256, and no address at all. No text of a release is ever markup. The
page has at most `MOST_BYTES`, unless the words of a release alone are longer. The same release gives the same
page, byte for byte.
Cost: one or two questions for each view (views.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from hushtable.errors import BadOutput, HushtableError
from hushtable.files.placing import new_file, only
from hushtable.files.recognising import is_page
from hushtable.pages import facts
from hushtable.pages.asked import AskedRelease, Estimated
from hushtable.pages.encoding import allowed, as_json, encoded, is_vague, item_of_page, used_codes
from hushtable.pages.views import MOST_GROUPS, LeftOut, View, views_of
from hushtable.plots.words import measured, one_line

__all__ = ["MOST_GROUPS", "page_of", "write_page"]

MOST_BYTES = 5_000_000
_FEWEST_GROUPS = 1_000
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_READ_AT_ONCE = 1 << 20

# Nothing is allowed that is not named. Trusted types stop a script, ours too, from making markup of text.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def write_page(page: str, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a page; only a page of ours is replaced."""
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        hint = "Give it a name that ends in .html."
        raise BadOutput("its name does not end in .html", hint, file=str(path))
    with new_file(place, overwrite=overwrite, check=only(is_page, "a page by hushtable")) as file:
        file.write(page.encode())


def page_of(
    release: AskedRelease,
    *,
    file: Path,
    title: str | None = None,
    groups: int = MOST_GROUPS,
    confidence: float = 0.95,
    asking: bool = False,
) -> str:
    """Return the page of a release; with `asking`, one that may ask the server it came from."""
    views, left_out = views_of(release, groups=groups, confidence=confidence)
    heading = one_line(title or release.terms.domain.title) or one_line(file.absolute().name)
    total = _total(release, confidence)
    while True:
        data = _data(release, views, left_out, total=total, confidence=confidence)
        data["facts"] |= {"title": heading, "asking": asking, "file": one_line(file.absolute().name)}
        digest = digest_of(file)
        data["facts"]["cite"] = facts.citation(release.terms, title=heading, digest=digest)
        page = _filled(data, asking=asking)
        if len(page.encode()) <= MOST_BYTES or groups <= _FEWEST_GROUPS:
            return page
        groups //= 2
        views = [view.largest(max(1, groups // 4)) for view in views]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; nothing of a folder."""
    if not path.is_file():
        return ""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(_READ_AT_ONCE):
            digest.update(part)
    return digest.hexdigest()


def _total(release: AskedRelease, confidence: float) -> Estimated | None:
    try:
        return release.total(confidence=confidence)
    except HushtableError:
        return None


def _data(
    release: AskedRelease,
    views: Sequence[View],
    left_out: Sequence[LeftOut],
    *,
    total: Estimated | None,
    confidence: float,
) -> dict[str, Any]:
    """Return what the page holds: its facts, and its views one by one."""
    terms, used = release.terms, used_codes(views)
    named = {item.name: item for view in views for item in view.items}
    order = sorted(named, key=lambda name: (named[name].place, -named[name].attribute.size))
    number = {name: place for place, name in enumerate(order)}
    bodies = [encoded(view, used, [number[name] for name in view.names]) for view in views]
    about = {
        "start": _start(views, number),
        "measured": measured(terms),
        "counted": facts.counted(terms),
        "prepared": facts.prepared(terms),
        "signed": terms.measure.clamp is not None and terms.measure.clamp[0] < 0,
        "guarantee": one_line(terms.guarantee),
        "privacy": terms.cost.privacy,
        "paid": terms.cost.paid,
        "odds": facts.odds(terms),
        "total": facts.estimate_in_words(total),
        "size": facts.size_in_words(terms, len(release)),
        "confidence": f"{100 * confidence:.10g} %",
        "warnings": [
            *(one_line(each) for each in release.noise.warnings if release.noise.is_noise),
            *facts.nothing_in(len(release)),
        ],
        "accuracy": facts.accuracy(views, terms),
        "cautions": facts.cautions(terms, confidence=confidence),
        "dictionary": facts.dictionary(terms),
        "leftOut": facts.left_out_in_words(left_out),
        "version": one_line(terms.version),
        "items": [item_of_page(named[name], used[name]) for name in order],
        "views": [
            {
                "items": body["items"],
                "groups": view.groups,
                "complete": view.complete,
                "vague": is_vague(view),
                "note": one_line(view.note),
                "source": one_line(view.source),
            }
            for view, body in zip(views, bodies, strict=True)
        ],
    }
    return {"facts": about, "views": bodies}


def _start(views: Sequence[View], number: Mapping[str, int]) -> int | None:
    """Return the view that is shown first: the first attribute of which the release says something."""
    shown = [place for place, view in enumerate(views) if len(view.items) != 2 or _reached(view, views)]
    order = sorted(
        shown,
        key=lambda place: (is_vague(views[place]), len(views[place].items), number[views[place].names[0]]),
    )
    return order[0] if order else None


def _reached(view: View, views: Sequence[View]) -> bool:
    """Return whether the controls lead to a pair: its first attribute is there by itself."""
    return any(each.names == view.names[:1] for each in views)


def _filled(data: Mapping[str, Any], *, asking: bool) -> str:
    """Return the template with its slots filled, all in one pass: what fills one is not looked at again."""
    template, style, script = (_read(f"page.{end}") for end in ("html", "css", "js"))
    policy = _POLICY.format(
        script=allowed(script), style=allowed(style), connect="'self'" if asking else "'none'"
    )
    bodies = "\n".join(
        f'<script type="application/json" id="view-{number}">{as_json(body)}</script>'
        for number, body in enumerate(data["views"])
    )
    slots = {
        "policy": policy,
        "style": style,
        "script": script,
        "facts": as_json(data["facts"]),
        "views": bodies,
    }
    return _SLOT.sub(lambda slot: slots[slot[1]], template)


def _read(name: str) -> str:
    return files("hushtable.pages").joinpath(name).read_text(encoding="utf-8")
