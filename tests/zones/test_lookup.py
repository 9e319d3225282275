"""Which zones points lie in, and which zones lines pass: compared with shapely, pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from tests.polygons import mixed, shaped, star

import privtrace as pt
from privtrace.runs import Runs
from privtrace.trajectories import Floats, Integers
from privtrace.zones import Zones

PLANE = pt.Region.box(0, 0, 10, 10, crs="planar")
DEGREES = pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat")
FIJI = pt.Region.box(177, -20, -178, -16, crs="lonlat")


def zones_of(shapes: Any, region: pt.Region = PLANE) -> Zones:
    shapes = np.asarray(shapes, object)
    return Zones(region, tuple(map(str, range(len(shapes)))), shapes, "own zones by n")


def odd_zones(rng: np.random.Generator) -> list[Any]:
    """Make zones with holes, over each other, thin, tiny, as large as all, and outside."""
    stars = [
        shapely.Polygon(star(rng, tuple(rng.uniform(-1, 11, 2)), rng.uniform(0.2, 4), 25)) for _ in range(40)
    ]
    thin = shapely.Polygon([(0, 3), (10, 3.001), (10, 3.002)])
    points = shapely.points(rng.uniform(0, 10, (20, 2)))
    return [
        *stars,
        shaped(mixed(3)),
        thin,
        *shapely.buffer(points, 1e-4),
        shapely.box(-5, -5, 15, 15),
        shapely.box(0, 0, 10, 10),
        shapely.box(11, 11, 12, 12),
        shapely.box(2, 2, 8, 8) - shapely.box(3, 3, 7, 7),
    ]


def walks(rng: np.random.Generator, n_lines: int = 600) -> Runs:
    """Draw lines of all lengths in [0, 10] x [0, 10], some of one point, of none, and in place."""
    counts = rng.choice([0, 1, 2, 3, 10, 60], n_lines)
    steps = rng.normal(0, rng.choice([0, 0.01, 0.3, 2], n_lines)[:, None, None], (n_lines, 60, 2))
    lines = np.clip(rng.uniform(0, 10, (n_lines, 1, 2)) + np.cumsum(steps, axis=1), 0, 10)
    lines[rng.random(n_lines) < 0.1] = 2.5  # the corner of a cell
    lines[rng.random(n_lines) < 0.1, :, 0] = np.round(lines[0, :, 0])  # along sides of cells
    points = np.concatenate([line[:count] for line, count in zip(lines, counts, strict=True)])
    return Runs(points, np.append(0, np.cumsum(counts)))


def by_shapely(runs: Runs, shapes: Any) -> tuple[Integers, Integers]:
    """Compare every line with every zone."""
    lines = np.full(len(runs), None, object)
    for number, (start, stop) in enumerate(zip(runs.offsets[:-1], runs.offsets[1:], strict=True)):
        if stop > start:
            points = runs.points[start:stop]
            lines[number] = shapely.LineString(points) if len(points) > 1 else shapely.Point(points[0])
    found = shapely.intersects(lines[:, np.newaxis], np.asarray(shapes, object)[np.newaxis])
    line, zone = np.nonzero(found)
    return line, zone


@pytest.mark.parametrize("seed", range(3))
def test_lines_pass_the_zones_that_shapely_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes, runs = odd_zones(rng), walks(rng)
    found, wanted = zones_of(shapes).passed_by(runs), by_shapely(runs, shapes)
    np.testing.assert_array_equal(found, wanted)
    assert len(wanted[0]) > 2500


def test_lines_are_in_meters_of_the_region_and_corners_of_a_polygon_do_not_matter() -> None:
    ell = [[[0, 0], [10, 0], [10, 5], [5, 5], [5, 10], [0, 10], [0, 0]]]
    region = pt.Region.polygon([[[x / 100 - 8, y / 100 + 41] for x, y in ring] for ring in ell], crs="lonlat")
    boxes = [shapely.box(-7.94, 41.06, -7.93, 41.07), shapely.box(-8, 41, -7.95, 41.05)]
    line = region.meters(np.array([[-7.96, 41.09], [-7.91, 41.04]]))  # across the corner that is left out
    runs = Runs(np.concatenate([line, line[:1]]), np.array([0, 2, 2, 3]))
    zones = zones_of([*boxes, shapely.box(-7.97, 41.08, -7.96, 41.09)], region)
    np.testing.assert_array_equal(zones.passed_by(runs), [[0, 0, 2], [0, 2, 2]])


def test_the_grid_is_as_coarse_as_many_layers_of_zones_need(monkeypatch: pytest.MonkeyPatch) -> None:
    from privtrace.zones import passing

    rng = np.random.default_rng(5)
    shapes, runs = odd_zones(rng), walks(rng, 100)
    monkeypatch.setattr(passing, "_MAX_PAIRS", 5000)
    monkeypatch.setattr(passing, "_POINTS_AT_ONCE", 100)
    zones = zones_of(shapes)
    np.testing.assert_array_equal(zones.passed_by(runs), by_shapely(runs, shapes))
    assert len(zones._cover.grid.divisions) == 16


@pytest.mark.parametrize("region", [PLANE, DEGREES])
def test_points_are_in_the_zones_that_shapely_says(region: pt.Region) -> None:
    rng = np.random.default_rng(1)
    scale, low = (region.bounds[2:] - region.bounds[:2]) / 10, region.bounds[:2]
    shapes = shapely.transform(np.array(odd_zones(rng)), lambda points: low + points * scale)
    points = low + rng.uniform(0, 10, (3000, 2)) * scale
    inside = shapely.intersects(shapely.points(points)[:, np.newaxis], shapes[np.newaxis])
    np.testing.assert_array_equal(zones_of(shapes, region).of_points(points), np.nonzero(inside))


def test_points_on_shared_borders_count_once_and_in_overlaps_for_each() -> None:
    shapes = [shapely.box(x, y, x + 5, y + 5) for y in (5, 0) for x in (0, 5)]  # a partition
    zones = zones_of([*shapes, shapely.box(0, 0, 10, 10), shapely.box(4, 4, 6, 6)])
    points = np.array([[5, 7], [5, 5], [2, 5], [5, 0], [0, 0], [4, 2], [4, 4], [5, 4], [1, 1], [5, 6]], float)
    wanted = [[0, 4], [0, 4, 5], [0, 4], [2], [2], [2, 4], [2, 4, 5], [2, 4], [2, 4], [0, 4]]
    wanted[6] = [2, 4]  # inside both; on the border of the last, and of no other before it
    found = [[] for _ in points]
    for point, zone in zip(*zones.of_points(points), strict=True):
        found[point].append(int(zone))
    wanted[6] = [2, 4, 5]
    assert found == wanted


def on_lattice(rng: np.random.Generator, n: int) -> Floats:
    return rng.integers(0, 21, (n, 2)) / 2.0


def test_a_partition_holds_every_point_once_wherever_it_is() -> None:
    rng = np.random.default_rng(2)
    corners = [(x, y) for x in range(10) for y in range(10)]
    shapes = [shapely.Polygon([(x, y), (x + 1, y), (x + 1, y + 1)]) for x, y in corners]
    shapes += [shapely.Polygon([(x, y), (x + 1, y + 1), (x, y + 1)]) for x, y in corners]
    points = np.concatenate([on_lattice(rng, 500), rng.uniform(0, 10, (500, 2))])
    found, _ = zones_of(shapes).of_points(points)
    np.testing.assert_array_equal(found, np.arange(1000))


def test_nothing_passes_nothing() -> None:
    zones = zones_of([shapely.box(0, 0, 1, 1)])
    empty = Runs(np.empty((0, 2)), np.zeros(1, np.int64))
    for one in (*zones.of_points(np.empty((0, 2))), *zones.passed_by(empty)):
        assert len(one) == 0 and one.dtype == np.int64


def test_areas_and_the_covered_share_are_those_inside_the_region() -> None:
    ring = shapely.box(-5, -5, 15, 15) - shapely.box(1, 1, 9, 9)
    zones = zones_of([ring, shapely.box(8, 8, 12, 12), shapely.box(20, 0, 21, 1)])
    assert zones.areas.tolist() == pytest.approx([36, 4, 0]) and zones.covered == pytest.approx(0.37)
    assert zones.overlaps and shapely.contains_properly(zones.polygons, shapely.points(zones.centers)).all()
    touching = zones_of([shapely.box(0, 0, 5, 5), shapely.box(5, 0, 10, 5), shapely.box(5 - 1e-9, 5, 10, 10)])
    assert not touching.overlaps and touching.covered == pytest.approx(0.75)
    outside = zones_of([shapely.box(9, 9, 15, 15), shapely.box(12, 12, 15, 15)])
    assert not outside.overlaps
    ell = pt.Region.polygon([[[0, 0], [10, 0], [10, 5], [5, 5], [5, 10], [0, 10], [0, 0]]], crs="planar")
    assert zones_of([shapely.box(4, 4, 6, 6)], ell).areas.tolist() == [3]


def test_areas_are_in_square_kilometers_where_meters_are_known() -> None:
    (km2,) = zones_of([shapely.box(*DEGREES.bounds)], DEGREES).areas
    assert km2 == pytest.approx(DEGREES.width_m * DEGREES.height_m / 1e6)
