"""Show how far long work is and how long it will still take: on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import TYPE_CHECKING

from privtrace.observer import Silent

if TYPE_CHECKING:
    from rich.console import Console

#: A notebook gets a new line at most once in so many seconds.
_EVERY_S = 0.5


@contextmanager
def bar(console: Console, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs; what it yields takes the amount of work just done."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<46}"),  # aligned from stage to stage
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(text, total=total or None)
        yield lambda amount: progress.advance(task, amount)
        progress.update(task, total=1, completed=1)


@contextmanager
def notebook_line(text: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show the same as a line of a notebook, which needs no widgets for it."""
    from IPython.display import HTML, display

    done, begun, shown = 0, time.monotonic(), 0.0
    line = display(HTML(escape(text)), display_id=True)

    def advance(amount: int) -> None:
        nonlocal done, shown
        done, now = done + amount, time.monotonic()
        if now - shown >= _EVERY_S:
            shown = now
            line.update(HTML(escape(far(text, done, total, now - begun))))

    yield advance
    line.update(HTML(escape(f"{text}: done in {span(time.monotonic() - begun)}")))


def far(text: str, done: int, total: int | None, elapsed_s: float) -> str:
    """Say how far work is: "Comparing: 30 of 90, about 4 min left"."""
    if not total or not done:
        return text
    return f"{text}: {done:,} of {total:,}, about {span(elapsed_s * max(total - done, 0) / done)} left"


def span(seconds: float) -> str:
    """Write a time roughly, in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def in_notebook() -> bool:
    """Tell whether this is the kernel of a notebook; nothing is imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Progress(Silent):
    """Show the stages of what takes minutes, where somebody watches; say nothing else. An `Observer`."""

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show how far a stage is, on a terminal or in a notebook."""
        with _shown(text, total) as advance:
            yield advance


def _shown(text: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
    if in_notebook():
        return notebook_line(text, total)
    from rich.console import Console

    console = Console(stderr=True)
    return bar(console, text, total) if console.is_terminal else Silent().stage(text, total)
