"""What synthetic trips of a model say: as a slow count over the same trips has it, beside what was measured."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any
from unittest import mock
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import shapely
from tests import polygons

import privtrace as pt
from privtrace.methods import counting, estimating, foreseeing
from privtrace.methods.estimating import Estimates
from privtrace.methods.fitted import Fitted, Hours, Spread, fitted
from privtrace.privacy.unit import WEIGHT
from privtrace.runs import Runs
from privtrace.timing.bins import N_PARTS, POINTS, SECONDS, SPEEDS, TICKS

METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}
SIZES: dict[str, dict[str, Any]] = {
    "bridgetrace": {"K": 3, "rounds": 1, "max_states": 200, "max_zones": 9},
    "privtrace": {"K": 3},
    "adatrace": {"N": 4},
    "dpt": {"finest": 8, "keep": 1e-9},
}
BOX = pt.Region.box(0, 0, 1000, 1000, crs="planar")
ZONE = "America/New_York"
MONDAY = np.datetime64("2024-02-05T00:00:00", "s")  # local time


@cache
def commuters(zone: str = ZONE, step_s: int = 15) -> pt.Trajectories:
    """Give 120 trips: most leave the southwest from 8 to 9 on weekdays, the others go back at 18 on any day."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(4, 20, 120)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    points, times = np.empty((offsets[-1], 2)), np.empty(offsets[-1], "datetime64[ms]")
    for trip, (first, last) in enumerate(pairwise(offsets.tolist())):
        out = trip % 4 < 3
        here, there = rng.uniform(30, 250, 2), rng.uniform(700, 970, 2)
        ways = np.linspace(0, 1, last - first)[:, np.newaxis]
        points[first:last] = here + ways * (there - here) if out else there + ways * (here - there)
        day, hour = rng.integers(0, 5 if out else 7), 8 if out else 18
        departure = MONDAY + np.timedelta64(int(86_400 * day + 3600 * hour + rng.integers(0, 3600)), "s")
        local = departure.astype("datetime64[ms]") + np.arange(last - first) * np.timedelta64(
            1000 * step_s, "ms"
        )
        times[first:last] = local - offset_of(zone)
    return pt.Trajectories(points, offsets, times, crs="planar", zone=zone)


def offset_of(zone: str) -> np.timedelta64:
    """Give how far a zone is ahead of UTC in that week, in which no clock changes."""
    offset = MONDAY.item().replace(tzinfo=ZoneInfo(zone)).utcoffset()
    return np.timedelta64(int(offset.total_seconds()), "s")


@cache
def model_of(method: str, region: pt.Region = BOX, **settings: Any) -> Any:
    made = METHODS[method](epsilon=1000, region=region, times=True, **SIZES[method], **settings)
    return made.fit(commuters(), noise=pt.NoNoise())


def shown(model: Any) -> Fitted:
    """Count as many trips as the model has: slow counts take their time."""
    with mock.patch.multiple(foreseeing, PER_TRIP=1, LEAST_TRIPS=1):
        return fitted(model)


def hours_of(model: Any) -> Hours:
    found = shown(model).hours
    assert found is not None
    return found


@cache
def shown_of(method: str, region: pt.Region = BOX) -> Fitted:
    return shown(model_of(method, region))


@cache
def trips_of(method: str, region: pt.Region = BOX) -> list[tuple[Any, Any, int]]:
    """List the points, seconds and part of the day of each trip that is counted: the first ones of seed 0."""
    made = model_of(method, region).sample(shown_of(method, region).sampling.count, seed=0)
    zone, listed = ZoneInfo(ZONE), []
    for first, last in pairwise(made.offsets.tolist()):
        seconds = made.times[first:last].astype("datetime64[ms]").astype(np.int64) / 1000
        hour = made.times[first].astype("datetime64[s]").item().replace(tzinfo=ZoneInfo("UTC"))
        listed.append((made.points[first:last], seconds, hour.astimezone(zone).hour // 4))
    return listed


REGIONS = {"box": BOX, "polygon": polygons.region("frame")}
AREAS = pytest.mark.parametrize("area", REGIONS)
EACH = pytest.mark.parametrize("method", METHODS)


def region_of(area: str) -> pt.Region:
    return BOX if area == "box" else _stretched(REGIONS[area])


@cache
def _stretched(region: pt.Region) -> pt.Region:
    """Bring a polygon to the size of the box."""
    assert region.shape is not None
    west, south, east, north = region.bounds
    sizes = np.array([1000 / (east - west), 1000 / (north - south)])
    rings = [((np.array(ring) - [west, south]) * sizes).tolist() for ring in region.shape.rings]
    return pt.Region.polygon([rings], crs="planar")


def cell_of(grid: Any, point: Any) -> int:
    """Find a cell by its box, or -1; on a side, that to the east or north."""
    west, south, east, north = grid.boxes.T
    edge_x, edge_y = grid.region.bounds[2:]
    across = (west <= point[0]) & ((point[0] < east) | ((point[0] == edge_x) & (east == edge_x)))
    up = (south <= point[1]) & ((point[1] < north) | ((point[1] == edge_y) & (north == edge_y)))
    found = np.flatnonzero(across & up)
    return int(found[0]) if len(found) else -1


def assert_bounded(estimates: Estimates) -> None:
    low, values, high = estimates.low, estimates.numbers.values, estimates.high
    assert np.all(low >= 0) and np.all(low <= values) and np.all(values <= high) and np.isfinite(high).all()


@EACH
@AREAS
def test_cells_and_trips_are_those_of_samples(method: str, area: str) -> None:
    found, trips = shown_of(method, region_of(area)), trips_of(method, region_of(area))
    per_trip = model_of(method, region_of(area)).count / WEIGHT / len(trips)
    assert found.sampling.per_trip == pytest.approx(per_trip) and len(found.cells) == len(found.view.layers)
    for layer, cells in zip(found.view.layers, found.cells, strict=True):
        for end, estimates in ((0, cells.starts), (-1, cells.ends)):
            at = Counter(cell_of(layer.grid, points[end]) for points, _, _ in trips)
            wanted = [at[cell] * per_trip for cell in range(layer.grid.n_cells)]
            np.testing.assert_allclose(estimates.table, wanted)
            assert_bounded(estimates)
        touched, crossed = passing(layer.grid, [points for points, _, _ in trips])
        assert np.all(cells.trips.table >= (crossed - 1e-6) * per_trip)
        assert np.all(cells.trips.table <= (touched + 1e-6) * per_trip)
        runs = Runs(
            layer.grid.region.meters(np.concatenate([points for points, _, _ in trips])),
            np.concatenate([[0], np.cumsum([len(points) for points, _, _ in trips])]),
        )
        np.testing.assert_allclose(cells.visits.table, layer.visited(runs) * per_trip, rtol=1e-9, atol=1e-9)
        assert_bounded(cells.trips)
        assert_bounded(cells.visits)
    between = Counter(tuple(cell_of(found.zones, points[end]) for end in (0, -1)) for points, _, _ in trips)
    n = found.zones.n_cells
    table = found.trips.table.reshape(n, n)
    assert {pair: round(table[pair] / per_trip) for pair in map(tuple, np.argwhere(table).tolist())} == between
    assert_bounded(found.trips)


def passing(grid: Any, lines: list[Any]) -> tuple[Any, Any]:
    """Count lines that touch cells, and those with some length in them or a beginning: by layers of cells."""
    boxes, touched, crossed = shapely.box(*grid.boxes.T), 0, 0
    for points in lines:
        line = shapely.LineString(points) if len(points) > 1 else shapely.Point(points[0])
        touched = touched + shapely.intersects(boxes, line)
        inside = shapely.length(shapely.intersection(boxes, line)) > 1e-6
        inside[cell_of(grid, points[0])] = True
        crossed = crossed + inside
    return touched, crossed


@EACH
@AREAS
def test_trips_by_part_are_those_of_samples(method: str, area: str) -> None:
    found, trips = shown_of(method, region_of(area)), trips_of(method, region_of(area))
    assert found.hours is not None
    counts = Counter(
        (part, cell_of(found.zones, points[0]), cell_of(found.zones, points[-1])) for points, _, part in trips
    )
    n, per_trip = found.zones.n_cells, found.sampling.per_trip
    table = found.hours.trips.table.reshape(N_PARTS, n, n)
    assert {key: round(table[key] / per_trip) for key in map(tuple, np.argwhere(table).tolist())} == counts
    assert_bounded(found.hours.trips)
    np.testing.assert_allclose(table.sum(axis=0).ravel(), found.trips.table)


@EACH
def test_departures_are_as_measured_with_the_error_of_the_ledger(method: str) -> None:
    settings = METHODS[method](epsilon=100, region=BOX, times=True, **SIZES[method])
    model = settings.fit(commuters(), noise=pt.SeededNoise(1))
    hours = hours_of(model)
    assert np.array_equal(hours.measured.values, model.timing.timetable.departures / WEIGHT)
    scale = {charge.stage: charge.scale_in_trajectories for charge in model.release.charges}["departures"]
    assert hours.measured.error == pytest.approx(math.sqrt(2) * scale)
    assert hours.chances.sum() == pytest.approx(1) and np.all(hours.chances >= 0)
    assert hours.calendar == model.release.calendar
    assert hours.departures.table.sum() == pytest.approx(model.count / WEIGHT)
    assert_bounded(hours.departures)


def test_departures_are_in_local_hours() -> None:
    """Without noise the hours are exact: 90 trips at 8 from Monday to Friday, and 30 at 18 on any day."""
    hours = hours_of(model_of("bridgetrace"))
    exact = hours.measured.values.reshape(7, 24)
    assert exact[:5, 8].sum() == 90 and exact[:, 18].sum() == 30 and exact.sum() == 120
    # Shares are those of 120 trips that were sampled: within three standard deviations.
    assert hours.shares[2] == pytest.approx(0.75, abs=0.12) and hours.shares[4] == pytest.approx(0.25, abs=0.12)
    assert hours.chances.reshape(7, 24)[:, [8, 18]].sum() > 0.9
    drawn = hours.departures.table.reshape(7, 24)
    assert drawn[:, 8].sum() == pytest.approx(90, abs=14) and drawn[:, [8, 18]].sum() > 0.9 * drawn.sum()


def test_hours_of_days_that_the_period_lacks_have_no_chance() -> None:
    hours = hours_of(model_of("bridgetrace", period="2024-02-06/2024-02-08"))  # Tuesday and Wednesday
    assert hours.measured.values[:24].sum() == 0  # others do not count
    for numbers in (hours.chances, hours.departures.table):
        by_day = numbers.reshape(7, 24).sum(axis=1)
        assert by_day[1:3].sum() == pytest.approx(numbers.sum()) and np.all(by_day[[0, 3, 4, 5, 6]] == 0)


@EACH
def test_passing_is_that_of_lines_and_speeds_are_meters_over_seconds(method: str) -> None:
    found, trips = shown_of(method), trips_of(method)
    hours, layers = found.hours, found.view.layers
    assert hours is not None and len(hours.passing) == len(hours.speeds) == len(layers)
    for layer, passed, speeds in zip(layers, hours.passing, hours.speeds, strict=True):
        size = N_PARTS, layer.grid.n_cells
        meters, seconds, n_sampled = (np.zeros(size) for _ in range(3))
        for points, times, part in trips:
            cells = [cell_of(layer.grid, point) for point in points[:-1]]
            np.add.at(meters[part], cells, np.hypot(*np.diff(points, axis=0).T))
            np.add.at(seconds[part], cells, np.diff(times))
            n_sampled[part, [*set(cells)]] += 1
        table = passed.table.reshape(size)
        for part in range(N_PARTS):
            touched, crossed = passing(layer.grid, [points for points, _, when in trips if when == part])
            # A line that meets a corner goes over one of the two cells beside it.
            assert np.all(table[part] >= (crossed - 1e-6) * found.sampling.per_trip)
            assert np.all(table[part] <= (touched + 1e-6) * found.sampling.per_trip)
        assert_bounded(passed)
        assert np.array_equal(speeds.n_sampled, n_sampled)
        assert np.allclose(speeds.meters, meters) and np.allclose(speeds.seconds, seconds)
        assert np.array_equal(np.isnan(speeds.by_part), seconds == 0)
        there = seconds > 0
        assert np.allclose(speeds.by_part[there], meters[there] / seconds[there])
        day = meters.sum(axis=0)[seconds.any(axis=0)] / seconds.sum(axis=0)[seconds.any(axis=0)]
        assert np.allclose(speeds.of_day[seconds.any(axis=0)], day)
    parts = np.array([part for _, _, part in trips])
    assert np.allclose(hours.shares, np.bincount(parts, minlength=N_PARTS) / len(parts))
    coarsest = hours.speeds[0]
    means = coarsest.meters.sum(axis=1) / np.where(
        coarsest.seconds.any(axis=1), coarsest.seconds.sum(axis=1), np.nan
    )
    assert np.allclose(hours.mean_speeds, means, equal_nan=True)


@EACH
def test_spreads_are_as_measured_and_as_samples_have_it(method: str) -> None:
    spreads, timing = {one.name: one for one in shown_of(method).spreads}, model_of(method).timing
    assert [*spreads] == ["duration", "speed", "interval", "jump", "points"]
    table = timing.timetable
    for name, noisy in {
        "points": timing.sampling.points.sum(axis=0),
        "duration": table.paces.sum(axis=0),
        "speed": table.tempos.sum(axis=0),
        "interval": table.ticks,
    }.items():
        assert np.array_equal(spreads[name].noisy.values, noisy / WEIGHT) and noisy.sum() == 120 * WEIGHT
    assert spreads["jump"].noisy is None
    trips = trips_of(method)
    lengths = [np.hypot(*np.diff(points, axis=0).T).sum() for points, _, _ in trips]
    lasting = [times[-1] - times[0] for _, times, _ in trips]
    check(spreads["points"], [len(points) for points, _, _ in trips], np.append(POINTS, 10**9) - 0.5)
    check(spreads["duration"], lasting, np.append(SECONDS, 1e9))
    moving = [length / s for length, s in zip(lengths, lasting, strict=True) if s > 0]
    check(spreads["speed"], moving, np.append(SPEEDS, 1e9))
    jumps = np.zeros(len(spreads["jump"].shares))
    for points, _, _ in trips:
        steps = np.hypot(*np.diff(points, axis=0).T)
        edges = np.append(spreads["jump"].bounds[:-1], 1e9)
        jumps += np.histogram(steps, edges)[0] / max(len(steps), 1)
    assert np.allclose(spreads["jump"].shares, jumps / jumps.sum())
    usual = Counter(
        int(np.histogram(np.diff(t), np.append(SECONDS, 1e9))[0].argmax()) for _, t, _ in trips if len(t) > 1
    )
    assert {
        n: round(share * usual.total()) for n, share in enumerate(spreads["interval"].shares) if share
    } == usual
    assert spreads["interval"].median in TICKS


def check(spread: Spread, sizes: Any, edges: Any) -> None:
    assert np.allclose(spread.shares, np.histogram(sizes, edges)[0] / len(sizes))
    assert spread.median == pytest.approx(np.median(sizes))
    assert np.allclose(spread.bounds[:-1], edges[:-1]) and np.all(np.diff(spread.bounds) > 0)


@pytest.mark.parametrize(
    ("name", "stage", "added"),
    [("points", "points", 21), ("duration", "paces", 21), ("speed", "tempos", 6), ("interval", "ticks", 1)],
)
def test_errors_of_spreads_are_those_of_sums(name: str, stage: str, added: int) -> None:
    (spread,) = (one for one in shown_of("adatrace").spreads if one.name == name)
    charges = model_of("adatrace").release.charges
    scale = {charge.stage: charge.scale_in_trajectories for charge in charges}[stage]
    assert spread.noisy is not None and spread.noisy.error == pytest.approx(math.sqrt(2 * added) * scale)


def test_with_a_public_tick_durations_follow_from_points() -> None:
    model = model_of("bridgetrace", every="15s")
    spreads = {one.name: one for one in shown(model).spreads}
    assert [*spreads] == ["duration", "speed", "jump", "points"]
    points, durations = spreads["points"], spreads["duration"]
    assert np.array_equal(durations.noisy.values, points.noisy.values)
    # Ten points take nine ticks, which lie in the same bin.
    for n in (1, 2, 3, 10, 30):
        place = np.searchsorted(points.bounds, n, side="right")
        assert place == np.searchsorted(durations.bounds, 15 * (n - 1), side="right")


def test_without_times_there_are_no_hours() -> None:
    data = commuters()
    untimed = pt.Trajectories(data.points, data.offsets, crs="planar")
    plain = shown(pt.PrivTrace(epsilon=1, region=BOX).fit(untimed, noise=pt.NoNoise()))
    assert plain.spreads == () and plain.hours is None
    reported = shown(pt.BridgeTrace(epsilon=1, region=BOX, rounds=1).fit(untimed, noise=pt.NoNoise()))
    assert [one.name for one in reported.spreads] == ["jump", "points"] and reported.hours is None
    assert reported.spreads[1].noisy is not None and reported.spreads[1].noisy.values.sum() == 120


@EACH
def test_all_is_counted_on_one_sample(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = model_of(method), []
    for module in (estimating, foreseeing):
        monkeypatch.setattr(module, "MOST_TRIPS", 50)
    real = counting.sample_parts

    def sample_parts(one: Any, count: int, seed: int) -> Any:
        if one is model:
            asked.append((count, seed))
        return real(one, count, seed)

    monkeypatch.setattr(counting, "sample_parts", sample_parts)
    found = fitted(model)
    assert asked == [(50, 0)]
    assert (found.sampling.count, found.sampling.per_trip) == (50, model.count / WEIGHT / 50)
    assert found.trips.table.sum() == pytest.approx(model.n_trajectories, rel=1e-3)
    assert found.hours is not None
    assert found.hours.trips.table.sum() == pytest.approx(model.n_trajectories, rel=1e-3)
    assert found.hours.speeds[0].n_sampled.sum(axis=1).max() <= 50 * found.view.layers[0].grid.n_cells


@EACH
@pytest.mark.parametrize("noise", [pt.NoNoise(), pt.SeededNoise(1)], ids=["exact", "seeded"])
def test_nothing_can_be_shown_too(method: str, noise: Any) -> None:
    """Fits to no data warn of nothing, not of walks that are cut short either: nobody can change that."""
    nothing = pt.Trajectories(
        np.zeros((0, 2)), np.zeros(1, np.int64), np.zeros(0, "datetime64[s]"), crs="planar"
    )
    model = METHODS[method](epsilon=1000, region=BOX, times=True, **SIZES[method]).fit(nothing, noise=noise)
    found = fitted(model)
    assert found.hours is not None and found.hours.chances.sum() == pytest.approx(1)
    for estimates in (
        found.trips,
        found.hours.trips,
        *found.hours.passing,
        *(cells.trips for cells in found.cells),
    ):
        assert_bounded(estimates)
        assert estimates.table.sum() <= model.count / WEIGHT * len(estimates.table)


def test_replicas_are_silent(caplog: pytest.LogCaptureFixture) -> None:
    """A region that is doubted, and a model of noise, were told of when they were fitted: no more of it."""
    region = pt.Region.box(0, 0, 40, 40)
    with pytest.warns(UserWarning, match="wide or high"):
        model = pt.DPT(epsilon="0.01", region=region, public_count=30).fit(
            pt.Trajectories(np.full((30, 2), 20.0), np.arange(31), crs="lonlat")
        )
    caplog.clear()
    fitted(model)  # warnings are errors here
    assert not caplog.records


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Auckland"])
def test_parts_are_those_of_the_zone(zone: str) -> None:
    settings = pt.AdaTrace(epsilon=1000, region=BOX, N=3, times=True)
    hours = hours_of(settings.fit(commuters(zone), noise=pt.NoNoise()))
    assert hours.calendar.zone.name == zone
    assert np.flatnonzero(hours.shares > 0.05).tolist() == [2, 4]
