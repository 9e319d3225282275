"""Real trips go to each format and back without a loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import privtrace as pt

pytestmark = pytest.mark.data

NAMES = {
    "geoparquet": "a.geoparquet",
    "geoparquet-lines": "lines.parquet",
    "gpkg": "a.gpkg",
    "geojson": "a.geojson",
    "mfjson": "a.mfjson",
    "gpx": "a.gpx.gz",
}


@pytest.mark.parametrize("format", NAMES)
def test_porto_there_and_back(format: str, real_data: Path, tmp_path: Path) -> None:
    given = next(pt.read(real_data / "porto_taxi.parquet").parts())[:2000]
    if given.times is None:
        given = pt.Trajectories(given.points, given.offsets, np.arange(given.n_points) * 15.0, ids=given.ids)
    pt.write(given, tmp_path / NAMES[format], format=format)
    found = pt.read(tmp_path / NAMES[format]).collect()
    np.testing.assert_array_equal(found.offsets, given.offsets)
    np.testing.assert_array_equal(found.points, given.points)
    assert [str(name) for name in found.ids.tolist()] == [str(name) for name in given.ids.tolist()]
    seconds = [
        times.astype("datetime64[us]").astype(int) / 1e6 if times.dtype.kind == "M" else times
        for times in (found.times, given.times)
    ]
    np.testing.assert_array_equal(*seconds)
