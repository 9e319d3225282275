"""State what a metric and a profile are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from privtrace.evaluation.frame import Clipped, Frame
from privtrace.evaluation.traits import Traits

#: Measures the traits of a clipped part.
Measure: TypeAlias = Callable[[Clipped], Traits]

#: The largest Jensen-Shannon divergence.
LN2 = math.log(2)


@dataclass(frozen=True)
class Metric:
    """Name a function that compares the traits of a synthetic set with those of a real one."""

    name: str
    compare: Callable[[Any, Any], float] = field(repr=False)  # real, synthetic; NaN where it is not defined
    words: str  # what is compared, and how
    best: float = 0.0  # what the real data itself would get
    low: float = 0.0
    high: float = math.inf
    needs_times: bool = False  # on the calendar, in both sets
    #: Takes from the traits of the random baseline what they have of the real data, where that is compared.
    uninformed: Callable[[Any], Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Profile:
    """Name the metrics that belong together, and how the traits that they look at are measured."""

    name: str
    measuring: Callable[[Frame], Measure]  # draws the random queries
    metrics: tuple[Metric, ...]

    @property
    def needs_times(self) -> bool:
        """Tell whether any of them does."""
        return any(metric.needs_times for metric in self.metrics)
