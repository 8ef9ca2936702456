"""Nodes of a structure, as tests ask for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hushtable.domain.domain import Domain
from hushtable.release.layout import check_names
from hushtable.release.terms import Terms
from hushtable.structures.intervals import Intervals
from hushtable.structures.structure import Codes, Sizes, Structure


def node_space(structure: Structure, domain: Domain) -> Any:
    """The nodes over a domain."""
    return structure.over(domain)


def nodes_over(structure: Any, shape: Sequence[int], *, places: Sequence[int]) -> Any:
    """The nodes over attributes of these sizes, in the order of their places."""
    return structure._over(shape, places)


def published_units(structure: Structure, domain: Domain) -> Sizes:
    """How many nodes there are, and the largest number of them that one row changes."""
    return structure.sizes(domain)


def intervals_of(terms: Terms, codes: Codes) -> Any:
    """The intervals of rows with these codes, of cells or of nodes."""
    if terms.structure.name == "cells":
        return Intervals(np.empty((len(codes), 0), dtype=np.int32), codes, codes)
    terms.nodes.to_columns(terms.domain, codes)  # refuses codes of no node
    return terms.nodes.intervals(codes)  # type: ignore[attr-defined]


def nodes_of(nodes: Any, given: Intervals) -> Codes | None:
    """The codes of the nodes that have these intervals, or None if some have none."""
    codes: Codes = nodes.nodes_at(given.levels, given.firsts)
    found = nodes.intervals(codes)
    same = (np.array_equal(getattr(found, name), getattr(given, name)) for name in Intervals._fields)
    return codes if all(same) else None


def check_named(structure: Structure, domain: Domain) -> None:
    """Raise where an attribute has the name of a column that the structure adds."""
    check_names(structure.over(domain), domain)
