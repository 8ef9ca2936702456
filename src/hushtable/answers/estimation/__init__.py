"""Estimates from published rows, and how far they may lie from the truth."""
