"""What leaves the building: the release file, written and opened."""
