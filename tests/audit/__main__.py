"""`make audit`: all that we do to prove ourselves wrong, and one page of what came of it.

python -m tests.audit                   all parts but the last, which takes longer than all others
python -m tests.audit mutants           one part
python -m tests.audit exact haar        of one part, the rows with these words

python -m tests.audit faults 40         of that, so many of each; also of drawn and fuzz

A part that ran with all of its rows is written into docs/guarantees/audit.md.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from unittest.mock import patch

from hushtable.summaries import finishing
from tests.audit import black_box, breaking, drawn, faults, fuzz, side_channels
from tests.audit.cases import LEFT_OUT, TIES, Case, audited, every_case, not_offered
from tests.audit.cases import Finding as Computed
from tests.audit.drawing import uniform_among_all_ties

PAGE = Path(__file__).parents[2] / "docs" / "guarantees" / "audit.md"
MANY, SINGLE = (
    24,
    400,
)  # publications of each input of an attack: with many copies of the people, and with one
KILLS = 200  # of each job with SIGKILL, 1,000 in all; other faults are tried a fifth as often
INPUTS = 300_000  # that are spoiled
PAIRS = 200  # of releases whose files are compared

Cells = tuple[object, ...]


@dataclass
class Section:
    """What one part found: rows for the screen, and fewer for the page."""

    title: str
    text: str
    head: tuple[str, ...]
    widths: tuple[int, ...]
    rows: Callable[[Sequence[str]], Iterator[tuple[Cells, str]]]  # and what is wrong with a row, or nothing
    short: Callable[[list[Cells]], tuple[tuple[str, ...], list[Cells]]] | None = None
    after: str = ""
    tail: Callable[[list[Cells]], list[str]] | None = None  # more to say of what was found
    alone: bool = False  # run only by its name
    counted: bool = False  # a number among the words says how much of it
    found: list[Cells] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    minutes: float = 0.0

    def run(self, words: Sequence[str]) -> None:
        """Do it, and print it."""
        print(f"{self.title}\n\n{self.text}\n")
        print(_line(self.head, self.widths), flush=True)
        began = monotonic()
        for cells, wrong in self.rows(words):
            self.found.append(cells)
            self.wrong += [wrong] if wrong else []
            print(_line(cells, self.widths) + f"  WRONG: {wrong}" * bool(wrong), flush=True)
        self.minutes = (monotonic() - began) / 60
        print(f"\n{self.verdict}\n" if self.found else "(no row)\n", flush=True)

    @property
    def verdict(self) -> str:
        """The sum in a sentence."""
        if self.wrong:
            return f"{len(self.wrong)} of {len(self.found)} rows are WRONG."
        where = f"{len(os.sched_getaffinity(0))} processors"
        when = f"{datetime.now(UTC):%Y-%m-%d}, hushtable {version('hushtable')}, {where}"
        return f"{len(self.found):,} rows in {self.minutes:.0f} minutes ({when}): nothing is wrong."

    @property
    def page(self) -> str:
        """The same as a part of the page."""
        head, rows = (self.head, self.found) if self.short is None else self.short(self.found)
        table = [head, tuple("---" for _ in head), *rows]
        lines = [f"| {' | '.join(str(each).replace('|', '/') for each in row)} |" for row in table]
        wrong = [f"* WRONG: {each}" for each in self.wrong]
        tail = ["", *self.tail(self.found)] if self.tail is not None else []
        parts = [f"## {self.title}", "", self.text, "", *lines, "", self.verdict, *wrong, self.after, *tail]
        return "\n".join(parts).rstrip()


def _line(texts: Sequence[object], widths: Sequence[int]) -> str:
    """A row of a table."""
    return "  ".join(str(text).ljust(width) for text, width in zip(texts, widths, strict=False)).rstrip()


def computed(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give the largest ratio of each method on each structure; then see that a known mistake is found."""

    def row(case: Case, found: Computed) -> Cells:
        ratio = "no bound" if found.ratio is None else str(found.ratio)
        return case.name, case.over, found.guesses, found.outputs, found.walked, ratio, found.bound

    some = False
    for case in every_case():
        if all(word in f"{case.name} {case.over}" for word in words):
            found, some = audited(case), True
            wrong = "" if found.holds else f"{case.name}, {case.over}: a ratio of {found.ratio}"
            yield row(case, found), wrong or ("" if found.same_law else f"{case.name}: by the guess")
    if not some:
        return
    with patch.object(finishing, "largest_candidates", uniform_among_all_ties):
        for case in TIES:
            found = audited(case)
            seen = not found.holds and not found.same_law
            name, *others = row(case, found)
            yield (f"[broken] {name}", *others), "" if seen else "this audit sees too little"


def by_structure(found: list[Cells]) -> tuple[tuple[str, ...], list[Cells]]:
    """Return one row for each structure."""
    groups: dict[str, list[Cells]] = defaultdict(list)
    for cells in found:
        if not str(cells[0]).startswith("[broken]"):
            groups[str(cells[1])].append(cells)
    rows: list[Cells] = []
    for name, each in groups.items():
        largest = max((_ratio(cells[5]) / int(str(cells[6])), str(cells[5]), cells[6]) for cells in each)
        outcomes = sum(int(str(cells[4])) for cells in each)
        rows.append((name, len(each), f"{outcomes:,}", largest[1], largest[2]))
    return ("nodes over", "methods", "outcomes", "largest ratio", "bound"), rows


def _ratio(text: object) -> float:
    if text == "no bound":
        return float("inf")
    over, _, under = str(text).partition("/")
    return int(over) / int(under or 1)


def attacked(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what an attacker can prove of files."""
    for attack in black_box.attacks():
        if all(word in attack.name for word in words):
            found = black_box.attacked(attack, publications=MANY if attack.copies > 1 else SINGLE)
            epsilon, delta = attack.promised
            numbers = f"{found.epsilon:.3f}", f"{epsilon:.3f}", f"{found.delta:.4f}", f"{delta:.4f}"
            yield (attack.name, f"{found.runs:,}", *numbers), "" if found.holds else f"{attack.name}: above"


def broken(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what became of each mistake."""
    for each in breaking.broken(words):
        cells = each.mutant.kind, each.mutant.file, each.verdict, f"{each.seconds:.0f}", each.by
        yield cells, "" if each.holds else f"{each.mutant.kind}: {each.verdict} {each.by}".rstrip()


def by_kind(found: list[Cells]) -> tuple[tuple[str, ...], list[Cells]]:
    """Return one row for each kind of mistake."""
    tried, caught = Counter[str](), Counter[str]()
    for kind, _, verdict, *_ in found:
        name = str(kind).partition(":")[0]
        tried[name] += 1
        caught[name] += verdict == breaking.CAUGHT
    rows: list[Cells] = [(name, number, caught[name]) for name, number in tried.items()]
    return ("kind of mistake", "made", "caught"), [*rows, ("all", sum(tried.values()), sum(caught.values()))]


def at_random(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what became of mistakes that nobody chose."""
    for each in drawn.drawn(words):
        where = f"{each.mistake.file}:{each.line}"
        change = f"`{_cut(each.right, each.wrong)}` becomes `{_cut(each.wrong, each.right)}`"
        wrong = "" if each.caught or each.by else f"{where}, {change}: nobody knows why this survives"
        yield (each.mistake.room, where, change, each.verdict, f"{each.seconds:.0f}", each.by), wrong


def _cut(text: str, other: str, longest: int = 60) -> str:
    """Return the part of a text in which it begins to differ from another."""
    same = next((place for place, pair in enumerate(zip(text, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(same - longest // 2, 0)
    return "..." * (start > 0) + text[start : start + longest] + "..." * (len(text) > start + longest)


def by_room(found: list[Cells]) -> tuple[tuple[str, ...], list[Cells]]:
    """Return one row for each room."""
    made, caught = Counter[str](), Counter[str]()
    for room, _, _, verdict, *_ in found:
        made[str(room)] += 1
        caught[str(room)] += verdict == breaking.CAUGHT
    possible = Counter(each.room for each in drawn.every_mistake())
    rooms = [room for room in drawn.ROOMS if room in made]
    rows: list[Cells] = [(room, f"{possible[room]:,}", made[room], caught[room]) for room in rooms]
    all_of_them = "all", f"{possible.total():,}", made.total(), caught.total()
    return ("room", "possible", "drawn", "caught"), [*rows, all_of_them]


def survivors(found: list[Cells]) -> list[str]:
    """Return the score, and each mistake that no test noticed."""
    left = [cells for cells in found if cells[3] != breaking.CAUGHT]
    caught = len(found) - len(left)
    low, high = drawn.between(caught, len(found))
    score = (
        f"Score: {caught / len(found):.1%}; of all that are possible, between {low:.1%} and {high:.1%} (95%)."
    )
    listed = [f"* {where}: {change}. {why or 'No reason is known.'}" for _, where, change, _, _, why in left]
    again = f"The same again: `make mutants HUSHTABLE_TEST_SEED={drawn.seed()}`."
    return [score, again, *(["", "What survived, and why:", "", *listed] if left else [])]


def _names(words: Sequence[str]) -> list[str]:
    """Return the words that select rows."""
    return [word for word in words if not word.isdecimal()]


def _count(words: Sequence[str], usual: int) -> int:
    """Return the number among the words, or the usual one."""
    return next((int(word) for word in words if word.isdecimal()), usual)


def faulty(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what each fault led to."""
    for each in faults.found(_names(words), tries=_count(words, KILLS)):
        yield (each.fault, each.tries, each.stopped), "" if each.holds else f"{each.fault}: {each.worst}"


def fuzzed(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what became of spoiled inputs."""
    again = words if _names(words) else ()  # of a kind, an input by its number
    for each in fuzz.found(again, inputs=_count(words, INPUTS), start=secrets.randbits(40)):
        numbers = f"{each.inputs:,}", f"{each.answered:,}", f"{each.slowest:.1f}", len(each.wrong)
        yield (each.kind, *numbers), "" if each.holds else f"{each.kind}: {'; '.join(each.wrong[:5])}"


def seen(words: Sequence[str]) -> Iterator[tuple[Cells, str]]:
    """Give what files show beside their rows."""
    for each in side_channels.found(words, pairs=PAIRS):
        most = each.most + side_channels.DOUBT * each.error
        numbers = each.pairs, f"{each.again} of {2 * each.pairs}", f"{each.auc:.3f}", f"{most:.3f}"
        yield (each.way.name, *numbers), "" if each.holds else f"{each.way.name}: its files tell more"


EXACTLY = """\
The product's own drawing code runs under every outcome of its draws, in exact fractions, with 2 in the
place of e. The ratio is the largest between the chances that two neighbouring tables give to an output."""
OUTSIDE = f"""\
Two inputs that differ in one person are published thousands of times. What an attacker learned on one half
is tested on the other: an epsilon at the promised delta, and a delta at the promised epsilon, that hold
with {black_box.CONFIDENCE:.1%} confidence."""
ON_PURPOSE = """\
One mistake at a time is made in a copy of the sources; some test must fail, which passes without it."""
AT_RANDOM = """\
Mistakes that nobody chose: of all single changes of the syntax tree that can be made in these rooms (`<` for
`<=`, `+` for `-`, another number, a condition turned round, a call left out), some are drawn at random. The
tests of the room must notice, or some of those above it; each passes without the mistake."""
STOPPED = """\
Each try is a process of its own, stopped at a moment drawn anew, or short of disk or memory, or with
another clock. Afterwards: nothing under-charged, no half file, nothing private left, and the next one
succeeds. `stopped` counts the tries that did not come to their end."""
SPOILED = f"""\
Files, conditions and rows that were made and then spoiled, with checksums that hold. Each is answered or
refused in our words, within {fuzz.LONGEST} seconds and {fuzz.ROOM >> 20} MiB, and no message holds a value
of the rows."""
BESIDE = """\
Pairs of releases of two inputs that differ in one person, who is alone in ten cells. Each file is written
again from what it publishes, and must come out byte by byte. A score of sizes and layout, learned on one
half of the files, guesses the other half: its AUC stands beside the largest that epsilon allows, chance
included."""


def sections() -> dict[str, Section]:
    """Return all parts, by the words that choose them."""
    left_out = [f"* {structure}: {what} ({why})." for what, structure, why in [*LEFT_OUT, *not_offered()]]
    return {
        "exact": Section(
            "Exactly, on small tables",
            EXACTLY,
            ("method", "structure", "guesses", "outputs", "outcomes", "largest ratio", "bound"),
            (50, 30, 8, 8, 9, 13, 7),
            computed,
            by_structure,
            "\n".join(["", "Not in the table, and why:", "", *left_out]),
        ),
        "black-box": Section(
            "From outside, by the files",
            OUTSIDE,
            ("attack", "runs", "epsilon shown", "promised", "delta shown", "promised"),
            (46, 7, 14, 9, 12, 9),
            attacked,
        ),
        "mutants": Section(
            "Broken on purpose",
            ON_PURPOSE,
            ("mistake", "file", "verdict", "s", "by"),
            (70, 30, 8, 4, 60),
            broken,
            by_kind,
        ),
        "drawn": Section(
            "Broken at random",
            AT_RANDOM,
            ("room", "where", "mistake", "verdict", "s", "by"),
            (10, 30, 80, 8, 4, 60),
            at_random,
            by_room,
            tail=survivors,
            alone=True,
            counted=True,
        ),
        "faults": Section(
            "Stopped and starved",
            STOPPED,
            ("fault", "tries", "stopped"),
            (60, 6, 8),
            faulty,
            counted=True,
        ),
        "fuzz": Section(
            "Bad input",
            SPOILED,
            ("input", "tried", "answered", "slowest, s", "wrong"),
            (24, 9, 9, 11, 6),
            fuzzed,
            counted=True,
        ),
        "side-channels": Section(
            "Side channels of a file",
            BESIDE,
            ("way", "pairs", "same bytes again", "AUC", "at most"),
            (22, 6, 18, 7, 8),
            seen,
        ),
    }


def written(name: str, part: Section, page: str) -> str:
    """Return the page with what one part found in the place of what it had found before."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if start not in page:
        page += f"\n{start}{end}"
    before, _, rest = page.partition(start)
    return f"{before}{start}{part.page}\n{end}{rest.partition(end)[2]}"


HEAD = """\
# The audit

`make audit` writes this page, part by part: every number on it was printed by that command, and each part
tells when it ran. What is proved on paper stands in [summaries](summaries.md) and [noise](exact-noise.md);
which attacks are known, and what stops them, in [known attacks](known-attacks.md). This page is about the
code: what was done to prove it wrong. `make audit ARGS=mutants` runs one part alone.
"""


def main(words: list[str]) -> int:
    """Run all parts, or the one that the first word names; return 1 if something is wrong."""
    parts = sections()
    if words and words[0] in parts:
        name, *words = words
        parts = {name: parts[name]}
    else:
        parts = {name: each for name, each in parts.items() if not each.alone}
    for name, each in parts.items():
        each.run(words)
        if not (_names(words) if each.counted else words):  # all of its rows
            before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
            PAGE.write_text(written(name, each, before), encoding="utf-8")
            print(f"{PAGE.name} is written.\n", flush=True)
    if not any(each.found for each in parts.values()):
        print(f"No row has {' and '.join(map(repr, words))}.")
        return 1
    return int(any(each.wrong for each in parts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
