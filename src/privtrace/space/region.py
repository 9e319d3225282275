"""Say which area a release speaks of, and measure it in meters.

The region is public: it is chosen without looking at the data, because a box drawn around the data tells where
its outermost trajectory went.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace import coordinates
from privtrace.caching import cached_property
from privtrace.compiling import compiled
from privtrace.errors import SettingsError
from privtrace.space.area import Area, Tally, area_of, is_inside, tally, unwrapped
from privtrace.space.geojson import LAYERS, join, parse_polygon, read_polygon, unwrap
from privtrace.space.polygon import Polygon
from privtrace.trajectories import Crs, Floats, Trajectories, is_bad

# WGS 84: equatorial radius in meters, and first eccentricity squared.
_RADIUS_M = 6378137.0
_ECCENTRICITY2 = 0.0066943799901413165

# Where the projection holds: no nearer to a pole, and degrees of longitude no more unequal in length.
_MAX_LATITUDE = 85.0
_MAX_STRETCH = 4.0

_MIN_LONLAT_M = 10.0
_MIN_PLANAR, _MAX_PLANAR = 1e-6, 1e9
_RESOLUTION = 1e-9  # of coordinates: below this share of them, cells would be cut by rounding

MISSING = (
    "a region is needed: W,S,E,N in the data's coordinates, for example --region=-8.70,41.10,-8.54,41.22 "
    "(region=(-8.70, 41.10, -8.54, 41.22)), or a file with a polygon (GeoJSON, Shapefile, GeoPackage, "
    "GeoParquet, FlatGeobuf or KML). Do not take it from the data: the edges of the data show where its "
    "outermost trajectory went. Choose the area that the release is about, for example a city's limits; "
    "movement outside does not count"
)


@dataclass(frozen=True)
class Region:
    """Describe a box, edges included, or a polygon in the data's coordinates.

    Longitude and latitude are projected to meters around the center by scaling each axis (the equirectangular
    projection on the WGS 84 ellipsoid). A box stays a box under it, so that cells are boxes in both systems
    and a synthetic point is in the region exactly when it is in its cell. Planar coordinates stay as they are.
    A box of longitudes whose west is greater than its east lies across the antimeridian.
    """

    west: float
    south: float
    east: float
    north: float
    crs: Crs | None = None  # None until the region meets data, whose columns decide
    shape: Polygon | None = None  # what of the box is inside; None is all of it

    def __init__(
        self,
        west: Any,
        south: Any = None,
        east: Any = None,
        north: Any = None,
        crs: Crs | None = None,
        shape: Polygon | None = None,
    ) -> None:
        """Take west, south, east and north; or, instead of west, all that `Region.of` takes."""
        if south is None and east is None and north is None:
            given = Region.of(west) if crs is None else Region.of(west).for_data(crs)
            self.__dict__.update(given.__dict__)
            return
        self.__dict__.update(west=west, south=south, east=east, north=north, crs=crs, shape=shape)
        self.__post_init__()

    def __post_init__(self) -> None:
        for name in _BOUNDS:
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, float(value))
            except (TypeError, ValueError, OverflowError):
                raise SettingsError(f"the region's {name} must be a number, not {str(value)[:60]!r}") from None
        if self.crs is not None:
            object.__setattr__(self, "crs", coordinates.settled(self.crs, "the region's crs"))
        if not all(math.isfinite(getattr(self, name)) for name in _BOUNDS):
            raise SettingsError(f"the region {self} must have finite sides")
        if self.west == self.east or not self.south < self.north:
            raise SettingsError(f"the region {self} is empty: give W,S,E,N with west < east and south < north")
        if self.west > self.east:
            self._check_antimeridian()
        if self.shape is not None and tuple(self.bounds) != self.shape.bounds:
            raise SettingsError("the box is not the one around the polygon; use Region.polygon")
        if self.crs == "lonlat":
            self._check_degrees()
        elif self.crs is not None:
            self._check_planar()

    def _check_antimeridian(self) -> None:
        """Take west > east for a box across the antimeridian, if that can be meant."""
        degrees = max(abs(self.west), abs(self.east)) <= 180
        if self.crs not in (None, "lonlat") or not degrees or self.east + 360 - self.west > 180:
            raise SettingsError(
                f"the region {self} is inverted or empty: is its west really east of its east? The order is "
                "W,S,E,N. Only a box of at most 180 degrees across the antimeridian, such as 170,-20,-170,-10, "
                "has a west greater than its east"
            )

    def _check_degrees(self) -> None:
        """Refuse what is not degrees, and where a degree of longitude has not one length."""
        if not all(abs(getattr(self, name)) <= most for name, most in zip(_BOUNDS, (180, 90) * 2, strict=True)):
            raise SettingsError(
                f"the region {self} is not in degrees: longitude goes from -180 to 180 and latitude from -90 "
                "to 90. Is the order W,S,E,N? A box across the antimeridian has its west greater than its "
                "east, such as 170,-20,-170,-10. For planar data name the columns x and y, or pass --crs planar"
            )
        advice = "give a smaller region, or project the data to planar coordinates made for the area"
        if max(abs(self.south), abs(self.north)) > _MAX_LATITUDE:
            raise SettingsError(
                f"the region {self} is too near to a pole, where meridians meet and degrees of longitude lose "
                f"their length; stay within {_MAX_LATITUDE:g} degrees of latitude, or {advice}"
            )
        cosines = [math.cos(math.radians(latitude)) for latitude in (self.south, self.north)]
        widest = 1.0 if self.south < 0 < self.north else max(cosines)
        if widest > _MAX_STRETCH * min(cosines):
            raise SettingsError(
                f"the region {self} is too large: degrees of longitude differ by more than a factor of "
                f"{_MAX_STRETCH:g} in length between its south and north; {advice}"
            )
        if self._far_east - self.west > 180:
            raise SettingsError(
                f"the region {self} is too large: it is wider than 180 degrees, and the short way between its "
                "ends leads around the other side of the globe. Cut a polygon across the antimeridian in two "
                f"there, as the GeoJSON standard asks; else {advice}"
            )
        if self.shorter_side_m < _MIN_LONLAT_M:
            raise SettingsError(
                f"the region {self} is too small: it is less than {_MIN_LONLAT_M:g} m wide or high. Is it in "
                "degrees, as the data is?"
            )

    def _check_planar(self) -> None:
        least = max(_MIN_PLANAR, _RESOLUTION * float(np.abs(self.bounds).max()))
        if not least <= self.shorter_side_m <= max(self.width_m, self.height_m) < _MAX_PLANAR:
            raise SettingsError(
                f"the region {self} is too small or too large to be cut into cells: its width and height must "
                f"be from {_MIN_PLANAR:g} to {_MAX_PLANAR:g}, and more than {_RESOLUTION:g} of its coordinates"
            )

    @classmethod
    def box(cls, west: float, south: float, east: float, north: float, *, crs: Crs | None = None) -> Region:
        """Make a region from its west, south, east and north edges."""
        return cls(west, south, east, north, crs)

    @classmethod
    def polygon(cls, given: Any, *, crs: Crs | None = None) -> Region:
        """Make a region from a GeoJSON mapping, or the coordinates of a Polygon or MultiPolygon.

        Collections of polygons are united: districts that share borders become one area.
        """
        polygon, named_crs = parse_polygon(given)
        return cls._of(polygon, named_crs).for_data(crs) if crs else cls._of(polygon, named_crs)

    @classmethod
    def of(cls, given: Any) -> Region:
        """Make a region of what describes one: numbers W, S, E, N, a polygon, or the path of its file.

        A polygon is one of shapely, a GeoJSON mapping, or anything else with `__geo_interface__`.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str | os.PathLike):
            return cls.parse(os.fspath(given))
        shape = getattr(given, "__geo_interface__", given)
        if isinstance(shape, Mapping):
            made = cls.polygon(shape)
            return made if shape is given or not made._fills_its_box else replace(made, shape=None)
        try:
            numbers = [float(number) for number in given]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) != 4:
            raise SettingsError(
                MISSING
                if given is None
                else "a region is four numbers (W, S, E, N), a polygon of shapely or GeoJSON, or the path of a "
                f"file with one, not {type(given).__name__}"
            )
        return cls.box(*numbers)

    @property
    def _fills_its_box(self) -> bool:
        """Tell whether the polygon is a box, as that of shapely is."""
        corners = {(x, y) for x in (self.west, self.east) for y in (self.south, self.north)}
        return self.shape is not None and self.shape.n_vertices == 4 and {*self.shape.rings[0]} == corners

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Region:
        """Read polygons from GeoJSON, Shapefile, GeoPackage, GeoParquet, FlatGeobuf or KML, as one area.

        A region whose coordinate system is known is transformed to that of the data.
        """
        return cls._of(*read_polygon(path))

    @classmethod
    def parse(cls, text: str | None) -> Region:
        """Read `W,S,E,N`, or the file of that name."""
        if not text:
            raise SettingsError(MISSING)
        numbers = text.split(",")
        if Path(text).suffix.lower() in (".json", ".geojson", *LAYERS) or (
            len(numbers) != 4 and os.path.isfile(text)
        ):
            return cls.read(text)
        if len(numbers) != 4:
            raise SettingsError(
                f"the region {text!r} must be four numbers W,S,E,N separated by commas, or the name of a "
                "file with polygons, for example GeoJSON"
            )
        return cls(*numbers)  # type: ignore[arg-type]

    @classmethod
    def _of(cls, polygon: Polygon, crs: Crs | None) -> Region:
        """Put the box around a polygon, whose longitudes may go on beyond 180."""
        if crs == "lonlat":
            polygon = unwrap(polygon)
        west, south, east, north = polygon.bounds
        if crs == "lonlat" and 180 < east <= west + 180:
            east -= 360
        return cls(west, south, east, north, crs, polygon)

    def __str__(self) -> str:
        box = f"{self.west:.12g},{self.south:.12g},{self.east:.12g},{self.north:.12g}"
        return box if self.shape is None else f"{box} (a polygon of {self.shape})"

    def for_data(self, crs: Crs) -> Region:
        """Settle the coordinate system when the region meets data."""
        crs = coordinates.settled(crs)
        in_degrees = np.all(np.abs(self.bounds) <= (360, 90, 360, 90))
        if self.crs is None and crs not in ("lonlat", "planar") and in_degrees:
            # GeoJSON has longitude and latitude, and so has a box that would be a few meters near the origin.
            return self.for_data("lonlat").for_data(crs)
        if self.crs in (None, crs):
            return replace(self, crs=crs) if self.shape is None else self._of(self.shape, crs)
        if not coordinates.is_known(self.crs) or not coordinates.is_known(crs):
            raise SettingsError(f"the region {self} is {self.crs}, but the data is {crs}; make them agree")
        return self._transformed(crs)

    def _transformed(self, crs: Crs) -> Region:
        """Move the corners to another coordinate system; what was a box is a polygon there."""
        assert self.crs is not None
        w, s, e, n = self.bounds.tolist()
        box = ((((w, s), (e, s), (e, n), (w, n), (w, s)),),)
        parts = box if self.shape is None else self.shape.parts
        moved = [[coordinates.transformed(np.array(ring), self.crs, crs) for ring in rings] for rings in parts]
        if not all(np.isfinite(ring).all() for rings in moved for ring in rings):
            raise SettingsError(f"the region {self} does not lie where {crs} holds; make them agree")
        return self._of(join(moved), crs)

    @property
    def units(self) -> str:
        """Name the units of the coordinates."""
        if self.crs is None or self.crs == "planar":
            return "planar units"
        return "degrees" if self.crs == "lonlat" else f"the units of {self.crs}"

    @property
    def in_meters(self) -> bool:
        """Tell whether lengths are in meters, or in planar units that nobody knows."""
        return coordinates.is_known(self.crs)

    @property
    def scale_m(self) -> tuple[float, float]:
        """Give the meters in one unit of each coordinate, at the region's center."""
        if self.crs is None or self.crs == "planar":
            return 1.0, 1.0
        if self.crs != "lonlat":
            return coordinates.scale_m(self.crs, (self.west + self.east) / 2, (self.south + self.north) / 2)
        latitude = math.radians((self.south + self.north) / 2)
        bulge = 1 - _ECCENTRICITY2 * math.sin(latitude) ** 2
        east_radius = _RADIUS_M / math.sqrt(bulge) * math.cos(latitude)
        north_radius = _RADIUS_M * (1 - _ECCENTRICITY2) / bulge**1.5
        return math.radians(east_radius), math.radians(north_radius)

    @property
    def width_m(self) -> float:
        """Measure west to east, in meters (or planar units)."""
        return (self._far_east - self.west) * self.scale_m[0]

    @property
    def height_m(self) -> float:
        """Measure south to north, in meters (or planar units)."""
        return (self.north - self.south) * self.scale_m[1]

    @property
    def shorter_side_m(self) -> float:
        """Measure the shorter side of the box, in meters (or planar units)."""
        return min(self.width_m, self.height_m)

    @property
    def bounds(self) -> Floats:
        """List west, south, east, north, for kernels; across the antimeridian, east is beyond 180."""
        return np.array([self.west, self.south, self._far_east, self.north])

    @property
    def _far_east(self) -> float:
        return self.east + 360 if self.west > self.east else self.east

    @cached_property
    def area(self) -> Area:
        """Prepare the region for kernels."""
        return area_of(self.bounds, self.crs, self.shape)

    def contains(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Tell whether each point is in the region; bad points are not."""
        return _contains(points, self.area)  # type: ignore[no-any-return]

    def unwrap(self, points: Floats) -> Floats:
        """Bring longitudes to where the region is: across the antimeridian, -179 becomes 181."""
        x = points[:, 0]
        return np.stack([np.where(x < self.west, x + self.area.turn, x), points[:, 1]], axis=1)

    def meters(self, points: Floats) -> Floats:
        """Turn coordinates of points in the region into meters from the box's southwest corner."""
        meters: Floats = (self.unwrap(points) - self.bounds[:2]) * np.array(self.scale_m)
        return meters

    def coordinates(self, meters: Floats) -> Floats:
        """Turn meters from the box's southwest corner into coordinates; none is beyond the box."""
        low, high = self.bounds[:2], self.bounds[2:]
        points: Floats = np.clip(low + meters / np.array(self.scale_m), low, high)
        points[:, 0] = self.wrap(points[:, 0])
        return points

    def wrap(self, x: Floats) -> Floats:
        """Bring longitudes back to where maps end: across the antimeridian, 181 becomes -179."""
        return np.where(x > 180, x - self.area.turn, x)

    def tally(self, part: Trajectories) -> Tally:
        """Count exactly how much of some trajectories is in the region. NOT PRIVATE."""
        return tally(part.points, part.offsets, self.area)  # type: ignore[no-any-return]


_BOUNDS = ("west", "south", "east", "north")


@compiled
def _contains(points, area):  # type: ignore[no-untyped-def]
    inside = np.zeros(len(points), np.bool_)
    for p in range(len(points)):
        x, y = points[p, 0], points[p, 1]
        bad = is_bad(x, y, area.limits)
        inside[p] = not bad and is_inside(unwrapped(x, area.bounds, area.turn), y, area)
    return inside
