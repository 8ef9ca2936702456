"""`make audit`: for every method and structure on small tables, the largest ratio between neighbours."""

from __future__ import annotations

import sys
from unittest.mock import patch

from hushtable.summaries import finishing
from tests.audit.cases import LEFT_OUT, TIES, Case, Finding, audited, every_case, not_offered
from tests.audit.drawing import uniform_among_all_ties

WIDTHS = (44, 30, 8, 8, 9, 13, 7)
HEAD = ("method", "structure", "guesses", "outputs", "outcomes", "largest ratio", "bound")


def line(*texts: object) -> str:
    """A row of the table."""
    return "  ".join(str(text).ljust(width) for text, width in zip(texts, WIDTHS, strict=False)).rstrip()


def row(case: Case, found: Finding) -> str:
    """What was found, and whether it holds."""
    ratio = "no bound" if found.ratio is None else str(found.ratio)
    numbers = (found.guesses, found.outputs, found.walked, ratio, found.bound)
    verdict = "" if found.holds else "  ABOVE"
    return line(case.name, case.over, *numbers) + verdict + ("" if found.same_law else "  by the guess")


def main(words: list[str]) -> int:
    """Print the table; return 1 if something is wrong. Words select the rows that have all of them."""
    print("Largest ratio of the chances that two neighbouring tables give to an output; 2 in the place of e.")
    print("All chances are exact fractions, under every outcome of the draws of the product's own code.\n")
    print(line(*HEAD), flush=True)
    wrong = rows = walked = 0
    for case in every_case():
        if all(word in f"{case.name} {case.over}" for word in words):
            found = audited(case)
            rows, walked = rows + 1, walked + found.walked
            wrong += not (found.holds and found.same_law)
            print(row(case, found), flush=True)
    if not rows:
        print(f"No row has {' and '.join(map(repr, words))}.")
        return 1
    print("\nNot in the table:")
    for what, structure, why in [*LEFT_OUT, *not_offered()]:
        print(f"  {structure}: {what}\n      {why}")
    print("\nThe audit itself: ties broken evenly among all, as they once were, must be found.")
    with patch.object(finishing, "largest_candidates", uniform_among_all_ties):
        broken = [(case, audited(case)) for case in TIES]
    for case, found in broken:
        print(row(case, found))
        if found.holds or found.same_law:
            print("They were not: this audit sees too little.")
            wrong += 1
    print(f"\n{rows} rows, {walked:,} outcomes: {'no ratio is above its bound' if not wrong else 'WRONG'}.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
