"""Help whose examples work when they are pasted, and completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import COMMAND, run

COMMANDS = [
    "plan",
    "fit",
    "generate",
    "synth",
    "report",
    "inspect",
    "export",
    "ledger",
    "evaluate",
    "compare",
    "explain",
    "convert",
    "check",
    "demo",
]


def examples(command: str, cwd: Path) -> list[str]:
    """Take the examples out of a command's help, as a user would copy them."""
    shown = run("help", command, cwd=cwd).stdout
    _, _, after = shown.partition("Examples:\n" if "Examples:" in shown else "Example:\n")
    pasted = after.partition("\n\n")[0].replace("\\\n", " ")
    return [line.strip() for line in pasted.splitlines()]


SLOW = ["convert", "compare", "explain", "evaluate", "synth", "ledger", "report", "export"]


@pytest.mark.parametrize(
    ("commands", "demo_trips"),
    [
        pytest.param([name for name in COMMANDS if name not in SLOW], 2000, id="most, with fewer trips"),
        pytest.param(COMMANDS, None, id="all", marks=pytest.mark.slow),
    ],
)
def test_examples_work_when_pasted(commands: list[str], demo_trips: int | None, tmp_path: Path) -> None:
    """All of them, one after the other, in one folder; the demo that each starts with runs once."""
    pasted = [line for command in ["demo", *commands] for line in examples(command, tmp_path)]
    unique = list(dict.fromkeys(pasted))
    assert len(unique) > 6
    for line in unique:
        program, *arguments = shlex.split(line)
        assert program == "privtrace"
        run(*arguments, cwd=tmp_path, demo_trips=demo_trips)


def test_help_lists_the_commands(tmp_path: Path) -> None:
    shown = run("help", cwd=tmp_path).stdout
    assert all(command in shown for command in COMMANDS)
    assert "..." not in shown.partition("Commands:")[2]  # each says in one line what it does
    assert "No such command" in run("help", "magic", cwd=tmp_path, code=2).stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, tmp_path: Path) -> None:
    environment = {**os.environ, "_PRIVTRACE_COMPLETE": f"source_{shell}", "SHELL": f"/bin/{shell}"}
    done = subprocess.run(
        [Path(sys.executable).parent / "privtrace"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert "privtrace" in done.stdout and "COMPLETE" in done.stdout.upper()
    asked = {**environment, "_PRIVTRACE_COMPLETE": f"complete_{shell}", "COMP_WORDS": "privtrace conv"}
    asked |= {
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "privtrace conv",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [Path(sys.executable).parent / "privtrace"], env=asked, capture_output=True, text=True, timeout=60
    )
    assert "convert" in done.stdout


def test_usage_names_the_command_however_it_is_run(tmp_path: Path) -> None:
    assert run("fit", cwd=tmp_path, code=2).stderr.startswith("Usage: privtrace fit ")


def test_the_version(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout.startswith("privtrace ")
