"""Draw pictures of the invented city: its real trips, and beside them what methods make of them at epsilon 1.

python -m experiments.picture docs/images/city.png
python -m experiments.picture docs/images/methods.png privtrace,adatrace,dpt
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import privtrace as pt
from experiments.data import METHODS
from privtrace.datasets import city_trips
from privtrace.report.picture import flow, paint, png, shade

WIDTH, GAP = 932, 12


def main(path: Path, methods: list[str]) -> None:
    """Fit the city's trips with each method and draw all sides on one color scale."""
    made = city_trips(20_000, seed=1)
    region = pt.Region.polygon({"type": "Polygon", "coordinates": [made.limits.tolist()]}, crs="lonlat")
    models = [METHODS[method](epsilon=1, region=region).fit(made.trajectories) for method in methods]
    sides = [made.trajectories, *(model.sample(seed=7) for model in models)]
    size = (WIDTH + GAP) // len(sides) - GAP
    shares = [flow(trips, region, size) / len(trips) for trips in sides]
    most = max(float(share.max()) for share in shares)
    panels = [paint(shade(share, most)) for share in shares]
    between = np.full((len(panels[0]), GAP, 3), 255, np.uint8)
    path.write_bytes(png(np.hstack([part for panel in panels for part in (panel, between)][:-1])))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(",") if sys.argv[2:] else ["privtrace"])
