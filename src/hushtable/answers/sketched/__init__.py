"""Answers from a count sketch: cells one by one, their buckets, and what else lies in those."""
