"""Hold the settings that every method has, and bring them to plain numbers at the door.

So they mean and are written the same everywhere.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, Self

from privtrace.backends.base import Backend
from privtrace.errors import ModelFormatError, SettingsError
from privtrace.observer import Observer
from privtrace.privacy.budget_file import BudgetFile
from privtrace.privacy.epsilon import MOST_DIGITS, Epsilon, check_scale, decimal, exact
from privtrace.privacy.noise import Noise
from privtrace.privacy.unit import MOST_PER_USER, Unit
from privtrace.privacy.wording import each_or_all
from privtrace.release import Release, Setting
from privtrace.space.region import MISSING, Region
from privtrace.synthesizers.fitted import FittedModel
from privtrace.synthesizers.fitting import Fitting
from privtrace.synthesizers.plan import Plan, StagePlan, general_warnings
from privtrace.trajectories import Source


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """Hold what every method must be told, all of it public. A method adds its own settings and a recipe."""

    epsilon: Epsilon  # the whole budget, read as its decimal text
    region: Region
    unit: Literal["trajectory", "user"] = "trajectory"  # what is protected
    max_per_user: int | None = (
        None  # trajectories of a user that count, at most; needed where users are protected
    )
    public_count: int | None = None  # the number of trajectories, if it is public anyway; else it is measured

    def __post_init__(self) -> None:
        if not isinstance(self.region, Region):
            raise SettingsError(MISSING)
        for name in ("epsilon", *(field.name for field in fields(self) if field.name.endswith("_share"))):
            self._set(name, decimal(exact(getattr(self, name), name)))
        self._whole_if_given("public_count", 0, 1 << 39)
        self._whole_if_given("max_per_user", 1, MOST_PER_USER)
        self._check()
        for stage, epsilon in self.budget.items():
            check_scale(stage, self.protected.sensitivity, epsilon)
            if max(map(len, decimal(epsilon).split("/"))) > MOST_DIGITS:  # a model file could not be read again
                raise SettingsError("epsilon and the shares have too many digits together; round them")

    @abstractmethod
    def _check(self) -> None:
        """Bring the method's own settings to their plain form, within their limits."""

    @property
    @abstractmethod
    def method(self) -> str:
        """Name the method."""

    @property
    @abstractmethod
    def _shares(self) -> dict[str, Fraction]:
        """Say which share of epsilon each stage gets, in their order; a stage that gets none is left out."""

    @property
    def _count_share(self) -> Fraction:
        """Give the share of measuring the count: none, where it is public."""
        return self._share("count") if self.public_count is None else Fraction(0)

    @property
    def budget(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages, exactly."""
        epsilon = self._exact("epsilon")
        return {stage: share * epsilon for stage, share in self._shares.items() if share}

    @property
    def protected(self) -> Unit:
        """Describe the unit, as far as it is known before the source is."""
        if self.unit == "user" and self.max_per_user is None:
            raise SettingsError(
                "to protect users, say how many trajectories of a user count at most, such as --max-per-user 5 "
                "(max_per_user=5): noise grows with it, so choose it without the data"
            )
        if self.unit != "user" and self.max_per_user is not None:
            raise SettingsError("max_per_user goes with --unit user (unit='user') only; leave it out")
        return Unit(self.unit, self.max_per_user or 1)

    def at(self, epsilon: Epsilon) -> Self:
        """Keep the settings and change the budget."""
        return replace(self, epsilon=epsilon)

    def own_settings(self) -> dict[str, Setting]:
        """List the settings that are the method's alone, not every release's."""
        common = {field.name for field in fields(Settings)}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in common}

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """Make the settings again from what a model file says, checking them and the ledger."""
        settings = cls(
            epsilon=release.epsilon,
            region=release.region,
            unit=release.unit.kind,
            max_per_user=release.unit.max_per_user,
            public_count=release.public_count,
            **release.settings,
        )
        if [(charge.stage, charge.epsilon) for charge in release.charges] != [*settings.budget.items()]:
            raise ModelFormatError("the ledger is not the one that the settings lead to")
        return settings

    def fit(
        self,
        source: Source,
        *,
        noise: Noise | None = None,
        backend: Backend | None = None,
        observer: Observer | None = None,
        budget_file: BudgetFile | None = None,
    ) -> FittedModel:
        """Fit the model to a source in a few passes, spending epsilon; a budget file is charged with all of it.

        Noise is fresh and secret unless a test passes its own; the model then says NOT PRIVATE.
        """
        fitting = Fitting.begin(self, source, noise, backend, observer, budget_file)
        if self.unit == "trajectory" and getattr(source, "has_users", False):  # from the header, before any row
            fitting.observer.say(each_or_all(fitting.crossing.ledger.unit))
        return self._fitted(fitting)

    @abstractmethod
    def _fitted(self, fitting: Fitting) -> FittedModel:
        """Follow the method's recipe and make the model."""

    def _sized_by(self, count: int) -> int:
        """Read the count to plan for; sizes follow from the public one, where there is one."""
        count = whole(count, "count", 1, 1 << 39)
        return count if self.public_count is None else self.public_count

    def _plan(
        self,
        count: int,
        noisy: dict[str, str],
        warnings: Iterable[str],
        *,
        states: int,
        second_order_share: float = 0.0,
        **foreseen: Any,
    ) -> Plan:
        """Add what follows from any settings to what a method foresees; `noisy` names what gets the noise."""
        epsilon, unit = self._exact("epsilon"), self.protected
        return Plan(
            method=self.method,
            epsilon=epsilon,
            unit=unit,
            count=count,
            states=states,
            second_order_share=second_order_share,
            stages=tuple(
                StagePlan(stage, share, float(unit.contributions / share), noisy[stage])
                for stage, share in self.budget.items()
            ),
            warnings=(*warnings, *general_warnings(epsilon, unit, states)),
            **foreseen,
        )

    def _per_unit(self, stage: str) -> float:
        """Give a stage's epsilon for one of the trajectories of a unit: what its noise is the inverse of."""
        return float(self.budget[stage] / self.protected.contributions)

    def _share(self, name: str) -> Fraction:
        return self._exact(f"{name}_share")

    def _shares_sum_to_one(self, *names: str) -> None:
        if sum(self._share(name) for name in names) != 1:
            words = " and ".join([", ".join(names[:-1]), names[-1]]).replace("_", " ")
            raise SettingsError(f"the shares of {words} must add up to exactly 1")

    def _exact(self, name: str) -> Fraction:
        return Fraction(str(getattr(self, name)))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _whole(self, name: str, least: int, most: int) -> None:
        self._set(name, whole(getattr(self, name), name, least, most))

    def _whole_if_given(self, name: str, least: int, most: int) -> None:
        if getattr(self, name) is not None:
            self._whole(name, least, most)

    def _positive(self, *names: str) -> None:
        for name in names:
            self._set(name, positive(getattr(self, name), name))

    def _positive_if_given(self, *names: str) -> None:
        self._positive(*(name for name in names if getattr(self, name) is not None))

    def _flag(self, *names: str) -> None:
        for name in names:
            self._set(name, flag(getattr(self, name), name))


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Read a whole number within limits."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise SettingsError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return number


def positive(value: Any, name: str) -> float:
    """Read a positive number that arithmetic can bear."""
    number = _number(value)
    if not 1e-12 <= number <= 1e12:
        raise SettingsError(f"{name} must be a positive number from 1e-12 to 1e12, not {value!r}")
    return number


def within(value: Any, name: str, least: int, most: int) -> float:
    """Read a number within limits."""
    number = _number(value)
    if not least <= number <= most:
        raise SettingsError(f"{name} must be a number from {least} to {most}, not {value!r}")
    return number


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def flag(value: Any, name: str) -> bool:
    """Read yes or no."""
    if type(value) is not bool:
        raise SettingsError(f"{name} must be True or False, not {value!r}")
    return value
