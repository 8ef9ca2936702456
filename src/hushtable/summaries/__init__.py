"""Flat summaries of a sparse table: the shortcut, and the slow reference beside it."""
