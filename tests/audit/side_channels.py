"""What a file shows beside its rows: order, size, layout, compression, metadata.

python -m tests.audit side-channels         all ways to publish
python -m tests.audit side-channels tree    those with this word

Two inputs differ in one person, who is alone in ten cells. Each is published so many times, with fresh bits.
Of each file it is asked:

* *The same bytes again.* Its rows and its terms are read, and written anew: the file must come out byte by
  byte. So whatever is in it is a function of what it publishes: nothing else of the input, and nothing of the
  machine, the clock or the way there, can be read off it.
* *A guess.* From sizes and layout alone (bytes of the file, of each column and of the footer, row groups,
  pages, encodings) a linear score is learned on one half of the files, and tested on the other: how often a
  file with the person scores above one without (AUC). Nothing promises 0.5, since the rows themselves may
  differ by e^epsilon; `most` is the largest AUC that this epsilon allows.

Cost: some 50 ms a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import exp, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable as ht
from hushtable.release.record import write_release

DOUBT = 3.3  # deviations that an AUC may lie above what is allowed: once in 2,000 by chance

DOMAIN = ht.Domain(town=ht.integers(0, 999), age=ht.integers(0, 99))
CELLS = 10


@dataclass(frozen=True)
class Way:
    """A way to publish: its words for `ht.publish`."""

    name: str
    words: dict[str, Any]

    @property
    def epsilon(self) -> float:
        """What it promises."""
        return float(self.words["epsilon"])


WAYS = [
    Way("cells by default", {"epsilon": "0.1", "structure": "cells", "size": 300}),
    Way("filter of cells", {"epsilon": "0.1", "structure": "cells", "summary": ht.Filter(cutoff=900)}),
    Way("tables by default", {"epsilon": "0.1", "size": 300}),
    Way("tree", {"epsilon": "0.1", "structure": "tree", "size": 300}),
]


@dataclass(frozen=True)
class Finding:
    """What the files of two inputs show beside their rows."""

    way: Way
    pairs: int
    again: int  # files that came out byte by byte when they were written again
    auc: float
    most: float  # what epsilon allows

    @property
    def error(self) -> float:
        """One deviation of an AUC of the tested half, if nothing can be told."""
        tested = self.pairs - self.pairs // 2
        return sqrt((2 * tested + 1) / (12 * tested**2))

    @property
    def holds(self) -> bool:
        """Whether all files are functions of what they publish, and no guess is better than is allowed."""
        return self.again == 2 * self.pairs and self.auc <= self.most + DOUBT * self.error


def rows(*, with_person: bool) -> pa.Table:
    """People in towns, and one more who is alone in some cells at the end of the order."""
    generator = np.random.default_rng(3)
    number = 2_000
    people = np.arange(number)
    towns, ages = generator.zipf(1.5, number) % 900, generator.integers(0, 90, number)
    if with_person:
        people = np.append(people, [number] * CELLS)
        towns, ages = np.append(towns, [999] * CELLS), np.append(ages, np.arange(CELLS) + 90)
    return pa.table({"person": people, "town": towns, "age": ages})


def features(path: Path) -> dict[str, float]:
    """What is seen of a file without reading a row."""
    found: dict[str, float] = {"bytes": path.stat().st_size}
    with pq.ParquetFile(path) as file:
        said = file.metadata
        found |= {"groups": said.num_row_groups, "footer": said.serialized_size, "rows": said.num_rows}
        found["entries"] = sum(len(key) + len(value) for key, value in (said.metadata or {}).items())
        found["order of entries"] = _number(repr(list(said.metadata or {})))
        for group in range(said.num_row_groups):
            for place in range(said.num_columns):
                column = said.row_group(group).column(place)
                name = f"{group} {column.path_in_schema}"
                found[f"{name} packed"] = column.total_compressed_size
                found[f"{name} bytes"] = column.total_uncompressed_size
                found[f"{name} starts"] = column.data_page_offset
                found[f"{name} layout"] = _number(
                    repr((column.encodings, column.compression, column.physical_type))
                )
    return found


def _number(text: str) -> float:
    return float(int.from_bytes(sha256(text.encode()).digest()[:4]))


def written_again(path: Path, folder: Path) -> bool:
    """Write what a file publishes anew; return whether the bytes are the same."""
    release = ht.open(path)
    other = folder / "again.parquet"
    table = release.to_arrow()
    write_release(
        other,
        release.terms,
        codes=release.codes,
        counts=table["count"].to_numpy(),
        weights=table["weight"].to_numpy(),
        overwrite=True,
    )
    return other.read_bytes() == path.read_bytes()


def most_auc(epsilon: float) -> float:
    """Return the largest AUC that any test between two inputs has under epsilon-differential privacy.

    The chance to be right, at a chance a to be wrong, is at most min(e^epsilon a, 1 - e^-epsilon (1 - a)).
    """
    corner = 1 / (1 + exp(epsilon))
    return corner * exp(epsilon) * corner / 2 + (1 - corner) * (exp(epsilon) * corner + 1) / 2


def auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    """Return how often one score is above another, ties counting half."""
    order = np.sort(below)
    less = np.searchsorted(order, above, side="left") + np.searchsorted(order, above, side="right")
    return float(less.mean() / (2 * below.size))


def guessed(with_person: Sequence[dict[str, float]], without: Sequence[dict[str, float]]) -> float:
    """Return the AUC of a linear score that one half of the files taught, over the other half."""
    names = sorted({name for each in (*with_person, *without) for name in each})
    one, other = (
        np.array([[each.get(name, -1.0) for name in names] for each in files])
        for files in (with_person, without)
    )
    half = len(one) // 2
    every = np.concatenate([one[:half], other[:half]])
    middle, spread = every.mean(axis=0), every.std(axis=0)
    keep = np.flatnonzero(spread > 0)

    def scaled(files: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (files[:, keep] - middle[keep]) / spread[keep]
        return found

    gap = scaled(one[:half]).mean(axis=0) - scaled(other[:half]).mean(axis=0)
    within = np.cov(
        np.concatenate(
            [
                scaled(one[:half]) - scaled(one[:half]).mean(axis=0),
                scaled(other[:half]) - scaled(other[:half]).mean(axis=0),
            ]
        ).T
    )
    weights = np.linalg.solve(np.atleast_2d(within) + np.eye(keep.size), gap) if keep.size else gap
    return auc(scaled(one[half:]) @ weights, scaled(other[half:]) @ weights)


def looked_at(way: Way, pairs: int, *, publish: Callable[..., Any] = ht.publish) -> Finding:
    """Publish both inputs so many times, and look at their files."""
    found: list[list[dict[str, float]]] = [[], []]
    again = 0
    inputs = [rows(with_person=True), rows(with_person=False)]
    unit = ht.Unit("person", max_cells=CELLS)
    with TemporaryDirectory() as place:
        folder, path = Path(place), Path(place) / "x.parquet"
        for _ in range(pairs):
            for number, data in enumerate(inputs):
                publish(
                    data,
                    domain=DOMAIN,
                    unit=unit,
                    ledger=False,
                    output=path,
                    overwrite=True,
                    anyway=True,
                    **way.words,
                )
                found[number].append(features(path))
                again += written_again(path, folder)
    return Finding(way, pairs, again, guessed(*found), most_auc(way.epsilon))


def found(words: Sequence[str] = (), *, pairs: int = 200) -> Iterator[Finding]:
    """Give what the files of each way show."""
    for way in WAYS:
        if all(word in way.name for word in words):
            yield looked_at(way, pairs)
