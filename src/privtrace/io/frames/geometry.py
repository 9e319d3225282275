"""Frames with geometry: a row per point, or a row per trajectory with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely

from privtrace.errors import DataError, SettingsError
from privtrace.io import printing
from privtrace.io.columns import (
    CALENDAR_LISTS,
    LIST,
    PAIRS,
    TIME,
    TRAJECTORY,
    USER,
    Declared,
    Layout,
    has_role,
)
from privtrace.io.crs import meaning
from privtrace.io.frames.packages import check_kind, load
from privtrace.io.frames.series import Columns
from privtrace.io.frames.tables import collected, pandas_of, to_arrow
from privtrace.io.lines import times_name
from privtrace.io.long_table import arrow_ids, arrow_times, arrow_users
from privtrace.trajectories import Array, Floats, Integers, Trajectories

#: What can be a trajectory or a point of one; anything else is as if it were missing.
_PATHS = (
    shapely.GeometryType.POINT,
    shapely.GeometryType.LINESTRING,
    shapely.GeometryType.MULTIPOINT,
    shapely.GeometryType.MULTILINESTRING,
)


def from_geopandas(frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    """Take a GeoDataFrame: each row gives the points of its geometry, however many, to its trajectory."""
    check_kind("from_geopandas", frame, load("geopandas", "from_geopandas", "geo").GeoDataFrame)
    return of_rows("the GeoDataFrame", frame, declared, lines=lines)


def of_rows(place: str, frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    """Lay the points of all rows out as a table and read that.

    With `lines`, a row is a trajectory where no column says to which it belongs.
    """
    if frame.active_geometry_name is None:
        raise DataError(f"{place}: it has no geometry; name its column with frame.set_geometry(NAME)")
    geometry = frame.active_geometry_name
    crs = meaning(Path(place), frame.crs and frame.crs.to_json_dict(), declared)
    columns = Columns.of(place, frame.drop(columns=geometry))
    declared = _with_lists(declared, columns.names)
    if given := [role for pair in PAIRS.values() for role in pair if role in declared.columns]:
        raise SettingsError(f"{place}: the points are in its geometry; leave {given[0]!r} out of columns")
    points, lengths = _points(frame[geometry].to_numpy())
    made = {f"{geometry}.x": points[:, 0], f"{geometry}.y": points[:, 1]}
    roles = dict(zip(PAIRS[crs], made, strict=True))
    if lines and not has_role(TRAJECTORY, columns.names, declared):
        roles[TRAJECTORY] = f"{geometry}.row"
        made[roles[TRAJECTORY]] = np.repeat(np.arange(len(frame)), lengths)

    def column(name: str, layout: Layout) -> pa.Array:
        return pa.array(made[name]) if name in made else columns.arrow_at(name, layout, lengths)

    declared = replace(declared, crs=crs, columns={**declared.columns, **roles})
    return collected(place, [*columns.names, *made], column, declared)


def _with_lists(declared: Declared, names: list[str]) -> Declared:
    """Take the times of all points of a line, where a column is called like them and none like other times."""
    found = [name for name in names if name in (LIST, *CALENDAR_LISTS)]
    if not found or has_role(TIME, names, declared):
        return declared
    return replace(declared, columns={**declared.columns, TIME: found[0]})


def _points(geometries: Array) -> tuple[Floats, Integers]:
    """List the points of all rows, and count those of each; a row without any has one that is missing."""
    geometries = _only(geometries, np.isin(shapely.get_type_id(geometries), _PATHS))
    found, owners = shapely.get_coordinates(geometries, return_index=True)
    n_found = np.bincount(owners, minlength=len(geometries))
    lengths = np.maximum(n_found, 1)
    points = np.full((lengths.sum(), 2), np.nan)
    points[np.repeat(n_found > 0, lengths)] = found
    return points, lengths


def to_geopandas(trajectories: Trajectories, *, lines: bool = False) -> Any:
    """Hand over a row per point, or a row per trajectory."""
    geopandas = load("geopandas", "to_geopandas", "geo")
    frame, geometries = _line_rows(trajectories) if lines else _point_rows(trajectories)
    crs = "EPSG:4326" if trajectories.crs == "lonlat" else None
    made = geopandas.GeoDataFrame(frame, geometry=geometries, crs=crs)
    made.attrs.update(trajectories.about)
    return made


def _point_rows(trajectories: Trajectories) -> tuple[Any, Array]:
    frame = pandas_of(to_arrow(trajectories).drop_columns(list(PAIRS[trajectories.crs])))
    return frame, _only(shapely.points(trajectories.points), _finite(trajectories.points))


def _finite(points: Floats) -> npt.NDArray[np.bool_]:
    return np.isfinite(points[:, 0]) & np.isfinite(points[:, 1])


def _only(geometries: Array, good: npt.NDArray[np.bool_]) -> Array:
    """Copy geometries, with others than the good ones missing."""
    kept = np.full(len(geometries), None, object)
    kept[good] = geometries[good]
    return kept


def _line_rows(trajectories: Trajectories) -> tuple[Any, Array]:
    trajectories = without_bad_points(trajectories)
    columns = {TRAJECTORY: arrow_ids(trajectories.ids_from(0))}
    if trajectories.users is not None:
        columns[USER] = arrow_users(trajectories.users)
    frame = pandas_of(pa.table(columns))
    if trajectories.times is not None:
        frame[times_name(trajectories.times)] = _lists(trajectories, trajectories.times)
    return frame, _lines(trajectories)


def _lists(trajectories: Trajectories, times: Array) -> Any:
    """List the times of each trajectory; numpy knows no zones, so calendar times are pandas' own."""
    shown = arrow_times(times, trajectories.zone)
    if not pa.types.is_timestamp(shown.type):
        return pa.LargeListArray.from_arrays(trajectories.offsets, shown).to_pandas()
    lists = np.empty(len(trajectories), object)
    lists[:] = np.split(shown.to_pandas().astype(object).to_numpy(), trajectories.offsets[1:-1])
    return lists


def _lines(trajectories: Trajectories) -> Array:
    """Draw each trajectory as a line; one of a single point, which makes no line, as a point."""
    lengths = np.diff(trajectories.offsets)
    single = lengths == 1
    in_line = np.repeat(~single, lengths)
    owners = np.repeat(np.arange(np.count_nonzero(~single)), lengths[~single])
    geometries = np.empty(len(trajectories), object)
    geometries[single] = shapely.points(trajectories.points[~in_line])
    geometries[~single] = shapely.linestrings(trajectories.points[in_line], indices=owners)
    return geometries


def without_bad_points(trajectories: Trajectories) -> Trajectories:
    """Leave out points that are not finite or, where others have a time, have none; and what is then empty."""
    good = _finite(trajectories.points)
    if trajectories.times is not None:
        good &= ~np.isnan(trajectories.times)
    left = printing.only(replace(trajectories, ids=trajectories.ids_from(0)), good)
    return left.take(np.flatnonzero(np.diff(left.offsets)))
