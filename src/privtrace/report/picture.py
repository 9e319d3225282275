"""Draw trajectories: count how many pass each pixel, color the counts, encode the picture."""

from __future__ import annotations

import struct
import zlib
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.space.area import is_inside, unwrapped
from privtrace.space.lattice import until
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers, Source, is_bad

Pixels: TypeAlias = npt.NDArray[np.uint8]  # (height, width, 3): red, green, blue

#: From none to most: night blue, teal, yellow, cream. Lightness rises all the way, which any eye sees and any
#: printer prints, and no two colors differ by red against green alone.
PALETTE = np.array(
    [
        (12, 17, 40),
        (30, 58, 118),
        (28, 108, 146),
        (66, 156, 146),
        (168, 196, 100),
        (250, 224, 92),
        (255, 250, 214),
    ]
)

#: The share of trajectories at which the logarithmic scale starts; below, it is nearly linear.
FAINT = 1e-4


def flow(source: Source, region: Region, size: int) -> Integers:
    """Count how many trajectories pass each pixel of a picture of the region: (height, width), north up.

    The longer side of the picture has `size` pixels and the other follows, in meters. Lines lead from point to
    point. A point outside the region breaks the line; one that is no point at all is as if it were absent. A
    trajectory counts once a pixel, however often it passes.
    """
    region = region.for_data(source.crs)
    longer_m = max(region.width_m, region.height_m)
    height, width = (max(1, round(size * side_m / longer_m)) for side_m in (region.height_m, region.width_m))
    counts = np.zeros((height, width), np.int64)
    for part in source.parts():
        _draw(counts, part.points, part.offsets, region.area)
    return counts


def shade(shares: Array, most: float) -> Floats:
    """Place shares of trajectories on the color scale, logarithmically: none at 0, `most` at 1."""
    shades: Floats = np.log1p(shares / FAINT) / np.log1p(most / FAINT)
    return shades


def paint(shades: Floats) -> Pixels:
    """Give shades from 0 to 1 their colors: (height, width) -> (height, width, 3)."""
    anchors = np.linspace(0, 1, len(PALETTE))
    channels = [np.interp(shades, anchors, PALETTE[:, channel]) for channel in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


def png(pixels: Pixels) -> bytes:
    """Encode a picture as PNG, 8 bits a channel."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line starts with its filter: 0, none
    lines[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)  # color type 2: red, green, blue
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@njit(cache=True, nogil=True)
def _draw(counts, points, offsets, area):  # type: ignore[no-untyped-def]
    """Add trajectories to the counts."""
    sides, turn, limits = area.sides, area.turn, area.limits
    height, width = counts.shape
    columns_per_unit = width / (sides[2] - sides[0])
    rows_per_unit = height / (sides[3] - sides[1])
    latest = np.full(counts.shape, -1, np.int64)  # the trajectory that passed a pixel last
    for trajectory in range(len(offsets) - 1):
        drawing = False
        across = down = 0.0  # where the pen is, in pixels from the northwest corner
        column = row = 0
        for p in range(offsets[trajectory], offsets[trajectory + 1]):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            x = unwrapped(x, sides, turn)
            if not is_inside(x, y, area):
                drawing = False
                continue
            to_across, to_down = (x - sides[0]) * columns_per_unit, (sides[3] - y) * rows_per_unit
            to_column, to_row = min(int(to_across), width - 1), min(int(to_down), height - 1)
            if not drawing:
                column, row = to_column, to_row
                _pass(counts, latest, trajectory, row, column)
            # From pixel to pixel by whichever edge the line meets first, both at a corner.
            while column != to_column or row != to_row:
                until_column = until(column, to_column, across, to_across)
                until_row = until(row, to_row, down, to_down)
                if until_column <= until_row:
                    column += 1 if column < to_column else -1
                if until_row <= until_column:
                    row += 1 if row < to_row else -1
                _pass(counts, latest, trajectory, row, column)
            across, down, drawing = to_across, to_down, True


@njit(cache=True, nogil=True, inline="always")
def _pass(counts, latest, trajectory, row, column):  # type: ignore[no-untyped-def]
    """Count a trajectory in a pixel, unless it was there before."""
    if latest[row, column] != trajectory:
        latest[row, column] = trajectory
        counts[row, column] += 1
