"""Write out what kernels emit, without the accumulator: what they say themselves is looked at."""

from __future__ import annotations

import numpy as np

from privtrace.methods.dpt import counts as of_strings
from privtrace.methods.dpt.contexts import Contexts
from privtrace.methods.dpt.events import Strings
from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions
from privtrace.trajectories import Integers


def summed(contributions: Contributions, *shape: int) -> Integers:
    """Add up what all trajectories emit, in a table of this shape; an entry of -1 is none."""
    table = np.zeros(int(np.prod(shape)), np.int64)
    told = contributions.codes >= 0
    np.add.at(table, contributions.codes[told], contributions.weights[told])
    return table.reshape(shape)


def events_after(strings: Strings, contexts: Contexts, n_events: int) -> Integers:
    """Count what happens after the deepest contexts: (n_contexts, n_events)."""
    n_contexts = contexts.deepest.stop - contexts.deepest.start
    return summed(of_strings.events(strings, contexts, n_events), n_contexts, n_events)


def lists(paths: Paths) -> list[list[int]]:
    """Write paths down as lists of cells."""
    return [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]
