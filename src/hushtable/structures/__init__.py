"""Structures: which sums of cells get noise, and how ranges are put together from them."""
