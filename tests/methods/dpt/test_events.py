"""Strings of events: against a slow mapper of paths, for both mappings, any systems, boxes and polygons."""

from __future__ import annotations

from collections import deque
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories
from tests.counting import lists
from tests.methods.dpt.test_systems import BOX, SLIVER, place, places

import privtrace as pt
from privtrace.methods.dpt.events import Mapper, Strings
from privtrace.methods.dpt.systems import STOP, SWITCH, Systems
from privtrace.space.clip import clip
from privtrace.space.shortest_paths import DIRECTIONS

SYSTEMS = {
    "box": Systems(BOX, (8, 4, 2)),
    "gap": Systems(BOX, (16, 4)),
    "wide gap": Systems(BOX, (16, 2)),
    "threes": Systems(BOX, (12, 6, 3)),
    "one": Systems(BOX, (5,)),
    "one cell": Systems(BOX, (1,)),
    "sliver": Systems(SLIVER, (8, 4, 2)),
    "two banks": Systems(polygons.region("two banks"), (8, 4, 2)),
    "two banks, joined": Systems(polygons.region("two banks"), (12, 6, 3)),
    **{name: Systems(polygons.region(name), (8, 4, 2)) for name in ("frame", "ell", "mixed 1", "mixed 3")},
    "mixed 1, gap": Systems(polygons.region("mixed 1"), (16, 4)),
}
#: Each system with both mappings, staying in one of them and not in the other; the next the other way round.
WAYS = [
    (name, mapping, stays)
    for number, name in enumerate(SYSTEMS)
    for mapping, stays in (("speed", number % 2 == 0), ("coarsest", number % 2 == 1))
]


@pytest.fixture(params=SYSTEMS)
def systems(request: pytest.FixtureRequest) -> Systems:
    return SYSTEMS[request.param]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}, {way[1]}{', staying' * way[2]}")
def mapper(request: pytest.FixtureRequest) -> Mapper:
    name, mapping, stays = request.param
    return Mapper(SYSTEMS[name], mapping, stays)


class SlowMapper:
    """Encode paths as events slowly, by searches among touching cells."""

    def __init__(self, mapper: Mapper) -> None:
        self.systems, self.mapping, self.stays = mapper.systems, mapper.mapping, mapper.hysteresis
        self.place = cache(lambda cell: place(self.systems, cell))
        self.cells = places(self.systems)
        self.links: dict[int, list[int]] = {cell: [] for cell in range(self.systems.n_cells)}
        for grid, first in zip(self.systems.grids, self.systems.first_cell.tolist(), strict=False):
            for a, b in zip(*(links.tolist() for links in grid.touching().tocoo().coords), strict=True):
                self.links[first + a].append(first + b)
        self.steps_to = cache(self._steps_to)

    def _steps_to(self, goal: int) -> dict[int, int]:
        steps, waiting = {goal: 0}, deque([goal])
        while waiting:
            now = waiting.popleft()
            for other in self.links[now]:
                if other not in steps:
                    steps[other] = steps[now] + 1
                    waiting.append(other)
        return steps

    def next_cell(self, now: int, goal: int) -> int:
        def crow(cell: int) -> int:
            (_, row, column), (_, to_row, to_column) = self.place(cell), self.place(goal)
            return (row - to_row) ** 2 + (column - to_column) ** 2

        steps = self.steps_to(goal)
        return min(sorted(b for b in self.links[now] if steps[b] == steps[now] - 1), key=crow)

    def within(self, cell: int, system: int) -> int | None:
        """Find the cell of another system around a cell of the finest."""
        _, row, column = self.place(cell)
        ratio = self.systems.sizes[0] // self.systems.sizes[system]
        return self.cells.get((system, row // ratio, column // ratio))

    def steps(self, a: int, b: int, system: int) -> int | None:
        """Count the steps between two cells of the finest system in another, if a way leads there."""
        now, goal = self.within(a, system), self.within(b, system)
        return None if now is None or goal is None else self.steps_to(goal).get(now)

    def chosen(self, a: int, b: int, system: int | None) -> int | None:
        by_system = [self.steps(a, b, s) for s in range(len(self.systems.sizes))]
        if self.stays and system is not None and by_system[system] == 1:
            return system
        near = [s for s, steps in enumerate(by_system) if steps in (0, 1)]
        if self.mapping == "speed" and near:
            return near[0]
        apart = [s for s, steps in enumerate(by_system) if steps]
        return apart[-1] if apart else None

    def string(self, path: list[int]) -> tuple[list[int], list[int]]:
        cells: list[int] = []
        events: list[int] = []
        system = None
        for a, b in pairwise(path):
            chosen = self.chosen(a, b, system)
            if chosen is None:
                break
            now, goal = self.within(a, chosen), self.within(b, chosen)
            assert now is not None and goal is not None
            if chosen != system:
                if system is not None:
                    events.append(SWITCH + chosen)
                cells.append(now)
                system = chosen
            while now != goal:
                after = self.next_cell(now, goal)
                (_, row, column), (_, to_row, to_column) = self.place(now), self.place(after)
                events.append(DIRECTIONS.tolist().index([to_column - column, to_row - row]))
                cells.append(after)
                now = after
        if path and not cells:
            cells = path[:1]
        return cells, [*events, STOP] if path else []


def jumpers(n: int = 150) -> pt.Trajectories:
    """Make points that creep, stride and jump, of 0 to 12 points a trajectory."""
    rng = np.random.default_rng(8)
    made = []
    for _ in range(n):
        point = rng.uniform(0, 10, 2)
        points = []
        for _ in range(rng.integers(0, 13)):
            points.append(tuple(point))
            point = np.clip(point + rng.normal(0, rng.choice([0.3, 1.5, 6.0]), 2), 0, 10)
        made.append(points)
    return trajectories(*made)


def as_lists(strings: Strings) -> list[tuple[list[int], list[int]]]:
    bounds = [*pairwise(strings.offsets.tolist())]
    return [(strings.cells[a:b].tolist(), strings.events[a:b].tolist()) for a, b in bounds]


def test_strings_are_those_of_a_slow_mapper(mapper: Mapper, wanderers: pt.Trajectories) -> None:
    slow = SlowMapper(mapper)
    for source in (jumpers(), wanderers[:100]):
        paths = lists(mapper.systems.encode(clip(source, mapper.systems.region)))
        assert as_lists(mapper.strings(clip(source, mapper.systems.region))) == [
            slow.string(path) for path in paths
        ]


def test_every_event_leads_where_it_says(mapper: Mapper) -> None:
    """Moves lead to the neighbor in their direction, switches to a cell around the same place."""
    systems, source = mapper.systems, jumpers()
    finest = partial(place, systems)
    for (cells, events), path in zip(
        as_lists(mapper.strings(clip(source, mapper.systems.region))),
        lists(systems.encode(clip(source, systems.region))),
        strict=True,
    ):
        assert (len(cells) > 0) == (len(path) > 0)
        assert len(cells) == len(events) and events[-1:] == [STOP][: len(cells)] and STOP not in events[:-1]
        for now, after, event in zip(cells[:-1], cells[1:], events[:-1], strict=True):
            assert systems.legal[now, event]
            system, row, column = place(systems, now)
            onto, to_row, to_column = place(systems, after)
            if event < STOP:
                assert onto == system
                assert [to_column - column, to_row - row] == DIRECTIONS[event].tolist()
                continue
            assert onto == event - SWITCH != system
            ratio, to_ratio = systems.sizes[0] // systems.sizes[system], systems.sizes[0] // systems.sizes[onto]
            # One of the two holds the other, and both hold a cell that the path was in.
            small, large = sorted([(ratio, row, column), (to_ratio, to_row, to_column)])
            by = large[0] // small[0]
            assert (small[1] // by, small[2] // by) == large[1:]
            assert any((r // small[0], c // small[0]) == small[1:] for _, r, c in map(finest, path))


def test_a_string_starts_where_its_path_does(mapper: Mapper) -> None:
    slow, source = SlowMapper(mapper), jumpers()
    for (cells, _), path in zip(
        as_lists(mapper.strings(clip(source, mapper.systems.region))),
        lists(mapper.systems.encode(clip(source, mapper.systems.region))),
        strict=True,
    ):
        if path:
            assert cells[0] == slow.within(path[0], place(mapper.systems, cells[0])[0])


def test_moves_are_the_cells_that_have_a_point(mapper: Mapper) -> None:
    strings = mapper.strings(clip(jumpers(), mapper.systems.region))
    for (cells, events), path in zip(as_lists(strings), lists(strings.moves()), strict=True):
        arrived = [True, *(event < STOP for event in events[:-1])][: len(cells)]
        assert path == [cell for cell, is_kept in zip(cells, arrived, strict=True) if is_kept]


def test_strings_of_parts_are_strings_of_the_whole(systems: Systems, wanderers: pt.Trajectories) -> None:
    mapper = Mapper(systems, "speed", False)
    parts = [
        mapper.strings(clip(wanderers[a:b], mapper.systems.region))
        for a, b in ((0, 1), (1, 1), (1, 350), (350, 600))
    ]
    assert [string for part in parts for string in as_lists(part)] == as_lists(
        mapper.strings(clip(wanderers, mapper.systems.region))
    )


SW, S, SE, W, E, NW, N, NE = range(8)


@pytest.mark.parametrize(
    ("mapping", "points", "expected"),
    [
        # Cells of 1.25, 2.5 and 5. A small step is encoded by the small cells,
        ("speed", [(0.1, 0.1), (1.3, 0.1)], [(0, 0, 0), E, (0, 0, 1), STOP]),
        # also over a border of large ones, where "coarsest" takes the large.
        ("speed", [(4.9, 0.1), (5.1, 0.1)], [(0, 0, 3), E, (0, 0, 4), STOP]),
        ("coarsest", [(4.9, 0.1), (5.1, 0.1)], [(2, 0, 0), E, (2, 0, 1), STOP]),
        ("coarsest", [(0.1, 0.1), (1.3, 0.1)], [(0, 0, 0), E, (0, 0, 1), STOP]),
        # A larger one is encoded by larger cells; then the place is looked up in the small ones again.
        (
            "speed",
            [(0.1, 0.1), (2.6, 2.6), (2.6, 1.3)],
            [(1, 0, 0), NE, (1, 1, 1), SWITCH + 0, (0, 2, 2), S, (0, 1, 2), STOP],
        ),
        # A jump over half the box, and back by a small step.
        (
            "speed",
            [(0.1, 0.1), (9.9, 0.1), (8.7, 0.1)],
            [(2, 0, 0), E, (2, 0, 1), SWITCH + 0, (0, 0, 7), W, (0, 0, 6), STOP],
        ),
        ("speed", [(6.0, 9.0)], [(0, 7, 4), STOP]),
        ("coarsest", [(6.0, 9.0), (6.1, 8.9)], [(0, 7, 4), STOP]),
        ("speed", [(-1.0, 9.0)], []),
    ],
)
def test_strings_by_hand(mapping: Any, points: list[tuple[float, float]], expected: list[Any]) -> None:
    systems = SYSTEMS["box"]
    ((cells, events),) = as_lists(
        Mapper(systems, mapping, False).strings(clip(trajectories(points), systems.region))
    )
    assert [place(systems, cell) for cell in cells] == expected[::2] and events == expected[1::2]


def test_staying_saves_switches() -> None:
    """After a large step comes one that small cells could tell, and the larger ones as well."""
    source = trajectories([(0.1, 0.1), (4.9, 0.1), (5.1, 0.1)])
    fresh, staying = (
        as_lists(Mapper(SYSTEMS["box"], "speed", stays).strings(clip(source, SYSTEMS["box"].region)))[0][1]
        for stays in (False, True)
    )
    assert fresh == [E, SWITCH + 0, E, STOP] and staying == [E, E, STOP]


@pytest.mark.parametrize("sizes", [(16, 8, 4), (16, 4), (4,)])
def test_jumps_are_connected_in_the_coarsest_system(sizes: tuple[int, ...]) -> None:
    systems = Systems(BOX, sizes)
    ((cells, events),) = as_lists(
        Mapper(systems, "speed", False).strings(clip(trajectories([(0.1, 0.1), (9.9, 5.1)]), systems.region))
    )
    assert [place(systems, cell) for cell in cells] == [
        (len(sizes) - 1, i, j) for i, j in ((0, 0), (1, 1), (2, 2), (2, 3))
    ]
    assert events == [NE, NE, E, STOP]


def test_a_step_within_a_cell_of_the_only_system_that_could_tell_it_is_no_move() -> None:
    """Of cells of 1/16 and 1/4, neither encodes a step of two small cells in one large."""
    systems = SYSTEMS["gap"]
    ((cells, events),) = as_lists(
        Mapper(systems, "speed", False).strings(clip(trajectories([(0.1, 0.1), (1.3, 0.1)]), systems.region))
    )
    assert [place(systems, cell) for cell in cells] == [(1, 0, 0)] and events == [STOP]


@pytest.mark.parametrize("mapping", ["speed", "coarsest"])
def test_a_string_ends_where_no_way_leads(mapping: Any) -> None:
    systems = SYSTEMS["two banks"]
    across = trajectories([(1.0, 4.0), (1.0, 4.8), (1.0, 5.3), (1.0, 6.5)], [(1.0, 4.8), (1.0, 5.3)])
    first, second = as_lists(Mapper(systems, mapping, False).strings(clip(across, systems.region)))
    assert all(systems.boxes[cell, 3] <= 5 for cell in first[0] + second[0])
    assert len(second[0]) == 1 and second[1] == [STOP]


@pytest.mark.parametrize("mapping", ["speed", "coarsest"])
def test_where_large_cells_know_no_way_smaller_ones_may(mapping: Any) -> None:
    """Parts that meet in a corner of small cells do not in the large ones, whose side it halves."""
    rings = [[[0, 0], [4, 0], [4, 6], [0, 6], [0, 0]], [[4, 6], [12, 6], [12, 12], [4, 12], [4, 6]]]
    systems = Systems(pt.Region.polygon([[ring] for ring in rings], crs="planar"), (6, 3))
    assert [grid.components().max() for grid in systems.grids] == [0, 1]
    strings = Mapper(systems, mapping, False).strings(clip(trajectories([(1, 3), (7, 9)]), systems.region))
    assert [place(systems, cell) for cell in strings.cells.tolist()] == [(0, i, i - 1) for i in (1, 2, 3, 4)]
    assert strings.events.tolist() == [NE, NE, NE, STOP]


@pytest.mark.parametrize("region", [pt.Region.box(179, -18, -179, -16, crs="lonlat")])
def test_strings_cross_the_antimeridian(region: pt.Region) -> None:
    systems = Systems(region, (8, 4, 2))
    source = trajectories([(179.9, -16.9), (-179.9, -16.9), (-179.6, -16.9)], crs="lonlat")
    ((cells, events),) = as_lists(Mapper(systems, "speed", False).strings(clip(source, systems.region)))
    assert [place(systems, cell) for cell in cells] == [(0, 4, 3), (0, 4, 4), (0, 4, 5)] and events == [
        E,
        E,
        STOP,
    ]
