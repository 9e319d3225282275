"""Times are read in the form that is declared, each by itself; what cannot be read is counted and told."""

from __future__ import annotations

import datetime as dt
import json
import logging
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.io.samples import SAMPLES
from tests.io.trips import trips

import privtrace as pt
from privtrace.calendar import UNITS
from privtrace.io import open_source
from privtrace.io.source import Sizes
from privtrace.parsing.clock import epochs
from privtrace.parsing.dates import by_pattern

TINY = Sizes(part_points=7, batch_rows=5, bucket_rows=11, block_bytes=60)
LINE = {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
NOON = 1_704_110_400  # 2024-01-01, 12:00


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


# Patterns, against Python's own strptime.

PATTERNS = [
    "%d/%m/%Y %H:%M",
    "%Y%m%d%H%M%S",
    "%b %d, %Y %I:%M:%S.%f %p",
    "%A %e %B %y, %H:%M %z",
    "%j of %Y at %H",
    "%Y年%m月%d日",
    "%F %T.%f",
    "100%% %D %R UTC",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_those_of_strptime(pattern: str) -> None:
    rng = np.random.default_rng(len(pattern))
    seconds = np.append(rng.integers(-(10**9), 3 * 10**9, 300), [0, 951_782_400, 1_709_164_800])
    zone = dt.timezone(dt.timedelta(hours=-3, minutes=-30))
    moments = [dt.datetime.fromtimestamp(second, zone) for second in seconds.tolist()]
    texts = [moment.strftime(pattern) for moment in moments]
    long = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%D": "%m/%d/%y", "%R": "%H:%M", "%e": "%d"}
    known = pattern
    for short, words in long.items():
        known = known.replace(short, words)

    def microseconds(text: str) -> int | None:
        try:
            read = dt.datetime.strptime(text, known)
        except ValueError:
            return None
        read = read if read.tzinfo else read.replace(tzinfo=dt.UTC)
        return (read - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)

    places = [at % len(text) for at, text in enumerate(texts)]
    signs = "0913x:/ " * 50
    spoiled = [text[:at] + sign + text[at + 1 :] for text, at, sign in zip(texts, places, signs, strict=False)]
    cases = [*texts, *spoiled, "", " ", "x", f"  {texts[0]} "]
    expected = [microseconds(text.strip()) for text in cases]
    assert None not in expected[: len(texts)] and None in expected
    column = pa.array([*(text.encode() for text in cases), b"\xff\xfe", None], pa.binary())
    found = by_pattern(column, pattern).cast(pa.int64()).to_pylist()
    wrong = [case for case, one, other in zip(cases, found, expected, strict=False) if one != other]
    assert not wrong and found[-2:] == [None, None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_format": "%d/%m/%Y", "time_unit": "s"}, "give one of them"),
        ({"time_unit": "min"}, "--time-unit (time_unit) must be one of s, ms, us, ns, not 'min'"),
        ({"time_unit": ["s"]}, "--time-unit (time_unit) must be one of"),
        ({"time_format": 5}, "--time-format (time_format) must be text"),
        ({"time_format": "%H:%M"}, "has no year, but a time needs a date"),
        ({"time_format": "%Y-%d %H:%M"}, "has no month"),
        ({"time_format": "%Y-%m"}, "has no day"),
        ({"time_format": ""}, "has no year"),
        ({"time_format": "%Y-%m-%d %y"}, "gives the year twice"),
        ({"time_format": "%F %I:%M"}, "no half"),
        ({"time_format": "%F %M"}, "has the minute but no hour"),
        ({"time_format": "%F %T %S"}, "gives the second twice"),
        ({"time_format": "%F %Q"}, "%Q in '%Y-%m-%d %Q' is not known; known are %a %A"),
        ({"time_format": "%F %"}, "is not known"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: Any, words: str) -> None:
    (tmp_path / "a.csv").write_text("tid,x,y,t\n")
    with pytest.raises(pt.SettingsError) as error:
        pt.read(tmp_path / "a.csv", **options)
    assert words in str(error.value)


# Units.


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["csv", pa.int64(), pa.uint64(), pa.float64(), pa.string(), "pandas"], ids=str)
def test_numbers_in_a_unit_are_calendar_times(tmp_path: Path, unit: str, kind: Any) -> None:
    seconds = [NOON, NOON + 60, NOON + 3600, NOON + 3660]
    columns = {"tid": [7] * 4, "x": [0.0, 1, 2, 3], "y": [0.0] * 4}
    numbers = [second * UNITS[unit] for second in seconds]
    reading: Any = {"gap_minutes": 30, "time_unit": unit}
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        found = pt.Trajectories.from_pandas(pandas.DataFrame({**columns, "t": numbers}), **reading)
    elif kind == "csv":
        pa.csv.write_csv(pa.table({**columns, "t": numbers}), tmp_path / "a.csv")
        found = pt.read(tmp_path / "a.csv", **reading).collect()
    else:
        values = pa.array([str(number) for number in numbers]).cast(kind)
        pq.write_table(pa.table({**columns, "t": values}), tmp_path / "a.parquet")
        found = pt.read(tmp_path / "a.parquet", **reading).collect()
    assert found.ids is not None and found.ids.tolist() == ["7/1", "7/2"]
    assert found.times is not None and found.times.dtype == "datetime64[us]"
    assert (found.times == np.array(seconds, "datetime64[s]")).all()


def test_epochs_are_of_years_with_four_digits() -> None:
    first, last = -62_135_596_800, 253_402_300_799
    for unit, ticks in list(UNITS.items())[:3]:
        whole = pa.array([first * ticks - 1, first * ticks, last * ticks, last * ticks + ticks, 2**63 - 1])
        found = epochs(whole, unit).cast(pa.int64()).to_pylist()
        assert found == [None, first * 10**6, last * 10**6, None, None]
    floats = pa.array([1e300, -1e300, np.inf, np.nan, None, 0.5, -1.5e11], pa.float64())
    assert epochs(floats, "s").cast(pa.int64()).to_pylist() == [*[None] * 5, 500_000, None]
    wide = pa.array([2**64 - 1, 2**63, 1500, None], pa.uint64())
    assert epochs(wide, "ns").cast(pa.int64()).to_pylist() == [None, None, 1, None]
    assert epochs(pa.array([-1, -1001]), "ns").cast(pa.int64()).to_pylist() == [-1, -2]  # no time moves forward


ABSURD = ["1e300", "nan", "-1e18", "99999999999999999999", "31/12/2025 08:00", "2024-13-01", "\xff"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("options", [{"time_unit": "s"}, {}, {"gap_minutes": 30}], ids=str)
def test_an_absurd_time_is_one_that_cannot_be_read_and_touches_no_other(
    tmp_path: Path, suffix: str, options: Any
) -> None:
    """Whatever a value is, in front, in the middle or at the end: the others are read as before."""
    good = (
        [str(NOON), str(NOON + 60)] if "time_unit" in options else ["2024-01-01 12:00", "2024-01-01T12:01:00Z"]
    )

    def read(values: list[str]) -> tuple[Any, Any]:
        ids = [1 if value in good else 2 for value in values]
        texts = [value.encode("latin-1") for value in values]
        table = pa.table({"tid": ids, "x": np.arange(len(ids)) * 0.0, "y": [1.0] * len(ids), "t": texts})
        path = tmp_path / f"a{suffix}"
        if suffix == ".csv":
            lines = [b"tid,x,y,t", *(b"%d,0,1,%s" % row for row in zip(ids, texts, strict=True))]
            path.write_bytes(b"\n".join(lines))
        else:
            pq.write_table(table, path)
        with open_source(path, None, TINY, **options) as source:
            found = source.collect()
            mine = [i for i, name in enumerate(found.ids.tolist()) if str(name).startswith("1")]
            return found.take(np.array(mine)), source.unread_times

    alone, counts = read(good)
    assert counts[0] == 0 and len(alone) == 1 and alone.times is not None
    for value in ABSURD:
        for values in ([value, *good], [good[0], value, good[1]], [*good, value]):
            found, (n_unread, n_times) = read(values)
            np.testing.assert_array_equal(found.times, alone.times, strict=True)
            np.testing.assert_array_equal(found.points, alone.points)
            is_order = not options and value in ("1e300", "-1e18", "99999999999999999999")  # a number, no clock
            assert n_unread == (not is_order)
            assert n_times == 3


# What has no clock, and what has its own.


def test_numbers_without_a_unit_set_the_order_and_are_no_clock(tmp_path: Path) -> None:
    numbers = [3e12, 1e12, 2e12]
    table = pa.table({"tid": [1] * 3, "x": [3.0, 1, 2], "y": [0.0] * 3, "t": numbers})
    pq.write_table(table, tmp_path / "a.parquet")
    pa.csv.write_csv(table, tmp_path / "a.csv")
    for name in ("a.parquet", "a.csv"):
        found = pt.read(tmp_path / name).collect()
        assert found.points[:, 0].tolist() == [1, 2, 3] and found.times.tolist() == sorted(numbers)
    words = (
        r"only order the points, so nothing can be cut at gaps; set their unit .* --time-unit s, ms, us or ns"
    )
    with pytest.raises(pt.DataError, match=words):
        pt.read(tmp_path / "a.parquet", gap_minutes=30)  # its type is declared, and public
    with pytest.raises(pt.DataError, match=words):
        pt.Trajectories.from_arrow(table, gap_minutes=30)
    # The type of text is not, so its values can refuse nothing: they are no ISO 8601, and are dropped.
    source = pt.read(tmp_path / "a.csv", gap_minutes=30)
    assert len(source.collect()) == 0
    assert source.dropped == {"time cannot be read": 3} and source.unread_times == (3, 3)


def test_a_column_without_a_single_value_has_no_type_to_refuse(tmp_path: Path) -> None:
    table = pa.table({"tid": [1], "x": [0.0], "y": [0.0], "t": pa.nulls(1)})
    pq.write_table(table, tmp_path / "a.parquet")
    for options in ({"gap_minutes": 30}, {"time_unit": "s"}, {"time_format": "%F"}, {}):
        source = pt.read(tmp_path / "a.parquet", **options)  # type: ignore[arg-type]
        assert source.collect().n_points == (0 if "gap_minutes" in options else 1)
        assert source.unread_times[0] == 0


def test_text_in_parquet_is_read_as_in_csv(tmp_path: Path) -> None:
    texts = pa.array(["01.02.2024 10:00", None, "31.01.2024 10:00"]).dictionary_encode()
    pq.write_table(
        pa.table({"tid": [1] * 3, "x": [1.0, 2, 3], "y": [0.0] * 3, "t": texts}), tmp_path / "a.parquet"
    )
    found = pt.read(tmp_path / "a.parquet", time_format="%d.%m.%Y %H:%M").collect()
    assert found.points[:, 0].tolist() == [3, 1, 2]
    plain = pt.read(tmp_path / "a.parquet")
    assert plain.unread_times == (2, 2) and plain.collect().points[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (pa.timestamp("us"), {"time_unit": "s"}, "a type that says what its times are; leave out"),
        (pa.timestamp("us"), {"time_format": "%F"}, "a type that says what its times are; leave out"),
        (pa.date32(), {"time_unit": "s"}, "a type that says what its times are; leave out"),
        (pa.int64(), {"time_format": "%F"}, "is for text; set the unit"),
        (pa.float64(), {"time_format": "iso"}, "is for text; set the unit"),
        (None, {"time_unit": "s"}, "there are no times; name their column with --columns t=NAME"),
        (None, {"time_format": "iso"}, "there are no times; name their column with --columns t=NAME"),
    ],
)
def test_a_form_that_contradicts_the_columns_is_refused(
    tmp_path: Path, kind: Any, options: Any, words: str
) -> None:
    columns = {"tid": [1], "x": [0.0], "y": [0.0]} | ({} if kind is None else {"t": pa.array([None], kind)})
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(pt.DataError) as error:
        pt.read(tmp_path / "a.parquet", **options)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["gpx", "porto", "plt", "dat"])
def test_formats_that_define_their_times_keep_them(tmp_path: Path, name: str) -> None:
    if name == "gpx":
        pt.write(trips("calendar"), path := tmp_path / "a.gpx")
    elif name == "plt":
        path = next(SAMPLES["geolife"](tmp_path).rglob("*.plt"))
    else:
        path = SAMPLES[name](tmp_path)
    for options in ({"time_unit": "ms"}, {"time_format": "%F"}):
        with pytest.raises(pt.DataError, match=r"its format says how times are written|there are no times"):
            pt.read(path, **options)  # type: ignore[arg-type]


def test_in_a_folder_each_file_keeps_its_own_times_and_the_rest_follow_the_option(tmp_path: Path) -> None:
    """What one file is refuses nothing, whatever is declared for others."""
    pt.write(trips("calendar")[:1], tmp_path / "a.gpx")
    own = pt.read(tmp_path).collect().times
    assert own is not None and not np.isnat(own).any()
    columns = {"tid": ["q"], "lon": [1.0], "lat": [2.0]}
    (tmp_path / "b.csv").write_text(f"tid,lon,lat,t\nq,1,2,{NOON}000\n")
    pq.write_table(pa.table({**columns, "t": [(NOON + 60) * 1000]}), tmp_path / "c.parquet")
    typed = pa.array([NOON + 120], pa.timestamp("s"))
    pq.write_table(pa.table({**columns, "t": typed}), tmp_path / "d.parquet")
    pq.write_table(pa.table(columns), tmp_path / "e.parquet")
    times = [*(np.datetime64(NOON + step, "s") for step in (0, 60, 120)), np.datetime64("NaT")]
    for options, n_read in (({"time_unit": "ms"}, 4), ({"time_unit": "ms", "gap_minutes": 30}, 3)):
        source = pt.read(tmp_path, **options)  # type: ignore[arg-type]
        found = source.collect()
        assert found.times is not None and source.unread_times == (0, len(own) + 3)
        np.testing.assert_array_equal(found.times[: len(own)], own)
        np.testing.assert_array_equal(found.times[len(own) :], np.array(times[:n_read]))
        assert source.dropped == ({} if n_read == 4 else {"time is missing": 1})


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".geojson"])
def test_in_a_folder_numbers_of_no_unit_set_the_order_and_are_no_clock(tmp_path: Path, suffix: str) -> None:
    """They stand beside calendar times of other files, on one axis, until a clock is needed."""
    path = tmp_path / "folder" / f"a{suffix}"
    path.parent.mkdir()
    numbers = [1.7e12, 5, 1.6e12, 1e17]  # the last has no place on any calendar
    table = pa.table({"tid": ["a"] * 4, "lon": [3.0, 1, 2, 4], "lat": [0.0] * 4, "t": numbers})
    if suffix == ".geojson":
        properties = [
            feature({"type": "Point", "coordinates": [row["lon"], row["lat"]]}, tid="a", t=row["t"])
            for row in table.to_pylist()
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": properties}))
    else:
        pa.csv.write_csv(table, path) if suffix == ".csv" else pq.write_table(table, path)
    source = pt.read(path.parent)
    found = source.collect()
    assert found.points[:, 0].tolist() == [1, 2, 3, 4] and source.unread_times == (1, 4)
    assert found.times is not None and found.times.dtype == "datetime64[us]"
    cut = pt.read(path.parent, gap_minutes=30)
    assert len(cut.collect()) == 0 and cut.unread_times == (4, 4)
    assert cut.dropped == {"time cannot be read": 4}
    assert [(fault.path, fault.reason) for fault in cut.faults()] == [(path, "time cannot be read")] * 4


def test_moving_features_keep_theirs_and_properties_follow_the_option(tmp_path: Path) -> None:
    moving = {
        "type": "MovingPoint",
        "coordinates": [[1, 2], [3, 4]],
        "datetimes": [1000, "1970-01-01T00:00:02Z"],
    }
    still = {
        "type": "Feature",
        "properties": {"times": [1, 2]},
        "geometry": {"type": "LineString", "coordinates": [[1, 2], [3, 4]]},
    }
    for content, options in ((moving, {"time_unit": "us"}), (moving, {}), (still, {"time_unit": "s"})):
        (tmp_path / "a.json").write_text(json.dumps(content))
        found = pt.read(tmp_path / "a.json", gap_minutes=30, **options).collect()  # type: ignore[arg-type]
        assert found.times is not None and found.times.tolist() == [
            dt.datetime(1970, 1, 1, 0, 0, 1),
            dt.datetime(1970, 1, 1, 0, 0, 2),
        ]


def test_times_of_a_line_that_do_not_fit_its_points_cannot_be_read(tmp_path: Path) -> None:
    """All of them, since nobody knows which point lacks one; no times at all are missing ones."""
    lists = [[5], None, [5, "soon"], [6, 7], [None], [None, 5], 5]  # the last is one of the line
    features = [feature(LINE, traj_id=i, times=times) for i, times in enumerate(lists)]
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    unread, missing = "time cannot be read", "time is missing"
    reasons = {1: [unread] * 2, 2: [missing] * 2, 3: [unread], 5: [missing] * 2, 6: [missing], 7: [missing] * 2}
    expected = [(line, reason) for line, some in reasons.items() for reason in some]
    source = pt.read(tmp_path / "a.geojson", columns={"t": "times"})
    assert source.unread_times == (3, 7)
    assert [(fault.line, fault.reason) for fault in source.faults()] == expected
    # Where nothing promised times, it is no fault to have none; where they are needed, it is.
    source = pt.read(tmp_path / "a.geojson")
    assert source.unread_times == (3, 7)
    assert [fault.line for fault in source.faults()] == [1, 1, 3]
    source = pt.read(tmp_path / "a.geojson", gap_minutes=30, time_unit="s")
    assert source.dropped == {unread: 3, missing: 7}
    assert [(fault.line, fault.reason) for fault in source.faults()] == expected


def test_each_feature_has_the_clock_of_its_own_name_and_all_have_one_type(tmp_path: Path) -> None:
    ms, iso = NOON * 1000, "2024-01-01T12:00:00Z"
    moving = {"type": "MovingPoint", "coordinates": [[1, 2], [3, 4]], "datetimes": [ms, iso]}
    lists = {"datetimes": [ms, iso], "coordTimes": [ms, iso], "times": [NOON, iso], "t": [NOON, iso]}
    some = [feature(LINE, traj_id=name, **{name: values}) for name, values in lists.items()]
    some.append(feature(None, traj_id="moving") | {"temporalGeometry": moving})
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": some}))

    def read(**options: Any) -> dict[str, list[bool]]:
        """Say for each feature which of its times are noon, and check that all others are missing."""
        found = pt.read(path, **options).collect()
        kind, moment = (np.float64, NOON) if "columns" in options else ("M8[us]", np.datetime64(NOON, "s"))
        assert found.times is not None and found.times.dtype == kind
        noon = found.times == moment
        assert np.isnan(found.times[~noon]).all()
        ids = [name.split("/")[0] for name in found.ids.tolist()]
        return {
            name: noon[i:j].tolist() for name, i, j in zip(ids, found.offsets, found.offsets[1:], strict=False)
        }

    both = [True, True]
    assert read() == dict.fromkeys(lists, both) | {"coordTimes": [True, False], "moving": both}
    # With a gap, what cannot be read is dropped.
    assert read(gap_minutes=30) == {
        "datetimes": both,
        "coordTimes": [True],
        "times": [True],
        "t": [True],
        "moving": both,
    }
    of_unit = {"times": [True, False], "t": [True, False], "moving": both}
    assert read(time_unit="s") == {name: [False, False] for name in lists} | of_unit
    assert read(time_format="iso") == {name: [True, False] for name in lists} | {"moving": both}  # sorted
    assert read(columns={"t": "times"}) == {name: [False] * 2 for name in lists} | {
        "times": both,
        "moving": both,
    }


@pytest.mark.parametrize("suffix", [".geojson", ".gpkg", ".csv", "-lines.geoparquet", ".parquet"])
def test_numbers_that_are_written_come_back_as_numbers_and_with_a_unit_as_times(
    tmp_path: Path, suffix: str
) -> None:
    if suffix == ".gpkg":
        pytest.importorskip("pyogrio")
    given, path = trips("numbers"), tmp_path / f"a{suffix}"
    pt.write(given, path, format="geoparquet-lines" if "lines" in suffix else None)
    assert given.times is not None
    np.testing.assert_array_equal(pt.read(path).collect().times, given.times)
    found = pt.read(path, time_unit="s").collect().times
    assert found is not None and found.dtype == "datetime64[us]"
    np.testing.assert_array_equal(found.astype(np.int64), np.rint(given.times * 1e6))


# Pieces at gaps.


def test_one_trip_more_or_less_leaves_all_others_as_they_are(tmp_path: Path) -> None:
    """Points without a time belong to no piece: they would move to another one when theirs goes."""
    first = ["a,1,1,2024-01-01 10:00", "a,2,2,2024-01-01 10:05", "a,9,9,"]
    second = ["a,3,3,2024-01-01 12:00", "a,8,8,soon", "a,4,4,2024-01-01 12:05"]
    third = ["a,5,5,2024-01-01 15:00", "a,7,7,1704121200"]

    def pieces(*some: list[str]) -> set[tuple[tuple[float, ...], ...]]:
        path = tmp_path / "a.csv"
        path.write_text("tid,x,y,t\n" + "\n".join(chain.from_iterable(some)) + "\n")
        found = pt.read(path, gap_minutes=30).collect()
        bounds = zip(found.offsets[:-1], found.offsets[1:], strict=True)
        return {tuple(map(tuple, found.points[start:stop].tolist())) for start, stop in bounds}

    whole = pieces(first, second, third)
    assert whole == {((1, 1), (2, 2)), ((3, 3), (4, 4)), ((5, 5),)}
    left = [["a,9,9,"], ["a,8,8,soon"], ["a,7,7,1704121200"]]  # of each when its points with times are gone
    assert pieces(left[0], second, third) == whole - {((1, 1), (2, 2))}
    assert pieces(first, left[1], third) == whole - {((3, 3), (4, 4))}
    assert pieces(first, second, left[2]) == whole - {((5, 5),)}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("scattered", [False, True])
def test_points_without_a_time_are_dropped_before_cutting_and_counted(
    tmp_path: Path, suffix: str, scattered: bool
) -> None:
    ids = [1, 1, 2, 2, 1, None] if scattered else [1, 1, 1, 2, 2, None]
    times = pa.array([0, None, 60, None, None, None], pa.timestamp("s"))
    name = "t" if suffix == ".parquet" else "datetime"
    table = pa.table({"tid": ids, "x": [0.0] * 6, "y": [0.0] * 6, name: times})
    path = tmp_path / f"a{suffix}"
    pq.write_table(table, path) if suffix == ".parquet" else pa.csv.write_csv(table, path)
    source = open_source(path, None, TINY, gap_minutes=30)
    found = source.collect()
    assert found.n_points == 2 and not np.isnat(found.times).any()
    assert source.dropped == {"time is missing": 3, "no trajectory id": 1}  # a row is dropped once
    assert source.unread_times == (0, 2)
    pandas = pytest.importorskip("pandas")
    if suffix == ".parquet":
        in_memory = pt.Trajectories.from_pandas(pandas.read_parquet(path), gap_minutes=30)
        np.testing.assert_array_equal(in_memory.times, found.times)
        np.testing.assert_array_equal(in_memory.offsets, found.offsets)


# Telling the curator.


def test_a_fit_and_a_frame_tell_loudly_and_once_how_many_times_were_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = ["1,1,1,31/12/2025 08:00", "1,2,2,30/12/2025 08:00", "2,3,3,", "2,4,4,2025-12-30"]
    (tmp_path / "a.csv").write_text("\n".join(["tid,x,y,t", *lines]))
    words = "2 of 3 times could not be read, and their points come last, in the order of x and y; set their"
    with caplog.at_level(logging.WARNING, "privtrace"):
        source = pt.read(tmp_path / "a.csv")
        for _ in range(2):
            pt.AdaTrace(epsilon=1, region=pt.Region.box(0, 0, 9, 9, crs="planar"), N=2).fit(source)
    told = [record.getMessage() for record in caplog.records if "times" in record.getMessage()]
    assert len(told) == 1 and words in told[0] and "NOT PRIVATE" in told[0] and "/12/2025" not in told[0]
    pandas = pytest.importorskip("pandas")
    with caplog.at_level(logging.WARNING, "privtrace"):
        pt.Trajectories.from_pandas(pandas.read_csv(tmp_path / "a.csv"))
    assert f"the pandas frame: {words}" in caplog.records[-1].getMessage()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "privtrace"):
        frame = pandas.read_csv(tmp_path / "a.csv").iloc[:2]
        found = pt.Trajectories.from_pandas(frame, time_format="%d/%m/%Y %H:%M")
    assert not caplog.records and found.points[:, 0].tolist() == [2, 1]


def test_a_folder_whose_formats_define_times_is_not_sent_to_options_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat,t\n1,1,1,31/12/2025 08:00\n")
    with caplog.at_level(logging.WARNING, "privtrace"):
        pt.AdaTrace(epsilon=1, region=pt.Region.box(0, 0, 9, 9), N=2).fit(pt.read(tmp_path))
    (told,) = [record.getMessage() for record in caplog.records if "times" in record.getMessage()]
    assert "1 of 1 times could not be read" in told
    assert "where a file's format leaves that open; noise was drawn, so epsilon 1 is spent" in told
