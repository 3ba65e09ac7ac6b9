"""`python -m l4strace`."""

from l4strace.cli import main

main()
