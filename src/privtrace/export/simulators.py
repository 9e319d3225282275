"""Write synthetic trips as the demand of traffic simulators: trips of SUMO, and plans of MATSim.

A trip is the first and the last point of a trajectory, and the local time of the first. Simulators find the way
between them by themselves. Text is made by arrow in chunks, as in the other formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.calendar import Zone, milliseconds_of
from privtrace.coordinates import is_known, transformed
from privtrace.errors import OutputError
from privtrace.io.printing import chained, content, peeked, rounded, shortest
from privtrace.methods.declaring import spelled
from privtrace.trajectories import Array, Crs, Floats, Integers, Trajectories

#: Trips that are text at once.
_CHUNK_TRIPS = 1 << 16

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


class NamedZones(NamedTuple):
    """Say which zones trips begin and end in, for simulators that know them by the same names."""

    names: Sequence[str]
    of_points: Callable[[Floats], Integers]  # the number of the zone of each point, (n, 2); -1 in none


@dataclass(frozen=True, eq=False)
class _Trips:
    """Hold trips: six numbers each, and with zones two more."""

    numbers: Integers  # (n,): their places among all trajectories
    departures: Integers  # (n,): milliseconds since the simulation begins
    ends: Floats  # (n, 4): x and y of the first point, and of the last
    zones: npt.NDArray[np.int32]  # (n, 2): of both points; (n, 0) without zones

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, which: slice | Integers) -> _Trips:
        return _Trips(self.numbers[which], self.departures[which], self.ends[which], self.zones[which])


def write_sumo(
    sink: BinaryIO,
    parts: Iterable[Trajectories],
    begin: np.datetime64,
    zones: NamedZones | None,
    about: Mapping[str, str],
    crs: Crs | None = None,
) -> None:
    """Write trips of SUMO by departure, in seconds since `begin`, a local midnight.

    Longitude and latitude are given as such; other coordinates have to be those of the network. With zones, a
    trip begins and ends anywhere in its zone, or else where it did. A system that is given is that of the file.
    """
    first, parts = peeked(parts)
    crs = first.crs if crs is None else crs
    blocks = (_trips(part, before, begin, zones, crs) for part, before in _numbered(parts))
    schema = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation'
    sink.write(f'{_XML}{_comment(about)}<routes {schema}="http://sumo.dlr.de/xsd/routes_file.xsd">\n'.encode())
    for trips in _by_departure(blocks):
        sink.write(content(_sumo_texts(trips, crs, zones)))
    sink.write(b"</routes>\n")


def write_matsim(
    sink: BinaryIO,
    parts: Iterable[Trajectories],
    begin: np.datetime64,
    about: Mapping[str, str],
    mode: str = "car",
    crs: Crs | None = None,
) -> None:
    """Write plans of MATSim, a person per trip, part by part; times count from `begin`, a local midnight."""
    first, parts = peeked(parts)
    crs = first.crs if crs is None else crs
    check_matsim(crs)
    kind = '<!DOCTYPE population SYSTEM "http://www.matsim.org/files/dtd/population_v6.dtd">\n'
    sink.write(f"{_XML}{_comment(about)}{kind}<population>\n{_system(crs)}".encode())
    for part, before in _numbered(parts):
        trips = _trips(part, before, begin, None, crs)
        for start in range(0, len(trips), _CHUNK_TRIPS):
            sink.write(content(_matsim_texts(trips.take(slice(start, start + _CHUNK_TRIPS)), mode)))
    sink.write(b"</population>\n")


def check_matsim(crs: Crs) -> None:
    """Refuse coordinates that MATSim cannot use."""
    if crs == "lonlat":
        raise OutputError(
            "MATSim plans: MATSim takes coordinates in meters, not longitude and latitude; pass "
            f"{spelled('output_crs')} EPSG:..., a projected system of the area"
        )


def _numbered(parts: Iterable[Trajectories]) -> Iterator[tuple[Trajectories, int]]:
    """Yield each part with the number of trajectories before it."""
    n_before = 0
    for part in parts:
        yield part, n_before
        n_before += len(part)


def _trips(
    part: Trajectories, n_before: int, begin: np.datetime64, zones: NamedZones | None, crs: Crs
) -> _Trips:
    """Keep of trajectories what makes a trip, in a system; one without points makes none."""
    if part.times is None or not part.on_calendar:
        raise OutputError(
            "simulators need to know when trips depart, and these have no times; fit a model with --times "
            "(times=True)"
        )
    which = np.flatnonzero(np.diff(part.offsets))
    firsts, lasts = part.offsets[which], part.offsets[which + 1] - 1
    origins, destinations = part.points[firsts], part.points[lasts]
    found = [] if zones is None else [zones.of_points(origins), zones.of_points(destinations)]
    in_zones = np.array(found, np.int32).reshape(len(found), len(which)).T
    # Zones are looked up before, in the system that they are in.
    ends = np.hstack([_rounded(transformed(some, part.crs, crs), crs) for some in (origins, destinations)])
    if not np.isfinite(ends).all():
        raise OutputError(
            f"some trips lie where {crs} has no coordinates; pass {spelled('output_crs')} EPSG:..., a "
            "projected system of the area"
        )
    departures = _departures(part.times[firsts], part.zone, begin)
    return _Trips(n_before + which, departures, ends, in_zones)


def _departures(times: Array, zone: str, begin: np.datetime64) -> Integers:
    """Count the milliseconds from the beginning, a local time, to moments in UTC, as clocks there show them."""
    if np.isnat(times).any():
        raise OutputError("some trips have no time of departure, and simulators need one of each trip")
    moments = milliseconds_of(times)
    local = moments + 1000 * Zone.named(zone).offsets_at(moments // 1000)
    since: Integers = local - begin.astype("datetime64[ms]").astype(np.int64)
    if len(since) and since.min() < 0:
        raise OutputError(f"some trips depart before {begin}, where the simulation begins")
    return since


def _rounded(points: Floats, crs: Crs) -> Floats:
    """Round points as text has them everywhere."""
    return rounded(Trajectories(points, np.array([0, len(points)]), crs=crs)).points


def _by_departure(blocks: Iterable[_Trips]) -> Iterator[_Trips]:
    """Yield trips in the order in which they depart, as SUMO has to meet them; by number at the same time."""
    held = [*blocks]
    trips = _Trips(
        np.concatenate([block.numbers for block in held]),
        np.concatenate([block.departures for block in held]),
        np.concatenate([block.ends for block in held]),
        np.concatenate([block.zones for block in held]),
    )
    held.clear()
    order = np.argsort(trips.departures, kind="stable")
    for start in range(0, len(order), _CHUNK_TRIPS):
        yield trips.take(order[start : start + _CHUNK_TRIPS])


def _sumo_texts(trips: _Trips, crs: Crs, zones: NamedZones | None) -> pa.Array:
    """Print trips of SUMO, one per line."""
    seconds, hundredths = _texts(trips.departures // 1000), _padded(trips.departures % 1000 // 10)
    ids = None if zones is None else _quotable(zones.names)
    kind = "LonLat" if crs == "lonlat" else "XY"
    ends = []
    for end, name in enumerate(("from", "to")):
        x, y = (shortest(column, "") for column in trips.ends[:, 2 * end : 2 * end + 2].T)
        at = chained(f'" {name}{kind}="', x, ",", y)
        ends.append(at if ids is None else _in_zones(at, name, ids, trips.zones[:, end]))
    return chained('<trip id="', _texts(trips.numbers), '" depart="', seconds, ".", hundredths, *ends, '"/>\n')


def _quotable(names: Sequence[str]) -> pa.Array:
    """Print names as attributes hold them."""
    return pa.array([escape(name, {'"': "&quot;"}) for name in names], pa.large_string())


def _in_zones(end: pa.Array, name: str, ids: pa.Array, zones: npt.NDArray[np.int32]) -> pa.Array:
    """Name the zone of an end that lies in one."""
    known = pa.array(zones, mask=zones < 0)
    return pc.coalesce(chained(f'" {name}Taz="', ids.take(known)), end)


def _matsim_texts(trips: _Trips, mode: str) -> pa.Array:
    """Print persons of MATSim, one per line; hours go on beyond 24."""
    seconds = trips.departures // 1000
    clock = (_padded(seconds // 3600), ":", _padded(seconds // 60 % 60), ":", _padded(seconds % 60))
    x, y, onto_x, onto_y = (shortest(column, "") for column in trips.ends.T)
    return chained(
        '<person id="',
        _texts(trips.numbers),
        '"><plan selected="yes"><activity type="origin" x="',
        x,
        '" y="',
        y,
        '" end_time="',
        *clock,
        f'"/><leg mode={quoteattr(mode)}/><activity type="destination" x="',
        onto_x,
        '" y="',
        onto_y,
        '"/></plan></person>\n',
    )


def _system(crs: Crs) -> str:
    """Name the coordinate system, if it is known, as MATSim reads it."""
    if not is_known(crs):
        return ""
    name = 'name="coordinateReferenceSystem" class="java.lang.String"'
    return f"<attributes><attribute {name}>{crs}</attribute></attributes>\n"


def _texts(numbers: Integers) -> pa.Array:
    return pa.array(numbers).cast(pa.large_string())


def _padded(numbers: Integers) -> pa.Array:
    """Print whole numbers with two digits at least, as clocks have them."""
    return pc.utf8_lpad(_texts(numbers), 2, "0")


def _comment(about: Mapping[str, str]) -> str:
    """Put the words about a release into a comment, which cannot hold two hyphens in a row."""
    lines = "".join(f"{name.removeprefix('privtrace.')}: {text}\n" for name, text in about.items())
    return f"<!--\n{re.sub('-(?=-)', '- ', lines)}-->\n"
