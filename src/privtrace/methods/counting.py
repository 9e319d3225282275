"""Count sampled trips in places, cells or a user's own zones: who passes them, begins and ends in them.

A counter is a pure function of some trips: it says which numbers each of them adds to. Numbers add up over the
blocks of a sample, so that a sample of any size is held block by block. Only synthetic trips come in here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privtrace.caching import cached_property
from privtrace.calendar import Calendar, hours_of_week, seconds_of
from privtrace.compiling import compiled
from privtrace.methods.sampling import sample_parts
from privtrace.methods.view import Layer
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.lattice import cells_of
from privtrace.space.region import Region
from privtrace.space.traverse import trace
from privtrace.timing.bins import HOURS, HOURS_OF_PART, N_PARTS
from privtrace.trajectories import Floats, Integers, Trajectories
from privtrace.zones import Zones

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Numbers that are added up in a table; of more, those that occur are listed.
_MOST_IN_A_TABLE = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """Hold synthetic trips as counters see them: none is empty, and times are those of departures."""

    region: Region
    runs: Runs  # in meters
    hours: Integers  # (n,): local hours of the week in which they depart; zeros without times
    _passed: dict[Places, tuple[Integers, Integers]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, part: Trajectories, region: Region, calendar: Calendar | None) -> Lines:
        """Bring trips to meters, and drop those without a point."""
        present = np.diff(part.offsets) > 0
        offsets = np.append(part.offsets[:-1][present], part.offsets[-1])
        hours = np.zeros(len(offsets) - 1, np.int64)
        if calendar is not None and part.times is not None:
            departures = seconds_of(part.times[offsets[:-1]])
            hours = hours_of_week(calendar.zone.to_local(departures))
        return cls(region, Runs(region.meters(part.points), offsets), hours)

    def __len__(self) -> int:
        return len(self.runs)

    def passed(self, places: Places) -> tuple[Integers, Integers]:
        """Find the places that they pass, once for all counters of the same places."""
        if places not in self._passed:
            self._passed[places] = places.passed(self.runs)
        return self._passed[places]

    @property
    def firsts(self) -> Floats:
        """Give the first points."""
        return self.runs.points[self.runs.offsets[:-1]]

    @property
    def lasts(self) -> Floats:
        """Give the last points."""
        return self.runs.points[self.runs.offsets[1:] - 1]


# --- places: each function gives pairs, of the number of a trip and that of a place ---


class Places(Protocol):
    """Know some places, numbered from 0."""

    @property
    def n(self) -> int:
        """Count the places."""
        ...

    def holding(self, points_m: Floats) -> tuple[Integers, Integers]:
        """Find the places of points: numbers of points, in order, and of places."""
        ...

    def passed(self, runs: Runs) -> tuple[Integers, Integers]:
        """Find the places that lines pass, each once: numbers of lines, in order, and of places."""
        ...


@dataclass(frozen=True, eq=False)
class CellPlaces:
    """Take the cells of a grid for places: a point is in one, or on a polygon's very border in none."""

    grid: Grid

    @property
    def n(self) -> int:
        """Count the cells."""
        return self.grid.n_cells

    def holding(self, points_m: Floats) -> tuple[Integers, Integers]:
        """Look points up."""
        cells = cells_of(points_m, self.grid.lattice)
        there = np.flatnonzero(cells >= 0)
        return there, cells[there].astype(np.int64)

    def passed(self, runs: Runs) -> tuple[Integers, Integers]:
        """Lead lines through the cells."""
        paths = trace(runs, self.grid)
        return _each_once(paths.cells.astype(np.int64), paths.offsets, self.n)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class GroupPlaces:
    """Take groups of cells for places."""

    cells: CellPlaces
    groups: Integers  # (n_cells,): the group of each cell
    n: int

    def holding(self, points_m: Floats) -> tuple[Integers, Integers]:
        """Look points up."""
        points, cells = self.cells.holding(points_m)
        return points, self.groups[cells]

    def passed(self, runs: Runs) -> tuple[Integers, Integers]:
        """Lead lines through the groups."""
        lines, cells = self.cells.passed(runs)
        return np.divmod(np.unique(lines * self.n + self.groups[cells]), self.n)


@dataclass(frozen=True, eq=False)
class ZonePlaces:
    """Take a user's own zones for places: a point may be in several, or in none."""

    zones: Zones

    @property
    def n(self) -> int:
        """Count the zones."""
        return len(self.zones)

    def holding(self, points_m: Floats) -> tuple[Integers, Integers]:
        """Look points up."""
        return self.zones.of_points(self.zones.region.coordinates(points_m))

    def passed(self, runs: Runs) -> tuple[Integers, Integers]:
        """Find the zones that lines touch."""
        return self.zones.passed_by(runs)


@compiled
def _each_once(cells, offsets, n_cells):  # type: ignore[no-untyped-def]
    """List the cells of each path once: numbers of paths, and of cells."""
    latest = np.full(n_cells, -1, np.int64)
    paths, found, n = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64), 0
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1]):
            if latest[cells[p]] != path:
                latest[cells[p]] = path
                paths[n], found[n] = path, cells[p]
                n += 1
    return paths[:n], found[:n]


# --- by departure ---


@dataclass(frozen=True)
class Slots:
    """Divide trips by when they depart."""

    name: str  # "all", "hour", "part" or "weekday"
    n: int
    of_hours: Callable[[Integers], Integers] = field(repr=False)  # from hours of the week

    def codes(self, lines: Lines, trips: Integers, numbers: Integers, n_numbers: int) -> Integers:
        """Give what was found of trips numbers, slot by slot."""
        codes: Integers = self.of_hours(lines.hours)[trips] * n_numbers + numbers
        return codes


#: All trips together, and by local hours of the day, parts of the day, weekdays, or hours of the week.
ALL = Slots("all", 1, lambda hours: np.zeros_like(hours))
SLOTS = {
    "hour": Slots("hour", 24, lambda hours: hours % 24),
    "part": Slots("part", N_PARTS, lambda hours: hours % 24 // HOURS_OF_PART),
    "weekday": Slots("weekday", 7, lambda hours: hours // 24),
}
WEEK = Slots("week", HOURS, lambda hours: hours)


# --- counters ---


#: Kinds of numbers: those of a kind are off alike.
KINDS = ("passing", "visits", "ends", "trips", "departures")


class Counter(Protocol):
    """Say which numbers trips add to, each of them one at most, or a weight."""

    @property
    def kind(self) -> str:
        """Name one of KINDS."""
        ...

    @property
    def size(self) -> int:
        """Count the numbers."""
        ...

    @property
    def slots(self) -> Slots:
        """Say by which hours they are."""
        ...

    def codes(self, lines: Lines) -> tuple[Integers, Floats | None]:
        """List the numbers that trips add to, and with which weights, if not with one."""
        ...


@dataclass(frozen=True, eq=False)
class Passing:
    """Count trips whose line passes a place, each once: (slots, places)."""

    places: Places
    slots: Slots = ALL
    kind: str = "passing"

    @property
    def size(self) -> int:
        """Count the numbers."""
        return self.slots.n * self.places.n

    def codes(self, lines: Lines) -> tuple[Integers, None]:
        """List them."""
        return self.slots.codes(lines, *lines.passed(self.places), self.places.n), None


@dataclass(frozen=True, eq=False)
class Ends:
    """Count trips that begin, or that end, in a place: (slots, places)."""

    places: Places
    at_first: bool
    slots: Slots = ALL
    kind: str = "ends"

    @property
    def size(self) -> int:
        """Count the numbers."""
        return self.slots.n * self.places.n

    def codes(self, lines: Lines) -> tuple[Integers, None]:
        """List them."""
        points = lines.firsts if self.at_first else lines.lasts
        return self.slots.codes(lines, *self.places.holding(points), self.places.n), None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Count trips from a place to a place: (slots, places, places)."""

    places: Places
    slots: Slots = ALL
    kind: str = "trips"

    @property
    def size(self) -> int:
        """Count the numbers."""
        return self.slots.n * self.places.n**2

    def codes(self, lines: Lines) -> tuple[Integers, None]:
        """List them: where zones overlap, a trip leads from each of its origins to each of its destinations."""
        trips, origins = self.places.holding(lines.firsts)
        ending, destinations = self.places.holding(lines.lasts)
        first, last = (np.searchsorted(ending, trips, side=side) for side in ("left", "right"))
        n_each = last - first
        within = np.arange(n_each.sum()) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        destinations = destinations[np.repeat(first, n_each) + within]
        pairs = np.repeat(origins, n_each) * self.places.n + destinations
        return self.slots.codes(lines, np.repeat(trips, n_each), pairs, self.places.n**2), None


@dataclass(frozen=True, eq=False)
class Visits:
    """Count visits of the cells of a layer as they were measured: each trip with a total weight of one."""

    layer: Layer
    slots: Slots = ALL
    kind: str = "visits"

    @property
    def size(self) -> int:
        """Count the numbers."""
        return self.layer.grid.n_cells

    def codes(self, lines: Lines) -> tuple[Integers, Floats]:
        """List all of them, with what the trips add together."""
        return np.arange(self.size), self.layer.visited(lines.runs)


@dataclass(frozen=True, eq=False)
class Departures:
    """Count trips by the hour of the week in which they depart."""

    size: int = HOURS
    slots: Slots = ALL
    kind: str = "departures"

    def codes(self, lines: Lines) -> tuple[Integers, None]:
        """List them."""
        return lines.hours, None


# --- sums ---


@dataclass(frozen=True, eq=False)
class Numbers:
    """Hold numbers of a counter: those that are listed, in order; all others are 0."""

    size: int
    codes: Integers  # (n,): rising
    values: Floats  # (n,)

    def at(self, codes: Integers) -> Floats:
        """Look numbers up."""
        if not len(self.codes):
            return np.zeros(len(codes))
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.values[places], 0.0)

    @cached_property
    def table(self) -> Floats:
        """Lay all numbers out: (size,)."""
        return self.at(np.arange(self.size))


class Sum:
    """Add up what a counter lists of one block of trips after the other."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._table = np.zeros(counter.size if counter.size <= _MOST_IN_A_TABLE else 0)
        self._listed: list[tuple[Integers, Floats]] = []

    def add(self, lines: Lines) -> None:
        """Add some trips."""
        codes, weights = self._counter.codes(lines)
        if len(self._table):
            self._table += np.bincount(codes, weights, len(self._table))
            return
        occurring, places = np.unique(codes, return_inverse=True)
        self._listed.append((occurring, np.bincount(places, weights, len(occurring)).astype(np.float64)))

    def total(self, per_trip: float) -> Numbers:
        """Give the numbers, each trip weighing so much."""
        size = self._counter.size
        if len(self._table):
            return Numbers(size, np.arange(size), self._table * per_trip)
        codes = np.concatenate([np.zeros(0, np.int64), *(some for some, _ in self._listed)])
        values = np.concatenate([np.zeros(0), *(some for _, some in self._listed)])
        occurring, places = np.unique(codes, return_inverse=True)
        sums = np.bincount(places, values, len(occurring)).astype(np.float64)
        return Numbers(size, occurring, sums * per_trip)


def lines_of(model: Model, count: int, seed: int) -> Iterator[tuple[Trajectories, Lines]]:
    """Sample trips block by block, as they are and as counters see them."""
    region, calendar = model.release.region, model.release.times
    for part, _ in sample_parts(model, count, seed):
        yield part, Lines.of(part, region, calendar)


def counted(counters: Sequence[Counter], blocks: Iterable[Lines], per_trip: float) -> list[Numbers]:
    """Count trips, block by block, by each of the counters."""
    sums = [Sum(counter) for counter in counters]
    for lines in blocks:
        for one in sums:
            one.add(lines)
    return [one.total(per_trip) for one in sums]
