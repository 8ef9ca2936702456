"""Files on disk: put in place whole or not at all, in parts, and apart from what must stay."""
