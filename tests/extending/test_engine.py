"""The worked example of an engine from outside, and how it counts; `test_engine_contract.py` has the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.domain.attributes import Attribute, Integers
from hushtable.engines.registry import engine_of, register, unregister
from tests.engines.contracts.counting import *  # noqa: F403
from tests.engines.contracts.engine import Engine, OneMachine
from tests.engines.contracts.units import *  # noqa: F403
from tests.extending.listing_engine import Listing, ListingEngine


class OnListings(OneMachine):
    """Listings, under test."""

    examples = 10

    def data(self, table: pa.Table, *, parts: int = 2) -> Any:
        try:
            columns = [column.to_pylist() for column in table.columns]
            listing = Listing(table.schema, list(zip(*columns, strict=True)))
            listing.table()
        except (ValueError, pa.ArrowException):
            return table  # text that is not UTF-8, say, for which Python has no value
        return listing


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(ListingEngine())
    yield
    unregister("listing")


@pytest.fixture
def engine() -> Engine:
    return OnListings()


def test_no_other_engine_takes_a_listing() -> None:
    domain = ht.Domain(attributes=(Attribute(name="age", values=Integers(low=0, high=120)),))
    listing = Listing(pa.schema([("age", pa.int64())]), [(34,), (34,), (61,)])

    assert engine_of(listing).name == "listing"
    assert engine_of(listing.table()).name == "local"
    assert ht.count(listing, domain=domain).counts.tolist() == [2, 1]
    unregister("listing")
    with pytest.raises(ht.BadData, match="data is of type Listing"):
        ht.count(listing, domain=domain)


def test_an_engine_of_the_same_name_takes_the_place_of_another() -> None:
    again = ListingEngine()
    register(again)

    assert engine_of(Listing(pa.schema([]), [])) is again
    unregister("listing")
    assert engine_of(Listing(pa.schema([]), [])).name == "local"
