"""Check what a model file holds, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from privtrace.errors import ModelFormatError
from privtrace.privacy.ledger import CLAMP
from privtrace.trajectories import Integers


def check_sound(checks: Mapping[str, bool]) -> None:
    """Refuse a model of which an array does not fit the rest."""
    for name, good in checks.items():
        if not good:
            raise ModelFormatError(f"the model's {name} does not match the rest of it; the file is not valid")


def within_limits(noisy: Integers) -> bool:
    """Tell whether numbers are as the ledger gives them."""
    return bool(np.all((noisy >= -CLAMP) & (noisy <= CLAMP)))
