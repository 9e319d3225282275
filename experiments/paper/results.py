"""Read what was found, by section and data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import privtrace as pt
from experiments.paper.costs import EPSILON, label_of, sizes
from experiments.paper.sections import SECTIONS
from privtrace.caching import cached_property
from privtrace.study.store import Store
from privtrace.study.study import Cost
from privtrace.study.trials import SIZE

FOLDER = Path(__file__).parents[1] / "results"

#: The four metrics of the paper, and those of its subgroups.
PAPER = ("length", "diameter", "density", "pattern")
SUBGROUPS = ("density_short", "density_long", "pattern_short", "pattern_long")
SHARES = ("short_length_share", "short_diameter_share")


@dataclass(frozen=True)
class Results:
    """Hold the results of a folder."""

    folder: Path = FOLDER

    def study(self, section: str, data: str) -> pt.Study:
        """Give the study of a section on a data set."""
        return self._studies[section, data]

    def sizes(self, section: str, data: str, label: str, epsilon: str, name: str) -> np.ndarray:
        """List a size of the models of all runs, such as "states"."""
        found = self._stores[section, data].of(label, "score", epsilon)
        return np.array([trial[SIZE + name] for trial in found if SIZE + name in trial], np.float64)

    def cost(self, axis: str, value: float | str, method: str) -> Cost:
        """Give what a fit and its sample took."""
        rows = self._costs.of(label_of(axis, value, method), "cost", EPSILON)
        seconds = (min(float(row[name]) for row in rows) for name in ("fit_s", "sample_s"))
        return Cost(*seconds, max(float(row["memory_mb"]) for row in rows))

    def cost_sizes(self, axis: str, value: float | str, method: str) -> dict[str, float]:
        """List the sizes of the model of a measurement."""
        return sizes(self._costs, label_of(axis, value, method))

    @cached_property
    def _stores(self) -> dict[tuple[str, str], Store]:
        return {
            (section.name, data): Store.read(self.folder / f"{section.name}-{data}.parquet")
            for section in SECTIONS
            for data in section.data
        }

    @cached_property
    def _studies(self) -> dict[tuple[str, str], pt.Study]:
        return {
            (section.name, data): pt.Study.read(self.folder / f"{section.name}-{data}.parquet")
            for section in SECTIONS
            for data in section.data
        }

    @cached_property
    def _costs(self) -> Store:
        return Store.read(self.folder / "costs.parquet")
