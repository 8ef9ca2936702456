"""Summaries against the bars of the design: time that follows n and s but never m, and memory.

Cost: some two minutes and 2 GB; the largest table has 10^7 occupied cells. Times of tables include
packing and sorting codes that come in no order.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any

import hushtable as ht
from benchmarks import throughput
from benchmarks.report import Bar, Figure, Say, Sheet
from benchmarks.tables import made_up
from benchmarks.timing import Job, best
from benchmarks.worker import Numbers, as_method, fresh
from hushtable.noise import KeyStream
from hushtable.summaries.summarize import draw_summary

_EPSILON = Fraction(1, 10)
_ROUNDS = 7
_COLD_ROUNDS = 7
_MEMORY_ROUNDS = 2
_PAIR = (10**6, 10**6)

_CELLS, _SIZE = 10**6, 10**5
_ONE_WORD, _TWO_WORDS = (100,) * 5, (10**6,) * 5
_MANY_CELLS, _MANY_ROWS = 4 * 10**6, 10**6
_COMMUTERS = 10**7

_FEW, _SIDE, _DRAWN = 10**5, 1000, 10**7

_MB, _GIB = 1e6, 2**30


def domain(say: Say) -> Sheet:
    """Measure that the size of the domain does not matter."""
    sheet = Sheet(
        title="The domain grows from m = 10^10 to 10^30: 5 attributes, n = 10^6, s = 10^5",
        columns=("table and summary by", "10^10\nms", "10^30\nms", "ratio"),
        note=f"Best of {_ROUNDS}. Attributes of 100 values, one word a key; then of 10^6 values, two words.",
    )
    say("tables of 5 attributes")
    raw = [(shape, *made_up(shape, _CELLS)) for shape in (_ONE_WORD, _TWO_WORDS)]
    _add_pairs(sheet, say, _three(_SIZE), raw, Bar("<=", 1.5))
    return sheet


def doubling(say: Say) -> Sheet:
    """Measure that time follows the occupied cells."""
    sheet = Sheet(
        title="The table grows from n = 10^6 to 2 10^6: s = 10^5, m = 10^12",
        columns=("table and summary by", "10^6\nms", "2 10^6\nms", "ratio"),
        note=f"Best of {_ROUNDS}. Sorting n codes takes n log n; the rows published stay as many.",
    )
    say("tables of 2 attributes")
    raw = [(_PAIR, *made_up(_PAIR, cells)) for cells in (_CELLS, 2 * _CELLS)]
    _add_pairs(sheet, say, _three(_SIZE), raw, Bar("<=", 2.3))
    return sheet


def threads(say: Say) -> Sheet:
    """Measure what a second core is worth."""
    sheet = Sheet(
        title="Two threads: n = 4 10^6, s = 10^6, m = 10^12, the table being there",
        columns=("summary by", "1 thread\nms", "2 threads\nms", "times as\nfast"),
        note=f"Best of {_ROUNDS}. Slices are drawn in parallel; choosing and sorting rows are not.",
    )
    codes, counts = made_up(_PAIR, _MANY_CELLS)
    table = ht.SparseTable(shape=_PAIR, codes=codes, counts=counts)
    for name, method in _three(_MANY_ROWS).items():
        say(f"one and two threads: {name}")
        draw = partial(
            draw_summary,
            table,
            as_method(method),
            epsilon=_EPSILON,
            sensitivity=Fraction(1),
            entropy=KeyStream(),
        )
        one, two = best([partial(draw, threads=1), partial(draw, threads=2)], rounds=_ROUNDS)
        sheet.add(name, Figure(one * 1e3), Figure(two * 1e3), Figure(one / two))
    return sheet


def memory(say: Say) -> Sheet:
    """Measure the memory that summarising takes beyond the table."""
    sheet = Sheet(
        title="Memory beyond the table: m = 10^12, in a fresh process",
        columns=("n", "s", "summary by", "MB", "MB\nallowed", "bytes for each\nof n + s"),
        note=(
            "The rise of the process's peak during `summarize`: what it loads, builds, draws and returns. "
            f"The worst of {_MEMORY_ROUNDS} runs."
        ),
    )
    cases = {
        ("4 10^6", "10^6"): (_MANY_CELLS, _MANY_ROWS, Bar("<=", 64)),
        ("10^5", "4 10^6"): (_FEW, _MANY_CELLS, Bar("<=", 64)),
    }
    for labels, (cells, size, bar) in cases.items():
        methods = {**_three(size), "Threshold(size=)": ("Threshold", {"size": size})}
        for name, method in methods.items():
            say(f"memory: {name}")
            beyond = max(_summary(_PAIR, cells, method)["beyond"] for _ in range(_MEMORY_ROUNDS))
            each = Figure(beyond / (cells + size), bar)
            sheet.add(*labels, name, Figure(beyond / _MB), Figure(64 * (cells + size) / _MB), each)
    return sheet


def every_cell(say: Say) -> Sheet:
    """Measure against noise on all cells."""
    sheet = Sheet(
        title="Against noise on every cell: n = 10^5, m = 10^9, a cold process",
        columns=("way", "seconds", "times as\nfast"),
        note=(
            "The whole process: interpreter, imports, table and summary. NumPy: geometric - geometric "
            f"for 10^7 cells, in a process of its own, times 100: extrapolated. Best of {_COLD_ROUNDS}."
        ),
    )
    say("a cold process, and noise on every cell")
    ours, numpys = [], []
    for _ in range(_COLD_ROUNDS):
        start = perf_counter()
        fresh("cold", side=_SIDE, cells=_FEW, method=("Priority", {"size": _FEW}))
        ours.append(perf_counter() - start)
        numpys.append(fresh("every_cell", cells=_DRAWN)["seconds"] * _SIDE**3 / _DRAWN)
    sheet.add("NumPy, every cell (extrapolated)", Figure(min(numpys)), Figure(1.0))
    faster = Figure(min(numpys) / min(ours), Bar(">=", 100))
    sheet.add("hushtable, Priority(size=10^5)", Figure(min(ours)), faster)
    return sheet


def commuters(say: Say) -> Sheet:
    """Measure a table as large as the paper's commuters."""
    sheet = Sheet(
        title="The paper's commuters: n = 10^7, m = 10^12, s = 10^6, in one process",
        columns=("summary by", "table\ns", "summary\ns", "rows", "process\npeak GiB"),
        note="A process for each line; the peak holds the raw codes too, which take 0.22 GiB.",
    )
    for name, method in _three(_MANY_ROWS).items():
        say(f"the paper's commuters: {name}")
        run = _summary(_PAIR, _COMMUTERS, method)
        peak = Figure(run["peak"] / _GIB, Bar("<=", 6))
        sheet.add(name, Figure(run["table"]), Figure(run["summarize"]), Figure(run["rows"]), peak)
    return sheet


def _three(size: int) -> dict[str, tuple[str, dict[str, int]]]:
    """Return the methods of a fixed size, each as a name to print, a name to call and its settings."""
    return {
        "Priority(size=)": ("Priority", {"size": size}),
        "FilterPriority(50, size=)": ("FilterPriority", {"cutoff": 50, "size": size}),
        "Filter(size=)": ("Filter", {"size": size}),
    }


def _add_pairs(
    sheet: Sheet,
    say: Say,
    methods: dict[str, tuple[str, dict[str, int]]],
    raw: Sequence[tuple[Sequence[int], Any, Any]],
    bar: Bar,
) -> None:
    """Add a row for each method: the time with the first raw table, with the second, and their ratio."""
    for name, method in methods.items():
        say(name)
        first, second = best([_whole(method, *cells) for cells in raw], rounds=_ROUNDS)
        sheet.add(name, Figure(first * 1e3), Figure(second * 1e3), Figure(second / first, bar))


def _whole(method: Sequence[Any], shape: Sequence[int], codes: Any, counts: Any) -> Job:
    """Return the way from raw codes to a summary."""

    def job() -> object:
        table = ht.SparseTable(shape=shape, codes=codes, counts=counts)
        return ht.summarize(table, as_method(method), epsilon=_EPSILON)

    return job


def _summary(shape: Sequence[int], cells: int, method: Sequence[Any]) -> Numbers:
    return fresh("summary", shape=shape, cells=cells, method=method)


SHEETS = (domain, doubling, threads, memory, every_cell, commuters, throughput.throughput)
