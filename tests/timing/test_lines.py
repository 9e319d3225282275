"""Points on the lines of methods that know nothing of points and times."""

from __future__ import annotations

import numpy as np
import pytest
from tests import polygons
from tests.timing.fleet import even, exact, fleet, released
from tests.timing.walks import FIJI

import privtrace as pt
from privtrace.privacy.unit import WEIGHT
from privtrace.timing.draw import Placed


def some_points(region: pt.Region, n: int, seed: int) -> np.ndarray:
    """Draw points in a region."""
    rng, found = np.random.default_rng(seed), np.empty((0, 2))
    while len(found) < n:
        more = rng.uniform(-10, 20, (4 * n, 2))
        found = np.concatenate([found, more[region.contains(more)]])
    return found[:n]


@pytest.mark.parametrize("name", ["mixed 0", "frame", "two banks", "steps"])
def test_points_are_inside_a_polygon(name: str) -> None:
    """Lines lead over lakes and the sea; points there are at an end near by."""
    region = polygons.region(name)
    lines = pt.Trajectories(some_points(region, 600, 1), np.arange(0, 601, 3), crs="planar")
    placed = released(region=region).on_lines(lines, 0, 3)
    assert region.contains(placed.points).all() and len(placed.points) > 3000
    for t in range(len(lines)):
        own = placed.points[placed.offsets[t] : placed.offsets[t + 1]]
        ends = lines.points[3 * t], lines.points[3 * t + 2]
        assert np.array_equal(own[0], ends[0]) and (len(own) == 1 or np.array_equal(own[-1], ends[1]))


def test_points_are_as_far_along_as_drawn() -> None:
    """Two lines of one length, the one straight and the other with corners, have points as far along."""
    timing = released()
    straight = pt.Trajectories([[100.0, 100.0], [7100.0, 100.0]], np.array([0, 2]), crs="planar")
    corners = [[100.0, 100.0], [4100.0, 100.0], [4100.0, 100.0], [4100.0, 2100.0], [3100.0, 2100.0]]
    bent = pt.Trajectories(corners, np.array([0, 5]), crs="planar")
    one, two = (timing.on_lines(line, 0, 3) for line in (straight, bent))
    along = one.points[:, 0] - 100.0
    x = np.where(along < 4000, 100 + along, np.where(along < 6000, 4100, 4100 - (along - 6000)))
    y = np.where(along < 4000, 100, np.minimum(100 + along - 4000, 2100))
    assert len(along) > 10 and np.allclose(two.points, np.stack([x, y], axis=1))
    assert np.array_equal(one.seconds, two.seconds)


def test_lines_across_the_antimeridian() -> None:
    """Longitudes go from 179 to -179, points between are there, and speeds are not those around the world."""
    tables = exact(fleet())
    tables["points"][:] = 0
    tables["points"][:, 8] = 100 * WEIGHT
    timing = released(tables, region=FIJI)
    lines = pt.Trajectories(
        np.tile([[179.0, -15.0], [-179.0, -15.0], [-179.5, -12.0]], (50, 1)), np.arange(0, 151, 3), crs="lonlat"
    )
    placed = timing.on_lines(lines, 0, 3)
    assert FIJI.contains(placed.points).all() and (np.abs(placed.points[:, 0]) <= 180).all()
    assert (placed.points[:, 0] > 0).any() and (placed.points[:, 0] < 0).any()
    steps_m = np.linalg.norm(np.diff(FIJI.unwrap(placed.points), axis=0) * FIJI.scale_m, axis=1)
    inner = np.setdiff1d(np.arange(len(steps_m)), placed.offsets[1:-1] - 1)
    assert (steps_m[inner] <= timing.fastest * np.diff(placed.seconds)[inner] * (1 + 1e-9)).all()


def test_the_part_of_the_day_follows_from_speeds_across_the_antimeridian() -> None:
    """Crossing it takes no 360 degrees: a trip as fast as others departs when they do."""
    tables = even(2000.0)
    tables["departures"][:], tables["tempos"][:], tables["parts"][:] = 0, 0, 0
    tables["departures"][[9, 17]], tables["parts"][[2, 4]] = 1000 * WEIGHT, 60 * WEIGHT
    tables["tempos"][2, :12], tables["tempos"][4, 20:] = 80 * WEIGHT, 80 * WEIGHT
    timing = released(tables, region=FIJI)
    # 22 km in an hour and a half: 4 m/s; around the world it would be 7000 m/s.
    points, seconds = np.tile([[179.9, -15.0], [-179.9, -15.0]], (400, 1)), np.tile([0.0, 5400.0], 400)
    placed = Placed(points, np.arange(0, 801, 2), seconds)
    hours = timing.times(placed, 0, 1)[::2].astype("datetime64[h]").astype(int) % 24
    assert np.mean(hours // 4 == 2) > 0.9
