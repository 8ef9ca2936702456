"""What every engine that counts in slices shares: names, values, keys and sorted runs."""
