"""What trajectories contribute to the tables of points and times: as a slow oracle has it, and by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests import polygons
from tests.counting import summed
from tests.timing.walks import FIJI, NOON, WEEK_MS, Walk, collected, hour_of_week, odd_walks, slow_tables

import privtrace as pt
from privtrace.calendar import Zone
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.timing import counts, measure
from privtrace.timing.bins import TICK

REGIONS = {
    "box": pt.Region.box(0, 0, 10, 10, crs="planar"),
    "polygon": polygons.region("mixed 0"),
    "Fiji": FIJI,
}
BOX = REGIONS["box"]
SHAPES = {table.stage: table.shape for table in (*measure._POINTS, *measure._CLOCK)}


def tables(
    part: pt.Trajectories, region: pt.Region = BOX, zone: str | None = "UTC", per_side: int = 3
) -> dict[str, Counter[tuple[int, ...]]]:
    """Count as a fit does, without noise."""
    local = None if zone is None else Zone.named(zone)
    runs = counts.trips_of(clip(part, region), region, with_times=zone is not None)
    found = {
        stage: summed(emitted, *SHAPES[stage])
        for stage, emitted in zip(SHAPES, counts.sampling(runs, local), strict=zone is not None)
    }
    if local is not None:
        zones = Grid.uniform(region, per_side)
        found["parts"] = summed(counts.by_part(runs, local, zones), 6, zones.n_cells, zones.n_cells)
    return {
        stage: Counter({tuple(map(int, at)): int(table[tuple(at)]) for at in np.argwhere(table)})
        for stage, table in found.items()
    }


@pytest.mark.parametrize("where", REGIONS)
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_all_tables_are_as_by_definition(where: str, zone: str) -> None:
    walks, region = odd_walks(150, seed=len(zone)), REGIONS[where]
    found, wanted = tables(collected(walks, region), region, zone), slow_tables(walks, region, zone, 3)
    assert {*found} == {*wanted}
    for stage, table in wanted.items():
        assert found[stage] == table, stage
        assert len(table) > 4


def test_nothing_is_read_of_times_without_a_zone() -> None:
    walks = odd_walks(100, seed=3)
    part = collected(walks, BOX)
    found = tables(part, zone=None)
    bare = slow_tables([[(x, y, None) for x, y, _ in walk] for walk in walks], BOX, "UTC", 3)
    assert found == {stage: bare[stage] for stage in ("points", "gaps", "jumps")}
    assert tables(replace(part, times=None), zone=None) == found
    assert (
        tables(replace(part, times=np.arange(part.n_points)))["departures"] == Counter()
    )  # numbers are no clock


@pytest.mark.parametrize("unit", ["s", "us", "ns", "m"])
def test_times_may_have_any_unit(unit: str) -> None:
    walks: list[Walk] = [
        [(float(p), 5.0, None if p == 3 else NOON + 60_000 * p) for p in range(9)] for _ in range(3)
    ]
    assert tables(collected(walks, BOX, unit)) == tables(collected(walks, BOX))


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ([NOON, NOON + 1, NOON + 2], [0, 1, 2]),
        ([NOON, NOON, NOON + 2], [0, 2]),  # the same again
        ([NOON + 2, NOON, NOON + 3], [0, 2]),  # back
        ([None, NOON, None], [1]),
        ([-1, 0, 5], [1, 2]),  # before 1970
        ([NOON, NOON + WEEK_MS, NOON + WEEK_MS + 1], [0, 1]),
        ([NOON, NOON + WEEK_MS + 1, NOON + 7], [0, 2]),
        ([None, None, None], []),
        ([2**62, 2**62 + 1, NOON], [2]),  # after the year 9999
    ],
)
def test_which_points_have_a_time(times: list[int | None], kept: list[int]) -> None:
    part = collected([[(p + 1.0, 5.0, t) for p, t in enumerate(times)]], BOX)
    runs = counts.trips_of(clip(part, BOX), BOX, with_times=True)
    assert np.flatnonzero(runs.times >= 0).tolist() == kept
    assert len(runs.points) == 3  # all of them are points


def test_points_outside_take_their_times_along() -> None:
    """A trip departs where it enters, and what it did before is not looked at."""
    walk: Walk = [(-5.0, 5.0, NOON), (1.0, 5.0, NOON + 3_600_000), (2.0, 5.0, NOON + 3_660_000)]
    found = tables(collected([walk], BOX))
    assert found["departures"] == {(2 * 24 + 13,): WEIGHT}
    assert found["pauses"] == {(1, TICK): WEIGHT}  # one gap, which is its own tick


def test_one_point_departs_and_has_no_pace() -> None:
    found = tables(collected([[(5.0, 5.0, NOON)]], BOX), zone="Europe/Lisbon")
    lisbon = 2 * 24 + 13  # an hour ahead of UTC in summer
    assert found["points"] == {(0, 0): WEIGHT} and found["departures"] == {(lisbon,): WEIGHT}
    assert found["parts"] == {(3, 4, 4): WEIGHT}
    assert not any(
        found[stage] for stage in ("gaps", "ticks", "stretches", "paces", "pauses", "speeds", "tempos")
    )


def test_standing_still_takes_time_and_has_no_gaps() -> None:
    found = tables(collected([[(5.0, 5.0, NOON + 15_000 * p) for p in range(5)]], BOX))
    assert not found["gaps"] and found["speeds"] == {(0,): WEIGHT}
    assert found["ticks"] and found["paces"] and found["tempos"] == {(3, 0): WEIGHT}


def test_local_hours_follow_a_change_of_clocks() -> None:
    """In Lisbon clocks went forward on 2013-03-31 and back on 2013-10-27, both at 1:00 UTC."""
    times = [
        int(np.datetime64(f"2013-{day}T{hour:02}:30", "ms").astype(int))
        for day in ("03-31", "10-27")
        for hour in (0, 1)
    ]
    found = tables(collected([[(5.0, 5.0, t)] for t in times], BOX), zone="Europe/Lisbon")["departures"]
    sunday = 6 * 24
    # Back, the hour from 1:00 comes twice.
    assert found == {(sunday,): WEIGHT, (sunday + 2,): WEIGHT, (sunday + 1,): 2 * WEIGHT}
    assert {hour for (hour,) in found} == {hour_of_week(t, "Europe/Lisbon") for t in times}


def test_far_years_have_hours_too() -> None:
    times = [int(np.datetime64(year, "ms").astype(int)) for year in ("1970-01-01", "2099-06-01", "9999-12-31")]
    found = tables(collected([[(5.0, 5.0, t)] for t in times], BOX))["departures"]
    assert found == Counter({(hour_of_week(t, "UTC"),): WEIGHT for t in times})


def test_whatever_a_trajectory_does_it_weighs_one_at_most() -> None:
    for stage, table in tables(collected(odd_walks(60, seed=9), BOX)).items():
        assert sum(table.values()) <= 60 * WEIGHT, stage
    for walk in odd_walks(60, seed=10):
        assert all(sum(table.values()) <= WEIGHT for table in tables(collected([walk], BOX)).values())


def test_no_trajectories_are_no_counts() -> None:
    assert not any(table for table in tables(collected([], BOX)).values())
    assert not any(table for table in tables(collected([[], []], BOX)).values())
