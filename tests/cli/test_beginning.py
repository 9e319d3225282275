"""How a command begins: Ctrl-C ends it at any moment with a line, and a large epsilon is warned of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import run

import privtrace as pt

#: Run a command that is interrupted when it imports a module.
INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *rest):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits none
from privtrace.cli import main
main()
"""

PLAN = ["plan", "--region=0,0,10,10", "--epsilon=1", "--count=100"]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("typer", "error: interrupted before anything was read or written\n"),  # no command yet
        (
            "privtrace.methods.registry",
            "error: interrupted before anything was read or written\n",
        ),  # its options
        ("privtrace.space.region", "error: interrupted; no "),  # the command runs
    ],
)
def test_an_interrupt_while_libraries_load_ends_with_a_line(module: str, words: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, *PLAN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith(words) and done.stderr.count("\n") == 1


def test_a_fit_warns_of_a_large_epsilon_before_it_ends(tmp_path: Path) -> None:
    points = np.random.default_rng(1).uniform(0, 10, (30, 2))
    pt.Trajectories(points, np.arange(0, 31, 3), crs="planar").write(tmp_path / "t.csv")
    fit = ["t.csv", "--region=0,0,10,10", "--method=dpt", "--quiet"]
    warning = run(*PLAN, "--epsilon=10.5", cwd=tmp_path).stderr.splitlines()[0]
    assert "an epsilon above 10 promises little" in warning
    # No trip is made: noise may leave a walk so long that it is cut, with a warning of its own.
    for command, *more in (("fit", "--output=a.model"), ("synth", "--output=a.csv", "--count=0")):
        assert doubts(run(command, *fit, *more, "--epsilon=10.5", cwd=tmp_path).stderr) == [warning]
    assert doubts(run("fit", *fit, "--output=b.model", "--epsilon=10", cwd=tmp_path).stderr) == []


def doubts(told: str) -> list[str]:
    """List warnings, but for the one that a model of so few trips is noise, which is chance."""
    return [line for line in told.splitlines() if "What would help" not in line]
