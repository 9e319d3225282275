"""Random polygons to test with, and shapely's view of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

import privtrace as pt


def star(rng: np.random.Generator, center: tuple[float, float], radius: float, n: int) -> list[list[float]]:
    """Draw a closed ring around a center, each vertex at its own distance."""
    angles = np.sort(rng.uniform(0, 2 * np.pi, n - 3))
    angles = np.sort(np.concatenate([angles, [0.3, 2.4, 4.5]]))  # so that the center is within
    distances = rng.uniform(0.5, 1.0, n) * radius
    ring = np.stack([center[0] + distances * np.cos(angles), center[1] + distances * np.sin(angles)], axis=1)
    return [*ring.tolist(), ring[0].tolist()]


def square(west: float, south: float, side: float) -> list[list[float]]:
    east, north = west + side, south + side
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def mixed(seed: int) -> list[Any]:
    """Make a multipolygon in and around [0, 10] x [0, 10]: an island with a lake, an islet in it, others."""
    rng = np.random.default_rng(seed)
    while True:
        parts = [
            [star(rng, (4, 4), 4, int(rng.integers(8, 60))), star(rng, (4, 4), 1.5, 12)],
            [star(rng, (4, 4), 0.5, 9)],
            [star(rng, (8.6, 8.6), 1.4, 20)],
            [star(rng, (1, 9), 0.9, 5)],
        ]
        if shaped(parts).is_valid:
            return parts


def shaped(parts: list[Any]) -> Any:
    return shapely.MultiPolygon([(part[0], part[1:]) for part in parts])


#: Shapes with corners and edges on the lines of a 4 x 4 grid over [0, 10] x [0, 10], where rounding would show.
ALIGNED: dict[str, list[Any]] = {
    "ell": [[[[0, 0], [10, 0], [10, 5], [5, 5], [5, 10], [0, 10], [0, 0]]]],
    "frame": [[square(0, 0, 10), square(2.5, 2.5, 5)]],
    "two squares at a corner": [[square(0, 0, 5)], [square(5, 5, 5)]],
    "diamond": [[[[5, 0], [10, 5], [5, 10], [0, 5], [5, 0]]]],
    "steps": [[[[0, 0], [10, 0], [10, 2.5], [7.5, 2.5], [7.5, 6], [2.5, 6], [2.5, 10], [0, 10], [0, 0]]]],
    "two banks": [
        [[[0, 0], [10, 0], [10, 4.9], [0, 4.9], [0, 0]]],
        [[[0, 5.1], [10, 5.1], [10, 10], [0, 10], [0, 5.1]]],
    ],
}

SHAPES: dict[str, list[Any]] = {**{f"mixed {seed}": mixed(seed) for seed in range(6)}, **ALIGNED}


def region(name: str) -> pt.Region:
    return pt.Region.polygon(SHAPES[name], crs="planar")


def oracle(name: str) -> Any:
    return shaped(SHAPES[name])
