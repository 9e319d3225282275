"""Load the packages of frames, and check what is handed over."""

from __future__ import annotations

import warnings
from types import ModuleType

from privtrace.errors import DataError
from privtrace.io.extras import require


def load(module: str, what: str, extra: str | None = None) -> ModuleType:
    """Import a package that an extra installs, or one that belongs to none."""
    with warnings.catch_warnings():
        # MovingPandas misses a package for smoothing, on every import, and says so.
        warnings.filterwarnings("ignore", "Missing optional dependencies", UserWarning)
        return require(module, what, extra)


def check_kind(what: str, given: object, *kinds: type) -> None:
    """Refuse what is something else than a function takes."""
    if not isinstance(given, kinds):
        names = " or ".join(f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in kinds)
        raise DataError(f"{what} takes a {names}, not a {type(given).__name__}")
