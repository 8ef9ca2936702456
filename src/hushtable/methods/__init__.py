"""Settings of a summary, and the acceptance laws that follow from them."""
