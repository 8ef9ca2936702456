"""Answers from pruned trees: what a question covers of each node, and how sure that makes its answer."""
