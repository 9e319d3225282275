"""Messages spell the options by which an input was declared, also those of the second input of a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privtrace.errors import PrivTraceError
from privtrace.io import open_declared, parse_columns
from privtrace.io.columns import Declared
from privtrace.observer import Silent

#: Options that the second input of a command has for itself, and their names in Python.
TWINS = re.compile(r"--(columns|gap|time-format|time-unit|timezone|format)\b")
ARGUMENTS = re.compile(r"\((columns|gap_minutes|time_format|time_unit|timezone|format)\b")


class Case(NamedTuple):
    """Hold what is refused, and the options that the message names."""

    named: str
    content: str | Callable[[Path], None]
    expected: tuple[str, ...]
    reading: Mapping[str, Any] = {}
    format: str | None = None


def table(**columns: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table(columns), path)


def folder(path: Path) -> None:
    path.mkdir()


def foreign(path: Path) -> None:
    """Write points in a system that is neither planar nor close to WGS 84."""
    crs = {"type": "GeographicCRS", "id": {"authority": "EPSG", "code": 4301}}
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", "crs": crs}}}
    made = pa.table({"traj_id": [1], "geometry": [b""]})
    pq.write_table(made.replace_schema_metadata({"geo": json.dumps(geo)}), path)


POINTS = {"traj_id": [1], "x": [0.0], "y": [0.0]}
GEOJSON = '{"type":"FeatureCollection","crs":{"name":"EPSG:3857"},"features":[]}'
CASES = {
    "a role that there is not": Case("a.csv", "", ("--columns",), {"columns": {"nope": "a"}}),
    "a name for two roles": Case("a.csv", "", ("--columns",), {"columns": {"lon": "a", "lat": "a"}}),
    "a gap below 0": Case("a.csv", "", ("--gap",), {"gap_minutes": -1}),
    "a form and a unit": Case(
        "a.csv", "", ("--time-format", "--time-unit"), {"time_format": "%F", "time_unit": "s"}
    ),
    "a unit that there is not": Case("a.csv", "", ("--time-unit",), {"time_unit": "min"}),
    "a form that is no text": Case("a.csv", "", ("--time-format",), {"time_format": 5}),
    "a form without a year": Case("a.csv", "", ("--time-format",), {"time_format": "%H:%M"}),
    "a form with two years": Case("a.csv", "", ("--time-format",), {"time_format": "%F %Y"}),
    "a form with two minutes": Case("a.csv", "", ("--time-format",), {"time_format": "%F %R %M"}),
    "a form with minutes alone": Case("a.csv", "", ("--time-format",), {"time_format": "%F %M"}),
    "a form with two zones": Case("a.csv", "", ("--time-format",), {"time_format": "%F %z %z"}),
    "a zone that there is not": Case("a.csv", "", ("--timezone",), {"timezone": "Europe/Porto"}),
    "a zone that is no text": Case("a.csv", "", ("--timezone",), {"timezone": ["UTC"]}),
    "an unknown directive": Case("a.csv", "", ("--time-format",), {"time_format": "%F %Q"}),
    "a crs that there is not": Case("a.csv", "", ("--crs",), {"crs": "mercator"}),
    "a format that there is not": Case("a.csv", "", ("--format",), format="nope"),
    "no trajectories": Case("a.csv", "lon,lat\n", ("--columns",)),
    "users and no trajectories": Case("a.csv", "uid,lon,lat\n", ("--columns", "--gap")),
    "no such column": Case("a.csv", "tid,lon,lat\n", ("--columns",), {"columns": {"t": "when"}}),
    "two columns for a role": Case("a.csv", "tid,trip_id,lon,lat\n", ("--columns",)),
    "no coordinates": Case("a.csv", "tid,lon\n", ("--columns",)),
    "no header": Case("a.csv", "7,1.5,2.5\n", ("--columns",)),
    "two pairs of coordinates": Case("a.csv", "tid,lon,lat,x,y\n", ("--crs lonlat", "--crs planar")),
    "calendar times with a unit": Case(
        "a.parquet",
        table(**POINTS, t=pa.array([0], pa.timestamp("us"))),
        ("--time-format", "--time-unit"),
        {"time_unit": "s"},
    ),
    "numbers with a form": Case(
        "a.parquet", table(**POINTS, t=[0]), ("--time-format", "--time-unit"), {"time_format": "%F"}
    ),
    "numbers cut at gaps": Case(
        "a.parquet", table(**POINTS, t=[0]), ("--time-unit s, ms", "--gap"), {"gap_minutes": 30}
    ),
    "no times with a unit": Case(
        "a.csv", "tid,x,y\n", ("--columns t=NAME", "--time-format", "--time-unit"), {"time_unit": "s"}
    ),
    "no times cut at gaps": Case("a.csv", "tid,x,y\n", ("--columns t=NAME", "--gap"), {"gap_minutes": 30}),
    "a format with times of its own": Case(
        "a.csv", "TRIP_ID,TIMESTAMP,POLYLINE\n", ("--time-format", "--time-unit"), {"time_unit": "s"}
    ),
    "a format without columns": Case("a.dat", "", ("--columns",), {"columns": {"t": "when"}}),
    "a format of longitude and latitude": Case("a.gpx", "<gpx>", ("--crs planar",), {"crs": "planar"}),
    "coordinates of features": Case("a.gpx", "<gpx></gpx>", ("--columns",), {"columns": {"lon": "a"}}),
    "no attribute of features": Case(
        "a.parquet", foreign, ("--columns",), {"columns": {"t": "when"}, "crs": "planar"}
    ),
    "another system in GeoParquet": Case("a.parquet", foreign, ("--crs lonlat", "--crs planar")),
    "another system in GeoJSON": Case("a.geojson", GEOJSON, ("--crs planar",)),
    "trajectories without a header": Case("a.txt", "#0:\n>0:1,2;\n", ("--format dat",)),
    "an empty folder": Case("a", folder, ("--format",)),
}


def message(path: Path, case: Case, prefix: str) -> str:
    if isinstance(case.content, str):
        path.write_text(case.content)
    else:
        case.content(path)
    with pytest.raises(PrivTraceError) as error:
        open_declared(path, Declared.of(**case.reading, prefix=prefix), case.format)
    return str(error.value)


def assert_of_the_second(text: str, expected: tuple[str, ...]) -> None:
    for option in expected:
        assert (option if "--crs" in option else option.replace("--", "--synthetic-", 1)) in text
    assert not TWINS.search(text) and not ARGUMENTS.search(text)


@pytest.mark.parametrize("name", CASES)
def test_a_message_names_the_options_of_its_input(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    plain = message(tmp_path / case.named, case, "")
    assert all(option in plain for option in case.expected) and "synthetic" not in plain
    (tmp_path / "second").mkdir()
    assert_of_the_second(message(tmp_path / "second" / case.named, case, "synthetic_"), case.expected)


@pytest.mark.parametrize("text", ["lon", "lon=a,lon=b", "nope=a", "lon=a,lat=a"])
def test_so_does_one_about_columns_that_cannot_be_parsed(text: str) -> None:
    with pytest.raises(PrivTraceError, match=r"--columns \(columns\): "):
        parse_columns(text)
    with pytest.raises(PrivTraceError) as error:
        parse_columns(text, prefix="synthetic_")
    assert_of_the_second(str(error.value), ("--columns",))


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (
            "",
            "--time-format (time_format) or --time-unit (time_unit), or leave times out with "
            "--columns t= (columns={'t': ''})",
        ),
        (
            "synthetic_",
            "--synthetic-time-format or --synthetic-time-unit, or leave times out with --synthetic-columns t=",
        ),
    ],
)
def test_so_does_what_is_told_of_times(
    prefix: str, expected: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat,t\n1,2,3,noon\n")
    open_declared(tmp_path / "a.csv", Declared.of(prefix=prefix)).tell(Silent())
    assert caplog.text.rstrip().endswith(f"set their format with {expected}, and rows stay as they stand")


def test_what_is_left_out_of_a_folder_is_told_with_the_option_of_both(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,x,y\n")
    (fault,) = open_declared(tmp_path, Declared.of(prefix="synthetic_")).faults()
    assert fault.reason.endswith("pass --crs planar (crs='planar') if all are")


def test_options_are_spelled_for_the_command_line_and_for_python() -> None:
    plain, second = Declared(), Declared(prefix="synthetic_")
    assert plain.option("time_format") == "--time-format (time_format)"
    assert second.option("time_format") == "--synthetic-time-format"
    assert plain.option("gap", "30", "30") == "--gap 30 (gap_minutes=30)"
    assert second.option("gap", "30", "30") == "--synthetic-gap 30"
    assert plain.option("crs") == second.option("crs") == "--crs (crs)"
    assert plain.option("strict") == second.option("strict") == "--strict"
