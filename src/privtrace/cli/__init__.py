"""Run privtrace from the command line: arguments in, the library's calls, files out. No method lives here."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

#: The exit code after an interrupt.
INTERRUPTED = 130


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
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _leave()
        raise


def _leave() -> NoReturn:
    """End an interrupted command, and clean up, without waiting for threads.

    An interrupt may strike while a pool holds a lock of its own. Its threads then wait for it forever, and a
    process that waits for them would never end.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


def unwind_when_interrupted() -> None:
    """Let Ctrl-C, and a polite kill, unwind from here on, so that nothing half-written stays behind."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _end_at_once(*_: object) -> None:
    """End before there is anything to unwind: libraries that are half imported would end in a traceback."""
    os.write(2, b"error: interrupted before anything was read or written\n")
    os._exit(INTERRUPTED)
