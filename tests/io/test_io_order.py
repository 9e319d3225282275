"""The order of the points of a table follows from its rows alone: where they stand in the file says nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.io.samples import PORTO

import privtrace as pt
from privtrace.io import open_source
from privtrace.io.source import Sizes

TINY = Sizes(part_points=7, batch_rows=5, bucket_rows=11, block_bytes=60)
NAMES = ("tid", "t", "seq", "x", "y")

#: A trajectory, time, order, x and y.
Row = tuple[int, Any, float | None, float | None, float | None]


def in_csv(rows: Sequence[Row], folder: Path) -> Path:
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    (folder / "a.csv").write_text("\n".join([",".join(NAMES), *lines]) + "\n")
    return folder / "a.csv"


def as_table(rows: Sequence[Row]) -> pa.Table:
    kinds = [pa.int64(), *[pa.float64()] * 4]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return pa.table(
        {name: pa.array(values, kind) for name, values, kind in zip(NAMES, columns, kinds, strict=True)}
    )


def in_parquet(rows: Sequence[Row], folder: Path) -> Path:
    pq.write_table(as_table(rows), folder / "a.parquet", row_group_size=4)
    return folder / "a.parquet"


def by_id(found: pt.Trajectories) -> dict[int, list[list[str]]]:
    """Write the time and place of each point out; zero has one form."""
    assert found.ids is not None
    times = np.full(found.n_points, np.nan) if found.times is None else found.times
    rows = np.column_stack([times, found.points]).astype(float) + 0.0
    bounds = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    return {int(name): rows[i:j].astype(str).tolist() for name, (i, j) in zip(found.ids, bounds, strict=True)}


def slowly(rows: Sequence[Row]) -> dict[int, list[list[str]]]:
    """Sort tuples, in which what is missing comes after what is there."""
    made: dict[int, list[Row]] = {}
    for row in rows:
        made.setdefault(row[0], []).append(row)

    def key(row: Row) -> list[Any]:
        return [(value is None, 0 if value is None else value) for value in row[1:]]

    def text(value: float | None) -> str:
        return "nan" if value is None else str(float(value) + 0.0)

    return {
        name: [[text(row[place]) for place in (1, 3, 4)] for row in sorted(some, key=key)]
        for name, some in made.items()
    }


number = st.sampled_from([None, -2.5, -0.0, 0.0, 1.0, 7.0])
rows_of_points = st.lists(st.tuples(st.integers(0, 3), *[number] * 4), min_size=1, max_size=40)
of_files = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@of_files
@given(rows_of_points, st.randoms(use_true_random=False))
def test_shuffled_rows_give_the_same_trajectories(tmp_path: Path, rows: list[Row], shuffling: Any) -> None:
    expected = slowly(rows)
    shuffled = rows.copy()
    shuffling.shuffle(shuffled)
    for some in (rows, shuffled, sorted(rows, key=lambda row: row[0])):
        for write in (in_csv, in_parquet):
            with open_source(write(some, tmp_path), None, TINY) as source:
                assert by_id(source.collect()) == expected
        assert by_id(pt.Trajectories.from_arrow(as_table(some))) == expected


@of_files
@given(rows_of_points, st.randoms(use_true_random=False))
def test_pieces_of_shuffled_logs_are_the_same(tmp_path: Path, rows: list[Row], shuffling: Any) -> None:
    """They are cut after the sort."""

    def pieces(some: Sequence[Row], write: Callable[[Sequence[Row], Path], Path]) -> dict[Any, Any]:
        path = write(some, tmp_path)
        with open_source(path, None, TINY, gap_minutes=0.05, time_unit="s") as source:
            found = source.collect()
        bounds = zip(found.ids.tolist(), found.offsets, found.offsets[1:], strict=False)
        return {name: (found.points[i:j] + 0.0).astype(str).tolist() for name, i, j in bounds}

    shuffled = rows.copy()
    shuffling.shuffle(shuffled)
    expected = pieces(rows, in_csv)
    assert pieces(shuffled, in_csv) == pieces(shuffled, in_parquet) == expected
    points = [point for points in expected.values() for point in points]
    assert len(points) == sum(row[1] is not None for row in rows)


dates = st.sampled_from(
    ["", "soon", "5", "-3.5", "2024-01-01 10:00:00", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00.5"]
)


@of_files
@given(st.lists(st.tuples(st.integers(0, 2), dates, number, number, number), min_size=1, max_size=30))
def test_what_is_collected_has_the_order_of_its_source(tmp_path: Path, rows: list[Row]) -> None:
    """Where times are wanted too: dates, numbers and what is neither come together in one column."""
    path = in_csv(rows, tmp_path)
    with open_source(path, None, TINY) as source, source.timed() as timed:
        in_memory = source.collect()
        for one, other in (
            (in_memory.timed(), timed.collect()),
            (in_memory, pt.Trajectories.end_to_end([*source.parts()])),
        ):
            for name in ("points", "offsets", "times", "ids"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_ties_give_the_same_fit_from_a_file_and_from_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    times = np.array(["2024-01-01 10:00:00", "2024-01-01 10:00:15", "7", "soon"])[rng.integers(0, 4, 400)]
    points = np.round(rng.uniform(0, 8, (400, 2)), 3).tolist()
    rows = [(i % 40, t, None, *point) for i, (t, point) in enumerate(zip(times.tolist(), points, strict=True))]
    region = pt.Region.box(0, 0, 8, 8, crs="planar")

    def fitted(path: Path, *, in_memory: bool) -> Path:
        with pt.read(path) as source:
            given = source.collect() if in_memory else source
            model = pt.PrivTrace(epsilon=5, region=region).fit(given, noise=pt.SeededNoise(1))
        model.save(tmp_path / "a.model", force=True)
        return tmp_path / "a.model"

    path = in_csv(rows, tmp_path)
    one = fitted(path, in_memory=False).read_bytes()
    assert fitted(path, in_memory=True).read_bytes() == one
    assert fitted(in_csv(rows[::-1], tmp_path), in_memory=False).read_bytes() == one


# The role.


@pytest.mark.parametrize("name", ["order", "Sequence", "SEQ", "step"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas", "polars"])
def test_a_column_sets_the_order(tmp_path: Path, name: str, kind: str) -> None:
    """Alone, and where times are missing or the same."""
    options: Any = {"columns": {"order": "step"}} if name == "step" else {}
    for times, expected in (
        (None, [5, 4, 3, 2, 1]),
        ([8, 8, 9, None, None], [2, 1, 3, 5, 4]),
        ([8, 8, 8, 8, 7], [5, 4, 3, 2, 1]),
    ):
        columns = {"tid": [1] * 5, "x": [1.0, 2, 3, 4, 5], "y": [0.0] * 5, name: [10, 9, 3, 2, -1]}
        table = pa.table(columns | ({} if times is None else {"t": pa.array(times, pa.int64())}))
        if kind == "csv":
            pa.csv.write_csv(table, tmp_path / "a.csv")
            found = pt.read(tmp_path / "a.csv", **options).collect()
        elif kind == "parquet":
            pq.write_table(table, tmp_path / "a.parquet")
            found = pt.read(tmp_path / "a.parquet", **options).collect()
        elif kind == "arrow":
            found = pt.Trajectories.from_arrow(table, **options)
        else:
            pytest.importorskip(kind)
            frame = table.to_pandas() if kind == "pandas" else pytest.importorskip("polars").from_arrow(table)
            found = getattr(pt.Trajectories, f"from_{kind}")(frame, **options)
        assert found.points[:, 0].tolist() == expected


def test_without_times_or_an_order_rows_stay_as_they_stand(tmp_path: Path) -> None:
    text = "tid,x,y,seq,t\n1,5,5,1,2\n1,4,4,2,2\n1,6,6,0,1\n"
    (tmp_path / "a.csv").write_text(text)
    for columns, expected in (
        ({}, [6, 5, 4]),
        ({"order": ""}, [6, 4, 5]),  # by place
        ({"t": ""}, [6, 5, 4]),
        ({"t": "", "order": ""}, [5, 4, 6]),
        ({"order": "t", "t": "seq"}, [6, 5, 4]),
        ({"order": "x", "x": "t"}, [4, 5, 6]),
    ):
        assert pt.read(tmp_path / "a.csv", columns=columns).collect().points[:, 1].tolist() == expected
    in_memory = pt.Trajectories(
        np.array([[2.0, 2], [1, 1], [3, 3]]), np.array([0, 1, 3]), np.ones(3), ids=np.array([7, 7])
    )
    assert in_memory.joined().points[:, 0].tolist() == [2, 1, 3]  # entries have an order of their own


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_an_order_in_text_is_a_number_or_missing(tmp_path: Path, delimiter: str) -> None:
    values = ["x", "1e999", "", "2.5", "nan", "-1e3", "1,5"]
    lines = [f'1{delimiter}{i}{delimiter}0{delimiter}"{value}"' for i, value in enumerate(values)]
    (tmp_path / "a.csv").write_text("tid,x,y,order\n".replace(",", delimiter) + "\n".join(lines) + "\n")
    with pt.read(tmp_path / "a.csv") as source:
        found = source.collect().points[:, 0].tolist()
        faults = [(fault.line, fault.reason) for fault in source.faults()]
    numbers = [5, 3] if delimiter == "," else [5, 6, 3]
    assert found == numbers + [i for i in range(7) if i not in numbers]
    assert faults == [(i + 2, "order is missing or not a number") for i in range(7) if i not in numbers]


def test_text_in_a_frame_is_read_as_in_a_file() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tid": [1] * 3, "x": [1.0, 2, 3], "y": [0.0] * 3, "seq": ["9", "x", "-1"]})
    assert pt.Trajectories.from_pandas(frame).points[:, 0].tolist() == [3, 1, 2]


def test_columns_that_cannot_set_the_order_are_refused(tmp_path: Path) -> None:
    table = pa.table({"tid": [1], "x": [1.0], "y": [2.0], "order": ["first"]})
    pq.write_table(table, tmp_path / "a.parquet")
    words = (
        r"column 'order' holds text; convert it to numbers, or leave it out with --columns order= \(columns="
    )
    with pytest.raises(pt.DataError, match=words):
        pt.read(tmp_path / "a.parquet")
    assert len(pt.read(tmp_path / "a.parquet", columns={"order": ""}).collect()) == 1
    (tmp_path / "a.csv").write_text("tid,x,y,order,seq\n1,2,3,4,5\n")
    with pytest.raises(pt.DataError, match=r"columns 'order' and 'seq' could each be 'order'; choose with"):
        pt.read(tmp_path / "a.csv")
    with pytest.raises(pt.DataError, match="no column 'step' for order"):
        pt.read(tmp_path / "a.csv", columns={"order": "step"})


# What has an order of its own.


def feature(x: float, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": {"type": "Point", "coordinates": [x, 0]}}


def with_an_order(folder: Path, kind: str) -> Path:
    """Write points at one time, whose order and places fall."""
    columns = {"tid": [1] * 3, "t": ["2024-01-01"] * 3, "seq": [3, 2, 1], "order": ["b", "a", "c"]}
    if kind == "geojson":
        path = folder / "a.geojson"
        rows = pa.table(columns).to_pylist()
        features = [feature(3.0 - i, **row) for i, row in enumerate(rows)]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    elif kind == "geoparquet":
        shapely = pytest.importorskip("shapely")
        path = folder / "a.geoparquet"
        shapes = [shapely.to_wkb(shapely.Point(3.0 - i, 0)) for i in range(3)]
        described = {"encoding": "WKB", "geometry_types": ["Point"]}
        geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": described}}
        table = pa.table(columns | {"geometry": shapes})
        pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


@pytest.mark.parametrize("kind", ["geojson", "geoparquet"])
def test_features_keep_their_order(tmp_path: Path, kind: str) -> None:
    path = with_an_order(tmp_path, kind)
    for columns in ({}, {"order": ""}):
        assert pt.read(path, columns=columns).collect().points[:, 0].tolist() == [3, 2, 1]
    with pytest.raises(pt.DataError, match=r"only tables .* leave order out of --columns \(columns\)"):
        pt.read(path, columns={"order": "seq"})
    apart = tmp_path / "apart"
    apart.mkdir()
    path.rename(apart / path.name)
    for columns in ({}, {"order": "seq"}):  # beside files that have one
        assert pt.read(apart, columns=columns).collect().points[:, 0].tolist() == [3, 2, 1]


def cut_up(rows: Sequence[Row], folder: Path, *, leave_out: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """Write rows as one table, and in a folder, a third of them in each file, of several formats."""
    table, parts = as_table(rows).drop_columns([*leave_out]), folder / "parts"
    parts.mkdir()
    n = -(-table.num_rows // 3)
    pa.csv.write_csv(table.slice(0, n), parts / "b.csv")
    for number, name in enumerate(["c", "a"], 1):
        pq.write_table(table.slice(number * n, n), parts / f"{name}.parquet")
    pq.write_table(table, folder / "whole.parquet")
    return folder / "whole.parquet", parts


@pytest.mark.parametrize("leave_out", [(), ("seq",), ("t",)], ids=["time and order", "time", "order"])
@pytest.mark.parametrize("wants_times", [False, True])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_points_of_a_folder_come_as_those_of_one_table(
    leave_out: tuple[str, ...], wants_times: bool, tmp_path_factory: Any, data: Any
) -> None:
    """By time, then order, then place, whichever file they are in."""
    value = st.sampled_from([None, 0.0, -0.0, 1.0, 2.5])
    rows = data.draw(
        st.lists(st.tuples(st.integers(0, 2), value, value, value, value), min_size=3, max_size=30)
    )
    whole, parts = cut_up(rows, tmp_path_factory.mktemp("folder"), leave_out=leave_out)
    unit = {"time_unit": "s"} if wants_times and "t" not in leave_out else {}
    one, other = (pt.read(path, crs="planar", **unit).collect() for path in (whole, parts))
    numbers = [float(some) for some in one.ids.tolist()], [float(some) for some in other.ids.tolist()]
    assert sorted(numbers[0]) == sorted(numbers[1])
    for name, at in zip(numbers[1], range(len(other)), strict=True):
        np.testing.assert_equal(other[at].points + 0.0, one[numbers[0].index(name)].points + 0.0)


def test_a_file_of_a_folder_may_have_no_order_that_is_one(tmp_path: Path) -> None:
    """One that is text, or could be two columns, is none; alone, such a table is refused."""
    columns = {"tid": [1] * 3, "t": [5] * 3, "lon": [3.0, 2, 1], "lat": [0.0] * 3}
    (tmp_path / "text").mkdir()
    pq.write_table(pa.table(columns | {"order": ["a", "b", "c"]}), tmp_path / "text" / "a.parquet")
    (tmp_path / "two").mkdir()
    pq.write_table(pa.table(columns | {"order": [1, 2, 3], "seq": [3, 2, 1]}), tmp_path / "two" / "a.parquet")
    for name in ("text", "two"):
        assert pt.read(tmp_path / name).collect().points[:, 0].tolist() == [1, 2, 3]
        with pytest.raises(pt.DataError, match="order"):
            pt.read(tmp_path / name / "a.parquet")
    for named, expected in {"order": [3, 2, 1], "seq": [1, 2, 3]}.items():
        found = pt.read(tmp_path / "two", columns={"order": named}).collect()
        assert found.points[:, 0].tolist() == expected


@pytest.mark.parametrize("n_others", [0, 1, 5])
def test_rows_of_others_do_not_order_points(tmp_path: Path, n_others: int) -> None:
    """Of one trajectory: two at one time in a table, two features at that time, two in a table without any."""
    others = [feature(x=float(i), tid="other", t="2024-01-01") for i in range(n_others)]
    own = [feature(x=x, tid="1", t="2024-01-01") for x in (6.0, 5.0)]
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [*others, *own]}))
    (tmp_path / "b.csv").write_text("tid,t,seq,lon,lat\n1,2024-01-01,3,2,0\n1,2024-01-01,1,1,0\n")
    (tmp_path / "c.csv").write_text("tid,lon,lat\n" + "0,0,0\n" * n_others + "1,8,0\n1,7,0\n")
    (trip,) = (trip for trip in pt.read(tmp_path).collect() if trip.id == "1")
    assert trip.points[:, 0].tolist() == [1, 2, 6, 5, 8, 7]


def test_a_frame_with_geometries_keeps_its_order() -> None:
    geopandas, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    columns = {"tid": [1] * 3, "t": [5] * 3, "seq": [3, 2, 1]}
    frame = geopandas.GeoDataFrame(columns, geometry=shapely.points([[3, 0], [2, 0], [1, 0]]))
    assert pt.Trajectories.from_geopandas(frame).points[:, 0].tolist() == [3, 2, 1]
    with pytest.raises(pt.DataError, match="only tables"):
        pt.Trajectories.from_geopandas(frame, columns={"order": "seq"})


def test_a_line_without_times_that_can_be_read_stays_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(PORTO.replace("1372636858", "soon"))
    found = pt.read(tmp_path / "a.csv").collect()
    assert found.times is not None and np.isnat(found.times[:2]).all()
    assert found.points[:2, 0].tolist() == [-8.618643, -8.618499]
    (tmp_path / "b.csv").write_text(
        PORTO.replace("[-8.618643,41.141412]", "[-8.6,41.1]").replace("1372636858", "")
    )
    assert pt.read(tmp_path / "b.csv").collect().points[:2, 0].tolist() == [-8.6, -8.618499]


# Telling the curator.


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("tid,lon,lat,t\n1,2,3,noon\n", {}, "the order of lon and lat; "),
        ("tid,x,y,t,seq\n1,2,3,noon,1\n", {}, "the order of 'seq' or of x and y; "),
        ("tid,x,y,t,seq\n1,2,3,noon,1\n", {"order": ""}, "the order of x and y; "),
    ],
)
def test_what_becomes_of_times_that_cannot_be_read_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, columns: Any, words: str
) -> None:
    (tmp_path / "a.csv").write_text(text)
    cure = "or leave times out with --columns t= (columns={'t': ''})"
    stay = ", and rows stay as they stand"
    for wanted in (False, True):
        caplog.clear()
        with (
            caplog.at_level(logging.WARNING, "privtrace"),
            pt.read(tmp_path / "a.csv", columns=columns) as source,
        ):
            region = pt.Region.box(0, 0, 9, 9, crs=source.crs)
            given = source.timed() if wanted else source
            pt.AdaTrace(epsilon=1, region=region, N=2).fit(given)
        (told,) = [message for message in caplog.messages if "1 of 1 times" in message]
        numbers = "their numbers or of " if wanted else ""
        assert f"come last, in {words.replace('order of ', f'order of {numbers}')}" in told
        assert cure in told and (stay in told) == ("'seq'" not in words)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_points_without_a_place_in_the_order_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, suffix: str
) -> None:
    rows: list[Row] = [(1, 5, 1, 2.0, 3.0), (1, 4, None, 3.0, 3.0), (1, 3, None, 2.0, 3.0)]
    path = (in_csv if suffix == ".csv" else in_parquet)(rows, tmp_path)
    told = (
        "2 of 3 points have no number in 'seq' and come last, in the order of x and y; leave that column "
        "out with --columns order= (columns={'order': ''}), and rows stay as they stand"
    )
    for columns, expected in (({"t": ""}, [told]), ({}, []), ({"t": "", "order": ""}, [])):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "privtrace"), pt.read(path, columns=columns) as source:
            pt.AdaTrace(epsilon=1, region=pt.Region.box(0, 0, 9, 9, crs="planar"), N=2).fit(source)
        found = [message for message in caplog.messages if "no number" in message]
        assert [told in message for message in found] == [True] * len(expected)
