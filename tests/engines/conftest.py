"""Fixtures that the contract shares with tests of one machine."""

from tests.engines.contracts.refusals import refuse, spills

__all__ = ["refuse", "spills"]
