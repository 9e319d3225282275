"""Write GeoJSON (RFC 7946), OGC Moving Features JSON (MF-JSON) and GPX 1.1, a feature per trajectory:

    {"type":"Feature","properties":{"traj_id":7,"coordTimes":["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"]},
     "geometry":{"type":"LineString","coordinates":[[-8.61,41.14,0,1704103200],[-8.62,41.15,0,1704103215]]}}

    {"type":"Feature","properties":{"traj_id":7},"temporalGeometry":{"type":"MovingPoint",
     "datetimes":["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"],"coordinates":[[-8.61,41.14],[-8.62,41.15]],
     "interpolation":"Linear"}}

In GeoJSON a trajectory of one point is a Point, and lines go over the antimeridian as they come. Where all
points of a line have a calendar time, positions have a height of 0 and whole seconds since 1970 too, which
Kepler.gl animates; readers go by `coordTimes`. The file says, as a header would, what its features have: a
collection in a member `columns`, GPX in its metadata. See `privtrace.io.gpx` for a track.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import BinaryIO
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import printing
from privtrace.io.columns import CALENDAR_LISTS, TIME, TRAJECTORY, USER
from privtrace.io.output_tables import times_name
from privtrace.io.printing import arrow_ids, arrow_users, chained, joined
from privtrace.rows import escaped, floats_of
from privtrace.trajectories import Array, Trajectories

_GPX = """\
<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="privtrace"
 xmlns="http://www.topografix.com/GPX/1/1" xmlns:privtrace="urn:privtrace">
<metadata>{about}<extensions><privtrace:columns>{columns}</privtrace:columns></extensions></metadata>
"""

#: Signs that XML has not.
_NOT_IN_XML = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\ufffe\uffff]")


def geojson(parts: Iterable[Trajectories], file: BinaryIO) -> None:
    """Write GeoJSON, with the first part's words about the whole in a member `about`."""
    _write(parts, file, _json_head, _still, ",", b"\n]}\n", times_name)


def mfjson(parts: Iterable[Trajectories], file: BinaryIO) -> None:
    """Write MF-JSON, whose points all have a calendar time; numbers are taken for seconds since 1970."""
    _write(parts, file, _json_head, _moving, ",", b"\n]}\n", lambda times: CALENDAR_LISTS[1])


def gpx(parts: Iterable[Trajectories], file: BinaryIO) -> None:
    """Write a track per trajectory, with the words about the whole in the metadata."""
    _write(parts, file, _gpx_head, _track, "", b"</gpx>\n", lambda times: "time")


def _write(
    parts: Iterable[Trajectories],
    file: BinaryIO,
    head: Callable[[Trajectories, dict[str, str]], str],
    printed: Callable[[Trajectories], pa.Array],
    between: str,
    end: bytes,
    name_of: Callable[[Array], str],
) -> None:
    first, parts = printing.peeked(parts)
    users = "" if first.users is None else USER
    times = "" if first.times is None else name_of(first.times)
    file.write(head(first, {TRAJECTORY: TRAJECTORY, USER: users, TIME: times}).encode())
    n_skipped = len(between)  # nothing stands before the first
    for part in printing.drawable(parts):
        features = printing.content(chained(between, printed(part)))
        file.write(features[n_skipped:])
        n_skipped = 0 if len(features) else n_skipped
    file.write(end)


def _json_head(first: Trajectories, columns: dict[str, str]) -> str:
    about = {"about": dict(first.about)} if first.about else {}
    head = json.dumps({"type": "FeatureCollection", **about, "columns": columns}, ensure_ascii=False)
    return f'{head[:-1]},"features":['


def _gpx_head(first: Trajectories, columns: dict[str, str]) -> str:
    about = f"<desc>{escape(printing.words(first.about))}</desc>" if first.about else ""
    return _GPX.format(about=about, columns=",".join(f"{role}={name}" for role, name in columns.items()))


def _still(part: Trajectories) -> pa.Array:
    """Print a point or line per feature."""
    times = () if part.times is None else (f',"{times_name(part.times)}":', printing.listed_times(part))
    positions = _positions(part, _moments(part))
    geometry = pc.if_else(
        pa.array(np.diff(part.offsets) == 1),
        chained('"Point","coordinates":', positions),
        chained('"LineString","coordinates":[', positions, "]"),
    )
    return chained(*_properties(part), *times, '},"geometry":{"type":', geometry, "}}")


def _moments(part: Trajectories) -> pa.Array | str:
    """Print what follows longitude and latitude in lines whose points all have a calendar time."""
    if part.times is None or part.times.dtype.kind != "M":
        return ""
    seconds = printing.whole_seconds(part.times)
    lengths = np.diff(part.offsets)
    n_known = np.diff(np.concatenate([[0], np.cumsum(floats_of(seconds.is_valid()))])[part.offsets])
    told = np.repeat((n_known == lengths) & (lengths > 1), lengths)
    return pc.if_else(pa.array(told), chained(",0,", seconds.cast(pa.large_string())), "")


def _moving(part: Trajectories) -> pa.Array:
    """Print a moving point per feature."""
    assert part.times is not None
    times = printing.calendar(part.times)
    part = printing.only(replace(part, times=times), floats_of(printing.whole_seconds(times).is_valid()))
    start, middle = '},"temporalGeometry":{"type":"MovingPoint","datetimes":', ',"coordinates":['
    end = '],"interpolation":"Linear"}}'
    return chained(*_properties(part), start, printing.listed_times(part), middle, _positions(part), end)


def _properties(part: Trajectories) -> list[pa.Array | str]:
    """Begin the text of a feature, up to within its properties."""
    assert part.ids is not None
    pieces = [f'\n{{"type":"Feature","properties":{{"{TRAJECTORY}":', printing.json_texts(arrow_ids(part.ids))]
    if part.users is not None:
        pieces += [f',"{USER}":', printing.json_texts(arrow_users(part.users))]
    return pieces


def _positions(part: Trajectories, moments: pa.Array | str = "") -> pa.Array:
    x, y = (printing.shortest(part.points[:, axis], "null") for axis in (0, 1))
    return joined(chained("[", x, ",", y, moments, "]"), part.offsets, ",")


def _track(part: Trajectories) -> pa.Array:
    """Print a track."""
    assert part.ids is not None
    x, y = (printing.shortest(part.points[:, axis], "") for axis in (0, 1))
    times: pa.Array | str = ""
    if part.times is not None:
        times = chained("<time>", printing.iso(printing.calendar(part.times)), "</time>").fill_null("")
    points = joined(chained('<trkpt lat="', y, '" lon="', x, '">', times, "</trkpt>\n"), part.offsets, "")
    ids = _xml(part.ids)
    own = [f"<privtrace:{TRAJECTORY}>", ids, f"</privtrace:{TRAJECTORY}>"]
    if part.users is not None:
        own += [f"<privtrace:{USER}>", _xml(part.users), f"</privtrace:{USER}>"]
    head = ["<trk><name>", ids, "</name>\n<extensions>", *own, "</extensions>\n<trkseg>\n"]
    return chained(*head, points, "</trkseg></trk>\n")


def _xml(values: Array) -> pa.Array:
    """Print ids or users as XML; those with signs that XML has not are written otherwise."""
    texts = printing.labels(values).fill_null("").to_pylist()
    safe = (escaped(text.encode()) if _NOT_IN_XML.search(text) else text for text in texts)
    return pa.array(map(escape, safe), pa.large_string())
