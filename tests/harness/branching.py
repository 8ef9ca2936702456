"""Every outcome of the drawing code, each with its exact chance.

`law_of` runs a function again and again, each time with another outcome of some draw, until all were taken.
`injected` puts this in the place of `hushtable.noise` under the drawing code, which is otherwise left as it
is: what is drawn, in which order, and what is made of it is the product's own.

The laws are those of the product with 2 in the place of e: a rate of r has the base a = 2^-r, a fraction for
every whole r, and the guarantee reads "at most 2^epsilon". They are written here from their definitions, with
nothing of `laws`; chances to pass are the product's own formulas, in fractions.

What has no end is lumped, exactly:

* Noisy counts saturate at `most` instead of 2^61, by the product's own saturation. All noise that ends there
  is one outcome.
* Priorities are drawn as the part of their range that they fall into, and their order within it. Parts end
  where a range does, and where the threshold is rounded to another number. Thresholds are rounded up to a
  power of 2 instead of to 40 bits.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations
from math import comb, factorial
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from hushtable.domain.keys import Keys
from hushtable.laws import acceptance
from hushtable.laws.acceptance import Acceptance, Band
from hushtable.laws.geometric import Geometric
from hushtable.laws.integers import TwoSidedGeometric
from hushtable.laws.law import ExactView, NoiseLaw
from hushtable.laws.powers import Number, RationalPowers
from hushtable.methods import tuning
from hushtable.methods.tuning import rounded_up
from hushtable.noise import BitSource
from hushtable.summaries import (
    candidates,
    finishing,
    flat,
    hierarchies,
    largest,
    priorities,
    pruned,
    rooted,
    thinning,
)

Law = dict[Hashable, Fraction]
T = TypeVar("T")
Outcomes = Sequence[tuple[T, Fraction]]

HIGHEST_TAU = 2  # thresholds above it are one outcome; see `lumped`


class _Taken(NamedTuple):
    """Which outcome of a draw is taken, of how many, and the chance of all up to it, and before it."""

    outcome: int
    of: int
    chance: Fraction
    before: Fraction


class Branching:
    """Takes one outcome of each draw: those of `_path` first, then the first one of whatever is asked."""

    secure = False

    def __init__(self, most: int, positions: Callable[[Fraction], Fraction] = lambda x: x) -> None:
        self.most = most
        self._thread = threading.get_ident()
        self._path: list[_Taken] = []
        self._depth = 0
        self._words: list[int] = []
        self._positions = positions
        self.counts: list[int] = []  # to which the next noise is added

    def choose(self, outcomes: Outcomes[T]) -> T:
        """Take an outcome."""
        assert threading.get_ident() == self._thread, "threads draw in no order"
        if self._depth == len(self._path):
            self._path.append(_Taken(0, len(outcomes), self.chance * outcomes[0][1], self.chance))
        taken = self._path[self._depth]
        assert taken.of == len(outcomes), "the code did something else after the same draws"
        self._depth += 1
        if self._depth == len(self._path):
            self._path[-1] = taken._replace(chance=taken.before * outcomes[taken.outcome][1])
        return outcomes[taken.outcome][0]

    @property
    def chance(self) -> Fraction:
        """The chance of all outcomes that were taken."""
        return self._path[-1].chance if self._path else Fraction(1)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return words that decide as was chosen; nobody else may ask for bits."""
        assert len(self._words) == count, "bits were drawn by something that is not injected"
        words, self._words = self._words, []
        return np.array(words, dtype=np.uint64)

    def next(self) -> bool:
        """Go on to the next outcome; False after the last."""
        assert not self._words
        self._depth = 0
        while self._path and self._path[-1].outcome == self._path[-1].of - 1:
            self._path.pop()
        if not self._path:
            return False
        last = self._path.pop()
        self._path.append(last._replace(outcome=last.outcome + 1))
        return True

    def place(self, spans: Sequence[tuple[Fraction, Fraction]], edges: Sequence[Fraction]) -> None:
        """Choose where uniform numbers lie in their spans, and keep the words that say so."""
        members: dict[tuple[Fraction, Fraction], list[int]] = {}
        for item, outcomes in enumerate(_parts(tuple(spans), tuple(edges))):
            members.setdefault(self.choose(outcomes), []).append(item)
        words = [0] * len(spans)
        for (start, end), items in members.items():
            for rank, item in enumerate(self.choose(_orders(tuple(items)))):
                value = start + (end - start) * self._positions(Fraction(rank + 1, len(items) + 1))
                low, high = spans[item]
                words[item] = int((value - low) / (high - low) * (1 << 64))
        self._words = words


def law_of(run: Callable[[Branching], Hashable], *, most: int, **options: Any) -> tuple[Law, int]:
    """Return the law of what `run` returns, under `injected`, and how many outcomes were walked through."""
    source, walked = Branching(most, **options), 0
    law: Counter[Hashable] = Counter()
    with injected(most):
        while True:
            found = run(source)
            law[found] += source.chance  # type: ignore[assignment]
            walked += 1
            if not source.next():
                break
    assert sum(law.values()) == 1, "some outcome is missing"
    return dict(law), walked  # type: ignore[arg-type]


def lumped(threshold: float | None) -> float | str | None:
    """Return a published threshold as far as `Branching.place` tells it."""
    if threshold is None or threshold <= HIGHEST_TAU:
        return threshold
    return f"above {HIGHEST_TAU}"


@cache
def _parts(
    spans: tuple[tuple[Fraction, Fraction], ...], edges: tuple[Fraction, ...]
) -> list[list[tuple[tuple[Fraction, Fraction], Fraction]]]:
    """For each span, the parts between neighbouring ends of spans and edges that it is made of."""
    parts = list(pairwise(sorted({*edges, *(end for span in spans for end in span)})))
    return [
        [((start, end), (end - start) / (high - low)) for start, end in parts if low <= start < end <= high]
        for low, high in spans
    ]


@cache
def _orders(items: tuple[int, ...]) -> list[tuple[tuple[int, ...], Fraction]]:
    return [(order, Fraction(1, factorial(len(items)))) for order in permutations(items)]


@contextmanager
def injected(most: int) -> Iterator[None]:
    """Let all draws of the drawing code be choices of a `Branching`, and noisy counts saturate at `most`."""
    own_noisy, own_bounds = candidates.noisy, priorities.drawn_bounds

    def noisy(counts: NDArray[np.int64], law: NoiseLaw, entropy: BitSource) -> NDArray[np.int64]:
        _of(entropy).counts = counts.tolist()
        return own_noisy(counts, law, entropy)

    def drawn_bounds(
        counts: NDArray[np.int64], bands: NDArray[np.int8], rules: Sequence[Acceptance], entropy: BitSource
    ) -> priorities.Bounds:
        # The ranges are the code's own, right or wrong: what is found is the law of what it does.
        reference, ranges = priorities._ranges(rules)
        magnitudes = np.abs(counts).tolist()
        spans = [
            (ranges[band].low, ranges[band].high(magnitude, reference))
            for magnitude, band in zip(magnitudes, bands.tolist(), strict=True)
        ]
        taus = [1 << power for power in range(HIGHEST_TAU.bit_length())]
        _of(entropy).place(spans, [reference / tau for tau in taus])
        return own_bounds(counts, bands, rules, entropy)

    with ExitStack() as stack:

        def put(module: Any, **names: Any) -> None:
            for name, thing in names.items():
                stack.enter_context(patch.object(module, name, thing))

        widens = cache(acceptance.widens)  # kept, as are other functions of public numbers: only to be quick
        put(acceptance, LARGEST_NOISY=most, widens=widens)
        put(candidates, LARGEST_NOISY=most, noisy=noisy)
        put(rooted, noisy=noisy)
        put(pruned, noisy=noisy)
        put(hierarchies, noisy=noisy, at_law=_at_law, binomial=_binomial)
        put(candidates, cell_noise=_cell_noise, accepted_noise=_accepted_noise)
        put(candidates, bernoulli=_bernoulli, kept=_kept, empty_cells=_empty_cells)
        put(flat, at_law=_at_law, nearest_float=float, binomial=_binomial, empty_cells=_empty_cells)
        put(flat, widens=widens, _expected=cache(flat._expected))
        put(largest, uniform_subset=_uniform_subset, bernoulli=_bernoulli)
        put(priorities, drawn_bounds=drawn_bounds, rounded_up=lambda tau: rounded_up(tau, bits=1))
        put(finishing, drawn_bounds=drawn_bounds)
        put(thinning, bernoulli=_bernoulli, kept=_kept)
        kept_for_later = (tuning.threshold_for, accepted_counts, _pass_probability)  # which know of `most`
        for each in kept_for_later:
            each.cache_clear()
        yield
        for each in kept_for_later:
            each.cache_clear()


def _of(entropy: BitSource) -> Branching:
    assert isinstance(entropy, Branching)
    return entropy


def base(rate: Fraction) -> Fraction:
    """Return 2^-rate."""
    assert rate.denominator == 1, "choose epsilon so that all rates are whole"
    return Fraction(1, 1 << rate.numerator)


def mass(rate: Fraction, x: int) -> Fraction:
    """Return the chance that noise is x."""
    a = base(rate)
    return (1 - a) / (1 + a) * a ** abs(x)


def tail(rate: Fraction, x: int) -> Fraction:
    """Return the chance that noise is x or more."""
    a = base(rate)
    return a**x / (1 + a) if x > 0 else 1 - a ** (1 - x) / (1 + a)


@cache
def noisy_counts(rate: Fraction, count: int, most: int) -> list[tuple[int, Fraction]]:
    """The noise of a cell for every noisy count from -most to most, saturated there."""
    inner = [(value - count, mass(rate, value - count)) for value in range(1 - most, most)]
    return [(-most - count, tail(rate, most + count)), *inner, (most - count, tail(rate, most - count))]


def _cell_noise(law: NoiseLaw, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
    source = _of(entropy)
    assert len(source.counts) == count
    assert all(abs(each) <= source.most for each in source.counts), "as the product's counts are"
    drawn = [source.choose(noisy_counts(_rate(law), each, source.most)) for each in source.counts]
    return np.array(drawn, dtype=np.int64)


@cache
def accepted_counts(rule: Acceptance | Band, rate: Fraction, most: int) -> list[tuple[int, Fraction]]:
    """The noise of an empty cell that a rule accepted, saturated at `most`."""
    # A rule sees noisy counts as they are published: whatever lies beyond `most` counts as `most`.
    values = range(-most, most + 1)
    weights = {v: rule.chance(v) * (mass(rate, v) if abs(v) < most else tail(rate, most)) for v in values}
    total = sum(weights.values())
    return [(v, weight / total) for v, weight in weights.items() if weight]


def _accepted_noise(
    rule: Acceptance | Band, law: NoiseLaw, entropy: BitSource, *, count: int
) -> NDArray[np.int64]:
    source = _of(entropy)
    outcomes = accepted_counts(rule, _rate(law), source.most)
    return np.array([source.choose(outcomes) for _ in range(count)], dtype=np.int64)


def _at_law(formula: Callable[[ExactView], Number], law: NoiseLaw) -> Fraction:
    rule = getattr(formula, "__self__", None)
    if isinstance(rule, Acceptance | Band) and formula == rule.pass_probability:
        return _pass_probability(rule, _rate(law))
    return Fraction(formula(_view(_rate(law))))


@cache
def _pass_probability(rule: Acceptance | Band, rate: Fraction) -> Fraction:
    return Fraction(rule.pass_probability(_view(rate)))


def _view(rate: Fraction) -> ExactView:
    return TwoSidedGeometric(RationalPowers(base(rate)))


def _rate(law: NoiseLaw) -> Fraction:
    assert isinstance(law, Geometric)
    return law.rate


def _binomial(trials: int, chance: Fraction, entropy: BitSource) -> int:
    return _of(entropy).choose(_numbers(trials, Fraction(chance)))


@cache
def _numbers(trials: int, chance: Fraction) -> list[tuple[int, Fraction]]:
    law = [(k, comb(trials, k) * chance**k * (1 - chance) ** (trials - k)) for k in range(trials + 1)]
    return [outcome for outcome in law if outcome[1]]


def _empty_cells(bounds: Sequence[int], occupied: Keys, entropy: BitSource, *, count: int) -> Keys:
    (cells,) = bounds
    taken = set(occupied[0].tolist())
    free = [cell for cell in range(cells) if cell not in taken]
    return np.array([_subset(free, count, entropy)], dtype=np.uint64)


def _uniform_subset(size: int, entropy: BitSource, *, count: int) -> NDArray[np.intp]:
    return np.array(_subset(range(size), count, entropy), dtype=np.intp)


def _subset(members: Sequence[int], count: int, entropy: BitSource) -> tuple[int, ...]:
    return _of(entropy).choose(_sets(tuple(members), count))


@cache
def _sets(members: tuple[int, ...], count: int) -> list[tuple[tuple[int, ...], Fraction]]:
    assert 0 <= count <= len(members)
    return [(each, Fraction(1, comb(len(members), count))) for each in combinations(members, count)]


def _bernoulli(chance: Fraction, entropy: BitSource, *, count: int) -> NDArray[np.bool_]:
    return np.array([_coin(Fraction(chance), entropy) for _ in range(count)], dtype=np.bool_)


def _kept(magnitudes: NDArray[np.int64], threshold: Fraction, entropy: BitSource) -> NDArray[np.bool_]:
    chances = [min(x / Fraction(threshold), Fraction(1)) for x in magnitudes.tolist()]
    return np.array([_coin(chance, entropy) for chance in chances], dtype=np.bool_)


def _coin(chance: Fraction, entropy: BitSource) -> bool:
    outcomes = [(True, chance), (False, 1 - chance)]
    return _of(entropy).choose([outcome for outcome in outcomes if outcome[1]])
