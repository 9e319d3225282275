"""MF-JSON: movingpandas reads what is written, and the other way round; databases' forms are read too."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.trips import assert_same, trips

import privtrace as pt


def moving(coordinates: Any, datetimes: Any, **more: Any) -> dict[str, Any]:
    return {"type": "MovingPoint", "coordinates": coordinates, "datetimes": datetimes, **more}


def saved(folder: Path, content: Any) -> Path:
    path = folder / "a.json"
    path.write_text(json.dumps(content))
    return path


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "temporalGeometry": geometry, "properties": properties}


def test_nothing_is_lost_there_and_back(tmp_path: Path) -> None:
    given = trips("calendar", about={"made": "by hand"})
    pt.write(given, tmp_path / "a.mfjson")
    assert_same(pt.read(tmp_path / "a.mfjson").collect(), given)
    assert json.loads((tmp_path / "a.mfjson").read_text())["about"] == {"made": "by hand"}


def test_numbers_become_calendar_times(tmp_path: Path) -> None:
    pt.write(trips("numbers"), tmp_path / "a.mfjson")
    found = pt.read(tmp_path / "a.mfjson").collect()
    np.testing.assert_array_equal(found.times.astype(int) / 1e6, trips("numbers").times)


def test_movingpandas_and_we_read_each_other(tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):  # of what else it could use
        import movingpandas as mpd
    times = np.datetime64("2024-01-01", "s") + np.arange(5)
    pt.write(pt.Trajectories(np.arange(10.0).reshape(5, 2), [0, 3, 5], times), tmp_path / "a.mfjson")
    with warnings.catch_warnings(action="ignore"):
        found = mpd.read_mf_json(str(tmp_path / "a.mfjson"), "traj_id")
        (tmp_path / "b.mfjson").write_text(json.dumps(found.to_mf_json(datetime_to_str=True)))
    assert [len(one.df) for one in found.trajectories] == [3, 2]
    again = pt.read(tmp_path / "b.mfjson").collect()
    np.testing.assert_array_equal(again.points, np.arange(10.0).reshape(5, 2))
    np.testing.assert_array_equal(again.times, times)


POSITIONS, TIMES = [[1, 2], [3, 4, 5]], ["2024-01-01T00:00:00Z", "2024-01-01T01:00:01+01:00"]
FORMS = {
    "a collection": {"type": "FeatureCollection", "features": [feature(moving(POSITIONS, TIMES))]},
    "a feature": feature(moving(POSITIONS, TIMES)),
    "a bare moving point": moving(POSITIONS, TIMES),
    "sequences": {
        "type": "MovingPoint",
        "sequences": [
            {"coordinates": POSITIONS[:1], "datetimes": TIMES[:1]},
            {"coordinates": POSITIONS[1:], "datetimes": TIMES[1:]},
        ],
    },
    "prisms": feature(
        {"type": "MovingGeometryCollection", "prisms": [moving(POSITIONS, TIMES), {"type": "MovingPolygon"}]}
    ),
    "milliseconds": feature(moving(POSITIONS, [1704067200000, 1704067201000])),
    "milliseconds and text": feature(moving(POSITIONS, [1704067200000, TIMES[1]])),
    "a trajectory": {
        "type": "Feature",
        "properties": {"datetimes": TIMES},
        "geometry": {"type": "LineString", "coordinates": POSITIONS},
    },
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_all_forms_say_the_same(content: Any, tmp_path: Path) -> None:
    found = pt.read(saved(tmp_path, content)).collect()
    assert found.points.tolist() == [[1, 2], [3, 4]]
    assert found.times.astype("datetime64[s]").astype(str).tolist() == [
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:01",
    ]


WRONG = {
    "no times": moving([[1, 2]], None),
    "nothing": None,
    "a list": [],
    "no coordinates": {"type": "MovingPoint"},
    "other": {"type": "MovingPolygon", "coordinates": []},
    "text": moving("secret", "secret"),
    "strange times": moving([[1, 2], [3, 4]], [True, {}]),
    "prisms of nothing": {"type": "MovingGeometryCollection", "prisms": [5]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_strange_feature_stops_nothing_but_itself(wrong: Any, tmp_path: Path) -> None:
    features = [
        feature(one, traj_id=name) for name, one in {"a": FORMS["a bare moving point"], "b": wrong}.items()
    ]
    path = saved(tmp_path, {"type": "FeatureCollection", "features": features})
    source = pt.read(path, columns={"t": "datetimes"})  # so that it is a fault to have none
    found = source.collect()
    assert found.ids.tolist()[0] == "a" and found.points[:2].tolist() == [[1, 2], [3, 4]]
    assert any(fault.line == 2 for fault in source.faults())


def test_without_times_there_is_no_place(tmp_path: Path) -> None:
    with pytest.raises(pt.OutputError, match="mfjson needs times"):
        pt.write(trips("bare"), tmp_path / "a.mfjson")
    assert list(tmp_path.iterdir()) == []


def test_points_without_time_are_left_out(tmp_path: Path) -> None:
    times = np.array(["2024-01-01", "NaT", "NaT"], "datetime64[s]")
    pt.write(pt.Trajectories([[1, 2], [3, 4], [5, 6]], [0, 2, 3], times), tmp_path / "a.mfjson")
    assert pt.read(tmp_path / "a.mfjson").collect().points.tolist() == [[1, 2]]
