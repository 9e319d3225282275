"""MovingPandas' collections of trajectories, and trackintel's positionfixes and triplegs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from privtrace.errors import DataError
from privtrace.io.clock import epochs
from privtrace.io.columns import TIME, TRAJECTORY, USER, Declared, has_role
from privtrace.io.crs import meaning
from privtrace.io.frames.geometry import of_rows, to_geopandas, without_bad_points
from privtrace.io.frames.packages import check_kind, load
from privtrace.io.long_table import arrow_times
from privtrace.io.rows import floats_of
from privtrace.io.zones import UTC, instants
from privtrace.trajectories import Array, Crs, Trajectories

#: What trackintel calls its columns.
_TRACKED_AT, _STARTED_AT, _TRIPLEG = "tracked_at", "started_at", "tripleg_id"


def from_movingpandas(collection: Any, declared: Declared) -> Trajectories:
    """Take a TrajectoryCollection or a Trajectory; its moving objects are users.

    A collection has no header: each trajectory is read by itself, ids and users as text. Where it is in another
    system than is declared, or else than longitude and latitude, its points are bad points.
    """
    moving = load("movingpandas", "from_movingpandas", "geo")
    check_kind("from_movingpandas", collection, moving.TrajectoryCollection, moving.Trajectory)
    place = "the MovingPandas collection"
    if isinstance(collection, moving.Trajectory):
        trajectories = [collection]
        crs = meaning(Path(place), _described(collection), declared)
    else:
        trajectories = collection.trajectories
        crs = declared.crs or "lonlat"
    known = [declared.crs is not None or _means(one, crs) for one in trajectories]
    frame, roles = _joined(trajectories, known, declared.timezone)
    return of_rows(place, frame, replace(declared, crs=crs, columns={**roles, **declared.columns}))


def _described(one: Any) -> Any:
    return one.crs and one.crs.to_json_dict()


def _means(one: Any, crs: Crs) -> bool:
    """Tell whether the points of a trajectory are in a system."""
    try:
        return meaning(Path(), _described(one), Declared()) == crs
    except DataError:
        return False


def _joined(trajectories: list[Any], known: list[bool], zone: str) -> tuple[Any, dict[str, str]]:
    """Put the points of trajectories into one frame, and say which columns say whose they are."""
    import geopandas
    import pandas

    sizes = [len(one.df) for one in trajectories]
    made = {
        TRAJECTORY: _repeated([one.id for one in trajectories], sizes),
        USER: _repeated([one.obj_id for one in trajectories], sizes),
        TIME: pandas.DatetimeIndex(
            np.concatenate([np.empty(0, "datetime64[us]"), *(_utc(one, zone) for one in trajectories)])
        ).tz_localize("UTC"),
    }
    rest = [one.df.drop(columns=[one.df.active_geometry_name, *made], errors="ignore") for one in trajectories]
    frame = pandas.concat([pandas.DataFrame(), *map(pandas.DataFrame, rest)], ignore_index=True).assign(**made)
    geometries = [
        _geometries(one) if good else np.full(len(one.df), None, object)
        for one, good in zip(trajectories, known, strict=True)
    ]
    return geopandas.GeoDataFrame(frame, geometry=np.concatenate([np.empty(0, object), *geometries])), {
        name: name for name in made
    }


def _repeated(ids: list[Any], sizes: list[int]) -> Any:
    """Repeat ids for their points, as objects: each is written out by itself."""
    import pandas

    return pandas.Series(ids, dtype=object).repeat(sizes).reset_index(drop=True)


def _geometries(one: Any) -> Array:
    """Take the points, also where they are still in two columns."""
    if one.x in one.df.columns and one.y in one.df.columns:
        points: Array = shapely.points(one.df[[one.x, one.y]].to_numpy(float))
        return points
    geometries: Array = one.df.geometry.to_numpy()
    return geometries


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
    return floats_of(instants(arrow_times(local), zone))


def to_movingpandas(trajectories: Trajectories) -> Any:
    """Hand over a collection: an object for each trajectory, which takes MovingPandas about a millisecond."""
    moving = load("movingpandas", "to_movingpandas", "geo")
    timed = _timed(trajectories, "to_movingpandas")
    frame = to_geopandas(replace(timed, zone=UTC)).set_index(TIME)  # whose type says so to the collection
    ids = timed.ids_from(0).tolist()
    users = [None] * len(timed) if timed.users is None else _known(frame[USER], timed)
    made = []
    with warnings.catch_warnings():
        # Planar points have no CRS here, and MovingPandas calls pandas in ways that will go away.
        warnings.filterwarnings("ignore", "Trajectory generated without CRS")
        warnings.filterwarnings("ignore", "The inplace keyword")
        warnings.filterwarnings("ignore", "Time zone information dropped")
        for (start, stop), name, user in zip(pairwise(timed.offsets.tolist()), ids, users, strict=True):
            rows = frame.iloc[start:stop]
            if rows.index[0] != rows.index[-1]:  # else one moment, of which it makes no trajectory
                made.append(moving.Trajectory(rows, name, traj_id_col=TRAJECTORY, obj_id=user, crs=None))
    return moving.TrajectoryCollection(made)


def _known(column: Any, trajectories: Trajectories) -> list[Any]:
    """Take the user of each trajectory from the column of its points, None where unknown."""
    users = column.iloc[trajectories.offsets[:-1]]
    return [None if unknown else user for user, unknown in zip(users, users.isna(), strict=True)]


def from_trackintel(frame: Any, declared: Declared) -> Trajectories:
    """Take positionfixes, or triplegs, of which each is a trajectory; their columns tell them apart."""
    check_kind("from_trackintel", frame, load("geopandas", "from_trackintel", "geo").GeoDataFrame)
    names = [str(name) for name in frame.columns]
    if _TRACKED_AT in names:
        roles = {TIME: _TRACKED_AT}
        if _TRIPLEG in names and not has_role(TRAJECTORY, names, declared):
            roles[TRAJECTORY] = _TRIPLEG
        return of_rows("the positionfixes", frame, replace(declared, columns={**roles, **declared.columns}))
    if _STARTED_AT not in names:
        raise DataError(
            f"the trackintel frame: no column {_TRACKED_AT!r} as positionfixes have it, and none "
            f"{_STARTED_AT!r} as triplegs; use from_geopandas for other frames"
        )
    if _TRIPLEG not in names:  # it is the index, whatever that is called
        frame = frame.assign(**{_TRIPLEG: frame.index})
    columns = {TRAJECTORY: _TRIPLEG, **declared.columns}
    return of_rows("the triplegs", frame, replace(declared, columns=columns))


def to_trackintel(trajectories: Trajectories) -> Any:
    """Hand over positionfixes."""
    trackintel = load("trackintel", "to_trackintel")
    timed = _timed(trajectories, "to_trackintel")
    frame = to_geopandas(timed).rename(columns={TIME: _TRACKED_AT})
    if timed.users is None:
        frame[USER] = frame[TRAJECTORY]
    # Its own check refuses a frame without rows.
    return trackintel.Positionfixes(frame, validate=False)


def _timed(trajectories: Trajectories, what: str) -> Trajectories:
    """Leave the points that have a place and a time, numbers of which are seconds since 1970."""
    if trajectories.times is None:
        raise DataError(f"{what}: these trajectories have no times, and it needs them; use to_geopandas")
    times = arrow_times(trajectories.times)
    clock = times if pa.types.is_timestamp(times.type) else epochs(times, "s")
    return without_bad_points(replace(trajectories, times=floats_of(clock)))
