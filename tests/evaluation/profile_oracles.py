"""What the profiles' metrics are made of, slow and obvious: cells, paths, patterns, divergences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.conftest import trajectories

from privtrace.evaluation.frame import Frame
from privtrace.trajectories import Integers

Point: TypeAlias = tuple[float, float]
Walks: TypeAlias = list[list[Point]]
Cell: TypeAlias = tuple[int, int]  # row, column


def measured(profile: Any, frame: Frame, walks: Walks, lots: list[float] | None = None) -> Any:
    """Measure the traits of a whole set."""
    crs = frame.region.crs
    assert crs is not None
    traits = profile.measuring(frame)(frame.clip(trajectories(*walks, crs=crs)))
    return traits if lots is None else replace(traits, order=np.argsort(lots, kind="stable"))


def assert_weights_are_copies(
    pair: Iterable[list[Any]],
    measure: Callable[[Any, Integers], Any],
    compare: Callable[[Any, Any], float],
    within: float = 1e-12,
) -> None:
    """Check that a walk of weight n is as n copies of it; `measure` is given walks, and the numbers of some."""
    rng = np.random.default_rng(1)
    weighed, copied = [], []
    for walks in pair:
        all_of_them = np.arange(len(walks))
        weights = rng.multinomial(len(walks), np.ones(len(walks)) / len(walks))
        weighed.append(measure(walks, all_of_them).weighing(weights))
        copied.append(measure(walks, np.repeat(all_of_them, weights)))
    assert compare(*weighed) == pytest.approx(compare(*copied), abs=within, nan_ok=True)


def random_walks(seed: int, n: int, width: float, height: float) -> Walks:
    """Draw walks with short and long steps and stops, most in the south-west; some are single points."""
    rng = np.random.default_rng(seed)
    walks: Walks = []
    for _ in range(n):
        x, y = rng.beta(1.5, 4) * width, rng.beta(1.5, 4) * height
        walk = [(x, y)]
        for _ in range(rng.integers(0, 9)):
            if rng.random() < 0.2:
                walk.append(walk[-1])
                continue
            step = rng.normal(0, rng.choice([0.03, 0.3]), 2) * (width, height)
            x, y = float(np.clip(x + step[0], 0, width)), float(np.clip(y + step[1], 0, height))
            walk.append((x, y))
        walks.append(walk)
    return walks


def pairs_of_sets(sizes: list[tuple[int, int]], width: float, height: float) -> list[tuple[Walks, Walks]]:
    """Draw a real and a synthetic set of each pair of sizes."""
    return [
        (random_walks(2 * pair, n, width, height), random_walks(2 * pair + 1, m, width, height))
        for pair, (n, m) in enumerate(sizes)
    ]


def divergence(p: Counter[Any], q: Counter[Any]) -> float:
    """Compute the Jensen-Shannon divergence of two tables of counts, as shares, in natural logarithms."""
    n, m = sum(p.values()), sum(q.values())
    if not n or not m:
        return math.log(2) if n or m else 0.0
    total = 0.0
    for key in set(p) | set(q):
        a, b = Fraction(p[key], n), Fraction(q[key], m)
        for share in (a, b):
            if share:
                total += float(share) * math.log(share / ((a + b) / 2)) / 2
    return total


def cut(values: Iterable[float], n_bins: int, low: float, high: float) -> Counter[int]:
    """Count values in equal bins, those beyond an end in its last bin."""
    counts: Counter[int] = Counter()
    for value in values:
        if low == high:
            counts[n_bins - 1 if value > high else 0] += 1
        else:
            share = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low))
            counts[min(max(math.floor(share * n_bins), 0), n_bins - 1)] += 1
    return counts


def lengths(walks: Walks) -> list[float]:
    return [sum(math.dist(a, b) for a, b in pairwise(walk)) for walk in walks]


def diameters(walks: Walks) -> list[float]:
    return [max(math.dist(a, b) for a in walk for b in walk) for walk in walks]


def cell(point: Point, frame: Frame, n_per_side: int) -> Cell:
    """Find the row and the column of a point among equal cells."""
    sizes = (frame.region.width_m, frame.region.height_m)
    column, row = (
        min(math.floor(Fraction(at) * n_per_side / Fraction(size)), n_per_side - 1)
        for at, size in zip(point, sizes, strict=True)
    )
    return row, column


def path(walk: list[Point], frame: Frame, n_per_side: int, *, filled: bool = False) -> list[Cell]:
    """List the cells of a walk, the same cell in a row once; steps filled as a chess king goes."""
    cells: list[Cell] = []
    for point in walk:
        target = cell(point, frame, n_per_side)
        if filled and cells:
            while max(abs(target[0] - cells[-1][0]), abs(target[1] - cells[-1][1])) > 1:
                row, column = cells[-1]
                cells.append((toward(row, target[0]), toward(column, target[1])))
        if not cells or cells[-1] != target:
            cells.append(target)
    return cells


def toward(at: int, target: int) -> int:
    if at == target:
        return at
    return at + 1 if target > at else at - 1


def patterns(paths: list[list[Cell]], longest: int) -> Counter[tuple[Cell, ...]]:
    """Count every run of 2 to `longest` cells, wherever it occurs."""
    return Counter(
        tuple(cells[start : start + size])
        for cells in paths
        for size in range(2, longest + 1)
        for start in range(len(cells) - size + 1)
    )


def most_frequent(counts: Counter[tuple[Cell, ...]], k: int) -> list[tuple[Cell, ...]]:
    """List the k most frequent; on ties the shorter, then the one of smaller cells."""
    return sorted(counts, key=lambda pattern: (-counts[pattern], len(pattern), pattern))[:k]


def relative_error(pairs: Iterable[tuple[float, float]], least: float) -> float:
    """Average |real - synthetic| / max(real, least)."""
    errors = [abs(real - synthetic) / max(real, least) for real, synthetic in pairs]
    return sum(errors) / len(errors)


def tau_b(first: list[int], second: list[int]) -> float:
    """Compare every pair: for, against, or tied."""
    agreeing = untied = other_untied = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            untied += a != 0
            other_untied += b != 0
            agreeing += (a * b > 0) - (a * b < 0)
    return agreeing / math.sqrt(untied * other_untied)
