"""Fit DPT: reference systems that are used, and prefix trees on them, level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.privacy.unit import WEIGHT
from privtrace.space.measure import measure_count
from privtrace.synthesizers.fitting import Fitting
from privtrace.trajectories import Integers
from privtrace.trees.contexts import Contexts, grow
from privtrace.trees.measure import measure_arrivals, measure_events, measure_starts, measure_systems
from privtrace.trees.systems import Systems

if TYPE_CHECKING:
    from privtrace.synthesizers.dpt import DPT


def released(settings: DPT, fitting: Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model: noisy, or made from what is."""
    # Hierarchical reference systems: as fine as the noise allows, and of them those that are used.
    n_trajectories = measure_count(fitting.crossing, fitting.region, settings.public_count)
    every = Systems(fitting.region, settings.sizes(settings.finest_size(n_trajectories)))
    crossing = fitting.crossing.making(every.sizes[0])  # a jump across the finest system has as many cells
    usage = measure_systems(crossing, settings.mapper(every))
    systems = settings.kept(every, usage)

    # Prefix trees on these systems, level by level: a node that passes the threshold is told what follows.
    mapper = settings.mapper(systems)
    starts = measure_starts(crossing, mapper)
    arrivals = measure_arrivals(crossing, mapper)

    def measured(contexts: Contexts) -> Integers:
        return measure_events(crossing, mapper, contexts)

    _, events = grow(systems, arrivals, settings.growth, measured)

    return {
        "count": round(n_trajectories * WEIGHT),
        "sizes": np.array(every.sizes, np.int32),
        "usage": usage,
        "starts": starts,
        "arrivals": arrivals,
        "events": events,
    }
