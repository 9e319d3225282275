"""Every reader keeps the same promise: no trajectory decides how another is read, and none makes it refuse.

A sample is a few trajectories as a format holds them, each a *piece* of text, rows or files, and hostile pieces
that are put in front of them, among them and after them. The others have to come out as before, byte for byte.
A format that is registered has to have a sample here.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privtrace as pt
from privtrace.io import FORMATS
from privtrace.observer import Silent

#: Points of the one hostile trajectory that is long, and what it is called.
MANY = 100_000
LENGTHY = "a hundred thousand points"
#: Starts what is found where times are wanted.
TIMED = "timed"
#: Times that name no zone are local in this one, where that of the second trip comes twice.
ZONE = "America/New_York"
_START = np.datetime64("2024-11-03T00:45:00", "s")


@dataclass(frozen=True)
class Trip:
    """Describe a trajectory: the seconds and places of its points."""

    id: str
    user: str
    seconds: Sequence[int]
    x: Sequence[float]
    y: Sequence[float]

    @property
    def moments(self) -> Any:
        return _START + np.asarray(self.seconds).astype("timedelta64[s]")

    def times(self, form: str = "T") -> list[str]:
        iso: list[str] = np.datetime_as_string(self.moments).tolist()
        return iso if form == "T" else [time.replace("T", form) for time in iso]

    def times_in(self, clock: str) -> list[Any]:
        """Give times as ISO 8601, or in a form that has to be declared: see CLOCKS."""
        if clock == ORDER:
            return [-second for second in self.seconds]
        if clock == "ms":
            return (1000 * self.moments.astype(np.int64)).tolist()  # type: ignore[no-any-return]
        return self.times() if clock == "iso" else [moment.strftime(clock) for moment in self.moments.tolist()]


#: Forms of times, and the options that declare them.
PATTERN = "%d/%m/%Y %H.%M.%S"
CLOCKS: dict[str, dict[str, Any]] = {"iso": {}, "ms": {"time_unit": "ms"}, PATTERN: {"time_format": PATTERN}}
#: Stands for numbers that only set the order of points, and for the column that they are in.
ORDER = "seq"


def trip(number: int, n_points: int, *, pause: int = 0) -> Trip:
    rng = np.random.default_rng(number)
    seconds = 15 * np.arange(n_points) + 3600 * number + np.where(np.arange(n_points) > 1, pause, 0)
    x, y = np.round(rng.uniform(1, 40, (2, n_points)), 6).tolist()
    return Trip(f"{'abcdefgh'[number]}{number}", ("ann", "bob")[number % 2], seconds.tolist(), x, y)


TRIPS = [trip(0, 4), trip(1, 1), trip(2, 5, pause=7200), trip(3, 3)]
LONG = Trip("long", "zoe", range(0, 2 * MANY, 2), [1.5] * MANY, [2.5] * MANY)
ODD = "\u202e\u0000\U0001f600\ufffd'\"<&;,\\"


@dataclass(frozen=True)
class Sample:
    """Say how a format holds trajectories, and which are hostile to it."""

    format: str
    write: Callable[[Path, Sequence[Any]], Path]  # pieces into an empty folder
    good: Sequence[Any]
    hostile: Mapping[str, Any]  # by what is wrong; the long one is made when it is wanted
    has_times: bool = True
    has_ids: bool = True  # else they are places, which shift
    options: Mapping[str, Any] = field(default_factory=dict)


# Text with a line a point or a trajectory.


def joined(name: str, head: bytes, folder: Path, pieces: Sequence[bytes]) -> Path:
    (folder / name).write_bytes(head + b"".join(pieces))
    return folder / name


def table_sample(name: str, between: str, clock: str = "iso", time: str = "datetime") -> Sample:
    def lines(*rows: Sequence[Any]) -> bytes:
        return b"".join(f"{between.join(map(str, row))}\n".encode() for row in rows)

    def of(one: Trip) -> bytes:
        times = one.times_in(clock)
        return lines(*((one.id, one.user, t, x, y) for t, x, y in zip(times, one.x, one.y, strict=True)))

    names = ("traj_id", "user_id", time, "lon", "lat")
    bad = ("q", "eve", "2024-01-01T00:00:00", 1, 2)
    hostile = {
        "no id": lines(("", *bad[1:])),
        "nothing": lines(("",) * 5),
        "few fields": lines(bad[:2]),
        "many fields": lines(bad * 3),
        "the header again": lines(names),
        "other delimiters": b"q;eve|2024\t1,2\n;;;;;;\n",
        "no numbers": lines((*bad[:3], "north", "[[1]]"), (*bad[:3], "1e999", "nan")),
        "decimal commas": lines((*bad[:3], "1,5", "2,5")),
        "absurd times": lines(
            *((*bad[:2], t, 1, 2) for t in ("9999-99-99", "1e308", "-1e18", "31/12/2025", "x"))
        ),
        "times of all forms": lines(*((*bad[:2], trip(4, 1).times_in(form)[0], 1, 2) for form in CLOCKS)),
        "a stray quote": b'"q' + lines(bad) + lines(('q"', *bad[1:])),
        "quotes that open at the end": lines((*bad[:4], '"2')),
        "a quote alone": b'"\n',
        "NUL": b"\0\0\n" + lines(("\0", *bad[1:])),
        "the mark of a file": b"\xef\xbb\xbf" + lines(bad) + b"\xff\xfe\n",
        "no text": b"\xff\x80" + lines(bad) + b"\x1f\x8b\x08\n",
        "odd signs": lines((ODD, ODD, ODD, ODD, ODD)),
        "a return": b"q\r" + lines(bad) + b"\r\r\n",
        "blanks": b"   \t  \n\n\x0b\n",
        "a long line": b"q" * (1 << 18) + b"\n",
        "a long id": lines(("q" * 5000, *bad[1:])),
        "an object": b'{"type":"Feature"}\n[1,2]\n<trk/>\nPAR1\n',
        LENGTHY: lambda: of(LONG),
    }
    write = partial(joined, f"a.{name}", lines(names))
    hostile["absurd orders"] = lines(
        *((*bad[:2], n, 1, 2) for n in ("x", "", "nan", "1e999", "1,5", "-0", "1e308"))
    )
    good, options = [of(one) for one in TRIPS], CLOCKS.get(clock, {})
    return Sample(name, write, good, hostile, options=options, has_times=clock != ORDER)


def dat_sample() -> Sample:
    def of(one: Trip) -> bytes:
        points = "".join(f"{x},{y};" for x, y in zip(one.x, one.y, strict=True))
        return f"#{one.id}:\n>0:{points}\n".encode()

    hostile = {
        "no id": b"#:\n>0:1,2;\n",
        "no name": b">0:1,2;3,4;\n",
        "a second list": b"#q:\n>0:1,2;\n>1:3,4;\n",
        "no list": b"#q:\n",
        "neither": b"oops\n>0:1,2;\n",
        "a name without a colon": b"#q\n>0:1,2;\n",
        "a header": b"traj_id,lon,lat\n1,2,3\n",
        "no numbers": b"#q:\n>0:north,1;;;,;1e999,nan;[1,2]\n",
        "a stray quote": b'"#q:\n>0:"1,2;\n',
        "NUL": b"\0\n#\0:\n>0:\0;\n",
        "packed, it seems": b"\x1f\x8b\x08\n",
        "Parquet, it seems": b"PAR1\n",
        "no text": b"#\xff\x80:\n>0:1,\xff;\n",
        "the mark of a file": b"\xef\xbb\xbf#q:\n>0:1,2;\n",
        "an object": b'{"type":"Feature"}\n<gpx/>\n',
        "returns": b"#q:\r\n\r\n\r>0:1,2\n",
        "odd signs": f"#{ODD}:\n>0:{ODD}\n".encode(),
        LENGTHY: lambda: of(LONG),
    }
    write = partial(joined, "a.dat", b"")
    return Sample("dat", write, [of(one) for one in TRIPS], hostile, has_times=False)


def porto_sample() -> Sample:
    def line(*fields: Any) -> bytes:
        return (",".join('"{}"'.format(str(one).replace('"', '""')) for one in fields) + "\n").encode()

    def of(one: Trip) -> bytes:
        start = int(_START.astype(int)) + one.seconds[0]
        pairs = ",".join(f"[{x},{y}]" for x, y in zip(one.x, one.y, strict=True))
        return line(one.id, one.user, start, "False", f"[{pairs}]")

    names = line("TRIP_ID", "TAXI_ID", "TIMESTAMP", "MISSING_DATA", "POLYLINE")
    good = ("q", "eve", 1372636858, "False", "[[1,2],[3,4]]")
    hostile = {
        "no id": line("", *good[1:]),
        "incomplete": line(*good[:3], "True", good[4]),
        "no list": line(*good[:4], "1,2"),
        "an empty list": line(*good[:4], "[]"),
        "nested junk": line(*good[:4], "[[[1,2]],{},[1],[],null,[1,2,3],[[[[[[]"),
        "no numbers": line(*good[:4], '[["north",1],[1e999,nan]]'),
        "absurd times": line(*good[:2], "1e300", *good[3:]) + line(*good[:2], "-9e18", *good[3:]),
        "other times": line(*good[:2], "2024-01-01", *good[3:]) + line(*good[:2], 0.5, *good[3:]),
        "few fields": line(*good[:2]),
        "many fields": line(*good, *good),
        "the header again": names,
        "a stray quote": b'"q,"eve\n"\n',
        "a quote alone": b'"\n',
        "no quotes": b"q,eve,1,False,[[1,2],[3,4]]\n",
        "NUL": b"\0\n" + line("\0", *good[1:]),
        "no text": b"\xff\x80\n\x1f\x8b\n",
        "odd signs": line(*[ODD] * 5),
        LENGTHY: lambda: of(LONG),
    }
    return Sample("porto", partial(joined, "a.csv", names), [of(one) for one in TRIPS], hostile)


# JSON.


def feature(geometry: Any, properties: Any, **members: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry, **members}


def line_of(one: Trip) -> dict[str, Any]:
    positions = [list(pair) for pair in zip(one.x, one.y, strict=True)]
    return {"type": "LineString", "coordinates": positions}


def moving_of(one: Trip, times: list[Any] | None = None) -> dict[str, Any]:
    positions = line_of(one)["coordinates"]
    return {"type": "MovingPoint", "coordinates": positions, "datetimes": times or one.times()}


def points_of(one: Trip, clock: str = "iso", **names: str) -> list[dict[str, Any]]:
    called = {"traj_id": "traj_id", "user_id": "user_id", "datetime": "datetime", **names}
    return [
        feature(
            {"type": "Point", "coordinates": [x, y]},
            {called["traj_id"]: one.id, called["user_id"]: one.user, called["datetime"]: t},
        )
        for t, x, y in zip(one.times_in(clock), one.x, one.y, strict=True)
    ]


HERE = {"type": "Point", "coordinates": [1, 2]}
THERE = {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
NAMED = {"traj_id": "q", "user_id": "eve", "datetime": "2024-01-01T00:00:00Z"}
DEEP: Any = [[]]
for _ in range(300):
    DEEP = [DEEP]

#: What is hostile to features of any kind, and can be said in JSON.
FEATURES: dict[str, list[Any]] = {
    "no id": [feature(HERE, {"color": "red"}), feature(THERE, {"color": "red"})],
    "no properties": [feature(HERE, None), feature(THERE, []), {"type": "Feature"}],
    "the id of the feature": [feature(HERE, {}, id=7), feature(THERE, {}, id="8")],
    "two ids": [
        feature(THERE, {**NAMED, "trip_id": "r"}),
        feature(HERE, {"trip_id": "r", "tid": "s", "id": 1}),
    ],
    "one name twice": [feature(THERE, {"Traj-ID": "r", "traj_id": "s", "TRAJ ID": "t"})],
    "an id that looks like a place": [feature(THERE, {"traj_id": name}) for name in ("0", "~0", "~~1", "1")],
    "an id that is a number": [feature(THERE, {"traj_id": value}) for value in (0, 1.5, -0.0, 1e300, 10**30)],
    "an id that is no id": [feature(THERE, {"traj_id": value}) for value in (None, True, [], {}, "", DEEP)],
    "other names": points_of(trip(4, 2), traj_id="Trip ID", user_id="driver-id", datetime="time"),
    "two times": [feature(HERE, {**NAMED, "t": 5, "time": "x"}), feature(THERE, {**NAMED, "times": [1, 2]})],
    "moving": [feature(HERE, NAMED, temporalGeometry=moving_of(trip(4, 3)))],
    "moving, bare": [moving_of(trip(4, 3))],
    "moving nothing": [feature(THERE, NAMED, temporalGeometry=value) for value in (5, {}, {"type": "MovingX"})],
    "moving in milliseconds": [
        feature(None, NAMED, temporalGeometry=moving_of(trip(4, 2), [5, 1704067200000]))
    ],
    "still": [feature(THERE, {**NAMED, "coordTimes": ["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z"]})],
    "no times": [feature(THERE, {"traj_id": "q", "user_id": "eve"}), feature(HERE, {"traj_id": "r"})],
    "absurd times": [
        feature(HERE, {"traj_id": "q", "datetime": t})
        for t in (10**30, -1e308, "9999-99-99", "31/12/2025 08:00", True, {}, [[]], "\ud800", float("nan"))
    ],
    "times of all forms": [
        feature(THERE, {"traj_id": "q", name: trip(4, 2).times_in(form)})
        for form in CLOCKS
        for name in ("t", "datetime", "times", "coordTimes", "datetimes")
    ],
    "many times": [feature(HERE, {"traj_id": "q", "times": [1, 2, 3]}), feature(THERE, {"times": [5]})],
    "no geometry": [feature(None, NAMED), feature("LINESTRING (1 2)", NAMED), feature([], NAMED)],
    "a polygon": [feature({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 0]]]}, NAMED)],
    "nested junk": [feature({"type": "LineString", "coordinates": DEEP}, {**NAMED, "features": [DEEP]})],
    "junk for positions": [
        feature({"type": "LineString", "coordinates": value}, NAMED)
        for value in ("x", 5, [1, 2], [["a", "b"]], [[True, None]], [[10**400, 1]], [{}], [[]], [[[1, 2]]])
    ],
    "a kind of another type": [feature({"type": value, "coordinates": [1, 2]}, NAMED) for value in (5, [], {})],
    "a collection": [
        {"type": "FeatureCollection", "features": [feature(HERE, {**NAMED, "traj_id": "r"})]},
        {"features": 5},
    ],
    "a collection of its own kind": [
        {"type": "FeatureCollection", "columns": {"traj_id": "color", "user_id": "", "t": "t"}, "features": []}
    ],
    "a collection of its own system": [{"crs": {"properties": {"name": "EPSG:3763"}}, "features": []}],
    "a system of its own": [
        feature(THERE, NAMED, crs={"properties": {"name": "EPSG:3763"}}, columns={"t": ""})
    ],
    "something else": [{"type": "Topology"}, {}, {"type": "Feature", "features": []}, {"type": DEEP}],
    "odd signs": [feature(THERE, {ODD: ODD, "traj_id": ODD, "user_id": ODD, "datetime": ODD})],
    "a long id": [feature(THERE, {"traj_id": "q" * 5000})],
    "many names": [feature(THERE, {f"name {number}": number for number in range(20_000)})],
    LENGTHY: lambda: [feature(line_of(LONG), {"traj_id": "q", "coordTimes": LONG.times()})],
}
#: What is hostile where any text may stand in a line.
LINES: dict[str, list[bytes]] = {
    "a stray quote": [b'{"type":"Feature","properties":{"a":"'],
    "an open bracket": [b'{"type":"FeatureCollection","features":[', b"[[[[", b"{"],
    "a closed bracket": [b"]]]}}}", b'{"a":1}}'],
    "no object": [b"5", b"null", b'"x"', b"[1,2]", b"1,2"],
    "no text": [b"\xff\xfe\x00{", b"\x1f\x8b\x08", b"\0"],
    "a table": [b"traj_id,lon,lat", b"PAR1", b"#0:"],
    "Parquet, it seems": [b"PAR1"],
    "a database, it seems": [b"SQLite format 3\0" + bytes(52) + b"GPKG"],
}


def collected(name: str, members: Mapping[str, Any], folder: Path, pieces: Sequence[list[Any]]) -> Path:
    features = [one for piece in pieces for one in piece]
    path = folder / name
    path.write_text(json.dumps({"type": "FeatureCollection", **members, "features": features}))
    return path


def in_lines(name: str, folder: Path, pieces: Sequence[list[Any]]) -> Path:
    texts = [one if isinstance(one, bytes) else json.dumps(one).encode() for piece in pieces for one in piece]
    (folder / name).write_bytes(b"".join(text + b"\n" for text in texts))
    return folder / name


def json_samples() -> dict[str, Sample]:
    points = [points_of(one) for one in TRIPS]
    lines = [
        [feature(line_of(one), {"traj_id": one.id, "user_id": one.user, "coordTimes": one.times()})]
        for one in TRIPS
    ]
    bare = [[feature(line_of(one), {"color": "red"})] for one in TRIPS]
    moving = [
        [feature(None, {"traj_id": one.id, "user_id": one.user}, temporalGeometry=moving_of(one))]
        for one in TRIPS
    ]
    ours = {"columns": {"traj_id": "traj_id", "user_id": "user_id", "t": "coordTimes"}}
    numbers = {"columns": {"traj_id": "traj_id", "user_id": "", "t": "times"}}
    counted = [[feature(line_of(one), {"traj_id": one.id, "times": list(one.seconds)})] for one in TRIPS]
    plain = partial(collected, "a.geojson", {})
    lonlat = {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}}
    sequence = FEATURES | LINES
    return {
        "geojson: points": Sample("geojson", plain, points, FEATURES),
        "geojson: lines": Sample("geojson", partial(collected, "a.geojson", lonlat), lines, FEATURES),
        "geojson: lines without ids": Sample("geojson", plain, bare, FEATURES, has_ids=False, has_times=False),
        "geojson: lines as we write them": Sample(
            "geojson", partial(collected, "a.geojson", ours), lines, FEATURES
        ),
        "geojson: times that are numbers": Sample(
            "geojson", partial(collected, "a.geojson", numbers), counted, FEATURES, has_times=False
        ),
        "geojson: declared": Sample(
            "geojson", plain, points, FEATURES, options={"columns": {"traj_id": "traj_id", "t": "datetime"}}
        ),
        "geojson: times in milliseconds": Sample(
            "geojson", plain, [points_of(one, "ms") for one in TRIPS], FEATURES, options=CLOCKS["ms"]
        ),
        "geojson: times by a pattern": Sample(
            "geojson", plain, [points_of(one, PATTERN) for one in TRIPS], FEATURES, options=CLOCKS[PATTERN]
        ),
        "mfjson: with a unit for others": Sample(
            "mfjson", partial(collected, "a.json", {}), moving, FEATURES, options={"time_unit": "us"}
        ),
        "geojson: features one after the other": Sample(
            "geojson", partial(in_lines, "a.geojson"), points, FEATURES
        ),
        "geojson: a feature a line": Sample("geojson", partial(in_lines, "a.geojsonl"), points, sequence),
        "mfjson": Sample("mfjson", partial(collected, "a.mfjson", {}), moving, FEATURES),
        "mfjson: in other JSON": Sample("mfjson", partial(collected, "a.json", {}), moving, FEATURES),
    }


# GPX.


def track(one: Trip, *, beside: str = "", named: bool = True) -> str:
    ids = f"<extensions><traj_id>{one.id}</traj_id><user_id>{one.user}</user_id></extensions>" if named else ""
    points = "".join(
        f'<trkpt lat="{y}" lon="{x}"><time>{t}Z</time></trkpt>'
        for t, x, y in zip(one.times(), one.x, one.y, strict=True)
    )
    return f"<trk>{beside}{ids}<trkseg>{points}</trkseg></trk>\n"


def gpx_file(folder: Path, pieces: Sequence[str]) -> Path:
    path = folder / "a.gpx"
    path.write_text(f'<gpx xmlns="http://www.topografix.com/GPX/1/1">{"".join(pieces)}</gpx>\n')
    return path


POINT = '<trkpt lat="2" lon="1"/>'
ONLY_SIGNS = "".join(sign for sign in ODD if sign >= " " and not "\ud800" <= sign <= "\udfff")
TRACKS = {
    "no id, no times": f"<trk><trkseg>{POINT}</trkseg></trk>",
    "no points": "<trk/>",
    "no segment": f"<trk>{POINT}</trk>",
    "two ids": f"<trk><traj_id>q</traj_id><trip_id>r</trip_id><id>s</id><trkseg>{POINT}</trkseg></trk>",
    "other names": f"<trk><TripID>q</TripID><uid>eve</uid><trkseg>{POINT}</trkseg></trk>",
    "an empty id": f"<trk><traj_id/><user_id> </user_id><trkseg>{POINT}</trkseg></trk>",
    "an id that looks like a place": "".join(
        f"<trk><traj_id>{name}</traj_id><trkseg>{POINT}</trkseg></trk>" for name in ("0", "~0", "~~1")
    ),
    "an id with an inside": f"<trk><traj_id>a<b>c</b>d</traj_id><trkseg>{POINT}</trkseg></trk>",
    "absurd times": "".join(
        f'<trk><trkseg><trkpt lat="2" lon="1"><time>{t}</time></trkpt></trkseg></trk>'
        for t in ("9999-99-99T00:00:00Z", "1e308", "31/12/2025", "", "<time>x</time>")
    ),
    "no numbers": '<trk><trkseg><trkpt lat="north" lon=""/><trkpt/><trkpt lat="1e999" lon="x"/></trkseg></trk>',
    "a track in a track": f"<trk><trk>{POINT}</trk><trkseg>{POINT}</trkseg></trk>",
    "a point in a point": f'<trk><trkseg><trkpt lat="1" lon="1">{POINT}<trk/></trkpt></trkseg></trk>',
    "metadata": "<trk><metadata><extensions><columns>traj_id=name,user_id=,t=</columns></extensions></metadata>"
    f"<trkseg>{POINT}</trkseg></trk>",
    "other things": '<wpt lat="1" lon="1"><traj_id>a0</traj_id></wpt><rte><rtept lat="1" lon="1"/></rte><x/>',
    "a comment": "<!-- <trk> --><?target <trk>?><![CDATA[<trk>]]>",
    "odd signs": f"<trk><traj_id>{escape(ONLY_SIGNS)}</traj_id><trkseg>{POINT}</trkseg></trk>",
    "a long id": f"<trk><traj_id>{'q' * 1_200_000}</traj_id><trkseg>{POINT}</trkseg></trk>",
    LENGTHY: lambda: track(LONG),
}


def gpx_samples() -> dict[str, Sample]:
    return {
        "gpx": Sample("gpx", gpx_file, [track(one) for one in TRIPS], TRACKS),
        "gpx: without ids": Sample(
            "gpx", gpx_file, [track(one, named=False) for one in TRIPS], TRACKS, has_ids=False
        ),
        "gpx: named by their names": Sample(
            "gpx",
            gpx_file,
            [track(one, beside=f"<name>{one.id}</name>", named=False) for one in TRIPS],
            TRACKS,
            options={"columns": {"traj_id": "name"}},
        ),
    }


# Tables and features with a schema: a piece is a list of rows.


def micros(one: Trip) -> list[int]:
    return [(int(_START.astype(int)) + second) * 1_000_000 for second in one.seconds]


def rows_of(one: Trip, id: Any, user: Any) -> list[tuple[Any, ...]]:
    return [(id, user, t, x, y) for t, x, y in zip(micros(one), one.x, one.y, strict=True)]


def parquet_file(
    kinds: Mapping[str, pa.DataType], name: str, folder: Path, pieces: Sequence[list[Any]]
) -> Path:
    rows = [row for piece in pieces for row in piece]
    columns = {
        column: pa.array([row[place] for row in rows], kind)
        for place, (column, kind) in enumerate(kinds.items())
    }
    pq.write_table(pa.table(columns), folder / name, row_group_size=max(5, len(rows) // 20))
    return folder / name


def parquet_samples() -> dict[str, Sample]:
    when = pa.timestamp("us")
    samples = {}
    for name, id_kind, odd in (
        ("text", pa.string(), ["", ODD, "q" * 5000, "~0", "7"]),
        ("integers", pa.int64(), [-(2**63), 2**63 - 1, 0, -1]),
        ("floats", pa.float64(), [np.nan, np.inf, -0.0, 1e300, 0.5]),
    ):
        kinds = {"traj_id": id_kind, "user_id": id_kind, "t": when, "lon": pa.float64(), "lat": pa.float64()}
        ids = [one.id if name == "text" else 100 + number for number, one in enumerate(TRIPS)]
        users = [one.user if name == "text" else 10 + number % 2 for number, one in enumerate(TRIPS)]
        q = "q" if name == "text" else 77
        hostile: dict[str, Any] = {
            "no id": [(None, q, 0, 1.0, 2.0)],
            "no user": [(q, None, 0, 1.0, 2.0)],
            "nothing": [(None,) * 5],
            "no place": [(q, q, 0, None, None), (q, q, 0, np.nan, np.inf), (q, q, 0, 1e308, -1e308)],
            "no time": [(q, q, None, 1.0, 2.0)],
            "absurd times": [(q, q, t, 1.0, 2.0) for t in (2**63 - 1, -(2**63) + 1, 0, 2**62)],
            "odd ids": [(id, q, 0, 1.0, 2.0) for id in odd],
            "odd users": [(q, id, 0, 1.0, 2.0) for id in odd],
            LENGTHY: lambda q=q: [(q, q, 1_000_000 * second, 1.5, 2.5) for second in LONG.seconds],
        }
        good = [rows_of(one, id, user) for one, id, user in zip(TRIPS, ids, users, strict=True)]
        write = partial(parquet_file, kinds, "a.parquet")
        samples[f"parquet: ids as {name}"] = Sample("parquet", write, good, hostile)
        if name == "text":
            write = partial(parquet_file, kinds | {"t": pa.int64()}, "a.parquet")
            unit = {"time_unit": "us"}
            samples["parquet: times as numbers"] = Sample("parquet", write, good, hostile, options=unit)
            renamed = {ORDER if key == "t" else key: kind for key, kind in kinds.items()}
            absurd = {"absurd times": [(q, q, n, 1.0, 2.0) for n in (None, np.nan, np.inf, -0.0, 0.0, 1e308)]}
            falling = [[(id, user, -t, x, y) for id, user, t, x, y in rows] for rows in good]
            write = partial(parquet_file, renamed | {ORDER: pa.float64()}, "a.parquet")
            samples["parquet: an order"] = Sample("parquet", write, falling, hostile | absurd, has_times=False)
    return samples


def wkb(geometry: shapely.Geometry) -> bytes:
    return bytes(shapely.to_wkb(geometry))


def geo_rows(one: Trip, *, lines: bool) -> list[tuple[Any, ...]]:
    pairs = list(zip(one.x, one.y, strict=True))
    if lines:
        shape = shapely.LineString(pairs) if len(pairs) > 1 else shapely.Point(pairs[0])
        return [(one.id, one.user, micros(one), wkb(shape))]
    return [(one.id, one.user, t, wkb(shapely.Point(pair))) for t, pair in zip(micros(one), pairs, strict=True)]


#: Geometries that are none of a trajectory, or strange.
SHAPES: dict[str, bytes | None] = {
    "none": None,
    "nothing": b"",
    "a polygon": wkb(shapely.box(0, 0, 1, 1)),
    "many points at once": wkb(shapely.MultiPoint([(1, 2), (3, 4)])),
    "pieces": wkb(shapely.MultiLineString([[(1, 2), (3, 4)], [(5, 6), (7, 8)]])),
    "an empty line": wkb(shapely.LineString()),
    "an empty point": wkb(shapely.Point()),
    "heights": wkb(shapely.LineString([(1, 2, 3), (4, 5, 6)])),
    "nested collections": b"\x01\x07\0\0\0\x01\0\0\0" * 20,
    "no WKB": b"\xff\xfe\xfd",
    "cut off": wkb(shapely.LineString([(1, 2), (3, 4)]))[:-3],
    "too many points": b"\x01\x02\0\0\0\xff\xff\xff\xff" + bytes(16),
    "a curve": b"\x01\x08\0\0\0\x01\0\0\0" + bytes(16),
}


def geoparquet_file(kinds: Mapping[str, pa.DataType], folder: Path, pieces: Sequence[list[Any]]) -> Path:
    path = parquet_file(kinds, "plain", folder, pieces)
    table = pq.read_table(path)
    path.unlink()
    # As the usual writers do: which types there are follows from the rows.
    kinds_of = {1: "Point", 2: "LineString", 3: "Polygon", 4: "MultiPoint", 5: "MultiLineString"}
    codes = {shape[1] for shape in table["geometry"].to_pylist() if shape}
    types = sorted({kinds_of.get(code, "GeometryCollection") for code in codes})
    described = {"encoding": "WKB", "geometry_types": types}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": described}}
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), folder / "a.geoparquet")
    return folder / "a.geoparquet"


def geoparquet_samples() -> dict[str, Sample]:
    samples = {}
    for name, lines in (("geoparquet", False), ("geoparquet-lines", True)):
        when = pa.list_(pa.timestamp("us")) if lines else pa.timestamp("us")
        kinds = {"traj_id": pa.string(), "user_id": pa.string(), "t": when, "geometry": pa.binary()}
        time: Any = [0, 1_000_000] if lines else 0
        line, point = wkb(shapely.LineString([(1, 2), (3, 4)])), wkb(shapely.Point(1, 2))
        hostile: dict[str, Any] = {what: [("q", "eve", time, shape)] for what, shape in SHAPES.items()}
        hostile |= {
            "no id": [(None, None, time, line), ("", "", time, point)],
            "other kind": [("q", "eve", time, line), ("r", "eve", time, point)],
            "no time": [("q", "eve", None, line), ("q", "eve", None, point)],
            "absurd times": [("q", "eve", [2**63 - 1, None] if lines else 2**63 - 1, line)],
            "odd signs": [(ODD, "\0", time, line)],
            LENGTHY: lambda time=time: [
                ("q", "eve", time, wkb(shapely.LineString(np.column_stack([LONG.x, LONG.y]))))
            ],
        }
        write = partial(geoparquet_file, kinds)
        samples[name] = Sample(name, write, [geo_rows(one, lines=lines) for one in TRIPS], hostile)
        bare = {key: kind for key, kind in kinds.items() if key not in ("traj_id", "user_id", "t")}
        if lines:
            samples["geoparquet-lines: without ids"] = Sample(
                name,
                lambda folder, pieces, kinds=bare: geoparquet_file(
                    kinds, folder, [[row[-1:] for row in piece] for piece in pieces]
                ),
                [geo_rows(one, lines=True) for one in TRIPS if len(one.x) > 1],
                hostile,
                has_ids=False,
                has_times=False,
            )
    return samples


def gpkg_file(folder: Path, pieces: Sequence[list[Any]]) -> Path:
    """Write rows of any types, as a database takes them, into an empty layer."""
    import pyogrio

    path = folder / "a.gpkg"
    names = ["traj_id", "user_id", "t"]
    pyogrio.raw.write(
        path,
        np.array([], object),
        [np.array([], object)] * 2 + [np.array([], "datetime64[ms]")],
        names,
        driver="GPKG",
        layer="trajectories",
        geometry_type="Unknown",
        crs="EPSG:4326",
        layer_options={"SPATIAL_INDEX": "NO"},
    )
    geometry = b"GP\0\x01" + struct.pack("<i", 4326)
    rows = [row for piece in pieces for row in piece]
    with sqlite3.connect(path) as base:
        for trajectory, user, time, shape in rows:
            blob = geometry + shape if isinstance(shape, bytes) else shape
            base.execute(
                'insert into trajectories (traj_id, user_id, t, "geom") values (?, ?, ?, ?)',
                (trajectory, user, time, blob),
            )
    base.close()
    return path


def gpkg_sample() -> Sample:
    good = [
        [
            (id, user, t, shape)
            for t, (id, user, _, shape) in zip(one.times(), geo_rows(one, lines=False), strict=True)
        ]
        for one in TRIPS
    ]
    line, point = wkb(shapely.LineString([(1, 2), (3, 4)])), wkb(shapely.Point(1, 2))
    time = "2024-01-01T00:00:00.000Z"
    hostile: dict[str, Any] = {what: [("q", "eve", time, shape)] for what, shape in SHAPES.items()}
    hostile |= {
        "no id": [(None, None, time, line), ("", "", time, point)],
        "other kind": [("q", "eve", time, line)],
        "no time": [("q", "eve", None, point)],
        "absurd times": [("q", "eve", t, point) for t in ("9999-99-99", "x", 5, 1e308, b"\xff", 2**62)],
        "other types": [(id, id, time, point) for id in (5, 1.5, b"\xff\xfe", 2**62)],
        "geometries of other types": [("q", "eve", time, shape) for shape in ("POINT (1 2)", 5, 1.5)],
        "odd signs": [(ODD, "\0", time, point)],
        LENGTHY: lambda: [("q", "eve", time, wkb(shapely.LineString(np.column_stack([LONG.x, LONG.y]))))],
    }
    return Sample("gpkg", gpkg_file, good, hostile)


def ogr_file(name: str, kind: str, folder: Path, pieces: Sequence[list[Any]]) -> Path:
    """Write rows of (id, user, moment, whether it is UTC, geometry) into a file whose header has types."""
    import pyogrio

    rows = [row for piece in pieces for row in piece]
    ids, users, moments, in_utc, shapes = (list(column) for column in zip(*rows, strict=True))
    shapes = np.array([*shapes, None], object)[:-1]  # else numpy would look into them
    driver = {"fgb": "FlatGeobuf", "shp": "ESRI Shapefile"}[name]
    times: Any = np.array(moments, "datetime64[ms]")
    zones = {"datetime": np.where(in_utc, 100, 0)}  # as GDAL numbers them: UTC, and unknown
    options = {"SPATIAL_INDEX": "NO", "gdal_tz_offsets": zones}
    if name == "shp":  # which knows days, and no times but as text
        texts = [f"{moment}{'Z' * utc}" for moment, utc in zip(moments, in_utc, strict=True)]
        times, options = np.array(texts, object), {"ENCODING": "UTF-8"}
    fields = [np.array(ids, object), np.array(users, object), times]
    pyogrio.raw.write(
        folder / f"a.{name}",
        shapes,
        fields,
        ["traj_id", "user_id", "datetime"],
        driver=driver,
        geometry_type=kind,
        crs="EPSG:4326",
        **options,
    )
    return folder / f"a.{name}"


def ogr_samples() -> dict[str, Sample]:
    good = [
        [
            (one.id, one.user, moment, False, wkb(shapely.Point(x, y)))
            for moment, x, y in zip(one.moments, one.x, one.y, strict=True)
        ]
        for one in TRIPS
    ]
    line, point = wkb(shapely.LineString([(1, 2), (3, 4)])), wkb(shapely.Point(1, 2))
    now, never = np.datetime64("2024-01-01T00:00:00"), np.datetime64("NaT")
    strange = {what: shape for what, shape in SHAPES.items() if what in ("none", "an empty point")}
    hostile: dict[str, Any] = {
        "no id": [(None, None, now, False, point), ("", "", now, False, point)],
        "nothing": [(None, None, never, False, None)],
        "no time": [("q", "eve", never, False, point)],
        "absurd times": [("q", "eve", np.datetime64(t), False, point) for t in ("0001-01-01", "9999-12-31")],
        "a time of a zone": [("q", "eve", now, True, point)],
        "no place": [("q", "eve", now, False, wkb(shapely.Point(x, 2))) for x in (181, -1e9, 1e300)],
        "numbers as ids": [(id, id, now, False, point) for id in ("7", "1.5", "~0", "-0")],
        "odd signs": [(ODD.replace("\0", ""), "\t\r\n", now, False, point)],
        "a long id": [("q" * 250, "q" * 200, now, False, point)],
        LENGTHY: lambda: [("q", "eve", now, False, wkb(shapely.Point(1, 2)))] * (MANY // 10),
        **{what: [("q", "eve", now, False, shape)] for what, shape in strange.items()},
    }
    others = {
        what: [("q", "eve", now, False, shape)]
        for what, shape in SHAPES.items()
        if what in ("a polygon", "many points at once", "pieces", "an empty line", "heights")
    }
    others |= {
        "other kind": [("q", "eve", now, False, line)],
        "a long id": [("q" * 5000, "", now, True, point)],
    }
    return {
        "shp": Sample("shp", partial(ogr_file, "shp", "Point"), good, hostile),
        "fgb": Sample("fgb", partial(ogr_file, "fgb", "Unknown"), good, hostile | others),
    }


# KML.


def placemark(inside: str, **data: str) -> str:
    said = "".join(f'<Data name="{name}"><value>{escape(value)}</value></Data>' for name, value in data.items())
    return f"<Placemark><ExtendedData>{said}</ExtendedData>{inside}</Placemark>\n"


def kml_shape(kind: str, x: Sequence[float], y: Sequence[float]) -> str:
    pairs = " ".join(f"{a},{b},0" for a, b in zip(x, y, strict=True))
    return f"<{kind}><coordinates>{pairs}</coordinates></{kind}>"


def kml_line(one: Trip) -> str:
    shape = kml_shape("LineString" if len(one.x) > 1 else "Point", one.x, one.y)
    return placemark(f"<name>{one.id}</name>{shape}", user_id=one.user, coordTimes=json.dumps(one.times()))


def kml_points(one: Trip) -> str:
    return "".join(
        placemark(
            f"<TimeStamp><when>{t}Z</when></TimeStamp>{kml_shape('Point', [x], [y])}",
            traj_id=one.id,
            user_id=one.user,
        )
        for t, x, y in zip(one.times(), one.x, one.y, strict=True)
    )


def kml_file(folder: Path, pieces: Sequence[str]) -> Path:
    path = folder / "a.kml"
    path.write_text(
        f'<?xml version="1.0"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
        f'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document>{"".join(pieces)}</Document></kml>\n'
    )
    return path


_THERE = kml_shape("LineString", [1, 3], [2, 4])
PLACEMARKS = {
    "no id, no times": placemark(_THERE),
    "nothing": "<Placemark/>",
    "no coordinates": placemark("<name>q</name><LineString/>") + placemark("<Point><coordinates/></Point>"),
    "no numbers": placemark("<LineString><coordinates>x,y 1, ,2 1e999,nan 5</coordinates></LineString>"),
    "two ids": placemark(_THERE, traj_id="q", trip_id="r", id="s", Name="t"),
    "one name twice": placemark(_THERE, **{"Traj-ID": "q", "traj_id": "r", "TRAJ ID": "s"}),
    "other names": placemark(_THERE, TripID="q", uid="eve", time="2024-01-01T00:00:00Z"),
    "names of columns": placemark(_THERE, wkb_geometry="q", geometry="r", timestamp="s", begin="t", icon="u"),
    "an id that looks like a place": "".join(placemark(_THERE, traj_id=name) for name in ("0", "~0", "~~1")),
    "absurd times": "".join(
        placemark(f"<TimeStamp><when>{t}</when></TimeStamp>{_THERE}", traj_id="q", datetime=t, times=f"[{t}]")
        for t in ("9999-99-99T00:00:00Z", "1e308", "31/12/2025", "", "2024", "2024-01-01T00:00:00+09:00")
    ),
    "a track": placemark(
        "<gx:Track><when>2024-01-01T00:00:00Z</when><when>x</when><gx:coord>1 2 0</gx:coord></gx:Track>"
    ),
    "a folder": f"<Folder><name>q</name>{placemark(_THERE, traj_id='q')}<Folder/></Folder>",
    "a document": f"<Document><name>q</name>{placemark(_THERE, traj_id='q')}</Document>",
    # Inside: that of the whole document is a header.
    "a schema": placemark(
        '<Schema id="q" name="q"><SimpleField name="traj_id" type="int"/></Schema><SchemaData schemaUrl="#q">'
        f'<SimpleData name="user_id">7</SimpleData></SchemaData>{_THERE}',
        traj_id="q",
    ),
    "a polygon": placemark(
        "<Polygon><outerBoundaryIs><LinearRing><coordinates>0,0 1,1 1,0 0,0</coordinates></LinearRing>"
        "</outerBoundaryIs></Polygon>"
    ),
    "pieces": placemark(f"<MultiGeometry>{_THERE}{_THERE}</MultiGeometry>"),
    "nested pieces": placemark("<MultiGeometry>" * 50 + _THERE + "</MultiGeometry>" * 50),
    "other things": "<NetworkLink><Link><href>x</href></Link></NetworkLink><GroundOverlay/><Style/><x/>",
    "a comment": "<!-- <Placemark> --><?target <Folder>?>",
    "odd signs": placemark(_THERE, traj_id=ONLY_SIGNS, user_id=ONLY_SIGNS),
    "a long id": placemark(_THERE, traj_id="q" * 5000),
    LENGTHY: lambda: kml_line(LONG),
}


def kml_samples() -> dict[str, Sample]:
    return {
        "kml": Sample("kml", kml_file, [kml_line(one) for one in TRIPS], PLACEMARKS),
        "kml: points": Sample("kml", kml_file, [kml_points(one) for one in TRIPS], PLACEMARKS),
    }


# Folders: a piece is a file, or several.

PLT_HEADER = "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track,0\r\n0\r\n"


def plt(one: Trip) -> bytes:
    lines = (f"{y},{x},0,-777,0,{t}\r\n" for t, x, y in zip(one.times(","), one.x, one.y, strict=True))
    return (PLT_HEADER + "".join(lines)).encode()


def filled_folder(folder: Path, pieces: Sequence[Mapping[str, Any]]) -> Path:
    """Write files into a folder each, whose name says its place; text, bytes, or what makes the file."""
    for place, files in enumerate(pieces):
        for name, content in files.items():
            path = folder / "data" / name.replace("%", f"{place:02}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / "data"


def table_text(one: Trip, clock: str = "iso") -> str:
    rows = zip(one.times_in(clock), one.x, one.y, strict=True)
    return "traj_id,user_id,datetime,lon,lat\n" + "".join(
        f"{one.id},{one.user},{t},{x},{y}\n" for t, x, y in rows
    )


def bare_lines(one: Trip) -> list[str]:
    return ["traj_id,lon,lat", *(f"{one.id},{x},{y}" for x, y in zip(one.x, one.y, strict=True))]


def saved(**columns: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table(columns), path)


FILES: dict[str, dict[str, Any]] = {
    "nothing in it": {"%.csv": "", "%.parquet": "", "%.geojson": "", "%.gpx": "", "%.plt": "", "%.gpkg": ""},
    "a header alone": {"%.csv": "traj_id,user_id,datetime,lon,lat\n"},
    "no header": {"%.csv": "1,2,3\n4,5,6\n"},
    "no id": {"%.csv": "user_id,lon,lat\neve,1,2\n"},
    "no place": {"%.csv": "traj_id,lon\nq,1\n"},
    "no time, no user": {"%.csv": "traj_id,lon,lat\nq,1,2\n"},
    "other names": {"%.csv": "trip;uid;t;lng;lat\nq;eve;5;1,5;2,5\n"},
    "names twice": {"%.csv": "traj_id,trip_id,lon,lat,t,time\nq,r,1,2,3,4\n"},
    "planar": {"%.csv": "traj_id,x,y\nq,1,2\n", "%.dat": "#q:\n>0:1,2;\n"},
    "ids as integers": {
        "%.parquet": saved(traj_id=[7, 0], user_id=[1, 2], t=[0.5, 1.0], lon=[1.0, 2.0], lat=[1, 2])
    },
    "ids as floats": {"%.parquet": saved(trip=[7.0, 0.5], lon=[1.0, 2.0], lat=[1.0, 2.0])},
    "times of other types": {
        "%a.parquet": saved(tid=["q"], t=pa.array([2**62], pa.timestamp("ms")), lon=[1.0], lat=[2.0]),
        "%b.parquet": saved(tid=["r"], t=pa.array([5], pa.timestamp("ns", "UTC")), lon=[1.0], lat=[2.0]),
        "%c.parquet": saved(tid=["s"], t=pa.array([5], pa.date32()), lon=[1.0], lat=[2.0]),
    },
    "types that do not fit": {"%.parquet": saved(traj_id=[[1]], lon=["x"], lat=[True])},
    "damaged": {
        "%a.parquet": b"PAR1" + bytes(50) + b"PAR1",
        "%b.csv.gz": gzip.compress(b"traj_id,lon,lat\n" + b"q,1,2\n" * 1000)[:-9],
        "%c.geojson": '{"type":"FeatureCollection","features":[',
        "%d.gpx": "<gpx><trk>",
        "%e.gpkg": b"SQLite format 3\0" + bytes(52) + b"GPKG" + bytes(100),
        "%f.geoparquet": b"x",
    },
    "something else": {
        "%a.csv": b"\x89PNG\r\n\x1a\n",
        "%b.csv": b"PK\x03\x04",
        "%c.csv": "<kml/>",
        "%d.csv": '{"a":1}',
        "%e.csv": "[1]",
    },
    "other formats": {
        "%a.geojson": json.dumps({"type": "FeatureCollection", "features": [feature(THERE, {})]}),
        "%b.gpx": f"<gpx>{TRACKS['no id, no times']}</gpx>",
        "%c.csv": 'TRIP_ID,POLYLINE\nq,"[[1,2],[3,4]]"\n',
        "%d.geojsonl": json.dumps(feature(THERE, {"traj_id": "~0"})) + "\nx\n",
    },
    "a map": {"%.geojson": json.dumps(feature({"type": "Polygon", "coordinates": []}, {}))},
    "Geolife's": {
        "Data/eve/Trajectory/%.plt": plt(trip(4, 3)),
        "Data/eve/labels.txt": "Start Time\tEnd Time\n",
    },
    "another kind of Geolife's": {"%a.plt": "traj_id,lon,lat\nq,1,2\n", "%b.plt": b"\x1f\x8b\0"},
    "no file": {
        "%a.csv": lambda path: path.symlink_to("nowhere"),
        "%b.csv": lambda path: path.mkdir(),
        "%c.csv": lambda path: os.mkfifo(path),
        "%d.plt": lambda path: path.symlink_to("nowhere"),
    },
    "notes": {"readme.txt": "traj\n", "%.txt": "traj_id lon lat\nq 1 2\n", "%.md": "traj_id,lon,lat\n"},
    LENGTHY: lambda: {"%.csv": table_text(LONG)},
}


def folder_samples() -> dict[str, Sample]:
    def geojson(one: Trip) -> str:
        return json.dumps({"type": "FeatureCollection", "features": points_of(one)})

    parquet = {
        "traj_id": pa.int64(),
        "user_id": pa.int64(),
        "t": pa.timestamp("ms"),
        "lon": pa.float64(),
        "lat": pa.float64(),
    }

    def integers(number: int, one: Trip) -> Callable[[Path], None]:
        rows = [(id, user, t // 1000, x, y) for id, user, t, x, y in rows_of(one, 100 + number, number % 2)]
        return lambda path: parquet_file(parquet, path.name, path.parent, [rows]) and None

    goods: dict[str, list[dict[str, Any]]] = {
        "csv: a folder": [{"%.csv": table_text(one)} for one in TRIPS],
        "parquet: a folder": [{"%.parquet": integers(number, one)} for number, one in enumerate(TRIPS)],
        "geojson: a folder": [{"%.geojson": geojson(one)} for one in TRIPS],
        "gpx: a folder": [{"%.gpx": f"<gpx>{track(one, named=False)}</gpx>"} for one in TRIPS],
        "geolife": [{f"Data/{one.user}/Trajectory/{one.id}.plt": plt(one)} for one in TRIPS],
    }
    samples = {
        name: Sample(name.split(":")[0], filled_folder, good, FILES, has_ids=name != "gpx: a folder")
        for name, good in goods.items()
    }
    bare = [{"%.csv": "".join(f"{line}\n" for line in bare_lines(one))} for one in TRIPS]
    samples["csv: a folder without users and times"] = Sample(
        "csv", filled_folder, bare, FILES, has_times=False
    )
    counted = [{"%.csv": table_text(one, "ms")} for one in TRIPS]
    samples["csv: a folder of milliseconds"] = Sample(
        "csv", filled_folder, counted, FILES, options=CLOCKS["ms"]
    )
    samples["geolife: declared"] = Sample(
        "geolife", filled_folder, goods["geolife"], FILES, options={"format": "geolife"}
    )
    samples["geolife: without users"] = Sample(
        "geolife", filled_folder, [{f"{one.id}.plt": plt(one)} for one in TRIPS], FILES
    )
    return samples


def mixed_sample() -> Sample:
    """Hold trajectories in a file of another format each."""
    a, b, c, d = TRIPS
    good = [
        {"%.csv": table_text(a)},
        {"%.geojson": json.dumps({"type": "FeatureCollection", "features": points_of(b)})},
        {"%.gpx": f"<gpx>{track(c)}</gpx>"},
        {f"Data/{d.user}/Trajectory/{d.id}.plt": plt(d)},
    ]
    return Sample("csv", filled_folder, good, FILES)


SAMPLES: dict[str, Sample] = {
    "csv": table_sample("csv", ","),
    "csv: semicolons": table_sample("csv", ";"),
    "csv: blanks": table_sample("csv", " "),
    "csv: milliseconds": table_sample("csv", ",", "ms"),
    "csv: a pattern": table_sample("csv", ";", PATTERN),
    "csv: times of any form": table_sample("csv", ",", time="t"),
    "csv: an order": table_sample("csv", ",", ORDER, ORDER),
    "csv: an order, semicolons": table_sample("csv", ";", ORDER, ORDER),
    "tsv": table_sample("tsv", "\t"),
    "dat": dat_sample(),
    "porto": porto_sample(),
    **json_samples(),
    **gpx_samples(),
    **parquet_samples(),
    **geoparquet_samples(),
    "gpkg": gpkg_sample(),
    **ogr_samples(),
    **kml_samples(),
    **folder_samples(),
    "a folder of many formats": mixed_sample(),
}


#: The samples, one of each format, among which a long trajectory is put.
LONG_SAMPLES = {sample.format: name for name, sample in reversed(SAMPLES.items())}


# The promise.


def bytes_of(source: pt.FileSource, *, has_ids: bool) -> list[tuple[Any, ...]]:
    """List the trajectories of a source by all that they are, to the bit."""
    found = source.collect()
    none: list[Any] = [None] * len(found)
    ids = found.ids.tolist() if found.ids is not None and has_ids else none
    users = none if found.users is None else found.users.tolist()
    types = (found.crs, str(found.users is not None and found.users.dtype), str(found.ids.dtype))
    times = np.zeros(found.n_points) if found.times is None else found.times
    bounds = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    return sorted(
        (str(id), str(user), found.points[i:j].tobytes(), times[i:j].tobytes(), str(times.dtype), *types)
        for id, user, (i, j) in zip(ids, users, bounds, strict=True)
    )


def read(sample: Sample, folder: Path, pieces: Sequence[Any], gap: float | None) -> list[tuple[Any, ...]]:
    folder.mkdir()
    with pt.read(sample.write(folder, pieces), gap_minutes=gap, timezone=ZONE, **sample.options) as source:
        found = bytes_of(source, has_ids=sample.has_ids)
        assert all(fault.line > 0 for fault in source.faults())
        # And as it is read where times are wanted, where that is something else.
        if source.has_clock and (timed := source.timed()) is not source:
            found += [(TIMED, *one) for one in bytes_of(timed, has_ids=sample.has_ids)]
    return found


def around(good: Sequence[Any], hostile: Any) -> list[Any]:
    middle = len(good) // 2
    return [hostile, *good[:middle], hostile, *good[middle:], hostile]


def gaps(sample: Sample) -> list[float | None]:
    return [None, 30] if sample.has_times else [None]


def missing(before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """List what was there before and is not now, as often as it was there."""
    left = list(after)
    return [one for one in before if one not in left or left.remove(one)]  # type: ignore[func-returns-value]


class Undisturbed:
    """Give what a sample holds without anything hostile in it, read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, float | None], list[tuple[Any, ...]]] = {}

    def __call__(self, name: str, gap: float | None) -> list[tuple[Any, ...]]:
        if (name, gap) not in self._known:
            folder = self._folder / f"undisturbed {len(self._known)}"
            self._known[name, gap] = read(SAMPLES[name], folder, SAMPLES[name].good, gap)
        return self._known[name, gap]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("sample"))


#: Samples whose times are read otherwise where they are wanted; there are more.
WANTED = (
    "csv: times of any form",
    "geojson: lines",
    "geojson: times that are numbers",
    "mfjson",
    "csv: a folder",
)


def test_every_format_is_held_to_it() -> None:
    assert {sample.format for sample in SAMPLES.values()} == set(FORMATS)
    for name, sample in SAMPLES.items():
        assert len(sample.hostile) > 8 and LENGTHY in sample.hostile, name


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_holds_its_trajectories(name: str, undisturbed: Undisturbed) -> None:
    """Guard what follows from being true of nothing."""
    sample = SAMPLES[name]
    for gap in gaps(sample):
        n_pieces = 1 if gap is not None and sample.format != "porto" else 0  # one trip pauses for hours
        found = undisturbed(name, gap)
        n_timed = sum(one[0] == TIMED for one in found)
        assert len(found) - n_timed == len(sample.good) + n_pieces
        assert n_timed == (len(sample.good) if gap is None and name in WANTED else n_timed)


def deciding(name: str, folder: Path, undisturbed: Undisturbed) -> dict[str, bool]:
    """Put each hostile piece in front, where a header would be, in the middle and at the end.

    By turns with and without gaps. Tell for each whether it decided how others are read.
    """
    sample = SAMPLES[name]
    decided = {}
    for number, (what, hostile) in enumerate(sample.hostile.items()):
        if what == LENGTHY and name != LONG_SAMPLES[sample.format]:
            continue  # once for each format is enough
        gap = gaps(sample)[number % len(gaps(sample))]
        pieces = [hostile(), *sample.good] if what == LENGTHY else around(sample.good, hostile)
        after = read(sample, folder / f"{number}", pieces, gap)
        decided[what] = bool(missing(undisturbed(name, gap), after))
    return decided


@pytest.mark.parametrize("name", SAMPLES)
def test_no_trajectory_decides_how_others_are_read(name: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    assert [what for what, did in deciding(name, tmp_path, undisturbed).items() if did] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_many_trajectories_decide_it_no_more(name: str, tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Put all hostile pieces at once in front of the others, among them or after them."""
    sample = SAMPLES[name]
    hostile = [piece for what, piece in sample.hostile.items() if what != LENGTHY]
    for number, place in enumerate((0, len(sample.good) // 2, len(sample.good))):
        pieces = [*sample.good[:place], *hostile, *sample.good[place:]]
        gap = gaps(sample)[number % len(gaps(sample))]
        after = read(sample, tmp_path / f"{number}", pieces, gap)
        assert missing(undisturbed(name, gap), after) == [], place


class Told(Silent):
    """Keep the loud words to the curator."""

    def __init__(self) -> None:
        self.loud: list[str] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.loud += [text] if loud else []


@pytest.mark.parametrize("name", ["geojson: lines without ids", "csv: a folder without users and times"])
def test_a_file_that_may_have_users_and_has_none_fits_and_tells(name: str, tmp_path: Path) -> None:
    """Whether any feature or file has a user is no public fact, and so no reason to refuse."""
    sample, told = SAMPLES[name], Told()
    path = sample.write(tmp_path, sample.good)
    synthesizer = pt.DPT(epsilon=1, region=pt.Region.box(0, 0, 9, 9), unit="user", max_per_user=1)
    assert len(synthesizer.fit(pt.read(path), noise=pt.SeededNoise(1), observer=told).sample(5, seed=1)) == 5
    assert any("0 users" in words for words in told.loud)


MEMBERS = ["type", "id", "properties", "geometry", "temporalGeometry", "coordinates", "features", "columns"]
MEMBERS += [
    "crs",
    "prisms",
    "traj_id",
    "trip_id",
    "user_id",
    "t",
    "datetime",
    "times",
    "coordTimes",
    "datetimes",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS) | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)
KINDS = st.sampled_from(["Feature", "FeatureCollection", "Point", "LineString", "MovingPoint", "Polygon"])
ANY_FEATURE = st.fixed_dictionaries(
    {"type": KINDS},
    optional={
        "properties": st.dictionaries(
            st.sampled_from(["traj_id", "tid", "id", "uid", "t", "times", "x"]), VALUES
        ),
        "geometry": st.fixed_dictionaries({"type": KINDS, "coordinates": VALUES}) | VALUES,
        "temporalGeometry": st.fixed_dictionaries({"type": KINDS, "coordinates": VALUES, "datetimes": VALUES}),
        "features": VALUES,
        "id": VALUES,
    },
)
JSON_SAMPLES = [
    name for name, sample in SAMPLES.items() if sample.format in ("geojson", "mfjson") and "fold" not in name
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sampled_from(JSON_SAMPLES), ANY_FEATURE, st.integers(0, 4), st.booleans())
def test_no_feature_that_json_can_hold_does(
    undisturbed: Undisturbed,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    one: Any,
    place: int,
    cut: bool,
) -> None:
    sample = SAMPLES[name]
    gap = gaps(sample)[-1] if cut else None
    pieces = [*sample.good[:place], [one], *sample.good[place:]]
    after = read(sample, tmp_path_factory.mktemp("json") / "a", pieces, gap)
    assert missing(undisturbed(name, gap), after) == []


TOKENS = [b'"', b"#q:", b">0:1,2;", b",", b";", b"\t", b" ", b"[[1,2]]", b"\xff", b"\0", b"\r", b"\xef\xbb\xbf"]
TOKENS += [
    b"q,eve,2024-01-01,1,2",
    b"{",
    b"}",
    b"[",
    b'{"type":"Feature"}',
    b"\x1f\x8b",
    b"PAR1",
    b"traj_id,lon,lat",
]
LINE = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=4), max_size=8).map(
    lambda some: b"".join(some).replace(b"\n", b"") + b"\n"
)
LINE_SAMPLES = ["csv", "csv: semicolons", "csv: blanks", "tsv", "dat", "porto", "geojson: a feature a line"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.sampled_from(LINE_SAMPLES), st.lists(LINE, min_size=1, max_size=3), st.integers(0, 4))
def test_no_line_that_can_be_written_does(
    undisturbed: Undisturbed,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    lines: list[bytes],
    place: int,
) -> None:
    sample = SAMPLES[name]
    hostile: Any = [line[:-1] for line in lines] if "geojson" in name else b"".join(lines)
    pieces = [*sample.good[:place], hostile, *sample.good[place:]]
    after = read(sample, tmp_path_factory.mktemp("lines") / "a", pieces, None)
    assert missing(undisturbed(name, None), after) == []


def main() -> None:
    """Print for every sample how many hostile trajectories were put among the others, and what they changed."""
    print("| sample | trajectories | hostile, each in front, among and after them | that changed another |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        undisturbed = Undisturbed(Path(place))
        for number, (name, sample) in enumerate(SAMPLES.items()):
            folder = Path(place, str(number))
            folder.mkdir()
            decided = deciding(name, folder, undisturbed)
            print(f"| {name} | {len(sample.good)} | {len(decided)} | {sum(decided.values())} |", flush=True)


if __name__ == "__main__":
    main()
