"""Trips for simulators, made from a model: as many as asked for, the same again, between zones or points."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import shapely
from tests.export.samples import ODD, model, zone_file

import privtrace as pt
from privtrace.coordinates import transformed

FLAT, ACROSS = "bridgetrace, times", "privtrace, strait, times"


def trips_of(path: Path) -> list[Any]:
    return [*ElementTree.parse(path).getroot()]


def sampled(name: str, count: int, seed: int) -> list[tuple[float, list[float], list[float]]]:
    """Give seconds since the first day, and both ends, of the trips that a model samples."""
    made = model(name)
    sample, zone = made.sample(count, seed=seed), ZoneInfo(made.release.times.zone.name)
    begin = datetime.fromisoformat(str(np.datetime64(made.release.times.days[0], "D")))
    found = []
    for trip in sample:
        local = trip.times[0].item().replace(tzinfo=ZoneInfo("UTC")).astimezone(zone).replace(tzinfo=None)
        found.append(((local - begin).total_seconds(), trip.points[0].tolist(), trip.points[-1].tolist()))
    return found


def test_sumo_gets_the_trips_that_the_model_samples(tmp_path: Path) -> None:
    model(ACROSS).export("sumo", tmp_path / "a.xml", count=40, seed=3)
    wanted, found = sampled(ACROSS, 40, 3), trips_of(tmp_path / "a.xml")
    assert sorted(int(one.get("id")) for one in found) == [*range(40)]
    departures = [float(one.get("depart")) for one in found]
    assert departures == sorted(departures) and departures[0] >= 0
    for one in found:
        seconds, here, there = wanted[int(one.get("id"))]
        assert float(one.get("depart")) == pytest.approx(seconds, abs=0.011)
        for end, point in (("fromLonLat", here), ("toLonLat", there)):
            assert [float(part) for part in one.get(end).split(",")] == pytest.approx(point, abs=1e-6)


def test_the_count_is_the_models_and_without_a_seed_trips_are_others(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml.gz", "c.xml"):
        model(FLAT).export("sumo", tmp_path / name)
    assert len(trips_of(tmp_path / "a.xml")) == model(FLAT).n_trajectories
    assert (tmp_path / "a.xml").read_bytes() != (tmp_path / "c.xml").read_bytes()
    assert (tmp_path / "b.xml.gz").read_bytes()[:2] == b"\x1f\x8b"
    model(FLAT).export("sumo", tmp_path / "none.xml", count=0)
    assert trips_of(tmp_path / "none.xml") == []


def test_sumo_leads_from_zone_to_zone_the_first_where_several_are(tmp_path: Path) -> None:
    path = zone_file(tmp_path, [*ODD.values()], [*ODD])
    model(FLAT).export("sumo", tmp_path / "a.xml", count=150, seed=3, zones=path, zone_id="id")
    wanted, seen = sampled(FLAT, 150, 3), Counter[str | None]()
    for one in trips_of(tmp_path / "a.xml"):
        _, *ends = wanted[int(one.get("id"))]
        for end, point in zip(("from", "to"), ends, strict=True):
            holding = [name for name, shape in ODD.items() if shape.contains(shapely.Point(point))]
            zone = one.get(f"{end}Taz")
            seen[zone] += 1
            assert zone == (holding[0] if holding else None) and (one.get(f"{end}XY") is None) == bool(holding)
    assert len(seen) > 4 and None in seen


@pytest.mark.parametrize("what", ["sumo", "matsim"])
def test_the_system_is_the_one_that_was_asked_for(what: str, tmp_path: Path) -> None:
    model(ACROSS).export(what, tmp_path / "a.xml", count=30, seed=3, output_crs="EPSG:3460")
    ends = [[here, there] for _, here, there in sampled(ACROSS, 30, 3)]
    wanted = transformed(np.array(ends).reshape(-1, 2), "lonlat", "EPSG:3460").reshape(-1, 4)
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    if what == "sumo":
        found = {one.get("id"): f"{one.get('fromXY')},{one.get('toXY')}".split(",") for one in root}
    else:
        assert "".join(root.find("attributes").itertext()).strip() == "EPSG:3460"  # type: ignore[union-attr]
        found = {}
        for person in root.iter("person"):
            first, last = person.iter("activity")
            found[person.get("id")] = [one.get(axis) for one in (first, last) for axis in "xy"]
    assert len(found) == 30
    for number, numbers in found.items():
        assert [*map(float, numbers)] == pytest.approx(wanted[int(number)].tolist(), abs=0.01)
    assert "EPSG:3460" in (tmp_path / "a.xml").read_text().split("-->")[0]


def test_plans_have_one_leg_a_person_from_the_first_point_to_the_last(tmp_path: Path) -> None:
    model(FLAT).export("matsim", tmp_path / "a.xml", count=40, seed=3)
    wanted = sampled(FLAT, 40, 3)
    persons = [one for one in trips_of(tmp_path / "a.xml") if one.tag == "person"]
    assert [int(one.get("id")) for one in persons] == [*range(40)]
    for person, (seconds, here, there) in zip(persons, wanted, strict=True):
        ((origin, leg, destination),) = person
        hours, minutes, rest = map(int, origin.get("end_time").split(":"))
        assert 3600 * hours + 60 * minutes + rest == int(seconds) and leg.tag == "leg"
        assert [float(origin.get(axis)) for axis in "xy"] == pytest.approx(here, abs=6e-4)
        assert [float(destination.get(axis)) for axis in "xy"] == pytest.approx(there, abs=6e-4)


def test_words_go_along_and_degrees_are_refused_for_matsim(tmp_path: Path) -> None:
    model(FLAT).export("matsim", tmp_path / "a.xml", count=1, seed=3)
    words = (tmp_path / "a.xml").read_text().split("-->")[0]
    assert "product: matsim: synthetic plans for MATSim" in words and "NOT PRIVATE" in words
    with pytest.raises(pt.OutputError, match=r"a2\.xml: MATSim plans: .* meters, .* pass --output-crs .*EPSG:"):
        model(ACROSS).export("matsim", tmp_path / "a2.xml")
    with pytest.raises(pt.SettingsError, match=r"--output-crs .* EPSG:3763: the model is planar, and nobody"):
        model(FLAT).export("sumo", tmp_path / "a2.xml", output_crs="EPSG:3763")
    assert not (tmp_path / "a2.xml").exists()


def test_walks_that_were_cut_short_are_told(tmp_path: Path) -> None:
    from tests.export.samples import BOX, timed_walks

    settings = pt.PrivTrace(epsilon=100, region=BOX, K=3, times=True, max_steps=2)
    made = settings.fit(timed_walks(), noise=pt.SeededNoise(3))
    with pytest.warns(pt.CappedWalks, match=r"walks reached --max-steps \(max_steps\)"):
        made.export("sumo", tmp_path / "a.xml", count=200, seed=1)
