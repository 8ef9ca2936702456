"""From rows to a release: the one flow.

    check what is public -> see that the ledger can pay -> count -> charge -> draw -> write -> finish

Promise: nothing is drawn before it is paid for; what was charged stays charged, whatever happens then. The
file is there whole or not at all. It holds what was drawn and what the owner declared, nothing else.
Cost: one pass over the rows, and time and memory that follow the occupied cells and the rows published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.engines.counting import CountedRows, counted_rows
from hushtable.engines.engine import quiet
from hushtable.errors import (
    BadChoice,
    BadMethod,
    BadNumber,
    BadSettings,
    UnreviewedDomain,
)
from hushtable.exact.rationals import Rational, as_fraction, as_positive, as_rate
from hushtable.ledger.ledger import Ledger
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, KeyStream, two_sided_geometric
from hushtable.publishing.choices import Choice, choice, name_of
from hushtable.query.release import Release, open_release
from hushtable.release.record import check_output, write_release
from hushtable.release.terms import Terms
from hushtable.summaries.summarize import check_method, summarize_slices
from hushtable.table.progress import Progress, unheard

_LARGEST_SETTING = 10**300  # of a cutoff or a threshold: a release keeps them as floats too


def publish(
    data: Any,
    *,
    domain: Domain | str | os.PathLike[str],
    epsilon: Rational,
    output: str | os.PathLike[str],
    level: Mapping[str, str] | None = None,
    size: int | None = None,
    summary: Method | None = None,
    structure: str | None = None,
    unit: Unit | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    where: str | None = None,
    query: str | None = None,
    rows_are_units: bool = False,
    total_share: Rational = "1/50",
    ledger: Ledger | str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
) -> Release:
    """Count rows, draw a private summary, write it to `output` and return it as `ht.open(output)` does.

    Guarantee: epsilon-differential privacy for the unit that the release names, pure, by exact arithmetic.

    ============================  ====================================================================
    argument                      meaning
    ============================  ====================================================================
    `level`                       coarser levels of attributes, as in {"home": "tract"}; else the finest
    `size`                        rows to publish, by filter-priority with a cutoff from public facts
    `summary`                     another method instead, as in `ht.Priority(size=1000)`
    `total_share`                 the share of epsilon that buys a noisy total; 0 for none
    `ledger`                      is charged before anything is drawn; None if you keep count elsewhere
    `data`, `unit`, `where` ...   as in `ht.count`
    ============================  ====================================================================

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> text = '[[attribute]]\\nname = "age"\\nintegers = { low = 0, high = 120 }'
    >>> _ = Path("age.toml").write_text(text)
    >>> rows = pa.table({"age": [34, 34, 61]})
    >>> release = ht.publish(rows, domain="age.toml", epsilon=1, size=10, output="age.parquet")
    >>> release.epsilon
    Fraction(1, 1)
    """
    declared = domain if isinstance(domain, Domain) else Domain.load(domain)
    declared = declared if level is None else declared.at(level)
    whole, for_total = split_epsilon(epsilon, total_share)
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    if structure not in (None, "cells"):
        raise BadChoice(f"there is no structure {structure!r}", 'Leave it out, or write "cells".')
    if (size is None) == (summary is None):
        raise BadSettings("publish", ("size", "summary"))
    if summary is not None and not isinstance(summary, Method):
        raise BadMethod("summary", type(summary).__name__, "a summary method", "ht.Priority(size=100_000)")
    if summary is None:
        rate = (whole - for_total) / measure.sensitivity
        chosen = choice(size=size, cells=declared.cells_total, rate=rate)
    else:
        chosen = Choice(summary, None)
    return publish_chosen(
        data,
        domain=declared,
        measure=measure,
        chosen=chosen,
        epsilon=whole,
        total_epsilon=for_total,
        output=output,
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        ledger=ledger if isinstance(ledger, Ledger | None) else Ledger.open(ledger),
        memory=memory,
        overwrite=overwrite,
    ).release


class Published(NamedTuple):
    """A finished release, and whether rules of the domain dropped any row: private, for the owner's eyes."""

    release: Release
    dropped: bool


def publish_chosen(
    data: Any,
    *,
    domain: Domain,
    measure: Measure,
    chosen: Choice,
    epsilon: Fraction,
    total_epsilon: Fraction,
    output: str | os.PathLike[str],
    where: str | None,
    query: str | None,
    rows_are_units: bool,
    ledger: Ledger | None,
    memory: int | str | None,
    overwrite: bool,
    progress: Progress = unheard,
) -> Published:
    """Publish with settings that are chosen already."""
    # 1. Whatever can be refused by public facts is refused before a row is read.
    if not domain.reviewed:
        raise UnreviewedDomain(domain.title)
    terms = Terms(
        domain=domain,
        measure=measure,
        rows_are_units=rows_are_units,
        where=where,
        query=query,
        epsilon=epsilon,
        total_epsilon=total_epsilon,
        sensitivity=measure.sensitivity,
        structure="cells",
        method=chosen.method,
        rule=chosen.rule,
        cutoff=None,
        threshold=None,
        total=0 if total_epsilon else None,
        version=version("hushtable"),
    )
    check_settings(terms)
    check_output(output, overwrite=overwrite)
    if ledger is not None:
        ledger.can_pay(epsilon)
    entropy = KeyStream()
    threads = os.cpu_count() or 1
    # 2. Count. A mistake in the data shows here, before anything is spent.
    with counted_rows(
        data,
        domain=domain,
        measure=measure,
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        memory=memory,
        threads=threads,
        entropy=entropy,
        progress=progress,
    ) as counted:
        # 3. Charge, once and for good: what follows is drawn.
        what = in_one_line(output, domain.title, chosen.method)
        entry = None if ledger is None else ledger.charge(epsilon, what=what)
        # 4. Draw the total and the summary, each from its own part of epsilon. Should memory run out, that is
        # told without the numbers of cells that NumPy's own words would quote.
        rate = total_epsilon / measure.sensitivity
        total = quiet(noisy_total, counted, rate, entropy) if total_epsilon else None
        drawn = quiet(
            summarize_slices,
            counted.slices,
            counted.space,
            chosen.method,
            epsilon=epsilon - total_epsilon,
            sensitivity=Fraction(measure.sensitivity),
            entropy=entropy,
            threads=threads,
            progress=progress,
        )
        dropped = counted.dropped
    terms = replace(terms, cutoff=drawn.cutoff, threshold=drawn.threshold, total=total)
    # 5. Write the file whole, and only then say that the release is finished.
    digest = write_release(
        output, terms, codes=drawn.codes, counts=drawn.counts, weights=drawn.weights, overwrite=overwrite
    )
    if ledger is not None and entry is not None:
        ledger.finish(entry, digest=digest)
    return Published(open_release(output), dropped)


def check_settings(terms: Terms) -> None:
    """Raise where drawing would be refused, which the terms alone tell: after the charge it is too late."""
    method, rate = terms.method, as_rate(terms.rate)
    if terms.total_rate is not None:
        as_rate(terms.total_rate)
    for name in ("cutoff", "threshold"):
        value = getattr(method, name, None)
        if value is not None and value > _LARGEST_SETTING:
            hint = "No count is so large."
            raise BadNumber(name=name, value=str(value), allowed="is above 10^300", hint=hint)
    check_method(method, cells_total=terms.domain.cells_total, rate=rate)


def in_one_line(output: str | os.PathLike[str], title: str, method: Method) -> str:
    """Return what a ledger calls a release: the name of its file, its title and its summary.

    >>> from hushtable.methods.settings import Priority
    >>> in_one_line("out/commute.parquet", "Commuters", Priority(size=10_000))
    'commute.parquet: Commuters, priority of 10,000 rows'
    """
    name, about = _cut(Path(output).name), _cut(title)
    size: int | None = getattr(method, "size", None)
    rows = "" if size is None else f" of {size:,} row{'s' * (size != 1)}"
    return f"{name}: {f'{about}, ' * bool(about)}{name_of(method)}{rows}"


def _cut(text: str, longest: int = 200) -> str:
    """Return a text without line ends and other characters that do not print, cut where it is long."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def noisy_total(counted: CountedRows, rate: Fraction, entropy: BitSource) -> int:
    """Return the sum of all counts, with noise. One unit changes it by no more than all cells together."""
    true = sum(_sum(part.load()[1]) for part in counted.slices)
    return true + int(two_sided_geometric(as_rate(rate), entropy, count=1)[0])


def _sum(counts: NDArray[np.int64]) -> int:
    """Add up counts in two halves, so that nothing wraps."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def split_epsilon(epsilon: Rational, total_share: Rational) -> tuple[Fraction, Fraction]:
    """Return all of epsilon, and the part of it that buys the noisy total."""
    whole = as_positive(epsilon, name="epsilon", hint="Typical values lie between 0.01 and 10.")
    share = as_fraction(total_share, name="total_share")
    if not 0 <= share < 1:
        hint = "The default is 1/50; 0 publishes no total."
        raise BadNumber(name="total_share", value=total_share, allowed="must be from 0 to below 1", hint=hint)
    return whole, whole * share
