"""The release that pages, reports and cards are tested with, published once."""

from pathlib import Path

import pytest

import hushtable as ht
from tests.pages.clinic import clinic, in_parts


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def release(folder: Path) -> ht.Release:
    return clinic(folder)


@pytest.fixture(scope="session")
def parts(folder: Path) -> ht.Release:
    return in_parts(folder)
