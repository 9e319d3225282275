"""Run trials: fit a competitor with seeded noise, sample, and measure what it made. NOT PRIVATE."""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.errors import DataError
from privtrace.evaluation import figures
from privtrace.evaluation.comparison import Comparison
from privtrace.evaluation.figures import HEAT
from privtrace.evaluation.reference import Reference
from privtrace.methods.model import Model
from privtrace.methods.settings import Settings
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.space.region import Region
from privtrace.study.competitors import Competitor
from privtrace.study.memory import Memory
from privtrace.study.study import REAL
from privtrace.trajectories import Data, Floats, Source, is_data, opened
from privtrace.within import Transformed

#: What scores are read by, among the labels of a results file.
LIMIT, BASELINE = "limit", "baseline"

#: What a trial with a map gives beside its numbers.
MAP = "map"

#: What begins the names of sizes of models.
SIZE = "size: "

#: Beside the limit: how many real trips have a point in the region.
N_TRIPS = "trips"

#: Where finished files have no epsilon, and marks have neither epsilon nor run.
NO_EPSILON, NO_RUN = "", -1

#: So many trips, at most, warm up what is timed: code is compiled and loaded by them.
_FEW = 300

#: What a trial found: numbers by what they are of, and (80, 80) shares for MAP.
Found: TypeAlias = "dict[str, float | Floats]"


class Trial(NamedTuple):
    """Name one thing to do: score a run of a competitor, or measure what it costs."""

    label: str
    epsilon: str
    run: int
    kind: str = "score"  # or "cost", "marks"
    with_map: bool = False


@dataclass(frozen=True)
class Task:
    """Hold all that a process needs to run trials: data, what it is compared by, and who takes part."""

    real: Source
    region: Region
    profile: str
    seed: int
    zone: str | None
    competitors: Mapping[str, Competitor]
    threads: int | None  # all cores, where None


class Answer(NamedTuple):
    """Hold what a trial found, or why it failed."""

    found: Found
    fault: str | None = None


def seed_of(trial: Trial, seed: int) -> int:
    """Derive the seed of a trial's noise and sample: no two trials share chance, which tests rely on."""
    words = f"{seed}/{trial.label}/{trial.epsilon}/{trial.run}"
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=4).digest(), "big")


class Bench:
    """Run trials in this process. The real data is measured once, when the first trial needs it."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._backend: Backend = Threads(task.threads)
        self._measured: list[Reference] = []

    @property
    def _reference(self) -> Reference:
        if not self._measured:
            task = self._task
            self._measured.append(
                Reference.of(
                    task.real,
                    task.region,
                    profile=task.profile,
                    seed=task.seed,
                    zone=task.zone,
                    backend=self._backend,
                )
            )
        return self._measured[0]

    def run(self, trial: Trial) -> Found:
        """Run a trial."""
        kinds: dict[str, Callable[[Trial], Found]] = {
            "score": self._score,
            "cost": self._cost,
            "marks": self._marks,
        }
        return kinds[trial.kind](trial)

    def _score(self, trial: Trial) -> Found:
        """Measure finished files, or what is fitted and sampled now, and the sizes of its model."""
        competitor, seed = self._task.competitors[trial.label], seed_of(trial, self._task.seed)
        if competitor.files is not None:
            return self._scored(competitor.files[trial.epsilon][trial.run], trial)
        synthesizer = competitor.at(trial.epsilon, self._task.region)
        model = fitted(synthesizer, self._task.real, seed, self._backend)
        made = sampled(model, seed)
        if made is None:
            raise DataError("its fit and sample gave None, and no trips: Trajectories, a frame or a path")
        return self._scored(made, trial) | sizes_of(model)

    def _scored(self, made: Data, trial: Trial) -> Found:
        with opened(made) as source:
            values: Found = dict(self._reference.values(self._reference.measure(source)))
            if trial.with_map:
                values[MAP] = heat_of(source, self._reference.comparison)
        return values

    def _marks(self, trial: Trial) -> Found:
        """Measure the limit, the baseline, or the map of the real data."""
        reference = self._reference
        if trial.label == REAL:
            return {MAP: heat_of(self._task.real, reference.comparison)}
        if trial.label == LIMIT:
            return {**reference.limit(), N_TRIPS: float(len(reference.real))}
        return dict(reference.baseline())

    def _cost(self, trial: Trial) -> Found:
        """Time a fit and a sample, and measure the memory that they take; on warm code, with nothing beside."""
        task = self._task
        synthesizer = task.competitors[trial.label].at(trial.epsilon, task.region)
        seed = seed_of(trial, task.seed)
        few = next(iter(task.real.parts()))[:_FEW]
        sampled(fitted(synthesizer, few, seed, self._backend), seed)
        memory = Memory()
        start = time.perf_counter()
        model = fitted(synthesizer, task.real, seed, self._backend)
        middle = time.perf_counter()
        sampled(model, seed)
        end = time.perf_counter()
        costs: Found = {"fit_s": middle - start, "sample_s": end - middle, "memory_mb": memory.grown_mb()}
        return costs | sizes_of(model)


def fitted(synthesizer: Any, real: Source, seed: int, backend: Backend) -> Any:
    """Fit with seeded noise; a class from outside gets noise or a seed where its `fit` takes them."""
    if isinstance(synthesizer, Settings):
        return synthesizer.fit(real, noise=SeededNoise(seed), backend=backend)
    return synthesizer.fit(real, **_taken(synthesizer.fit, noise=lambda: SeededNoise(seed), seed=lambda: seed))


def sampled(model: Any, seed: int) -> Data:
    """Draw synthetic trips; what has no `sample`, or is a frame, is taken for the trips themselves."""
    if is_data(model) or not hasattr(model, "sample"):
        return model
    made: Data = model.sample(**_taken(model.sample, seed=lambda: seed))
    return made


def _taken(function: Callable[..., Any], **offered: Callable[[], object]) -> dict[str, object]:
    """Give a function what it names of what is offered: one that takes anything may hand it on to another."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return {}
    names = {one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    return {name: make() for name, make in offered.items() if name in names}


def sizes_of(model: Any) -> Found:
    """List the numbers by which one of our models describes itself, such as its states."""
    if not isinstance(model, Model):
        return {}
    return {SIZE + name: float(size) for name, size in model.summary().items() if isinstance(size, int | float)}


def heat_of(source: Source, comparison: Comparison) -> Floats:
    """Count the share of trips through each of 80 x 80 cells, north up: (80, 80)."""
    measure = figures.measuring(comparison.frame)
    here = source if source.crs == comparison.crs else Transformed(source, comparison.crs)
    counts, n_trips = np.zeros(HEAT**2, np.int64), 0
    for part in here.parts():
        clipped = comparison.frame.clip(part)
        counts += measure(clipped).heat.counts
        n_trips += len(clipped)
    return counts.reshape(HEAT, HEAT) / max(n_trips, 1)
