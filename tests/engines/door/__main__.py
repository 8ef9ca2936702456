"""Try the door by hand: `python -m tests.engines.door SEED FIRST [COUNT [WORDS]]`.

Findings do not stop it; of those alike, one is shown, made small. WORDS keeps those that hold them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.engines.door.trying import Examiner, one_instance, world_of


def main() -> None:
    seed, first, worlds = (int(number) for number in [*sys.argv[1:4], "1"][:3])
    words = sys.argv[4] if len(sys.argv) > 4 else ""
    seen: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, one_instance():
        examiner = Examiner(Path(folder))
        for number in range(first, first + worlds):
            world, random = world_of(seed, number)
            finding = examiner.examined(world, random)
            if finding is None or words not in str(finding):
                continue
            error = next((str(outcome)[:70] for outcome in finding.outcomes if outcome.error), "")
            key = f"{finding.kind[:16]} {error or (world.form, world.hazards)}"
            seen[key] += 1
            if seen[key] == 1:
                shown = Examiner(Path(folder)).smallest(finding, number)
                print(f"=== {seed} {number}\n{shown}\n", flush=True)
    took = time.perf_counter() - began
    print(
        f"{examiner.pairs} pairs, {examiner.counting} of a table with rows, {examiner.refused} refused,",
        end=" ",
    )
    print(f"{examiner.skipped} not written, {took / max(1, examiner.pairs) * 1000:.0f} ms a pair")
    for key, times in seen.most_common():
        print(f"{times:5} {key}")


if __name__ == "__main__":
    main()
