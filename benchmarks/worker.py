"""One measurement in a process of its own: `python -m benchmarks.worker JOB ARGUMENTS`.

Promise: nothing is loaded before the job starts but what the job itself needs, and nothing that ran
before it can lend it memory, tables or a warm cache. Prints one line of JSON.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushtable.methods.settings import Method
    from hushtable.structures.structure import Structure

Numbers = dict[str, float]
_EPSILON = "0.1"


def summary(
    shape: Sequence[int], cells: int, method: Sequence[Any], structure: Sequence[Any] | None = None
) -> Numbers:
    """Make a table and summarise it; with the peak of the process and of the summarising alone."""
    import hushtable as ht
    from benchmarks.tables import made_up

    codes, counts = made_up(shape, cells)
    start = perf_counter()
    table = ht.SparseTable(shape=shape, codes=codes, counts=counts)
    table_seconds = perf_counter() - start
    del codes, counts
    early_peak = peak_bytes()
    held = start_over()
    start = perf_counter()
    found = ht.summarize(table, as_method(method), epsilon=_EPSILON, structure=as_structure(structure))
    seconds = perf_counter() - start
    peak = peak_bytes()
    return {
        "table": table_seconds,
        "summarize": seconds,
        "rows": len(found),
        "peak": max(early_peak, peak),
        # Where the peak could not be forgotten, all but the table itself counts: too much, never too little.
        "beyond": peak - (table.keys.nbytes + table.counts.nbytes if held is None else held),
    }


def cold(side: int, cells: int, method: Sequence[Any]) -> Numbers:
    """Summarise a table of three attributes whose input costs next to nothing: no generator is loaded."""
    import numpy as np

    import hushtable as ht

    places = np.arange(cells) * 999_999_937 % side**3  # a prime: each place once, in no order
    codes = np.stack([places // side**2, places // side % side, places % side], axis=1)
    table = ht.SparseTable(shape=(side,) * 3, codes=codes, counts=1 + np.arange(cells) % 100)
    return {"rows": len(ht.summarize(table, as_method(method), epsilon=_EPSILON))}


def every_cell(cells: int) -> Numbers:
    """Draw noise for so many cells in NumPy, the obvious way."""
    import numpy as np

    generator = np.random.default_rng()
    start = perf_counter()
    chance = -np.expm1(-float(_EPSILON))
    generator.geometric(chance, cells) - generator.geometric(chance, cells)
    return {"seconds": perf_counter() - start}


def load(names: Sequence[str]) -> Numbers:
    """Load modules, and do nothing with them."""
    from importlib import import_module

    for name in names:
        import_module(name)
    return {}


def write_rows(name: str, rows: int, folder: str) -> Numbers:
    """Write made-up rows and their domain."""
    from benchmarks.rows import write

    write(name, rows=rows, folder=Path(folder))
    return {}


def count(rows: str, domain: str, memory: str, totals: bool) -> Numbers:
    """Count the rows of a file, slice by slice; with totals of all cells on request."""
    from hushtable.domain.domain import Domain
    from hushtable.domain.measure import Measure
    from hushtable.engines.counting import counted_rows
    from hushtable.engines.sliced.counting import CountedRows, CountRequest
    from hushtable.noise import KeyStream

    found: Numbers = {}
    with counted_rows(
        rows, CountRequest(domain=Domain.load(domain), measure=Measure(), memory=memory, entropy=KeyStream())
    ) as counted:
        if totals:
            found = dict.fromkeys(("cells", "sum", "squares"), 0)
            assert isinstance(counted, CountedRows)
            for part in counted.slices.parts:
                counts = part.load()[1]
                found["cells"] += counts.size
                found["sum"] += int(counts.sum())
                found["squares"] += int(counts @ counts)
    return found | {"peak": peak_bytes()}


def publish(
    rows: str,
    domain: str,
    size: int,
    memory: str,
    output: str,
    max_rows: int | None = None,
    tables: Sequence[Sequence[str]] | None = None,
    structure: str | None = None,
    sampled: bool = False,
    hierarchy: str | None = None,
    table: str | None = None,
) -> Numbers:
    """Publish the rows of a file: of each person so many, as several tables, or by a structure, on request.

    `sampled`: by a priority sample, which has as many rows as it is asked for. `hierarchy`: its levels.
    `table`: of a database, whose address `rows` then is.
    """
    import hushtable as ht

    settings: dict[str, Any] = {"output": output, "overwrite": True, "memory": memory}
    settings["summary"] = ht.Priority(size=size) if sampled else None
    settings["structure"] = structure if tables is None else ht.Marginals(*tables)
    if hierarchy is not None:
        settings["structure"] = ht.Hierarchy(hierarchy)
    settings["unit"] = None if max_rows is None else ht.Unit("person", max_rows=max_rows)
    # Also where there are fewer cells than rows are asked for, which is refused otherwise.
    settings |= {"anyway": True, "ledger": False}
    settings |= {} if sampled else {"size": size}
    settings |= {} if table is None else {"table": table}
    release = ht.publish(rows, domain=domain, epsilon=_EPSILON, **settings)
    return {"rows": len(release), "peak": peak_bytes(), "processor": process_time()}


def ask(file: str, by: Sequence[str], totals: int) -> Numbers:
    """Ask a release for all groups of some attributes, or for so many totals over ranges of two."""
    import hushtable as ht

    release = ht.open(file)
    if by:
        return {"groups": release.by(list(by)).num_rows, "peak": peak_bytes()}
    for low, high in _ranges(totals):
        release.total(home=ht.between(low, high), work=ht.between(low, high))
    return {"peak": peak_bytes()}


def ask_duckdb(file: str, by: Sequence[str], totals: int) -> Numbers:
    """Ask DuckDB for the same sums of a file, without intervals and without groups that have no row."""
    import duckdb

    with duckdb.connect() as engine:
        if by:
            names = ", ".join(by)
            found = engine.sql(f"SELECT {names}, sum(weight) FROM '{file}' GROUP BY ALL").to_arrow_table()
            return {"groups": found.num_rows, "peak": peak_bytes()}
        for low, high in _ranges(totals):
            there = " AND ".join(f"{name} >= {low} AND {name} < {high}" for name in ("home", "work"))
            engine.execute(f"SELECT sum(weight) FROM '{file}' WHERE {there}").fetchall()
        return {"peak": peak_bytes()}


def _ranges(number: int) -> list[tuple[int, int]]:
    """Return ranges of places, in thousands, some of them wide."""
    return [(place % 500 * 1000, (place % 500 + 1 + place % 97 * 5) * 1000) for place in range(number)]


def group(
    rows: str, folder: str, memory: str | None, totals: bool, sets: Sequence[Sequence[str]] | None = None
) -> Numbers:
    """Let DuckDB group the rows of a file into another, as people do; with totals on request.

    `failed` tells that it ran out of the memory that it was allowed.
    """
    import duckdb

    with duckdb.connect() as engine:
        engine.execute(f"SET temp_directory = '{folder}/spilled'").fetchall()
        if memory is not None:
            engine.execute(f"SET memory_limit = '{memory}'").fetchall()
        grouped = f"SELECT *, count(*) AS count FROM '{rows}' GROUP BY ALL"
        if sets is not None:
            names = ", ".join(dict.fromkeys(name for each in sets for name in each))
            listed = ", ".join(f"({', '.join(each)})" for each in sets)
            grouped = f"SELECT {names}, count(*) AS count FROM '{rows}' GROUP BY GROUPING SETS ({listed})"
        try:
            engine.execute(f"COPY ({grouped}) TO '{folder}/grouped.parquet'").fetchall()
        except duckdb.OutOfMemoryException:
            return {"failed": True, "peak": peak_bytes()}
        found: Numbers = {"failed": False, "peak": peak_bytes()}
        if totals:
            sums = f"SELECT count(*), sum(count), sum(count * count) FROM '{folder}/grouped.parquet'"
            cells = engine.execute(sums).fetchall()[0]
            found |= zip(("cells", "sum", "squares"), map(int, cells), strict=True)
        return found


def as_method(named: Sequence[Any]) -> "Method":
    """Return the settings of a method given as its name and its keywords."""
    import hushtable as ht

    name, settings = named
    method: Method = getattr(ht, name)(**settings)
    return method


def as_structure(named: Sequence[Any] | None) -> "Structure | str | None":
    """Return a structure given as its name, or as the name of its class and its keywords."""
    import hushtable as ht

    if named is None or isinstance(named, str):
        return named
    name, settings = named
    structure: Structure = getattr(ht, name)(**settings)
    return structure


def peak_bytes() -> int:
    """Return the most memory that the process held since it started, or since `start_over`."""
    import resource

    try:
        return _status_bytes("VmHWM")
    except OSError:
        pass  # no such file: ask the library instead
    # Kilobytes, but bytes on a Mac.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def start_over() -> int | None:
    """Forget the peak and return what is held now, or None where the system cannot do that."""
    import ctypes

    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, or it would count as held
        with open("/proc/self/clear_refs", "w") as references:
            references.write("5")
        return _status_bytes("VmRSS")
    except (OSError, AttributeError):
        return None


def _status_bytes(name: str) -> int:
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(name)).split()[1]) * 1024


def fresh(job: str, **arguments: object) -> Numbers:
    """Return what a worker prints that does one job in a process of its own.

    Modules that were compiled once stay so, as they are where hushtable is installed.
    """
    import os
    import subprocess

    command = [sys.executable, "-m", "benchmarks.worker", job, json.dumps(arguments)]
    root = Path(__file__).parent.parent
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root, env=environment)
    numbers: Numbers = json.loads(done.stdout)
    return numbers


JOBS: dict[str, Callable[..., Numbers]] = {
    "summary": summary,
    "cold": cold,
    "every_cell": every_cell,
    "load": load,
    "write_rows": write_rows,
    "count": count,
    "publish": publish,
    "ask": ask,
    "ask_duckdb": ask_duckdb,
    "group": group,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.loads(sys.argv[2]))))
