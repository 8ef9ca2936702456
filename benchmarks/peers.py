r"""Published methods for ranges and boxes: what our trees are measured against.

Each takes the true counts of a line of 2^k cells, or of a square of 2^k by 2^k, and returns an estimate of
every cell, from which questions are added up. They draw floats: for measuring only.

- `identity`, `uniform`: Laplace noise on every cell; on the total alone.
- `privelet`: noise on Haar coefficients (Xiao, Wang, Gehrke 2010).
- `hierarchy`: all nodes of a tree with the best branching, made consistent (HB: Qardaji, Yang, Li 2013).
- `privtree`: a node is split if its count, less an amount for each level, is large (Zhang, Xiao, Xie 2016).
- `uniform_grid`, `adaptive_grid`: one grid, or one with finer grids inside (Qardaji, Yang, Li 2013). Both are
  told the true total, as in DPBench.
- `Dawa`: a partition into stretches of similar counts, then a binary tree over them whose levels share
  epsilon as suits the questions (Li, Hay, Miklau, Wang 2014). Shares are searched for, where the paper takes
  them greedily.

Promise: estimates follow from the definitions in these papers; tests check numbers that they print.
Cost: time follows the cells, times their logarithm; `adaptive_grid` has a loop over its blocks.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, log, prod, sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Method: TypeAlias = Callable[[Array, float, np.random.Generator], Array]

# 1. Orders of the cells of a square.


@lru_cache
def z_order(side: int) -> Places:
    """Return the cells of a square in z-order, as places in its rows one after another."""
    places = np.arange(side * side)
    row, column = np.zeros((2, side * side), dtype=np.int64)
    for bit in range(side.bit_length() - 1):
        column |= (places >> (2 * bit) & 1) << bit
        row |= (places >> (2 * bit + 1) & 1) << bit
    return np.asarray(row * side + column)


@lru_cache
def hilbert_order(side: int) -> Places:
    """Return the cells of a square along Hilbert's curve, as places in its rows one after another."""
    rest = np.arange(side * side)
    row, column = np.zeros((2, side * side), dtype=np.int64)
    width = 1
    while width < side:
        down = (rest >> 1) & 1
        right = (rest ^ down) & 1
        flipped = (right == 0) & (down == 1)
        row, column = np.where(flipped, width - 1 - row, row), np.where(flipped, width - 1 - column, column)
        turned = right == 0
        row, column = np.where(turned, column, row), np.where(turned, row, column)
        row, column = row + width * down, column + width * right
        rest, width = rest >> 2, 2 * width
    return np.asarray(row * side + column)


def _in_line(counts: Array, order: Callable[[int], Places]) -> Array:
    """Return the cells one after another."""
    return counts if counts.ndim == 1 else counts.ravel()[order(len(counts))]


def _placed(line: Array, shape: tuple[int, ...], order: Callable[[int], Places]) -> Array:
    """Return cells that stand one after another in their shape."""
    if len(shape) == 1:
        return line
    found = np.empty(line.size)
    found[order(shape[0])] = line
    return found.reshape(shape)


# 2. Methods that need no structure.


def identity(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """Noise on every cell."""
    return np.asarray(counts + random.laplace(0, 1 / epsilon, counts.shape))


def uniform(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """The noisy total, spread evenly."""
    return np.full(counts.shape, (counts.sum() + random.laplace(0, 1 / epsilon)) / counts.size)


def privelet(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """Noise on the Haar coefficients, of which one cell is in as many as there are levels."""
    noise = random.laplace(0, prod(side.bit_length() for side in counts.shape) / epsilon, counts.shape)
    for axis in range(counts.ndim):
        noise = np.moveaxis(_from_haar(np.moveaxis(noise, axis, 0)), 0, axis)
    return np.asarray(counts + noise)


def _from_haar(coefficients: Array) -> Array:
    """Return cells from their total, and from the left sums less the right ones of all halved ranges."""
    sums, first = coefficients[:1], 1
    while first < len(coefficients):
        apart = coefficients[first : 2 * first]
        sums = np.stack([(sums + apart) / 2, (sums - apart) / 2], axis=1).reshape(2 * first, *sums.shape[1:])
        first *= 2
    return sums


# 3. Trees.


def best_branching(side: int) -> int:
    """Return the branching with the least error over all ranges, of those that divide the bits evenly."""
    bits = side.bit_length() - 1

    def error(step: int) -> float:
        height, branching = bits // step, 2.0**step
        return (branching - 1) * height**3 - 2 * (branching + 1) * height**2 / 3

    return int(2 ** min((step for step in range(1, bits + 1) if bits % step == 0), key=error))


def hierarchy(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """All nodes below the root, with equal shares of epsilon, made consistent."""
    branching, height = best_branching(len(counts)), 0
    while branching**height < len(counts):
        height += 1
    line = _in_line(counts, z_order)
    levels, precisions = [line.sum(keepdims=True)], [0.0]
    for level in range(1, height + 1):
        sums = line.reshape(branching ** (counts.ndim * level), -1).sum(axis=1)
        levels.append(sums + random.laplace(0, height / epsilon, sums.size))
        precisions.append(1.0)
    return _placed(consistent(levels, precisions), counts.shape, z_order)


def consistent(levels: Sequence[Array], precisions: Sequence[float]) -> Array:
    """Return the leaves of the tree that is nearest to the values of its levels, by least squares."""
    best, precision = [levels[-1]], precisions[-1]
    for own, trust in zip(levels[-2::-1], precisions[-2::-1], strict=True):
        width = best[0].size // own.size
        told = precision / width
        best.insert(0, (trust * own + told * _sums(best[0], own.size)) / (trust + told))
        precision = trust + told
    found = best[0]
    for each in best[1:]:
        width = each.size // found.size
        found = each + np.repeat((found - _sums(each, found.size)) / width, width)
    return found


def _sums(values: Array, number: int) -> Array:
    return np.asarray(values.reshape(number, -1).sum(axis=1))


def privtree(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """Split nodes whose count, less an amount for each level, is above 0 with noise; count the leaves."""
    fanout, half = 2**counts.ndim, epsilon / 2
    scale = (2 * fanout - 1) / (fanout - 1) / half
    decay = scale * log(fanout)
    line = _in_line(counts, z_order)
    found, nodes, width, depth = np.zeros(line.size), np.zeros(1, dtype=np.int64), line.size, 0
    while nodes.size:
        sums = _sums(line, line.size // width)[nodes]
        biased = np.maximum(sums - decay * depth, -decay)
        split = (biased + random.laplace(0, scale, nodes.size) > 0) & (width > 1)
        leaves = nodes[~split]
        values = (sums[~split] + random.laplace(0, 1 / half, leaves.size)) / width
        found.reshape(-1, width)[leaves] = values[:, np.newaxis]
        if not split.any():
            break
        nodes = (nodes[split][:, np.newaxis] * fanout + np.arange(fanout)).ravel()
        width, depth = width // fanout, depth + 1
    return _placed(found, counts.shape, z_order)


# 4. Grids.


def grid_side(total: float, epsilon: float) -> int:
    """Return how many blocks a uniform grid has along each side."""
    return max(ceil(sqrt(max(total, 0.0) * epsilon / 10)), 1)


def uniform_grid(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """Noise on the blocks of one grid."""
    edges = _edges(len(counts), grid_side(counts.sum(), epsilon))
    blocks = np.add.reduceat(np.add.reduceat(counts, edges[:-1], axis=0), edges[:-1], axis=1)
    return _spread(blocks + random.laplace(0, 1 / epsilon, blocks.shape), edges, edges)


def adaptive_grid(counts: Array, epsilon: float, random: np.random.Generator) -> Array:
    """Half of epsilon for a coarse grid; half for a grid within each block, as fine as its count tells."""
    edges = _edges(len(counts), max(10, ceil(sqrt(counts.sum() * epsilon / 10) / 4)))
    found = np.empty(counts.shape)
    for top, bottom in pairwise(edges):
        for left, right in pairwise(edges):
            block = counts[top:bottom, left:right]
            noisy = block.sum() + random.laplace(0, 2 / epsilon)
            finer = max(ceil(sqrt(max(noisy, 0.0) * epsilon / 2 / 5)), 1)
            rows, columns = _edges(bottom - top, finer), _edges(right - left, finer)
            inner = np.add.reduceat(np.add.reduceat(block, rows[:-1], axis=0), columns[:-1], axis=1)
            inner += random.laplace(0, 2 / epsilon, inner.shape)
            # Both say the same of the block: the inner blocks together with the noise of them all.
            together = (noisy * inner.size + inner.sum()) / (inner.size + 1)
            inner += (together - inner.sum()) / inner.size
            found[top:bottom, left:right] = _spread(inner, rows, columns)
    return found


def _edges(cells: int, parts: int) -> Places:
    """Return where parts of a whole number of cells begin, and where the last one ends."""
    width = max(ceil(cells / parts), 1)
    return np.append(np.arange(0, cells, width), cells)


def _spread(blocks: Array, rows: Places, columns: Places) -> Array:
    """Return the cells of blocks."""
    heights, widths = np.diff(rows), np.diff(columns)
    found: Array = np.repeat(np.repeat(blocks / np.outer(heights, widths), heights, axis=0), widths, axis=1)
    return found


# 5. Stretches of similar counts.


class Dawa:
    """Estimates for given questions: each a set of cells, of the shape of the counts."""

    ratio = 0.25  # of epsilon, for the partition

    def __init__(self, counts: Array, questions: NDArray[np.bool_]) -> None:
        self._shape = counts.shape
        self._line = _in_line(counts, hilbert_order)
        before = [np.append(0, np.cumsum(_in_line(each, hilbert_order))) for each in questions]
        self._asked = np.array(before, dtype=np.float64)
        self._deviations = deviations(self._line)

    def releases(self, epsilon: float, random: np.random.Generator, *, number: int) -> list[Array]:
        """Return the estimates of some releases."""
        first, second = self.ratio * epsilon, (1 - self.ratio) * epsilon
        costs = noisy_costs(self._deviations, first, second, random, number=number)
        return [self._released(edges, second, random) for edges in partitions(costs)]

    def _released(self, edges: Places, epsilon: float, random: np.random.Generator) -> Array:
        widths = np.diff(edges)
        size = 1 << int(widths.size - 1).bit_length()
        sums, asked = np.zeros(size), np.zeros((len(self._asked), size))
        sums[: widths.size] = np.add.reduceat(self._line, edges[:-1])
        asked[:, : widths.size] = np.diff(self._asked[:, edges], axis=1) / widths
        shares = level_shares(asked)
        levels = [_sums(sums, 1 << level) for level in range(shares.size)]
        noisy = [
            each + random.laplace(0, 1 / (epsilon * max(share, 1e-9)), each.size)
            for each, share in zip(levels, shares, strict=True)
        ]
        found = consistent(noisy, (shares**2).tolist())[: widths.size]
        return _placed(np.repeat(found / widths, widths), self._shape, hilbert_order)


def deviations(line: Array) -> list[Array]:
    """Return sum |count - mean| over all stretches of 1, 2, 4 ... cells, by where they start."""
    sums, ranks, found = np.append(0.0, np.cumsum(line)), _Ranks(line), []
    for bits in range(line.size.bit_length()):
        width = 1 << bits
        means = (sums[width:] - sums[:-width]) / width
        starts = np.arange(means.size)
        number, below = ranks.below(starts, starts + width, means)
        found.append(np.asarray(2 * (means * number - below)))
    return found


class _Ranks:
    """How many values of a stretch are below some number, and their sum: a wavelet matrix."""

    def __init__(self, line: Array) -> None:
        self._values, ranks = np.unique(line, return_inverse=True)
        self._levels: list[tuple[int, Places, Array]] = []
        values = line
        for bit in reversed(range(int(self._values.size).bit_length())):
            zero = (ranks >> bit & 1) == 0
            numbers = np.append(0, np.cumsum(zero))
            self._levels.append((bit, numbers, np.append(0.0, np.cumsum(np.where(zero, values, 0.0)))))
            order = np.argsort(~zero, kind="stable")
            ranks, values = ranks[order], values[order]

    def below(self, starts: Places, stops: Places, limits: Array) -> tuple[Places, Array]:
        """Return the number and the sum of the values below each limit."""
        rank = np.searchsorted(self._values, limits)
        number, total = np.zeros(starts.size, dtype=np.int64), np.zeros(starts.size)
        for bit, numbers, sums in self._levels:
            first, last = numbers[starts], numbers[stops]
            one = (rank >> bit & 1) == 1
            number += np.where(one, last - first, 0)
            total += np.where(one, sums[stops] - sums[starts], 0.0)
            starts = np.where(one, numbers[-1] + starts - first, first)
            stops = np.where(one, numbers[-1] + stops - last, last)
        return number, total


def noisy_costs(
    apart: list[Array], first: float, second: float, random: np.random.Generator, *, number: int
) -> list[Array]:
    """Return what stretches cost in some releases: their deviation with noise, and the noise of one count."""
    cells, found = apart[0].size, []
    for bits, exact in enumerate(apart):
        scale = (2 - 2.0**-bits - 1 / cells) / first if bits else 0.0
        noise = random.laplace(0, scale, (number, exact.size)) if bits else np.zeros((number, exact.size))
        found.append(np.maximum(exact + noise, 0.0) + 1 / second)
    return found


def partitions(costs: list[Array]) -> list[Places]:
    """Return the cheapest partition into stretches for each release: where they begin, and the end."""
    number, cells = costs[0].shape
    table = np.full((cells + 1, len(costs), number), np.inf)  # by where stretches end
    for bits, each in enumerate(costs):
        table[1 << bits :, bits] = each.T
    widths = 1 << np.arange(len(costs))
    least, chosen = np.zeros((cells + 1, number)), np.zeros((cells + 1, number), dtype=np.int64)
    releases = np.arange(number)
    for end in range(1, cells + 1):
        some = end.bit_length()
        found = least[end - widths[:some]] + table[end, :some]
        chosen[end] = best = found.argmin(axis=0)
        least[end] = found[best, releases]
    result = []
    for release in range(number):
        edges, end = [cells], cells
        while end:
            end -= 1 << int(chosen[end, release])
            edges.append(end)
        result.append(np.array(edges[::-1]))
    return result


def level_shares(asked: Array) -> Array:
    r"""Return how the levels of a binary tree should share epsilon for questions over its leaves, root first.

    With shares w_u on levels of nodes of 2^u leaves, least squares have a variance in proportion to
    sum over t of E_t / sum over u < t of w_u^2 2^u, where E_t is the energy of the questions in Haar wavelets
    over 2^t leaves (Li, Hay, Rastogi, Miklau, McGregor 2010: the strategy is diagonal in them).
    """
    height = asked.shape[1].bit_length() - 1
    energies, sums = np.zeros(height + 1), asked
    for bits in range(1, height + 1):
        apart = sums[:, ::2] - sums[:, 1::2]
        energies[bits - 1] = (apart**2).sum() / 2**bits
        sums = sums[:, ::2] + sums[:, 1::2]
    energies[height] = (sums**2).sum() / 2**height
    leaves = 2.0 ** np.arange(height + 1)
    turn = np.zeros(height + 1)

    def shares() -> Array:
        powers = np.exp(turn - turn.max())
        return np.asarray(powers / powers.sum())

    for step in range(400):
        now = shares()
        known = np.cumsum(now**2 * leaves)
        each = energies / known**2
        loss = float((energies / known).sum())
        # By how much the logarithm of the error falls with each share, shares adding up to 1.
        falls = 2 * now**2 * leaves * np.cumsum(each[::-1])[::-1] / max(loss, 1e-300)
        turn += (2.0 / (1 + step / 50)) * (falls - 2 * now)
    return shares()[::-1]
