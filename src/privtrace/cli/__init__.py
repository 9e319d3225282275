"""Run privtrace from the command line: arguments in, the library's calls, files out. No method lives here."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command that the arguments name."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else a shell said to ignore it
        signal.signal(signal.SIGINT, _end_at_once)
    from privtrace.cli.commands import run
    from privtrace.cli.screen import Screen
    from privtrace.errors import PrivTraceError

    try:
        run(sys.argv[1:])
    except PrivTraceError as error:  # a method that is not known, before there is a command
        Screen().fail(str(error))
        sys.exit(2)


def unwind_when_interrupted() -> None:
    """Let Ctrl-C, and a polite kill, unwind from here on, so that nothing half-written stays behind."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _end_at_once(*_: object) -> None:
    """End before there is anything to unwind: libraries that are half imported would end in a traceback."""
    os.write(2, b"error: interrupted before anything was read or written\n")
    os._exit(130)
