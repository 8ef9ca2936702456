"""What may be spent on a group of people, and what was spent."""
