"""Read a street network from two text files, one of nodes and one of edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privtrace.datasets.network import (
    KMH,
    ROUNDING_M,
    Flags,
    Network,
    largest_component,
    meters_per_degree,
    simple_edges,
)
from privtrace.errors import DataError, SettingsError
from privtrace.trajectories import Crs, Floats, Integers

SPEED = 50 * KMH  # meters a second, where nothing else is said


def read_network(
    nodes: str | Path, edges: str | Path, *, crs: Crs = "planar", speed: float = SPEED, zone: str = "UTC"
) -> Network:
    """Read a network from a file of lines `id x y` and one of lines `id from to length`, open both ways.

    This is the format of Brinkhoff's generator and of the road networks that go with it. Planar coordinates and
    lengths are taken as meters. With `crs="lonlat"` both are degrees and are turned into meters around the
    middle of the network; trips on it are in longitude and latitude again. All edges are streets and may be
    traveled at `speed`, in meters a second. `zone`, an IANA name, is the time zone that users there live by.

    What a network cannot have is mended: an edge from a node to itself is dropped, of two between the same
    nodes the shorter stays, an edge shorter than the straight line gets its length, and of a network in several
    components the largest is kept. A line that cannot be understood is refused.
    """
    if crs not in ("planar", "lonlat"):
        raise SettingsError(f"crs must be 'lonlat' or 'planar', not {crs!r}")
    if not 0 < speed < np.inf:
        raise SettingsError(f"speed must be positive and finite, not {speed}")
    ids, points = _read_nodes(Path(nodes), crs)
    ends, lengths = _read_edges(Path(edges), Path(nodes), ids)
    middle = None
    if crs == "lonlat":
        longitude, latitude = ((points.min(axis=0) + points.max(axis=0)) / 2).tolist()
        middle = (longitude, latitude)
    ends, lengths_m, points = _mended(points, ends, lengths, middle)
    kept, whole, ends = largest_component(len(points), ends)
    if not len(ends):
        raise DataError(f"{edges}: no edge joins two of the nodes; a network needs at least one")
    speeds, lengths_m = np.full(len(ends), speed), lengths_m[whole]
    return Network.two_way(
        points[kept], ends[:, 0], ends[:, 1], speeds, lengths_m=lengths_m, middle=middle, zone=zone
    )


def _read_nodes(path: Path, crs: Crs) -> tuple[Integers, Floats]:
    """Read the ids of nodes, sorted, and their coordinates."""
    values, lines = _read_numbers(path, "id x y")
    if crs == "lonlat":
        wild = np.any(np.abs(values[:, 1:]) > (180, 89.9), axis=1)
        _refuse(path, lines, wild, "is not a longitude and latitude; pass crs='planar' for planar coordinates")
    values, lines = values[order := np.argsort(values[:, 0], kind="stable")], lines[order]
    ids = values[:, 0].astype(np.int64)
    _refuse(path, lines, np.diff(ids, prepend=-1) == 0, "repeats the id of an earlier line; ids must be unique")
    return ids, values[:, 1:]


def _read_edges(path: Path, nodes: Path, ids: Integers) -> tuple[Integers, Floats]:
    """Read the ends of edges, as places among the nodes, and their lengths."""
    values, lines = _read_numbers(path, "id from to length")
    _refuse(path, lines, values[:, 3] < 0, "has a negative length")
    named = values[:, 1:3].astype(np.int64)
    places = np.searchsorted(ids, named).clip(max=len(ids) - 1)
    _refuse(path, lines, np.any(ids[places] != named, axis=1), f"names a node that is not in {nodes}")
    return places, values[:, 3]


def _read_numbers(path: Path, columns: str) -> tuple[Floats, Integers]:
    """Read lines of numbers, the last of `columns` any and ids whole; give the line of each, too."""
    try:
        rows = [line.split() for line in path.read_text(encoding="ascii").split("\n")]
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not a plain text file with lines `{columns}`") from None
    lines = np.array([line for line, row in enumerate(rows, start=1) if row], dtype=np.int64)
    rows = [row for row in rows if row]
    width = len(columns.split())
    wrong = np.array([len(row) != width for row in rows], dtype=bool)
    _refuse(path, lines, wrong, f"is not of the form `{columns}`")
    if not rows:
        raise DataError(f"{path}: is empty; expected lines `{columns}`")
    values = np.array([[_number(word) for word in row] for row in rows])
    _refuse(path, lines, ~np.all(np.isfinite(values), axis=1), f"must hold finite numbers, `{columns}`")
    n_ids = sum(name in ("id", "from", "to") for name in columns.split())
    ids = values[:, :n_ids]
    odd = np.any((ids != np.floor(ids)) | (ids < 0) | (ids > 2**53), axis=1)
    _refuse(path, lines, odd, "has an id that is not a whole number of 0 or more")
    return values, lines


def _number(word: str) -> float:
    """Read a number; what is none becomes NaN."""
    try:
        return float(word)
    except ValueError:
        return np.nan


def _refuse(path: Path, lines: Integers, wrong: Flags, words: str) -> None:
    """Refuse a file for the first of its wrong lines."""
    if np.any(wrong):
        raise DataError(f"{path}: line {lines[wrong].min()} {words}")


def _mended(
    points: Floats, ends: Integers, lengths: Floats, middle: tuple[float, float] | None
) -> tuple[Integers, Floats, Floats]:
    """Drop loops, keep the shorter of parallel edges, and turn lengths and points into meters.

    Degrees of length mean little, so an edge stays as much longer than the straight line as the file says.
    """
    ends, kept = simple_edges(ends, lengths)
    lengths = lengths[kept]
    straight = np.hypot(*(points[ends[:, 1]] - points[ends[:, 0]]).T)
    if middle is not None:
        points = (points - middle) * meters_per_degree(middle[1])
        straight_m = np.hypot(*(points[ends[:, 1]] - points[ends[:, 0]]).T)
        lengths = straight_m * lengths / np.maximum(straight, 1e-12)
        straight = straight_m
    return ends, np.maximum(np.maximum(lengths, straight), ROUNDING_M), points
