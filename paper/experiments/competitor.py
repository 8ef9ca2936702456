"""The synthetic-data competitor: Dirichlet resampling under probabilistic differential privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from paper import data
from paper.answering import cell_values, value_sums
from paper.claims import Claim, Verdict, above, judged
from paper.competitor import resampled, smallest_alpha
from paper.data import Ranges, Table, commuters
from paper.drawing import Line, Panel, drawing
from paper.measuring import Measured, Results, Setting, Value
from paper.releasing import drawn, sizes_of, subsets_of, whole
from paper.report import Picture

TITLE = "Dirichlet resampling (Machanavajjhala et al.)"
ALONE = False

_DELTA = 1e-4
_EPSILONS = ("1", "0.5", "0.2", "0.1")
_SHARES = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5)
_CELLS = {"block groups": 815**2, "counties": 3142**2}


def missing() -> str | None:
    """Return why it cannot run, if so."""
    return data.missing()


def _tables(quick: bool) -> list[str]:
    return ["block groups"] if quick else list(_CELLS)


def _sizes(table: str) -> tuple[int, ...]:
    return tuple(round(_CELLS[table] * share) for share in _SHARES)


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    found: list[Setting] = []
    for table in _tables(quick):
        found += [
            {"figure": "alpha", "data": table, "epsilon": epsilon, "delta": _DELTA, "run": 0}
            for epsilon in _EPSILONS
        ]
        arms: dict[str, dict[str, Value]] = {
            "geometric": {"method": "geometric"},
            "filter-priority": {"method": "filter-priority", "size": _CELLS[table] * 3 // 16, "cutoff": 2},
            "resampling": {"method": "resampling"},
            "resampling, prior taken off": {"method": "resampling"},
        }
        base: dict[str, Value] = {
            "figure": table,
            "data": table,
            "epsilon": "1",
            "delta": _DELTA,
            "questions": 100 if quick else 300,
            "sizes": " ".join(map(str, _sizes(table))),
        }
        runs = 2 if quick else 10 if table == "block groups" else 5
        for arm, choice in arms.items():
            found += [base | choice | {"arm": arm, "run": run} for run in range(runs)]
    return found


def run(setting: Setting) -> dict[str, float]:
    """Run one cell of work."""
    table = commuters(str(setting["data"]))
    if setting["figure"] == "alpha":
        found = _alpha(table, setting)
        prior = 1.0 if found is None else table.cells * found / (table.people + table.cells * found)
        return {"found": float(found is not None), "alpha": found or 0.0, "prior": prior}
    if setting["method"] == "resampling":
        values = _synthetic(table, setting)
    else:
        values = cell_values(drawn(table, setting, epsilon=Fraction(str(setting["epsilon"]))), table.cells)
    number, which = whole(setting, "questions"), whole(setting, "run")
    ranges = Ranges.by_chance(table, sizes_of(setting), number=number, run=which)
    subsets = subsets_of(table, sizes_of(setting), number, which)
    by_range = np.abs(value_sums(values, ranges) - ranges.truths).mean(axis=1)
    by_subset = np.abs(subsets.sums(values) - subsets.truths).mean(axis=1)
    return {
        f"{word} {size}": float(error)
        for word, errors in (("range", by_range), ("subset", by_subset))
        for size, error in zip(ranges.sizes, errors, strict=True)
    }


def _alpha(table: Table, setting: Setting) -> float | None:
    delta = float(str(setting["delta"]))
    return smallest_alpha(
        table.values, cells=table.cells, epsilon=float(str(setting["epsilon"])), delta=delta
    )


def _synthetic(table: Table, setting: Setting) -> NDArray[np.float64]:
    """Draw synthetic people; on wish, take off what the prior is expected to add."""
    alpha = _alpha(table, setting)
    if alpha is None:
        raise ValueError("no prior satisfies the bound; the setting cannot be run")
    random = np.random.default_rng([whole(setting, "run"), 15])
    people = resampled(table.values, cells=table.cells, alpha=alpha, rows=table.people, random=random)
    if setting["arm"] == "resampling":
        return people.astype(np.float64)
    scale = (table.people + table.cells * alpha) / table.people
    return people.astype(np.float64) * scale - alpha


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    return (
        f"The commuters of the section before; epsilon 1, delta {_DELTA:g}. The whole table is resampled at "
        "once, with as many synthetic people as there are people, from Dirichlet(n + alpha); alpha is the "
        "smallest number of three digits that satisfies the bound of `paper/competitor.py`. Their privacy "
        "is probabilistic, and counts the number of people as public: weaker than what the others here "
        "keep. *Prior taken off* rescales the synthetic counts so that their mean is right, which the "
        "paper does not speak of. The others spend epsilon 1 as well. "
        "Runs: "
        + ", ".join(
            f"{len(results.where(figure=each, arm='geometric'))} of {each}" for each in _tables(quick)
        )
        + "."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return the priors."""
    lines = ["| table | epsilon | alpha | share of the prior in what is drawn |", "|---|---|---|---|"]
    for (table, epsilon), group in results.where(figure="alpha").grouped("data", "epsilon").items():
        alpha = f"{group.of('alpha').mean:g}" if group.of("found").mean else "none"
        lines.append(f"| {table} | {epsilon} | {alpha} | {100 * group.of('prior').mean:.1f} % |")
    return ["The smallest priors:\n\n" + "\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return errors of ranges and subsets, for each table."""
    pictures = []
    for table in _tables(quick):
        some = results.where(figure=table)
        panels = [
            Panel(
                f"{table}: {word}s, epsilon 1",
                f"share of all cells in the {word}",
                "mean |error|",
                [
                    Line(str(arm), _SHARES, [some.of(f"{word} {size}", arm=arm) for size in _sizes(table)])
                    for arm in some.different("arm")
                ],
            )
            for word in ("range", "subset")
        ]
        name = f"competitor-{table.replace(' ', '-')}"
        pictures.append(Picture(name, f"Dirichlet resampling beside noise, {table}.", drawing(panels), some))
    return pictures


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    found = []
    for table in _tables(quick):
        some, alphas = results.where(figure=table), results.where(figure="alpha", data=table)
        ratios = {
            arm: {
                (word, share): some.ratio(f"{word} {size}", {"arm": arm}, {"arm": "geometric"})
                for word in ("range", "subset")
                for share, size in zip(_SHARES, _sizes(table), strict=True)
            }
            for arm in ("resampling", "resampling, prior taken off")
        }
        strict = {epsilon: alphas.where(epsilon=epsilon) for epsilon in _EPSILONS[1:]}
        exist = {epsilon: bool(group.of("found").mean) for epsilon, group in strict.items()}
        swamped = {epsilon: group.of("prior").mean for epsilon, group in strict.items()}
        found += [
            *(
                Claim(
                    f"Section 4.5, {table}",
                    "Dirichlet resampling has over three times the absolute error of the geometric "
                    f"mechanism at epsilon 1 ({word}s)",
                    " ".join(f"{arm}: {_listed(each, word)}." for arm, each in ratios.items()),
                    judged(above(v, 3) for (name, _), v in ratios["resampling"].items() if name == word),
                    "surely more than three times the error at each size.",
                )
                for word in ("range", "subset")
            ),
            Claim(
                f"Section 4.5, {table}",
                "it does not seem possible to find alpha for stricter guarantees (epsilon below 1)",
                "; ".join(
                    f"epsilon {epsilon}: alpha = {group.of('alpha').mean:g}, which makes "
                    f"{100 * swamped[epsilon]:.1f} % of what is drawn prior"
                    if exist[epsilon]
                    else f"epsilon {epsilon}: none"
                    for epsilon, group in strict.items()
                )
                + ".",
                _possible(exist, swamped),
                "no alpha holds; one whose prior is more than 90 % of what is drawn (little is left of the "
                "data) in part.",
            ),
        ]
    return found


def _possible(exist: dict[str, bool], swamped: dict[str, float]) -> Verdict:
    """Return the verdict on whether stricter guarantees are out of reach."""
    if not any(exist.values()):
        return Verdict.HOLDS
    return Verdict.IN_PART if min(swamped.values()) > 0.9 else Verdict.DOES_NOT


def _listed(ratios: dict[tuple[str, float], Measured], word: str) -> str:
    """Return the least and the largest ratio of ranges or subsets, in words."""
    each = {share: value for (name, share), value in ratios.items() if name == word}
    low, high = (pick(each, key=lambda share: each[share].mean) for pick in (min, max))
    return f"{each[low]} times ({100 * low:g} % of the cells) to {each[high]} times ({100 * high:g} %)"
