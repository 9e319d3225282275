"""Draw random numbers for walking from a counter, so that any trajectory can be made anywhere, in any order.

Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) maps a 128-bit counter to 128
random bits under a 64-bit key. The key is the seed. The counter is (trajectory, step, purpose), so no two draws
share one. This randomness protects nobody: that is the noise's part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, forced_inline, inlined
from privtrace.searching import first_above

#: What a draw is for: the fourth word of the counter. Placing has all odd ones.
WALKING, PLACING, EVALUATING, CHOOSING, REPORTING = 0, 1, 2, 4, 6

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_INCREMENTS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))


class Stream(NamedTuple):
    """Hold what the random numbers of a trajectory depend on, for kernels."""

    seed: np.uint64
    trajectory: np.uint64


def choose(weights: npt.NDArray[np.int64], trajectories: range, seed: int) -> npt.NDArray[np.int64]:
    """Draw a place by its weight, not negative and not all zero, for each trajectory number: (n,)."""
    return _choose(np.cumsum(weights), trajectories.start, len(trajectories), np.uint64(seed))  # type: ignore[no-any-return]


@compiled
def _choose(cumulative, first_trajectory, n_trajectories, seed):  # type: ignore[no-untyped-def]
    chosen = np.empty(n_trajectories, np.int64)
    for place in range(n_trajectories):
        draw, _ = below(cumulative[-1], seed, np.uint64(first_trajectory + place), 0)
        chosen[place] = first_above(cumulative, draw)
    return chosen


# Inlined for certain: else the compiler would not make several at once in `uniforms`.
@forced_inline
def philox(seed, trajectory, step, purpose):  # type: ignore[no-untyped-def]
    """Return two words of 64 random bits."""
    c0, c1 = trajectory & _LOW, trajectory >> _HALF
    c2, c3 = step & _LOW, purpose & _LOW
    k0, k1 = seed & _LOW, seed >> _HALF
    for _ in range(10):
        a, b = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (b >> _HALF) ^ c1 ^ k0, b & _LOW, (a >> _HALF) ^ c3 ^ k1, a & _LOW
        k0, k1 = (k0 + _INCREMENTS[0]) & _LOW, (k1 + _INCREMENTS[1]) & _LOW
    return c0 | c1 << _HALF, c2 | c3 << _HALF


@inlined
def uniform(word):  # type: ignore[no-untyped-def]
    """Turn 64 random bits into a number in [0, 1)."""
    return np.float64(word >> np.uint64(11)) * 2.0**-53


# How many they are must not be known to the compiler, or it writes them out one by one. As it is, it makes four
# or eight at once, in a third of the time.
@compiled
def random_words(words, n, stream, first_step, purpose):  # type: ignore[no-untyped-def]
    """Fill words[:n] with 64 random bits each, both words of (n + 1) // 2 steps; where n is odd, one more."""
    seed, trajectory = stream
    half = (n + 1) // 2
    for k in range(half):
        first, second = philox(seed, trajectory, np.uint64(first_step + k), np.uint64(purpose))
        words[k], words[half + k] = first, second


@compiled
def uniforms(shares, n, stream, first_step, purpose):  # type: ignore[no-untyped-def]
    """Fill shares[:n] with numbers in [0, 1) in the same way."""
    seed, trajectory = stream
    half = (n + 1) // 2
    for k in range(half):
        first, second = philox(seed, trajectory, np.uint64(first_step + k), np.uint64(purpose))
        shares[k], shares[half + k] = uniform(first), uniform(second)


@compiled
def below(total, seed, trajectory, step, purpose=WALKING):  # type: ignore[no-untyped-def]
    """Draw a whole number from 0 to total - 1, each exactly as likely; returns it and the next free step.

    Numbers with as many bits as total are drawn until one is below it: at most two tries on average.
    """
    mask = np.uint64(total - 1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    while True:
        first, second = philox(seed, trajectory, np.uint64(step), np.uint64(purpose))
        step += 1
        if first & mask < np.uint64(total):
            return np.int64(first & mask), step
        if second & mask < np.uint64(total):
            return np.int64(second & mask), step
