"""Run privtrace from the command line: arguments in, the library's calls, files out. No method lives here."""

from __future__ import annotations

import signal
import sys

from privtrace.cli.screen import Screen
from privtrace.errors import PrivTraceError


def main() -> None:
    """Run the command; a user's mistake ends with exit code 2 and a sentence, never a traceback."""
    from privtrace.cli.commands import app

    # A polite kill unwinds like Ctrl-C, so that nothing half-written stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(standalone_mode=True)
    except PrivTraceError as error:
        Screen().fail(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        Screen().fail("interrupted; no output was written")
        sys.exit(130)
