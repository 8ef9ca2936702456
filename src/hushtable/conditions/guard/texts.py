"""Text that DuckDB's parser can be trusted with, and our words in place of DuckDB's.

Promise: a text that could hold the parser up or end the process is refused before it is parsed. No error of
DuckDB leaves this room: what is said instead is one short line, without the SQL that it repeats and without
advice that is closed here.
"""

from __future__ import annotations

import re

from hushtable.conditions.guard.policies import Policy
from hushtable.errors import BadQuery

LONGEST_TEXT = 100_000  # characters; DuckDB parses as many in half a second
DEEPEST_NESTING = 100  # brackets; those left open cost the parser the square of their number or more
DEEPEST_WITH = 4  # before a slip, each WITH at the start of another makes the parser six times slower

_LONGEST_SAID = 300  # characters of DuckDB's words
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_ADVICE = re.compile(r"\b(SET|RESET|PRAGMA|INSTALL|LOAD)\b")
_OR_ELSE = re.compile(r",? or (SET|PRAGMA)\b.*")


def check_text(text: object, policy: Policy) -> None:
    """Raise `BadQuery` unless DuckDB's parser can be trusted with the text."""
    if not isinstance(text, str):
        raise BadQuery(f"{policy.name} is of type {type(text).__name__}, not text", "Pass SQL as a string.")
    if not text.strip():
        raise BadQuery(f"{policy.name} is empty", "Leave it out, or write it in DuckDB's SQL.")
    if len(text) > LONGEST_TEXT:
        fact = f"{policy.name} is {len(text):,} characters long, and at most {LONGEST_TEXT:,} are allowed"
        raise BadQuery(fact, policy.shorter)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise BadQuery(f"{policy.name} holds a NUL or half a character", "Write it as plain text in UTF-8.")
    _check_nesting(text, policy)


def _check_nesting(text: str, policy: Policy) -> None:
    """Raise where too many brackets are open at once, or too many that hold a WITH of their own."""
    import duckdb

    raw = text.encode()
    starts = [start for start, _ in duckdb.tokenize(text)]  # DuckDB knows its quotes and comments best
    has_with = [False]  # of the text itself, then of each open bracket
    for start, end in zip(starts, [*starts, len(raw)][1:], strict=True):
        first = raw[start : start + 1]
        if first in b"([{":
            has_with.append(False)
            if len(has_with) > DEEPEST_NESTING + 1:
                raise too_deep(policy)
        elif first in b")]}":
            if len(has_with) > 1:
                has_with.pop()
        elif first in b"wW" and raw[start:end].strip().lower() == b"with":
            has_with[-1] = True
            if sum(has_with) > DEEPEST_WITH:
                raise too_deep(policy)


def too_deep(policy: Policy) -> BadQuery:
    """Return the error for a text with too many levels."""
    hint = (
        f"At most {DEEPEST_NESTING} brackets may be open at once, {DEEPEST_WITH} of them with WITH in them."
    )
    return BadQuery(f"{policy.name} is nested too deep", f"{hint} Write it with fewer levels.")


def replaced(error: Exception | str, policy: Policy, *, does: str = "read", hint: str = "") -> BadQuery:
    """Return our error for one of DuckDB, or for its words, that came up while it `does` something."""
    import duckdb

    if isinstance(error, RecursionError) or "Max expression depth" in str(error):
        return too_deep(policy)
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        fewer = (
            "Compare with shorter values, group or filter rows, check the conditions of joins, or add LIMIT."
        )
        return BadQuery(f"{policy.name} needs more memory than there is", fewer)
    correct = f"Correct {policy.name}; it is written in DuckDB's SQL, as in home = 'A' AND age >= 30."
    return BadQuery(f"DuckDB cannot {does} {policy.name}: {said(error)}", hint or correct)


def said(message: object) -> str:
    """Return DuckDB's words on one line, without the SQL that they repeat and advice that is closed here.

    >>> said('Depth limit exceeded. Use "SET max_expression_depth TO x" to raise it.')
    'Depth limit exceeded'
    >>> said("Division by zero. Use TRY(...) for NULL, or SET error_on_division_by_zero=false for all.")
    'Division by zero. Use TRY(...) for NULL'
    """
    text = str(message).strip().partition("\n\n")[0].partition("\nLINE ")[0]
    first, *others = (_OR_ELSE.sub("", sentence) for sentence in _SENTENCES.split(text))
    kept = " ".join([first, *(each for each in others if not _ADVICE.search(each))])
    line = " ".join(kept.split()).rstrip(".!?:")
    line = line if line.isprintable() else repr(line)[1:-1]  # on a terminal it changes nothing
    return line if len(line) <= _LONGEST_SAID else f"{line[:_LONGEST_SAID]}..."


def in_one_line(words: object) -> str:
    """Return the writer's own words on one line, not too long."""
    line = " ".join(str(words).split())
    return line if len(line) <= 120 else f"{line[:100]}..."


def quoted(words: object) -> str:
    """Return the writer's own words in marks."""
    return f"`{in_one_line(words)}`"
