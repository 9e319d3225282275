"""Fit BridgeTrace: a state space from noisy density, what traced paths do on it, and walks that do the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from privtrace.methods.bridgetrace.calibrate import fitted_walks
from privtrace.methods.bridgetrace.initial import clean_density
from privtrace.methods.bridgetrace.measure import measure_paths
from privtrace.methods.bridgetrace.settings import BridgeTrace
from privtrace.methods.bridgetrace.states import state_space_of
from privtrace.methods.common.measure import measure_count, measure_density
from privtrace.methods.fitting import Fitting
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid


def released(settings: BridgeTrace, fitting: Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model: noisy, or made from what is."""
    placing = settings.placing(fitting.region, fitting.timing)  # refuses a spacing before anything is spent

    # State space: a coarse grid, finer cells where its noisy density is high, and zones of about equal density.
    n_trajectories = measure_count(fitting.crossing, fitting.region, settings.public_count)
    coarse = Grid.uniform(fitting.region, settings.coarse_size(n_trajectories))
    density = measure_density(fitting.crossing, coarse)
    visits = coarse.spread(clean_density(density, n_trajectories, settings.error("density"), settings.tuning))
    space = state_space_of(coarse, visits, n_trajectories, settings)

    # What traced paths do, in one pass: visits, moves, trips and shapes.
    weights = space.visit_weights(visits, settings.tuning)
    measured = measure_paths(fitting.crossing, space, weights)

    # Walks that do the same: post-processing, like all that follows.
    with fitting.observer.stage("Fitting walks to what was measured"):
        walks = fitted_walks(space, visits, weights, measured, settings, placing, fitting.backend)

    return {
        "count": round(n_trajectories * WEIGHT),
        "density": coarse.spread(density),
        "divisions": space.grid.divisions,
        "zones": space.zone_of.astype(np.int32),
        **measured._asdict(),
        **walks,
    }
