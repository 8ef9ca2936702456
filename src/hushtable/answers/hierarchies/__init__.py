"""Answers from hierarchies: which nodes make up a group, and how sure that makes its count."""
