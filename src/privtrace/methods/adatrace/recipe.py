"""Fit AdaTrace: equal cells with finer ones inside, moves between neighbors, and trips with their lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.methods.adatrace.fine_cells import refined
from privtrace.methods.adatrace.measure import measure_lengths, measure_transitions, measure_trips
from privtrace.methods.common.measure import measure_count, measure_density
from privtrace.methods.fitting import Fitting
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import shortest_paths

if TYPE_CHECKING:
    from privtrace.methods.adatrace.settings import AdaTrace


def released(settings: AdaTrace, fitting: Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model: noisy, or made from what is."""
    crossing = fitting.crossing

    # Grid: equal cells, and finer ones within where their noisy density is high.
    n_trajectories = measure_count(crossing, fitting.region, settings.public_count)
    size = settings.cells_per_side(n_trajectories)
    grid = Grid.uniform(fitting.region, size)
    density = grid.spread(measure_density(crossing, grid))
    fine, fine_density = refined(grid, density, settings), np.zeros(0, np.int64)
    if "fine density" in settings.budget:
        fine_density = measure_density(crossing, fine, "fine density")

    # Paths go from neighbor to neighbor: their moves, their ends, and how long they are between them.
    shortest = shortest_paths(grid)
    transitions = measure_transitions(crossing, grid, shortest)
    trips = measure_trips(crossing, grid, shortest)
    lengths = measure_lengths(crossing, grid, shortest, settings.most_extra(size))

    return {
        "count": round(n_trajectories * WEIGHT),
        "density": density,
        "divisions": fine.divisions,
        "fine_density": fine_density,
        "transitions": transitions,
        "trips": trips,
        "lengths": lengths,
    }
