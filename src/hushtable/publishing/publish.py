"""From rows to a release: the one flow.

    check what is public -> see that the ledger can pay -> count -> charge -> draw -> write -> finish

Promise: nothing is drawn before it is paid for; what was charged stays charged, whatever happens then. The
file, or the folder of parts, is there whole or not at all. It holds what was drawn and what the owner
declared, nothing else.
Cost: one pass over the rows, and time and memory that follow the occupied cells and the rows published.
A structure has all occupied cells in memory at once, but for those on Spark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from hushtable.answers.release import Release, open_release
from hushtable.domain.domain import Domain, as_domain
from hushtable.domain.measure import Measure, Unit
from hushtable.domain.units import unit_name
from hushtable.engines.counting import counted_rows
from hushtable.engines.registry import engine_of, inputs_of
from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.keying import Tally
from hushtable.errors import (
    BadChoice,
    BadMethod,
    BadNumber,
    BadSettings,
    UnreviewedDomain,
)
from hushtable.files.apart import Kept
from hushtable.files.parts import ROWS_IN_A_FILE
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.laws.rationals import Rational, as_fraction, as_positive
from hushtable.laws.registry import DEFAULT_LAW, law_named
from hushtable.ledger.ledger import Ledger
from hushtable.methods.settings import Method, check_method
from hushtable.noise import BitSource, KeyStream, cell_noise
from hushtable.planning.judges import check_covered
from hushtable.planning.plan import Plan
from hushtable.publishing.choices import (
    AUTO,
    Choice,
    check_ask,
    check_size,
    choice_over,
    joined_choices,
    planned_structure,
    recommended,
    usual_structure,
)
from hushtable.publishing.joining import finished
from hushtable.publishing.judging import check_on_spark, check_plan, check_worth, recorded
from hushtable.publishing.paying import Payment
from hushtable.release.footer import check_levels
from hushtable.release.layout import check_names
from hushtable.release.record import check_output, write_release
from hushtable.release.terms import Part, Terms
from hushtable.structures.registry import as_structure
from hushtable.structures.structure import Structure
from hushtable.summaries.draws import Bought, draw_of, drawn_keys
from hushtable.summaries.flat import expected_empty
from hushtable.summaries.summary import Summary
from hushtable.table.progress import Progress, unheard

_TOTAL_SHARE = Fraction(1, 50)
_LARGEST_SETTING = 10**300  # of a cutoff or a threshold: a release keeps them as floats too


def publish(
    data: Any,
    *,
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str],
    epsilon: Rational,
    output: str | os.PathLike[str],
    level: Mapping[str, str] | None = None,
    size: int | None = None,
    ask: Sequence[object] | str | None = None,
    summary: Method | None = None,
    plan: Plan | None = None,
    anyway: bool = False,
    structure: Structure | str | None = None,
    unit: Unit | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    where: str | None = None,
    query: str | None = None,
    rows_are_units: bool = False,
    total_share: Rational | None = None,
    law: str = DEFAULT_LAW,
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
    `size`                        rows to publish of each table; a table with no more cells is published whole
    `ask`                         the questions to publish for, as in ["town", "town,job", "month(day),job"]:
                                  tables and their shares of epsilon are chosen for them; if left out, for
                                  questions by one attribute, by two, and about cells
    `summary`                     a method for a table of cells alone, as in `ht.Priority(size=1000)`
    `plan`                        an `ht.Plan` for this release: its method, or it judges that of `summary`
    `anyway`                      publish what would otherwise be refused as `WastedRelease`
    `structure`                   what to publish instead: "cells", `ht.Tables("town", "town,job")`, "haar" or
                                  `ht.Tree()`; with a plan, "auto" is what it takes for ranges
    `total_share`                 the share of epsilon that buys a noisy total of cells: 1/50 if left out, 0
                                  for none; trees and whole tables tell the total, and none is bought
    `law`                         the law of the noise, by its name; "geometric" has the least noise there is
                                  for an epsilon
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
    declared = as_domain(domain)
    declared = declared if level is None else declared.at(level)
    law_named(law)  # known, before anything else is looked at
    measure = Measure(count_column=count_column, sum_column=sum_column, clamp=clamp, unit=unit)
    if summary is not None:
        check_method(summary, name="summary")
    if plan is not None and not isinstance(plan, Plan):
        raise BadMethod("plan", type(plan).__name__, "a plan", "ht.plan(...)")
    check_ask(ask, structure=structure, summary=summary, plan=plan)
    entire: int | None = None
    if structure is None and summary is None and plan is None:
        distributed = engine_of(data).distributed
        usual = usual_structure(
            declared,
            ask=ask,
            size=size,
            distributed=distributed,
            epsilon=epsilon,
            sensitivity=measure.sensitivity,
            law=law_named(law),
        )
        noised, entire = usual.structure, usual.whole
        total_share = usual.total_share if total_share is None else total_share
    else:
        noised = planned_structure(plan, summary) if structure == AUTO else as_structure(structure)
    if structure == AUTO and not noised.takes_total:
        total_share = None  # which goes with cells
    whole, for_total = split_epsilon(epsilon, total_share, noised)
    if plan is not None and size is not None:
        raise BadChoice("a plan has a size, and another was given", "Leave `size` out, or plan with it.")
    if plan is None and (size is None) == (summary is None) and noised.rows_published is None:
        raise BadSettings("publish", ("size", "summary"))
    check_size(noised, size)
    if summary is not None:
        chosen = Choice(noised.taken(summary), None, plan)
        if noised.several:
            nodes = noised.over(declared)
            chosen = joined_choices(nodes, [chosen] * len(nodes.marginals))
    elif plan is not None and not noised.several and noised.rows_published is None:
        chosen = recommended(plan, noised)
    else:
        rows, most = whole - for_total, measure.sensitivity
        chosen = choice_over(
            noised,
            declared,
            summary=None,
            epsilon=rows,
            sensitivity=most,
            size=size,
            plan=plan,
            law=law_named(law),
            whole=entire,
        )
    account = ledger if isinstance(ledger, Ledger | None) else Ledger.open(ledger)
    payment = Payment(account, epsilon=whole, output=output)
    return payment.told(
        publish_chosen,
        data,
        domain=declared,
        measure=measure,
        structure=noised,
        chosen=chosen,
        epsilon=whole,
        total_epsilon=for_total,
        output=output,
        where=where,
        query=query,
        rows_are_units=rows_are_units,
        payment=payment,
        memory=memory,
        overwrite=overwrite,
        anyway=anyway,
        law_name=law,
    ).release


class Published(NamedTuple):
    """A finished release, and what became of the rows: private, for the owner's eyes."""

    release: Release
    tally: Tally


def publish_chosen(
    data: Any,
    *,
    domain: Domain,
    measure: Measure,
    structure: Structure,
    chosen: Choice,
    epsilon: Fraction,
    total_epsilon: Fraction,
    output: str | os.PathLike[str],
    where: str | None,
    query: str | None,
    rows_are_units: bool,
    payment: Payment,
    memory: int | str | None,
    overwrite: bool,
    anyway: bool,
    law_name: str = DEFAULT_LAW,
    progress: Progress = unheard,
) -> Published:
    """Publish with settings that are chosen already."""
    # 1. Whatever can be refused by public facts is refused before a row is read.
    if not domain.reviewed:
        raise UnreviewedDomain(domain.title)
    if chosen.plan is not None:
        check_covered(structure)
    for each in (chosen, *chosen.parts):
        structure.check_method(each.method, measure)
    if not structure.key_words:  # whose columns are no attributes
        check_names(structure.over(domain), domain)
    engine = engine_of(data)
    if engine.distributed:
        check_on_spark(structure)
    _, per_cell = structure.sizes(domain)
    entropy = KeyStream()
    terms = Terms(
        domain=domain,
        measure=measure,
        rows_are_units=rows_are_units,
        where=where,
        query=query,
        epsilon=epsilon,
        total_epsilon=total_epsilon,
        sensitivity=measure.sensitivity * per_cell,
        structure=structure,
        method=chosen.method,
        rule=chosen.rule,
        cutoff=None,
        threshold=None,
        total=None,
        version=version("hushtable"),
        plan=recorded(chosen.plan),
        keys=drawn_keys(structure, entropy),
        parts=tuple(Part(method=each.method, rule=each.rule) for each in chosen.parts),
        law_name=law_name,
    )
    if chosen.plan is not None:
        check_plan(chosen.plan, terms)
    for number in range(len(terms.parts)):
        check_settings(terms.part(number))
    check_settings(terms)
    check_levels(terms)
    check_worth(chosen.plan, terms, anyway=anyway)
    kept = kept_files(data, domain, payment.ledger)
    check_output(output, overwrite=overwrite, kept=kept)
    unit = unit_name(measure, rows_are_units=rows_are_units, query=query)
    payment.check(unit=unit)
    threads = os.cpu_count() or 1
    # 2. Count. A mistake in the data shows here, before anything is spent.
    with counted_rows(
        data,
        CountRequest(
            domain=domain,
            measure=measure,
            where=where,
            query=query,
            rows_are_units=rows_are_units,
            memory=memory,
            threads=threads,
            entropy=entropy,
            nodes=terms.nodes,
            drawn=0.0
            if terms.parts
            else expected_empty(terms.method, cells=terms.units_total, law=terms.law),
            progress=progress,
        ),
    ) as counted:
        # 3. Charge, once and for good: what follows is drawn.
        what = in_one_line(output, domain.title, chosen.method, tables=len(chosen.parts))
        payment.charge(unit=unit, what=what, name=_cut(Path(output).name) or None)
        # 4. Draw the total and the summary, each from its own part of epsilon. Should memory run out, that is
        # told without the numbers of cells that NumPy's own words would quote.
        of_total = terms.total_law
        total = quiet(noisy_total, counted, of_total, entropy) if of_total is not None else None
        drawn = quiet(drawn_summaries, counted, terms, entropy, threads, progress)
        met, rows = finished(terms, total, drawn)
        tally = counted.tally
    # 5. Write the file whole, and only then say that the release is finished.
    digest = write_release(
        output,
        met,
        codes=rows.codes,
        counts=rows.counts,
        weights=rows.weights,
        overwrite=overwrite,
        rows_in_a_file=ROWS_IN_A_FILE if engine.distributed else None,
        kept=kept,
    )
    payment.finish(digest)
    return Published(open_release(output), tally)


def kept_files(data: Any, domain: Domain, ledger: Ledger | None) -> Kept:
    """Return all files that a publication reads or charges: its output is none of them, nor among them."""
    origins = [Kept.file(each.path, each.what, known_as=(each.device, each.inode)) for each in domain.origins]
    account = [] if ledger is None else [Kept.file(ledger.path, "the ledger")]
    return inputs_of(data).and_all([*origins, *account])


def drawn_summaries(
    counted: Counted, terms: Terms, entropy: BitSource, threads: int, progress: Progress
) -> list[Summary]:
    """Draw what the terms describe: a summary of all nodes, or one of each marginal."""
    bought = Bought(
        terms.epsilon - terms.total_epsilon,
        Fraction(terms.sensitivity),
        entropy,
        law_named(terms.law_name),
        threads,
        progress=progress,
    )
    methods = [part.method for part in terms.parts] or [terms.method]
    return draw_of(terms.structure)(counted, terms.nodes, methods, bought)


def check_settings(terms: Terms) -> None:
    """Raise where drawing would be refused, which the terms alone tell: after the charge it is too late."""
    method, kind = terms.method, law_named(terms.law_name)
    rows, total = terms.epsilon - terms.total_epsilon, terms.total_epsilon
    law_to_draw(kind, epsilon=rows * terms.nodes.share, l1=Fraction(terms.sensitivity))
    if total:
        law_to_draw(kind, epsilon=total, l1=Fraction(terms.measure.sensitivity))
    for name in ("cutoff", "threshold"):
        value = getattr(method, name)
        if value is not None and value > _LARGEST_SETTING:
            hint = "No count is so large."
            raise BadNumber(name=name, value=str(value), allowed="is above 10^300", hint=hint)
    draw_of(terms.structure).check(terms.nodes, method, law_at=terms.law_at)


def in_one_line(output: str | os.PathLike[str], title: str, method: Method, *, tables: int = 0) -> str:
    """Return what a ledger calls a release: the name of its file, its title and its summary, or its tables.

    >>> from hushtable.methods.settings import Priority
    >>> in_one_line("out/commute.parquet", "Commuters", Priority(size=10_000))
    'commute.parquet: Commuters, priority of 10,000 rows'
    """
    name, about = _cut(Path(output).name), _cut(title)
    size = method.size
    rows = "" if size is None else f" of {size:,} row{'s' * (size != 1)}"
    kind = f"{tables:,} table{'s' * (tables != 1)}" if tables else f"{method.name}{rows}"
    return f"{name}: {f'{about}, ' * bool(about)}{kind}"


def _cut(text: str, longest: int = 200) -> str:
    """Return a text without line ends and other characters that do not print, cut where it is long."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def noisy_total(counted: Counted, law: NoiseLaw, entropy: BitSource) -> int:
    """Return the sum of all counts, with noise. One unit changes it by no more than all cells together."""
    return counted.total() + int(cell_noise(law, entropy, count=1)[0])


def split_epsilon(
    epsilon: Rational, total_share: Rational | None, structure: Structure
) -> tuple[Fraction, Fraction]:
    """Return all of epsilon, and the part of it that buys the noisy total."""
    whole = as_positive(epsilon, name="epsilon", hint="Typical values lie between 0.01 and 10.")
    if total_share is None:
        return whole, whole * (_TOTAL_SHARE if structure.takes_total else 0)
    share = as_fraction(total_share, name="total_share")
    if not 0 <= share < 1:
        hint = "The default is 1/50; 0 publishes no total."
        raise BadNumber(name="total_share", value=total_share, allowed="must be from 0 to below 1", hint=hint)
    if share and not structure.takes_total:
        fact = "a tree has its total as its root, so no share of epsilon buys another"
        raise BadChoice(fact, "Leave `total_share` out.")
    return whole, whole * share
