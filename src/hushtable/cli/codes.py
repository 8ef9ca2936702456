"""The exit codes of the command: what a script can tell without reading a message.

Promise: a number keeps its meaning; new ones may be added.

====  ==================================================================================
exit  when
====  ==================================================================================
0     done; for `check`: publishing would run
1     the machine lacks something: memory, a package, Java, Chromium
2     wrong usage: options or settings that do not fit, a query that cannot be answered
3     refused by a file: data, domain, release, ledger or output; for `check`: it would not run
4     the budget of the ledger does not suffice
5     the release would be wasted
6     the output exists already
70    a bug in hushtable
130   stopped by Ctrl-C; 143 by SIGTERM
====  ==================================================================================
"""

from __future__ import annotations

from hushtable import errors

LACKING, USAGE, REFUSED, BUDGET, WASTED, EXISTS, BUG = 1, 2, 3, 4, 5, 6, 70

# The first that fits: a class stands before those that it is a kind of.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (errors.InternalError, BUG),
    (errors.LowMemory, LACKING),
    (errors.MissingPackage, LACKING),
    (errors.MissingJava, LACKING),
    (errors.MissingBrowser, LACKING),
    (errors.BudgetExceeded, BUDGET),
    (errors.WastedRelease, WASTED),
    (errors.OutputExists, EXISTS),
    (errors.BadChoice, USAGE),
    (errors.BadMethod, USAGE),
    (errors.BadNumber, USAGE),
    (errors.BadPlan, USAGE),
    (errors.BadQuery, USAGE),
    (errors.BadSettings, USAGE),
    (errors.TooManyCells, USAGE),
    (errors.TooManyRows, USAGE),
)


def code_of(error: Exception) -> int:
    """Return the exit code of an error of ours.

    >>> code_of(errors.BadQuery("there is no attribute", "Name another."))
    2
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), REFUSED)
