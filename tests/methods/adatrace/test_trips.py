"""Cleaning trips: the total stays, unjoined cells stay apart, and no table overflows."""

from __future__ import annotations

import numpy as np
import pytest

from privtrace.methods.adatrace.trips import clean_trips
from privtrace.methods.common.normcut import shrunk

JOINED = np.zeros((2, 2), np.int16)


def test_what_noise_adds_is_taken_from_the_smallest() -> None:
    assert clean_trips(np.array([[-5, 1], [7, 40]]), JOINED).tolist() == [[0, 0], [3, 40]]


def test_trips_that_no_way_joins_are_emptied_first() -> None:
    steps = np.array([[0, -1], [-1, 0]], np.int16)
    assert clean_trips(np.array([[10, 99], [-99, 20]]), steps).tolist() == [[10, 0], [0, 20]]


def test_noise_alone_leaves_nothing() -> None:
    assert not clean_trips(np.array([[3, -4], [-9, 2]]), JOINED).any()


def test_the_total_stays() -> None:
    rng = np.random.default_rng(1)
    noisy = rng.integers(-50, 60, (40, 40)) << 20
    clean = clean_trips(noisy, np.zeros((40, 40), np.int16))
    assert clean.min() == 0 and clean.sum() == noisy.sum() > 0


def test_many_trips_of_one_kind_keep_their_proportions() -> None:
    """A billion trips between each two of 1,600 cells: their weights would not fit in 64 bits together."""
    trips = np.full((1600, 1600), 1 << 50)
    trips[3, 4] = 1 << 52
    clean = clean_trips(trips, np.zeros(trips.shape, np.int16))
    assert clean.min() > 0 and clean[3, 4] == 4 * clean[0, 0]
    assert 0 < clean.sum(dtype=object) < 1 << 62


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_numbers_of_all(sign: int) -> None:
    many = np.full(5000, sign << 60)
    assert abs(int(shrunk(many).sum(dtype=object))) <= 1 << 62
    assert shrunk(np.array([5, -3])).tolist() == [5, -3] and len(shrunk(np.empty(0, np.int64))) == 0
