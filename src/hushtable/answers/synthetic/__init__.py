"""Whole numbers that add up, and synthetic rows that they count: made of published numbers alone."""
