"""A real standalone cluster: what it publishes is what one machine does, also where a worker is killed."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushtable as ht
from hushtable.engines.sliced import bounding as here
from tests.spark.cluster import Cluster
from tests.spark.dying import Death
from tests.spark.test_faults import DOMAIN, Driver

pytestmark = pytest.mark.long

UNIT = ht.Unit("person", max_rows=2)
SALT = "salt"  # so that both choose the same rows of a person
PUBLICATIONS: dict[str, dict[str, Any]] = {
    "cells": {"summary": ht.Filter(cutoff=1)},
    "cells of people": {"summary": ht.Filter(cutoff=1), "unit": UNIT},
    "several tables": {"ask": ["x", "y"], "size": 3000, "unit": UNIT},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def driver(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Generator[Driver]:
    driver = Driver(tmp_path_factory.mktemp("driver"), cluster.master)
    yield driver
    driver.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten rows each of 400 people in four files. They are texts, which every engine hashes alike."""
    generator = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("data")
    for number in range(4):
        columns = {name: np.minimum(generator.geometric(0.005, 1_000) - 1, 999) for name in ("x", "y")}
        person = pa.array(generator.integers(0, 400, 1_000)).cast(pa.string())
        pq.write_table(pa.table({**columns, "person": person}), folder / f"{number}.parquet")
    return str(folder)


class Publication:
    """Settings under which noise is 0, what one machine publishes, and what the cluster does."""

    def __init__(self, name: str, data: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        settings = {"domain": DOMAIN, "epsilon": 1000, "anyway": True, **PUBLICATIONS[name]}
        monkeypatch.setattr(here, "drawn_salt", lambda entropy: SALT)
        self.one = ht.publish(data, **settings, ledger=False, output=folder / "one.parquet")
        self.folder, self.notes = folder / "released", folder / "notes"
        self.folder.mkdir()
        unit = "person" if "unit" in settings else None
        self.ledger = ht.Ledger.create(folder / "ledger", epsilon=1000, about="people", unit=unit)
        settings |= {"output": self.folder / "out.parquet", "ledger": folder / "ledger"}
        self.asked = {"data": data, "settings": settings, "folder": self.notes, "salt": SALT}

    def check(self, driver: Driver) -> None:
        """The cells are those of one machine, paid for once, and nothing is left."""
        found = ht.open(self.folder / "out.parquet")
        assert len(found) > 700
        assert found.to_arrow().equals(self.one.to_arrow())
        assert found.terms.structure == self.one.terms.structure
        (entry,) = self.ledger.entries()
        assert entry.epsilon == 1000
        assert entry.state == "finished"
        assert os.listdir(self.folder) == ["out.parquet"]
        assert driver.left_behind() == []
        assert list((driver.folder / "checkpoints").rglob("hushtable-*")) == []


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_cells_are_those_of_one_machine(
    name: str, driver: Driver, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = Publication(name, data, tmp_path, monkeypatch)

    driver.do("publish", **publication.asked)

    publication.check(driver)
    assert len(list(publication.notes.glob("count-*.npz"))) > 6  # many slices, counted by workers


@pytest.mark.parametrize(
    "death",
    [
        Death("bound", None, "after", "worker"),
        Death("draw", 3, "before", "worker"),
        Death("draw", 3, "after", "worker"),
    ],
    ids=["before the charge", "in the draw", "after a draw"],
)
def test_a_killed_worker_changes_nothing(
    death: Death, cluster: Cluster, driver: Driver, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its executor ends with it, and the other worker does what it had to do."""
    cluster.complete()
    publication = Publication("cells of people", data, tmp_path, monkeypatch)

    driver.do("publish", **publication.asked, deaths=[death])

    assert cluster.deaths() == [-9]
    publication.check(driver)
