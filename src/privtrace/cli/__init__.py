"""Run privtrace from the command line: arguments in, the library's calls, files out. No method lives here."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command that the arguments name."""
    from privtrace.cli.commands import run
    from privtrace.cli.screen import Screen
    from privtrace.errors import PrivTraceError

    # A polite kill unwinds like Ctrl-C, so that nothing half-written stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(sys.argv[1:])
    except PrivTraceError as error:  # a method that is not known, before there is a command
        Screen().fail(str(error))
        sys.exit(2)
