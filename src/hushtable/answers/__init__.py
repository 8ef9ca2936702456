"""Answers from a release: estimates with error bars, SQL and pictures, from the file alone."""
