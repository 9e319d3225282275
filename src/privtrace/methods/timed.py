"""Let a fit measure how trips are reported and when they happen, before its recipe."""

from __future__ import annotations

from dataclasses import replace

from privtrace.calendar import seconds_in
from privtrace.methods.fitting import Fitting
from privtrace.timing.measure import measure_timing
from privtrace.trajectories import Source


def with_timing(fitting: Fitting, source: Source) -> Fitting:
    """Measure points and times as far as the settings ask for it; times are shown in the zone of the source."""
    settings = fitting.settings
    if not settings.has_sampling:
        return fitting
    timing = measure_timing(
        fitting.crossing,
        fitting.region,
        {stage: settings.error(stage) for stage in settings.timing_shares},
        settings.calendar_of(source) if settings.has_times else None,
        seconds_in(settings.every),
    )
    return replace(fitting, timing=timing)
