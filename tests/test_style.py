"""The code is formatted, linted and typed: what `make check` checks, so that nothing lands without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command", ["ruff format --check .", "ruff check .", "mypy"], ids=["format", "lint", "types"]
)
def test_style(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
