"""Regions: checks at the door, meters, and counting what lies inside."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import trajectories

import privtrace as pt
from privtrace.errors import SettingsError
from privtrace.space.region import Region


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "cannot be taken from the data"),
        ("", "cannot be taken from the data"),
        ("1,2,3", "four numbers"),
        ("1,2,3,x", "north must be a number"),
        ("3,2,1,4", "empty"),
        ("1,2,1,4", "empty"),
        ("nan,2,1,4", "finite"),
        ("0,0,inf,4", "finite"),
        ("0,0,1e-9,4", "too small or too large"),
        ("0,0,1e12,4", "too small or too large"),
    ],
)
def test_bad_regions_are_refused_in_words(text: str | None, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        Region.parse(text).for_data("planar")


def test_text_goes_round() -> None:
    region = Region.parse("-8.70,41.10,-8.54,41.22")
    assert region == Region.box(-8.70, 41.10, -8.54, 41.22) and str(region) == "-8.7,41.1,-8.54,41.22"


def test_the_region_takes_the_datas_coordinates() -> None:
    box = Region.box(0, 3500, 24000, 31000)
    assert box.for_data("planar").crs == "planar"
    with pytest.raises(SettingsError, match="not in degrees"):
        box.for_data("lonlat")
    with pytest.raises(SettingsError, match="make them agree"):
        Region.box(0, 0, 1, 1, crs="planar").for_data("lonlat")


@pytest.mark.parametrize(
    "box", [(-8.70, 41.10, -8.54, 41.22), (116.15, 39.8, 116.55, 40.1), (24, 66, 24.3, 66.2)]
)
def test_meters_agree_with_geodesics(box: tuple[float, float, float, float]) -> None:
    from pyproj import Geod

    region = Region.box(*box, crs="lonlat")
    geod = Geod(ellps="WGS84")
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    assert region.width_m == pytest.approx(geod.inv(box[0], y, box[2], y)[2], rel=1e-4)
    assert region.height_m == pytest.approx(geod.inv(x, box[1], x, box[3])[2], rel=1e-4)


def test_the_tally_counts_trajectories_bad_points_and_points_outside() -> None:
    given = trajectories(
        [(1, 1), (11, 1)], [(12, 12)], [(np.nan, 1), (5, np.inf)], [], [(0, 10), (10, 0), (-0.001, 3)]
    )
    assert Region.box(0, 0, 10, 10, crs="planar").tally(given).tolist() == [5, 2, 3, 3, 2, 3]


def test_impossible_degrees_are_bad_points() -> None:
    given = trajectories([(8, 400), (8, 53), (200, 53), (8, 53.1)], crs="lonlat")
    assert pt.Region.box(7, 52, 9, 54, crs="lonlat").tally(given).tolist() == [1, 1, 2, 0, 2, 0]
