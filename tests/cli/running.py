"""Run the command line as a user does, each command in a process of its own.

Importing is most of what a short command does. So commands are forked off a server that has imported all there
is, once for many tests; what has to do with signals, terminals and installation is tested with COMMAND. And one
that is to be refused needs no process: it leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import mock

COMMAND = [sys.executable, "-m", "privtrace"]

#: The exit code of what cannot be done as it was asked for.
REFUSED = 2

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.cli.imported"])


def run(
    *arguments: str, cwd: Path, code: int = 0, demo_trips: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command and check its exit code; never a traceback. The demo may be given fewer trips."""
    if code == REFUSED:
        return _refused(arguments, cwd)
    with tempfile.TemporaryDirectory() as streams:
        process = _SERVER.Process(target=_command, args=(arguments, cwd, Path(streams), demo_trips))
        process.start()
        process.join(120)
        process.kill()  # if it has not ended
        process.join()
        stdout, stderr = (Path(streams, name).read_text("utf-8") for name in ("stdout", "stderr"))
    assert process.exitcode == code, stderr
    assert "Traceback" not in stderr + stdout
    return subprocess.CompletedProcess(arguments, code, stdout, stderr)


def _refused(arguments: tuple[str, ...], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Be the command in this process, to the end that it has to come to."""
    from privtrace.cli import main

    out, err, handler = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["privtrace", *arguments]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # as a command has it
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code
        finally:
            signal.signal(signal.SIGTERM, handler)
    assert code == REFUSED, err.getvalue()
    return subprocess.CompletedProcess(arguments, REFUSED, out.getvalue(), err.getvalue())


def _command(arguments: tuple[str, ...], cwd: Path, streams: Path, demo_trips: int | None) -> None:
    """Be the command, with output to files."""
    from privtrace.cli import demo, main

    if demo_trips is not None:
        demo.N_TRIPS = demo_trips
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(streams / name, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(cwd)
    sys.argv = ["privtrace", *arguments]
    main()
