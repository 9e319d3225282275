"""GeoTIFF: each pixel has the density of the cell that its center is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from tests.export.samples import MODELS, POLYGONS, TIMED_MODELS, column, model, table

import privtrace as pt
from privtrace.export import geotiff
from privtrace.export.geotiff import cells_of_pixels, pixels_per_side
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

rasterio = pytest.importorskip("rasterio")


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geotiff, "MOST_PIXELS", 256)


def raster(name: str, folder: Path) -> Any:
    model(name).export("density", folder / "a.tif")
    return rasterio.open(folder / "a.tif")


@pytest.mark.parametrize("name", MODELS)
def test_points_have_the_density_of_their_cells(name: str, tmp_path: Path) -> None:
    """Looked up at all centers of pixels; a cell so small that none lies in it has one pixel all the same."""
    view, density = model(name).view(), table(name, "density")
    unit = next(one for one in density.column_names if one.startswith("trips_per_"))
    with raster(name, tmp_path) as file:
        assert file.descriptions == tuple(layer.name for layer in view.layers) and np.isnan(file.nodata)
        rows, columns = np.indices(file.shape)
        x, y = rasterio.transform.xy(file.transform, rows.ravel(), columns.ravel())
        for band, layer in enumerate(view.layers, start=1):
            cells = cells_at(np.stack([x, y], axis=1), layer.grid)
            per_area = column(density.filter(pc.equal(density["layer"], layer.name)), unit)
            wanted = np.where(cells < 0, np.nan, per_area[cells]).astype(np.float32)
            same = (wanted == file.read(band).ravel()) | np.isnan(wanted) & np.isnan(file.read(band).ravel())
            hidden = set(range(layer.grid.n_cells)) - set(cells.tolist())
            assert (~same).sum() == len(hidden)
        assert tuple(file.bounds) == pytest.approx(tuple(layer.grid.region.bounds))


@pytest.mark.parametrize("name", TIMED_MODELS)
@pytest.mark.parametrize(("what", "by"), [("density", "part"), ("speeds", None)])
def test_every_layer_has_a_band_for_each_part_of_the_day(
    name: str, what: str, by: str | None, tmp_path: Path
) -> None:
    view, rows, first = model(name).view(), table(name, what, by), 0
    unit = next(one for one in rows.column_names if one.startswith("trips_per_") or one.endswith("_second"))
    model(name).export(what, tmp_path / "a.tif", by=by)
    with rasterio.open(tmp_path / "a.tif") as file:
        spans = ("0 to 4 h", "4 to 8 h", "8 to 12 h", "12 to 16 h", "16 to 20 h", "20 to 24 h")
        assert file.descriptions == tuple(f"{layer.name}, {span}" for layer in view.layers for span in spans)
        assert ("trips per" if what == "density" else "per second") in file.tags()["privtrace.bands"]
        for number, layer in enumerate(view.layers):
            cells = cells_of_pixels(layer.grid, file.width)[::-1]
            for part in range(6):
                shown = file.read(6 * number + part + 1)
                numbers = column(rows.slice(first, layer.grid.n_cells), unit)
                first += layer.grid.n_cells
                wanted = np.where(cells < 0, np.nan, numbers[cells]).astype(np.float32)
                assert np.array_equal(shown, wanted, equal_nan=True) and np.nanmax(shown) > 0


def test_weekdays_have_a_band_each(tmp_path: Path) -> None:
    model("adatrace, frame, times").export("density", tmp_path / "a.tif", by="weekday")
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.descriptions[:7] == tuple(
            f"cells, {day}"
            for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
        )
        assert file.tags()["privtrace.bands"] == (
            "trips per squared coordinate unit, one band per layer and weekday"
        )


def cells_at(points: Any, grid: Grid) -> Any:
    """Find the cells of points as a fit does, or -1."""
    crs = grid.region.crs
    wrapped = np.where(points > 180, points - 360, points) if crs == "lonlat" else points
    paths = grid.encode(clip(pt.Trajectories(wrapped, np.arange(len(points) + 1), crs=crs), grid.region))  # type: ignore[arg-type]
    cells = np.full(len(points), -1)
    cells[np.diff(paths.offsets) > 0] = paths.cells
    return cells


@pytest.mark.parametrize("name", POLYGONS)
def test_outside_the_region_there_is_no_data(name: str, tmp_path: Path) -> None:
    with raster(name, tmp_path) as file:
        shown = ~np.isnan(file.read(1))
        area = shown.mean() * (file.bounds.right - file.bounds.left) * (file.bounds.top - file.bounds.bottom)
        assert area == pytest.approx(POLYGONS[name].area, rel=0.01)


@pytest.mark.parametrize("name", MODELS)
def test_every_cell_has_a_pixel(name: str) -> None:
    grids = [layer.grid for layer in model(name).view().layers]
    size = pixels_per_side(grids)
    for grid in grids:
        assert set(np.unique(cells_of_pixels(grid, size))) - {-1} == set(range(grid.n_cells))


def test_pixels_fit_into_cells() -> None:
    box = pt.Region.box(0, 0, 10, 10, crs="planar")
    divided = Grid(box, np.array([[1, 2], [3, 1]], np.int32))
    assert pixels_per_side([Grid.uniform(box, 2), divided]) == 12  # halves and thirds of halves
    corner = Grid.uniform(pt.Region.polygon([[[[0, 0], [1, 0], [0, 1], [0, 0]]]], crs="planar"), 12)
    assert pixels_per_side([corner]) == 252  # more, to show the edge


def test_where_none_fit_pixels_are_as_many_as_may_be() -> None:
    box = pt.Region.box(0, 0, 10, 10, crs="planar")
    grid = Grid(box, np.array([[7, 11], [13, 1]], np.int32))
    assert pixels_per_side([grid]) == 256
    assert set(np.unique(cells_of_pixels(grid, 256))) == set(range(grid.n_cells))


def test_cells_finer_than_pixels_are_refused(tmp_path: Path) -> None:
    fine = Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 257)
    with pytest.raises(
        pt.OutputError, match=r"257 pixels per side, more than the limit of 256; write .*\.geojson"
    ):
        pixels_per_side([fine])


def test_longitude_and_latitude_0_is_a_place_like_any_other() -> None:
    diamond = pt.Region.polygon([[[[-1, 0], [0, -1], [1, 0], [0, 1], [-1, 0]]]], crs="lonlat")
    assert cells_of_pixels(Grid.uniform(diamond, 3), 3)[1, 1] >= 0


def test_the_reference_system_is_said(tmp_path: Path) -> None:
    with raster("adatrace, across", tmp_path) as file:
        assert file.crs.to_epsg() == 4326 and file.bounds.right == pytest.approx(182)
    with rasterio.open(_planar(tmp_path)) as file:
        assert file.crs is None


def _planar(folder: Path) -> Path:
    model("dpt").export("density", folder / "planar.tif")
    return folder / "planar.tif"


def test_the_release_goes_along(tmp_path: Path) -> None:
    with raster("dpt", tmp_path) as file:
        assert "NOT PRIVATE" in file.tags()["privtrace.guarantee"] and "privtrace.private" not in file.tags()
    model("dpt", private=True).export("density", tmp_path / "b.tif")
    with rasterio.open(tmp_path / "b.tif") as file:
        assert file.tags()["privtrace.private"] == "true" and file.tags()["privtrace.method"] == "dpt"
