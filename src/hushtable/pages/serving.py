"""The page of a release, served to one's own browser, with questions answered by the release itself.

Promise: the server listens on 127.0.0.1 alone, and answers only whoever knows the token in its address, asked
by that address (so that no other web site reaches it by a name of its own). It serves one page and answers
questions about one release; it reads no other file and writes none. What a question says is data: it meets
the guard of all conditions.
Cost: the page is made once; each question is one call of `release.by` or `release.total`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from hushtable.domain.domain import Domain
from hushtable.domain.items import item_called, item_of, items_in, label_of
from hushtable.errors import HushtableError
from hushtable.pages.asked import AskedRelease
from hushtable.pages.encoding import as_json, encoded, item_of_page, used_codes
from hushtable.pages.facts import estimate_in_words
from hushtable.pages.making import page_of
from hushtable.pages.views import MOST_BARS, answered, named_items, with_others
from hushtable.plots.words import one_line

_MOST_ASKED = 65_536  # bytes of a question
_MOST_GROUPS = 25_000  # of an answer
_SECONDS = 30  # that a browser has to send its question
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageServer(ThreadingHTTPServer):
    """Serves the page of one release under `/TOKEN/`; made to listen, but not yet started."""

    daemon_threads = True

    def __init__(self, release: AskedRelease, *, file: Path, token: str, port: int = 0) -> None:
        self.token, self.release = token, release
        self.page = page_of(release, file=file, asking=True).encode()
        self.asking = Lock()  # a release reads its rows when it is first asked for them
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


def reply_to(release: AskedRelease, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a question: `by` names attributes, `where` is a condition; both may be empty."""
    by, where = (question.get(key, "") for key in ("by", "where"))
    if not isinstance(by, str) or not isinstance(where, str):
        return {"error": "A question has two texts, `by` and `where`."}
    try:
        condition = where.strip() or None
        if not by.strip():
            return {"total": estimate_in_words(release.total(condition))}
        items = named_items(release.terms.domain, _names(release.terms.domain, by))
        view = answered(release, items, most=_MOST_GROUPS, confidence=0.95, where=condition)
        view = with_others(release, view, bars=MOST_BARS, confidence=0.95, where=condition)
    except HushtableError as error:
        return {"error": one_line(str(error))}
    if not len(view.codes[0]):
        return {"error": "No group meets the condition."}
    used = used_codes([view])
    body = encoded(view, used, range(len(items)))
    body |= {"complete": view.complete, "note": one_line(view.note)}
    return {
        "view": body,
        "items": [item_of_page(each, used[each.name]) for each in items],
        "where": one_line(where),
    }


def _names(domain: Domain, by: str) -> list[str]:
    """Return the attributes that a text names, each at its level."""
    if item_called(domain, by) is not None:
        return [by]
    return [label_of(domain, item_of(domain, each)) for each in items_in(by.strip())]


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: PageServer
    timeout = _SECONDS
    server_version, sys_version = "hushtable", ""

    def do_GET(self) -> None:
        """Give the page."""
        if self._is_known(""):
            self._send(200, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        """Answer a question."""
        if not self._is_known("ask"):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_ASKED:
            self._send(413, "text/plain", b"too long")
            return
        try:
            question = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            question = None
        if not isinstance(question, dict):
            self._send(400, "text/plain", b"no question")
            return
        with self.server.asking:
            answer = reply_to(self.server.release, question)
        self._send(200, "application/json", as_json(answer).encode())

    def _is_known(self, name: str) -> bool:
        """Return whether the caller knows the secret address; if not, answer that there is nothing here."""
        expected = f"/{self.server.token}/{name}".encode()
        host = f"127.0.0.1:{self.server.server_port}"
        same = compare_digest(self.path.encode("utf-8", "replace"), expected)
        if same and self.headers.get("Host") == host:
            return True
        self._send(404, "text/plain", b"nothing here")
        return False

    def _send(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(body))} | _HEADERS).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: the address has the token."""
