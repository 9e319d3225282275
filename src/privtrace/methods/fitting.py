"""Begin a fit and end it: open the crossing over a source, and state what the release promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version

from privtrace.backends.base import Backend
from privtrace.backends.local import backend_for
from privtrace.backends.passes import Passes
from privtrace.methods.settings import Settings
from privtrace.observer import Observer, Silent
from privtrace.privacy.budget_file import BudgetFile
from privtrace.privacy.choosing import choosing
from privtrace.privacy.crossing import Crossing
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.noise import Noise, SystemNoise
from privtrace.release import Release
from privtrace.space.clip import clip
from privtrace.space.region import Region
from privtrace.timing.model import Timing
from privtrace.trajectories import Source


@dataclass(frozen=True)
class Fitting:
    """Hold what a recipe works with: the crossing, and what is public."""

    settings: Settings
    crossing: Crossing
    region: Region  # in the source's coordinates
    backend: Backend
    observer: Observer
    timing: Timing | None = None  # released, where it was measured

    @classmethod
    def begin(
        cls,
        settings: Settings,
        source: Source,
        noise: Noise | None,
        backend: Backend | None,
        observer: Observer | None,
        budget_file: BudgetFile | None,
    ) -> Fitting:
        """Open the source and the ledger; where users are protected, choose which trajectories count."""
        passes = Passes(source, backend or backend_for(source), observer or Silent())
        region = settings.region.for_data(source.crs)
        unit = replace(settings.protected, gap_minutes=source.gap_minutes)
        noise = noise or SystemNoise()
        ledger = Ledger(settings.exact("epsilon"), unit, noise, budget_file=budget_file, method=settings.method)
        choice = None
        if unit.kind == "user":
            passes, choice = choosing(passes, unit, noise)
        crossing = Crossing(passes, ledger, settings.budget, choice, lambda part: clip(part, region))
        return cls(settings, crossing, region, passes.backend, passes.observer)

    def release(self, label: str, package: str | None) -> Release:
        """State the public facts: what was asked for, what was spent, and whether the noise was secret.

        The calendar, which the source tells, is added to them.
        """
        settings, ledger = self.settings, self.crossing.ledger
        return Release(
            method=settings.method,
            label=label,
            software=version("privtrace"),
            epsilon=ledger.epsilon,
            unit=ledger.unit,
            region=self.region,
            public_count=settings.public_count,
            settings=settings.own_settings(),
            charges=ledger.charges,
            private=ledger.private,
            package=package,
            timing=settings.timing_settings(),
        )
