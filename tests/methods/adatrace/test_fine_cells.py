"""Choosing fine cells: by weight, within the cell, by each path's number alone."""

from __future__ import annotations

from itertools import chain

import numpy as np
from scipy import stats

from privtrace.methods.adatrace.fine_cells import FineCells
from privtrace.paths import Paths

FINE = FineCells(np.array([0, 1, 5, 7]), np.array([9, 4, 0, 1, 5, 3, 1]))


def paths(*lists: list[int]) -> Paths:
    return Paths(np.array([*chain(*lists)], np.int32), np.cumsum([0, *map(len, lists)]))


def test_fine_cells_come_by_weight() -> None:
    chosen = FINE.choose(paths(*[[1, 2]] * 20_000), 0, 5).cells.reshape(-1, 2)
    ones, twos = np.bincount(chosen[:, 0], minlength=7), np.bincount(chosen[:, 1], minlength=7)
    assert ones[[0, 2, 5, 6]].sum() == 0 and twos[:5].sum() == 0
    assert stats.chisquare(ones[[1, 3, 4]], [8000, 2000, 10_000]).pvalue > 1e-4
    assert stats.chisquare(twos[5:], [15_000, 5000]).pvalue > 1e-4
    both = np.histogram2d(*chosen.T, bins=(np.arange(1, 6), np.arange(5, 8)))[0]
    assert stats.chi2_contingency(both[both.any(axis=1)]).pvalue > 1e-4  # one does not tell the other


def test_a_lone_cell_gets_two_and_an_empty_path_none() -> None:
    chosen = FINE.choose(paths([0], [], [1, 0], [2]), 0, 5)
    assert np.diff(chosen.offsets).tolist() == [2, 0, 2, 2]
    assert chosen.cells[:2].tolist() == [0, 0] and {*chosen.cells[4:].tolist()} <= {5, 6}
    many = FINE.choose(paths(*[[2]] * 2000), 0, 5).cells.reshape(-1, 2)
    assert 0.2 < np.mean(many[:, 0] != many[:, 1]) < 0.55  # drawn twice: 3/8 of them differ


def test_a_path_depends_on_its_number_alone() -> None:
    rng = np.random.default_rng(1)
    lists = [rng.integers(0, 3, rng.integers(0, 9)).tolist() for _ in range(500)]
    whole = FINE.choose(paths(*lists), 1000, 5)
    part = FINE.choose(paths(*lists[100:300]), 1100, 5)
    assert np.array_equal(whole.cells[whole.offsets[100] : whole.offsets[300]], part.cells)
