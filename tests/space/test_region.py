"""Regions: checks at the door, meters, and counting what lies inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import trajectories

import privtrace as pt
from privtrace.errors import SettingsError
from privtrace.space.area import Tally, added
from privtrace.space.region import Region


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (None, "Do not take it from the data"),
        ("", "Do not take it from the data"),
        ("1,2,3", "four numbers"),
        ("1,2,3,x", "north must be a number"),
        ("3,2,1,4", "is its west really east of its east"),
        ("3,4,1,2", "empty"),
        ("1,4,3,2", "empty"),
        ("1,2,1,4", "empty"),
        ("nan,2,1,4", "finite"),
        ("0,0,inf,4", "finite"),
        ("0,0,1e-9,4", "too small or too large"),
        ("0,0,1e12,4", "too small or too large"),
        ("1e9,1e9,1000000000.5,1000000010", "too small or too large"),
        ("1e300,0,2e300,1", r"must be from 1e-06 to 1e\+09"),
        ("-1.7e308,0,1.7e308,1", "too small or too large"),
        ("1e-9,1e-9,2e-9,2e-9", "too small or too large"),
        ("170,-20,-170,-10", "is its west really east of its east"),
    ],
)
def test_bad_regions_are_refused_in_words(text: str | None, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        Region.parse(text).for_data("planar")


@pytest.mark.parametrize("side", [None, "a", [1], 10**400, 1j])
def test_sides_that_are_no_numbers_are_refused_in_words(side: Any) -> None:
    with pytest.raises(SettingsError, match="west must be a number"):
        Region.box(side, 0, 1, 1)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("-8.54,41.10,-8.70,41.22", "is its west really east of its east"),  # the other way round the globe
        ("170,-20,190,-10", "across the antimeridian"),
        ("200,0,210,1", "not in degrees"),
        ("0,80,10,91", "not in degrees"),
        ("41.10,-98.7,41.22,-98.5", "order W,S,E,N"),
        ("0,84,10,86", "too near to a pole"),
        ("-10,-90,10,-60", "too near to a pole"),
        ("-180,-90,180,90", "too near to a pole"),
        ("0,0,10,80", "too large"),
        ("-10,-50,10,80", "too large"),
        ("-180,-50,180,50", "too large"),
        ("0,0,0.00005,1", "Is it in degrees"),
        ("0,0,1,0.00005", "Is it in degrees"),
        ("180,0,-180,1", "Is it in degrees"),
    ],
)
def test_boxes_that_cannot_be_mapped_are_refused_in_words(text: str, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        Region.parse(text).for_data("lonlat")


@pytest.mark.parametrize(
    "text", ["-180,-20,-170,-10", "170,-20,180,-10", "100,60,-169,75", "0,-75,1,75", "15,74,33,81"]
)
def test_boxes_that_can_be_mapped_are_taken(text: str) -> None:
    assert str(Region.parse(text).for_data("lonlat")) == text


def test_a_box_across_the_antimeridian_is_as_wide_as_elsewhere() -> None:
    across, elsewhere = (Region.box(w, -20, e, -10, crs="lonlat") for w, e in ((170, -165), (0, 25)))
    assert across.width_m == elsewhere.width_m and across.bounds.tolist() == [170, -20, 195, -10]
    points = np.array([(170, -15), (180, -15), (-180, -15), (-165, -15), (169, -15), (-164, -15), (10, -15)])
    assert across.contains(points).tolist() == [True] * 4 + [False] * 3
    assert across.unwrap(points)[:, 0].tolist() == [170, 180, 180, 195, 529, 196, 370]


def test_polygons_that_were_cut_at_the_antimeridian_are_joined() -> None:
    """Fiji and Chukotka come in two pieces, as the GeoJSON standard asks."""
    eastern = [[[178, -20], [180, -20], [180, -15], [178, -16], [178, -20]]]
    western = [[[-180, -20], [-178, -20], [-178, -16], [-180, -15], [-180, -20]]]
    joined = Region.polygon([eastern, western])
    assert (joined.west, joined.east) == (-180, 180) and joined.crs is None
    region = joined.for_data("lonlat")
    assert (region.west, region.east) == (178, -178) and region.shape is not None
    assert len(region.shape.parts) == 1 and region.shape.area == pytest.approx(18)
    whole = [[[178, -20], [182, -20], [182, -16], [180, -15], [178, -16], [178, -20]]]
    for written in (whole, [[[x - 360, y] for x, y in whole[0]]]):
        assert Region.polygon(written, crs="lonlat").shape.area == pytest.approx(18)  # type: ignore[union-attr]
    points = np.array([(179, -18), (-179, -18), (180, -18), (-180, -18), (177, -18), (-177, -18), (0, -18)])
    assert region.contains(points).tolist() == [True] * 4 + [False] * 3
    assert region.for_data("lonlat") == region
    with pytest.raises(SettingsError, match="too large"):
        Region.polygon([[[-170, 0], [170, 0], [170, 9], [-170, 9], [-170, 0]]], crs="lonlat")


def test_no_fix_is_a_bad_point_in_degrees_and_a_place_on_the_plane() -> None:
    lists = [(0, 0), (0.5, 0), (0, 0), (0.5, 0.5), (-0.0, 0.0)]
    box = (-1, -1, 1, 1)
    assert Region.box(*box, crs="lonlat").tally(trajectories(lists, crs="lonlat"))[2:5] == (2, 0, 3)
    assert Region.box(*box, crs="planar").tally(trajectories(lists))[2:5] == (5, 0, 0)


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
    assert Region.box(0, 0, 10, 10, crs="planar").tally(given)[:6] == (5, 2, 3, 3, 2, 3)


def test_tallies_of_parts_add_up() -> None:
    region = Region.box(0, 0, 10, 10, crs="planar")
    given = trajectories([(1, 1), (11, 1)], [(12, 12), (np.nan, 1)], [(0, 10), (10, 0)], [(-1, 3)])
    whole = region.tally(given)
    assert added(region.tally(part) for part in (given[:1], given[1:3], given[3:])) == whole
    assert whole.n_points == given.n_points and added([]) == Tally()


def test_the_tally_sees_swapped_axes_even_where_they_are_impossible() -> None:
    beijing = Region.box(116, 39, 117, 41, crs="lonlat")
    given = trajectories([(39.9, 116.4), (40, 116.5), (5, 5)], [(116.4, 39.9)], crs="lonlat")
    assert beijing.tally(given)[:7] == (2, 1, 1, 1, 2, 2, 2)


def test_impossible_degrees_are_bad_points() -> None:
    given = trajectories([(8, 400), (8, 53), (200, 53), (8, 53.1)], crs="lonlat")
    assert pt.Region.box(7, 52, 9, 54, crs="lonlat").tally(given)[:7] == (1, 1, 2, 0, 2, 0, 0)


def test_the_tally_tells_meters_from_degrees_by_the_region() -> None:
    given = trajectories(
        [(500_000, 4_500_000), (np.inf, 4_500_000), (351, 41), (-8.6, 41.1), (0, 0)], [(8, 400)]
    )
    for box, crs, n_meters, n_degrees in [
        ((-9, 41, -8, 42), "lonlat", 2, 0),
        ((-9, 41, -8, 42), "planar", 2, 0),
        ((500_100, 4_500_100, 510_000, 4_510_000), "planar", 0, 1),
    ]:
        found = Region.box(*box, crs=crs).tally(given)
        assert (found.n_meters, found.n_degrees) == (n_meters, n_degrees), (box, crs)


def test_the_tally_measures_how_much_of_the_region_points_cover() -> None:
    spread = trajectories(np.random.default_rng(1).uniform((1, 2), (5, 4), (4000, 2)))
    for box, share in [((1, 2, 5, 4), 1.0), ((0, 0, 10, 10), 0.08), ((-3, 0, 37, 20), 0.01)]:
        region = Region.box(*box, crs="planar")
        parts = [trajectories(spread.points[:1000]), trajectories(spread.points[1000:])]
        assert added(map(region.tally, parts)).covered == pytest.approx(share, rel=0.05)
    assert Tally().covered == 0
