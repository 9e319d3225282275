"""Sorted numbers are searched as numpy does it."""

from __future__ import annotations

import numpy as np
import pytest

from privtrace.searching import first_above


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.uint64])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 64, 1000])
def test_the_first_above_is_found(kind: type, n: int) -> None:
    rng = np.random.default_rng(n)
    numbers = np.sort(rng.integers(0, 40, n)).astype(kind)  # many are equal
    for value in range(42):
        assert first_above(numbers, kind(value)) == np.searchsorted(numbers, kind(value), side="right")
    assert first_above(numbers, 7.5) == np.searchsorted(numbers, 7.5, side="right")
