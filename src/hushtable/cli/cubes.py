"""Data cubes in words: the marginals of a release, one line for each."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING

from hushtable.cli.words import (
    deviation_in_words,
    method_in_words,
    number_in_words,
    printable,
)
from hushtable.methods.settings import Method
from hushtable.release.terms import Part, as_text
from hushtable.release.writing import rows_of_parts

if TYPE_CHECKING:
    from rich.table import Table

    from hushtable.answers.release import Release

_SHOWN_MARGINALS = 30
_LARGE = 10**9
_LONGEST = 6  # characters of an epsilon that is written in full


def summaries_in_words(parts: tuple[Part, ...], called: str = "marginal") -> str:
    """Return how rows of marginals, or of tables, were chosen."""
    methods = [part.method for part in parts]
    if len(set(methods)) == 1:
        return method_in_words(methods[0], of=f"cells of every {called}")
    said = Counter(_with_size(method) for method in methods)
    return f"of the {called}s, " + ", ".join(f"{times:,} by {name}" for name, times in said.items())


def rules_in_words(parts: tuple[Part, ...]) -> str | None:
    """Return what the rules that chose settings do, and their names; None if the owner chose all settings."""
    from hushtable.methods.tuning import AUTO_CUTOFF, WHOLE

    meant = {
        WHOLE: f"all cells where there is room for them ({WHOLE})",
        AUTO_CUTOFF: f"a cutoff with which at most about a tenth of the rows are noise alone ({AUTO_CUTOFF})",
    }
    rules = list(dict.fromkeys(part.rule for part in parts if part.rule is not None))
    if not rules:
        return None
    said = (meant.get(rule, f"as the rule {printable(rule)} says") for rule in rules)
    return f"chosen from public facts: {'; '.join(said)}"


def marginals_table(release: Release) -> Table:
    """Return the first marginals: their cells and rows, what was spent on them, and what rows met."""
    from hushtable.cli.printing import table

    parts, rows = release.terms.parts, rows_of_parts(release.terms, release.codes)
    met = [name for name in ("cutoff", "threshold") if any(getattr(part, name) is not None for part in parts)]
    spent = "epsilon" if release.terms.rho is None else "rho"
    numbers = ("cells", "rows", spent, "noise", *met)
    made = table(release.terms.structure.part, *numbers, "summary", numbers=numbers)
    for number, marginal in enumerate(release.terms.nodes.marginals[:_SHOWN_MARGINALS]):
        own = release.terms.part(number)
        made.add_row(
            printable(marginal.label),
            _compact(marginal.domain.cells_total),
            f"{rows[number].stop - rows[number].start:,}",
            _rounded(own.rows_budget),
            deviation_in_words(own.law),
            *(_limit(getattr(own, name)) for name in met),
            _name(own.method),
        )
    return made


def levels_table(release: Release) -> Table:
    """Return the levels of a hierarchy: their nodes and rows, what was spent on them, and what rows met."""
    import numpy as np

    from hushtable.cli.printing import table

    terms, nodes = release.terms, release.terms.nodes
    spent = "epsilon" if terms.rho is None else "rho"
    numbers = ("nodes", "rows", spent, "noise", "cutoff")
    made = table("level", *numbers, numbers=numbers)
    rows = np.bincount(nodes.level_of(release.codes), minlength=len(nodes.strata)).tolist()
    for own, stratum in zip(rows, nodes.strata, strict=True):
        made.add_row(
            printable(stratum.label),
            _compact(stratum.nodes),
            f"{own:,}",
            _rounded(terms.rows_budget * stratum.share / nodes.per_cell),
            deviation_in_words(terms.law_at(stratum.share)),
            "all rows" if stratum.complete else _limit((terms.cutoff or 1.0) * stratum.cutoff_part),
        )
    return made


def below_levels(release: Release) -> str:
    """Return what to know about the table of levels."""
    said = f"Noise is {release.terms.law.sentence}, by its standard deviation. No row is below the cutoff of "
    return f"{said}its level, or without a row on each level above it. Long numbers are rounded."


def below_marginals(release: Release) -> str:
    """Return what to know about the table of marginals."""
    more = len(release.terms.parts) - _SHOWN_MARGINALS
    said = f"... {more:,} more\n" if more > 0 else ""
    said += f"The noise is {release.terms.law.sentence}, given by its standard deviation."
    if any(part.cutoff is not None for part in release.terms.parts):
        said += (
            f" No noisy count of a {release.terms.structure.part} lies below its cutoff in absolute value."
        )
    if any(part.threshold is not None for part in release.terms.parts):
        said += (
            " Noisy counts below the threshold were sampled; each one in the file stands for the threshold."
        )
    return f"{said} Long numbers are rounded."


def _compact(cells: int) -> str:
    """Return a number of cells that never takes much room."""
    return f"{cells:,}" if cells < _LARGE else f"10^{log10(cells):.1f}"


def _rounded(epsilon: Fraction) -> str:
    text = as_text(epsilon)
    return text if len(text) <= _LONGEST and "/" not in text else f"{float(epsilon):.3g}"


def _limit(value: float | None) -> str:
    return "" if value is None else number_in_words(value, digits=6)


def _name(method: Method) -> str:
    """Return the name of a summary, which its words begin with."""
    return method_in_words(method).partition(":")[0]


def _with_size(method: Method) -> str:
    size = method.size
    return _name(method) if size is None else f"{_name(method)} of at most {size:,} rows each"
