"""Data frames give what the same table in a file gives, and trajectories come back from them unchanged."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import privtrace as pt
from privtrace.errors import DataError, MissingExtra, OutputError, SettingsError

with warnings.catch_warnings():  # MovingPandas misses a package for smoothing
    warnings.simplefilter("ignore", UserWarning)
    import movingpandas as mpd

START = np.datetime64("2024-03-10T08:00:00", "ms")


def packages(*names: str) -> list[Any]:
    """List packages for a test; what `make test` does not install is for `make test-slow`."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name == "trackintel" else []) for name in names]


PACKAGES = packages("arrow", "pandas", "polars", "geopandas", "movingpandas", "trackintel")


def made(**changes: Any) -> pt.Trajectories:
    """Give three trajectories of 2, 3 and 2 points."""
    points = np.array([[1, 2], [1.5, 2.5], [-3, 4], [-3, 4], [-3.25, 4.5], [179.9, 0], [-179.9, 0.5]])
    times = START + 15_000 * np.arange(7)
    ids, users = np.array([7, 3, 5]), np.array([20, 10, 20])
    return replace(pt.Trajectories(points, np.array([0, 2, 5, 7]), times, users, ids), **changes)


#: Trajectories that are easy to spoil on the way.
AWKWARD = {
    "plain": made(),
    "planar": made(crs="planar", points=1e6 * made().points),
    "text ids": made(ids=np.array(["b", "a/ü", " "]), users=np.array(["u", "v", "u"])).take(np.arange(3)),
    "an unknown user": made(users=np.array([20, np.iinfo(np.int64).min, 20])),
    "an unknown user in text": made(users=np.array(["u", "", "v"], np.dtypes.StringDType())),
    "huge ids": made(ids=np.array([2**63 + 5, 3, 5], np.uint64), users=np.array([2**62 + 1, 10, 20])),
    "one id of two users": made(ids=np.array([7, 7, 5])),
    "microseconds": made(times=made().times.astype("M8[us]") + np.timedelta64(1, "us")),
    "before 1970": made(times=made().times - np.timedelta64(80 * 365, "D")),
    "nothing": made()[:0],
}


def same(one: pt.Trajectories, other: pt.Trajectories) -> None:
    """Check that all is the same, bit for bit; text is text in numpy's old form or its new."""
    assert one.crs == other.crs and one.gap_minutes == other.gap_minutes
    assert one.offsets.tolist() == other.offsets.tolist()
    np.testing.assert_array_equal(one.points, other.points, strict=True)
    for name in ("times", "users", "ids"):
        before, after = getattr(one, name), getattr(other, name)
        assert (before is None) == (after is None), name
        if before is not None:
            # Text is text in numpy's old form or its new; lists of times are read to the microsecond.
            assert before.dtype.kind in "UTM" or before.dtype == after.dtype, name
            np.testing.assert_array_equal(before.astype(after.dtype), after, strict=True)


def back(trajectories: pt.Trajectories, package: str, **options: Any) -> pt.Trajectories:
    frame = getattr(trajectories, f"to_{package}")(**options)
    # A collection of trajectories has no coordinate system of its own.
    reading = {"crs": trajectories.crs} if package == "movingpandas" else {}
    result: pt.Trajectories = getattr(pt.Trajectories, f"from_{package}")(frame, **reading)
    return result


def objects(given: pt.Trajectories) -> pt.Trajectories:
    """Give trajectories as they come back where nothing has a type: ids and users as text, microseconds."""

    def text(values: Any) -> Any:
        unknown = np.iinfo(values.dtype).min if values.dtype.kind == "i" else ""
        written = ["" if value == unknown else str(value) for value in values.tolist()]
        return np.array(written, np.dtypes.StringDType())

    assert given.times is not None
    return replace(given, ids=text(given.ids), users=text(given.users), times=given.times.astype("M8[us]"))


@pytest.mark.parametrize("case", AWKWARD)
@pytest.mark.parametrize("package", PACKAGES)
def test_round_trip(package: str, case: str) -> None:
    before = AWKWARD[case]
    after = back(before, package)
    same(objects(before) if package == "movingpandas" else before, after)


@pytest.mark.parametrize("case", AWKWARD)
def test_round_trip_of_lines(case: str) -> None:
    before = replace(AWKWARD[case], times=objects(AWKWARD[case]).times)  # pandas has no type for lists
    same(before, back(AWKWARD[case], "geopandas", lines=True))


@pytest.mark.parametrize("package", packages("arrow", "pandas", "polars", "geopandas"))
@pytest.mark.parametrize("missing", ["times", "users"])
def test_columns_that_are_not_there_do_not_appear(package: str, missing: str) -> None:
    before = made(**{missing: None})
    same(before, back(before, package))


@pytest.mark.parametrize("package", packages("arrow", "pandas", "polars", "geopandas"))
def test_numbers_as_times_and_missing_values_come_back(package: str) -> None:
    before = made(times=np.array([1.5, 2, 0, 1, np.nan, 7, 8]))
    before.points[3] = np.nan
    same(before, back(before, package))


@pytest.mark.parametrize("package", packages("arrow", "pandas", "polars", "geopandas", "trackintel"))
def test_single_points_come_back(package: str) -> None:
    before = made(offsets=np.array([0, 1, 6, 7]))
    same(before, back(before, package))


def test_words_go_along() -> None:
    table = made(about={"made_by": "us"})
    assert table.to_arrow().schema.metadata == {b"made_by": b"us"}
    assert table.to_pandas().attrs == table.to_geopandas(lines=True).attrs == {"made_by": "us"}


def test_arrow_is_what_the_parquet_writer_writes(tmp_path: Path) -> None:
    before = made(about={"made_by": "us"})
    before.write(tmp_path / "a.parquet")
    assert before.to_arrow().equals(pq.read_table(tmp_path / "a.parquet"), check_metadata=True)


# Frames that users hold, and what the same table in a file gives.

TIMES = pd.to_datetime(["2024-01-01 10:00", "2024-01-01 09:00", "2024-01-01 08:00", "2024-01-01 08:30", None])
BASE: dict[str, Any] = {"tid": [2, 1, 2, 1, 2], "lat": [1.0, 2, 3, 4, 5], "lng": [6.0, 7, 8, 9, 10]}


def frame(**columns: Any) -> pd.DataFrame:
    """Give five rows of two trajectories that take turns."""
    return pd.DataFrame({**BASE, **columns})


FRAMES = {
    "scattered": frame(),
    "out of order": frame(t=TIMES),
    "zoned": frame(t=TIMES.tz_localize("Asia/Tokyo")),
    "numbers as times": frame(t=[5, 4, 3, 2, 1]),
    "32 bits": frame().astype({"tid": "int32", "lat": "float32"}),
    "floats as ids": frame(tid=[2.0, 1, 2, np.nan, 2]),
    "nullable": frame(uid=pd.array([1, None, 1, 1, 1], "Int64"), lat=pd.array([1, None, 3, 4, 5], "Float64")),
    "text ids": frame(tid=["b", "a", "b", None, "b"], uid=["x", "y", "", "y", "x"]),
    "categories": frame(tid=pd.Categorical(["b", "a", "b", None, "b"]), uid=pd.Categorical([2, 1, 2, 1, 2])),
    "arrow's own": frame(tid=pd.array(["b", "a", "b", "a", "b"], pd.ArrowDtype(pa.string()))),
    "extra columns": frame(mode=["bus", 1, None, [2], {}], speed=1.0).drop(columns="mode"),
    "bad points": frame(lat=[np.nan, 400, np.inf, 0, 5]),
    "other order": frame(t=TIMES)[["t", "lng", "tid", "lat"]],
    "nothing": frame()[:0],
}


@pytest.mark.parametrize(
    ("name", "gap"),
    [(name, gap) for name in FRAMES for gap in (None, 45) if gap is None or "t" in FRAMES[name]],
)
def test_a_frame_gives_what_its_file_gives(name: str, gap: float | None, tmp_path: Path) -> None:
    FRAMES[name].to_parquet(tmp_path / "a.parquet")
    reading: Any = {"gap_minutes": gap, "time_unit": "s" if gap and name == "numbers as times" else None}
    of_file = pt.read(tmp_path / "a.parquet", **reading).collect()
    same(of_file, pt.Trajectories.from_pandas(FRAMES[name], **reading))
    same(of_file, pt.Trajectories.from_arrow(pq.read_table(tmp_path / "a.parquet"), **reading))
    same(of_file, pt.Trajectories.from_polars(pl.read_parquet(tmp_path / "a.parquet"), **reading))


def test_objects_and_text_are_read_as_from_csv(tmp_path: Path) -> None:
    odd = frame(
        lat=["1", 2.5, "x", None, 4], datetime=[TIMES[0], "2024-01-01T09:00Z", 8, dt.date(2024, 1, 1), []]
    )
    odd = odd.astype({"tid": object})
    odd.to_csv(tmp_path / "a.csv", index=False)
    same(pt.read(tmp_path / "a.csv").collect(), pt.Trajectories.from_pandas(odd))
    assert odd["datetime"].dtype == object


@pytest.mark.parametrize(
    "value",
    [None, "x", b"\xff", "\udc80", [1], {}, 10**400, dt.date(9999, 1, 1), pd.NaT, object()],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("column", ["tid", "uid", "lat", "t", "datetime", "other"])
def test_no_value_is_refused_or_changes_another(column: str, value: object) -> None:
    good: dict[str, list[Any]] = {**BASE, column: ["2024-01-01", "2", "3", "4", "5"]}
    odd = pd.DataFrame({**good, column: pd.Series([*good[column][:4], value], dtype=object)})
    odd["tid" if column != "tid" else "lat"] = [1, 1, 1, 1, 3] if column != "tid" else [1.0, 2, 3, 4, 5]
    read = pt.Trajectories.from_pandas(odd)
    without = pt.Trajectories.from_pandas(odd[:4])
    assert without.n_points == 4
    same(without, read[: len(without)])


def test_halves_of_characters_are_text_like_any_other() -> None:
    users = ["a", "a", "\ud800", "\ud801", "\ud801"]
    text = frame(tid=range(5), uid=pd.Series(users, dtype="string[python]"))
    objects = frame(tid=range(5), uid=pd.Series(users, dtype=object))
    points = gpd.GeoDataFrame(
        objects[["tid", "uid"]], geometry=gpd.points_from_xy(text["lng"], text["lat"], crs=4326)
    )
    for read in (pt.Trajectories.from_pandas(text), pt.Trajectories.from_geopandas(points)):
        same(pt.Trajectories.from_pandas(objects), read)
        assert len(set(read.users.tolist())) == 3


def test_levels_of_the_index_with_names_are_columns() -> None:
    indexed = frame(t=TIMES).set_index(["tid", "t"])
    same(pt.Trajectories.from_pandas(frame(t=TIMES)), pt.Trajectories.from_pandas(indexed))


def test_columns_are_named_as_for_files() -> None:
    named = frame().rename(columns={"tid": "ride", "lat": "north", "lng": 5})
    columns = {"traj_id": "ride", "y": "north", "x": "5"}
    read = pt.Trajectories.from_pandas(named, columns=columns, crs="lonlat")
    same(pt.Trajectories.from_pandas(frame()), read)


def test_a_lazy_frame_computes_only_what_is_needed() -> None:
    lazy = pl.LazyFrame(BASE).with_columns(bad=pl.col("lat").map_elements(lambda _: 1 / 0, return_dtype=float))
    same(pt.Trajectories.from_pandas(frame()), pt.Trajectories.from_polars(lazy))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (frame().drop(columns="tid").assign(uid=1), "no column 'traj_id'; found lat, lng, uid; name"),
        (frame(trip=1), "columns 'tid' and 'trip' could each be 'traj_id'; choose with"),
        (pd.concat([frame(), frame()[["lat"]]], axis=1), "there are 2 columns 'lat'; keep one of them"),
        (frame().set_index("tid", drop=False), "there are 2 columns 'tid'; keep one of them"),
        (frame(lat=True), "column 'lat' holds bool; convert it to numbers"),
        (frame(lat=1j), "column 'lat' holds complex128; convert it to"),
        (frame(t=pd.to_timedelta([1, 2, 3, 4, 5], "s")), "column 't' holds duration["),
    ],
)
def test_pandas_frames_that_are_refused(table: pd.DataFrame, words: str) -> None:
    with pytest.raises(DataError) as caught:
        pt.Trajectories.from_pandas(table)
    assert str(caught.value).startswith("the pandas frame: ") and words in str(caught.value)


def test_polars_frames_that_are_refused() -> None:
    held = pl.DataFrame({**BASE, "tid": pl.Series([object()] * 5, dtype=pl.Object)})
    with pytest.raises(DataError, match="the polars frame: column 'tid' holds Object"):
        pt.Trajectories.from_polars(held)
    with pytest.raises(DataError, match="the polars frame: column 'lat' holds text; convert it to numbers"):
        pt.Trajectories.from_polars(pl.DataFrame({**BASE, "lat": ["1"] * 5}))


def test_words_of_others_that_quote_a_row_are_kept_back() -> None:
    lazy = pl.LazyFrame({**BASE, "uid": ["secret"] * 5}).with_columns(pl.col("uid").cast(pl.Int64))
    with pytest.raises(DataError, match="the polars frame: it cannot be computed") as caught:
        pt.Trajectories.from_polars(lazy)
    assert "secret" not in str(caught.value) and caught.value.__suppress_context__
    with pytest.raises(DataError, match="a dict is not an Arrow table"):
        pt.Trajectories.from_arrow({**BASE, "t": [10**30] * 5})


@pytest.mark.parametrize("package", PACKAGES)
def test_something_else_is_refused(package: str) -> None:
    with pytest.raises(DataError, match=r"not a list|a list is not an Arrow table"):
        getattr(pt.Trajectories, f"from_{package}")([1, 2])


@pytest.mark.parametrize("package", ["pandas", "polars", "geopandas", "movingpandas", "trackintel"])
def test_a_missing_package_is_named_in_one_line(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"to_{package} needs .*: pip install .*$"):
        getattr(made(), f"to_{package}")()


def test_packages_are_loaded_when_they_are_needed() -> None:
    # Arrow loads pandas by itself, where it is there, as soon as it makes an array.
    code = (
        "import sys, privtrace; privtrace.Trajectories; print('pandas' in sys.modules); "
        "import privtrace.frames; "
        "print({'geopandas', 'movingpandas', 'polars', 'trackintel'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "set()"]


def test_names_of_scikit_mobility() -> None:
    named = made(times=np.arange(7.0)).to_pandas(names="scikit-mobility")
    assert list(named) == ["uid", "tid", "datetime", "lat", "lng"]
    assert named["datetime"].iloc[1] == pd.Timestamp("1970-01-01 00:00:01")
    same(made(), back(made(), "arrow", names="scikit-mobility"))
    with pytest.raises(OutputError, match="points are planar"):
        made(crs="planar").to_arrow(names="scikit-mobility")
    with pytest.raises(SettingsError, match="must be one of scikit-mobility"):
        made().to_arrow(names="other")


# Geometry.


def test_geometry_is_what_it_says() -> None:
    points, lines = made().to_geopandas(), made(offsets=np.array([0, 1, 5, 7])).to_geopandas(lines=True)
    assert points.crs == lines.crs == "EPSG:4326" and made(crs="planar").to_geopandas().crs is None
    assert list(points) == ["traj_id", "t", "user_id", "geometry"]
    assert lines.geom_type.tolist() == ["Point", "LineString", "LineString"]
    assert lines.geometry[2].equals(shapely.LineString([(179.9, 0), (-179.9, 0.5)]))


@pytest.mark.parametrize(
    ("crs", "meaning"),
    [
        ("EPSG:4326", "lonlat"),
        ("OGC:CRS84", "lonlat"),
        ("EPSG:4979", "lonlat"),
        ("EPSG:4258", "lonlat"),
        ("EPSG:3857", "EPSG:3857"),
        (None, "planar"),
    ],
)
def test_crs_says_what_points_mean(crs: str | None, meaning: str) -> None:
    points = made().to_geopandas().set_crs(crs, allow_override=True)
    assert pt.Trajectories.from_geopandas(points).crs == meaning


def test_other_degrees_are_refused_or_declared() -> None:
    points = made().to_geopandas().set_crs(4230, allow_override=True)  # ED50, a hundred meters off
    with pytest.raises(DataError, match=r"the GeoDataFrame: its coordinate system is neither .* EPSG:4326"):
        pt.Trajectories.from_geopandas(points)
    assert pt.Trajectories.from_geopandas(points, crs="lonlat").crs == "lonlat"


def test_rows_are_trajectories_where_lines_have_no_ids() -> None:
    lines = made().to_geopandas(lines=True).drop(columns="traj_id")
    with pytest.raises(DataError, match="no column 'traj_id'"):
        pt.Trajectories.from_geopandas(lines)
    same(made(ids=np.arange(3), times=objects(made()).times), pt.Trajectories.from_geopandas(lines, lines=True))


def test_any_geometry_is_read_and_none_refused() -> None:
    odd = [
        None,
        shapely.Point(),
        shapely.Point(1, 2, 3),
        shapely.box(0, 0, 1, 1),
        shapely.MultiLineString([[(1, 1), (2, 2)], [(3, 3), (4, 4)]]),
        shapely.GeometryCollection(),
    ]
    read = pt.Trajectories.from_geopandas(gpd.GeoDataFrame({"tid": range(6)}, geometry=odd))
    assert np.diff(read.offsets).tolist() == [1, 1, 1, 1, 4, 1]
    assert np.isfinite(read.points[:, 0]).tolist() == [False, False, True, False, True, True, True, True, False]


def test_times_that_do_not_fit_a_line_are_missing_as_in_a_file() -> None:
    lines = made(times=np.arange(7.0)).to_geopandas(lines=True)
    lines["times"] = pd.Series([[1, 2], [3], [4, 5, 6]], dtype=object)
    read = pt.Trajectories.from_geopandas(lines)
    assert read.times is not None
    np.testing.assert_array_equal(read.times, [1, 2, *[np.nan] * 5])


def test_lines_of_a_file_keep_their_times(tmp_path: Path) -> None:
    lines = made(times=np.arange(7.0)).to_geopandas(lines=True)
    lines.to_parquet(tmp_path / "lines.parquet")
    same(
        made(times=np.arange(7.0)), pt.Trajectories.from_geopandas(gpd.read_parquet(tmp_path / "lines.parquet"))
    )


def test_the_geometry_wins_over_columns_of_coordinates() -> None:
    points = made().to_geopandas().assign(lon=0.0, lat=0.0)
    same(made(), pt.Trajectories.from_geopandas(points))
    with pytest.raises(DataError, match="leave lon out of"):
        pt.Trajectories.from_geopandas(points, columns={"lon": "lon"})
    with pytest.raises(DataError, match="has no geometry"):
        pt.Trajectories.from_geopandas(gpd.GeoDataFrame({"tid": [1]}))


def test_bad_points_are_left_out_of_lines() -> None:
    before = made()
    before.points[[2, 3, 4, 5]] = np.nan
    lines = before.to_geopandas(lines=True)
    assert lines["traj_id"].tolist() == [7, 5] and lines.geom_type.tolist() == ["LineString", "Point"]


# MovingPandas and trackintel.


def test_movingpandas_gets_trajectories_of_moving_objects() -> None:
    collection = AWKWARD["text ids"].to_movingpandas()
    assert [(one.id, one.obj_id, one.size()) for one in collection] == [
        ("b", "u", 2),
        ("a/ü", "v", 3),
        (" ", "u", 2),
    ]
    assert collection.trajectories[0].crs == "EPSG:4326"
    same(objects(AWKWARD["text ids"][:1]), pt.Trajectories.from_movingpandas(collection.trajectories[0]))


def test_movingpandas_has_no_trajectory_of_one_moment() -> None:
    times = made().times
    assert times is not None
    short = made(offsets=np.array([0, 1, 5, 7]), times=np.where(np.arange(7) == 6, times[5], times))
    assert [one.id for one in short.to_movingpandas()] == [3]


@pytest.mark.filterwarnings("ignore:Time zone information dropped", "ignore:The inplace keyword")
def test_movingpandas_times_are_local_and_become_utc() -> None:
    # The clock went from 03:00 back to 02:00; what it showed twice is taken for the first.
    local = pd.DatetimeIndex(["2023-10-29 01:30", "2023-10-29 02:30", "2023-10-29 04:00"]).tz_localize(
        "Europe/Berlin", ambiguous=[True] * 3
    )
    points = gpd.GeoDataFrame(
        {"driver": ["d"] * 3}, geometry=shapely.points([1, 2, 3], 1), index=local, crs=4326
    )
    one = mpd.Trajectory(points, 1)
    read = pt.Trajectories.from_movingpandas(one, columns={"user_id": "driver"})
    assert read.times is not None and read.users is not None
    assert read.times.tolist() == local.tz_convert(None).to_numpy().tolist() and read.users.tolist() == ["d"]


@pytest.mark.filterwarnings("ignore:The inplace keyword", "ignore:Trajectory generated without CRS")
def test_movingpandas_objects_may_be_unknown_and_systems_may_differ() -> None:
    """One trajectory of a collection changes neither the types nor the meaning of the others."""
    rows = gpd.GeoDataFrame(geometry=shapely.points([1, 2], 1), index=pd.to_datetime(["2024", "2025"]))
    parts = [mpd.Trajectory(rows, name, obj_id=user, crs=None) for name, user in ((1, 5), (2, None))]
    read = pt.Trajectories.from_movingpandas(mpd.TrajectoryCollection(parts), crs="planar")
    assert read.users is not None and read.users.tolist() == ["5", ""] and read.ids.tolist() == ["1", "2"]
    assert np.isfinite(read.points).all() and read.crs == "planar"
    parts = [mpd.Trajectory(rows, 3, obj_id="u", crs=4326), mpd.Trajectory(rows, "x", crs=3857), *parts]
    read = pt.Trajectories.from_movingpandas(mpd.TrajectoryCollection(parts))
    assert read.crs == "lonlat" and read.ids.tolist() == ["3", "x", "1", "2"]
    assert np.isfinite(read.points[:, 0]).tolist() == [True, True] + [False] * 6
    assert pt.Trajectories.from_movingpandas(parts[2]).crs == "planar"  # one by itself says what it is


@pytest.mark.parametrize(
    "odd", [None, 5, "x", [], [1, 2], [None], np.array(["2020"], "M8[D]"), {"a": 1}, b"\xff"]
)
def test_a_list_of_times_changes_no_other(odd: Any) -> None:
    for times in (made().times, np.arange(7.0)):
        lines = made(times=times).to_geopandas(lines=True)
        before = pt.Trajectories.from_geopandas(lines)
        more = lines.iloc[[0, 0, 1, 2]].reset_index(drop=True)
        more.loc[0, "traj_id"] = 99
        name = more.columns[more.columns.isin(["times", "coordTimes"])][0]
        more[name] = pd.Series([odd, *more[name][1:]], dtype=object)
        after = pt.Trajectories.from_geopandas(more)
        same(before, after.take(np.flatnonzero(after.ids != 99)))


@pytest.mark.parametrize("package", packages("movingpandas", "trackintel"))
def test_times_are_needed_and_may_be_seconds(package: str) -> None:
    with pytest.raises(DataError, match=f"to_{package}: these trajectories have no times"):
        getattr(made(times=None), f"to_{package}")()
    times = back(made(times=np.arange(7.0)), package).times
    assert times is not None and times[1] == np.datetime64("1970-01-01T00:00:01")


@pytest.mark.slow
def test_positionfixes_are_those_of_trackintel() -> None:
    import trackintel as ti

    fixes = made(users=None).to_trackintel()
    ti.Positionfixes.validate(fixes)
    assert str(fixes["tracked_at"].dtype) == "datetime64[ms, UTC]"
    assert fixes["user_id"].tolist() == fixes["traj_id"].tolist()


@pytest.mark.slow
def test_positionfixes_belong_to_triplegs_or_are_cut() -> None:
    fixes = made().to_trackintel()
    same(made(), pt.Trajectories.from_trackintel(fixes.rename(columns={"traj_id": "tripleg_id"})))
    log = fixes.drop(columns="traj_id")
    with pytest.raises(DataError, match=r"the positionfixes: no column 'traj_id'.*gap_minutes=30"):
        pt.Trajectories.from_trackintel(log)
    assert np.diff(pt.Trajectories.from_trackintel(log, gap_minutes=0.5).offsets).tolist() == [2, 2, 3]


@pytest.mark.slow
def test_each_tripleg_is_a_trajectory() -> None:
    import trackintel  # noqa: F401  # gives frames `as_triplegs`

    lines = made().to_geopandas(lines=True).set_index("traj_id").drop(columns="coordTimes")
    started = pd.Timestamp("2024-01-01", tz="UTC")
    legs = lines.assign(started_at=started, finished_at=started, trip_id=[1, 1, 2]).rename_axis("id")
    same(made(times=None), pt.Trajectories.from_trackintel(legs.as_triplegs))
    trips = pt.Trajectories.from_trackintel(legs, columns={"traj_id": "trip_id", "user_id": ""})
    assert np.diff(trips.offsets).tolist() == [5, 2]
    with pytest.raises(DataError, match="no column 'tracked_at' as positionfixes"):
        pt.Trajectories.from_trackintel(made().to_geopandas())


@pytest.mark.data
@pytest.mark.parametrize("package", PACKAGES)
def test_real_trips_come_back(package: str, real_data: Path) -> None:
    trips = pt.read(real_data / "porto_taxi.parquet").collect()[:2000]
    if package == "movingpandas":  # which has no trajectories of one point
        trips = trips.take(np.flatnonzero(np.diff(trips.offsets) > 1))
        assert trips.users is not None and trips.ids is not None  # of objects one by one, and so as text
        trips = replace(trips, users=trips.users.astype(str), ids=trips.ids.astype(str))
    same(trips, back(trips, package))
    if package == "geopandas":
        same(trips, back(trips, package, lines=True))
