"""Set points on lines that are given: of methods that know nothing of points and times, or real ones."""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled, inlined
from privtrace.random import Stream
from privtrace.space.area import is_inside
from privtrace.space.region import Region
from privtrace.timing.draw import (
    NO_DRAWS,
    Draws,
    Placed,
    draw_reports,
    has_clock,
    most_spaced,
    number_of_points,
    reports_for,
    spaced_reports,
)
from privtrace.trajectories import Trajectories


def reported(lines: Trajectories, region: Region, draws: Draws, first_trajectory: int, seed: int) -> Placed:
    """Report trips along lines, numbered from `first_trajectory`, whose points are in the region."""
    return _on_lines(lines, region, (draws, 0.0), first_trajectory, seed)


def spaced(lines: Trajectories, region: Region, spacing_m: float, first_trajectory: int, seed: int) -> Placed:
    """Set points on such lines that are about as far apart as this."""
    return _on_lines(lines, region, (NO_DRAWS, spacing_m), first_trajectory, seed)


def _on_lines(
    lines: Trajectories, region: Region, reporting: tuple[Draws, float], first_trajectory: int, seed: int
) -> Placed:
    points, offsets = region.unwrap(lines.points), lines.offsets
    place = region.area, region.scale_m
    return Placed(*_reported(points, offsets, place, reporting, first_trajectory, np.uint64(seed)))


@compiled
def _reported(lines, line_offsets, place, reporting, first_trajectory, seed):  # type: ignore[no-untyped-def]
    area, scale_m = place
    draws, spacing_m = reporting
    points = np.empty((2 * len(lines) + 16, 2))
    seconds = np.empty(len(points) if has_clock(draws) else 0)
    offsets = np.zeros(len(line_offsets), np.int64)
    reports, n = reports_for(max(draws.most_points, 256)), 0
    for path in range(len(offsets) - 1):
        line = lines[line_offsets[path] : line_offsets[path + 1]]
        if len(line):
            length_m = 0.0
            for k in range(1, len(line)):
                length_m += _meters(line, k, scale_m)
            stream = Stream(seed, np.uint64(first_trajectory + path))
            if spacing_m > 0.0:
                n_points = most_spaced(length_m, spacing_m)
                if n_points > len(reports.along_m):
                    reports = reports_for(2 * n_points)
                n_points = spaced_reports(reports, length_m, spacing_m, stream)
            else:
                n_points = number_of_points(length_m, draws, stream)
                n_points = draw_reports(reports, n_points, length_m, length_m, draws, stream)
            while n + n_points > len(points):
                points = np.concatenate((points, np.empty_like(points)))
                seconds = np.concatenate((seconds, np.empty_like(seconds)))
            _set_out(points[n : n + n_points], reports.along_m, line, area, scale_m)
            if len(seconds):
                seconds[n : n + n_points] = reports.seconds[:n_points]
            n += n_points
        offsets[path + 1] = n
    return points[:n].copy(), offsets, seconds[:n].copy()


@compiled
def _set_out(points, along_m, line, area, scale_m):  # type: ignore[no-untyped-def]
    """Set points on a line as far along as the reports say; outside a polygon, on an end near by."""
    k, before = 0, 0.0  # the stretch in hand, from place k of the line on, and the length before it
    stretch = _meters(line, 1, scale_m) if len(line) > 1 else 0.0
    for p in range(len(points)):
        while k + 2 < len(line) and before + stretch < along_m[p]:
            before += stretch
            k += 1
            stretch = _meters(line, k + 1, scale_m)
        share = min(max((along_m[p] - before) / stretch, 0.0), 1.0) if stretch > 0.0 else 0.0
        onto = min(k + 1, len(line) - 1)
        if p > 0 and p == len(points) - 1:
            k, onto, share = len(line) - 1, len(line) - 1, 0.0
        x = line[k, 0] + share * (line[onto, 0] - line[k, 0])
        y = line[k, 1] + share * (line[onto, 1] - line[k, 1])
        if not is_inside(x, y, area):
            near = k if share < 0.5 else onto
            x, y = line[near, 0], line[near, 1]
        points[p, 0], points[p, 1] = x - area.turn if x > 180.0 else x, y


@inlined
def _meters(line, k, scale_m):  # type: ignore[no-untyped-def]
    x, y = (line[k, 0] - line[k - 1, 0]) * scale_m[0], (line[k, 1] - line[k - 1, 1]) * scale_m[1]
    return np.sqrt(x * x + y * y)
