"""StraightLines: noisy origin-destination pairs, and a straight line for each trip. A method from outside.

It keeps no routes: between its ends, a synthetic trip knows nothing. What it shows is all that a method needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

import privtrace.methods as pm
from privtrace import Trajectories


@dataclass(frozen=True, kw_only=True)
class StraightLines(pm.Settings):
    """Hold the settings; all of them are public."""

    method: ClassVar[str] = "straight-lines"

    cells: int = pm.setting("Cells per side.", pm.Whole(1, 30), 8)
    count_share: str = pm.share("the count (part of the density's share)", "0.02")
    density_share: str = pm.share("the count and the density", "0.2")
    trips_share: str = pm.share("trips", "0.8")

    def check_together(self) -> None:
        """Refuse shares that do not fit each other."""
        self.shares_sum_to_one("density", "trips")
        self.share_is_within("density", "count")

    @property
    def shares(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages."""
        density = self.share_of("density") - self.share_of_count
        return {"count": self.share_of_count, "density": density, "trips": self.share_of("trips")}

    def plan(self, count: int) -> pm.Plan:
        """Say what a fit would give, from public numbers alone."""
        noisy = {"count": "the total", "density": "a cell", "trips": "a trip from cell to cell"}
        grid = f"The grid: {self.cells} x {self.cells} cells; trips are straight lines between them."
        sizes = {"coarse_per_side": self.cells, "states": self.cells**2}
        return self.planned(self.sized_by(count), noisy, grid=grid, memory_mb=30, seconds=1.0, **sizes)


def released(settings: StraightLines, fitting: pm.Fitting) -> dict[str, Any]:
    """Measure a source stage by stage, and give the fields of the model."""
    crossing, grid = fitting.crossing, pm.Grid.uniform(fitting.region, settings.cells)
    n_trajectories = pm.measure_count(crossing, fitting.region, settings.public_count)
    density = pm.measure_density(crossing, grid)
    table = pm.Table("trips", "trips from first to last cell, one per trip", (grid.n_cells, grid.n_cells))
    trips = crossing.measure("Measuring trips", partial(trips_of, grid=grid), table)
    return {"count": round(n_trajectories * pm.WEIGHT), "density": density, "trips": trips}


def trips_of(runs: pm.Runs, grid: pm.Grid) -> pm.Contributions:
    """Emit a trip for each run: a pure function of each of them, which the accumulator bounds."""
    origins, destinations, present = pm.ends(grid.encode(runs))
    return pm.once(origins * grid.n_cells + destinations, present)


@dataclass(frozen=True, eq=False, repr=False)
class StraightLinesModel(pm.Model):
    """Hold what was released: noisy, as measured, in weights of 2**-20 trajectories."""

    density: np.ndarray  # (m,): visits of each cell
    trips: np.ndarray  # (m, m): from first to last cell

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = (self.grid.n_cells, self.grid.n_cells)
        pm.check_sound({"density": self.density.shape == shape[:1] and pm.within_limits(self.density)})
        pm.check_sound({"trips": self.trips.shape == shape and pm.within_limits(self.trips)})

    @property
    def grid(self) -> pm.Grid:
        """Build the grid that the settings name."""
        return pm.Grid.uniform(self.release.region, StraightLines.of_release(self.release).cells)

    @property
    def clean(self) -> np.ndarray:
        """Clean the trips together by NormCut; where noise has left nothing, all stay where they are."""
        clean = pm.normcut(pm.shrunk(self.trips).reshape(1, -1)).reshape(self.trips.shape)
        return clean if clean.any() else np.eye(len(clean), dtype=np.int64)

    @property
    def longest_walk(self) -> int:
        """Bound the points of a walk: both ends."""
        return 2

    def walk(self, trajectories: range, seed: int) -> tuple[pm.Paths, int]:
        """Draw a trip for each trajectory number; none is cut short."""
        trips = pm.choose(self.clean.ravel(), trajectories, seed)
        cells = np.stack(np.divmod(trips, len(self.trips)), axis=1).astype(np.int32)
        return pm.Paths(cells.ravel(), np.arange(0, 2 * len(trips) + 1, 2)), 0

    def encode(self, runs: pm.Runs) -> pm.Paths:
        """Keep the first and the last cell of real runs. NOT PRIVATE."""
        origins, destinations, present = pm.ends(self.grid.encode(runs))
        cells = np.stack([origins, destinations], axis=1).astype(np.int32)
        return pm.Paths(cells.ravel(), np.concatenate([[0], 2 * np.cumsum(present)]))

    def place(self, paths: pm.Paths, first: int, seed: int) -> Trajectories:
        """Place the ends of lines in their cells."""
        return pm.decode(paths, self.grid, first, seed)

    def view(self) -> pm.View:
        """Show cells with their visits, and trips as measured, which are also the only moves."""
        m = self.grid.n_cells
        visits = pm.Noisy.of("visits", self.density, pm.error_of(self.release, "density"))
        noisy = pm.Noisy.of("trips", self.trips.ravel(), pm.error_of(self.release, "trips"))
        moves = pm.Flows.of(0, *np.divmod(np.arange(m * m), m), self.clean.ravel(), noisy.error)
        layer = pm.Layer("cells", self.grid, (visits,))
        return pm.View((layer,), 0, (moves,), pm.Trips(0, np.arange(m), noisy))

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {"trajectories": self.n_trajectories, "states": self.grid.n_cells}


SCHEMA = {"count": ("<i8", 1), "density": ("<i8", 1), "trips": ("<i8", 2)}
METHOD = pm.Method(
    settings=StraightLines,
    recipe=released,
    model=StraightLinesModel,
    schema=SCHEMA,
    label="StraightLines",
    colors=("#6b5b00", "#d8c34a"),
    docs="README.md",
)
