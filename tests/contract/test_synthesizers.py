"""Every synthesizer keeps the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.methods import model as base
from privtrace.methods.sampling import sample_parts
from privtrace.models import from_bytes, to_bytes

# Little data and much noise leave second-order loops that no walk gets out of; one test is about them.
pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")

SYNTHESIZERS = {
    "bridgetrace": lambda **setup: pt.BridgeTrace(rounds=1, **setup),
    "bridgetrace, K and spacing": lambda **setup: pt.BridgeTrace(rounds=0, K=3, spacing=2, **setup),
    "bridgetrace, few states": lambda **setup: pt.BridgeTrace(rounds=0, max_states=16, max_zones=2, **setup),
    "bridgetrace, users": lambda **setup: pt.BridgeTrace(rounds=0, unit="user", max_per_user=2, **setup),
    "bridgetrace, polygon": lambda **setup: pt.BridgeTrace(
        **setup | {"region": polygons.region("mixed 1"), "rounds": 1, "K": 4}
    ),
    "bridgetrace, public count": lambda **setup: pt.BridgeTrace(rounds=0, K=2, public_count=500, **setup),
    "privtrace": pt.PrivTrace,
    "order 1": lambda **setup: pt.PrivTrace(order=1, **setup),
    "order 2": lambda **setup: pt.PrivTrace(order=2, **setup),
    "first layer": lambda **setup: pt.PrivTrace(second_layer=False, **setup),
    "no trips": lambda **setup: pt.PrivTrace(trip_estimation=False, **setup),
    "paper": lambda **setup: pt.PrivTrace.paper(c=100, population=1_000_000, **setup),
    "users": lambda **setup: pt.PrivTrace(unit="user", max_per_user=2, **setup),
    "polygon": lambda **setup: pt.PrivTrace(**setup | {"region": polygons.region("mixed 1")}),
    "public count": lambda **setup: pt.PrivTrace(public_count=500, **setup),
    "dpt": pt.DPT,
    "dpt, four systems": lambda **setup: pt.DPT(finest=16, keep=1e-9, expand=0.1, **setup),
    "dpt, coarsest": lambda **setup: pt.DPT(finest=8, keep=1e-9, mapping="coarsest", height=4, **setup),
    "dpt, order 1": lambda **setup: pt.DPT(max_systems=1, height=2, heading_strength=0, **setup),
    "dpt, users": lambda **setup: pt.DPT(
        unit="user", max_per_user=2, finest=8, keep=1e-9, hysteresis=True, **setup
    ),
    "dpt, polygon": lambda **setup: pt.DPT(
        **setup | {"region": polygons.region("mixed 1"), "finest": 8, "keep": 1e-9}
    ),
    "dpt, public count": lambda **setup: pt.DPT(public_count=500, **setup),
    "adatrace": pt.AdaTrace,
    "adatrace, 5 x 5": lambda **setup: pt.AdaTrace(N=5, density_per_cell=10, max_extra=3, **setup),
    "adatrace, one layer": lambda **setup: pt.AdaTrace(second_layer=False, **setup),
    "adatrace, users": lambda **setup: pt.AdaTrace(unit="user", max_per_user=2, **setup),
    "adatrace, polygon": lambda **setup: pt.AdaTrace(**setup | {"region": polygons.region("mixed 1"), "N": 4}),
    "adatrace, public count": lambda **setup: pt.AdaTrace(public_count=500, **setup),
}


@pytest.fixture(params=SYNTHESIZERS)
def synthesizer(request: pytest.FixtureRequest, region: pt.Region) -> Any:
    return SYNTHESIZERS[request.param](epsilon="1.5", region=region)


@pytest.fixture(scope="module")
def wanderers(wanderers: pt.Trajectories) -> pt.Trajectories:
    """Give 200 users three walks each, those of a user far apart."""
    return replace(wanderers, users=np.arange(len(wanderers)) % 200)


class Cut:
    """Offer the same trajectories in other parts."""

    def __init__(self, whole: pt.Trajectories, sizes: list[int]) -> None:
        self.whole, self.sizes = whole, sizes
        self.crs, self.n_points, self.gap_minutes = whole.crs, whole.n_points, whole.gap_minutes

    def parts(self) -> Iterator[pt.Trajectories]:
        first = 0
        for size in [*self.sizes, len(self.whole)]:
            yield self.whole[first : first + size]
            first += size


def test_spends_exactly_its_budget(synthesizer: Any, wanderers: pt.Trajectories) -> None:
    release = synthesizer.fit(wanderers).release
    assert release.spent == release.epsilon == pytest.approx(1.5)
    assert release.private


def test_makes_as_many_trajectories_as_asked_inside_the_region(
    synthesizer: Any, wanderers: pt.Trajectories
) -> None:
    made = synthesizer.fit(wanderers).sample(5000, seed=1)
    assert len(made) == 5000 and np.diff(made.offsets).min() >= 1
    assert made.points.min() >= 0 and made.points.max() <= 10
    assert made.crs == "planar"


def test_models_go_through_files(synthesizer: Any, wanderers: pt.Trajectories, tmp_path: Path) -> None:
    model = synthesizer.fit(wanderers)
    model.save(tmp_path / "a.model")
    again = pt.load(tmp_path / "a.model")
    assert to_bytes(again) == to_bytes(model) == (tmp_path / "a.model").read_bytes()
    assert again.release == model.release
    one, two = model.sample(300, seed=5), again.sample(300, seed=5)
    assert np.array_equal(one.points, two.points) and np.array_equal(one.offsets, two.offsets)


@pytest.mark.parametrize("sizes", [[1] * 20, [0, 300, 0], [599], [200, 200, 200]])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_parts_and_threads_do_not_matter(
    synthesizer: Any, wanderers: pt.Trajectories, sizes: list[int], n_threads: int
) -> None:
    model = synthesizer.fit(wanderers, noise=pt.SeededNoise(3), backend=pt.Threads(2))
    other = synthesizer.fit(Cut(wanderers, sizes), noise=pt.SeededNoise(3), backend=pt.Threads(n_threads))
    assert to_bytes(model) == to_bytes(other)


def test_output_depends_on_the_seed_alone(
    synthesizer: Any, wanderers: pt.Trajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = synthesizer.fit(wanderers)
    whole = model.sample(1000, seed=2, backend=pt.Threads(1))
    monkeypatch.setattr(base, "BLOCK_TRAJECTORIES", 17)
    for n_threads in (1, 2, 5):
        again = model.sample(1000, seed=2, backend=pt.Threads(n_threads))
        assert np.array_equal(whole.points, again.points) and np.array_equal(whole.offsets, again.offsets)
    fewer = model.sample(100, seed=2)
    assert np.array_equal(fewer.points, whole[:100].points)
    assert not np.array_equal(model.sample(100, seed=3).points[:50], fewer.points[:50])


def test_seeded_noise_repeats_and_says_so(synthesizer: Any, wanderers: pt.Trajectories) -> None:
    one, two, other = (synthesizer.fit(wanderers, noise=pt.SeededNoise(seed)) for seed in (1, 1, 2))
    assert to_bytes(one) == to_bytes(two) != to_bytes(other)
    assert not one.release.private and "NOT PRIVATE" in one.release.verdict
    assert not from_bytes(to_bytes(one)).release.private
    assert "NOT PRIVATE" in one.release.about["privtrace.guarantee"]


def test_the_stamp_goes_along_into_files(synthesizer: Any, wanderers: pt.Trajectories, tmp_path: Path) -> None:
    for name, noise in (("private", None), ("seeded", pt.SeededNoise(1))):
        synthesizer.fit(wanderers, noise=noise).sample(20, seed=1).write(tmp_path / f"{name}.parquet")
        about = pq.read_schema(tmp_path / f"{name}.parquet").metadata
        assert (about.get(b"privtrace.private") == b"true") == (noise is None)
        assert (b"NOT PRIVATE" in about[b"privtrace.guarantee"]) == (noise is not None)


def test_endless_walks_are_made_in_small_blocks(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.PrivTrace(epsilon=1, region=region, max_steps=1_000_000).fit(wanderers)
    assert model.block_trajectories == 4


def test_secret_noise_never_repeats(synthesizer: Any, wanderers: pt.Trajectories) -> None:
    assert to_bytes(synthesizer.fit(wanderers)) != to_bytes(synthesizer.fit(wanderers))


@pytest.mark.parametrize(
    "source",
    [
        trajectories(),
        trajectories([], [], []),
        trajectories([(99, 99)], [(-5, 3), (np.nan, 1)]),
        trajectories([(5, 5)]),
    ],
    ids=["nothing", "no points", "all outside", "one point"],
)
def test_no_value_refuses(synthesizer: Any, source: pt.Trajectories) -> None:
    source = replace(source, users=np.full(len(source), np.nan))  # unknown ones
    for seed in range(5):
        model = synthesizer.fit(source, noise=pt.SeededNoise(seed))
        made = model.sample(50, seed=1)
        assert len(made) == 50 and made.points.min() >= 0 and made.points.max() <= 10
        assert len(model.sample(seed=1)) == model.n_trajectories


def test_nothing_made_is_an_empty_collection(synthesizer: Any, wanderers: pt.Trajectories) -> None:
    made = synthesizer.fit(wanderers).sample(0)
    assert len(made) == 0 and made.crs == "planar"


@pytest.mark.parametrize(
    ("count", "seed", "word"), [(-1, 0, "from 0 to"), (1, -1, "seed"), (1, 1 << 64, "seed")]
)
def test_bad_samples_are_refused(
    wanderers: pt.Trajectories, region: pt.Region, count: int, seed: int, word: str
) -> None:
    model = pt.PrivTrace(epsilon=1, region=region).fit(wanderers)
    with pytest.raises(pt.SettingsError, match=word):
        list(sample_parts(model, count, seed))


def test_walks_cut_short_are_told(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.PrivTrace(epsilon=1, region=region, max_steps=2).fit(wanderers)
    with pytest.warns(pt.CappedWalks, match=r"walks reached --max-steps"):
        made = model.sample(500, seed=1)
    assert np.diff(made.offsets).max() == 2


def test_noise_that_vanishes_gives_the_empirical_model(city: tuple[pt.Trajectories, pt.Region]) -> None:
    """A large epsilon changes counts by less than a trajectory; K is given so that sizes stay apart."""
    trips, region = city
    setup = {"region": region, "K": 3, "density_per_cell": 200, "theta1": 100}
    exact = pt.PrivTrace(epsilon=1000, **setup).fit(trips, noise=pt.NoNoise())
    noisy = pt.PrivTrace(epsilon=1000, **setup).fit(trips)
    assert np.array_equal(exact.divisions, noisy.divisions)
    assert np.abs(exact.moves - noisy.moves).max() < 0.1 * 2**20
    assert noisy.n_trajectories == pytest.approx(exact.n_trajectories, abs=2)


def test_data_in_memory_is_cut_into_moderate_parts(
    monkeypatch: pytest.MonkeyPatch, wanderers: pt.Trajectories
) -> None:
    monkeypatch.setattr(containers, "PART_POINTS", 1000)
    parts = list(wanderers.parts())
    assert len(parts) > 10 and max(part.n_points for part in parts) < 1200
    whole = pt.Trajectories.concatenate(parts)
    assert np.array_equal(whole.points, wanderers.points) and np.array_equal(whole.offsets, wanderers.offsets)
