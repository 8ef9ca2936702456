"""`python -m hushtable.cli` is the command `hushtable`."""

from hushtable.cli.main import main

main()
