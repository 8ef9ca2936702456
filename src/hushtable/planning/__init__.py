"""What a release will be worth, from public facts, before anything is spent."""
