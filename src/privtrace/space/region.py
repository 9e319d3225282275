"""Say which area a release speaks of, and measure it in meters.

The region is public: it is chosen without looking at the data, because a box drawn around the data tells where
its outermost trajectory went.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from privtrace.errors import SettingsError
from privtrace.trajectories import Crs, Floats, Integers, Trajectories

# WGS 84: equatorial radius in meters, and first eccentricity squared.
_RADIUS_M = 6378137.0
_ECCENTRICITY2 = 0.0066943799901413165

MISSING = (
    "a region is needed: W,S,E,N in the data's coordinates, such as -8.70,41.10,-8.54,41.22. It cannot be "
    "taken from the data, because the edges of the data show where its outermost trajectory went. Choose the "
    "area that the release should speak of, for instance a city's limits; what lies outside does not count"
)


@dataclass(frozen=True)
class Region:
    """Describe a box, edges included, in the data's coordinates.

    Longitude and latitude are projected to meters around the center by scaling each axis (the equirectangular
    projection on the WGS 84 ellipsoid). A box stays a box under it, so that cells are boxes in both systems
    and a synthetic point is in the region exactly when it is in its cell. Planar coordinates stay as they are.
    """

    west: float
    south: float
    east: float
    north: float
    crs: Crs | None = None  # None until the region meets data, whose columns decide

    def __post_init__(self) -> None:
        sides = {name: getattr(self, name) for name in ("west", "south", "east", "north")}
        for name, value in sides.items():
            try:
                object.__setattr__(self, name, float(value))
            except (TypeError, ValueError):
                raise SettingsError(f"the region's {name} must be a number, not {value!r}") from None
        if self.crs not in (None, "lonlat", "planar"):
            raise SettingsError(f"the region's crs must be 'lonlat' or 'planar', not {self.crs!r}")
        if not all(math.isfinite(getattr(self, name)) for name in sides):
            raise SettingsError(f"the region {self} must have finite sides")
        if not (self.west < self.east and self.south < self.north):
            raise SettingsError(f"the region {self} is empty: give W,S,E,N with west < east and south < north")
        if self.crs == "lonlat" and not (
            -180 <= self.west and self.east <= 180 and -90 <= self.south and self.north <= 90
        ):
            raise SettingsError(
                f"the region {self} is not in degrees: longitude goes from -180 to 180 and latitude from -90 "
                "to 90. Is the order W,S,E,N? For planar data name the columns x and y, or pass --crs planar"
            )
        if self.crs is not None and not (1e-3 <= self.width_m < 1e9 and 1e-3 <= self.height_m < 1e9):
            raise SettingsError(f"the region {self} is too small or too large to be cut into cells")

    @classmethod
    def box(cls, west: float, south: float, east: float, north: float, *, crs: Crs | None = None) -> Region:
        """Make a region from its west, south, east and north edges."""
        return cls(west, south, east, north, crs)

    @classmethod
    def parse(cls, text: str | None) -> Region:
        """Read `W,S,E,N`."""
        if not text:
            raise SettingsError(MISSING)
        sides = text.split(",")
        if len(sides) != 4:
            raise SettingsError(f"the region {text!r} must be four numbers W,S,E,N separated by commas")
        return cls(*sides)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.west:.12g},{self.south:.12g},{self.east:.12g},{self.north:.12g}"

    def for_data(self, crs: Crs) -> Region:
        """Settle the coordinate system when the region meets data."""
        if self.crs not in (None, crs):
            raise SettingsError(f"the region {self} is {self.crs}, but the data is {crs}; make them agree")
        return replace(self, crs=crs)

    @property
    def scale_m(self) -> tuple[float, float]:
        """Give the meters in one unit of each coordinate, at the region's center."""
        if self.crs != "lonlat":
            return 1.0, 1.0
        latitude = math.radians((self.south + self.north) / 2)
        bulge = 1 - _ECCENTRICITY2 * math.sin(latitude) ** 2
        east_radius = _RADIUS_M / math.sqrt(bulge) * math.cos(latitude)
        north_radius = _RADIUS_M * (1 - _ECCENTRICITY2) / bulge**1.5
        return math.radians(east_radius), math.radians(north_radius)

    @property
    def width_m(self) -> float:
        """Measure west to east, in meters (or planar units)."""
        return (self.east - self.west) * self.scale_m[0]

    @property
    def height_m(self) -> float:
        """Measure south to north, in meters (or planar units)."""
        return (self.north - self.south) * self.scale_m[1]

    @property
    def sides(self) -> Floats:
        """List west, south, east, north, for kernels."""
        return np.array([self.west, self.south, self.east, self.north])

    @property
    def limits(self) -> Floats:
        """List the largest possible absolute coordinates; what is beyond, or not a number, is a bad point."""
        return np.array([180.0, 90.0] if self.crs == "lonlat" else [np.finfo(float).max] * 2)

    def tally(self, part: Trajectories) -> Integers:
        """Count exactly: trajectories, those with a point inside; points inside, outside, and bad: (5,)."""
        return _tally(part.points, part.offsets, self.sides, self.limits)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, inline="always")
def is_bad(x, y, limits):  # type: ignore[no-untyped-def]
    """Tell whether a point is not a number, infinite or impossible; such a point is as if it were absent."""
    return not (abs(x) <= limits[0] and abs(y) <= limits[1])


@njit(cache=True, nogil=True, inline="always")
def is_inside(x, y, sides):  # type: ignore[no-untyped-def]
    """Tell whether a point is in the box, edges included."""
    return sides[0] <= x <= sides[2] and sides[1] <= y <= sides[3]


@njit(cache=True, nogil=True)
def _tally(points, offsets, sides, limits):  # type: ignore[no-untyped-def]
    tally = np.zeros(5, np.int64)
    tally[0] = len(offsets) - 1
    for trajectory in range(len(offsets) - 1):
        found = False
        for p in range(offsets[trajectory], offsets[trajectory + 1]):
            if is_bad(points[p, 0], points[p, 1], limits):
                tally[4] += 1
            elif is_inside(points[p, 0], points[p, 1], sides):
                tally[2] += 1
                found = True
            else:
                tally[3] += 1
        tally[1] += found
    return tally


@njit(cache=True, nogil=True)
def longest_run(points, first, last, sides, limits):  # type: ignore[no-untyped-def]
    """Find the longest stretch of points inside, as start and stop."""
    best_start, best_stop, best_length = first, first, 0
    start, length = first, 0
    for p in range(first, last):
        x, y = points[p, 0], points[p, 1]
        if is_bad(x, y, limits):
            continue
        if not is_inside(x, y, sides):
            length = 0
            continue
        if length == 0:
            start = p
        length += 1
        if length > best_length:
            best_start, best_stop, best_length = start, p + 1, length
    return best_start, best_stop
