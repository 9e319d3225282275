"""Take trajectories from data frames and hand them over: Arrow, pandas, polars, GeoPandas and kin.

There is one door: a frame becomes arrow's arrays, and these are read as a Parquet file is, or as GeoParquet
where there are geometries. What pandas knows as numbers or timestamps stays that. A column of Python objects or
of text is read as that of a CSV file would be, each value on its own: one odd value makes pandas hold all of a
column as objects, so their type can be no reason to refuse. The packages are optional, and load when needed.
"""

from privtrace.frames.geometries import from_geopandas as from_geopandas
from privtrace.frames.geometries import from_movingpandas as from_movingpandas
from privtrace.frames.geometries import from_trackintel as from_trackintel
from privtrace.frames.geometries import to_geopandas as to_geopandas
from privtrace.frames.geometries import to_movingpandas as to_movingpandas
from privtrace.frames.geometries import to_trackintel as to_trackintel
from privtrace.frames.queries import from_lazy as from_lazy
from privtrace.frames.queries import from_relation as from_relation
from privtrace.frames.spark import from_spark as from_spark
from privtrace.frames.tables import from_arrow as from_arrow
from privtrace.frames.tables import from_pandas as from_pandas
from privtrace.frames.tables import from_polars as from_polars
from privtrace.frames.tables import to_arrow as to_arrow
from privtrace.frames.tables import to_pandas as to_pandas
from privtrace.frames.tables import to_polars as to_polars
from privtrace.io.columns import Declared as Declared
