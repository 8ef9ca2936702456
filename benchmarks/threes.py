"""Questions by three attributes on real data, of releases that were made for one and two.

No whole table has three attributes there. Answers come from the table of cells, most of whose rows may be
noise, and from the whole tables around it.

Promise: `ht.publish` with nothing but a size, asked by `Release.by`; every group counts, those without a row
included.
Cost: two minutes.
"""

from fractions import Fraction
from itertools import combinations
from statistics import fmean, geometric_mean

from benchmarks.grouped import SIZE, measured
from benchmarks.real import MISSING, Item, Question, real_table
from benchmarks.report import Bar, Figure, Say, Sheet

_TABLES = "adult", "nycflights13", "gov_census, region", "gov_census, nativity"
_EPSILONS = Fraction(1, 10), Fraction(1), Fraction(3)
_MOST_GROUPS, _MOST_QUESTIONS, _RELEASES = 120_000, 8, 3


def threes(say: Say) -> Sheet:
    """Measure errors and intervals of groups by three attributes."""
    sheet = Sheet(
        title="Questions by three attributes, published for none: error as a share of noise on every cell",
        columns=("table", "epsilon", "questions", "geometric mean", "largest", "by", "% held", "width"),
        note=(
            f"Of {_RELEASES} releases of size {SIZE:,} by the default; up to {_MOST_QUESTIONS} questions "
            f"with up to {_MOST_GROUPS:,} groups. Held: intervals of 95 %, the least of\nall questions. "
            "Width: the mean over questions of their median, in deviations of noise on every cell."
        ),
    )
    if MISSING:
        sheet.add(MISSING)
        return sheet
    for name in _TABLES:
        table = real_table(name)
        every = [Question(tuple(map(Item, some))) for some in combinations(table.domain.names, 3)]
        small = [each for each in every if table.groups(each) <= _MOST_GROUPS]
        asked = small[:: -(-len(small) // _MOST_QUESTIONS)]
        for epsilon in _EPSILONS:
            say(f"three attributes of {name}, epsilon {float(epsilon):g}")
            found = measured(table, asked, epsilon=epsilon, releases=_RELEASES)
            some = [each for each in found if not each.whole]
            worst = max(some, key=lambda each: each.ratio)
            sheet.add(
                name,
                f"{float(epsilon):g}",
                f"{len(some)}",
                Figure(geometric_mean(each.ratio for each in some), Bar("<=", 1) if epsilon <= 1 else None),
                Figure(worst.ratio),
                str(worst.question),
                Figure(min(each.coverage for each in some), Bar(">=", 93)),
                Figure(fmean(each.width / each.dense for each in some)),
            )
    return sheet
