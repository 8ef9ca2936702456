"""What is said where Spark cannot start, by machines that have no Spark, no Java, or an old one."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from hushtable.engines.spark.sessions import check_java, session
from hushtable.errors import BadData, MissingJava, MissingPackage

OLD = "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2"
ANCIENT = "echo 'java version \"1.8.0_402\"' >&2"
GOOD = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2"
NEWER = "echo 'openjdk version \"25\" 2025-09-16'"
BROKEN = "echo 'Unable to locate a Java Runtime.' >&2; exit 1"


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def java(folder: Path, script: str) -> Path:
    """Put a `java` into a folder like JAVA_HOME, and return that."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return folder


@pytest.mark.parametrize("script", [GOOD, NEWER])
def test_a_java_of_17_or_newer_will_do(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java(tmp_path, script)

    monkeypatch.setenv("PATH", str(home / "bin"))
    check_java()

    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", str(home))
    check_java()


@pytest.mark.parametrize(
    ("script", "fact"), [(OLD, "is Java 11"), (ANCIENT, "is Java 8"), (BROKEN, "does not start")]
)
def test_another_java_is_named_with_what_to_install(
    script: str, fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(java(tmp_path, script) / "bin"))

    with pytest.raises(MissingJava, match=fact) as caught:
        check_java()

    assert str(tmp_path / "bin" / "java") in str(caught.value)
    for line in (
        "apt-get install openjdk-17-jre-headless",
        "brew install openjdk@17",
        "conda install openjdk",
    ):
        assert line in str(caught.value)


def test_no_java_at_all_is_said() -> None:
    with pytest.raises(MissingJava, match=r"Java 17 or newer, but there is no `java` on PATH\.\nInstall"):
        check_java()


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As with Spark itself, which does not look further if it is set.
    monkeypatch.setenv("PATH", str(java(tmp_path / "good", GOOD) / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))

    with pytest.raises(MissingJava, match="nothing/bin/java does not start, and JAVA_HOME names it"):
        check_java()


def test_a_missing_pyspark_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # also where it is installed

    with pytest.raises(MissingPackage, match=r"pip install 'hushtable\[spark\]'"), session():
        pass

    assert "PYSPARK_PYTHON" not in os.environ


def test_a_master_that_does_not_answer_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", sys)  # it is not reached
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, GOOD)))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        master = f"spark://{address},{address}"
        with pytest.raises(BadData, match=f"{master}': nothing answers there"), session(master):
            pass
