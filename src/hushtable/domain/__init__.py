"""What a cell is."""
