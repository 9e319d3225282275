"""Keep names that were replaced for one more version: they still work, with a note."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

_UNTIL = "the old name will be removed in version 0.3"

#: Keys of JSON, and what they are called now: those of evaluations, and those of explanations.
EVALUATED = {"ceiling": "baseline"}
EXPLAINED = {**EVALUATED, "sampling": "limit"}


def deprecated(keys: Mapping[str, str]) -> dict[str, str]:
    """Say what JSON with old keys says of them."""
    return {old: f"renamed to {new}; {_UNTIL}" for old, new in keys.items()}


def with_old_keys(entry: dict[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """Repeat the values of an entry under the keys that they used to have."""
    return entry | {old: entry[new] for old, new in keys.items()}


def renamed(old: str, new: str) -> Any:
    """Make a property of an old name that warns, and gives what the new one does."""

    def get(self: Any) -> Any:
        text = f"{type(self).__name__}.{old} was renamed to {new}; {_UNTIL}"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"Return what is now called {new}.")
