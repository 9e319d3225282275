"""Draw the README's picture: trips in the invented city, real beside synthetic.

python -m experiments.picture docs/images/city.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import privtrace as pt
from privtrace.datasets import city_trips
from privtrace.report.picture import flow, paint, png, shade

SIZE, GAP = 460, 12


def main(path: Path) -> None:
    """Fit the city's trips at epsilon 1 and draw both sides on one color scale."""
    made = city_trips(20_000, seed=1)
    region = pt.Region.polygon({"type": "Polygon", "coordinates": [made.limits.tolist()]}, crs="lonlat")
    synthetic = pt.PrivTrace(epsilon=1, region=region).fit(made.trajectories).sample(seed=7)
    shares = [flow(trips, region, SIZE) / len(trips) for trips in (made.trajectories, synthetic)]
    most = max(float(share.max()) for share in shares)
    real, generated = (paint(shade(share, most)) for share in shares)
    between = np.full((len(real), GAP, 3), 255, np.uint8)
    path.write_bytes(png(np.hstack([real, between, generated])))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
