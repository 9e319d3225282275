"""Transitions of shortest paths, against Floyd and Warshall in exact pairs of (distance, cells)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.conftest import BOX

import privtrace as pt
from privtrace.methods.privtrace.shortest import shortest_transitions
from privtrace.space.grid import Grid


def slow_transitions(links: np.ndarray) -> np.ndarray:
    """Relax every pair over every middle; of equal distances, the path with fewer steps is shorter."""
    m = len(links)
    best = {}
    for i in range(m):
        for j in range(m):
            if i == j:
                best[i, j] = (0.0, 0)
            else:
                best[i, j] = (round(links[i, j], 6), 1) if links[i, j] else (np.inf, np.inf)
    for k in range(m):
        for i in range(m):
            for j in range(m):
                way = tuple(a + b for a, b in zip(best[i, k], best[k, j], strict=True))
                if (round(way[0], 4), way[1]) < (round(best[i, j][0], 4), best[i, j][1]):
                    best[i, j] = way
    return np.array([[best[i, j][1] + 2 for j in range(m)] for i in range(m)])


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_a_slow_oracle(seed: int) -> None:
    divisions = np.random.default_rng(seed).integers(1, 4, (3, 3)).astype(np.int32)
    links = Grid(pt.Region.box(*BOX, crs="planar"), divisions).touching()
    assert np.array_equal(shortest_transitions(links), slow_transitions(links.toarray()))


def test_a_row_of_cells_by_hand() -> None:
    links = csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], float))
    expected = [[2, 3, 4, np.inf], [3, 2, 3, np.inf], [4, 3, 2, np.inf], [np.inf, np.inf, np.inf, 2]]
    assert shortest_transitions(links).tolist() == expected


def test_no_links_at_all() -> None:
    assert shortest_transitions(csr_array((1, 1))).tolist() == [[2.0]]
