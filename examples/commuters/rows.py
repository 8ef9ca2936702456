"""Write commuters.csv and blocks.csv: an invented state and its commuters, by the model of README.md."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

COUNTIES, TRACTS, GROUPS, BLOCKS = 5, 50, 3, 30  # of each in the one before
PEOPLE = 400_000
random = np.random.default_rng(1)  # noqa: TID251 - people are invented; no privacy depends on them

codes = [
    f"99{county:03}{tract:06}{group}{block:03}"
    for county in range(COUNTIES)
    for tract in range(TRACTS)
    for group in range(GROUPS)
    for block in range(BLOCKS)
]
number = len(codes)
people = random.lognormal(0, 1, number)
jobs = random.pareto(1.1, number) + 0.01  # a few blocks have most of the jobs

home = random.choice(number, PEOPLE, p=people / people.sum())
anywhere = random.choice(number, PEOPLE, p=jobs / jobs.sum())
# Half work within some five tracts of home: at the block with the most jobs of five that are tried there.
tried = (home[:, None] + random.laplace(0, 300, (PEOPLE, 5)).astype(int)) % number
near = tried[np.arange(PEOPLE), jobs[tried].argmax(axis=1)]
work = np.where(random.random(PEOPLE) < 0.5, near, anywhere)

pairs, commuters = np.unique(home * number + work, return_counts=True)
names = np.array(codes)
rows = pa.table(
    {"home": names[pairs // number], "work": names[pairs % number], "commuters": commuters},
)
csv.write_csv(rows, "commuters.csv")
csv.write_csv(pa.table({"block": codes}), "blocks.csv")
