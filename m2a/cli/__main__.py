"""`python -m m2a.cli` is the command `m2a`."""

from m2a.cli import main

main()
