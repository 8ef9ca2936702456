"""Publishing: the one flow from rows to a release."""
