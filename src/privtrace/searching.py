"""Search in sorted numbers."""

from __future__ import annotations

from privtrace.compiling import compiled


@compiled
def first_above(numbers, value):  # type: ignore[no-untyped-def]
    """Find the place of the first of sorted numbers that is above a value, or their number if none is.

    As `np.searchsorted` from the right, which compiles much longer: it is for complex numbers and NaN too.
    """
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
