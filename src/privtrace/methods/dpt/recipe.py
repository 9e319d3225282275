"""Fit DPT: reference systems that are used, and prefix trees on them, level by level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.methods.common.measure import measure_count
from privtrace.methods.dpt.contexts import Contexts, Growth, grow
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.measure import measure_arrivals, measure_events, measure_starts, measure_systems
from privtrace.methods.dpt.systems import Systems, kept
from privtrace.methods.fitting import Fitting
from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.dpt.settings import DPT


def released(settings: DPT, fitting: Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model: noisy, or made from what is."""
    # Hierarchical reference systems: as fine as the noise allows, and of them those that are used.
    n_trajectories = measure_count(fitting.crossing, fitting.region, settings.public_count)
    every = Systems(fitting.region, settings.sizes(settings.finest_size(n_trajectories)))
    crossing = fitting.crossing.making(every.sizes[0])  # a jump across the finest system has as many cells
    usage = measure_systems(crossing, Mapper.of(every, settings))
    systems = kept(every, usage, settings)

    # Prefix trees on these systems, level by level: a node that passes the threshold is expanded.
    mapper = Mapper.of(systems, settings)
    starts = measure_starts(crossing, mapper)
    arrivals = measure_arrivals(crossing, mapper)

    def measured(contexts: Contexts) -> Integers:
        return measure_events(crossing, mapper, contexts)

    _, events = grow(systems, arrivals, Growth.of(settings), measured)

    return {
        "count": round(n_trajectories * WEIGHT),
        "sizes": np.array(every.sizes, np.int32),
        "usage": usage,
        "starts": starts,
        "arrivals": arrivals,
        "events": events,
    }
