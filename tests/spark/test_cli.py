"""`hushtable publish --engine spark`, as a real process: what it writes, charges, shows and leaves behind."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.cli.words import off_in_words
from tests.cli.commands import SCRIPT
from tests.cli.terminals import run_on_terminal
from tests.cli.test_publish import examples

COLUMN = '[[attribute]]\nname = "x"\nintegers = { low = 0, high = 99999 }\n'
PEOPLE, OUTSIDE = 731, 211  # in the domain, with three rows each; and rows outside
PUBLISH = ["--domain", "grid.toml", "--epsilon", "1", "--size", "50", "--engine", "spark"]


class Place(NamedTuple):
    """Where a test works: its folder, that of temporary files, and that of Spark's settings."""

    folder: Path
    temporary: Path
    settings: Path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Put a folder of Parquet files into one in which the test runs; nothing may be left in any."""
    made = Place(tmp_path / "work", tmp_path / "temporary", tmp_path / "settings")
    for folder in made:
        folder.mkdir()
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("TMPDIR", str(made.temporary))
    monkeypatch.setenv("SPARK_CONF_DIR", str(made.settings))
    (made.folder / "grid.toml").write_text(COLUMN)
    people = [*range(PEOPLE)] * 3
    rows = pa.table({"x": people + [200_000] * OUTSIDE, "person": people + [-1] * OUTSIDE})
    (made.folder / "rows").mkdir()
    for part in range(2):
        pq.write_table(rows.slice(part * 1200, 1200), f"rows/{part}.parquet")
    (made.settings / "spark-defaults.conf").write_text(
        # The quick compiler alone: tests end before what the other one makes is worth its time.
        "spark.master local[2]\nspark.driver.memory 512m\nspark.sql.shuffle.partitions 4\n"
        "spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-Dderby.stream.error.file=/dev/null\n"
    )
    yield made
    assert [path for path in made.temporary.rglob("*") if path.parent != made.temporary] == []
    assert {path.name for path in made.folder.iterdir()} <= {
        *("grid.toml", "rows", "people.ledger", "out.parquet", "warehouse", "commute.toml"),
        *("commuters.ledger", "spark.parquet"),
    }


def java_of(process: subprocess.Popen[str]) -> list[int]:
    """Return the ids of the processes that a process has started."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(each) for each in path.read_text().split()]


def publish(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(each) for each in (SCRIPT, "publish", *arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.long
def test_a_folder_of_checkpoints_is_as_it_was(place: Place, tmp_path: Path) -> None:
    """Spark makes a folder in it for each session."""
    checkpoints = tmp_path / "checkpoints"
    with (place.settings / "spark-defaults.conf").open("a") as file:
        file.write(f"\nspark.checkpoint.dir {checkpoints.as_uri()}\n")

    done = publish("rows", *PUBLISH, "--no-ledger", "--output", "out.parquet")

    assert done.returncode == 0, done.stderr
    assert list(checkpoints.iterdir()) == []


def test_a_folder_of_parquet_becomes_a_release(place: Place) -> None:
    ht.Ledger.create("people.ledger", epsilon=2, about="people")

    done = publish(
        *["rows", *PUBLISH, "--ledger", "people.ledger", "--output", "out.parquet", "--memory", "300MB"],
        *["--unit", "person", "--max-rows", "2", "--total-share", "1/2"],
    )

    assert done.returncode == 0, done.stderr
    release = ht.open("out.parquet")
    assert done.stdout == (
        f"Published out.parquet: {len(release):,} rows. {off_in_words(release.terms)}\n{release.guarantee}\n"
        "Look at it: hushtable show out.parquet\n"
    )
    assert done.stderr == ""
    assert release.terms.measure.unit == ht.Unit("person", max_rows=2)
    # Two rows of each, with noise of two over a half; it is further away with a chance below 1e-9.
    assert release.noisy_total is not None
    assert abs(release.noisy_total - 2 * PEOPLE) < 4 * 21
    (entry,) = ht.Ledger.open("people.ledger").entries()
    assert (entry.epsilon, entry.state) == (Fraction(1), "finished")


SAVE = """\
from hushtable.engines.spark.sessions import session
with session() as spark:
    spark.sql("CREATE DATABASE people")
    spark.read.parquet("rows").write.saveAsTable("people.visits")
    names = ("master", "local.dir", "driver.memory", "app.name", "sql.catalogImplementation")
    print(*(spark.conf.get(f"spark.{name}") for name in names), sep="\\n")
    rows = spark.range(2).mapInArrow(lambda batches: (print("here") or each for each in batches), "id long")
    print(rows.count(), spark.sparkContext.pythonExec)
"""
HIVE = """\
<configuration>
  <property><name>javax.jdo.option.ConnectionURL</name>
    <value>jdbc:derby:;databaseName={place}/metastore;create=true</value></property>
  <property><name>hive.metastore.warehouse.dir</name><value>{place}/tables</value></property>
</configuration>
"""


@pytest.mark.long
def test_a_table_of_a_warehouse_becomes_a_release(place: Place, tmp_path: Path) -> None:
    (place.settings / "hive-site.xml").write_text(HIVE.format(place=tmp_path))
    with (place.settings / "spark-defaults.conf").open("a") as defaults:
        defaults.write(f"spark.local.dir = {tmp_path}/local\n")

    saved = subprocess.run([sys.executable, "-c", SAVE], capture_output=True, text=True, check=True)
    done = publish(
        "people.visits", *PUBLISH, "--total-share", "1/2", "--no-ledger", "--output", "out.parquet"
    )

    # What the owner has set holds; what is said is what was asked for, and nothing of Java's.
    shown = ["local[2]", f"{tmp_path}/local", "512m", "hushtable", "hive", f"2 {sys.executable}"]
    assert (saved.stdout.splitlines(), saved.stderr) == (shown, "")
    assert (done.returncode, done.stderr) == (0, "")
    release = ht.open("out.parquet")
    assert release.noisy_total is not None
    assert abs(release.noisy_total - 3 * PEOPLE) < 2 * 21


@pytest.mark.long
def test_workers_take_the_python_of_an_archive(place: Place, tmp_path: Path) -> None:
    from pyspark.find_spark_home import _find_spark_home

    # As on a cluster: an executor of its own, which unpacks the archive where it works.
    script = f'#!/bin/sh\npwd >> "{tmp_path}/started"\nexec "{sys.executable}" "$@"\n'
    with tarfile.open(tmp_path / "environment.tar.gz", "w:gz") as archive:
        packed = tarfile.TarInfo("bin/python")
        packed.size, packed.mode = len(script.encode()), 0o755
        archive.addfile(packed, io.BytesIO(script.encode()))
    with (place.settings / "spark-defaults.conf").open("a") as defaults:
        defaults.write(f"spark.archives {tmp_path}/environment.tar.gz#environment\n")
        defaults.write("spark.pyspark.python ./environment/bin/python\n")
    home = Path(_find_spark_home()) / "work"
    before = set(home.glob("*"))

    done = publish(
        *["rows", *PUBLISH, "--master", "local-cluster[1,1,1024]"],
        *["--no-ledger", "--output", "out.parquet"],
    )

    assert (done.returncode, done.stderr) == (0, "")
    folders = (tmp_path / "started").read_text().splitlines()
    assert all(folder.startswith(f"{place.temporary}/hushtable-") for folder in folders)
    assert set(home.glob("*")) == before


@pytest.mark.long
def test_the_example_of_the_help_runs_with_bars(place: Place) -> None:
    (line,) = (line for line in examples("publish") if "--engine spark" in line)
    (place.folder / "commute.toml").write_text(COLUMN)
    (place.folder / "warehouse").mkdir()
    (place.folder / "rows").rename("warehouse/commuters")
    ht.Ledger.create("commuters.ledger", epsilon=1, about="commuters")

    seen = run_on_terminal(*shlex.split(line)[1:], "--anyway")

    assert seen.code == 0, seen.written
    assert ht.open("spark.parquet").epsilon == Fraction(1, 10)
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", seen.written)
    lines = re.split(r"[\r\n]", plain)
    steps = [found[0] for line in lines if (found := re.match(r"[A-Z]\w+(?= +[━╸╺ ])", line))]
    assert list(dict.fromkeys(steps)) == ["Starting", "Reading", "Counting", "Drawing", "Gathering"]
    assert "Starting" not in seen.screen
    assert "Look at it: hushtable show spark.parquet" in seen.screen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["nope"], "error: there is no table 'nope' that Spark knows", marks=pytest.mark.long),
        (
            ["rows", "--master", "nowhere"],
            "error: Spark did not start with master 'nowhere': Spark does not know such a master",
        ),
    ],
)
def test_errors_are_one_message(options: list[str], message: str, place: Place) -> None:
    done = publish(*options, *PUBLISH, "--no-ledger", "--output", "out.parquet")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert not (place.folder / "out.parquet").exists()


@pytest.mark.parametrize(
    "until",
    [
        pytest.param("report", marks=pytest.mark.long, id="starting"),
        pytest.param("local/spark-*/pyspark-*", id="working"),
    ],
)
def test_ctrl_c_ends_java_too(until: str, place: Place) -> None:
    process = subprocess.Popen(
        [SCRIPT, "publish", "rows", *PUBLISH, "--no-ledger", "--output", "out.parquet"],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # of a background job it is ignored
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not list(place.temporary.glob(f"hushtable-*/spill-*/{until}")):
            time.sleep(0.02)
        time.sleep(0.5)
        started = java_of(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()

    assert (process.returncode, out) == (130, "")
    assert "No output was written." in err
    assert "Traceback" not in err
    assert started
    assert not any(os.path.exists(f"/proc/{each}") for each in started)
    assert not (place.folder / "out.parquet").exists()
