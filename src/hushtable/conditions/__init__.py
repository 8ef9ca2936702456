"""Which cells a question is about: conditions, and how many cells meet them."""
