"""Run the command line as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "privtrace"]


def run(*arguments: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command and check its exit code; never a traceback."""
    done = subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done
