"""Draw noise that protects nobody, for tests and benchmarks: models fitted with it say NOT PRIVATE."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np

from privtrace.privacy.noise import KeyedNoise
from privtrace.trajectories import Integers


class SeededNoise(KeyedNoise):
    """Draw repeatable noise, for tests and benchmarks: whoever knows the seed can subtract it."""

    def __init__(self, seed: int) -> None:
        super().__init__(hashlib.sha256(f"seeded noise {seed}".encode()).digest())
        self._selection_key = hashlib.sha256(f"seeded selection {seed}".encode()).digest()[:16]

    def selection_key(self) -> bytes:
        """Give the seed's key, always the same."""
        return self._selection_key


class NoNoise:
    """Add nothing, for tests and for explaining where error comes from."""

    def laplace(self, n_draws: int, scale: Fraction) -> Integers:
        """Return zeros."""
        return np.zeros(n_draws, np.int64)

    def selection_key(self) -> bytes:
        """Return a key that everybody knows."""
        return bytes(16)
