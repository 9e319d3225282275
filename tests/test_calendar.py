"""Zones have names that mean the same everywhere, and times that no calendar holds are none."""

from __future__ import annotations

import sys
import zoneinfo
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import privtrace as pt
from privtrace.calendar import Period, Zone, milliseconds_of, seconds_of, tzdata_version
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.time import departures
from privtrace.space.clip import clip
from privtrace.timing.counts import trips_of
from privtrace.within import Within

NONE = np.iinfo(np.int64).min
REGION = pt.Region.box(0, 0, 10, 10, crs="planar")


@pytest.mark.parametrize(
    "name", ["localtime", "Factory", "posixrules", "posix/UTC", "europe/lisbon", "", "../x"]
)
def test_names_that_mean_something_else_elsewhere_are_no_zones(name: str) -> None:
    with pytest.raises(pt.SettingsError, match="there is no time zone"):
        Zone.named(name)


def test_zones_of_the_iana_are() -> None:
    for name in ("UTC", "Europe/Lisbon", "America/Argentina/Ushuaia", "Etc/GMT+3", "EST5EDT"):
        assert Zone.named(name).name == name


def test_the_version_is_that_of_the_data_that_zones_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tzdata", SimpleNamespace(IANA_VERSION="2001x"))
    monkeypatch.setattr(zoneinfo, "TZPATH", (str(tmp_path / "none"), str(tmp_path)))
    assert tzdata_version("Asia/Tokyo") == "2001x"  # the system has no zones
    (tmp_path / "Asia").mkdir()
    (tmp_path / "Asia" / "Tokyo").write_bytes(b"TZif")
    assert tzdata_version("Asia/Tokyo") == "unknown"
    assert tzdata_version("Europe/Lisbon") == "2001x"
    (tmp_path / "+VERSION").write_text("2002y\n")
    assert tzdata_version("Asia/Tokyo") == "2002y"
    (tmp_path / "tzdata.zi").write_text("# version 2003z\n# more\n")
    assert tzdata_version("Asia/Tokyo") == "2003z"


#: What 64 bits hold of each unit and no calendar does: each of them, converted, would wrap or overflow.
ABSURD = [
    *((number, unit) for unit in ("s", "m", "h", "D", "W", "M", "Y") for number in (1 << 62, -(1 << 62))),
    (253_402_300_800, "s"),
    (253_402_300_800_000_000, "us"),
    (1 << 62, "ms"),
    (-(1 << 62), "us"),
    (-62_135_596_801, "s"),
]


@pytest.mark.parametrize(("number", "unit"), ABSURD)
def test_an_absurd_time_is_none(number: int, unit: str) -> None:
    times = np.array([number, 0], np.int64).view(f"datetime64[{unit}]")
    assert seconds_of(times).tolist() == milliseconds_of(times).tolist() == [NONE, 0]
    trip = pt.Trajectories([[1, 1], [2, 2]], [0, 2], times, crs="planar")
    counted = trips_of(clip(trip, REGION), REGION, with_times=True).times
    assert counted.tolist() == [NONE, 0]
    period = Period.of("1970-01-01/9999-12-31")
    alone = pt.Trajectories([[1, 1]], [0, 1], times[:1], crs="planar")
    assert [len(part) for part in Within(alone, period, Zone.named("UTC")).parts()] == [0]
    assert [len(part) for part in Within(trip, period, Zone.named("UTC")).parts()] == [1]
    runs = Frame(REGION, 1, "UTC").clip(alone)
    assert np.isnat(departures(runs)).all()


@pytest.mark.parametrize("unit", ["fs", "ps", "ns", "us", "ms", "s", "m", "h", "D", "25s"])
def test_other_times_are_as_they_are(unit: str) -> None:
    times = np.array(["1970-01-01", "1970-01-01", "NaT"], f"datetime64[{unit}]")
    assert seconds_of(times).tolist() == milliseconds_of(times).tolist() == [0, 0, NONE]
    if unit in ("us", "ms", "s", "D"):
        times = np.array(["0001-01-01", "9999-12-31", "2024-02-29"], f"datetime64[{unit}]")
        assert seconds_of(times).tolist() == [-62_135_596_800, 253_402_214_400, 1_709_164_800]
        assert milliseconds_of(times).tolist() == [1000 * second for second in seconds_of(times).tolist()]
    assert seconds_of(np.array(["NaT"], "datetime64")).tolist() == [NONE]
