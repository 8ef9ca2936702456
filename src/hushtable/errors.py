"""Every exception hushtable raises.

Promise: each class builds its own sentence (what happened, what is allowed, what to do) and keeps
the values as fields; no message carries a private count or row.
"""

from __future__ import annotations


class HushtableError(Exception):
    """The parent of every error of this package.

    >>> import hushtable as ht
    >>> issubclass(ht.BadNumber, ht.HushtableError)
    True
    """


class BadNumber(HushtableError, ValueError):
    """A setting is not a number, or is a number outside what is allowed.

    >>> import hushtable as ht
    >>> print(ht.BadNumber(name="rate", value=-1, allowed="must be above 0", hint="Try 0.1."))
    rate=-1 must be above 0. Try 0.1.
    """

    def __init__(self, *, name: str, value: object, allowed: str, hint: str) -> None:
        self.name, self.value, self.allowed, self.hint = name, value, allowed, hint
        shown = repr(value)
        if len(shown) > 80:
            shown = f"{shown[:60]}... ({len(shown)} characters)"
        super().__init__(f"{name}={shown} {allowed}. {hint}")


class BadSettings(HushtableError, ValueError):
    """A method was given two settings that exclude each other, or none of them.

    >>> import hushtable as ht
    >>> print(ht.BadSettings("Filter", ("cutoff", "size")))
    Filter takes exactly one of `cutoff` and `size`. Give one and leave the other out.
    """

    def __init__(self, method: str, names: tuple[str, ...]) -> None:
        self.method, self.names = method, names
        choice = " and ".join(f"`{name}`" for name in names)
        super().__init__(f"{method} takes exactly one of {choice}. Give one and leave the other out.")


class BadMethod(HushtableError, TypeError):
    """Something that is no summary method, or no table, was handed to `summarize`.

    >>> import hushtable as ht
    >>> print(ht.BadMethod("method", "str", "a summary method", "ht.Priority(size=100_000)"))
    method is a str, not a summary method. Pass something like ht.Priority(size=100_000).
    """

    def __init__(self, name: str, kind: str, wanted: str, example: str) -> None:
        self.name, self.kind, self.wanted, self.example = name, kind, wanted, example
        super().__init__(f"{name} is a {kind}, not {wanted}. Pass something like {example}.")


class BadTable(HushtableError, ValueError):
    """The codes and counts handed over do not make a table.

    The message names the rule and the attribute, never a value: they are private.

    >>> import hushtable as ht
    >>> print(ht.BadTable("counts are not whole numbers", "Pass an array of an integer type."))
    counts are not whole numbers. Pass an array of an integer type.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}. {hint}")


class TooManyCells(HushtableError, ValueError):
    """All cells were asked for, and there are too many of them.

    >>> import hushtable as ht
    >>> print(ht.TooManyCells(cells_total=10**12, limit=10**8))
    Everything() would publish all 1000000000000 cells; at most 100000000 are allowed.
    Use a summary such as Priority(size=100_000), whose cost does not follow the number of cells.
    """

    def __init__(self, *, cells_total: int, limit: int) -> None:
        self.cells_total, self.limit = cells_total, limit
        super().__init__(
            f"Everything() would publish all {cells_total} cells; at most {limit} are allowed.\n"
            "Use a summary such as Priority(size=100_000), whose cost does not follow the number of cells."
        )


class TooManyRows(HushtableError, ValueError):
    """The settings would let more empty cells through than a summary can hold.

    >>> import hushtable as ht
    >>> print(ht.TooManyRows(expected=1.5e24, limit=10**9))
    these settings would publish about 1.5e+24 empty cells; at most 1000000000 rows are allowed.
    Raise the cutoff or the threshold, or ask for a size, as in Priority(size=100_000).
    """

    def __init__(self, *, expected: float, limit: int) -> None:
        self.expected, self.limit = expected, limit
        super().__init__(
            f"these settings would publish about {expected:.2g} empty cells; "
            f"at most {limit} rows are allowed.\n"
            "Raise the cutoff or the threshold, or ask for a size, as in Priority(size=100_000)."
        )


class UnsafeEntropy(HushtableError):
    """A replayable stream of bits was about to decide something private.

    >>> import hushtable as ht
    >>> raise ht.UnsafeEntropy("Replay")
    Traceback (most recent call last):
        ...
    hushtable.errors.UnsafeEntropy: a Replay stream can be replayed, so it protects nobody.
    It is for tests only; use `KeyStream()`, whose bits come from the operating system's entropy.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"a {kind} stream can be replayed, so it protects nobody.\n"
            "It is for tests only; use `KeyStream()`, whose bits come from the operating system's entropy."
        )


class InternalError(HushtableError):
    """A state that cannot happen was reached.

    >>> import hushtable as ht
    >>> print(ht.InternalError("a certified sum passed 1"))
    a certified sum passed 1. This is a bug in hushtable: please report it with the call that led here.
    """

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}. This is a bug in hushtable: please report it with the call that led here.")
