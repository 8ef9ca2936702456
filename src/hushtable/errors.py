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
