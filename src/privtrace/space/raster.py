"""Draw trajectories on a raster: which pixels the line of each passes."""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled, inlined
from privtrace.paths import Paths
from privtrace.space.area import Area, is_in_box, is_in_polygon, unwrapped
from privtrace.space.lattice import until
from privtrace.trajectories import Trajectories, is_bad


def passed(part: Trajectories, area: Area, height: int, width: int) -> Paths:
    """List the pixels that each trajectory passes, each once, numbered from the northwest in rows.

    Lines lead from point to point. A point outside the region breaks the line; one that is no point at all is
    as if it were absent.
    """
    return Paths(*_passed(part.points, part.offsets, area, height, width))


@compiled
def _passed(points, offsets, area, height, width):  # type: ignore[no-untyped-def]
    bounds, turn, limits, is_box = area.bounds, area.turn, area.limits, area.is_box
    columns_per_unit = width / (bounds[2] - bounds[0])
    rows_per_unit = height / (bounds[3] - bounds[1])
    latest = np.full(height * width, -1, np.int64)  # the trajectory that passed a pixel last
    pixels, n_pixels = np.empty(max(len(points), 1), np.int32), 0
    pixel_offsets = np.zeros(len(offsets), np.int64)
    for trajectory in range(len(offsets) - 1):
        drawing = False
        across = down = 0.0  # where the pen is, in pixels from the northwest corner
        column = row = 0
        for p in range(offsets[trajectory], offsets[trajectory + 1]):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            x = unwrapped(x, bounds, turn)
            if not (is_in_box(x, y, bounds) and (is_box or is_in_polygon(x, y, area))):
                drawing = False
                continue
            to_across, to_down = (x - bounds[0]) * columns_per_unit, (bounds[3] - y) * rows_per_unit
            to_column, to_row = min(int(to_across), width - 1), min(int(to_down), height - 1)
            if not drawing:
                column, row = to_column, to_row
            n_most = n_pixels + 1 + abs(to_column - column) + abs(to_row - row)
            if n_most > len(pixels):
                pixels = np.concatenate((pixels, np.empty(n_most, np.int32)))
            if not drawing:
                n_pixels = _marked(pixels, n_pixels, latest, trajectory, row * width + column)
            # From pixel to pixel by whichever edge the line meets first, both at a corner.
            while column != to_column or row != to_row:
                until_column = until(column, to_column, across, to_across)
                until_row = until(row, to_row, down, to_down)
                if until_column <= until_row:
                    column += 1 if column < to_column else -1
                if until_row <= until_column:
                    row += 1 if row < to_row else -1
                n_pixels = _marked(pixels, n_pixels, latest, trajectory, row * width + column)
            across, down, drawing = to_across, to_down, True
        pixel_offsets[trajectory + 1] = n_pixels
    return pixels[:n_pixels].copy(), pixel_offsets


@inlined
def _marked(pixels, n_pixels, latest, trajectory, pixel):  # type: ignore[no-untyped-def]
    """List a pixel, unless its trajectory was there before; return how many are listed."""
    pixels[n_pixels] = pixel
    n_pixels += latest[pixel] != trajectory
    latest[pixel] = trajectory
    return n_pixels
