"""Counting rows where they are: files, databases and data frames, by way of DuckDB."""
