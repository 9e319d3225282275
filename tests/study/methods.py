"""Methods from outside, small and quick, for tests of comparisons. Workers import this file by its name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import privtrace as pt


@dataclass(frozen=True)
class Shifted:
    """Shift all trips, by less with more epsilon: the synthetic trips have no times."""

    epsilon: Any
    region: pt.Region
    log: str | None = None  # a file that gets a line for each fit

    def fit(self, trips: pt.Trajectories, seed: int) -> Shift:
        if self.log is not None:
            with Path(self.log).open("a") as file:
                file.write(f"{self.epsilon} {seed}\n")
        return Shift(trips, 0.002 / float(self.epsilon), seed)


@dataclass(frozen=True)
class Shift:
    """Be a model."""

    trips: pt.Trajectories
    scale: float
    seed: int

    def sample(self, seed: int) -> pt.Trajectories:
        assert seed == self.seed
        shifts = np.random.default_rng(seed).normal(0, self.scale, (len(self.trips), 2))
        points = self.trips.points + np.repeat(shifts, np.diff(self.trips.offsets), axis=0)
        return replace(self.trips, points=points, times=None)


class Given:
    """Be made with epsilon and region, and keep neither."""

    def __init__(self, epsilon: Any, region: pt.Region) -> None:
        pass


class Same(Given):
    """Give the trips back, as they are: not private, and exact each time."""

    def fit(self, trips: pt.Trajectories) -> pt.Trajectories:
        return trips


class Framed(Given):
    """Give them as a frame, which has a `sample` of its own."""

    def fit(self, trips: pt.Trajectories) -> Any:
        return trips.to_pandas()


class Written(Given):
    """Give the path of a file."""

    def fit(self, trips: pt.Trajectories) -> Path:
        path = Path(f"{os.environ['WRITTEN']}-{os.getpid()}.parquet")
        trips.write(path, force=True)
        return path


class Nothing(Given):
    """Give nothing at all."""

    def fit(self, trips: pt.Trajectories) -> None:
        pass


class Failing(Given):
    """Fail at once."""

    def fit(self, trips: pt.Trajectories) -> None:
        raise RuntimeError("no such luck")


class Ending(Given):
    """End the process, as an operating system does where memory is too small."""

    def fit(self, trips: pt.Trajectories) -> None:
        os._exit(7)


class Leaving(Given):
    """Leave as a program does."""

    def fit(self, trips: pt.Trajectories) -> None:
        sys.exit("no licence")


class Talking(Given):
    """Print, in Python and below it, and read what nobody wrote."""

    def fit(self, trips: pt.Trajectories) -> pt.Trajectories:
        print("talking", flush=True)
        os.write(1, b"talking on\n")
        assert os.read(0, 10) == b""
        return trips


class Unfit(Given):
    """Have no fit."""


class Refusing:
    """Refuse to be made."""

    def __init__(self, epsilon: Any, region: pt.Region) -> None:
        raise ValueError("never")

    def fit(self, trips: pt.Trajectories) -> None:
        pass


def shifted(epsilon: Any, region: pt.Region) -> Shifted:
    """Make one, as a function."""
    return Shifted(epsilon, region)


def bridge(epsilon: Any, region: pt.Region) -> pt.BridgeTrace:
    """Make one of ours, as a function."""
    return pt.BridgeTrace(epsilon=epsilon, region=region)


class Factory:
    """Make them as an object that is called."""

    def __init__(self, log: str | None = None) -> None:
        self.log = log

    def __call__(self, epsilon: Any, region: pt.Region) -> Shifted:
        return Shifted(epsilon, region, self.log)
