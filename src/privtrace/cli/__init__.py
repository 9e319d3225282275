"""Run privtrace from the command line: arguments in, the library's calls, files out. No method lives here."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command that the arguments name."""
    from privtrace.cli.commands import app

    # A polite kill unwinds like Ctrl-C, so that nothing half-written stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app(prog_name="privtrace")  # also when it runs as a module
