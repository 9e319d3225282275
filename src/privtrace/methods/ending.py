"""End a fit with what its curator has to hear: what is wrong with the data, and what was spent on it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from privtrace.observer import Observer
from privtrace.privacy.epsilon import decimal

if TYPE_CHECKING:
    from privtrace.methods.fitting import Fitting
    from privtrace.methods.model import Model
    from privtrace.privacy.budget_file import BudgetFile


class LastWords:
    """Observe for another, but keep loud notes until the end: in the middle they would scroll away.

    Nor should what only data shows stop a fit before it draws: that it stopped would show it to others.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._kept: list[str] = []
        # The same functions, so that a Python warning names the line that called the fit.
        self.stage, self.say, self.warn = observer.stage, observer.say, observer.warn
        self.nothing_usable = observer.nothing_usable

    def note(self, text: str, *, loud: bool = False) -> None:
        """Keep what is loud, and pass on the rest."""
        if loud:
            self._kept.append(text)
        else:
            self._observer.note(text)

    def tell(self, spent: str) -> None:
        """Tell what was kept, and at its end what was spent."""
        *others, last = self._kept or [""]
        for text in others:
            self._observer.note(text, loud=True)
        if last:
            cost = f" {spent[:1].upper()}{spent[1:]}" if last.endswith("?") else f"; {spent}"
            self._observer.note(f"{last}{cost}", loud=True)
        self._kept.clear()


@contextmanager
def telling(heard: LastWords, fitting: Fitting, budget_file: BudgetFile | None) -> Iterator[None]:
    """Tell the curator, whatever ends a fit, what is wrong with the data, and what was spent on it."""
    try:
        yield
    finally:
        ledger = fitting.crossing.ledger
        drew = bool(ledger.charges)
        words = spent(ledger.epsilon, budget_file, private=ledger.private, drew=drew)
        heard.tell(f"{words}, and another fit spends as much again" if ledger.private and drew else words)


def spent(epsilon: Fraction, budget_file: BudgetFile | None, *, private: bool, drew: bool) -> str:
    """Say what a fit has spent so far, and whether it stays charged."""
    if not private:
        return "the noise is seeded, so the fit is NOT PRIVATE and spends no budget"
    if budget_file is None:
        charged = f"noise was drawn, so epsilon {decimal(epsilon)} is spent"
        return charged if drew else "no noise was drawn and no epsilon spent"
    if not budget_file.charged:
        return f"no noise was drawn, and nothing was charged to {budget_file.path}"
    charged = f"epsilon {decimal(budget_file.charged)} stays charged to {budget_file.path}"
    return charged if drew else f"{charged}, although no noise was drawn"


def log_noise(model: Model) -> None:
    """Log of a model that it is all noise. A Python warning may be an error, and would lose the model."""
    log = logging.getLogger("privtrace")
    try:
        usability = model.usability()
    except Exception:  # a foreign method's view may fail, but its model is paid for
        log.exception("what may be read from this model is not known; usability() fails")
        return
    if usability.is_noise:
        log.warning(usability.warning)
