"""A model as it is shown: without noise, its numbers are those of a slow count over the paths."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.methods.bridgetrace.initial import clean_density
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.systems import STOP
from privtrace.methods.view import MARGIN, Flows, Noisy, Trips, View
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.adjacency import adjacency
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

Path = list[int]

REGIONS = {"box": pt.Region.box(0, 0, 10, 10), "polygon": polygons.region("frame")}


@pytest.fixture(params=REGIONS)
def area(request: pytest.FixtureRequest) -> pt.Region:
    return REGIONS[request.param]


def listed(paths: Paths) -> list[Path]:
    """List the paths that have a cell."""
    return [piece.tolist() for piece in np.split(paths.cells, paths.offsets[1:-1]) if len(piece)]


def counted(things: Callable[[Path], Iterable[Any]], paths: list[Path], entries: Callable[[int], int]) -> Any:
    """Count things of paths slowly, each path weighing one, divided over the entries that its cells make."""
    counts: Counter[Any] = Counter()
    for path in paths:
        for thing in things(path):
            counts[thing] += WEIGHT // entries(len(path))
    return counts


def of_cells(values: Any) -> Counter[int]:
    """Read numbers of cells, but zeros."""
    return Counter({cell: round(value * WEIGHT) for cell, value in enumerate(values.tolist()) if value})


def of_flows(flows: Flows) -> Counter[tuple[int, int]]:
    pairs = zip(flows.origins.tolist(), flows.destinations.tolist(), strict=True)
    return Counter(dict(zip(pairs, [round(weight * WEIGHT) for weight in flows.weights], strict=True)))


def test_bridgetrace(area: pt.Region, wanderers: pt.Trajectories) -> None:
    settings = pt.BridgeTrace(epsilon=1, region=area, K=4, cell_factor=0.5, rounds=0)
    model = settings.fit(wanderers, noise=pt.NoNoise())
    view = model.view()
    coarse, cells = view.layers
    assert 4 * coarse.grid.n_cells < cells.grid.n_cells
    assert of_cells(coarse.visits.values) == counted(
        iter, listed(coarse.grid.encode(clip(wanderers, coarse.grid.region))), lambda n: n
    )
    paths = listed(model.encode(clip(wanderers, model.release.region)))
    links = adjacency(cells.grid)
    linked = {*zip(links.sources.tolist(), links.targets.tolist(), strict=True)}

    def steps(path: Path) -> Iterator[tuple[int, int | None, bool]]:
        """List from where to where a path goes, and whether as if it started; over no side it takes no step."""
        starts = True
        for now, onto in pairwise([*path, None]):
            assert now is not None
            if onto is None or (now, onto) in linked:
                yield now, onto, starts
            starts = (now, onto) not in linked

    visits, starts, ends = cells.numbers
    assert of_cells(visits.values) == weighed(paths, visit_weights(model, coarse.visits))
    for numbers, chosen in (
        (of_cells(starts.values), lambda path: (now for now, _, first in steps(path) if first)),
        (of_cells(ends.values), lambda path: (now for now, onto, _ in steps(path) if onto is None)),
        (
            of_flows(view.moves[0]),
            lambda path: ((now, onto) for now, onto, _ in steps(path) if onto is not None),
        ),
    ):
        assert numbers == counted(chosen, paths, lambda n: n)
    assert_trips_are(view.trips, paths, lambda cell: model.space.zone_of[cell])
    assert view.zones == 0 and 1 < view.trips.n_groups < cells.grid.n_cells


def visit_weights(model: Any, density: Noisy) -> list[int]:
    """Weigh cells as the fit did: the less dense, the more."""
    settings = model.settings
    noisy, error = np.round(density.values * WEIGHT).astype(np.int64), settings.error("density")
    clean = clean_density(noisy, model.count / WEIGHT, error, settings.tuning)
    spread = Grid.uniform(model.release.region, len(model.divisions)).spread(clean)
    return model.space.visit_weights(spread, settings.tuning).tolist()  # type: ignore[no-any-return]


def weighed(paths: list[Path], weights: list[int]) -> Counter[int]:
    """Count the different cells of paths by their weights, each path weighing one."""
    counts: Counter[int] = Counter()
    for path in paths:
        for cell in {*path}:
            counts[cell] += WEIGHT * weights[cell] // sum(weights[one] for one in {*path})
    return counts


def assert_trips_are(trips: Trips | None, paths: list[Path], group_of: Callable[[int], int]) -> None:
    """Look up the groups of first and last cells."""
    assert trips is not None
    n = trips.n_groups
    table = trips.noisy.values.reshape(n, n)
    shown = Counter({(int(a), int(b)): round(table[a, b]) for a, b in np.argwhere(table)})
    assert shown == Counter((group_of(path[0]), group_of(path[-1])) for path in paths)
    assert trips.are_of_cells == (len(trips.groups) == n)


def test_privtrace(area: pt.Region, wanderers: pt.Trajectories) -> None:
    settings = pt.PrivTrace(epsilon=1, region=area, K=3, density_per_cell=40)
    model = settings.fit(wanderers, noise=pt.NoNoise())
    view = model.view()
    coarse, states = view.layers
    assert coarse.grid.n_cells <= 9 < states.grid.n_cells
    assert of_cells(coarse.visits.values) == counted(
        iter, listed(coarse.grid.encode(clip(wanderers, coarse.grid.region))), lambda n: n
    )
    paths = listed(model.encode(clip(wanderers, model.release.region)))
    visits, starts, ends = states.numbers
    assert of_cells(visits.values) == counted(iter, paths, lambda n: n + 1)
    assert of_cells(starts.values) == counted(lambda path: path[:1], paths, lambda n: n + 1)
    assert of_cells(ends.values) == counted(lambda path: path[-1:], paths, lambda n: n + 1)
    assert of_flows(view.moves[0]) == counted(pairwise, paths, lambda n: n + 1)
    assert view.trips is None and view.zones == 1  # where from and where to was not measured together


def test_adatrace(area: pt.Region, wanderers: pt.Trajectories) -> None:
    model = pt.AdaTrace(epsilon=1, region=area, N=4, density_per_cell=20).fit(wanderers, noise=pt.NoNoise())
    view = model.view()
    cells, fine = view.layers
    for layer in view.layers:
        assert of_cells(layer.visits.values) == counted(
            iter, listed(layer.grid.encode(clip(wanderers, layer.grid.region))), lambda n: n
        )
    assert fine.grid.n_cells > cells.grid.n_cells and len(fine.numbers) == 1
    paths = listed(model.encode(clip(wanderers, model.release.region)))
    _, starts, ends = cells.numbers
    assert of_cells(starts.values) == counted(lambda path: path[:1], paths, lambda n: 1)
    assert of_cells(ends.values) == counted(lambda path: path[-1:], paths, lambda n: 1)
    assert_trips_are(view.trips, paths, lambda cell: cell)
    assert view.trips is not None and view.trips.are_of_cells and view.zones == view.trips.layer == 0
    assert of_flows(view.moves[0]) == counted(pairwise, paths, lambda n: n - 1)


def test_dpt(area: pt.Region, wanderers: pt.Trajectories) -> None:
    settings = pt.DPT(epsilon=1, region=area, finest=8, max_systems=2, keep=1e-9, expand=1e-9)
    model = settings.fit(wanderers, noise=pt.NoNoise())
    view = model.view()
    assert [len(layer.grid.divisions) for layer in view.layers] == [4, 8]
    strings = Mapper.of(model.systems, model.settings).strings(clip(wanderers, model.release.region))
    paths = listed(Paths(strings.cells, strings.offsets))
    happenings = listed(Paths(strings.events.astype(np.int32), strings.offsets))
    moves: Counter[tuple[int, int]] = Counter()
    for path, events in zip(paths, happenings, strict=True):
        for move, event in zip(pairwise(path), events, strict=False):
            moves[move] += WEIGHT // (len(path) + 1) * (event < STOP)
    for number, values in enumerate((model.arrivals, model.starts)):
        shown = [of_cells(layer.numbers[number].values) for layer in view.layers]
        assert _together(shown, model) == of_cells(values / WEIGHT)
    assert of_cells(model.arrivals / WEIGHT) == counted(iter, paths, lambda n: n + 1)
    assert of_cells(model.starts / WEIGHT) == counted(lambda path: path[:1], paths, lambda n: 1)
    assert _together([of_flows(flows) for flows in view.moves], model) == +moves


def _together(shown: list[Counter[Any]], model: pt.DPTModel) -> Counter[Any]:
    """Join what is shown of two systems, with cells numbered as the model does: the finest first."""
    first = model.systems.first_cell.tolist()[len(shown) - 1 :: -1]
    joined: Counter[Any] = Counter()
    for begins, counts in zip(first, shown, strict=True):
        for key, weight in counts.items():
            joined[key + begins if isinstance(key, int) else tuple(cell + begins for cell in key)] = weight
    return joined


def test_dpt_shows_trips_between_cells_that_are_few_enough(
    region: pt.Region, wanderers: pt.Trajectories
) -> None:
    model = pt.DPT(epsilon=1, region=region, finest=64, max_systems=3, keep=1e-9).fit(
        wanderers, noise=pt.NoNoise()
    )
    view = model.view()
    assert [layer.grid.n_cells for layer in view.layers] == [256, 1024, 4096]
    assert view.zones == 1 and view.trips is None


@pytest.mark.parametrize("method", ["bridgetrace", "privtrace", "adatrace", "dpt"])
def test_trips_are_counted_in_layers_as_those_of_the_data_were(
    method: str, area: pt.Region, wanderers: pt.Trajectories
) -> None:
    """Without noise, what was measured is what counting finds in the trips of the data."""
    model = METHODS[method](epsilon=1, region=area).fit(wanderers, noise=pt.NoNoise())
    runs = clip(wanderers, model.release.region)
    for layer in model.view().layers:
        # Each of hundreds of trips is rounded down by 2**-20 at most.
        np.testing.assert_allclose(layer.visited(runs), layer.visits.values, atol=1e-3)


#: Each noisy number of each method: layer, name, the stage that measured it, and how many are added up.
ERRORS = {
    "bridgetrace": (0, "visits", "density", 1),
    "bridgetrace, cells": (1, "visits", "visits", 1),
    "privtrace": (0, "visits", "density", 1),
    "privtrace, states": (1, "visits", "first order", "states"),
    "privtrace, starts": (1, "starts", "first order", 1),
    "privtrace, ends": (1, "ends", "first order", 1),
    "adatrace": (0, "visits", "density", 1),
    "adatrace, fine": (1, "visits", "fine density", 1),
    "adatrace, starts": (0, "starts", "trips", "states"),
    "adatrace, ends": (0, "ends", "trips", "states"),
    "dpt": (0, "visits", "level 1", 1),
    "dpt, starts": (0, "starts", "starts", 1),
}
METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_those_of_the_ledger(case: str, region: pt.Region, wanderers: pt.Trajectories) -> None:
    layer, name, stage, added = ERRORS[case]
    model = METHODS[case.partition(",")[0]](epsilon=1, region=region).fit(wanderers)
    scale = {charge.stage: charge.scale_in_trajectories for charge in model.release.charges}[stage]
    shown = model.view().layers[layer]
    n_added = shown.grid.n_cells if added == "states" else 1
    (number,) = (number for number in shown.numbers if number.name == name)
    assert number.error == pytest.approx(math.sqrt(2 * n_added) * scale)


@pytest.mark.parametrize(
    ("method", "stage"), [("privtrace", "first order"), ("adatrace", "transitions"), ("dpt", "level 2")]
)
def test_errors_of_moves(method: str, stage: str, region: pt.Region, wanderers: pt.Trajectories) -> None:
    model = METHODS[method](epsilon=1, region=region).fit(wanderers)
    scale = {charge.stage: charge.scale_in_trajectories for charge in model.release.charges}[stage]
    assert {flows.error for flows in model.view().moves} == {math.sqrt(2) * scale}


@pytest.mark.parametrize("method", ["bridgetrace", "adatrace"])
def test_errors_of_trips(method: str, region: pt.Region, wanderers: pt.Trajectories) -> None:
    model = METHODS[method](epsilon=1, region=region).fit(wanderers)
    scale = {charge.stage: charge.scale_in_trajectories for charge in model.release.charges}["trips"]
    trips = model.view().trips
    assert trips is not None and trips.noisy.error == pytest.approx(math.sqrt(2) * scale)


@pytest.mark.parametrize("n_added", [1, 2, 9, 100])
def test_nine_numbers_in_ten_are_off_by_less_than_the_margin(n_added: int) -> None:
    noise = np.random.default_rng(1).laplace(size=(20_000, n_added)).sum(axis=1)
    noisy = Noisy("visits", noise, math.sqrt(2 * n_added))
    assert noisy.margin == MARGIN * noisy.error
    assert np.mean(np.abs(noise) < noisy.margin) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("method", ["bridgetrace", "privtrace"])
def test_the_noise_has_the_error_that_is_shown(
    method: str, region: pt.Region, wanderers: pt.Trajectories
) -> None:
    """Sums of noisy numbers too: of all fits, the errors over the true numbers vary as much as they say."""
    one_size = {
        "bridgetrace": {"K": 4, "cell_factor": 1e6, "rounds": 0},
        "privtrace": {"K": 6, "second_layer": False},
    }
    settings = METHODS[method](epsilon=1, region=region, **one_size[method])
    exact = settings.fit(wanderers, noise=pt.NoNoise()).view().layers[1].numbers
    shown = [settings.fit(wanderers, noise=pt.SeededNoise(seed)).view().layers[1].numbers for seed in range(30)]
    for place, true in enumerate(exact):
        errors = np.array([(numbers[place].values - true.values) / numbers[place].error for numbers in shown])
        assert np.std(errors) == pytest.approx(1, abs=0.1)


def test_flows_come_in_order_and_without_zeros() -> None:
    flows = Flows.of(0, np.array([2, 0, 1, 0]), np.array([1, 3, 1, 2]), np.array([5, 7, 0, 9]) * WEIGHT, 1.5)
    assert flows.origins.tolist() == [0, 0, 2] and flows.destinations.tolist() == [2, 3, 1]
    assert flows.weights.tolist() == [9, 7, 5] and flows.error == 1.5


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", [pt.NoNoise(), pt.SeededNoise(1)], ids=["exact", "seeded"])
def test_nothing_can_be_shown_too(method: str, noise: Any, area: pt.Region) -> None:
    view: View = METHODS[method](epsilon=1, region=area).fit(trajectories(), noise=noise).view()
    assert all(len(number.values) == layer.grid.n_cells for layer in view.layers for number in layer.numbers)
    assert view.trips is None or len(view.trips.noisy.values) == view.trips.n_groups**2
    assert all(layer.visited(clip(trajectories(), area)).sum() == 0 for layer in view.layers)
