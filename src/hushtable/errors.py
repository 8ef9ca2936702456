"""Every exception hushtable raises.

Promise: each class builds its own sentence (what happened, what is allowed, what to do) and keeps
the values as fields; no message carries a private count or row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from reprlib import Repr
from typing import ParamSpec, TypeVar

_LONG = 10_000  # characters; of a longer text only the start is looked at
_START = Repr()  # of a list or a table: what a message has room for, whatever the rest holds
_START.maxlevel, _START.maxother, _START.maxstring = 6, 200, 200
_START.maxlist = _START.maxtuple = _START.maxdict = _START.maxset = 50
_P = ParamSpec("_P")
_T = TypeVar("_T")


def shown(value: object) -> str:
    """Return the text of a public value on one line, cut where it is long.

    Guarantee: a value of any size or depth costs no more than its start, and nothing in it reaches a terminal
    but as printable text.

    >>> shown("a\\x1b[2J")
    "'a\\\\x1b[2J'"
    """
    if isinstance(value, str) and len(value) > _LONG:
        return f"{repr(value[:60])[:60]}... ({len(value)} characters)"
    try:
        text = _START.repr(value) if isinstance(value, list | tuple | dict | set) else repr(value)
    except (ValueError, RecursionError):  # Python writes whole numbers of up to 4,300 digits
        return f"<{type(value).__name__} of thousands of digits>"
    return printable(text) if len(text) <= 80 else f"{printable(text[:60])}... ({len(text)} characters)"


def printable(text: str) -> str:
    """Return text that changes nothing on a terminal but what it shows: one line, odd characters escaped.

    >>> print(printable("north\\x1b[2J\\nsouth"), printable("söuth"))
    north\\x1b[2J\\nsouth söuth
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


class HushtableError(Exception):
    """The parent of every error of this package.

    >>> import hushtable as ht
    >>> issubclass(ht.BadNumber, ht.HushtableError)
    True
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Let an error pass from one process to another, whatever its class is made from."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[HushtableError], args: tuple[object, ...], fields: dict[str, object]) -> HushtableError:
    """Return an error as it was in another process."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class BadNumber(HushtableError, ValueError):
    """A setting is not a number, or is a number outside what is allowed.

    >>> import hushtable as ht
    >>> print(ht.BadNumber(name="rate", value=-1, allowed="must be above 0", hint="Try 0.1."))
    rate=-1 must be above 0. Try 0.1.
    """

    def __init__(self, *, name: str, value: object, allowed: str, hint: str) -> None:
        self.name, self.value, self.allowed, self.hint = name, value, allowed, hint
        super().__init__(f"{name}={shown(value)} {allowed}. {hint}")


class BadSettings(HushtableError, ValueError):
    """A method was given two settings that exclude each other, or none of them.

    >>> import hushtable as ht
    >>> print(ht.BadSettings("Filter", ("cutoff", "size")))
    Filter takes exactly one of `cutoff` and `size`. Give one and leave the other out.
    """

    def __init__(self, method: str, names: tuple[str, ...], *, why: str = "") -> None:
        self.method, self.names = method, names
        choice = " and ".join(f"`{name}`" for name in names)
        said = f"{method} takes exactly one of {choice}. Give one and leave the other out."
        super().__init__(f"{said} {why}" if why else said)


class BadMethod(HushtableError, TypeError):
    """Something that is no summary method, or no table, was handed to `summarize`.

    >>> import hushtable as ht
    >>> print(ht.BadMethod("method", "str", "a summary method", "ht.Priority(size=100_000)"))
    method is a str, not a summary method. Pass something like ht.Priority(size=100_000).
    """

    def __init__(self, name: str, kind: str, wanted: str, example: str) -> None:
        self.name, self.kind, self.wanted, self.example = name, kind, wanted, example
        super().__init__(f"{name} is a {kind}, not {wanted}. Pass something like {example}.")


class BadRecipe(HushtableError, ValueError):
    """A file of recipes cannot be read, says something unknown, or leaves a parameter open.

    >>> import hushtable as ht
    >>> print(ht.BadRecipe("the parameter {year} is not set", "Give --set year=...", file="releases.toml"))
    releases.toml: the parameter {year} is not set.
    Give --set year=...
    """

    def __init__(self, fact: str, hint: str, *, file: str, release: str | None = None) -> None:
        self.fact, self.hint, self.file, self.release = fact, hint, file, release
        place = file if release is None else f"{file}, release {shown(release)}"
        super().__init__(f"{place}: {fact}.\n{hint}")


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


class BadQuery(HushtableError, ValueError):
    """A row filter or a query is more than the check allows, or is not one readable statement.

    >>> import hushtable as ht
    >>> print(ht.BadQuery("the row filter uses `sum`, an aggregate", "Use the row's own columns."))
    the row filter uses `sum`, an aggregate.
    Use the row's own columns.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}.\n{hint}")


class TooManyCells(HushtableError, ValueError):
    """All cells were asked for, and there are too many of them.

    >>> import hushtable as ht
    >>> print(ht.TooManyCells(cells_total=10**12, limit=10**8))
    Everything() would publish all 1000000000000 cells; at most 100000000 are allowed.
    Use a summary such as Priority(size=100_000), whose cost does not grow with the number of cells.
    """

    def __init__(self, *, cells_total: int, limit: int) -> None:
        self.cells_total, self.limit = cells_total, limit
        super().__init__(
            f"Everything() would publish all {cells_total} cells; at most {limit} are allowed.\n"
            "Use a summary such as Priority(size=100_000), whose cost does not grow with the number of cells."
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
    It is for tests only. Use `KeyStream()`, whose bits come from the operating system.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"a {kind} stream can be replayed, so it protects nobody.\n"
            "It is for tests only. Use `KeyStream()`, whose bits come from the operating system."
        )


class InternalError(HushtableError):
    """A state that cannot happen was reached.

    >>> import hushtable as ht
    >>> print(ht.InternalError("a certified sum passed 1"))
    a certified sum passed 1. This is a bug in hushtable. Please report it with the call that led here.
    """

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}. This is a bug in hushtable. Please report it with the call that led here.")


class BadDomain(HushtableError, ValueError):
    """A domain, or the file that declares it, is wrong. A domain is public, so messages may show its values.

    >>> import hushtable as ht
    >>> print(ht.BadDomain("low = 9 is above high = 5", "Swap them.", attribute="age", file="people.toml"))
    people.toml, attribute 'age': low = 9 is above high = 5. Swap them.
    """

    def __init__(self, fact: str, hint: str, *, attribute: str = "", file: str = "") -> None:
        self.fact, self.hint, self.attribute, self.file = fact, hint, attribute, file
        places = [file] * bool(file) + [f"attribute {shown(attribute)}"] * bool(attribute)
        place = f"{', '.join(places)}: " if places else ""
        super().__init__(f"{place}{fact}. {hint}")

    def at(self, *, attribute: str = "", file: str = "") -> BadDomain:
        """Return this error with its place, as far as it was not known yet."""
        place = {"attribute": self.attribute or attribute, "file": self.file or file}
        return BadDomain(self.fact, self.hint, **place)


class BadRows(HushtableError, ValueError):
    """Rows break a rule that the domain declares as an error. The message never says which rows or values.

    >>> import hushtable as ht
    >>> print(ht.BadRows("age", "outside"))
    attribute 'age' has rows that its rule outside = "error" does not allow, so nothing was counted.
    Run `hushtable check` for a private report on them, or declare outside = "drop".
    """

    def __init__(self, attribute: str, rule: str) -> None:
        self.attribute, self.rule = attribute, rule
        super().__init__(
            f'attribute {shown(attribute)} has rows that its rule {rule} = "error" does not allow, '
            "so nothing was counted.\n"
            f'Run `hushtable check` for a private report on them, or declare {rule} = "drop".'
        )


class BadData(HushtableError, ValueError):
    """A source of rows cannot be read, or does not fit the domain. The message never quotes a row.

    >>> import hushtable as ht
    >>> print(ht.BadData("there is no file 'rows.csv'", "Check the path."))
    there is no file 'rows.csv'. Check the path.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}. {hint}")


class BadRelease(HushtableError, ValueError):
    """A file is not a release, is damaged or is of a newer format; or the parts of a release do not fit.

    >>> import hushtable as ht
    >>> print(ht.BadRelease("it is cut off or damaged", "Get the file again.", file="commute.parquet"))
    commute.parquet: it is cut off or damaged. Get the file again.
    """

    def __init__(self, fact: str, hint: str, *, file: str = "") -> None:
        self.fact, self.hint, self.file = fact, hint, file
        super().__init__(f"{file}: {fact}. {hint}" if file else f"{fact}. {hint}")


class BadOutput(HushtableError, OSError):
    """A file cannot be written: there is one already, or its folder does not allow it.

    >>> import hushtable as ht
    >>> print(ht.BadOutput("there is a file already", "Give another name.", file="commute.parquet"))
    commute.parquet: there is a file already. Give another name.
    """

    def __init__(self, fact: str, hint: str, *, file: str) -> None:
        self.fact, self.hint, self.file = fact, hint, file
        super().__init__(f"{file}: {fact}. {hint}")


class OutputExists(BadOutput):
    """There is something of this name already, and `overwrite` was not given.

    >>> import hushtable as ht
    >>> print(ht.OutputExists("there is a file already", "Give another name.", file="commute.parquet"))
    commute.parquet: there is a file already. Give another name.
    """


class BudgetExceeded(HushtableError):
    """The ledger cannot pay for this release.

    >>> import hushtable as ht
    >>> from fractions import Fraction
    >>> print(ht.BudgetExceeded(needed=Fraction(1, 5), left=Fraction(1, 10)))
    this release costs epsilon=1/5, but only epsilon=1/10 is left.
    Lower `epsilon`, or stop here: what was spent on these people stays spent.
    `hushtable ledger show` lists what was spent.
    """

    def __init__(
        self,
        *,
        needed: Fraction,
        left: Fraction,
        converted: str = "",
        releases: int = 1,
        name: str = "epsilon",
        lower: tuple[str, ...] = ("epsilon",),
        written: Callable[[Fraction], str] = str,
        earlier: int = 0,
    ) -> None:
        self.needed, self.left, self.converted, self.releases = needed, left, converted, releases
        self.name, self.lower, self.written, self.earlier = name, lower, written, earlier
        because = f" ({converted})" if converted else ""
        cost = "this release costs" if releases == 1 else f"these {releases:,} releases together cost"
        after = ""
        if earlier:
            cost = f"of these {releases:,} releases, number {earlier + 1:,} costs"
            after = " after those before it"
        parts = " or ".join(f"`{part}`" for part in lower)
        super().__init__(
            f"{cost} {name}={written(needed)}{because}, but only {name}={written(left)} is left{after}.\n"
            f"Lower {parts}, or stop here: what was spent on these people stays spent.\n"
            "`hushtable ledger show` lists what was spent."
        )

    def after(self, earlier: int, *, of: int) -> BudgetExceeded:
        """Return the error for one of several releases, each of which could be paid alone."""
        return BudgetExceeded(
            needed=self.needed,
            left=self.left,
            converted=self.converted,
            releases=of,
            name=self.name,
            lower=self.lower,
            written=self.written,
            earlier=earlier,
        )


class LowMemory(HushtableError, MemoryError):
    """There was too little memory. What NumPy, Arrow or DuckDB say of it is not repeated: it tells sizes.

    Where a publication was under way, `state` says what was charged and whether there is an output.

    >>> import hushtable as ht
    >>> print(ht.LowMemory(state="Nothing was charged. No output was written."))
    there was too little memory. Close other programs, or use a larger machine.
    Nothing was charged. No output was written.
    """

    READER = "Close other programs, or use a larger machine."
    OWNER = (
        "Allow more with --memory 4GB, or memory='4GB' in Python. Or close other programs, or use a "
        "larger machine."
    )

    def __init__(self, hint: str = READER, state: str = "") -> None:
        self.hint, self.state = hint, state
        super().__init__(f"there was too little memory. {hint}" + f"\n{state}" * bool(state))


def short_of_memory(error: BaseException) -> bool:
    """Return whether an error tells of too little memory: perhaps too little to load a library that is there.

    Too little for the stack of a thread is told by a `RuntimeError`. So is a limit on threads, which other
    programs use up too.

    >>> short_of_memory(ImportError("libarrow.so: failed to map segment from shared object"))
    True
    >>> short_of_memory(RuntimeError("can't start new thread"))
    True
    """
    if isinstance(error, RuntimeError):
        return str(error) == "can't start new thread"
    if not isinstance(error, ImportError):
        return isinstance(error, MemoryError)
    said = str(error).lower()
    unmapped = "failed to map segment" in said and "not permitted" not in said
    return unmapped or ("cannot allocate memory" in said and "static tls" not in said)


def within_memory(call: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a function say that there was too little memory in our words."""

    @wraps(call)
    def told(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return call(*args, **kwargs)
        except HushtableError:
            raise
        except (MemoryError, ImportError, RuntimeError) as error:
            if not short_of_memory(error):
                raise
        raise LowMemory  # here and not above, so that nothing leads to the first error

    return told


class Stopped(KeyboardInterrupt):
    """A publication was stopped: what was charged, and whether there is an output.

    It is a `KeyboardInterrupt`, so `except Exception` lets it pass.

    >>> import hushtable as ht
    >>> print(ht.Stopped("Nothing was charged. No output was written."))
    stopped. Nothing was charged. No output was written.
    """

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(f"stopped. {state}")


class BadLedger(HushtableError, ValueError):
    """A ledger cannot be made, read or charged.

    No message suggests a second ledger for the same people: it would add to what is spent on them.

    >>> import hushtable as ht
    >>> print(ht.BadLedger("entry 3 of the ledger is finished already", "An entry is finished once."))
    entry 3 of the ledger is finished already. An entry is finished once.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}. {hint}")


class MissingPackage(HushtableError, ImportError):
    """A call needs a package that is not installed.

    >>> import hushtable as ht
    >>> print(ht.MissingPackage("to_pandas", "pandas"))
    to_pandas needs the package pandas, which is not installed. Run: pip install pandas
    """

    def __init__(self, call: str, package: str, *, install: str = "") -> None:
        self.call, self.package, self.install = call, package, install or package
        super().__init__(
            f"{call} needs the package {package}, which is not installed. Run: pip install {self.install}"
        )


class MissingJava(HushtableError, OSError):
    """Spark runs in Java, and no Java that it can use was found.

    >>> import hushtable as ht
    >>> print(ht.MissingJava("there is no `java` on PATH"))
    Spark needs Java 17 or newer, but there is no `java` on PATH.
    Install Java, or set JAVA_HOME to its folder:
      Debian, Ubuntu   apt-get install openjdk-17-jre-headless
      macOS            brew install openjdk@17
      conda            conda install openjdk
    """

    def __init__(self, fact: str) -> None:
        self.fact = fact
        super().__init__(
            f"Spark needs Java 17 or newer, but {fact}.\n"
            "Install Java, or set JAVA_HOME to its folder:\n"
            "  Debian, Ubuntu   apt-get install openjdk-17-jre-headless\n"
            "  macOS            brew install openjdk@17\n"
            "  conda            conda install openjdk"
        )


class MissingBrowser(HushtableError, OSError):
    """Chromium prints reports as PDF, and no Chromium can be found.

    >>> import hushtable as ht
    >>> print(ht.MissingBrowser())
    a PDF is printed by Chromium, and no Chromium was found on PATH.
    Install it (Debian, Ubuntu: apt-get install chromium), or set HUSHTABLE_CHROMIUM to its path.
    Or write .html, and print it from any browser.
    """

    def __init__(self, fact: str = "") -> None:
        self.fact = fact
        super().__init__(
            f"a PDF is printed by Chromium, and {fact or 'no Chromium was found on PATH'}.\n"
            "Install it (Debian, Ubuntu: apt-get install chromium), or set HUSHTABLE_CHROMIUM to its path.\n"
            "Or write .html, and print it from any browser."
        )


class BadChoice(HushtableError, ValueError):
    """The settings of a publication do not go together.

    >>> import hushtable as ht
    >>> print(ht.BadChoice("the summary 'priority' has no cutoff", "It takes `size`."))
    the summary 'priority' has no cutoff. It takes `size`.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}. {hint}")


class BadPlan(HushtableError, ValueError):
    """What a plan assumes does not make sense.

    >>> import hushtable as ht
    >>> print(ht.BadPlan("a profile holds counts below 0", "Leave out empty cells."))
    a profile holds counts below 0. Leave out empty cells.
    """

    def __init__(self, fact: str, hint: str) -> None:
        self.fact, self.hint = fact, hint
        super().__init__(f"{fact}. {hint}")


class WastedRelease(HushtableError, ValueError):
    """A release would tell next to nothing for its epsilon, as public facts and assumptions say beforehand.

    >>> import hushtable as ht
    >>> print(ht.WastedRelease(["a size of 500 is more than the 300 cells there are"], "Ask for fewer rows."))
    this release would be wasted, so nothing was read and nothing was charged:
    a size of 500 is more than the 300 cells there are.
    Ask for fewer rows. To publish it all the same, give --anyway, or anyway=True in Python.
    """

    def __init__(self, reasons: Sequence[str], hint: str) -> None:
        self.reasons, self.hint = tuple(reasons), hint
        listed = "\n".join(f"{reason}." for reason in self.reasons)
        super().__init__(
            f"this release would be wasted, so nothing was read and nothing was charged:\n{listed}\n"
            f"{hint} To publish it all the same, give --anyway, or anyway=True in Python."
        )


class UnreviewedDomain(HushtableError, ValueError):
    """A domain file was drafted from the data, and nobody has replaced its values by public facts yet.

    >>> import hushtable as ht
    >>> print(ht.UnreviewedDomain("Visits"))
    the domain 'Visits' is a draft: its file says reviewed = false, so its values may be drawn from the data.
    Replace each value with a public fact (a code list, a legal range), then delete the line reviewed = false.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        super().__init__(
            f"the domain {shown(title)} is a draft: its file says reviewed = false, "
            "so its values may be drawn from the data.\n"
            "Replace each value with a public fact (a code list, a legal range), "
            "then delete the line reviewed = false."
        )
