"""Fonts for the letters of a picture.

Promise: every letter is shown that some font of the machine has; others are one warning that says what to do.
Cost: fonts are looked through only for letters that DejaVu Sans lacks.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

from hushtable.plots.words import JOINERS

_FONT = "DejaVu Sans"  # comes with matplotlib, so a picture looks the same everywhere
_BOXES = "Last Resort"  # a font without letters


def families(texts: Iterable[str]) -> list[str]:
    """Return fonts that have the letters of these texts, as far as the machine has such fonts."""
    from matplotlib.font_manager import findfont

    chosen = [_FONT]
    missing = {ord(letter) for letter in set().union(*texts) - {*JOINERS, "\n"}} - _letters(findfont(_FONT))
    for name, path in _other_fonts() if missing else ():
        if missing & _letters(path):
            chosen.append(name)
            missing -= _letters(path)
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

    fonts = sorted(fontManager.ttflist, key=lambda each: ("Sans" not in each.name, each.name, each.fname))
    for each in fonts:
        upright = each.style == "normal" and each.weight in (400, "normal")
        if upright and not each.name.startswith(_BOXES):
            yield each.name, each.fname


@lru_cache(maxsize=256)
def _letters(path: str) -> frozenset[int]:
    """Return the characters that a font has; none where it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()
