"""Fixtures that the contract shares with tests of one machine."""

from collections.abc import Iterator

import pytest

from hushtable.engines.sliced import summing
from tests.engines.contracts.refusals import refuse, spills

__all__ = ["refuse", "spills"]


@pytest.fixture(scope="package", autouse=True)
def _sorted() -> Iterator[None]:
    """Sort the cells of small domains too: `test_summing` compares that with adding them up as they come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summing, "_FEW_CELLS", 0)
        yield
