"""Texts that nobody can list in advance: search words, titles of pages, free codes.

Any text of up to `longest` characters is a value. Texts have codes only where some of them are known: first
those that a release shows, in the order of their bytes as UTF-8, then others in the order in which somebody
asks for them.

Promise: texts are compared whole and as they are stored, so two that look alike are two values. No hash
stands for a text, and a text that is not known has a code that no other text has.
Cost: a look-up a text; known texts are loaded when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.columns import as_numbers, as_text_column, cast, computed, places_in, taken
from hushtable.domain.limits import LONGEST_TEXT
from hushtable.domain.reading import Fate, is_missing
from hushtable.errors import BadDomain, shown

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TEXTS = 1 << 62  # stands for "not limited": no data have so many rows, so no more texts can occur
_EXAMPLE = "Write any_text = { longest = 40 }: how many characters a value may have."


def _no_texts() -> pa.Array:
    return as_text_column([])


class KnownTexts:
    """Some texts, with codes: those that are `loaded`, ascending by their bytes, and those asked for later.

    >>> words = KnownTexts(lambda: as_text_column(["cold", "flu"]))
    >>> words.code_of("flu"), words.code_of("hay fever"), words.code_of("ague"), words.code_of("hay fever")
    (1, 2, 3, 2)
    """

    def __init__(self, load: Callable[[], pa.Array] = _no_texts) -> None:
        self._load = load

    @cached_property
    def column(self) -> pa.Array:
        """The texts that were loaded."""
        return self._load()

    @cached_property
    def _loaded(self) -> Mapping[str, int]:
        return {text: code for code, text in enumerate(self.column.to_pylist())}

    @cached_property
    def _asked(self) -> dict[str, int]:
        return {}

    @cached_property
    def _next(self) -> count[int]:
        return count(len(self.column))

    def code_of(self, text: str) -> int:
        """Return the code of a text; one that is not known gets the next."""
        found = self._loaded.get(text)
        if found is None:
            found = self._asked.get(text)
        return self._asked.setdefault(text, next(self._next)) if found is None else found

    def places_of(self, column: pa.ChunkedArray) -> NDArray[np.int64] | None:
        """Return the codes of texts that were loaded, or None if one was not."""
        places = places_in(cast(self.column, column.type), column)
        return None if places.null_count else as_numbers(places).astype(np.int64)

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the texts that have these codes."""
        if not codes.size or codes.max() < len(self.column):
            return taken(self.column, codes)
        texts = {code: text for text, code in [*self._loaded.items(), *self._asked.items()]}
        return as_text_column([texts[code] for code in codes.tolist()])

    def __repr__(self) -> str:
        return "KnownTexts(...)"


@dataclass(frozen=True, kw_only=True, slots=True)
class AnyText:
    """Any text of up to `longest` characters (of Unicode), the empty one included.

    `known` are the texts that have codes. They say nothing of which values there are, so they do not count
    when attributes are compared.

    >>> AnyText(longest=5).code_of("fever!")
    <Fate.OUTSIDE: 'outside'>
    """

    longest: int
    known: KnownTexts = field(default_factory=KnownTexts, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.longest) is not int or not 1 <= self.longest <= LONGEST_TEXT:
            fact = f"longest = {shown(self.longest)} is not a whole number from 1 to {LONGEST_TEXT:,}"
            raise BadDomain(fact, _EXAMPLE)

    @property
    def size(self) -> int:
        """More values than data can have rows."""
        return MOST_TEXTS

    def fits(self, text: str) -> bool:
        """Whether a text is one of the values: not too long, and Unicode."""
        if len(text) > self.longest:
            return False
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a pair of surrogates
            return False
        return True

    def code_of(self, value: object) -> int | Fate:
        """Return the code of one value, or why it has none."""
        if not isinstance(value, str):
            return Fate.MISSING if is_missing(value) else Fate.UNREADABLE
        return self.known.code_of(value) if self.fits(value) else Fate.OUTSIDE

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the texts as a column."""
        return self.known.decode(codes)


def in_order(texts: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return each text once, in the order of their bytes as UTF-8.

    >>> in_order(as_text_column(["b", "a", "B", "b"])).to_pylist()
    ['B', 'a', 'b']
    """
    once = computed("unique", texts)
    return computed("take", once, computed("array_sort_indices", once))
