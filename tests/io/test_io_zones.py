"""Times that name no zone are local in the declared one, each by itself; what is written says what it means."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.io.samples import FILE_NAMES

import privtrace as pt
from privtrace.io import FORMATS, check_output
from privtrace.io.printing import iso, wall_times
from privtrace.io.sorting import by_user_and_id
from privtrace.observer import Silent
from privtrace.parsing.clock import instants
from privtrace.parsing.dates import _ISO, _by_fields, by_pattern
from privtrace.parsing.dates import iso as read_iso

LISBON = "Europe/Lisbon"
ZONES = [LISBON, "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia", "UTC"]


def moved(moment: dt.datetime, zone: str) -> dt.datetime:
    """Read a local time as Python does: the first of two, and one that never comes by the offset before."""
    return moment.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(dt.UTC).replace(tzinfo=None)


def local_moments(n: int) -> list[dt.datetime]:
    """Give local times of half a century, among them all half hours of days on which clocks change."""
    rng = np.random.default_rng(3)
    anywhen = [dt.datetime(1970, 1, 2) + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**9 * 2, n)]
    days = [
        dt.datetime(2024, 3, 31),
        dt.datetime(2024, 10, 27),
        dt.datetime(2024, 3, 10),
        dt.datetime(2024, 11, 3),
    ]
    days += [dt.datetime(2024, 4, 7), dt.datetime(2024, 10, 6)]
    return anywhen + [day + dt.timedelta(minutes=30 * half, seconds=7) for day in days for half in range(48)]


def microseconds(moments: list[dt.datetime]) -> list[int]:
    return [(moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) for moment in moments]


# Reading.


@pytest.mark.parametrize("zone", ZONES)
def test_local_times_are_those_of_zoneinfo(zone: str) -> None:
    moments = local_moments(300)
    wanted = microseconds([moved(moment, zone) for moment in moments])
    texts = pa.array([f"{moment:%Y-%m-%d %H:%M:%S}".encode() for moment in moments], pa.large_binary())
    assert read_iso(texts, zone).cast(pa.int64()).to_pylist() == wanted
    pattern = "%Y-%m-%d %H:%M:%S"
    assert by_pattern(texts, pattern, zone).cast(pa.int64()).to_pylist() == wanted
    for unit, ticks in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        naive = pa.array(np.array(moments, "datetime64[s]")).cast(pa.timestamp(unit))
        found = instants(naive, zone).cast(pa.int64()).to_pylist()
        assert [tick * 10**6 // ticks for tick in found] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-07-01T08:00:00", "2024-07-01T07:00:00"),
        ("2024-07-01 08:00", "2024-07-01T07:00:00"),
        ("2024-07-01T08:00:00.25", "2024-07-01T07:00:00.250"),
        ("2024-07-01", "2024-06-30T23:00:00"),
        ("2024-01-01T08:00", "2024-01-01T08:00:00"),
        ("2024-10-27T01:30:00", "2024-10-27T00:30:00"),  # comes twice: the first
        ("2024-03-31T01:30:00", "2024-03-31T01:30:00"),  # never comes: 02:30, as long after as the gap
        ("2024-07-01T08:00:00Z", "2024-07-01T08:00:00"),
        ("2024-07-01T08:00Z", "2024-07-01T08:00:00"),
        ("2024-07-01T08:00:00-05:00", "2024-07-01T13:00:00"),
        ("2024-07-01 08:00:00.5+02", "2024-07-01T06:00:00.500"),
        ("2024-07-01T08:00:00 +0000", "2024-07-01T08:00:00"),
    ],
)
def test_each_text_is_moved_or_not_by_itself(text: str, wanted: str, tmp_path: Path) -> None:
    lines = ["1,2,3,2024-07-01T08:00:00", f"2,2,3,{text}", "3,2,3,noon", "4,2,3,2024-07-01T08:00:00Z"]
    (tmp_path / "a.csv").write_text("\n".join(["tid,lon,lat,datetime", *lines]))
    found = pt.read(tmp_path / "a.csv", timezone=LISBON).collect()
    assert found.zone == LISBON and found.times is not None
    expected = ["2024-07-01T07:00:00", wanted, "NaT", "2024-07-01T08:00:00"]
    np.testing.assert_array_equal(found.times, np.array(expected, "datetime64[us]"))


def test_the_quick_way_to_read_offsets_is_the_slow_one() -> None:
    texts = [
        "2024-01-01T10:00:00+01:00",
        "2024-01-01 10:00:00.25-03:30",
        "2024-02-30T10:00:00+01:00",
        None,
        "x",
    ]
    texts += ["2024-07-01T08:00:00Z", "2024-01-01T10:00+02", "2024-12-31T23:59:59.123456-99:99", "2024-07-01"]
    texts += ["0001-01-01T00:00:00+14:00", "2024-01-01T24:00:00+01:00", "2024-01-01T23:59:60-00:30", "\u0660"]
    texts += ["2024-01-01T10:00:00.1234567+01:00", "2024-02-29T00:00:00-00:30", "2024-01-01T10:00:00+1:00"]
    for kind in (pa.large_string(), pa.large_binary()):
        column = pa.array(texts, pa.large_string()).cast(kind)
        ticks, said = _by_fields(column, _ISO)
        assert read_iso(column).cast(pa.int64()).to_pylist() == pa.array(ticks, mask=said == 0).to_pylist()


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("%d/%m/%Y %H:%M", "01/07/2024 08:00", "2024-07-01T07:00"),
        ("%d/%m/%Y %H:%M %z", "01/07/2024 08:00 +0300", "2024-07-01T05:00"),
        ("%d/%m/%Y %H:%M %Z", "01/07/2024 08:00 GMT", "2024-07-01T08:00"),
        ("%d/%m/%Y %H:%M %%Z", "01/07/2024 08:00 %Z", "2024-07-01T07:00"),
    ],
)
def test_a_pattern_with_a_zone_says_itself_what_it_means(
    pattern: str, text: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f"tid,lon,lat,t\n1,2,3,{text}\n")
    found = pt.read(tmp_path / "a.csv", time_format=pattern, timezone=LISBON).collect().times
    assert found is not None and found.tolist() == [dt.datetime.fromisoformat(wanted)]


def test_numbers_in_a_unit_are_moments_and_those_of_none_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat,t\n1,2,3,1719820800\n")
    moment = pt.read(tmp_path / "a.csv", time_unit="s", timezone=LISBON).collect().times
    assert moment is not None and moment.tolist() == [dt.datetime(2024, 7, 1, 8)]
    number = pt.read(tmp_path / "a.csv", timezone=LISBON).collect().times
    assert number is not None and number.tolist() == [1719820800]


def test_the_order_alone_is_that_of_moments(tmp_path: Path) -> None:
    """Of a column that is no clock, local times still stand beside those that name their zone."""
    times = ["2024-07-01T08:00:00", "2024-07-01T07:30:00Z", "2024-07-01T06:59:00Z"]
    (tmp_path / "a.csv").write_text(
        "tid,lon,lat,t\n" + "".join(f"1,{n},3,{t}\n" for n, t in enumerate(times, 1))
    )
    found = pt.read(tmp_path / "a.csv", timezone=LISBON).collect()
    assert found.points[:, 0].tolist() == [3, 1, 2]


NAIVE = pd.to_datetime(["2024-07-01 08:00", "2024-10-27 01:30", "2024-03-31 01:30"])
MOMENTS = ["2024-07-01T07:00", "2024-10-27T00:30", "2024-03-31T01:30"]
COLUMNS = {"tid": [1, 2, 3], "lon": [1.0, 2, 3], "lat": [1.0, 2, 3]}
FRAMES: dict[str, Callable[[Any, str], pt.Trajectories]] = {
    "pandas": lambda t, zone: pt.Trajectories.from_pandas(pd.DataFrame({**COLUMNS, "t": t}), timezone=zone),
    "polars": lambda t, zone: pt.Trajectories.from_polars(
        pl.from_pandas(pd.DataFrame({**COLUMNS, "t": t})), timezone=zone
    ),
    "arrow": lambda t, zone: pt.Trajectories.from_arrow(
        pa.Table.from_pandas(pd.DataFrame({**COLUMNS, "t": t})), timezone=zone
    ),
}


@pytest.mark.parametrize("package", FRAMES)
def test_frames_are_read_as_files_are(package: str) -> None:
    wanted = np.array(MOMENTS, "datetime64[s]")
    naive = FRAMES[package](NAIVE, LISBON)
    assert naive.zone == LISBON
    np.testing.assert_array_equal(naive.times, wanted)
    aware = FRAMES[package](NAIVE.tz_localize("Asia/Tokyo"), LISBON)
    np.testing.assert_array_equal(aware.times, NAIVE.to_numpy() - np.timedelta64(9, "h"))
    np.testing.assert_array_equal(FRAMES[package](NAIVE, "UTC").times, NAIVE.to_numpy())


def test_dates_begin_at_local_midnight_and_times_at_the_edge_of_64_bits_stop_nothing() -> None:
    edges = [2**63 - 1, -(2**63) + 1, 0]
    for kind, t in ((pa.date32(), [19905] * 3), (pa.timestamp("ns"), edges), (pa.timestamp("s"), edges)):
        table = pa.table({**COLUMNS, "t": pa.array(t, kind)})
        found = pt.Trajectories.from_arrow(table, timezone=LISBON).times
        assert found is not None
        if pa.types.is_date(kind):
            assert found.tolist() == [dt.datetime(2024, 6, 30, 23)] * 3
        else:  # in 1970 Lisbon was an hour ahead
            second = 1 if kind.unit == "s" else 10**9
            assert found.view(np.int64).tolist() == [*edges[:2], -3600 * second]


def test_a_zone_is_allowed_where_there_are_no_times(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat\n1,2,3\n")
    source = pt.read(tmp_path / "a.csv", timezone=LISBON)
    assert source.zone == source.collect().zone == LISBON and not source.has_clock


@pytest.mark.parametrize("zone", ["Europe/Porto", "", "../etc/passwd", "Europe", "utc+1", "\0"])
def test_a_zone_that_there_is_not_is_refused_before_any_file(zone: str, tmp_path: Path) -> None:
    with pytest.raises(pt.SettingsError, match=r"--timezone \(timezone\): there is no time zone .* IANA"):
        pt.read(tmp_path / "no such file", timezone=zone)
    with pytest.raises(pt.SettingsError, match=r"--timezone \(timezone\)"):
        pt.Trajectories.from_pandas(pd.DataFrame(COLUMNS), timezone=zone)


# Where times are wanted.


def table(folder: Path, header: str, *lines: str) -> Path:
    (folder / "a.csv").write_text("".join(f"{line}\n" for line in (header, *lines)))
    return folder / "a.csv"


def test_text_of_no_declared_form_is_iso_where_times_are_wanted(tmp_path: Path) -> None:
    path = table(
        tmp_path, "tid,lon,lat,t", "1,1,2,2024-07-01T08:00:00", "1,2,2,2024-07-01T06:30Z", "1,3,2,soon"
    )
    source = pt.read(path, timezone=LISBON)
    assert source.has_clock and source.times_by_default
    assert source.collect().times.dtype == np.float64  # type: ignore[union-attr]
    timed = source.timed()
    assert timed.timed() is timed and timed.zone == LISBON and timed.path == source.path
    found = timed.collect()
    assert found.points[:, 0].tolist() == [2, 1, 3] and found.has_clock and found.times_by_default
    wanted = ["2024-07-01T06:30", "2024-07-01T07:00", "NaT"]
    np.testing.assert_array_equal(found.times, np.array(wanted, "datetime64[us]"))
    assert timed.unread_times == (1, 3)


def test_numbers_there_are_no_times_and_still_set_the_order(tmp_path: Path, caplog: Any) -> None:
    path = table(tmp_path, "tid,lon,lat,t", "1,1,2,30", "1,2,2,1e1", "1,3,2,x", "1,4,2,20", "1,5,2,2024-07-01")
    before, source = pt.read(path), pt.read(path).timed()
    assert before.collect().points[:, 0].tolist() == [2, 4, 1, 5, 3]
    found = source.collect()
    assert found.points[:, 0].tolist() == [5, 2, 4, 1, 3] and np.isnat(found.times[1:]).all()
    source.tell(Silent())
    assert "4 of 5 times could not be read" in caplog.text and "in the order of their numbers" in caplog.text
    cut = pt.read(path, gap_minutes=30)
    assert cut.timed() is cut


HOLDINGS: dict[str, Callable[[Path], pt.Trajectories]] = {
    "collected": lambda path: pt.read(path, timezone=LISBON).collect(),
    "pandas": lambda path: pt.Trajectories.from_pandas(pd.read_csv(path), timezone=LISBON),
    "polars": lambda path: pt.Trajectories.from_polars(pl.read_csv(path), timezone=LISBON),
    "sliced": lambda path: pt.read(path, timezone=LISBON).collect()[0:2],
    "sorted": lambda path: pt.Trajectories.end_to_end(
        [*by_user_and_id(pt.read(path, timezone=LISBON).collect())]
    ),
    "joined": lambda path: pt.Trajectories.concatenate(
        [pt.read(path, timezone=LISBON).collect()[n : n + 1] for n in (0, 1)]
    ),
}


@pytest.mark.parametrize("holding", HOLDINGS)
@pytest.mark.parametrize("name", ["t", "time", "datetime"])
def test_a_table_has_the_same_times_by_default_however_it_is_held(
    name: str, holding: str, tmp_path: Path
) -> None:
    lines = ["1,1,2,2024-07-01T08:00:00.25", "1,2,2,2024-07-01T06:30Z", "1,3,2,40", "1,4,2,soon", "1,5,2,30"]
    path = table(tmp_path, f"tid,lon,lat,{name}", *lines, "2,6,2,2024-01-01 10:00")
    source = pt.read(path, timezone=LISBON)
    held = HOLDINGS[holding](path)
    assert source.times_by_default and held.times_by_default and held.has_clock and held.zone == LISBON
    wanted, found = source.timed().collect(), held.timed()
    np.testing.assert_array_equal(found.points, wanted.points)
    np.testing.assert_array_equal(found.times, wanted.times)
    assert found.times is not None and found.times[1] == np.datetime64("2024-07-01T07:00:00.250")
    assert found.on_calendar and found.timed() is found and found.times_by_default


def test_numbers_in_text_stay_as_they_are_in_memory(tmp_path: Path) -> None:
    """They set the order, and are written as they came; where times are wanted, there are none."""
    path = table(tmp_path, "tid,lon,lat,t", "1,1,2,30", "1,2,2,1e1", "1,3,2,2024-07-01", "2,4,2,")
    held = pt.read(path).collect()
    assert held.times is not None and held.times[:3].tolist() == [10, 30, 1719792000] and not held.on_calendar
    assert held.times_by_default and np.isnat(held.timed().times).tolist() == [False, True, True, True]
    assert held.timed().points[:, 0].tolist() == [3, 2, 1, 4]
    held.write(tmp_path / "b.csv")
    again = pt.read(tmp_path / "b.csv").collect()
    np.testing.assert_array_equal(again.times, held.times)
    numbered = pt.Trajectories.from_pandas(pd.DataFrame({**COLUMNS, "t": [1, 2, 3]}))
    assert not numbered.times_by_default and not numbered.has_clock


@pytest.mark.parametrize("name", ["geojson", "mfjson", "gpx", "geolife"])
def test_what_no_table_promised_stays_on_request_in_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAMES[name]
    pt.write(trips(LISBON), path, format=name)
    held = pt.read(path).collect()
    for some in (held, held[0:2], held.take(np.array([1])), pt.Trajectories.concatenate([held[0:1], held[1:]])):
        assert some.has_clock and not some.times_by_default and some.timed() is some
    assert not next(by_user_and_id(held)).times_by_default
    assert not pt.BridgeTrace(epsilon=1, region=pt.Region.box(0, 0, 60, 60)).settled(held).times


def test_times_of_text_in_memory_are_fitted(tmp_path: Path) -> None:
    lines = [f"{n},{n % 7}.5,{n % 5}.5,2024-07-0{n % 7 + 1}T0{n % 10}:00:0{n % 9}Z" for n in range(60)]
    path = table(tmp_path, "tid,lon,lat,time", *lines)
    synthesizer = pt.BridgeTrace(epsilon=1, region=pt.Region.box(0, 0, 7, 5))
    source, *held = [pt.read(path), pt.read(path).collect(), pt.Trajectories.from_pandas(pd.read_csv(path))]
    wanted = synthesizer.fit(source, noise=pt.SeededNoise(1)).sample(9, seed=1).times
    assert wanted is not None
    for given in held:
        found = synthesizer.fit(given, noise=pt.SeededNoise(1)).sample(9, seed=1).times
        np.testing.assert_array_equal(found, wanted)


def test_a_folder_and_features_do_the_same(tmp_path: Path) -> None:
    """A number of no unit has the place of seconds there, and is no time where times are wanted."""
    table(tmp_path, "tid,lon,lat,t", "1,1,2,30", "1,2,2,10", "1,3,2,2024-07-01")
    columns = {"tid": [1, 1], "lon": [4.0, 5.0], "lat": [2.0, 2.0]}
    pq.write_table(pa.table({**columns, "t": [20, 5]}), tmp_path / "b.parquet")
    times = pa.array([0, 1], pa.timestamp("s"))
    pq.write_table(pa.table({**columns, "tid": [2, 2], "time": times}), tmp_path / "c.parquet")
    source = pt.read(tmp_path)
    assert source.has_clock and not source.times_by_default
    found = source.timed().collect()
    assert found.points[:, 0].tolist() == [3, 5, 2, 4, 1, 4, 5]
    assert np.isnat(found.times).tolist() == [False] + [True] * 4 + [False] * 2
    line = {"type": "LineString", "coordinates": [[1, 1], [2, 2], [3, 3]]}
    features = [
        {"type": "Feature", "properties": {"tid": "a", "times": [3, 1, "2024-07-01"]}, "geometry": line},
        {"type": "Feature", "properties": {"tid": "b", "times": [5, 4]}, "geometry": line},
    ]
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    source = pt.read(tmp_path / "a.geojson")
    assert source.has_clock and not source.times_by_default
    found = source.timed().collect()
    assert found.points[:, 0].tolist() == [3, 2, 1, 1, 2, 3]
    assert np.isnat(found.times).tolist() == [False] + [True] * 5


def test_numbers_by_their_type_are_no_clock_and_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({**COLUMNS, "t": [1, 2, 3]}), tmp_path / "a.parquet")
    source = pt.read(tmp_path / "a.parquet")
    assert source.has_times and not source.has_clock and not source.times_by_default
    with pytest.raises(
        pt.DataError, match=r"only order the points, so none can be synthesized; .*--time-unit s, ms, us or ns"
    ):
        source.timed()
    counted = pt.read(tmp_path / "a.parquet", time_unit="s")
    assert counted.has_clock and counted.times_by_default and counted.timed() is counted
    with pytest.raises(pt.DataError, match="there are no times, so none can be synthesized; name their column"):
        pt.read(tmp_path / "a.parquet", columns={"t": ""}).timed()


def test_trajectories_in_memory_say_it_by_their_type() -> None:
    plain = pt.Trajectories(np.zeros((1, 2)), np.array([0, 1]))
    for times, words in ((None, "have no times"), (np.zeros(1), "are numbers")):
        given = replace(plain, times=times)
        assert not given.has_clock and not given.times_by_default
        with pytest.raises(pt.DataError, match=words):
            given.timed()
    calendar = replace(plain, times=np.zeros(1, "datetime64[s]"))
    assert calendar.has_clock and calendar.times_by_default and calendar.timed() is calendar


BY_DEFAULT = {"parquet", "csv", "tsv", "geoparquet", "geoparquet-lines", "gpkg", "shp", "fgb", "porto"}


@pytest.mark.parametrize("name", FILE_NAMES)
def test_a_single_table_has_times_by_default(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAMES[name]
    pt.write(trips(LISBON), path, format=name)
    source = pt.read(path, crs="lonlat")
    assert source.times_by_default is (name in BY_DEFAULT) and source.has_clock is (name != "dat")
    if name not in ("dat", "geolife"):
        (tmp_path / "folder").mkdir()
        path.rename(tmp_path / "folder" / path.name)
        assert not pt.read(tmp_path / "folder").times_by_default


# Writing.


def trips(zone: str) -> pt.Trajectories:
    """Give trips over the night in which clocks go back, with points 15 seconds apart, and one in summer."""
    lengths = np.array([3, 500, 1, 4])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    starts = np.array(
        ["2024-03-31T00:59:45", "2024-10-26T23:15", "2024-10-27T01:30", "2024-07-01T07:00"], "M8[s]"
    )
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    text = np.dtypes.StringDType()
    points = np.random.default_rng(1).uniform(1, 60, (offsets[-1], 2))
    users, ids = np.array(["ann", "bob"] * 2, text), np.array(["a", "b", "c", "d"], text)
    return pt.Trajectories(points, offsets, np.repeat(starts, lengths) + 15 * steps, users, ids, zone=zone)


def in_order(given: pt.Trajectories) -> pt.Trajectories:
    return given.take(np.argsort([str(id_) for id_ in given.ids_from(0).tolist()]))


def assert_same_moments(found: pt.Trajectories, given: pt.Trajectories) -> None:
    found = in_order(found)
    np.testing.assert_array_equal(found.offsets, given.offsets)
    np.testing.assert_allclose(found.points, given.points, rtol=0, atol=1e-6)
    assert found.times is not None and given.times is not None
    np.testing.assert_array_equal(found.times.astype("datetime64[us]"), given.times.astype("datetime64[us]"))


@pytest.mark.parametrize("zone", [LISBON, "America/St_Johns", "UTC"])
@pytest.mark.parametrize("name", sorted({*FORMATS} - {"dat"}))
def test_what_is_written_reads_back_to_the_same_moments(name: str, zone: str, tmp_path: Path) -> None:
    """Whatever zone the reader is told: what is written says itself which moments it means."""
    given = trips(zone)
    path = tmp_path / FILE_NAMES[name]
    pt.write(given, path, format=name)
    for told in (None, zone, "Asia/Tokyo"):
        found = pt.read(path, timezone=told).collect()
        assert found.zone == (told or "UTC")
        assert_same_moments(found, given)


def test_the_words_are_local_and_exact(tmp_path: Path) -> None:
    given = trips(LISBON)
    pt.write(given, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert "2024-03-31T00:59:45+00:00" in lines[1] and "2024-03-31T02:00:00+01:00" in lines[2]
    assert "2024-07-01T08:00:00+01:00" in lines[-4]
    pt.write(given, tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").field("t").type.tz == LISBON
    pt.write(given, tmp_path / "a.geoparquet")
    assert pq.read_schema(tmp_path / "a.geoparquet").field("t").type.tz == LISBON
    pt.write(given, tmp_path / "lines.parquet", format="geoparquet-lines")
    assert pq.read_schema(tmp_path / "lines.parquet").field("coordTimes").type.value_type.tz == LISBON
    pt.write(given, tmp_path / "a.geojson")
    assert '"2024-07-01T08:00:00+01:00"' in (tmp_path / "a.geojson").read_text()
    pt.write(given, tmp_path / "a.mfjson")
    assert '"2024-07-01T08:00:00+01:00"' in (tmp_path / "a.mfjson").read_text()
    pt.write(given, tmp_path / "a.gpx")
    assert "<time>2024-07-01T07:00:00Z</time>" in (tmp_path / "a.gpx").read_text()


def test_utc_is_said_like_any_other_zone(tmp_path: Path) -> None:
    given = trips("UTC")
    pt.write(given, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "traj_id,lon,lat,datetime,user_id" and "2024-03-31T00:59:45Z" in lines[1]
    pt.write(given, tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").field("t").type == pa.timestamp("ms", "UTC")
    pt.write(given, tmp_path / "a.geoparquet")
    assert pq.read_schema(tmp_path / "a.geoparquet").field("t").type.tz == "UTC"
    pt.write(given, tmp_path / "lines.parquet", format="geoparquet-lines")
    assert pq.read_schema(tmp_path / "lines.parquet").field("coordTimes").type.value_type.tz == "UTC"
    for back in (
        pt.Trajectories.from_arrow(given.to_arrow(), timezone=LISBON),
        pt.Trajectories.from_pandas(given.to_pandas(), timezone=LISBON),
        pt.Trajectories.from_polars(given.to_polars(), timezone=LISBON),
        pt.Trajectories.from_geopandas(given.to_geopandas(), timezone=LISBON),
        pt.Trajectories.from_geopandas(given.to_geopandas(lines=True), timezone=LISBON),
    ):
        assert_same_moments(back, given)


def test_a_zone_that_is_not_declared_is_lost_but_no_moment(tmp_path: Path) -> None:
    pt.write(trips(LISBON), tmp_path / "a.parquet")
    pt.write(pt.read(tmp_path / "a.parquet"), tmp_path / "a.csv")
    assert "2024-07-01T07:00:00Z" in (tmp_path / "a.csv").read_text()
    for told in (None, LISBON, "Asia/Tokyo"):
        assert_same_moments(pt.read(tmp_path / "a.csv", timezone=told).collect(), trips(LISBON))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ZONES)
def test_printed_times_are_those_of_python(zone: str, unit: str) -> None:
    moments = np.array(local_moments(200), "datetime64[us]").astype(f"datetime64[{unit}]")
    times = np.append(moments + (0 if unit == "s" else 5), np.datetime64("NaT"))
    printed = iso(times, zone).to_pylist()
    assert printed[-1] is None
    for text, time in zip(printed[:-1], times[:-1].astype("datetime64[us]").tolist(), strict=True):
        there = dt.datetime.fromisoformat(text)
        local = time.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
        if unit != "ns":
            assert there == time.replace(tzinfo=dt.UTC)
        if local.utcoffset().seconds % 60 == 0:  # type: ignore[union-attr]
            assert there.replace(tzinfo=None, microsecond=0) == local.replace(tzinfo=None, microsecond=0)
            assert there.utcoffset() == local.utcoffset()


def test_scikit_mobility_gets_what_the_clock_on_the_wall_shows(tmp_path: Path) -> None:
    given = trips(LISBON)[3:]
    frame = given.to_pandas(names="scikit-mobility")
    assert frame.datetime.tolist()[0] == pd.Timestamp("2024-07-01 08:00:00") and frame.datetime.dt.tz is None
    assert_same_moments(pt.Trajectories.from_pandas(frame, timezone=LISBON), given)
    output = check_output(tmp_path / "a.csv", names="scikit-mobility")
    assert output.lost(given) == ["the time zone (read it with --timezone Europe/Lisbon)"]
    assert output.lost(replace(given, zone="UTC")) == output.lost(replace(given, times=None)) == []
    output.write([given])
    assert ",2024-07-01 08:00:00," in (tmp_path / "a.csv").read_text()
    assert_same_moments(pt.read(tmp_path / "a.csv", timezone=LISBON).collect(), given)
    unknown = np.array(["NaT", "2024-07-01"], "datetime64[s]")
    assert str(wall_times(unknown, LISBON).tolist()) == "[None, datetime.datetime(2024, 7, 1, 1, 0)]"


def test_frames_have_the_zone_in_their_types() -> None:
    given = trips(LISBON)
    assert given.to_arrow()["t"].type == pa.timestamp("s", LISBON)
    assert str(given.to_pandas()["t"].dtype) == f"datetime64[s, {LISBON}]"
    assert given.to_polars()["t"].dtype == pl.Datetime("ms", LISBON)
    assert str(given.to_geopandas()["t"].dtype) == f"datetime64[s, {LISBON}]"
    assert given.to_geopandas(lines=True)["coordTimes"][3][0] == pd.Timestamp("2024-07-01 08:00", tz=LISBON)
    assert replace(given, zone="UTC").to_arrow()["t"].type == pa.timestamp("s", "UTC")
    for back in (
        pt.Trajectories.from_arrow(given.to_arrow()),
        pt.Trajectories.from_pandas(given.to_pandas(), timezone=LISBON),
        pt.Trajectories.from_polars(given.to_polars(), timezone="Asia/Tokyo"),
        pt.Trajectories.from_geopandas(given.to_geopandas(), timezone=LISBON),
        pt.Trajectories.from_geopandas(given.to_geopandas(lines=True), timezone="Asia/Tokyo"),
    ):
        assert_same_moments(back, given)


@pytest.mark.slow
def test_trackintel_gets_moments() -> None:
    given = trips(LISBON)
    fixes = given.to_trackintel()
    assert str(fixes["tracked_at"].dtype) == f"datetime64[s, {LISBON}]"
    assert_same_moments(pt.Trajectories.from_trackintel(fixes, timezone="Asia/Tokyo"), given)


def test_movingpandas_gets_moments() -> None:
    """It drops zones and keeps one point a moment: local times would lose an hour's points."""
    longer = trips(LISBON).take(np.array([0, 1, 3]))
    collection = longer.to_movingpandas()
    assert str(collection.trajectories[0].df.index[0]) == "2024-03-31 00:59:45"
    assert_same_moments(pt.Trajectories.from_movingpandas(collection, timezone="Asia/Tokyo"), longer)
    plain = replace(longer, zone="UTC").to_movingpandas()
    assert_same_moments(pt.Trajectories.from_movingpandas(plain, timezone=LISBON), longer)
    for one in plain.trajectories:
        one.df_orig_tz = None  # as of a frame that had no zone
    naive = pt.Trajectories.from_movingpandas(plain, timezone=LISBON)
    assert naive.times is not None and naive.times[-1] == np.datetime64("2024-07-01T06:00:45")


@pytest.mark.parametrize(
    ("zone", "local", "wanted"),
    [
        (LISBON, "2024-03-31T01:30", "2024-03-31T01:30"),  # never comes: 02:30, as long after as the gap
        (LISBON, "2024-10-27T01:30", "2024-10-27T00:30"),  # comes twice: the first
        ("Australia/Lord_Howe", "2024-10-06T02:15", "2024-10-05T15:45"),  # a gap of half an hour
        (dt.timezone(dt.timedelta(hours=5)), "2024-07-01T08:00", "2024-07-01T03:00"),
        ("UTC", "2024-07-01T08:00", "2024-07-01T08:00"),
    ],
)
def test_local_times_of_movingpandas_are_read_as_those_of_files(zone: Any, local: str, wanted: str) -> None:
    given = replace(trips("UTC")[3:], zone="UTC")
    collection = given.to_movingpandas()
    one = collection.trajectories[0]
    one.df.index = one.df.index + (pd.Timestamp(local) - one.df.index[0])
    one.df_orig_tz = ZoneInfo(zone) if isinstance(zone, str) else zone
    found = pt.Trajectories.from_movingpandas(collection, timezone="Asia/Tokyo").times
    assert found is not None and found[0] == np.datetime64(wanted)


class Heard(Silent):
    """Keep what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize("name", ["parquet", "geoparquet", "geoparquet-lines"])
def test_a_type_that_names_another_zone_is_told_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAMES[name]
    pt.write(trips(LISBON), path, format=name)
    for told in (None, "Asia/Tokyo"):
        observer, source = Heard(), pt.read(path, timezone=told)
        source.tell(observer)
        source.tell(observer)
        (said,) = observer.said
        assert f"names the zone {LISBON}" in said and f"counted in {told or 'UTC'};" in said
        assert said.endswith(f"--timezone {LISBON} (timezone={LISBON!r})")
    observer = Heard()
    pt.read(path, timezone=LISBON).tell(observer)
    pt.write(trips("UTC"), path, format=name, force=True)
    pt.read(path, timezone=LISBON).tell(observer)
    assert observer.said == []


def test_an_offset_in_a_type_cannot_be_declared(tmp_path: Path) -> None:
    times = pa.array([0, 1, 2], pa.timestamp("s", "+01:00"))
    pq.write_table(pa.table({**COLUMNS, "t": times}), tmp_path / "a.parquet")
    observer = Heard()
    pt.read(tmp_path / "a.parquet").tell(observer)
    assert "names the zone +01:00" in observer.said[0] and observer.said[0].endswith("--timezone (timezone)")


def test_the_zone_goes_along(tmp_path: Path) -> None:
    given = trips(LISBON)
    assert {part.zone for part in given.parts()} == {LISBON}
    assert next(by_user_and_id(given)).zone == LISBON
    pt.write(given, tmp_path / "a.parquet")
    source = pt.read(tmp_path / "a.parquet", timezone="Asia/Tokyo")
    assert {part.zone for part in by_user_and_id(source)} == {source.zone} == {"Asia/Tokyo"}
