"""Choose what the points of a file mean: what was declared, else what the file says of its system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privtrace import coordinates
from privtrace.errors import DataError
from privtrace.io.columns import Declared
from privtrace.trajectories import Crs


def meaning(path: Path, described: Any, declared: Declared) -> Crs:
    """Choose what points mean, given the system of a file as PROJJSON, None if it names none."""
    found = declared.crs or coordinates.meaning(described)
    if found is None:
        raise DataError(
            f"{path}: its coordinate system is neither planar nor close to WGS 84; convert it to EPSG:4326, "
            f"or declare it with {declared.either_crs}"
        )
    return found
