"""Make the golden files of every format: releases that every later version must open.

Give, from the root of the repository: .venv/bin/python -m tests.release.make_golden

It writes only files, or folders of parts, that are not there yet. A golden file is never made anew: when the
format changes, its number rises, new files `v5-...` join these, and test_golden.py says what is in them.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from hushtable.domain.columns import as_text_column
from hushtable.domain.declaring import any_text, categories, integers
from hushtable.domain.domain import Domain
from hushtable.domain.measure import Measure, Unit
from hushtable.domain.texts import KnownTexts
from hushtable.methods.settings import Everything, Filter, FilterPriority, Priority
from hushtable.release import footer
from hushtable.release.record import Terms
from hushtable.release.terms import Part
from hushtable.structures.dyadic import Dyadic
from hushtable.structures.haar import Haar
from hushtable.structures.hierarchy import Hierarchy
from hushtable.structures.marginals import Marginals
from hushtable.structures.product_dyadic import ProductDyadic
from hushtable.structures.pruned import PrunedSpace, Tree
from hushtable.structures.sketch import CountSketch
from hushtable.structures.table_space import TableSpace
from tests.release.examples import (
    PEOPLE_CODES,
    PEOPLE_DOMAIN,
    Rows,
    all_buckets,
    all_nodes,
    cube_terms,
    people,
    rows,
    sketch_terms,
    terms,
    tree_terms,
    write,
)

FOLDER = Path(__file__).parent / "golden"


def main() -> None:
    """Write what is not there yet."""
    golden = {
        "v1-people": people(measure=Measure(unit=Unit("person_id", max_rows=3))),
        "v1-counted": people(
            measure=Measure(count_column="S000"),
            where="state = 'RI'",
            method=Everything(),
            epsilon=Fraction(1, 3),
            total_budget=Fraction(0),
            total=None,
            rule=None,
            cutoff=None,
            threshold=None,
        ),
        "v1-packed": people(rows_are_units=True, query="SELECT * FROM a JOIN b USING (id)"),
    }
    empty = terms()
    golden["v1-empty"] = empty, rows(empty, np.empty((0, 6), np.int64), np.empty(0, np.int64))
    golden |= {f"v2-{name}": tree for name, tree in trees().items()}
    golden |= {"v3-cube": cube(), "v3-sketch": sketch()}
    golden |= {"v4-people": people(), "v4-tree": pruned_trees()["tree"]}
    golden["v7-words"] = words()
    golden["v9-levels"] = levels()
    for name, (made, given) in golden.items():
        path = FOLDER / f"{name}.parquet"
        if not path.exists():
            # A domain of more than four mebibytes is packed; here a small one is, to keep the file small.
            footer._LARGEST_PLAIN_DOMAIN = 0 if name.endswith("packed") else 1 << 22
            rows_in_a_file = 3 if name.startswith("v4-") else None
            print(write(path, made, given, rows_in_a_file=rows_in_a_file), path)


def trees() -> dict[str, tuple[Terms, Rows]]:
    """Return a release of each structure: dyadic ranges and Haar wavelets with an attribute of every kind."""
    sampled = {"method": Priority(size=1000), "rule": None, "cutoff": None, "threshold": 123.5}
    dyadic = tree_terms(Dyadic(order=["day"]), PEOPLE_DOMAIN, **sampled)
    haar = tree_terms(Haar(), PEOPLE_DOMAIN, measure=Measure(unit=Unit("person_id", max_rows=3)))
    few = np.array([[0], [1], [5], [1_000_000], [-1]])
    counts = np.array([500, -30, 25, 260, 21])
    found = {
        name: (made, rows(made, few % made.space.cells_total, counts))
        for name, made in (("dyadic", dyadic), ("haar", haar))
    }
    consistent = tree_terms(Dyadic(consistent=True, order=["hour"]), rule=None)
    found["consistent"] = (
        consistent,
        rows(consistent, np.array([[0], [1], [3], [6]]), np.array([90, 60, 41, 20])),
    )
    boxes = tree_terms(ProductDyadic(order=["hour"]), method=Everything(), rule=None, cutoff=None)
    found["product"] = boxes, all_nodes(boxes)
    return found | pruned_trees()


def pruned_trees() -> dict[str, tuple[Terms, Rows]]:
    """Return a pruned tree over a line, and one in z-order with an attribute of every kind."""
    line = tree_terms(Tree(branching=4, order=["hour"]), rule=None)
    some = rows(line, np.array([[0], [1], [2], [5], [6], [26]]), np.array([207, 110, 60, 41, 52, 33]))
    people = {
        "measure": Measure(unit=Unit("person_id", max_rows=3)),
        "method": Filter(size=5, two_sided=False),
    }
    boxes = tree_terms(Tree(order="morton"), PEOPLE_DOMAIN, **people, rule=None, cutoff=260.0)
    assert isinstance(boxes.nodes, PrunedSpace)
    levels = np.arange(4, dtype=np.int32)[:, np.newaxis]
    path = boxes.nodes.nodes_at(levels, np.repeat(PEOPLE_CODES[1:2], 4, axis=0))
    return {"tree": (line, some), "morton": (boxes, rows(boxes, path, np.array([900, 700, 500, 260])))}


def cube() -> tuple[Terms, Rows]:
    """Return a weighted data cube with an attribute of every kind: small marginals whole, others filtered."""
    structure = Marginals("all-1", ["income", "region"], ["minute", "day"], weights=["1/3", "1/2", 1])
    few, many = (
        Part(method=Everything(), rule="whole-1"),
        Part(method=Filter(cutoff=20), rule=None, cutoff=20.0),
    )
    sampled = Part(
        method=FilterPriority(cutoff=20, size=1000), rule="auto-cutoff-1", cutoff=20.0, threshold=123.5
    )
    parts = [few, many, few, few, many, many, few, sampled]
    made = cube_terms(structure, PEOPLE_DOMAIN, parts, measure=Measure(unit=Unit("person_id", max_rows=3)))
    assert isinstance(made.nodes, TableSpace)
    codes = []
    for number, (marginal, part) in enumerate(zip(made.nodes.marginals, parts, strict=True)):
        shape = marginal.domain.shape
        whole = np.array(list(np.ndindex(shape))) if part is few else PEOPLE_CODES[1:2, marginal.places]
        codes.append(made.nodes.codes(number, whole))
    every = np.concatenate(codes)
    return made, rows(made, every, 21 + np.arange(len(every)))


def levels() -> tuple[Terms, Rows]:
    """Return a hierarchy of two attributes, one of which is listed out of the order of its level."""
    towns = categories(["A-1", "B-1", "A-2"], levels={"county": 1})
    domain = Domain(town=towns, sex=categories(["f", "m"]), title="People")
    structure = Hierarchy("county(town)", "town, sex", shares=[1, 4, 2], complete=2)
    nodes = structure.over(domain)
    numbers = np.array([0, 6, 10, 12, 15, 17])  # all; A and B; A-1 f; A-2 m; B-1 m
    counts = np.array([410, 320, -3, 300, 40, 95])
    claims = terms(
        domain,
        structure=structure,
        sensitivity=7,
        total_budget=Fraction(0),
        total=None,
        method=Filter(size=20, two_sided=False),
        rule=None,
        cutoff=31.25,
        threshold=None,
    )
    weights = nodes.weights(
        numbers[:, np.newaxis], counts, law_at=claims.law_at, cutoff=claims.cutoff, threshold=None
    )
    return claims, Rows(numbers[:, np.newaxis], counts, weights)


def words() -> tuple[Terms, Rows]:
    """Return cells of words that nobody listed."""
    texts = as_text_column(["", "Flu", "flu", "\N{LATIN SMALL LETTER U WITH DIAERESIS}ber"])
    declared = Domain(word=any_text(longest=40, missing={"other": "none"}), day=integers(0, 6))
    domain = declared.knowing({0: KnownTexts(lambda: texts)})
    made = terms(
        domain=domain,
        measure=Measure(unit=Unit("person_id", max_cells=1)),
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
        total_budget=Fraction(0),
        total=None,
        law_name="truncated-geometric",
        method=Filter(cutoff=15, two_sided=False),
        rule="threshold-1",
        cutoff=15.0,
        threshold=None,
    )
    return made, rows(
        made, np.array([[0, 3], [1, 0], [2, 0], [2, 6], [3, 1]]), np.array([15, 40, 700, 21, 16])
    )


def sketch() -> tuple[Terms, Rows]:
    """Return a sketch of a domain with an attribute of every kind."""
    made = sketch_terms(CountSketch(width=5, depth=2), PEOPLE_DOMAIN)
    return made, all_buckets(made)


if __name__ == "__main__":
    main()
