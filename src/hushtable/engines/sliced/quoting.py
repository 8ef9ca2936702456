"""Names and texts as SQL.

Promise: whatever characters they hold, the SQL names that column or means that text, and nothing else.
"""

from __future__ import annotations


def name_sql(name: str) -> str:
    """Return a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def text_sql(text: str) -> str:
    """Return a quoted text."""
    return "'" + text.replace("'", "''") + "'"


def letters_sql(text: str) -> str:
    """Return SQL for a text of any characters, also of such as no SQL holds."""
    return f"decode(from_hex('{text.encode().hex()}'))"
