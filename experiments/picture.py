"""Draw pictures of the invented city: its real trips, and beside them what methods make of them at epsilon 1.

python -m experiments.picture docs/images/city.png
python -m experiments.picture docs/images/methods.png bridgetrace,privtrace,adatrace,dpt
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

import numpy as np

import privtrace as pt
from experiments.data import METHODS
from privtrace.datasets import city_trips
from privtrace.paths import n_passing
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.space.traverse import trace

WIDTH, GAP = 932, 12

#: From none to most: night blue, teal, yellow, cream. Lightness rises all the way, which any eye sees and any
#: printer prints, and no two colors differ by red against green alone.
PALETTE = np.array(
    [
        (12, 17, 40),
        (30, 58, 118),
        (28, 108, 146),
        (66, 156, 146),
        (168, 196, 100),
        (250, 224, 92),
        (255, 250, 214),
    ]
)

#: The share of trajectories at which the logarithmic scale starts; below, it is nearly linear.
FAINT = 1e-4


def main(path: Path, methods: list[str]) -> None:
    """Fit the city's trips with each method and draw all sets on one color scale."""
    made = city_trips(20_000, seed=1)
    region = pt.Region.polygon({"type": "Polygon", "coordinates": [made.limits.tolist()]}, crs="lonlat")
    models = [METHODS[method](epsilon=1, region=region).fit(made.trajectories) for method in methods]
    sets = [made.trajectories, *(model.sample(seed=7) for model in models)]
    size = (WIDTH + GAP) // len(sets) - GAP
    shares = [flow(trips, region, size) / len(trips) for trips in sets]
    most = max(float(share.max()) for share in shares)
    panels = [paint(shade(share, most)) for share in shares]
    between = np.full((len(panels[0]), GAP, 3), 255, np.uint8)
    path.write_bytes(png(np.hstack([strip for panel in panels for strip in (panel, between)][:-1])))


def flow(source: pt.Source, region: pt.Region, size: int) -> np.ndarray:
    """Count how many trajectories pass each pixel of a picture of the region: (height, width), north up.

    The longer side of the picture has `size` pixels and the other follows, in meters. A trajectory counts once
    a pixel, however often it passes.
    """
    region = region.for_data(source.crs)
    longer_m = max(region.width_m, region.height_m)
    height, width = (max(1, round(size * side_m / longer_m)) for side_m in (region.height_m, region.width_m))
    pixels = Grid.uniform(Region.box(0.0, 0.0, longer_m, longer_m, crs="planar"), size)
    counts = np.zeros(size * size, np.int64)
    for part in source.parts():
        counts += n_passing(trace(clip(part, region), pixels), size * size)
    return counts.reshape(size, size)[:height, :width][::-1]


def shade(shares: np.ndarray, most: float) -> np.ndarray:
    """Place shares of trajectories on the color scale, logarithmically: none at 0, `most` at 1."""
    return np.log1p(shares / FAINT) / np.log1p(most / FAINT)


def paint(shades: np.ndarray) -> np.ndarray:
    """Give shades from 0 to 1 their colors: (height, width) -> (height, width, 3)."""
    anchors = np.linspace(0, 1, len(PALETTE))
    channels = [np.interp(shades, anchors, PALETTE[:, channel]) for channel in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    """Encode a picture as PNG, 8 bits a channel."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line starts with its filter: 0, none
    lines[:, 1:] = pixels.reshape(height, 3 * width)
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)  # color type 2: red, green, blue
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2].split(",") if sys.argv[2:] else ["bridgetrace"])
