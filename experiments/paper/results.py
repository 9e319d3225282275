"""Read what was found, by section and data set."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privtrace as pt
from experiments.paper.costs import EPSILON, label_of, sizes
from experiments.paper.sections import SECTIONS
from privtrace.caching import cached_property
from privtrace.study.reading import all_of, cost_of
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
        return cost_of(self._costs.of(label_of(axis, value, method), "cost", EPSILON))

    def cost_sizes(self, axis: str, value: float | str, method: str) -> dict[str, float]:
        """List the sizes of the model of a measurement."""
        return sizes(self._costs, label_of(axis, value, method))

    def mapped(self) -> list[str]:
        """Name the data sets whose maps are here: those of real data stay where it is."""
        return [data for data in ("city", "porto") if (self.folder / f"maps-{data}.parquet").exists()]

    def maps(self, data: str) -> pt.Study:
        """Give the study with the maps of a data set."""
        return pt.Study.read(self.folder / f"maps-{data}.parquet")

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Read facts of the data, of rules and of maps."""
        found: dict[str, Any] = json.loads((self.folder / "facts.json").read_text())
        return found

    @cached_property
    def _stores(self) -> dict[tuple[str, str], Store]:
        return {
            (section.name, data): Store.read(self.folder / f"{section.name}-{data}.parquet")
            for section in SECTIONS
            for data in section.data
            if not section.maps
        }

    @cached_property
    def _studies(self) -> dict[tuple[str, str], pt.Study]:
        return {key: all_of(store) for key, store in self._stores.items()}

    @cached_property
    def _costs(self) -> Store:
        return Store.read(self.folder / "costs.parquet")
