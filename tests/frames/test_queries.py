"""Queries of polars and DuckDB give what a file of their rows gives, run once, and stay out of memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.contract.test_readers import LENGTHY, SAMPLES, around, bytes_of, missing

import privtrace as pt
from privtrace.errors import DataError, MissingExtra
from privtrace.frames import Declared, from_lazy, from_relation
from privtrace.io import open_source
from privtrace.io.source import FileSource, Sizes
from privtrace.models import to_bytes

if TYPE_CHECKING:
    import duckdb

REGION = pt.Region.box(0, 0, 10, 10)
TINY = Sizes(part_points=50, batch_rows=64, bucket_rows=300)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    # Not before all tests are collected: what is frozen then would be reported as leaked at the end.
    import duckdb

    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(params=["polars", "duckdb"])
def asked(request: pytest.FixtureRequest, connection: duckdb.DuckDBPyConnection) -> Callable[..., FileSource]:
    """Give a function that makes a source of a query for the rows of a table of arrow."""

    def source(table: pa.Table, declared: Declared | None = None, sizes: Sizes | None = None) -> FileSource:
        if request.param == "polars":
            return from_lazy(pl.DataFrame(table).lazy(), declared or Declared(), sizes)
        return from_relation(connection.from_arrow(table), declared or Declared(), sizes)

    return source


def table(*, text: bool = False, together: bool = False, times: str = "timestamps") -> pa.Table:
    """Give 2,000 points of 150 trajectories and 40 users, scattered or not, some without this or that."""
    rng = np.random.default_rng(1)
    trips = np.sort(rng.integers(0, 150, 2000)) if together else rng.integers(0, 150, 2000)
    moments = np.datetime64("2024-03-01T00:00:00", "ms") + 15_000 * rng.permutation(2000)
    written = np.datetime_as_string(moments, unit="s")
    t = {"timestamps": moments, "text": [*written[:-2], "soon", None], "numbers": rng.permutation(2000)}
    missing = rng.integers(0, 50, 2000)
    columns: dict[str, Any] = {
        "speed": rng.random(2000),
        "lat": [None if lost == 1 else y for lost, y in zip(missing, rng.uniform(1, 9, 2000), strict=True)],
        "Trip ID": [None if lost == 2 else trip for lost, trip in zip(missing, trips.tolist(), strict=True)],
        "lon": rng.uniform(1, 9, 2000),
        "user_id": [
            None if lost == 3 else user for lost, user in zip(missing, (trips % 40).tolist(), strict=True)
        ],
        "t": t[times],
    }
    made = pa.table(columns)
    return (
        made
        if not text
        else made.cast(
            pa.schema(
                [
                    (f.name, pa.string() if pa.types.is_integer(f.type) and f.name != "t" else f.type)
                    for f in made.schema
                ]
            )
        )
    )


def dump(source: FileSource) -> list[Any]:
    """List all that a source gives, to the bit."""
    parts = [*source.parts()]
    return [
        [None if values is None else (values.dtype.str, values.tolist()) for values in arrays]
        for part in parts
        for arrays in [(part.points, part.offsets, part.times, part.users, part.ids)]
    ] + [source.dropped, source.unread_times, source.crs, source.times_by_default]


# The same as a file.


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("times", ["timestamps", "text", "numbers"])
def test_a_query_gives_what_a_file_gives(
    asked: Callable[..., FileSource], together: bool, text: bool, times: str, tmp_path: Path
) -> None:
    given = table(text=text, together=together, times=times)
    pq.write_table(given, tmp_path / "a.parquet")
    for gap in (None, 30.0) if times == "timestamps" else (None,):
        declared = Declared(gap_minutes=gap)
        file = open_source(tmp_path / "a.parquet", None, TINY, gap_minutes=gap)
        with file, asked(given, declared, TINY) as query:
            assert repr(dump(file)) == repr(dump(query))  # where NaN is NaN
            assert [(f.line, f.reason) for f in file.faults()] == [(f.line, f.reason) for f in query.faults()]
            assert query.n_points == file.n_points == 2000
            if times == "text":
                assert repr(dump(file.timed())) == repr(dump(query.timed()))


@pytest.mark.parametrize("unit", ["trajectory", "user"])
@pytest.mark.parametrize(
    "rows",
    [{}, {"text": True, "times": "text"}, {"together": True, "text": True}, {"times": "numbers"}],
    ids=str,
)
def test_fits_are_the_same(asked: Callable[..., FileSource], unit: str, rows: Any, tmp_path: Path) -> None:
    given = table(**rows)
    pq.write_table(given, tmp_path / "a.parquet")
    limit = {"max_per_user": 2} if unit == "user" else {}
    synthesizer = pt.PrivTrace(epsilon=10, region=REGION, unit=unit, **limit)
    models = [
        to_bytes(synthesizer.fit(source, noise=pt.SeededNoise(1)))
        for source in (tmp_path / "a.parquet", given, asked(given), asked(given, sizes=TINY))
    ]
    assert len({*models}) == 1


def test_options_are_those_of_files(asked: Callable[..., FileSource]) -> None:
    given = table(times="numbers").rename_columns(["speed", "north", "ride", "lon", "user_id", "t"])
    declared = Declared(columns={"traj_id": "ride", "y": "north", "x": "lon"}, crs="EPSG:3763", time_unit="s")
    source = asked(given, declared)
    assert source.crs == "EPSG:3763" and source.has_clock and source.has_users
    assert source.collect().n_points == sum(given["ride"].is_valid().to_pylist())


def test_columns_that_are_declared_need_not_be_used(asked: Callable[..., FileSource]) -> None:
    given = table().append_column("east", pa.nulls(2000)).append_column("north", pa.nulls(2000))
    both = {"lon": "lon", "lat": "lat", "x": "east", "y": "north"}
    assert asked(given, Declared(columns=both, crs="lonlat")).collect().points[:, 0].max() > 0


def test_a_query_without_rows_is_a_source_without_any(asked: Callable[..., FileSource]) -> None:
    assert len(asked(table()[:0]).collect()) == 0


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    "name", [name for name in SAMPLES if name.startswith("parquet: ") and "fold" not in name]
)
def test_no_row_decides_how_others_are_read(
    name: str, engine: str, connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    sample = SAMPLES[name]
    declared = Declared.of(**sample.options)

    folders = (tmp_path / str(number) for number in count())  # an engine may remember a file by its path

    def read(pieces: list[Any]) -> list[Any]:
        folder = next(folders)
        folder.mkdir()
        path = str(sample.write(folder, pieces))
        if engine == "polars":
            return bytes_of(from_lazy(pl.scan_parquet(path), declared), has_ids=True)
        return bytes_of(from_relation(connection.read_parquet(path), declared), has_ids=True)

    before = read([*sample.good])
    assert len(before) == len(sample.good)
    for what, hostile in sample.hostile.items():
        if what != LENGTHY:
            assert missing(before, read(around(sample.good, hostile))) == [], what


# Once, and in little memory.


def queried(engine: str, connection: duckdb.DuckDBPyConnection, calls: Iterator[int]) -> FileSource:
    """Ask for scattered rows, with a function of Python in the query, and in another order each time."""
    given = table(text=True, times="text")

    def counted(values: Any) -> Any:
        next(calls)
        return values

    if engine == "polars":
        lat = pl.col("lat").map_batches(counted, return_dtype=pl.Float64)
        shuffled = pl.DataFrame(given).lazy().with_columns(lat).select(pl.all().shuffle())
        return from_lazy(shuffled, Declared())
    connection.create_function("counted", counted, ["DOUBLE"], "DOUBLE", side_effects=True)
    rows = connection.from_arrow(given).project("* REPLACE (counted(lat) AS lat)")
    return from_relation(rows.order("random()"), Declared())


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_query_runs_once(engine: str, connection: duckdb.DuckDBPyConnection) -> None:
    calls = count()
    source = queried(engine, connection, calls)
    assert next(calls) == 0  # not for what is public
    synthesizer = pt.PrivTrace(epsilon=10, region=REGION, unit="user", max_per_user=2, times=True)
    first = to_bytes(synthesizer.fit(source, noise=pt.SeededNoise(1)))
    n_calls = next(calls)
    assert n_calls > 1
    one = repr(dump(source))
    source.close()
    assert one == repr(dump(source)) and [*source.faults()] and [*source.timed().parts()] and source.n_points
    assert first == to_bytes(synthesizer.fit(source, noise=pt.SeededNoise(1)))
    assert next(calls) == n_calls + 1


READ = """
import sys, threading, privtrace as pt
from privtrace.frames import Declared, from_lazy, from_relation
if sys.argv[1] == "polars":
    import polars
    source = from_lazy(polars.scan_parquet(sys.argv[2]), Declared())
else:
    import duckdb
    duckdb.sql("SET enable_progress_bar = false")
    source = from_relation(duckdb.read_parquet(sys.argv[2]), Declared())
def held():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
before, done, peak = held(), threading.Event(), 0
def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, held())
watcher = threading.Thread(target=watch)
watcher.start()
for part in source.parts():
    pass
done.set()
watcher.join()
print(peak - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says how much memory is held")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_query_five_times_as_long_takes_no_more_memory(engine: str, tmp_path: Path) -> None:
    peaks = []
    for n_points in (4_000_000, 20_000_000):
        numbers = np.arange(250_000)
        with pq.ParquetWriter(
            tmp_path / "a.parquet", pa.schema([("tid", "i8"), ("lon", "f8"), ("lat", "f8")])
        ) as writer:
            for start in range(0, n_points, 250_000):
                x = np.random.default_rng(start).random(250_000)
                writer.write_table(pa.table({"tid": (start + numbers) // 100, "lon": x, "lat": x}))
        command = [sys.executable, "-c", READ, engine, str(tmp_path / "a.parquet")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.5 * max(peaks[0], 1 << 17), peaks  # kilobytes; the rows themselves are 480,000


# Names and types.


def test_only_what_is_needed_is_computed(connection: duckdb.DuckDBPyConnection) -> None:
    given = table()
    lazy = pl.DataFrame(given).lazy()
    bad = pl.col("speed").map_elements(lambda _: 1 / 0, return_dtype=pl.Float64)
    n_points = pt.Trajectories.from_arrow(given).n_points
    assert from_lazy(lazy.with_columns(bad), Declared()).collect().n_points == n_points
    rows = connection.from_arrow(given).project("* REPLACE (error('speed') AS speed)")
    assert from_relation(rows, Declared()).collect().n_points == n_points


@pytest.mark.parametrize(
    "name", ["^l.*$", "*", 'a"b', "x y", "#1", "select", "lon; drop", "to_arrow_reader", "ü"]
)
def test_any_name_is_a_name(asked: Callable[..., FileSource], name: str) -> None:
    given = table().rename_columns(["speed", "lat", "Trip ID", name, "user_id", "t"])
    declared = Declared(columns={"lon": name})
    assert repr(asked(given, declared).collect().points) == repr(asked(table()).collect().points)


def test_names_that_differ_in_case_are_not_mixed_up(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.sql("SELECT 1 AS traj_id, 2 AS lon, 3 AS a, 4 AS A")
    assert from_relation(rows, Declared(columns={"lat": "A"})).collect().points.tolist() == [[2, 4]]
    assert from_relation(rows, Declared(columns={"lat": "a", "lon": "A"})).collect().points.tolist() == [[4, 3]]
    with pytest.raises(DataError, match="the DuckDB relation: there are 2 columns 'lat'; keep one of them"):
        from_relation(connection.sql("SELECT 1 AS traj_id, 2 AS lon, 3 AS lat, 4 AS lat"), Declared())


def test_types_of_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    def read(columns: str) -> pt.Trajectories:
        return from_relation(connection.sql(f"SELECT {columns} FROM range(3) AS rows(i)"), Declared()).collect()

    connection.sql("CREATE TYPE mood AS ENUM ('b', 'a')")
    place = "i * 1.5::DECIMAL(9, 3) AS lon, (i + 1)::FLOAT AS lat"
    named = read(f"'a'::mood AS traj_id, i::UTINYINT AS user_id, {place}")
    assert named.ids is not None and named.ids.tolist() == ["a"] * 3
    assert len(read(f"uuid() AS traj_id, {place}")) == 3
    assert read("1 AS traj_id, i::HUGEINT AS lon, 2 AS lat").points[:, 0].tolist() == [0, 1, 2]
    zoned = read(f"1 AS traj_id, {place}, '2024-01-01 10:00:00+02'::TIMESTAMPTZ AS t")
    assert zoned.times is not None and zoned.times[0] == np.datetime64("2024-01-01T08:00")
    for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"):
        timed = read(f"1 AS traj_id, {place}, '2024-01-01'::{kind} AS t")
        assert timed.times is not None and timed.times[0] == np.datetime64("2024-01-01"), kind
    assert read(f"1 AS traj_id, {place}, NULL AS t").n_points == 3


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("i::HUGEINT AS traj_id, 1 AS lon, 1 AS lat", "column 'traj_id' holds decimal128"),
        ("1 AS traj_id, '1' AS lon, 1 AS lat", "column 'lon' holds text; convert it to numbers"),
        ("1 AS traj_id, true AS lon, 1 AS lat", "column 'lon' holds bool; convert it to numbers"),
        ("[1] AS traj_id, 1 AS lon, 1 AS lat", "column 'traj_id' holds list<"),
        ("1 AS traj_id, 1 AS lon, 1 AS lat, TIME '10:00' AS t", "column 't' holds time64"),
        ("1 AS traj_id, 1 AS lon, 1 AS lat, INTERVAL 1 DAY AS t", "column 't' holds month_day_nano_interval"),
        ("1 AS lon, 1 AS lat", "no column 'traj_id'; found lon, lat; name"),
    ],
)
def test_relations_that_are_refused(column: str, words: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(DataError) as caught:
        from_relation(connection.sql(f"SELECT {column} FROM range(3) AS rows(i)"), Declared())
    assert str(caught.value).startswith("the DuckDB relation: ") and words in str(caught.value)


def test_types_of_polars() -> None:
    base = pl.LazyFrame({"tid": ["b", "a", None], "lat": [1.0, 2, 3], "lon": [4, 5, 6]})
    expected = from_lazy(base, Declared()).collect()
    assert expected.ids is not None and expected.ids.tolist() == ["b", "a"]
    for kind in (pl.Categorical, pl.Enum(["a", "b", "c"]), pl.Binary):
        read = from_lazy(base.with_columns(pl.col("tid").cast(kind)), Declared(), Sizes(batch_rows=1)).collect()
        assert read.ids is not None and read.ids.tolist() == ["b", "a"], kind
    decimals = base.with_columns(pl.col("lat").cast(pl.Decimal(10, 2)), pl.col("lon").cast(pl.Float32))
    assert from_lazy(decimals, Declared()).collect().points.tolist() == expected.points.tolist()


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pl.lit(1).cast(pl.Int128).alias("tid"), "column 'tid' holds Int128; convert it to integers"),
        (pl.lit("1").alias("lat"), "column 'lat' holds text; convert it to numbers"),
        (pl.duration(seconds=1).alias("t"), "column 't' holds duration"),
        (pl.lit([1]).alias("tid"), "column 'tid' holds large_list"),
        (pl.lit(1).alias("trip"), "columns 'tid' and 'trip' could each be 'traj_id'"),
    ],
    ids=["integers of 128 bits", "text", "a duration", "a list", "two names"],
)
def test_lazy_frames_that_are_refused(column: pl.Expr, words: str) -> None:
    frame = pl.LazyFrame({"tid": [1], "lat": [1], "lon": [1]}).with_columns(column)
    with pytest.raises(DataError) as caught:
        from_lazy(frame, Declared())
    assert str(caught.value).startswith("the polars frame: ") and words in str(caught.value)
    objects = pl.LazyFrame({"tid": pl.Series([object()], dtype=pl.Object), "lat": [1], "lon": [1]})
    with pytest.raises(DataError, match="column 'tid' holds Object"):
        from_lazy(objects, Declared())


# Failures.


def failing(_: Any) -> Any:
    raise KeyError("secret")


UID = pl.col("uid")
FAILING: dict[str, pl.Expr | str] = {
    "a value of polars": UID.cast(pl.Int64),
    "a function in polars": UID.map_batches(failing, return_dtype=pl.String),
    "a type in polars": UID.map_batches(lambda uid: uid, return_dtype=pl.Int64),
    "a value of DuckDB": "CAST(uid AS BIGINT)",
    "an error in DuckDB": "error(uid)",
}


@pytest.mark.parametrize("what", FAILING)
def test_words_of_others_are_kept_back(what: str, connection: duckdb.DuckDBPyConnection) -> None:
    """They may quote a row."""
    given, uid = pa.table({"tid": [1, 1], "lat": [1, 2], "lon": [1, 2], "uid": ["7", "secret"]}), FAILING[what]
    if isinstance(uid, str):
        source = from_relation(connection.from_arrow(given).project(f"* REPLACE ({uid} AS uid)"), Declared())
    else:
        source = from_lazy(pl.DataFrame(given).lazy().with_columns(uid), Declared())
    with pytest.raises(
        DataError, match=r": it cannot be computed; (collect|fetch) it first, and see"
    ) as caught:
        source.collect()
    assert "secret" not in str(caught.value) and caught.value.__suppress_context__


def test_words_about_what_is_not_there_are_kept_back_too(connection: duckdb.DuckDBPyConnection) -> None:
    for lazy in (pl.scan_parquet("/secret.parquet"), pl.LazyFrame({"secret": [1]}).select("tid")):
        with pytest.raises(DataError, match="the polars frame: it cannot be computed; collect it first"):
            from_lazy(lazy, Declared())
    rows = connection.from_arrow(table())
    connection.close()
    with pytest.raises(DataError, match="the DuckDB relation: it cannot be computed; fetch it first"):
        from_relation(rows, Declared())


def test_a_query_that_failed_may_work_later(tmp_path: Path) -> None:
    columns = [("traj_id", "i8"), ("lon", "f8"), ("lat", "f8")]
    missing, path = pa.table({name: [1] for name, _ in columns}), tmp_path / "a.parquet"
    pq.write_table(missing, path)
    source = from_lazy(pl.scan_parquet(path), Declared())
    path.unlink()
    with pytest.raises(DataError, match="the polars frame: it cannot be computed"):
        source.collect()
    pq.write_table(missing, path)
    assert source.collect().n_points == 1


def test_a_full_disk_has_its_own_words_and_frees_the_connection(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = from_relation(connection.from_arrow(table()), Declared(), TINY)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("privtrace.rows.spool._dealt", full)
        with pytest.raises(DataError, match="No space left on device"):
            source.collect()
    assert connection.sql("SELECT 42").fetchall() == [(42,)]
    assert source.collect().n_points


def test_another_query_may_run_between_passes(connection: duckdb.DuckDBPyConnection) -> None:
    source = from_relation(connection.from_arrow(table()), Declared(), TINY)
    parts = source.parts()
    one = next(parts)
    assert connection.sql("SELECT 42").fetchall() == [(42,)]
    assert one.n_points + sum(part.n_points for part in parts) == source.collect().n_points


def test_no_other_process_gets_a_query(asked: Callable[..., FileSource]) -> None:
    with pytest.raises(DataError, match="no other process can read it; write it to a Parquet file"):
        pickle.dumps(asked(table()))


@pytest.mark.parametrize(("take", "kind"), [(from_lazy, "LazyFrame"), (from_relation, "DuckDBPyRelation")])
def test_something_else_is_refused(take: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=rf"takes a \w+\.{kind}, not a list"):
        take([1, 2], Declared())
    monkeypatch.setitem(sys.modules, "polars" if kind == "LazyFrame" else "duckdb", None)
    with pytest.raises(MissingExtra, match=r"needs (polars|duckdb): pip install (polars|duckdb)$"):
        take([1, 2], Declared())


def test_polars_without_batches_is_read_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = pl.DataFrame(table()).lazy()
    expected = repr(dump(from_lazy(lazy, Declared(), TINY)))
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    assert expected == repr(dump(from_lazy(lazy, Declared(), TINY)))
