"""Hold zones: named areas, in which points are looked up, and through which lines pass.

Zones are public, as the region is. They may overlap, leave parts of the region out, and lie outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from privtrace.caching import cached_property
from privtrace.runs import Runs
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers
from privtrace.zones.outline import outline_of
from privtrace.zones.passing import Cover, passed

#: Zones overlap by more than slivers if they share more than this part of the smaller one.
_SLIVER = 1e-6
_PAIRS_AT_ONCE = 1 << 12

_M2_IN_KM2 = 1e6


@dataclass(frozen=True, eq=False)
class Zones:
    """Hold zones of a region: their names, and their polygons in its coordinates."""

    region: Region  # its coordinate system is settled
    names: tuple[str, ...]  # all different, in the order in which they were given
    polygons: Array  # (n,): of shapely, whole; across the antimeridian, longitudes go on beyond 180
    title: str  # what they are in words, without the name of a file
    apart: bool = False  # it is known that none overlap

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        # The default would print every vertex.
        return f"Zones({len(self):,} {self.title})"

    def of_points(self, points: Floats) -> tuple[Integers, Integers]:
        """Find the zones of points, given in the coordinates of trajectories: numbers of points, and of zones.

        Pairs are in order of points, then of zones. A point is in each zone that holds it inside. Of the zones
        on whose border it is, it is in the first only: a point between two districts counts once.
        """
        points = self.region.unwrap(points)
        # The tree is one of points: then the polygons are prepared, which are few and have many vertices.
        zones, found = shapely.STRtree(shapely.points(points)).query(self.polygons, predicate="intersects")
        order = np.lexsort((zones, found))
        found, zones = found[order], zones[order]
        keep = ~self._are_on_later_border(points, found, zones)
        return found[keep], zones[keep]

    def _are_on_later_border(self, points: Floats, found: Integers, zones: Integers) -> Array:
        """Tell which pairs, sorted, are of a border on which the point is, but not of the first such zone."""
        are_later = np.zeros(len(found), np.bool_)
        several = np.flatnonzero(np.bincount(found, minlength=len(points))[found] > 1)
        shapely.prepare(self.polygons[np.unique(zones[several])])
        x, y = points[found[several]].T
        borders = several[~shapely.contains_xy(self.polygons[zones[several]], x, y)]
        are_later[borders[1:]] = found[borders[1:]] == found[borders[:-1]]
        return are_later

    def passed_by(self, lines: Runs) -> tuple[Integers, Integers]:
        """Find the zones that lines touch, given in meters of the region: numbers of lines, and of zones.

        Pairs are in order of lines, then of zones, each once. Lines stay in the region's box, as synthetic
        ones do. A line of one point is that point, and an empty one passes nothing.
        """
        return passed(lines, self._cover)

    @cached_property
    def _cover(self) -> Cover:
        region = self.region
        meters = (shapely.get_coordinates(self.polygons) - region.bounds[:2]) * np.array(region.scale_m)
        return Cover.of(shapely.set_coordinates(self.polygons.copy(), meters), region)

    @cached_property
    def clipped(self) -> Array:
        """Cut the zones to the region: (n,); what is left of one that lies outside is empty."""
        outline, clipped = outline_of(self.region), self.polygons.copy()
        shapely.prepare(outline)
        cut = ~shapely.covers(outline, clipped)
        clipped[cut] = shapely.intersection(clipped[cut], outline)
        return clipped

    @property
    def areas(self) -> Floats:
        """Measure what of each zone is in the region, in km² or, if that is unknown, squared units: (n,)."""
        return self._measured(self.clipped)

    @property
    def centers(self) -> Floats:
        """Give a point inside each zone, in the coordinates of trajectories: (n, 2)."""
        points = shapely.get_coordinates(shapely.point_on_surface(self.polygons))
        return np.stack([self.region.wrap(points[:, 0]), points[:, 1]], axis=1)

    @cached_property
    def overlaps(self) -> bool:
        """Tell whether two zones share more of the region than slivers."""
        if self.apart:
            return False
        first, second = shapely.STRtree(self.clipped).query(self.clipped, predicate="intersects")
        first, second = first[first < second], second[first < second]
        least = _SLIVER * np.minimum(*shapely.area([self.clipped[first], self.clipped[second]]))
        return any(
            np.any(self._shared(first[some], second[some]) > least[some])
            for at in range(0, len(first), _PAIRS_AT_ONCE)
            for some in [slice(at, at + _PAIRS_AT_ONCE)]
        )

    def _shared(self, first: Integers, second: Integers) -> Floats:
        area: Floats = shapely.area(shapely.intersection(self.clipped[first], self.clipped[second]))
        return area

    @cached_property
    def covered(self) -> float:
        """Tell which share of the region's area the zones cover."""
        parts = [shapely.union_all(self.clipped)] if self.overlaps else self.clipped
        return min(1.0, float(shapely.area(parts).sum() / shapely.area(outline_of(self.region))))

    def _measured(self, shapes: Array) -> Floats:
        """Measure areas as `areas` gives them."""
        across, up = self.region.scale_m
        areas: Floats = shapely.area(shapes) * (across * up)
        return areas / _M2_IN_KM2 if self.region.in_meters else areas
