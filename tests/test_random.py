"""The counter-based generator: published vectors, uniform whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privtrace.random import below, philox

# Counter (four words), key (two words) and result of Philox4x32-10, as published with the algorithm.
VECTORS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_published_vectors(counter: list[int], key: list[int], expected: list[int]) -> None:
    seed, trajectory = (np.uint64(low | high << 32) for low, high in (key, counter[:2]))
    words = philox(seed, trajectory, np.uint64(counter[2]), np.uint64(counter[3]))
    assert [int(word) >> shift & 0xFFFFFFFF for word in words for shift in (0, 32)] == expected


@pytest.mark.parametrize("total", [1, 2, 3, 10, 1000])
def test_numbers_below_are_uniform(total: int) -> None:
    drawn = [below(total, np.uint64(5), np.uint64(number), 0)[0] for number in range(20_000)]
    counts = np.bincount(drawn, minlength=total)
    assert len(counts) == total
    if total > 1:
        assert stats.chisquare(counts).pvalue > 1e-4


def test_large_totals_are_in_range() -> None:
    total = (1 << 62) - 1
    drawn = np.array([below(total, np.uint64(5), np.uint64(number), 0)[0] for number in range(2000)])
    assert drawn.min() >= 0 and drawn.max() < total and drawn.max() > total * 0.99
