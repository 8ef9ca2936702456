"""What a message advises works."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import hushtable as ht

HOME = ht.Domain(home=ht.categories(["6001", "6003"]))


def test_the_cast_that_is_advised_for_numbers_matches_codes() -> None:
    rows = pa.table({"home": pa.array([6001.0, 6003.0, 6003.0])})
    (problem,) = ht.check(rows, domain=HOME).problems
    cast = problem.hint.rpartition("select ")[2].rstrip(".")

    assert cast == "CAST(TRY_CAST(home AS BIGINT) AS VARCHAR)"
    table = ht.count(rows, domain=HOME, query=f"SELECT {cast} AS home FROM data")
    assert table.counts.tolist() == [1, 2]


def test_semicolons_are_named_and_no_column_of_two_names_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("home;age\n6001;34\n")
    (problem,) = ht.check(tmp_path / "rows.csv", domain=HOME).problems

    assert "has semicolons between names" in problem.hint
    assert "Did you mean" not in problem.hint
