"""Measure facts that claims of the paper rest on: of data, of its own rules, of maps. NOT PRIVATE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import privtrace as pt
from experiments.paper.sections import PUBLISHED, given
from privtrace.evaluation.frame import Frame
from privtrace.methods.common.counts import ends as ends_of
from privtrace.methods.privtrace.shortest import shortest_transitions
from privtrace.paths import Paths
from privtrace.space.grid import Grid
from privtrace.storage.atomic import replacing
from privtrace.study.study import REAL

#: The paper's Taxi data.
TAXI = 200_000
K = 13
DIVIDED = 7


def measure(folder: Path) -> None:
    """Write facts.json, unless it is there."""
    path = folder / "facts.json"
    if path.exists():
        return
    facts: dict[str, Any] = {name: of_data(name) for name in ("brinkhoff", "porto", "geolife", "city")}
    facts["divided"] = divided()
    facts["maps"] = {
        name: of_maps(pt.Study.read(folder / f"maps-{name}.parquet")) for name in ("city", "porto")
    }
    with replacing(path, force=True) as temporary:
        temporary.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")


def of_data(name: str) -> dict[str, float]:
    """Say how many trips there are, how many cells they pass, and how concentrated they are."""
    trips, region = given(name)
    runs = Frame(region.for_data(trips.crs), 1).clip(trips)
    cells = {size: Grid.uniform(region.for_data(trips.crs), size).encode(runs) for size in (6, 20)}
    fine = Grid.uniform(region.for_data(trips.crs), K)
    visits = np.sort(np.bincount(cells[20].cells, minlength=400))[::-1]
    return {
        "trips": len(trips),
        "trips_in_region": len(runs),
        "points_in_region": len(runs.points),
        "cells_of_36": float(np.median(np.diff(cells[6].offsets))),
        "cells_of_36_mean": float(np.mean(np.diff(cells[6].offsets))),
        "cells_of_400_mean": float(np.mean(np.diff(cells[20].offsets))),
        "shortest_over_harmonic": shortest_over_harmonic(fine, fine.encode(runs)),
        "share_in_busiest_cells": float(visits[:20].sum() / visits.sum()),  # 20 of 400
    }


def shortest_over_harmonic(grid: Grid, paths: Paths) -> float:
    """Divide the moves of shortest paths by the harmonic means of those of trips with the same ends.

    Between two cells, the harmonic mean of the moves of n trips is n over the sum of one over each; so the mean
    over trips is that of the shortest moves over a trip's own.
    """
    lengths = shortest_transitions(grid.touching())
    starts, ends, present = ends_of(paths)
    moves = np.diff(paths.offsets)[present] + 1
    return float(np.mean(lengths[starts, ends] / moves))


def divided() -> dict[str, int]:
    """Count the coarse cells that each reading of the paper's rule divides, of Porto's trips scaled to Taxi."""
    trips, region = given("porto")
    runs = Frame(region.for_data(trips.crs), 1).clip(trips)
    paths = Grid.uniform(region, K).encode(runs)
    weights = np.repeat(1 / np.maximum(np.diff(paths.offsets), 1), np.diff(paths.offsets))
    density = np.bincount(paths.cells, weights, K * K) * TAXI / len(runs)
    population = PUBLISHED["porto"]["population"]
    squares = {
        "text: population, over 2e7": density * K * population / 2e7,
        "appendix: population, over 20000": density * K * population / 2e4,
        "population in thousands, over 2e7": density * K * population / 1000 / 2e7,
        "no population, over 20000": density * K / 2e4,
    }
    return {
        f"{words}, rounded {how}": int(np.sum(rounded(np.sqrt(square)) > 1))
        for words, square in squares.items()
        for how, rounded in (("down", np.floor), ("to the nearest", np.rint), ("up", np.ceil))
    }


def of_maps(study: pt.Study) -> dict[str, dict[str, float]]:
    """Compare 80 x 80 maps with the real one: the part of all passages that is misplaced, and correlation."""
    real = study.heats[REAL].ravel()
    return {
        label: {
            "misplaced": float(np.abs(shares.ravel() / shares.sum() - real / real.sum()).sum() / 2),
            "correlation": float(np.corrcoef(shares.ravel(), real)[0, 1]),
        }
        for label, shares in study.heats.items()
        if label != REAL
    }
