"""Make the data that methods are checked on: random walks in and around a box, and absurd trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from privtrace.space.region import Region
from privtrace.trajectories import Crs, Integers, Trajectories

#: The region of all checks, and a polygon in it: an island with a lake, and an islet beyond the sea.
BOX = (0.0, 0.0, 10.0, 10.0)
_ISLAND = [(0.5, 0.3), (7.1, 0.8), (9.4, 5.2), (6.0, 6.1), (5.2, 9.3), (0.2, 8.7), (0.5, 0.3)]
_LAKE = [(2.0, 2.0), (4.4, 2.6), (3.7, 4.9), (2.0, 2.0)]
_ISLET = [(8.2, 7.9), (9.9, 8.3), (9.1, 9.8), (8.2, 7.9)]

#: The first of July 2013, in Lisbon, in milliseconds since 1970.
JULY = 1_372_633_200_000

REGIONS: dict[str, Region] = {
    "box": Region.box(*BOX),
    "polygon": Region.polygon([[_ISLAND, _LAKE], [_ISLET]], crs="planar"),
}


def trajectories(*lists: list[tuple[float, float]], crs: Crs = "planar") -> Trajectories:
    """Write trajectories down as lists of points."""
    points = [point for points in lists for point in points]
    offsets = np.cumsum([0, *(len(points) for points in lists)])
    return Trajectories(np.array(points, float).reshape(-1, 2), offsets, crs=crs)


@cache
def wanderers() -> Trajectories:
    """Make 600 random walks in and around the box, of 1 to 60 points, by 200 users in turn."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 60, 600)
    steps = rng.normal(0, 0.7, (lengths.sum(), 2))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    points = np.cumsum(steps, axis=0)
    owner = np.repeat(np.arange(600), lengths)
    points += (rng.beta(2, 4, (600, 2)) * 11 - points[offsets[:-1]])[owner]
    return Trajectories(points, offsets, users=np.arange(600) % 200, crs="planar")


@cache
def timed_wanderers() -> Trajectories:
    """Give the same walks times: they begin in July 2013 in Lisbon; of twenty points, one has no time."""
    rng, walks = np.random.default_rng(6), wanderers()
    gaps = rng.choice([15_000, 15_000, 60_000, 1_234], walks.n_points)
    begin = rng.integers(JULY, JULY + 28 * 86_400_000, len(walks))
    since = np.cumsum(gaps)
    times = since + np.repeat(begin - since[walks.offsets[:-1]], np.diff(walks.offsets))
    times[rng.random(len(times)) < 0.05] = np.iinfo(np.int64).min
    return replace(walks, times=times.view("datetime64[ms]"), zone="Europe/Lisbon")


def zigzag() -> Trajectories:
    """Lead one trajectory over every cell of any grid."""
    side = np.linspace(0.05, 9.95, 60)
    return trajectories([(x, y) for i, x in enumerate(side) for y in (side if i % 2 else side[::-1])])


def million() -> Trajectories:
    """Make one trajectory of a million points."""
    rng = np.random.default_rng(0)
    return Trajectories(rng.uniform(-1, 11, (1_000_000, 2)), np.array([0, 1_000_000]), crs="planar")


ABSURD: dict[str, Callable[[], Trajectories]] = {
    "one point": lambda: trajectories([(5.0, 5.0)]),
    "one point on the edge": lambda: trajectories([(10.0, 10.0)]),
    "empty": lambda: trajectories([]),
    "a million points": million,
    "zigzag over every cell": zigzag,
    "partly outside": lambda: trajectories([(1, 1), (2, 2), (50, 50), (3, 3), (9, 9), (4, 4), (-1, 0)]),
    "not numbers": lambda: trajectories([(np.nan, 1), (1, np.inf), (2, 2), (-np.inf, np.nan), (7, 7)]),
    "to and fro": lambda: trajectories([(1, 1), (9, 9)] * 500),
    "far away": lambda: trajectories([(1e9, 1e9), (-1e300, 4)]),
}


def clocked(milliseconds: list[int] | Integers) -> Trajectories:
    """Lead one trajectory round and round, with a point at each of these times; the least number is none."""
    times = np.array(milliseconds, np.int64)
    round_and_round = np.arange(len(times)) * 0.3
    points = 5 + 3 * np.stack([np.cos(round_and_round), np.sin(round_and_round)], axis=1)
    return Trajectories(
        points, np.array([0, len(times)]), times.view("datetime64[ms]"), crs="planar", zone="Europe/Lisbon"
    )


_NAT, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

#: Trajectories with absurd times, and one whose times are as usual.
ABSURD_TIMES: dict[str, Callable[[], Trajectories]] = {
    "usual times": lambda: clocked(JULY + 15_000 * np.arange(20)),
    "times not increasing": lambda: clocked(
        [JULY, JULY - 5, JULY + 60_000, JULY + 30_000, JULY, JULY + 90_000]
    ),
    "no times": lambda: clocked([_NAT] * 9),
    "times before 1970 and after 9999": lambda: clocked([-1, -(10**15), JULY, _LAST, _LAST - 1, JULY + 9]),
    "the last of all times": lambda: clocked([_LAST - 3, _LAST - 2, _LAST, JULY]),
    "a point each millisecond": lambda: clocked(JULY + np.arange(3_000)),
    "a hundred thousand points": lambda: clocked(JULY + 5_000 * np.arange(100_000)),
    "weeks between points": lambda: clocked(JULY + np.array([0, 6, 7, 13, 14, 30]) * 86_400_000),
    "one point with a time": lambda: clocked([JULY]),
}


def crowd(n_trips: int) -> Trajectories:
    """Scatter the trips of user 99, a point each, among those of 40 others."""
    rng = np.random.default_rng(n_trips)
    mine = Trajectories(
        rng.uniform(0, 10, (n_trips, 2)),
        np.arange(n_trips + 1),
        users=np.full(n_trips, 99),
        ids=np.arange(n_trips),
        crs="planar",
    )
    others = wanderers()
    others = replace(others, users=rng.integers(0, 40, len(others)), ids=np.arange(len(others)))
    both = Trajectories.concatenate([others, mine])
    return both.take(rng.permutation(len(both)))


def without_99(source: Trajectories) -> Trajectories:
    """Leave out all trips of user 99."""
    assert source.users is not None
    return source.take(np.flatnonzero(source.users != 99))


@dataclass(frozen=True, eq=False)
class Cut:
    """Offer trajectories in parts of other sizes. A `Source`."""

    whole: Trajectories
    sizes: list[int]

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self.whole.crs

    @property
    def n_points(self) -> int:
        """Count the points."""
        return self.whole.n_points

    @property
    def gap_minutes(self) -> float | None:
        """Give the gap at which logs were cut."""
        return self.whole.gap_minutes

    @property
    def zone(self) -> str:
        """Say in which time zone times are shown."""
        return self.whole.zone

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass."""
        whole, first = self.whole.joined(), 0
        for size in [*self.sizes, len(whole)]:
            yield whole[first : first + size]
            first += size
