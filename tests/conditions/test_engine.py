"""The DuckDB of queries is locked, judges text before it parses it, and listens to Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import hushtable as ht
from hushtable.conditions.guard.locked import awaited, connected
from hushtable.conditions.guard.policies import RELEASE
from hushtable.conditions.guard.texts import check_text, said
from tests.harness.interrupts import interrupted

SECRET = "Zyx-Canary-4711"


def everything_said(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    try:
        return str(connection.sql(query).to_arrow_table().to_pylist())
    except Exception as error:
        return str(error)


def test_no_table_function_reads_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", ":memory:.wal", "secret.csv"):
        (tmp_path / name).write_text(f"secret\n{SECRET}\n")
    connection = connected(memory="25%")
    names = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'"
    ).fetchall()
    assert ("read_text",) in names

    for (function,) in names:
        for path in (":memory:", f"{tmp_path}/:memory:.wal", "secret.csv", "*"):
            words = everything_said(connection, f"FROM \"{function}\"('{path}')")
            assert SECRET not in words, (function, path)
            assert str(tmp_path) not in words or str(tmp_path) in path, (function, path)
    assert {path.name for path in tmp_path.iterdir()} == {":memory:", ":memory:.wal", "secret.csv"}
    connection.close()


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("(" * 100, False),
        ("(" * 101, True),
        ("()" * 1000, False),
        ("([{" * 34, True),
        (")" * 1000 + "(" * 100, False),
        ("'" + "(" * 500 + "'", False),
        ('"' + "(" * 500 + '"', False),
        ("$a$" + "(" * 500 + "$a$", False),
        ("-- " + "(" * 500, False),
        ("-- \r" + "(" * 500, True),
        ("/* /* */ " + "(" * 500 + "*/", False),
        ("/* /* */ */" + "(" * 500, True),
        ("E'\\'" + "(" * 500 + "'", False),
        ("'ü€' " + "(" * 500, True),
        ("WITH a AS (" * 4, False),
        ("With a AS (" * 5, True),
        ("WITH a AS (SELECT 1), b AS (SELECT 2) " * 50, False),
        ("'with' ( \"with\" ( -- with\n" * 9, False),
    ],
)
def test_levels_are_counted_as_duckdb_reads_them(text: str, deep: bool) -> None:
    if not deep:
        check_text(text, RELEASE)
        return
    with pytest.raises(ht.BadQuery, match="the query is nested too deep"):
        check_text(text, RELEASE)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("Pivot column limit of 9 exceeded. Use SET pivot_limit=X to increase the limit.", "of 9 exceeded"),
        (
            'Binder Error: Ambiguous. See "a.b"\n* SET x=true to allow it.\n\nLINE 1: a',
            'Ambiguous. See "a.b"',
        ),
        ("Could not convert string 'SET x' to INT32", "string 'SET x' to INT32"),
        ("a\nLINE 1: SELECT", "a"),
        ("\x1b[31m", "\\x1b[31m"),
        ("", ""),
    ],
)
def test_advice_that_is_closed_here_is_left_out(words: str, kept: str) -> None:
    assert said(words).endswith(kept)
    assert "\n" not in said(words)


def test_errors_are_ours_and_stand_alone() -> None:
    connection = connected(memory="25%")

    def own() -> None:
        raise ht.BadQuery("mine", "Yes.")

    for call, message in ((own, "mine"), (lambda: connection.execute("SELEC"), "theirs")):
        with pytest.raises(ht.BadQuery, match=message) as caught:
            awaited(connection, call, replaced=lambda _: ht.BadQuery("theirs", "No."))
        assert caught.value.__context__ is None
    connection.close()


STUBBORN = """
import sys, threading
from hushtable.conditions.guard import locked, texts
from hushtable.{module} import {name}

texts.DEEPEST_NESTING, locked._PATIENCE = 20_000, 0.2
start = threading.Thread.start

def announced(thread):
    start(thread)
    print("running", file=sys.stderr, flush=True)

threading.Thread.start = announced
{call}
"""
CALLS = {
    "answers.running": (
        "run_sql",
        "run_sql(__import__('pyarrow').table({'a': [1]}), 'SELECT ' + '(' * 12_000)",
    ),
    "conditions.expressions": ("parsed", "parsed('(' * 12_000)"),
}


@pytest.mark.parametrize("module", list(CALLS))
def test_ctrl_c_leaves_a_parser_that_does_not_listen(module: str) -> None:
    name, call = CALLS[module]
    err = interrupted(STUBBORN.format(module=module, name=name, call=call)).err

    assert "\nKeyboardInterrupt\n" in err
