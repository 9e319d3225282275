"""Bring settings to plain Python numbers at the door, so that they mean and are written the same everywhere."""

from __future__ import annotations

import math
import operator
from typing import Any

from privtrace.errors import SettingsError


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Read a whole number within limits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise SettingsError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return number


def positive(value: Any, name: str) -> float:
    """Read a positive number that arithmetic can bear."""
    try:
        number = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 1e-12 <= number <= 1e12:
        raise SettingsError(f"{name} must be a positive number from 1e-12 to 1e12, not {value!r}")
    return number


def flag(value: Any, name: str) -> bool:
    """Read yes or no."""
    if type(value) is not bool:
        raise SettingsError(f"{name} must be True or False, not {value!r}")
    return value
