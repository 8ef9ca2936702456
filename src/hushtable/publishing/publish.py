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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hushtable.answers.release import Release, open_release
from hushtable.domain.domain import Domain
from hushtable.domain.later import Later
from hushtable.domain.measure import Unit
from hushtable.engines.counting import counted_rows
from hushtable.engines.local.addresses import located
from hushtable.engines.registry import inputs_of
from hushtable.engines.sliced.counting import Counted, CountRequest
from hushtable.engines.sliced.engine import quiet
from hushtable.engines.sliced.keying import Tally
from hushtable.errors import BadChoice, BadNumber, UnreviewedDomain
from hushtable.files.apart import Kept
from hushtable.files.parts import ROWS_IN_A_FILE
from hushtable.laws.law import NoiseLaw, law_to_draw
from hushtable.laws.rationals import Rational
from hushtable.laws.registry import law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, KeyStream, cell_noise
from hushtable.publishing.deciding import Decision, decided
from hushtable.publishing.joining import finished, listed
from hushtable.publishing.judging import check_plan, check_worth, recorded
from hushtable.publishing.paying import Payment
from hushtable.publishing.recipe import Recipe
from hushtable.release.footer import check_levels
from hushtable.release.layout import check_names
from hushtable.release.record import check_output, write_release
from hushtable.release.terms import Part, Terms
from hushtable.release.version import VERSION
from hushtable.structures.structure import Structure
from hushtable.summaries.draws import Bought, draw_of, drawn_keys
from hushtable.summaries.flat import expected_empty
from hushtable.summaries.summary import Summary
from hushtable.table.progress import Progress, unheard

if TYPE_CHECKING:  # who needs neither does not wait for them
    from hushtable.ledger import ledger as ledgers
    from hushtable.planning import plan as plans
else:
    ledgers, plans = Later("hushtable.ledger.ledger"), Later("hushtable.planning.plan")

_LARGEST_SETTING = 10**300  # of a cutoff or a threshold: a release keeps them as floats too


def publish(
    data: Any,
    *,
    domain: Domain | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    delta: Rational | None = None,
    output: str | os.PathLike[str] | None = None,
    level: Mapping[str, str] | None = None,
    size: int | None = None,
    ask: Sequence[object] | str | None = None,
    summary: Method | Mapping[str, Any] | str | None = None,
    plan: plans.Plan | Mapping[str, Any] | None = None,
    anyway: bool = False,
    structure: Structure | Mapping[str, Any] | str | None = None,
    unit: Unit | Mapping[str, Any] | None = None,
    count_column: str | None = None,
    sum_column: str | None = None,
    clamp: tuple[int, int] | None = None,
    where: str | None = None,
    query: str | None = None,
    table: str | None = None,
    rows_are_units: bool = False,
    total_share: Rational | None = None,
    left_out_share: Rational | None = None,
    law: str | None = None,
    ledger: ledgers.Ledger | str | os.PathLike[str] | Literal[False] | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
    name: str | None = None,
    engine: Literal["local", "spark"] | None = None,
    master: str | None = None,
) -> Release:
    """Count rows, draw a private summary, write it to `output` and return it as `ht.open(output)` does.

    Guarantee: differential privacy for the unit that the release names, by exact arithmetic. It is pure for
    an `epsilon`, zero-concentrated for a `rho`, and approximate for an `epsilon` and a `delta`.

    ============================  ====================================================================
    argument                      meaning
    ============================  ====================================================================
    `data`                        rows, as in `ht.count`; or an `ht.Recipe`, which says all the rest
    `level`                       coarser levels of attributes, as in {"home": "tract"}; else the finest
    `size`                        rows to publish of each table; a table with no more cells is published whole
    `ask`                         the questions to publish for, as in ["town", "town,job", "month(day),job"]:
                                  tables and their shares of epsilon are chosen for them; if left out, for
                                  questions by one attribute, by two, and about cells
    `summary`                     a method for a table of cells alone, as in `ht.Priority(size=1000)`
    `plan`                        an `ht.Plan` for this release, or what one is to assume, as in
                                  {"like": "last-year.parquet"}: its method, or it judges that of `summary`
    `anyway`                      publish what would otherwise be refused as `WastedRelease`
    `structure`                   what to publish instead: "cells", `ht.Tables("town", "town,job")`, "haar" or
                                  `ht.Tree()`; with a plan, "auto" is what it takes for ranges
    `total_share`                 the share of epsilon that buys a noisy total of cells: 1/50 if left out, 0
                                  for none; trees and whole tables tell the total, and none is bought
    `left_out_share`              the share of the cost, as in "0.01", that tells with noise how many people
                                  have no row that could be counted: missing, or outside the domain
    `epsilon`, `rho`, `delta`     what it may cost: one of the first two; a `delta` goes with `epsilon`
    `law`                         the law of the noise: "geometric" for an epsilon, "gaussian" for a rho; with
                                  a delta also "truncated-geometric" and "gaussian-stability", or if it is
                                  left out the one that is best for what is declared
    `ledger`                      is charged before anything is drawn; False if you keep count elsewhere. If
                                  it is left out, none is charged, and the log says so
    `name`                        what the ledger calls the release; else the name of its file
    `engine`, `master`            "spark" reads paths and tables on Spark, with this master
    `table`                       of a database at postgresql://..., the table that is read
    `unit`, `where`, `query` ...  as in `ht.count`
    ============================  ====================================================================

    >>> import hushtable as ht
    >>> import pyarrow as pa
    >>> ages = ht.Domain(age=ht.integers(0, 120))
    >>> rows = pa.table({"age": [34, 34, 61]})
    >>> release = ht.publish(rows, domain=ages, epsilon=1, size=10, ledger=False, output="age.parquet")
    >>> release.epsilon
    Fraction(1, 1)
    """
    words = {word: value for word, value in locals().items() if word != "data"}
    if type(data) is Recipe:  # rows may be anything: nobody looks at more than their type here
        usual = {word: each.default for word, each in signature(publish).parameters.items()}
        if said := [f"`{word}`" for word, value in words.items() if value is not usual[word]]:
            fact = f"{', '.join(said)} came with a recipe, which already holds every setting"
            raise BadChoice(fact, "Use `recipe.replace(...)`.")
        return publish_decided(decided(data)).release
    for word in ("domain", "output"):
        if words[word] is None:
            raise BadChoice(f"`{word}` is missing", "A publication needs `domain`, `output` and a cost.")
    return publish_decided(decided(Recipe(data=data, **words))).release


class Published(NamedTuple):
    """A finished release, and what became of the rows: private, for the owner's eyes."""

    release: Release
    tally: Tally


def publish_decided(
    decision: Decision, payment: Payment | None = None, *, progress: Progress = unheard
) -> Published:
    """Publish what was decided, and pay for it."""
    paying = decision.payment() if payment is None else payment
    return paying.told(_published, decision, paying, progress)


def _published(decision: Decision, payment: Payment, progress: Progress) -> Published:
    recipe = decision.recipe
    # 1. Whatever can be refused by public facts is refused before a row is read.
    terms = checked_terms(decision)
    if _starts_spark(recipe):
        # Java takes half a minute to start: what can be refused without it, is.
        from hushtable.engines.spark.sources import check_named

        kept = kept_files([], decision.domain, payment.ledger)
        check_output(decision.output, overwrite=recipe.overwrite, kept=kept)
        payment.check(unit=decision.unit)
        check_named(_named(recipe))
    with rows_of(recipe, progress) as data:
        return _drawn_and_written(data, decision, terms, payment, progress)


def _drawn_and_written(
    data: Any, decision: Decision, terms: Terms, payment: Payment, progress: Progress
) -> Published:
    recipe, output, entropy = decision.recipe, decision.output, KeyStream()
    kept = kept_files(data, decision.domain, payment.ledger)
    check_output(output, overwrite=recipe.overwrite, kept=kept)
    payment.check(unit=decision.unit)
    threads = os.cpu_count() or 1
    # 2. Count. A mistake in the data shows here, before anything is spent.
    with counted_rows(
        data,
        CountRequest(
            domain=decision.domain,
            measure=recipe.measure,
            where=recipe.where,
            query=recipe.query,
            rows_are_units=recipe.rows_are_units,
            memory=recipe.memory,
            threads=threads,
            entropy=entropy,
            nodes=terms.nodes,
            left_out=bool(decision.left_out_budget),
            drawn=0.0
            if terms.parts
            else expected_empty(terms.method, cells=terms.units_total, law=terms.law),
            progress=progress,
        ),
    ) as counted:
        check_told(counted.units, terms)
        # 3. Charge, once and for good: what follows is drawn.
        chosen = decision.chosen
        what = in_one_line(output, decision.domain.title, chosen.method, tables=len(chosen.parts))
        payment.charge(unit=decision.unit, what=what, name=recipe.name or _cut(Path(output).name) or None)
        # 4. Draw the total and the summary, each from its own part of epsilon. Should memory run out, that is
        # told without the numbers of cells that NumPy's own words would quote.
        of_total = terms.total_law
        total = quiet(noisy_total, counted, of_total, entropy) if of_total is not None else None
        if terms.left_out_law is not None and counted.units is not None:
            told = quiet(noisy_left_out, counted.units, terms.left_out_law, entropy)
            terms = replace(terms, left_out=told)
        drawn = quiet(drawn_summaries, counted, terms, entropy, threads, progress)
        met, rows = finished(terms, total, drawn)
        if counted.texts is not None:
            met, rows = listed(met, rows, counted.texts)
        tally = counted.tally
    # 5. Write the file whole, and only then say that the release is finished.
    digest = write_release(
        output,
        met,
        codes=rows.codes,
        counts=rows.counts,
        weights=rows.weights,
        overwrite=recipe.overwrite,
        rows_in_a_file=ROWS_IN_A_FILE if decision.distributed and decision.structure.sliced else None,
        kept=kept,
    )
    payment.finish(digest)
    return Published(open_release(output), tally)


def checked_terms(decision: Decision) -> Terms:
    """Return the terms of a release that is decided, or raise where public facts speak against it."""
    recipe, domain, structure, chosen = (
        decision.recipe,
        decision.domain,
        decision.structure,
        decision.chosen,
    )
    measure = recipe.measure
    if not domain.reviewed:
        raise UnreviewedDomain(domain.title)
    for each in (chosen, *chosen.parts):
        structure.check_method(each.method, measure)
    if not structure.key_words:  # whose columns are no attributes
        check_names(structure.over(domain), domain)
    terms = Terms(
        domain=domain,
        measure=measure,
        rows_are_units=recipe.rows_are_units,
        where=recipe.where,
        query=recipe.query,
        epsilon=decision.cost.epsilon,
        rho=decision.cost.rho,
        delta=decision.cost.delta,
        total_budget=decision.total_budget,
        left_out_budget=decision.left_out_budget,
        sensitivity=measure.sensitivity * structure.sizes(domain).per_cell,
        structure=structure,
        method=chosen.method,
        rule=chosen.rule,
        cutoff=None,
        threshold=None,
        total=None,
        version=VERSION,
        plan=recorded(chosen.plan),
        keys=drawn_keys(structure, KeyStream()),
        parts=tuple(Part(method=each.method, rule=each.rule) for each in chosen.parts),
        law_name=decision.law.name,
        recipe=recipe.asked,
    )
    if chosen.plan is not None:
        check_plan(chosen.plan, terms)
    for number in range(len(terms.parts)):
        check_settings(terms.part(number))
    check_settings(terms)
    check_levels(terms)
    check_worth(chosen.plan, terms, anyway=recipe.anyway)
    return terms


@contextmanager
def rows_of(recipe: Recipe, progress: Progress) -> Iterator[Any]:
    """Give what is to be published: the rows as they are, or a DataFrame in a Spark session of this block."""
    if not _starts_spark(recipe):
        yield located(recipe.data, recipe.table)
        return
    from hushtable.engines.spark.sessions import session
    from hushtable.engines.spark.sources import frame_of

    progress("Starting", 0.0)
    with session(recipe.master) as spark:
        yield frame_of(spark, _named(recipe), rows_are_units=recipe.rows_are_units)


def _starts_spark(recipe: Recipe) -> bool:
    """Return whether the publication has a session of Spark for itself."""
    return recipe.engine == "spark" and issubclass(type(recipe.data), str | list)


def _named(recipe: Recipe) -> list[str]:
    """Return the paths and tables that are named to Spark."""
    return [recipe.data] if isinstance(recipe.data, str) else recipe.data


def kept_files(data: Any, domain: Domain, ledger: ledgers.Ledger | None) -> Kept:
    """Return all files that a publication reads or charges: its output is none of them, nor among them."""
    origins = [Kept.file(each.path, each.what, known_as=(each.device, each.inode)) for each in domain.origins]
    account = [] if ledger is None else [Kept.file(ledger.path, "the ledger")]
    return inputs_of(data).and_all([*origins, *account])


def drawn_summaries(
    counted: Counted, terms: Terms, entropy: BitSource, threads: int, progress: Progress
) -> list[Summary]:
    """Draw what the terms describe: a summary of all nodes, or one of each marginal."""
    bought = Bought(
        terms.rows_budget,
        terms.change,
        entropy,
        law_named(terms.law_name),
        threads,
        progress=progress,
        delta=terms.delta,
    )
    methods = [part.method for part in terms.parts] or [terms.method]
    return draw_of(terms.structure)(counted, terms.nodes, methods, bought)


def check_settings(terms: Terms) -> None:
    """Raise where drawing would be refused, which the terms alone tell: after the charge it is too late."""
    method, kind = terms.method, law_named(terms.law_name)
    law_to_draw(kind, budget=terms.rows_budget * terms.nodes.share, change=terms.change, delta=terms.delta)
    if terms.total_budget:
        met = kind.change(terms.measure.sensitivities.added_up())
        law_to_draw(kind, budget=terms.total_budget, change=met)
    if terms.left_out_budget:
        law_to_draw(kind, budget=terms.left_out_budget, change=kind.change(Sensitivities.of_rows(1)))
    for name in ("cutoff", "threshold"):
        value = getattr(method, name)
        if value is not None and value > _LARGEST_SETTING:
            hint = "No count is so large."
            raise BadNumber(name=name, value=str(value), allowed="is above 10^300", hint=hint)
    draw_of(terms.structure).check(terms.nodes, method, law_at=terms.law_at)


def check_told(units: tuple[int, int] | None, terms: Terms) -> None:
    """Raise if the count of people left out was bought, and whatever counted the rows does not know it."""
    if terms.left_out_budget and units is None:
        fact = "what counted these rows does not tell how many people are left out"
        raise BadChoice(fact, "Leave `left_out_share` out, or give files.")


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


def noisy_left_out(units: tuple[int, int], law: NoiseLaw, entropy: BitSource) -> tuple[int, int]:
    """Return how many units were counted and left out, with noise: one unit is in one of both (PROOF.md)."""
    noise = cell_noise(law, entropy, count=2).tolist()
    return units[0] + noise[0], units[1] + noise[1]
