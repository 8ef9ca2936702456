"""Who may write what: one record for each place where people write SQL.

Promise: the walk over a statement is the same for all; where they differ, it is said here.
"""

from __future__ import annotations

from dataclasses import dataclass

_OF_A_ROW = (
    "Allowed are the row's own columns, constants, comparisons, arithmetic, CASE, casts, and DuckDB's "
    "functions of one row, such as lower or date_trunc."
)
_OTHERWISE = (
    "To use more, prepare the table with a query and say so: with `--rows-are-units` "
    "(`rows_are_units=True`) the release says that a row of the prepared table is protected."
)
_BY_DOMAIN = "Long lists of values belong in the domain's categories."


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What a text must be, in words, and what it may use."""

    name: str  # as it is called in a message
    form: str  # what it must be
    allowed: str  # a hint: what it may hold
    shorter: str  # a hint: how a long text is made shorter
    reason: str = ""  # why a clause or a kind of expression is refused
    public: bool = False  # whether it sees public values alone, so that no row is at risk
    lists: bool = False  # whether DESCRIBE, SHOW and SUMMARIZE may be used


FILTER = Policy(
    name="the row filter",
    form="one expression",
    allowed=f"{_OF_A_ROW}\n{_OTHERWISE}",
    shorter=_BY_DOMAIN,
    reason=", which is not row-local",
)
QUERY = Policy(
    name="the query",
    form="one SELECT statement",
    allowed=(
        "A query may select, rename and compute columns of one table, row by row, and filter its rows.\n"
        f"{_OF_A_ROW}\n{_OTHERWISE}"
    ),
    shorter=_BY_DOMAIN,
    reason=", which is not row-local",
)
PREPARED = Policy(
    name="the query",
    form="one SELECT statement",
    allowed=(
        "Pass one SELECT statement without parameters; it may have WITH, joins, GROUP BY and PIVOT ... IN."
    ),
    shorter=_BY_DOMAIN,
)
CONDITION = Policy(
    name="the condition",
    form="one expression",
    allowed=(
        "Allowed are comparisons of one attribute with constants, IN, BETWEEN, LIKE and DuckDB's functions "
        "of one row, combined by AND, OR and NOT."
    ),
    shorter="Give long lists as values: where={'home': [...]}.",
    public=True,
)
RELEASE = Policy(
    name="the query",
    form="one SELECT statement",
    allowed="Allowed is one SELECT over the table `release`, as in SELECT sum(weight) FROM release.",
    shorter="Write ranges in place of long lists, or query the file in DuckDB itself.",
    public=True,
    lists=True,
)
