"""Adapt frames with geometries: GeoPandas, MovingPandas and trackintel."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privtrace import coordinates
from privtrace.errors import DataError
from privtrace.frames import door
from privtrace.frames.door import SHAPES, check, load
from privtrace.frames.tables import arrow_columns, pandas_frame, to_arrow, whole
from privtrace.io import printing
from privtrace.io.columns import TIME, TRAJECTORY, USER, Declared, Layout, attributes, candidates, pair_of
from privtrace.io.features import meaning
from privtrace.io.output_tables import GEOMETRY, line_tables, times_name
from privtrace.parsing.clock import instants
from privtrace.parsing.dates import UTC
from privtrace.rows import floats_of
from privtrace.trajectories import Array, Crs, Trajectories

#: What trackintel calls its columns.
_TRACKED_AT, _STARTED_AT, _TRIPLEG = "tracked_at", "started_at", "tripleg_id"


def from_geopandas(frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    """Take a GeoDataFrame: each row gives the points of its geometry, however many, to its trajectory.

    With `lines`, a row is a trajectory where no column says to which it belongs.
    """
    check("from_geopandas", frame, load("geopandas", "from_geopandas"), "GeoDataFrame")
    return _frame_read("the GeoDataFrame", frame, declared, lines=lines)


def _frame_read(place: str, frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    name = frame.active_geometry_name
    if name is None:
        raise DataError(f"{place}: it has no geometry; name its column with frame.set_geometry(NAME)")
    crs = meaning(Path(place), _described(frame), declared)
    return _read(place, frame.drop(columns=name), frame[name].to_numpy(), crs, declared, lines=lines)


def _read(
    place: str, others: Any, geometries: Array, crs: Crs, declared: Declared, *, lines: bool = False
) -> Trajectories:
    """Read geometries of shapely, and a frame with what is beside them."""

    def understood(names: list[str]) -> Layout:
        return attributes(Path(place), names, declared, crs, points_only=not lines)

    columns = arrow_columns(place, others, understood)
    return door.read(place, pa.table({**columns, SHAPES: _points(geometries)}), declared, crs, lines=lines)


def _described(holder: Any) -> Any:
    """Describe the coordinate system of a frame or a trajectory, if it has one."""
    return holder.crs and holder.crs.to_json_dict()


def _points(geometries: Array) -> pa.Array:
    """List the points of each geometry; a row without any, or with another shape, has one that is missing."""
    import shapely

    kinds = shapely.GeometryType
    paths = (kinds.POINT, kinds.LINESTRING, kinds.MULTIPOINT, kinds.MULTILINESTRING)
    wrong = ~np.isin(shapely.get_type_id(geometries), paths)
    geometries = np.where(wrong, np.array(None), geometries)
    found, owners = shapely.get_coordinates(geometries, return_index=True)
    n_found = np.bincount(owners, minlength=len(geometries))
    counts = np.maximum(n_found, 1)
    points = np.full((2, counts.sum()), np.nan)
    points[:, np.repeat(n_found > 0, counts)] = found.T
    structs = pa.StructArray.from_arrays([*points], ["x", "y"])
    return pa.LargeListArray.from_arrays(np.append(0, np.cumsum(counts)), structs)


def to_geopandas(trajectories: Trajectories, *, lines: bool = False) -> Any:
    """Hand over a row per point, or a row per trajectory, without points that are no numbers."""
    geopandas = load("geopandas", "to_geopandas")
    import shapely

    if lines:
        table = whole(*line_tables([trajectories]))
        frame = pandas_frame(table.drop_columns([GEOMETRY]))
        if trajectories.times is not None and trajectories.times.dtype.kind == "M":
            name = times_name(trajectories.times)
            # As pandas' own: numpy's know no zones.
            lists = table[name].combine_chunks()
            moments = lists.flatten().to_pandas().astype(object).to_numpy()
            each = np.split(moments, (lists.offsets.to_numpy() - lists.offsets[0].as_py())[1:-1])
            frame[name] = type(frame[TRAJECTORY])(each[: len(frame)], dtype=object)
        geometries = shapely.from_wkb(table[GEOMETRY].to_numpy())
    else:
        frame = pandas_frame(to_arrow(trajectories).drop_columns(list(pair_of(trajectories.crs))))
        shapes = shapely.points(trajectories.points)
        geometries = np.where(printing.finite(trajectories), shapes, np.array(None))
    made = geopandas.GeoDataFrame(frame, geometry=geometries, crs=coordinates.code_of(trajectories.crs))
    made.attrs.update(trajectories.about)
    return made


def from_movingpandas(collection: Any, declared: Declared) -> Trajectories:
    """Take a TrajectoryCollection or a Trajectory; its moving objects are users.

    A collection has no header: each trajectory is read by itself, ids and users as text. Where it is in another
    system than is declared, or else than longitude and latitude, its points are bad points.
    """
    moving = load("movingpandas", "from_movingpandas")
    check("from_movingpandas", collection, moving, "TrajectoryCollection", "Trajectory")
    place = "the MovingPandas collection"
    is_one = isinstance(collection, moving.Trajectory)
    trajectories = [collection] if is_one else collection.trajectories
    crs = meaning(Path(place), _described(collection), declared) if is_one else declared.crs or "lonlat"
    frame = _joined(trajectories, crs, declared)
    roles = {name: name for name in (TRAJECTORY, USER, TIME)}
    declared = replace(declared, crs=crs, columns={**roles, **declared.columns})
    return _read(place, frame, frame.pop(GEOMETRY).to_numpy(), crs, declared)


def _joined(trajectories: list[Any], crs: Crs, declared: Declared) -> Any:
    """Put the points of trajectories into one frame; all but their times are objects."""
    import pandas
    import shapely

    frames = [pandas.DataFrame({name: [] for name in (TRAJECTORY, USER, TIME, GEOMETRY)})]
    for one in trajectories:
        points = one.df[one.df.active_geometry_name].to_numpy()
        if one.x in one.df.columns and one.y in one.df.columns:  # where they still are
            points = shapely.points(one.df[[one.x, one.y]].to_numpy(float))
        if declared.crs is None and coordinates.meaning(_described(one)) != crs:
            points = np.full(len(points), None, object)
        made = {TRAJECTORY: [one.id] * len(points), USER: [one.obj_id] * len(points), GEOMETRY: points}
        objects = {name: pandas.Series(values, dtype=object) for name, values in made.items()}
        times = pandas.DatetimeIndex(_utc(one, declared.timezone)).tz_localize("UTC")
        frame = pandas.DataFrame(one.df).reset_index(drop=True)
        frames.append(frame.assign(**objects, **{TIME: times}))
    return pandas.concat(frames[1:] or frames, ignore_index=True)


def _utc(one: Any, zone: str) -> Array:
    """Take the times, local in the zone that they had, or else in `zone`, and read as from a file."""
    times, had = one.df.index, one.df_orig_tz
    if had is not None:
        # Those of zoneinfo and of pytz have names; what has none is mostly an offset, and pandas reads it.
        zone = getattr(had, "key", None) or getattr(had, "zone", None) or UTC
        if zone == UTC:
            first = np.ones(len(times), bool)
            times = times.tz_localize(had, ambiguous=first, nonexistent="shift_forward").tz_convert(None)
    local: Array = times.to_numpy().astype("datetime64[us]")  # of one unit, whatever that of others is
    return floats_of(instants(printing.arrow_times(local), zone))


def to_movingpandas(trajectories: Trajectories) -> Any:
    """Hand over a collection: an object for each trajectory, which takes MovingPandas about a millisecond."""
    moving = load("movingpandas", "to_movingpandas")
    timed = _timed(trajectories, "to_movingpandas")
    frame = to_geopandas(replace(timed, zone=UTC)).set_index(TIME)  # whose type says so to the collection
    users = [None] * len(timed) if timed.users is None else printing.arrow_users(timed.users).to_pylist()
    made = []
    with warnings.catch_warnings():
        # Planar points have no CRS here, and MovingPandas calls pandas in ways that will go away.
        words = ("Trajectory generated without CRS", "The inplace keyword", "Time zone information dropped")
        warnings.filterwarnings("ignore", "|".join(words))
        bounds = pairwise(timed.offsets.tolist())
        for (start, stop), name, user in zip(bounds, timed.ids_from(0).tolist(), users, strict=True):
            points = frame.iloc[start:stop]
            if points.index[0] != points.index[-1]:  # else one moment, of which it makes no trajectory
                made.append(moving.Trajectory(points, name, traj_id_col=TRAJECTORY, obj_id=user, crs=None))
    return moving.TrajectoryCollection(made)


def from_trackintel(frame: Any, declared: Declared) -> Trajectories:
    """Take positionfixes, or triplegs, of which each is a trajectory; their columns tell them apart."""
    check("from_trackintel", frame, load("geopandas", "from_trackintel"), "GeoDataFrame")
    names = [str(name) for name in frame.columns]
    if _TRACKED_AT in names:
        place, roles = "the positionfixes", {TIME: _TRACKED_AT}
        if _TRIPLEG in names and not candidates(names, declared)[TRAJECTORY]:
            roles[TRAJECTORY] = _TRIPLEG
    elif _STARTED_AT in names:
        place, roles = "the triplegs", {TRAJECTORY: _TRIPLEG}
        if _TRIPLEG not in names:  # it is the index, whatever that is called
            frame = frame.assign(**{_TRIPLEG: frame.index})
    else:
        raise DataError(
            f"the trackintel frame: no column {_TRACKED_AT!r} as positionfixes have it, and none "
            f"{_STARTED_AT!r} as triplegs; use from_geopandas for other frames"
        )
    return _frame_read(place, frame, replace(declared, columns={**roles, **declared.columns}))


def to_trackintel(trajectories: Trajectories) -> Any:
    """Hand over positionfixes."""
    trackintel = load("trackintel", "to_trackintel", None)
    timed = _timed(trajectories, "to_trackintel")
    frame = to_geopandas(timed).rename(columns={TIME: _TRACKED_AT})
    if timed.users is None:
        frame[USER] = frame[TRAJECTORY]
    # Its own check refuses a frame without rows.
    return trackintel.Positionfixes(frame, validate=False)


def _timed(trajectories: Trajectories, what: str) -> Trajectories:
    """Leave the points that have a place and a time, numbers of which are seconds since 1970."""
    if trajectories.times is None:
        raise DataError(f"{what}: these trajectories have no times, but they are required; use to_geopandas")
    clock = printing.calendar(trajectories.times)
    timed = replace(trajectories, ids=trajectories.ids_from(0), times=clock)
    return printing.only(timed, printing.finite(trajectories) & ~np.isnat(clock))
