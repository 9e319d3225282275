"""Fit PrivTrace: an adaptive grid, Markov models of first and second order on it, and estimated trips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from privtrace.methods.common.measure import measure_count, measure_density
from privtrace.methods.fitting import Fitting
from privtrace.methods.privtrace.measure import measure_first_order, measure_second_order
from privtrace.methods.privtrace.selection import refined, second_order_states
from privtrace.methods.privtrace.transitions import Transitions, block_within_components, within_components
from privtrace.methods.privtrace.trips import estimated_trips
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.privtrace.settings import PrivTrace


def released(settings: PrivTrace, fitting: Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model: noisy, or made from what is."""
    crossing = fitting.crossing

    # Discretization: a coarse grid, its noisy density, and finer cells where that is high.
    n_trajectories = measure_count(crossing, fitting.region, settings.public_count)
    coarse = Grid.uniform(fitting.region, settings.coarse_size(n_trajectories))
    density = measure_density(crossing, coarse)
    grid = refined(coarse, density, n_trajectories, settings)

    # Markov models: first order for all states, second order for those that deserve it.
    components = grid.components()
    moves = within_components(measure_first_order(crossing, grid), components)
    chosen = second_order_states(moves, settings)
    second = Transitions.of([])
    if "second order" in settings.budget:
        blocks = measure_second_order(crossing, grid, chosen)
        within = (
            block_within_components(block, s, components) for s, block in zip(chosen, blocks, strict=True)
        )
        with fitting.observer.stage("Adding noise to moves and reducing it", len(chosen)) as advance:
            second = Transitions.of(_counted(within, advance))

    # Trip distribution: post-processing, like all that follows.
    with fitting.observer.stage("Estimating trips"):
        trips = estimated_trips(grid, moves, n_trajectories, settings)

    return {
        "count": round(n_trajectories * WEIGHT),
        "divisions": grid.divisions,
        "density": coarse.spread(density),
        "moves": moves,
        "second_states": chosen,
        "second": second,
        "trips": trips,
    }


def _counted(blocks: Iterator[Integers], advance: Callable[[int], None]) -> Iterator[Integers]:
    for block in blocks:
        yield block
        advance(1)
