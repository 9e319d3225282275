"""Small models to export, of every method and over every kind of region, made once.

Epsilon is large, so that few walks leave more than noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from tests import polygons

import privtrace as pt
from privtrace.export.columns import Asked
from privtrace.export.tables import product
from privtrace.zones import Zones

ACROSS = (177.0, -20.0, -178.0, -12.0)


@cache
def walks(crs: str = "planar") -> pt.Trajectories:
    """Give 300 random walks around [0, 10] x [0, 10], or moved to the box ACROSS the antimeridian."""
    rng = np.random.default_rng(8)
    points = rng.uniform(0, 10, (300, 1, 2)) + np.cumsum(rng.normal(0, 0.8, (300, 12, 2)), axis=1)
    points = points.reshape(-1, 2)
    if crs == "lonlat":
        points = points * [0.5, 0.8] + [ACROSS[0], ACROSS[1]]
        points[:, 0] = np.where(points[:, 0] > 180, points[:, 0] - 360, points[:, 0])
    return pt.Trajectories(points, np.arange(301) * 12, crs=crs)  # type: ignore[arg-type]


@cache
def timed_walks(crs: str = "planar") -> pt.Trajectories:
    """Give the same walks, 90 s from point to point, that depart by day and most of them in the morning.

    Clocks there are 5 hours and 30 minutes ahead: hours in UTC would be others, and of other days.
    """
    rng, data = np.random.default_rng(9), walks(crs)
    hours = np.where(rng.uniform(size=300) < 0.7, rng.uniform(6, 10, 300), rng.uniform(10, 22, 300))
    departures = 86_400 * rng.integers(0, 7, 300) + np.round(3600 * hours).astype(np.int64)
    seconds = departures[:, np.newaxis] + 90 * np.arange(12)
    times = np.datetime64("2023-12-31T18:30", "ms") + (1000 * seconds.ravel()).astype("timedelta64[ms]")
    return replace(data, times=times, zone="Asia/Kolkata")


def strait() -> pt.Region:
    """Give an area across the antimeridian, cut there as the standard asks, with a lake on the line."""
    left = [[[177, -20], [180, -20], [180, -17], [179, -16], [180, -15], [180, -12], [177, -14], [177, -20]]]
    right = [
        [[-180, -20], [-178, -19], [-178, -13], [-180, -12], [-180, -15], [-179, -16], [-180, -17], [-180, -20]]
    ]
    return pt.Region.polygon([left, right], crs="lonlat")


BOX = pt.Region.box(0, 0, 10, 10)

_SETTINGS: dict[str, Callable[[], Any]] = {
    "bridgetrace": lambda: pt.BridgeTrace(epsilon=20, region=BOX, K=3, rounds=1),
    "privtrace": lambda: pt.PrivTrace(epsilon=20, region=BOX, K=3, density_per_cell=5),
    "adatrace": lambda: pt.AdaTrace(epsilon=20, region=BOX, N=4, density_per_cell=3),
    "dpt": lambda: pt.DPT(epsilon=20, region=BOX, finest=8, keep=1e-9),
    "bridgetrace, holes": lambda: pt.BridgeTrace(epsilon=20, region=polygons.region("mixed 1"), K=4, rounds=1),
    "privtrace, holes": lambda: pt.PrivTrace(
        epsilon=20, region=polygons.region("mixed 1"), K=4, density_per_cell=5
    ),
    "adatrace, frame": lambda: pt.AdaTrace(epsilon=20, region=polygons.region("frame"), N=4),
    "dpt, holes": lambda: pt.DPT(epsilon=20, region=polygons.region("mixed 2"), finest=8, keep=1e-9),
    "bridgetrace, across": lambda: pt.BridgeTrace(epsilon=20, region=pt.Region.box(*ACROSS), K=3, rounds=1),
    "privtrace, across": lambda: pt.PrivTrace(
        epsilon=20, region=pt.Region.box(*ACROSS), K=3, density_per_cell=5
    ),
    "adatrace, across": lambda: pt.AdaTrace(epsilon=20, region=pt.Region.box(*ACROSS), N=5),
    "privtrace, strait": lambda: pt.PrivTrace(epsilon=20, region=strait(), K=5, density_per_cell=5),
}
MODELS = [*_SETTINGS]
_TIMED_SETTINGS: dict[str, Callable[[], Any]] = {
    "bridgetrace, times": lambda: pt.BridgeTrace(epsilon=100, region=BOX, K=3, rounds=1, times=True),
    "privtrace, strait, times": lambda: pt.PrivTrace(epsilon=100, region=strait(), K=4, times=True),
    "adatrace, frame, times": lambda: pt.AdaTrace(
        epsilon=100, region=polygons.region("frame"), N=4, times=True, period="2024-01-01/2024-01-08"
    ),
}
TIMED_MODELS = [*_TIMED_SETTINGS]
POLYGONS = {
    "bridgetrace, holes": polygons.oracle("mixed 1"),
    "privtrace, holes": polygons.oracle("mixed 1"),
    "adatrace, frame": polygons.oracle("frame"),
    "dpt, holes": polygons.oracle("mixed 2"),
    "privtrace, strait": shapely.MultiPolygon([(part[0], part[1:]) for part in strait().shape.coordinates]),  # type: ignore[union-attr]
}


@cache
def model(name: str, *, private: bool = False) -> Any:
    """Fit a model; one that is not private has seeded noise."""
    settings = (_SETTINGS | _TIMED_SETTINGS)[name]()
    made = timed_walks if settings.times else walks
    source = made(settings.region.crs or ("lonlat" if settings.region.west == ACROSS[0] else "planar"))
    return settings.fit(source, noise=None if private else pt.SeededNoise(3))


# --- zones ---


def partition(region: pt.Region, n: int = 3) -> list[Any]:
    """Cut a region into n * n pieces of its box, less those outside; longitudes may go on beyond 180."""
    west, south, east, north = region.bounds.tolist()
    x, y = np.linspace(west, east, n + 1), np.linspace(south, north, n + 1)
    boxes = [shapely.box(x[i], y[j], x[i + 1], y[j + 1]) for j in range(n) for i in range(n)]
    if region.shape is None:
        return boxes
    whole = shapely.MultiPolygon([(outer, holes) for outer, *holes in region.shape.parts])
    return [piece for box in boxes if (piece := box.intersection(whole)).area > 0]


#: Zones over each other, with a hole, partly or wholly outside, with borders on each other; parts of none.
ODD = {
    "left, half": shapely.box(0, 0, 5, 10),
    '"inner"': shapely.box(2, 2, 8, 8) - shapely.box(4, 4, 6, 6),
    "7": shapely.box(5, 0, 7.5, 2),
    "star": shapely.Polygon(polygons.star(np.random.default_rng(4), (6, 7), 2.5, 30)),
    "corner": shapely.box(9, 9, 12, 12),
    "outside": shapely.box(20, 20, 21, 21),
}


@cache
def zones(name: str, kind: str) -> Zones:
    """Give zones of a model: a "partition" of its region, "odd" ones, or the "left" half of its box."""
    region = model(name).release.region
    if kind == "partition":
        shapes = {f"{number}": shape for number, shape in enumerate(partition(region))}
    elif kind == "odd":
        shapes = ODD
    else:
        west, south, east, north = region.bounds.tolist()
        shapes = {"left": shapely.box(west, south, (west + east) / 2, north)}
    return Zones(region, tuple(shapes), np.array([*shapes.values()]), "own zones by id")


@cache
def table(name: str, what: str, by: str | None = None, kind: str | None = None) -> pa.Table:
    """Lay a product of a model out, of its cells or of zones."""
    made = product(model(name), Asked(what, by, None if kind is None else zones(name, kind)))
    return pa.concat_tables([made.schema.empty_table(), *(rows.table for rows in made.rows)])


def column(rows: pa.Table, name: str) -> Any:
    return rows[name].to_numpy()


def zone_file(folder: Path, shapes: Sequence[Any], ids: Sequence[Any], key: str = "id") -> Path:
    """Write zones as GeoJSON, each with an id and an attribute that is none."""
    features = [
        {
            "type": "Feature",
            "properties": {key: one, "people": 100},
            "geometry": json.loads(shapely.to_geojson(shape)),
        }
        for one, shape in zip(ids, shapes, strict=True)
    ]
    path = folder / "zones.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path
