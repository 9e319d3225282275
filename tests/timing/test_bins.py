"""Public bins: where round numbers are, and what the names of bins stand for."""

from __future__ import annotations

import numpy as np
import pytest
from tests.timing.walks import points_bin

from privtrace.timing import bins


def test_points_come_in_half_octaves() -> None:
    assert bins.POINTS[:9].tolist() == [1, 2, 3, 4, 6, 8, 12, 16, 23] and bins.MOST_POINTS == 1 << 16
    numbers = np.concatenate([np.arange(1, 3000), bins.POINTS, bins.POINTS[1:] - 1])
    assert [bins.bin_of(n, bins.POINTS) for n in numbers] == [points_bin(int(n)) for n in numbers]


@pytest.mark.parametrize("edges", [bins.SECONDS, bins.RATIOS, bins.METERS, bins.SPEEDS])
def test_edges_are_half_octaves_from_zero_on(edges: np.ndarray) -> None:
    assert edges[0] == 0.0 and np.allclose(edges[2:] / edges[1:-1], np.sqrt(2), rtol=1e-12)
    assert np.array_equal(edges[3:], 2 * edges[1:-2])  # exactly, on every machine


def test_round_times_are_not_near_an_edge() -> None:
    round_ones = np.array([0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 86_400])
    nearest = np.abs(np.log(round_ones[:, np.newaxis] / bins.SECONDS[1:])).min(axis=1)
    assert nearest.min() > 0.02


def test_ticks_are_round_and_in_their_bins() -> None:
    assert [bins.bin_of(tick, bins.SECONDS) for tick in bins.TICKS] == [*range(bins.N_SECONDS)]
    assert {1.0, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 86_400.0} <= {*bins.TICKS.tolist()}
    assert np.allclose(1000 * bins.TICKS, np.round(1000 * bins.TICKS))  # times are whole milliseconds


def test_one_has_a_bin_and_a_class_of_its_own() -> None:
    assert bins.bin_of(1.0, bins.RATIOS) == bins.TICK
    assert bins.class_of(1.0, bins.STRETCHES) == bins.EVEN
    assert bins.class_of(1.0, bins.KINDS) == bins.TICK_KIND
    # The bin and the kind of the tick are the same gaps.
    assert bins.RATIOS[[bins.TICK, bins.TICK + 1]] == pytest.approx(bins.KINDS[1:3], rel=1e-12)
    assert bins.SECONDS[-1] < bins.LONGEST_S


@pytest.mark.parametrize("edges", [bins.SECONDS, bins.SPEEDS])
def test_bits_find_the_same_bins_as_a_search(edges: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([[0.0, 1e-300, 1e300], edges[1::2], np.exp(rng.uniform(-12, 18, 4000))])
    assert [bins.half_octave(value, edges) for value in values] == [
        bins.bin_of(value, edges) for value in values
    ]


def test_octaves_are_cut_in_equal_parts() -> None:
    for octave in (0, 1, 7, 30):
        for part in (0, 1, bins.OCTAVE_PARTS - 1):
            first = 2.0**octave * (1 + part / bins.OCTAVE_PARTS)
            number = bins.OCTAVE_PARTS * octave + part
            assert (
                bins.part_of_octave(first) == number
                and bins.part_of_octave(np.nextafter(first, 0)) == number - 1
            )
