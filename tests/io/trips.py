"""A few trajectories that are hard on formats, and what it means that none of it was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import privtrace as pt

_TEXT = np.dtypes.StringDType()


def trips(kind: str, crs: Any = "lonlat", about: Mapping[str, str] | None = None) -> pt.Trajectories:
    """Give three trajectories: one over the antimeridian, one of one point, one that stands still.

    Their times are calendar times or numbers, and with the first go users and ids that are text; a bare one has
    neither users nor times.
    """
    points = [[179.99, -17.5], [-179.995, -17.6], [-179.9, -17.123457], [-8.61, 41.14], [5, 6], [5, 6]]
    offsets = np.array([0, 3, 4, 6])
    calendar = np.datetime64("2024-02-28T23:59:45.250", "ms") + 15_000 * np.arange(6)
    times = {"calendar": calendar, "numbers": np.arange(6) * 1.5 + 1e9, "bare": None}[kind]
    users = {
        "calendar": np.array(["ann", "", 'b<o&b "7"\\'], _TEXT),
        "numbers": np.array([3, np.iinfo(np.int64).min, 1]),
        "bare": None,
    }[kind]
    ids = np.array(["a", "ü/2", "c d"], _TEXT) if kind == "calendar" else np.array([11, 7, 2**53 + 1])
    return pt.Trajectories(points, offsets, times, users, ids, crs, about=about or {})


def assert_same(found: pt.Trajectories, given: pt.Trajectories, *, ids_as_text: bool = False) -> None:
    """Compare everything; formats without types give ids and users back as text."""
    assert found.crs == given.crs
    np.testing.assert_array_equal(found.offsets, given.offsets)
    np.testing.assert_array_equal(found.points, given.points)
    for name in ("ids", "users"):
        wanted = getattr(given, name)
        if ids_as_text and wanted is not None and wanted.dtype.kind == "i":
            wanted = np.where(wanted == np.iinfo(np.int64).min, "", wanted.astype(_TEXT))
        np.testing.assert_array_equal(getattr(found, name), wanted)
    if given.times is None:
        assert found.times is None
    else:
        assert found.times is not None
        np.testing.assert_array_equal(found.times, given.times)
