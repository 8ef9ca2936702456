"""Write readings.csv: one invented week of traffic on a motorway, by the model of README.md."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

DEVICES, SLOTS = 200, 7 * 24 * 12
random = np.random.default_rng(1)  # noqa: TID251 - rows are invented; no privacy depends on them

free = random.uniform(55, 68, DEVICES)  # miles per hour where nobody is in the way
depth = random.uniform(0, 40, (DEVICES, 2))  # what the morning and the evening take from it
hour = np.arange(SLOTS) / 12
rush = np.stack([np.exp(-(((hour % 24 - peak) / 1.2) ** 2)) for peak in (8, 17.5)])
weekday = hour < 5 * 24  # the week starts on a Monday
speeds = free[:, None] - depth @ (rush * weekday) + random.normal(0, 2, (DEVICES, SLOTS))

times = np.datetime64("2024-03-04T00:00") + 5 * np.arange(SLOTS)
rows = pa.table(
    {
        "device": np.repeat([f"D{number:03}" for number in range(DEVICES)], SLOTS),
        "time": np.tile(times.astype("datetime64[s]"), DEVICES),
        "speed": speeds.ravel().round(1),
    }
)
csv.write_csv(rows, "readings.csv")
csv.write_csv(pa.table({"device": [f"D{number:03}" for number in range(DEVICES)]}), "devices.csv")
