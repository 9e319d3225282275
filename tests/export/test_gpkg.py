"""GeoPackage: layers of one file, as others read them back, and the same file from the same layers."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyarrow as pa
import pyogrio
import pytest
import shapely

from privtrace.errors import OutputError
from privtrace.export.gpkg import Layer, write_layers

TWO = shapely.MultiPolygon([shapely.box(1, 1, 2, 2), shapely.box(3, 3, 4, 4)])
ZONES = Layer(
    "zones",
    np.array([shapely.box(0, 0, 1, 1), TWO, None], object),
    pa.table(
        {"zone": ["Sé", "b", "c"], "visits": [1.5, None, -2.0], "division": [1, 2, 3]},
        metadata={"privtrace.columns": '{"zone": "its id"}'},
    ),
)
LINE, NO_LINE = shapely.LineString([(0, 0), (1, 2)]), shapely.LineString()
FLOWS = Layer(
    "flows", np.array([LINE, NO_LINE], object), pa.table({"origin": ["Sé", "b"], "trips": [1.0, 2.0]})
)
ABOUT = {"privtrace.guarantee": "pure, ε = 1", "privtrace.columns": "{}"}


@pytest.mark.parametrize("crs", ["lonlat", "EPSG:3763", "planar"])
def test_layers_are_read_back(crs: str, tmp_path: Path) -> None:
    write_layers(tmp_path / "a.gpkg", [ZONES, FLOWS], ABOUT, crs)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gpkg"]
    for layer, kind in ((ZONES, "MultiPolygon"), (FLOWS, "LineString")):
        about = pyogrio.read_info(tmp_path / "a.gpkg", layer=layer.name)
        assert about["geometry_type"] == kind
        assert about["crs"] == {"lonlat": "EPSG:4326", "planar": None}.get(crs, crs)
        found = gpd.read_file(tmp_path / "a.gpkg", layer=layer.name)
        rows = pa.Table.from_pandas(found.drop(columns="geometry"), preserve_index=False)
        assert rows.to_pylist() == layer.table.to_pylist()
        for one, given in zip(found.geometry, layer.geometries, strict=True):
            assert (one is None) == (given is None)
            assert given is None or (one.geom_type == kind and one.equals(given))
    assert pyogrio.list_layers(tmp_path / "a.gpkg")[:, 0].tolist() == ["zones", "flows"]


def test_words_go_along(tmp_path: Path) -> None:
    write_layers(tmp_path / "a.gpkg", [ZONES, FLOWS], ABOUT, "planar")
    zones, flows = (pyogrio.read_info(tmp_path / "a.gpkg", layer=name) for name in ("zones", "flows"))
    assert zones["dataset_metadata"] == flows["dataset_metadata"] == ABOUT
    assert zones["layer_metadata"]["privtrace.columns"] == '{"zone": "its id"}'
    with closing(sqlite3.connect(tmp_path / "a.gpkg")) as file:
        said = file.execute("SELECT identifier, description, last_change FROM gpkg_contents").fetchall()
    told = "privtrace.guarantee: pure, ε = 1"
    assert said == [(name, told, "1980-01-01T00:00:00.000Z") for name in ("zones", "flows")]


def test_the_same_layers_make_the_same_file_whatever_was_there(tmp_path: Path) -> None:
    (tmp_path / "b.tmp").write_bytes(b"what was there")
    write_layers(tmp_path / "a.gpkg", [FLOWS._replace(name="old")], ABOUT, "planar")
    write_layers(tmp_path / "a.gpkg", [ZONES, FLOWS], ABOUT, "lonlat")
    write_layers(tmp_path / "b.tmp", [ZONES, FLOWS], ABOUT, "lonlat")
    assert (tmp_path / "a.gpkg").read_bytes() == (tmp_path / "b.tmp").read_bytes()
    assert pyogrio.get_gdal_config_option("OGR_CURRENT_DATE") is None


def test_lines_cut_at_the_antimeridian_share_a_type_with_others(tmp_path: Path) -> None:
    cut = shapely.MultiLineString([[(179, 0), (180, 1)], [(-180, 1), (-179, 2)]])
    flows = FLOWS._replace(geometries=np.array([LINE, cut], object))
    write_layers(tmp_path / "a.gpkg", [flows], ABOUT, "lonlat")
    found = gpd.read_file(tmp_path / "a.gpkg").geometry
    assert {*found.geom_type} == {"MultiLineString"} and found[0].equals(LINE) and found[1].equals(cut)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="GeoPackage cannot be written here"):
        write_layers(tmp_path / "none" / "a.gpkg", [ZONES], ABOUT, "lonlat")
