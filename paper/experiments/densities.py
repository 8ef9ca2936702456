"""Densities of real tables, and how much larger noise on every cell makes them (table 1 and appendix A)."""

from __future__ import annotations

from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import hushtable as ht
from paper import data
from paper.claims import Claim, Verdict, above, judged
from paper.drawing import Dots, drawing
from paper.measuring import Results, Setting, digits
from paper.report import Picture

TITLE = "Densities of real tables"
ALONE = False

_Codes = NDArray[np.int64]

_ADULT = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")
_GRIDDINGS = {
    "OnTheMap": ("RI block groups", "RI blocks", "US counties", "Bay Area tracts"),
    "Census income": ("region, occupation", "nativity, occupation", "region, major group"),
    "Adult": ("training rows", "all rows"),
    "telemetry": ("device, hour of week, 1 mph", "device, 5 minutes, 1 mph", "device, day, 0.5 mph"),
}
_PAPER = {
    "OnTheMap": (0.03, 0.05),
    "Census income": (0.004, 0.05),
    "Adult": (0.0014, 0.0014),
    "telemetry": (0.005, 0.02),
}


def missing() -> str | None:
    """Return why it cannot run, if so."""
    return data.missing()


def settings(quick: bool) -> list[Setting]:
    """Return all cells of work."""
    found: list[Setting] = [
        {"figure": "densities", "data": name, "arm": gridding, "run": 0}
        for name, griddings in _GRIDDINGS.items()
        for gridding in griddings
    ]
    noise = {"figure": "noise", "cells": 100_000 if quick else 1_000_000}
    return found + [noise | {"epsilon": epsilon, "run": run} for epsilon in ("0.1", "1") for run in range(3)]


def run(setting: Setting) -> dict[str, float]:
    """Run one cell of work."""
    if setting["figure"] == "noise":
        return _noise(int(str(setting["cells"])), str(setting["epsilon"]))
    columns, sizes, counts = _columns(str(setting["data"]), str(setting["arm"]))
    keys = np.ravel_multi_index(columns, sizes)
    cells, owner = np.unique(keys, return_inverse=True)
    people = np.bincount(owner, weights=counts)
    return {
        "cells": float(prod(sizes)),
        "occupied": float(cells.size),
        "density": cells.size / prod(sizes),
        "mean": float(people.mean()),
    }


def _noise(cells: int, epsilon: str) -> dict[str, float]:
    """Return what noise on every cell of an empty table looks like."""
    table = ht.SparseTable(shape=(cells,), codes=[0], counts=[1])
    counts = np.abs(ht.summarize(table, ht.Everything(), epsilon=epsilon).counts)
    return {"not zero": float((counts > 0).mean()), "one digit": float((counts < 10).mean())}


def _columns(name: str, gridding: str) -> tuple[list[_Codes], list[int], _Codes]:
    """Return codes of each attribute, how many there are, and the people of each row."""
    if name == "OnTheMap":
        return _flows(gridding)
    if name == "Adult":
        rows = data.columns("adult.parquet", *_ADULT, "split")
        if gridding == "training rows":
            rows = rows.filter(pc.equal(rows["split"], "train"))
        every = data.columns("adult.parquet", *_ADULT)
        coded = [_coded(rows[column], pc.unique(every[column])) for column in _ADULT]
        return (
            [codes for codes, _ in coded],
            [size for _, size in coded],
            np.ones(rows.num_rows, dtype=np.int64),
        )
    if name == "Census income":
        return _census(gridding)
    return _telemetry(gridding)


def _coded(column: pa.ChunkedArray, values: pa.Array) -> tuple[_Codes, int]:
    codes = pc.index_in(column, value_set=values)
    return np.asarray(codes.to_numpy(), dtype=np.int64), len(values)


def _flows(gridding: str) -> tuple[list[_Codes], list[int], _Codes]:
    if gridding.startswith("RI"):
        digits = 12 if gridding == "RI block groups" else 15
        rows = data.columns("lodes_ri_main_2019.parquet", "w_geocode", "h_geocode", "S000")
        book = pc.unique(
            pc.utf8_slice_codeunits(data.columns("codebooks/ri_blocks_2010.parquet").column(0), 0, digits)
        )
        sides = [pc.utf8_slice_codeunits(rows[name], 0, digits) for name in ("w_geocode", "h_geocode")]
        people = rows["S000"]
    elif gridding == "US counties":
        rows = data.columns("acs_county_flows_2011_2015.cells0.parquet")
        columns = [rows[name].to_numpy().astype(np.int64) for name in ("home", "work")]
        return columns, [3142, 3142], rows["count"].to_numpy().astype(np.int64)
    else:
        rows = data.columns("workflow2000_bayarea.cells0.parquet")
        columns = [rows[name].to_numpy().astype(np.int64) for name in ("home", "work")]
        return columns, [1405, 1405], rows["count"].to_numpy().astype(np.int64)
    coded = [_coded(side, book) for side in sides]
    return [codes for codes, _ in coded], [size for _, size in coded], people.to_numpy().astype(np.int64)


def _census(gridding: str) -> tuple[list[_Codes], list[int], _Codes]:
    rows = data.columns("gov_census.parquet", "age", "nativity", "economic_region", "occupation", "salary")
    age, income = ((rows[name].to_numpy().astype(np.int64) - low) // width for name, low, width in _BINS)
    born, job = (word.strip() for word in gridding.split(","))
    place = rows["economic_region" if born == "region" else "nativity"]
    work = rows["occupation"] if job == "occupation" else pc.utf8_slice_codeunits(rows["occupation"], 0, 2)
    coded = [_coded(column, pc.unique(column)) for column in (place, work)]
    columns = [age, *(codes for codes, _ in coded), income]
    return columns, [10, *(size for _, size in coded), 72], np.ones(rows.num_rows, dtype=np.int64)


_BINS = (("age", 15, 5), ("salary", 0, 10_000))


def _telemetry(gridding: str) -> tuple[list[_Codes], list[int], _Codes]:
    rows = data.columns("metr_la_week.parquet", "deviceId", "timestamp", "val")
    device, devices = _coded(rows["deviceId"], pc.unique(rows["deviceId"]))
    minutes = rows["timestamp"].to_numpy().astype("datetime64[m]")
    elapsed = (minutes - minutes.min()).astype(np.int64)
    speed = rows["val"].to_numpy()
    width, slots, finer = {
        "device, hour of week, 1 mph": (60, 168, 1),
        "device, 5 minutes, 1 mph": (5, 2016, 1),
        "device, day, 0.5 mph": (1440, 7, 2),
    }[gridding]
    value = np.floor(speed * finer).astype(np.int64)
    return (
        [device, elapsed // width, value],
        [devices, slots, 80 * finer],
        np.ones(rows.num_rows, dtype=np.int64),
    )


def about(results: Results, quick: bool) -> str:
    """Return what was set, in words."""
    return (
        "Data sets of table 1, or the nearest that can be had: LODES Rhode Island 2019, county flows of "
        "the American Community Survey and tract flows of the Bay Area (Census 2000) for OnTheMap; "
        "government employees of the ACS 2018 for Census income (age by 5 years, income by $10,000, region "
        "or nativity for birthplace); Adult by its seven categorical attributes, '?' as a value; one week "
        "of 207 loop detectors of Los Angeles for the telecom warehouse."
    )


def tables(results: Results, quick: bool) -> list[str]:
    """Return table 1."""
    lines = [
        "| data set | gridding | m | n | density | mean | noise on all is larger by | the paper's density |",
        "|---" * 8 + "|",
    ]
    for (name, gridding), group in results.where(figure="densities").grouped("data", "arm").items():
        of = {key: group.of(key).mean for key in group.rows[0][1]}
        low, high = _PAPER[str(name)]
        said = f"{100 * low:g} %" if low == high else f"{100 * low:g} to {100 * high:g} %"
        lines.append(
            f"| {name} | {gridding} | {of['cells']:,.0f} | {of['occupied']:,.0f} | "
            f"{100 * of['density']:.2g} % | {digits(of['mean'], 3)} | {digits(1 / of['density'], 3)} | "
            f"{said} |"
        )
    return ["\n".join(lines)]


def figures(results: Results, quick: bool) -> list[Picture]:
    """Return densities beside those of the paper."""
    panels = []
    for name, griddings in _GRIDDINGS.items():
        values = {each: 100 * results.of("density", data=name, arm=each).mean for each in griddings}
        low, high = _PAPER[name]
        panels.append(Dots(name, "density, %", values, (100 * low, 100 * high)))
    caption = "Densities of real tables under several griddings, beside the paper's."
    return [Picture("densities", caption, drawing(panels, columns=2), results.where(figure="densities"))]


def claims(results: Results, quick: bool) -> list[Claim]:
    """Return all claims with their verdicts."""
    found = []
    densities = {
        (name, gridding): results.of("density", data=name, arm=gridding).mean
        for name, griddings in _GRIDDINGS.items()
        for gridding in griddings
    }
    for name, (low, high) in _PAPER.items():
        own = {gridding: value for (owner, gridding), value in densities.items() if owner == name}
        said = f"{100 * low:g} %" if low == high else f"{100 * low:g} % to {100 * high:g} %"
        found.append(
            Claim(
                "Table 1",
                f"{name} has a density of {said}",
                "; ".join(f"{gridding}: {100 * value:.2g} %" for gridding, value in own.items()) + ".",
                judged(low / 1.5 <= value <= high * 1.5 for value in own.values()),
                "within the stated range, give or take half, for each gridding.",
            )
        )
    means = {
        gridding: results.of("mean", data="Adult", arm=gridding).mean for gridding in _GRIDDINGS["Adult"]
    }
    factors = [1 / value for value in densities.values()]
    telemetry = [1 / value for (name, _), value in densities.items() if name == "telemetry"]
    low_share = sum(value < 0.1 for value in densities.values())
    dense = {epsilon: results.of("not zero", figure="noise", epsilon=epsilon) for epsilon in ("0.1", "1")}
    single = {epsilon: results.of("one digit", figure="noise", epsilon=epsilon) for epsilon in ("0.1", "1")}
    return [
        *found,
        Claim(
            "Appendix A",
            "the average value in a non-zero cell of Adult is 9",
            "; ".join(f"{gridding}: {value:.3g}" for gridding, value in means.items()) + ".",
            judged(6 <= value <= 13.5 for value in means.values()),
            "between 6 and 13.5 for each gridding.",
        ),
        Claim(
            "Table 1",
            "many natural data sets have densities in the single-digit percentage range, or less",
            f"{low_share} of {len(densities)} griddings lie below 10 %.",
            Verdict.HOLDS
            if low_share > len(densities) / 2
            else Verdict.IN_PART
            if low_share
            else Verdict.DOES_NOT,
            "more than half of them.",
        ),
        Claim(
            "Section 1",
            "noise on every cell is larger by a factor from tens to thousands",
            f"By {min(factors):.2g} to {max(factors):,.4g}.",
            judged([max(factors) >= 1000, min(factors) >= 10]),
            "a factor of 10 or more for every gridding, and of 1000 or more for one.",
        ),
        Claim(
            "Appendix A",
            "reporting all private counts of the warehouse is 50 to 200 times larger",
            f"{min(telemetry):.2g} to {max(telemetry):.2g} times, for three griddings.",
            judged(50 / 1.5 <= value <= 200 * 1.5 for value in telemetry),
            "within the stated range, give or take half, for each gridding.",
        ),
        Claim(
            "Section 1",
            "noise has a low probability of being zero, so the noisy table is very dense",
            "; ".join(
                f"epsilon {epsilon}: {value.percent()} of all cells are not 0"
                for epsilon, value in dense.items()
            )
            + ".",
            judged([above(dense["0.1"], 0.9), above(dense["1"], 0.5)]),
            "more than 90 % at the paper's epsilon 0.1, and more than half at 1.",
        ),
        Claim(
            "Section 1, example 1",
            "the noise is relatively small, typically single digit perturbations",
            "; ".join(
                f"epsilon {epsilon}: {value.percent()} have one digit" for epsilon, value in single.items()
            )
            + ".",
            judged([above(single["0.1"], 0.5), above(single["1"], 0.5)]),
            "more than half at both.",
        ),
    ]
