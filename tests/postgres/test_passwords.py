"""A password is given to the server, and appears nowhere else."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hushtable as ht
from hushtable.cli.main import app
from hushtable.engines.local.addresses import Address
from tests.engines.contracts.refusals import texts_of
from tests.engines.reference import counts_of
from tests.postgres.server import PORT, Server

X = ht.Domain(x=ht.integers(0, 9))
SECRET = "Sesame-4711"
X_TOML = '[[attribute]]\nname = "x"\nintegers = { low = 0, high = 9 }\n'


@pytest.fixture(scope="module")
def guarded(server: Server) -> Server:
    """A user whose password is asked for."""
    for statement in (
        f"CREATE ROLE ann LOGIN PASSWORD '{SECRET}'",
        "CREATE TABLE visits_2024 (x integer)",
        "INSERT INTO visits_2024 VALUES (1), (2)",
        "GRANT SELECT ON visits_2024 TO ann",
    ):
        server.sql(statement)
    hba = server.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text(f"local all ann scram-sha-256\n{before}")
    server.sql("SELECT pg_reload_conf()")
    return server


def test_a_password_comes_from_where_it_usually_does(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = guarded.url("ann")
    with pytest.raises(ht.BadData, match="the server does not let you in"):
        ht.count(url, table="visits_2024", domain=X)
    answers = [ht.count(guarded.url("ann", password=SECRET), table="visits_2024", domain=X)]
    answers += [ht.count(f"{url}&password={SECRET}", table="visits_2024", domain=X)]
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", SECRET)
        answers += [ht.count(url, table="visits_2024", domain=X)]
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"*:*:*:ann:{SECRET}\n")
    passfile.chmod(0o600)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSFILE", str(passfile))
        answers += [ht.count(url, table="visits_2024", domain=X)]
    services = tmp_path / "services"
    place = f"host={guarded.folder}\nport={PORT}\ndbname=postgres\nuser=ann\npassword={SECRET}\n"
    services.write_text(f"[clinic]\n{place}")
    with monkeypatch.context() as patch:
        patch.setenv("PGSERVICEFILE", str(services))
        answers += [ht.count("postgresql:///?service=clinic", table="visits_2024", domain=X)]

    assert [counts_of(each) for each in answers] == [{(1,): 1, (2,): 1}] * 5


def test_a_password_in_the_address_is_in_nothing_that_is_written_or_said(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(X_TOML)
    url = guarded.url("ann", password=SECRET)
    ledger = ht.Ledger.create("x.ledger", epsilon=9, about="x", unit="row")
    recipe = ht.Recipe(
        data=url, table="visits_2024", domain="x.toml", epsilon=1, size=10, ledger=ledger, output="x.parquet"
    )
    release = ht.publish(recipe)
    recipe.save("x-recipe.toml")
    said = [
        repr(recipe),
        str(recipe.words),
        repr(recipe.data),
        str(release.terms),
    ]
    for made, words in (
        (url.replace("ann", "nobody"), {}),
        (url.replace(SECRET, f"{SECRET}x"), {}),
        (url.replace("/postgres?", "/nowhere?"), {}),
        (url.replace(SECRET, f"{SECRET}@x"), {}),
        (url.replace(SECRET, f"x/{SECRET}"), {}),
        (f"{url}&sslmode=no-such", {}),
        (f"{url}&passwort={SECRET}", {}),
        (url, {"table": "none"}),
        (url, {"query": "SELECT 1/0 AS x", "rows_are_units": True, "table": None}),
        (url.replace("postgresql", "mysql"), {"table": None}),
        (url.replace("postgresql", "POSTGRESQL"), {"table": None}),
        (f"host=x password={SECRET}", {"table": None}),
    ):
        with pytest.raises(ht.HushtableError) as caught:
            ht.count(made, domain=X, **({"table": "visits_2024"} | words))
        # The line of this test that raised shows the words that stand here, not their values.
        said += [text for text in texts_of(caught.value) if "Traceback" not in text]
        said += [str(each) for each in (caught.value.__context__, caught.value.__cause__)]
    for data in ([url, url], [url, "x.csv"]):
        with pytest.raises(ht.HushtableError) as caught:
            ht.publish(data, domain=X, epsilon=1, size=9, output="y.parquet", ledger=False)
        said += list(texts_of(caught.value))

    assert counts_of(ht.count(url, table="visits_2024", domain=X))
    assert SECRET not in caplog.text
    assert not [text for text in said if SECRET in text]
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {"x.parquet", "x.ledger", "x-recipe.toml"} <= set(files)
    assert not [name for name, held in files.items() if SECRET.encode() in held]
    assert b"postgresql://ann@" in files["x-recipe.toml"]


def test_the_command_says_no_password(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(X_TOML)
    url = guarded.url("ann", password=SECRET)
    common = ["--domain", "x.toml", "--epsilon", "1", "--size", "10"]

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, ["--log-file", "log", *words])
        assert SECRET not in done.output + done.stderr + Path("log").read_text()
        return done

    assert run("check", url, "--table", "visits_2024", "--domain", "x.toml").exit_code == 0
    assert run("domain", "draft", url, "--table", "visits_2024").exit_code == 0
    told = run("publish", url, "--table", "visits_2024", *common, "--no-ledger", "-o", "x.parquet", "--json")
    assert told.exit_code == 0
    assert run("publish", url, "--table", "none", *common, "--no-ledger", "-o", "y.parquet").exit_code == 3
    several = run("publish", url, *common, "--no-ledger", "-o", "y.parquet", "--engine", "spark")
    assert (several.exit_code, "not by Spark" in several.stderr) == (2, True)
    wrong = run("publish", url.replace("postgresql", "pg"), *common, "--no-ledger", "-o", "y.parquet")
    assert "an address of the kind pg:// is not read" in wrong.stderr


def test_a_file_of_recipes_names_tables(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(X_TOML)
    ht.Ledger.create("x.ledger", epsilon=9, about="x", unit="row")
    Path("releases.toml").write_text(
        f"""ledger = "x.ledger"
[[release]]
name = "visits-{{year}}"
data = "{guarded.url("ann", password=SECRET)}"
table = "visits_{{year}}"
domain = "x.toml"
epsilon = "1"
size = 10
output = "x-{{year}}.parquet"
"""
    )

    done = CliRunner().invoke(app, ["run", "releases.toml", "--set", "year=2024"])

    assert done.exit_code == 0, done.stderr
    assert SECRET not in done.output + done.stderr
    assert ht.open("x-2024.parquet").epsilon == 1
    assert ht.Recipe.load("releases.toml", year=2024).data == Address(guarded.url("ann"))
