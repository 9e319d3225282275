"""Shapes of lines: diameter against all pairs, length by hand, bins by their edges."""

from __future__ import annotations

import numpy as np
import pytest

import privtrace as pt
from privtrace.space.shapes import N_BINS, shape_bin, shape_edges, shape_of
from privtrace.trajectories import Floats


def exactly(line: Floats, scale: tuple[float, float]) -> tuple[float, float]:
    meters = line * np.array(scale)
    apart = meters[:, np.newaxis] - meters
    length = np.sum(np.hypot(*np.diff(meters, axis=0).T))
    return float(np.hypot(apart[..., 0], apart[..., 1]).max()), float(length)


@pytest.mark.parametrize("scale", [(1.0, 1.0), (83_000.0, 111_000.0)])
def test_diameters_are_near_and_never_above_and_lengths_exact(scale: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        line = np.cumsum(rng.normal(0, rng.uniform(0.1, 2, 2), (rng.integers(1, 50), 2)), axis=0)
        diameter, length = shape_of(line, len(line), scale)
        true_diameter, true_length = exactly(line, scale)
        assert 0.98 * true_diameter <= diameter <= true_diameter * (1 + 1e-12)
        assert length == pytest.approx(true_length, rel=1e-12)


def test_straight_lines_in_any_direction_are_as_wide_as_long() -> None:
    for angle in np.linspace(0, 2 * np.pi, 361):
        line = 7 + np.array([[0.0, 0.0], [np.cos(angle), np.sin(angle)]])
        diameter, length = shape_of(line, 2, (1.0, 1.0))
        assert length == pytest.approx(1) and 0.98 <= diameter <= 1 + 1e-12


def test_only_the_points_asked_for_count() -> None:
    line = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [99.0, 99.0]])
    diameter, length = shape_of(line, 3, (1.0, 1.0))
    assert length == 10 and 4.9 <= diameter <= 5
    assert shape_of(line, 1, (1.0, 1.0)) == (0.0, 0.0)


def test_bins_are_half_octaves_of_the_shorter_side() -> None:
    region = pt.Region.box(0, 0, 400, 100, crs="planar")
    edges = shape_edges(region)
    assert len(edges) == N_BINS and edges[0] == 0 and edges[1] == 1  # a hundredth
    assert np.allclose(edges[2:] / edges[1:-1], np.sqrt(2), rtol=1e-12)
    assert edges[-1] > np.hypot(400, 100)  # the last is for lines longer than the region is wide
    assert np.array_equal(shape_edges(pt.Region.box(0, 0, 100, 400, crs="planar")), edges)


def test_a_length_is_in_the_bin_whose_edges_it_is_between() -> None:
    edges = shape_edges(pt.Region.box(0, 0, 100, 100, crs="planar"))
    for number, edge in enumerate(edges.tolist()):
        assert shape_bin(edge, edges) == number
        if number:
            assert shape_bin(np.nextafter(edge, 0), edges) == number - 1
    assert shape_bin(0.0, edges) == 0 and shape_bin(1e300, edges) == N_BINS - 1


def test_degrees_are_measured_in_meters() -> None:
    region = pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat")
    edges = shape_edges(region)
    assert edges[1] == pytest.approx(0.01 * min(region.width_m, region.height_m))
    line = np.array([[0.0, 0.0], [0.16, 0.0]])
    assert shape_of(line, 2, region.scale_m)[1] == pytest.approx(region.width_m)
