"""No test of Spark is left out quietly: all live in tests/spark, and there a skipped test is an error."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
SKIPPED = {
    "test_mark.py": "@pytest.mark.skip(reason='later')\ndef test_it():\n    pass\n",
    "test_call.py": "def test_it():\n    pytest.skip('later')\n",
    "test_fixture.py": "@pytest.fixture\ndef it():\n    pytest.skip('later')\n\ndef test_it(it):\n    pass\n",
    "test_file.py": "pytest.importorskip('no_such_module')\n",
}


def run(folder: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run files of tests beside the conftest.py of tests/spark."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = spark\n")
    (folder / "conftest.py").write_text((TESTS / "spark" / "conftest.py").read_text())
    for name, code in files.items():
        (folder / name).write_text(f"import pytest\n\n{code}")
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-m", "spark", "--continue-on-collection-errors"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_mark_is_given_by_the_folder_alone() -> None:
    mark = "mark." + "spark"
    marked = {path for path in TESTS.rglob("*.py") if mark in path.read_text(encoding="utf-8")}

    assert marked == {TESTS / "spark" / "conftest.py"}, "`make test-spark` finds tests in tests/spark only"


def test_a_skipped_test_of_spark_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path, SKIPPED)

    assert done.returncode != 0
    assert done.stdout.splitlines()[-1].startswith("1 failed, 3 errors"), done.stdout
    for name in SKIPPED:
        assert any(name in line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))


def test_other_tests_of_spark_run_as_usual(tmp_path: Path) -> None:
    fails = "@pytest.mark.xfail(strict=True)\ndef test_it():\n    raise RuntimeError\n"
    done = run(tmp_path, {"test_one.py": "def test_it():\n    pass\n", "test_two.py": fails})

    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 passed, 1 xfailed"), done.stdout
