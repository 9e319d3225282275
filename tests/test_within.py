"""A period takes the trajectories that begin on its local days, as a whole, and no others."""

from __future__ import annotations

import datetime as dt
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.calendar import Period, Zone
from privtrace.observer import Silent
from privtrace.within import Transformed, Within, within


def night(n: int = 300) -> pt.Trajectories:
    """Give trajectories around the night in which clocks go forward, some points of them without a time."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 6, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    starts = np.datetime64("2024-03-30T20:00", "s") + rng.integers(0, 2 * 86_400, n)
    times = np.repeat(starts, lengths) + rng.integers(0, 3600, offsets[-1])
    times[rng.random(len(times)) < 0.3] = np.datetime64("NaT")
    times[rng.random(len(times)) < 0.1] = np.datetime64("1969-12-31T23:59:59")
    return pt.Trajectories(rng.uniform(0, 9, (offsets[-1], 2)), offsets, times, ids=np.arange(n))


def begins(given: pt.Trajectories, place: int, zone: str) -> dt.date | None:
    """Find the day on which a trajectory begins, the slow way."""
    assert given.times is not None
    for time in given.times[given.offsets[place] : given.offsets[place + 1]].tolist():
        if time is not None and time >= dt.datetime(1970, 1, 1):
            day: dt.date = time.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)).date()
            return day
    return None


@pytest.mark.parametrize("zone", ["UTC", "Europe/Lisbon", "America/St_Johns", "Pacific/Apia"])
@pytest.mark.parametrize("days", ["2024-03-31/2024-04-01", "2024-03-30/2024-04-01", "2024-03-31/2024-04-02"])
def test_a_period_takes_what_begins_on_its_days(days: str, zone: str, monkeypatch: Any) -> None:
    given, period = night(), Period.of(days)
    wanted = [
        place
        for place in range(len(given))
        if (day := begins(given, place, zone)) is not None and period.first <= day < period.end
    ]
    assert 0 < len(wanted) < len(given)
    monkeypatch.setattr(containers, "PART_POINTS", 50)
    source = Within(given, period, Zone.named(zone))
    passes = [pt.Trajectories.concatenate([*source.parts()]) for _ in range(2)]
    assert len([*source.parts()]) > 1
    for found in passes:
        kept = given.take(np.array(wanted))
        assert found.ids is not None and found.ids.tolist() == wanted
        np.testing.assert_array_equal(found.points, kept.points)
        np.testing.assert_array_equal(found.times, kept.times)


def test_what_has_no_clock_does_not_count() -> None:
    period, utc = Period.of("1970-01-01/2100-01-01"), Zone.named("UTC")
    for times in (None, np.arange(night().n_points, dtype=float)):
        (part,) = Within(replace(night(), times=times), period, utc).parts()
        assert len(part) == 0 and (part.times is None) == (times is None)


def test_a_log_is_cut_before_the_period_is_looked_at(tmp_path: Path) -> None:
    rows = ["1,1,1,2024-03-31T22:30", "1,2,1,2024-03-31T23:30", "1,3,1,2024-04-01T08:00"]
    (tmp_path / "a.csv").write_text("\n".join(["tid,lon,lat,t", *rows]))
    period, lisbon = Period.of("2024-04-01/2024-04-02"), Zone.named("Europe/Lisbon")
    for gap, wanted in ((90, [[3, 1]]), (30, [[2, 1], [3, 1]])):
        source = pt.read(tmp_path / "a.csv", gap_minutes=gap)
        (part,) = Within(source, period, lisbon).parts()
        assert part.points.tolist() == wanted


def test_it_says_what_its_source_says(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "a.csv").write_text("tid,uid,lon,lat,t\n1,2,3,4,noon\n1,2,3,4,2024-03-31T08:00\n")
    source = pt.read(tmp_path / "a.csv", timezone="Asia/Tokyo")
    period = Within(source, Period.of("2024-03-31/2024-04-01"), Zone.named("UTC"))
    for name in (
        "path",
        "crs",
        "n_points",
        "gap_minutes",
        "has_users",
        "has_clock",
        "times_by_default",
        "zone",
    ):
        assert getattr(period, name) == getattr(source, name), name
    timed = period.timed()
    assert timed.timed() is timed and timed.source is not source
    assert [len(part) for part in timed.parts()] == [0]  # it is still the day before in UTC
    timed.tell(Silent())
    assert "1 of 2 times could not be read" in caplog.text


def test_a_source_from_elsewhere_need_not_say_all() -> None:
    class Bare:
        crs, n_points, gap_minutes = night().crs, 0, None

        def parts(self) -> Any:
            return night().parts()

    bare: Any = Bare()
    found = Within(bare, Period.of("2024-03-31/2024-04-01"), Zone.named("UTC"))
    further = ("has_users", "has_clock", "times_by_default", "zone", "path", "close")
    assert not any(hasattr(found, name) for name in further) and containers.has_users(found) is None
    assert within(found, found.period) is found and found.timed() is found
    assert pickle.loads(pickle.dumps(replace(found, source=night()))).crs == found.crs
    found.tell(Silent())
    assert sum(map(len, found.parts())) > 0
    model = pt.PrivTrace(epsilon=1, region=(0, 0, 9, 9), period=str(found.period)).fit(bare)
    assert model.release.calendar is not None and model.release.calendar.zone.name == "UTC"


def test_what_is_left_out_cannot_be_had_by_another_name(tmp_path: Path) -> None:
    night().write(tmp_path / "a.parquet")
    planar = {"x": "lon", "y": "lat"}
    with pt.read(tmp_path / "a.parquet", crs="EPSG:3763", columns=planar) as source:
        period = within(source, Period.of("2024-03-31/2024-04-01"))
        moved = Transformed(period, "lonlat")
        for one in (period, moved):
            public = {name for name in dir(source) if not name.startswith("_")}
            assert {"collect", "made", "keys", "faults"} <= {name for name in public if not hasattr(one, name)}
            assert one.path == source.path and one.has_clock
        assert (moved.crs, moved.timed().crs) == ("lonlat", "lonlat")
        assert sum(map(len, moved.timed().parts())) == sum(map(len, period.parts())) < len(source.collect())


class Noting(Silent):
    """Keep notes, and whether they are loud."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, bool]] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        """Keep a note."""
        self.notes.append((text, loud))


@pytest.mark.parametrize(("days", "loud"), [("2024-03-31/2024-04-01", False), ("2023-03-31/2023-04-01", True)])
def test_the_curator_is_told_once_how_many_begin_in_the_period(days: str, loud: bool) -> None:
    given, period, observer = night(), Period.of(days), Noting()
    begun = [begins(given, place, "Europe/Lisbon") for place in range(len(given))]
    n_kept = sum(day is not None and period.first <= day < period.end for day in begun)
    source = Within(given, period, Zone.named("Europe/Lisbon"))
    source.tell(observer)
    next(source.parts())  # no whole pass
    source.tell(observer)
    assert not observer.notes
    for _ in range(2):
        assert sum(map(len, source.parts())) == n_kept
        source.tell(observer)
    words = f"{n_kept} of 300 trips begin in the period {days} (local days in Europe/Lisbon); "
    assert observer.notes == [(f"{words}{begun.count(None)} have no time", loud)]


def test_a_period_of_the_same_days_is_applied_once() -> None:
    period = Period.of("2024-03-31/2024-04-01")
    found = within(replace(night(), zone="Asia/Tokyo"), period)
    assert found.local.name == "Asia/Tokyo" and within(found, period) is found
    assert within(found, Period.of("2024-03-30/2024-04-01")) is not found
    assert within(found, period, "UTC").local.name == "UTC"


def test_a_period_counts_the_same_in_text_and_in_memory(tmp_path: Path) -> None:
    days = [1 + n % 28 for n in range(60)]
    rows = [f"{n},{n % 9},{m},2024-02-{day:02}T08:0{m}:00" for n, day in enumerate(days) for m in range(4)]
    path = tmp_path / "trips.csv"
    path.write_text("\n".join(["traj_id,lon,lat,t", *rows]) + "\n")
    source, region = pt.read(path), pt.Region.box(0, 0, 9, 9)
    collected = source.collect()
    assert collected.has_clock and not collected.on_calendar  # text that is read for the order
    for real in (source, collected):
        result = pt.evaluate(real, source, region=region, profile="time", period="2024-02-03/2024-02-10")
        compared = result.to_dict()["inputs"]["real"]
        assert compared["trajectories"] == sum(3 <= day < 10 for day in days)
        assert compared["has_times"] and compared["untimed_points"] == 0
