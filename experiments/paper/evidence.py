"""Weigh what was found: who has less error, by which factor and how surely, over many settings at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import privtrace as pt
from experiments.paper.results import PAPER, Results
from privtrace.study.significance import LEVEL, holm, welch

#: How often runs are drawn again for an interval.
N_DRAWS = 500


@dataclass(frozen=True)
class Setting:
    """Hold the errors of two methods in one setting, one for each run."""

    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class Ratio:
    """Hold how the errors of one relate to those of another, over settings."""

    value: float  # geometric mean of the ratios of mean errors
    low: float  # 95 %, by bootstrap over runs
    high: float
    n: int
    better: int  # settings in which the first has less error
    surely_better: int  # by Welch's test, corrected after Holm
    surely_worse: int
    halved: int  # settings in which its error is at most half of the other's
    tenth: int  # at most a tenth

    @property
    def words(self) -> str:
        """Tell it in a few words."""
        return (
            f"less error in {self.better} of {self.n} settings ({self.surely_better} surely; surely more in "
            f"{self.surely_worse}), at most half in {self.halved}"
        )

    @property
    def interval(self) -> str:
        """Tell the ratio with its interval."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def settings_of(
    results: Results,
    section: str,
    first: str,
    second: str,
    *,
    data: Iterable[str],
    metrics: Iterable[str] = PAPER,
    epsilons: Sequence[str] | None = None,
) -> list[Setting]:
    """List the settings of a section: data sets, metrics and epsilons."""
    return [*_settings(results, section, first, second, data, tuple(metrics), epsilons)]


def _settings(
    results: Results,
    section: str,
    first: str,
    second: str,
    data: Iterable[str],
    metrics: Sequence[str],
    epsilons: Sequence[str] | None,
) -> Iterator[Setting]:
    for name in data:
        study: pt.Study = results.study(section, name)
        for metric in metrics:
            for epsilon in study.epsilons if epsilons is None else epsilons:
                yield Setting(study.errors(first, epsilon, metric), study.errors(second, epsilon, metric))


def ratio(settings: Sequence[Setting]) -> Ratio:
    """Compare two methods over settings."""
    ratios = np.array([one.first.mean() / one.second.mean() for one in settings])
    p_values = np.array(holm([welch(one.first, one.second) for one in settings]))
    sure = p_values < LEVEL
    low, high = _interval(settings)
    return Ratio(
        float(np.exp(np.log(ratios).mean())),
        low,
        high,
        len(settings),
        int(np.sum(ratios < 1)),
        int(np.sum(sure & (ratios < 1))),
        int(np.sum(sure & (ratios > 1))),
        int(np.sum(ratios <= 0.5)),
        int(np.sum(ratios <= 0.1)),
    )


def _interval(settings: Sequence[Setting]) -> tuple[float, float]:
    """Draw the runs of each setting again, and find between which ratios 95 % lie."""
    rng = np.random.default_rng(1)
    logs = np.zeros(N_DRAWS)
    for one in settings:
        first, second = (
            runs[rng.integers(0, len(runs), (N_DRAWS, len(runs)))].mean(axis=1)
            for runs in (one.first, one.second)
        )
        logs += np.log(first / second)
    low, high = np.exp(np.quantile(logs / len(settings), (0.025, 0.975)))
    return float(low), float(high)


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Fit the power of the size by which values grow: least squares of logarithms."""
    x, y = np.log(sizes), np.log(values)
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
