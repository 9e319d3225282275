"""Check a method where times are synthesized: it keeps what it keeps without, whatever times the data has."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from privtrace.backends.local import Threads
from privtrace.calendar import Period, Zone, seconds_of
from privtrace.errors import CappedWalks
from privtrace.methods import model as models_of_methods
from privtrace.methods.model import Model
from privtrace.models import from_bytes, to_bytes
from privtrace.privacy.unit import WEIGHT
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.testing.check import Check, Make
from privtrace.testing.data import ABSURD_TIMES, JULY, REGIONS, clocked, timed_wanderers, trajectories
from privtrace.testing.purity import assert_pure, kernels_of
from privtrace.testing.sensitivity import PER_USER, changes_from, differences, taped
from privtrace.trajectories import Trajectories

PERIOD = "2013-07-08/2013-07-15"
DAY_MS = 86_400_000

#: What a trajectory with usual times adds one to.
_ONE_EACH = ("points", "departures", "ticks", "stretches", "paces", "tempos", "parts")

#: Hostile trajectories that are tried in a polygon too: those that are measured at all.
_IN_A_POLYGON = ("usual times", "times not increasing", "weeks between points")


def times(make: Make) -> list[Check]:
    """List the checks."""
    listed: dict[str, Callable[[Make], None]] = {
        "makes times in the period, inside the region": _makes_times,
        "keeps a public tick": _keeps_a_public_tick,
        "refuses no time": _refuses_no_time,
        "a trajectory with any times, box": partial(_any_times, where="box", names=tuple(ABSURD_TIMES)),
        "a trajectory with any times, polygon": partial(_any_times, where="polygon", names=_IN_A_POLYGON),
        "a user with any times": _user_with_any_times,
        "who is not in the period changes nothing": _outside_the_period,
        "users in a period, count declared": _users_in_a_period,
        "counts each by itself": _is_pure,
    }
    return [Check("times", name, partial(check, make)) for name, check in listed.items()]


def _sampled(model: Model, count: int, **how: Any) -> Trajectories:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CappedWalks)
        return model.sample(count, seed=4, **how)


def _makes_times(make: Make) -> None:
    settings = make(epsilon=2, region=REGIONS["polygon"], times=True, period=PERIOD)
    model = settings.fit(timed_wanderers())
    assert model.release.spent == model.release.epsilon == 2 and model.release.private
    made = _sampled(model, 400)
    assert bool(np.all(model.release.region.contains(made.points))) and np.diff(made.offsets).min() >= 1
    assert made.times is not None and made.times.dtype == "datetime64[ms]" and made.zone == "Europe/Lisbon"
    inner = np.ones(made.n_points - 1, np.bool_)
    inner[made.offsets[1:-1] - 1] = False
    assert bool(np.all(np.diff(made.times)[inner] > np.timedelta64(0, "ms"))), "times do not rise"
    days = Zone.named("Europe/Lisbon").to_local(seconds_of(made.times[made.offsets[:-1]])) // 86_400
    assert {*days.tolist()} <= {*Period.of(PERIOD).days}, "trips depart outside the period"
    again = from_bytes(to_bytes(model))
    assert (
        to_bytes(again) == to_bytes(model)
        and type(settings).of_release(again.release).budget == settings.budget
    )
    with mock.patch.object(models_of_methods, "BLOCK_TRAJECTORIES", 17):
        others = _sampled(again, 400, backend=Threads(2))
    assert others.times is not None
    assert np.array_equal(others.points, made.points) and np.array_equal(others.times, made.times)


def _keeps_a_public_tick(make: Make) -> None:
    settings = make(epsilon=2, region=REGIONS["box"], times=True, every="15s")
    made = _sampled(from_bytes(to_bytes(settings.fit(timed_wanderers()))), 200)
    assert made.times is not None
    gaps = np.diff(made.times.astype(np.int64))
    gaps[made.offsets[1:-1] - 1] = 15_000
    assert {*gaps.tolist()} <= {15_000}, "points are not 15 s apart"


def _refuses_no_time(make: Make) -> None:
    """Nothing but absurd times, none at all, and nobody."""
    absurd = Trajectories.concatenate([make_one() for make_one in ABSURD_TIMES.values()])
    never = clocked([np.iinfo(np.int64).min] * 3)
    for source, period in ((absurd, None), (absurd, PERIOD), (never, PERIOD), (never[:0], None)):
        settings = make(epsilon=1, region=REGIONS["box"], times=True, period=period)
        made = _sampled(settings.fit(source, noise=SeededNoise(2)), 30)
        assert len(made) == 30 and made.times is not None and not np.isnat(made.times).any()


def _any_times(make: Make, where: str, names: tuple[str, ...]) -> None:
    """Each changes no table by more than one; one whose times are as usual reaches that."""
    settings, base = make(epsilon=4, region=REGIONS[where], times=True), _nobodys()[:150]
    first = taped(base, settings)
    for name in names:
        changes = changes_from(first, Trajectories.concatenate([base, ABSURD_TIMES[name]()]), settings)
        assert max(changes.values()) <= WEIGHT, f"{name}: {changes}"
        if name == "usual times" and where == "box":
            assert {changes[stage] for stage in _ONE_EACH} == {WEIGHT}, changes


def _user_with_any_times(make: Make) -> None:
    base = _everybodys()
    theirs = Trajectories.concatenate([make_one() for make_one in ABSURD_TIMES.values()])
    theirs = replace(theirs, users=np.full(len(theirs), 999), ids=np.arange(len(theirs)) + 10_000)
    settings = make(epsilon=40, region=REGIONS["box"], times=True, unit="user", max_per_user=PER_USER)
    changes = differences(settings, base, Trajectories.concatenate([base, theirs]))
    assert 0 < max(changes.values()) <= PER_USER * WEIGHT, changes


def _outside_the_period(make: Make) -> None:
    """Trajectories of the day before, of the last day, which is no part of it, and without a time."""
    settings, base = make(epsilon=4, region=REGIONS["box"], times=True, period=PERIOD), _nobodys()[:150]
    first, week = taped(base, settings), JULY + 7 * DAY_MS
    steps, untimed = 15_000 * np.arange(20), replace(trajectories([(5.0, 5.0), (6.0, 6.0)]), zone=base.zone)
    for begin in (week - 1, week + 7 * DAY_MS, -(10**12)):
        others = Trajectories.concatenate([base, clocked(begin + steps), untimed])
        assert {*changes_from(first, others, settings).values()} == {0}, "who is outside the period counts"
    for begin in (week, week + 7 * DAY_MS - 1):
        more = changes_from(first, Trajectories.concatenate([base, clocked(begin + steps)]), settings)
        assert max(more.values()) == more["departures"] == WEIGHT, more


def _users_in_a_period(make: Make) -> None:
    """Those of another day are left out before the trajectories of a user are chosen."""
    base, week = _everybodys(), JULY + 7 * DAY_MS
    begins = [0, week, 0, week + DAY_MS, 0, week + 2 * DAY_MS, 0, 0]
    theirs = Trajectories.concatenate([clocked(begin + 15_000 * np.arange(20)) for begin in begins])
    theirs = replace(theirs, users=np.full(len(begins), 999), ids=np.arange(len(begins)) + 10_000)
    settings = make(
        epsilon=40,
        region=REGIONS["box"],
        times=True,
        unit="user",
        max_per_user=2,
        period=PERIOD,
        public_count=300,
    )
    changes = differences(settings, base, Trajectories.concatenate([base, theirs]))
    assert max(changes.values()) == changes["points"] == 2 * WEIGHT, changes


def _is_pure(make: Make) -> None:
    """Trajectories with many points are for the accumulator to bound."""
    hostile = [make_one() for name, make_one in ABSURD_TIMES.items() if "hundred" not in name]
    part = Trajectories.concatenate([_nobodys()[:20], *hostile, _nobodys()[20:40]])
    order = np.random.default_rng(1).permutation(len(part))
    settings = make(epsilon=4, region=REGIONS["polygon"], times=True)
    assert_pure(kernels_of(settings, _nobodys()), part, order)


def _nobodys() -> Trajectories:
    return replace(timed_wanderers(), users=None)


def _everybodys() -> Trajectories:
    return replace(timed_wanderers()[:300], users=np.arange(300) % 60, ids=np.arange(300))
