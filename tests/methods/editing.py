"""Edit model files that were taken apart: settings and arrays, as a test needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

#: Changes a header and arrays in place.
Edit: TypeAlias = Callable[[dict[str, Any], dict[str, np.ndarray]], None]


def setting(**changes: Any) -> Edit:
    """Change settings."""
    return lambda header, arrays: header["settings"].update(changes)


def array(name: str, value: int, place: int = 0) -> Edit:
    """Change one number of an array."""
    return lambda header, arrays: arrays[name].reshape(-1).__setitem__(place, value)


def given(name: str, change: Callable[[np.ndarray], Any]) -> Edit:
    """Put something else in the place of an array."""

    def edit(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = np.array(change(arrays[name]), arrays[name].dtype)
        next(entry for entry in header["arrays"] if entry[0] == name)[2] = list(arrays[name].shape)

    return edit
