"""Trials: their seeds, what fits and samples are given, sizes of models, and what a process holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.backends.local import Threads
from privtrace.evaluation.comparison import Comparison
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.study.memory import Memory
from privtrace.study.messages import Closed, packed, receive
from privtrace.study.trials import Trial, fitted, heat_of, sampled, seed_of, sizes_of

ONE = Trial("privtrace", "1", 0)


def test_seeds_follow_from_all_that_names_a_trial() -> None:
    seeds = {
        seed_of(trial, seed)
        for seed in (1, 2)
        for trial in (ONE, ONE._replace(label="dpt"), ONE._replace(epsilon="2"), ONE._replace(run=1))
    }
    assert len(seeds) == 8 and all(0 <= seed < 2**32 for seed in seeds)
    assert seed_of(ONE._replace(with_map=True), 1) == seed_of(ONE, 1)
    assert seed_of(ONE, 1) == 3598373851  # as in all files of results that there are


class Takes:
    """Take what it names."""

    def noise(self, trips: Any, *, noise: Any) -> Any:
        return noise

    def seed(self, trips: Any, seed: int = 0) -> int:
        return seed

    def neither(self, trips: Any) -> str:
        return "neither"

    def all(self, trips: Any, **others: Any) -> Any:
        return set(others)

    fit: Any


@pytest.mark.parametrize(("name", "expected"), [("seed", 5), ("neither", "neither"), ("all", set())])
def test_a_fit_gets_what_it_takes(name: str, expected: Any, trips: pt.Trajectories) -> None:
    one = Takes()
    one.fit = getattr(one, name)
    assert fitted(one, trips, 5, Threads(1)) == expected
    one.fit = one.noise
    assert isinstance(fitted(one, trips, 5, Threads(1)), SeededNoise)


class Model:
    """Sample, with a seed or without."""

    def sample(self, count: int = 3) -> str:
        return f"{count} trips"


def test_what_samples_is_sampled_and_what_is_data_is_not(trips: pt.Trajectories) -> None:
    frame = trips.to_pandas()
    for data in (trips, frame, "made.parquet", None):
        assert sampled(data, 5) is data
    made: Any = sampled(Model(), 5)
    assert made == "3 trips"


def test_sizes_are_those_of_our_models(trips: pt.Trajectories, area: pt.Region) -> None:
    model = pt.DPT(epsilon=1, region=area).fit(trips, noise=SeededNoise(1))
    sizes = sizes_of(model)
    assert sizes["size: trajectories"] == model.n_trajectories
    assert all(isinstance(size, float) for size in sizes.values()) and sizes_of(Model()) == {}


def test_a_map_counts_trips_through_cells_north_up(area: pt.Region) -> None:
    """A trip that stays in the north-west, and one that stays in the south-east, twice there."""
    width, height = area.east - area.west, area.north - area.south
    corners = np.array([(area.west, area.north), (area.east, area.south)])
    inward = np.array([(width, -height), (-width, height)]) / 320
    points = (corners + inward).repeat([1, 2], axis=0)
    heat = heat_of(pt.Trajectories(points, [0, 1, 3]), Comparison.of(area, "lonlat"))  # type: ignore[arg-type]
    assert heat.shape == (80, 80) and np.argwhere(heat).tolist() == [[0, 0], [79, 79]]
    assert heat[0, 0] == heat[79, 79] == 0.5


def test_memory_that_was_taken_is_seen() -> None:
    memory = Memory()
    taken = np.ones(8_000_000)  # 64 MB
    assert memory.grown_mb() > 50 or np.isnan(memory.grown_mb())
    assert taken.sum() == 8_000_000


def test_a_message_comes_whole_or_the_other_has_ended() -> None:
    import io

    assert receive(io.BytesIO(packed({"a": [1, 2]}))) == {"a": [1, 2]}
    for cut in (b"", packed([1, 2, 3])[:-4]):
        with pytest.raises(Closed):
            receive(io.BytesIO(cut))
