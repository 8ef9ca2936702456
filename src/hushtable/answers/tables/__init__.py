"""Answers from several tables: whole ones fitted together, sparse ones beside them."""
