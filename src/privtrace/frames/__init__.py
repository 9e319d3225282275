"""Take trajectories from data frames and hand them over: Arrow, pandas, polars, GeoPandas and kin.

There is one door: a frame becomes an arrow table, and that is read as a Parquet file is, or as GeoParquet where
there are geometries. What pandas knows as numbers or timestamps stays that. A column of Python objects or of
text is read as that of a CSV file would be, each value on its own: one odd value makes pandas hold all of a
column as objects, so their type can be no reason to refuse. The packages are optional, and load when needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from privtrace import coordinates
from privtrace.caching import cached_property
from privtrace.coordinates import code_of
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.arrow import MemoryReader
from privtrace.io.columns import TIME, TRAJECTORY, USER, attributes, has_role, is_text, pair_of, resolve
from privtrace.io.columns import Declared as Declared
from privtrace.io.crs import meaning
from privtrace.io.extras import require
from privtrace.io.features import FEATURES_AT_ONCE, Features
from privtrace.io.files import Snapshot
from privtrace.io.geometries import Geometries
from privtrace.io.layers import LayerReader
from privtrace.io.output_tables import GEOMETRY, line_tables, long_tables, times_name
from privtrace.io.rows import floats_of
from privtrace.io.source import FileSource, Reader, Sizes
from privtrace.observer import Silent
from privtrace.parsing import text
from privtrace.parsing.clock import instants
from privtrace.parsing.dates import UTC
from privtrace.trajectories import Array, Crs, Flags, Trajectories

#: What trackintel calls its columns.
_TRACKED_AT, _STARTED_AT, _TRIPLEG = "tracked_at", "started_at", "tripleg_id"


def _load(module: str, what: str, extra: str | None = None) -> ModuleType:
    """Import a package that an extra installs, or one that belongs to none."""
    with warnings.catch_warnings():
        # MovingPandas misses a package for smoothing, on every import, and says so.
        warnings.filterwarnings("ignore", "Missing optional dependencies", UserWarning)
        return require(module, what, extra)


def _check_kind(what: str, given: object, *kinds: type) -> None:
    """Refuse what is something else than a function takes."""
    if not isinstance(given, kinds):
        names = " or ".join(f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in kinds)
        raise DataError(f"{what} takes a {names}, not a {type(given).__name__}")


# The door.


def _table_read(place: str, table: pa.Table, declared: Declared) -> Trajectories:
    """Read a table of points as a Parquet file with these columns would be."""
    names = table.schema.names
    return _read(lambda by: MemoryReader(place, resolve(Path(place), names, by), table, by), declared)


def _read(open_again: Callable[[Declared], Reader], declared: Declared) -> Trajectories:
    with FileSource(open_again(declared), declared=declared, open_again=open_again) as source:
        source.tell(Silent())
        return source.collect()


class _FrameReader(LayerReader):
    """Read a frame with geometries, as GeoParquet is read; a row without one has a point that is missing."""

    parse_once = False

    def __init__(
        self, place: str, frame: Any, geometries: Array, crs: Crs, declared: Declared, *, lines: bool
    ) -> None:
        names, columns = _columns(frame)
        wanted = attributes(Path(place), names, declared, crs, points_only=not lines).names
        self._columns = {name: _arrow(place, name, columns[names.index(name)]) for name in wanted}
        self._geometries = geometries
        self.snapshot = Snapshot.in_memory(place)
        schema = pa.schema([(name, column.type) for name, column in self._columns.items()])
        self.understand(Path(place), schema, declared, crs, points_only=not lines)

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features, which are made once."""
        return iter(self._features)

    @cached_property
    def _features(self) -> list[Features]:
        starts = range(0, len(self._geometries), FEATURES_AT_ONCE)
        return [self._some(0, 0), *(self._some(start, FEATURES_AT_ONCE) for start in starts)]

    def _some(self, start: int, n_rows: int) -> Features:
        columns = {name: column.slice(start, n_rows) for name, column in self._columns.items()}
        return self.of_columns(_points(self._geometries[start : start + n_rows]), columns)


def _points(geometries: Array) -> Geometries:
    """List the points of all rows; a row without any, or with another shape, has one that is missing."""
    import shapely

    kinds = shapely.GeometryType
    paths = (kinds.POINT, kinds.LINESTRING, kinds.MULTIPOINT, kinds.MULTILINESTRING)
    geometries = _only(geometries, np.isin(shapely.get_type_id(geometries), paths))
    found, owners = shapely.get_coordinates(geometries, return_index=True)
    n_found = np.bincount(owners, minlength=len(geometries))
    counts = np.maximum(n_found, 1)
    points = np.full((counts.sum(), 2), np.nan)
    points[np.repeat(n_found > 0, counts)] = found
    return Geometries(points[:, 0], points[:, 1], counts, np.zeros(len(counts), np.bool_), {})


def _only(geometries: Array, good: Flags) -> Array:
    """Copy geometries, with others than the good ones missing."""
    kept = np.full(len(geometries), None, object)
    kept[good] = geometries[good]
    return kept


# Tables of points.


def from_arrow(table: Any, declared: Declared) -> Trajectories:
    """Take a table of arrow, or anything that hands itself over as one by arrow's C interface."""
    place = "the arrow table"
    try:
        table = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose words may quote a row
        raise DataError(
            f"{place}: a {type(table).__name__} is not an Arrow table; give a pyarrow.Table, or use "
            "from_pandas for pandas data"
        ) from None
    return _table_read(place, table, declared)


def from_polars(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of polars, or a LazyFrame, of which only the columns that are needed are computed."""
    polars = _load("polars", "from_polars")
    _check_kind("from_polars", frame, polars.DataFrame, polars.LazyFrame)
    place = "the polars frame"
    needed = resolve(Path(place), frame.collect_schema().names(), declared).names
    try:
        wanted = frame.lazy().select(needed).collect()
    except polars.exceptions.PolarsError:  # whose words may quote a row
        raise DataError(f"{place}: it cannot be computed; collect it first, and see what polars says") from None
    columns = {}
    for values in wanted:
        with suppress(pa.ArrowException):  # of its own types, such as integers of 128 bits
            if values.dtype != polars.Object:  # which are addresses in memory
                columns[values.name] = values.to_arrow()
        if values.name not in columns:
            raise _unknown_type(place, values.name, values.dtype)
    return _table_read(place, pa.table(columns), declared)


def from_pandas(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of pandas; a level of its index that has a name is a column too."""
    _check_kind("from_pandas", frame, _load("pandas", "from_pandas", "geo").DataFrame)
    place = "the pandas frame"
    names, columns = _columns(frame)
    layout = resolve(Path(place), names, declared)
    made = {name: _arrow(place, name, columns[names.index(name)]) for name in layout.names}
    made |= {name: text.numbers(made[name]) for name in (layout.x, layout.y) if is_text(made[name].type)}
    return _table_read(place, pa.table(made), declared)


def _columns(frame: Any) -> tuple[list[str], list[Any]]:
    """List the columns of a frame by names, which may be there twice; levels of its index with names first."""
    levels = [level for level, name in enumerate(frame.index.names) if name is not None]
    names = [*(frame.index.names[level] for level in levels), *frame.columns]
    values = [frame.index.get_level_values(level).to_series() for level in levels]
    return [*map(str, names)], [*values, *(frame.iloc[:, at] for at in range(frame.shape[1]))]


def _arrow(place: str, name: str, values: Any) -> pa.Array:
    """Bring a column of pandas into one of arrow's types; text and objects are bytes."""
    kind = values.dtype
    if kind.name == "category":
        codes = values.cat.codes.to_numpy()
        return _arrow(place, name, values.cat.categories.to_series()).take(pa.array(codes, mask=codes < 0))
    if kind.name == "object" or getattr(kind, "storage", "") == "python":  # so one by one is the only way
        written = [None if gone else _text(value) for value, gone in zip(values, values.isna(), strict=True)]
        return pa.array(written, pa.large_binary())
    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError):  # a type that arrow does not know, whatever the values
        raise _unknown_type(place, name, kind) from None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return array.cast(pa.large_binary()) if is_text(array.type) else array


def _unknown_type(place: str, name: str, kind: object) -> DataError:
    return DataError(
        f"{place}: column {name!r} holds {kind}; convert it to integers, numbers, text or timestamps"
    )


def _text(value: Any) -> bytes:
    """Write an object as text, a list as JSON has it, which is how the times of a line may stand in text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind == "M":
        value = np.datetime_as_string(value)
    if isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim):
        texts = [_text(one) for one in value]
        unknown = (b"None", b"NaT", b"nan", b"<NA>")
        return b"[" + b",".join(b"null" if one in unknown else one for one in texts) + b"]"
    # Text may hold halves of characters, which Python keeps and UTF-8 does not know.
    return str(value).encode(errors="surrogatepass")


def to_arrow(trajectories: Trajectories, names: str | None = None) -> pa.Table:
    """Lay trajectories out as the Parquet writer does, with the words about them in the schema."""
    return _whole(*long_tables([trajectories], names))


def _whole(schema: pa.Schema, tables: Iterator[pa.Table]) -> pa.Table:
    return pa.concat_tables([schema.remove_metadata().empty_table(), *tables]).cast(schema)


def to_polars(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to polars, which cannot hold words about it."""
    return _load("polars", "to_polars").from_arrow(to_arrow(trajectories, names))


def to_pandas(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to pandas, the words about it as `attrs`."""
    _load("pandas", "to_pandas", "geo")
    frame = _pandas_of(to_arrow(trajectories, names))
    frame.attrs.update(trajectories.about)
    return frame


def _pandas_of(table: pa.Table) -> Any:
    """Turn a table into a frame in which integers stay integers, also where some are unknown."""
    import pandas

    frame = table.to_pandas(ignore_metadata=True)
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.uint64(): pandas.UInt64Dtype()}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and column.type in nullable:
            frame[name] = column.to_pandas(types_mapper=nullable.get)
    return frame


# Frames with geometries.


def from_geopandas(frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    """Take a GeoDataFrame: each row gives the points of its geometry, however many, to its trajectory.

    With `lines`, a row is a trajectory where no column says to which it belongs.
    """
    _check_kind("from_geopandas", frame, _load("geopandas", "from_geopandas", "geo").GeoDataFrame)
    return _geometries_read("the GeoDataFrame", frame, declared, lines=lines)


def _geometries_read(place: str, frame: Any, declared: Declared, *, lines: bool = False) -> Trajectories:
    name = frame.active_geometry_name
    if name is None:
        raise DataError(f"{place}: it has no geometry; name its column with frame.set_geometry(NAME)")
    crs = meaning(Path(place), _described(frame), declared)
    others, geometries = frame.drop(columns=name), frame[name].to_numpy()
    return _read(lambda by: _FrameReader(place, others, geometries, crs, by, lines=lines), declared)


def _described(holder: Any) -> Any:
    """Describe the coordinate system of a frame or a trajectory, if it has one."""
    return holder.crs and holder.crs.to_json_dict()


def to_geopandas(trajectories: Trajectories, *, lines: bool = False) -> Any:
    """Hand over a row per point, or a row per trajectory, without points that are no numbers."""
    geopandas = _load("geopandas", "to_geopandas", "geo")
    import shapely

    if lines:
        table = _whole(*line_tables([trajectories]))
        frame = _pandas_of(table.drop_columns([GEOMETRY]))
        if trajectories.times is not None and trajectories.times.dtype.kind == "M":
            name = times_name(trajectories.times)
            frame[name] = _moments(table[name].combine_chunks())
        geometries = shapely.from_wkb(table[GEOMETRY].to_numpy())
    else:
        frame = _pandas_of(to_arrow(trajectories).drop_columns(list(pair_of(trajectories.crs))))
        geometries = _only(shapely.points(trajectories.points), printing.finite(trajectories))
    made = geopandas.GeoDataFrame(frame, geometry=geometries, crs=code_of(trajectories.crs))
    made.attrs.update(trajectories.about)
    return made


def _moments(lists: pa.Array) -> Array:
    """List calendar times as pandas' own: numpy's know no zones."""
    made = np.empty(len(lists), object)
    starts = lists.offsets.to_numpy()
    moments = lists.flatten().to_pandas().astype(object).to_numpy()
    made[:] = np.split(moments, starts[1:-1] - starts[0]) if len(lists) else []
    return made


# Collections of MovingPandas, positionfixes and triplegs of trackintel.


def from_movingpandas(collection: Any, declared: Declared) -> Trajectories:
    """Take a TrajectoryCollection or a Trajectory; its moving objects are users.

    A collection has no header: each trajectory is read by itself, ids and users as text. Where it is in another
    system than is declared, or else than longitude and latitude, its points are bad points.
    """
    moving = _load("movingpandas", "from_movingpandas", "geo")
    _check_kind("from_movingpandas", collection, moving.TrajectoryCollection, moving.Trajectory)
    place = "the MovingPandas collection"
    is_one = isinstance(collection, moving.Trajectory)
    trajectories = [collection] if is_one else collection.trajectories
    crs = meaning(Path(place), _described(collection), declared) if is_one else declared.crs or "lonlat"
    frame = require("geopandas", place).GeoDataFrame(_joined(trajectories, crs, declared), geometry=GEOMETRY)
    roles = {name: name for name in (TRAJECTORY, USER, TIME)}
    return _geometries_read(place, frame, replace(declared, crs=crs, columns={**roles, **declared.columns}))


def _joined(trajectories: list[Any], crs: Crs, declared: Declared) -> Any:
    """Put the points of trajectories into one frame; all but their times are objects."""
    import pandas
    import shapely

    own = (TRAJECTORY, USER, TIME, GEOMETRY)
    frames = [pandas.DataFrame({name: [] for name in own})]
    for one in trajectories:
        points = one.df[one.df.active_geometry_name].to_numpy()
        if one.x in one.df.columns and one.y in one.df.columns:  # where they still are
            points = shapely.points(one.df[[one.x, one.y]].to_numpy(float))
        if declared.crs is None and coordinates.meaning(_described(one)) != crs:
            points = np.full(len(points), None, object)
        times = pandas.DatetimeIndex(_utc(one, declared.timezone)).tz_localize("UTC")
        made = {TRAJECTORY: [one.id] * len(points), USER: [one.obj_id] * len(points), GEOMETRY: points}
        objects = {name: pandas.Series(values, dtype=object) for name, values in made.items()}
        rest = one.df.drop(columns=[one.df.active_geometry_name, *own], errors="ignore")
        frames.append(pandas.DataFrame(rest).reset_index(drop=True).assign(**objects, **{TIME: times}))
    return pandas.concat(frames[1:] or frames, ignore_index=True)


def _utc(one: Any, zone: str) -> Array:
    """Take the times, local in the zone that they had, or else in `zone`, and read as from a file."""
    times, had = one.df.index, one.df_orig_tz
    if had is not None:
        # Those of zoneinfo and of pytz have names; what has none is mostly an offset, and pandas reads it.
        zone = getattr(had, "key", None) or getattr(had, "zone", None) or UTC
        if zone == UTC:
            first = np.ones(len(times), bool)
            times = times.tz_localize(had, ambiguous=first, nonexistent="shift_forward").tz_convert(None)
    local: Array = times.to_numpy().astype("datetime64[us]")  # of one unit, whatever that of others is
    return floats_of(instants(printing.arrow_times(local), zone))


def to_movingpandas(trajectories: Trajectories) -> Any:
    """Hand over a collection: an object for each trajectory, which takes MovingPandas about a millisecond."""
    moving = _load("movingpandas", "to_movingpandas", "geo")
    timed = _timed(trajectories, "to_movingpandas")
    frame = to_geopandas(replace(timed, zone=UTC)).set_index(TIME)  # whose type says so to the collection
    users = [None] * len(timed)
    if timed.users is not None:
        first = frame[USER].iloc[timed.offsets[:-1]]
        users = first.astype(object).where(first.notna(), None).tolist()
    made = []
    with warnings.catch_warnings():
        # Planar points have no CRS here, and MovingPandas calls pandas in ways that will go away.
        words = ("Trajectory generated without CRS", "The inplace keyword", "Time zone information dropped")
        warnings.filterwarnings("ignore", "|".join(words))
        bounds = pairwise(timed.offsets.tolist())
        for (start, stop), name, user in zip(bounds, timed.ids_from(0).tolist(), users, strict=True):
            points = frame.iloc[start:stop]
            if points.index[0] != points.index[-1]:  # else one moment, of which it makes no trajectory
                made.append(moving.Trajectory(points, name, traj_id_col=TRAJECTORY, obj_id=user, crs=None))
    return moving.TrajectoryCollection(made)


def from_trackintel(frame: Any, declared: Declared) -> Trajectories:
    """Take positionfixes, or triplegs, of which each is a trajectory; their columns tell them apart."""
    _check_kind("from_trackintel", frame, _load("geopandas", "from_trackintel", "geo").GeoDataFrame)
    names = [str(name) for name in frame.columns]
    if _TRACKED_AT in names:
        place, roles = "the positionfixes", {TIME: _TRACKED_AT}
        if _TRIPLEG in names and not has_role(TRAJECTORY, names, declared):
            roles[TRAJECTORY] = _TRIPLEG
    elif _STARTED_AT in names:
        place, roles = "the triplegs", {TRAJECTORY: _TRIPLEG}
        if _TRIPLEG not in names:  # it is the index, whatever that is called
            frame = frame.assign(**{_TRIPLEG: frame.index})
    else:
        raise DataError(
            f"the trackintel frame: no column {_TRACKED_AT!r} as positionfixes have it, and none "
            f"{_STARTED_AT!r} as triplegs; use from_geopandas for other frames"
        )
    return _geometries_read(place, frame, replace(declared, columns={**roles, **declared.columns}))


def to_trackintel(trajectories: Trajectories) -> Any:
    """Hand over positionfixes."""
    trackintel = _load("trackintel", "to_trackintel")
    timed = _timed(trajectories, "to_trackintel")
    frame = to_geopandas(timed).rename(columns={TIME: _TRACKED_AT})
    if timed.users is None:
        frame[USER] = frame[TRAJECTORY]
    # Its own check refuses a frame without rows.
    return trackintel.Positionfixes(frame, validate=False)


def _timed(trajectories: Trajectories, what: str) -> Trajectories:
    """Leave the points that have a place and a time, numbers of which are seconds since 1970."""
    if trajectories.times is None:
        raise DataError(f"{what}: these trajectories have no times, but they are required; use to_geopandas")
    clock = printing.calendar(trajectories.times)
    timed = replace(trajectories, ids=trajectories.ids_from(0), times=clock)
    return printing.only(timed, printing.finite(trajectories) & ~np.isnat(clock))
