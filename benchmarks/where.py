"""Where the processor time of a publication goes, drawn as a picture: `python -m benchmarks.where`.

Each publication runs in a process of its own, in which the steps are timed by the threads that do them. What
is left is DuckDB's: reading Parquet, placing values, packing keys.
Cost: a minute, and what the files of `rows` take.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time, thread_time
from typing import Any

from benchmarks.counting import AMPLE
from benchmarks.rows import Files, files_of
from benchmarks.worker import fresh

_PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "speed.svg"
_JOBS = {"2 10^7 rows": "uniform", "the same, of 5 10^6 people": "people"}
_STEPS = {
    "imports": "#999999",
    "bounding people": "#D55E00",
    "sorting batches": "#0072B2",
    "counting slices": "#56B4E9",
    "drawing and writing": "#009E73",
    "DuckDB: reading and coding": "#E69F00",
}
_WIDTH, _LEFT, _BAR, _GAP, _LEGEND = 900, 190, 34, 22, 190


def measured(files: Files, output: str, *, people: bool) -> dict[str, float]:
    """Publish in this process, and return the seconds of each step."""
    import duckdb  # noqa: F401
    import flint  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import hushtable as ht
    from hushtable.engines.sliced import choosing, runs
    from hushtable.publishing import publish as flow

    seconds = dict.fromkeys(_STEPS, 0.0)
    seconds["imports"] = process_time()

    def timed(owner: Any, name: str, step: str, clock: Callable[[], float]) -> None:
        real = getattr(owner, name)

        def around(*args: Any, **settings: Any) -> Any:
            start = clock()
            try:
                return real(*args, **settings)
            finally:
                seconds[step] += clock() - start

        setattr(owner, name, around)

    timed(choosing.Chooser, "_run", "bounding people", thread_time)
    timed(choosing.Chooser, "_of_units", "bounding people", thread_time)
    timed(runs, "sorted_rows", "sorting batches", thread_time)
    timed(runs, "counted", "counting slices", thread_time)
    timed(flow, "drawn_summaries", "drawing and writing", process_time)
    timed(flow, "write_release", "drawing and writing", process_time)
    unit = ht.Unit("person", max_rows=3) if people else None
    settings: dict[str, Any] = {"output": output, "overwrite": True, "ledger": False, "anyway": True}
    ht.publish(
        files.rows, domain=files.domain, epsilon="0.1", size=100_000, memory=AMPLE, unit=unit, **settings
    )
    seconds["DuckDB: reading and coding"] = process_time() - sum(seconds.values())
    return seconds


def drawn(found: dict[str, dict[str, float]]) -> str:
    """Return bars of seconds as SVG."""
    longest = max(sum(each.values()) for each in found.values())
    scale = (_WIDTH - _LEFT - 70) / longest
    height = len(found) * (_BAR + _GAP) + _GAP + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="13"><rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    ]
    top = _GAP
    for label, each in found.items():
        left = float(_LEFT)
        parts.append(f'<text x="{_LEFT - 10}" y="{top + 22}" text-anchor="end">{label}</text>')
        for step, colour in _STEPS.items():
            width = each[step] * scale
            parts.append(
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>'
            )
            if width > 34:
                parts.append(
                    f'<text x="{left + width / 2:.1f}" y="{top + 22}" text-anchor="middle" fill="#ffffff">'
                    f"{each[step]:.2f}</text>"
                )
            left += width
        parts.append(f'<text x="{left + 8:.1f}" y="{top + 22}">{sum(each.values()):.1f} s</text>')
        top += _BAR + _GAP
    for number, (step, colour) in enumerate(_STEPS.items()):
        x, y = 20 + number % 3 * 290, top + 8 + number // 3 * 22
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{step}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure each publication, the least of three, and draw them."""
    found: dict[str, dict[str, float]] = {}
    with TemporaryDirectory(prefix="hushtable-bench-") as folder:
        for label, name in _JOBS.items():
            fresh("write_rows", name=name, rows=2 * 10**7, folder=folder)
            command = [sys.executable, "-m", "benchmarks.where", name, folder]
            several = []
            for _ in range(3):
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                several.append(json.loads(done.stdout.splitlines()[-1]))
            found[label] = min(several, key=lambda each: sum(each.values()))
            print(label, {step: round(each, 2) for step, each in found[label].items()})
    _PICTURE.write_text(drawn(found))
    print(f"Written: {_PICTURE}")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        name, folder = sys.argv[1:]
        output = str(Path(folder) / "released.parquet")
        print(json.dumps(measured(files_of(name, Path(folder)), output, people=name == "people")))
