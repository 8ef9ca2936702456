"""Rows on Apache Spark: counted and drawn by its workers, with the code of one machine."""
