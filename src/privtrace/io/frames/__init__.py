"""Take trajectories from data frames and hand them over: Arrow, pandas, polars, GeoPandas and kin.

Every frame becomes an arrow table, and from there on is read as a Parquet file is: columns are found by their
names, rows of a trajectory joined wherever they stand. The packages are optional, and loaded when they are
needed.
"""

from privtrace.io.columns import Declared
from privtrace.io.frames.geometry import from_geopandas, to_geopandas
from privtrace.io.frames.mobility import from_movingpandas, from_trackintel, to_movingpandas, to_trackintel
from privtrace.io.frames.tables import from_arrow, from_pandas, from_polars, to_arrow, to_pandas, to_polars

__all__ = [
    "Declared",
    "from_arrow",
    "from_geopandas",
    "from_movingpandas",
    "from_pandas",
    "from_polars",
    "from_trackintel",
    "to_arrow",
    "to_geopandas",
    "to_movingpandas",
    "to_pandas",
    "to_polars",
    "to_trackintel",
]
