"""Shares of epsilon against the best that a search finds, for questions that whole tables answer.

Promise: errors are those of least squares in closed form (ResidualPlanner, arXiv 2305.08175, with levels),
written down here once more from the sizes of attributes, so that they share nothing with the planner but its
choice. The search is by chance, from several starts, over all tables that a question names, and keeps every
question at or below the error of noise on every cell.
Cost: a second for each table and epsilon.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import exp, prod

import numpy as np

import hushtable as ht
from benchmarks.grouped import SIZE
from benchmarks.real import MISSING, NAMES, Array, AskedTable, Item, Question, real_table
from benchmarks.report import Bar, Figure, Say, Sheet

_EPSILONS = Fraction(1, 10), Fraction(1), Fraction(3)
_WHOLE = 3 * SIZE  # cells of a table that is published whole
_TRIES, _ROUNDS, _STARTS = 48, 400, 3
_FINE = 50.0  # what a question costs beyond what is allowed, against the mean

_random = np.random.default_rng(22)


def best(say: Say) -> Sheet:
    """Compare the planner's shares with the best found."""
    sheet = Sheet(
        title="Shares of epsilon: geometric mean of errors, as a multiple of the best that a search finds",
        columns=("table", *(f"{way}, {float(each):g}" for way in ("default", "ask") for each in _EPSILONS)),
        note=(
            "Over questions that whole tables answer; what other tables have of epsilon is taken as given. "
            "Exact errors, in closed form;\nin both, no question is worse off than from noise on every cell."
        ),
    )
    if MISSING:
        sheet.add(str(MISSING), *[""] * (len(sheet.columns) - 1))
        return sheet
    for name in NAMES:
        say(f"shares of {name}")
        table = real_table(name)
        found = [_ratio(table, epsilon, ask) for ask in (False, True) for epsilon in _EPSILONS]
        sheet.add(name, *(Figure(each, Bar("<=", 1.15)) for each in found))
    return sheet


def _ratio(table: AskedTable, epsilon: Fraction, ask: bool) -> float:
    """Return by how much the planned mean is above the best one found."""
    questions = [*table.questions, *table.whole_questions]
    asked = list(map(str, questions)) if ask else None
    plan = ht.plan(table.domain, epsilon=epsilon, size=SIZE, ask=asked, count_column="people")
    spent = {each["table"]: float(Fraction(each["epsilon"])) for each in plan.to_dict()["tables"]}
    whole = [each for each in questions if table.groups(each) <= _WHOLE]
    room = sum(spent.get(str(each), 0.0) for each in whole) + spent.get("total", 0.0)
    model = _Fitted(table, [*whole, Question(())], whole, float(epsilon))
    planned = np.array([[*(spent.get(str(each), 0.0) for each in whole), spent.get("total", 0.0)]])
    means = _searched(model, room)
    return exp(float(model.means(planned)[0]) - means)


def _searched(model: "_Fitted", room: float) -> float:
    """Return the smallest mean of logarithms of errors that a search finds."""
    found = []
    for start in range(_STARTS):
        place = _random.normal(0, 2 * (start > 0), model.tables)
        value, step = np.inf, 0.7
        for _ in range(_ROUNDS):
            some = _random.random((_TRIES, model.tables)) < max(2 / model.tables, 0.3)
            tries = place + step * some * _random.normal(0, 1, (_TRIES, model.tables))
            shares = np.exp(tries - tries.max(axis=1, keepdims=True))
            values = model.fined(room * shares / shares.sum(axis=1, keepdims=True))
            better = int(np.argmin(values))
            if values[better] < value:
                place, value, step = tries[better], float(values[better]), step * 1.3
            else:
                step = max(0.8 * step, 1e-3)
        found.append(value)
    return min(found)


class _Fitted:
    """Errors of questions from whole tables, fitted together, as a function of their epsilons."""

    def __init__(
        self, table: AskedTable, tables: Sequence[Question], questions: Sequence[Question], epsilon: float
    ) -> None:
        self.tables = len(tables)
        self._sizes: dict[str, list[int]] = {}
        self._depths: dict[Item, int] = {}
        for name in table.domain.names:
            levels = sorted(
                (each for each in table.items if each.name == name), key=lambda each: _size(table, each)
            )
            self._sizes[name] = [1, *(_size(table, each) for each in levels)]
            self._depths |= {each: depth for depth, each in enumerate(levels, start=1)}
        places: dict[tuple[tuple[str, int], ...], int] = {}
        for each in questions:
            for component in self._components(each):
                places.setdefault(component, len(places))
        self._precision = np.zeros((len(tables), len(places)))
        for row, each in enumerate(tables):
            for component in self._components(each):
                if component in places:
                    self._precision[row, places[component]] = 1 / self._merged(each, component)
        self._parts = np.zeros((len(questions), len(places)))
        for row, each in enumerate(questions):
            for component in self._components(each):
                self._parts[row, places[component]] = self._part(each, component)
        cells = [table.domain.cells_total / table.groups(each) for each in questions]
        self._dense = _variance(np.array(epsilon)) * np.array(cells)

    def _components(self, question: Question) -> list[tuple[tuple[str, int], ...]]:
        depths = [[(each.name, depth) for depth in range(self._depths[each] + 1)] for each in question.items]
        return [tuple(each for each in found if each[1]) for found in product(*depths)]

    def _merged(self, question: Question, component: tuple[tuple[str, int], ...]) -> float:
        coarse = dict(component)
        sizes = (
            (self._sizes[each.name], self._depths[each], coarse.get(each.name, 0)) for each in question.items
        )
        return prod(each[depth] / each[to] for each, depth, to in sizes)

    def _part(self, question: Question, component: tuple[tuple[str, int], ...]) -> float:
        coarse, found = dict(component), 1.0
        for each in question.items:
            sizes, depth, to = self._sizes[each.name], self._depths[each], coarse.get(each.name, 0)
            found *= (sizes[to] / sizes[depth]) ** 2 * (1 - sizes[to - 1] / sizes[to] if to else 1.0)
        return found

    def _variances(self, epsilons: Array) -> Array:
        """Return the variance of each question, a row for each row of epsilons."""
        precisions = np.where(epsilons > 0, 1 / _variance(np.maximum(epsilons, 1e-9)), 0.0)
        return np.asarray((1 / np.maximum(precisions @ self._precision, 1e-300)) @ self._parts.T)

    def means(self, epsilons: Array) -> Array:
        """Return the mean of logarithms of errors."""
        return np.asarray(np.log(self._variances(epsilons)).mean(axis=1) / 2)

    def fined(self, epsilons: Array) -> Array:
        """Return the same, and more where a question is worse off than from noise on every cell."""
        logarithms = np.log(self._variances(epsilons))
        worse = np.maximum(logarithms - np.log(self._dense), 0.0).sum(axis=1)
        return np.asarray(logarithms.mean(axis=1) / 2 + _FINE * worse)


def _size(table: AskedTable, item: Item) -> int:
    return table.groups(Question((item,)))


def _variance(epsilon: Array) -> Array:
    """Return the variance of two-sided geometric noise."""
    base = np.exp(-epsilon)
    return np.asarray(2 * base / (1 - base) ** 2)
