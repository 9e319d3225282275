"""Hold the settings that every method has, and bring them to plain values at the door.

So they mean and are written the same everywhere. What loads a compiler is imported when a fit begins: help
should answer at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from privtrace.caching import cached_property
from privtrace.errors import ModelFormatError, SettingsError
from privtrace.methods.declaring import (
    Budget,
    Days,
    Declaration,
    Duration,
    Flag,
    OneOf,
    Whole,
    declared,
    setting,
    share,
    spelled,
    whole,
)
from privtrace.methods.foreseeing import DISTRICTS, Expected, Table, Target, expected_of, least_epsilon
from privtrace.methods.plan import BASE_MEMORY_MB, Plan, StagePlan, general_warnings, large
from privtrace.privacy.epsilon import MOST_DIGITS, Epsilon, check_scale, decimal
from privtrace.privacy.unit import MOST_PER_USER, Unit
from privtrace.privacy.wording import each_or_all
from privtrace.timing.shares import NOISY, shares_of

if TYPE_CHECKING:
    from privtrace.backends.base import Backend
    from privtrace.calendar import Calendar
    from privtrace.methods.model import Model
    from privtrace.observer import Observer
    from privtrace.privacy.budget_file import BudgetFile
    from privtrace.privacy.noise import Noise
    from privtrace.release import Release, Setting
    from privtrace.space.region import Region
    from privtrace.trajectories import Data, Source

_Source = TypeVar("_Source", bound="Source")

#: Trajectories of a data set at most, so that sums of their weights stay within 62 bits.
MOST_TRAJECTORIES = 1 << 39

#: The settings of points and times.
TIMING = ("times", "sampling", "period", "every", "points_share", "clock_share")


@dataclass(frozen=True)
class _Area:
    """Take a region."""

    words: str = "a region"
    span: str = ""
    metavar: str = "W,S,E,N|FILE"

    def read(self, value: Any) -> Any:
        """Take a region, or what describes one."""
        from privtrace.space.region import Region

        return Region.of(value)

    def parse(self, text: str) -> Any:
        """Read four numbers, or a file with a polygon."""
        from privtrace.space.region import Region

        return Region.parse(text)


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """Hold what every method must be told, all of it public. A method adds its own settings and a recipe."""

    method: ClassVar[str]  # the method's name, by which the registry knows it

    region: Region = setting("The area: a box, or a file (polygon).", _Area())
    epsilon: Epsilon = setting("The privacy budget, for example 0.5.", Budget())
    unit: Literal["trajectory", "user"] = setting(
        "What is protected.", OneOf(("trajectory", "user")), "trajectory"
    )
    max_per_user: int | None = setting("Most trips of one user that count.", Whole(1, MOST_PER_USER), None)
    public_count: int | None = setting(
        "Number of trips, if public.", Whole(0, MOST_TRAJECTORIES), None, otherwise="measured"
    )

    times: bool | None = setting("Synthesize times.", Flag(), None, otherwise="bridgetrace, if there are times")
    sampling: bool | None = setting(
        "Measure the number of points per trip and their distances.",
        Flag(),
        None,
        otherwise="with times; always with bridgetrace, unless a spacing is set",
        detail=True,
    )
    period: str | None = setting("Days to use, last excluded.", Days(), None, otherwise="all days")
    every: str | None = setting("Public time between points.", Duration(), None, otherwise="measured")
    points_share: Epsilon = share("points", "0.05")
    clock_share: Epsilon = share("times", "0.125")

    def __post_init__(self) -> None:
        for name, one in self.declared().items():
            self._set(name, one.read(getattr(self, name)))
        self._check_timing()
        self.check_together()
        for stage, epsilon in self.budget.items():
            check_scale(stage, self.protected.sensitivity, epsilon)
            if max(map(len, decimal(epsilon).split("/"))) > MOST_DIGITS:  # a model file could not be read again
                raise SettingsError("epsilon and the shares have too many digits; round them")

    @classmethod
    def declared(cls) -> dict[str, Declaration]:
        """List the declarations of all settings, by name."""
        return {field.name: declared(field) for field in fields(cls)}

    @classmethod
    def own(cls) -> dict[str, Declaration]:
        """List the declarations of the settings that are the method's alone."""
        return {name: one for name, one in cls.declared().items() if name not in Settings.declared()}

    def check_together(self) -> None:  # noqa: B027  # most rules are in the declarations
        """Refuse settings that do not fit each other."""

    @property
    @abstractmethod
    def shares(self) -> dict[str, Fraction]:
        """Say which share of epsilon each stage gets, in their order; a stage that gets none is left out."""

    @property
    def share_of_count(self) -> Fraction:
        """Give the share of measuring the count: none, where it is public."""
        return self.share_of("count") if self.public_count is None else Fraction(0)

    @property
    def samples(self) -> bool:
        """Say whether points are measured, and times where data has them, unless a setting says otherwise."""
        return False

    @property
    def against_times(self) -> tuple[str, ...]:
        """Name the settings that stand in the way of times, as messages do."""
        return ("--no-sampling (sampling=False)",) if self.sampling is False else ()

    @property
    def has_times(self) -> bool:
        """Say whether times are synthesized; where that is still open, what a table with times leads to."""
        return (self.samples and self.sampling is not False) if self.times is None else self.times

    @property
    def has_sampling(self) -> bool:
        """Say whether points are measured; likewise."""
        return (self.samples or self.has_times) if self.sampling is None else self.sampling

    @property
    def sets_points(self) -> bool:
        """Say whether points are set on lines, and not one in each cell of a path."""
        return self.has_sampling

    @property
    def timing_shares(self) -> dict[str, Fraction]:
        """Say which share of epsilon each stage of points and times gets; methods divide what is left."""
        return shares_of(
            self.share_of("points") if self.has_sampling else Fraction(0),
            self.share_of("clock") if self.has_times else Fraction(0),
            by_tick=self.every is not None,
        )

    @cached_property
    def budget(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages, exactly."""
        epsilon, timing = self.exact("epsilon"), self.timing_shares
        left = 1 - sum(timing.values())
        shares = timing | {stage: share * left for stage, share in self.shares.items()}
        return {stage: share * epsilon for stage, share in shares.items() if share}

    def error(self, stage: str) -> float:
        """Give the standard deviation of a stage's noise, in trajectories."""
        return math.sqrt(2) / self.per_unit(stage)

    def _check_timing(self) -> None:
        """Refuse settings of points and times that do not fit each other."""
        if self.times and self.sampling is False:
            raise SettingsError(
                f"times need measured points: leave out --no-sampling (sampling=False) or {spelled('times')}"
            )
        if self.every is not None and not self.has_times:
            against = " and ".join(self.against_times)
            raise SettingsError(
                f"{spelled('every')} needs times, but {against} turns them off; leave out one of the two"
                if against
                else f"{spelled('every')} needs times; also pass --times (times=True), or leave it out"
            )
        if self.share_of("points") + self.share_of("clock") >= 1:
            raise SettingsError(
                f"{spelled('points_share')} and {spelled('clock_share')} must leave some epsilon to the "
                "method; set smaller shares"
            )

    def settled(self, source: Source) -> Self:
        """Settle what is open by the schema of a source, which is public."""
        times = self.times
        if times is None:
            times = self.samples and self.sampling is not False and getattr(source, "times_by_default", False)
        return replace(self, times=times, sampling=replace(self, times=times).has_sampling)

    @contextmanager
    def meeting(self, source: Source) -> Iterator[tuple[Self, Source]]:
        """Settle what is open, and read the source with a clock and in the period, where that is needed."""
        with self.reading(source) as read:
            yield self.settled(source), self.in_period(read)

    @contextmanager
    def reading(self, source: _Source) -> Iterator[_Source]:
        """Read a source with a clock where times are synthesized or a period counts; refuse one without."""
        from privtrace.trajectories import on_the_calendar

        words = self._without_clock(source)
        with nullcontext(source) if words is None else on_the_calendar(source, *words) as read:
            yield read

    def in_period(self, source: Source) -> Source:
        """Leave of a source what begins in the period: all, where there is none."""
        from privtrace.calendar import Period
        from privtrace.within import within

        return source if self.period is None else within(source, Period.of(self.period))

    def calendar_of(self, source: Source) -> Calendar | None:
        """Find the calendar of a release, in the zone of its source: where there are times, or a period."""
        from privtrace.calendar import Calendar, Period

        if not self.has_times and self.period is None:
            return None
        period = None if self.period is None else Period.of(self.period)
        return Calendar.of(getattr(source, "zone", "UTC"), period)

    def _without_clock(self, source: Source) -> tuple[str, str] | None:
        """Say what cannot be done without a clock, and what to do instead; None where none is needed."""
        from privtrace.trajectories import NO_TIMES
        from privtrace.within import NO_PERIOD

        has_times, has_period = bool(self.settled(source).times), self.period is not None
        if has_times and has_period:
            return (
                "times cannot be synthesized and no period can be applied",
                f"leave out --times (times=True) and {spelled('period')}",
            )
        return NO_TIMES if has_times else NO_PERIOD if has_period else None

    @property
    def protected(self) -> Unit:
        """Describe the unit, as far as it is known before the source is."""
        if self.unit == "user" and self.max_per_user is None:
            raise SettingsError(
                "to protect users, set how many trips of one user may count, for example --max-per-user "
                "5 (max_per_user=5). The noise grows with this number; choose it without looking at the "
                "data"
            )
        if self.unit != "user" and self.max_per_user is not None:
            raise SettingsError(
                f"{spelled('max_per_user')} only applies to --unit user (unit='user'); leave it out"
            )
        return Unit(self.unit, self.max_per_user or 1)

    def at(self, epsilon: Epsilon) -> Self:
        """Keep the settings and change the budget."""
        return replace(self, epsilon=epsilon)

    @classmethod
    def for_target(cls, target: str, *, count: int, districts: int = DISTRICTS, **settings: Any) -> Self:
        """Choose the least epsilon, to one digit, with which numbers should be as exact as a target says.

        A target is a statistic and by how much it may be off, such as "od error 10%", or several with commas
        between them. The statistics are district, od, hour, length and street. `count` is about how many trips
        the data has (with unit="user", how many count), and must be public; flows are between `districts`
        districts of equal size. Reads no data. All other settings are those of the class.
        """
        if "epsilon" in settings:
            raise SettingsError("a target finds epsilon; leave out epsilon")
        return cls(**settings, epsilon=1).reaching(target, count, districts)

    def reaching(self, target: str, count: int, districts: int = DISTRICTS) -> Self:
        """Keep the settings and change the budget to the one that `for_target` finds."""
        return self.at(least_epsilon(self, Target.read(target), self._planned_for(count), districts))

    def expected(self, count: int, districts: int = DISTRICTS) -> tuple[Expected, ...]:
        """Say how far off typical numbers would be after a fit to about so many trajectories."""
        return expected_of(self, self._planned_for(count), districts)

    @property
    def foreseen(self) -> Table:
        """Give the table of errors on public data that this rests on; empty where nobody measured them."""
        return {}

    def own_settings(self) -> dict[str, Setting]:
        """List the settings that are the method's alone, not every release's, as model files do.

        What came later than some of these is listed only where it is not the default: the same model is the
        same file, whichever version wrote it.
        """
        return {
            name: value
            for name, one in self.own().items()
            if (value := getattr(self, name)) != one.default or not one.is_later
        }

    def timing_settings(self) -> dict[str, Setting]:
        """List the settings of points and times; none where neither is measured and all days count."""
        if not self.has_sampling and self.period is None:
            return {}
        return {name: getattr(self, name) for name in TIMING}

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """Make the settings again from what a model file says, checking them and the ledger."""
        settings = cls(
            epsilon=release.epsilon,
            region=release.region,
            unit=release.unit.kind,
            max_per_user=release.unit.max_per_user,
            public_count=release.public_count,
            **{"times": False, "sampling": False, **release.timing, **release.settings},  # type: ignore[arg-type]
        )
        if [(charge.stage, charge.epsilon) for charge in release.charges] != [*settings.budget.items()]:
            raise ModelFormatError("the ledger does not match the settings")
        return settings

    def fit(
        self,
        source: Data,
        *,
        noise: Noise | None = None,
        backend: Backend | None = None,
        observer: Observer | None = None,
        budget_file: BudgetFile | None = None,
    ) -> Model:
        """Fit the model to a source in a few passes, spending epsilon; a budget file is charged with all of it.

        A path is read as by `privtrace.read`, and a data frame as by `Trajectories.from_pandas` and its kin.
        Noise is fresh and secret unless a test passes its own; the model then says NOT PRIVATE.
        """
        from privtrace.methods.ending import LastWords, log_noise, telling
        from privtrace.methods.fitting import Fitting
        from privtrace.methods.registry import method_of
        from privtrace.methods.timed import with_timing
        from privtrace.observer import Silent
        from privtrace.space.doubts import doubts
        from privtrace.trajectories import has_users, opened

        method = method_of(self)
        with opened(source) as given, self.meeting(given) as (settings, met):
            heard = LastWords(observer or Silent())
            fitting = Fitting.begin(settings, met, noise, backend, heard, budget_file)
            promise = large(self.exact("epsilon")) if fitting.crossing.ledger.private else ()
            for warning in (*promise, *doubts(self.region, fitting.region)):
                heard.warn(warning)
            if self.unit == "trajectory" and has_users(met):  # from the header, before any row
                heard.say(each_or_all(fitting.crossing.ledger.unit))
            with telling(heard, fitting, budget_file):
                if settings.times:
                    getattr(met, "tell_untimed", lambda observer: None)(heard)
                fitting = with_timing(fitting, met)
                released = method.recipe(settings, fitting)
            calendar = settings.calendar_of(given)
        release = replace(fitting.release(method.label, method.package), calendar=calendar)
        model = method.model(release=release, timing=fitting.timing, **released)
        if observer is None:  # others see the model, and say what may be read from it where they show it
            log_noise(model)
        return model

    @abstractmethod
    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""

    def sized_by(self, count: int) -> int:
        """Read the count to plan for; sizes follow from the public one, where there is one."""
        count = self._planned_for(count)
        return count if self.public_count is None else self.public_count

    @staticmethod
    def _planned_for(count: int) -> int:
        """Read the count to plan for."""
        return whole(count, "count", 1, MOST_TRAJECTORIES)

    def planned(
        self,
        count: int,
        noisy: dict[str, str],
        warnings: Iterable[str] = (),
        *,
        states: int,
        memory_mb: float,
        second_order_share: float = 0.0,
        **sizes: Any,
    ) -> Plan:
        """Add what follows from any settings to what a method foresees; `noisy` names what gets the noise.

        `memory_mb` is what the method takes beyond what every fit does.
        """
        epsilon, unit = self.exact("epsilon"), self.protected
        return Plan(
            method=self.method,
            epsilon=epsilon,
            unit=unit,
            count=count,
            states=states,
            memory_mb=round(BASE_MEMORY_MB + memory_mb),
            second_order_share=second_order_share,
            stages=tuple(
                StagePlan(stage, share, float(unit.contributions / share), (NOISY | noisy)[stage])
                for stage, share in self.budget.items()
            ),
            warnings=(*warnings, *general_warnings(epsilon, unit, states)),
            expected=self.expected(count),
            **sizes,
        )

    def per_unit(self, stage: str) -> float:
        """Give a stage's epsilon for one of the trajectories of a unit: what its noise is the inverse of."""
        return float(self.budget[stage] / self.protected.contributions)

    def share_of(self, name: str) -> Fraction:
        """Give the share that a setting names."""
        return self.exact(f"{name}_share")

    def shares_sum_to_one(self, *names: str) -> None:
        """Refuse shares that do not."""
        if sum(self.share_of(name) for name in names) != 1:
            words = " and ".join([", ".join(names[:-1]), names[-1]]).replace("_", " ")
            raise SettingsError(
                f"the shares of {words} must add up to exactly 1; set {spelled(f'{names[0]}_share')} and the "
                "others so that they do"
            )

    def share_is_within(self, whole: str, *names: str) -> None:
        """Refuse shares that are taken out of another and leave nothing of it."""
        if sum(self.share_of(name) for name in names) >= self.share_of(whole):
            listed = " and ".join(spelled(f"{name}_share") for name in names)
            raise SettingsError(
                f"{listed} must be smaller than {spelled(f'{whole}_share')}, because "
                f"{'it is' if len(names) == 1 else 'they are'} taken out of it"
            )

    def exact(self, name: str) -> Fraction:
        """Read epsilon or a share exactly."""
        return Fraction(str(getattr(self, name)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
