"""Rows on one machine: files, databases and data frames, by way of DuckDB."""
