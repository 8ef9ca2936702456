"""Who answers for a release of each structure, by the structure's name.

Promise: what answers is loaded when a release of its kind is first asked. A structure without an answerer is
refused then; its rows can be read all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hushtable.errors import BadQuery

if TYPE_CHECKING:
    from hushtable.answers.answerer import Answerer
    from hushtable.answers.estimation.sums import Opened


class MakesAnswerer(Protocol):
    """Makes a release of one structure ready to answer; `nodes` are those of its structure."""

    def __call__(self, release: Any, nodes: Any, /) -> Answerer:
        """Return what answers."""


ANSWERERS: dict[str, MakesAnswerer] = {}


def register_answerer(structure: str, makes: MakesAnswerer) -> None:
    """Let a release of the structure of that name be asked."""
    ANSWERERS[structure] = makes


def answerer_of(release: Opened) -> Answerer:
    """Return what answers for a release."""
    terms = release.terms
    if terms.structure.name not in ANSWERERS:
        fact = f"releases of the structure {terms.structure.name!r} cannot be asked"
        raise BadQuery(fact, "Read its rows: `release.to_arrow()`.")
    return ANSWERERS[terms.structure.name](release, terms.nodes)


def _of_cells(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.estimation.cells import CellAnswers

    return CellAnswers(release)


def _of_axes(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.nodes.answering import NodeAnswers

    return NodeAnswers(release, nodes)


def _of_a_tree(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.pruned.answering import PrunedAnswers

    return PrunedAnswers(release, nodes)


def _of_a_hierarchy(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.hierarchies.answering import HierarchyAnswers

    return HierarchyAnswers(release, nodes)


def _of_tables(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.tables.answering import TableAnswers

    return TableAnswers(release, nodes)


def _of_a_sketch(release: Any, nodes: Any) -> Answerer:
    from hushtable.answers.sketched.answering import SketchAnswers

    return SketchAnswers(release, nodes)


register_answerer("cells", _of_cells)
for _name in ("dyadic", "haar", "product-dyadic"):
    register_answerer(_name, _of_axes)
register_answerer("tree", _of_a_tree)
register_answerer("hierarchy", _of_a_hierarchy)
for _name in ("marginals", "tables"):
    register_answerer(_name, _of_tables)
register_answerer("sketch", _of_a_sketch)
