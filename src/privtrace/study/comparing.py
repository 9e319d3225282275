"""Compare methods on one data set: from arguments to a `Study`, with processes, a file of results, progress."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from privtrace.backends.cores import available_cores
from privtrace.calendar import Period, Zone
from privtrace.errors import DataError, PrivTraceError, SettingsError
from privtrace.evaluation.comparison import looks_at_times, profiles_named
from privtrace.methods import registry
from privtrace.methods.declaring import MOST_SEED, days, whole
from privtrace.observer import Observer
from privtrace.privacy.epsilon import Epsilon, exact, listed
from privtrace.progress import Progress
from privtrace.space.region import Region
from privtrace.study.competitors import Field, Files, Named, competitors, digest_of, in_memory
from privtrace.study.reading import Wanted, study_of
from privtrace.study.store import Key, Store
from privtrace.study.study import REAL, Study, typical
from privtrace.study.trials import (
    BASELINE,
    LIMIT,
    MAP,
    NO_EPSILON,
    NO_RUN,
    Task,
    Trial,
    seed_of,
)
from privtrace.study.workers import Workers
from privtrace.trajectories import Data, Source, on_the_calendar, opened
from privtrace.within import read_within

MOST_RUNS = 1000

#: How often time and memory are measured.
N_COSTS = 3

#: Rows that are kept in memory, once in each process; sources with more are read again in each pass.
_MOST_ROWS = 20_000_000


def compare(
    real: Data,
    *,
    region: Any,
    methods: Iterable[Named] | Mapping[str, Named] | Named = registry.OURS,
    files: Mapping[str, Files] | None = None,
    epsilons: Epsilon | Iterable[Epsilon] = ("0.5", "1", "2"),
    runs: int = 10,
    profile: str = "paper",
    settings: Mapping[str, Any] | None = None,
    seed: int = 1,
    timezone: str | None = None,
    period: str | None = None,
    results: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    maps: bool = True,
    costs: bool = True,
    observer: Observer | None = None,
) -> Study:
    """Compare methods on real trips, at several epsilons in several runs. NOT PRIVATE: it reads them exactly.

    Fits the data many times, with seeded noise, side by side in processes; no model leaves it.

    Parameters
    ----------
    real
        Trajectories, a source of them, a path or a data frame.
    region
        The area to compare in: a Region, or what `Region.of` takes.
    methods
        Names of methods, "module:Class", classes, or settings whose epsilon and region are replaced; with a
        mapping, by the labels that they get. A class from outside is made with `epsilon` and `region`; its
        `fit(trips)` gives something with `sample()`, or the synthetic trips. `fit` gets `noise` or `seed`, and
        `sample` gets `seed`, where they take one.
    files
        Finished synthetic trips of any tool, by label: paths, frames or Trajectories; several are runs. With a
        mapping, by epsilon; without, they count as they are at each epsilon.
    epsilons, runs
        What is compared, and how often; at least two runs, since one has no spread.
    profile
        Which metrics, as for `evaluate`: "paper", "adatrace", "mobility", "time" or "all".
    settings
        For all methods of the registry: for example {"unit": "user", "max_per_user": 5}. Times are synthesized
        by all of them where the profile has metrics of times and the data has times, and else by none.
    seed
        From which circles, noise and samples are drawn; the same seed gives the same results.
    timezone, period
        As for `evaluate`; with a period, its trips alone are fitted and compared.
    results
        A Parquet file that keeps what is done: after an interrupt or a kill, the same call goes on from there.
        With more methods, epsilons or runs, it adds what is new.
    workers
        How many processes; one for each core by default. Each holds the data.
    maps, costs
        Whether to draw maps, and to measure time and memory, each method alone.
    """
    asked = _Asked.of(epsilons, runs, profile, seed, workers, maps=maps, costs=costs)
    area, days_named = Region.of(region), days(period)
    heard = observer if observer is not None else Progress()
    with ExitStack() as stack:
        source = stack.enter_context(opened(real))
        _check_source(source)
        zone = Zone.named(timezone or str(getattr(source, "zone", "UTC"))).name
        with_times = looks_at_times(profile, figures=False) and bool(getattr(source, "has_clock", False))
        met = stack.enter_context(on_the_calendar(source)) if with_times else source
        met = stack.enter_context(read_within(met, None if days_named is None else Period.of(days_named), zone))
        with heard.stage("Reading the real trips"):
            met = in_memory(met) if met.n_points <= _MOST_ROWS else met
        area = area.for_data(met.crs)
        field = Field(area, asked.epsilons, settings or {}, with_times)
        found = competitors(methods, files or {}, field)
        task = Task(met, area, profile, asked.seed, zone, found, 1)
        store = Store(results, _about(met, task, days_named))
        store.entries.update({label: (one.entry, one.origin) for label, one in found.items()})
        _run(task, asked, store, heard)
        wanted = Wanted(tuple(found), asked.epsilons, asked.runs, asked.map_epsilon, asked.maps, asked.costs)
        path = getattr(source, "path", None)
        return study_of(store, wanted, {"path": None if path is None else str(path)})


@dataclass(frozen=True)
class _Asked:
    """Hold which trials are wanted."""

    epsilons: tuple[str, ...]  # rising
    runs: int
    profile: str
    seed: int
    workers: int
    maps: bool
    costs: bool

    @classmethod
    def of(
        cls,
        epsilons: Epsilon | Iterable[Epsilon],
        runs: int,
        profile: str,
        seed: int,
        workers: int | None,
        *,
        maps: bool,
        costs: bool,
    ) -> _Asked:
        """Check what is asked for, before any work."""
        profiles_named(profile)
        if runs == 1:
            raise SettingsError(
                "--runs (runs) must be at least 2: a single run shows neither spread nor significance"
            )
        return cls(
            _rising(epsilons),
            whole(runs, "runs", 2, MOST_RUNS),
            profile,
            whole(seed, "seed", 0, MOST_SEED),
            available_cores() if workers is None else whole(workers, "workers", 1, 1024),
            maps,
            costs,
        )

    @property
    def map_epsilon(self) -> str:
        """Choose the epsilon of maps and costs."""
        return typical(self.epsilons)


def _rising(epsilons: Epsilon | Iterable[Epsilon]) -> tuple[str, ...]:
    """Write epsilons in their plain form, each once, in order."""
    rising = sorted(listed(epsilons), key=exact)
    if not rising:
        raise SettingsError("a comparison needs at least one epsilon, for example --epsilons 0.5,1,2")
    return tuple(rising)


def _check_source(source: Source) -> None:
    """Refuse what processes here could not read."""
    if getattr(source, "engine", None) is not None:
        raise DataError(
            "compare runs on this machine and cannot read a Spark DataFrame; give it a file, or a sample as "
            "pandas"
        )


def _about(real: Source, task: Task, period: str | None) -> dict[str, Any]:
    """Say what results follow from, beside who made them: only those of the same can stand in one file."""
    shape = task.region.shape
    outline = "" if shape is None else hashlib.blake2b(repr(shape.rings).encode(), digest_size=8).hexdigest()
    return {
        "data": digest_of(real),
        "crs": task.region.crs,
        "region": str(task.region),
        "outline": outline,
        "profile": task.profile,
        "seed": task.seed,
        "timezone": task.zone,
        "period": period,
    }


# --- running ---


def _run(task: Task, asked: _Asked, store: Store, observer: Observer) -> None:
    """Run the trials that the store lacks: scores side by side, then costs alone, one after the other."""
    trials = [trial for trial in _trials(task, asked) if not is_done(trial, task, store)]
    scores = [trial for trial in trials if trial.kind != "cost"]
    with observer.stage(f"Comparing in {asked.workers} processes", len(scores)) as advance:
        faults = ran(task, scores, asked.workers, store, advance)
    costs = [trial for trial in trials if trial.kind == "cost" and trial.label not in faults]
    with observer.stage("Measuring time and memory", len(costs)) as advance:
        for label in dict.fromkeys(trial.label for trial in costs):
            own = [trial for trial in costs if trial.label == label]
            faults |= ran(replace(task, threads=None), own, 1, store, advance)
    if faults:
        kept = "" if store.path is None else f". The results of all others are kept in {store.path}"
        raise PrivTraceError("; ".join(f"{label} failed: {fault}" for label, fault in faults.items()) + kept)


def ran(
    task: Task, trials: Sequence[Trial], n_workers: int, store: Store, advance: Callable[[int], None]
) -> dict[str, str]:
    """Run trials, and store what they find as it comes; give the faults, by label."""
    faults: dict[str, str] = {}
    if not trials:
        return faults
    try:
        with Workers(task, n_workers) as workers:
            for trial, answer in workers.run(trials):
                if answer.fault is None:
                    store.add(_key(trial, task), seed_of(trial, task.seed), answer.found)
                elif trial.kind == "marks":  # the real data cannot be compared with
                    raise DataError(answer.fault)
                else:
                    place = f"at epsilon {trial.epsilon}, run {trial.run}: " if trial.epsilon else ""
                    faults.setdefault(trial.label, place + answer.fault)
                advance(1)
    finally:
        store.save()
    return faults


def _trials(task: Task, asked: _Asked) -> Iterator[Trial]:
    """List all trials: marks first, then run by run, so that what is there early is of all competitors."""
    yield Trial(LIMIT, NO_EPSILON, NO_RUN, "marks")
    yield Trial(BASELINE, NO_EPSILON, NO_RUN, "marks")
    if asked.maps:
        yield Trial(REAL, NO_EPSILON, NO_RUN, "marks")
    fitted = [label for label, one in task.competitors.items() if one.files is None]
    for run in range(asked.runs):
        for label in fitted:
            for epsilon in asked.epsilons:
                is_shown = asked.maps and not run and epsilon == asked.map_epsilon
                yield Trial(label, epsilon, run, with_map=is_shown)
    for label, competitor in task.competitors.items():
        for epsilon, files in (competitor.files or {}).items():
            for run in range(len(files)):
                is_shown = asked.maps and not run and epsilon in (NO_EPSILON, asked.map_epsilon)
                yield Trial(label, epsilon, run, with_map=is_shown)
    for label in fitted if asked.costs else ():
        yield from (Trial(label, asked.map_epsilon, run, "cost") for run in range(N_COSTS))


def is_done(trial: Trial, task: Task, store: Store) -> bool:
    """Tell whether the store has all that a trial would find."""
    found = store.get(_key(trial, task))
    if trial.kind == "cost" or trial.label == REAL:
        return bool(found)
    metrics = [metric.name for profile in profiles_named(task.profile) for metric in profile.metrics]
    return all(name in found for name in metrics) and (MAP in found or not trial.with_map)


def _key(trial: Trial, task: Task) -> Key:
    competitor = task.competitors.get(trial.label)
    origin = "" if competitor is None else competitor.origin
    return Key(trial.label, origin, trial.kind, trial.epsilon, trial.run)
