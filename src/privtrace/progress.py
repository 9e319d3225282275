"""Show how far long work is and how long it will still take: a bar on a terminal or in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from privtrace.observer import Silent

if TYPE_CHECKING:
    from rich.console import Console


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


class Progress(Silent):
    """Show the stages of what takes minutes, where somebody watches; say nothing else. An `Observer`."""

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a bar on a terminal or in a notebook."""
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal or console.is_jupyter:
            with bar(console, text, total) as advance:
                yield advance
        else:
            yield lambda amount: None
