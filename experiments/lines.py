"""Bring real trips to the form in which synthetic ones are counted. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import privtrace as pt
from privtrace.calendar import Zone, hours_of_week, seconds_of
from privtrace.methods.counting import Lines
from privtrace.space.clip import clip

#: Trips are clipped in blocks.
BLOCK = 4096


def real_lines(trips: pt.Trajectories, region: pt.Region, zone: Zone | None) -> Iterator[Lines]:
    """Clip trips block by block; departures are told by the clocks of a zone, or not at all."""
    for first in range(0, len(trips), BLOCK):
        runs = clip(trips[first : first + BLOCK], region)
        kept = np.flatnonzero(np.diff(runs.offsets))
        offsets = np.append(runs.offsets[:-1][kept], runs.offsets[-1])
        lines = Lines.of(pt.Trajectories(region.coordinates(runs.points), offsets, crs=trips.crs), region, None)
        if zone is not None:
            assert runs.times is not None
            departures = seconds_of(runs.times[offsets[:-1]])
            lines = replace(lines, hours=hours_of_week(zone.to_local(departures)))
        yield lines
