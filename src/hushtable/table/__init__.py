"""Private sparse counts."""
