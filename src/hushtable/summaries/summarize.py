"""From a private table to a public summary.

Promise: the summary has exactly the law of adding noise to every cell and summarising afterwards, whatever
the number of slices and threads (`flat`). Structures are loaded where one is asked for (`draws`).
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable.domain.later import Later
from hushtable.errors import BadMethod, BadNumber, BadTable, within_memory
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.costs import wanted_cost
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.laws.rationals import Rational, as_positive
from hushtable.laws.registry import DEFAULT_LAW, law_named
from hushtable.laws.sensitivities import Sensitivities
from hushtable.methods.settings import Method, check_method
from hushtable.noise import BitSource, KeyStream
from hushtable.summaries.flat import check_changes, summarize_table
from hushtable.summaries.summary import Summary
from hushtable.table.progress import Progress, unheard
from hushtable.table.sparse import SparseTable

if TYPE_CHECKING:  # a summary of cells does not wait for structures
    from hushtable.structures import structure as structured
else:
    structured = Later("hushtable.structures.structure")


@within_memory
def summarize(
    table: SparseTable,
    method: Method,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    delta: Rational | None = None,
    sensitivity: Rational | None = None,
    structure: structured.Structure | str | None = None,
    law: str | None = None,
) -> Summary:
    """Draw a private summary of `table`, or of the nodes of a structure over it.

    Guarantee: epsilon-differential privacy for tables whose counts differ by at most `sensitivity` in all,
    pure, by exact arithmetic; with a `rho`, or an `epsilon` and a `delta`, zero-concentrated or approximate
    privacy by Gaussian noise. If you leave the sensitivity out, it is what `ht.count` knows about its own
    table (one unit added or removed), or 1 for a table made by hand (one row added or removed). A structure
    multiplies it by the number of nodes that hold a cell, and the summary states the product. For Gaussian
    noise, the sensitivity of a summary is the sum of the squares.

    =======================================  ==============================================
    case                                     result
    =======================================  ==============================================
    epsilon "0.1", 0.1, Fraction(1, 10)      the same exact number
    a sensitivity below the counted table's  `BadNumber`: the noise would not hide one unit
    made by hand, counts below 0, and none   `BadTable`: say how much one person may change
    another kind of table or method          `BadMethod`
    structure "haar", ht.Dyadic(), ...       codes are numbers of nodes; cells are in the order of codes
    structure ht.CountSketch(...)            codes are rows and buckets; the method is `Everything()`
    a structure that does not fit            `BadChoice`
    law "geometric", "gaussian"              usual for epsilon, and for rho or delta; any that was registered
    a law that nobody registered             `BadChoice`
    `Everything()` above 10^8 cells          `TooManyCells`
    more than 10^9 rows expected             `TooManyRows`
    =======================================  ==============================================

    >>> import hushtable as ht
    >>> table = ht.SparseTable(shape=(1000, 1000), codes=[[3, 5], [7, 7]], counts=[120, 4])
    >>> summary = ht.summarize(table, ht.Priority(size=100), epsilon="0.1")
    >>> summary.codes.shape
    (100, 2)
    """
    check_method(method, name="method")
    if not isinstance(table, SparseTable):
        example = "ht.SparseTable(shape=..., codes=..., counts=...)"
        raise BadMethod("table", type(table).__name__, "a SparseTable", example)
    nodes, entropy = None, KeyStream()
    if structure is not None:
        from hushtable.summaries.draws import nodes_of

        nodes, method = nodes_of(structure, table, method, entropy)
    wanted = wanted_cost(epsilon=epsilon, rho=rho, delta=delta)
    kind = law_named(law or (DEFAULT_LAW if wanted.currency == "pure" else "gaussian"))
    one = _changes_of(table, sensitivity)
    return draw_summary(
        table,
        method,
        epsilon=kind.budget(kind.price(wanted)),
        sensitivity=kind.change(one) if nodes is None else nodes.change(kind, one),
        entropy=entropy,
        law=kind,
        threads=os.cpu_count() or 1,
        nodes=nodes,
    )


def _changes_of(table: SparseTable, given: Rational | None) -> Sensitivities:
    """Return what one unit changes in the counts: what the table knows, or more if that is given.

    Of what is given, all may be in one cell.
    """
    what = "the largest change in all counts together that one person can make"
    known = None if table.sensitivity is None else table.sensitivity.l1
    if given is None and known is None and table.counts.size and table.counts.min() < 0:
        raise BadTable("counts below 0 need a sensitivity of their own", f"Pass `sensitivity`: {what}.")
    most = as_positive(known or 1 if given is None else given, name="sensitivity", hint=f"It is {what}.")
    if known is not None and most < known:
        raise BadNumber(
            name="sensitivity",
            value=given,
            allowed=f"is below {known}, which one unit of this table can change",
            hint="Leave it out, or give a larger one: with less, the noise would not hide a unit.",
        )
    return table.sensitivity if given is None and table.sensitivity else Sensitivities.of_rows(most)


def draw_summary(
    table: SparseTable,
    method: Method,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    entropy: BitSource,
    law: type[NoiseLaw] = Geometric,
    threads: int = 1,
    slices: int | None = None,
    first_guess: Acceptance | None = None,
    nodes: structured.NodeSpace | None = None,
    progress: Progress = unheard,
) -> Summary:
    """Draw a summary from the given bits. Slices, threads and the first guess do not change its law.

    With `nodes`, of those; `sensitivity` is then what one person changes in all of them together.
    """
    check_changes(table.sensitivity, sensitivity, law, nodes)
    if nodes is None:
        return summarize_table(
            table,
            method,
            epsilon=epsilon,
            sensitivity=sensitivity,
            entropy=entropy,
            law=law,
            threads=threads,
            slices=slices,
            first_guess=first_guess,
            progress=progress,
        )
    from hushtable.summaries.draws import Bought, TableHere, draw_of

    bought = Bought(epsilon, sensitivity, entropy, law, threads, first_guess, progress)
    (drawn,) = draw_of(nodes.structure)(TableHere(table, threads, progress), nodes, [method], bought)
    return drawn
