"""Check what every method promises whoever uses it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from privtrace.backends.local import Threads
from privtrace.errors import CappedWalks, ModelFormatError
from privtrace.export import PRODUCTS, TIMED
from privtrace.methods import model as models_of_methods
from privtrace.methods.estimating import Estimates
from privtrace.methods.fitted import Fitted, fitted
from privtrace.methods.model import Model
from privtrace.methods.usability import BUSY, NOISE, READABLE
from privtrace.models import from_bytes, load, to_bytes
from privtrace.privacy.ledger import CLAMP
from privtrace.privacy.unit import WEIGHT
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.runs import Runs
from privtrace.testing.check import Check, Make
from privtrace.testing.data import REGIONS, Cut, timed_wanderers, trajectories, wanderers
from privtrace.timing.bins import HOURS, N_PARTS
from privtrace.trajectories import Source, Trajectories

EPSILON = "1.5"

#: Sources that hold nothing of use; none of them may be refused, because that would say so.
NOTHING: dict[str, Callable[[], Trajectories]] = {
    "nothing": trajectories,
    "no points": lambda: trajectories([], [], []),
    "all outside": lambda: trajectories([(99, 99)], [(-5, 3), (np.nan, 1)]),
    "one point": lambda: trajectories([(5, 5)]),
}


def contract(make: Make) -> list[Check]:
    """List the checks of the contract."""
    listed: dict[str, Callable[[Make], None]] = {
        "spends exactly its budget": _spends_exactly_its_budget,
        "makes as many as asked, inside the region": _makes_as_many_inside_the_region,
        "survives saving and loading": _goes_through_files,
        "refuses a count that no ledger gives": _refuses_a_bad_count,
        "does not depend on parts and threads": _parts_and_threads_do_not_matter,
        "depends on nothing but the seed when it generates": _output_depends_on_the_seed_alone,
        "says NOT PRIVATE where noise is seeded": _seeded_noise_repeats_and_says_so,
        "writes its promise into files": _the_promise_goes_along,
        "draws other noise every time": _secret_noise_never_repeats,
        **{f"refuses no value: {name}": partial(_refuses_no_value, source=NOTHING[name]) for name in NOTHING},
        "makes no trips when none are asked for": _nothing_is_an_empty_collection,
        "shows what was measured": _shows_what_was_measured,
        "fits numbers with bounds": _fits_numbers_with_bounds,
        "says what can be read": _says_what_can_be_read,
        "shows no more than noise of no data": _shows_nothing_where_there_is_nothing,
        "shows itself on pages": _shows_itself_on_pages,
        "shows itself in exports": _shows_itself_in_exports,
        "plans without data": _plans_without_data,
        "has a repr that recreates it": _settings_come_back,
    }
    made = partial(make)  # of its own, so that it can be the key of what is fitted once, whatever `make` is
    return [Check("contract", name, partial(check, made)) for name, check in listed.items()]


def _made(make: Make) -> Any:
    return make(epsilon=EPSILON, region=REGIONS["box"])


def _fitted(make: Make, source: Source | None = None, **how: Any) -> Model:
    return _made(make).fit(_data(make) if source is None else source, **how)  # type: ignore[no-any-return]


@lru_cache(maxsize=4)
def _model(make: Make) -> Model:
    """Fit once what several checks look at; fits take most of their time."""
    return _fitted(make)


def _data(make: Make) -> Trajectories:
    """Give the wanderers, with times where those are asked for."""
    return timed_wanderers() if _made(make).times else wanderers()


def _sampled(model: Model, count: int | None, seed: int, **how: Any) -> Trajectories:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CappedWalks)  # little data and much noise lead walks round in circles
        return model.sample(count, seed=seed, **how)


def _same(one: Trajectories, two: Trajectories) -> bool:
    if one.zone != two.zone or (one.times is None) != (two.times is None):
        return False
    same = np.array_equal(one.points, two.points) and np.array_equal(one.offsets, two.offsets)
    return same and (one.times is None or two.times is None or np.array_equal(one.times, two.times))


def _inside(made: Trajectories, model: Model) -> bool:
    return bool(np.all(model.release.region.contains(made.points)))


def _spends_exactly_its_budget(make: Make) -> None:
    release = _model(make).release
    assert release.spent == release.epsilon and float(release.epsilon) == float(EPSILON)
    assert release.private


def _makes_as_many_inside_the_region(make: Make) -> None:
    model = _model(make)
    made = _sampled(model, 5000, 1)
    assert len(made) == 5000 and np.diff(made.offsets).min() >= 1
    assert _inside(made, model) and made.crs == "planar"


def _goes_through_files(make: Make) -> None:
    model = _model(make)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        model.save(path)
        again = load(path)
        assert to_bytes(again) == to_bytes(model) == path.read_bytes()
    assert again.release == model.release
    assert _same(_sampled(model, 300, 5), _sampled(again, 300, 5))


def _refuses_a_bad_count(make: Make) -> None:
    model = _model(make)
    for count in (-1, CLAMP + 1):
        try:
            replace(model, count=count)
        except ModelFormatError as error:
            assert "count" in str(error)
        else:
            raise AssertionError("its __post_init__ does not call that of Model")


def _parts_and_threads_do_not_matter(make: Make) -> None:
    whole = to_bytes(_fitted(make, noise=SeededNoise(3), backend=Threads(2)))
    for sizes, n_threads in (([1] * 20, 4), ([0, 300, 0], 1), ([599], 4)):
        cut = Cut(_data(make), sizes)
        other = _fitted(make, cut, noise=SeededNoise(3), backend=Threads(n_threads))
        assert to_bytes(other) == whole, f"parts of {sizes[:3]}, {n_threads} threads"


def _output_depends_on_the_seed_alone(make: Make) -> None:
    model = _model(make)
    whole = _sampled(model, 1000, 2, backend=Threads(1))
    with mock.patch.object(models_of_methods, "BLOCK_TRAJECTORIES", 17):
        for n_threads in (1, 2, 5):
            assert _same(whole, _sampled(model, 1000, 2, backend=Threads(n_threads)))
    fewer = _sampled(model, 100, 2)
    assert _same(fewer, whole[:100])
    assert not np.array_equal(_sampled(model, 100, 3).points[:50], fewer.points[:50])


def _seeded_noise_repeats_and_says_so(make: Make) -> None:
    one, two, other = (_fitted(make, noise=SeededNoise(seed)) for seed in (1, 1, 2))
    assert to_bytes(one) == to_bytes(two) != to_bytes(other)
    assert not one.release.private and "NOT PRIVATE" in one.release.verdict
    assert not from_bytes(to_bytes(one)).release.private
    assert "NOT PRIVATE" in one.release.about["privtrace.guarantee"]


def _the_promise_goes_along(make: Make) -> None:
    import pyarrow.parquet as pq

    for noise in (None, SeededNoise(1)):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "made.parquet"
            model = _model(make) if noise is None else _fitted(make, noise=noise)
            _sampled(model, 20, 1).write(path)
            about = pq.read_schema(path).metadata
        assert (about.get(b"privtrace.private") == b"true") == (noise is None)
        assert (b"NOT PRIVATE" in about[b"privtrace.guarantee"]) == (noise is not None)


def _secret_noise_never_repeats(make: Make) -> None:
    assert to_bytes(_fitted(make)) != to_bytes(_model(make))


def _refuses_no_value(make: Make, source: Callable[[], Trajectories]) -> None:
    data = _nobodys(make, source())
    for seed in range(2):
        model = _fitted(make, data, noise=SeededNoise(seed))
        made = _sampled(model, 50, 1)
        assert len(made) == 50 and _inside(made, model)
        assert len(_sampled(model, None, 1)) == model.n_trajectories


def _nobodys(make: Make, data: Trajectories) -> Trajectories:
    """Give data unknown users and, where times are asked for, a column of times with nothing in it."""
    data = replace(data, users=np.full(len(data), np.nan))
    times = np.full(data.n_points, "NaT", "datetime64[ms]")
    return replace(data, times=times) if _made(make).times else data


def _nothing_is_an_empty_collection(make: Make) -> None:
    made = _sampled(_model(make), 0, 1)
    assert len(made) == 0 and made.crs == "planar"


def _shows_what_was_measured(make: Make) -> None:
    model = _model(make)
    view = model.view()
    assert view.layers and 0 <= view.zones < len(view.layers), "a view needs layers, and one of them for zones"
    for layer in view.layers:
        assert layer.visits.name == "visits", "the first numbers of a layer are visits"
        for noisy in layer.numbers:
            assert len(noisy.values) == layer.grid.n_cells and np.isfinite(noisy.values).all()
            assert noisy.error > 0
    for moves in view.moves:
        n_cells = view.layers[moves.layer].grid.n_cells
        assert (moves.weights > 0).all() and moves.error > 0
        for cells in (moves.origins, moves.destinations):
            assert len(cells) == len(moves.weights) and ((cells >= 0) & (cells < n_cells)).all()
    if view.trips is not None:
        groups = view.trips.groups
        assert len(groups) == view.layers[view.trips.layer].grid.n_cells
        assert view.trips.n_groups**2 == len(view.trips.noisy.values) and view.trips.noisy.error > 0
        assert groups.min() >= 0 and groups.max() < view.trips.n_groups
    made = _sampled(model, 200, 1)
    runs = Runs(model.release.region.meters(made.points), made.offsets)
    visited = [layer.visited(runs) for layer in view.layers]
    assert [len(visits) for visits in visited] == [layer.grid.n_cells for layer in view.layers]
    assert all((visits >= 0).all() for visits in visited) and max(visits.sum() for visits in visited) > 0
    most = len(made) * (1 + 1e-9)
    assert all(visits.sum() <= most for visits in visited), "a trip has a total weight of one at most"


@lru_cache(maxsize=4)
def _fitted_numbers(make: Make) -> Fitted:
    """Count synthetic trips once for the checks of what they say."""
    return fitted(_model(make))


def _fits_numbers_with_bounds(make: Make) -> None:
    model, found = _model(make), _fitted_numbers(make)
    total = model.count / WEIGHT
    assert len(found.cells) == len(found.view.layers)
    for layer, cells in zip(found.view.layers, found.cells, strict=True):
        for estimates in (cells.trips, cells.visits, cells.starts, cells.ends):
            _are_bounded(estimates, layer.grid.n_cells, total)
        for estimates in (cells.starts, cells.ends):  # each trip has one, if not on the border of a polygon
            assert 0.98 * total <= estimates.table.sum() <= total * (1 + 1e-9)
    _are_bounded(found.trips, found.zones.n_cells**2, total)
    has_times = model.release.times is not None
    assert (found.hours is not None) == has_times, "what is fitted has hours if the model has times"
    if found.hours is not None:
        _are_bounded(found.hours.departures, HOURS, total)
        assert np.isclose(found.hours.departures.table.sum(), total)
        _are_bounded(found.hours.trips, N_PARTS * found.zones.n_cells**2, total)
        for layer, passing in zip(found.view.layers, found.hours.passing, strict=True):
            _are_bounded(passing, N_PARTS * layer.grid.n_cells, total)


def _are_bounded(estimates: Estimates, size: int, total: float) -> None:
    """Check that numbers of at most so many trips lie between their bounds, and that none is below zero."""
    values, low, high = estimates.numbers.values, estimates.low, estimates.high
    assert estimates.numbers.size == size and len(values) == len(low) == len(high)
    assert np.isfinite(high).all() and np.isfinite(estimates.high_of_none)
    assert (low >= 0).all() and (low <= values).all() and (values <= high).all()
    assert (values <= total * (1 + 1e-9)).all() and estimates.high_of_none >= 0


def _says_what_can_be_read(make: Make) -> None:
    model = _model(make)
    found = model.usability()
    visits = [level for level in found.levels if level.kind == "visits"]
    n_layers = len(model.view().layers) if model.n_trajectories else 0  # noise may say that there are none
    assert len(visits) == n_layers, "visits of each layer are judged"
    has_hours = model.release.times is not None and model.n_trajectories > 0
    assert any(level.kind == "hours" for level in found.levels) == has_hours
    assert {level.verdict for level in found.levels} <= {READABLE, BUSY, NOISE}
    assert found.verdict and json.loads(json.dumps(found.facts()))["verdict"] == found.verdict
    assert found.is_noise == bool(found.advice)


def _shows_nothing_where_there_is_nothing(make: Make) -> None:
    model = _fitted(make, _nobodys(make, trajectories()), noise=SeededNoise(1))
    found = model.usability()
    assert all(level.verdict != READABLE for level in found.levels), "noise is said to be readable"
    shown = fitted(model)
    for layer, cells in zip(shown.view.layers, shown.cells, strict=True):
        _are_bounded(cells.trips, layer.grid.n_cells, model.count / WEIGHT)
    assert model.release.label in model.report().html


def _shows_itself_on_pages(make: Make) -> None:
    model = _model(make)
    assert all(isinstance(size, int) for size in model.summary().values())
    html = model.report().html
    assert model.release.label in html and escape(model.usability().verdict) in html


def _shows_itself_in_exports(make: Make) -> None:
    model = _model(make)
    has_times = model.release.times is not None
    with TemporaryDirectory() as folder:
        for product in PRODUCTS if has_times else [name for name in PRODUCTS if name not in TIMED]:
            model.export(product, Path(folder) / f"{product}.csv")
            assert (Path(folder) / f"{product}.csv").read_text().count("\n") >= 1


def _plans_without_data(make: Make) -> None:
    settings = _made(make)
    plan = settings.plan(600)
    assert [stage.stage for stage in plan.stages] == [*settings.budget]
    assert plan.states > 0 and plan.memory_mb > 0 and plan.seconds > 0 and plan.grid
    assert settings.at("3").plan(600).stages[0].scale < plan.stages[0].scale


def _settings_come_back(make: Make) -> None:
    settings = _made(make).settled(_data(make))
    release = _model(make).release
    again = type(settings).of_release(release)
    assert again.own_settings() == settings.own_settings() and again.budget == settings.budget
