"""Rasters: flow beside a slow oracle, line by line."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from privtrace.space.raster import passed
from privtrace.space.region import Region
from privtrace.trajectories import Trajectories

REGION = Region.box(0, 0, 8, 8)


def flow(trajectories, region, size):
    """Count the trajectories that pass each pixel of a square picture: (size, size)."""
    area = region.for_data(trajectories.crs).area
    pixels = passed(trajectories, area, size, size)
    assert len(pixels.offsets) == len(trajectories) + 1
    return np.bincount(pixels.cells, minlength=size * size).reshape(size, size)


def lines(*trajectories):
    points = [point for trajectory in trajectories for point in trajectory]
    offsets = np.cumsum([0, *(len(trajectory) for trajectory in trajectories)])
    return Trajectories(np.array(points, float).reshape(-1, 2), offsets, crs="planar")


def picture(text):
    return np.array([[int(digit) for digit in row] for row in text.split()])


def pixels_of_line(start, end, size):
    """Cut a line wherever it meets the edge of a pixel; each piece lies in the pixel of its middle."""
    cuts = {0.0, 1.0}
    for axis in range(2):
        if start[axis] != end[axis]:
            cuts |= {(edge - start[axis]) / (end[axis] - start[axis]) for edge in range(size + 1)}
    cuts = sorted(cut for cut in cuts if 0 <= cut <= 1)
    middles = [(a + b) / 2 for a, b in pairwise(cuts) if b - a > 1e-12]
    along = [[start[axis] + t * (end[axis] - start[axis]) for axis in range(2)] for t in (0, *middles, 1)]
    return {(min(math.floor(y), size - 1), min(math.floor(x), size - 1)) for x, y in along}


def oracle(trajectories, size):
    counts = np.zeros((size, size), int)
    for t in range(len(trajectories)):
        passed = set()
        before = None
        for x, y in trajectories.points[trajectories.offsets[t] : trajectories.offsets[t + 1]]:
            if math.isnan(x) or math.isnan(y):
                continue
            inside = 0 <= x <= size and 0 <= y <= size
            here = (x, size - y) if inside else None  # rows count from the north
            if here:
                passed |= pixels_of_line(before or here, here, size)
            before = here
        for pixel in passed:
            counts[pixel] += 1
    return counts


def test_flow_agrees_with_the_oracle():
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 9, (600, 2))
    points[rng.integers(0, 600, 20), rng.integers(0, 2, 20)] = np.nan
    offsets = np.concatenate([[0], np.sort(rng.integers(0, 601, 60)), [600]])
    trajectories = Trajectories(points, offsets, crs="planar")
    assert np.array_equal(flow(trajectories, REGION, 8), oracle(trajectories, 8))


@pytest.mark.parametrize("turn", range(4))
def test_a_steep_line_passes_the_pixels_it_should(turn):
    expected = picture("00000000 00000010 00000010 00000110 00000100 00000100 00000100 00000000")
    line = np.array([[5.25, 1.25], [6.75, 6.9]])
    for _ in range(turn):
        line = np.stack([8 - line[:, 1], line[:, 0]], axis=1)
    assert np.array_equal(flow(lines(line), REGION, 8), np.rot90(expected, turn))


def test_north_is_up_and_the_edges_belong_to_the_region():
    corners = flow(lines([(0, 8)], [(8, 8)], [(8, 8)], [(0, 0)]), REGION, 2)
    assert np.array_equal(corners, picture("12 10"))


def test_a_line_through_corners_passes_the_diagonal_only():
    assert np.array_equal(flow(lines([(0, 0), (8, 8)]), REGION, 8), np.eye(8)[::-1])


def test_a_trajectory_counts_once_a_pixel():
    there_and_back = [(0.5, 0.5), (7.5, 0.5), (0.5, 0.5), (7.5, 0.5)]
    counts = flow(lines(there_and_back, there_and_back), REGION, 8)
    assert np.array_equal(counts[-1], np.full(8, 2))
    assert counts[:-1].sum() == 0


@pytest.mark.parametrize("outside", [(4, 9), (-1e300, 1e300)])
def test_a_point_outside_breaks_the_line(outside):
    counts = flow(lines([(0.5, 0.5), outside, (7.5, 0.5)]), REGION, 8)
    assert np.array_equal(counts[-1], [1, 0, 0, 0, 0, 0, 0, 1])
    assert counts.sum() == 2


@pytest.mark.parametrize("bad", [(np.nan, 0.5), (4, np.inf)])
def test_what_is_no_point_is_as_if_absent(bad):
    counts = flow(lines([(0.5, 0.5), bad, (7.5, 0.5)]), REGION, 8)
    assert np.array_equal(counts[-1], np.ones(8)) and counts.sum() == 8


def test_no_line_leads_from_one_trajectory_into_the_next():
    assert flow(lines([(0.5, 0.5)], [], [(7.5, 7.5)]), REGION, 8).sum() == 2


def test_no_trajectories_give_an_empty_picture():
    assert flow(lines(), REGION, 8).sum() == 0


def test_a_polygon_and_the_antimeridian_are_drawn_as_they_are():
    """A point outside the polygon breaks the line; a line across 180 degrees does not run around the globe."""
    upper = Region.polygon([[[0, 0], [8, 8], [0, 8], [0, 0]]])
    drawn = flow(lines([(0.5, 7.5), (3.5, 7.5), (7.5, 0.5), (2.5, 3.5)]), upper, 8)
    assert np.array_equal(np.argwhere(drawn), [[0, 0], [0, 1], [0, 2], [0, 3], [4, 2]])
    sea = Region.box(179, -1, -179, 1)
    given = Trajectories(np.array([[179.1, 0.1], [-179.1, 0.1]]), np.array([0, 2]))
    assert flow(given, sea, 10).sum() == 10
