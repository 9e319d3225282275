"""Measure systems, starts, arrivals and events. A crossing: exact counts come in, noisy ones go out."""

from __future__ import annotations

from fractions import Fraction

from privtrace.backends.scan import Scan
from privtrace.counts import Counts
from privtrace.privacy.ledger import Ledger
from privtrace.trajectories import Integers
from privtrace.trees.contexts import Contexts
from privtrace.trees.counts import arrival_counts, event_counts, start_counts, system_counts
from privtrace.trees.events import Mapper


def measure_systems(scan: Scan, mapper: Mapper, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count the events that arrive in each system, each string weighing one in all; noisy, (n_systems,)."""
    of_cell, n_systems = mapper.systems.of_cell, len(mapper.systems.sizes)
    return ledger.laplace(
        scan.total(
            lambda part: system_counts(mapper.strings(part), of_cell, n_systems),
            "Measuring which reference systems are used",
            n_systems,
        ),
        stage="systems",
        statistic="arrivals in each reference system, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_starts(scan: Scan, mapper: Mapper, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count the strings that start in each cell, each weighing one; noisy, in weights, (n_cells,)."""
    n_cells = mapper.systems.n_cells
    return ledger.laplace(
        scan.total(
            lambda part: start_counts(mapper.strings(part), n_cells),
            "Measuring where trajectories start",
            n_cells,
        ),
        stage="starts",
        statistic="starts in each cell of the kept reference systems",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_arrivals(scan: Scan, mapper: Mapper, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count the events that arrive in each cell, each string weighing one in all; noisy, (n_cells,)."""
    n_cells = mapper.systems.n_cells
    return ledger.laplace(
        scan.total(
            lambda part: arrival_counts(mapper.strings(part), n_cells),
            "Measuring level 1 of the prefix trees",
            n_cells,
        ),
        stage="level 1",
        statistic="arrivals in each cell of the kept reference systems, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_events(
    scan: Scan, mapper: Mapper, contexts: Contexts, ledger: Ledger, epsilon: Fraction
) -> Integers:
    """Count what happens after each of the deepest contexts; noisy, in weights, (n_contexts, n_events).

    The contexts come from earlier releases, so leaving others unread costs nothing; zeros get noise too.
    """
    n_events, level = mapper.systems.n_events, contexts.depth + 1
    n_contexts = contexts.deepest.stop - contexts.deepest.start
    cells = "1 cell" if contexts.depth == 1 else f"{contexts.depth} cells"
    counts = Counts.total(
        scan.map(
            lambda part: event_counts(mapper.strings(part), contexts, n_events),
            f"Measuring level {level} of the prefix trees",
        )
    )
    return ledger.laplace(
        counts.dense(0, n_contexts * n_events).reshape(n_contexts, n_events),
        stage=f"level {level}",
        statistic=f"events after contexts of {cells}, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )
