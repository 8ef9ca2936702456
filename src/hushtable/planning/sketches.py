"""What a count sketch will be worth, beside cells of as many rows.

With width w and depth d, the estimate of a cell is the mean of d buckets, each with its sign. In one row, a
bucket is off by the cells that share it, each with a sign by chance and with chance 1/w, and by noise of
variance v, at a d-th of the rate of cells. Let the counts of all m cells have the sum T, and their squares
the sum F. Over R cells chosen at random, the sum of estimates has the variance

    (R ((F - F/m)/w + v) + R (R-1) (T^2 - F)/(m (m-1) w)) / d,

where the last term says that two cells of the sum, if they share a bucket, are off together. Cells that share
a bucket are nearly Poisson in number, by count, so the characteristic function of an error is known, and its
mean size follows as in `sums`.

Promise: the variance is that of the mean of rows; nothing is drawn.
Cost: some milliseconds, and a plan for as many rows.
Source: Charikar, Chen, Farach-Colton (2002); Cormode, Procopiuc, Srivastava, Tran, appendix C.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log10, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import LARGEST_SIZE
from hushtable.planning.judging import CLEARLY
from hushtable.planning.predictions import Prediction
from hushtable.planning.profile import Profile
from hushtable.planning.sums import frequencies, mean_size
from hushtable.planning.sweep import replanned
from hushtable.planning.wording import aligned, head, name_of, number, paragraph, percent
from hushtable.structures.sketch import LARGEST_SKETCH, CountSketch

if TYPE_CHECKING:
    from hushtable.planning.plan import Plan

_DEPTHS = range(1, 6)  # that are tried
_FAR = 40.0  # scales of noise beyond which nothing lies


class SketchErrors:
    """How far sums of estimates are off, under a profile; `law` is that of the noise in a bucket."""

    def __init__(self, profile: Profile, structure: CountSketch, *, cells_total: int, law: NoiseLaw) -> None:
        self.structure, self.cells_total = structure, float(cells_total)
        self.noise = law.floats
        self._counts = profile.counts
        self._others = profile.cells * (1 - 1 / self.cells_total)  # beside the one that is asked for
        self._squares = float(profile.cells @ profile.counts**2)
        self._people = profile.people

    def standard_error(self, size: int) -> float:
        """Return the standard error of the sum of so many cells."""
        return sqrt(size * self._variance * self._together(size))

    def mean_error(self, size: int) -> float:
        """Return the mean size of the error of the sum of so many cells."""
        depth, variance = self.structure.depth, self.standard_error(size) ** 2
        far = float(self._counts[-1]) + self.noise.distance(_FAR) + 10 * sqrt(variance)
        times = frequencies(floor(-log10(far)) - 2, 3)
        turned = 2 * np.sin(np.outer(times / depth, self._counts) / 2) ** 2 @ self._others
        one_row = turned / self.structure.width + np.log1p(self.noise.waves(times / depth))
        return mean_size(times, -np.expm1(-size * self._together(size) * depth * one_row), variance)

    @property
    def _variance(self) -> float:
        """The variance of the estimate of one cell."""
        others = self._squares * (1 - 1 / self.cells_total) / self.structure.width
        return (others + self.noise.variance) / self.structure.depth

    def _together(self, size: int) -> float:
        """Return the variance of a sum, as a multiple of that of independent estimates."""
        pairs = max(self._people**2 - self._squares, 0.0) / self.cells_total / max(self.cells_total - 1, 1.0)
        shared = (size - 1) * pairs / (self.structure.width * self.structure.depth)
        return 1 + shared / self._variance


@dataclass(frozen=True, kw_only=True, repr=False)
class SketchPrediction:
    """What to expect of a count sketch. Made by `Plan.sketch`; printed, it is a table beside cells.

    Errors are for random sets of so many cells; those of one occupied cell are beside them.
    """

    plan: Plan  # of as many rows
    structure: CountSketch
    standard_errors: dict[int, float]
    errors: dict[int, float]  # their mean size
    cells: Prediction  # of the recommended cells, for the same sets
    occupied_error: float  # of one occupied cell, by the cells; by the sketch, it is that of any cell
    best: CountSketch  # of as many buckets, with the least standard error

    def __repr__(self) -> str:
        return _text(self)

    @property
    def occupied_mean(self) -> float:
        """What an occupied cell holds."""
        return self.plan.profile.people / self.plan.profile.occupied

    @property
    def relative(self) -> float:
        """The mean error of an occupied cell, as a share of what such a cell holds."""
        return self.errors[1] / self.occupied_mean

    @property
    def worth(self) -> bool:
        """Whether occupied cells are clearly better known than by answering 0, and better than by cells."""
        return not self.wasted and not self.loses

    @property
    def loses(self) -> bool:
        """Whether cells of as many rows are better: for one occupied cell, and for sets of all sizes."""
        sets = all(self.cells.errors[size] <= error for size, error in self.errors.items())
        return sets and self.occupied_error <= self.errors[1]

    @cached_property
    def wasted(self) -> tuple[str, ...]:
        """Why the sketch would be wasted; nothing where it would not."""
        if self.relative < CLEARLY:
            return ()
        share = percent(self.relative)
        return (f"the error of an occupied cell would be {share} of what it holds, so nothing is gained",)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """All that speaks against the sketch."""
        said = list(self.wasted)
        if self.loses:
            errors = f"{number(self.occupied_error)}, and of the sketch {number(self.errors[1])}"
            said.append(
                f"cells by {name_of(self.cells)} are better, with as many rows: the error of an occupied "
                f"cell would be {errors}"
            )
        if self.best != self.structure:
            width, depth = f"--width {self.best.width}", f"--depth {self.best.depth}"
            said.append(f"{width} {depth} would have as many buckets, and smaller errors")
        return tuple(said)

    @property
    def advice(self) -> str:
        """What may make a release better."""
        return "publish cells, give more epsilon, or take more buckets"

    @property
    def reason(self) -> str:
        """One sentence: whether to take the sketch, and why."""
        if self.loses:
            return f"cells, by {name_of(self.cells)}: better for one cell and for sets of all sizes."
        if self.wasted:
            return f"not this sketch: {self.wasted[0]}."
        return "the sketch for what it is better at, cells for the rest: see the table."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "width": self.structure.width,
            "depth": self.structure.depth,
            "standard_errors": self.standard_errors,
            "errors": self.errors,
            "relative_error": self.relative,
            "cells": {
                "name": name_of(self.cells),
                "method": repr(self.cells.method),
                "rows": self.cells.rows,
                "errors": self.cells.errors,
                "occupied_error": self.occupied_error,
            },
            "best": {"width": self.best.width, "depth": self.best.depth},
            "worth": self.worth,
            "reason": self.reason,
            "warnings": list(self.warnings),
        }


def predict_sketch(plan: Plan, structure: CountSketch) -> SketchPrediction:
    """Return what to expect of a sketch, and of the recommended cells with as many rows."""
    sizes = [1, *(size for size in plan.zero_errors if size > 1)]
    equal = replanned(plan, Fraction(1), min(structure.rows_published, LARGEST_SIZE, plan.cells_total))
    cells = equal.predictor.predict(equal.recommended.method, sizes=sizes)
    own = _errors(plan, structure)
    return SketchPrediction(
        plan=equal,
        structure=structure,
        standard_errors={size: own.standard_error(size) for size in sizes},
        errors={size: own.mean_error(size) for size in sizes},
        cells=cells,
        occupied_error=equal.predictor.occupied_error(cells.method),
        best=_best(plan, [structure, *_shapes(structure.width * structure.depth)]),
    )


def _errors(plan: Plan, structure: CountSketch) -> SketchErrors:
    law = plan.law_for((plan.budget - plan.total_budget) / structure.depth, added_up=True)
    return SketchErrors(plan.profile, structure, cells_total=plan.cells_total, law=law.checked())


def _shapes(buckets: int) -> list[CountSketch]:
    """Return sketches of as many buckets, or a few less where they do not divide."""
    return [
        CountSketch(width=buckets // depth, depth=depth)
        for depth in _DEPTHS
        if 1 <= buckets // depth <= LARGEST_SKETCH
    ]


def _best(plan: Plan, shapes: Sequence[CountSketch]) -> CountSketch:
    """Return the one with the least standard error of a cell, and the first of several equal ones."""
    return min(shapes, key=lambda shape: _errors(plan, shape).standard_error(1))


def _text(sketch: SketchPrediction) -> str:
    """Return the page: what is assumed, errors of the sketch and of cells, and what to take."""
    structure, sizes = sketch.structure, list(sketch.errors)
    rows = f"{structure.depth:,} row{'s' * (structure.depth > 1)} of {structure.width:,} buckets"
    lines = [["sets of so many cells", *map(number, sizes), "1 occupied"]]
    standard = [number(each) for each in sketch.standard_errors.values()]
    lines.append(["sketch, standard error", *standard, standard[0]])
    own = [number(each) for each in sketch.errors.values()]
    lines.append(["sketch", *own, own[0]])
    cells = [number(sketch.cells.errors[size]) for size in sizes]
    lines.append([f"cells, {name_of(sketch.cells)}", *cells, number(sketch.occupied_error)])
    zero = [number(sketch.cells.truths[size]) for size in sizes]
    lines.append(["answering 0", *zero, number(sketch.occupied_mean)])
    deviation = number(sqrt(_errors(sketch.plan, structure).noise.variance))
    said = f"A count sketch, {rows} with noise of standard deviation {deviation}, and cells with as many "
    said += (
        "rows. Size of the error to expect for sums over sets of cells chosen at random, empty or not, and "
    )
    said += "for one cell that is occupied:"
    best = f"Of as many buckets, --width {sketch.best.width} --depth {sketch.best.depth} has the smallest "
    best += (
        "standard error: each row of a sketch takes a share of epsilon, and more rows leave fewer "
        "buckets for each."
    )
    parts = [paragraph(f"Recommended: {sketch.reason}")]
    if sketch.warnings:
        parts.append("\n".join(paragraph(f"warning: {each}.") for each in sketch.warnings))
    parts += [paragraph(said), aligned(lines), paragraph(best), head(sketch.plan, cells=False)]
    return "\n\n".join(parts)
