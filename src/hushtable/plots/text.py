"""Text in pictures: shown as it is, in letters that exist, measured, wrapped and cut to fit.

Promise: no text of a release moves other text or leaves the page. Letters that no font of the machine has
are one warning that says what to install.
Cost: measuring a line takes about 0.1 ms; fonts are looked through only for letters that DejaVu lacks.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

FONT = "DejaVu Sans"  # comes with matplotlib, so a picture looks the same everywhere
ELLIPSIS = "…"
_NO_LETTERS = "Last Resort"  # a font of boxes
_JOINERS = "\u200c\u200d"  # without width, and part of how some scripts are written


def one_line(text: str) -> str:
    """Return text that changes nothing but what it shows: no line breaks, no control characters.

    >>> one_line("a\\tb\\x00")
    'a b\\\\x00'
    """
    plain = " ".join(text.split())
    if plain.isprintable():
        return plain
    return "".join(each if each.isprintable() or each in _JOINERS else repr(each)[1:-1] for each in plain)


@dataclass(frozen=True, kw_only=True)
class Lettering:
    """Lines of one size, measured in inches."""

    size: float
    bold: bool = False

    @property
    def height(self) -> float:
        """The height of a line, with what keeps it from the next."""
        return self.size * 1.3 / 72

    def width(self, line: str) -> float:
        """Return how wide a line is, in the fonts that hold now."""
        from matplotlib import rcParams

        return _width(line, self.size, self.bold, tuple(rcParams["font.family"]))

    def widest(self, lines: Iterable[str]) -> float:
        """Return how wide the widest line is."""
        return max(map(self.width, lines), default=0.0)

    def wrapped(self, text: str, width: float) -> list[str]:
        """Return text in lines of at most that width; a word that is wider is broken."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".lstrip()
            if self.width(longer) <= width:
                lines[-1] = longer
                continue
            if lines[-1]:
                lines.append("")
            while self.width(word) > width and len(word) > 1:
                fits = self._fitting(word, width)
                lines[-1], word = word[:fits], word[fits:]
                lines.append("")
            lines[-1] = word
        return lines

    def cut(self, texts: Sequence[str], width: float) -> list[str]:
        """Return texts of at most that width: without their ends, or middles where ends tell them apart."""
        ends = [self._without_end(text, width) for text in texts]
        same = {text for text, times in Counter(ends).items() if times > 1}
        pairs = zip(texts, ends, strict=True)
        return [self._without_middle(text, width) if end in same else end for text, end in pairs]

    def _without_end(self, text: str, width: float) -> str:
        if self.width(text) <= width:
            return text
        return text[: self._fitting(text, width - self.width(ELLIPSIS))].rstrip() + ELLIPSIS

    def _without_middle(self, text: str, width: float) -> str:
        if self.width(text) <= width:
            return text
        half = (width - self.width(ELLIPSIS)) / 2
        end = text[::-1][: self._fitting(text[::-1], half)][::-1]
        return text[: self._fitting(text, half)].rstrip() + ELLIPSIS + end.lstrip()

    def _fitting(self, text: str, width: float) -> int:
        """Return how many characters fit, at least one."""
        few, many = 1, len(text)
        while few < many:
            middle = (few + many + 1) // 2
            few, many = (middle, many) if self.width(text[:middle]) <= width else (few, middle - 1)
        return few


@lru_cache(maxsize=20_000)
def _width(line: str, size: float, bold: bool, families: tuple[str, ...]) -> float:
    """Return the width of a line in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    if not line:
        return 0.0
    dpi = 200
    font = FontProperties(family=list(families), size=size, weight="bold" if bold else "normal")
    renderer: Any = RendererAgg(1, 1, dpi)  # type: ignore[no-untyped-call]
    width, _, _ = renderer.get_text_width_height_descent(line, font, ismath=False)
    return float(width) / dpi


def families(texts: Iterable[str]) -> list[str]:
    """Return fonts that have the letters of these texts, as far as the machine has such fonts."""
    from matplotlib.font_manager import findfont

    needed = {ord(letter) for letter in set().union(*texts) - {*_JOINERS, "\n"}}
    chosen = [FONT]
    missing = needed - _letters(findfont(FONT))
    for name, path in _other_fonts() if missing else ():
        found = missing & _letters(path)
        if found:
            chosen.append(name)
            missing -= found
        if not missing:
            break
    if missing:
        some = " ".join(map(chr, sorted(missing)[:8]))
        warnings.warn(
            f"no font of this machine has these letters of this picture: {some}. They are shown as "
            "boxes. Install a font that has them, such as Noto Sans CJK for Chinese, Japanese and Korean.",
            stacklevel=2,
        )
    return chosen


def _other_fonts() -> Iterator[tuple[str, str]]:
    """Yield the machine's upright fonts, in an order that does not depend on how they were found."""
    from matplotlib.font_manager import fontManager

    upright = (
        each for each in fontManager.ttflist if each.style == "normal" and each.weight in (400, "normal")
    )
    for each in sorted(upright, key=lambda each: ("Sans" not in each.name, each.name, each.fname)):
        if not each.name.startswith(_NO_LETTERS):
            yield each.name, each.fname


@lru_cache(maxsize=256)
def _letters(path: str) -> frozenset[int]:
    """Return the characters that a font has; none where it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


@contextmanager
def quiet_about_letters() -> Iterator[None]:
    """Keep matplotlib from warning of each missing letter each time: `families` has said it once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
