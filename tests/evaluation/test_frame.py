"""The frame of an evaluation: clipping against a slow oracle, and chance that only seed and use decide."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from tests.conftest import BOX, trajectories
from tests.polygons import oracle, region

import privtrace as pt
from privtrace.evaluation.frame import BASELINE, BOOTSTRAP, CIRCLES, QUERIES, REAL, SYNTHETIC, Frame
from privtrace.methods.common.placing import decode
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats

PLANAR = Frame(pt.Region.box(*BOX, crs="planar"), 7)
CITY = pt.Region.box(13.0, 52.3, 13.8, 52.7, crs="lonlat")
ACROSS = pt.Region.box(178, -19, -179, -16, crs="lonlat")

Points = list[tuple[float, float]]


def as_lists(given: Runs) -> list[Points]:
    return [[(x, y) for x, y in part.tolist()] for part in np.split(given.points, given.offsets[1:-1])]


# Clipping


def test_a_trajectory_with_nothing_inside_is_dropped() -> None:
    given = trajectories([(99, 99), (-1, 3)], [], [(np.nan, np.nan)], [(5, 5)], [(10.1, 10)])
    assert as_lists(PLANAR.clip(given)) == [[(5, 5)]]
    nothing = PLANAR.clip(trajectories([(99, 99)]))
    assert len(nothing) == 0 and len(nothing.points) == 0
    assert len(PLANAR.clip(trajectories())) == 0


def test_the_others_are_clipped_as_in_a_fit(wanderers: pt.Trajectories) -> None:
    part = pt.Trajectories.concatenate([wanderers[:50], trajectories([(99, 99)]), wanderers[50:90]])
    clipped = PLANAR.clip(part)
    assert as_lists(clipped) == [run for run in as_lists(clip(part, PLANAR.region)) if run]
    assert len(clipped) == 90


# Chance


def test_the_same_seed_and_use_draw_the_same_numbers() -> None:
    frame, again = Frame(PLANAR.region, 3), Frame(PLANAR.region, 3)
    assert np.array_equal(frame.draw(50, QUERIES, 4), again.draw(50, QUERIES, 4))
    assert np.array_equal(frame.draw(50, QUERIES)[:20], again.draw(20, QUERIES))
    assert np.array_equal(frame.centers_m(50, QUERIES), again.centers_m(50, QUERIES))
    assert np.array_equal(frame.centers_m(50, QUERIES)[:20], again.centers_m(20, QUERIES))


@pytest.mark.parametrize("what", ["draw", "centers_m"])
def test_each_seed_and_use_has_draws_of_its_own(what: str) -> None:
    uses = (CIRCLES, QUERIES, REAL, SYNTHETIC, BASELINE, BOOTSTRAP)
    drawn = {
        getattr(Frame(PLANAR.region, seed), what)(3, use).tobytes()
        for seed in (0, 1, 2**64 - 1)
        for use in uses
    }
    assert len(drawn) == 3 * 6


def test_each_replicate_has_draws_of_its_own() -> None:
    drawn = {PLANAR.draw(3, use, again).tobytes() for use in (REAL, BOOTSTRAP) for again in range(300)}
    assert len(drawn) == 2 * 300


def test_drawn_numbers_are_uniform_and_independent() -> None:
    numbers = PLANAR.draw(4000, CIRCLES)
    assert numbers.shape == (4000, 2) and 0 <= numbers.min() and numbers.max() < 1
    table, *_ = np.histogram2d(numbers[:, 0], numbers[:, 1], bins=4, range=[(0, 1), (0, 1)])
    assert np.all(np.abs(table - 250) < 80)  # five standard deviations


def shares_of(points: Floats, polygon: object, here: pt.Region) -> tuple[Floats, Floats]:
    """Count points in 4 x 4 boxes around a polygon, and measure what share of it each has."""
    west, south, east, north = here.bounds
    xs, ys = np.linspace(west, east, 5), np.linspace(south, north, 5)
    counts, *_ = np.histogram2d(points[:, 0], points[:, 1], bins=(xs, ys))
    areas = [
        [shapely.intersection(polygon, shapely.box(xs[i], ys[j], xs[i + 1], ys[j + 1])).area for j in range(4)]
        for i in range(4)
    ]
    return counts / len(points), np.array(areas) / np.sum(areas)


@pytest.mark.parametrize("name", ["mixed 0", "mixed 3", "ell", "frame", "two banks"])
def test_places_are_uniform_in_a_polygon(name: str) -> None:
    here, polygon = region(name), oracle(name)
    frame = Frame(here, 11)
    places = frame.places(np.arange(4001), 0, BASELINE)
    assert places.crs == "planar" and len(places) == 4000
    assert shapely.contains_xy(polygon.buffer(1e-9), places.points).all()
    found, expected = shares_of(places.points, polygon, here)
    assert np.abs(found - expected).max() < 0.04
    centers = frame.centers_m(4000, BASELINE)
    assert centers == pytest.approx(places.points - here.bounds[:2])


@pytest.mark.parametrize("here", [CITY, ACROSS], ids=["city", "antimeridian"])
def test_centers_are_uniform_in_a_box_of_degrees(here: pt.Region) -> None:
    frame = Frame(here, 5)
    assert here.contains(frame.places(np.arange(2001), 0, CIRCLES).points).all()
    centers = frame.centers_m(2000, CIRCLES) / (frame.region.width_m, frame.region.height_m)
    assert centers.shape == (2000, 2) and centers.min() >= 0 and centers.max() <= 1 + 1e-12
    table, *_ = np.histogram2d(centers[:, 0], centers[:, 1], bins=2, range=[(0, 1), (0, 1)])
    assert np.all(np.abs(table - 500) < 100)


def test_places_do_not_depend_on_the_cut_into_parts() -> None:
    offsets = np.array([0, 3, 4, 9, 11, 20])
    whole = PLANAR.places(offsets, 0, BASELINE)
    assert np.array_equal(whole.offsets, offsets)
    for cut in range(1, 5):
        first = PLANAR.places(offsets[: cut + 1], 0, BASELINE)
        second = PLANAR.places(offsets[cut:] - offsets[cut], cut, BASELINE)
        assert np.array_equal(np.concatenate([first.points, second.points]), whole.points)


def test_no_two_places_are_the_same() -> None:
    places = PLANAR.places(np.array([0, 30, 31, 60]), 0, BASELINE).points
    assert len(np.unique(places, axis=0)) == 60


def test_places_are_not_those_of_synthetic_points_from_the_same_seed() -> None:
    nowhere = Paths(np.zeros(40, np.int32), np.arange(41))
    synthetic = decode(nowhere, Grid.uniform(PLANAR.region, 1), 0, PLANAR.seed).points
    for use in (CIRCLES, QUERIES, BASELINE):
        assert not np.isin(PLANAR.places(np.arange(41), 0, use).points, synthetic).any()
