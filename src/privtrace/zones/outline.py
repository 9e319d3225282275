"""Give a region as shapely knows it."""

from __future__ import annotations

from typing import Any

import shapely

from privtrace.space.region import Region


def outline_of(region: Region) -> Any:
    """Give a region as a box or polygon of shapely; across the antimeridian, longitudes go on beyond 180."""
    if region.shape is None:
        return shapely.box(*region.bounds)
    return shapely.MultiPolygon([(outer, holes) for outer, *holes in region.shape.parts])
