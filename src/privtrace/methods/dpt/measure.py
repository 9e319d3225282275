"""Measure systems, starts, arrivals and events."""

from __future__ import annotations

from privtrace.methods.dpt import counts
from privtrace.methods.dpt.contexts import Contexts
from privtrace.methods.dpt.events import Mapper
from privtrace.privacy.crossing import Crossing, Table
from privtrace.trajectories import Integers


def measure_systems(crossing: Crossing, mapper: Mapper) -> Integers:
    """Count the events that arrive in each system, a total weight of one per string; noisy, (n_systems,)."""
    systems = mapper.systems
    statistic = "arrivals in each reference system, where every trip contributes a total weight of 1"
    return crossing.measure(
        "Measuring the use of reference systems",
        lambda runs: counts.systems_used(mapper.strings(runs), systems.of_cell),
        Table("systems", statistic, (len(systems.sizes),)),
    )


def measure_starts(crossing: Crossing, mapper: Mapper) -> Integers:
    """Count the strings that start in each cell, each weighing one; noisy, in weights, (n_cells,)."""
    statistic = "starts in each cell of the kept reference systems, one per trip"
    return crossing.measure(
        "Measuring where trips start",
        lambda runs: counts.starts(mapper.strings(runs)),
        Table("starts", statistic, (mapper.systems.n_cells,)),
    )


def measure_arrivals(crossing: Crossing, mapper: Mapper) -> Integers:
    """Count the events that arrive in each cell, a total weight of one per string; noisy, (n_cells,)."""
    statistic = (
        "arrivals in each cell of the kept reference systems, where every trip contributes a total weight of 1"
    )
    return crossing.measure(
        "Measuring level 1 of the prefix trees",
        lambda runs: counts.arrivals(mapper.strings(runs)),
        Table("level 1", statistic, (mapper.systems.n_cells,)),
    )


def measure_events(crossing: Crossing, mapper: Mapper, contexts: Contexts) -> Integers:
    """Count what happens after each of the deepest contexts; noisy, in weights, (n_contexts, n_events).

    The contexts come from earlier releases, so leaving others unread costs nothing; zeros get noise too.
    """
    n_events, level = mapper.systems.n_events, contexts.depth + 1
    n_contexts = contexts.deepest.stop - contexts.deepest.start
    cells = "1 cell" if contexts.depth == 1 else f"{contexts.depth} cells"
    statistic = f"events after contexts of {cells}, where every trip contributes a total weight of 1"
    return crossing.measure(
        f"Measuring level {level} of the prefix trees",
        lambda runs: counts.events(mapper.strings(runs), contexts, n_events),
        Table(f"level {level}", statistic, (n_contexts, n_events)),
    )
