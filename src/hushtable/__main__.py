"""`python -m hushtable` is the command `hushtable`."""

from hushtable.cli.main import main

main()
