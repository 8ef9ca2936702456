"""The command line: reads arguments, calls one function of a room below, and prints what it returns."""
