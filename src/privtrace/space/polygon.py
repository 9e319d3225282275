"""Hold polygons: areas with straight edges, in parts and with holes, written in one canonical order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from privtrace.caching import cached_property
from privtrace.trajectories import Floats

Point: TypeAlias = tuple[float, float]
Ring: TypeAlias = tuple[Point, ...]  # closed: the last point is the first
Part: TypeAlias = tuple[Ring, ...]  # an outer ring, then its holes


@dataclass(frozen=True)
class Polygon:
    """Hold the parts of an area, each an outer ring and its holes, nested as GeoJSON nests a MultiPolygon.

    `Polygon.of` brings the rings into canonical order, so that the same rings are the same bytes. A point is
    inside when a line from it to the east crosses an odd number of edges; so edges to the west and south
    belong to the area, and those to the east and north do not.
    """

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, parts: Iterable[Iterable[Iterable[Point]]]) -> Polygon:
        """Put rings in order: outer ones turn left, holes right, all from their least point; parts sorted."""
        ordered = []
        for part in parts:
            outer, *holes = part
            ordered.append((_turned(outer, 1), *sorted(_turned(hole, -1) for hole in holes)))
        return cls(tuple(sorted(ordered)))

    def __repr__(self) -> str:
        # The default would print every vertex.
        return f"Polygon({self})"

    def __str__(self) -> str:
        n_holes = sum(len(part) - 1 for part in self.parts)
        holes = [_counted(n_holes, "hole")] if n_holes else []
        words = [_counted(len(self.parts), "part"), *holes, _counted(self.n_vertices, "vertex", "vertices")]
        return f"{', '.join(words[:-1])} and {words[-1]}"

    @property
    def rings(self) -> list[Ring]:
        """List the rings of all parts."""
        return [ring for part in self.parts for ring in part]

    @property
    def n_vertices(self) -> int:
        """Count the vertices of all rings."""
        return sum(len(ring) - 1 for ring in self.rings)

    @property
    def coordinates(self) -> list[Any]:
        """List the coordinates as those of a GeoJSON MultiPolygon."""
        return [[[list(point) for point in ring] for ring in part] for part in self.parts]

    @cached_property
    def edges(self) -> Floats:
        """List the edges, the southern end of each first: (n_vertices, 4), x, y, x, y.

        The direction must not matter, so that an edge is crossed at the same place from both its sides.
        """
        ends = np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in map(np.array, self.rings)])
        falling = ends[:, 1] > ends[:, 3]
        ends[falling] = ends[falling][:, [2, 3, 0, 1]]
        return np.ascontiguousarray(ends)

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Give west, south, east and north of all vertices."""
        points = self.edges.reshape(-1, 2)
        west, south = points.min(axis=0).tolist()
        east, north = points.max(axis=0).tolist()
        return west, south, east, north

    @cached_property
    def area(self) -> float:
        """Measure the area in squared units of the coordinates."""
        return sum(_signed_area(ring) for ring in self.rings)


def shifted(part: Part, by: float) -> Part:
    """Move a part to the east."""
    return tuple(tuple((x + by, y) for x, y in ring) for ring in part)


def _turned(ring: Iterable[Point], sign: int) -> Ring:
    """Drop repeated points, turn the ring left (1) or right (-1), and start it at its least point."""
    given = list(ring)
    points = [after for before, after in pairwise(given) if before != after]  # without the first, which is last
    if sign * _signed_area([*points, points[0]]) < 0:
        points.reverse()
    start = points.index(min(points))
    return (*points[start:], *points[: start + 1])


def _signed_area(ring: Iterable[Point]) -> float:
    """Measure a closed ring, positive if it turns left; from its first point, so that little cancels."""
    corners = np.array(list(ring))
    x, y = (corners - corners[0]).T
    return float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2)


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
