"""Check that a unit more or less changes no exact table by more than is charged for. NOT PRIVATE.

The recipe runs twice, on neighboring sources. The second run is given the first run's noisy outputs, whatever
its own counts are, because each stage's bound must hold for every earlier output. All counts that reach the
ledger are compared, so a statistic that a later change adds is covered too. And since the second run has the
outputs of the first, its model file must be the same, byte for byte: else something passed by the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any
from unittest import mock

import numpy as np

from privtrace.backends.local import Threads
from privtrace.methods import fitting
from privtrace.methods.settings import Settings
from privtrace.models import to_bytes
from privtrace.privacy.accumulator import Counts
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.unit import WEIGHT
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.testing.check import Check, Make
from privtrace.testing.data import ABSURD, REGIONS, crowd, trajectories, wanderers, without_99
from privtrace.trajectories import Integers, Source, Trajectories

#: Trajectories of a user that count at most, in checks of users.
PER_USER = 5


class Tape:
    """Record what passes the ledger in one run, and give its outputs again in the next."""

    def __init__(self) -> None:
        self.stages: list[str] = []  # of each block: those of one stage are one table
        self.counts: list[Integers] = []
        self.outputs: list[Integers] = []
        self.model = b""

    def ledger(self, replay: Tape | None) -> type[Ledger]:
        """Make a ledger that records here, and plays the outputs of another tape."""
        tape = self

        class Taped(Ledger):
            def laplace(self, counts: Counts, stage: str, statistic: str, epsilon: Fraction) -> Integers:
                tape.stages.append(stage)
                return super().laplace(counts, stage, statistic, epsilon)

            def laplace_blocks(
                self, counts: Counts, block: int, stage: str, statistic: str, epsilon: Fraction
            ) -> Iterator[Integers]:
                # The charge falls due now; blocks are drawn when asked for, maybe after a later charge.
                blocks = super().laplace_blocks(counts, block, stage, statistic, epsilon)

                def recorded() -> Iterator[Integers]:
                    for drawn in blocks:
                        tape.stages.append(stage)
                        yield drawn

                return recorded()

            def _noisy(self, counts: Integers, scale: Fraction) -> Integers:
                tape.counts.append(counts.copy())
                place = len(tape.outputs)
                output = super()._noisy(counts, scale) if replay is None else replay.outputs[place]
                assert output.shape == counts.shape, "the shape of a table depends on the data"
                tape.outputs.append(output)
                return output

        return Taped


def taped(source: Source, settings: Settings, replay: Tape | None = None) -> Tape:
    """Fit a source, recording what passes the ledger."""
    tape = Tape()
    with mock.patch.object(fitting, "Ledger", tape.ledger(replay)):
        tape.model = to_bytes(settings.fit(source, noise=SeededNoise(1), backend=Threads(1)))
    return tape


def differences(settings: Settings, first: Source, second: Source) -> dict[str, int]:
    """Fit two sources to the same noisy outputs: the models are the same. Return L1 differences by stage."""
    return changes_from(taped(first, settings), second, settings)


def changes_from(one: Tape, second: Source, settings: Settings) -> dict[str, int]:
    """Compare another source with one that was recorded, likewise."""
    other = taped(second, settings, replay=one)
    assert one.model == other.model, "something of the source reached the model without noise"
    budget = settings.settled(second).budget
    assert one.stages == other.stages and {*one.stages} <= {*budget}
    changes = dict.fromkeys(budget, 0)
    for stage, a, b in zip(one.stages, one.counts, other.counts, strict=True):
        changes[stage] += int(np.abs(a - b).sum())
    return changes


def assert_close(settings: Settings, base: Trajectories, extra: Trajectories) -> dict[str, int]:
    """Check the bound for one trajectory more; return the L1 differences by stage."""
    return assert_near(taped(base, settings), settings, base, extra)


def assert_near(recorded: Tape, settings: Settings, base: Trajectories, extra: Trajectories) -> dict[str, int]:
    """Check the same, where the fit without the trajectory was recorded before."""
    changes = changes_from(recorded, Trajectories.concatenate([base, extra]), settings)
    assert max(changes.values()) <= WEIGHT, changes
    return changes


def sensitivity(make: Make) -> list[Check]:
    """List the checks of trajectories and of users."""
    listed: dict[str, Callable[[Make], None]] = {
        **{
            f"{name}, {where}": partial(_absurd, name=name, where=where) for where in REGIONS for name in ABSURD
        },
        **{f"at random, {where}": partial(_at_random, where=where) for where in REGIONS},
        **{
            f"a user of {n_trips} trips": partial(_user, n_trips=n_trips)
            for n_trips in (0, 1, PER_USER, PER_USER + 1, 1000)
        },
        "a trajectory far away changes nothing": _far_away,
        "a public count is not measured": _public_count,
    }
    made = partial(make)  # of its own, so that it can be the key of what is recorded once, whatever `make` is
    return [Check("sensitivity", name, partial(check, made)) for name, check in listed.items()]


def _others() -> Trajectories:
    return Trajectories(wanderers().points, wanderers().offsets, crs="planar")


def _absurd(make: Make, name: str, where: str) -> None:
    assert_near(_recorded(make, where), make(epsilon=4, region=REGIONS[where]), _others(), ABSURD[name]())


@lru_cache(maxsize=4)
def _recorded(make: Make, where: str) -> Tape:
    """Fit once what many are compared with."""
    return taped(_others(), make(epsilon=4, region=REGIONS[where]))


def _at_random(make: Make, where: str) -> None:
    rng = np.random.default_rng(11)
    for _ in range(5):
        points = rng.uniform(-2, 12, (int(rng.integers(0, 40)), 2))
        extra = trajectories([(float(x), float(y)) for x, y in points])
        assert_close(make(epsilon=4, region=REGIONS[where]), _others()[: int(rng.integers(0, 600))], extra)


def _user(make: Make, n_trips: int) -> None:
    settings = make(epsilon=40, region=REGIONS["box"], unit="user", max_per_user=PER_USER)
    more = crowd(n_trips)
    changes = differences(settings, without_99(more), more)
    assert max(changes.values()) <= min(n_trips, PER_USER) * WEIGHT, changes


def _far_away(make: Make) -> None:
    settings: Any = make(epsilon=1, region=REGIONS["box"])
    more = Trajectories.concatenate([_others(), trajectories([(1e6, 1e6), (-40, 3), (11, 11)])])
    first, second = (settings.fit(source, noise=SeededNoise(9)) for source in (_others(), more))
    assert to_bytes(first) == to_bytes(second)


def _public_count(make: Make) -> None:
    measured, declared = (
        make(epsilon=1, region=REGIONS["box"], public_count=count).settled(_others()) for count in (None, 600)
    )
    model = declared.fit(_others())
    assert {"count", *(charge.stage for charge in model.release.charges)} == {*measured.budget}
    assert [charge.stage for charge in model.release.charges] == [*declared.budget]
    assert model.release.spent == 1 and model.n_trajectories == 600
    assert "2 epsilon = 2" in dict(model.release.statement())["Public inputs"]
