"""Let a fit measure how trips are reported and when they happen, before its recipe."""

from __future__ import annotations

from dataclasses import replace

from privtrace.calendar import seconds_in
from privtrace.methods.common.measure import presence
from privtrace.methods.fitting import Fitting
from privtrace.timing.measure import measure_timing
from privtrace.trajectories import Source


def with_timing(fitting: Fitting, source: Source) -> Fitting:
    """Measure points and times as far as the settings ask for it; times are shown in the zone of the source.

    The trajectories in the region are counted along, for the recipe to release.
    """
    settings = fitting.settings
    if not settings.has_sampling:
        return fitting
    crossing = fitting.crossing
    timing, present = measure_timing(
        crossing,
        fitting.region,
        {stage: settings.error(stage) for stage in settings.timing_shares},
        settings.calendar_of(source) if settings.has_times else None,
        seconds_in(settings.every),
        along=presence(fitting.region),
    )
    return replace(fitting, timing=timing, crossing=replace(crossing, present=present))
