"""Read and write epsilon exactly: as the decimal text that it was given as, never through floating point."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from privtrace.errors import SettingsError
from privtrace.privacy.unit import MAX_SCALE

Epsilon: TypeAlias = str | int | float | Decimal | Fraction

#: How an exact number may be written, and how small and large it may be.
MOST_DIGITS = 80
_NUMBER = re.compile(r"\d{1,80}(\.\d{0,80})?([eE][+-]?\d{1,2})?|\d{1,80}/0*[1-9]\d{0,79}")
_LEAST, _MOST = Fraction(1, 10**9), Fraction(10**6)

#: Above this a promise is thin: one unit may change a probability by a factor of more than 20,000.
LARGE_EPSILON = 10


def exact(value: Epsilon, name: str = "epsilon") -> Fraction:
    """Read a positive number exactly as its decimal text: exact(0.1) -> 1/10; or as a ratio: "1/3"."""
    text = str(value)
    # Checked before it is computed: the exact value of 1e999999999 would fill the memory.
    if not _NUMBER.fullmatch(text) or (number := Fraction(text)) == 0:
        raise SettingsError(f"{name} must be a positive decimal number like 0.5, not {text[:40]!r}")
    if not _LEAST <= number <= _MOST:
        raise SettingsError(f"{name} must be from {float(_LEAST):g} to {float(_MOST):g}, not {text[:40]}")
    return number


def listed(values: Epsilon | Iterable[Epsilon]) -> list[str]:
    """Write epsilons in their plain form, each once: one, several, or several in one text."""
    if isinstance(values, str):
        values = [text.strip() for text in values.split(",")]
    given = values if isinstance(values, Iterable) else [values]
    return [*dict.fromkeys(decimal(exact(value)) for value in given)]


def decimal(value: Fraction) -> str:
    """Write a fraction for a reader: as a decimal where that is exact and short, else as a ratio."""
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value else str(value)


def check_scale(stage: str, sensitivity: int, epsilon: Fraction) -> None:
    """Refuse a share of epsilon that is too small for noise to be drawn."""
    if epsilon <= 0 or Fraction(sensitivity) / epsilon > MAX_SCALE:
        raise SettingsError(
            f"the stage {stage!r} gets epsilon {decimal(epsilon)}, which is too small to work with; "
            "give a larger epsilon or share"
        )
