"""`make audit`: the largest ratio between neighbours, computed for small tables; then attacks from outside.

python -m tests.audit                  both
python -m tests.audit exact haar       of the computed rows, those with these words
python -m tests.audit black-box rho    of the attacks, those with these words
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from unittest.mock import patch

from hushtable.summaries import finishing
from tests.audit.black_box import CONFIDENCE, attacked, attacks
from tests.audit.black_box import Finding as Shown
from tests.audit.cases import LEFT_OUT, TIES, Case, Finding, audited, every_case, not_offered
from tests.audit.drawing import uniform_among_all_ties

WIDTHS = (50, 30, 8, 8, 9, 13, 7)
HEAD = ("method", "structure", "guesses", "outputs", "outcomes", "largest ratio", "bound")
SHOWN_WIDTHS = (46, 7, 14, 9, 12, 9, 7)
SHOWN_HEAD = ("attack", "runs", "epsilon shown", "promised", "delta shown", "promised", "seconds")
MANY, SINGLE = 24, 400  # publications of each input: with many copies of the people, and with one


def line(*texts: object, widths: Sequence[int] = WIDTHS) -> str:
    """A row of a table."""
    return "  ".join(str(text).ljust(width) for text, width in zip(texts, widths, strict=False)).rstrip()


def row(case: Case, found: Finding) -> str:
    """What was found, and whether it holds."""
    ratio = "no bound" if found.ratio is None else str(found.ratio)
    numbers = (found.guesses, found.outputs, found.walked, ratio, found.bound)
    verdict = "" if found.holds else "  ABOVE"
    return line(case.name, case.over, *numbers) + verdict + ("" if found.same_law else "  by the guess")


def main(words: list[str]) -> int:
    """Print both tables, or the one that the first word names; return 1 if something is wrong."""
    parts = {"exact": computed, "black-box": tried}
    chosen = [parts[words[0]]] if words[:1] and words[0] in parts else list(parts.values())
    words = words[len(words) > 0 and words[0] in parts :]
    found = [part(words) for part in chosen]
    if not any(rows for rows, _ in found):
        print(f"No row has {' and '.join(map(repr, words))}.")
        return 1
    return int(any(wrong for _, wrong in found))


def computed(words: list[str]) -> tuple[int, int]:
    """Print the largest ratios; return how many rows there are, and how many are wrong."""
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
        print("(no row)\n")
        return 0, 0
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
    print(f"\n{rows} rows, {walked:,} outcomes: {'no ratio is above its bound' if not wrong else 'WRONG'}.\n")
    return rows, wrong


def tried(words: list[str]) -> tuple[int, int]:
    """Print what an attacker can prove of files; return how many rows there are, and how many are wrong."""
    print("What the files of two neighbouring inputs prove: an epsilon at the promised delta, and a delta at")
    print(f"the promised epsilon. Both are below the true ones with {CONFIDENCE:.1%} confidence.\n")
    print(line(*SHOWN_HEAD, widths=SHOWN_WIDTHS), flush=True)
    rows = wrong = 0
    seconds = 0.0
    for attack in attacks():
        if all(word in attack.name for word in words):
            found = attacked(attack, publications=MANY if attack.copies > 1 else SINGLE)
            rows, wrong, seconds = rows + 1, wrong + (not found.holds), seconds + found.seconds
            print(shown(found), flush=True)
    verdict = "WRONG" if wrong else "nothing is above what was promised"
    print(f"\n{rows} rows, {seconds:,.0f} s of processor time: {verdict}." if rows else "(no row)")
    return rows, wrong


def shown(found: Shown) -> str:
    """What was proved, beside what was promised."""
    epsilon, delta = found.attack.promised
    numbers = (f"{found.epsilon:.3f}", f"{epsilon:.3f}", f"{found.delta:.4f}", f"{delta:.4f}")
    said = line(found.attack.name, f"{found.runs:,}", *numbers, f"{found.seconds:.1f}", widths=SHOWN_WIDTHS)
    return said + ("" if found.holds else "  ABOVE")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
