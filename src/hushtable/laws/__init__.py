"""Exact numbers: rationals, certified reals, and the integer laws built from them."""
