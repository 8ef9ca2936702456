"""Answers from trees: from conditions to ranges, from ranges to nodes, from nodes to intervals."""
