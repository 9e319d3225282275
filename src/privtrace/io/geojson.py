"""Write GeoJSON (RFC 7946) and OGC Moving Features JSON (MF-JSON), a feature per trajectory and line:

    {"type":"Feature","properties":{"traj_id":7,"coordTimes":["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"]},
     "geometry":{"type":"LineString","coordinates":[[-8.61,41.14,0,1704103200],[-8.62,41.15,0,1704103215]]}}

    {"type":"Feature","properties":{"traj_id":7},"temporalGeometry":{"type":"MovingPoint",
     "datetimes":["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"],"coordinates":[[-8.61,41.14],[-8.62,41.15]],
     "interpolation":"Linear"}}

In GeoJSON a trajectory of one point is a Point, and lines go over the antimeridian as they come. Where all
points of a line have a calendar time, positions have a height of 0 and whole seconds since 1970 too, which
Kepler.gl animates; readers go by `coordTimes`. A member `columns` of the collection says what its features
have, as a header would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import OutputError
from privtrace.io import printing
from privtrace.io.columns import CALENDAR_LISTS, TIME, TRAJECTORY, USER
from privtrace.io.lines import times_name
from privtrace.io.long_table import arrow_ids, arrow_users
from privtrace.trajectories import Array, Trajectories


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part GeoJSON cannot hold."""
    return printing.bad_points_lost(part)


def write(parts: Iterable[Trajectories], path: Path) -> None:
    """Write GeoJSON, with the first part's words about the whole in a member `about`."""
    _write(parts, path, "GeoJSON", _still, times_name)


def _still(part: Trajectories) -> pa.Array:
    """Print a point or line a feature."""
    single = np.diff(part.offsets) == 1
    kinds = pa.array(
        np.where(single, '"Point","coordinates":', '"LineString","coordinates":['), pa.large_string()
    )
    ends = pa.array(np.where(single, "", "]"), pa.large_string())
    times: list[pa.Array | str] = []
    if part.times is not None:
        listed = printing.joined(printing.json_times(part.times, part.zone), part.offsets, ",")
        times = [f',"{times_name(part.times)}":[', listed, "]"]
    return printing.chained(
        *_properties(part), *times, '},"geometry":{"type":', kinds, _positions(part, _moments(part)), ends, "}}"
    )


def _moments(part: Trajectories) -> pa.Array | None:
    """Print what follows longitude and latitude in lines whose points all have a calendar time, if any are."""
    if part.times is None or part.times.dtype.kind != "M":
        return None
    seconds = printing.whole_seconds(part.times)
    known = seconds.is_valid().to_numpy(zero_copy_only=False)
    lengths = np.diff(part.offsets)
    n_known = np.diff(np.concatenate([[0], np.cumsum(known)])[part.offsets])
    told = np.repeat((n_known == lengths) & (lengths > 1), lengths)
    texts = printing.chained(",0,", seconds.cast(pa.large_string()))
    return pc.if_else(pa.array(told), texts, "")


def lost_of_moving(part: Trajectories) -> list[str]:
    """Say in words what of a part MF-JSON cannot hold."""
    if part.times is None:
        return lost(part)
    timeless = [] if printing.whole_seconds(part.times).null_count == 0 else ["points without time"]
    return [*lost(part), *timeless, *printing.numbers_lost(part)]


def write_moving(parts: Iterable[Trajectories], path: Path) -> None:
    """Write MF-JSON, whose points all have a calendar time; numbers are taken for seconds since 1970."""
    _write(parts, path, "MF-JSON", _moving, lambda times: CALENDAR_LISTS[1])


def _moving(part: Trajectories) -> pa.Array:
    """Print a moving point a feature."""
    if part.times is None:
        raise OutputError("MF-JSON needs times, and these trajectories have none; write GeoJSON (.geojson)")
    part = printing.only(part, printing.whole_seconds(part.times).is_valid().to_numpy(zero_copy_only=False))
    assert part.times is not None
    times = printing.calendar(part.times)
    return printing.chained(
        *_properties(part),
        '},"temporalGeometry":{"type":"MovingPoint","datetimes":[',
        printing.joined(printing.json_times(times, part.zone), part.offsets, ","),
        '],"coordinates":[',
        _positions(part),
        '],"interpolation":"Linear"}}',
    )


def _properties(part: Trajectories) -> list[pa.Array | str]:
    """Begin the text of a feature, up to within its properties."""
    assert part.ids is not None
    pieces = [f'{{"type":"Feature","properties":{{"{TRAJECTORY}":', printing.json_texts(arrow_ids(part.ids))]
    if part.users is not None:
        pieces += [f',"{USER}":', printing.json_texts(arrow_users(part.users))]
    return pieces


def _positions(part: Trajectories, moments: pa.Array | None = None) -> pa.Array:
    x, y = (printing.shortest(part.points[:, axis], "null") for axis in (0, 1))
    position = printing.chained("[", x, ",", y, "" if moments is None else moments, "]")
    return printing.joined(position, part.offsets, ",")


def _write(
    parts: Iterable[Trajectories],
    path: Path,
    name: str,
    printed: Callable[[Trajectories], pa.Array],
    name_of: Callable[[Array], str],
) -> None:
    first, parts = printing.peeked(parts)
    columns = {
        TRAJECTORY: TRAJECTORY,
        USER: "" if first.users is None else USER,
        TIME: "" if first.times is None else name_of(first.times),
    }
    about = {"about": dict(first.about)} if first.about else {}
    head = json.dumps({"type": "FeatureCollection", **about, "columns": columns}, ensure_ascii=False)
    with path.open("wb") as file:
        file.write(f'{head[:-1]},"features":['.encode())
        begun = False
        for part in printing.drawable(parts):
            printing.lonlat_only(part, name)
            features = printing.content(printing.chained(",\n", printed(part)))
            file.write(features if begun else features[1:])  # no comma before the first
            begun = begun or len(features) > 0
        file.write(b"\n]}\n")
