"""Polygons at the door: what GeoJSON may say, one canonical form, and refusals that say what and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.polygons import SHAPES, mixed, oracle, region, shaped, square

import privtrace as pt
from privtrace.space.polygon import Polygon


def geometry(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


WEST, EAST = square(0, 0, 1), square(1, 0, 1)  # two districts that share a border
UNITED = pt.Region.polygon([[[0, 0], [1, 0], [2, 0], [2, 1], [1, 1], [0, 1], [0, 0]]])


@pytest.mark.parametrize(
    "given",
    [
        [[WEST], [EAST]],
        [[WEST[::-1]], [EAST[2:] + EAST[1:3]]],  # turned the other way, started elsewhere
        geometry("MultiPolygon", coordinates=[[WEST], [EAST]]),
        geometry(
            "FeatureCollection",
            features=[
                geometry("Feature", geometry=geometry("Polygon", coordinates=[ring]), properties={})
                for ring in (EAST, WEST)
            ],
        ),
        geometry(
            "GeometryCollection",
            geometries=[
                geometry("Polygon", coordinates=[WEST]),
                geometry("MultiPolygon", coordinates=[[EAST]]),
            ],
        ),
        [[[[x, y, 17.5] for x, y in WEST]], [EAST]],  # heights do not matter
        [[np.array(WEST)], [np.array(EAST)]],
    ],
)
def test_districts_become_one_area_however_they_are_written(given: Any) -> None:
    made = pt.Region.polygon(given)
    assert made == UNITED and hash(made) == hash(UNITED)
    assert made.shape is not None and made.shape.area == 2
    assert str(made) == "0,0,2,1 (a polygon of 1 part and 6 vertices)"


def test_holes_are_kept_and_vertices_of_parts_that_are_apart_too() -> None:
    for seed in range(5):
        shape = pt.Region.polygon(mixed(seed)).shape
        assert shape is not None
        again = shaped(shape.coordinates)
        assert again.equals(shaped(mixed(seed))) and len(shape.parts) == 4
        assert {p for ring in shape.rings for p in ring} == {
            tuple(p) for part in mixed(seed) for ring in part for p in ring
        }
        assert Polygon.of(shape.parts) == shape
        assert "4 parts, 1 hole and" in repr(shape) and len(repr(shape)) < 60
        for part in again.geoms:  # as RFC 7946 turns them
            assert part.exterior.is_ccw and not any(hole.is_ccw for hole in part.interiors)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (geometry("Point", coordinates=[0, 0]), "not Point"),
        (geometry("Feature", geometry=None), "not None"),
        (geometry("LineString", coordinates=[[0, 0], [1, 1]]), "must be a Polygon"),
        ({}, "must be a Polygon"),
        (geometry("FeatureCollection", features=[]), "no polygon"),
        (geometry("FeatureCollection", features={}), "must be a list"),
        (geometry("Polygon"), "must be a list"),
        (geometry("Polygon", coordinates=[]), "at least one ring"),
        (geometry("MultiPolygon", coordinates=[]), "no polygon"),
        ([], "list of rings"),
        ([[0, 0], [1, 1]], "list of rings"),
        ("0,0,1,1", "list of rings"),
        (7, "list of rings"),
        ([[[0, 0], [1, 0], [0, 0]]], "3 points has no area"),
        ([[[0, 0], [1, 0], [1, 1], [0, 1]]], "not closed"),
        ([[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]], r"at 0\.5, 0\.5 \(self-intersection"),
        ([[[0, 0], [1, 0], [2, 0], [0, 0]]], "not valid|no area"),
        ([[[0, 0], [0, 0], [0, 0], [0, 0]]], "not valid|no area"),
        ([square(0, 0, 1), square(5, 5, 1)], "not valid at 5, 5"),
        ([[[0, 0], [1, "a"], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1, True], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1, None], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1, float("nan")], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1, float("inf")], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], [1, 10**400], [1, 1], [0, 0]]], "two numbers"),
        ([[[0, 0], 3, [1, 1], [0, 0]]], "a point must be a list"),
        ([[[0, 0], [10, 10], [10, 10.000000001], [0, 0]]], "Is it a line"),
        ([[[0, 0]] * 100_002], "more than 100,000"),
        (geometry("Polygon", coordinates=[WEST], crs={"properties": {"name": "EPSG:3763"}}), "EPSG:3763"),
    ],
)
def test_what_is_not_an_area_is_refused_in_words(given: Any, word: str) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        pt.Region.polygon(given)


def test_deeply_nested_geojson_is_refused() -> None:
    given = geometry("Polygon", coordinates=[WEST])
    for _ in range(100_000):
        given = geometry("GeometryCollection", geometries=[given])
    with pytest.raises(pt.SettingsError, match="too deeply"):
        pt.Region.polygon(given)


def test_an_old_crs_member_of_longitude_and_latitude_is_taken() -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    assert pt.Region.polygon(geometry("Polygon", coordinates=[WEST], crs=crs)).crs == "lonlat"
    with pytest.raises(pt.SettingsError, match="make them agree"):
        pt.Region.polygon(geometry("Polygon", coordinates=[WEST], crs=crs), crs="planar")


def test_files_are_read_and_faults_name_them(tmp_path: Path) -> None:
    path = tmp_path / "town.geojson"
    path.write_text("\ufeff" + json.dumps(geometry("MultiPolygon", coordinates=[[WEST], [EAST]])))
    assert pt.Region.read(path) == pt.Region.parse(str(path)) == UNITED
    (tmp_path / "town").write_bytes(path.read_bytes())
    assert pt.Region.parse(str(tmp_path / "town")) == UNITED  # whatever it is called
    for content, word in [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'{"type": "Point"}', "not Point"),
        (b"[1, 2]", "list of rings"),
    ]:
        path.write_bytes(content)
        with pytest.raises(pt.SettingsError, match=word) as caught:
            pt.Region.parse(str(path))
        assert str(path) in str(caught.value)
    for name in ("none.geojson", ""):
        with pytest.raises(pt.SettingsError, match="cannot be read"):
            pt.Region.read(tmp_path / name)
    with pytest.raises(pt.SettingsError, match=r"four numbers.*or the name of a file with polygons"):
        pt.Region.parse(str(tmp_path / "none"))


@pytest.mark.parametrize("name", SHAPES)
def test_points_are_inside_as_shapely_has_it(name: str) -> None:
    points = np.random.default_rng(0).uniform(-1, 11, (20_000, 2))
    assert np.array_equal(region(name).contains(points), shapely.contains_xy(oracle(name), points))


@settings(max_examples=60, deadline=None)
@given(
    corners=st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=9, unique=True
    ).filter(lambda c: shapely.Polygon(c).is_valid and shapely.Polygon(c).area > 0)
)
def test_a_point_on_the_border_belongs_to_one_side_of_it(corners: list[tuple[int, int]]) -> None:
    """A box cut in two along any polygon's border: each point is in exactly one of the two."""
    inner = [*corners, corners[0]]
    outer = [[-1, -1], [9, -1], [9, 9], [-1, 9], [-1, -1]]
    within, around = pt.Region.polygon([inner]), pt.Region.polygon([outer, inner])
    points = np.stack(np.meshgrid(np.arange(0, 8.5, 0.5), np.arange(0, 8.5, 0.5)), axis=-1).reshape(-1, 2)
    assert np.array_equal(within.contains(points), ~around.contains(points))


def test_a_border_of_many_long_edges_is_looked_up_too() -> None:
    """A comb: every tooth is as high as the region, so bands must stay few and still be right."""
    n = 2000
    teeth = [(i, 1.0 if i % 2 else 0.0) for i in range(2 * n + 1)]
    comb = [[*teeth, (2.0 * n, 2.0), (0.0, 2.0), teeth[0]]]
    made = pt.Region.polygon(comb, crs="planar")
    assert len(made.area.edges) < 12 * n * 2
    points = np.random.default_rng(1).uniform((0, 0), (2 * n, 2), (3000, 2))
    assert np.array_equal(made.contains(points), shapely.contains_xy(shapely.Polygon(comb[0]), points))


def test_slanting_edges_that_would_take_minutes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The boxes of slanting teeth all overlap, so that each two are compared; those of upright ones do not."""
    teeth = np.array([(i, 0.0 if i % 2 else 1000.0) for i in range(401)])
    upright = np.array([*teeth, (400, 2000), (0, 2000), teeth[0]])
    slanting = upright + np.stack([upright[:, 1], np.zeros(len(upright))], axis=1)
    monkeypatch.setattr("privtrace.space.geojson._MAX_PAIRS", 1 << 14)
    assert pt.Region.polygon([upright.tolist()]).shape is not None
    with pytest.raises(pt.SettingsError, match="too many long edges"):
        pt.Region.polygon([slanting.tolist()])
