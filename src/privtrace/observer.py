"""Tell a curator what is happening while it happens: the one seam between the pipeline and a screen."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Observer(Protocol):
    """Receive the stages of a run, and notes that only the curator may see."""

    def stage(self, text: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """Enter a stage described in words; call what it yields with the amount of work just done."""
        ...

    def note(self, text: str, *, loud: bool = False) -> None:
        """Show the curator a sentence; it may hold exact numbers: NOT PRIVATE. A loud one is a warning."""
        ...

    def nothing_usable(self) -> None:
        """Hear that no trajectory counts, so that what is fitted is noise: NOT PRIVATE, for a last word."""
        ...

    def say(self, text: str) -> None:
        """Show a sentence that follows from public facts alone, such as a header and the settings."""
        ...

    def warn(self, text: str) -> None:
        """Show a warning that follows from public facts alone."""
        ...


class Silent:
    """Observe nothing."""

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Run the stage without a word."""
        yield lambda amount: None

    def note(self, text: str, *, loud: bool = False) -> None:
        """Log what is loud and drop the rest."""
        if loud:
            logging.getLogger("privtrace").warning("NOT PRIVATE, for the curator only: %s", text)

    def nothing_usable(self) -> None:
        """Say no more than the note did."""

    def say(self, text: str) -> None:
        """Drop it."""

    def warn(self, text: str) -> None:
        """Warn as Python does, where the fit or comparison was called."""
        warnings.warn(text, stacklevel=3)
