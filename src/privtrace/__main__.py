"""Run the command line as `python -m privtrace`."""

from privtrace.cli import main

main()
