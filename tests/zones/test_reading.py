"""Zones of a file: every format and system, ids as text, mended polygons, and refusals that say where."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.polygons import square

import privtrace as pt
from privtrace.zones import Zones, read_zones, reading

PORTO = pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat")
PLANE = pt.Region.box(0, 0, 10, 10, crs="planar")
WEST, EAST = shapely.box(-8.72, 41.1, -8.62, 41.3), shapely.box(-8.62, 41.1, -8.5, 41.3)
FORMATS = ["a.geojson", "a.gpkg", "a.shp", "a.fgb", "a.kml", "a.parquet"]


def frame(shapes: list[Any], crs: Any = 4326, **columns: Any) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(columns, geometry=shapes, crs=crs)


def written(made: gpd.GeoDataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        made.to_parquet(path)
    else:
        options: dict[str, Any] = {"SPATIAL_INDEX": "NO"} if path.suffix == ".fgb" else {}
        with catch_warnings(action="ignore"):  # that there is no coordinate system
            made.to_file(path, **options)
    return path


def feature(shape: Any, **members: Any) -> dict[str, Any]:
    geometry = shape if isinstance(shape, dict | None) else shapely.geometry.mapping(shape)
    return {"type": "Feature", "geometry": geometry, "properties": None, **members}


def of_features(folder: Path, *features: Any, region: pt.Region = PLANE, **options: Any) -> Zones:
    """Read features of GeoJSON, each an id and a shape, or as it is."""
    listed = [one if isinstance(one, dict) else feature(one[1], properties={"ID": one[0]}) for one in features]
    path = folder / "some.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": listed}))
    return read_zones(path, region, **options)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("crs", [4326, 3763])
def test_every_format_and_system_gives_the_zones_in_their_order(name: str, crs: int, tmp_path: Path) -> None:
    made = frame([EAST, WEST], NAME=["Este", "Oeste"], code=[7, 8]).to_crs(crs)
    made = made.to_crs(4326) if name == "a.kml" else made
    path = written(made, tmp_path / name)
    zones = read_zones(path, PORTO, "NAME")
    assert zones.names == ("Este", "Oeste") and zones.title == "own zones by NAME"
    assert read_zones(str(path), PORTO, "code").names == ("7", "8")
    for polygon, wanted in zip(zones.polygons, (EAST, WEST), strict=True):
        assert polygon.symmetric_difference(wanted).area < 1e-8
    assert zones.covered == pytest.approx(1, abs=1e-6) and not zones.overlaps


@pytest.mark.parametrize("name", ["a.gpkg", "a.shp", "a.fgb", "a.parquet"])
def test_a_file_without_a_system_has_that_of_the_region(name: str, tmp_path: Path) -> None:
    bare = frame([shapely.box(0, 0, 5, 10)], None, n=[1])
    zones = read_zones(written(bare, tmp_path / name), PLANE)
    assert zones.polygons[0].bounds == (0, 0, 5, 10) and zones.areas.tolist() == [50]
    declared = written(frame([WEST], n=[1]), tmp_path / f"b{name}")
    with pytest.raises(pt.SettingsError, match=r"the zones are in lonlat, and the region is in planar"):
        read_zones(declared, PLANE)


def test_projected_regions_take_degrees_and_their_own_system(tmp_path: Path) -> None:
    region = PORTO.for_data("EPSG:3763")
    made = frame([EAST, WEST], NAME=["e", "w"]).to_crs(3763)
    own = read_zones(written(made, tmp_path / "own.gpkg"), region)
    degrees = read_zones(written(made.to_crs(4326), tmp_path / "degrees.geojson"), region)
    assert (own.polygons == made.geometry.to_numpy()).all()
    assert shapely.hausdorff_distance(own.polygons, degrees.polygons).max() < 0.01
    bare = {"type": "FeatureCollection", "features": json.loads(made.to_json())["features"]}
    (tmp_path / "bare.geojson").write_text(json.dumps(bare))
    assert read_zones(tmp_path / "bare.geojson", region).polygons[0].equals_exact(own.polygons[0], 1e-3)
    (km2,) = shapely.area(frame([EAST & shapely.box(*PORTO.bounds)]).to_crs(3763).geometry) / 1e6
    assert degrees.areas[0] == pytest.approx(km2, rel=1e-3)
    assert read_zones(tmp_path / "degrees.geojson", PORTO).areas[0] == pytest.approx(km2, rel=1e-3)


def test_features_of_one_id_are_one_zone(tmp_path: Path) -> None:
    shapes = [shapely.Polygon(square(x, 0, 1)) for x in (0, 5, 1)]
    zones = of_features(tmp_path, ("b", shapes[0]), ("a", shapes[1]), ("b", shapes[2]), ("a", None))
    assert zones.names == ("b", "a")
    assert zones.polygons[0].equals(shapely.box(0, 0, 2, 1)) and zones.polygons[1].equals(shapes[1])


@pytest.mark.parametrize("name", ["a.geojson", "a.gpkg", "a.shp", "a.parquet"])
def test_ids_are_text_and_whole_numbers_have_no_fraction(name: str, tmp_path: Path) -> None:
    shapes = [WEST, EAST]
    floats = frame(shapes, a=[1.0, 2.5], b=["001", "ü"], c=pd.array([10**15, 3]))
    path = written(floats, tmp_path / name)
    assert read_zones(path, PORTO, "a").names == ("1", "2.5")
    assert read_zones(path, PORTO, "b").names == ("001", "ü")
    assert read_zones(path, PORTO, "c").names == ("1000000000000000", "3")


def test_without_a_name_the_only_attribute_is_taken_or_the_id_of_features(tmp_path: Path) -> None:
    shape = shapely.Polygon(square(0, 0, 5))
    assert of_features(tmp_path, ("x", shape)).names == ("x",)
    assert of_features(tmp_path, feature(shape, id=7)).names == ("7",)
    several = feature(shape, id=7, properties={"a": 1, "b": 2})
    zones = of_features(tmp_path, several)
    assert zones.names == ("7",) and zones.title == "own zones by id"
    (tmp_path / "list.json").write_text(json.dumps([several]))
    assert read_zones(tmp_path / "list.json", PLANE, "b").names == ("2",)
    written(frame([WEST], Name=["Oeste"], other=["?"]), tmp_path / "a.kml")
    assert read_zones(tmp_path / "a.kml", PORTO).names == ("Oeste",)
    made = frame([WEST], id=[5])
    made.index = pd.Index([3], name=None)
    made["box"] = [{"xmin": 1.0}]
    made.to_parquet(tmp_path / "index.parquet", index=True)
    assert read_zones(tmp_path / "index.parquet", PORTO).names == ("5",)


def test_the_old_crs_member_is_read(tmp_path: Path) -> None:
    made = frame([WEST, EAST], NAME=["w", "e"])
    moved = written(made.to_crs(3763), tmp_path / "a.geojson")
    assert "EPSG::3763" in moved.read_text()
    assert read_zones(moved, PORTO).polygons[0].symmetric_difference(WEST).area < 1e-8
    for name in ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"):
        content = {**json.loads(made.to_json()), "crs": {"type": "name", "properties": {"name": name}}}
        moved.write_text(json.dumps(content))
        assert read_zones(moved, PORTO, "NAME").polygons[0].equals(WEST)
    moved.write_text(json.dumps({**content, "crs": {"type": "link"}}))
    with pytest.raises(pt.SettingsError, match=r"a\.geojson: its coordinate system is not known"):
        read_zones(moved, PORTO)


def test_polygons_are_mended_and_keep_their_areas(tmp_path: Path) -> None:
    tie = shapely.Polygon([(0, 0), (4, 4), (4, 0), (0, 4)])
    spike = shapely.Polygon([(5, 0), (7, 0), (7, 2), (7, 5), (7, 2), (5, 2)])
    nested = shapely.GeometryCollection(
        [shapely.MultiPolygon([shapely.box(8, 8, 9, 9)]), shapely.box(7, 7, 8, 8)]
    )
    high = shapely.force_3d(shapely.box(0, 9, 1, 10), 5.0)
    zones = of_features(tmp_path, ("tie", tie), ("spike", spike), ("nested", nested), ("high", high))
    assert shapely.is_valid(zones.polygons).all() and not shapely.has_z(zones.polygons).any()
    assert zones.areas.tolist() == pytest.approx([8, 4, 2, 1])
    assert {polygon.geom_type for polygon in zones.polygons} == {"Polygon", "MultiPolygon"}


def test_zones_that_do_not_meet_the_region_stay(tmp_path: Path) -> None:
    zones = of_features(tmp_path, ("far", shapely.box(50, 50, 60, 60)), ("near", shapely.box(9, 9, 12, 12)))
    assert zones.names == ("far", "near") and zones.areas.tolist() == [0, 1] and zones.covered == 0.01
    assert zones.polygons[1].bounds == (9, 9, 12, 12)  # whole


@pytest.mark.parametrize(
    ("features", "options", "words"),
    [
        ([], {}, "there is no zone"),
        (
            [("a", shapely.box(0, 0, 1, 1))],
            {"zone_id": "id"},
            r"no attribute 'id' for --zone-id.* it has 'ID'$",
        ),
        ([feature(shapely.box(0, 0, 1, 1))], {}, "no attributes"),
        (
            [feature(shapely.box(0, 0, 1, 1), properties={"a": 1, "b": 2})],
            {},
            r"say with --zone-id .*'a', 'b'$",
        ),
        ([("a", shapely.box(0, 0, 1, 1)), (" ", None)], {}, "feature 2 has no value in 'ID'"),
        ([("a", shapely.box(0, 0, 1, 1)), (None, None)], {}, "feature 2 has no value in 'ID'"),
        ([([1], shapely.box(0, 0, 1, 1))], {}, "feature 1 has 'ID' that is neither"),
        ([("a", shapely.box(0, 0, 1, 1)), ("b", None)], {}, "zone 'b' has no area"),
        ([("b", shapely.Polygon([(0, 0), (1, 1), (2, 2)]))], {}, "zone 'b' has no area"),
        ([("b", shapely.LineString([(0, 0), (1, 1)]))], {}, "zone 'b' has a LineString"),
        (
            [("b", shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(0, 0)]))],
            {},
            "has a Point",
        ),
        (
            [("b", {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1]]]})],
            {},
            "feature 1 is not GeoJSON",
        ),
        (
            [("b", shapely.box(20, 0, 21, 1))],
            {},
            r"no zone meets the region: .* 20,0,21,1 .* 0,0,10,10, in planar",
        ),
        ([{"type": "Point"}], {}, "must be a FeatureCollection"),
    ],
)
def test_refusals_say_what_is_wrong(features: Any, options: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(pt.SettingsError, match=words) as refused:
        of_features(tmp_path, *features, **options)
    assert str(refused.value).startswith(f"{tmp_path / 'some.geojson'}: ")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str, words: str, make: Callable[[Path], Any] = Path.touch) -> None:
        make(tmp_path / name)
        with pytest.raises(pt.SettingsError, match=words):
            read_zones(tmp_path / name, PORTO)

    refused("a.txt", r"a\.txt: zones are a file .* or cells, such as h3:8")
    refused("a.geojson", "not JSON; a file of zones must be GeoJSON")
    refused("b.geojson", "FeatureCollection of features that are polygons, not Polygon",
            lambda path: path.write_text(shapely.to_geojson(WEST)))  # fmt: skip
    refused("a.gpkg", "cannot be read as GeoPackage")
    refused("c.parquet", "has no geometries", lambda path: pd.DataFrame({"a": [1]}).to_parquet(path))
    refused("none/a.shp", "cannot be read", lambda path: None)

    def two_layers(path: Path) -> None:
        for layer in ("one", "two"):
            frame([WEST], a=["x"]).to_file(path, layer=layer)

    refused("two.gpkg", "zones are one layer, and this file has 2", two_layers)
    unknown = "+proj=tmerc +lat_0=40 +lon_0=-8 +x_0=12345 +y_0=0 +ellps=GRS80 +units=m"
    refused("own.gpkg", "in a planar system without a code, and the region is in lonlat",
            lambda path: frame([WEST], a=["x"]).to_crs(unknown).to_file(path))  # fmt: skip
    monkeypatch.setattr(reading, "MAX_ZONES", 1)
    refused("many.shp", "has 2 zones, more than the limit of 1",
            lambda path: frame([WEST, EAST], a=["x", "y"]).to_file(path))  # fmt: skip
    assert len(read_zones(written(frame([WEST, EAST], a=["x"] * 2), tmp_path / "m.shp"), PORTO)) == 1


def test_zones_print_briefly() -> None:
    zones = Zones(PLANE, ("a",), np.array([shapely.box(0, 0, 1, 1)]), "own zones by ID")
    assert repr(zones) == "Zones(1 own zones by ID)"
