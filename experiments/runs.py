"""Run a method several times with seeded noise, and measure what it makes. NOT PRIVATE."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import privtrace as pt
from privtrace.evaluation.reference import Reference


def runs_of(
    trips: pt.Trajectories, synthesizer: Any, reference: Reference, names: Sequence[str], n_runs: int
) -> tuple[np.ndarray, list[float]]:
    """Fit and generate several times; return the named metrics, (n_runs, n_metrics), and the seconds."""
    errors, seconds = [], []
    for seed in range(n_runs):
        start = time.perf_counter()
        made = synthesizer.fit(trips, noise=pt.SeededNoise(seed)).sample(seed=seed)
        seconds.append(time.perf_counter() - start)
        values = reference.values(reference.measure(made))
        errors.append([values[name] for name in names])
    return np.array(errors), seconds
