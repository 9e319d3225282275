"""Measure how much memory a process took on for a piece of work, where the system tells it."""

from __future__ import annotations

import math
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_FORGET = Path("/proc/self/clear_refs")


class Memory:
    """Note what the process holds now, so that the most that it holds from here on can be told."""

    def __init__(self) -> None:
        with suppress(OSError):  # not on Linux, or not allowed: an earlier peak may then hide this one
            _FORGET.write_text("5")
        self._before_mb = _held_mb()

    def grown_mb(self) -> float:
        """Tell how much more was held at most; NaN where the system does not say."""
        return max(_peak_mb() - self._before_mb, 0.0)


def _held_mb() -> float:
    """Read what the process holds now; what it held at most, where only that is known."""
    return _line_mb("VmRSS:") if _STATUS.exists() else _peak_mb()


def _peak_mb() -> float:
    if _STATUS.exists():
        return _line_mb("VmHWM:")
    try:
        import resource
    except ImportError:  # on Windows
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _line_mb(name: str) -> float:
    return int(_STATUS.read_text().partition(name)[2].split()[0]) / 1024
