"""H3 and geohash: every point of a region is in one cell, the one that it should be in."""

from __future__ import annotations

import sys

import h3
import numpy as np
import pytest
import shapely

import privtrace as pt
from privtrace import coordinates
from privtrace.trajectories import Floats
from privtrace.zones import cells, read_zones

REGIONS = {
    "box": pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat"),
    "polygon": pt.Region.polygon(
        [[[2.0, 48.5], [2.6, 48.6], [2.4, 49.0], [2.1, 48.9], [2.0, 48.5]],
         [[2.2, 48.6], [2.3, 48.6], [2.3, 48.7], [2.2, 48.6]]], crs="lonlat"),
    "antimeridian": pt.Region.box(177, -20, -178, -16, crs="lonlat"),
    "projected": pt.Region.box(-44_000, 160_000, -30_000, 168_000, crs="EPSG:3763"),
    "projected across": pt.Region.box(177, -20, -178, -16).for_data("EPSG:3832"),
}  # fmt: skip
SIZES = {
    "box": (8, 6),
    "polygon": (6, 5),
    "antimeridian": (4, 4),
    "projected": (8, 6),
    "projected across": (4, 4),
}


def points_in(region: pt.Region) -> Floats:
    bounds = region.bounds
    points = np.random.default_rng(1).uniform(bounds[:2], bounds[2:], (4000, 2))
    points[:, 0] = region.wrap(points[:, 0])
    return points[region.contains(points)]


def geohash_at(longitude: float, latitude: float, length: int) -> str:
    """Spell a geohash the plain way, halving as its inventor describes."""
    spans, bits = [[-180.0, 180.0], [-90.0, 90.0]], ""
    for bit in range(5 * length):
        span, value = spans[bit % 2], (longitude, latitude)[bit % 2]
        middle = sum(span) / 2
        bits += str(int(value >= middle))
        span[1 - int(bits[-1])] = middle
    letters = "0123456789bcdefghjkmnpqrstuvwxyz"
    return "".join(letters[int(bits[at : at + 5], 2)] for at in range(0, len(bits), 5))


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("coarser", [0, 2, 3])
def test_every_point_is_in_its_geohash_cell_alone(name: str, coarser: int) -> None:
    region, length = REGIONS[name], SIZES[name][1] - coarser
    zones, points = read_zones(f"geohash:{length}", region), points_in(region)
    found, cell = zones.of_points(points)
    np.testing.assert_array_equal(found, np.arange(len(points)))
    degrees = coordinates.transformed(points, region.crs or "", "lonlat")
    wanted = [geohash_at(*point, length) for point in degrees.tolist()]
    same = np.array(wanted) == np.array(zones.names)[cell]
    assert same.all() if region.crs == "lonlat" else same.mean() > 0.99  # straight sides there are not here
    assert list(zones.names) == sorted(set(zones.names)) and zones.title == f"geohash cells of length {length}"


@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("coarser", [0, 2, 4])
def test_every_point_is_in_its_h3_cell_alone(name: str, coarser: int) -> None:
    region, resolution = REGIONS[name], SIZES[name][0] - coarser
    zones, points = read_zones(f"h3:{resolution}", region), points_in(region)
    found, cell = zones.of_points(points)
    np.testing.assert_array_equal(found, np.arange(len(points)))
    degrees = coordinates.transformed(points, region.crs or "", "lonlat")
    wanted = [h3.latlng_to_cell(y, x, resolution) for x, y in degrees.tolist()]
    same = np.mean(np.array(wanted) == np.array(zones.names)[cell])
    assert same > (0.999 if resolution > 4 else 0.95)  # sides are arcs, which show in large cells
    assert zones.title == f"H3 cells of resolution {resolution}" and zones.covered == pytest.approx(1)


@pytest.mark.parametrize("given", ["h3:6", "geohash:5"])
def test_all_cells_meet_the_region_and_none_overlaps(given: str) -> None:
    zones = read_zones(given, REGIONS["polygon"])
    shape = REGIONS["polygon"].shape
    assert shape is not None
    outline = shapely.MultiPolygon([(outer, holes) for outer, *holes in shape.parts])
    assert (shapely.area(shapely.intersection(zones.polygons, outline)) > 0).all()
    again = type(zones)(zones.region, zones.names, zones.polygons, zones.title)
    assert zones.apart and not zones.overlaps and not again.overlaps


def test_cells_that_only_touch_the_region_are_left_out() -> None:
    exact = pt.Region.box(0, 0, 1.40625, 1.40625, crs="lonlat")  # a cell of geohash:3
    assert read_zones("geohash:3", exact).names == ("s00",)
    assert len(read_zones("GeoHash:4", exact)) == 32


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("h3:16", "--zones h3:16: the resolution must be a whole number from 0 to 15"),
        ("geohash:0", "the length must be a whole number from 1 to 12"),
        ("h3:", "must be a whole number"),
        ("h3:-1", "must be a whole number"),
        ("h3:15", r"about 199,\d{3},\d{3} of these cells, more than the limit of 200,000; choose larger cells"),
        ("geohash:12", r"about 3\d\d,\d{3},\d{3},\d{3} of these cells"),
        ("geohash:8", r"about [\d,]+ of these cells"),
    ],
)
def test_what_cannot_be_is_refused(given: str, words: str) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        read_zones(given, REGIONS["box"])


def test_the_limit_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("h3:8", "geohash:6"):
        number = len(read_zones(given, REGIONS["box"]))
        monkeypatch.setattr(cells, "MAX_CELLS", number)
        assert len(read_zones(given, REGIONS["box"])) == number
        monkeypatch.setattr(cells, "MAX_CELLS", number - 1)
        with pytest.raises(pt.SettingsError, match=f"has {number} of these cells"):
            read_zones(given, REGIONS["box"])
        monkeypatch.undo()


def test_cells_around_a_pole_are_refused() -> None:
    for west, cells_there in ((0, "h3:1"), (-60, "h3:1"), (-60, "geohash:1")):
        north = pt.Region.box(west, 75, west + 50, 84, crs="lonlat")
        assert read_zones(cells_there, north).covered == pytest.approx(1)
        with pytest.raises(pt.SettingsError, match="--zones h3:0: one of these cells has a pole inside"):
            read_zones("h3:0", north)
    assert read_zones("h3:0", REGIONS["antimeridian"]).covered == pytest.approx(1)


def test_cells_need_a_place_on_earth_a_package_and_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pt.SettingsError, match="--zones h3:8: the region is planar"):
        read_zones("h3:8", pt.Region.box(0, 0, 10, 10, crs="planar"))
    with pytest.raises(pt.SettingsError, match="leave out --zone-id"):
        read_zones("h3:8", REGIONS["box"], "NAME")
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(
        pt.MissingExtra, match=r"--zones h3:8 needs the zones extra: pip install 'privtrace\[zones\]'"
    ):
        read_zones("h3:8", REGIONS["box"])
    assert len(read_zones("geohash:6", REGIONS["box"])) > 100
