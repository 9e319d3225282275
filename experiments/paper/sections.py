"""List what is run: each section with its data sets, methods and settings, epsilons and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import privtrace as pt
from experiments.data import load
from privtrace.datasets import city, moving_objects

#: The paper says "ranging from 0.2 to 2.0".
EPSILONS = ("0.2", "0.4", "0.6", "0.8", "1", "1.2", "1.4", "1.6", "1.8", "2")
FEW = ("0.2", "1", "2")  # of its grids of parameters
RUNS = 10

#: The data sets of the paper, and what stands in for them.
STAND_INS = {
    "brinkhoff": ("Brinkhoff, California, 30,000", "30,000 moving objects of the same generator, in Oldenburg"),
    "porto": ("Taxi, Porto, 200,000", "Porto as it is: 24,725 trips of the same taxis"),
    "geolife": ("Geolife, Beijing, 17,621", "Geolife: 18,361 pieces of the same logs"),
    "city": ("for size: Taxi", "200,000 trips in our invented city"),
}

#: The constant c of the paper for each data set, and the population of the area, which the paper took "from the
#: Internet" and tells for Porto alone: 7.8 million in the bay area of San Francisco, 21.9 million in Beijing.
#: What stands in for a data set takes its numbers, and the city those of Taxi, whose size it has.
PUBLISHED = {
    "brinkhoff": {"c": 5000, "population": 7_800_000},
    "porto": {"c": 1200, "population": 1_310_000},
    "geolife": {"c": 500, "population": 21_900_000},
    "city": {"c": 1200, "population": 1_310_000},
}

#: What the tables call PrivTrace with all that the paper says.
AS_PUBLISHED = "privtrace as published"

OTHERS = ("privtrace", AS_PUBLISHED, "adatrace", "dpt")
METHODS = ("bridgetrace", *OTHERS)

#: The paper's ablations, one component after the other.
ABLATIONS: dict[str, dict[str, Any]] = {
    "first order": {"order": 1, "second_layer": False, "trip_estimation": False},
    "second order": {"order": 2, "second_layer": False, "trip_estimation": False},
    "adaptive": {"second_layer": False, "trip_estimation": False},
    "with second layer": {"trip_estimation": False},
    "with trip estimation": {},
}
BASES = ("ours", "published")

#: Coarse cells per side, and times the population in the rule of the second layer; 0 is without a second layer.
SIZES = (3, 5, 7, 9, 13, 20)
LARGEST = 50
POPULATIONS = (0, 1, 4, 16)

THETA1 = (1, 3, 5)  # times sqrt(2) m / epsilon2
THETA2 = (3, 5, 7)

#: Tenths of epsilon for the grid and for first order; second order gets the rest.
TENTHS = range(1, 9)


@dataclass(frozen=True)
class Section:
    """Say what a part of the evaluation runs on each of its data sets."""

    name: str
    data: tuple[str, ...]
    methods: Callable[[str], Mapping[str, Any]]  # of a data set: by label
    epsilons: tuple[str, ...] = EPSILONS
    runs: int = RUNS
    profile: str = "paper"
    settings: Mapping[str, Any] = field(default_factory=lambda: {"times": False})
    maps: bool = False

    def run(self, data: str, folder: Any) -> pt.Study:
        """Run what is not there yet."""
        trips, region = given(data)
        return pt.compare(
            trips,
            region=region,
            methods=self.methods(data),
            epsilons=self.epsilons,
            runs=self.runs,
            profile=self.profile,
            settings=self.settings,
            results=folder / f"{self.name}-{data}.parquet",
            maps=self.maps,
            costs=False,
        )


@cache
def given(data: str) -> tuple[pt.Trajectories, pt.Region]:
    """Load a data set, or make the city."""
    if data != "city":
        return load(data)
    plan = city(seed=1)
    return moving_objects(plan, 200_000, seed=1), pt.Region.box(*plan.region)


def published(data: str, **settings: Any) -> partial[pt.PrivTrace]:
    """Make PrivTrace as published, with the constants of a data set."""
    return partial(pt.PrivTrace.paper, **PUBLISHED[data], **settings)


def all_methods(data: str) -> dict[str, Any]:
    """Compare all methods, and PrivTrace as published."""
    return {method: published(data) if method == AS_PUBLISHED else method for method in METHODS}


def timed_methods(data: str) -> dict[str, Any]:
    """Compare all methods with times."""
    return {method: method for method in METHODS if method != AS_PUBLISHED}


def ablations(data: str) -> dict[str, Any]:
    """Take components of PrivTrace out, with our sizes and with those of the paper."""
    return {
        ablation_label(words, base): (
            partial(pt.PrivTrace, **own) if base == "ours" else published(data, **own)
        )
        for base in BASES
        for words, own in ABLATIONS.items()
    }


def ablation_label(words: str, base: str) -> str:
    """Name an ablation."""
    return words if base == "ours" else f"{words}, published"


def granularity(data: str) -> dict[str, Any]:
    """Try grids: the paper's formulas at other K and populations, and our rules at the same K and alone."""
    population = PUBLISHED[data]["population"]
    made: dict[str, Any] = {"rule": pt.PrivTrace}
    for size in SIZES:
        made[grid_label(size, None)] = partial(pt.PrivTrace, K=size)
        for times in POPULATIONS:
            own: dict[str, Any] = {"population": times * population} if times else {"second_layer": False}
            made[grid_label(size, times)] = partial(pt.PrivTrace, K=size, **own)
    return made


def largest(data: str) -> dict[str, Any]:
    """Try the finest grid, whose thousands of states take half a minute each."""
    return {grid_label(LARGEST, 0): partial(pt.PrivTrace, K=LARGEST, second_layer=False)}


def grid_label(size: int, times: int | None) -> str:
    """Name a grid; of our rule for the second layer, `times` is None."""
    return f"K={size}, {'rule' if times is None else f'population x {times}'}"


class _Theta1(pt.PrivTrace):
    """Multiply the paper's theta1."""

    factor = 1

    def least_moves(self, n_states: int) -> float:
        return self.factor * super().least_moves(n_states)


def thetas(data: str) -> dict[str, Any]:
    """Try thresholds of model selection, with our sizes and with those of the paper."""
    made: dict[str, Any] = {}
    for base in BASES:
        own = PUBLISHED[data] | {"fallback": False} if base == "published" else {}
        for factor in THETA1:
            kind = type(f"Theta1Times{factor}", (_Theta1,), {"factor": factor})
            made[theta_label(1, factor, base)] = partial(kind, **own)
        for value in THETA2:
            made[theta_label(2, value, base)] = partial(pt.PrivTrace, theta2=value, **own)
    return made


def theta_label(which: int, value: int, base: str) -> str:
    """Name a threshold."""
    return f"theta{which} {'x ' if which == 1 else ''}{value}, {base}"


def budgets(data: str) -> dict[str, Any]:
    """Divide epsilon in other ways."""
    return {
        budget_label(grid, first): partial(
            pt.PrivTrace,
            grid_share=f"0.{grid}",
            first_order_share=f"0.{first}",
            second_order_share=f"0.{10 - grid - first}",
        )
        for grid, first in shares()
    }


def shares() -> Iterator[tuple[int, int]]:
    """List the tenths for the grid and for first order that leave something to second order."""
    return ((grid, first) for grid in TENTHS for first in TENTHS if grid + first < 10)


def budget_label(grid: int, first: int) -> str:
    """Name a division of epsilon."""
    return f"0.{grid} / 0.{first} / 0.{10 - grid - first}"


_REAL = ("brinkhoff", "porto", "geolife")

SECTIONS = (
    Section("end-to-end", _REAL, all_methods, profile="all"),
    Section("end-to-end", ("city",), all_methods, epsilons=FEW),
    Section(
        "times",
        ("porto", "geolife"),
        timed_methods,
        FEW,
        profile="time",
        settings={"times": True},
    ),
    Section("ablations", _REAL, ablations),
    Section("granularity", ("porto",), granularity, FEW),
    Section("largest", ("porto",), largest, FEW, runs=3),
    Section("thetas", ("porto",), thetas),
    Section("budgets", ("porto",), budgets, FEW),
    Section("maps", ("city", "porto"), all_methods, ("1",), runs=2, maps=True),
)
