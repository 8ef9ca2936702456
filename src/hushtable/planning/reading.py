"""Profiles from files: a list of counts, or an older release.

Promise: whatever is read is public: a list that the owner declares public, or a release. A file that does not
say what it should is refused, with its line.
Cost: one pass over the file.
"""

from __future__ import annotations

import csv
import os
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import BadPlan, shown
from hushtable.planning.profile import LARGEST, LARGEST_DOMAIN, Array, Profile
from hushtable.release.reading import read_head
from hushtable.release.record import ReleaseFile
from hushtable.release.terms import Terms

_HEADER = {"count", "cells"}
_FORM = "A profile is CSV with the columns count,cells, as in 1,60000: so many cells hold that count."
_FEW = 500  # different counts below a cutoff


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile of a CSV file with the columns count and cells."""
    name = Path(path).name
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, skipinitialspace=True)
            if rows.fieldnames is None or {each.strip() for each in rows.fieldnames} != _HEADER:
                raise BadPlan(f"{name}: its first line is {shown(','.join(rows.fieldnames or ()))}", _FORM)
            rows.fieldnames = [each.strip() for each in rows.fieldnames]
            pairs = [_pair(row, f"{name}, line {rows.line_num}") for row in rows]
    except OSError as error:
        raise BadPlan(f"{path}: it cannot be read: {error.strerror or error}", "Check the path.") from None
    except BadPlan:
        raise
    except (csv.Error, ValueError):  # what is not UTF-8 is a ValueError
        raise BadPlan(f"{name}: it is not CSV in UTF-8", _FORM) from None
    if not pairs:
        raise BadPlan(f"{name}: it has no line below its first", _FORM)
    counts, cells = np.array(pairs).T
    return Profile(counts=counts, cells=cells, words=f"the counts in {name}")


def _pair(row: dict[str | None, str | None], place: str) -> tuple[float, float]:
    """Return the two numbers of a line."""
    if None in row or None in row.values():
        raise BadPlan(f"{place}: it does not have two values", _FORM)
    return (
        _number(row["count"], f"{place}: count", 1, LARGEST, whole=True),
        _number(row["cells"], f"{place}: cells", 0, 1e300, whole=False),
    )


def _number(text: str | None, place: str, least: float, most: float, *, whole: bool) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    if not least <= value <= most or (whole and not value.is_integer()):
        kind = "whole number" if whole else "number"
        raise BadPlan(f"{place} = {shown(text)} is not a {kind} from {least:g} to {most:g}", _FORM)
    return value


def profile_like(path: str | os.PathLike[str]) -> Profile:
    """Return the profile that an older public release shows, noise and all.

    1. A published count above 0 stands for max(1, threshold/count) cells that were sampled from.
    2. As many of them as empty cells are expected to send over the cutoff are taken off, smallest first.
    3. What the noisy total has beyond the rest lies below the cutoff: as much on each count from 1 on.
    """
    release = ReleaseFile(Path(path), read_head(Path(path)))
    if release.domain.cells_total > LARGEST_DOMAIN:
        raise BadPlan(f"{Path(path).name}: its domain has more than 10^300 cells", "Take another release.")
    terms, noisy, people = _table_of_cells(release, Path(path).name)
    total = float(release.domain.cells_total)
    counts = np.sort(noisy[noisy > 0].astype(np.float64))
    cells = np.maximum(1.0, (terms.threshold or 0.0) / counts)
    lowest = max(1, ceil(terms.cutoff or 0))
    noise_rows = total * float(terms.law.floats.tail(np.array([float(lowest)]))[0])
    before = np.cumsum(cells) - cells
    cells = np.clip(before + cells - noise_rows, 0.0, cells)
    words = f"counts as in the older release {Path(path).name}, without those that noise alone explains"
    hidden = people - float((counts * cells).sum())
    if lowest > 1 and hidden >= 1:
        values, extra = _below(lowest, hidden, total - float(cells.sum()))
        counts, cells = np.append(counts, values), np.append(cells, extra)
        words += (
            f"; {hidden:,.0f} more by its noisy total, put below its cutoff "
            f"of {lowest:,}, as much on each count"
        )
    if not cells.sum() > 0:
        fact = f"{Path(path).name}: noise alone explains all its rows"
        raise BadPlan(fact, "Use another release, or state what you expect.")
    return Profile(counts=counts[cells > 0], cells=cells[cells > 0], words=words)


def _table_of_cells(release: ReleaseFile, name: str) -> tuple[Terms, NDArray[np.int64], float]:
    """Return the terms of the cells of a release, their noisy counts, and the noisy total or 0.

    Of several tables, the smallest that is published whole tells the total where none was bought.
    """
    terms, nodes = release.terms, release.terms.nodes
    people = float(terms.total or 0)
    if not terms.parts:
        if nodes.named(release.domain) is not None:
            fact = f"{name}: its rows are nodes of a structure, and a plan is about cells"
            raise BadPlan(fact, "Take a release of cells, or state what you expect.")
        return terms, release.counts, people
    numbers, tables = release.codes[:, 0], range(len(terms.parts))
    whole = [number for number in tables if terms.parts[number].method.complete]
    if whole and terms.total is None:
        smallest = min(whole, key=lambda number: nodes.marginals[number].domain.cells_total)
        people = float(release.counts[numbers == smallest].sum())
    for number in tables:
        if nodes.is_finest(number):
            return terms.part(number), release.counts[numbers == number], people
    fact = f"{name}: none of its tables has all attributes, and a plan is about their cells"
    raise BadPlan(fact, "Take a release with such a table, or state what you expect.")


def _below(cutoff: int, people: float, free: float) -> tuple[Array, Array]:
    """Return counts below a cutoff that hold so many people, as many on each; or in all free cells."""
    steps = np.geomspace(1, cutoff - 1, _FEW) if cutoff > _FEW else np.arange(1.0, cutoff)
    counts = np.unique(np.round(steps))
    cells = people * np.diff(np.append(counts, float(cutoff))) / (cutoff - 1) / counts
    if cells.sum() > free >= 1:
        return np.array([max(people / free, 1.0)]), np.array([min(free, people)])
    return counts, cells
