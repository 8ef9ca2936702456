r"""Several whole tables of one population, fitted together: least squares in closed form.

An attribute has a chain of levels: none (everybody together), then coarse ones, down to its finest in use. A
table holds some attributes, each at a *depth* of its chain. What a table says of the population splits into
components: at each depth, how the values of one coarser value differ from their mean. A component has a depth
for each attribute, and a table knows those that are nowhere deeper than itself. Several tables know the same
component; each is weighed by 1 / (its variance times the cells that it adds up).

    table                     components it knows
    (town)                    (), (town)
    (town, month)             (), (town), (month), (town, month)
    (town, day)               all of these, and (day), (town, day)

Promise: fitted tables agree: the rows of one add up to those of another. Answers are right on average, and
their variances are exact, whatever the sizes. Where the values of a level hold equally many finer ones, as
attributes without levels do, no linear unbiased answer has a smaller variance (ResidualPlanner: Xiao, He,
Zhang, Kifer 2023); months of 28 to 31 days come within a few thousandths of it.
Cost: a few passes over the cells of each table for each of its components, 2^k of a table of k attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Depths: TypeAlias = tuple[tuple[int, int], ...]  # attributes, ascending, each with its depth, from 1 on
Parents: TypeAlias = NDArray[np.intp]
MOST_FITTED = 12  # attributes of a table: it has 2^k components


@dataclass(frozen=True, eq=False)
class LevelChain:
    """The levels of one attribute: how many values each has, from a single one on, and who lies in whom.

    `parents[d]` has the code at depth d for each code at depth d + 1.
    """

    sizes: tuple[int, ...]
    parents: tuple[Parents, ...]

    @classmethod
    def alone(cls, size: int) -> LevelChain:
        """Return the chain of an attribute without levels."""
        return cls((1, size), (np.zeros(size, dtype=np.intp),))

    @cached_property
    def _sorted(self) -> tuple[tuple[Parents | None, Parents], ...]:
        """How to sort the codes of each depth by parent, None where they are; where each parent starts."""
        found = []
        for parents in self.parents:
            order = None if (np.diff(parents) >= 0).all() else np.argsort(parents, kind="stable")
            ascending = parents if order is None else parents[order]
            found.append((order, np.flatnonzero(np.diff(ascending, prepend=-1))))
        return tuple(found)

    @cached_property
    def children(self) -> tuple[Array, ...]:
        """For each depth but the last, how many values the next one has in each of its values."""
        return tuple(np.bincount(each).astype(np.float64) for each in self.parents)

    def ancestors(self, depth: int, coarser: int) -> Parents:
        """Return the code at a coarser depth of each code at `depth`."""
        codes = np.arange(self.sizes[depth])
        for each in range(depth - 1, coarser - 1, -1):
            codes = self.parents[each][codes]
        return codes

    def added(self, values: Array, axis: int, depth: int) -> Array:
        """Return sums at the depth above `depth`, along an axis."""
        order, starts = self._sorted[depth - 1]
        values = values if order is None else values.take(order, axis=axis)
        return np.add.reduceat(values, starts, axis=axis)

    def shared(self, values: Array, axis: int, depth: int) -> Array:
        """Return values at the depth above `depth`, each shared equally by those within it, along an axis."""
        each = values / self._along(axis, values.ndim, depth)
        return each.take(self.parents[depth - 1], axis=axis)

    def averaged(self, values: Array, axis: int, depth: int) -> Array:
        """Return means at the depth above `depth`, along an axis."""
        return self.added(values, axis, depth) / self._along(axis, values.ndim, depth)

    def centered(self, values: Array, axis: int, depth: int) -> Array:
        """Return what values differ by from the mean of those with the same parent, along an axis."""
        return values - self.averaged(values, axis, depth).take(self.parents[depth - 1], axis=axis)

    def parts(self, weights: Array, depth: int) -> Array:
        """Return by how much the components of each depth count in variances of sums, on average.

        A row of weights on the values at `depth` is one sum.
        """
        found = []
        for each in range(depth, 0, -1):
            found.append(float((self.centered(weights, 1, each) ** 2).sum(axis=1).mean()))
            weights = self.averaged(weights, 1, each)
        found.append(float((weights**2).mean()))
        return np.array(found[::-1])

    def _along(self, axis: int, axes: int, depth: int) -> Array:
        """Return how many values lie in each one above `depth`, along one of several axes."""
        along = [1] * axes
        along[axis] = -1
        return self.children[depth - 1].reshape(along)


class TableLattice:
    """Tables over chains of levels, each with the variance of the noise in its cells; nothing is read."""

    def __init__(
        self, chains: Mapping[int, LevelChain], tables: Sequence[Depths], variances: Sequence[float]
    ) -> None:
        self.chains = chains
        self.tables = list(tables)
        self.variances = np.array(variances, dtype=np.float64)
        self._shares: dict[Depths, list[tuple[int, float]]] = {}
        for number, (table, variance) in enumerate(zip(tables, variances, strict=True)):
            for component in components(table):
                precision = 1 / (variance * self.merged(table, component))
                self._shares.setdefault(component, []).append((number, precision))

    def merged(self, table: Depths, component: Depths) -> float:
        """Return how many cells of a table are added up for a value of a component, on average."""
        coarse = dict(component)
        sizes = ((self.chains[place].sizes, depth, coarse.get(place, 0)) for place, depth in table)
        return prod(each[depth] / each[to] for each, depth, to in sizes)

    def knows(self, table: Depths) -> bool:
        """Return whether a table, or one finer than it, is among the tables: then all of it is known."""
        return table in self._shares

    def share(self, number: int, component: Depths) -> float:
        """Return the weight of one table in a component that it knows."""
        known = self._shares[component]
        return dict(known)[number] / sum(each for _, each in known)

    def variance(self, component: Depths) -> float:
        """Return the variance of a component that is known."""
        return 1 / sum(each for _, each in self._shares[component])

    def mean_variance(self, table: Depths) -> float:
        """Return the variance of a cell of a fitted table, on average over its cells."""
        return sum(self.variance(each) * self.part(table, each) for each in components(table))

    def part(self, table: Depths, component: Depths) -> float:
        """Return by how much the variance of a component counts in that of a cell of a table, on average."""
        coarse = dict(component)
        return prod(self.part_along(place, depth, coarse.get(place, 0)) for place, depth in table)

    def part_along(self, place: int, depth: int, to: int) -> float:
        """Return the factor of one attribute in that."""
        sizes = self.chains[place].sizes
        return (sizes[to] / sizes[depth]) ** 2 * (1 - sizes[to - 1] / sizes[to] if to else 1.0)

    def fitted(self, values: Sequence[Array]) -> FittedTables:
        """Return the tables, fitted to one another; each has an axis for each attribute."""
        found: dict[Depths, Array] = {}
        for number, table in enumerate(self.tables):
            for component, array in self._analysed(table, np.asarray(values[number], dtype=np.float64)):
                found[component] = found.get(component, 0.0) + self.share(number, component) * array
        return FittedTables(self, found)

    def joined(self, tables: Mapping[Depths, Array]) -> FittedTables:
        """Return tables that agree already, as components."""
        found: dict[Depths, Array] = {}
        for table, values in tables.items():
            found.update(self._analysed(table, values))
        return FittedTables(self, found)

    def _analysed(self, table: Depths, values: Array) -> Iterator[tuple[Depths, Array]]:
        """Yield the components of a table; an axis is gone where a component does not have the attribute."""
        if not table:
            yield (), values
            return
        *first, (place, depth) = table
        chain, axis = self.chains[place], len(table) - 1
        for each in range(depth, 0, -1):
            for component, array in self._analysed(tuple(first), chain.centered(values, axis, each)):
                yield (*component, (place, each)), array
            values = chain.added(values, axis, each)
        yield from self._analysed(tuple(first), np.asarray(values.take(0, axis=axis)))

    def spread(self, table: Depths, asked: Sequence[Asked]) -> Array:
        """Return the variances of answers from a fitted table, with an axis for each attribute of it.

        `asked` says for each attribute what is added up. Every answer adds up cells of the fitted table; so
        it is a sum over the cells of each published table, and its variance one over their squares.
        """
        total = np.zeros([each.answers for each in asked])
        for number, own in enumerate(self.tables):
            depths = dict(own)
            common = [min(depth, depths.get(place, 0)) for place, depth in table]
            grams = [
                each.gram(self.chains[place], depth, depths.get(place, 0))
                for (place, depth), each in zip(table, asked, strict=True)
            ]
            outside = prod(
                self.chains[place].sizes[depth] for place, depth in own if place not in dict(table)
            )
            found = list(product(*(range(each + 1) for each in common)))
            shares = {
                each: self.share(
                    number, tuple((place, to) for (place, _), to in zip(table, each, strict=True) if to)
                )
                for each in found
            }
            for one, two in product(found, found):
                factors = [gram[:, i, j] for gram, i, j in zip(grams, one, two, strict=True)]
                if all(each.any() for each in factors):
                    weight = self.variances[number] * outside * shares[one] * shares[two]
                    total += weight * _outer(factors)
        return np.maximum(total, 0.0)


class Asked:
    """What is added up along one attribute: one set of weights for each answer.

    Either `codes`, each an answer of its own, or `weights` with a row for each answer.
    """

    def __init__(
        self, *, codes: NDArray[np.integer] | None = None, weights: NDArray[np.floating] | None = None
    ) -> None:
        self.codes = codes
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    @property
    def answers(self) -> int:
        """How many answers there are."""
        found = self.codes if self.codes is not None else self.weights
        assert found is not None
        return len(found)

    def added(self, values: Array, axis: int) -> Array:
        """Return the sums along an axis."""
        if self.codes is not None:
            return values.take(self.codes, axis=axis)
        return np.moveaxis(np.tensordot(values, self.weights, axes=([axis], [1])), -1, axis)  # type: ignore[arg-type]

    def gram(self, chain: LevelChain, depth: int, own: int) -> Array:
        """Return products of what answers weigh at each two depths, in cells of a table at depth `own`.

        Of shape (answers, depths, depths), from depth 0 to what both have. Weights on values at `depth` are
        averaged down to each depth, centered there, and then hold for all cells below.
        """
        common = min(depth, own)
        if self.codes is not None:
            return _gram_of_codes(chain, self.codes, depth, own)
        weights = self.weights
        assert weights is not None
        parts: list[Array] = []
        for each in range(depth, 0, -1):
            if each <= common:
                parts.append(chain.centered(weights, 1, each))
            weights = chain.averaged(weights, 1, each)
        parts.append(weights)
        parts.reverse()
        lifted = [part.take(chain.ancestors(own, to), axis=1) for to, part in enumerate(parts)]
        gram = np.empty((self.answers, common + 1, common + 1))
        for one, two in product(range(common + 1), repeat=2):
            gram[:, one, two] = np.einsum("ij,ij->i", lifted[one], lifted[two])
        return np.where(np.abs(gram) < 1e-12 * np.max(np.abs(gram), initial=0.0), 0.0, gram)


def _gram_of_codes(chain: LevelChain, codes: NDArray[np.integer], depth: int, own: int) -> Array:
    """Return the products for single codes, of which few numbers tell all.

    At each depth the weights are `height` on the code's ancestor there, spread below; centered, the ancestor
    has height (1 - 1/siblings) and its siblings -height/siblings each. `below` is how many cells of the table
    a code has.
    """
    common = min(depth, own)
    gram = np.zeros((len(codes), common + 1, common + 1))
    height = np.ones(len(codes))
    heights: dict[int, Array] = {}
    ancestors: dict[int, Parents] = {}
    place = np.asarray(codes, dtype=np.intp)
    for each in range(depth, -1, -1):
        ancestors[each], heights[each] = place, height
        if each:
            place = chain.parents[each - 1][place]
            height = height / chain.children[each - 1][place]
    top: dict[int, Array] = {}  # the value at the code's own ancestor
    for one in range(common + 1):
        below = np.bincount(chain.ancestors(own, one), minlength=chain.sizes[one]).astype(np.float64)
        mine = below[ancestors[one]]
        if one == 0:
            gram[:, 0, 0], top[0] = heights[0] ** 2 * mine, heights[0]
            continue
        siblings = chain.children[one - 1][ancestors[one - 1]]
        all_of_them = np.bincount(chain.parents[one - 1], weights=below, minlength=chain.sizes[one - 1])[
            ancestors[one - 1]
        ]
        top[one] = heights[one] * (1 - 1 / siblings)
        gram[:, one, one] = heights[one] ** 2 * (mine * (1 - 2 / siblings) + all_of_them / siblings**2)
        across = heights[one] * (mine - all_of_them / siblings)
        across[np.abs(across) < 1e-12 * heights[one] * all_of_them] = 0.0  # where sizes are equal
        for two in range(one):
            gram[:, one, two] = gram[:, two, one] = across * top[two]
    return gram


class FittedTables:
    """Components of the population, from which any known table is put together."""

    def __init__(self, lattice: TableLattice, found: Mapping[Depths, Array]) -> None:
        self.lattice = lattice
        self._found = found

    def table(self, table: Depths) -> Array:
        """Return a fitted table. Components that no table knows are taken to be nothing."""
        return self._built(table, ())

    def _built(self, left: Depths, chosen: Depths) -> Array:
        if not left:
            return self._found.get(chosen, np.zeros([self._size(each) for each in chosen]))
        *first, (place, depth) = left
        chain, rest = self.lattice.chains[place], tuple(first)
        # The last attribute first: axes of those that are chosen already stand behind it.
        axis = len(rest)
        values = np.expand_dims(self._built(rest, chosen), axis)
        for each in range(1, depth + 1):
            own = self._built(rest, ((place, each), *chosen))
            values = chain.shared(values, axis, each) + own
        return values

    def _size(self, each: tuple[int, int]) -> int:
        place, depth = each
        return self.lattice.chains[place].sizes[depth]


def components(table: Depths) -> Iterable[Depths]:
    """Yield the components that a table knows."""
    for depths in product(*(range(depth + 1) for _, depth in table)):
        yield tuple((place, depth) for (place, _), depth in zip(table, depths, strict=True) if depth)


def _outer(factors: Sequence[Array]) -> Array:
    """Return products of one entry of each."""
    found = np.ones(())
    for each in factors:
        found = np.multiply.outer(found, each)
    return found
