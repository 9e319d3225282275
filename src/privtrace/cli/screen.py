"""Show a run on the terminal: a progress bar a stage, notes for the curator, errors in words."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from privtrace.cli import INTERRUPTED, unwind_when_interrupted
from privtrace.errors import PrivTraceError
from privtrace.progress import bar

if TYPE_CHECKING:
    from privtrace.io import FileSource
    from privtrace.storage.atomic import Target


@dataclass(frozen=True)
class Screen:
    """Write results to standard output, all else to standard error. An `Observer`."""

    quiet: bool = False
    as_json: bool = False
    candid: bool = False  # notes show even where they may end in a log: the command was asked for them
    unusable: Event = field(default_factory=Event)  # set when no trajectory counts
    results: Console = field(default_factory=lambda: Console(highlight=False, emoji=False, soft_wrap=True))
    errors: Console = field(
        default_factory=lambda: Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
    )

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar while the stage runs; none with --quiet or without a terminal."""
        if self.quiet or not self.errors.is_terminal:
            yield lambda amount: None
            return
        with bar(self.errors, text, total) as advance:
            yield advance

    def note(self, text: str, *, loud: bool = False) -> None:
        """Show the curator a sentence that may hold exact numbers; only a loud one goes into a log."""
        if loud or self.candid or (not self.quiet and self.errors.is_terminal):
            self.errors.print(f"for the curator only, NOT PRIVATE: {text}", style="yellow", markup=False)

    def nothing_usable(self) -> None:
        """Keep in mind that no trajectory counts; a command ends with what to do about it."""
        self.unusable.set()

    def warn(self, text: str) -> None:
        """Show a warning, always."""
        self.errors.print(f"warning: {text}", style="yellow", markup=False)

    def fail(self, text: str) -> None:
        """Show an error, always."""
        self.errors.print(f"error: {text}", style="red", markup=False)

    def say(self, text: str, style: str | None = None) -> None:
        """Show a line of the result; nothing with --quiet or --json."""
        if not self.quiet and not self.as_json:
            self.results.print(text, style=style, markup=False)

    def data(self, result: dict[str, Any]) -> None:
        """Show the result as JSON, with --json."""
        if self.as_json:
            self.results.print(json.dumps(result, indent=2), markup=False)


def screen_for(output: Path, quiet: bool, as_json: bool) -> Screen:
    """Speak as the options say, but to standard error alone if standard output gets the output itself."""
    screen = Screen(quiet, as_json)
    return replace(screen, results=screen.errors) if str(output) == "-" else screen


def tell_dropped(source: FileSource, screen: Screen) -> None:
    """Tell the curator how many rows were dropped and why, how to find them, and of times not read."""
    from privtrace.rows.faults import FILE

    with screen.stage("Opening and grouping the input"):
        dropped = source.dropped
    if dropped:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in dropped.most_common())
        screen.note(
            f"rows dropped: {dropped.total():,}, with {reasons}; `privtrace check {source.path}` lists them",
            loud=any(reason.startswith(FILE) for reason in dropped),
        )
    source.tell(screen)


def tell_lost(lost: set[str], output: Target, screen: Screen) -> None:
    """Warn of what the format of an output cannot hold."""
    if lost:
        screen.warn(f"{output}: its format cannot hold {', '.join(sorted(lost))}")


def check_apart(
    outputs: Mapping[str, str | os.PathLike[str] | None], others: Mapping[str, str | os.PathLike[str] | None]
) -> None:
    """Refuse, before anything is spent, an output that is another file of the run, which --force would lose."""
    from privtrace.errors import OutputError

    taken = {os.path.realpath(path): name for name, path in others.items() if path is not None}
    for name, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        other = taken.setdefault(os.path.realpath(path), name)
        if other != name:
            raise OutputError(f"{path}: {name} and {other} are the same file; give {name} another path")


def counted(number: int, noun: str) -> str:
    """Put a number before its noun: 1 row, 2,400 rows, 7 trajectories."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Run a command on the threads it is given, and end what is foreseen with a sentence, not a traceback.

    The exit code is 2 for a mistake or a disk that fails, and 130 for an interrupt.
    """

    @wraps(command)
    def run(*arguments: Any, **values: Any) -> None:
        try:
            unwind_when_interrupted()
            if values.get("threads") is not None:
                from privtrace.backends.cores import limit_threads

                limit_threads(values["threads"])
            command(*arguments, **values)
        except PrivTraceError as error:
            _fail(str(error), error)
            raise typer.Exit(2) from None
        except OSError as error:  # what no door checks: a folder that cannot be made, a closed terminal
            _fail(f"{error.filename or command.__name__}: {error.strerror or error}", error)
            raise typer.Exit(2) from None
        except (KeyboardInterrupt, SystemError) as error:
            if not _is_interrupt(error):
                raise
            _fail("interrupted; no incomplete file is left behind", error)
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def ending(words: Callable[[], str]) -> Iterator[None]:
    """Let whatever ends the block early, an interrupt as well, carry words along for the last sentence."""
    try:
        yield
    except BaseException as error:
        error.add_note(words())
        raise


def _fail(text: str, error: BaseException) -> None:
    """Show an error with what was added to it on its way."""
    Screen().fail("; ".join([text, *getattr(error, "__notes__", [])]))


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether an interrupt is behind an error: compiled code makes it the cause of a SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)
