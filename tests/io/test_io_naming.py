"""Columns can be named as scikit-mobility names them, in all formats that have columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.io.trips import assert_same, trips

import privtrace as pt

NAMES = ["a.csv", "a.tsv.gz", "a.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_the_names_and_nothing_is_lost(name: str, tmp_path: Path) -> None:
    given = trips("calendar")
    pt.write(given, tmp_path / name, names="scikit-mobility")
    read = {".parquet": pd.read_parquet, ".csv": pd.read_csv, ".gz": lambda path: pd.read_csv(path, sep="\t")}
    frame = read[(tmp_path / name).suffix](tmp_path / name)
    assert list(frame.columns) == ["uid", "tid", "datetime", "lat", "lng"]
    np.testing.assert_array_equal(frame[["lng", "lat"]], given.points)
    assert_same(pt.read(tmp_path / name).collect(), given)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_written_as_calendar_time_since_1970(name: str, tmp_path: Path) -> None:
    given = pt.Trajectories(np.ones((3, 2)), [0, 3], np.array([1.5, 1e9, np.inf]))
    pt.write(given, tmp_path / name, names="scikit-mobility")
    found = pt.read(tmp_path / name).collect().times
    assert found[:2].astype("datetime64[ms]").astype(int).tolist() == [1500, 10**12] and np.isnat(found[2])


def test_users_and_times_that_are_absent_have_no_column(tmp_path: Path) -> None:
    pt.write(trips("bare"), tmp_path / "a.csv", names="scikit-mobility")
    assert (tmp_path / "a.csv").read_text().startswith("tid,lat,lng\n")


def test_projected_points_become_longitude_and_latitude(tmp_path: Path) -> None:
    pt.write(trips("bare").to_crs("EPSG:3857"), tmp_path / "a.csv", names="scikit-mobility")
    np.testing.assert_allclose(pt.read(tmp_path / "a.csv").collect().points, trips("bare").points, atol=1e-6)


def test_what_has_no_such_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pt.OutputError, match=r"gpx has no columns to name .* write one of parquet, csv, tsv"):
        pt.write(trips("bare"), tmp_path / "a.gpx", names="scikit-mobility")
    with pytest.raises(pt.OutputError, match="unknown names 'pandas'; they must be those of scikit-mobility"):
        pt.write(trips("bare"), tmp_path / "a.csv", names="pandas")
    with pytest.raises(pt.OutputError, match="these points are planar"):
        pt.write(trips("bare", "planar"), tmp_path / "a.csv", names="scikit-mobility")
    assert list(tmp_path.iterdir()) == []
