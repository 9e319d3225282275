"""Count the transitions of shortest paths between cells."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from privtrace.compiling import compiled
from privtrace.trajectories import Floats

#: Added to each link as a share of the mean link: of equally long paths, the one with fewest cells counts.
_TIE_BREAK = 1e-9


def shortest_transitions(links: csr_array) -> Floats:
    """Count, for each pair of cells, the transitions of a shortest path, start and end included.

    A path through s cells has s + 1 transitions, so a path within one cell has 2. Where there is none
    the count is infinite. `links` (m, m) holds the distances of neighboring cells.
    """
    if links.nnz:
        longer = links.data + _TIE_BREAK * links.data.mean()
        links = csr_array((longer, links.indices, links.indptr), shape=links.shape)
    distances, before = dijkstra(links, return_predecessors=True)
    return _transitions(np.argsort(distances, axis=1, kind="stable"), before)  # type: ignore[no-any-return]


@compiled
def _transitions(nearest, before):  # type: ignore[no-untyped-def]
    transitions = np.full(before.shape, np.inf)
    for source in range(len(before)):
        for cell in nearest[source]:  # a cell comes after the one before it on its path
            if cell == source:
                transitions[source, cell] = 2.0
            elif before[source, cell] >= 0:
                transitions[source, cell] = transitions[source, before[source, cell]] + 1.0
    return transitions
