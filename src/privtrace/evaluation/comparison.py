"""Measure sets so that they can be compared: in one frame, by the same profiles, part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from os import PathLike

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.backends.passes import Passes
from privtrace.calendar import Zone
from privtrace.coordinates import is_known
from privtrace.errors import DataError, SettingsError
from privtrace.evaluation import adatrace, mobility, paper, time
from privtrace.evaluation.figures import NEEDED
from privtrace.evaluation.frame import REAL, SYNTHETIC, Frame
from privtrace.evaluation.measured import JoiningParts, MeasuredPart, MeasuredSet, Role, check
from privtrace.evaluation.metric import Measure, Metric, Profile
from privtrace.methods.declaring import MOST_SEED, whole
from privtrace.observer import Observer, Silent
from privtrace.space.region import Region
from privtrace.trajectories import Crs, Source, Trajectories, check_source, on_the_calendar
from privtrace.within import Transformed

PROFILES = {module.PROFILE.name: module.PROFILE for module in (paper, adatrace, mobility, time)}

#: The chance by which subsets of each set are chosen.
_USES: dict[Role, int] = {"real": REAL, "synthetic": SYNTHETIC}


def profiles_named(name: str) -> tuple[Profile, ...]:
    """Find the profiles of a name: one, or all."""
    if name == "all":
        return tuple(PROFILES.values())
    if name not in PROFILES:
        raise SettingsError(f"the profile must be {', '.join(PROFILES)} or all, not {name!r}")
    return (PROFILES[name],)


def looks_at_times(profile: str, *, figures: bool) -> bool:
    """Say whether times are measured for a profile, or for figures."""
    return figures or time.PROFILE in profiles_named(profile)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold how sets are measured that are to be compared. It knows no data."""

    frame: Frame
    crs: Crs  # of both sets
    profile: str  # as it was named
    profiles: tuple[Profile, ...]
    measures: Mapping[str, Measure]  # of each profile, and of what else is measured: for clipped parts
    backend: Backend
    observer: Observer

    @classmethod
    def of(
        cls,
        region: Region,
        crs: Crs,
        *,
        profile: str = "paper",
        seed: int = 1,
        zone: str = "UTC",
        figures: bool = False,
        backend: Backend | None = None,
        observer: Observer | None = None,
    ) -> Comparison:
        """Draw the random queries of a profile; with `figures`, measure also what figures are drawn from.

        Hours are those of the zone, an IANA name.
        """
        seed = whole(seed, "seed", 0, MOST_SEED)
        frame = Frame(region.for_data(crs), seed, Zone.named(zone).name)
        profiles = profiles_named(profile)
        # Each once: some draw circles first.
        measured = dict.fromkeys((*profiles, *(NEEDED if figures else ())))
        measures = {profile.name: profile.measuring(frame) for profile in measured}
        return cls(frame, crs, profile, profiles, measures, backend or Threads(), observer or Silent())

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """List the metrics of all profiles."""
        return tuple(metric for profile in self.profiles for metric in profile.metrics)

    @property
    def has_figures(self) -> bool:
        """Tell whether everything is measured that figures are drawn from."""
        return all(profile.name in self.measures for profile in NEEDED)

    def measuring(self, role: Role = "synthetic", path: str | PathLike[str] | None = None) -> Measuring:
        """Begin to measure a set whose parts are still to come; messages name it by its role and path."""
        return Measuring(self, role, None if path is None else str(path))

    def measure(self, source: Source, role: Role = "synthetic", text: str | None = None) -> MeasuredSet:
        """Measure a set in one pass over a source."""
        check_source(source)
        if source.crs != self.crs and not (is_known(source.crs) and is_known(self.crs)):
            raise DataError(
                f"the real data is {self.crs} and the {role} data is {source.crs}, so they cannot be "
                "compared. If both use the same coordinates, say which with --crs (crs=...); otherwise "
                "project one of them"
            )
        measuring = self.measuring(role, getattr(source, "path", None))
        needs_clock = "time" in self.measures and getattr(source, "has_clock", False)
        with on_the_calendar(source) if needs_clock else nullcontext(source) as timed:
            here = timed if timed.crs == self.crs else Transformed(timed, self.crs)
            passes = Passes(here, self.backend, self.observer)
            for measured in passes.map(measuring.kernel, text or f"Measuring the {role} data"):
                measuring.measured.add(measured)
        return measuring.finish()


@dataclass(frozen=True, eq=False)
class Measuring:
    """Measure a set while its parts pass by. It keeps their traits, and not their points."""

    comparison: Comparison
    role: Role
    path: str | None
    measured: JoiningParts = field(default_factory=JoiningParts, init=False, repr=False)

    def kernel(self, part: Trajectories) -> MeasuredPart:
        """Measure a part, and keep nothing of it."""
        return MeasuredPart.of(part, self.comparison.frame, self.comparison.measures)

    def through(self, parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
        """Yield the parts as they come, in order, each measured on the backend before it goes on."""
        for part, measured in self.comparison.backend.map(lambda part: (part, self.kernel(part)), parts):
            self.measured.add(measured)
            yield part

    def finish(self) -> MeasuredSet:
        """Join what was measured, once all parts have passed; refuse a set that cannot be the one meant."""
        frame, observer = self.comparison.frame, self.comparison.observer
        if not len(self.measured):
            self.measured.add(self.kernel(Trajectories.concatenate([], self.comparison.crs)))
        joined = self.measured.finish(frame, _USES[self.role], self.path)
        check(joined, self.role, frame, observer)
        return joined
