"""Count in a user's own zones: districts of a file, H3 cells or geohash cells. All of it is public."""

from privtrace.zones.reading import read_zones
from privtrace.zones.zones import Zones

__all__ = ["Zones", "read_zones"]
