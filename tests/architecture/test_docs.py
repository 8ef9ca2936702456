"""All code that a reader may copy runs: fences in README.md and docs/, and examples in docstrings.

A page is one story: its fences run in order, in one namespace, in an empty folder. A fence with `>>>`
prompts must show what it prints (`...` stands for anything); any other fence must run without an error.
"""

import doctest
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import hushtable

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hushtable"
ON_SPARK = [ROOT / "docs" / "how-to" / "publish-on-spark.md"]  # tests/spark runs them
ON_POSTGRES = ROOT / "docs" / "how-to" / "publish-from-a-database.md"  # tests/postgres runs it
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in (*ON_SPARK, ON_POSTGRES)),
]
MODULES = sorted(
    ".".join(("hushtable", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.stem != "__main__" and ">>> " in path.read_text(encoding="utf-8")
)

OPENING = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,}) *(?P<language>[\w+-]*)(?P<rest>[^`]*)$")
TITLE = re.compile(r'title="([\w.]+)"')
PYTHON = {"python", "py", "python3", "pycon"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fence:
    """A block of code on a page; `line` is the page's line before its first line of code."""

    language: str
    line: int
    code: str
    title: str | None  # of a file that the reader is to write


def fences(page: str) -> Iterator[Fence]:
    """All fenced blocks of a page, in order."""
    lines = enumerate(page.splitlines(), start=1)
    for number, line in lines:
        if (opening := OPENING.match(line)) is None:
            continue
        marks, body = opening["marks"], list[str]()
        for _, text in lines:
            if (end := text.strip()).startswith(marks) and set(end) == {marks[0]}:
                break
            body.append(text)
        else:
            raise SyntaxError(f"the fence of line {number} is never closed")
        code = textwrap.dedent("\n".join(body)) + "\n"
        titled = TITLE.search(opening["rest"])
        title = None if titled is None else titled[1]
        yield Fence(language=opening["language"].lower(), line=number, code=code, title=title)


def check_examples(test: doctest.DocTest) -> None:
    """Run one set of `>>>` examples; fail with doctest's own report."""
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    if runner.failures:
        pytest.fail("".join(report), pytrace=False)


def run_page(path: Path) -> None:
    """Run all Python of a page in one namespace."""
    # A real module, because dataclasses and pickle look their module up.
    module = ModuleType("page")
    sys.modules["page"] = module
    try:
        for fence in fences(path.read_text(encoding="utf-8")):
            if fence.language not in PYTHON:
                if fence.title is not None:
                    Path(fence.title).write_text(fence.code, encoding="utf-8")
                continue
            if re.search(r"^ *>>> ", fence.code, flags=re.MULTILINE):
                test = doctest.DocTestParser().get_doctest(fence.code, {}, path.name, str(path), fence.line)
                test.globs = module.__dict__  # get_doctest would work on a copy
                check_examples(test)
            else:
                # Blank lines in front, so that a traceback names the page's own line.
                exec(compile("\n" * fence.line + fence.code, path, "exec"), module.__dict__)
    finally:
        del sys.modules["page"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_code_on_the_page_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    run_page(path)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        check_examples(test)


# What a reader copies uses the public names alone. These pages show how it works inside, or how to add to it.
INSIDE = {
    "docs/extending.md",
    "docs/explanation/planning.md",
}
INNER = re.compile(r"^ *(?:>>> |\.\.\. )? *(?:from hushtable\.\S+ import|import hushtable\.).*", re.MULTILINE)


def inner_imports(page: str) -> list[str]:
    """The lines on a page that import anything of hushtable but its public names."""
    return INNER.findall(page)


@pytest.mark.parametrize(
    "path",
    [*PAGES, *ON_SPARK, *sorted((ROOT / "examples").rglob("*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_page_imports_public_names_alone(path: Path) -> None:
    found = inner_imports(path.read_text(encoding="utf-8"))

    assert bool(found) == (str(path.relative_to(ROOT)) in INSIDE), found


def test_an_import_of_something_inside_is_noticed() -> None:
    assert len(inner_imports("import hushtable as ht\n>>> from hushtable.domain.domain import Domain\n")) == 1


def test_every_public_name_has_an_example() -> None:
    public = {name: getattr(hushtable, name) for name in hushtable.__all__}
    without = [
        name
        for name, thing in public.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and not (inspect.isclass(thing) and issubclass(thing, BaseException))
        and ">>> " not in (inspect.getdoc(thing) or "")
    ]

    assert without == []


STORY = """\
# A page

```python
first = 20
```

```python
>>> first + 1
21
>>> second = first + 2
>>> object()
<object object at ...>
```

1. In a list:

   ```python title="with attributes"
   assert (first, second) == (20, 22), "two fences back"
   ```

```console
$ this is not Python
```

````markdown
```python
raise RuntimeError("a fence inside a fence is text")
```
````
"""


def test_a_page_is_one_story(tmp_path: Path) -> None:
    page = tmp_path / "story.md"
    page.write_text(STORY)

    run_page(page)


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("21\n", "23\n", "Expected:\n    23\nGot:\n    21"),
        ("(20, 22)", "(20, 23)", "two fences back"),
        ("first = 20", "first = ", "invalid syntax"),
        ("first = 20", "other = 20", "NameError"),
        ("$ this is not Python\n```\n", "$ this is not Python\n", "never closed"),
    ],
)
def test_a_page_that_is_wrong_fails(before: str, after: str, complaint: str, tmp_path: Path) -> None:
    page = tmp_path / "story.md"
    assert STORY.count(before) == 1
    page.write_text(STORY.replace(before, after))

    with pytest.raises((AssertionError, SyntaxError, pytest.fail.Exception), match=re.escape(complaint)):
        run_page(page)


def test_an_error_names_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "story.md"
    page.write_text(STORY.replace("first = 20", "first = 20 / 0"))

    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page)

    assert caught.traceback[-1].lineno + 1 == STORY.splitlines().index("first = 20") + 1


def test_every_attack_names_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "guarantees" / "known-attacks.md").read_text()
    named = re.findall(r"((?:tests/[\w/]+/)?test_\w+\.py|tests/[\w/]+\.py)(?:::(test_\w+))?", page)
    assert len(named) > 60
    for file, name in named:
        path = ROOT / (file if "/" in file else f"tests/release/{file}")
        # Some names end in `*` on the page, and stand for several tests.
        assert f"def {name}" in path.read_text(), (file, name)
