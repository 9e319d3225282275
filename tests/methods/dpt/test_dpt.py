"""DPT: exact where noise is off, a Markov model where its trees are flat, and refusing what is not sound."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests import polygons
from tests.conftest import trajectories
from tests.counting import lists
from tests.methods.dpt.test_contexts import spelled
from tests.methods.dpt.test_events import as_lists, jumpers
from tests.methods.editing import Edit, array, given, setting
from tests.test_models import put_together, taken_apart

import privtrace as pt
from privtrace.methods.dpt.contexts import Contexts, Growth, grow
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.model import DPTModel
from privtrace.methods.dpt.systems import STOP, SWITCH, Systems, kept
from privtrace.models import from_bytes, to_bytes
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import DIRECTIONS, connect, shortest_paths

#: Settings under which all that has happened is kept.
ALL: dict[str, Any] = {"keep": 1e-9, "expand": 1e-9}


@pytest.fixture(scope="module")
def noiseless(wanderers: pt.Trajectories, region: pt.Region) -> DPTModel:
    return pt.DPT(epsilon=1, region=region, finest=16, height=4, **ALL).fit(wanderers, noise=pt.NoNoise())


def test_without_noise_the_trees_hold_what_happens_after_runs_of_cells(
    noiseless: DPTModel, wanderers: pt.Trajectories
) -> None:
    strings = as_lists(
        Mapper.of(noiseless.systems, noiseless.settings).strings(clip(wanderers, noiseless.release.region))
    )
    starts, arrivals, after = Counter[int](), Counter[int](), Counter[tuple[tuple[int, ...], int]]()
    for cells, events in filter(all, strings):
        weight = WEIGHT // (len(cells) + 1)
        starts.update({cells[0]: WEIGHT})
        run: tuple[int, ...] = ()
        for place, (cell, event) in enumerate(zip(cells, events, strict=True)):
            run = (*run, cell) if place and events[place - 1] < STOP else (cell,)
            arrivals[cell] += weight
            for depth in range(1, min(len(run), 3) + 1):
                after[run[-depth:], event] += weight
    n_cells = noiseless.systems.n_cells
    assert noiseless.starts.tolist() == [starts[cell] for cell in range(n_cells)]
    assert noiseless.arrivals.tolist() == [arrivals[cell] for cell in range(n_cells)]
    runs = spelled(noiseless.contexts, noiseless.systems)
    found = {
        (runs[row], event): int(noiseless.events[row, event]) for row, event in np.argwhere(noiseless.events)
    }
    assert found == after and {len(run) for run in runs} == {1, 2, 3}
    assert np.array_equal(noiseless.walker.events, noiseless.events)
    assert noiseless.usage.sum() == pytest.approx(noiseless.arrivals.sum(), rel=0.01)
    assert noiseless.n_trajectories == sum(len(cells) > 0 for cells, _ in strings)


def test_noise_that_vanishes_gives_the_empirical_model(wanderers: pt.Trajectories, region: pt.Region) -> None:
    settings = pt.DPT(epsilon=100_000, region=region, finest=8, height=2)
    exact, noisy = (settings.fit(wanderers, noise=noise) for noise in (pt.NoNoise(), None))
    assert exact.systems.sizes == noisy.systems.sizes and len(exact.systems.sizes) > 1
    for name in ("usage", "starts", "arrivals"):
        assert np.abs(getattr(noisy, name) - getattr(exact, name)).max() < 0.05 * WEIGHT, name
    both = (exact.contexts.of_cell >= 0) & (noisy.contexts.of_cell >= 0)
    rows = [model.walker.events[model.contexts.of_cell[both]] for model in (exact, noisy)]
    assert both.sum() > 30 and np.abs(rows[0] - rows[1]).max() < 0.1 * WEIGHT
    assert noisy.n_trajectories == exact.n_trajectories


@pytest.fixture(scope="module")
def flat(city: tuple[pt.Trajectories, pt.Region]) -> DPTModel:
    trips, region = city
    settings = pt.DPT(epsilon=1, region=region, finest=6, max_systems=1, height=2, heading_strength=0, **ALL)
    return settings.fit(trips, noise=pt.NoNoise())


def test_one_system_and_two_levels_are_a_markov_model(
    flat: DPTModel, city: tuple[pt.Trajectories, pt.Region]
) -> None:
    """Moves to neighbors and stops of connected paths, each path of n cells weighing 1 / (n + 1) a move."""
    grid = Grid.uniform(flat.release.region, 6)
    table, starts = np.zeros((36, 9), np.int64), np.zeros(36, np.int64)
    for path in filter(None, lists(connect(grid.encode(clip(city[0], grid.region)), shortest_paths(grid)))):
        weight = WEIGHT // (len(path) + 1)
        starts[path[0]] += WEIGHT
        for a, b in pairwise(path):
            table[a, DIRECTIONS.tolist().index([b % 6 - a % 6, b // 6 - a // 6])] += weight
        table[path[-1], STOP] += weight
    visited = np.flatnonzero(table.any(axis=1))
    assert flat.contexts.last_cell.tolist() == visited.tolist() and len(visited) > 20
    assert np.array_equal(flat.events[:, :SWITCH], table[visited]) and not flat.events[:, SWITCH].any()
    assert np.array_equal(flat.starts, starts) and np.array_equal(flat.arrivals, table.sum(axis=1))


def test_its_walks_have_its_frequencies(flat: DPTModel) -> None:
    made, starts = np.zeros(flat.events.shape), np.zeros(36)
    for path in lists(flat.walk(range(10_000), seed=4)[0]):
        starts[path[0]] += 1
        for a, b in pairwise(path):
            made[flat.contexts.of_cell[a], DIRECTIONS.tolist().index([b % 6 - a % 6, b // 6 - a // 6])] += 1
        made[flat.contexts.of_cell[path[-1]], STOP] += 1
    expected = flat.events / flat.events.sum(axis=1, keepdims=True) * made.sum(axis=1, keepdims=True)
    assert not made[expected == 0].any()
    often = (expected > 5) & (made.sum(axis=1, keepdims=True) > 100)
    statistic = ((made - expected)[often] ** 2 / expected[often]).sum()
    assert often.sum() > 100 and stats.chi2.sf(statistic, often.sum() - len(made)) > 1e-4
    shares = flat.starts / flat.starts.sum() * 10_000
    assert (
        not starts[shares == 0].any() and stats.chisquare(starts[shares > 0], shares[shares > 0]).pvalue > 1e-4
    )


def test_walks_start_as_often_as_real_ones_and_go_where_these_go(noiseless: DPTModel) -> None:
    paths, _ = noiseless.walk(range(20_000), 1)
    starts = np.bincount(paths.cells[paths.offsets[:-1]], minlength=noiseless.systems.n_cells)
    shares = noiseless.starts / noiseless.starts.sum() * 20_000
    assert not starts[shares == 0].any()
    assert stats.chisquare(starts[shares > 0], shares[shares > 0]).pvalue > 1e-4
    assert {*paths.cells.tolist()} <= {*np.flatnonzero(noiseless.arrivals).tolist()}


def test_every_entry_gets_noise(region: pt.Region) -> None:
    """Without any data: a zero that stayed a zero would tell that it is one."""
    model = pt.DPT(epsilon=1, region=region, finest=8, **ALL).fit(trajectories(), noise=pt.SeededNoise(2))
    for name in ("usage", "starts", "arrivals"):
        assert getattr(model, name).all(), name
    legal = model.systems.legal[model.contexts.last_cell]
    assert model.contexts.depth == 2 and legal.sum() > 1000
    assert model.events[legal].all() and not model.events[~legal].any()


def creeping(n: int = 300) -> pt.Trajectories:
    """Make tiny steps, none over a border of cells of 1.25."""
    rng = np.random.default_rng(1)
    corners = rng.integers(0, 8, (n, 2)) * 1.25
    return trajectories(*[[tuple(c + 0.1), tuple(c + 0.2), tuple(c + 0.3)] for c in corners])


def test_systems_without_use_are_dropped(region: pt.Region) -> None:
    settings = pt.DPT(epsilon=1, region=region, finest=8, **ALL)
    model = settings.fit(creeping(), noise=pt.NoNoise())
    assert model.sizes.tolist() == [8, 4, 2] and model.systems.sizes == (8,)
    assert model.usage.tolist() == [300 * WEIGHT // 2, 0, 0]
    jumping = settings.fit(trajectories(*[[(1, 1), (9, 9)]] * 50), noise=pt.NoNoise())
    assert jumping.systems.sizes == (2,) and jumping.summary()["kept systems"] == 1
    mixed = settings.fit(jumpers(), noise=pt.NoNoise())
    assert mixed.systems.sizes == (8, 4, 2) and len(mixed.starts) == 84


def test_a_system_is_kept_from_its_mean_mass_on(region: pt.Region) -> None:
    settings = pt.DPT(epsilon=3, region=region, keep=0.8)
    systems = Systems(region.for_data("planar"), (8, 4, 2))
    least = 0.8 * math.sqrt(2) / 0.8 * WEIGHT * 9  # of a cell and its nine nodes
    enough = np.ceil(least * np.array([64, 16, 4])).astype(np.int64)
    assert kept(systems, enough, settings).sizes == (8, 4, 2)
    assert kept(systems, enough - [2, 0, 2], settings).sizes == (8, 4)  # the first still has most
    assert kept(systems, enough - [0, 2, 0], settings).sizes == (8, 2)
    for place in range(3):
        usage = np.full(3, -5)
        usage[place] = -4
        assert kept(systems, usage, settings).sizes == (systems.sizes[place],)


@pytest.mark.filterwarnings("ignore:.*walks reached")  # noise alone may go round in circles
@pytest.mark.parametrize("noise", [pt.NoNoise(), pt.SeededNoise(1), pt.SeededNoise(2)])
@pytest.mark.parametrize("shape", [None, "frame", "mixed 1"])
def test_nothing_is_a_model(shape: str | None, noise: Any, region: pt.Region) -> None:
    """Where noise leaves no start, any cell of the coarsest system is one."""
    area = region if shape is None else polygons.region(shape)
    for expand in (1e-9, 1e12):
        model = pt.DPT(epsilon=1, region=area, finest=4, keep=1e12, expand=expand).fit(
            trajectories(), noise=noise
        )
        assert len(model.systems.sizes) == 1
        made = model.sample(300, seed=1)
        assert len(made) == 300 and model.release.region.contains(made.points).all()
        if expand > 1:
            assert len(model.contexts) == 0 and np.diff(made.offsets).tolist() == [1] * 300
        if isinstance(noise, pt.NoNoise):
            paths, _ = model.walk(range(3000), 1)
            counts = np.bincount(paths.cells, minlength=model.systems.n_cells)
            assert len(paths.cells) == 3000 and stats.chisquare(counts).pvalue > 1e-4


def test_a_single_cell_is_a_model(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.DPT(epsilon=1, region=region, finest=1).fit(wanderers)
    assert model.systems.n_cells == 1 and model.systems.sizes == (1,)
    assert np.diff(model.sample(100, seed=1).offsets).tolist() == [1] * 100


def test_points_lie_in_the_cells_of_their_walks(noiseless: DPTModel) -> None:
    paths, _ = noiseless.walk(range(500, 1500), seed=6)
    made, _ = noiseless.sample_block(range(500, 1500), seed=6)
    boxes = noiseless.systems.boxes[paths.cells]
    assert np.array_equal(made.offsets, paths.offsets)
    assert np.all((made.points >= boxes[:, :2]) & (made.points <= boxes[:, 2:]))
    assert len({*noiseless.systems.of_cell[paths.cells].tolist()}) > 1  # of several systems


def test_real_trajectories_go_through_the_cells_and_back(
    noiseless: DPTModel, wanderers: pt.Trajectories
) -> None:
    part = wanderers[:200]
    back, paths = (
        noiseless.retrace(clip(part, noiseless.release.region), 0, seed=1),
        noiseless.encode(clip(part, noiseless.release.region)),
    )
    boxes = noiseless.systems.boxes[paths.cells]
    assert np.all((back.points >= boxes[:, :2]) & (back.points <= boxes[:, 2:]))
    assert np.array_equal(back.offsets, paths.offsets)
    finest = lists(noiseless.systems.encode(clip(part, noiseless.systems.region)))
    for path, cells in zip(lists(paths), finest, strict=True):
        if cells:
            outer, inner = noiseless.systems.boxes[path[0]], noiseless.systems.boxes[cells[0]]
            assert np.all(outer[:2] <= inner[:2]) and np.all(inner[2:] <= outer[2:])


@pytest.mark.parametrize("seed", range(3))
def test_no_walk_crosses_where_no_way_leads(seed: int, wanderers: pt.Trajectories) -> None:
    """With noise on every event; cells of all systems end at the river."""
    settings = pt.DPT(epsilon="0.2", region=polygons.region("two banks"), finest=8, max_steps=100, **ALL)
    model = settings.fit(wanderers, noise=pt.SeededNoise(seed))
    assert len(model.systems.sizes) > 1
    made, _ = model.sample_block(range(1000), 1)
    for first, last in pairwise(made.offsets.tolist()):
        assert len({*(made.points[first:last, 1] > 5).tolist()}) == 1
    assert np.diff(made.offsets).mean() > 1.5


def test_walks_cross_the_antimeridian() -> None:
    region = pt.Region.box(179, -18, -178.5, -16.5, crs="lonlat")
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.normal(0, 0.15, (300, 8, 2)), axis=1) + np.array([180.2, -17.2])
    points = np.where(steps > 180, steps - [360, 0], steps).reshape(-1, 2)
    source = pt.Trajectories(points, np.arange(0, 2401, 8), crs="lonlat")
    model = pt.DPT(epsilon=50, region=region, finest=8, keep=1e-9).fit(source, noise=pt.SeededNoise(1))
    made = model.sample(500, seed=1)
    assert region.contains(made.points).all() and made.crs == "lonlat"
    east = made.points[:, 0] < 0
    crossing = [len({*east[a:b].tolist()}) for a, b in pairwise(made.offsets.tolist())]
    assert crossing.count(2) > 50


def test_contexts_are_held_back(wanderers: pt.Trajectories, region: pt.Region) -> None:
    settings = pt.DPT(epsilon=4, region=region, finest=8, height=5, max_contexts=20, **ALL)
    model = settings.fit(wanderers, noise=pt.SeededNoise(1))
    assert np.diff(model.contexts.first).max() == 20 and len(model.events) <= 80


def test_sizes_follow_the_rule(region: pt.Region) -> None:
    """The finest system is the largest of 2, 3, 4, 6, 8, ... whose nodes would hold more than noise."""
    settings = pt.DPT(epsilon=1, region=region)
    rule = [size for k in range(9) for size in (2 << k, 3 << k) if size <= 512]
    error = math.sqrt(2) * 3 / 0.8
    for size in rule:
        needed = size**2 * 9 * settings.load * error
        assert settings.finest_size(needed * 1.001) == size
        assert settings.finest_size(needed * 0.999) == max([s for s in rule if s < size], default=2)
    assert settings.finest_size(0.0) == 2 and settings.finest_size(2.0**39) == 512
    assert pt.DPT(epsilon=1, region=polygons.region("ell")).finest_size(2.0**39) == 64
    assert pt.DPT(epsilon=1, region=region, finest=7).finest_size(2.0**39) == 7


@pytest.mark.parametrize(
    ("finest", "most", "sizes"),
    [
        (1, 8, (1,)),
        (2, 8, (2,)),
        (3, 8, (3,)),
        (12, 8, (12, 6, 3)),
        (64, 8, (64, 32, 16, 8, 4, 2)),
        (512, 3, (512, 256, 128)),
        (10, 1, (10,)),
    ],
)
def test_systems_are_halves(finest: int, most: int, sizes: tuple[int, ...], region: pt.Region) -> None:
    assert pt.DPT(epsilon=1, region=region, max_systems=most).sizes(finest) == sizes


def test_sizes_and_thresholds_follow_the_noise_of_the_unit(region: pt.Region) -> None:
    """Five trajectories of a user make noise five times as large, like a fifth of epsilon."""
    users = pt.DPT(epsilon=1, region=region, unit="user", max_per_user=5)
    fifth = pt.DPT(epsilon="0.2", region=region)
    assert (
        users.finest_size(900_000)
        == fifth.finest_size(900_000)
        < pt.DPT(epsilon=1, region=region).finest_size(900_000)
    )
    assert Growth.of(users) == Growth.of(fifth)
    systems = Systems(region.for_data("planar"), (8, 4, 2))
    usage = np.array([20_000, 3000, 400]) * WEIGHT
    assert kept(systems, usage, users).sizes == kept(systems, usage, fifth).sizes
    assert Growth.of(fifth).least == math.ceil(2 * math.sqrt(2) * 5 * 3 / 0.8 * WEIGHT)


def test_the_budget_is_divided_exactly(region: pt.Region) -> None:
    def shares(**settings: Any) -> dict[str, Fraction]:
        budget = pt.DPT(epsilon="0.5", region=region, **settings).budget
        assert sum(budget.values()) == Fraction(1, 2)
        return {stage: 200 * epsilon for stage, epsilon in budget.items()}

    levels = {f"level {level}": Fraction(80, 3) for level in (1, 2, 3)}
    assert shares() == {"count": 2, "systems": 8, "starts": 10, **levels}
    assert shares(public_count=9) == {"systems": 10, "starts": 10, **levels}
    assert shares(height=2)["level 2"] == 40 and "level 3" not in shares(height=2)
    assert list(shares()) == ["count", "systems", "starts", "level 1", "level 2", "level 3"]


@pytest.mark.parametrize("settings", [{}, {"height": 5}, {"public_count": 600, "max_systems": 1}])
def test_the_charges_of_a_fit_are_the_planned_ones(
    settings: dict[str, Any], wanderers: pt.Trajectories, region: pt.Region
) -> None:
    synthesizer = pt.DPT(epsilon="0.7", region=region, **settings)
    planned = synthesizer.plan(600)
    model = synthesizer.fit(wanderers, noise=pt.SeededNoise(4))
    charges = model.release.charges
    assert [(stage.stage, stage.epsilon) for stage in planned.stages] == [(c.stage, c.epsilon) for c in charges]
    assert [stage.scale for stage in planned.stages] == [c.scale_in_trajectories for c in charges]
    statement = " ".join(text for _, text in model.release.statement())
    assert all(charge.stage in statement for charge in charges)
    assert "after contexts of 1 cell, where every trip contributes a total weight of 1" in statement
    assert {charge.sensitivity for charge in charges} == {WEIGHT}


def test_plans_warn_where_the_rule_ends(region: pt.Region) -> None:
    settings = pt.DPT(epsilon=1, region=region)
    assert "stops at 512 cells per side" in " ".join(settings.plan(1 << 39).warnings)
    assert not settings.plan(25_000).warnings
    assert not pt.DPT(epsilon=1, region=region, finest=512).plan(1 << 39).warnings


def test_a_summary_in_words(noiseless: DPTModel) -> None:
    sizes = noiseless.summary()
    assert sizes["cells per side of the finest"] == 16 and sizes["reference systems"] == 4
    assert sizes["cells"] == len(noiseless.starts) and sizes["contexts"] == len(noiseless.events)


def test_long_walks_are_made_in_small_blocks(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.DPT(epsilon=1, region=region, max_steps=1_000_000).fit(wanderers, noise=pt.SeededNoise(1))
    assert model.longest_walk == 1_000_001 and model.block_trajectories == 4


def test_walks_cut_short_are_told(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.DPT(epsilon=10, region=region, max_steps=2).fit(wanderers, noise=pt.SeededNoise(1))
    with pytest.warns(pt.CappedWalks, match="walks reached --max-steps"):
        made = model.sample(500, seed=1)
    assert np.diff(made.offsets).max() == 3


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"height": 1}, r"height\) must be a whole number from 2 to 6"),
        ({"height": 7}, r"height\) must be"),
        ({"height": 2.0}, r"height\) must be"),
        ({"finest": 0}, r"finest\) must be a whole number from 1 to 512"),
        ({"finest": 513}, r"finest\) must be"),
        ({"finest": "8"}, r"finest\) must be"),
        ({"finest": 65, "region": polygons.region("ell")}, r"finest\) must be a whole number from 1 to 64"),
        ({"max_systems": 0}, r"max_systems\) must be a whole number from 1 to 10"),
        ({"max_systems": 11}, r"max_systems\) must be"),
        ({"max_systems": True}, r"max_systems\) must be"),
        ({"mapping": "slow"}, r"mapping\) must be 'speed' or 'coarsest', not 'slow'"),
        ({"mapping": None}, r"mapping\) must be"),
        ({"mapping": ["speed"]}, r"mapping\) must be"),
        ({"hysteresis": "no"}, "True or False"),
        ({"hysteresis": 1}, "True or False"),
        ({"keep": 0}, r"keep\) must be a positive"),
        ({"keep": None}, r"keep\) must be a positive"),
        ({"expand": -1}, r"expand\) must be a positive"),
        ({"expand": math.inf}, r"expand\) must be a positive"),
        ({"max_contexts": 0}, r"max_contexts\) must be a whole number from 1"),
        ({"max_contexts": 10**9}, r"max_contexts\) must be"),
        ({"heading_moves": 0}, r"heading_moves\) must be a whole number from 1"),
        ({"heading_moves": 1001}, r"heading_moves\) must be"),
        ({"heading_strength": -1}, r"heading_strength\) must be a number from 0 to 10, not -1"),
        ({"heading_strength": 10.5}, r"heading_strength\) must be a number from 0 to 10, not 10.5"),
        ({"heading_strength": math.nan}, r"heading_strength\) must be"),
        ({"heading_strength": "1"}, r"heading_strength\) must be"),
        ({"heading_strength": None}, r"heading_strength\) must be"),
        ({"heading_strength": False}, r"heading_strength\) must be"),
        ({"heading_strength": True}, r"heading_strength\) must be"),
        ({"max_steps": 0}, r"max_steps\) must be"),
        ({"max_steps": 10**7}, r"max_steps\) must be"),
        ({"trees_share": "0.6"}, "shares of systems, starts and trees must add up to exactly 1"),
        ({"count_share": "0.1"}, "must be smaller"),
        ({"starts_share": "0"}, r"starts_share\) must be a positive"),
    ],
)
def test_bad_settings_are_refused_in_words(settings: dict[str, Any], word: str, region: pt.Region) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        pt.DPT(**{"epsilon": 1, "region": region, **settings})


def test_the_same_settings_are_the_same_file(region: pt.Region) -> None:
    plain = pt.DPT(epsilon=1, region=region, height=2, finest=4, heading_strength=0, keep=1)
    fancy = pt.DPT(
        epsilon=np.float64(1),
        region=region,
        height=np.int8(2),
        finest=np.uint64(4),
        heading_strength=np.float32(0),
        keep=np.int64(1),
    )
    assert plain.own_settings() == fancy.own_settings()
    one, two = (to_bytes(setup.fit(creeping(), noise=pt.SeededNoise(1))) for setup in (plain, fancy))
    assert one == two


def edits() -> dict[str, Edit]:
    def impossible(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays["events"][0, SWITCH] = 1  # to its own system

    def longer(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        row, move = np.argwhere(arrays["events"][:20, :STOP] < 0)[0]
        arrays["events"][row, move] = 1 << 40

    def large(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Ask for half a million cells, and bring none."""
        header["settings"]["finest"] = 512
        given("sizes", lambda sizes: [512 >> k for k in range(8)])(header, arrays)
        given("usage", lambda usage: [1 << 59] * 8)(header, arrays)

    return {
        "no sizes": given("sizes", lambda sizes: []),
        "size zero": given("sizes", lambda sizes: [0]),
        "sizes zero": given("sizes", lambda sizes: sizes * 0),
        "negative sizes": given("sizes", lambda sizes: -sizes),
        "a huge size": given("sizes", lambda sizes: [100_000]),
        "the largest size": given("sizes", lambda sizes: [2**31 - 1]),
        "the least size": given("sizes", lambda sizes: [-(2**31)]),
        "sizes that are not halves": given("sizes", lambda sizes: [8, 4, 3]),
        "sizes upside down": given("sizes", lambda sizes: sizes[::-1]),
        "a size too few": given("sizes", lambda sizes: sizes[:-1]),
        "a size too many": given("sizes", lambda sizes: [*sizes, 1]),
        "other sizes": given("sizes", lambda sizes: sizes * 2),
        "half a million cells": large,
        "usage of fewer systems": given("usage", lambda usage: usage[:-1]),
        "no usage": given("usage", lambda usage: []),
        "other systems used": given("usage", lambda usage: usage * [0, 1, 1]),
        "a start too few": given("starts", lambda starts: starts[:-1]),
        "a start too many": given("starts", lambda starts: [*starts, 0]),
        "no starts": given("starts", lambda starts: []),
        "an arrival too few": given("arrivals", lambda arrivals: arrivals[:-1]),
        "an arrival too many": given("arrivals", lambda arrivals: [*arrivals, 0]),
        "fewer cells arrived at": given("arrivals", lambda arrivals: arrivals * 0),
        "more cells arrived at": given("arrivals", lambda arrivals: arrivals * 0 + (1 << 40)),
        "a row too few": given("events", lambda events: events[:-1]),
        "a row too many": given("events", lambda events: [*events, events[0]]),
        "no rows": given("events", lambda events: events[:0]),
        "a column too few": given("events", lambda events: events[:, :-1]),
        "no columns": given("events", lambda events: events[:, :0]),
        "a longer context": longer,
        "something impossible": impossible,
        "negative count": array("count", -1),
        "two counts": given("count", lambda count: [1, 2]),
        "another height": setting(height=4),
        "another finest": setting(finest=16),
        "fewer systems": setting(max_systems=2),
        "another threshold": setting(expand=1.0),
        "few contexts": setting(max_contexts=5),
        "keeping less": setting(keep=1e6),
        "unknown mapping": setting(mapping="slow"),
        "height as float": setting(height=3.0),
        "strength as whole number": setting(heading_strength=1),
        "strength as truth": setting(heading_strength=False),
        "other shares": setting(trees_share="0.6", starts_share="0.3"),
        "unknown setting": setting(host="here"),
        **{
            f"{name} beyond the ledger's limit ({sign:+})": array(name, sign * ((1 << 60) + 1))
            for name in ("usage", "starts", "arrivals", "events")
            for sign in (1, -1)
        },
        "least of all numbers": array("events", -(1 << 63)),
    }


@pytest.fixture(scope="module")
def content(wanderers: pt.Trajectories, region: pt.Region) -> bytes:
    synthesizer = pt.DPT(epsilon=4, region=region, finest=8, keep=1e-9)
    return to_bytes(synthesizer.fit(wanderers, noise=pt.SeededNoise(1)))


@pytest.mark.parametrize("name", edits())
def test_files_that_are_not_sound_are_refused(content: bytes, name: str) -> None:
    header, arrays = taken_apart(content)
    assert put_together(header, arrays) == content
    edits()[name](header, arrays)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


def test_sound_files_are_read(content: bytes) -> None:
    model = from_bytes(content)
    assert isinstance(model, DPTModel) and model.systems.sizes == (8, 4, 2) and to_bytes(model) == content
    assert len(model.contexts) > 20 and model.contexts.depth == 2


def test_polygons_of_files_are_checked(wanderers: pt.Trajectories) -> None:
    model = pt.DPT(epsilon=4, region=polygons.region("mixed 1"), finest=8, keep=1e-9).fit(wanderers)
    header, arrays = taken_apart(to_bytes(model))
    assert len(arrays["starts"]) < 84
    header["settings"]["finest"], arrays["sizes"][:] = 256, [256, 128, 64]
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


@pytest.mark.parametrize("value", [1 << 60, 1, 0, -(1 << 60)])
@pytest.mark.parametrize("arrivals", [1 << 60, (1 << 60) - 1, 0, -(1 << 60)])
def test_the_largest_numbers_of_a_sound_file_are_walked_on(
    value: int, arrivals: int, region: pt.Region
) -> None:
    """Also where a switch adds up the arrivals in a thousand cells."""
    settings = pt.DPT(epsilon=4, region=region, finest=64, height=2, max_steps=50, keep=1e-9)
    header, arrays = taken_apart(to_bytes(settings.fit(trajectories(), noise=pt.NoNoise())))
    systems = Systems(region.for_data("planar"), (64, 2))
    arrays["usage"] = np.array([1 << 60, 0, 0, 0, 0, 1 << 60])
    arrays["starts"] = np.full(systems.n_cells, value)
    arrays["arrivals"] = np.full(systems.n_cells, arrivals)

    def table(contexts: Contexts) -> np.ndarray:
        return np.full((len(contexts), systems.n_events), value)

    arrays["events"] = grow(systems, arrays["arrivals"], Growth.of(settings), table)[1]
    for entry in header["arrays"]:
        entry[2] = list(arrays[entry[0]].shape)
    model = from_bytes(put_together(header, arrays))
    assert isinstance(model, DPTModel) and model.systems.sizes == (64, 2)
    made, _ = model.sample_block(range(300), 1)
    assert len(made) == 300 and made.points.min() >= 0 and made.points.max() <= 10
    assert (np.diff(made.offsets).max() > 1) == (arrivals > 0 and value > 0)


def test_parts_are_cut_where_jumps_fill_many_cells(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesizer = pt.DPT(epsilon=1, region=region, finest=64)
    whole = synthesizer.fit(wanderers, noise=pt.SeededNoise(1))
    monkeypatch.setattr("privtrace.privacy.crossing._MOST_ENTRIES", 64 * 100)
    assert to_bytes(synthesizer.fit(wanderers, noise=pt.SeededNoise(1))) == to_bytes(whole)
